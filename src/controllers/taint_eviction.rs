//! The taint eviction controller: Pods leave a node with a NoExecute taint, as soon as they cannot bear it any longer.
//!
//! # How a change flows
//!
//! A Node gets a NoExecute taint: by hand, or from the [node lifecycle controller](super::node_lifecycle). For each Pod
//! on it the controller asks the Pod's tolerations. One that does not tolerate every taint goes now; one that tolerates
//! them for a time goes when the shortest is over; one that tolerates them for ever stays. To go means: an Event, the
//! condition DisruptionTarget, then a plain DELETE, which gives the containers their grace period. If the taint is gone
//! before the time is over, the Pod stays after all.
//!
//! # Must hold
//!
//! - The clock of a toleration starts once: more taints or updates do not start it again. Kept by
//!   `the_shortest_toleration_counts` and `a_no_execute_taint_evicts`.
//! - A Pod is marked before it is deleted, so that its owner sees that it did not fail by itself. Kept by
//!   `a_silent_node_is_tainted_and_its_pods_go`.
//!
//! Mirrors `pkg/controller/tainteviction` (`taint_eviction.go`, `timed_workers.go`).
//!
//! # Left out
//!
//! Sharding of the work by node over eight workers; here eight workers take what comes.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, ObjectReference, Taint, Toleration};

use client::{Change, Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use engine::Memory;
use object::node::taints_of;
use object::pod::assigned_node;
use object::taint::tolerates;
use object::time::Instant;
use object::{Key, Kind, Object, Pod};
use wire::{self, DeleteOptions};

use super::disruption_target::{self, Disruption};
use super::node_taints::{self, BY_NODE};

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Node, Kind::Pod],
    workers: 8,
    account: Some("node-controller"),
    ..Registration::new("taint-eviction-controller", &|context| Rc::new(TaintEviction::new(context)))
};

/// How often an eviction is tried, and the pause between.
const TRIES: usize = 5;
const RETRY_SLEEP: Duration = Duration::from_millis(10);

const EVICTED: Disruption =
    Disruption { reason: "DeletionByTaintManager", message: "Taint manager: deleting due to NoExecute taint" };

/// An eviction that was arranged.
#[derive(Clone, Copy, Debug)]
struct Eviction {
    /// When the Pod's time is over.
    due: Instant,
    /// It was carried out. It is kept, so that the Pod is not evicted twice.
    done: bool,
}

/// Keys are nodes, and Pods: either something changed about the Pod, or its time is over.
struct TaintEviction {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    nodes: Lister<Node>,
    pods: Lister<Pod>,
    state: Memory<State>,
    /// Who says how long a Pod bears taints, if it is not [`bears`].
    rule: Option<Rc<Rule>>,
}

/// Says how long a Pod bears these taints with the effect NoExecute.
pub type Rule = dyn Fn(&[Taint], &Pod) -> Bears;

/// The controller with another rule.
pub fn with_rule(context: &ControllerContext, rule: Rc<Rule>) -> Rc<dyn Controller> {
    Rc::new(TaintEviction { rule: Some(rule), ..TaintEviction::new(context) })
}

#[derive(Clone, Default)]
struct State {
    /// The NoExecute taints of the nodes that have any.
    tainted: BTreeMap<String, Vec<Taint>>,
    evictions: BTreeMap<Key, Eviction>,
}

impl TaintEviction {
    fn new(context: &ControllerContext) -> TaintEviction {
        context.add_index::<Pod>(BY_NODE, node_taints::node_of);
        TaintEviction {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            nodes: context.lister(),
            pods: context.lister(),
            state: context.memory(State::default()),
            rule: None,
        }
    }
}

impl Controller for TaintEviction {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Added(Object::Node(node)) if no_execute(node).is_empty() => {}
            Change::Updated { old: Object::Node(old), new: Object::Node(new) }
                if no_execute(old) == no_execute(new) => {}
            Change::Deleted(Object::Pod(_)) => self.forget(&change.key()),
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } if !differs(old, new) => {}
            // The real one queues every Pod that is bound, and then finds that its node has no taint.
            Change::Added(Object::Pod(pod)) | Change::Updated { new: Object::Pod(pod), .. } => {
                let tainted = |node| self.state.borrow().tainted.contains_key(node);
                if assigned_node(pod).is_some_and(tainted) {
                    self.queue.add(change.key());
                }
            }
            Change::Added(_) | Change::Updated { .. } | Change::Deleted(_) => self.queue.add(change.key()),
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        if key.namespace().is_empty() {
            self.node_changed(key.name());
            return Ok(());
        }
        let now = self.client.now();
        let due = match self.state.borrow_mut().evictions.get_mut(&key) {
            Some(eviction) if !eviction.done && eviction.due <= now => {
                eviction.done = true;
                true
            }
            _ => false,
        };
        if due {
            return self.evict(&key).await;
        }
        self.pod_changed(&key);
        Ok(())
    }
}

impl TaintEviction {
    /// Mirrors `handleNodeUpdate`.
    fn node_changed(&self, name: &str) {
        let Some(node) = self.nodes.get(&Key::new("", name)) else {
            self.state.borrow_mut().tainted.remove(name);
            return;
        };
        let taints = no_execute(&node);
        if taints.is_empty() {
            self.state.borrow_mut().tainted.remove(name);
        } else {
            self.state.borrow_mut().tainted.insert(name.to_owned(), taints.clone());
        }
        for pod in self.pods.by_index(BY_NODE, name) {
            self.judge(&pod, &taints);
        }
    }

    /// Mirrors `handlePodUpdate`.
    fn pod_changed(&self, key: &Key) {
        let Some(pod) = self.pods.get(key) else { return self.cancel(key) };
        let taints = assigned_node(&pod).and_then(|node| self.state.borrow().tainted.get(node).cloned());
        if let Some(taints) = taints {
            self.judge(&pod, &taints);
        }
    }

