//! Exercise 17: what becomes of a node that is silent?
//!
//! Each kubelet gives a sign of life every few seconds. The control plane looks at a node, and says three things:
//!
//! - the status of its condition Ready. If its last sign of life is at most 50 seconds old, what the kubelet wrote there holds,
//!   `True` or `False`. After that it is `Unknown`;
//! - its taint. One that says itself that it is not ready has `node.kubernetes.io/not-ready`, one that is silent
//!   `node.kubernetes.io/unreachable`, a ready one neither. Both have the effect `NoExecute` and no value;
//! - what becomes of each Pod on it. A Pod has to tolerate every `NoExecute` taint of the node: the one above, and those that
//!   others have put there (`node.spec.taints`). If it does not, it goes at once. If it does, it stays as long as the
//!   shortest of its tolerations for them allows (`tolerationSeconds`; one without allows it for ever).
//!
//! `tolerates` says whether a toleration is one for a taint. No Pod here has two for the same, and none is being deleted.

#![allow(unused_imports)]

use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use kubestep_exercise::heartbeat::{Fate, Look, tolerates};

// Yours from here.

/// A look at a node whose last sign of life was `silent` seconds ago, and at its Pods, in their order.
pub fn look(node: &Node, silent: u64, pods: &[Pod]) -> Look {
    // With u64::MAX for ever.
    let said = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let said = said.and_then(|all| all.iter().find(|one| one.type_ == "Ready")).map(|one| one.status.clone());
    let ready = said.filter(|_| silent <= 50).unwrap_or("Unknown".to_owned());
    let word = match ready.as_str() {
        "True" => "",
        "False" => "not-ready",
        _ => "unreachable",
    };
    let taint = (!word.is_empty()).then(|| format!("node.kubernetes.io/{word}"));
    let own = taint.iter().map(|key| Taint { key: key.clone(), effect: "NoExecute".to_owned(), ..Default::default() });
    let others = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten()).filter(|one| one.effect == "NoExecute");
    let all: Vec<Taint> = others.cloned().chain(own).collect();
    let bears = |pod: &Pod, taint: &Taint| -> u64 {
        let tolerations = pod.spec.iter().flat_map(|spec| spec.tolerations.iter().flatten());
        let mut matching = tolerations.filter(|toleration| tolerates(toleration, taint));
        matching.next().map_or(0, |one| one.toleration_seconds.map_or(u64::MAX, |seconds| seconds.max(0) as u64))
    };
    let fate = |pod: &Pod| match all.iter().map(|taint| bears(pod, taint)).min() {
        None | Some(u64::MAX) => Fate::Stays,
        Some(seconds) => Fate::GoesAfter(seconds),
    };
    let pods = pods.iter().map(fate).collect();
    Look { ready, taint, pods }
}
