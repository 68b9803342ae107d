//! The namespace controller: empties a Namespace that is being deleted, and then lets it go.
//!
//! # How a change flows
//!
//! DELETE of a Namespace removes nothing. The API server writes a deletionTimestamp and the phase Terminating, and from
//! then on refuses new objects in it; the Namespace stays for as long as there is a finalizer in its *spec*, and the API
//! server has put one there when it was made: `kubernetes`. Five seconds later this controller begins: it deletes
//! the Pods and nothing else until they are gone, then all other objects, kind by kind ([`content`]), writes what
//! it could not remove into the status ([`conditions`]), and comes again. When nothing is left it takes its finalizer out
//! with a PUT of `namespaces/NAME/finalize`, and the API server removes the Namespace.
//!
//! # Must hold
//!
//! - The finalizer is never taken out while a LIST of any kind still shows an object. Kept by
//!   `a_finalizer_holds_a_namespace_and_its_status_says_so` and the property "in a quiet cluster nothing lives in a
//!   namespace that does not exist".
//! - Pods go before all else: what they were allowed to talk to, and with which secrets, outlives them. Kept by
//!   `a_namespace_is_emptied_pods_first_and_then_goes`.
//!
//! Mirrors `pkg/controller/namespace`.
//!
//! # Left out
//!
//! - Discovery: the kinds are those of the table, and are known without asking.
//! - The resync every five minutes, which would look at Namespaces again that others hold.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;

use client::informer::Change;
use client::{Call, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::well_known::KUBERNETES;
use object::{Accessor, Key, Kind, Object};

mod conditions;
mod content;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Namespace],
    workers: 10,
    // Emptying a Namespace takes two calls for each kind there is.
    limits: (20, 100),
    ..Registration::new("namespace-controller", &|context| Rc::new(NamespaceController::new(context)))
};

const TERMINATING: &str = "Terminating";

/// `namespaceDeletionGracePeriod`: API servers that have not heard of the deletion may still let objects in.
const DELETION_GRACE: Duration = Duration::from_secs(5);
/// The longest wait after failures, shorter than other controllers'.
const RETRY_MAX: Duration = Duration::from_secs(60);

/// Keys are Namespaces.
pub struct NamespaceController {
    client: Client,
    queue: Queue,
    namespaces: Lister<Namespace>,
}

/// A write that is tried again from the newest version; None if there is nothing to write.
type Write = fn(&Client, &Namespace) -> Option<Call<Arc<Namespace>>>;

impl NamespaceController {
    fn new(context: &ControllerContext) -> NamespaceController {
        context.queue.retry_within(RETRY_MAX);
        NamespaceController {
            client: context.client.clone(),
            queue: context.queue.clone(),
            namespaces: context.lister(),
        }
    }
}

impl Controller for NamespaceController {
    fn on_change(&self, change: &Change) {
        if let Change::Added(new @ Object::Namespace(_)) | Change::Updated { new: new @ Object::Namespace(_), .. } =
            change
            && new.meta().deletion_timestamp.is_some()
        {
            self.queue.add_after(change.key(), DELETION_GRACE);
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        if self.namespaces.get(&key).is_none() {
            return Ok(());
        }
        match self.delete(&key).await {
            // Another client was faster.
            Err(Error::Api(status)) if status.is_not_found() => Ok(()),
            result => result,
        }
    }
}

impl NamespaceController {
    /// Mirrors `namespacedResourcesDeleter.Delete`.
    async fn delete(&self, key: &Key) -> Result<(), Error> {
        let namespace = self.client.get::<Namespace>("", key.name()).await?;
        if namespace.metadata.deletion_timestamp.is_none() {
            return Ok(());
        }
        let mut namespace = self.write(namespace, mark_terminating).await?;
        if finalizers(&namespace).is_empty() {
            return Ok(());
        }
        let outcome = self.delete_all_content(Arc::make_mut(&mut namespace)).await;
        if !outcome.errors.is_empty() {
            let errors = outcome.errors.join(", ");
            return Err(if outcome.goes_on() { Error::Other(errors) } else { Error::Unchanged(errors) });
        }
        if outcome.estimate > 0 {
            self.come_again(key, &outcome);
            return Ok(());
        }
        // The status written above made this version old: the first try is refused, and the second is not.
        self.write(namespace, finalize).await?;
        Ok(())
    }

    /// Halfway to when the remaining objects should be gone. If they only wait for another client to remove a finalizer,
    /// and did so the last time, that may take for ever, so the retry is background traffic.
    fn come_again(&self, key: &Key, outcome: &content::Outcome) {
        let wait = Duration::from_secs(outcome.estimate / 2 + 1);
        if outcome.goes_on() {
            self.queue.add_after(key.clone(), wait);
        } else {
            self.queue.add_after_background(key.clone(), wait);
        }
    }

    /// Mirrors `retryOnConflictError`.
    async fn write(&self, mut from: Arc<Namespace>, write: Write) -> Result<Arc<Namespace>, Error> {
        loop {
            let Some(call) = write(&self.client, &from) else { return Ok(from) };
            let refused = match call.await {
                Err(status) if status.is_conflict() => status,
                result => return Ok(result?),
            };
            let newest = self.client.get::<Namespace>("", name_of(&from)).await?;
            if newest.metadata.uid != from.metadata.uid {
                return Err(other_namespace(refused));
            }
            from = newest;
        }
    }
}

fn other_namespace(refused: wire::Error) -> Error {
    Error::Other(format!("namespace uid has changed across retries: {refused}"))
}

fn name_of(namespace: &Namespace) -> &str {
    namespace.metadata.name()
}

fn finalizers(namespace: &Namespace) -> &[String] {
    namespace.spec.as_ref().and_then(|spec| spec.finalizers.as_deref()).unwrap_or_default()
}

/// The API server sets the phase itself; Namespaces that an old one deleted may lack it.
fn mark_terminating(client: &Client, namespace: &Namespace) -> Option<Call<Arc<Namespace>>> {
    let phase = namespace.status.as_ref().and_then(|status| status.phase.as_deref());
    if namespace.metadata.deletion_timestamp.is_none() || phase == Some(TERMINATING) {
        return None;
    }
    let mut marked = namespace.clone();
    marked.status.get_or_insert_default().phase = Some(TERMINATING.to_owned());
    Some(client.update_status(marked))
}

/// Takes this controller's finalizer out of the spec. The others' stay.
fn finalize(client: &Client, namespace: &Namespace) -> Option<Call<Arc<Namespace>>> {
    let mut finalized = namespace.clone();
    finalized.status = None;
    finalized.spec.get_or_insert_default().finalizers.get_or_insert_default().retain(|name| name != KUBERNETES);
    Some(client.finalize(finalized))
}
