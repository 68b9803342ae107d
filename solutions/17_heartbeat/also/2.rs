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
    // First who must go at once, then the rest.
    let conditions = node.status.clone().unwrap_or_default().conditions.unwrap_or_default();
    let is_ready = conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True");
    let (ready, taint) = match (silent > 50, is_ready) {
        (true, _) => ("Unknown", Some("node.kubernetes.io/unreachable")),
        (false, true) => ("True", None),
        (false, false) => ("False", Some("node.kubernetes.io/not-ready")),
    };
    let mut taints = vec![];
    for taint in node.spec.clone().unwrap_or_default().taints.unwrap_or_default() {
        if taint.effect == "NoExecute" {
            taints.push(taint);
        }
    }
    if let Some(key) = taint {
        taints.push(Taint { key: key.to_owned(), value: None, effect: "NoExecute".to_owned(), time_added: None });
    }
    let mut fates = vec![];
    for pod in pods {
        let tolerations = pod.spec.clone().unwrap_or_default().tolerations.unwrap_or_default();
        if taints.iter().any(|taint| !tolerations.iter().any(|one| tolerates(one, taint))) {
            fates.push(Fate::GoesAfter(0));
            continue;
        }
        let used = tolerations.iter().filter(|one| taints.iter().any(|taint| tolerates(one, taint)));
        let seconds = used.filter_map(|one| one.toleration_seconds).min();
        fates.push(seconds.map_or(Fate::Stays, |seconds| Fate::GoesAfter(seconds.max(0) as u64)));
    }
    Look { ready: ready.to_owned(), taint: taint.map(str::to_owned), pods: fates }
}
