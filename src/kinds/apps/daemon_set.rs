//! DaemonSets.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::PodTemplateSpec;

use crate::kinds::printers::columns::{AGE, NAME, column, integer, wide};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::{defaults, printers, validation};
use crate::object::time::Instant;
/// What the server knows of DaemonSets.
pub const ROW: Row<DaemonSet> = Row {
    defaults: Some(defaults::workloads::daemon_set),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(prepare_for_create),
        prepare_for_update: Some(prepare_for_update),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::sets::daemon_set,
        update: validation::sets::daemon_set_update,
        status: validation::workload::daemon_set_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings { asks_for_other_pods: Some(|new, old| template(new) != template(old)), ..Warnings::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[
                NAME,
                integer("Desired"),
                integer("Current"),
                integer("Ready"),
                integer("Up-to-date"),
                integer("Available"),
                column("Node Selector"),
                AGE,
                wide("Containers"),
                wide("Images"),
                wide("Selector"),
            ],
            cells: printers::workloads::daemon_set_cells,
        },
        ..Facts::new("/registry/daemonsets/", 16)
    })
};

/// The annotation in which a DaemonSet counts its templates, since `apps/v1` has no field for it.
pub const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn prepare_for_create(set: &mut DaemonSet, _: Instant) {
    set.status = Some(Default::default());
    number_template(set, template_generation(set).max(1));
}

fn prepare_for_update(new: &mut DaemonSet, old: &DaemonSet) {
    let rolls = u64::from(template(new) != template(old));
    number_template(new, template_generation(old) + rolls);
}

fn template(set: &DaemonSet) -> Option<&PodTemplateSpec> {
    set.spec.as_ref().map(|spec| &spec.template)
}

fn template_generation(set: &DaemonSet) -> u64 {
    let annotations = set.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get(TEMPLATE_GENERATION)?.parse().ok()).unwrap_or(0)
}

fn number_template(set: &mut DaemonSet, number: u64) {
    set.metadata.annotations.get_or_insert_default().insert(TEMPLATE_GENERATION.into(), number.to_string());
}
