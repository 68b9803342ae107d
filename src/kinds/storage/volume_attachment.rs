//! VolumeAttachments.

use k8s_openapi::api::storage::v1::VolumeAttachment;

use crate::kinds::printers::columns::{AGE, Column, NAME, boolean, column};
use crate::kinds::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use crate::kinds::strategy::keep_metadata;
use crate::kinds::{printers, validation};

/// What the server knows of VolumeAttachments.
pub const ROW: Row<VolumeAttachment> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|attachment, _| attachment.status = Some(Default::default())),
        prepare_for_status_update: Some(|new, old, _| keep_metadata(&mut new.metadata, &old.metadata)),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::csi::attachment,
        update: validation::csi::attachment_update,
        status: validation::csi::attachment_update,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        returns_deleted: true,
        table: Table {
            columns: &[
                NAME,
                Column { name: "Attacher", ..NAME },
                column("PV"),
                column("Node"),
                boolean("Attached"),
                AGE,
            ],
            cells: printers::storage::attachment_cells,
        },
        ..Facts::new("/registry/volumeattachments/", 11)
    })
};
