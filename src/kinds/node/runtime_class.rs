//! RuntimeClasses. Mirrors `pkg/apis/node/validation`.

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::api::node::v1::RuntimeClass;

use crate::pod_template::{container, scheduling, warnings};
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::text;
use crate::row::{Facts, Row, Table, Validation, Warnings};
use crate::validation::metadata;
use object::validation::field::{Path, Problems};
use object::validation::names::check_dns_label;

/// What the server knows of RuntimeClasses.
pub const ROW: Row<RuntimeClass> = Row {
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
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

/// Mirrors `ValidateRuntimeClass`.
pub fn validate(problems: &mut Problems, class: &RuntimeClass) {
    let handler = class.handler.as_str();
    problems.all_invalid(&Path::new("handler"), handler, check_dns_label(handler));
    if let Some(overhead) = &class.overhead {
        let limits = ResourceRequirements { limits: overhead.pod_fixed.clone(), ..ResourceRequirements::default() };
        container::resources(problems, &Path::new("overhead"), &limits);
    }
    let Some(asked) = &class.scheduling else { return };
    let path = Path::new("scheduling");
    metadata::labels(problems, &path.child("nodeSelector"), asked.node_selector.as_ref());
    let tolerations = asked.tolerations.as_deref().unwrap_or_default();
    scheduling::tolerations(problems, &path.child("tolerations"), tolerations);
}

/// What may not change in a RuntimeClass.
fn validate_update(problems: &mut Problems, new: &RuntimeClass, old: &RuntimeClass) {
    validate(problems, new);
    problems.immutable(&Path::new("handler"), &new.handler, &old.handler, |handler| format!("{handler:?}"));
}
