//! What a container sees of files: its volumes, which are the node's, what kubelet and runtime put into every Pod, and its
//! own layer.

use std::collections::BTreeSet;
use std::time::Duration;

use super::listening::resolver;
use super::process::FileAct;
use super::state::{Container, State};
use super::{FILE, Inner};
use crate::node::cri::{ContainerConfig, PodSandboxConfig};
use crate::node::disk::Contents;

impl Inner {
    /// Does at once what a process does with files when it starts, and arms timers for the rest.
    pub(super) fn use_files(&self, id: &str) {
        let plan = self.state.borrow().containers.get(id).map(|c| c.plan.files.clone()).unwrap_or_default();
        for (number, (after, act)) in plan.iter().enumerate() {
            if *after == Duration::ZERO {
                self.use_file(id, act);
            } else {
                self.hub.wake(self.actor, FILE, format!("{id} {number}"), *after);
            }
        }
    }

    /// A process that still runs reads or writes a file.
    pub(super) fn file_due(&self, key: &str) {
        let Some((id, number)) = key.split_once(' ') else { return };
        let act = {
            let state = self.state.borrow();
            let running = state.containers.get(id).filter(|c| c.status.exit_code == 0 && c.status.reason.is_empty());
            running.and_then(|c| c.plan.files.get(number.parse::<usize>().ok()?).map(|(_, act)| act.clone()))
        };
        if let Some(act) = act {
            self.use_file(id, &act);
        }
    }

    fn use_file(&self, id: &str, act: &FileAct) {
        let (container, sandbox) = {
            let state = self.state.borrow();
            let Some(container) = state.containers.get(id).cloned() else { return };
            let Some(sandbox) = state.sandboxes.get(&container.status.sandbox_id) else { return };
            (container, sandbox.config.clone())
        };
        let said = match act {
            FileAct::Write { path, text, append } => {
                self.text(|| format!("{} writes to {path}", container.config.name));
                self.write_file(&container, path, text, *append)
                    .err()
                    .map(|why| format!("sh: can't create {path}: {why}"))
            }
            FileAct::Remove { path } => {
                self.text(|| format!("{} removes {path}", container.config.name));
                self.remove_file(&container, path).err().map(|why| format!("rm: can't remove '{path}': {why}"))
            }
            FileAct::Print { path } => {
                let text = self.file(&self.state.borrow(), &container, &sandbox, path);
                Some(text.unwrap_or_else(|| not_found(path)).trim_end().to_owned())
            }
        };
        let Some(said) = said else { return };
        let (now, state) = (self.hub.now(), self.state.borrow());
        let mut journal = state.journal.borrow_mut();
        let pod = format!("{}/{}", sandbox.namespace, sandbox.name);
        let lines = &mut journal.entry((pod, container.config.name)).or_default().lines;
        // What is printed later is there already.
        let place = lines.partition_point(|(at, _)| *at <= now);
        lines.splice(place..place, said.lines().map(|line| (now, line.to_owned())));
    }

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
            "/etc/hosts" => Some(hosts(address(), &sandbox.hostname)),
            "/etc/resolv.conf" => Some(resolver(sandbox).file()),
            _ => None,
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
        for there in own.iter().map(String::as_str).chain(points).chain(made).chain(DIRECTORIES.iter().copied()) {
            let Some(rest) = there.strip_prefix(path).and_then(|rest| rest.strip_prefix('/')) else {
                is_there |= there == path;
                continue;
            };
            names.extend(rest.split('/').next().map(str::to_owned));
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
        match host_path(&container.config, path) {
            Some(path) => self.networks.host().disk.write(&path, text, append),
            None => container.layer.write(path, text, append),
        }
    }

    /// Takes a file away.
    pub(super) fn remove_file(&self, container: &Container, path: &str) -> Result<(), &'static str> {
        match host_path(&container.config, path) {
            Some(path) => self.networks.host().disk.remove(&path),
            None => container.layer.remove(path),
        }
    }
}

/// Directories that every image has.
const DIRECTORIES: &[&str] = &[
    "/bin", "/dev", "/etc", "/home", "/lib", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/sbin", "/srv",
    "/sys", "/tmp", "/usr", "/var",
];

/// Mirrors `nodeHostsFileContent` and `managedHostsFileContent` of `pkg/kubelet/kubelet_pods.go`.
fn hosts(address: &str, hostname: &str) -> String {
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
        out += &format!("{address}\t{hostname}\n");
    }
    out
}

/// Where a path of the container is on the host; None if it is in no volume. The longest mount point counts.
fn host_path(config: &ContainerConfig, path: &str) -> Option<String> {
    let inside = |point: &str| {
        let rest = path.strip_prefix(point.trim_end_matches('/'))?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    };
    let found = config.mounts.iter().filter_map(|(point, host)| Some((point.len(), inside(point)?, host)));
    found.max_by_key(|(len, _, _)| *len).map(|(_, rest, host)| format!("{host}{rest}"))
}

/// What `cat` says of a file that is not there.
pub(super) fn not_found(path: &str) -> String {
    format!("cat: can't open '{path}': No such file or directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_through_the_longest_mount() {
        let mount = |at: &str, host: &str| (at.to_owned(), host.to_owned());
        let mounts = vec![mount("/data", "/h/a"), mount("/data/deep", "/h/b"), mount("/etc/app/", "/h/c")];
        let config = ContainerConfig { mounts, ..ContainerConfig::default() };
        for (path, host) in [
            ("/data/f", Some("/h/a/f")),
            ("/data/deep/f", Some("/h/b/f")),
            ("/data", Some("/h/a")),
            ("/database", None),
            ("/etc/app/x", Some("/h/c/x")),
            ("/tmp/x", None),
        ] {
            assert_eq!(host_path(&config, path).as_deref(), host, "{path}");
        }
    }
}
