//! The ephemeral volume controller: makes the claims of volumes that come and go with their Pod.
//!
//! A volume with `ephemeral.volumeClaimTemplate` asks for a claim of the Pod's own, named after the Pod and the volume. The
//! Pod owns it, so the garbage collector removes it when the Pod is gone. From then on it is a claim as any
//! other: the scheduler chooses a node for it, a driver makes its volume, the kubelet mounts it. A claim of that name which
//! belongs to another owner is never used.
//!
//! Mirrors `pkg/controller/volume/ephemeral`.

use std::rc::Rc;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use client::{Change, Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use object::meta::controller_ref;
use object::volume::{claim_behind, made_for};
use object::{Accessor, Key, Kind, Object, Pod};

use super::volumes::{PODS_BY_CLAIM, claims_of};

/// The row of the ephemeral volume controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Pod, Kind::PersistentVolumeClaim],
    workers: 5,
    event_source: "ephemeral_volume",
    ..Registration::new("ephemeral-volume-controller", &|context| Rc::new(EphemeralVolumes::new(context)))
};

/// Keys are Pods.
struct EphemeralVolumes {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    pods: Lister<Pod>,
    claims: Lister<PersistentVolumeClaim>,
}

impl EphemeralVolumes {
    fn new(context: &ControllerContext) -> EphemeralVolumes {
        context.add_index::<Pod>(PODS_BY_CLAIM, claims_of);
        EphemeralVolumes {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            pods: context.lister(),
            claims: context.lister(),
        }
    }

    fn enqueue(&self, pod: &Pod) {
        if pod.metadata.deletion_timestamp.is_none() && ephemeral_volumes(pod).next().is_some() {
            self.queue.add(Key::of_meta(&pod.metadata));
        }
    }
}

impl Controller for EphemeralVolumes {
    /// A Pod's volumes never change, so only new Pods matter; and a claim that a client has deleted is made again.
    fn on_change(&self, change: &Change) {
        match change {
            Change::Added(Object::Pod(pod)) => self.enqueue(pod),
            Change::Deleted(Object::PersistentVolumeClaim(_)) => {
                let pods = self.pods.by_index(PODS_BY_CLAIM, change.key().as_str());
                pods.iter().for_each(|pod| self.enqueue(pod));
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(pod) = self.pods.get(&key).filter(|pod| pod.metadata.deletion_timestamp.is_none()) else {
            return Ok(());
        };
        for volume in ephemeral_volumes(&pod) {
            if let Err(why) = self.make_claim(&pod, volume).await {
                let message = format!("ephemeral volume {}: {why}", volume.name);
                self.recorder.event(&*pod, EventType::Warning, "FailedBinding", message.clone());
                return Err(Error::Other(format!("pod {key}, {message}")));
            }
        }
        Ok(())
    }
}

impl EphemeralVolumes {
    /// Makes the volume's claim, unless it is there. Mirrors `handleVolume`.
    async fn make_claim(&self, pod: &Pod, volume: &Volume) -> Result<(), String> {
        let Some(used) = claim_behind(&pod.metadata, volume) else { return Ok(()) };
        let template = volume.ephemeral.as_ref().and_then(|source| source.volume_claim_template.as_ref());
        let namespace = pod.metadata.namespace();
        if let Some(claim) = self.claims.get(&Key::new(namespace, &used.name)) {
            return made_for(&pod.metadata, &claim);
        }
        let metadata = template.and_then(|template| template.metadata.clone()).unwrap_or_default();
        let claim = PersistentVolumeClaim {
            metadata: ObjectMeta {
                name: Some(used.name.clone().into_owned()),
                namespace: Some(namespace.to_owned()),
                owner_references: Some(vec![controller_ref(pod)]),
                annotations: metadata.annotations,
                labels: metadata.labels,
                ..ObjectMeta::default()
            },
            spec: template.map(|template| template.spec.clone()),
            status: None,
        };
        let made = self.client.create(claim).await;
        made.map(drop).map_err(|status| format!("create PVC {}: {status}", used.name))
    }
}

fn ephemeral_volumes(pod: &Pod) -> impl Iterator<Item = &Volume> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter(|volume| volume.ephemeral.is_some())
}
