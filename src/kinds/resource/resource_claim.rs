//! ResourceClaims.

use k8s_openapi::api::resource::v1::ResourceClaim;

use crate::row::{Facts, Row, Strategy, Validation, spec_and_status};
use crate::validation;

/// What the server knows of ResourceClaims.
pub const ROW: Row<ResourceClaim> = Row {
    strategy: Strategy { status: spec_and_status!(), ..Strategy::DEFAULT },
    validation: Validation { create: |problems, _| validation::no_devices(problems), ..Validation::DEFAULT },
    ..Row::new(Facts { returns_deleted: true, ..Facts::new("/registry/resourceclaims/", 8) })
};
