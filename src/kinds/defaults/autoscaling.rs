//! The defaults of HorizontalPodAutoscalers. Mirrors `pkg/apis/autoscaling/v2/defaults.go`.

use k8s_openapi::api::autoscaling::v2::{HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscaler, MetricSpec, MetricTarget, ResourceMetricSource};

use crate::kinds::defaults::{or, or_text};

/// Without a metric, an autoscaler keeps the CPU at this share of what is requested.
const UTILIZATION_PERCENT: i32 = 80;
/// The period that the usual policies look back, in seconds.
const PERIOD_SECONDS: i32 = 15;

pub fn autoscaler(hpa: &mut HorizontalPodAutoscaler) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_left_out_is_the_usual() {
        let target = json!({"kind": "Deployment", "name": "web"});
        let mut hpa: HorizontalPodAutoscaler =
            serde_json::from_value(json!({"spec": {"scaleTargetRef": target, "maxReplicas": 3}})).unwrap();
        autoscaler(&mut hpa);
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
        autoscaler(&mut hpa);
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
