//! What a container sees of files: its volumes, which are the node's, what kubelet and runtime put into every Pod, and its
//! own layer.

use std::collections::BTreeSet;

use super::containerd::Containerd;
use super::mounts::{host_path, is_mounted, mount_of};
use super::site;
use super::state::{Container, State};
use crate::cri::{ContainerConfig, PodSandboxConfig};
use network::disk::Contents;
use network::kernel::sockets::Resolver;

impl Containerd {
    /// The text of a file as the container sees it: in a volume, made by the kubelet or the runtime, or its own. A file
    /// that the scenario has put there is empty.
    pub(super) fn file(
        &self,
        state: &State,
        container: &Container,
        sandbox: &PodSandboxConfig,
        path: &str,
    ) -> Option<String> {
        if state.files.contains(&(format!("{}/{}", sandbox.namespace, sandbox.name), path.to_owned())) {
            return Some(String::new());
        }
        if let Some(path) = host_path(&container.config, path) {
            return self.networks.host().disk.read(&path);
        }
        let address = || state.sandboxes.get(&container.status.sandbox_id).map_or("", |sandbox| sandbox.ip.as_str());
        container.layer.read(path).or_else(|| match path {
            "/etc/hostname" => Some(format!("{}\n", sandbox.hostname)),
            "/etc/hosts" => Some(hosts(address(), sandbox)),
            "/etc/resolv.conf" => Some(Resolver::from(&*sandbox.dns).file()),
            _ => of_image(container, path).map(str::to_owned),
        })
    }

    /// The names in a directory, or the path of a file; None: there is neither.
    pub(super) fn names(
        &self,
        state: &State,
        container: &Container,
        sandbox: &PodSandboxConfig,
        path: &str,
    ) -> Option<BTreeSet<String>> {
        if self.file(state, container, sandbox, path).is_some() {
            return Some(BTreeSet::from([path.to_owned()]));
        }
        let path = path.trim_end_matches('/');
        let mut names: BTreeSet<String> = BTreeSet::new();
        let mut is_there = path.is_empty();
        if let Some(host) = host_path(&container.config, path) {
            names.extend(self.networks.host().disk.names(&host).ok()?);
            is_there = true;
        }
        let own = container.layer.paths();
        let points = container.config.mounts.iter().map(|(point, _)| point.as_str());
        let made = ["/etc/hostname", "/etc/hosts", "/etc/resolv.conf"];
        let brought = site::files_of_image(&container.config.image);
        let brought: Vec<String> = brought.filter(|path| of_image(container, path).is_some()).collect();
        let own = own.iter().chain(&brought).map(String::as_str).filter(|path| !site::is_whiteout(path));
        for there in own.chain(points).chain(made).chain(DIRECTORIES.iter().copied()) {
            let Some(rest) = there.strip_prefix(path).and_then(|rest| rest.strip_prefix('/')) else {
                is_there |= there == path;
                continue;
            };
            // A directory with nothing in it is there by its name and a slash.
            is_there = true;
            names.extend(rest.split('/').next().filter(|name| !name.is_empty()).map(str::to_owned));
        }
        (is_there || !names.is_empty()).then_some(names)
    }

    /// Puts text into a file, or at its end.
    pub(super) fn write_file(
        &self,
        container: &Container,
        path: &str,
        text: &str,
        append: bool,
    ) -> Result<(), &'static str> {
        may_change(&container.config, path)?;
        match host_path(&container.config, path) {
            Some(path) => self.networks.host().disk.write(&path, text, append),
            None => container.layer.write(path, text, append),
        }
    }

    /// Makes a directory. In a volume one comes with its first file.
    pub(super) fn make_directory(&self, container: &Container, path: &str) -> Result<(), &'static str> {
        may_change(&container.config, path)?;
        match host_path(&container.config, path) {
            Some(_) => Ok(()),
            None => container.layer.write(&format!("{}/", path.trim_end_matches('/')), "", false),
        }
    }

    /// Takes a file away.
    pub(super) fn remove_file(&self, container: &Container, path: &str) -> Result<(), &'static str> {
        may_change(&container.config, path)?;
        match host_path(&container.config, path) {
            Some(path) => self.networks.host().disk.remove(&path),
            None if of_image(container, path).is_some() => {
                // It is there but for what the container has put over it.
                let _ = container.layer.remove(path);
                container.layer.write(&site::whiteout(path), "", false)
            }
            None => container.layer.remove(path),
        }
    }
}

