//! The node's own yes or no to a pod: what the scheduler should have made sure of is checked once more.
//!
//! Mirrors `pkg/kubelet/lifecycle/predicate.go`. A pod bound by hand, or two schedulers racing, can land on a node
//! that cannot run it; the kubelet then fails the pod rather than overcommit the machine.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, PodSpec, Taint};

use crate::eviction::threshold;
use crate::node_status::Health;
use crate::pod_types::is_critical;
use crate::preemption::victims;
use crate::rejection::{Rejection, Shortfall};
use object::host_port::HostPort;
use object::pod::qos_class;
use object::quantity::Amount;
use object::resources::{ResourceList, add, is_extended, pod_requests};
use object::selector::nodes::Required;
use object::taint::tolerates;
use object::{Pod, well_known};

/// The resources that are looked at before all others, in this order.
const FIRST_RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// The operating system of every node here.
const OS: &str = "linux";

/// The reason that may have gone meanwhile.
pub const NODE_AFFINITY: &str = "NodeAffinity";

/// Checks `pod` against the node and the pods that run on it, in the kubelet's order.
pub fn fits<'a>(node: &Node, others: impl Iterator<Item = &'a Arc<Pod>> + Clone, pod: &Pod) -> Result<(), Rejection> {
    let empty = PodSpec::default();
    let spec = pod.spec.as_deref().unwrap_or(&empty);
    is_for_this_system(pod, spec)?;
    if let Some(missing) = missing(node, others.clone(), pod).first() {
        return Err(missing.rejection());
    }
    all_but_resources(node, others, spec)
}

/// The same for a pod that is new here: if it is critical, and all that is missing is resources, these have to end first. For
/// any other it is none. Mirrors `HandleAdmissionFailure`.
pub fn admit<'a>(
    node: &Node,
    others: impl Iterator<Item = &'a Arc<Pod>> + Clone,
    pod: &Pod,
) -> Result<Vec<&'a Arc<Pod>>, Rejection> {
    if !is_critical(pod) {
        return fits(node, others, pod).map(|()| Vec::new());
    }
    let empty = PodSpec::default();
    let spec = pod.spec.as_deref().unwrap_or(&empty);
    is_for_this_system(pod, spec)?;
    all_but_resources(node, others.clone(), spec)?;
    let missing = missing(node, others.clone(), pod);
    if missing.is_empty() { Ok(Vec::new()) } else { victims(pod, others, &missing) }
}

fn all_but_resources<'a>(
    node: &Node,
    others: impl Iterator<Item = &'a Arc<Pod>>,
    spec: &PodSpec,
) -> Result<(), Rejection> {
    is_as_required(node, spec)?;
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
        let taint = Taint { key: well_known::MEMORY_PRESSURE.into(), effect: "NoSchedule".into(), ..Taint::default() };
        let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
        if qos_class(pod) != "BestEffort" || tolerations.iter().any(|toleration| tolerates(toleration, &taint)) {
            return Ok(());
        }
    }
    let message = format!("The node had condition: [{}]. ", pressures.join(" "));
    Err(Rejection { reason: threshold::REASON.into(), message })
}

/// A pod may say which operating system it is made for, in a label or a field: of the two only the node selector is known to
/// the scheduler.
fn is_for_this_system(pod: &Pod, spec: &PodSpec) -> Result<(), Rejection> {
    let refuse = |reason: &str, message: &str| Err(Rejection { reason: reason.into(), message: message.into() });
    let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get(well_known::OS));
    if label.is_some_and(|label| label != OS) {
        let message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";
        return refuse("PodOSSelectorNodeLabelDoesNotMatch", message);
    }
    if spec.os.as_ref().is_some_and(|os| os.name != OS) {
        return refuse("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS");
    }
    Ok(())
}

/// `pods`, then every resource the pod asks for, against what the others asked for. What the node does not know of at all
/// is not missed (`removeMissingExtendedResources`).
fn missing<'a>(node: &Node, others: impl Iterator<Item = &'a Arc<Pod>> + Clone, pod: &Pod) -> Vec<Shortfall> {
    let mut missing = Vec::new();
    let Some(allocatable) = node.status.as_ref().and_then(|s| s.allocatable.as_ref()) else { return missing };
    let amount = |name: &str| allocatable.get(name).map_or(Amount::ZERO, Amount::of);
    let count = others.clone().count() as i64;
    let pods = amount("pods").value();
    if allocatable.contains_key("pods") && count + 1 > pods {
        missing.push(Shortfall { resource: "pods".into(), requested: 1, used: count, capacity: pods });
    }
    let mut all_used = ResourceList::new();
    others.for_each(|other| add(&mut all_used, &pod_requests(other)));
    let requests = pod_requests(pod);
    let extended = requests.keys().map(String::as_str).filter(|name| !FIRST_RESOURCES.contains(name));
    let unknown = |name: &&str| is_extended(name) && !allocatable.contains_key(*name);
    for name in FIRST_RESOURCES.into_iter().chain(extended.filter(|name| !unknown(name))) {
        let wanted = requests.get(name).copied().unwrap_or_default();
        let used = all_used.get(name).copied().unwrap_or_default();
        let capacity = amount(name);
        if !wanted.is_zero() && used + wanted > capacity {
            let number = |a: Amount| if name == "cpu" { a.milli_value() } else { a.value() };
            let [requested, used, capacity] = [wanted, used, capacity].map(number);
            missing.push(Shortfall { resource: name.to_owned(), requested, used, capacity });
        }
    }
    missing
}

/// `spec.nodeSelector` and required node affinity.
fn is_as_required(node: &Node, spec: &PodSpec) -> Result<(), Rejection> {
    if Required::of(spec).is_none_or(|required| required.matches(node)) {
        return Ok(());
    }
    let message = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
    Err(Rejection { reason: NODE_AFFINITY.into(), message: message.into() })
}

