//! ServiceCIDRs.

use k8s_openapi::api::networking::v1::ServiceCIDR;

use crate::kinds::printers::cells::{created, name};
use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::printers::service;
use crate::kinds::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use crate::kinds::strategy::keep_metadata;
use crate::kinds::validation;

/// What the server knows of ServiceCIDRs.
pub const ROW: Row<ServiceCIDR> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|range, _| range.status = None),
        prepare_for_status_update: Some(|new, old, _| keep_metadata(&mut new.metadata, &old.metadata)),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::endpoints::service_cidr,
        update: validation::endpoints::service_cidr_update,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("CIDRs"), AGE],
            cells: |o, now| cells![name(o), service::ranges(o), created(o, now)],
        },
        ..Facts::new("/registry/servicecidrs/", 12)
    })
};
