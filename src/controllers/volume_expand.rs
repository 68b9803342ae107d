//! The expand controller: says that a claim which asks for more storage must be expanded by an external component.
//!
//! Once it expanded the volumes of the plugins that were built into Kubernetes. There are none left: a CSI volume is
//! expanded by the driver's own sidecar, and all that this controller does is an Event. Mirrors
//! `pkg/controller/volume/expand`.

use std::rc::Rc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use object::volume::{awaits_node_expansion, granted, is_promised_to, phase_of, requested, volume_name};
use object::{Key, Kind, Object};

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::PersistentVolumeClaim],
    workers: 10,
    event_source: "volume_expand",
    ..Registration::new("expand-controller", &|context| Rc::new(Expand::new(context)))
};

/// Keys are claims.
struct Expand {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    claims: Lister<PersistentVolumeClaim>,
}

impl Expand {
    fn new(context: &ControllerContext) -> Expand {
        Expand {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            claims: context.lister(),
        }
    }
}

impl Controller for Expand {
    fn on_change(&self, change: &Change) {
        let is_bound = |claim: &PersistentVolumeClaim| phase_of(claim) == "Bound";
        match change {
            Change::Added(Object::PersistentVolumeClaim(claim)) if is_bound(claim) => self.queue.add(change.key()),
            Change::Updated { old: Object::PersistentVolumeClaim(old), new: Object::PersistentVolumeClaim(new) }
                if is_bound(new) && (requested(new) > requested(old) || granted(new) > granted(old)) =>
            {
                self.queue.add(change.key());
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(claim) = self.claims.get(&key) else { return Ok(()) };
        let volume = self.client.get::<PersistentVolume>("", volume_name(&claim)).await?;
        if !is_promised_to(&volume, &claim) {
            return Err(Error::Other(format!("persistent Volume is not bound to PVC being updated : {key}")));
        }
        if requested(&claim) > granted(&claim) || awaits_node_expansion(&volume) {
            let message = "waiting for an external controller to expand this PVC";
            self.recorder.event(&*claim, EventType::Normal, "ExternalExpanding", message);
        }
        Ok(())
    }
}
