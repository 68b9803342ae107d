//! CSIStorageCapacities.

use k8s_openapi::api::storage::v1::CSIStorageCapacity;

use crate::kinds::printers::columns::{NAME, column};
use crate::kinds::row::{Facts, Row, Table, Validation, Warnings};
use crate::kinds::{printers, validation, warnings};

/// What the server knows of CSIStorageCapacitys.
pub const ROW: Row<CSIStorageCapacity> = Row {
    validation: Validation {
        create: validation::csi::capacity,
        update: validation::csi::capacity_update,
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: warnings::storage::of_capacity, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        unconditional_update: false,
        table: Table {
            columns: &[NAME, column("StorageClassName"), column("Capacity")],
            cells: printers::storage::capacity_cells,
        },
        ..Facts::new("/registry/csistoragecapacities/", 11)
    })
};
