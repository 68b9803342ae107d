//! Leases.

use k8s_openapi::api::coordination::v1::Lease;

use crate::kinds::printers::cells::{created, name};
use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::printers::fields::text;
use crate::kinds::pod_template::disabled;
use crate::kinds::row::{Facts, Row, Strategy, Table, Validation};
use crate::kinds::{validation};

/// What the server knows of Leases.
pub const ROW: Row<Lease> = Row {
    strategy: Strategy { drop_disabled: Some(disabled::drop_from_lease), ..Strategy::DEFAULT },
    validation: Validation {
        create: validation::config::lease,
        update: |problems, new, _| validation::config::lease(problems, new),
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
        ..Facts::new("/registry/leases/", 13)
    })
};
