//! Before a definition goes, all objects of its kind go. Mirrors `crd_finalizer.go`.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::claim::aggregate;
use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::definition::{CLEANUP, is_true, kind_of, preferred, set_condition};
use object::meta::has_finalizer;
use object::{Key, Kind, Object};
use wire::{self, Body, DeleteOptions, Verb};

use super::unless_late;

/// The row of the finalizer.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::CustomResourceDefinition],
    workers: 5,
    ..Registration::new("crd-finalizer", &|context| Rc::new(Finalizer::new(context)))
};

/// How often, and how many times, it looks whether the objects are gone.
const POLL: Duration = Duration::from_secs(5);
const POLLS: u32 = 12;

/// Keys are definitions.
pub struct Finalizer {
    client: Client,
    queue: Queue,
    definitions: Lister<CustomResourceDefinition>,
}

/// What the condition Terminating says.
struct Terminating {
    goes_on: bool,
    reason: &'static str,
    message: String,
}

impl Finalizer {
    fn new(context: &ControllerContext) -> Finalizer {
        let (client, queue) = (context.client.clone(), context.queue.clone());
        Finalizer { client, queue, definitions: context.lister() }
    }
}

impl Controller for Finalizer {
    fn on_change(&self, change: &Change) {
        let due = |object: &Object| matches!(object, Object::CustomResourceDefinition(there) if is_due(there));
        let asks = match change {
            Change::Added(new) => due(new),
            // How far the deletion has come was written here, and asks for nothing.
            Change::Updated { old, new } => due(new) && without_terminating(old) != without_terminating(new),
            Change::Deleted(_) => false,
        };
        if asks {
            self.queue.add(change.key());
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(seen) = self.definitions.get(&key).filter(|definition| is_due(definition)) else { return Ok(()) };
        let begun = Terminating {
            goes_on: true,
            reason: "InstanceDeletionInProgress",
            message: "CustomResource deletion is in progress".to_owned(),
        };
        let mut definition = match self.tell(CustomResourceDefinition::clone(&seen), begun).await {
            Ok(definition) => definition,
            Err(status) => return unless_late(Err(status)),
        };
        let (terminating, failed) = if is_true(&definition, "Established") {
            self.delete_instances(&definition).await
        } else {
            let message = "resource was never established".to_owned();
            (Terminating { goes_on: false, reason: "NeverEstablished", message }, None)
        };
        if let Some(failed) = failed {
            // That this cannot be told either changes nothing.
            let _ = self.tell(definition, terminating).await;
            return Err(failed);
        }
        definition.metadata.finalizers.get_or_insert_default().retain(|finalizer| finalizer != CLEANUP);
        unless_late(self.tell(definition, terminating).await.map(drop))
    }
}

impl Finalizer {
    async fn tell(
        &self,
        mut definition: CustomResourceDefinition,
        terminating: Terminating,
    ) -> Result<CustomResourceDefinition, wire::Error> {
        let Terminating { goes_on, reason, message } = terminating;
        set_condition(&mut definition, "Terminating", goes_on, reason, &message, self.client.now());
        self.client.update_status(definition).await.map(|written| CustomResourceDefinition::clone(&written))
    }

    /// Deletes all objects, one namespace after the other, and waits until they are gone.
    async fn delete_instances(&self, definition: &CustomResourceDefinition) -> (Terminating, Option<Error>) {
        let failing = |reason, text: &str, why: String| {
            let message = format!("{text}: {why}");
            (Terminating { goes_on: true, reason, message }, Some(Error::Other(why)))
        };
        let Some(version) = preferred(definition) else {
            return failing("InstanceDeletionFailed", "could not list instances", "no version is served".to_owned());
        };
        let kind = Kind::Custom(kind_of(definition, &version.name));
        let there = match self.instances(kind).await {
            Ok(there) => there,
            Err(status) => {
                return failing("InstanceDeletionFailed", "could not list instances", status.to_string());
            }
        };
        let namespaces: BTreeSet<&str> = there.iter().map(Object::namespace).collect();
        let mut errors = Vec::new();
        for namespace in namespaces {
            let body = Body::Delete(DeleteOptions::default());
            errors.extend(self.client.collection(Verb::DeleteCollection, kind, namespace, body).await.err());
        }
        if let Some(errors) = aggregate(errors.into_iter().map(Error::Api).collect()) {
            return failing("InstanceDeletionFailed", "could not issue all deletes", errors.to_string());
        }
        let begun = self.client.now();
        for tick in 1..=POLLS {
            match self.instances(kind).await {
                Ok(left) if left.is_empty() => {
                    let message = "removed all instances".to_owned();
                    return (Terminating { goes_on: false, reason: "InstanceDeletionCompleted", message }, None);
                }
                Ok(_) => self.client.sleep(begun + POLL * tick - self.client.now()).await,
                Err(status) => return failing(CHECK, UNCONFIRMED, status.to_string()),
            }
        }
        let (terminating, _) = failing(CHECK, UNCONFIRMED, LATE.to_owned());
        // Only who holds the objects can change that.
        (terminating, Some(Error::Unchanged(LATE.to_owned())))
    }

    async fn instances(&self, kind: Kind) -> Result<Vec<Object>, wire::Error> {
        self.client.collection(Verb::List, kind, "", Body::None).await
    }
}

const CHECK: &str = "InstanceDeletionCheck";
const UNCONFIRMED: &str = "could not confirm zero CustomResources remaining";
/// What a Go context says when its time is over: a minute after the first look.
const LATE: &str = "context deadline exceeded";

fn is_due(definition: &CustomResourceDefinition) -> bool {
    let meta = &definition.metadata;
    meta.deletion_timestamp.is_some() && has_finalizer(meta, CLEANUP)
}

fn without_terminating(object: &Object) -> Object {
    let mut object = object.clone();
    object.meta_mut().resource_version = None;
    if let Object::CustomResourceDefinition(definition) = &mut object {
        let status = Arc::make_mut(definition).status.get_or_insert_default();
        status.conditions.get_or_insert_default().retain(|condition| condition.type_ != "Terminating");
    }
    object
}
