//! What must hold of volumes.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};

use super::{Property, stored};
use apiserver::host::Engine;
use engine::{ActorId, Step, What};
use kubelet::csi::CsiRequest;
use object::reader::Reader;
use object::volume::{claim_uid, phase_of, volume_name};
use object::{Accessor, Kind, Object};

/// A volume that is not shared is shown to pods of one node only. What a node showed is gone when its power is.
#[derive(Clone, Default)]
pub(super) struct PublishedOnce {
    /// Node halves of the driver and target paths, by volume.
    published: BTreeMap<String, BTreeSet<(ActorId, String)>>,
    shared: BTreeSet<String>,
}

impl Property for PublishedOnce {
    fn name(&self) -> &'static str {
        "a volume for one node is published on one node"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        let What::Rpc { message, .. } = &step.event.what else { return Ok(()) };
        let (any, node): (&dyn Any, ActorId) = (&**message, step.event.to);
        match any.downcast_ref::<CsiRequest>() {
            Some(CsiRequest::ControllerPublishVolume { volume_id, shared: true, .. }) => {
                self.shared.insert(volume_id.clone());
            }
            Some(CsiRequest::NodePublishVolume { volume_id, target_path, .. }) => {
                let places = self.published.entry(volume_id.clone()).or_default();
                places.retain(|(node, _)| engine.actor(*node).is_some());
                places.insert((node, target_path.clone()));
                let other = places.iter().find(|(other, _)| *other != node);
                if let Some((other, _)) = other.filter(|_| !self.shared.contains(volume_id)) {
                    let (here, there) = (engine.name(node), engine.name(*other));
                    return Err(format!("{volume_id} is published by {here} and by {there}"));
                }
            }
            Some(CsiRequest::NodeUnpublishVolume { volume_id, target_path }) => {
                if let Some(places) = self.published.get_mut(volume_id) {
                    places.remove(&(node, target_path.clone()));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// A claim is not said to be bound before its volume points back at it.
#[derive(Clone)]
pub(super) struct BoundBothWays;

impl Property for BoundBothWays {
    fn name(&self) -> &'static str {
        "a bound claim and its volume point at each other"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for (_, old, new) in stored(step) {
            let (false, Some(Object::PersistentVolumeClaim(claim))) = (old.is_some_and(is_bound), new) else {
                continue;
            };
            if !new.is_some_and(is_bound) {
                continue;
            }
            let volume = Reader::get(&engine.server.api.store, Kind::PersistentVolume, "", volume_name(claim));
            let back = match &volume {
                Some(Object::PersistentVolume(volume)) => Some(claim_uid(volume)),
                _ => None,
            };
            if back != claim.metadata.uid.as_deref() {
                let name = claim.metadata.name();
                return Err(format!("claim {name} is bound to {:?}, which points at {back:?}", volume_name(claim)));
            }
        }
        Ok(())
    }
}

fn is_bound(object: &Object) -> bool {
    matches!(object, Object::PersistentVolumeClaim(claim) if phase_of(claim) == "Bound")
}
