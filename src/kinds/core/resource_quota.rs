//! ResourceQuotas. Mirrors `ValidateResourceQuota` of `pkg/apis/core/validation`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ResourceQuota, ResourceQuotaSpec, ScopedResourceSelectorRequirement};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::Value;

use crate::pod_template::container::quantity_of;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{at, map, plain};
use crate::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use object::quota::claim::RESOURCES as OF_CLAIMS;
use object::quota::pod::RESOURCES as OF_PODS;
use object::resources::is_huge_page;
use object::selector::names::check_label_key;
use object::validation::field::{Json, Literal, Path, Problems, Shown};
use object::validation::internal::Internal;

/// What the server knows of ResourceQuotas.
pub const ROW: Row<ResourceQuota> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|quota, _| quota.status = Some(Default::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: validate_update,
        status: |problems, new, _| validate_status(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table { columns: &[NAME, column("Request"), column("Limit"), AGE], cells },
        ..Facts::new("/registry/resourcequotas/", 3)
    })
};

/// What is measured of other kinds.
const OF_OTHERS: &[&str] = &[
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "resourcequotas",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

const SPEC: Path = Path::new("spec");
const STATUS: Path = Path::new("status");

/// Scopes without values: an object is in them or not.
const PLAIN: &[&str] = &["Terminating", "NotTerminating", BEST_EFFORT, "NotBestEffort", "CrossNamespacePodAffinity"];

/// Scopes with values.
const OF_A_CLASS: &[&str] = &[PRIORITY_CLASS, ATTRIBUTES_CLASS];

/// Pairs of scopes: an object cannot be in both.
const CONFLICTING: &[[&str; 2]] = &[[BEST_EFFORT, "NotBestEffort"], ["Terminating", "NotTerminating"]];
const BEST_EFFORT: &str = "BestEffort";
const PRIORITY_CLASS: &str = "PriorityClass";
const ATTRIBUTES_CLASS: &str = "VolumeAttributesClass";

/// A new quota.
fn validate(problems: &mut Problems, quota: &ResourceQuota) {
    let default = ResourceQuotaSpec::default();
    let spec = quota.spec.as_ref().unwrap_or(&default);
    resources(problems, &SPEC.child("hard"), spec.hard.as_ref());
    scopes(problems, spec);
    selector(problems, spec);
    validate_status(problems, quota);
}

/// The scopes of a quota stay.
fn validate_update(problems: &mut Problems, new: &ResourceQuota, old: &ResourceQuota) {
    validate(problems, new);
    let sorted = |quota: &ResourceQuota| {
        let mut scopes = quota.spec.as_ref().and_then(|spec| spec.scopes.clone()).unwrap_or_default();
        scopes.sort();
        scopes
    };
    if sorted(new) != sorted(old) {
        let scopes = new.spec.as_ref().and_then(|spec| spec.scopes.as_ref());
        problems.invalid(&SPEC.child("scopes"), Json(&scopes), "field is immutable");
    }
}

/// What a status may say.
fn validate_status(problems: &mut Problems, quota: &ResourceQuota) {
    let Some(status) = &quota.status else { return };
    resources(problems, &STATUS.child("hard"), status.hard.as_ref());
    resources(problems, &STATUS.child("used"), status.used.as_ref());
}

/// What is used of what is allowed; limits have a column of their own.
fn cells(quota: &Value, now: Timestamp) -> Vec<Value> {
    let column = |limits: bool| {
        let those = map(quota, "status.hard").filter(|(name, _)| name.starts_with("limits.") == limits);
        let used = |name: &str| at(quota, "status.used").get(name).map_or_else(|| "0".to_owned(), plain);
        those.map(|(name, hard)| format!("{name}: {}/{}", used(name), plain(hard))).collect::<Vec<_>>().join(", ")
    };
    cells![name(quota), column(false), column(true), created(quota, now)]
}

fn is_standard(name: &str) -> bool {
    OF_PODS.contains(&name) || OF_OTHERS.contains(&name) || is_huge_page(name.strip_prefix("requests.").unwrap_or(name))
}

/// Mirrors `validateResourceQuotaScopes`.
fn scopes(problems: &mut Problems, spec: &ResourceQuotaSpec) {
    let Some(scopes) = spec.scopes.as_ref().filter(|scopes| !scopes.is_empty()) else { return };
    let path = SPEC.child("scopes");
    let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
    for scope in &names {
        if !is_known(scope) {
            problems.invalid(&path, Json(scopes), "unsupported scope");
        }
        measured(problems, &path, scope, spec, &Json(scopes).shown());
    }
    conflicts(problems, &path, &names, scopes);
}

/// Mirrors `validateScopeSelector`.
fn selector(problems: &mut Problems, spec: &ResourceQuotaSpec) {
    let Some(selector) = &spec.scope_selector else { return };
    let outer = SPEC.child("scopeSelector");
    let path = outer.child("matchExpressions");
    let wanted = selector.match_expressions.as_deref().unwrap_or_default();
    for requirement in wanted {
        let scope = requirement.scope_name.as_str();
        if !is_known(scope) {
            problems.invalid(&path.child("scopeName"), scope, "unsupported scope");
        }
        measured(problems, &path, scope, spec, &Internal("ScopeSelector", selector).shown());
        self::requirement(problems, &path, requirement);
    }
    let names: Vec<&str> = wanted.iter().map(|requirement| requirement.scope_name.as_str()).collect();
    // It is the other list that is shown here.
    conflicts(problems, &path, &names, &spec.scopes);
}

fn resources(problems: &mut Problems, path: &Path, list: Option<&BTreeMap<String, Quantity>>) {
    for (name, quantity) in list.into_iter().flatten() {
        let path = path.key(name);
        resource_name(problems, &path, name);
        quantity_of(problems, &path, name, quantity);
        let amount = object::quantity::Amount::of(quantity);
        if OF_OTHERS.contains(&name.as_str()) && name != "requests.storage" && amount.milli_value() % 1000 != 0 {
            problems.invalid(&path, amount.to_string().as_str(), "must be an integer");
        }
    }
}

/// Mirrors `ValidateResourceQuotaResourceName`.
fn resource_name(problems: &mut Problems, path: &Path, name: &str) {
    let wrong = check_label_key(name);
    let known = name.contains('/') || is_standard(name);
    if !wrong.is_empty() {
        problems.all_invalid(path, name, wrong);
    } else if !known {
        problems.invalid(path, name, "must be a standard resource type or fully qualified");
    }
    if !known {
        problems.invalid(path, name, "must be a standard resource for quota");
    }
}

fn is_known(scope: &str) -> bool {
    PLAIN.contains(&scope) || OF_A_CLASS.contains(&scope)
}

/// A scope is refused once for each resource that cannot be in it.
fn measured(problems: &mut Problems, path: &Path, scope: &str, spec: &ResourceQuotaSpec, shown: &str) {
    let hard = spec.hard.iter().flatten().map(|(name, _)| name.as_str());
    for _ in hard.filter(|name| is_standard(name) && !can_have(scope, name)) {
        problems.invalid(path, Literal(shown), "unsupported scope applied to resource");
    }
}

fn conflicts(problems: &mut Problems, path: &Path, names: &[&str], shown: &impl serde::Serialize) {
    if CONFLICTING.iter().any(|pair| pair.iter().all(|scope| names.contains(scope))) {
        problems.invalid(path, Json(shown), "conflicting scopes");
    }
}

fn requirement(problems: &mut Problems, path: &Path, wanted: &ScopedResourceSelectorRequirement) {
    const NO_VALUES: &str = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    const VALUES: &str = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
    const EXISTS: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
         ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
         ResourceQuotaScopeCrossNamespacePodAffinity";
    let operator = wanted.operator.as_str();
    if PLAIN.contains(&wanted.scope_name.as_str()) && operator != "Exists" {
        problems.invalid(&path.child("operator"), operator, EXISTS);
    }
    let values = wanted.values.as_deref().unwrap_or_default();
    match operator {
        "In" | "NotIn" if values.is_empty() => problems.required(&path.child("values"), VALUES),
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            problems.invalid(&path.child("values"), Json(&values), NO_VALUES);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => problems.invalid(&path.child("operator"), operator, "not a valid selector operator"),
    }
}

/// Mirrors `IsResourceQuotaScopeValidForResource`.
fn can_have(scope: &str, resource: &str) -> bool {
    match scope {
        BEST_EFFORT => resource == "pods",
        ATTRIBUTES_CLASS => OF_CLAIMS.contains(&resource),
        _ => OF_PODS.contains(&resource),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn quotas_are_refused_as_by_kubernetes() {
        let at = |text: &str| vec![text.to_owned()];
        for (spec, expected) in [
            (json!({"hard": {"pods": "4", "requests.cpu": "1", "count/deployments.apps": "2"}}), vec![]),
            (json!({"hard": {"requests.example.com/gpu": "2", "gold.storageclass.storage.k8s.io/requests.storage": "1Gi"}}), vec![]),
            (json!({"hard": {"pods": "4"}, "scopes": ["BestEffort"]}), vec![]),
            (json!({"hard": {"requests.storage": "1Gi"}, "scopeSelector": {"matchExpressions": [{"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]}]}}), vec![]),
            (
                json!({"hard": {"pods": "4"}, "scopes": ["VolumeAttributesClass"]}),
                at("spec.scopes: Invalid value: [\"VolumeAttributesClass\"]: unsupported scope applied to resource"),
            ),
            (
                json!({"hard": {"pods": "-1"}}),
                at("spec.hard[pods]: Invalid value: \"-1\": must be greater than or equal to 0"),
            ),
            (json!({"hard": {"pods": "1500m"}}), at("spec.hard[pods]: Invalid value: \"1500m\": must be an integer")),
            (json!({"hard": {"secrets": "1500m"}}), at("spec.hard[secrets]: Invalid value: \"1500m\": must be an integer")),
            (
                json!({"hard": {"deployments": "1"}}),
                vec![
                    "spec.hard[deployments]: Invalid value: \"deployments\": must be a standard resource type or fully qualified".into(),
                    "spec.hard[deployments]: Invalid value: \"deployments\": must be a standard resource for quota".into(),
                ],
            ),
            (
                json!({"hard": {"cpu": "1"}, "scopes": ["BestEffort"]}),
                at("spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource"),
            ),
            (json!({"scopes": ["Idle"]}), at("spec.scopes: Invalid value: [\"Idle\"]: unsupported scope")),
            (
                json!({"scopes": ["Terminating", "NotTerminating"]}),
                at("spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\"]: conflicting scopes"),
            ),
            (
                json!({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}}),
                at("spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"),
            ),
            (
                json!({"scopeSelector": {"matchExpressions": [{"scopeName": "Terminating", "operator": "DoesNotExist"}]}}),
                at("spec.scopeSelector.matchExpressions.operator: Invalid value: \"DoesNotExist\": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"),
            ),
            (
                json!({"hard": {"cpu": "1"}, "scopeSelector": {"matchExpressions": [{"scopeName": "BestEffort", "operator": "Exists"}]}}),
                at("spec.scopeSelector.matchExpressions: Invalid value: {\"MatchExpressions\":[{\"ScopeName\":\"BestEffort\",\"Operator\":\"Exists\",\"Values\":null}]}: unsupported scope applied to resource"),
            ),
            (
                json!({"scopeSelector": {"matchExpressions": [{"scopeName": "Idle", "operator": "Exists"}]}}),
                at("spec.scopeSelector.matchExpressions.scopeName: Invalid value: \"Idle\": unsupported scope"),
            ),
            (
                json!({"scopeSelector": {"matchExpressions": [{"scopeName": "Terminating", "operator": "Exists"}, {"scopeName": "NotTerminating", "operator": "Exists"}]}}),
                at("spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes"),
            ),
        ] {
            assert_eq!(problems(&spec), expected, "{spec}");
        }
    }

    fn problems(spec: &Value) -> Vec<String> {
        let quota: ResourceQuota = serde_json::from_value(json!({"spec": spec})).expect("a quota");
        let mut problems = Problems::default();
        validate(&mut problems, &quota);
        problems.0.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
    }
}
