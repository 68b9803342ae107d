//! ValidatingAdmissionPolicies and their bindings. Mirrors `pkg/apis/admissionregistration/validation`.
//!
//! Left out: an estimate of what an expression may cost.

use k8s_openapi::api::admissionregistration::v1::{AuditAnnotation, MatchCondition, MatchResources, NamedRuleWithOperations, ParamKind, ParamRef, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicySpec, Validation, Variable};

use crate::apiserver::admission::policy::compiled::Environment;
use crate::apiserver::cel::types::Type;
use crate::kinds::validation::metadata::label_selector;
use crate::object::Accessor;
use crate::object::selector::names::{check_label_key, check_subdomain};
use crate::object::validation::field::{Json, Path, Problems};
use crate::object::validation::names::{check_dns_1035_label, check_path_segment};

pub mod mutating;

const SPEC: Path = Path::new("spec");
const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
const ANNOTATIONS_MAX: usize = 20;
const CONDITIONS_MAX: usize = 64;
const VALUE_MAX: usize = 5 * 1024;

/// The spec of a policy.
pub fn policy(problems: &mut Problems, policy: &ValidatingAdmissionPolicy) {
    let default = ValidatingAdmissionPolicySpec::default();
    let spec = policy.spec.as_ref().unwrap_or(&default);
    head(problems, spec.failure_policy.as_deref(), spec.param_kind.as_ref(), spec.match_constraints.as_ref());
    let has_params = spec.param_kind.is_some();
    let conditions = spec.match_conditions.as_deref().unwrap_or_default();
    match_conditions(problems, &SPEC.child("matchConditions"), conditions, has_params);
    let environment = variables(problems, spec.variables.as_deref(), has_params);
    let (checks, audit) = (SPEC.child("validations"), SPEC.child("auditAnnotations"));
    let validations = spec.validations.as_deref().unwrap_or_default();
    let annotations = spec.audit_annotations.as_deref().unwrap_or_default();
    if validations.is_empty() && annotations.is_empty() {
        let why = "validations or auditAnnotations must contain at least one item";
        problems.required(&checks, why);
        problems.required(&audit, why);
    }
    for (i, one) in validations.iter().enumerate() {
        validation(problems, &checks.index(i), one, &environment);
    }
    let name = policy.metadata.name();
    audit_annotations(problems, &audit, name, annotations, &environment);
}

