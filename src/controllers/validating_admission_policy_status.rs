//! The validatingadmissionpolicy-status controller: says in a policy's status which of its expressions do not fit the kinds
//! that it is about.
//!
//! A policy is looked at once in each generation; an empty `typeChecking` says that nothing was found. It applies the status
//! by server-side apply, and so says that it is its own.
//!
//! Mirrors `pkg/controller/validatingadmissionpolicystatus`. What is found: [`rules::type_checking`].

use std::rc::Rc;

use k8s_openapi::api::admissionregistration::v1::{TypeChecking, ValidatingAdmissionPolicy};
use serde_json::json;

use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::{Key, Kind};
use rules::type_checking;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::ValidatingAdmissionPolicy],
    workers: 5,
    ..Registration::new("validatingadmissionpolicy-status-controller", &|context| Rc::new(PolicyStatus::new(context)))
};

/// What it calls itself as a manager of fields.
const MANAGER: &str = "validatingadmissionpolicy-status";

/// Keys are policies.
struct PolicyStatus {
    client: Client,
    queue: Queue,
    policies: Lister<ValidatingAdmissionPolicy>,
}

impl PolicyStatus {
    fn new(context: &ControllerContext) -> PolicyStatus {
        PolicyStatus { client: context.client.clone(), queue: context.queue.clone(), policies: context.lister() }
    }
}

impl Controller for PolicyStatus {
    fn on_change(&self, change: &Change) {
        if !matches!(change, Change::Deleted(_)) {
            self.queue.add(change.key());
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(policy) = self.policies.get(&key) else { return Ok(()) };
        let generation = policy.metadata.generation.unwrap_or(0);
        if generation <= policy.status.as_ref().and_then(|status| status.observed_generation).unwrap_or(0) {
            return Ok(());
        }
        let found = type_checking::warnings(&policy);
        let type_checking = TypeChecking { expression_warnings: Some(found).filter(|found| !found.is_empty()) };
        let info = Kind::ValidatingAdmissionPolicy.info();
        let wanted = json!({
            "apiVersion": info.api_version, "kind": info.kind, "metadata": {"name": key.name()},
            "status": {"observedGeneration": generation, "typeChecking": type_checking},
        });
        self.client.apply_status::<ValidatingAdmissionPolicy>("", key.name(), wanted, MANAGER).await?;
        Ok(())
    }
}
