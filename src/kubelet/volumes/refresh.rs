//! Files that do not stay as they were: tokens before they expire, ConfigMaps and Secrets that were changed, and what the
//! pod's own object tells through the downward API.
//!
//! Mirrors `pkg/kubelet/token` and `MarkRemountRequired`: every sync of the pod has its volumes set up once more. A changed
//! ConfigMap brings about no sync, so it shows after up to a minute and a half; a changed label of the pod does, and shows at
//! the reconciler's next look, together with what had not shown yet. A token is asked for again after four fifths of its life,
//! or a day.
//!
//! Left out: the chance in the time of renewal; and tokens of one volume are renewed together when the first is due, where
//! a real kubelet keeps each until its own time.

use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ServiceAccountTokenProjection, Volume};

use super::slots::Slot;
use super::sources::volumes_of;
use super::{host_path, payload, sources};
use crate::params::{SYNC_PERIOD, TOKEN_AGE_MAX, VOLUME_RECONCILE_PERIOD};
use crate::shared::Shared;
use crate::timers::Timer;
use crate::worker::{Stage, Worker};
use engine::Note;
use object::pod::spec::PodVolume;
use object::token::Token;
use object::volume::claim_behind;
use object::{Key, Kind, Pod};

/// The tokens that a volume wants.
pub fn tokens_of(volume: &Volume) -> impl Iterator<Item = &ServiceAccountTokenProjection> {
    let parts = volume.projected.iter().flat_map(|p| p.sources.iter().flatten());
    parts.filter_map(|part| part.service_account_token.as_ref())
}

fn seconds_of(token: &ServiceAccountTokenProjection) -> i64 {
    token.expiration_seconds.unwrap_or(3600)
}

impl Shared {
    /// `POST serviceaccounts/NAME/token`, bound to the pod.
    pub(super) async fn ask_for_token(
        &self,
        pod: &Pod,
        wanted: &ServiceAccountTokenProjection,
    ) -> Result<Token, String> {
        let meta = &pod.metadata;
        let part = |field: &Option<String>| field.clone().unwrap_or_default();
        let (namespace, name, uid) = (part(&meta.namespace), part(&meta.name), part(&meta.uid));
        let account = pod.spec.as_ref().and_then(|s| s.service_account_name.as_deref()).unwrap_or("default");
        let audience = wanted.audience.as_deref().unwrap_or_default();
        let bound_to = (name.as_str(), uid.as_str());
        let asked = self.client.create_token(&namespace, account, bound_to, audience, seconds_of(wanted)).await;
        asked.map_err(|error| format!("failed to fetch token: {error}"))
    }

    /// A volume has just been set up. Its token will have to be renewed, or its size looked at.
    pub(super) fn follow(&self, uid: &str, index: usize, volume: &Volume) {
        // They are asked for together, as the first to end has to be.
        if let Some(seconds) = tokens_of(volume).map(seconds_of).min() {
            let life = Duration::from_secs(seconds.unsigned_abs());
            let wait = (life * 4 / 5).min(TOKEN_AGE_MAX);
            self.wake_background(Timer::Remount { uid, volume: index }, wait);
        }
        let of_driver = |worker: &Worker| {
            let slot = worker.volumes.slots.get(index);
            slot.and_then(|slot| slot.behind.as_ref()?.spec.as_ref()).is_some_and(|spec| spec.csi.is_some())
        };
        if self.state.borrow().workers.get(uid).is_some_and(|worker| of_driver(worker)) {
            self.look_again(uid, index);
        }
    }

    /// An object has changed: the pods that have it in a volume see it after their next regular sync.
    pub(super) fn refresh_users(&self, kind: Kind, key: &Key) {
        let mut stale = Vec::new();
        for (uid, worker) in self.state.borrow().workers.iter() {
            if worker.pod.metadata.namespace.as_deref() != Some(key.namespace()) {
                continue;
            }
            for (index, volume) in volumes_of(&worker.pod).enumerate() {
                let uses = sources::of_volume(&volume).iter().any(|s| s.kind == kind && s.name == key.name());
                if uses && worker.volumes.slots.get(index).is_some_and(|slot| slot.mounted) {
                    stale.push((uid.clone(), index));
                }
            }
        }
        for (uid, volume) in stale {
            self.with_volumes(&uid, |volumes| volumes.slots[volume].stale = true);
            let period = SYNC_PERIOD.as_nanos() as u64;
            let wait = Duration::from_nanos(self.hub.random(|random| random.below(period + period / 2)));
            self.wake_background(Timer::Remount { uid: &uid, volume }, wait);
        }
    }

    /// A pod is another than it was: the sync that follows has its volumes looked at.
    pub(crate) fn refresh_volumes(&self, uid: &str, old: &Pod) {
        let changed: Vec<usize> = {
            let state = self.state.borrow();
            let Some(worker) = state.workers.get(uid).filter(|worker| worker.stage == Stage::Sync) else { return };
            let slots = volumes_of(&worker.pod).zip(&worker.volumes.slots).enumerate();
            let differs = |volume: &PodVolume<'_>, slot: &Slot| {
                slot.mounted && (slot.stale || payload::tells_differently(volume, old, &worker.pod))
            };
            slots.filter(|(_, (volume, slot))| differs(volume, slot)).map(|(index, _)| index).collect()
        };
        for volume in changed {
            self.wake_background(Timer::Remount { uid, volume }, VOLUME_RECONCILE_PERIOD);
        }
    }

    /// Writes the files of a mounted volume anew, or lets the file system grow with it.
    pub(crate) fn remount_due(self: &Rc<Self>, uid: &str, index: usize) {
        let (me, uid) = (self.clone(), uid.to_owned());
        let label = format!("kubelet {} volumes of {}", self.config.name, self.pod_key(&uid));
        self.hub.spawn_background(self.actor, label, async move {
            let (pod, path) = {
                let state = me.state.borrow();
                let worker = state.workers.get(&uid).filter(|worker| worker.stage == Stage::Sync);
                match worker.and_then(|worker| Some((worker, worker.volumes.slots.get(index)?))) {
                    Some((worker, slot)) if slot.mounted => (worker.pod.clone(), slot.path.clone()),
                    _ => return,
                }
            };
            let Some(volume) = volumes_of(&pod).nth(index) else { return };
            if claim_behind(&pod.metadata, &volume).is_some() {
                me.grow_file_system(&pod, &volume, &path).await;
                return me.look_again(&uid, index);
            }
            // A real kubelet tries again with its next sync; the old files stay meanwhile.
            if let Ok(Some(payload)) = me.make_payload(&pod, &volume).await {
                me.with_volumes(&uid, |volumes| volumes.slots.get_mut(index).map(|slot| slot.stale = false));
                me.disk.mount(&host_path::of_volume(&uid, volume.name, &volume), Rc::new(payload));
                me.hub.note(|| Note::Text {
                    topic: "kubelet",
                    text: format!(
                        "files of volume {} of {} are written anew",
                        volume.name,
                        Key::of_meta(&pod.metadata)
                    ),
                });
            }
            me.follow(&uid, index, &volume);
        });
    }
}