/// What stands first in policies of both sorts.
fn head(
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
fn variables(problems: &mut Problems, variables: Option<&[Variable]>, has_params: bool) -> Environment {
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

/// Whether the language takes it as a name, which it does not its own words.
fn is_identifier(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named = vec![(name.to_owned(), Type::Bool)];
    name.chars().all(plain)
        && name.starts_with(|c: char| !c.is_ascii_digit())
        && !["true", "false", "null"].contains(&name)
        && crate::apiserver::cel::Program::compile(name, &named).is_ok()
}

/// What must hold for a policy or a webhook to be asked.
pub fn match_conditions(problems: &mut Problems, path: &Path, conditions: &[MatchCondition], has_params: bool) {
    if conditions.len() > CONDITIONS_MAX {
        problems.too_many(path, conditions.len(), CONDITIONS_MAX);
    }
    let environment = Environment::new(has_params, false);
    for (i, condition) in conditions.iter().enumerate() {
        let path = path.index(i);
        let (name, expression) = (path.child("name"), condition.expression.trim());
        compiles(problems, &path.child("expression"), expression, "", &environment, &Type::Bool);
        if condition.name.is_empty() {
            problems.required(&name, "");
        } else {
            problems.all_invalid(&name, &condition.name, check_label_key(&condition.name));
        }
        if !condition.name.is_empty() && conditions[..i].iter().any(|before| before.name == condition.name) {
            problems.duplicate(&name, condition.name.as_str());
        }
    }
}

fn compiles(problems: &mut Problems, path: &Path, text: &str, missing: &str, environment: &Environment, gives: &Type) {
    if text.trim().is_empty() {
        problems.required(path, missing);
    } else if let Err(why) = environment.compile(text, Some(gives)) {
        problems.invalid(path, text, &why);
    }
}

fn validation(problems: &mut Problems, path: &Path, validation: &Validation, environment: &Environment) {
    const MISSING: &str = "expression is not specified";
    compiles(problems, &path.child("expression"), &validation.expression, MISSING, environment, &Type::Bool);
    let made = validation.message_expression.as_deref().unwrap_or_default();
    let at = path.child("messageExpression");
    if !made.is_empty() && made.trim().is_empty() {
        problems.invalid(&at, made, "must be non-empty if specified");
    } else if !made.is_empty() {
        compiles(problems, &at, made, "", environment, &Type::String);
    }
    let message = validation.message.as_deref().unwrap_or_default();
    if !message.is_empty() && message.trim().is_empty() {
        problems.invalid(&path.child("message"), message, "must be non-empty if specified");
    } else if message.trim().contains(['\n', '\r']) {
        problems.invalid(&path.child("message"), message, "must not contain line breaks");
    }
    if let Some(reason) = validation.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
        problems.not_supported(&path.child("reason"), reason, &REASONS);
    }
}

fn audit_annotations(
    problems: &mut Problems,
    path: &Path,
    name: &str,
    annotations: &[AuditAnnotation],
    environment: &Environment,
) {
    if annotations.len() > ANNOTATIONS_MAX {
        let why = format!("must not have more than {ANNOTATIONS_MAX} auditAnnotations");
        problems.invalid(path, Json(&annotations), &why);
    }
    for (i, annotation) in annotations.iter().enumerate() {
        let path = path.index(i);
        let (key, value) = (path.child("key"), path.child("valueExpression"));
        let whole = format!("{name}/{}", annotation.key);
        problems.all_invalid(&key, &whole, check_label_key(&whole));
        let text = annotation.value_expression.trim();
        if text.is_empty() {
            problems.required(&value, "valueExpression is not specified");
        } else if text.len() > VALUE_MAX {
            problems.required(&value, &format!("must not exceed {VALUE_MAX} bytes in length"));
        } else {
            match environment.compile(text, None) {
                Ok(program) if matches!(program.gives, Type::String | Type::Null | Type::Dyn) => {}
                Ok(program) => {
                    let why = format!("must evaluate to one of [string null_type] but got {}", program.gives);
                    problems.invalid(&value, annotation.value_expression.as_str(), &why);
                }
                Err(why) => problems.invalid(&value, annotation.value_expression.as_str(), &why),
            }
        }
        if annotations[..i].iter().any(|before| before.key == annotation.key) {
            problems.duplicate(&key, annotation.key.as_str());
        }
    }
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

fn match_resources(problems: &mut Problems, path: &Path, resources: &MatchResources) {
    problems.one_of(&path.child("matchPolicy"), resources.match_policy.as_deref(), &["Equivalent", "Exact"]);
    let selectors =
        [("namespaceSelector", &resources.namespace_selector), ("objectSelector", &resources.object_selector)];
    for (field, selector) in selectors {
        let path = path.child(field);
        match selector {
            None => problems.required(&path, ""),
            Some(selector) => label_selector(problems, &path, selector),
        }
    }
    let lists =
        [("resourceRules", &resources.resource_rules), ("excludeResourceRules", &resources.exclude_resource_rules)];
    for (field, rules) in lists {
        let list = path.child(field);
        for (i, one) in rules.iter().flatten().enumerate() {
            rule(problems, &list.index(i), one);
        }
    }
}

/// Mirrors `validateNamedRuleWithOperations` and `validateRule`.
pub fn rule(problems: &mut Problems, path: &Path, rule: &NamedRuleWithOperations) {
    let names = path.child("resourceNames");
    let all = rule.resource_names.as_deref().unwrap_or_default();
    for (i, name) in all.iter().enumerate() {
        problems.all_invalid(&names.index(i), name, check_path_segment(name));
        if all[..i].contains(name) {
            problems.duplicate(&names.index(i), name.as_str());
        }
    }
    let operations = rule.operations.as_deref().unwrap_or_default();
    let at = path.child("operations");
    if operations.is_empty() {
        problems.required(&at, "");
    }
    stars(problems, &at, operations, "operations");
    for (i, operation) in operations.iter().enumerate().filter(|(_, there)| !OPERATIONS.contains(&there.as_str())) {
        problems.not_supported(&at.index(i), operation.as_str(), &OPERATIONS);
    }
    for (field, list, what) in
        [("apiGroups", &rule.api_groups, "API groups"), ("apiVersions", &rule.api_versions, "API versions")]
    {
        let (at, list) = (path.child(field), list.as_deref().unwrap_or_default());
        if list.is_empty() {
            problems.required(&at, "");
        }
        stars(problems, &at, list, what);
        for (i, _) in list.iter().enumerate().filter(|(_, text)| field == "apiVersions" && text.is_empty()) {
            problems.required(&at.index(i), "");
        }
    }
    resources(problems, &path.child("resources"), rule.resources.as_deref().unwrap_or_default());
    if let Some(scope) = rule.scope.as_deref().filter(|scope| !SCOPES.contains(scope)) {
        problems.not_supported(&path.child("scope"), scope, &SCOPES);
    }
}

fn stars(problems: &mut Problems, path: &Path, list: &[String], what: &str) {
    if list.len() > 1 && list.iter().any(|there| there == "*") {
        problems.invalid(path, Json(&list), &format!("if '*' is present, must not specify other {what}"));
    }
}

/// Mirrors `validateResources`: what a star covers may not follow it.
fn resources(problems: &mut Problems, path: &Path, resources: &[String]) {
    if resources.is_empty() {
        problems.required(path, "");
    }
    for (i, resource) in resources.iter().enumerate() {
        if resource.is_empty() {
            problems.required(&path.index(i), "");
        }
        let Some((of, part)) = resource.split_once('/') else { continue };
        for covers in [format!("{of}/*"), format!("*/{part}")] {
            if resources[..i].contains(&covers) {
                let why = format!("if '{covers}' is present, must not specify {resource}");
                problems.invalid(&path.index(i), resource.as_str(), &why);
            }
        }
    }
    let has = |wanted: &str| resources.iter().any(|there| there == wanted);
    if resources.len() > 1 && has("*/*") {
        problems.invalid(path, Json(&resources), "if '*/*' is present, must not specify other resources");
    }
    // Only the last resource that is no part of another is looked at.
    let whole = resources.iter().rev().find(|there| !there.is_empty() && !there.contains('/'));
    if has("*") && whole.is_some_and(|whole| whole != "*") {
        let why = "if '*' is present, must not specify other resources without subresources";
        problems.invalid(path, Json(&resources), why);
    }
}

/// The spec of a binding.
pub fn binding(problems: &mut Problems, binding: &ValidatingAdmissionPolicyBinding) {
    let spec = &binding.spec;
    binding_head(problems, &spec.policy_name, spec.param_ref.as_ref());
    if let Some(resources) = &spec.match_resources {
        match_resources(problems, &SPEC.child("matchResources"), resources);
    }
    actions(problems, &spec.validation_actions);
}

/// What stands first in bindings of both sorts.
fn binding_head(problems: &mut Problems, policy_name: &str, params: Option<&ParamRef>) {
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

fn actions(problems: &mut Problems, actions: &[String]) {
    let path = SPEC.child("validationActions");
    for (i, action) in actions.iter().enumerate() {
        if !ACTIONS.contains(&action.as_str()) {
            problems.not_supported(&path.index(i), action.as_str(), &ACTIONS);
        }
        if actions[..i].contains(action) {
            problems.duplicate(&path.index(i), action.as_str());
        }
    }
    let has = |wanted: &str| actions.iter().any(|action| action == wanted);
    if has("Deny") && has("Warn") {
        const WHY: &str = "must not contain both Deny and Warn (repeating the same validation failure information in the \
                           API response and headers serves no purpose)";
        problems.invalid(&path, Json(&actions), WHY);
    }
    if actions.is_empty() {
        problems.required(&path, "at least one validation action is required");
    }
}
