//! What Roles and ClusterRoles allow. Mirrors `pkg/apis/rbac/validation`.

use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::printers::cells::name;
use crate::printers::columns::{NAME, always};
use crate::printers::fields::text;
use crate::row::Table;
use object::validation::field::{Json, Path, Problems};

/// The table of Roles, or of ClusterRoles.
pub const TABLE: Table = Table {
    columns: &[NAME, always("Created At", "date")],
    cells: |role, _| cells![name(role), text(role, "metadata.creationTimestamp")],
};

/// What a Role or ClusterRole allows. Mirrors `ValidatePolicyRule`.
pub fn validate_rules(problems: &mut Problems, rules: &[PolicyRule], namespaced: bool) {
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
