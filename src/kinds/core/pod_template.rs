//! PodTemplates.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PodTemplate, PodTemplateSpec};
use serde_json::Value;

use crate::pod_template::defaults::template_defaults;
use crate::pod_template::template::template_body;
use crate::pod_template::warnings::of_pod_spec;
use crate::printers::cells::{containers, name};
use crate::printers::columns::{NAME, column};
use crate::printers::fields::labels;
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings};
use object::validation::field::{Path, Problems};

/// What the server knows of PodTemplates.
pub const ROW: Row<PodTemplate> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        generation: Generation::Counted(|new, old| new.template != old.template),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings {
        create: |told, object| {
            let template = object.template.as_ref();
            let (meta, spec) = (template.and_then(|it| it.metadata.as_ref()), template.and_then(|it| it.spec.as_ref()));
            of_pod_spec(told, "template.spec", meta, spec);
        },
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table { columns: &[NAME, column("Containers"), column("Images"), column("Pod Labels")], cells },
        ..Facts::new("/registry/podtemplates/", 9)
    })
};

fn defaults(template: &mut PodTemplate) {
    template_defaults(template.template.get_or_insert_default());
}

/// A template that stands for itself. Mirrors `ValidatePodTemplate`.
fn validate(problems: &mut Problems, object: &PodTemplate) {
    let empty = PodTemplateSpec::default();
    template_body(problems, &Path::new("template"), object.template.as_ref().unwrap_or(&empty));
}

fn cells(object: &Value, _: Timestamp) -> Vec<Value> {
    let (containers, images) = containers(object, "template");
    cells![name(object), containers, images, labels(object, "template.metadata.labels")]
}
