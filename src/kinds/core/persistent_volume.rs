//! PersistentVolumes.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeStatus};

use crate::kinds::printers::columns::{AGE, NAME, column, wide};
use crate::kinds::row::{Facts, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::{defaults, printers, validation, warnings};
use crate::object::time::Instant;
/// What the server knows of PersistentVolumes.
pub const ROW: Row<PersistentVolume> = Row {
    defaults: Some(defaults::volume_object_defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(prepare_for_create),
        prepare_for_status_update: Some(note_phase_transition),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::volumes::volume,
        update: validation::volumes::volume_update,
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: warnings::storage::of_volume, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table {
            columns: &[
                NAME,
                column("Capacity"),
                column("Access Modes"),
                column("Reclaim Policy"),
                column("Status"),
                column("Claim"),
                column("StorageClass"),
                column("VolumeAttributesClass"),
                column("Reason"),
                AGE,
                wide("VolumeMode"),
            ],
            cells: printers::storage::volume_cells,
        },
        ..Facts::new("/registry/persistentvolumes/", 11)
    })
};

fn prepare_for_create(volume: &mut PersistentVolume, now: Instant) {
    let (phase, since) = (Some("Pending".into()), Some(now.time()));
    volume.status = Some(PersistentVolumeStatus { phase, last_phase_transition_time: since, ..Default::default() });
}

/// A volume's status says since when it is in its phase.
fn note_phase_transition(new: &mut PersistentVolume, old: &PersistentVolume, now: Instant) {
    let phase = |volume: &PersistentVolume| volume.status.as_ref().and_then(|status| status.phase.clone());
    if phase(new) != phase(old) {
        new.status.get_or_insert_default().last_phase_transition_time = Some(now.time());
    }
}
