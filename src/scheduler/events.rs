//! What may make an unschedulable pod schedulable: changes of the cluster, by kind, so that each plugin can say
//! which of them are worth another try.
//!
//! Mirrors `pkg/scheduler/framework/events.go` and `types.go` of the scheduler framework.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Toleration};

use super::cache::asks_the_same;
use super::resources::{Quantities, pod_requests};
use client::Change;
use object::pod::{assigned_node, nominated_node};
use object::quantity::Amount;
use object::{Key, Kind, Object, Pod};

/// A kind of change. The real scheduler pairs a resource with an action; these are the pairs that occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A pod appeared on a node: bound by us or by anyone.
    AssignedPodAdd,
    /// A pod on a node is gone, has ended, or lost its claim to the node.
    AssignedPodDelete,
    /// A pod's labels changed.
    PodUpdateLabel,
    /// A request went down.
    PodUpdateScaleDown,
    /// A pod's tolerations changed.
    PodUpdateToleration,
    /// The last scheduling gate was removed.
    PodUpdateSchedulingGatesEliminated,
    /// Another change of a pod.
    PodUpdate,
    /// A node joined.
    NodeAdd,
    /// A node is gone.
    NodeDelete,
    /// What a node has for pods changed.
    NodeUpdateAllocatable,
    /// A node's labels changed.
    NodeUpdateLabel,
    /// Also reported when a node is uncordoned.
    NodeUpdateTaint,
    /// A condition of a node has another status.
    NodeUpdateCondition,
    /// A node's annotations changed.
    NodeUpdateAnnotation,
    /// A node declares other features.
    NodeUpdateDeclaredFeature,
    /// A storage class appeared.
    ClassAdd,
    /// A storage class changed.
    ClassUpdate,
    /// A claim appeared.
    ClaimAdd,
    /// A claim changed.
    ClaimUpdate,
    /// A volume appeared.
    VolumeAdd,
    /// A volume changed.
    VolumeUpdate,
    /// A node got its first storage driver.
    DriversAdd,
    /// A node's storage drivers changed.
    DriversUpdate,
    /// A pod waited for more than five minutes.
    UnschedulableTimeout,
    /// Someone asked for the pod by name.
    ForceActivate,
}

impl EventKind {
    /// What metrics and logs call it.
    pub fn label(self) -> &'static str {
        match self {
            EventKind::AssignedPodAdd => "AssignedPodAdd",
            EventKind::AssignedPodDelete => "AssignedPodDelete",
            EventKind::PodUpdateLabel => "PodUpdatePodLabel",
            EventKind::PodUpdateScaleDown => "PodUpdatePodScaleDown",
            EventKind::PodUpdateToleration => "PodUpdatePodToleration",
            EventKind::PodUpdateSchedulingGatesEliminated => "PodUpdatePodSchedulingGatesEliminated",
            EventKind::PodUpdate => "PodUpdate",
            EventKind::NodeAdd => "NodeAdd",
            EventKind::NodeDelete => "NodeDelete",
            EventKind::NodeUpdateAllocatable => "NodeUpdateNodeAllocatable",
            EventKind::NodeUpdateLabel => "NodeUpdateNodeLabel",
            EventKind::NodeUpdateTaint => "NodeUpdateNodeTaint",
            EventKind::NodeUpdateCondition => "NodeUpdateNodeCondition",
            EventKind::NodeUpdateAnnotation => "NodeUpdateNodeAnnotation",
            EventKind::NodeUpdateDeclaredFeature => "NodeUpdateNodeDeclaredFeature",
            EventKind::ClassAdd => "StorageClassAdd",
            EventKind::ClassUpdate => "StorageClassUpdate",
            EventKind::ClaimAdd => "PersistentVolumeClaimAdd",
            EventKind::ClaimUpdate => "PersistentVolumeClaimUpdate",
            EventKind::VolumeAdd => "PersistentVolumeAdd",
            EventKind::VolumeUpdate => "PersistentVolumeUpdate",
            EventKind::DriversAdd => "CSINodeAdd",
            EventKind::DriversUpdate => "CSINodeUpdate",
            EventKind::UnschedulableTimeout => "UnschedulableTimeout",
            EventKind::ForceActivate => "ForceActivate",
        }
    }

    /// Whether this moves every pod, no matter which plugin rejected it.
    pub fn is_wildcard(self) -> bool {
        matches!(self, EventKind::UnschedulableTimeout | EventKind::ForceActivate)
    }
}

/// One change: its kind, and the object before and after.
#[derive(Clone, Debug)]
pub struct ClusterEvent {
    /// What kind of change it is.
    pub kind: EventKind,
    /// The object before; none if it is new.
    pub old: Option<Object>,
    /// The object after; none if it is gone.
    pub new: Option<Object>,
}

impl ClusterEvent {
    /// A change without an object.
    pub fn wildcard(kind: EventKind) -> ClusterEvent {
        ClusterEvent { kind, old: None, new: None }
    }

