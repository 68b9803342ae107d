//! Endpoints, which EndpointSlices have replaced.

use k8s_openapi::api::core::v1::Endpoints;

use crate::kinds::printers::cells::{created, name};
use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::printers::service;
use crate::kinds::row::{Facts, Row, Table, Validation, Warnings};
use crate::kinds::{defaults, validation, warnings};

/// What the server knows of Endpoints.
pub const ROW: Row<Endpoints> = Row {
    defaults: Some(defaults::endpoints_defaults),
    validation: Validation {
        create: validation::endpoints::endpoints,
        update: validation::endpoints::endpoints_update,
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: warnings::addresses::of_endpoints, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        create_on_update: true,
        deprecation: Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        table: Table {
            columns: &[NAME, column("Endpoints"), AGE],
            cells: |o, now| cells![name(o), service::endpoints(o), created(o, now)],
        },
        ..Facts::new("/registry/services/endpoints/", 12)
    })
};
