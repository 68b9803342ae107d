//! What each informer notification means to the cache and to the queue.
//!
//! A pod with a node is the cache's business, a pod without one the queue's, and a binding moves it from one to
//! the other. Mirrors `pkg/scheduler/eventhandlers.go`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Node, Service};

use super::attempt::{Scheduler, State, is_unassigned};
use super::events::{ClusterEvent, node_changes, pod_changes};
use super::labels::Matcher;
use super::pod_info::PodInfo;
use client::Change;
use engine::{Note, Queued};
use object::pod::nominated_node;
use object::time::Instant;
use object::{Accessor, Key, Kind, Object, Pod};

impl Scheduler {
    /// Takes one notification.
    pub(super) fn on_change(&self, change: &Change) {
        let now = self.client.now();
        let moved = self.state.borrow_mut().on_change(change, now);
        if change.kind() == Kind::PersistentVolumeClaim {
            self.claims_changed();
        }
        if matches!(change, Change::Deleted(Object::Pod(_))) {
            self.look_again(&change.key());
        }
        if moved > 0 {
            let text =
                format!("{moved} unschedulable {} worth another try", if moved == 1 { "pod is" } else { "pods are" });
            self.client.hub().note(|| Note::Text { topic: "kube-scheduler", text });
        }
        if let Object::Pod(pod) = change.latest()
            && self.state.borrow().queue.contains(&change.key())
            && is_unassigned(pod)
        {
            let (queue, key) = ("kube-scheduler".into(), change.key());
            self.client.hub().note(|| Note::Queue { queue, key, how: Queued::Added });
        }
    }
}

impl State {
    /// How many unschedulable pods the change moved.
    fn on_change(&mut self, change: &Change, now: Instant) -> usize {
        match change {
            Change::Added(Object::Pod(pod)) => self.pod_added(pod, now),
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => self.pod_updated(old, new, now),
            Change::Deleted(Object::Pod(pod)) => self.pod_deleted(pod, now),
            Change::Added(Object::Node(node)) => self.node_added(node, now),
            Change::Updated { old: Object::Node(old), new: Object::Node(new) } => self.node_updated(old, new, now),
            Change::Deleted(Object::Node(node)) => self.node_deleted(node, now),
            _ if matches!(
                change.kind(),
                Kind::PersistentVolumeClaim | Kind::PersistentVolume | Kind::StorageClass | Kind::CSINode
            ) =>
            {
                self.cache.snapshot.storage.set(change.latest(), matches!(change, Change::Deleted(_)));
                ClusterEvent::of_storage(change).map_or(0, |event| self.move_all(&event, now))
            }
            Change::Deleted(Object::PodDisruptionBudget(_)) => {
                self.disruptions.remove(&change.key());
                0
            }
            Change::Added(Object::PodDisruptionBudget(new))
            | Change::Updated { new: Object::PodDisruptionBudget(new), .. } => {
                self.disruptions.insert(change.key(), new.clone());
                0
            }
            _ => {
                self.other_changed(change.latest(), matches!(change, Change::Deleted(_)));
                0
            }
        }
    }

    fn pod_added(&mut self, pod: &Arc<Pod>, now: Instant) -> usize {
        if is_unassigned(pod) {
            self.enqueue(pod, now);
            return 0;
        }
        self.cache.set_pod(pod.clone());
        self.move_all(&ClusterEvent::pod_added(pod), now)
    }

    fn pod_updated(&mut self, old: &Arc<Pod>, new: &Arc<Pod>, now: Instant) -> usize {
        match (is_unassigned(old), is_unassigned(new)) {
            // The binding has been seen. What was assumed is confirmed.
            (true, false) => {
                let key = Key::of_meta(&new.metadata);
                self.queue.delete(&key);
                self.nominator.remove(&key);
                self.pod_added(new, now)
            }
            (_, false) => {
                self.cache.set_pod(new.clone());
                pod_changes(old, new).iter().map(|event| self.move_all(event, now)).sum()
            }
            (_, true) => self.unassigned_updated(old, new, now),
        }
    }

    fn unassigned_updated(&mut self, old: &Arc<Pod>, new: &Arc<Pod>, now: Instant) -> usize {
        let key = Key::of_meta(&new.metadata);
        let leaves = old.metadata.deletion_timestamp.is_none() && new.metadata.deletion_timestamp.is_some();
        if old.metadata.resource_version == new.metadata.resource_version || !self.is_ours(new) {
            return 0;
        }
        if self.cache.is_assumed(&key) {
            return if leaves { self.forget(&key, now) } else { 0 };
        }
        self.queue.update(old, new.clone(), now, &self.cache.snapshot);
        let (was, is) = (nominated_node(old), nominated_node(new));
        if (was, is) == (None, None) {
            self.nominator.refresh(new);
        } else {
            self.follow_nomination(new);
        }
        if was.is_some() && was != is { self.room_given_up(old, now) } else { 0 }
    }

