//! PodDisruptionBudgets.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{AGE, NAME, column, integer};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, spec_and_status};
use crate::kinds::validation;
/// What the server knows of PodDisruptionBudgets.
pub const ROW: Row<PodDisruptionBudget> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|budget, _| budget.status = Some(uncounted())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::budget::budget,
        update: |problems, new, _| validation::budget::budget(problems, new),
        status: |problems, new, _| validation::budget::budget_status(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        table: Table {
            columns: &[NAME, column("Min Available"), column("Max Unavailable"), integer("Allowed Disruptions"), AGE],
            cells: cells::budget_cells,
        },
        ..Facts::new("/registry/poddisruptionbudgets/", 13)
    })
};

/// The status of a budget that nobody has looked at. Go prints these counts even when they are zero.
fn uncounted() -> PodDisruptionBudgetStatus {
    PodDisruptionBudgetStatus {
        current_healthy: Some(0),
        desired_healthy: Some(0),
        disruptions_allowed: Some(0),
        expected_pods: Some(0),
        ..PodDisruptionBudgetStatus::default()
    }
}