/// The text of a file that the image brings, unless a volume hides it or the container has taken it away.
fn of_image(container: &Container, path: &str) -> Option<&'static str> {
    let text = site::file_of_image(&container.config.image, path)?;
    let is_gone = is_mounted(&container.config, path) || container.layer.read(&site::whiteout(path)).is_some();
    (!is_gone).then_some(text)
}

/// Directories that every image has.
const DIRECTORIES: &[&str] = &[
    "/bin", "/dev", "/etc", "/home", "/lib", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/sbin", "/srv",
    "/sys", "/tmp", "/usr", "/var",
];

/// Mirrors `nodeHostsFileContent` and `managedHostsFileContent` of `pkg/kubelet/kubelet_pods.go`.
fn hosts(address: &str, sandbox: &PodSandboxConfig) -> String {
    let of_node = if address.is_empty() { " (host network)" } else { "" };
    let mut out = format!("# Kubernetes-managed hosts file{of_node}.\n127.0.0.1\tlocalhost\n");
    for (address, names) in [
        ("::1", "localhost ip6-localhost ip6-loopback"),
        ("fe00::0", "ip6-localnet"),
        ("fe00::0", "ip6-mcastprefix"),
        ("fe00::1", "ip6-allnodes"),
        ("fe00::2", "ip6-allrouters"),
    ] {
        out += &format!("{address}\t{names}\n");
    }
    if !address.is_empty() {
        out += &match full_name(sandbox) {
            (short, None) => format!("{address}\t{short}\n"),
            (short, Some(full)) => format!("{address}\t{full}\t{short}\n"),
        };
    }
    if !sandbox.host_aliases.is_empty() {
        out += "\n# Entries added by HostAliases.\n";
    }
    for (address, names) in &sandbox.host_aliases {
        out += &format!("{address}\t{}\n", names.join("\t"));
    }
    out
}

/// What a Pod is called in its domain, and with it, if it has one.
pub(super) fn full_name(sandbox: &PodSandboxConfig) -> (&str, Option<String>) {
    let PodSandboxConfig { hostname, domain, .. } = sandbox;
    let short = hostname.strip_suffix(domain.as_str()).and_then(|name| name.strip_suffix('.')).unwrap_or(hostname);
    (short, (!domain.is_empty()).then(|| format!("{short}.{domain}")))
}

/// Nothing changes on a mount that is read only, and nothing beside the mounts where the whole container is.
fn may_change(config: &ContainerConfig, path: &str) -> Result<(), &'static str> {
    // The file for last words is a mount of the kubelet's.
    let is_read_only = match mount_of(config, path) {
        Some((point, _, _)) => config.security.read_only_mounts.iter().any(|there| there == point),
        None => config.security.readonly_rootfs && path != config.termination_message_path,
    };
    if is_read_only { Err("Read-only file system") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_file_ends_with_what_the_pod_adds() {
        let host_aliases = vec![("10.1.2.3".to_owned(), vec!["foo.remote".to_owned(), "bar.remote".to_owned()])];
        let sandbox = PodSandboxConfig { hostname: "web".into(), host_aliases, ..PodSandboxConfig::default() };
        let expected = "10.244.0.2\tweb\n\n# Entries added by HostAliases.\n10.1.2.3\tfoo.remote\tbar.remote\n";
        assert!(hosts("10.244.0.2", &sandbox).ends_with(expected));
    }

    #[test]
    fn the_hosts_file_has_the_full_name_of_who_has_one() {
        for (hostname, domain, expected) in [
            ("db-0", "", "10.244.0.2\tdb-0\n"),
            ("db-0", "db.shop.svc.cluster.local", "10.244.0.2\tdb-0.db.shop.svc.cluster.local\tdb-0\n"),
            ("a.db.x.svc.c", "db.x.svc.c", "10.244.0.2\ta.db.x.svc.c\ta\n"),
        ] {
            let sandbox =
                PodSandboxConfig { hostname: hostname.into(), domain: domain.into(), ..PodSandboxConfig::default() };
            let file = hosts("10.244.0.2", &sandbox);
            assert!(file.ends_with(expected), "{file}");
            assert!(hosts("", &sandbox).ends_with("ip6-allrouters\n"), "the node's own says nothing of it");
        }
    }
}
