//! What RoleBindings and ClusterRoleBindings have in common. Mirrors `pkg/apis/rbac/validation` and `pkg/apis/rbac/v1/defaults.go`.

use jiff::Timestamp;
use k8s_openapi::api::rbac::v1::{RoleRef, Subject};
use serde_json::Value;

use crate::defaults::fields::or_text;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column, wide};
use crate::printers::fields::{list, text};
use crate::row::Table;
use object::selector::names::check_subdomain;
use object::validation::field::{Path, Problems};
use object::validation::internal::Internal;
use object::validation::names::check_path_segment;
use object::well_known::RBAC;

/// Whether a binding leaves out a group that is always the same.
pub fn lacks_group(role: &RoleRef, subjects: Option<&[Subject]>) -> bool {
    let empty = |group: &Option<String>| group.as_deref().unwrap_or_default().is_empty();
    empty(&role.api_group) || subjects.into_iter().flatten().any(|s| s.kind != "ServiceAccount" && empty(&s.api_group))
}

/// Mirrors `pkg/apis/rbac/v1/defaults.go`.
pub fn fill_in_groups(role: &mut RoleRef, subjects: Option<&mut [Subject]>) {
    or_text(&mut role.api_group, RBAC);
    for subject in subjects.into_iter().flatten().filter(|subject| matches!(subject.kind.as_str(), "User" | "Group")) {
        or_text(&mut subject.api_group, RBAC);
    }
}

/// The subjects, and the role that they get. Mirrors `ValidateRoleBinding` and `ValidateClusterRoleBinding`.
pub fn validate_binding(problems: &mut Problems, role: &RoleRef, subjects: &[Subject], namespaced: bool) {
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

/// A binding's role stays what it was: a user who may change the subjects must not be able to grant them another role.
pub fn same_role(problems: &mut Problems, new: &RoleRef, old: &RoleRef) {
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

/// The table of either sort of binding.
pub const TABLE: Table =
    Table { columns: &[NAME, column("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")], cells };

fn cells(binding: &Value, now: Timestamp) -> Vec<Value> {
    let role = format!("{}/{}", text(binding, "roleRef.kind"), text(binding, "roleRef.name"));
    let subjects = |kind: &str| {
        let named = list(binding, "subjects").iter().filter(|s| text(s, "kind") == kind);
        let show = |s: &Value| match kind {
            "ServiceAccount" => format!("{}/{}", text(s, "namespace"), text(s, "name")),
            _ => text(s, "name").to_owned(),
        };
        named.map(show).collect::<Vec<_>>().join(", ")
    };
    let [users, groups, accounts] = ["User", "Group", "ServiceAccount"].map(subjects);
    cells![name(binding), role, created(binding, now), users, groups, accounts]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validation::tests::wrong;
    use object::Kind;

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
