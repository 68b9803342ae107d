//! What policies and webhooks are about: rules, resources, match conditions.

use k8s_openapi::api::admissionregistration::v1::{MatchCondition, MatchResources, NamedRuleWithOperations};

use crate::admissionregistration::policy::compiles;
use crate::validation::metadata::label_selector;
use object::selector::names::check_label_key;
use object::validation::field::{Json, Path, Problems};
use object::validation::names::check_path_segment;
use rules::cel::types::Type;
use rules::expression::Environment;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
const CONDITIONS_MAX: usize = 64;

/// Fills in what resources a policy or a binding is about.
pub fn match_resources_defaults(resources: &mut MatchResources) {
    resources.match_policy.get_or_insert_with(|| "Equivalent".into());
    resources.namespace_selector.get_or_insert_default();
    resources.object_selector.get_or_insert_default();
    for rules in [&mut resources.resource_rules, &mut resources.exclude_resource_rules] {
        for rule in rules.iter_mut().flatten() {
            rule.scope.get_or_insert_with(|| "*".into());
        }
    }
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

/// What resources a policy or a binding is about.
pub fn match_resources(problems: &mut Problems, path: &Path, resources: &MatchResources) {
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

/// Mirrors `validateResources`: what a star covers may not follow it.
pub fn resources(problems: &mut Problems, path: &Path, resources: &[String]) {
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

fn stars(problems: &mut Problems, path: &Path, list: &[String], what: &str) {
    if list.len() > 1 && list.iter().any(|there| there == "*") {
        problems.invalid(path, Json(&list), &format!("if '*' is present, must not specify other {what}"));
    }
}
