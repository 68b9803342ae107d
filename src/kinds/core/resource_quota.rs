//! ResourceQuotas.

use k8s_openapi::api::core::v1::ResourceQuota;

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use crate::kinds::validation;

/// What the server knows of ResourceQuotas.
pub const ROW: Row<ResourceQuota> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|quota, _| quota.status = Some(Default::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::resource_quota::resource_quota,
        update: validation::resource_quota::resource_quota_update,
        status: |problems, new, _| validation::resource_quota::resource_quota_status(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table { columns: &[NAME, column("Request"), column("Limit"), AGE], cells: cells::quota_cells },
        ..Facts::new("/registry/resourcequotas/", 3)
    })
};
