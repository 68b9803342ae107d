//! StorageClasses. Mirrors `pkg/apis/storage/validation`, and `pkg/api/storage/util.go`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{TopologySelectorLabelRequirement, TopologySelectorTerm};
use k8s_openapi::api::storage::v1::StorageClass;
use serde_json::Value;

use crate::defaults::fields::or_text;
use crate::pod_template::warnings::deprecated_label;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{flag, text};
use crate::printers::storage::is_default;
use crate::row::{Facts, Row, Table, Validation, Warnings};
use object::selector::names::check_label_key;
use object::validation::field::{Json, Path, Problems, Shown};

/// What the server knows of StorageClasses.
pub const ROW: Row<StorageClass> = Row {
    defaults: Some(defaults),
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    warnings: Warnings { any: warn, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table {
            columns: &[
                NAME,
                column("Provisioner"),
                column("ReclaimPolicy"),
                column("VolumeBindingMode"),
                column("AllowVolumeExpansion"),
                AGE,
            ],
            cells,
        },
        ..Facts::new("/registry/storageclasses/", 14)
    })
};

/// The most parameters of a class, and the most bytes that they may have together.
const PARAMETERS_MAX: usize = 512;
const PARAMETERS_BYTES_MAX: usize = 256 * 1024;

fn defaults(class: &mut StorageClass) {
    or_text(&mut class.reclaim_policy, "Delete");
    or_text(&mut class.volume_binding_mode, "Immediate");
}

/// Mirrors `ValidateStorageClass`.
fn validate(problems: &mut Problems, class: &StorageClass) {
    let path = Path::new("provisioner");
    match class.provisioner.as_str() {
        "" => problems.required(&path, ""),
        // Kubernetes shows the name in small letters, too.
        name => {
            let name = name.to_lowercase();
            problems.all_invalid(&path, &name, check_label_key(&name));
        }
    }
    parameters(problems, class.parameters.as_ref());
    let policy = class.reclaim_policy.as_deref().unwrap_or_default();
    if !policy.is_empty() && !["Delete", "Retain"].contains(&policy) {
        problems.not_supported(&Path::new("reclaimPolicy"), policy, &["Delete", "Retain"]);
    }
    const BINDING_MODES: &[&str] = &["Immediate", "WaitForFirstConsumer"];
    problems.one_of(&Path::new("volumeBindingMode"), class.volume_binding_mode.as_deref(), BINDING_MODES);
    topologies(problems, class.allowed_topologies.as_deref().unwrap_or_default());
}

/// What may not change in a class: nearly everything. Mirrors `ValidateStorageClassUpdate`.
fn validate_update(problems: &mut Problems, new: &StorageClass, old: &StorageClass) {
    validate(problems, new);
    let parameters = |class: &StorageClass| class.parameters.clone().filter(|parameters| !parameters.is_empty());
    let shown = |_: &_| Json(&new.parameters).shown();
    problems.immutable(&Path::new("parameters"), &parameters(new), &parameters(old), shown);
    let shown = |name: &String| Json(name).shown();
    problems.immutable(&Path::new("provisioner"), &new.provisioner, &old.provisioner, shown);
    let shown = |word: &Option<String>| Json(word).shown();
    problems.immutable(&Path::new("reclaimPolicy"), &new.reclaim_policy, &old.reclaim_policy, shown);
    problems.immutable(&Path::new("volumeBindingMode"), &new.volume_binding_mode, &old.volume_binding_mode, shown);
}

fn warn(told: &mut Vec<String>, class: &StorageClass) {
    for (i, term) in class.allowed_topologies.iter().flatten().enumerate() {
        for (j, expression) in term.match_label_expressions.iter().flatten().enumerate() {
            let path = format!("allowedTopologies[{i}].matchLabelExpressions[{j}].key");
            told.extend(deprecated_label(&expression.key).map(|instead| format!("{path}: {instead}")));
        }
    }
}

fn cells(class: &Value, now: Timestamp) -> Vec<Value> {
    let default = if is_default(class) { " (default)" } else { "" };
    cells![
        name(class) + default,
        text(class, "provisioner"),
        text(class, "reclaimPolicy"),
        text(class, "volumeBindingMode"),
        flag(class, "allowVolumeExpansion"),
        created(class, now),
    ]
}

/// What a class tells its driver: not too many things, and not too much. Mirrors `validateParameters`.
pub fn parameters(problems: &mut Problems, parameters: Option<&BTreeMap<String, String>>) {
    let (path, Some(parameters)) = (Path::new("parameters"), parameters) else { return };
    if parameters.len() > PARAMETERS_MAX {
        return problems.too_long(&path, PARAMETERS_MAX);
    }
    if parameters.contains_key("") {
        problems.invalid(&path, "", "field can not be empty.");
    }
    let bytes: usize = parameters.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > PARAMETERS_BYTES_MAX {
        problems.too_long(&path, PARAMETERS_BYTES_MAX);
    }
}

/// Where volumes of a class may be: no term says what another says. Mirrors `validateAllowedTopologies`.
fn topologies(problems: &mut Problems, terms: &[TopologySelectorTerm]) {
    let list = Path::new("allowedTopologies");
    let mut seen: Vec<BTreeMap<&str, BTreeSet<&str>>> = vec![BTreeMap::new(); terms.len()];
    for (i, term) in terms.iter().enumerate() {
        let path = list.index(i);
        let path = path.child("matchLabelExpressions");
        let mut asked: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (j, wanted) in term.match_label_expressions.iter().flatten().enumerate() {
            let values = topology_values(problems, &path.index(j), wanted);
            if asked.insert(&wanted.key, values).is_some() {
                problems.duplicate(&path.index(j).child("key"), wanted.key.as_str());
            }
        }
        // The list of those before begins with as many empty ones as there are terms, so an empty term is never alone.
        seen.iter().filter(|before| **before == asked).for_each(|_| problems.duplicate(&path, ""));
        seen.push(asked);
    }
}

fn topology_values<'a>(
    problems: &mut Problems,
    path: &Path,
    wanted: &'a TopologySelectorLabelRequirement,
) -> BTreeSet<&'a str> {
    let list = path.child("values");
    if wanted.values.is_empty() {
        problems.required(&list, "");
    }
    let mut values = BTreeSet::new();
    for (i, value) in wanted.values.iter().enumerate() {
        if !values.insert(value.as_str()) {
            problems.duplicate(&list.index(i), value.as_str());
        }
    }
    problems.all_invalid(&path.child("key"), &wanted.key, check_label_key(&wanted.key));
    values
}
