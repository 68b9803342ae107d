//! PodTopologySpread: pods that belong together spread evenly over zones, nodes or the values of any other label.
//!
//! A constraint says: among the places that share a value of `topologyKey`, none may have more than `maxSkew`
//! matching pods above the least. `DoNotSchedule` constraints filter (`filter`), `ScheduleAnyway` ones score
//! (`score`). A pod without any, but selected by a Service or owned by a ReplicaSet, gets two soft ones from the
//! scheduler: hostname with skew 3 and zone with skew 5, unless the profile has its own. Mirrors
//! `plugins/podtopologyspread`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, TopologySpreadConstraint};

use super::taint_toleration::{tolerations, untolerated};
use crate::events::{ClusterEvent, EventKind};
use crate::framework::{Hint, Plugin, Point, PreFilter, PreScore};
use crate::labels::{Labels, Matcher};
use crate::node_info::{KeyId, NodeId, NodeInfo};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use object::meta::controller_of;
use object::pod::{assigned_node, nominated_node};
use object::selector::nodes::Required;
use object::well_known::{HOSTNAME, ZONE};
use object::{Accessor, Pod};

mod filter;
mod score;

const HARD: &str = "DoNotSchedule";
const SOFT: &str = "ScheduleAnyway";

/// The plugin.
#[derive(Default)]
pub struct PodTopologySpread {
    /// What the profile asks for pods without constraints of their own, by its argument `defaultConstraints`. None: as
    /// much as the scheduler does by itself.
    pub defaults: Option<Vec<TopologySpreadConstraint>>,
}

impl PodTopologySpread {
    /// The pod's constraints of one sort: its own; if it has none at all, those of the profile. Mirrors `getConstraints`.
    fn constraints(&self, pod: &PodInfo, snapshot: &Snapshot, when_unsatisfiable: &str) -> Vec<Constraint> {
        let own = pod.spec().and_then(|spec| spec.topology_spread_constraints.as_deref()).unwrap_or_default();
        match &self.defaults {
            _ if !own.is_empty() => of_sort(own, pod, snapshot, when_unsatisfiable),
            None if when_unsatisfiable == SOFT => by_default(pod, snapshot, || system_defaults(snapshot)),
            None => Vec::new(),
            Some(defaults) => by_default(pod, snapshot, || of_sort(defaults, pod, snapshot, when_unsatisfiable)),
        }
    }
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        "PodTopologySpread"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::Filter, Point::Score]
    }

    fn interests(&self) -> &'static [EventKind] {
        &[
            EventKind::AssignedPodAdd,
            EventKind::AssignedPodDelete,
            EventKind::PodUpdateLabel,
            EventKind::PodUpdateToleration,
            EventKind::NodeAdd,
            EventKind::NodeDelete,
            EventKind::NodeUpdateLabel,
            EventKind::NodeUpdateTaint,
        ]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, snapshot: &Snapshot) -> Hint {
        let constraints = self.constraints(pod, snapshot, HARD);
        if event.old_pod().is_some() || event.new_pod().is_some() {
            return hint_of_pod(pod, event, &constraints);
        }
        let places = |node: &Node| -> Option<Vec<String>> {
            let labels = node.metadata.labels.as_ref()?;
            constraints.iter().map(|constraint| labels.get(&constraint.topology_key).cloned()).collect()
        };
        let old = event.old_node().and_then(|node| places(node));
        let new = event.new_node().and_then(|node| places(node));
        // A node that is tainted or freed keeps its place but may begin or cease to count.
        let taints = |node: Option<&Arc<Node>>| node.and_then(|node| node.spec.as_ref()?.taints.clone());
        let updated = event.old_node().is_some() && new.is_some();
        Hint::queue_if(old != new || (updated && taints(event.old_node()) != taints(event.new_node())))
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        let constraints = self.constraints(pod, snapshot, HARD);
        if constraints.is_empty() {
            return PreFilter::Skip;
        }
        PreFilter::Ask(Box::new(filter::MaxSkew::new(pod, snapshot, constraints)))
    }

    fn pre_score<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot, feasible: &[NodeId]) -> PreScore<'a> {
        let explicit = pod.spec().is_some_and(|spec| has_constraints(spec.topology_spread_constraints.as_deref()));
        let constraints = self.constraints(pod, snapshot, SOFT);
        if constraints.is_empty() {
            return PreScore::Skip;
        }
        let every_key = explicit || self.defaults.is_some();
        PreScore::Ask(Box::new(score::Evenness::new(pod, snapshot, constraints, every_key, feasible)))
    }
}

/// One constraint with its selector read.
struct Constraint {
    max_skew: i64,
    topology_key: String,
    /// The key as a number; none if no node has it.
    key: Option<KeyId>,
    selector: Matcher,
    min_domains: i64,
    /// Nodes that the pod's own selector or affinity excludes do not count as places (`nodeAffinityPolicy`).
    honour_affinity: bool,
    /// Nodes whose taints the pod does not tolerate do not count either (`nodeTaintsPolicy`).
    honour_taints: bool,
}

