//! MutatingAdmissionPolicies.

use k8s_openapi::api::admissionregistration::v1::MutatingAdmissionPolicy;

use crate::kinds::printers::columns::{AGE, NAME, column, integer};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings};
use crate::kinds::{defaults, printers, validation, warnings};
use crate::object::Accessor;

/// What the server knows of MutatingAdmissionPolicys.
pub const ROW: Row<MutatingAdmissionPolicy> = Row {
    defaults: Some(defaults::admission::mutating_policy),
    strategy: Strategy { generation: Generation::Counted(|new, old| new.spec != old.spec), ..Strategy::DEFAULT },
    validation: Validation {
        create: validation::admission_policy::mutating::policy,
        update: |problems, new, _| validation::admission_policy::mutating::policy(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings {
        any: |told, object| warnings::of_static_name(told, object.metadata.name()),
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        any_finalizers: true,
        table: Table {
            columns: &[NAME, integer("Mutations"), column("ParamKind"), AGE],
            cells: printers::admission::policy_cells,
        },
        ..Facts::new("/registry/mutatingadmissionpolicies/", 17)
    })
};
