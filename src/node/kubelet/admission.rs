//! The node's own yes or no to a pod: what the scheduler should have made sure of is checked once more.
//!
//! Mirrors `pkg/kubelet/lifecycle/predicate.go`. A pod bound by hand, or two schedulers racing, can land on a node
//! that cannot run it; the kubelet then fails the pod rather than overcommit the machine.

use k8s_openapi::api::core::v1::{Node, PodSpec, Taint};

use super::eviction::{self, is_critical};
use super::node_status::Health;
use crate::object::Pod;
use crate::object::pod::qos_class;
use crate::object::quantity::Amount;
use crate::object::resources::{ResourceList, add, pod_requests};
use crate::object::taint::tolerates;

/// What the node gets that is short of memory.
const MEMORY_TAINT: &str = "node.kubernetes.io/memory-pressure";

/// Why a pod may not run here: the reason of its status and Event, and the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// `OutOfcpu`, `NodeAffinity`, `TaintToleration`, …
    pub reason: String,
    /// In the kubelet's words.
    pub message: String,
}

/// Checks `pod` against the node and the pods that run on it, in the kubelet's order.
pub fn admit<'a>(node: &Node, others: impl Iterator<Item = &'a Pod> + Clone, pod: &Pod) -> Result<(), Rejection> {
    let empty = PodSpec::default();
    let spec = pod.spec.as_deref().unwrap_or(&empty);
    fits_resources(node, others.clone(), pod)?;
    matches_selector(node, spec)?;
    host_ports_free(others, spec)?;
    tolerates_no_execute(node, spec)
}

/// A machine that is short of something takes no more pods, but for critical ones; if it is memory alone, those that ask for
/// some, or say that they can live with that. Mirrors `Admit` of `pkg/kubelet/eviction`.
pub fn under_pressure(health: &Health, pod: &Pod) -> Result<(), Rejection> {
    let pressures: Vec<&str> = health.pressures().collect();
    if pressures.is_empty() || is_critical(pod) {
        return Ok(());
    }
    if pressures == ["MemoryPressure"] {
        let taint = Taint { key: MEMORY_TAINT.into(), effect: "NoSchedule".into(), ..Taint::default() };
        let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
        if qos_class(pod) != "BestEffort" || tolerations.iter().any(|toleration| tolerates(toleration, &taint)) {
            return Ok(());
        }
    }
    let message = format!("The node had condition: [{}]. ", pressures.join(", "));
    Err(Rejection { reason: eviction::REASON.into(), message })
}

/// `pods`, then every resource the pod asks for, against what the others asked for.
fn fits_resources<'a>(node: &Node, others: impl Iterator<Item = &'a Pod> + Clone, pod: &Pod) -> Result<(), Rejection> {
    let Some(allocatable) = node.status.as_ref().and_then(|s| s.allocatable.as_ref()) else { return Ok(()) };
    let amount = |name: &str| allocatable.get(name).map_or(Amount::ZERO, Amount::of);
    let count = others.clone().count() as i64;
    let pods = amount("pods").value();
    if allocatable.contains_key("pods") && count + 1 > pods {
        return Err(out_of("pods", 1, count, pods));
    }
    let mut all_used = ResourceList::new();
    others.for_each(|other| add(&mut all_used, &pod_requests(other)));
    for (name, wanted) in pod_requests(pod) {
        let used = all_used.get(&name).copied().unwrap_or_default();
        let capacity = amount(&name);
        if !wanted.is_zero() && used + wanted > capacity {
            let number = |a: Amount| if name == "cpu" { a.milli_value() } else { a.value() };
            return Err(out_of(&name, number(wanted), number(used), number(capacity)));
        }
    }
    Ok(())
}

fn out_of(name: &str, requested: i64, used: i64, capacity: i64) -> Rejection {
    let message =
        format!("Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}");
    Rejection { reason: format!("OutOf{name}"), message }
}

