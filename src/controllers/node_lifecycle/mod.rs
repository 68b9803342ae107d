//! The node lifecycle controller: notices that a node is silent, and says so where other components look.
//!
//! # How a change flows
//!
//! A kubelet shows that it lives by renewing its lease in `kube-node-lease` every ten seconds, and by posting its
//! status now and then. Every five seconds this controller looks at all nodes ([`Monitor::look`]). A node that
//! was silent for 50 s cannot report that itself, so the controller does:
//!
//! 1. its conditions become Unknown ([`health`]), with an Event `NodeNotReady`;
//! 2. its Pods' condition Ready becomes False, so that Services stop sending them traffic;
//! 3. a taint `unreachable:NoSchedule` keeps new Pods away. That taint simply mirrors the conditions, no matter which client
//!    wrote them, and every change of a Node updates it ([`Monitor::mirror_conditions`]): this also takes a new node's
//!    first taint away;
//! 4. a taint `unreachable:NoExecute` starts the clock of the Pods' tolerations, but for one node of a zone in ten
//!    seconds only, and for none when no node in the whole cluster answers ([`zones`]).
//!
//! Evicting is left to another controller: [`super::taint_eviction`] watches the taints.
//!
//! A label for the operating system or the architecture is copied to its old beta name ([`Monitor::copy_labels`]).
//!
//! # Must hold
//!
//! - Times are the controller's own: a node with a wrong clock is not lost. Kept by `any_change_is_a_sign_of_life`
//!   and `a_clock_that_goes_back_makes_a_node_doubted`.
//! - A node that answers again loses its taints at the next look. Kept by `a_silent_node_is_tainted_and_its_pods_go`.
//!
//! Mirrors `pkg/controller/nodelifecycle/node_lifecycle_controller.go`.
//!
//! # Left out
//!
//! Nodes excluded from disruption checks by label.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Taint};

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Recorder, Registration};
use engine::Memory;
use object::node::{condition, is_cordoned, taints_of};
use object::pod::assigned_node;
use object::time::Instant;
use object::well_known::{
    ARCH, DISK_PRESSURE, MEMORY_PRESSURE, NETWORK_UNAVAILABLE, NOT_READY, OS, PID_PRESSURE, UNREACHABLE, UNSCHEDULABLE,
};
use object::{Key, Kind, Object, Pod};
use serde_json::json;
use wire::Patch;

use super::node_taints::{self, BY_NODE, taint};

pub mod health;
mod look;
mod pods;
pub mod zones;

use health::NodeHealth;
use zones::Zone;

/// The row of this controller. The eight workers are those of the nodes' queue.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Node, Kind::Lease, Kind::Pod],
    workers: 8,
    account: Some("node-controller"),
    event_source: "node-controller",
    ..Registration::new("node-lifecycle-controller", &|context| Rc::new(Monitor::new(context)))
};

/// `--node-monitor-period`: between one look at all nodes and the next.
const MONITOR_PERIOD: Duration = Duration::from_secs(5);
/// `scheduler.NodeEvictionPeriod`: how often the queues of nodes to be tainted are looked at.
const TAINT_PERIOD: Duration = Duration::from_millis(100);

/// The controller with another rule.
pub fn with_rule(context: &ControllerContext, rule: Rc<health::Rule>) -> Rc<dyn Controller> {
    Rc::new(Monitor { rule: Some(rule), ..Monitor::new(context) })
}

/// The controller. Its keys are nodes, Pods, and two for what recurs: no namespace is called `*`.
struct Monitor {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    nodes: Lister<Node>,
    leases: Lister<Lease>,
    pods: Lister<Pod>,
    state: Memory<State>,
    /// Who says what follows from silence, if it is not the controller.
    rule: Option<Rc<health::Rule>>,
}

/// What is remembered between reconciles.
#[derive(Clone, Default)]
struct State {
    /// Whether the first look has been arranged.
    started: bool,
    health: BTreeMap<String, NodeHealth>,
    /// Nodes seen so far, and their uids.
    known: BTreeMap<String, String>,
    zones: BTreeMap<String, Zone>,
    /// Nodes some of whose Pods could not be marked.
    retry: BTreeSet<String>,
}

impl Monitor {
    fn new(context: &ControllerContext) -> Monitor {
        context.add_index::<Pod>(BY_NODE, node_taints::node_of);
        Monitor {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            nodes: context.lister(),
            leases: context.lister(),
            pods: context.lister(),
            state: context.memory(State::default()),
            rule: None,
        }
    }

    /// What the other rule says of a node that has told its condition, if there is one.
    fn found_elsewhere(&self, node: &Node) -> Option<health::Finding> {
        let rule = self.rule.as_ref()?;
        let silent = {
            let state = self.state.borrow();
            let health = state.health.get(node.metadata.name.as_deref()?)?;
            health.ready()?;
            self.client.now() - health.probe
        };
        rule(node, silent)
    }

