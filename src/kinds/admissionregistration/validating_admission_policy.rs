//! ValidatingAdmissionPolicies.

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;

use crate::kinds::printers::columns::{AGE, NAME, column, integer};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::strategy::keep_metadata;
use crate::kinds::{defaults, printers, validation, warnings};
use crate::object::Accessor;

/// What the server knows of ValidatingAdmissionPolicys.
pub const ROW: Row<ValidatingAdmissionPolicy> = Row {
    defaults: Some(defaults::admission::validating_policy),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|policy, _| policy.status = Some(Default::default())),
        prepare_for_status_update: Some(|new, old, _| keep_metadata(&mut new.metadata, &old.metadata)),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::admission_policy::policy,
        update: |problems, new, _| validation::admission_policy::policy(problems, new),
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
            columns: &[NAME, integer("Validations"), column("ParamKind"), AGE],
            cells: printers::admission::policy_cells,
        },
        ..Facts::new("/registry/validatingadmissionpolicies/", 17)
    })
};
