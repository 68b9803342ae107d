//! The protection controller of VolumeAttributesClasses: one that a claim or a volume names is not removed when it is deleted,
//! but when it is free. It does for them what [`storage_protection`](super::storage_protection) does for claims and volumes.
//!
//! Mirrors `pkg/controller/volume/vacprotection`.

use std::collections::BTreeSet;
use std::rc::Rc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::VolumeAttributesClass;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::well_known::ATTRIBUTES_PROTECTION;
use object::{Accessor, Key, Kind, Object};

use super::storage_protection::{wanted, write};

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::VolumeAttributesClass, Kind::PersistentVolumeClaim, Kind::PersistentVolume],
    ..Registration::new("volumeattributesclass-protection-controller", &|context| Rc::new(Classes::new(context)))
};

/// The index of claims and of volumes by the classes that they name.
const BY_CLASS: &str = "volume attributes class";

/// Keys are VolumeAttributesClasses.
struct Classes {
    client: Client,
    queue: Queue,
    classes: Lister<VolumeAttributesClass>,
    claims: Lister<PersistentVolumeClaim>,
    volumes: Lister<PersistentVolume>,
}

impl Classes {
    fn new(context: &ControllerContext) -> Classes {
        context.add_index::<PersistentVolumeClaim>(BY_CLASS, classes_of);
        context.add_index::<PersistentVolume>(BY_CLASS, classes_of);
        Classes {
            client: context.client.clone(),
            queue: context.queue.clone(),
            classes: context.lister(),
            claims: context.lister(),
            volumes: context.lister(),
        }
    }

    fn is_used(&self, class: &str) -> bool {
        !self.volumes.by_index(BY_CLASS, class).is_empty() || !self.claims.by_index(BY_CLASS, class).is_empty()
    }
}

impl Controller for Classes {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Added(Object::VolumeAttributesClass(class))
            | Change::Updated { new: Object::VolumeAttributesClass(class), .. } => {
                if wanted(&class.metadata, ATTRIBUTES_PROTECTION).is_some() {
                    self.queue.add(change.key());
                }
            }
            // What no longer names a class may have been the last that did.
            Change::Updated { old, new } => {
                let left = classes_of(new);
                let freed = classes_of(old).into_iter().filter(|class| !left.contains(class));
                freed.for_each(|class| self.queue.add(Key::new("", &class)));
            }
            Change::Deleted(object) => {
                classes_of(object).into_iter().for_each(|class| self.queue.add(Key::new("", &class)));
            }
            Change::Added(_) => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(class) = self.classes.get(&key) else { return Ok(()) };
        let Some(metadata) = wanted(&class.metadata, ATTRIBUTES_PROTECTION) else { return Ok(()) };
        if class.metadata.deletion_timestamp.is_some() && self.is_used(class.metadata.name()) {
            return Ok(());
        }
        write(self.client.update(VolumeAttributesClass { metadata, ..VolumeAttributesClass::clone(&class) }).await)
    }
}

/// The classes that a claim or a volume names: the one it is to have, the one it has, and the one it is on its way to. Mirrors
/// `getVACsFromPVC`.
fn classes_of(object: &Object) -> Vec<String> {
    let names = match object {
        Object::PersistentVolume(volume) => {
            [volume.spec.as_ref().and_then(|spec| spec.volume_attributes_class_name.clone()), None, None]
        }
        Object::PersistentVolumeClaim(claim) => {
            let (spec, status) = (claim.spec.as_ref(), claim.status.as_ref());
            let target = status.and_then(|status| status.modify_volume_status.as_ref());
            [
                spec.and_then(|spec| spec.volume_attributes_class_name.clone()),
                status.and_then(|status| status.current_volume_attributes_class_name.clone()),
                target.and_then(|target| target.target_volume_attributes_class_name.clone()),
            ]
        }
        _ => [None, None, None],
    };
    let names: BTreeSet<String> = names.into_iter().flatten().filter(|name| !name.is_empty()).collect();
    names.into_iter().collect()
}
