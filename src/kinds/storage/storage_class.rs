//! StorageClasses.

use k8s_openapi::api::storage::v1::StorageClass;

use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::row::{Facts, Row, Table, Validation, Warnings};
use crate::kinds::{defaults, printers, validation, warnings};

/// What the server knows of StorageClasss.
pub const ROW: Row<StorageClass> = Row {
    defaults: Some(defaults::storage_class_defaults),
    validation: Validation {
        create: validation::volumes::class,
        update: validation::volumes::class_update,
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: warnings::storage::of_class, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table {
            columns: &[
                NAME,
                column("Provisioner"),
                column("ReclaimPolicy"),
                column("VolumeBindingMode"),
                column("AllowVolumeExpansion"),
                AGE,
            ],
            cells: printers::storage::class_cells,
        },
        ..Facts::new("/registry/storageclasses/", 11)
    })
};
