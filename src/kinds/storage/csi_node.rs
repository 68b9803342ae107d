//! CSINodes. Mirrors `pkg/apis/storage/validation`.

use jiff::Timestamp;
use k8s_openapi::api::storage::v1::{CSINode, CSINodeDriver};
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, integer};
use crate::printers::fields::list;
use crate::row::{Facts, Row, Table, Validation};
use crate::validation::volumes::driver_name;
use object::selector::names::check_label_key;
use object::validation::field::{Path, Problems, Shown};
use object::validation::internal::Internal;

/// What the server knows of CSINodes.
pub const ROW: Row<CSINode> = Row {
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    ..Row::new(Facts {
        unconditional_update: false,
        returns_deleted: true,
        table: Table { columns: &[NAME, integer("Drivers"), AGE], cells },
        ..Facts::new("/registry/csinodes/", 14)
    })
};

const SPEC: Path = Path::new("spec");

/// The longest id that a driver may give a node.
const NODE_ID_LEN_MAX: usize = 256;

/// Mirrors `ValidateCSINode`.
fn validate(problems: &mut Problems, node: &CSINode) {
    let list = SPEC.child("drivers");
    for (i, driver) in node.spec.drivers.iter().enumerate() {
        let path = list.index(i);
        driver_name(problems, &path.child("name"), &driver.name);
        match driver.node_id.as_str() {
            "" => problems.required(&path.child("nodeID"), ""),
            id if id.len() > NODE_ID_LEN_MAX => {
                problems.invalid(&path.child("nodeID"), id, &format!("must be {NODE_ID_LEN_MAX} characters or less"));
            }
            _ => {}
        }
        let count = driver.allocatable.as_ref().and_then(|allocatable| allocatable.count);
        if let Some(count) = count {
            let path = path.child("allocatable");
            problems.not_negative(&path.child("count"), count);
        }
        if node.spec.drivers[..i].iter().any(|other| other.name == driver.name) {
            problems.duplicate(&path.child("name"), driver.name.as_str());
        }
        topology_keys(problems, &path, driver.topology_keys.as_deref().unwrap_or_default());
    }
}

/// What may not change about a driver on a node: all but how many volumes it can attach there.
fn validate_update(problems: &mut Problems, new: &CSINode, old: &CSINode) {
    validate(problems, new);
    let path = SPEC.child("drivers");
    let fixed = |driver: &CSINodeDriver| CSINodeDriver { allocatable: None, ..driver.clone() };
    for before in &old.spec.drivers {
        for driver in new.spec.drivers.iter().filter(|driver| driver.name == before.name) {
            problems
                .immutable(&path, &fixed(driver), &fixed(before), |driver| Internal("CSINodeDriver", driver).shown());
        }
    }
}

fn cells(node: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(node), list(node, "spec.drivers").len(), created(node, now)]
}

/// The labels by which a driver tells places apart. What is wrong with them is told of the driver.
fn topology_keys(problems: &mut Problems, driver: &Path, keys: &[String]) {
    for (i, key) in keys.iter().enumerate() {
        if key.is_empty() {
            problems.required(driver, "");
        }
        if keys[..i].contains(key) {
            problems.duplicate(driver, key.as_str());
        }
        problems.all_invalid(driver, key, check_label_key(key));
    }
}
