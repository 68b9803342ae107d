//! Static pods: the kubelet runs what a file in the manifest directory of its node asks for, whether or not there is an API
//! server. Most installers start the control plane itself this way.
//!
//! No scheduler places a static pod, and no API object is behind it. To be seen at all it gets a *mirror pod*: a Pod object
//! that says what runs, and takes the status. Deleting the mirror changes nothing, the kubelet makes another; removing the
//! file ends the pod. A file with other content is another pod: the old one ends before the new one starts.
//!
//! Must hold:
//! - The worker belongs to the static pod, by the uid that its manifest gives it; mirrors have no worker. Kept by
//!   `a_file_is_run_and_shown` and `to_delete_the_mirror_changes_nothing`.
//!
//! Left out: manifests from a URL; files that are not written with `node NAME cp` are seen when the kubelet starts, where a
//! real one watches the directory; what the real kubelet's log says of a file that it cannot use. The uid is another hash.
//!
//! Mirrors `pkg/kubelet/config/{file,common}.go`, `pkg/kubelet/pod/mirror_client.go` and `tryReconcileMirrorPods`.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::params::{HOUSEKEEPING_PERIOD, SYNC_PERIOD};
use crate::pod_types::SOURCE;
use crate::shared::Shared;
use crate::status::phase::PENDING;
use crate::timers::Timer;
use client::informer::Change;
use kinds::defaults::set_defaults;
use kinds::validation::validate_create;
use object::pod::status::PodStatus;
use object::pod::{MIRROR, qos_class};
use object::{Accessor, Key, Kind, Object, Pod, Resource, nesting, sha256};
use wire::DeleteOptions;

/// The directory (`staticPodPath`).
pub const MANIFESTS: &str = "/etc/kubernetes/manifests";
/// The uid of a static pod.
const HASH: &str = "kubernetes.io/config.hash";
/// When the kubelet saw it first.
const SEEN: &str = "kubernetes.io/config.seen";

impl Shared {
    /// Runs what the files ask for, and stops what no file asks for any more.
    pub(super) fn read_manifests(self: &Rc<Self>) {
        if self.state.borrow().waiting.is_some() {
            // They are read when that is over.
            return;
        }
        let wanted = self.wanted();
        let (gone, new) = {
            let state = self.state.borrow();
            let pod_of = |uid: &String| state.workers.get(uid).map(|worker| worker.pod.clone());
            let gone: Vec<_> =
                state.statics.iter().filter(|uid| !wanted.contains_key(*uid)).filter_map(pod_of).collect();
            let is_taken = |pod: &Pod| state.statics.iter().filter_map(pod_of).any(|other| key(&other) == key(pod));
            let new: Vec<_> = wanted.into_iter().filter(|(_, pod)| !is_taken(pod)).collect();
            (gone, new)
        };
        gone.iter().for_each(|pod| self.pod_removed(pod));
        self.state.borrow_mut().statics.extend(new.iter().map(|(uid, _)| uid.clone()));
        if !new.is_empty() {
            self.pods_added(new.into_iter().map(|(_, pod)| pod).collect());
        }
    }

    /// The pods that the files describe, by uid. What cannot be used is passed over, and so is a second pod of a name.
    fn wanted(&self) -> BTreeMap<String, Arc<Pod>> {
        let files = self.disk.files_in(MANIFESTS).into_iter().filter(|(file, _)| !file.starts_with('.'));
        let mut wanted: BTreeMap<String, Arc<Pod>> = BTreeMap::new();
        for pod in files.filter_map(|(file, text)| read(&text, &file, &self.config.name)) {
            if wanted.values().all(|other| key(other) != key(&pod)) {
                let seen = self.hub.now().time().0.to_string();
                let mut pod = pod;
                pod.metadata.annotations.get_or_insert_default().insert(SEEN.into(), seen);
                wanted.insert(uid(&pod).to_owned(), Arc::new(pod));
            }
        }
        wanted
    }

