//! On which nodes a DaemonSet's Pods belong, and what such a Pod looks like.
//!
//! The controller does not place Pods; the scheduler does. But it must know what the scheduler will say, or it would make
//! Pods for nodes that refuse them, and so it asks the same questions: affinity, selector, taints. Each Pod is then made
//! for one node: a required node affinity names it. Mirrors `NodeShouldRunDaemonPod` and
//! `pkg/controller/daemon/util/daemonset_util.go`.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{
    Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, PodTemplateSpec, Toleration,
};

use crate::history::REVISION_HASH;
use object::node::taints_of;
use object::pod::assigned_node;
use object::selector::nodes::Required;
use object::taint::tolerates;
use object::well_known::{
    DISK_PRESSURE, MEMORY_PRESSURE, NETWORK_UNAVAILABLE, NOT_READY, PID_PRESSURE, UNREACHABLE, UNSCHEDULABLE,
};
use object::{Accessor, Pod};

/// How often the template has changed, on the Pods; the older way to tell from which one they are.
pub const TEMPLATE_GENERATION: &str = "pod-template-generation";
/// The same number on the DaemonSet.
const GENERATION: &str = "deprecated.daemonset.template.generation";

/// What a node is to a DaemonSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// A Pod belongs there.
    Run,
    /// A Pod that is there may stay, but none is made.
    Stay,
    /// No Pod may be there.
    Never,
}

/// What this node is to the DaemonSet.
pub fn fit(set: &DaemonSet, node: &Node) -> Fit {
    let name = node.metadata.name();
    let spec = template(set, "").spec.unwrap_or_default();
    let pinned = spec.node_name.as_deref().filter(|pinned| !pinned.is_empty());
    if pinned.is_some_and(|pinned| pinned != name) || Required::of(&spec).is_some_and(|r| !r.matches(node)) {
        return Fit::Never;
    }
    let tolerations = spec.tolerations.unwrap_or_default();
    let refuses = |effect: &str| {
        let of_effect = taints_of(node).iter().filter(|taint| taint.effect == effect);
        of_effect.into_iter().any(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint)))
    };
    match (refuses("NoExecute"), refuses("NoSchedule")) {
        (true, _) => Fit::Never,
        (false, true) => Fit::Stay,
        (false, false) => Fit::Run,
    }
}

/// The template of the DaemonSet's Pods: it bears the hash, and tolerates what happens to nodes. Mirrors
/// `CreatePodTemplate`.
pub fn template(set: &DaemonSet, hash: &str) -> PodTemplateSpec {
    let mut template = set.spec.as_ref().map(|spec| spec.template.clone()).unwrap_or_default();
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    if let Some(generation) = generation(set) {
        labels.insert(TEMPLATE_GENERATION.into(), generation.to_owned());
    }
    if !hash.is_empty() {
        labels.insert(REVISION_HASH.into(), hash.to_owned());
    }
    if let Some(spec) = &mut template.spec {
        add_tolerations(spec);
    }
    template
}

/// A machine's own programs stay on it while it is ill. Mirrors `AddOrUpdateDaemonPodTolerations`.
fn add_tolerations(spec: &mut PodSpec) {
    const ALWAYS: [(&str, &str); 6] = [
        (NOT_READY, "NoExecute"),
        (UNREACHABLE, "NoExecute"),
        (DISK_PRESSURE, "NoSchedule"),
        (MEMORY_PRESSURE, "NoSchedule"),
        (PID_PRESSURE, "NoSchedule"),
        (UNSCHEDULABLE, "NoSchedule"),
    ];
    let network = (NETWORK_UNAVAILABLE, "NoSchedule");
    let on_host = spec.host_network == Some(true);
    let tolerations = spec.tolerations.get_or_insert_default();
    for (taint, effect) in ALWAYS.into_iter().chain(on_host.then_some(network)) {
        let new = Toleration {
            key: Some(taint.into()),
            operator: Some("Exists".into()),
            effect: Some(effect.into()),
            ..Toleration::default()
        };
        // What makes a toleration the same one; one of another operator or value stays beside it. Mirrors
        // `MatchToleration`.
        let id = |of: &Toleration| {
            let value = of.value.clone().filter(|value| !value.is_empty());
            (of.key.clone(), of.effect.clone(), of.operator.clone(), value)
        };
        let same = |there: &&mut Toleration| id(there) == id(&new);
        match tolerations.iter_mut().find(same) {
            Some(there) => *there = new,
            None => tolerations.push(new),
        }
    }
}

