//! ResourceClaimTemplates.

use k8s_openapi::api::resource::v1::ResourceClaimTemplate;

use crate::row::{Facts, Row, Validation};
use crate::validation;

/// What the server knows of ResourceClaimTemplates.
pub const ROW: Row<ResourceClaimTemplate> = Row {
    validation: Validation { create: |problems, _| validation::no_devices(problems), ..Validation::DEFAULT },
    ..Row::new(Facts { returns_deleted: true, ..Facts::new("/registry/resourceclaimtemplates/", 8) })
};
