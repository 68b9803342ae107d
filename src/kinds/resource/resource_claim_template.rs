//! ResourceClaimTemplates. Mirrors `ValidateResourceClaimTemplate` of `pkg/apis/resource/validation`.

use k8s_openapi::api::resource::v1::ResourceClaimTemplate;

use crate::resource::devices;
use crate::row::{Facts, Row, Validation};
use crate::validation::metadata::{annotations, labels};
use object::validation::field::{Path, Problems, Shown};
use object::validation::internal::Internal;

/// What the server knows of ResourceClaimTemplates.
pub const ROW: Row<ResourceClaimTemplate> = Row {
    defaults: Some(|template| devices::fill_in(template.spec.spec.devices.as_mut())),
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    ..Row::new(Facts { returns_deleted: true, ..Facts::new("/registry/resourceclaimtemplates/", 8) })
};

const SPEC: Path = Path::new("spec");

fn validate(problems: &mut Problems, template: &ResourceClaimTemplate) {
    if let Some(metadata) = &template.spec.metadata {
        let path = SPEC.child("metadata");
        annotations(problems, &path.child("annotations"), metadata.annotations.as_ref());
        labels(problems, &path.child("labels"), metadata.labels.as_ref());
    }
    devices::validate_claim(problems, &SPEC.child("spec"), template.spec.spec.devices.as_ref());
}

fn validate_update(problems: &mut Problems, new: &ResourceClaimTemplate, old: &ResourceClaimTemplate) {
    problems.immutable(&SPEC, &new.spec, &old.spec, |spec| Internal("ResourceClaimTemplateSpec", spec).shown());
}
