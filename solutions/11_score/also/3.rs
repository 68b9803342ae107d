//! Exercise 11: which nodes may a Pod go to, and which is best?
//!
//! Two plugins of the scheduler. TaintToleration: a taint keeps off every Pod that does not tolerate it, if its effect is
//! NoSchedule or NoExecute; PreferNoSchedule only costs points, if the Pod does not tolerate it: of 100 points
//! `100 × such taints ÷ the most that any node still possible has` are taken off, nothing if none has any. LeastAllocated: the share of cpu and of
//! memory that would be free with the Pod there, in percent and never below 0, the mean of both.
//!
//! A node's score is three times the first and once the second, in whole numbers, rounded down at each division. A toleration
//! without `operator` means `Equal`; one without `key` or `effect` is meant for all of them.

#![allow(unused_imports)]

use k8s_openapi::api::core::v1::{Taint, Toleration};
use kubestep_exercise::score::{Candidate, Share, Wanted};

// Yours from here.

/// First the filter, then the scores, as the scheduler does it.
pub fn scores(pod: &Wanted, nodes: &[Candidate]) -> Vec<Option<i64>> {
    let open: Vec<usize> = (0..nodes.len()).filter(|n| !shuts(&nodes[*n].taints, &pod.tolerations)).collect();
    let raw: Vec<i64> = open.iter().map(|n| intolerable(&nodes[*n].taints, &pod.tolerations)).collect();
    let max = *raw.iter().max().unwrap_or(&0);
    let mut result = vec![None; nodes.len()];
    for (n, raw) in open.into_iter().zip(raw) {
        let normalised = match max {
            0 => 100,
            max => 100 - 100 * raw / max,
        };
        let cpu = score(nodes[n].milli_cpu.allocatable, nodes[n].milli_cpu.used + pod.milli_cpu);
        let memory = score(nodes[n].memory.allocatable, nodes[n].memory.used + pod.memory);
        result[n] = Some(normalised + normalised + normalised + (cpu + memory) / 2);
    }
    result
}

fn score(allocatable: i64, requested: i64) -> i64 {
    if requested > allocatable { 0 } else { (allocatable - requested) * 100 / allocatable }
}

fn shuts(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    taints.iter().any(|taint| {
        let hard = ["NoSchedule", "NoExecute"].contains(&taint.effect.as_str());
        hard && tolerations.iter().all(|toleration| !tolerates(toleration, taint))
    })
}

fn intolerable(taints: &[Taint], tolerations: &[Toleration]) -> i64 {
    let mut count = 0;
    for taint in taints {
        if taint.effect == "PreferNoSchedule" && !tolerations.iter().any(|one| tolerates(one, taint)) {
            count += 1;
        }
    }
    count
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let key = toleration.key.as_deref().unwrap_or("");
    let effect = toleration.effect.as_deref().unwrap_or("");
    if (key != "" && key != taint.key) || (effect != "" && effect != taint.effect) {
        return false;
    }
    toleration.operator == Some("Exists".to_string()) || toleration.value == taint.value
}