    /// A pod appeared on a node.
    pub fn pod_added(pod: &Arc<Pod>) -> ClusterEvent {
        ClusterEvent { kind: EventKind::AssignedPodAdd, old: None, new: Some(Object::Pod(pod.clone())) }
    }

    /// A pod left a node, ended, or lost its claim to one.
    pub fn pod_deleted(pod: &Arc<Pod>) -> ClusterEvent {
        ClusterEvent { kind: EventKind::AssignedPodDelete, old: Some(Object::Pod(pod.clone())), new: None }
    }

    /// A node joined.
    pub fn node_added(node: &Arc<Node>) -> ClusterEvent {
        ClusterEvent { kind: EventKind::NodeAdd, old: None, new: Some(Object::Node(node.clone())) }
    }

    /// A node is gone.
    pub fn node_deleted(node: &Arc<Node>) -> ClusterEvent {
        ClusterEvent { kind: EventKind::NodeDelete, old: Some(Object::Node(node.clone())), new: None }
    }

    /// A claim, volume, class or driver appeared or changed; None if no plugin can be interested in such a change.
    pub fn of_storage(change: &Change) -> Option<ClusterEvent> {
        let (kind, old, new) = match change {
            Change::Added(new) => (added(new.kind())?, None, new),
            Change::Updated { old, new } => (updated(new.kind())?, Some(old.clone()), new),
            Change::Deleted(_) => return None,
        };
        Some(ClusterEvent { kind, old, new: Some(new.clone()) })
    }

    /// The pod before the change, if the event is about a pod.
    pub fn old_pod(&self) -> Option<&Arc<Pod>> {
        pod_of(self.old.as_ref())
    }

    /// The pod after the change, if the event is about a pod.
    pub fn new_pod(&self) -> Option<&Arc<Pod>> {
        pod_of(self.new.as_ref())
    }

    /// The pod that is gone, if it had a node or was promised one: no other leaves room behind.
    pub fn pod_that_left_room(&self) -> Option<&Arc<Pod>> {
        let left_room = |pod: &&Arc<Pod>| assigned_node(pod).or_else(|| nominated_node(pod)).is_some();
        self.old_pod().filter(|_| self.kind == EventKind::AssignedPodDelete).filter(left_room)
    }

    /// The node before the change, if the event is about a node.
    pub fn old_node(&self) -> Option<&Arc<Node>> {
        node_of(self.old.as_ref())
    }

    /// The node after the change, if the event is about a node.
    pub fn new_node(&self) -> Option<&Arc<Node>> {
        node_of(self.new.as_ref())
    }

    /// Whether the event is about this very pod.
    pub fn is_about(&self, pod: &Key) -> bool {
        self.new_pod().or(self.old_pod()).is_some_and(|other| Key::of_meta(&other.metadata) == *pod)
    }
}

fn added(kind: Kind) -> Option<EventKind> {
    match kind {
        Kind::StorageClass => Some(EventKind::ClassAdd),
        Kind::PersistentVolumeClaim => Some(EventKind::ClaimAdd),
        Kind::PersistentVolume => Some(EventKind::VolumeAdd),
        Kind::CSINode => Some(EventKind::DriversAdd),
        _ => None,
    }
}

fn updated(kind: Kind) -> Option<EventKind> {
    match kind {
        Kind::StorageClass => Some(EventKind::ClassUpdate),
        Kind::PersistentVolumeClaim => Some(EventKind::ClaimUpdate),
        Kind::PersistentVolume => Some(EventKind::VolumeUpdate),
        Kind::CSINode => Some(EventKind::DriversUpdate),
        _ => None,
    }
}

fn pod_of(object: Option<&Object>) -> Option<&Arc<Pod>> {
    match object {
        Some(Object::Pod(pod)) => Some(pod),
        _ => None,
    }
}

fn node_of(object: Option<&Object>) -> Option<&Arc<Node>> {
    match object {
        Some(Object::Node(node)) => Some(node),
        _ => None,
    }
}

/// What changed between two versions of a pod, in the order the real scheduler tests it; a change that is none of
/// these counts as `PodUpdate`. Mirrors `PodSchedulingPropertiesChange`.
pub fn pod_changes(old: &Arc<Pod>, new: &Arc<Pod>) -> Vec<ClusterEvent> {
    let mut kinds = Vec::new();
    if old.metadata.labels != new.metadata.labels {
        kinds.push(EventKind::PodUpdateLabel);
    }
    if !asks_the_same(old, new) && pod_requests(new).any_below(&pod_requests(old)) {
        kinds.push(EventKind::PodUpdateScaleDown);
    }
    if is_gated(old) && !is_gated(new) {
        kinds.push(EventKind::PodUpdateSchedulingGatesEliminated);
    }
    if tolerations(old) != tolerations(new) {
        kinds.push(EventKind::PodUpdateToleration);
    }
    if kinds.is_empty() {
        kinds.push(EventKind::PodUpdate);
    }
    let event = |kind| ClusterEvent { kind, old: Some(Object::Pod(old.clone())), new: Some(Object::Pod(new.clone())) };
    kinds.into_iter().map(event).collect()
}

