//! DeviceClasses. Mirrors `ValidateDeviceClass` of `pkg/apis/resource/validation`.

use k8s_openapi::api::resource::v1::DeviceClass;

use crate::resource::devices;
use crate::row::{Facts, Generation, Row, Strategy, Validation};
use object::validation::field::{Path, Problems};

/// What the server knows of DeviceClasses.
pub const ROW: Row<DeviceClass> = Row {
    strategy: Strategy { generation: Generation::Counted(|new, old| new.spec != old.spec), ..Strategy::DEFAULT },
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts { returns_deleted: true, ..Facts::new("/registry/deviceclasses/", 8) })
};

fn validate(problems: &mut Problems, class: &DeviceClass) {
    devices::validate_selectors(problems, &Path::new("spec"), class.spec.selectors.as_deref());
}
