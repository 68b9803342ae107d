//! LimitRanges. Mirrors `ValidateLimitRange` of `pkg/apis/core/validation`.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{LimitRange, LimitRangeItem};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::pod_template::container::{quantity_of, standard_name};
use crate::printers::cells::name;
use crate::printers::columns::{NAME, always};
use crate::printers::fields::text;
use crate::row::{Facts, Row, Table, Validation};
use object::quantity::Amount;
use object::resources::may_overcommit;
use object::selector::names::check_label_key;
use object::validation::field::{Path, Problems};

/// What the server knows of LimitRanges.
pub const ROW: Row<LimitRange> = Row {
    defaults: Some(defaults),
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        create_on_update: true,
        table: Table {
            columns: &[NAME, always("Created At", "date")],
            cells: |o, _| cells![name(o), text(o, "metadata.creationTimestamp")],
        },
        ..Facts::new("/registry/limitranges/", 3)
    })
};

const SPEC: Path = Path::new("spec");
const TYPES: &[&str] = &["Pod", "Container", "PersistentVolumeClaim"];

/// A container that says nothing gets the most it may have, and requests what it is limited to, or else the least.
/// Mirrors `SetDefaults_LimitRangeItem`.
fn defaults(range: &mut LimitRange) {
    let limits = range.spec.iter_mut().flat_map(|spec| spec.limits.iter_mut());
    for limit in limits.filter(|limit| limit.type_ == "Container") {
        fill(&mut limit.default, limit.max.as_ref());
        fill(&mut limit.default_request, limit.default.as_ref());
        fill(&mut limit.default_request, limit.min.as_ref());
    }
}

/// The limits of a LimitRange, one of each type.
fn validate(problems: &mut Problems, range: &LimitRange) {
    let limits = range.spec.as_ref().map(|spec| spec.limits.as_slice()).unwrap_or_default();
    let (list, mut types) = (SPEC.child("limits"), BTreeSet::new());
    for (i, limit) in limits.iter().enumerate() {
        let path = list.index(i);
        limit_type(problems, &path.child("type"), &limit.type_);
        if !types.insert(limit.type_.as_str()) {
            problems.duplicate(&path.child("type"), limit.type_.as_str());
        }
        item(problems, &path, limit);
    }
}

/// Adds what only `from` has.
fn fill(list: &mut Option<BTreeMap<String, Quantity>>, from: Option<&BTreeMap<String, Quantity>>) {
    for (name, quantity) in from.into_iter().flatten() {
        list.get_or_insert_default().entry(name.clone()).or_insert_with(|| quantity.clone());
    }
}

fn limit_type(problems: &mut Problems, path: &Path, name: &str) {
    let wrong = check_label_key(name);
    if !wrong.is_empty() {
        problems.all_invalid(path, name, wrong);
    } else if !name.contains('/') && !TYPES.contains(&name) {
        problems.invalid(path, name, "must be a standard limit type or fully qualified");
    }
}

fn item(problems: &mut Problems, path: &Path, limit: &LimitRangeItem) {
    quantities(problems, &path.child("max"), limit, &limit.max);
    quantities(problems, &path.child("min"), limit, &limit.min);
    if limit.type_ == "Pod" {
        for (field, list) in [("default", &limit.default), ("defaultRequest", &limit.default_request)] {
            if list.as_ref().is_some_and(|list| !list.is_empty()) {
                problems.forbidden(&path.child(field), "may not be specified when `type` is 'Pod'");
            }
        }
    } else {
        quantities(problems, &path.child("default"), limit, &limit.default);
        quantities(problems, &path.child("defaultRequest"), limit, &limit.default_request);
    }
    if limit.type_ == "PersistentVolumeClaim" {
        let says = |list: &Quantities| list.as_ref().is_some_and(|list| list.contains_key("storage"));
        if !says(&limit.min) && !says(&limit.max) {
            let why = "either minimum or maximum storage value is required, but neither was provided";
            problems.required(&path.child("limits"), why);
        }
    }
    let lists = [&limit.max, &limit.min, &limit.default, &limit.default_request, &limit.max_limit_request_ratio];
    let names: BTreeSet<&String> = lists.into_iter().flatten().flat_map(|list| list.keys()).collect();
    names.into_iter().for_each(|name| resource(problems, path, limit, name));
}

fn quantities(problems: &mut Problems, path: &Path, limit: &LimitRangeItem, list: &Quantities) {
    for (name, quantity) in list.iter().flatten() {
        let path = path.key(name);
        let known = limit.type_ != "Container" || standard_name(name);
        let wrong = check_label_key(name);
        if !wrong.is_empty() {
            problems.all_invalid(&path, name, wrong);
        } else if !name.contains('/') && !standard_name(name) && name != "storage" {
            problems.invalid(&path, name.as_str(), "must be a standard resource type or fully qualified");
        }
        if !name.contains('/') && !known {
            problems.invalid(&path, name.as_str(), "must be a standard resource for containers");
        }
        quantity_of(problems, &path, name, quantity);
    }
}

