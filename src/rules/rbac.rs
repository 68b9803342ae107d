//! Which rules of RBAC give which rights: what one covers of another, and what is missing.
//!
//! Mirrors `k8s.io/component-helpers/auth/rbac/validation` and `pkg/registry/rbac/validation/rule.go`.

use k8s_openapi::api::rbac::v1::PolicyRule;

/// What the wanted rules give and those that are held do not, taken apart. Mirrors `Covers`.
pub fn uncovered(held: &[PolicyRule], wanted: &[PolicyRule]) -> Vec<PolicyRule> {
    let single = wanted.iter().flat_map(broken_down);
    single.filter(|rule| !held.iter().any(|held| covers(held, rule))).collect()
}

/// Rules of one verb on one thing each. Mirrors `BreakdownRule`.
fn broken_down(rule: &PolicyRule) -> Vec<PolicyRule> {
    let list = |of: &Option<Vec<String>>| of.clone().unwrap_or_default();
    let one = |item: &String| Some(vec![item.clone()]);
    let mut single = Vec::new();
    for group in &list(&rule.api_groups) {
        for resource in &list(&rule.resources) {
            for verb in &rule.verbs {
                let of = PolicyRule {
                    api_groups: one(group),
                    resources: one(resource),
                    verbs: vec![verb.clone()],
                    ..PolicyRule::default()
                };
                match &list(&rule.resource_names)[..] {
                    [] => single.push(of),
                    names => {
                        single.extend(names.iter().map(|name| PolicyRule { resource_names: one(name), ..of.clone() }))
                    }
                }
            }
        }
    }
    for url in &list(&rule.non_resource_urls) {
        let of = |verb: &String| PolicyRule {
            non_resource_urls: one(url),
            verbs: vec![verb.clone()],
            ..PolicyRule::default()
        };
        single.extend(rule.verbs.iter().map(of));
    }
    single
}

/// Whether a rule gives all that a broken down one does. Mirrors `ruleCovers`.
fn covers(held: &PolicyRule, wanted: &PolicyRule) -> bool {
    fn list(of: &Option<Vec<String>>) -> &[String] {
        of.as_deref().unwrap_or_default()
    }
    let all = |held: &[String], wanted: &[String]| {
        held.iter().any(|item| item == "*") || wanted.iter().all(|item| held.contains(item))
    };
    let url = |wanted: &String| {
        list(&held.non_resource_urls)
            .iter()
            .any(|held| held == wanted || held.strip_suffix('*').is_some_and(|begin| wanted.starts_with(begin)))
    };
    let names = list(&held.resource_names);
    let wanted_names = list(&wanted.resource_names);
    all(&held.verbs, &wanted.verbs)
        && all(list(&held.api_groups), list(&wanted.api_groups))
        && list(&wanted.resources).iter().all(|resource| matches_resource(list(&held.resources), resource))
        && list(&wanted.non_resource_urls).iter().all(url)
        && (names.is_empty() || !wanted_names.is_empty() && wanted_names.iter().all(|name| names.contains(name)))
}

/// `*`, `pods`, `pods/status`, or `*/status`. A rule on `pods` says nothing about `pods/status`.
pub fn matches_resource(resources: &[String], wanted: &str) -> bool {
    let any_parent = |resource: &String| {
        resource.strip_prefix("*/").is_some_and(|sub| wanted.split_once('/').is_some_and(|(_, of)| of == sub))
    };
    resources.iter().any(|resource| resource == "*" || resource == wanted || any_parent(resource))
}