    fn pod_deleted(&mut self, pod: &Arc<Pod>, now: Instant) -> usize {
        let key = Key::of_meta(&pod.metadata);
        self.nominator.remove(&key);
        self.queue.delete(&key);
        if is_unassigned(pod) {
            return match self.cache.is_assumed(&key) {
                true => self.forget(&key, now),
                false if self.is_ours(pod) && nominated_node(pod).is_some() => self.room_given_up(pod, now),
                false => 0,
            };
        }
        self.cache.remove_pod(&key);
        self.move_all(&ClusterEvent::pod_deleted(pod), now)
    }

    /// A pod goes while its binding is under way: its room is free at once. Mirrors `handleAssumedPodDeletion`.
    fn forget(&mut self, key: &Key, now: Instant) -> usize {
        let assumed = self.cache.forget(key);
        assumed.map_or(0, |pod| self.move_all(&ClusterEvent::pod_deleted(&pod), now))
    }

    /// The pod gives up the room that was made for it. Only to pods of no higher priority was it as if it were there.
    fn room_given_up(&mut self, pod: &Arc<Pod>, now: Instant) -> usize {
        let priority = pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0);
        self.queue.move_up_to(priority, &ClusterEvent::pod_deleted(pod), now, &self.cache.snapshot)
    }

    fn node_added(&mut self, node: &Arc<Node>, now: Instant) -> usize {
        self.cache.set_node(node.clone());
        self.move_all(&ClusterEvent::node_added(node), now)
    }

    fn node_updated(&mut self, old: &Arc<Node>, new: &Arc<Node>, now: Instant) -> usize {
        self.cache.set_node(new.clone());
        node_changes(old, new).iter().map(|event| self.move_all(event, now)).sum()
    }

    fn node_deleted(&mut self, node: &Arc<Node>, now: Instant) -> usize {
        let moved = self.move_all(&ClusterEvent::node_deleted(node), now);
        self.cache.remove_node(node.metadata.name());
        moved
    }

    /// Objects that only plugins read.
    fn other_changed(&mut self, object: &Object, gone: bool) {
        let (namespace, name) = (object.namespace(), object.name());
        let snapshot = &mut self.cache.snapshot;
        match object {
            Object::Namespace(_) => snapshot.set_namespace(name, labels_of(object).filter(|_| !gone)),
            Object::Service(service) => {
                let service: Option<Arc<Service>> = (!gone).then(|| service.clone());
                snapshot.set_service(namespace, name, service);
            }
            Object::ReplicaSet(set) => {
                let selector = set.spec.as_ref().map(|spec| Matcher::new(Some(&spec.selector)));
                snapshot.set_owner_selector("ReplicaSet", namespace, name, selector.filter(|_| !gone));
            }
            Object::StatefulSet(set) => {
                let selector = set.spec.as_ref().map(|spec| Matcher::new(Some(&spec.selector)));
                snapshot.set_owner_selector("StatefulSet", namespace, name, selector.filter(|_| !gone));
            }
            Object::ReplicationController(controller) => {
                let labels = controller.spec.as_ref().and_then(|spec| spec.selector.as_ref());
                let selector = labels.map(Matcher::of_labels);
                snapshot.set_owner_selector("ReplicationController", namespace, name, selector.filter(|_| !gone));
            }
            _ => {}
        }
    }

    fn enqueue(&mut self, pod: &Arc<Pod>, now: Instant) {
        if self.is_ours(pod) {
            self.queue.add(Arc::new(PodInfo::new(pod.clone())), now);
            self.follow_nomination(pod);
        }
    }

    fn follow_nomination(&mut self, pod: &Arc<Pod>) {
        match nominated_node(pod) {
            Some(node) => self.nominator.nominate(Arc::new(PodInfo::new(pod.clone())), node),
            None => self.nominator.remove(&Key::of_meta(&pod.metadata)),
        }
    }

    /// Pods that name no profile are left to another scheduler.
    fn is_ours(&self, pod: &Pod) -> bool {
        self.queue.profiles().of(pod).is_some()
    }

    fn move_all(&mut self, event: &ClusterEvent, now: Instant) -> usize {
        self.queue.move_all(event, now, &self.cache.snapshot)
    }
}

fn labels_of(object: &Object) -> Option<super::labels::Labels> {
    match object {
        Object::Namespace(namespace) => Some(Namespace::clone(namespace).metadata.labels.unwrap_or_default()),
        _ => None,
    }
}
