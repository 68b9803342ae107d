//! What the bindings of both sorts have in common.

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::ParamRef;
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{at, list, map, plain, text};
use crate::row::Table;
use crate::validation::metadata::label_selector;
use object::selector::names::check_subdomain;
use object::validation::field::{Path, Problems};
use object::validation::names::check_path_segment;

const SPEC: Path = Path::new("spec");

/// How a table shows a field that is not set.
pub const UNSET: &str = "<unset>";

/// What stands first in bindings of both sorts.
pub fn binding_head(problems: &mut Problems, policy_name: &str, params: Option<&ParamRef>) {
    let policy = SPEC.child("policyName");
    match policy_name {
        "" => problems.required(&policy, ""),
        name => problems.all_invalid(&policy, name, check_subdomain(name)),
    }
    if let Some(wanted) = params {
        param_ref(problems, &SPEC.child("paramRef"), wanted);
    }
}

fn param_ref(problems: &mut Problems, path: &Path, wanted: &ParamRef) {
    let name = wanted.name.as_deref().unwrap_or_default();
    const BOTH: &str = "name and selector are mutually exclusive";
    problems.all_invalid(&path.child("name"), name, check_path_segment(name));
    if !name.is_empty() && wanted.selector.is_some() {
        problems.forbidden(&path.child("name"), BOTH);
    }
    if let Some(selector) = &wanted.selector {
        label_selector(problems, &path.child("selector"), selector);
        if !name.is_empty() {
            problems.forbidden(&path.child("selector"), BOTH);
        }
    }
    if name.is_empty() && wanted.selector.is_none() {
        problems.required(path, "one of name or selector must be specified");
    }
    let action = path.child("parameterNotFoundAction");
    problems.one_of(&action, wanted.parameter_not_found_action.as_deref(), &["Deny", "Allow"]);
}

/// The table of the bindings of either.
pub const TABLE: Table = Table { columns: &[NAME, column("PolicyName"), column("ParamRef"), AGE], cells };

fn cells(binding: &Value, now: Timestamp) -> Vec<Value> {
    let policy = text(binding, "spec.policyName");
    cells![name(binding), policy, shown_param_ref(at(binding, "spec.paramRef")), created(binding, now)]
}

/// Whether the parameters' kind is namespaced is not known here, so the namespace may be any.
fn shown_param_ref(of: &Value) -> String {
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