/// The same template, for this node only. Mirrors `ReplaceDaemonSetPodNodeNameNodeAffinity`.
pub fn pinned(mut template: PodTemplateSpec, node: &str) -> PodTemplateSpec {
    let by_name = NodeSelectorRequirement {
        key: "metadata.name".into(),
        operator: "In".into(),
        values: Some(vec![node.to_owned()]),
    };
    let term = NodeSelectorTerm { match_fields: Some(vec![by_name]), match_expressions: None };
    let affinity = template.spec.get_or_insert_default().affinity.get_or_insert_default();
    let of_nodes = affinity.node_affinity.get_or_insert_default();
    of_nodes.required_during_scheduling_ignored_during_execution =
        Some(NodeSelector { node_selector_terms: vec![term] });
    template
}

/// The node that the Pod is on or is made for. Mirrors `GetTargetNodeName`.
pub fn node_of(pod: &Pod) -> Option<&str> {
    if let Some(node) = assigned_node(pod) {
        return Some(node);
    }
    let affinity = pod.spec.as_ref()?.affinity.as_ref()?.node_affinity.as_ref()?;
    let terms = &affinity.required_during_scheduling_ignored_during_execution.as_ref()?.node_selector_terms;
    let fields = terms.iter().flat_map(|term| term.match_fields.iter().flatten());
    let by_name = |field: &&NodeSelectorRequirement| field.key == "metadata.name" && field.operator == "In";
    fields.into_iter().find(by_name)?.values.as_deref()?.first().map(String::as_str)
}

/// Whether the Pod is from the DaemonSet's present template. Mirrors `IsPodUpdated`.
pub fn is_updated(pod: &Pod, set: &DaemonSet, hash: &str) -> bool {
    let label = |name: &str| pod.metadata.labels.as_ref().and_then(|labels| labels.get(name)).map(String::as_str);
    let generation = generation(set);
    (generation.is_some() && label(TEMPLATE_GENERATION) == generation) || label(REVISION_HASH) == Some(hash)
}

fn generation(set: &DaemonSet) -> Option<&str> {
    set.metadata.annotations.as_ref()?.get(GENERATION).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn set(spec: Value) -> DaemonSet {
        serde_json::from_value(
            json!({"metadata": {"name": "agent"}, "spec": {"selector": {}, "template": {"spec": spec}}}),
        )
        .unwrap()
    }

    #[test]
    fn nodes_are_judged_as_the_scheduler_does() {
        let none = json!({"containers": []});
        let selects = json!({"containers": [], "nodeSelector": {"disk": "ssd"}});
        let tolerates = json!({"containers": [], "tolerations": [{"key": "own", "operator": "Exists"}]});
        for (what, spec, labels, taints, want) in [
            ("any node", &none, json!({}), json!([]), Fit::Run),
            ("another node", &selects, json!({}), json!([]), Fit::Never),
            ("the right node", &selects, json!({"disk": "ssd"}), json!([]), Fit::Run),
            ("reserved", &none, json!({}), json!([{"key": "own", "effect": "NoSchedule"}]), Fit::Stay),
            ("reserved, tolerated", &tolerates, json!({}), json!([{"key": "own", "effect": "NoSchedule"}]), Fit::Run),
            ("emptied", &none, json!({}), json!([{"key": "own", "effect": "NoExecute"}]), Fit::Never),
            ("better not", &none, json!({}), json!([{"key": "own", "effect": "PreferNoSchedule"}]), Fit::Run),
            (
                "ill",
                &none,
                json!({}),
                json!([{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
                    {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]),
                Fit::Run,
            ),
        ] {
            let node = json!({"metadata": {"name": "n", "labels": labels}, "spec": {"taints": taints}});
            assert_eq!(fit(&set(spec.clone()), &serde_json::from_value(node).unwrap()), want, "{what}");
        }
    }

    #[test]
    fn a_toleration_of_the_users_stays_unless_it_is_the_same() {
        let asked = json!([
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
            {"key": "node.kubernetes.io/unreachable", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5},
        ]);
        let spec = template(&set(json!({"containers": [], "tolerations": asked})), "h").spec.unwrap();
        let seconds: Vec<_> =
            spec.tolerations.unwrap().iter().map(|toleration| toleration.toleration_seconds).collect();
        assert_eq!(seconds, [None, Some(5), None, None, None, None, None]);
    }

    #[test]
    fn a_pod_is_made_for_its_node() {
        let template = pinned(template(&set(json!({"containers": []})), "h"), "node-2");
        let mut pod = Pod { spec: template.spec.map(Into::into), ..Pod::default() };
        assert_eq!(node_of(&pod), Some("node-2"));
        pod.spec.as_mut().unwrap().node_name = Some("node-3".into());
        assert_eq!(node_of(&pod), Some("node-3"));
    }
}
