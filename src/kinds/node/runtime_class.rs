//! RuntimeClasses.

use k8s_openapi::api::node::v1::RuntimeClass;

use crate::kinds::printers::cells::{created, name};
use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::printers::fields::text;
use crate::kinds::row::{Facts, Row, Table, Validation, Warnings};
use crate::kinds::{validation, warnings};

/// What the server knows of RuntimeClasss.
pub const ROW: Row<RuntimeClass> = Row {
    validation: Validation {
        create: validation::runtime_class::runtime_class,
        update: validation::runtime_class::runtime_class_update,
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: warn_of_labels, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        unconditional_update: false,
        create_on_update: true,
        any_finalizers: true,
        table: Table {
            columns: &[NAME, column("Handler"), AGE],
            cells: |o, now| cells![name(o), text(o, "handler"), created(o, now)],
        },
        ..Facts::new("/registry/runtimeclasses/", 9)
    })
};

fn warn_of_labels(told: &mut Vec<String>, class: &RuntimeClass) {
    let selector = class.scheduling.as_ref().and_then(|scheduling| scheduling.node_selector.as_ref());
    let instead = selector.into_iter().flatten().filter_map(|(key, _)| warnings::deprecated_label(key));
    told.extend(instead.map(|instead| format!("scheduling.nodeSelector: {instead}")));
}
