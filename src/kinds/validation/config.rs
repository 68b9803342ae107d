//! ConfigMaps, Secrets, Leases and PriorityClasses. Mirrors `pkg/apis/{core,coordination,scheduling}/validation`.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::scheduling::v1::PriorityClass;

use crate::object::validation::field::{Json, Path, Problems, Shown};
use crate::object::validation::names::check_config_key;
use crate::object::well_known::SERVICE_ACCOUNT_TOKEN;
use crate::object::{Accessor, json};
/// The most bytes that the data of a ConfigMap or Secret may have.
const DATA_BYTES_MAX: usize = 1024 * 1024;
/// The greatest priority that people may give; what is above is the system's.
const USER_PRIORITY_MAX: i32 = 1_000_000_000;
/// The classes that Kubernetes itself makes, and their values.
const SYSTEM_CLASSES: &[(&str, i32)] =
    &[("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];
const DATA: Path = Path::new("data");
const IMMUTABLE: Path = Path::new("immutable");
const IMMUTABLE_WHY: &str = "field is immutable when `immutable` is set";

/// Mirrors `ValidateConfigMap`.
pub fn config_map(problems: &mut Problems, map: &ConfigMap) {
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
pub fn config_map_update(problems: &mut Problems, new: &ConfigMap, old: &ConfigMap) {
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
        config_map(problems, new);
    }
}

/// Mirrors `ValidateSecret`.
pub fn secret(problems: &mut Problems, secret: &Secret) {
    let mut bytes = 0;
    for (key, value) in secret.data.iter().flatten() {
        problems.all_invalid(&DATA.key(key), key, check_config_key(key));
        bytes += value.0.len();
    }
    if bytes > DATA_BYTES_MAX {
        problems.too_long(&DATA, DATA_BYTES_MAX);
    }
    let has = |key: &str| secret.data.as_ref().is_some_and(|data| data.contains_key(key));
    let needs: &[&str] = match secret.type_.as_deref().unwrap_or_default() {
        SERVICE_ACCOUNT_TOKEN => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            let annotation = secret.metadata.annotations.as_ref().and_then(|annotations| annotations.get(ACCOUNT));
            if annotation.is_none_or(|name| name.is_empty()) {
                let metadata = Path::new("metadata");
                problems.required(&metadata.child("annotations").key(ACCOUNT), "");
            }
            &[]
        }
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        // One of the two will do.
        "kubernetes.io/basic-auth" if !["username", "password"].into_iter().any(has) => &["username", "password"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    };
    for key in needs {
        match secret.data.as_ref().and_then(|data| data.get(*key)) {
            None => problems.required(&DATA.key(key), ""),
            Some(value) if key.starts_with(".docker") => {
                // Only that it is JSON is looked at, not what it says.
                if let Err(error) = json::parse(&String::from_utf8_lossy(&value.0)) {
                    problems.invalid(&DATA.key(key), "<secret contents redacted>", &error);
                }
            }
            Some(_) => {}
        }
    }
}

/// What may not change in a Secret: its type, and all else if it is marked immutable.
pub fn secret_update(problems: &mut Problems, new: &Secret, old: &Secret) {
    problems.immutable(&Path::new("type"), &new.type_, &old.type_, |type_| Json(type_).shown());
    if old.immutable == Some(true) {
        if new.immutable != Some(true) {
            problems.forbidden(&IMMUTABLE, IMMUTABLE_WHY);
        }
        if new.data != old.data {
            problems.forbidden(&DATA, IMMUTABLE_WHY);
        }
    }
    if new.data != old.data {
        secret(problems, new);
    }
}

/// Mirrors `ValidateLeaseSpec`.
pub fn lease(problems: &mut Problems, lease: &Lease) {
    let Some(spec) = &lease.spec else { return };
    let path = Path::new("spec");
    if let Some(seconds) = spec.lease_duration_seconds.filter(|seconds| *seconds <= 0) {
        problems.invalid(&path.child("leaseDurationSeconds"), seconds, "must be greater than 0");
    }
    problems.not_negative(&path.child("leaseTransitions"), spec.lease_transitions.unwrap_or(0));
}

/// Mirrors `ValidatePriorityClass`.
pub fn priority_class(problems: &mut Problems, class: &PriorityClass) {
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

/// What may not change in a PriorityClass.
pub fn priority_class_update(problems: &mut Problems, new: &PriorityClass, old: &PriorityClass) {
    if new.value != old.value {
        problems.forbidden(&Path::new("value"), "may not be changed in an update.");
    }
    let (path, shown) = (Path::new("preemptionPolicy"), |policy: &Option<String>| Json(policy).shown());
    problems.immutable(&path, &new.preemption_policy, &old.preemption_policy, shown);
}
