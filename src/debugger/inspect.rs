//! What components believe: their caches and queues, and how far these are behind the store.

use client::{Informer, Queue};
use controllers::ControllerManager;
use engine::What;
use object::{Key, Kind};

use super::Session;
use super::target::Target;

/// The process of this name, if it is of this type.
pub fn process<'a, T: 'static>(session: &'a Session, component: &str) -> Option<&'a T> {
    let engine = &session.cluster.engine;
    engine.actor(engine.find(component)?)?.as_any().downcast_ref()
}

/// A component's informers; none if it has none, or is none.
pub fn informers(session: &Session, component: &str) -> Vec<Informer> {
    session.cluster.informers(component).unwrap_or_default()
}

/// What one component knows of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belief {
    /// The component.
    pub component: String,
    /// What it watches: `pods`, `pods spec.nodeName=node-1`.
    pub watches: String,
    /// The version in its cache; none if the object is not there.
    pub cached: Option<u64>,
    /// How many notifications about the object are on their way to it.
    pub on_the_way: usize,
    /// Where the object's key is queued: `replicaset-controller: in work`.
    pub queued: Vec<String>,
}

/// Who watches an object, whose cache has which version, and whose queue holds it. Components that watch the kind but
/// not this object are left out, unless they hold it all the same.
pub fn beliefs(session: &Session, target: &Target) -> Vec<Belief> {
    let names: Vec<String> = session.cluster.engine.actors().map(|(_, actor)| actor.name().to_owned()).collect();
    let mut beliefs = Vec::new();
    for component in names {
        for informer in informers(session, &component) {
            if informer.kind() != target.kind || !informer.is_started() {
                continue;
            }
            let cached = informer.cache().borrow().objects().get(&target.key).map(|object| object.revision());
            let on_the_way = on_the_way(session, &component, target);
            if cached.is_none() && on_the_way == 0 && !informer.selection().field_selector.is_empty() {
                continue;
            }
            let watches = format!("{} {}", informer.kind().info().plural, informer.selection().field_selector);
            let queued = queued(session, &component, target);
            let watches = watches.trim_end().to_owned();
            beliefs.push(Belief { component: component.clone(), watches, cached, on_the_way, queued });
        }
    }
    beliefs
}

/// The garbage collector's graph of owners and dependents: its trees, a line an object. None if no collector runs.
pub fn owner_graph(session: &Session) -> Option<Vec<Vec<String>>> {
    let names = session.cluster.engine.actors().map(|(_, actor)| actor.name());
    let managers = names.filter(|name| name.starts_with("kube-controller-manager"));
    // Of several the leader has a graph that is not empty.
    let looked =
        managers.filter_map(|name| process::<ControllerManager>(session, name)?.look("generic-garbage-collector"));
    let mut trees: Vec<Vec<String>> = Vec::new();
    for line in looked.max_by_key(Vec::len)? {
        match trees.last_mut() {
            Some(tree) if line.starts_with(' ') => tree.push(line),
            _ => trees.push(vec![line]),
        }
    }
    Some(trees)
}

fn on_the_way(session: &Session, component: &str, target: &Target) -> usize {
    let engine = &session.cluster.engine;
    let about = |kind: Kind, key: Key| kind == target.kind && key == target.key;
    let events = engine.pending().filter(|event| engine.name(event.to) == component);
    events
        .filter(|event| match &event.what {
            What::Notification { event, .. } => event.object().is_some_and(|o| about(o.kind(), Key::of(o))),
            _ => false,
        })
        .count()
}

/// The queues of a component that hold the key of an object. A key names no kind: a ReplicaSet's queue holds the keys of
/// ReplicaSets, which the controller's name says.
fn queued(session: &Session, component: &str, target: &Target) -> Vec<String> {
    let Some(manager) = process::<ControllerManager>(session, component) else { return Vec::new() };
    let works_on = |queue: &Queue| {
        let name = queue.name().replace('-', "");
        name.starts_with(&target.kind.info().singular())
    };
    let place = |queue: &Queue| {
        queue.with(|state| {
            let place = if state.processing.contains(&target.key) {
                "in work".to_owned()
            } else if state.queue.contains(&target.key) {
                "queued".to_owned()
            } else if let Some(at) = state.delayed.get(&target.key) {
                format!("at {}", session.time(*at))
            } else {
                return None;
            };
            let again = state.processing.contains(&target.key) && state.dirty.contains(&target.key);
            Some(format!("{}: {place}{}", queue.name(), if again { ", and again" } else { "" }))
        })
    };
    manager.queues().filter(|queue| works_on(queue)).filter_map(place).collect()
}
