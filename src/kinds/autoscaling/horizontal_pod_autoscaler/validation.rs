//! HorizontalPodAutoscalers. Mirrors `pkg/apis/autoscaling/validation`.

use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscaler, MetricIdentifier,
    MetricSpec, MetricTarget,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::pod_template::container::resource_name;
use object::quantity::Amount;
use object::validation::field::{Path, Problems};
use object::validation::names::{check_dns_label, check_path_segment};
const SPEC: Path = Path::new("spec");
const STATUS: Path = Path::new("status");
const NO_RESOURCE: &str = "must specify a resource name";
/// The sources that a metric may name.
const SOURCES: &[&str] = &["ContainerResource", "External", "Object", "Pods", "Resource"];
/// An hour: no longer may a recommendation be remembered.
const STABILIZATION_SECONDS_MAX: i32 = 3600;
/// Half an hour: no longer may a policy look back.
const PERIOD_SECONDS_MAX: i32 = 1800;

/// The spec of a HorizontalPodAutoscaler.
pub fn autoscaler(problems: &mut Problems, hpa: &HorizontalPodAutoscaler) {
    changed(problems, hpa, None);
}

/// A new version of it, which may go on to scale a target that a new autoscaler may not name.
pub fn autoscaler_update(problems: &mut Problems, new: &HorizontalPodAutoscaler, old: &HorizontalPodAutoscaler) {
    changed(problems, new, Some(old));
}

fn changed(problems: &mut Problems, hpa: &HorizontalPodAutoscaler, old: Option<&HorizontalPodAutoscaler>) {
    let spec = &hpa.spec;
    let min = spec.min_replicas;
    if let Some(min) = min.filter(|min| *min < 1) {
        problems.invalid(&SPEC.child("minReplicas"), min, "must be greater than or equal to 1");
    }
    let max_path = SPEC.child("maxReplicas");
    match spec.max_replicas {
        0 => problems.required(&max_path, "must be set and greater than 0"),
        max if max < 0 => problems.invalid(&max_path, max, "must be greater than or equal to 1"),
        _ => {}
    }
    if min.is_some_and(|min| spec.max_replicas < min) {
        problems.invalid(&max_path, spec.max_replicas, "must be greater than or equal to `minReplicas`");
    }
    let path = SPEC.child("scaleTargetRef");
    reference(problems, &path, &spec.scale_target_ref);
    if old.is_none_or(|old| kind_of(old) != kind_of(hpa)) {
        let target = &spec.scale_target_ref;
        api_version(problems, &path.child("apiVersion"), target, target.kind != "ReplicationController");
    }
    let metrics = SPEC.child("metrics");
    for (i, source) in spec.metrics.iter().flatten().enumerate() {
        metric(problems, &metrics.index(i), source);
    }
    let counts_more = |spec: &MetricSpec| matches!(spec.type_.as_str(), "Object" | "External");
    if min == Some(0) && !spec.metrics.iter().flatten().any(counts_more) {
        const WHY: &str = "must specify at least one Object or External metric to support scaling to zero replicas";
        problems.forbidden(&metrics, WHY);
    }
    if let Some(behavior) = &spec.behavior {
        let path = SPEC.child("behavior");
        for (field, rules) in [("scaleUp", &behavior.scale_up), ("scaleDown", &behavior.scale_down)] {
            if let Some(rules) = rules {
                scaling_rules(problems, &path.child(field), rules);
            }
        }
    }
}

/// The counts of a HorizontalPodAutoscaler. Mirrors `ValidateHorizontalPodAutoscalerStatusUpdate`.
pub fn autoscaler_status(problems: &mut Problems, hpa: &HorizontalPodAutoscaler) {
    let status = hpa.status.clone().unwrap_or_default();
    problems.not_negative(&STATUS.child("currentReplicas"), status.current_replicas.unwrap_or(0));
    problems.not_negative(&STATUS.child("desiredReplicas"), status.desired_replicas);
}

fn reference(problems: &mut Problems, path: &Path, target: &CrossVersionObjectReference) {
    for (field, value) in [("kind", target.kind.as_str()), ("name", target.name.as_str())] {
        path_segment(problems, &path.child(field), value, "");
    }
}

/// The API version and kind of the target, as the reference says.
fn kind_of(hpa: &HorizontalPodAutoscaler) -> (&str, &str) {
    let target = &hpa.spec.scale_target_ref;
    (target.api_version.as_deref().unwrap_or_default(), &target.kind)
}

