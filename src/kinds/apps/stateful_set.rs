//! StatefulSets.

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};

use crate::kinds::printers::columns::{AGE, NAME, column, wide};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::{defaults, printers, validation, warnings};
use crate::object::time::Instant;
use crate::object::validation::names::check_dns_label;
/// What the server knows of StatefulSets.
pub const ROW: Row<StatefulSet> = Row {
    defaults: Some(defaults::workloads::stateful_set),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(prepare_for_create),
        prepare_for_update: Some(|new, _| drop_max_unavailable(new)),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::sets::new_stateful_set,
        update: validation::sets::stateful_set_update,
        status: validation::workload::stateful_set_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings {
        create: |told, set| warnings::of_stateful_set(told, set, ""),
        update: |told, new, _| warnings::of_stateful_set(told, new, ".Spec"),
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        check_name: check_dns_label,
        table: Table {
            columns: &[NAME, column("Ready"), AGE, wide("Containers"), wide("Images")],
            cells: printers::workloads::stateful_set_cells,
        },
        ..Facts::new("/registry/statefulsets/", 16)
    })
};

fn prepare_for_create(set: &mut StatefulSet, _: Instant) {
    // Go prints this count even when it is zero.
    set.status = Some(StatefulSetStatus { available_replicas: Some(0), ..Default::default() });
    drop_max_unavailable(set);
}

/// A field behind a gate that is off by default, MaxUnavailableStatefulSet, is not stored: there is one at a time. Mirrors
/// `dropStatefulSetDisabledFields`.
fn drop_max_unavailable(set: &mut StatefulSet) {
    let strategy = set.spec.as_mut().and_then(|spec| spec.update_strategy.as_mut());
    if let Some(rolling) = strategy.and_then(|strategy| strategy.rolling_update.as_mut()) {
        rolling.max_unavailable = None;
    }
}
