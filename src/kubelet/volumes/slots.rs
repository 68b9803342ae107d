//! What the kubelet remembers of volumes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolume;

use engine::CallId;
use object::time::Instant;

/// One volume of a pod on this node.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    /// It is there.
    pub mounted: bool,
    /// A set-up is under way.
    pub(super) busy: bool,
    /// How long the last failure asked to wait.
    pub(super) pause: Duration,
    /// When it may be tried again.
    pub(super) due: Instant,
    /// It is looked at again when something happens that it waits for.
    pub waits: bool,
    /// What its files are made from has changed since they were written.
    pub(super) stale: bool,
    /// Where on the host it is, once it is there.
    pub path: String,
    /// The volume behind a claim, once it is known.
    pub behind: Option<Arc<PersistentVolume>>,
}

/// What the kubelet knows of a pod's volumes.
#[derive(Clone, Debug, Default)]
pub struct PodVolumes {
    /// In the order of the spec; empty before the first sync and after the last.
    pub slots: Vec<Slot>,
    /// The sync that waits for them.
    pub(super) waiter: Option<CallId>,
}

impl PodVolumes {
    pub(super) fn all_mounted(&self) -> bool {
        self.slots.iter().all(|slot| slot.mounted)
    }

    /// The sync that waits, if there is one, is no longer waiting.
    pub fn take_waiter(&mut self) -> Option<CallId> {
        self.waiter.take()
    }
}

/// Why a volume is not there yet.
pub(crate) enum NotReady {
    /// Something else has to happen first, and then it is looked at again.
    Waits,
    /// It failed; what is told, and tried again after a while.
    Failed(String),
    /// It is not even clear which volume it is; why.
    Unprocessed(String),
}

/// A CSI volume on this node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Device {
    pub(super) volume_id: String,
    pub(super) staging_path: String,
    pub(super) staged: bool,
    /// It is being staged or unstaged.
    pub(super) busy: bool,
    /// The pods that use it, by uid.
    pub(super) users: BTreeSet<String>,
}
