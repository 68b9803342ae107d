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
    let spec = Path::new("spec");
    devices::validate_selectors(problems, &spec, class.spec.selectors.as_deref());
    let list = spec.child("config");
    let configurations = class.spec.config.as_deref().unwrap_or_default();
    if devices::is_short(problems, &list, configurations, devices::REQUESTS_MAX) {
        for (i, configuration) in configurations.iter().enumerate() {
            devices::validate_configuration(problems, &list.index(i), configuration.opaque.as_ref());
        }
    }
}
