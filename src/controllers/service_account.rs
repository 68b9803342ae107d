//! The service account controller: each namespace has an account `default`, which Pods run as unless they say
//! otherwise. Mirrors `pkg/controller/serviceaccount/serviceaccounts_controller.go`.

use std::rc::Rc;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::{Key, Kind};

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Namespace, Kind::ServiceAccount],
    ..Registration::new("service-account-controller", &|context| Rc::new(ServiceAccounts::new(context)))
};

const ACCOUNT: &str = "default";

/// Keys are namespaces.
struct ServiceAccounts {
    client: Client,
    queue: Queue,
    namespaces: Lister<Namespace>,
    accounts: Lister<ServiceAccount>,
}

impl ServiceAccounts {
    fn new(context: &ControllerContext) -> ServiceAccounts {
        ServiceAccounts {
            client: context.client.clone(),
            queue: context.queue.clone(),
            namespaces: context.lister(),
            accounts: context.lister(),
        }
    }
}

impl Controller for ServiceAccounts {
    fn on_change(&self, change: &Change) {
        match (change.kind(), change) {
            (Kind::Namespace, Change::Added(_) | Change::Updated { .. }) => self.queue.add(change.key()),
            (Kind::ServiceAccount, Change::Deleted(account)) => self.queue.add(Key::new("", account.namespace())),
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(namespace) = self.namespaces.get(&key) else { return Ok(()) };
        if !is_active(&namespace) || self.accounts.get(&Key::new(key.name(), ACCOUNT)).is_some() {
            return Ok(());
        }
        let metadata = ObjectMeta {
            name: Some(ACCOUNT.to_owned()),
            namespace: Some(key.name().to_owned()),
            ..ObjectMeta::default()
        };
        match self.client.create(ServiceAccount { metadata, ..ServiceAccount::default() }).await {
            // A terminating namespace needs no account.
            Err(status) if status.is_already_exists() || status.is_namespace_terminating() => Ok(()),
            Err(status) => Err(status.into()),
            Ok(_) => Ok(()),
        }
    }
}

/// Whether the namespace takes new objects.
pub(super) fn is_active(namespace: &Namespace) -> bool {
    namespace.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Active")
}
