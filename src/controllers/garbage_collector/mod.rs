//! The garbage collector: deletes objects that have no owner any more.
//!
//! # How a change flows
//!
//! A Deployment owns a ReplicaSet, which owns Pods: each says so in its `metadata.ownerReferences`. The client that deletes
//! a Deployment does not delete its Pods; the collector does, for all kinds alike, and needs to know none of them.
//! It watches every kind and keeps a [`graph`] of objects and the owners that they name. A change of the graph puts objects into
//! the queue:
//!
//! - *attemptToDelete*: a worker asks the API server for the object, and for each owner that it names, and then knows
//!   whether it has to go ([`attempt_to_delete`]).
//! - *attemptToOrphan*: the object is being deleted and its dependents shall stay. A worker takes its name off them
//!   ([`attempt_to_orphan`]).
//!
//! # Three ways to delete an owner
//!
//! `propagationPolicy` in a DELETE is but a finalizer that the API server adds or not:
//!
//! | policy | finalizer | what happens |
//! |---|---|---|
//! | Background | none | the owner is gone at once; its dependents name an owner that does not exist, and follow |
//! | Foreground | `foregroundDeletion` | the owner stays until every dependent with `blockOwnerDeletion` is gone |
//! | Orphan | `orphan` | the owner stays until no dependent names it any more |
//!
//! # Must hold
//!
//! - Nothing is deleted because a cache says so: object and owners are read from the API server first, and the DELETE
//!   carries the uid and the resourceVersion that were read. Kept by `what_is_there_is_not_removed_on_hearsay` and
//!   the property "what the garbage collector deletes has no owner any more".
//! - An object with one owner that exists stays. Kept by `one_owner_is_enough_to_stay`.
//! - Events are not in the graph as dependents: there are too many, and they expire by themselves. Kept by
//!   `an_event_goes_after_an_hour`.
//!
//! Mirrors `pkg/controller/garbagecollector`. Its graph builder has a queue of changes and one worker; here informers'
//! handlers change the graph themselves, which is the same.
//!
//! # Left out
//!
//! - The two queues are one, whose keys begin with what is to be done.
//! - It hears of a new kind, and of one that goes, from the definition, at once. The real one asks for all kinds every 30
//!   seconds, by which time the watch has told of the last objects.

use std::rc::Rc;

use k8s_openapi::api::core::v1::ObjectReference;

use client::{Change, Client, Controller, ControllerContext, Error, EventType, Queue, Recorder, Registration};
use engine::Memory;
use object::{Discovery, Key, Kind};

pub mod absent;
pub mod attempt_to_delete;
mod attempt_to_orphan;
pub mod elsewhere;
pub mod graph;
mod outline;
pub mod requests;
#[cfg(test)]
mod tests;

use graph::{Effect, Graph, Identity};

/// The row of the garbage collector.
pub const REGISTRATION: Registration = Registration {
    watches: &WATCHED,
    workers: 20,
    event_source: "garbage-collector-controller",
    // A deletion takes two calls.
    limits: (2, 1),
    ..Registration::new("generic-garbage-collector", &|context| Rc::new(GarbageCollector::new(context)))
};

/// Every kind but Events.
const WATCHED: [Kind; Kind::ALL.len() - 1] = {
    let mut watched = [Kind::Event; Kind::ALL.len() - 1];
    let (mut from, mut to) = (0, 0);
    while from < Kind::ALL.len() {
        if !matches!(Kind::ALL[from], Kind::Event) {
            watched[to] = Kind::ALL[from];
            to += 1;
        }
        from += 1;
    }
    watched
};

/// The garbage collector.
pub struct GarbageCollector {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    graph: Memory<Graph>,
    /// The kinds there are.
    discovery: Memory<Discovery>,
    /// Who decides about an object, if it is not [`attempt_to_delete`].
    rule: Option<Rc<elsewhere::Rule>>,
}

/// What a key of the queue asks for.
const DELETE: &str = "attemptToDelete";
const ORPHANS: &str = "attemptToOrphan";

/// `attemptToDelete apps/v1/ReplicaSet default/web-5d8 UID`.
fn key(task: &str, identity: &Identity) -> Key {
    let Identity { api_version, kind, namespace, name, uid } = identity;
    let name = Key::new(namespace, name);
    Key::parse(&format!("{task} {api_version}/{kind} {name} {uid}"))
}

impl GarbageCollector {
    /// The collector, with an empty graph.
    pub fn new(context: &ControllerContext) -> GarbageCollector {
        GarbageCollector {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            graph: context.memory(Graph::default()),
            discovery: context.memory(Discovery::default()),
            rule: None,
        }
    }

    /// The collector with another rule.
    pub fn with_rule(context: &ControllerContext, rule: Rc<elsewhere::Rule>) -> GarbageCollector {
        GarbageCollector { rule: Some(rule), ..GarbageCollector::new(context) }
    }

    /// Puts into the queue what a change of the graph makes necessary.
    fn carry_out(&self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::AttemptToDelete(identity) => self.queue.add(key(DELETE, &identity)),
                Effect::AttemptToDeleteLater(identity) => self.queue.add_rate_limited(key(DELETE, &identity)),
                Effect::AttemptToOrphan(identity) => self.queue.add(key(ORPHANS, &identity)),
                Effect::WrongNamespace { dependent, owner } => self.tell_wrong_namespace(&dependent, &owner),
            }
        }
    }

    /// Mirrors `reportInvalidNamespaceOwnerRef`.
    fn tell_wrong_namespace(&self, dependent: &Identity, owner: &Identity) {
        let about = ObjectReference {
            api_version: Some(dependent.api_version.to_string()),
            kind: Some(dependent.kind.to_string()),
            name: Some(dependent.name.clone()),
            namespace: Some(dependent.namespace.clone()),
            uid: Some(dependent.uid.to_string()),
            ..ObjectReference::default()
        };
        let message = format!("ownerRef {owner} does not exist in namespace {:?}", dependent.namespace);
        self.recorder.event_about(about, EventType::Warning, "OwnerRefInvalidNamespace", message);
    }
}

impl Controller for GarbageCollector {
    fn on_change(&self, change: &Change) {
        if change.kind() == Kind::CustomResourceDefinition {
            self.discovery.borrow_mut().note(change.latest(), matches!(change, Change::Deleted(_)));
        }
        let mut graph = self.graph.borrow_mut();
        let effects = match change {
            // A new object under an old name: the old one's deletion went unseen.
            Change::Updated { old, new } if old.meta().uid != new.meta().uid => {
                let mut effects = graph.deleted(old);
                effects.extend(graph.observed(new));
                effects
            }
            Change::Added(object) | Change::Updated { new: object, .. } => graph.observed(object),
            Change::Deleted(object) => graph.deleted(object),
        };
        drop(graph);
        self.carry_out(effects);
    }

    fn look(&self) -> Vec<String> {
        self.graph.borrow().outline()
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let uid = key.as_str().rsplit(' ').next().unwrap_or_default();
        let identity = self.graph.borrow().get(uid).map(|node| node.identity.clone());
        let Some(identity) = identity else { return Ok(()) };
        if key == self::key(ORPHANS, &identity) {
            return self.attempt_to_orphan(&identity).await;
        }
        // Since it was queued, the object may have turned out to be another than it was thought to be.
        if key == self::key(DELETE, &identity) { self.attempt_to_delete(key, &identity).await } else { Ok(()) }
    }
}