/// All kinds that can be scaled have a group, but for one. Mirrors `ValidateAPIVersion`.
fn api_version(problems: &mut Problems, path: &Path, target: &CrossVersionObjectReference, needs_group: bool) {
    let version = target.api_version.as_deref().unwrap_or_default();
    let (group, rest) = version.split_once('/').unwrap_or(("", version));
    if rest.contains('/') {
        problems.invalid(path, version, &format!("unexpected GroupVersion string: {version}"));
    } else if group.is_empty() && needs_group {
        problems.invalid(path, version, "apiVersion must specify API group");
    }
}

/// A text that will be a part of a URL. Mirrors `IsValidPathSegmentName`.
fn path_segment(problems: &mut Problems, path: &Path, value: &str, missing: &str) {
    if value.is_empty() {
        return problems.required(path, missing);
    }
    problems.all_invalid(path, value, check_path_segment(value));
}

/// One metric: its type, and the one source that goes with it.
fn metric(problems: &mut Problems, path: &Path, spec: &MetricSpec) {
    let kind = spec.type_.as_str();
    if kind.is_empty() {
        problems.required(&path.child("type"), "must specify a metric source type");
    }
    if !SOURCES.contains(&kind) {
        problems.not_supported(&path.child("type"), kind, SOURCES);
    }
    let present = [
        ("Object", "object", spec.object.is_some()),
        ("External", "external", spec.external.is_some()),
        ("Pods", "pods", spec.pods.is_some()),
        ("Resource", "resource", spec.resource.is_some()),
        ("ContainerResource", "containerResource", spec.container_resource.is_some()),
    ];
    if let Some((_, field, _)) = present.iter().find(|(.., there)| *there) {
        source(problems, &path.child(field), spec);
    }
    for (of, field, there) in present {
        if of == kind && !there {
            problems.required(&path.child(field), "must populate information for the given metric source");
        }
    }
    let count = present.iter().filter(|(.., there)| *there).count();
    for (of, field, there) in present {
        // One source alone is left to the type, even if it is the wrong one.
        if there && of != kind && count > 1 {
            problems.forbidden(&path.child(field), "must populate the given metric source only");
        }
    }
    // It is found to be none of them twice.
    if !SOURCES.contains(&kind) {
        problems.not_supported(&path.child("type"), kind, SOURCES);
    }
}

/// The first source that is there.
fn source(problems: &mut Problems, path: &Path, spec: &MetricSpec) {
    if let Some(object) = &spec.object {
        let at = path.child("describedObject");
        reference(problems, &at, &object.described_object);
        api_version(problems, &at.child("apiVersion"), &object.described_object, false);
        identifier(problems, &path.child("metric"), &object.metric);
        target(problems, &path.child("target"), &object.target);
        if object.target.value.is_none() && object.target.average_value.is_none() {
            let path = path.child("target");
            problems.required(&path.child("averageValue"), "must set either a target value or averageValue");
        }
    } else if let Some(external) = &spec.external {
        identifier(problems, &path.child("metric"), &external.metric);
        let at = path.child("target");
        target(problems, &at, &external.target);
        let (value, average) = (&external.target.value, &external.target.average_value);
        if value.is_none() && average.is_none() {
            let why = "must set either a target value for metric or a per-pod target";
            problems.required(&at.child("averageValue"), why);
        }
        if value.is_some() && average.is_some() {
            let why = "may not set both a target value for metric and a per-pod target";
            problems.forbidden(&at.child("value"), why);
        }
    } else if let Some(pods) = &spec.pods {
        identifier(problems, &path.child("metric"), &pods.metric);
        let at = path.child("target");
        target(problems, &at, &pods.target);
        if pods.target.average_value.is_none() {
            problems.required(&at.child("averageValue"), "must specify a positive target averageValue");
        }
    } else if let Some(resource) = &spec.resource {
        of_resource(problems, path, &resource.name, &resource.target);
    } else if let Some(resource) = &spec.container_resource {
        of_container_resource(problems, path, &resource.name, &resource.container);
        measured(problems, &path.child("target"), &resource.target);
    }
}

fn identifier(problems: &mut Problems, path: &Path, metric: &MetricIdentifier) {
    path_segment(problems, &path.child("name"), &metric.name, "must specify a metric name");
}

fn of_resource(problems: &mut Problems, path: &Path, name: &str, wanted: &MetricTarget) {
    if name.is_empty() {
        problems.required(&path.child("name"), NO_RESOURCE);
    }
    measured(problems, &path.child("target"), wanted);
}

/// Of one container only what a container can ask for is measured.
fn of_container_resource(problems: &mut Problems, path: &Path, name: &str, container: &str) {
    match name {
        "" => problems.required(&path.child("name"), NO_RESOURCE),
        name => resource_name(problems, &path.child("name"), name),
    }
    match container {
        "" => problems.required(&path.child("container"), "must specify a container"),
        name => problems.all_invalid(&path.child("container"), name, check_dns_label(name)),
    }
}

