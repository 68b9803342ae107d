//! Roles and their bindings. Mirrors `pkg/apis/rbac/validation`.

use k8s_openapi::api::rbac::v1::{AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};

use crate::kinds::validation::metadata::label_selector;
use crate::object::selector::Selector;
use crate::object::selector::names::check_subdomain;
use crate::object::validation::field::{Json, Literal, Path, Problems};
use crate::object::validation::internal::Internal;
use crate::object::validation::names::check_path_segment;
use crate::object::well_known::RBAC;

/// A Role: rules for objects in its namespace.
pub fn role(problems: &mut Problems, role: &Role) {
    rules(problems, role.rules.as_deref().unwrap_or_default(), true);
}

/// A ClusterRole.
pub fn cluster_role(problems: &mut Problems, role: &ClusterRole) {
    rules(problems, role.rules.as_deref().unwrap_or_default(), false);
    role.aggregation_rule.as_ref().into_iter().for_each(|rule| aggregation(problems, rule));
}

/// A RoleBinding.
pub fn role_binding(problems: &mut Problems, of: &RoleBinding) {
    binding(problems, &of.role_ref, of.subjects.as_deref().unwrap_or_default(), true);
}

/// A change of one.
pub fn role_binding_update(problems: &mut Problems, new: &RoleBinding, old: &RoleBinding) {
    role_binding(problems, new);
    same_role(problems, &new.role_ref, &old.role_ref);
}

/// A ClusterRoleBinding.
pub fn cluster_role_binding(problems: &mut Problems, of: &ClusterRoleBinding) {
    binding(problems, &of.role_ref, of.subjects.as_deref().unwrap_or_default(), false);
}

/// A change of one.
pub fn cluster_role_binding_update(problems: &mut Problems, new: &ClusterRoleBinding, old: &ClusterRoleBinding) {
    cluster_role_binding(problems, new);
    same_role(problems, &new.role_ref, &old.role_ref);
}

/// What a Role or ClusterRole allows. Mirrors `ValidatePolicyRule`.
fn rules(problems: &mut Problems, rules: &[PolicyRule], namespaced: bool) {
    let list = Path::new("rules");
    let len = |values: &Option<Vec<String>>| values.as_ref().map_or(0, Vec::len);
    for (i, rule) in rules.iter().enumerate() {
        let path = list.index(i);
        if rule.verbs.is_empty() {
            problems.required(&path.child("verbs"), "verbs must contain at least one value");
        }
        if len(&rule.non_resource_urls) > 0 {
            let path = path.child("nonResourceURLs");
            let shown = || Json(&rule.non_resource_urls);
            if namespaced {
                const WHY: &str = "namespaced rules cannot apply to non-resource URLs";
                problems.invalid(&path, shown(), WHY);
            }
            if len(&rule.api_groups) + len(&rule.resources) + len(&rule.resource_names) > 0 {
                const WHY: &str = "rules cannot apply to both regular resources and non-resource URLs";
                problems.invalid(&path, shown(), WHY);
            }
            continue;
        }
        if len(&rule.api_groups) == 0 {
            problems.required(&path.child("apiGroups"), "resource rules must supply at least one api group");
        }
        if len(&rule.resources) == 0 {
            problems.required(&path.child("resources"), "resource rules must supply at least one resource");
        }
    }
}

/// The roles that a ClusterRole gathers. Mirrors `ValidateClusterRole`.
pub fn aggregation(problems: &mut Problems, rule: &AggregationRule) {
    let path = Path::new("aggregationRule");
    let list = path.child("clusterRoleSelectors");
    let selectors = rule.cluster_role_selectors.as_deref().unwrap_or_default();
    if selectors.is_empty() {
        problems.required(&list, "at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    for (i, selector) in selectors.iter().enumerate() {
        label_selector(problems, &list.index(i), selector);
        if Selector::of(selector).is_err() {
            problems.invalid(&list.index(i), Literal("null"), "invalid label selector.");
        }
    }
}

/// Who gets which role. Mirrors `ValidateRoleBinding` and `ValidateClusterRoleBinding`.
fn binding(problems: &mut Problems, role: &RoleRef, subjects: &[Subject], namespaced: bool) {
    let path = Path::new("roleRef");
    let group = role.api_group.as_deref().unwrap_or_default();
    if group != RBAC {
        problems.not_supported(&path.child("apiGroup"), group, &[RBAC]);
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&role.kind.as_str()) {
        problems.not_supported(&path.child("kind"), role.kind.as_str(), kinds);
    }
    match role.name.as_str() {
        "" => problems.required(&path.child("name"), ""),
        name => problems.all_invalid(&path.child("name"), name, check_path_segment(name)),
    }
    let list = Path::new("subjects");
    for (i, subject) in subjects.iter().enumerate() {
        self::subject(problems, &list.index(i), subject, namespaced);
    }
}

/// A binding's role stays what it was: whoever may change who is bound must not be able to bind more.
fn same_role(problems: &mut Problems, new: &RoleRef, old: &RoleRef) {
    if new != old {
        problems.invalid(&Path::new("roleRef"), Internal("RoleRef", new), "cannot change roleRef");
    }
}

fn subject(problems: &mut Problems, path: &Path, subject: &Subject, namespaced: bool) {
    if subject.name.is_empty() {
        problems.required(&path.child("name"), "");
    }
    let group = subject.api_group.as_deref().unwrap_or_default();
    match subject.kind.as_str() {
        "ServiceAccount" => {
            if !subject.name.is_empty() {
                problems.all_invalid(&path.child("name"), &subject.name, check_subdomain(&subject.name));
            }
            if !group.is_empty() {
                problems.not_supported(&path.child("apiGroup"), group, &[""]);
            }
            if !namespaced && subject.namespace.as_deref().unwrap_or_default().is_empty() {
                problems.required(&path.child("namespace"), "");
            }
        }
        "User" | "Group" => {
            if group != RBAC {
                problems.not_supported(&path.child("apiGroup"), group, &[RBAC]);
            }
        }
        other => problems.not_supported(&path.child("kind"), other, &["ServiceAccount", "User", "Group"]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::kinds::validation::tests::wrong;
    use crate::object::Kind;

    #[test]
    fn what_roles_and_bindings_may_not_say() {
        const MISSING: &str = "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector \
            required if aggregationRule is non-nil";
        let like = json!({"matchExpressions": [{"key": "a", "operator": "Like"}]});
        let role = json!({"kind": "ClusterRole", "name": "a/b"});
        for (kind, more, want) in [
            (
                Kind::ClusterRole,
                json!({"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}),
                "",
            ),
            (Kind::ClusterRole, json!({"aggregationRule": {}}), MISSING),
            (
                Kind::ClusterRole,
                json!({"aggregationRule": {"clusterRoleSelectors": [like]}}),
                "[aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: \"Like\": not a valid \
                 selector operator, aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.]",
            ),
            (
                Kind::ClusterRoleBinding,
                json!({"roleRef": role}),
                "roleRef.name: Invalid value: \"a/b\": may not contain '/'",
            ),
        ] {
            let mut object = json!({"metadata": {"name": "x"}});
            object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(wrong(kind, object), want, "{kind} {more}");
        }
    }
}