/// `spec.nodeSelector`. Left out: required node affinity, which only the scheduler reads here.
fn matches_selector(node: &Node, spec: &PodSpec) -> Result<(), Rejection> {
    let labels = node.metadata.labels.as_ref();
    let has = |(key, value): (&String, &String)| labels.and_then(|l| l.get(key)) == Some(value);
    if spec.node_selector.iter().flatten().all(has) {
        return Ok(());
    }
    let message = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
    Err(Rejection { reason: "NodeAffinity".into(), message: message.into() })
}

/// No two pods on one host port.
fn host_ports_free<'a>(others: impl Iterator<Item = &'a Pod>, spec: &PodSpec) -> Result<(), Rejection> {
    let wanted = host_ports(spec);
    let taken = |pod: &Pod| pod.spec.as_ref().is_some_and(|s| host_ports(s).iter().any(|p| wanted.contains(p)));
    if wanted.is_empty() || !{ others }.any(taken) {
        return Ok(());
    }
    let message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
    Err(Rejection { reason: "NodePorts".into(), message: message.into() })
}

fn host_ports(spec: &PodSpec) -> Vec<(i32, &str)> {
    let ports = spec.containers.iter().flat_map(|c| c.ports.iter().flatten());
    let host = |p: &'_ k8s_openapi::api::core::v1::ContainerPort| p.host_port.filter(|port| *port > 0);
    ports.filter_map(|p| Some((host(p)?, p.protocol.as_deref().unwrap_or("TCP")))).collect()
}

/// A pod that does not tolerate a NoExecute taint would be evicted at once.
fn tolerates_no_execute(node: &Node, spec: &PodSpec) -> Result<(), Rejection> {
    let taints = node.spec.iter().flat_map(|s| s.taints.iter().flatten());
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let mut untolerated =
        taints.filter(|taint| taint.effect == "NoExecute" && !tolerations.iter().any(|t| tolerates(t, taint)));
    let Some(taint) = untolerated.next() else { return Ok(()) };
    let value = taint.value.as_deref().unwrap_or_default();
    let message = format!("Predicate TaintToleration failed: node(s) had untolerated taint {{{}: {value}}}", taint.key);
    Err(Rejection { reason: "TaintToleration".into(), message })
}

#[cfg(test)]
mod tests {
    use super::super::node_status::{Health, NodeConfig, initial};
    use super::super::testing::pod;
    use super::*;
    use crate::object::time::Instant;
    use k8s_openapi::api::core::v1::ResourceRequirements;
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

    fn asking(cpu: &str) -> Pod {
        let mut pod = pod(&["web"]);
        let requests = [("cpu".to_owned(), Quantity(cpu.into()))].into();
        let resources = ResourceRequirements { requests: Some(requests), ..ResourceRequirements::default() };
        pod.spec.as_mut().unwrap().containers[0].resources = Some(resources);
        pod
    }

    #[test]
    fn what_does_not_fit_is_refused_in_the_kubelets_words() {
        let node = initial(&NodeConfig::new("node-1", "172.18.0.11"), "0.1.0", &Health::default(), Instant(0));
        let others = [asking("3800m")];
        assert_eq!(admit(&node, others.iter(), &asking("200m")), Ok(()));
        let rejection = admit(&node, others.iter(), &asking("500m")).unwrap_err();
        assert_eq!(rejection.reason, "OutOfcpu");
        let message = "Node didn't have enough resource: cpu, requested: 500, used: 3800, capacity: 4000";
        assert_eq!(rejection.message, message);
    }

    #[test]
    fn a_selector_must_match() {
        let node = initial(&NodeConfig::new("node-1", "172.18.0.11"), "0.1.0", &Health::default(), Instant(0));
        let mut pod = pod(&["web"]);
        pod.spec.as_mut().unwrap().node_selector = Some([("disk".to_owned(), "ssd".to_owned())].into());
        assert_eq!(admit(&node, [].iter(), &pod).unwrap_err().reason, "NodeAffinity");
    }
}
