//! Kernel parameters that a pod sets for itself: only those that cannot harm others.
//!
//! A parameter is safe if the kernel keeps one for each namespace, and if it does no harm to the node. All others a kubelet
//! refuses unless `--allowed-unsafe-sysctls` names them, which no kubelet here has. Mirrors `pkg/kubelet/sysctl`.

use crate::rejection::Rejection;
use object::Pod;

/// Safe, each namespace of the network has its own.
const OF_NETWORK: [&str; 11] = [
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];
/// Safe, each namespace of inter-process communication has its own.
const OF_IPC: &str = "kernel.shm_rmid_forced";

/// Refuses a pod that wants to set anything else, or that has no namespace of its own to set it in.
pub fn refuse(pod: &Pod) -> Result<(), Rejection> {
    let Some(spec) = &pod.spec else { return Ok(()) };
    let all = spec.security_context.iter().flat_map(|context| context.sysctls.iter().flatten());
    for sysctl in all {
        let name = normal(&sysctl.name);
        let shared = match () {
            () if OF_NETWORK.contains(&&*name) => spec.host_network.filter(|shared| *shared).map(|_| "Net"),
            () if name == OF_IPC => spec.host_ipc.filter(|shared| *shared).map(|_| "IPC"),
            () => return Err(forbidden(format!("{name:?} not allowlisted"))),
        };
        if let Some(namespace) = shared {
            return Err(forbidden(format!("{name:?} not allowed with host {namespace} enabled")));
        }
    }
    Ok(())
}

fn forbidden(why: String) -> Rejection {
    Rejection { reason: "SysctlForbidden".into(), message: format!("forbidden sysctl: {why}") }
}

/// A parameter may be written as the path of its file: `net/ipv4/tcp_rmem`. Mirrors `NormalizeName`.
fn normal(name: &str) -> String {
    match name.find(['.', '/']).map(|at| name.as_bytes()[at]) {
        Some(b'/') => name
            .chars()
            .map(|c| {
                if c == '/' {
                    '.'
                } else if c == '.' {
                    '/'
                } else {
                    c
                }
            })
            .collect(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_safe_is_let_through() {
        for (name, shared, message) in [
            ("net.ipv4.tcp_rmem", "hostIPC", ""),
            ("net/ipv4/tcp_rmem", "hostPID", ""),
            ("kernel.shm_rmid_forced", "hostNetwork", ""),
            ("net.core.somaxconn", "hostPID", "\"net.core.somaxconn\" not allowlisted"),
            ("kernel.msgmax", "hostPID", "\"kernel.msgmax\" not allowlisted"),
            ("net.ipv4.tcp_rmem", "hostNetwork", "\"net.ipv4.tcp_rmem\" not allowed with host Net enabled"),
            ("kernel.shm_rmid_forced", "hostIPC", "\"kernel.shm_rmid_forced\" not allowed with host IPC enabled"),
            ("net/ipv4/conf/eth0.1/x", "hostPID", "\"net.ipv4.conf.eth0/1.x\" not allowlisted"),
        ] {
            let sysctls = [json!({"name": name, "value": "1"})];
            let mut spec = json!({"containers": [], "securityContext": {"sysctls": sysctls}});
            spec[shared] = json!(true);
            let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": spec})).expect("a Pod");
            let said = refuse(&pod).err().map(|no| no.message);
            let expected = (!message.is_empty()).then(|| format!("forbidden sysctl: {message}"));
            assert_eq!(said, expected, "{name} {shared}");
        }
    }
}
