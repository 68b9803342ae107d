//! What a Pod's status says in a word: read by the API server, controllers, kubelet and debugger alike.
//!
//! Mirrors `k8s.io/kubernetes/pkg/api/v1/pod/util.go`.

use k8s_openapi::api::core::v1::{Pod, PodCondition};

/// The Pod's phase, empty before it has one.
pub fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// Whether a phase is one that a Pod never leaves.
pub fn is_final(phase: &str) -> bool {
    matches!(phase, "Succeeded" | "Failed")
}

/// Whether none of the Pod's containers will run again. Mirrors `podutil.IsPodTerminal`.
pub fn has_ended(pod: &Pod) -> bool {
    is_final(phase(pod))
}

/// The Pod's Ready condition. Mirrors `podutil.GetPodReadyCondition`.
pub fn ready_condition(pod: &Pod) -> Option<&PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    conditions.iter().find(|condition| condition.type_ == "Ready")
}

/// Whether the Pod's Ready condition is True. Mirrors `podutil.IsPodReady`.
pub fn is_ready(pod: &Pod) -> bool {
    ready_condition(pod).is_some_and(|condition| condition.status == "True")
}
