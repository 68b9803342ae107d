//! Pods.

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{AGE, NAME, column, wide};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::{defaults, validation, warnings};
use crate::object::Pod;
use crate::object::pod::qos_class;
use crate::object::pod::status::{PodCondition, PodStatus};
use crate::object::time::Instant;

/// What the server knows of Pods.
pub const ROW: Row<Pod> = Row {
    defaults: Some(defaults::pod_defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(prepare_for_create),
        prepare_for_status_update: Some(prepare_for_status_update),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::pod::pod,
        update: update::pod,
        status: update::pod_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings {
        name_is_used_in: Some("the Pod's hostname"),
        create: |told, pod| warnings::of_pod_spec(told, "spec", pod.spec.as_deref()),
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        returns_deleted: true,
        graceful: true,
        field_chapters: &[
            ("spec.nodeName", 8),
            ("spec.nodeSelector", 8),
            ("spec.affinity", 8),
            ("spec.tolerations", 8),
            ("spec.topologySpreadConstraints", 8),
            ("spec.priority", 8),
            ("spec.schedulerName", 8),
            ("spec.containers.resources", 8),
            ("spec.volumes", 11),
            ("spec.containers.volumeMounts", 11),
            ("spec.dns", 12),
            ("spec.hostNetwork", 10),
            ("status.podIP", 10),
            ("status.hostIP", 10),
        ],
        table: Table {
            columns: &[
                NAME,
                column("Ready"),
                column("Status"),
                column("Restarts"),
                AGE,
                wide("IP"),
                wide("Node"),
                wide("Nominated Node"),
                wide("Readiness Gates"),
            ],
            cells: cells::pod_cells,
        },
        ..Facts::new("/registry/pods/", 9)
    })
};

fn prepare_for_create(pod: &mut Pod, now: Instant) {
    pod.status = Some(new_pod_status(pod, now).into());
    label_keys::merge_into_selectors(pod);
}

fn new_pod_status(pod: &Pod, now: Instant) -> PodStatus {
    let gated = pod.spec.as_ref().is_some_and(|s| s.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()));
    let condition = PodCondition {
        type_: "PodScheduled".into(),
        status: "False".into(),
        reason: Some("SchedulingGated".into()),
        message: Some("Scheduling is blocked due to non-empty scheduling gates".into()),
        last_transition_time: Some(now.time()),
        ..PodCondition::default()
    };
    PodStatus {
        phase: Some("Pending".into()),
        qos_class: Some(qos_class(pod).into()),
        conditions: gated.then(|| vec![condition]),
        ..PodStatus::default()
    }
}

fn prepare_for_status_update(new: &mut Pod, old: &Pod, _: Instant) {
    new.metadata.owner_references.clone_from(&old.metadata.owner_references);
    status::keep_what_is_left_out(new, old);
}