fn has_constraints(constraints: Option<&[TopologySpreadConstraint]>) -> bool {
    constraints.is_some_and(|constraints| !constraints.is_empty())
}

/// Those constraints that filter, or those that score. Mirrors `filterTopologySpreadConstraints`.
fn of_sort(
    constraints: &[TopologySpreadConstraint],
    pod: &PodInfo,
    snapshot: &Snapshot,
    when_unsatisfiable: &str,
) -> Vec<Constraint> {
    let wanted = constraints.iter().filter(|constraint| constraint.when_unsatisfiable == when_unsatisfiable);
    wanted.map(|constraint| Constraint::new(constraint, pod.labels(), snapshot)).collect()
}

/// These constraints, for a pod that belongs to something. Mirrors `buildDefaultConstraints`.
fn by_default(pod: &PodInfo, snapshot: &Snapshot, constraints: impl FnOnce() -> Vec<Constraint>) -> Vec<Constraint> {
    let selector = default_selector(pod, snapshot);
    if selector.is_empty() {
        return Vec::new();
    }
    let selected = |constraint| Constraint { selector: selector.clone(), ..constraint };
    constraints().into_iter().map(selected).collect()
}

/// What the scheduler adds by itself. Mirrors `systemDefaultConstraints`.
fn system_defaults(snapshot: &Snapshot) -> Vec<Constraint> {
    let constraint = |topology_key: &str, max_skew| Constraint {
        max_skew,
        topology_key: topology_key.to_owned(),
        key: snapshot.label_key(topology_key),
        selector: Matcher::default(),
        min_domains: 1,
        honour_affinity: true,
        honour_taints: false,
    };
    vec![constraint(HOSTNAME, 3), constraint(ZONE, 5)]
}

/// What selects the pod: all its Services and its controller. Mirrors `helper.DefaultSelector`.
fn default_selector(pod: &PodInfo, snapshot: &Snapshot) -> Matcher {
    let mut merged = Matcher::default();
    for service in snapshot.services(pod.namespace()) {
        let Some(selector) = service.spec.as_ref().and_then(|spec| spec.selector.as_ref()) else { continue };
        if !selector.is_empty() && selector.iter().all(|(key, value)| pod.labels().get(key) == Some(value)) {
            selector.iter().for_each(|(key, value)| merged.require_equal(key, value));
        }
    }
    let owner = controller_of(&pod.pod.metadata);
    if let Some(owner) = owner
        && let Some(selector) = snapshot.owner_selector(&owner.kind, pod.namespace(), &owner.name)
    {
        merged.and(selector);
    }
    merged
}

impl Constraint {
    fn new(constraint: &TopologySpreadConstraint, labels: &Labels, snapshot: &Snapshot) -> Constraint {
        let mut selector = Matcher::new(constraint.label_selector.as_ref());
        for key in constraint.match_label_keys.iter().flatten() {
            if let Some(value) = labels.get(key) {
                selector.require_equal(key, value);
            }
        }
        Constraint {
            max_skew: i64::from(constraint.max_skew),
            topology_key: constraint.topology_key.clone(),
            key: snapshot.label_key(&constraint.topology_key),
            selector,
            min_domains: i64::from(constraint.min_domains.unwrap_or(1)),
            honour_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
            honour_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
        }
    }

    /// Whether a node counts as a place. Mirrors `matchNodeInclusionPolicies`.
    fn includes(&self, node: &NodeInfo, pod: &PodInfo, required: Option<&Required>) -> bool {
        let affine = || required.is_none_or(|required| node.node.as_ref().is_some_and(|node| required.matches(node)));
        (!self.honour_affinity || affine())
            && (!self.honour_taints || untolerated(node.taints(), tolerations(pod)).is_none())
    }

    /// Whether every node counts as a place, so that none need be asked.
    fn includes_all(&self, required: Option<&Required>) -> bool {
        !self.honour_taints && (!self.honour_affinity || required.is_none())
    }

    /// Calls `each` with every node that has pods counted by this constraint, and how many.
    /// An empty selector counts nothing. Mirrors `countPodsMatchSelector`.
    fn count(&self, pod: &PodInfo, snapshot: &Snapshot, mut each: impl FnMut(NodeId, i64)) {
        if self.selector.is_empty() {
            return;
        }
        let classes = snapshot.classes.in_namespace(pod.namespace());
        for class in classes.filter(|class| !class.terminating && self.selector.matches(&class.labels)) {
            class.nodes.iter().for_each(|(node, pods)| each(*node, i64::from(*pods)));
        }
    }
}

/// Whether the node has the label of every constraint. Mirrors `nodeLabelsMatchSpreadConstraints`.
fn has_every_key(node: &NodeInfo, constraints: &[Constraint]) -> bool {
    constraints.iter().all(|constraint| constraint.key.is_some_and(|key| node.pair(key).is_some()))
}

