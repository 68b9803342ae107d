//! ConfigMaps. Mirrors `ValidateConfigMap` of `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::ConfigMap;

use crate::printers::cells::{created, data_count, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::row::{Facts, Row, Table, Validation};
use crate::validation::data::{DATA, DATA_BYTES_MAX, IMMUTABLE, IMMUTABLE_WHY};
use object::validation::field::{Path, Problems};
use object::validation::names::check_config_key;

/// What the server knows of ConfigMaps.
pub const ROW: Row<ConfigMap> = Row {
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("Data"), AGE],
            cells: |o, now| cells![name(o), data_count(o), created(o, now)],
        },
        ..Facts::new("/registry/configmaps/", 9)
    })
};

/// Mirrors `ValidateConfigMap`.
fn validate(problems: &mut Problems, map: &ConfigMap) {
    let mut bytes = 0;
    for (key, value) in map.data.iter().flatten() {
        problems.all_invalid(&DATA.key(key), key, check_config_key(key));
        if map.binary_data.as_ref().is_some_and(|binary| binary.contains_key(key)) {
            problems.invalid(&DATA.key(key), key.as_str(), "duplicate of key present in binaryData");
        }
        bytes += value.len();
    }
    let binary = Path::new("binaryData");
    for (key, value) in map.binary_data.iter().flatten() {
        problems.all_invalid(&binary.key(key), key, check_config_key(key));
        bytes += value.0.len();
    }
    if bytes > DATA_BYTES_MAX {
        problems.too_long(&Path::new(""), DATA_BYTES_MAX);
    }
}

/// What may not change in a ConfigMap that is marked immutable.
fn validate_update(problems: &mut Problems, new: &ConfigMap, old: &ConfigMap) {
    if old.immutable == Some(true) {
        if new.immutable != Some(true) {
            problems.forbidden(&IMMUTABLE, IMMUTABLE_WHY);
        }
        if new.data != old.data {
            problems.forbidden(&DATA, IMMUTABLE_WHY);
        }
        if new.binary_data != old.binary_data {
            problems.forbidden(&Path::new("binaryData"), IMMUTABLE_WHY);
        }
    }
    if new.data != old.data || new.binary_data != old.binary_data {
        validate(problems, new);
    }
}