fn is_gated(pod: &Pod) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty())
}

fn tolerations(pod: &Pod) -> &[Toleration] {
    pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default()
}

/// What changed between two versions of a node; nothing for a heartbeat or a new list of images.
/// Mirrors `NodeSchedulingPropertiesChange`.
pub fn node_changes(old: &Arc<Node>, new: &Arc<Node>) -> Vec<ClusterEvent> {
    fn differ<'a, T: PartialEq>(old: &'a Node, new: &'a Node, part: impl Fn(&'a Node) -> T) -> bool {
        part(old) != part(new)
    }
    let tests = [
        (EventKind::NodeUpdateTaint, cordoned(old) && !cordoned(new)),
        (EventKind::NodeUpdateAllocatable, differ(old, new, allocatable) && differ(old, new, allocatable_amounts)),
        (EventKind::NodeUpdateLabel, old.metadata.labels != new.metadata.labels),
        (EventKind::NodeUpdateTaint, differ(old, new, |node| node.spec.as_ref()?.taints.as_ref())),
        (EventKind::NodeUpdateCondition, differ(old, new, condition_statuses)),
        (EventKind::NodeUpdateAnnotation, old.metadata.annotations != new.metadata.annotations),
        (
            EventKind::NodeUpdateDeclaredFeature,
            differ(old, new, |node| node.status.as_ref()?.declared_features.as_ref()),
        ),
    ];
    let event =
        |kind| ClusterEvent { kind, old: Some(Object::Node(old.clone())), new: Some(Object::Node(new.clone())) };
    tests.into_iter().filter(|(_, changed)| *changed).map(|(kind, _)| event(kind)).collect()
}

fn allocatable(node: &Node) -> Option<&Quantities> {
    node.status.as_ref()?.allocatable.as_ref()
}

/// One amount can be written in several ways.
fn allocatable_amounts(node: &Node) -> BTreeMap<&str, Amount> {
    allocatable(node).into_iter().flatten().map(|(name, quantity)| (name.as_str(), Amount::of(quantity))).collect()
}

fn cordoned(node: &Node) -> bool {
    node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false)
}

/// Conditions without their order, times and texts.
fn condition_statuses(node: &Node) -> BTreeMap<&str, &str> {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.map(|condition| (condition.type_.as_str(), condition.status.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{node, pod};

    #[test]
    fn a_node_update_is_told_by_what_changed() {
        let base = "{status: {allocatable: {cpu: 4}, conditions: [{type: Ready, status: 'True', message: a}]}}";
        let cases: [(&str, &[EventKind]); 7] = [
            ("{status: {allocatable: {cpu: 4}, conditions: [{type: Ready, status: 'True', message: b}]}}", &[]),
            (
                "{status: {allocatable: {cpu: 5}, conditions: [{type: Ready, status: 'True'}]}}",
                &[EventKind::NodeUpdateAllocatable],
            ),
            (
                "{status: {allocatable: {cpu: 4}, conditions: [{type: Ready, status: 'False'}]}}",
                &[EventKind::NodeUpdateCondition],
            ),
            (
                "{spec: {taints: [{key: a, effect: NoSchedule}]}, status: {allocatable: {cpu: 4}, conditions: [{type: Ready, status: 'True'}]}}",
                &[EventKind::NodeUpdateTaint],
            ),
            (
                "{metadata: {labels: {a: b}}, status: {allocatable: {cpu: 4}, conditions: [{type: Ready, status: 'True'}]}}",
                &[EventKind::NodeUpdateLabel],
            ),
            ("{status: {allocatable: {cpu: 4000m}, conditions: [{type: Ready, status: 'True'}]}}", &[]),
            (
                "{spec: {unschedulable: true}, status: {allocatable: {cpu: 4}, conditions: [{type: Ready, status: 'True'}]}}",
                &[],
            ),
        ];
        let old = Arc::new(node("n", base));
        for (new, expected) in cases {
            let kinds: Vec<_> = node_changes(&old, &Arc::new(node("n", new))).iter().map(|e| e.kind).collect();
            assert_eq!(kinds, expected, "{new}");
        }
    }

    #[test]
    fn a_pod_update_is_told_by_what_changed() {
        let old = Arc::new(pod(
            "p",
            "{schedulingGates: [{name: g}], containers: [{name: a, resources: {requests: {cpu: 2}}}]}",
        ));
        let mut new = pod("p", "containers: [{name: a, resources: {requests: {cpu: 1}}}]");
        new.metadata.generation = Some(2);
        let new = Arc::new(new);
        let kinds: Vec<_> = pod_changes(&old, &new).iter().map(|e| e.kind).collect();
        assert_eq!(kinds, [EventKind::PodUpdateScaleDown, EventKind::PodUpdateSchedulingGatesEliminated]);
        assert_eq!(pod_changes(&new, &new)[0].kind, EventKind::PodUpdate);
    }
}
