//! `autoscaling/v1`: what it has no field for stands in annotations, and comes out of them again.
//!
//! Mirrors also those types of `k8s.io/api/autoscaling/v1` that only its annotations have.

use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::custom::{CustomKind, CustomObject};

/// What `v1` keeps in annotations begins so.
const PREFIX: &str = "autoscaling.alpha.kubernetes.io/";

/// The fields of the status that both versions have.
const STATUS: &[&str] = &["observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"];

/// A field's name in `v1`, and where `v2` has it.
type Field = (&'static str, &'static str);

/// The sources of a metric, in the order of Go's fields. Of what was seen instead of asked for, `target` reads `current`.
const SOURCES: &[(&str, &[Field])] = &[
    (
        "object",
        &[
            ("target", "/describedObject"),
            ("metricName", "/metric/name"),
            ("targetValue", "/target/value"),
            ("selector", "/metric/selector"),
            ("averageValue", "/target/averageValue"),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "/metric/name"),
            ("targetAverageValue", "/target/averageValue"),
            ("selector", "/metric/selector"),
        ],
    ),
    ("resource", RESOURCE),
    ("containerResource", &[RESOURCE[0], RESOURCE[1], RESOURCE[2], ("container", "/container")]),
    (
        "external",
        &[
            ("metricName", "/metric/name"),
            ("metricSelector", "/metric/selector"),
            ("targetValue", "/target/value"),
            ("targetAverageValue", "/target/averageValue"),
        ],
    ),
];
const RESOURCE: &[Field] = &[
    ("name", "/name"),
    ("targetAverageUtilization", "/target/averageUtilization"),
    ("targetAverageValue", "/target/averageValue"),
];
const CONDITION: &[Field] = &[
    ("type", "/type"),
    ("status", "/status"),
    ("lastTransitionTime", "/lastTransitionTime"),
    ("reason", "/reason"),
    ("message", "/message"),
];
/// The annotation has the names of the Go fields, and an empty one is null.
const RULES: &[Field] = &[
    ("StabilizationWindowSeconds", "/stabilizationWindowSeconds"),
    ("SelectPolicy", "/selectPolicy"),
    ("Policies", "/policies"),
    ("Tolerance", "/tolerance"),
];
const POLICY: &[Field] = &[("Type", "/type"), ("Value", "/value"), ("PeriodSeconds", "/periodSeconds")];

/// The object as `v1` shows it.
pub(super) fn to_v1(kind: CustomKind, stored: &HorizontalPodAutoscaler) -> CustomObject {
    let whole = serde_json::to_value(stored).unwrap_or_default();
    let (spec, status) = (&whole["spec"], &whole["status"]);
    let mut content = Map::new();
    let mut shown = picked(spec, &["scaleTargetRef", "minReplicas", "maxReplicas"]);
    let (cpu, others): (Vec<&Value>, Vec<&Value>) = items(&spec["metrics"]).partition(|metric| is_cpu(metric));
    if let Some(cpu) = cpu.last() {
        shown.insert("targetCPUUtilizationPercentage".into(), cpu["resource"]["target"]["averageUtilization"].clone());
    }
    content.insert("spec".into(), Value::Object(shown));
    if status.is_object() {
        let mut shown = picked(status, STATUS);
        shown.entry("currentReplicas").or_insert(json!(0));
        let cpu = items(&status["currentMetrics"]).filter(|metric| metric["resource"]["name"] == "cpu");
        let used = { cpu }.filter_map(|metric| metric.pointer("/resource/current/averageUtilization")).last();
        shown.extend(used.map(|used| ("currentCPUUtilizationPercentage".to_owned(), used.clone())));
        content.insert("status".into(), Value::Object(shown));
    }
    let current: Vec<&Value> = items(&status["currentMetrics"]).collect();
    let conditions: Vec<String> = items(&status["conditions"]).map(|one| written(one, CONDITION, false)).collect();
    let kept = [
        ("metrics", list(others.into_iter().map(|one| metric(one, "target")))),
        ("current-metrics", list(current.into_iter().map(|one| metric(one, "current")))),
        ("conditions", list(conditions.into_iter())),
        ("behavior", spec.get("behavior").map(behavior)),
    ];
    let mut metadata = stored.metadata.clone();
    for (name, text) in kept {
        if let Some(text) = text {
            metadata.annotations.get_or_insert_default().insert(format!("{PREFIX}{name}"), text);
        }
    }
    CustomObject::new(kind, metadata, content)
}

