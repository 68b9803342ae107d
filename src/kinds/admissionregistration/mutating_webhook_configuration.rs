//! MutatingWebhookConfigurations.

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;

use crate::kinds::printers::columns::{AGE, NAME, integer};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings};
use crate::kinds::{defaults, printers, validation, warnings};
use crate::object::Accessor;

/// What the server knows of MutatingWebhookConfigurations.
pub const ROW: Row<MutatingWebhookConfiguration> = Row {
    defaults: Some(defaults::admission::mutating_webhooks),
    strategy: Strategy {
        generation: Generation::Counted(|new, old| new.webhooks != old.webhooks),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::webhooks::mutating,
        update: |problems, new, _| validation::webhooks::mutating(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings {
        any: |told, object| warnings::of_static_name(told, object.metadata.name()),
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        any_finalizers: true,
        table: Table { columns: &[NAME, integer("Webhooks"), AGE], cells: printers::admission::webhooks_cells },
        ..Facts::new("/registry/mutatingwebhookconfigurations/", 17)
    })
};
