//! VolumeAttachments. Mirrors `pkg/apis/storage/validation`.

use jiff::Timestamp;
use k8s_openapi::api::storage::v1::{VolumeAttachment, VolumeAttachmentStatus};
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, Column, NAME, boolean, column};
use crate::printers::fields::{flag, text};
use crate::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use crate::strategy::kept::keep_metadata;
use crate::validation::volumes::driver_name;
use object::selector::names::check_subdomain;
use object::validation::field::{Path, Problems};
use object::validation::internal::Internal;

/// What the server knows of VolumeAttachments.
pub const ROW: Row<VolumeAttachment> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|attachment, _| attachment.status = Some(Default::default())),
        prepare_for_status_update: Some(|new, old, _| keep_metadata(&mut new.metadata, &old.metadata)),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: validate_update,
        status: validate_update,
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
            cells,
        },
        ..Facts::new("/registry/volumeattachments/", 14)
    })
};

const SPEC: Path = Path::new("spec");

/// The most bytes that a driver may tell of an attachment.
const ATTACHMENT_BYTES_MAX: usize = 256 * 1024;

/// The longest message about an attachment that failed.
const ERROR_LEN_MAX: usize = 1024;

/// Mirrors `ValidateVolumeAttachment`. The volume that is written out in an attachment is not looked at.
fn validate(problems: &mut Problems, attachment: &VolumeAttachment) {
    const ONE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    let spec = &attachment.spec;
    driver_name(problems, &SPEC.child("attacher"), &spec.attacher);
    let (path, name) = (SPEC.child("source"), spec.source.persistent_volume_name.as_deref());
    match (&spec.source.inline_volume_spec, name) {
        (None, None) => problems.required(&path, ONE),
        (Some(_), Some(_)) => problems.forbidden(&path, ONE),
        (None, Some("")) => {
            problems.required(&path.child("persistentVolumeName"), "must specify non empty persistentVolumeName");
        }
        _ => {}
    }
    problems.all_invalid(&SPEC.child("nodeName"), &spec.node_name, check_subdomain(&spec.node_name));
    attachment_status(problems, attachment.status.as_ref());
    if let Some(name) = name {
        problems.all_invalid(&path.child("persistentVolumeName"), name, check_subdomain(name));
    }
}

/// What may not change in an attachment: what is attached where.
fn validate_update(problems: &mut Problems, new: &VolumeAttachment, old: &VolumeAttachment) {
    validate(problems, new);
    if new.spec != old.spec {
        problems.invalid(&SPEC, Internal("VolumeAttachmentSpec", &new.spec), "field is immutable");
    }
}

fn cells(attachment: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        name(attachment),
        text(attachment, "spec.attacher"),
        text(attachment, "spec.source.persistentVolumeName"),
        text(attachment, "spec.nodeName"),
        flag(attachment, "status.attached"),
        created(attachment, now),
    ]
}

/// What a driver tells of an attachment. Mirrors `validateVolumeAttachmentStatus`.
fn attachment_status(problems: &mut Problems, status: Option<&VolumeAttachmentStatus>) {
    let (path, Some(status)) = (Path::new("status"), status) else { return };
    let bytes: usize = status.attachment_metadata.iter().flatten().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > ATTACHMENT_BYTES_MAX {
        problems.too_long(&path.child("attachmentMetadata"), ATTACHMENT_BYTES_MAX);
    }
    for (field, error) in [("attachError", &status.attach_error), ("detachError", &status.detach_error)] {
        let (path, Some(error)) = (path.child(field), error) else { continue };
        if error.message.as_ref().is_some_and(|message| message.len() > ERROR_LEN_MAX) {
            // Kubernetes tells the other limit, too.
            problems.too_long(&path.child("message"), ATTACHMENT_BYTES_MAX);
        }
        if let Some(code) = error.error_code.filter(|code| *code < 0) {
            problems.invalid(&path.child("errorCode"), code, "must be between 0 and 2147483647, inclusive");
        }
    }
}
