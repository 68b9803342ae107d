//! PodDisruptionBudgets. Mirrors `ValidatePodDisruptionBudgetSpec` and its like of `pkg/apis/policy/validation`.

use jiff::Timestamp;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus};
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column, integer};
use crate::printers::fields::{at, int, plain};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, spec_and_status};
use crate::validation::conditions::conditions;
use crate::validation::counts::{int_or_percent, not_more_than_all};
use crate::validation::metadata::label_selector;
use object::validation::field::{Path, Problems};
use object::validation::internal::Internal;

/// What the server knows of PodDisruptionBudgets.
pub const ROW: Row<PodDisruptionBudget> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|budget, _| budget.status = Some(uncounted())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        status: |problems, new, _| validate_status(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        table: Table {
            columns: &[NAME, column("Min Available"), column("Max Unavailable"), integer("Allowed Disruptions"), AGE],
            cells,
        },
        ..Facts::new("/registry/poddisruptionbudgets/", 12)
    })
};

const SPEC: Path = Path::new("spec");
const STATUS: Path = Path::new("status");

/// The status of a budget that its controller has not seen. Go prints these counts even when they are zero.
fn uncounted() -> PodDisruptionBudgetStatus {
    PodDisruptionBudgetStatus {
        current_healthy: Some(0),
        desired_healthy: Some(0),
        disruptions_allowed: Some(0),
        expected_pods: Some(0),
        ..PodDisruptionBudgetStatus::default()
    }
}

/// The spec of a PodDisruptionBudget.
fn validate(problems: &mut Problems, budget: &PodDisruptionBudget) {
    let default = PodDisruptionBudgetSpec::default();
    let spec = budget.spec.as_ref().unwrap_or(&default);
    if spec.min_available.is_some() && spec.max_unavailable.is_some() {
        problems.invalid(
            &SPEC,
            Internal("PodDisruptionBudgetSpec", spec),
            "minAvailable and maxUnavailable cannot be both set",
        );
    }
    let amounts = [("minAvailable", &spec.min_available), ("maxUnavailable", &spec.max_unavailable)];
    for (field, amount) in amounts {
        if let Some(amount) = amount {
            int_or_percent(problems, &SPEC.child(field), amount);
            not_more_than_all(problems, &SPEC.child(field), amount);
        }
    }
    if let Some(selector) = &spec.selector {
        label_selector(problems, &SPEC.child("selector"), selector);
    }
    if let Some(policy) = spec.unhealthy_pod_eviction_policy.as_deref()
        && !matches!(policy, "AlwaysAllow" | "IfHealthyBudget")
    {
        let path = SPEC.child("unhealthyPodEvictionPolicy");
        problems.not_supported(&path, policy, &["AlwaysAllow", "IfHealthyBudget"]);
    }
}

/// The conditions and counts of a PodDisruptionBudget. Mirrors `ValidatePodDisruptionBudgetStatusUpdate`.
fn validate_status(problems: &mut Problems, budget: &PodDisruptionBudget) {
    let status = budget.status.clone().unwrap_or_default();
    conditions(problems, &STATUS.child("conditions"), status.conditions.as_deref().unwrap_or_default());
    for (field, count) in [
        ("disruptionsAllowed", status.disruptions_allowed),
        ("currentHealthy", status.current_healthy),
        ("desiredHealthy", status.desired_healthy),
        ("expectedPods", status.expected_pods),
    ] {
        problems.not_negative(&STATUS.child(field), count.unwrap_or(0));
    }
}

fn cells(budget: &Value, now: Timestamp) -> Vec<Value> {
    let amount = |path: &str| match at(budget, path) {
        Value::Null => "N/A".to_owned(),
        amount => plain(amount),
    };
    cells![
        name(budget),
        amount("spec.minAvailable"),
        amount("spec.maxUnavailable"),
        int(budget, "status.disruptionsAllowed"),
        created(budget, now),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_nobody_may_say_of_a_budget() {
        let condition = json!({"type": "A", "status": "Maybe", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let status = json!({"conditions": [condition], "disruptionsAllowed": -1});
        let there: PodDisruptionBudget = serde_json::from_value(json!({"status": status})).unwrap();
        let mut problems = Problems::default();
        validate_status(&mut problems, &there);
        let found: Vec<&str> = problems.0.iter().map(|cause| cause.field.as_str()).collect();
        assert_eq!(found, ["status.conditions[0].status", "status.disruptionsAllowed"]);
    }

    #[test]
    fn what_a_budget_may_not_say() {
        const BOTH: &str = r#"Invalid value: {"MinAvailable":1,"Selector":{"matchLabels":{"a":"b"}},"MaxUnavailable":"10%","UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set"#;
        for (spec, wrong) in [
            (json!({"minAvailable": 1}), vec![]),
            (json!({"maxUnavailable": "100%", "unhealthyPodEvictionPolicy": "AlwaysAllow"}), vec![]),
            (json!({}), vec![]),
            (
                json!({"minAvailable": 1, "maxUnavailable": "10%", "selector": {"matchLabels": {"a": "b"}}}),
                vec![("spec", BOTH)],
            ),
            (
                json!({"minAvailable": -1}),
                vec![("spec.minAvailable", "Invalid value: -1: must be greater than or equal to 0")],
            ),
            (
                json!({"maxUnavailable": "101%"}),
                vec![("spec.maxUnavailable", r#"Invalid value: "101%": must not be greater than 100%"#)],
            ),
            (
                json!({"minAvailable": "half"}),
                vec![(
                    "spec.minAvailable",
                    r#"Invalid value: "half": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"#,
                )],
            ),
            (
                json!({"unhealthyPodEvictionPolicy": "Never"}),
                vec![(
                    "spec.unhealthyPodEvictionPolicy",
                    r#"Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget""#,
                )],
            ),
        ] {
            let there: PodDisruptionBudget = serde_json::from_value(json!({"spec": spec})).unwrap();
            let mut problems = Problems::default();
            validate(&mut problems, &there);
            let found: Vec<(&str, &str)> =
                problems.0.iter().map(|cause| (cause.field.as_str(), cause.message.as_str())).collect();
            assert_eq!(found, wrong, "{spec}");
        }
    }
}
