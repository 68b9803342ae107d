//! Services.

use k8s_openapi::api::core::v1::Service;

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{AGE, NAME, column, wide};
use crate::kinds::row::{Facts, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::{defaults, warnings};
use crate::object::validation::names::check_dns_label;

/// What the server knows of Services.
pub const ROW: Row<Service> = Row {
    defaults: Some(defaults::service_defaults),
    strategy: Strategy { status: spec_and_status!(), ..Strategy::DEFAULT },
    validation: Validation {
        create: validation::service,
        update: validation::service_update,
        ..Validation::DEFAULT
    },
    warnings: Warnings {
        any: warnings::service::of_service,
        status: warnings::addresses::of_service_status,
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        returns_deleted: true,
        create_on_update: true,
        check_name: check_dns_label,
        table: Table {
            columns: &[
                NAME,
                column("Type"),
                column("Cluster-IP"),
                column("External-IP"),
                column("Port(s)"),
                AGE,
                wide("Selector"),
            ],
            cells: cells::service_cells,
        },
        ..Facts::new("/registry/services/specs/", 12)
    })
};