/// No two pods on one host port.
fn host_ports_free<'a>(others: impl Iterator<Item = &'a Arc<Pod>>, spec: &PodSpec) -> Result<(), Rejection> {
    let wanted = HostPort::of(spec);
    let conflicts = |port: &HostPort| wanted.iter().any(|wanted| wanted.conflicts_with(port));
    let taken = |pod: &Arc<Pod>| pod.spec.as_ref().is_some_and(|spec| HostPort::of(spec).iter().any(conflicts));
    if wanted.is_empty() || !{ others }.any(taken) {
        return Ok(());
    }
    let message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
    Err(Rejection { reason: "NodePorts".into(), message: message.into() })
}

/// A pod that does not tolerate a NoExecute taint would be evicted at once.
fn tolerates_no_execute(node: &Node, spec: &PodSpec) -> Result<(), Rejection> {
    let taints = node.spec.iter().flat_map(|s| s.taints.iter().flatten());
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let mut untolerated =
        taints.filter(|taint| taint.effect == "NoExecute" && !tolerations.iter().any(|t| tolerates(t, taint)));
    if untolerated.next().is_none() {
        return Ok(());
    }
    let message = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
    Err(Rejection { reason: "TaintToleration".into(), message: message.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_status::{Health, NodeConfig, initial};
    use crate::testing::pod;
    use k8s_openapi::api::core::v1::ResourceRequirements;
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
    use network::host::Shortage;
    use object::time::Instant;

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
        let others = [Arc::new(asking("3800m"))];
        assert_eq!(admit(&node, others.iter(), &asking("200m")), Ok(vec![]));
        let rejection = admit(&node, others.iter(), &asking("500m")).unwrap_err();
        assert_eq!(rejection.reason, "OutOfcpu");
        let message = "Node didn't have enough resource: cpu, requested: 500, used: 3800, capacity: 4000";
        assert_eq!(rejection.message, message);
    }

    #[test]
    fn a_machine_that_is_short_of_something_says_of_what() {
        let mut health = Health::default();
        assert_eq!(under_pressure(&health, &asking("1")), Ok(()));
        health.turn(Shortage::Memory, true);
        assert_eq!(
            under_pressure(&health, &asking("1")),
            Ok(()),
            "it asks for something, and is not among the first to go"
        );
        let message = |pod: &Pod, health: &Health| under_pressure(health, pod).err().map(|no| no.message);
        let said = message(&pod(&["web"]), &health);
        assert_eq!(said.as_deref(), Some("The node had condition: [MemoryPressure]. "));
        health.turn(Shortage::Disk, true);
        let said = message(&asking("1"), &health);
        assert_eq!(
            said.as_deref(),
            Some("The node had condition: [MemoryPressure DiskPressure]. "),
            "as Go prints a list"
        );
    }

    #[test]
    fn what_the_scheduler_should_have_seen_is_looked_at_again() {
        let mut node = initial(&NodeConfig::new("node-1", "172.18.0.11"), "0.1.0", &Health::default(), Instant(0));
        let taint = Taint { key: "gone".into(), effect: "NoExecute".into(), ..Taint::default() };
        node.spec.get_or_insert_default().taints = Some(vec![taint]);
        let pod = |spec: serde_json::Value| -> Pod {
            let mut spec = spec;
            spec["containers"] = serde_json::json!([{"name": "web", "ports": spec["ports"].take(), "resources": spec["resources"].take()}]);
            serde_json::from_value(serde_json::json!({"metadata": {"name": "web"}, "spec": spec})).unwrap()
        };
        let port = |ip: &str| serde_json::json!([{"containerPort": 80, "hostPort": 80, "hostIP": ip}]);
        let tolerant = serde_json::json!([{"operator": "Exists"}]);
        let affinity = serde_json::json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]}}});
        let others = [Arc::new(pod(serde_json::json!({"ports": port("127.0.0.1")})))];
        let requests = |name: &str, amount: &str| serde_json::json!({"requests": {name: amount}});
        let mut labelled = pod(serde_json::json!({}));
        labelled.metadata.labels = Some([(well_known::OS.to_owned(), "windows".to_owned())].into());
        let said = admit(&node, others.iter(), &labelled).unwrap_err();
        assert_eq!(said.reason, "PodOSSelectorNodeLabelDoesNotMatch");
        for (spec, reason) in [
            // Before all that the others might make room for.
            (
                serde_json::json!({"os": {"name": "windows"}, "resources": requests("memory", "1Ti")}),
                "PodOSNotSupported",
            ),
            (serde_json::json!({"tolerations": tolerant, "os": {"name": "linux"}}), ""),
            (serde_json::json!({"tolerations": tolerant}), ""),
            (serde_json::json!({}), "TaintToleration"),
            (serde_json::json!({"tolerations": tolerant, "nodeSelector": {"disk": "ssd"}}), "NodeAffinity"),
            (serde_json::json!({"tolerations": tolerant, "affinity": affinity}), "NodeAffinity"),
            (serde_json::json!({"tolerations": tolerant, "ports": port("")}), "NodePorts"),
            (serde_json::json!({"tolerations": tolerant, "ports": port("127.0.0.2")}), ""),
            (serde_json::json!({"tolerations": tolerant, "resources": requests("memory", "1Ti")}), "OutOfmemory"),
            // Of a device that the node does not know the kubelet does not know either.
            (serde_json::json!({"tolerations": tolerant, "resources": requests("example.com/gpu", "1")}), ""),
        ] {
            let said = admit(&node, others.iter(), &pod(spec.clone())).err().map(|no| no.reason);
            assert_eq!(said.unwrap_or_default(), reason, "{spec}");
        }
    }
}
