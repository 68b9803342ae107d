//! A definition whose names are accepted is established: its kind is served for good. Mirrors `establishing_controller.go`.

use std::rc::Rc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::definition::{is_true, set_condition};
use object::{Key, Kind, Object};

use super::unless_late;

/// The row of the establishing controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::CustomResourceDefinition],
    ..Registration::new("crd-establishing-controller", &|context| Rc::new(EstablishingController::new(context)))
};

/// Keys are definitions.
pub struct EstablishingController {
    client: Client,
    queue: Queue,
    definitions: Lister<CustomResourceDefinition>,
}

impl EstablishingController {
    fn new(context: &ControllerContext) -> EstablishingController {
        let (client, queue) = (context.client.clone(), context.queue.clone());
        EstablishingController { client, queue, definitions: context.lister() }
    }
}

impl Controller for EstablishingController {
    fn on_change(&self, change: &Change) {
        if let Change::Updated { new: Object::CustomResourceDefinition(definition), .. } = change
            && is_due(definition)
        {
            self.queue.add(change.key());
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(seen) = self.definitions.get(&key).filter(|definition| is_due(definition)) else { return Ok(()) };
        let mut definition = CustomResourceDefinition::clone(&seen);
        let message = "the initial names have been accepted";
        set_condition(&mut definition, "Established", true, "InitialNamesAccepted", message, self.client.now());
        unless_late(self.client.update_status(definition).await.map(drop))
    }
}

fn is_due(definition: &CustomResourceDefinition) -> bool {
    is_true(definition, "NamesAccepted") && !is_true(definition, "Established")
}
