//! CSIStorageCapacities. Mirrors `pkg/apis/storage/validation`, and `pkg/api/storage/util.go`.

use jiff::Timestamp;
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::Value;

use crate::pod_template::container::quantity_of;
use crate::pod_template::warnings::deprecated_label;
use crate::printers::cells::name;
use crate::printers::columns::{NAME, column};
use crate::printers::fields::text;
use crate::printers::storage::or_unset;
use crate::row::{Facts, Row, Table, Validation, Warnings};
use crate::validation::metadata::label_selector;
use object::selector::names::check_subdomain;
use object::validation::field::{Json, Path, Problems, Shown};

/// What the server knows of CSIStorageCapacities.
pub const ROW: Row<CSIStorageCapacity> = Row {
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    warnings: Warnings { any: warn, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        unconditional_update: false,
        table: Table { columns: &[NAME, column("StorageClassName"), column("Capacity")], cells },
        ..Facts::new("/registry/csistoragecapacities/", 14)
    })
};

/// Mirrors `ValidateCSIStorageCapacity`.
fn validate(problems: &mut Problems, capacity: &CSIStorageCapacity) {
    if let Some(topology) = &capacity.node_topology {
        label_selector(problems, &Path::new("nodeTopology"), topology);
    }
    let class = capacity.storage_class_name.as_str();
    problems.all_invalid(&Path::new("storageClassName"), class, check_subdomain(class));
    if let Some(amount) = &capacity.capacity {
        quantity_of(problems, &Path::new("capacity"), "storage", amount);
    }
}

/// What may not change in a capacity: whose it is.
fn validate_update(problems: &mut Problems, new: &CSIStorageCapacity, old: &CSIStorageCapacity) {
    validate(problems, new);
    let shown = |topology: &Option<LabelSelector>| Json(topology).shown();
    problems.immutable(&Path::new("nodeTopology"), &new.node_topology, &old.node_topology, shown);
    let (path, shown) = (Path::new("storageClassName"), |name: &String| format!("{name:?}"));
    problems.immutable(&path, &new.storage_class_name, &old.storage_class_name, shown);
}

fn warn(told: &mut Vec<String>, capacity: &CSIStorageCapacity) {
    let Some(selector) = &capacity.node_topology else { return };
    for (i, expression) in selector.match_expressions.iter().flatten().enumerate() {
        let key = &expression.key;
        let path = format!("nodeTopology.matchExpressions[{i}].key");
        told.extend(deprecated_label(key).map(|instead| format!("{path}: {key} is {instead}")));
    }
    for key in selector.match_labels.iter().flatten().map(|(key, _)| key) {
        told.extend(deprecated_label(key).map(|instead| format!("nodeTopology.matchLabels.{key}: {instead}")));
    }
}

/// The cells of a CSIStorageCapacity.
pub fn cells(capacity: &Value, _: Timestamp) -> Vec<Value> {
    cells![name(capacity), text(capacity, "storageClassName"), or_unset(capacity, "capacity")]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_said_of_a_capacity() {
        let capacity = json!({"metadata": {"name": "x"}, "storageClassName": "fast"});
        assert_eq!(cells(&capacity, Timestamp::UNIX_EPOCH), [json!("x"), json!("fast"), json!("<unset>")]);
    }
}
