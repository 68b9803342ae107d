//! The pages about roles and their bindings.

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use super::super::fields::{at, list, text};
use super::super::rules;
use super::page::Page;
use object::read;

/// Of a Role or ClusterRole.
pub(super) fn describe_role(page: &mut Page, role: &Value) {
    page.head(role);
    page.line(format!("PolicyRule:\n  {}", rules::HEAD));
    page.line("  ---------\t-----------------\t--------------\t-----");
    let rules: Vec<PolicyRule> = read::from_value(at(role, "rules")).unwrap_or_default();
    rules::rows(&rules).iter().for_each(|row| page.line(format!("  {row}")));
}

/// Of a RoleBinding or ClusterRoleBinding.
pub(super) fn describe_binding(page: &mut Page, binding: &Value) {
    page.head(binding);
    page.line("Role:");
    page.field("  Kind", text(binding, "roleRef.kind"));
    page.field("  Name", text(binding, "roleRef.name"));
    page.line("Subjects:\n  Kind\tName\tNamespace\n  ----\t----\t---------");
    for subject in list(binding, "subjects") {
        let [kind, name, namespace] = ["kind", "name", "namespace"].map(|field| text(subject, field));
        page.line(format!("  {kind}\t{name}\t{namespace}"));
    }
}
