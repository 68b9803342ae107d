//! What both sorts of admission policies have in common. Mirrors `pkg/apis/admissionregistration`.
//!
//! Left out: an estimate of what an expression may cost.

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{MatchResources, ParamKind, Variable};
use serde_json::Value;

use crate::admissionregistration::matching;
use crate::admissionregistration::matching::match_resources;
use crate::admissionregistration::policy_binding::UNSET;
use crate::printers::cells::{created, name};
use crate::printers::fields::{at, list, text};
use object::selector::names::check_subdomain;
use object::validation::field::{Path, Problems};
use object::validation::names::check_dns_1035_label;
use rules::cel::types::Type;
use rules::expression::Environment;

const SPEC: Path = Path::new("spec");
const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];

/// Fills in what both sorts of policies leave out.
pub fn spec_defaults(failure_policy: &mut Option<String>, constraints: &mut Option<MatchResources>) {
    failure_policy.get_or_insert_with(|| "Fail".into());
    constraints.as_mut().into_iter().for_each(matching::match_resources_defaults);
}

/// What stands first in policies of both sorts.
pub fn head(
    problems: &mut Problems,
    failure_policy: Option<&str>,
    params: Option<&ParamKind>,
    constraints: Option<&MatchResources>,
) {
    problems.one_of(&SPEC.child("failurePolicy"), failure_policy, &FAILURE_POLICIES);
    if let Some(kind) = params {
        param_kind(problems, &SPEC.child("paramKind"), kind);
    }
    let path = SPEC.child("matchConstraints");
    let Some(resources) = constraints else { return problems.required(&path, "") };
    match_resources(problems, &path, resources);
    if resources.resource_rules.iter().flatten().next().is_none() {
        problems.required(&path.child("resourceRules"), "");
    }
}

/// The variables of a policy, and what its expressions may use then.
pub fn variables(problems: &mut Problems, variables: Option<&[Variable]>, has_params: bool) -> Environment {
    let mut environment = Environment::new(has_params, variables.is_some());
    let list = SPEC.child("variables");
    for (i, variable) in variables.into_iter().flatten().enumerate() {
        let path = list.index(i);
        let (name, expression) = (path.child("name"), path.child("expression"));
        if variable.name.trim().is_empty() {
            problems.required(&name, "name is not specified");
        } else if !is_identifier(&variable.name) {
            problems.invalid(&name, variable.name.as_str(), "must be a valid CEL identifier");
        }
        if variable.expression.trim().is_empty() {
            problems.required(&expression, "expression is not specified");
        } else if let Err(why) = environment.add_variable(&variable.name, &variable.expression) {
            problems.invalid(&expression, variable.expression.as_str(), &why);
        }
    }
    environment
}

/// An expression has to be there, to compile, and to give what is wanted.
pub fn compiles(
    problems: &mut Problems,
    path: &Path,
    text: &str,
    missing: &str,
    environment: &Environment,
    gives: &Type,
) {
    if text.trim().is_empty() {
        problems.required(path, missing);
    } else if let Err(why) = environment.compile(text, Some(gives)) {
        problems.invalid(path, text, &why);
    }
}

/// The cells of a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy.
pub fn policy_cells(policy: &Value, now: Timestamp) -> Vec<Value> {
    let kind = match at(policy, "spec.paramKind") {
        Value::Null => UNSET.to_owned(),
        kind => format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind")),
    };
    let parts = list(policy, "spec.validations").len() + list(policy, "spec.mutations").len();
    cells![name(policy), parts, kind, created(policy, now)]
}

/// Whether the language takes it as a name, which it does not its own words.
fn is_identifier(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named = vec![(name.to_owned(), Type::Bool)];
    name.chars().all(plain)
        && name.starts_with(|c: char| !c.is_ascii_digit())
        && !["true", "false", "null"].contains(&name)
        && rules::cel::Program::compile(name, &named).is_ok()
}

fn param_kind(problems: &mut Problems, path: &Path, of: &ParamKind) {
    let (version, kind) = (path.child("apiVersion"), path.child("kind"));
    match of.api_version.as_deref().unwrap_or_default() {
        "" => problems.required(&version, ""),
        text if text.matches('/').count() > 1 => {
            problems.invalid(&version, text, &format!("unexpected GroupVersion string: {text}"));
        }
        text => {
            let (group, number) = text.split_once('/').unwrap_or(("", text));
            let wrong = check_subdomain(group);
            if !group.is_empty() && !wrong.is_empty() {
                problems.invalid(&version, group, &wrong.join(","));
            }
            let wrong = check_dns_1035_label(number);
            if number.is_empty() {
                problems.invalid(&version, text, "version must be specified");
            } else if !wrong.is_empty() {
                problems.invalid(&version, number, &wrong.join(","));
            }
        }
    }
    match of.kind.as_deref().unwrap_or_default() {
        "" => problems.required(&kind, ""),
        text => {
            let wrong = check_dns_1035_label(&text.to_lowercase());
            if !wrong.is_empty() {
                let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                problems.invalid(&kind, text, &why);
            }
        }
    }
}
