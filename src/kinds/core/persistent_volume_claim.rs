//! PersistentVolumeClaims.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimStatus};

use crate::kinds::printers::columns::{AGE, NAME, column, wide};
use crate::kinds::row::{Facts, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::{defaults, printers, validation, warnings};
/// What the server knows of PersistentVolumeClaims.
pub const ROW: Row<PersistentVolumeClaim> = Row {
    defaults: Some(defaults::claim_defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|claim, _| {
            claim.status = Some(PersistentVolumeClaimStatus { phase: Some("Pending".into()), ..Default::default() });
        }),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::volumes::claim,
        update: validation::volumes::claim_update,
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: warnings::storage::of_claim, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table {
            columns: &[
                NAME,
                column("Status"),
                column("Volume"),
                column("Capacity"),
                column("Access Modes"),
                column("StorageClass"),
                column("VolumeAttributesClass"),
                AGE,
                wide("VolumeMode"),
            ],
            cells: printers::storage::claim_cells,
        },
        ..Facts::new("/registry/persistentvolumeclaims/", 11)
    })
};
