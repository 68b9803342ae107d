//! What the runtime is told of a pod when it is to make its sandbox: its name to itself, its ports, its resolver.
//!
//! Mirrors `generatePodSandboxConfig` (`pkg/kubelet/kuberuntime/kuberuntime_sandbox.go`).

use k8s_openapi::api::core::v1::{ContainerPort, HostAlias};

use crate::cri::{PodSandboxConfig, PortMapping};
use crate::dns::{ClusterDns, resolver};
use object::{Accessor, Pod};

/// `generatePodSandboxConfig`.
pub(super) fn sandbox_config(
    pod: &Pod,
    attempt: u32,
    node: &str,
    dns: Option<&ClusterDns>,
) -> Result<PodSandboxConfig, String> {
    let part = |field: &Option<String>| field.clone().unwrap_or_default();
    let spec = pod.spec.as_ref();
    let ports = spec.iter().flat_map(|s| &s.containers).flat_map(|c| c.ports.iter().flatten());
    let port = |p: &ContainerPort| PortMapping {
        protocol: p.protocol.clone().unwrap_or_else(|| "TCP".into()),
        container_port: p.container_port,
        host_port: p.host_port.unwrap_or(0),
        host_ip: part(&p.host_ip),
    };
    let alias = |alias: &HostAlias| (alias.ip.clone(), alias.hostnames.clone().unwrap_or_default());
    let domain = domain(pod, dns);
    let labels = pod.metadata.labels.iter().flatten();
    Ok(PodSandboxConfig {
        name: part(&pod.metadata.name),
        namespace: part(&pod.metadata.namespace),
        uid: pod.metadata.uid().into(),
        attempt,
        hostname: kernel_hostname(pod, hostname(pod, node), &domain)?,
        domain,
        host_network: spec.and_then(|s| s.host_network).unwrap_or(false),
        labels: labels.map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>().into(),
        port_mappings: ports.map(port).collect(),
        host_aliases: spec.and_then(|s| s.host_aliases.as_ref()).into_iter().flatten().map(alias).collect(),
        dns: resolver(pod, dns).into(),
        runtime_handler: String::new(),
    })
}

/// The domain of a pod that has a subdomain, unless it calls itself by quite another name. Mirrors `GeneratePodHostNameAndDomain`.
fn domain(pod: &Pod, dns: Option<&ClusterDns>) -> String {
    let spec = pod.spec.as_ref();
    let subdomain = spec.and_then(|spec| spec.subdomain.as_deref()).unwrap_or_default();
    if subdomain.is_empty() || spec.is_some_and(|spec| spec.hostname_override.is_some()) {
        return String::new();
    }
    let namespace = pod.metadata.namespace();
    format!("{subdomain}.{namespace}.svc.{}", dns.map_or("", |dns| &dns.domain))
}

/// What the kernel is told: with `setHostnameAsFQDN` the full name, if there is one, and if the kernel takes it. Mirrors
/// `GetNodenameForKernel`.
fn kernel_hostname(pod: &Pod, hostname: String, domain: &str) -> Result<String, String> {
    const MAX: usize = 64;
    let spec = pod.spec.as_ref();
    let on_host = spec.and_then(|spec| spec.host_network) == Some(true);
    let is_full = spec.and_then(|spec| spec.set_hostname_as_fqdn) == Some(true);
    if domain.is_empty() || on_host || !is_full {
        return Ok(hostname);
    }
    let full = format!("{hostname}.{domain}");
    match full.len() > MAX {
        false => Ok(full),
        true => Err(format!(
            "failed to construct FQDN from pod hostname and cluster domain, FQDN {full} is too long ({MAX} characters is the \
             max, {} characters requested)",
            full.len()
        )),
    }
}

/// What the pod calls itself: by its own name, as far as the kernel allows; on the node's network as the node does.
/// Mirrors `GeneratePodHostNameAndDomain`.
fn hostname(pod: &Pod, node: &str) -> String {
    const MAX: usize = 63;
    let spec = pod.spec.as_ref();
    if spec.and_then(|spec| spec.host_network) == Some(true) {
        return node.to_owned();
    }
    if let Some(name) = spec.and_then(|spec| spec.hostname_override.clone()) {
        return name;
    }
    let given = spec.and_then(|spec| spec.hostname.as_deref()).filter(|name| !name.is_empty());
    let name = given.or(pod.metadata.name.as_deref()).unwrap_or_default();
    match name.get(..MAX) {
        Some(cut) if name.len() > MAX => cut.trim_end_matches(['-', '.']).to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::pod;

    #[test]
    fn a_pod_calls_itself_by_its_name() {
        let mut pod = pod(&["web"]);
        assert_eq!(hostname(&pod, "node-1"), "web");
        pod.metadata.name = Some(format!("{}-x", "a".repeat(62)));
        assert_eq!(hostname(&pod, "node-1"), "a".repeat(62));
        pod.spec.as_mut().unwrap().hostname = Some("db-0".into());
        assert_eq!(hostname(&pod, "node-1"), "db-0");
        pod.spec.as_mut().unwrap().host_network = Some(true);
        assert_eq!(hostname(&pod, "node-1"), "node-1");
    }

    #[test]
    fn a_pod_with_a_subdomain_may_call_itself_by_its_full_name() {
        let dns = ClusterDns { server: "10.96.0.10".into(), domain: "cluster.local".into() };
        let mut pod = pod(&["web"]);
        let of =
            |pod: &Pod| sandbox_config(pod, 0, "node-1", Some(&dns)).map(|config| (config.hostname, config.domain));
        pod.spec.as_mut().unwrap().set_hostname_as_fqdn = Some(true);
        assert_eq!(of(&pod), Ok(("web".into(), String::new())), "there is no full name");
        pod.spec.as_mut().unwrap().subdomain = Some("db".into());
        let domain = "db.default.svc.cluster.local";
        assert_eq!(of(&pod), Ok((format!("web.{domain}"), domain.into())));
        pod.metadata.name = Some("a".repeat(40));
        let why = format!(
            "failed to construct FQDN from pod hostname and cluster domain, FQDN {}.{domain} is too long (64 characters is \
             the max, 69 characters requested)",
            "a".repeat(40)
        );
        assert_eq!(of(&pod), Err(why));
        pod.spec.as_mut().unwrap().set_hostname_as_fqdn = None;
        assert_eq!(of(&pod), Ok(("a".repeat(40), domain.into())));
        pod.spec.as_mut().unwrap().hostname_override = Some("mail.example.com".into());
        assert_eq!(of(&pod), Ok(("mail.example.com".into(), String::new())));
    }
}
