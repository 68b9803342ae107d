//! The page about a HorizontalPodAutoscaler. Mirrors `describeHorizontalPodAutoscalerV2`.

use serde_json::Value;

use super::super::fields::{at, int, list, long_time, plain, text};
use super::page::Page;
use super::simple::head;

pub(super) fn describe(page: &mut Page, hpa: &Value) {
    head(page, hpa);
    page.field("CreationTimestamp", long_time(hpa, "metadata.creationTimestamp").unwrap_or_default());
    let [kind, name] = ["kind", "name"].map(|field| text(at(hpa, "spec.scaleTargetRef"), field));
    page.field("Reference", format!("{kind}/{name}"));
    page.field("Metrics", "( current / target )");
    let statuses = list(hpa, "status.currentMetrics");
    for (i, metric) in list(hpa, "spec.metrics").iter().enumerate() {
        page.line(metric_line(metric, statuses.get(i).unwrap_or(&Value::Null)));
    }
    let min = at(hpa, "spec.minReplicas");
    page.field("Min replicas", if min.is_null() { "<unset>".to_owned() } else { plain(min) });
    page.field("Max replicas", int(hpa, "spec.maxReplicas").to_string());
    if !at(hpa, "spec.behavior").is_null() {
        page.line("Behavior:");
        for (title, path) in [("Scale Up", "spec.behavior.scaleUp"), ("Scale Down", "spec.behavior.scaleDown")] {
            direction(page, title, at(hpa, path));
        }
    }
    let [current, desired] = ["status.currentReplicas", "status.desiredReplicas"].map(|path| int(hpa, path));
    page.field(&format!("{kind} pods"), format!("{current} current / {desired} desired"));
    let conditions = list(hpa, "status.conditions");
    if !conditions.is_empty() {
        page.line("Conditions:\n  Type\tStatus\tReason\tMessage\n  ----\t------\t------\t-------");
    }
    for condition in conditions {
        let [kind, status, reason, message] = ["type", "status", "reason", "message"].map(|f| text(condition, f));
        page.line(format!("  {kind}\t{status}\t{reason}\t{message}"));
    }
}

/// `  resource cpu on pods  (as a percentage of request):<tab>90% (90m) / 50%`.
fn metric_line(metric: &Value, status: &Value) -> String {
    let source = |field: &str| (at(metric, field), at(status, field));
    let (title, (spec, status)) = match text(metric, "type") {
        "Resource" => {
            let both = source("resource");
            (format!("resource {} on pods", text(both.0, "name")), both)
        }
        "ContainerResource" => {
            let both = source("containerResource");
            let [name, container] = ["name", "container"].map(|field| text(both.0, field));
            (format!("resource {name} of container \"{container}\" on pods"), both)
        }
        "Pods" => {
            let both = source("pods");
            (format!("{:?} on pods", text(both.0, "metric.name")), both)
        }
        "Object" => {
            let both = source("object");
            let [kind, name] = ["kind", "name"].map(|field| text(at(both.0, "describedObject"), field));
            (format!("{:?} on {kind}/{name} {}", text(both.0, "metric.name"), kind_of_target(both.0)), both)
        }
        _ => {
            let both = source("external");
            (format!("{:?} {}", text(both.0, "metric.name"), kind_of_target(both.0)), both)
        }
    };
    let current = |field: &str| match at(at(status, "current"), field) {
        Value::Null => "<unknown>".to_owned(),
        value => plain(value),
    };
    let target = at(spec, "target");
    for field in ["averageValue", "value"] {
        if !at(target, field).is_null() {
            return format!("  {title}:\t{} / {}", current(field), text(target, field));
        }
    }
    let now = match current("averageUtilization") {
        unknown if unknown == "<unknown>" => unknown,
        percent => format!("{percent}% ({})", current("averageValue")),
    };
    format!("  {title}  (as a percentage of request):\t{now} / {}%", int(target, "averageUtilization"))
}

fn kind_of_target(source: &Value) -> &'static str {
    if at(source, "target.averageValue").is_null() { "(target value)" } else { "(target average value)" }
}

fn direction(page: &mut Page, title: &str, rules: &Value) {
    if rules.is_null() {
        return;
    }
    page.line(format!("  {title}:"));
    if let Some(seconds) = at(rules, "stabilizationWindowSeconds").as_i64() {
        page.line(format!("    Stabilization Window: {seconds} seconds"));
    }
    let policies = list(rules, "policies");
    if policies.is_empty() {
        return;
    }
    let select = Some(text(rules, "selectPolicy")).filter(|select| !select.is_empty()).unwrap_or("Max");
    page.line(format!("    Select Policy: {select}\n    Policies:"));
    for policy in policies {
        let (kind, value, period) = (text(policy, "type"), int(policy, "value"), int(policy, "periodSeconds"));
        page.line(format!("      - Type: {kind}\tValue: {value}\tPeriod: {period} seconds"));
    }
}