/// A resource is measured against what Pods request, or as it is; not both.
fn measured(problems: &mut Problems, at: &Path, wanted: &MetricTarget) {
    target(problems, at, wanted);
    match (wanted.average_utilization, &wanted.average_value) {
        (None, None) => {
            let why = "must set either a target raw value or a target utilization";
            problems.required(&at.child("averageUtilization"), why);
        }
        (Some(_), Some(_)) => {
            let why = "may not set both a target raw value and a target utilization";
            problems.forbidden(&at.child("averageValue"), why);
        }
        _ => {}
    }
}

fn target(problems: &mut Problems, path: &Path, target: &MetricTarget) {
    let at = path.child("type");
    match target.type_.as_str() {
        "Utilization" | "Value" | "AverageValue" => {}
        wrong => {
            if wrong.is_empty() {
                problems.required(&at, "must specify a metric target type");
            }
            problems.invalid(&at, wrong, "must be either Utilization, Value, or AverageValue");
        }
    }
    for (field, value) in [("value", &target.value), ("averageValue", &target.average_value)] {
        if let Some(value) = value.as_ref().filter(|value| !is_positive(value)) {
            problems.invalid(&path.child(field), value.0.as_str(), "must be positive");
        }
    }
    if let Some(share) = target.average_utilization.filter(|share| *share < 1) {
        problems.invalid(&path.child("averageUtilization"), share, "must be greater than 0");
    }
}

fn is_positive(value: &Quantity) -> bool {
    let amount = Amount::of(value);
    !amount.is_zero() && !amount.is_negative()
}

fn scaling_rules(problems: &mut Problems, path: &Path, rules: &HPAScalingRules) {
    let window = path.child("stabilizationWindowSeconds");
    match rules.stabilization_window_seconds {
        Some(seconds @ ..0) => problems.invalid(&window, seconds, "must be greater than or equal to zero"),
        Some(seconds) if seconds > STABILIZATION_SECONDS_MAX => {
            problems.invalid(&window, seconds, "must be less than or equal to 3600");
        }
        _ => {}
    }
    if let Some(select) = rules.select_policy.as_deref()
        && !matches!(select, "Max" | "Min" | "Disabled")
    {
        problems.not_supported(&path.child("selectPolicy"), select, &["Disabled", "Max", "Min"]);
    }
    let policies = path.child("policies");
    let all = rules.policies.as_deref().unwrap_or_default();
    if all.is_empty() {
        problems.required(&policies, "must specify at least one Policy");
    }
    for (i, policy) in all.iter().enumerate() {
        scaling_policy(problems, &policies.index(i), policy);
    }
    if let Some(tolerance) = rules.tolerance.as_ref().filter(|tolerance| Amount::of(tolerance).is_negative()) {
        let why = "must be greater than or equal to 0";
        problems.invalid(&path.child("tolerance"), tolerance.0.as_str(), why);
    }
}

