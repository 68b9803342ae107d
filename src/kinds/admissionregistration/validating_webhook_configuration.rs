//! ValidatingWebhookConfigurations.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, ValidatingWebhookConfiguration};

use crate::admissionregistration::webhooks;
use crate::admissionregistration::webhooks::{webhook_defaults, webhooks};
use crate::row::{Facts, Generation, Row, Strategy, Validation, Warnings};
use crate::warnings::names;
use object::Accessor;
use object::validation::field::Problems;
use rules::webhook::hook::as_mutating;

/// What the server knows of ValidatingWebhookConfigurations.
pub const ROW: Row<ValidatingWebhookConfiguration> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        generation: Generation::Counted(|new, old| new.webhooks != old.webhooks),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: |told, object| names::of_static_name(told, object.metadata.name()), ..Warnings::DEFAULT },
    ..Row::new(Facts {
        unconditional_update: false,
        any_finalizers: true,
        table: webhooks::TABLE,
        ..Facts::new("/registry/validatingwebhookconfigurations/", 17)
    })
};

/// Webhooks that may only refuse.
fn defaults(of: &mut ValidatingWebhookConfiguration) {
    for hook in of.webhooks.iter_mut().flatten() {
        webhook_defaults!(hook);
    }
}

/// Webhooks that may only refuse.
fn validate(problems: &mut Problems, of: &ValidatingWebhookConfiguration) {
    let all: Vec<MutatingWebhook> = of.webhooks.iter().flatten().map(as_mutating).collect();
    webhooks(problems, &all);
}
