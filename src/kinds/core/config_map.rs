//! ConfigMaps.

use k8s_openapi::api::core::v1::ConfigMap;

use crate::kinds::printers::cells::{created, data_count, name};
use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::row::{Facts, Row, Table, Validation};
use crate::kinds::validation;

/// What the server knows of ConfigMaps.
pub const ROW: Row<ConfigMap> = Row {
    validation: Validation {
        create: validation::config::config_map,
        update: validation::config::config_map_update,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("Data"), AGE],
            cells: |o, now| cells![name(o), data_count(o), created(o, now)],
        },
        ..Facts::new("/registry/configmaps/", 11)
    })
};
