//! CSIDrivers.

use std::sync::Arc;

use k8s_openapi::api::storage::v1::CSIDriver;

use crate::kinds::printers::columns::{AGE, NAME, boolean, column};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings};
use crate::kinds::{defaults, printers, validation, warnings};
/// What the server knows of CSIDrivers.
pub const ROW: Row<CSIDriver> = Row {
    defaults: Some(defaults::driver_defaults),
    strategy: Strategy {
        generation: Generation::FromFirstChange(|new, old| new.spec != old.spec),
        drop_disabled: Some(drop_disabled),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::csi::driver,
        update: validation::csi::driver_update,
        ..Validation::DEFAULT
    },
    warnings: Warnings {
        create: |told, driver| warnings::storage::of_driver(told, driver, None),
        update: |told, new, old| warnings::storage::of_driver(told, new, Some(old)),
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        returns_deleted: true,
        table: Table {
            columns: &[
                NAME,
                boolean("AttachRequired"),
                boolean("PodInfoOnMount"),
                boolean("StorageCapacity"),
                column("TokenRequests"),
                boolean("RequiresRepublish"),
                column("Modes"),
                AGE,
            ],
            cells: printers::storage::driver_cells,
        },
        ..Facts::new("/registry/csidrivers/", 11)
    })
};

/// A field behind a gate that is off by default, VolumeLimitScaling, is not stored.
fn drop_disabled(driver: &mut Arc<CSIDriver>) {
    if driver.spec.prevent_pod_scheduling_if_missing.is_some() {
        Arc::make_mut(driver).spec.prevent_pod_scheduling_if_missing = None;
    }
}