fn scaling_policy(problems: &mut Problems, path: &Path, policy: &HPAScalingPolicy) {
    if !matches!(policy.type_.as_str(), "Pods" | "Percent") {
        problems.not_supported(&path.child("type"), policy.type_.as_str(), &["Percent", "Pods"]);
    }
    for (field, value) in [("value", policy.value), ("periodSeconds", policy.period_seconds)] {
        if value <= 0 {
            problems.invalid(&path.child(field), value, "must be greater than zero");
        }
    }
    if policy.period_seconds > PERIOD_SECONDS_MAX {
        let why = "must be less than or equal to 1800";
        problems.invalid(&path.child("periodSeconds"), policy.period_seconds, why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A spec that is right but for what is given.
    fn wrong_in(change: Value) -> Vec<String> {
        let mut spec = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 10});
        for (field, value) in change.as_object().unwrap() {
            spec[field] = value.clone();
        }
        let hpa = serde_json::from_value(json!({"spec": spec})).unwrap();
        let mut problems = Problems::default();
        autoscaler(&mut problems, &hpa);
        problems.0.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
    }

    #[test]
    fn what_an_autoscaler_may_not_say() {
        let cpu =
            |target: Value| json!({"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]});
        #[rustfmt::skip]
        let cases: &[(Value, &[&str])] = &[
            (json!({"minReplicas": 2}), &[]),
            (json!({"minReplicas": 0}), &[
                "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
                "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
            ]),
            (json!({"metrics": [{"type": "Object", "object": {"metric": {"name": "hits"}, "target": {"type": "Value", "value": "1"},
                "describedObject": {"apiVersion": "a/b/c", "kind": "Ingress", "name": "web"}}}]}),
                &["spec.metrics[0].object.describedObject.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c"]),
            (json!({"metrics": [{"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "0"}}}]}),
                &["spec.metrics[0].pods.target.averageValue: Invalid value: \"0\": must be positive"]),
            (json!({"metrics": [{"type": "ContainerResource", "containerResource": {"name": "pods", "container": "a.b",
                "target": {"type": "Utilization", "averageUtilization": 5}}}]}), &[
                "spec.metrics[0].containerResource.name: Invalid value: \"pods\": must be a standard resource for containers",
                "spec.metrics[0].containerResource.container: Invalid value: \"a.b\": must not contain dots",
            ]),
            (json!({"maxReplicas": 0}), &["spec.maxReplicas: Required value: must be set and greater than 0"]),
            (json!({"maxReplicas": -1}), &["spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1"]),
            (json!({"scaleTargetRef": {"kind": "Deployment", "name": "web"}}),
                &["spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group"]),
            (json!({"scaleTargetRef": {"apiVersion": "v1", "kind": "Deployment", "name": "web"}}),
                &["spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group"]),
            (json!({"scaleTargetRef": {"apiVersion": "a/b/c", "kind": "Deployment", "name": "web"}}),
                &["spec.scaleTargetRef.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c"]),
            (json!({"scaleTargetRef": {"kind": "ReplicationController", "name": "web"}}), &[]),
            (json!({"minReplicas": 11}),
                &["spec.maxReplicas: Invalid value: 10: must be greater than or equal to `minReplicas`"]),
            (json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "", "name": "a/b"}}), &[
                "spec.scaleTargetRef.kind: Required value",
                "spec.scaleTargetRef.name: Invalid value: \"a/b\": may not contain '/'",
            ]),
            (cpu(json!({"type": "Utilization", "averageUtilization": 50})), &[]),
            (cpu(json!({"type": "Utilization", "averageUtilization": 0})),
                &["spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0"]),
            (cpu(json!({"type": "AverageValue", "averageValue": "0"})),
                &["spec.metrics[0].resource.target.averageValue: Invalid value: \"0\": must be positive"]),
            (cpu(json!({"type": "Utilization"})),
                &["spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization"]),
            (cpu(json!({"type": "Usual", "averageUtilization": 5, "averageValue": "1"})), &[
                "spec.metrics[0].resource.target.type: Invalid value: \"Usual\": must be either Utilization, Value, or AverageValue",
                "spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization",
            ]),
            (json!({"metrics": [{"type": "Pods"}]}),
                &["spec.metrics[0].pods: Required value: must populate information for the given metric source"]),
            (json!({"metrics": [{"type": "Pods", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}}}]}), &[
                "spec.metrics[0].pods: Required value: must populate information for the given metric source",
            ]),
            (json!({"metrics": [{"type": "Resource", "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "1"}},
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}}}]}),
                &["spec.metrics[0].pods: Forbidden: must populate the given metric source only"]),
            (json!({"metrics": [{"type": "Guess"}]}),
                &["spec.metrics[0].type: Unsupported value: \"Guess\": supported values: \"ContainerResource\", \"External\", \"Object\", \"Pods\", \"Resource\""; 2]),
            (json!({"behavior": {"scaleDown": {"stabilizationWindowSeconds": 3601, "selectPolicy": "Most", "policies": []}}}), &[
                "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
                "spec.behavior.scaleDown.selectPolicy: Unsupported value: \"Most\": supported values: \"Disabled\", \"Max\", \"Min\"",
                "spec.behavior.scaleDown.policies: Required value: must specify at least one Policy",
            ]),
            (json!({"behavior": {"scaleUp": {"policies": [{"type": "Bytes", "value": 0, "periodSeconds": 1801}]}}}), &[
                "spec.behavior.scaleUp.policies[0].type: Unsupported value: \"Bytes\": supported values: \"Percent\", \"Pods\"",
                "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
                "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
            ]),
        ];
        for (change, want) in cases {
            assert_eq!(wrong_in(change.clone()), *want, "{change}");
        }
    }

    #[test]
    fn an_autoscaler_without_a_group_may_stay() {
        let hpa = |kind: &str| {
            let spec = json!({"scaleTargetRef": {"kind": kind, "name": "web"}, "maxReplicas": 10});
            serde_json::from_value(json!({"spec": spec})).unwrap()
        };
        for (before, fine) in [("Deployment", true), ("ReplicaSet", false)] {
            let mut problems = Problems::default();
            autoscaler_update(&mut problems, &hpa("Deployment"), &hpa(before));
            assert_eq!(problems.0.is_empty(), fine, "{before}");
        }
    }
}