    /// Takes the mirrors out of what the API server tells of pods: the rest is for workers.
    pub(super) fn without_mirrors(self: &Rc<Self>, changes: Vec<Change>) -> Vec<Change> {
        let mut others = Vec::new();
        for change in changes {
            let (old, new) = match &change {
                Change::Added(new) => (None, Pod::from_object(new)),
                Change::Updated { old, new } => (Pod::from_object(old), Pod::from_object(new)),
                Change::Deleted(old) => (Pod::from_object(old), None),
            };
            match new.or(old).filter(|pod| mirrored(pod).is_some()) {
                Some(pod) => self.mirror_changed(&key(pod), new, old.is_some()),
                None => others.push(change),
            }
        }
        others
    }

    fn mirror_changed(self: &Rc<Self>, key: &Key, new: Option<&Arc<Pod>>, is_update: bool) {
        let uid = self.static_pod(key);
        match new {
            Some(new) => self.state.borrow_mut().mirrors.insert(key.clone(), new.clone()),
            None => self.state.borrow_mut().mirrors.remove(key),
        };
        match (uid, new) {
            // Its file went while no kubelet ran.
            (None, Some(new)) => self.drop_mirror(new.clone()),
            (None, None) => {}
            (Some(uid), new) => {
                if !is_update || new.is_none_or(|new| new.metadata.deletion_timestamp.is_some()) {
                    self.mark(&uid);
                }
            }
        }
    }

    /// The uid of the static pod of that name, if there is one.
    fn static_pod(&self, wanted: &Key) -> Option<String> {
        let state = self.state.borrow();
        let mut all = state.statics.iter().filter_map(|uid| Some((uid, state.workers.get(uid)?)));
        all.find(|(_, worker)| key(&worker.pod) == *wanted).map(|(uid, _)| uid.clone())
    }

    /// Makes the mirror of a static pod, if it has none or one of another manifest. A kubelet that has not registered its node
    /// does not: see [`Shared::mirror_all`].
    pub(super) async fn keep_mirror(&self, pod: &Pod) {
        let key = key(pod);
        let there = {
            let state = self.state.borrow();
            if !state.statics.contains(uid(pod)) {
                return;
            }
            state.mirrors.get(&key).cloned()
        };
        if let Some(mirror) = there {
            if mirror.metadata.deletion_timestamp.is_none() && mirrored(&mirror) == Some(uid(pod)) {
                return;
            }
            if !self.delete_mirror(&mirror).await {
                return;
            }
        }
        let node = self.nodes.get(&Key::new("", &self.config.name));
        let Some(node) = node.filter(|node| node.metadata.deletion_timestamp.is_none()) else { return };
        if self.client.create(mirror_of(pod, &node)).await.is_err() {
            self.try_mirror_again(uid(pod));
        }
    }

    /// The next sync tries again, which is a minute away at the most.
    fn try_mirror_again(&self, uid: &str) {
        if let Some(worker) = self.state.borrow_mut().workers.get_mut(uid) {
            worker.retry = Some(self.hub.now() + SYNC_PERIOD);
            self.wake_background(Timer::Work { uid }, SYNC_PERIOD);
        }
    }

    /// The node is registered: static pods that run already can be shown.
    pub(super) fn mirror_all(self: &Rc<Self>) {
        let unseen: Vec<String> = {
            let state = self.state.borrow();
            let has_none = |uid: &&String| {
                state.workers.get(*uid).is_some_and(|worker| !state.mirrors.contains_key(&key(&worker.pod)))
            };
            state.statics.iter().filter(has_none).cloned().collect()
        };
        unseen.iter().for_each(|uid| self.mark(uid));
    }

    /// Nothing of a static pod is left: its mirror goes, and what waited for its name may start.
    pub(super) fn static_pod_ended(self: &Rc<Self>, pod: &Pod) {
        if !self.state.borrow_mut().statics.remove(uid(pod)) {
            return;
        }
        let mirror = self.state.borrow().mirrors.get(&key(pod)).cloned();
        if let Some(mirror) = mirror {
            self.drop_mirror(mirror);
        }
        self.read_manifests();
    }

    fn drop_mirror(self: &Rc<Self>, mirror: Arc<Pod>) {
        let me = self.clone();
        let label = format!("kubelet {} mirror pod", self.config.name);
        self.hub.spawn(self.actor, label, async move {
            if !me.delete_mirror(&mirror).await {
                me.wake_background(Timer::Mirror { pod: key(&mirror).as_str() }, HOUSEKEEPING_PERIOD);
            }
        });
    }

