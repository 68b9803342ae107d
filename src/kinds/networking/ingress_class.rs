//! IngressClasses.

use k8s_openapi::api::networking::v1::IngressClass;

use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation};
use crate::kinds::{defaults, printers, validation};

/// What the server knows of IngressClasss.
pub const ROW: Row<IngressClass> = Row {
    defaults: Some(defaults::ingress_class_defaults),
    strategy: Strategy { generation: Generation::Counted(|new, old| new.spec != old.spec), ..Strategy::DEFAULT },
    validation: Validation {
        create: validation::ingress::ingress_class,
        update: validation::ingress::ingress_class_update,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("Controller"), column("Parameters"), AGE],
            cells: printers::ingress::class_cells,
        },
        ..Facts::new("/registry/ingressclasses/", 12)
    })
};
