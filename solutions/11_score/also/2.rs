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

/// A tuple pattern for a toleration, and the taints sorted into two.
pub fn scores(pod: &Wanted, nodes: &[Candidate]) -> Vec<Option<i64>> {
    let untolerated = |node: &Candidate| -> (usize, usize) {
        let taints = node.taints.iter().filter(|taint| !pod.tolerations.iter().any(|one| covers(one, taint)));
        let (soft, hard): (Vec<&Taint>, Vec<&Taint>) = taints.partition(|taint| taint.effect == "PreferNoSchedule");
        (hard.len(), soft.len())
    };
    let counts: Vec<_> = nodes.iter().map(untolerated).collect();
    let most = counts.iter().filter(|(hard, _)| *hard == 0).map(|(_, soft)| *soft).max();
    let lost = |soft: usize| (100 * soft).checked_div(most.unwrap_or_default()).unwrap_or(0) as i64;
    let scored = nodes.iter().zip(&counts).map(|(node, (hard, soft))| {
        let percent = |share: Share, asked| 0.max(share.allocatable - share.used - asked) * 100 / share.allocatable;
        let free = percent(node.milli_cpu, pod.milli_cpu) + percent(node.memory, pod.memory);
        (*hard == 0).then_some(3 * (100 - lost(*soft)) + free / 2)
    });
    scored.collect()
}

fn covers(toleration: &Toleration, taint: &Taint) -> bool {
    let agrees = |wanted: &Option<String>, has: &str| wanted.as_deref().unwrap_or(has) == has;
    agrees(&toleration.key, &taint.key)
        && agrees(&toleration.effect, &taint.effect)
        && match (toleration.operator.as_deref(), &toleration.value, &taint.value) {
            (Some("Exists"), _, _) => true,
            (_, a, b) => a == b,
        }
}
