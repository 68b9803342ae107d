//! PodTemplates.

use k8s_openapi::api::core::v1::PodTemplate;

use crate::kinds::printers::columns::{NAME, column};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation};
use crate::kinds::{defaults, printers, validation};

/// What the server knows of PodTemplates.
pub const ROW: Row<PodTemplate> = Row {
    defaults: Some(defaults::pod_template_defaults),
    strategy: Strategy {
        generation: Generation::Counted(|new, old| new.template != old.template),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::workload::pod_template_object,
        update: |problems, new, _| validation::workload::pod_template_object(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table {
            columns: &[NAME, column("Containers"), column("Images"), column("Pod Labels")],
            cells: printers::workloads::pod_template_cells,
        },
        ..Facts::new("/registry/podtemplates/", 9)
    })
};