    /// The NoExecute taint that the node is to have with this Ready status, and the one that it rules out.
    fn no_execute_taints(&self, node: &Node, ready: Option<&str>) -> Option<(Taint, Taint)> {
        match self.found_elsewhere(node) {
            Some(found) => {
                let key = found.taint?;
                let other = if key == UNREACHABLE { NOT_READY } else { UNREACHABLE };
                Some((taint(&key, "NoExecute"), taint(other, "NoExecute")))
            }
            None => no_execute_taints(ready),
        }
    }

    fn look_key() -> Key {
        Key::new("*", "monitorNodeHealth")
    }

    fn taint_key() -> Key {
        Key::new("*", "doNoExecuteTaintingPass")
    }
}

impl Controller for Monitor {
    fn on_change(&self, change: &Change) {
        match (change.latest(), change) {
            (Object::Node(_), Change::Deleted(_)) => {
                self.state.borrow_mut().retry.remove(change.key().name());
            }
            (Object::Node(node), _) => {
                let first = !std::mem::replace(&mut self.state.borrow_mut().started, true);
                if first {
                    self.queue.add(Monitor::look_key());
                }
                // The real one queues every change of every Node, and mostly finds nothing to do.
                let (add, remove) = no_schedule_difference(node);
                if !add.is_empty() || !remove.is_empty() || !labels_to_copy(node).is_empty() {
                    self.queue.add(change.key());
                }
            }
            (Object::Pod(pod), Change::Added(_) | Change::Updated { .. }) if self.is_late(pod, change) => {
                self.queue.add(change.key());
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        if key == Monitor::look_key() {
            self.look().await;
            self.queue.add_after_background(key, MONITOR_PERIOD);
            return Ok(());
        }
        if key == Monitor::taint_key() {
            self.taint_silent_nodes().await;
            self.arrange_tainting();
            return Ok(());
        }
        match key.namespace() {
            "" => {
                self.mirror_conditions(&key).await?;
                self.copy_labels(&key).await
            }
            _ => self.mark_late_pod(&key).await,
        }
    }
}

impl Monitor {
    /// Makes the NoSchedule taints say what the conditions say. Mirrors `doNoScheduleTaintingPass`.
    async fn mirror_conditions(&self, key: &Key) -> Result<(), Error> {
        let Some(node) = self.nodes.get(key) else { return Ok(()) };
        let (add, remove) = no_schedule_difference(&node);
        if add.is_empty() && remove.is_empty() {
            return Ok(());
        }
        node_taints::swap(&self.client, &node, add, &remove).await
    }

    /// Gives the node the labels that it lacks under their old names. Mirrors `reconcileNodeLabels`.
    async fn copy_labels(&self, key: &Key) -> Result<(), Error> {
        let Some(node) = self.nodes.get(key) else { return Ok(()) };
        let labels = labels_to_copy(&node);
        if labels.is_empty() {
            return Ok(());
        }
        let patch = Patch::Strategic(json!({"metadata": {"labels": labels}}));
        Ok(self.client.patch::<Node>("", key.name(), patch).await.map(drop)?)
    }

    /// Taints the nodes whose turn it is. Mirrors `doNoExecuteTaintingPass`.
    async fn taint_silent_nodes(&self) {
        let zones: Vec<String> = self.state.borrow().zones.keys().cloned().collect();
        for zone in zones {
            while let Some(name) = self.with_zone(&zone, |zone, now| zone.take(now)).flatten() {
                let Some(node) = self.nodes.get(&Key::new("", &name)) else { continue };
                let ready = condition(&node, "Ready").map(|condition| condition.status.as_str());
                let Some((add, opposite)) = self.no_execute_taints(&node, ready) else { continue };
                if node_taints::swap(&self.client, &node, vec![add], &[opposite]).await.is_err() {
                    self.with_zone(&zone, |zone, _| zone.put_back(name));
                    break;
                }
            }
        }
    }

    /// Comes back when the next node may be tainted, if one waits.
    fn arrange_tainting(&self) {
        let now = self.client.now();
        let due = self.state.borrow().zones.values().filter_map(Zone::due).min();
        if let Some(due) = due {
            self.queue.add_after(Monitor::taint_key(), (due - now).max(TAINT_PERIOD));
        }
    }

    fn with_zone<T>(&self, zone: &str, work: impl FnOnce(&mut Zone, Instant) -> T) -> Option<T> {
        let now = self.client.now();
        self.state.borrow_mut().zones.get_mut(zone).map(|zone| work(zone, now))
    }
}

/// The labels that the node lacks under their old names. Mirrors `labelReconcileInfo`.
fn labels_to_copy(node: &Node) -> BTreeMap<String, String> {
    let labels = node.metadata.labels.as_ref();
    let value = |key: &str| labels.and_then(|labels| labels.get(key));
    let copies = [OS, ARCH].into_iter().filter_map(|key| {
        let (beta, now) = (format!("beta.{key}"), value(key)?);
        (value(&beta) != Some(now)).then(|| (beta, now.clone()))
    });
    copies.collect()
}

/// The NoExecute taint that a Ready status asks for, and the one that it rules out.
fn no_execute_taints(ready: Option<&str>) -> Option<(Taint, Taint)> {
    let (not_ready, unreachable) = (taint(NOT_READY, "NoExecute"), taint(UNREACHABLE, "NoExecute"));
    match ready {
        Some("False") => Some((not_ready, unreachable)),
        Some("Unknown") => Some((unreachable, not_ready)),
        _ => None,
    }
}

/// Conditions, the status that is bad news, and the taint that says so. Mirrors `nodeConditionToTaintKeyStatusMap`.
const CONDITION_TAINTS: &[(&str, &str, &str)] = &[
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", MEMORY_PRESSURE),
    ("DiskPressure", "True", DISK_PRESSURE),
    ("NetworkUnavailable", "True", NETWORK_UNAVAILABLE),
    ("PIDPressure", "True", PID_PRESSURE),
];

/// The NoSchedule taints that the node lacks, and those that it should no longer have. Other people's taints are theirs.
fn no_schedule_difference(node: &Node) -> (Vec<Taint>, Vec<Taint>) {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let bad = |condition: &str, status: &str| conditions.iter().any(|c| c.type_ == condition && c.status == status);
    let asked = CONDITION_TAINTS.iter().filter(|(condition, status, _)| bad(condition, status)).map(|(_, _, key)| *key);
    let wanted: Vec<Taint> =
        asked.chain(is_cordoned(node).then_some(UNSCHEDULABLE)).map(|key| taint(key, "NoSchedule")).collect();
    let ours = |taint: &&Taint| {
        let key = taint.key.as_str();
        taint.effect == "NoSchedule" && (key == UNSCHEDULABLE || CONDITION_TAINTS.iter().any(|(_, _, k)| *k == key))
    };
    let there: Vec<&Taint> = taints_of(node).iter().filter(ours).collect();
    let add = wanted.iter().filter(|taint| !there.iter().any(|t| node_taints::same(t, taint))).cloned().collect();
    let gone = |taint: &&&Taint| !wanted.iter().any(|t| node_taints::same(t, taint));
    (add, there.iter().filter(gone).map(|taint| (*taint).clone()).collect())
}

impl Monitor {
    /// Whether the Pod has just come to a node that is known not to be ready.
    fn is_late(&self, pod: &Arc<Pod>, change: &Change) -> bool {
        let Some(node) = assigned_node(pod) else { return false };
        let before = match change {
            Change::Updated { old: Object::Pod(old), .. } => assigned_node(old),
            _ => None,
        };
        before != Some(node) && self.state.borrow().health.get(node).is_some_and(not_ready)
    }
}

/// Whether the node told, or was found, not to be ready.
fn not_ready(health: &NodeHealth) -> bool {
    health.ready().is_some_and(|ready| ready != "True")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn labels_have_their_old_names_too() {
        let copied = |labels: Value| {
            let node: Node = serde_json::from_value(json!({"metadata": {"name": "n", "labels": labels}})).unwrap();
            json!(labels_to_copy(&node))
        };
        assert_eq!(copied(json!(null)), json!({}));
        assert_eq!(copied(json!({OS: "linux", "x": "y"})), json!({"beta.kubernetes.io/os": "linux"}));
        let other = json!({OS: "linux", "beta.kubernetes.io/os": "windows"});
        assert_eq!(copied(other), json!({"beta.kubernetes.io/os": "linux"}));
        assert_eq!(copied(json!({ARCH: "arm64", "beta.kubernetes.io/arch": "arm64"})), json!({}));
    }

    #[test]
    fn taints_say_what_conditions_say() {
        let node = |conditions: Value, taints: Value, unschedulable: bool| -> Node {
            serde_json::from_value(json!({
                "metadata": {"name": "n"}, "status": {"conditions": conditions},
                "spec": {"taints": taints, "unschedulable": unschedulable},
            }))
            .expect("the node decodes")
        };
        let ready = |status: &str| json!([{"type": "Ready", "status": status}]);
        let short = |key: &str| json!({"key": format!("node.kubernetes.io/{key}"), "effect": "NoSchedule"});
        let other = json!({"key": "dedicated", "effect": "NoSchedule"});
        let no_execute = json!({"key": NOT_READY, "effect": "NoExecute"});
        let cases = [
            (node(ready("True"), json!([short("not-ready"), other]), false), "", "not-ready"),
            (node(ready("False"), json!([]), false), "not-ready", ""),
            (node(ready("Unknown"), json!([short("not-ready")]), false), "unreachable", "not-ready"),
            (node(ready("True"), json!([no_execute]), false), "", ""),
            (node(ready("True"), json!([]), true), "unschedulable", ""),
            (node(ready("True"), json!([short("unschedulable")]), false), "", "unschedulable"),
            (node(json!([{"type": "DiskPressure", "status": "True"}]), json!([]), false), "disk-pressure", ""),
        ];
        let names = |taints: Vec<Taint>| {
            taints.iter().map(|t| t.key.trim_start_matches("node.kubernetes.io/")).collect::<Vec<_>>().join(",")
        };
        for (node, add, remove) in cases {
            let (got_add, got_remove) = no_schedule_difference(&node);
            assert_eq!((names(got_add).as_str(), names(got_remove).as_str()), (add, remove), "{node:?}");
        }
    }
}
