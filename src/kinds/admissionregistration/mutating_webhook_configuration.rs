//! MutatingWebhookConfigurations.

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;

use crate::admissionregistration::webhooks;
use crate::admissionregistration::webhooks::{webhook_defaults, webhooks};
use crate::row::{Facts, Generation, Row, Strategy, Validation, Warnings};
use crate::warnings::names;
use object::Accessor;
use object::validation::field::Problems;

/// What the server knows of MutatingWebhookConfigurations.
pub const ROW: Row<MutatingWebhookConfiguration> = Row {
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
        ..Facts::new("/registry/mutatingwebhookconfigurations/", 17)
    })
};

/// Webhooks that may change objects.
fn defaults(of: &mut MutatingWebhookConfiguration) {
    for hook in of.webhooks.iter_mut().flatten() {
        webhook_defaults!(&mut *hook);
        hook.reinvocation_policy.get_or_insert_with(|| "Never".into());
    }
}

/// Webhooks that may change objects.
fn validate(problems: &mut Problems, of: &MutatingWebhookConfiguration) {
    webhooks(problems, of.webhooks.as_deref().unwrap_or_default());
}
