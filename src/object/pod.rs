//! What a Pod's status says in a word: read by the API server, controllers, kubelet and debugger alike.
//!
//! Mirrors `k8s.io/kubernetes/pkg/api/v1/pod/util.go`.

use k8s_openapi::api::core::v1::{ContainerPort, Pod, PodCondition};

use super::quantity::Amount;

/// The Pod's phase, empty before it has one.
pub fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// Whether a phase is one that a Pod never leaves.
pub fn is_final(phase: &str) -> bool {
    matches!(phase, "Succeeded" | "Failed")
}

/// Whether none of the Pod's containers will run again. Mirrors `podutil.IsPodTerminal`.
pub fn has_ended(pod: &Pod) -> bool {
    is_final(phase(pod))
}

/// The Pod's IPv4 address.
pub fn address_of(pod: &Pod) -> Option<&str> {
    let status = pod.status.as_ref()?;
    let all = status.pod_ips.iter().flatten().map(|ip| ip.ip.as_str()).chain(status.pod_ip.as_deref());
    all.into_iter().find(|ip| ip.parse::<std::net::Ipv4Addr>().is_ok())
}

/// The number of a port that one of the Pod's containers has under this name, with this protocol (`TCP`).
pub fn container_port(pod: &Pod, name: &str, protocol: &str) -> Option<i32> {
    let spec = pod.spec.as_ref()?;
    let sidecars = spec.init_containers.iter().flatten().filter(|c| c.restart_policy.as_deref() == Some("Always"));
    let declared = spec.containers.iter().chain(sidecars).flat_map(|container| container.ports.iter().flatten());
    let same = |there: &&ContainerPort| {
        there.name.as_deref() == Some(name) && there.protocol.as_deref().unwrap_or("TCP") == protocol
    };
    declared.into_iter().find(same).map(|there| there.container_port)
}

/// The Pod's Ready condition. Mirrors `podutil.GetPodReadyCondition`.
pub fn ready_condition(pod: &Pod) -> Option<&PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    conditions.iter().find(|condition| condition.type_ == "Ready")
}

/// Whether the Pod's Ready condition is True. Mirrors `podutil.IsPodReady`.
pub fn is_ready(pod: &Pod) -> bool {
    ready_condition(pod).is_some_and(|condition| condition.status == "True")
}

/// `Guaranteed`, `Burstable` or `BestEffort`. Mirrors `pkg/apis/core/v1/helper/qos`.
pub fn qos_class(pod: &Pod) -> &'static str {
    let Some(spec) = &pod.spec else { return "BestEffort" };
    let containers = || spec.containers.iter().chain(spec.init_containers.iter().flatten());
    let amount = |map: Option<&std::collections::BTreeMap<_, _>>, name: &str| {
        map.and_then(|m| m.get(name)).map(Amount::of).filter(|q| !q.is_zero())
    };
    let (mut any, mut all) = (false, true);
    for container in containers() {
        let resources = container.resources.as_ref();
        for name in ["cpu", "memory"] {
            let limit = amount(resources.and_then(|r| r.limits.as_ref()), name);
            let request = amount(resources.and_then(|r| r.requests.as_ref()), name);
            any |= limit.is_some() || request.is_some();
            all &= limit.is_some() && (request.is_none() || request == limit);
        }
    }
    match (any, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
