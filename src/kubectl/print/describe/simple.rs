//! The pages about kinds with little to say.

use serde_json::Value;

use super::super::fields::{at, flag, int, labels, list, long_time, map, plain, selector, text};
use super::page::Page;
use object::base64;
use object::well_known::SERVICE_ACCOUNT_TOKEN;

/// Name, namespace, labels and annotations, with which most pages begin.
pub(super) fn head(page: &mut Page, object: &Value) {
    page.name(object);
    page.namespace(object);
    page.labels("Labels", object, "metadata.labels");
    page.annotations("Annotations", object, "metadata.annotations");
}

pub(super) fn describe_namespace(page: &mut Page, namespace: &Value) {
    page.head(namespace);
    page.field("Status", text(namespace, "status.phase"));
    let conditions = list(namespace, "status.conditions");
    if !conditions.is_empty() {
        page.line("Conditions:");
        page.line("  Type\tStatus\tLastTransitionTime\tReason\tMessage");
        page.line("  ----\t------\t------------------\t------\t-------");
    }
    for condition in conditions {
        let [kind, status, reason, message] = ["type", "status", "reason", "message"].map(|f| text(condition, f));
        let change = long_time(condition, "lastTransitionTime").unwrap_or_default();
        page.line(format!("  {kind}\t{status}\t{change}\t{reason}\t{message}"));
    }
}

/// Mirrors `PodDisruptionBudgetDescriber`.
pub(super) fn describe_budget(page: &mut Page, budget: &Value) {
    page.name(budget);
    page.namespace(budget);
    // Of the two, one is given.
    match (at(budget, "spec.minAvailable"), at(budget, "spec.maxUnavailable")) {
        (Value::Null, Value::Null) => {}
        (Value::Null, max) => page.field("Max unavailable", plain(max)),
        (min, _) => page.field("Min available", plain(min)),
    }
    let selector =
        if at(budget, "spec.selector").is_null() { "<unset>".to_owned() } else { selector(budget, "spec.selector") };
    page.field("Selector", selector);
    page.line("Status:");
    for (title, field) in [
        ("Allowed disruptions", "disruptionsAllowed"),
        ("Current", "currentHealthy"),
        ("Desired", "desiredHealthy"),
        ("Total", "expectedPods"),
    ] {
        page.line(format!("    {title}:\t{}", int(at(budget, "status"), field)));
    }
}

pub(super) fn describe_priority_class(page: &mut Page, class: &Value) {
    page.name(class);
    page.field("Value", int(class, "value").to_string());
    page.field("GlobalDefault", flag(class, "globalDefault").to_string());
    page.field("PreemptionPolicy", text(class, "preemptionPolicy"));
    page.field("Description", text(class, "description"));
    page.field("Annotations", labels(class, "metadata.annotations"));
}

pub(super) fn describe_config_map(page: &mut Page, config: &Value) {
    head(page, config);
    page.line("\nData\n====");
    map(config, "data").for_each(|(key, value)| page.line(format!("{key}:\n----\n{}\n", plain(value))));
    page.line("\nBinaryData\n====");
    map(config, "binaryData").for_each(|(key, value)| page.line(format!("{key}: {} bytes", decoded_size(value))));
    page.line("");
}

pub(super) fn describe_secret(page: &mut Page, secret: &Value) {
    head(page, secret);
    page.line(format!("\nType:\t{}\n\nData\n====", text(secret, "type")));
    for (key, value) in map(secret, "data") {
        let shown = match key.as_str() {
            "token" if text(secret, "type") == SERVICE_ACCOUNT_TOKEN => decoded(value),
            _ => format!("{} bytes", decoded_size(value)),
        };
        page.field(key, shown);
    }
}

/// The text that base64 stands for.
fn decoded(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default().trim_end_matches('=').replace('+', "-").replace('/', "_");
    String::from_utf8_lossy(&base64::decode(&text).unwrap_or_default()).into_owned()
}

/// How many bytes base64 stands for.
fn decoded_size(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default().trim_end_matches('=');
    text.len() * 3 / 4
}

pub(super) fn describe_service_account(page: &mut Page, account: &Value) {
    head(page, account);
    let names: Vec<String> =
        list(account, "imagePullSecrets").iter().map(|secret| text(secret, "name").to_owned()).collect();
    page.lines("Image pull secrets", &names);
}
