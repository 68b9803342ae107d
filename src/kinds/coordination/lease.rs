//! Leases. Mirrors `pkg/apis/coordination/validation`.

use std::sync::Arc;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::text;
use crate::row::{Facts, Row, Strategy, Table, Validation};
use object::validation::field::{Path, Problems};

/// What the server knows of Leases.
pub const ROW: Row<Lease> = Row {
    strategy: Strategy { drop_disabled: Some(drop_disabled), ..Strategy::DEFAULT },
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        create_on_update: true,
        any_finalizers: true,
        table: Table {
            columns: &[NAME, column("Holder"), AGE],
            cells: |o, now| cells![name(o), text(o, "spec.holderIdentity"), created(o, now)],
        },
        ..Facts::new("/registry/leases/", 12)
    })
};

/// Mirrors `ValidateLeaseSpec`.
fn validate(problems: &mut Problems, lease: &Lease) {
    let Some(spec) = &lease.spec else { return };
    let path = Path::new("spec");
    if let Some(seconds) = spec.lease_duration_seconds.filter(|seconds| *seconds <= 0) {
        problems.invalid(&path.child("leaseDurationSeconds"), seconds, "must be greater than 0");
    }
    problems.not_negative(&path.child("leaseTransitions"), spec.lease_transitions.unwrap_or(0));
}

/// Takes them out of a Lease.
fn drop_disabled(lease: &mut Arc<Lease>) {
    // A Lease is written every few seconds, and not copied for nothing.
    let elects = |spec: &LeaseSpec| spec.strategy.is_some() || spec.preferred_holder.is_some();
    if !lease.spec.as_ref().is_some_and(elects) {
        return;
    }
    if let Some(spec) = &mut Arc::make_mut(lease).spec {
        (spec.strategy, spec.preferred_holder) = (None, None);
    }
}
