//! Counting a ReplicaSet's Pods without looking at each.
//!
//! Kubernetes walks through all Pods of a ReplicaSet whenever one of them changes (`syncReplicaSet`), which for
//! thousands of Pods is thousands of steps an event. Here the Pod cache keeps count: Pods of one owner that have the
//! same labels are one group, so a reconcile asks its selector once a group. What comes out is the same. Only
//! [`super::claimed`] reads these counts; the controller itself reads like the original.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::pods::{is_active, is_terminating};
use client::ControllerContext;
use engine::{Hub, Memory};
use object::meta::controller_of;
use object::pod::is_ready;
use object::selector::Labels;
use object::{Key, Kind, Object, Pod, Resource};

/// How many Pods of one group are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that count as replicas.
    pub active: i32,
    /// Those of them that are ready.
    pub ready: i32,
    /// Those on their way out.
    pub terminating: i32,
}

impl Counts {
    /// The counts of this one Pod.
    pub fn of(pod: &Pod) -> Counts {
        let active = is_active(pod);
        Counts {
            active: active.into(),
            ready: (active && is_ready(pod)).into(),
            terminating: is_terminating(pod).into(),
        }
    }

    /// With `sign` 1 or -1 times the counts of `other`.
    pub(super) fn add(&mut self, other: Counts, sign: i32) {
        self.active += sign * other.active;
        self.ready += sign * other.ready;
        self.terminating += sign * other.terminating;
    }
}

/// The counts of all Pods in the cache that something of one kind owns.
#[derive(Clone, Debug)]
pub struct Census {
    owners: Kind,
    inner: Memory<Inner>,
}

#[derive(Clone, Debug, Default)]
struct Inner {
    /// Each of those Pods as it was counted: the last event of a deleted one may show it otherwise.
    counted: BTreeMap<Key, Arc<Pod>>,
    /// By the owner's uid and the Pods' labels. Empty groups are dropped.
    groups: BTreeMap<String, BTreeMap<Labels, Counts>>,
}

impl Census {
    /// The counts of the Pods that objects of the kind `owners` own, kept beside the cache of Pods.
    pub fn of_cache(context: &ControllerContext, owners: Kind) -> Census {
        let census = Census::new(context.client.hub(), owners);
        let counting = census.clone();
        let pod = |now: Option<&Object>| now.and_then(Pod::from_object).cloned();
        context.add_follower::<Pod>(Rc::new(move |key, now| counting.changed(key.clone(), pod(now).as_ref())));
        census
    }

    fn new(hub: &Hub, owners: Kind) -> Census {
        Census { owners, inner: hub.memory(Inner::default()) }
    }

    /// The Pod came, changed (`pod` as it is now) or went (None).
    fn changed(&self, key: Key, pod: Option<&Arc<Pod>>) {
        let pod = pod.filter(|pod| controller_of(&pod.metadata).is_some_and(|o| o.kind == self.owners.info().kind));
        let mut inner = self.inner.borrow_mut();
        let old = match pod {
            Some(pod) => inner.counted.insert(key, pod.clone()),
            None => inner.counted.remove(&key),
        };
        if let Some(old) = old {
            inner.count(&old, -1);
        }
        if let Some(new) = pod {
            inner.count(new, 1);
        }
    }

    /// The Pods that the owner with this uid owns, by their labels.
    pub fn owned_by(&self, uid: Option<&str>) -> Vec<(Labels, Counts)> {
        let inner = self.inner.borrow();
        let groups = uid.and_then(|uid| inner.groups.get(uid));
        groups.into_iter().flatten().map(|(labels, counts)| (labels.clone(), *counts)).collect()
    }
}

impl Inner {
    fn count(&mut self, pod: &Pod, sign: i32) {
        let Some(owner) = controller_of(&pod.metadata) else { return };
        let counts = Counts::of(pod);
        // A Pod that has ended counts nowhere.
        if counts == Counts::default() {
            return;
        }
        let no_labels = Labels::new();
        let labels = pod.metadata.labels.as_ref().unwrap_or(&no_labels);
        let groups = match self.groups.get_mut(&owner.uid) {
            Some(groups) => groups,
            None => self.groups.entry(owner.uid.clone()).or_default(),
        };
        let group = match groups.get_mut(labels) {
            Some(group) => group,
            None => groups.entry(labels.clone()).or_default(),
        };
        group.add(counts, sign);
        if *group == Counts::default() {
            groups.remove(labels);
            if groups.is_empty() {
                self.groups.remove(&owner.uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(owner: &str, app: &str, status: Value, deleting: bool) -> Arc<Pod> {
        let owner =
            json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner, "controller": true}]);
        let deleted = deleting.then_some("2026-01-01T00:00:00Z");
        let meta = json!({"labels": {"app": app}, "ownerReferences": owner, "deletionTimestamp": deleted});
        Arc::new(serde_json::from_value(json!({"metadata": meta, "status": status})).unwrap())
    }

    #[test]
    fn counts_follow_the_pods() {
        let (pending, failed) = (json!({"phase": "Pending"}), json!({"phase": "Failed"}));
        let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        let counts = |active, ready, terminating| Counts { active, ready, terminating };
        let census = Census::new(&Hub::new(0), Kind::ReplicaSet);
        let key = |name: &str| Key::new("default", name);
        for (name, pod, web, db) in [
            ("a", Some(pod("u", "web", pending.clone(), false)), Some(counts(1, 0, 0)), None),
            ("b", Some(pod("u", "web", pending.clone(), false)), Some(counts(2, 0, 0)), None),
            ("a", Some(pod("u", "web", ready.clone(), false)), Some(counts(2, 1, 0)), None),
            ("c", Some(pod("other", "web", ready.clone(), false)), Some(counts(2, 1, 0)), None),
            ("b", Some(pod("u", "db", pending, false)), Some(counts(1, 1, 0)), Some(counts(1, 0, 0))),
            ("a", Some(pod("u", "web", ready, true)), Some(counts(0, 0, 1)), Some(counts(1, 0, 0))),
            ("a", Some(pod("u", "web", failed, true)), None, Some(counts(1, 0, 0))),
            ("b", None, None, None),
        ] {
            census.changed(key(name), pod.as_ref());
            let groups: BTreeMap<_, _> = census.owned_by(Some("u")).into_iter().collect();
            let of = |app: &str| groups.get(&Labels::from([("app".into(), app.into())])).copied();
            assert_eq!((of("web"), of("db")), (web, db), "after {name}");
        }
    }
}
