//! MutatingAdmissionPolicyBindings.

use k8s_openapi::api::admissionregistration::v1::MutatingAdmissionPolicyBinding;

use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings};
use crate::kinds::{defaults, printers, validation, warnings};
use crate::object::Accessor;

/// What the server knows of MutatingAdmissionPolicyBindings.
pub const ROW: Row<MutatingAdmissionPolicyBinding> = Row {
    defaults: Some(defaults::admission::mutating_binding),
    strategy: Strategy { generation: Generation::Counted(|new, old| new.spec != old.spec), ..Strategy::DEFAULT },
    validation: Validation {
        create: validation::admission_policy::mutating::binding,
        update: |problems, new, _| validation::admission_policy::mutating::binding(problems, new),
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
            columns: &[NAME, column("PolicyName"), column("ParamRef"), AGE],
            cells: printers::admission::binding_cells,
        },
        ..Facts::new("/registry/mutatingadmissionpolicybindings/", 17)
    })
};