/// The object that a `v1` one shows. An annotation of this conversion that is no valid JSON is lost.
fn from_v1(mut metadata: ObjectMeta, content: &Value) -> Result<HorizontalPodAutoscaler, serde_json::Error> {
    let mut kept = |name: &str| -> Value {
        let text = metadata.annotations.as_mut().and_then(|all| all.remove(&format!("{PREFIX}{name}")));
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    };
    let (metrics, current) = (kept("metrics"), kept("current-metrics"));
    let (conditions, behaves) = (kept("conditions"), kept("behavior"));
    metadata.annotations = metadata.annotations.filter(|all| !all.is_empty());

    let cpu = content["spec"].get("targetCPUUtilizationPercentage").map(|percentage| {
        let target = json!({"type": "Utilization", "averageUtilization": percentage});
        json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    });
    let metrics = cpu.into_iter().chain(items(&metrics).map(|one| metric_back(one, "target")));
    let mut spec: HorizontalPodAutoscalerSpec =
        serde_json::from_value(picked(&content["spec"], &["scaleTargetRef", "minReplicas", "maxReplicas"]).into())?;
    spec.metrics = understood(metrics);
    spec.behavior = serde_json::from_value(behavior_back(&behaves)).unwrap_or_default();

    let mut status = None;
    if content["status"].is_object() {
        let used = content["status"].get("currentCPUUtilizationPercentage").map(
            |used| json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": used}}}),
        );
        let current = understood(items(&current).map(|one| metric_back(one, "current")));
        let plain: HorizontalPodAutoscalerStatus = serde_json::from_value(picked(&content["status"], STATUS).into())?;
        status = Some(HorizontalPodAutoscalerStatus {
            current_metrics: current.or_else(|| understood(used.into_iter())),
            conditions: understood(items(&conditions).cloned()),
            ..plain
        });
    }
    Ok(HorizontalPodAutoscaler { metadata, spec, status })
}

/// The same of `v1` as text.
pub(super) fn to_v2(v1: &Value) -> Result<HorizontalPodAutoscaler, serde_json::Error> {
    let metadata = serde_json::from_value(v1.get("metadata").cloned().unwrap_or_else(|| json!({})))?;
    from_v1(metadata, v1)
}

/// Those of these values that make sense; none instead of an empty list.
fn understood<T: DeserializeOwned>(values: impl Iterator<Item = Value>) -> Option<Vec<T>> {
    let values: Vec<T> = values.filter_map(|value| serde_json::from_value(value).ok()).collect();
    (!values.is_empty()).then_some(values)
}

/// Whether a metric is the only one that `v1` has a field for.
fn is_cpu(metric: &Value) -> bool {
    metric["type"] == "Resource"
        && metric["resource"]["name"] == "cpu"
        && metric.pointer("/resource/target/averageUtilization").is_some()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn picked(from: &Value, names: &[&str]) -> Map<String, Value> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), from.get(name)?.clone()))).collect()
}

/// A JSON list, unless it would be empty.
fn list(items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.collect();
    (!items.is_empty()).then(|| format!("[{}]", items.join(",")))
}

/// JSON with these fields in this order; those that are missing are left out, or null.
fn written(value: &Value, fields: &[(impl AsRef<str>, impl AsRef<str>)], nulls: bool) -> String {
    let mut out = Vec::new();
    for (name, pointer) in fields {
        match value.pointer(pointer.as_ref()) {
            Some(found) => out.push(format!("{:?}:{found}", name.as_ref())),
            None if nulls => out.push(format!("{:?}:null", name.as_ref())),
            None => {}
        }
    }
    format!("{{{}}}", out.join(","))
}

/// The inverse of [`written`]: the value from what it wrote.
fn read(value: &Value, fields: &[(impl AsRef<str>, impl AsRef<str>)]) -> Value {
    let mut whole = json!({});
    for (name, pointer) in fields {
        if let Some(found) = value.get(name.as_ref()).filter(|found| !found.is_null()) {
            *pointer.as_ref().split('/').skip(1).fold(&mut whole, |at, step| &mut at[step]) = found.clone();
        }
    }
    whole
}

/// The fields of a source, of what is asked for (`target`) or of what was seen (`current`).
fn fields_of(source: &[Field], what: &str) -> Vec<(String, String)> {
    let field = |(name, pointer): &Field| match name.strip_prefix("target").filter(|rest| !rest.is_empty()) {
        Some(rest) => (format!("{what}{rest}"), pointer.replacen("target", what, 1)),
        None => ((*name).to_owned(), pointer.replacen("target", what, 1)),
    };
    source.iter().map(field).collect()
}

/// A metric as the annotations have it.
fn metric(metric: &Value, what: &str) -> String {
    let mut out = format!("{{\"type\":{}", metric["type"]);
    for (source, fields) in SOURCES {
        if let Some(value) = metric.get(source) {
            out += &format!(",{source:?}:{}", written(value, &fields_of(fields, what), false));
        }
    }
    out + "}"
}

fn metric_back(kept: &Value, what: &str) -> Value {
    let mut metric = json!({"type": kept["type"]});
    for (source, fields) in SOURCES {
        let Some(value) = kept.get(source).filter(|value| value.is_object()) else { continue };
        let mut value = read(value, &fields_of(fields, what));
        if what == "target" {
            let has = |field: &str| value["target"].get(field).is_some();
            let type_ = match (has("averageUtilization"), has("averageValue")) {
                (true, _) => "Utilization",
                (false, true) => "AverageValue",
                (false, false) => "Value",
            };
            value["target"]["type"] = type_.into();
        }
        metric[source] = value;
    }
    metric
}

