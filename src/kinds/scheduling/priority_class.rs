//! PriorityClasses.

use k8s_openapi::api::scheduling::v1::PriorityClass;

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{AGE, NAME, boolean, column, integer};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation};
use crate::kinds::{defaults, validation};

/// What the server knows of PriorityClasss.
pub const ROW: Row<PriorityClass> = Row {
    defaults: Some(defaults::priority_class_defaults),
    strategy: Strategy { generation: Generation::Counted(|new, old| new.value != old.value), ..Strategy::DEFAULT },
    validation: Validation {
        create: validation::config::priority_class,
        update: validation::config::priority_class_update,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, integer("Value"), boolean("Global-Default"), AGE, column("PreemptionPolicy")],
            cells: cells::priority_class_cells,
        },
        ..Facts::new("/registry/priorityclasses/", 8)
    })
};
