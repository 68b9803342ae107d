//! Volumes and configuration: what has to be there before a pod's containers can start.
//!
//! Mirrors the volume manager (`pkg/kubelet/volumemanager`) and the watch-based ConfigMap and Secret managers
//! (`pkg/kubelet/util/manager`). For each object that a pod names, the kubelet opens a watch on that one object. A
//! reconciler looks at new volumes every 100 ms and sets them up; the pod's sync polls every 300 ms until all are
//! mounted. A missing object fails the set-up, which is tried again after 0.5, 1, 2, 4 … seconds, with an Event each.
//!
//! Nothing is really written anywhere: a volume is mounted when what it needs is known to exist. emptyDir, hostPath and
//! downwardAPI need nothing. Left out: PersistentVolumes, CSI, attach and detach, sub-paths, keys (`items`) that an
//! object lacks.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, Secret, Volume};

use super::Shared;
use super::params::{MOUNT_POLL_PERIOD, MOUNT_RETRY_INITIAL, MOUNT_RETRY_MAX, MOUNT_TIMEOUT, VOLUME_RECONCILE_PERIOD};
use super::workers::{End, Stage};
use crate::apiserver::watch::{WatchEvent, WatchId};
use crate::client::recorder::EventType;
use crate::client::{Informer, Selection};
use crate::object::{Key, Kind, Object, Resource};

/// One object that a volume or a variable takes its content from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// ConfigMap or Secret.
    pub kind: Kind,
    /// Its name; its namespace is the pod's.
    pub name: &'a str,
    /// Nothing is wrong if it is missing.
    pub optional: bool,
    /// The one key that is needed; None: all of it.
    pub key: Option<&'a str>,
}

impl Shared {
    /// Sets up the pod's volumes, or waits until they are. The error is how the sync ends.
    pub(super) async fn mount_volumes(self: &Rc<Self>, uid: &str, pod: &Arc<Pod>) -> Result<(), End> {
        self.watch_sources(pod);
        let volumes = pod.spec.as_ref().and_then(|s| s.volumes.as_deref()).unwrap_or_default();
        let mounted = self.state.borrow().workers.get(uid).is_none_or(|w| w.mounted);
        if mounted || volumes.is_empty() {
            return Ok(());
        }
        let began = self.hub.now();
        self.hub.sleep(VOLUME_RECONCILE_PERIOD).await;
        let mut missing: Vec<&Volume> = volumes.iter().collect();
        let mut pause = MOUNT_RETRY_INITIAL;
        loop {
            if self.cancelled(uid) {
                return Err(End::Done);
            }
            let mut still = Vec::new();
            for volume in missing {
                if let Err(error) = self.set_up(pod, volume).await {
                    let message = format!("MountVolume.SetUp failed for volume \"{}\" : {error}", volume.name);
                    self.recorder.event(&**pod, EventType::Warning, "FailedMount", message);
                    still.push(volume);
                }
            }
            missing = still;
            if missing.is_empty() {
                break;
            }
            if self.hub.now() - began + pause > MOUNT_TIMEOUT {
                self.tell_unmounted(pod, &missing);
                return Err(End::Failed(None));
            }
            self.park(uid, true);
            self.hub.sleep(pause).await;
            self.park(uid, false);
            pause = (pause * 2).min(MOUNT_RETRY_MAX);
        }
        self.wait_for_poll(self.hub.now() - began).await;
        if let Some(worker) = self.state.borrow_mut().workers.get_mut(uid) {
            worker.mounted = true;
        }
        Ok(())
    }

    /// A pod that waits for a volume can be told to end at any moment.
    fn park(&self, uid: &str, parked: bool) {
        if let Some(worker) = self.state.borrow_mut().workers.get_mut(uid)
            && worker.stage == Stage::Sync
        {
            worker.parked = parked;
        }
    }

    /// The sync looks every 300 ms whether its volumes are there.
    async fn wait_for_poll(&self, since: Duration) {
        let period = MOUNT_POLL_PERIOD.as_nanos() as u64;
        let over = since.as_nanos() as u64 % period;
        if over > 0 {
            self.hub.sleep(Duration::from_nanos(period - over)).await;
        }
    }

    fn tell_unmounted(&self, pod: &Pod, missing: &[&Volume]) {
        let names: Vec<&str> = missing.iter().map(|v| v.name.as_str()).collect();
        let message = format!(
            "Unable to attach or mount volumes: unmounted volumes=[{}], unattached volumes=[], failed to process \
             volumes=[]: context deadline exceeded",
            names.join(" ")
        );
        self.recorder.event(pod, EventType::Warning, "FailedMount", message);
    }

    /// One volume: its objects must exist, and a projected token is asked for.
    async fn set_up(&self, pod: &Pod, volume: &Volume) -> Result<(), String> {
        let wants_token =
            volume.projected.iter().flat_map(|p| p.sources.iter().flatten()).any(|s| s.service_account_token.is_some());
        if wants_token {
            self.ask_for_token(pod).await?;
        }
        volume_sources(volume).iter().try_for_each(|source| self.check_source(pod, source))
    }

    /// `POST serviceaccounts/NAME/token`, bound to the pod.
    async fn ask_for_token(&self, pod: &Pod) -> Result<(), String> {
        let meta = &pod.metadata;
        let part = |field: &Option<String>| field.clone().unwrap_or_default();
        let (namespace, name, uid) = (part(&meta.namespace), part(&meta.name), part(&meta.uid));
        let account = pod.spec.as_ref().and_then(|s| s.service_account_name.as_deref()).unwrap_or("default");
        let asked = self.client.create_token(&namespace, account, &name, &uid).await;
        asked.map_err(|error| format!("failed to fetch token: {error}"))
    }

