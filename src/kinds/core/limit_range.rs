//! LimitRanges.

use k8s_openapi::api::core::v1::LimitRange;

use crate::kinds::printers::cells::name;
use crate::kinds::printers::columns::{NAME, always};
use crate::kinds::printers::fields::text;
use crate::kinds::row::{Facts, Row, Table, Validation};
use crate::kinds::{defaults, validation};

/// What the server knows of LimitRanges.
pub const ROW: Row<LimitRange> = Row {
    defaults: Some(defaults::limit_range_defaults),
    validation: Validation {
        create: validation::limit_range::limit_range,
        update: |problems, new, _| validation::limit_range::limit_range(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        create_on_update: true,
        table: Table {
            columns: &[NAME, always("Created At", "date")],
            cells: |o, _| cells![name(o), text(o, "metadata.creationTimestamp")],
        },
        ..Facts::new("/registry/limitranges/", 3)
    })
};
