//! SchedulingGates: a pod with gates is not even queued until the last one is removed.
//! Mirrors `plugins/schedulinggates/scheduling_gates.go`.

use crate::events::{ClusterEvent, EventKind};
use crate::framework::{Hint, Plugin, Point, Rejection, Verdict};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// A pod with gates is not queued.
pub struct SchedulingGates;

impl Plugin for SchedulingGates {
    fn name(&self) -> &'static str {
        "SchedulingGates"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::PreEnqueue]
    }

    fn pre_enqueue(&self, pod: &PodInfo) -> Verdict {
        let gates = pod.spec().and_then(|spec| spec.scheduling_gates.as_deref()).unwrap_or_default();
        if gates.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = gates.iter().map(|gate| gate.name.as_str()).collect();
        Err(Rejection::unresolvable(format!("waiting for scheduling gates: [{}]", names.join(" "))))
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::PodUpdateSchedulingGatesEliminated]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        Hint::queue_if(event.is_about(&pod.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{info, pod};

    #[test]
    fn gates_hold_a_pod_back() {
        let cases = [
            ("", None),
            ("{schedulingGates: []}", None),
            ("{schedulingGates: [{name: a}, {name: b}]}", Some("waiting for scheduling gates: [a b]")),
        ];
        for (spec, expected) in cases {
            let verdict = SchedulingGates.pre_enqueue(&info(pod("p", spec)));
            assert_eq!(verdict.err().map(|r| r.message()).as_deref(), expected, "{spec}");
        }
    }
}
