//! How kubectl shows admission policies and the configurations of webhooks. Mirrors `printValidatingAdmissionPolicy`,
//! `printMutatingAdmissionPolicy` and their like of `pkg/printers/internalversion/printers.go`.

use jiff::Timestamp;
use serde_json::Value;

use crate::kinds::printers::cells::{created, name};
use crate::kinds::printers::fields::{at, list, map, plain, text};
const UNSET: &str = "<unset>";

/// The cells of a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy.
pub fn policy_cells(policy: &Value, now: Timestamp) -> Vec<Value> {
    let kind = match at(policy, "spec.paramKind") {
        Value::Null => UNSET.to_owned(),
        kind => format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind")),
    };
    let parts = list(policy, "spec.validations").len() + list(policy, "spec.mutations").len();
    cells![name(policy), parts, kind, created(policy, now)]
}

/// The cells of the binding of either.
pub fn binding_cells(binding: &Value, now: Timestamp) -> Vec<Value> {
    let policy = text(binding, "spec.policyName");
    cells![name(binding), policy, param_ref(at(binding, "spec.paramRef")), created(binding, now)]
}

/// The cells of a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration.
pub fn webhooks_cells(configuration: &Value, now: Timestamp) -> Vec<Value> {
    let webhooks = list(configuration, "webhooks").len();
    cells![name(configuration), webhooks, created(configuration, now)]
}

/// From here nobody sees whether parameters live in namespaces, so the namespace may be any.
fn param_ref(of: &Value) -> String {
    match (text(of, "namespace"), text(of, "name")) {
        ("", "") if at(of, "selector").is_null() => UNSET.to_owned(),
        ("", "") => go_selector(at(of, "selector")),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

/// A selector as Go prints the message that it is.
fn go_selector(selector: &Value) -> String {
    let labels: String = map(selector, "matchLabels").map(|(key, value)| format!("{key}: {},", plain(value))).collect();
    let expression = |of: &Value| {
        let values: Vec<String> = list(of, "values").iter().map(plain).collect();
        let (key, operator) = (text(of, "key"), text(of, "operator"));
        format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},", values.join(" "))
    };
    let expressions: String = list(selector, "matchExpressions").iter().map(expression).collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
