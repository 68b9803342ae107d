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
    let ready = if silent > 50 { "Unknown" } else { last_said(node) };
    let own = match ready {
        "True" => None,
        "False" => Some("node.kubernetes.io/not-ready"),
        _ => Some("node.kubernetes.io/unreachable"),
    };
    let mut taints = node.spec.clone().unwrap_or_default().taints.unwrap_or_default();
    taints.retain(|taint| taint.effect == "NoExecute");
    taints.extend(own.map(|key| Taint { key: key.into(), effect: "NoExecute".into(), ..Taint::default() }));
    let pods = pods.iter().map(|pod| fate(pod, &taints)).collect();
    Look { ready: ready.to_owned(), taint: own.map(str::to_owned), pods }
}

fn last_said(node: &Node) -> &str {
    let mut conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.find(|condition| condition.type_ == "Ready").map_or("Unknown", |condition| &condition.status)
}

fn fate(pod: &Pod, taints: &[Taint]) -> Fate {
    let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let mut shortest = None;
    for taint in taints {
        let Some(toleration) = tolerations.iter().find(|one| tolerates(one, taint)) else { return Fate::GoesAfter(0) };
        if let Some(seconds) = toleration.toleration_seconds {
            let seconds = seconds.max(0) as u64;
            shortest = Some(shortest.map_or(seconds, |before: u64| before.min(seconds)));
        }
    }
    shortest.map_or(Fate::Stays, Fate::GoesAfter)
}
