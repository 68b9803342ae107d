//! HorizontalPodAutoscalers. Mirrors `pkg/registry/autoscaling`, and `pkg/apis/autoscaling/v2/defaults.go`.

use jiff::Timestamp;
use k8s_openapi::api::autoscaling::v2::{
    HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscaler, MetricSpec, MetricTarget, ResourceMetricSource,
};
use serde_json::Value;

use crate::defaults::fields::{or, or_text};
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{at, int, list, plain, text};
use crate::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};

pub mod validation;

/// What the server knows of HorizontalPodAutoscalers.
pub const ROW: Row<HorizontalPodAutoscaler> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|hpa, _| hpa.status = Some(Default::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::autoscaler,
        update: validation::autoscaler_update,
        status: |problems, new, _| validation::autoscaler_status(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        table: Table {
            columns: &[
                NAME,
                column("Reference"),
                column("Targets"),
                column("MinPods"),
                column("MaxPods"),
                column("Replicas"),
                AGE,
            ],
            cells,
        },
        ..Facts::new("/registry/horizontalpodautoscalers/", 16)
    })
};

/// Without a metric, an autoscaler keeps the CPU at this share of what is requested.
const UTILIZATION_PERCENT: i32 = 80;

/// The period that the usual policies look back, in seconds.
const PERIOD_SECONDS: i32 = 15;

/// How many metrics are shown before the rest is only counted.
const METRICS_SHOWN: usize = 2;

fn defaults(hpa: &mut HorizontalPodAutoscaler) {
    let spec = &mut hpa.spec;
    or(&mut spec.min_replicas, 1);
    if spec.metrics.as_ref().is_none_or(Vec::is_empty) {
        spec.metrics = Some(vec![usual_metric()]);
    }
    let Some(behavior) = &mut spec.behavior else { return };
    let up = behavior.scale_up.get_or_insert_default();
    or(&mut up.stabilization_window_seconds, 0);
    rules(up, &[("Pods", 4), ("Percent", 100)]);
    // How long a scale down waits is the controller's default, and stays unsaid.
    rules(behavior.scale_down.get_or_insert_default(), &[("Percent", 100)]);
}

fn cells(hpa: &Value, now: Timestamp) -> Vec<Value> {
    let [kind, target] = ["kind", "name"].map(|field| text(at(hpa, "spec.scaleTargetRef"), field));
    let min = at(hpa, "spec.minReplicas");
    cells![
        name(hpa),
        format!("{kind}/{target}"),
        autoscaler_targets(hpa),
        if min.is_null() { "<unset>".to_owned() } else { plain(min) },
        int(hpa, "spec.maxReplicas"),
        int(hpa, "status.currentReplicas"),
        created(hpa, now),
    ]
}

fn rules(rules: &mut HPAScalingRules, usual: &[(&str, i32)]) {
    or_text(&mut rules.select_policy, "Max");
    let policy = |(kind, value): &(&str, i32)| HPAScalingPolicy {
        type_: (*kind).to_owned(),
        value: *value,
        period_seconds: PERIOD_SECONDS,
    };
    or(&mut rules.policies, usual.iter().map(policy).collect());
}

fn usual_metric() -> MetricSpec {
    let target = MetricTarget {
        type_: "Utilization".to_owned(),
        average_utilization: Some(UTILIZATION_PERCENT),
        ..MetricTarget::default()
    };
    let resource = Some(ResourceMetricSource { name: "cpu".to_owned(), target });
    MetricSpec { type_: "Resource".to_owned(), resource, ..MetricSpec::default() }
}

/// `cpu: 90%/50%, memory: <unknown>/200Mi + 1 more...`. Mirrors `formatHPAMetrics`.
fn autoscaler_targets(hpa: &Value) -> String {
    let (metrics, statuses) = (list(hpa, "spec.metrics"), list(hpa, "status.currentMetrics"));
    let shown = |(i, metric): (usize, &Value)| {
        let (field, average) = match text(metric, "type") {
            "Resource" => ("resource", ""),
            "ContainerResource" => ("containerResource", ""),
            "Pods" => ("pods", ""),
            "Object" => ("object", " (avg)"),
            _ => ("external", " (avg)"),
        };
        let (source, status) = (at(metric, field), at(statuses.get(i).unwrap_or(&Value::Null), field));
        let of = |field: &str, unit: &str| {
            let part = |value: &Value| if value.is_null() { "<unknown>".to_owned() } else { plain(value) + unit };
            format!("{}/{}", part(at(at(status, "current"), field)), part(at(at(source, "target"), field)))
        };
        let is_set = |field: &str| !at(at(source, "target"), field).is_null();
        let values = match () {
            () if is_set("averageValue") => of("averageValue", "") + average,
            () if is_set("value") => of("value", ""),
            () => of("averageUtilization", "%"),
        };
        if average.is_empty() && field != "pods" { format!("{}: {values}", text(source, "name")) } else { values }
    };
    let all = metrics.iter().enumerate().take(METRICS_SHOWN).map(shown).collect::<Vec<_>>().join(", ");
    match metrics.len() {
        0 => "<none>".to_owned(),
        count if count > METRICS_SHOWN => format!("{all} + {} more...", count - METRICS_SHOWN),
        _ => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_left_out_is_the_usual() {
        let target = json!({"kind": "Deployment", "name": "web"});
        let mut hpa: HorizontalPodAutoscaler =
            serde_json::from_value(json!({"spec": {"scaleTargetRef": target, "maxReplicas": 3}})).unwrap();
        defaults(&mut hpa);
        let want = json!({
            "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3,
            "metrics": [{"type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}],
        });
        assert_eq!(json!(hpa.spec), want);

        hpa.spec.behavior = serde_json::from_value(
            json!({"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}),
        )
        .unwrap();
        defaults(&mut hpa);
        let up = json!([
            {"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15},
        ]);
        let want = json!({
            "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": up},
            "scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]},
        });
        assert_eq!(json!(hpa.spec.behavior), want);
    }
}