    /// Variables that a container takes from ConfigMaps and Secrets must be there
    /// (`makeEnvironmentVariables`; the container waits with CreateContainerConfigError).
    pub(super) fn check_config(&self, pod: &Pod, container: &Container) -> Result<(), String> {
        variable_sources(container).iter().try_for_each(|source| self.check_source(pod, source))
    }

    fn check_source(&self, pod: &Pod, source: &Source) -> Result<(), String> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let word = source.kind.info().singular();
        let key = Key::new(namespace, source.name);
        let state = self.state.borrow();
        let informer = state.objects.get(&(source.kind, key.clone()));
        if source.optional && informer.is_none_or(|i| i.has_synced()) {
            return Ok(());
        }
        let Some(informer) = informer.filter(|i| i.has_synced()) else {
            return Err(format!("failed to sync {word} cache: timed out waiting for the condition"));
        };
        let cache = informer.cache().borrow();
        let Some(object) = cache.objects().get(&key) else {
            return Err(format!("{word} \"{}\" not found", source.name));
        };
        match source.key {
            Some(wanted) if !has_key(object, wanted) => {
                Err(format!("couldn't find key {wanted} in {} {namespace}/{}", source.kind, source.name))
            }
            _ => Ok(()),
        }
    }

    /// Opens the watches that the pod needs and that are not open yet (`RegisterPod`).
    fn watch_sources(&self, pod: &Pod) {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let Some(spec) = &pod.spec else { return };
        let volumes = spec.volumes.iter().flatten().flat_map(volume_sources);
        let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
        for source in volumes.chain(containers.flat_map(variable_sources)) {
            let key = Key::new(namespace, source.name);
            let mut state = self.state.borrow_mut();
            state.objects.entry((source.kind, key)).or_insert_with(|| {
                let field_selector = format!("metadata.name={}", source.name);
                let selection = Selection { kind: source.kind, namespace: namespace.into(), field_selector };
                let mut informer = Informer::new(self.hub.clone(), self.actor, self.user.clone(), selection);
                informer.start();
                informer
            });
        }
    }

    /// One of those watches says something.
    pub(super) fn object_changed(&self, watch: WatchId, event: WatchEvent) {
        let mut state = self.state.borrow_mut();
        if let Some(informer) = state.objects.values_mut().find(|informer| informer.owns(watch)) {
            informer.on_event(event);
        }
    }

    /// Watches of that kind which were refused are opened once more.
    pub(super) fn watch_objects_again(&self, plural: &str) {
        let mut state = self.state.borrow_mut();
        for ((kind, _), informer) in state.objects.iter_mut() {
            if kind.info().plural == plural && !informer.has_synced() {
                informer.start();
            }
        }
    }
}

/// The objects a volume takes its content from.
pub fn volume_sources(volume: &Volume) -> Vec<Source<'_>> {
    let source =
        |kind, name, optional: Option<bool>| Source { kind, name, optional: optional == Some(true), key: None };
    let mut sources = Vec::new();
    if let Some(map) = &volume.config_map {
        sources.push(source(Kind::ConfigMap, map.name.as_str(), map.optional));
    }
    if let Some(secret) = &volume.secret {
        sources.push(source(Kind::Secret, secret.secret_name.as_deref().unwrap_or_default(), secret.optional));
    }
    for part in volume.projected.iter().flat_map(|p| p.sources.iter().flatten()) {
        if let Some(map) = &part.config_map {
            sources.push(source(Kind::ConfigMap, map.name.as_str(), map.optional));
        }
        if let Some(secret) = &part.secret {
            sources.push(source(Kind::Secret, secret.name.as_str(), secret.optional));
        }
    }
    sources
}

/// The objects a container's variables come from.
pub fn variable_sources(container: &Container) -> Vec<Source<'_>> {
    let mut sources = Vec::new();
    for from in container.env_from.iter().flatten() {
        if let Some(map) = &from.config_map_ref {
            let optional = map.optional == Some(true);
            sources.push(Source { kind: Kind::ConfigMap, name: map.name.as_str(), optional, key: None });
        }
        if let Some(secret) = &from.secret_ref {
            let optional = secret.optional == Some(true);
            sources.push(Source { kind: Kind::Secret, name: secret.name.as_str(), optional, key: None });
        }
    }
    for from in container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
        if let Some(map) = &from.config_map_key_ref {
            let (optional, key) = (map.optional == Some(true), Some(map.key.as_str()));
            sources.push(Source { kind: Kind::ConfigMap, name: map.name.as_str(), optional, key });
        }
        if let Some(secret) = &from.secret_key_ref {
            let (optional, key) = (secret.optional == Some(true), Some(secret.key.as_str()));
            sources.push(Source { kind: Kind::Secret, name: secret.name.as_str(), optional, key });
        }
    }
    sources
}

fn has_key(object: &Object, key: &str) -> bool {
    if let Some(map) = ConfigMap::from_object(object) {
        return map.data.iter().flatten().any(|(k, _)| k == key)
            || map.binary_data.iter().flatten().any(|(k, _)| k == key);
    }
    Secret::from_object(object).is_some_and(|secret| secret.data.iter().flatten().any(|(k, _)| k == key))
}