/// The five amounts of one resource must be in order.
fn resource(problems: &mut Problems, path: &Path, limit: &LimitRangeItem, name: &str) {
    let of = |list: &Quantities| list.as_ref().and_then(|list| list.get(name)).map(Amount::of);
    let [min, max, default, request, ratio] =
        [&limit.min, &limit.max, &limit.default, &limit.default_request, &limit.max_limit_request_ratio].map(of);
    let mut order = |field: &str, low: (Option<Amount>, &str), high: (Option<Amount>, &str), value: Option<Amount>| {
        if let (Some(a), Some(b), Some(value)) = (low.0, high.0, value)
            && a > b
        {
            let why = format!("{} value {a} is greater than {} value {b}", low.1, high.1);
            problems.invalid(&path.child(field).key(name), value.to_string().as_str(), &why);
        }
    };
    order("min", (min, "min"), (max, "max"), min);
    order("defaultRequest", (min, "min"), (request, "default request"), request);
    order("defaultRequest", (request, "default request"), (max, "max"), request);
    order("defaultRequest", (request, "default request"), (default, "default limit"), request);
    order("default", (min, "min"), (default, "default"), min);
    order("default", (default, "default"), (max, "max"), max);
    if let Some(ratio) = ratio {
        let path = path.child("maxLimitRequestRatio");
        if ratio < Amount::units(1) {
            problems.invalid(&path.key(name), ratio.to_string().as_str(), &format!("ratio {ratio} is less than 1"));
        }
        if let (Some(min), Some(max)) = (min, max) {
            let most = max.milli_value() as f64 / min.milli_value() as f64;
            if ratio.milli_value() as f64 / 1000.0 > most {
                let why = format!("ratio {ratio} is greater than max/min = {most:.6}");
                problems.invalid(&path.key(name), ratio.to_string().as_str(), &why);
            }
        }
    }
    // For what cannot be shared out the two defaults are one.
    if !may_overcommit(name)
        && let (Some(request), Some(default)) = (request, default)
        && request != default
    {
        let why = format!("default value {default} must equal to defaultRequest value {request} in {name}");
        problems.invalid(&path.child("default").key(name), default.to_string().as_str(), &why);
    }
}

type Quantities = Option<BTreeMap<String, Quantity>>;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn limit_ranges_are_refused_as_by_kubernetes() {
        let one = |limit: Value| json!([limit]);
        let at = |text: &str| vec![format!("spec.limits[0]{text}")];
        for (limits, expected) in [
            (
                one(json!({"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"}, "default": {"cpu": "1"}})),
                vec![],
            ),
            (one(json!({"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}})), vec![]),
            (
                one(json!({"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}})),
                at(".min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1"),
            ),
            (
                one(json!({"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}})),
                at(
                    ".defaultRequest[cpu]: Invalid value: \"2\": default request value 2 is greater than default limit value 1",
                ),
            ),
            (
                one(json!({"type": "Container", "min": {"cpu": "2"}, "default": {"cpu": "1"}})),
                at(".default[cpu]: Invalid value: \"2\": min value 2 is greater than default value 1"),
            ),
            (
                one(json!({"type": "Pod", "default": {"cpu": "1"}})),
                at(".default: Forbidden: may not be specified when `type` is 'Pod'"),
            ),
            (
                one(json!({"type": "PersistentVolumeClaim", "max": {"cpu": "2"}})),
                at(
                    ".limits: Required value: either minimum or maximum storage value is required, but neither was provided",
                ),
            ),
            (
                one(json!({"type": "Node"})),
                at(".type: Invalid value: \"Node\": must be a standard limit type or fully qualified"),
            ),
            (
                one(json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "800m"}})),
                at(".maxLimitRequestRatio[cpu]: Invalid value: \"800m\": ratio 800m is less than 1"),
            ),
            (
                json!([{"type": "Pod"}, {"type": "Pod"}]),
                vec!["spec.limits[1].type: Duplicate value: \"Pod\"".to_owned()],
            ),
        ] {
            let range: LimitRange = serde_json::from_value(json!({"spec": {"limits": limits}})).expect("a LimitRange");
            let mut problems = Problems::default();
            validate(&mut problems, &range);
            let texts: Vec<String> =
                problems.0.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
            assert_eq!(texts, expected, "{limits}");
        }
    }
}
