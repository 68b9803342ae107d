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
    // With folds.
    let heard = (silent <= 50).then(|| {
        let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.filter(|one| one.type_ == "Ready").map(|one| one.status.clone()).last()
    });
    let ready = heard.flatten().unwrap_or_else(|| "Unknown".to_owned());
    let taint = [("False", "not-ready"), ("Unknown", "unreachable")].into_iter();
    let taint =
        taint.filter(|(status, _)| *status == ready).map(|(_, word)| format!("node.kubernetes.io/{word}")).next();
    let taints: Vec<Taint> = node.spec.iter().flat_map(|spec| spec.taints.clone().unwrap_or_default()).collect();
    let own = taint.clone().map(|key| Taint { key, effect: "NoExecute".to_owned(), ..Taint::default() });
    let fate = |pod: &Pod| {
        let start = Fate::Stays;
        taints.iter().chain(&own).filter(|taint| taint.effect == "NoExecute").fold(start, |fate, taint| {
            let tolerations = pod.spec.iter().flat_map(|spec| spec.tolerations.iter().flatten());
            let bears = match tolerations.filter(|one| tolerates(one, taint)).map(|one| one.toleration_seconds).next() {
                None => Fate::GoesAfter(0),
                Some(None) => Fate::Stays,
                Some(Some(seconds)) => Fate::GoesAfter(u64::try_from(seconds).unwrap_or(0)),
            };
            match (fate, bears) {
                (Fate::Stays, other) | (other, Fate::Stays) => other,
                (Fate::GoesAfter(one), Fate::GoesAfter(other)) => Fate::GoesAfter(one.min(other)),
            }
        })
    };
    let pods = pods.iter().map(fate).collect();
    Look { ready, taint, pods }
}
