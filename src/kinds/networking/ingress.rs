//! Ingresses.

use k8s_openapi::api::networking::v1::{Ingress, IngressStatus};

use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::validation::ingress::CLASS_ANNOTATION;
use crate::kinds::{printers, validation, warnings};
/// What the server knows of Ingresss.
pub const ROW: Row<Ingress> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|ingress, _| {
            ingress.status = Some(IngressStatus { load_balancer: Some(Default::default()) });
        }),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::ingress::new_ingress,
        update: |problems, new, _| validation::ingress::ingress(problems, new),
        status: validation::ingress::ingress_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings {
        create: warn_of_annotation,
        status: warnings::addresses::of_ingress_status,
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("Class"), column("Hosts"), column("Address"), column("Ports"), AGE],
            cells: printers::ingress::cells,
        },
        ..Facts::new("/registry/ingress/", 12)
    })
};

fn warn_of_annotation(told: &mut Vec<String>, ingress: &Ingress) {
    let named = ingress.spec.as_ref().is_some_and(|spec| spec.ingress_class_name.is_some());
    let annotations = ingress.metadata.annotations.as_ref();
    let annotated = annotations.is_some_and(|annotations| annotations.contains_key(CLASS_ANNOTATION));
    if annotated && !named {
        told.push(format!("annotation {CLASS_ANNOTATION:?} is deprecated, please use 'spec.ingressClassName' instead"));
    }
}