fn behavior(behavior: &Value) -> String {
    let rules = |way: &str| match behavior.get(way) {
        None => "null".to_owned(),
        Some(rules) => {
            let policies = list(items(&rules["policies"]).map(|policy| written(policy, POLICY, true)));
            let head = written(rules, &RULES[..2], true);
            let tail = written(rules, &RULES[3..], true);
            let policies = policies.unwrap_or("null".to_owned());
            format!("{},\"Policies\":{policies},{}", head.trim_end_matches('}'), tail.trim_start_matches('{'))
        }
    };
    format!("{{\"ScaleUp\":{},\"ScaleDown\":{}}}", rules("scaleUp"), rules("scaleDown"))
}

fn behavior_back(kept: &Value) -> Value {
    let mut behavior = if kept.is_object() { json!({}) } else { Value::Null };
    for (name, way) in [("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")] {
        let Some(rules) = kept.get(name).filter(|rules| rules.is_object()) else { continue };
        behavior[way] = read(rules, RULES);
        if let Some(policies) = rules["Policies"].as_array() {
            behavior[way]["policies"] = policies.iter().map(|policy| read(policy, POLICY)).collect();
        }
    }
    behavior
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Object, versions};

    const ALL: &str = r#"{"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 1, "maxReplicas": 5,
        "metrics": [
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
            {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
            {"type": "ContainerResource", "containerResource":
                {"container": "app", "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
            {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "1k"}}},
            {"type": "Object", "object": {"describedObject": {"kind": "Ingress", "name": "main"},
                "metric": {"name": "rps"}, "target": {"type": "Value", "value": "10k"}}},
            {"type": "External", "external": {"metric": {"name": "queue", "selector": {"matchLabels": {"a": "b"}}},
                "target": {"type": "AverageValue", "averageValue": "30"}}}],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max",
            "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}}}"#;

    fn stored(spec: &str, status: &Value) -> HorizontalPodAutoscaler {
        let spec: Value = serde_json::from_str(spec).unwrap();
        let whole = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web"}, "spec": spec, "status": status});
        serde_json::from_value(whole).unwrap()
    }

    fn v1_of(stored: &HorizontalPodAutoscaler) -> Value {
        let Some(Kind::Custom(kind)) = versions::other(Kind::HorizontalPodAutoscaler) else {
            panic!("it has another version")
        };
        Object::Custom(to_v1(kind, stored).into()).to_json()
    }

    fn back(v1: &Value) -> HorizontalPodAutoscaler {
        from_v1(serde_json::from_value(v1["metadata"].clone()).unwrap(), v1).unwrap()
    }

    #[test]
    fn nothing_is_lost_on_the_way_there_and_back() {
        let status = json!({"observedGeneration": 3, "currentReplicas": 2, "desiredReplicas": 3,
            "currentMetrics": [{"type": "Resource", "resource":
                {"name": "cpu", "current": {"averageUtilization": 70, "averageValue": "70m"}}}],
            "conditions": [{"type": "AbleToScale", "status": "True", "reason": "R", "message": "m",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
        let whole = stored(ALL, &status);
        let v1 = v1_of(&whole);
        assert_eq!(back(&v1), whole);
        assert_eq!(v1["apiVersion"], "autoscaling/v1");
        assert_eq!(v1["spec"]["targetCPUUtilizationPercentage"], 50);
        assert_eq!(v1["status"]["currentCPUUtilizationPercentage"], 70);
        let annotation = |name: &str| v1["metadata"]["annotations"][format!("{PREFIX}{name}")].as_str().unwrap();
        assert!(
            annotation("metrics")
                .starts_with(r#"[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},"#),
            "{}",
            annotation("metrics")
        );
        assert_eq!(
            annotation("current-metrics"),
            r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":70,"currentAverageValue":"70m"}}]"#
        );
        assert_eq!(
            annotation("behavior"),
            r#"{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null}}"#
        );
        assert!(
            annotation("conditions").starts_with(r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"#)
        );
    }

    #[test]
    fn a_plain_one_has_no_annotations() {
        let spec = json!({"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 5,
            "targetCPUUtilizationPercentage": 80});
        let plain = back(&json!({"metadata": {"name": "web"}, "spec": spec}));
        let v1 = v1_of(&plain);
        assert_eq!((&v1["spec"], v1["metadata"].get("annotations")), (&spec, None));
    }

    #[test]
    fn annotations_that_make_no_sense_do_no_harm() {
        for text in
            ["", "{", "[1, {}]", "[{\"type\": 1, \"resource\": 2}]", "null", "{\"ScaleUp\": [], \"ScaleDown\": 3}"]
        {
            let names = ["metrics", "current-metrics", "conditions", "behavior"];
            let annotations: Map<String, Value> =
                names.iter().map(|name| (format!("{PREFIX}{name}"), text.into())).collect();
            let v1 = json!({"metadata": {"annotations": annotations}, "status": {"desiredReplicas": 1, "currentReplicas": 1},
                "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 5}});
            let read = from_v1(serde_json::from_value(v1["metadata"].clone()).unwrap(), &v1);
            assert!(read.is_ok(), "{text}: {read:?}");
        }
    }
}
