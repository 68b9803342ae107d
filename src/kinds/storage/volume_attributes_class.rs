//! VolumeAttributesClasses. Mirrors `ValidateVolumeAttributesClass` of `pkg/apis/storage/validation`.
//!
//! Left out: changing the attributes of a volume that is there.

use k8s_openapi::api::storage::v1::VolumeAttributesClass;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::text;
use crate::row::{Facts, Row, Table, Validation};
use crate::storage::storage_class::parameters;
use crate::validation::volumes::driver_name;
use object::validation::field::{Path, Problems};

/// What the server knows of VolumeAttributesClasses.
pub const ROW: Row<VolumeAttributesClass> = Row {
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table {
            columns: &[NAME, column("DriverName"), AGE],
            cells: |o, now| cells![name(o), text(o, "driverName"), created(o, now)],
        },
        ..Facts::new("/registry/volumeattributesclasses/", 14)
    })
};

fn validate(problems: &mut Problems, class: &VolumeAttributesClass) {
    driver_name(problems, &Path::new("driverName"), &class.driver_name);
    if class.parameters.as_ref().is_none_or(|parameters| parameters.is_empty()) {
        problems.required(&Path::new("parameters"), "must contain at least one key/value pair");
    }
    parameters(problems, class.parameters.as_ref());
}

fn validate_update(problems: &mut Problems, new: &VolumeAttributesClass, old: &VolumeAttributesClass) {
    if new.driver_name != old.driver_name {
        problems.forbidden(&Path::new("driverName"), "updates to driverName are forbidden.");
    }
    if new.parameters != old.parameters {
        problems.forbidden(&Path::new("parameters"), "updates to parameters are forbidden.");
    }
}
