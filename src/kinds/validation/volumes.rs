//! Volumes and claims, and their classes. Mirrors `ValidatePersistentVolume…` of
//! `pkg/apis/core/validation` and `pkg/apis/storage/validation`.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use object::quantity::Amount;
use object::selector::names::check_subdomain;
use object::validation::field::{Path, Problems};

const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: &[&str] = &["Block", "Filesystem"];

/// The longest name of a driver.
const DRIVER_NAME_LEN_MAX: usize = 63;

/// The ways in which a volume may be mounted.
pub fn known_access_modes(problems: &mut Problems, spec: &Path, modes: &[String]) {
    let path = spec.child("accessModes");
    for mode in modes.iter().filter(|mode| !ACCESS_MODES.contains(&mode.as_str())) {
        problems.not_supported(&path, mode.as_str(), ACCESS_MODES);
    }
    if modes.len() > 1 && modes.iter().any(|mode| mode == "ReadWriteOncePod") {
        problems.forbidden(&path, "may not use ReadWriteOncePod with other access modes");
    }
}

/// A size that is greater than nothing.
pub fn positive(problems: &mut Problems, path: &Path, quantity: &Quantity) {
    let amount = Amount::of(quantity);
    if amount.is_negative() || amount.is_zero() {
        problems.invalid(path, quantity.0.as_str(), "must be greater than zero");
    }
}

/// The name of a StorageClass, if there is one.
pub fn class_name(problems: &mut Problems, spec: &Path, name: Option<&str>) {
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        problems.all_invalid(&spec.child("storageClassName"), name, check_subdomain(name));
    }
}

/// Whether a volume holds files or blocks.
pub fn volume_mode(problems: &mut Problems, spec: &Path, mode: Option<&str>) {
    if let Some(mode) = mode.filter(|mode| !VOLUME_MODES.contains(mode)) {
        problems.not_supported(&spec.child("volumeMode"), mode, VOLUME_MODES);
    }
}

/// The name of a CSI driver.
pub fn driver_name(problems: &mut Problems, path: &Path, name: &str) {
    match name {
        "" => problems.required(path, ""),
        name => {
            if name.len() > DRIVER_NAME_LEN_MAX {
                problems.too_long(path, DRIVER_NAME_LEN_MAX);
            }
            problems.all_invalid(path, name, check_subdomain(&name.to_lowercase()));
        }
    }
}