/// A pod on a node that came, went or was relabelled matters if a constraint counts it; so does the pod itself if it is
/// relabelled, or tolerates more and a constraint asks for that. Mirrors `isSchedulableAfterPodChange`.
fn hint_of_pod(pod: &PodInfo, event: &ClusterEvent, constraints: &[Constraint]) -> Hint {
    let involved = |other: &&Arc<Pod>| {
        event.is_about(&pod.key)
            || (assigned_node(other).or_else(|| nominated_node(other)).is_some()
                && other.metadata.namespace() == pod.namespace())
    };
    if event.old_pod().into_iter().chain(event.new_pod()).any(|other| !involved(&other)) {
        return Hint::QueueSkip;
    }
    if event.kind == EventKind::PodUpdateToleration {
        let asked_for = constraints.iter().any(|constraint| constraint.honour_taints);
        return Hint::queue_if(event.is_about(&pod.key) && asked_for);
    }
    let counted = |other: Option<&Arc<Pod>>| -> Vec<bool> {
        static NONE: Labels = Labels::new();
        let labels = other.map(|other| other.metadata.labels.as_ref().unwrap_or(&NONE));
        constraints.iter().map(|constraint| labels.is_some_and(|labels| constraint.selector.matches(labels))).collect()
    };
    Hint::queue_if(counted(event.old_pod()) != counted(event.new_pod()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{node_changes, pod_changes};
    use crate::testing::{info, labelled, node};

    fn spread(taints: &str) -> String {
        format!(
            "{{topologySpreadConstraints: [{{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: {taints}, labelSelector: {{matchLabels: {{app: web}}}}}}]}}"
        )
    }

    fn hint(pod: &PodInfo, event: &ClusterEvent) -> Hint {
        PodTopologySpread::default().hint(pod, event, &Snapshot::default())
    }

    #[test]
    fn only_pods_on_nodes_and_the_pod_itself_matter() {
        let pod = info(labelled("p", "app=web", &spread("Ignore")));
        let there = |labels: &str, spec: &str| ClusterEvent::pod_deleted(&Arc::new(labelled("q", labels, spec)));
        assert_eq!(hint(&pod, &there("app=web", "{nodeName: n}")), Hint::Queue);
        assert_eq!(hint(&pod, &there("app=db", "{nodeName: n}")), Hint::QueueSkip, "no constraint counts it");
        assert_eq!(hint(&pod, &there("app=web", "")), Hint::QueueSkip, "it was nowhere");
        let mut promised = labelled("q", "app=web", "");
        promised.status.get_or_insert_default().nominated_node_name = Some("n".into());
        assert_eq!(hint(&pod, &ClusterEvent::pod_deleted(&Arc::new(promised))), Hint::Queue, "a node was kept for it");
        let own = |labels: &str| pod_changes(&pod.pod, &Arc::new(labelled("p", labels, &spread("Ignore")))).remove(0);
        assert_eq!(hint(&pod, &own("app=db")), Hint::Queue, "it counts itself no more");
        assert_eq!(hint(&pod, &own("app=web,more=x")), Hint::QueueSkip, "nothing to the constraint");
    }

    #[test]
    fn a_new_toleration_helps_where_taints_count() {
        for (policy, expected) in [("Honor", Hint::Queue), ("Ignore", Hint::QueueSkip)] {
            let old = info(labelled("p", "app=web", &spread(policy)));
            let tolerant = spread(policy).replacen('{', "{tolerations: [{operator: Exists}], ", 1);
            let event = pod_changes(&old.pod, &Arc::new(labelled("p", "app=web", &tolerant))).remove(0);
            assert_eq!((event.kind, hint(&old, &event)), (EventKind::PodUpdateToleration, expected), "{policy}");
        }
    }

    #[test]
    fn a_node_matters_if_it_is_a_place() {
        let pod = info(labelled("p", "app=web", &spread("Ignore")));
        let of = |yaml: &str| Arc::new(node("n", yaml));
        let (a, bare) = (of("{metadata: {labels: {zone: a}}}"), of(""));
        let tainted = of("{metadata: {labels: {zone: a}}, spec: {taints: [{key: t, effect: NoSchedule}]}}");
        let cordoned = of("{metadata: {labels: {zone: a}}, spec: {unschedulable: true}}");
        for (event, expected) in [
            (ClusterEvent::node_added(&a), Hint::Queue),
            (ClusterEvent::node_added(&bare), Hint::QueueSkip),
            (node_changes(&bare, &a).remove(0), Hint::Queue),
            (node_changes(&tainted, &a).remove(0), Hint::Queue),
            (node_changes(&cordoned, &a).remove(0), Hint::QueueSkip),
        ] {
            assert_eq!(hint(&pod, &event), expected, "{event:?}");
        }
    }
}
