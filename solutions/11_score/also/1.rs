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

/// In loops.
pub fn scores(pod: &Wanted, nodes: &[Candidate]) -> Vec<Option<i64>> {
    let mut counts: Vec<Option<i64>> = Vec::new();
    for node in nodes {
        let mut count = Some(0);
        for taint in &node.taints {
            let mut tolerated = false;
            for toleration in &pod.tolerations {
                if matches(toleration, taint) {
                    tolerated = true;
                    break;
                }
            }
            if tolerated {
                continue;
            }
            if taint.effect == "PreferNoSchedule" {
                if let Some(n) = &mut count {
                    *n += 1;
                }
            } else {
                count = None;
            }
        }
        counts.push(count);
    }
    let mut most = 0;
    for count in counts.iter().flatten() {
        if *count > most {
            most = *count;
        }
    }
    let mut all = Vec::new();
    for (node, count) in nodes.iter().zip(counts) {
        all.push(match count {
            None => None,
            Some(count) => {
                let taints = if most == 0 { 100 } else { 100 - count * 100 / most };
                Some(taints * 3 + least(node, pod))
            }
        });
    }
    all
}

fn matches(toleration: &Toleration, taint: &Taint) -> bool {
    if let Some(key) = &toleration.key {
        if key != &taint.key {
            return false;
        }
    }
    if let Some(effect) = &toleration.effect {
        if effect != &taint.effect {
            return false;
        }
    }
    match toleration.operator.as_deref().unwrap_or("Equal") {
        "Exists" => true,
        _ => toleration.value.clone().unwrap_or_default() == taint.value.clone().unwrap_or_default(),
    }
}

fn least(node: &Candidate, pod: &Wanted) -> i64 {
    let mut sum = 0;
    for (share, asked) in [(&node.milli_cpu, pod.milli_cpu), (&node.memory, pod.memory)] {
        let requested = share.used + asked;
        if requested <= share.allocatable {
            sum += (share.allocatable - requested) * 100 / share.allocatable;
        }
    }
    sum / 2
}
