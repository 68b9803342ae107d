//! PriorityClasses. Mirrors `pkg/apis/scheduling`.

use jiff::Timestamp;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde_json::Value;

use crate::defaults::fields::or_text;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, boolean, column, integer};
use crate::printers::fields::{flag, int, text};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation};
use object::Accessor;
use object::validation::field::{Json, Path, Problems, Shown};

/// What the server knows of PriorityClasses.
pub const ROW: Row<PriorityClass> = Row {
    defaults: Some(defaults),
    strategy: Strategy { generation: Generation::Counted(|new, old| new.value != old.value), ..Strategy::DEFAULT },
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, integer("Value"), boolean("Global-Default"), AGE, column("PreemptionPolicy")],
            cells,
        },
        ..Facts::new("/registry/priorityclasses/", 8)
    })
};

/// The classes that Kubernetes itself makes, and their values.
const SYSTEM_CLASSES: &[(&str, i32)] =
    &[("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// The greatest priority that people may give; what is above is the system's.
const USER_PRIORITY_MAX: i32 = 1_000_000_000;

fn defaults(class: &mut PriorityClass) {
    or_text(&mut class.preemption_policy, "PreemptLowerPriority");
}

/// Mirrors `ValidatePriorityClass`.
fn validate(problems: &mut Problems, class: &PriorityClass) {
    let name = class.metadata.name();
    let value = class.value.unwrap_or(0);
    if name.starts_with("system-") {
        if let Some(error) = not_of_the_system(name, value, class.global_default == Some(true)) {
            let why =
                format!("priority class names with 'system-' prefix are reserved for system use only. error: {error}");
            let metadata = Path::new("metadata");
            problems.forbidden(&metadata.child("name"), &why);
        }
    } else if value > USER_PRIORITY_MAX {
        let why = format!("maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}");
        problems.forbidden(&Path::new("value"), &why);
    }
    let policy = class.preemption_policy.as_deref();
    problems.one_of(&Path::new("preemptionPolicy"), policy, &["PreemptLowerPriority", "Never"]);
}

/// What may not change in a PriorityClass.
fn validate_update(problems: &mut Problems, new: &PriorityClass, old: &PriorityClass) {
    if new.value != old.value {
        problems.forbidden(&Path::new("value"), "may not be changed in an update.");
    }
    let (path, shown) = (Path::new("preemptionPolicy"), |policy: &Option<String>| Json(policy).shown());
    problems.immutable(&path, &new.preemption_policy, &old.preemption_policy, shown);
}

/// Whether a class is one of Kubernetes' own. Mirrors `SystemPriorityClassNames`.
pub fn is_system_priority_class(name: &str) -> bool {
    SYSTEM_CLASSES.iter().any(|(known, _)| *known == name)
}

/// Why a class is none of Kubernetes' own. Mirrors `IsKnownSystemPriorityClass`.
fn not_of_the_system(name: &str, value: i32, is_default: bool) -> Option<String> {
    let Some((_, known)) = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if value != *known {
        return Some(format!("value of {name} PriorityClass must be {known}"));
    }
    is_default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}

fn cells(class: &Value, now: Timestamp) -> Vec<Value> {
    let (value, global) = (int(class, "value"), flag(class, "globalDefault"));
    cells![name(class), value, global, created(class, now), text(class, "preemptionPolicy")]
}
