//! Secrets.

use k8s_openapi::api::core::v1::Secret;

use crate::kinds::printers::cells::{created, data_count, name};
use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::printers::fields::text;
use crate::kinds::row::{Facts, Row, Table, Validation};
use crate::kinds::{defaults, validation};

/// What the server knows of Secrets.
pub const ROW: Row<Secret> = Row {
    defaults: Some(defaults::secret_defaults),
    validation: Validation {
        create: validation::config::secret,
        update: validation::config::secret_update,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("Type"), column("Data"), AGE],
            cells: |o, now| cells![name(o), text(o, "type"), data_count(o), created(o, now)],
        },
        ..Facts::new("/registry/secrets/", 11)
    })
};