    /// Decides when the Pod has to go, if at all. Mirrors `processPodOnNode`.
    fn judge(&self, pod: &Arc<Pod>, taints: &[Taint]) {
        let key = Key::of_meta(&pod.metadata);
        let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
        let borne = self.rule.as_ref().map_or_else(|| bears(taints, tolerations), |rule| rule(taints, pod));
        match borne {
            Bears::Not => {
                self.cancel(&key);
                self.arrange(key, Duration::ZERO);
            }
            Bears::For(time) => {
                // The clock is running already.
                if !self.state.borrow().evictions.contains_key(&key) {
                    self.arrange(key, time);
                }
            }
            Bears::Always => self.cancel(&key),
        }
    }

    fn arrange(&self, key: Key, after: Duration) {
        let due = self.client.now() + after;
        self.state.borrow_mut().evictions.insert(key.clone(), Eviction { due, done: false });
        self.queue.add_after(key, after);
    }

    /// Forgets an eviction, and says so if it was still to come.
    fn cancel(&self, key: &Key) {
        let gone = self.state.borrow_mut().evictions.remove(key);
        if gone.is_some_and(|eviction| !eviction.done) {
            self.tell(key, format!("Cancelling deletion of Pod {key}"));
        }
    }

    /// Mirrors `deletePodHandler`.
    async fn evict(&self, key: &Key) -> Result<(), Error> {
        self.tell(key, format!("Marking for deletion Pod {key}"));
        let mut last = Ok(());
        for _ in 0..TRIES {
            last = self.mark_and_delete(key).await;
            if last.is_ok() {
                break;
            }
            self.client.sleep(RETRY_SLEEP).await;
        }
        if last.is_err() {
            // The real controller gives up here, too: the work is not queued again. But it may be arranged anew.
            self.state.borrow_mut().evictions.remove(key);
        }
        Ok(())
    }

    /// Mirrors `addConditionAndDeletePod`.
    async fn mark_and_delete(&self, key: &Key) -> Result<(), wire::Error> {
        let pod = self.client.get::<Pod>(key.namespace(), key.name()).await?;
        if let Some(patch) = disruption_target::patch(&pod, None, Some(EVICTED), self.client.now()) {
            self.client.patch_status::<Pod>(key.namespace(), key.name(), patch).await?;
        }
        self.client.delete::<Pod>(key.namespace(), key.name(), DeleteOptions::default()).await
    }

    fn tell(&self, key: &Key, message: String) {
        let about = ObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Pod".into()),
            name: Some(key.name().into()),
            namespace: Some(key.namespace().into()),
            ..ObjectReference::default()
        };
        self.recorder.event_about(about, EventType::Normal, "TaintManagerEviction", message);
    }
}

fn no_execute(node: &Node) -> Vec<Taint> {
    taints_of(node).iter().filter(|taint| taint.effect == "NoExecute").cloned().collect()
}

/// How long a Pod bears a node's taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bears {
    /// It goes now.
    Not,
    /// It goes after this time.
    For(Duration),
    /// It stays.
    Always,
}

/// Each taint needs a toleration; of those that match, the shortest counts. Mirrors `GetMatchingTolerations` and
/// `getMinTolerationTime`.
pub fn bears(taints: &[Taint], tolerations: &[Toleration]) -> Bears {
    let mut shortest = None;
    for taint in taints {
        let Some(match_) = tolerations.iter().find(|toleration| tolerates(toleration, taint)) else {
            return Bears::Not;
        };
        if let Some(seconds) = match_.toleration_seconds {
            let time = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
            shortest = Some(shortest.map_or(time, |there: Duration| there.min(time)));
        }
    }
    shortest.map_or(Bears::Always, Bears::For)
}

impl TaintEviction {
    /// A Pod is gone: so is its eviction.
    fn forget(&self, key: &Key) {
        if self.state.borrow().evictions.contains_key(key) {
            self.queue.add(key.clone());
        }
    }
}

/// Whether a Pod's node or tolerations changed: all that matters here.
fn differs(old: &Pod, new: &Pod) -> bool {
    fn tolerations(pod: &Pod) -> Option<&[Toleration]> {
        pod.spec.as_ref()?.tolerations.as_deref()
    }
    assigned_node(old) != assigned_node(new) || tolerations(old) != tolerations(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_toleration_counts() {
        let taints = |keys: &str| -> Vec<Taint> {
            keys.split_whitespace().map(|key| node_taints::taint(key, "NoExecute")).collect()
        };
        let toleration = |key: &str, seconds: Option<i64>| Toleration {
            key: Some(key.to_owned()),
            operator: Some("Exists".to_owned()),
            toleration_seconds: seconds,
            ..Toleration::default()
        };
        let seconds = |n: u64| Bears::For(Duration::from_secs(n));
        let cases = [
            ("a", vec![], Bears::Not),
            ("a", vec![toleration("a", None)], Bears::Always),
            ("a", vec![toleration("a", Some(300))], seconds(300)),
            ("a b", vec![toleration("a", Some(300))], Bears::Not),
            ("a b", vec![toleration("a", Some(300)), toleration("b", Some(5))], seconds(5)),
            ("a b", vec![toleration("a", Some(300)), toleration("b", None)], seconds(300)),
            ("a", vec![toleration("a", Some(-1))], seconds(0)),
            ("", vec![], Bears::Always),
        ];
        for (keys, tolerations, expected) in cases {
            assert_eq!(bears(&taints(keys), &tolerations), expected, "{keys}: {tolerations:?}");
        }
    }
}
