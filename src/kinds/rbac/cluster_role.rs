//! ClusterRoles.

use k8s_openapi::api::rbac::v1::{AggregationRule, ClusterRole};

use crate::rbac::rules;
use crate::row::{Facts, Row, Validation};
use crate::validation::metadata::label_selector;
use object::selector::Selector;
use object::validation::field::{Literal, Path, Problems};
use object::validation::names::check_path_segment;

/// What the server knows of ClusterRoles.
pub const ROW: Row<ClusterRole> = Row {
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        create_on_update: true,
        check_name: check_path_segment,
        table: rules::TABLE,
        ..Facts::new("/registry/clusterroles/", 3)
    })
};

/// A ClusterRole.
fn validate(problems: &mut Problems, role: &ClusterRole) {
    rules::validate_rules(problems, role.rules.as_deref().unwrap_or_default(), false);
    role.aggregation_rule.as_ref().into_iter().for_each(|rule| aggregation(problems, rule));
}

/// The roles that a ClusterRole gathers. Mirrors `ValidateClusterRole`.
fn aggregation(problems: &mut Problems, rule: &AggregationRule) {
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
