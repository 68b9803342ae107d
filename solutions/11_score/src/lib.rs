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

/// For each node its score, or None if the Pod must not go there.
pub fn scores(pod: &Wanted, nodes: &[Candidate]) -> Vec<Option<i64>> {
    let most = nodes.iter().filter(|node| is_open(node, pod)).map(|node| soft(node, pod)).max().unwrap_or(0);
    let score = |node: &Candidate| {
        let lost = if most == 0 { 0 } else { 100 * soft(node, pod) / most };
        3 * (100 - lost) + (free(node.milli_cpu, pod.milli_cpu) + free(node.memory, pod.memory)) / 2
    };
    nodes.iter().map(|node| is_open(node, pod).then(|| score(node))).collect()
}

fn is_open(node: &Candidate, pod: &Wanted) -> bool {
    let mut hard = node.taints.iter().filter(|taint| taint.effect == "NoSchedule" || taint.effect == "NoExecute");
    hard.all(|taint| is_tolerated(taint, pod))
}

fn soft(node: &Candidate, pod: &Wanted) -> i64 {
    let soft = node.taints.iter().filter(|taint| taint.effect == "PreferNoSchedule");
    soft.filter(|taint| !is_tolerated(taint, pod)).count() as i64
}

fn is_tolerated(taint: &Taint, pod: &Wanted) -> bool {
    pod.tolerations.iter().any(|toleration| {
        let key = toleration.key.as_ref().is_none_or(|key| *key == taint.key);
        let effect = toleration.effect.as_ref().is_none_or(|effect| *effect == taint.effect);
        let exists = toleration.operator.as_deref() == Some("Exists");
        key && effect && (exists || toleration.value == taint.value)
    })
}

/// The percentage that would be free.
fn free(share: Share, asked: i64) -> i64 {
    let left = share.allocatable - share.used - asked;
    left.max(0) * 100 / share.allocatable
}