    /// A mirror that was to go is still there: it goes, if there still is no pod that it stands for
    /// (`deleteOrphanedMirrorPods`).
    pub(super) fn mirror_is_due(self: &Rc<Self>, pod: &str) {
        let mirror = self.state.borrow().mirrors.values().find(|mirror| key(mirror).as_str() == pod).cloned();
        let stands_for_none = |mirror: &Arc<Pod>| self.static_pod(&key(mirror)).is_none();
        mirror.filter(stands_for_none).into_iter().for_each(|mirror| self.drop_mirror(mirror));
    }

    /// Whether the mirror is gone.
    async fn delete_mirror(&self, mirror: &Pod) -> bool {
        let (uid, grace_period_seconds) = (mirror.metadata.uid.clone(), Some(0));
        let options = DeleteOptions { grace_period_seconds, uid, ..DeleteOptions::default() };
        let key = key(mirror);
        match self.client.delete::<Pod>(key.namespace(), key.name(), options).await {
            Ok(()) => true,
            Err(status) => status.is_not_found(),
        }
    }

    /// The uid of the object that a pod's status is written to; None: there is no mirror (yet). Mirrors `TranslatePodUID`.
    pub(super) fn uid_of_object(&self, of_pod: &str, key: &Key) -> Option<String> {
        let state = self.state.borrow();
        if !state.statics.contains(of_pod) {
            return Some(of_pod.to_owned());
        }
        state.mirrors.get(key).map(|mirror| uid(mirror).to_owned())
    }
}

/// The pod that a file describes, as it is to run on this node. None: there is no such thing in it.
fn read(text: &str, file: &str, node: &str) -> Option<Pod> {
    nesting::check(text).ok()?;
    let value: serde_json::Value = serde_yaml::from_str(text).ok()?;
    if (value["apiVersion"].as_str(), value["kind"].as_str()) != (Some("v1"), Some("Pod")) {
        return None;
    }
    let source = format!("{value}host:{node}file:{MANIFESTS}/{file}");
    let mut object = Kind::Pod.decode(value).ok()?;
    set_defaults(&mut object);
    let Object::Pod(pod) = object else { return None };
    let mut pod = Arc::unwrap_or_clone(pod);
    let hash = sha256::hex(&source)[..32].to_owned();
    let metadata = &mut pod.metadata;
    metadata.name = Some(format!("{}-{node}", metadata.name().to_lowercase()));
    metadata.namespace.get_or_insert_with(|| "default".to_owned());
    metadata.uid = Some(hash.clone());
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.extend([(HASH.to_owned(), hash), (SOURCE.to_owned(), "file".to_owned())]);
    let spec = pod.spec.as_mut()?;
    spec.node_name = Some(node.to_owned());
    let always = ("NoExecute".to_owned(), "Exists".to_owned());
    let always = Toleration { effect: Some(always.0), operator: Some(always.1), ..Toleration::default() };
    spec.tolerations.get_or_insert_default().push(always);
    let qos = Some(qos_class(&pod).to_owned());
    let status = PodStatus { phase: Some(PENDING.into()), qos_class: qos.map(Into::into), ..PodStatus::default() };
    pod.status = Some(status.into());
    let pod = Arc::new(pod);
    let is_right = validate_create(&Object::Pod(pod.clone()), None).is_empty();
    is_right.then(|| Arc::unwrap_or_clone(pod))
}

/// The object that stands for a static pod. It is the node's, and goes with it.
fn mirror_of(pod: &Pod, node: &Node) -> Pod {
    let mut mirror = pod.clone();
    mirror.metadata.annotations.get_or_insert_default().insert(MIRROR.to_owned(), uid(pod).to_owned());
    mirror.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".into(),
        kind: "Node".into(),
        name: node.metadata.name.clone().unwrap_or_default(),
        uid: node.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    }]);
    mirror
}

/// Of a mirror: the uid of the static pod that it stands for.
fn mirrored(pod: &Pod) -> Option<&str> {
    pod.metadata.annotations.as_ref()?.get(MIRROR).map(String::as_str)
}

fn key(pod: &Pod) -> Key {
    Key::of_meta(&pod.metadata)
}

fn uid(pod: &Pod) -> &str {
    pod.metadata.uid()
}
