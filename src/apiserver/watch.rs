//! Watches: which client is told of a change.
//!
//! Mirrors the API server's watch cache (`storage/cacher`): every change of the store is offered to the watchers of
//! its kind, and each sees it through its own selector. An object that begins to match arrives as ADDED, one
//! that stops matching as DELETED. Watchers that name one node or one object are found by index, so that a Pod's
//! change costs the same in a cluster of three nodes and of five thousand.
//!
//! Left out: a real server sends every watch that wants them a bookmark about every minute. Here it does so when it is asked to,
//! as it is for clients outside; components of the cluster go without.

use std::collections::BTreeMap;

use object::pod::assigned_node;
use object::selector::Selector;
use object::selector::fields::FieldSelector;
use object::{Kind, Object};
use wire::{WatchEvent, WatchId};

/// What one watch asked for.
#[derive(Clone, Debug)]
pub struct Watcher {
    /// The kind that is watched.
    pub kind: Kind,
    /// In which version of it the client is told.
    pub version: Kind,
    /// Empty: all namespaces.
    pub namespace: String,
    /// Empty: all names.
    pub name: String,
    /// Which labels.
    pub labels: Selector,
    /// Which fields.
    pub fields: FieldSelector,
    /// Whether it is told who manages which fields.
    pub managed_fields: bool,
}

impl Watcher {
    /// Whether `object` is among what it asked for.
    pub fn matches(&self, object: &Object) -> bool {
        (self.namespace.is_empty() || self.namespace == object.namespace())
            && (self.name.is_empty() || self.name == object.name())
            && self.labels.matches(object.meta().labels.as_ref())
            && self.fields.matches(object)
    }

    /// What it is told of a change from `old` to `new`; both seen through its selectors.
    pub(super) fn see(&self, old: Option<&Object>, new: &Object, deleted: bool) -> Option<WatchEvent> {
        let before = old.is_some_and(|o| self.matches(o));
        let after = !deleted && self.matches(new);
        match (before, after) {
            (false, true) => Some(WatchEvent::Added(new.clone())),
            (true, true) => Some(WatchEvent::Modified(new.clone())),
            (true, false) => Some(WatchEvent::Deleted(departed(old?, new))),
            (false, false) => None,
        }
    }
}

/// The old object with the new revision: what a watch sees of an object that leaves it.
fn departed(old: &Object, new: &Object) -> Object {
    let mut last = old.clone();
    last.meta_mut().resource_version.clone_from(&new.meta().resource_version);
    last
}

/// All open watches.
#[derive(Clone, Debug, Default)]
pub struct Watchers {
    all: BTreeMap<WatchId, Watcher>,
    /// Watches with no single value to go by.
    wide: BTreeMap<Kind, Vec<WatchId>>,
    /// Watches of one named object.
    by_name: BTreeMap<Kind, BTreeMap<String, Vec<WatchId>>>,
    /// Watches of one node's Pods.
    by_node: BTreeMap<String, Vec<WatchId>>,
}

impl Watchers {
    /// Opens a watch.
    pub fn open(&mut self, id: WatchId, watcher: Watcher) {
        self.list_of(&watcher).push(id);
        self.all.insert(id, watcher);
    }

    /// Closes a watch; it is told nothing more.
    pub fn close(&mut self, id: WatchId) {
        let Some(watcher) = self.all.remove(&id) else { return };
        self.list_of(&watcher).retain(|other| *other != id);
    }

    /// Where a watch is found when something changes.
    fn list_of(&mut self, watcher: &Watcher) -> &mut Vec<WatchId> {
        let named = Some(watcher.name.as_str()).filter(|name| !name.is_empty());
        if let Some(name) = named.or_else(|| watcher.fields.exact("metadata.name")) {
            return self.by_name.entry(watcher.kind).or_default().entry(name.to_owned()).or_default();
        }
        // A client that watches Pods without a node must hear, too, that one has got a node.
        match watcher.fields.exact("spec.nodeName").filter(|node| watcher.kind == Kind::Pod && !node.is_empty()) {
            Some(node) => self.by_node.entry(node.to_owned()).or_default(),
            None => self.wide.entry(watcher.kind).or_default(),
        }
    }

    /// The kind that a watch is for.
    pub fn kind(&self, id: WatchId) -> Option<Kind> {
        self.all.get(&id).map(|watcher| watcher.kind)
    }

    /// In which version of its kind a watch is told.
    pub(super) fn version(&self, id: WatchId) -> Option<Kind> {
        self.all.get(&id).map(|watcher| watcher.version)
    }

    /// Whether a watch is told who manages which fields.
    pub fn shows_managers(&self, id: WatchId) -> bool {
        self.all.get(&id).is_some_and(|watcher| watcher.managed_fields)
    }

    /// The open watches and what they asked for.
    pub fn iter(&self) -> impl Iterator<Item = (WatchId, &Watcher)> {
        self.all.iter().map(|(id, watcher)| (*id, watcher))
    }

    /// Which watches are told what of a change from `old` to `new`. After a delete, `new` is the last state with the
    /// revision of the deletion.
    pub fn fan_out(&self, old: Option<&Object>, new: &Object, deleted: bool, out: &mut Vec<(WatchId, WatchEvent)>) {
        let kind = new.kind();
        let first = out.len();
        let lists = [
            self.wide.get(&kind),
            self.by_name.get(&kind).and_then(|names| names.get(new.name())),
            node_of(new).and_then(|node| self.by_node.get(node)),
        ];
        for id in lists.into_iter().flatten().flatten() {
            if let Some(event) = self.all[id].see(old, new, deleted) {
                out.push((*id, event));
            }
        }
        out[first..].sort_by_key(|(id, _)| *id);
    }
}

/// A Pod's node. It never changes once set, so the new state alone finds every watch that saw the old one.
fn node_of(object: &Object) -> Option<&str> {
    match object {
        Object::Pod(pod) => assigned_node(pod),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(node: &str) -> Object {
        let manifest =
            json!({"metadata": {"name": "web", "namespace": "default"}, "spec": {"nodeName": node, "containers": []}});
        Kind::Pod.decode(manifest).expect("it is a Pod")
    }

    /// A Pod is bound: who watches Pods without a node sees it go, who watches those of its node sees it come.
    #[test]
    fn a_watch_by_node_is_told_of_what_comes_and_goes() {
        for (selector, expected) in [
            ("spec.nodeName=", Some("DELETED")),
            ("spec.nodeName=node-1", Some("ADDED")),
            ("spec.nodeName=node-2", None),
            ("spec.nodeName!=node-2", Some("MODIFIED")),
        ] {
            let mut watchers = Watchers::default();
            let watcher = Watcher {
                kind: Kind::Pod,
                version: Kind::Pod,
                namespace: String::new(),
                name: String::new(),
                labels: Selector::parse("").expect("it is a selector"),
                fields: FieldSelector::parse(Kind::Pod, selector).expect("it is a selector"),
                managed_fields: false,
            };
            watchers.open(WatchId(1), watcher);
            let mut told = Vec::new();
            watchers.fan_out(Some(&pod("")), &pod("node-1"), false, &mut told);
            let told = told.first().map(|(_, event)| event.type_str());
            assert_eq!(told, expected, "{selector}");
        }
    }
}
