//! HorizontalPodAutoscalers.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use crate::kinds::{defaults, printers};

/// What the server knows of HorizontalPodAutoscalers.
pub const ROW: Row<HorizontalPodAutoscaler> = Row {
    defaults: Some(defaults::autoscaling::autoscaler),
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|hpa, _| hpa.status = Some(Default::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::autoscaler,
        update: validation::autoscaler_update,
        status: |problems, new, _| validation::autoscaler_status(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        table: Table {
            columns: &[
                NAME,
                column("Reference"),
                column("Targets"),
                column("MinPods"),
                column("MaxPods"),
                column("Replicas"),
                AGE,
            ],
            cells: printers::workloads::autoscaler_cells,
        },
        ..Facts::new("/registry/horizontalpodautoscalers/", 16)
    })
};
