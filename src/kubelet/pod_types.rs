//! What sort of pod one is, and what it is called. Mirrors `pkg/kubelet/types` and `pkg/kubelet/util/format`.

use object::Pod;

/// Where a pod is from: `file`.
pub(crate) const SOURCE: &str = "kubernetes.io/config.source";
/// Priorities from here up are the system's own. Mirrors `scheduling.SystemCriticalPriority`.
pub const SYSTEM_CRITICAL: i32 = 2_000_000_000;

/// Whether a file asks for the pod. Mirrors `IsStaticPod`.
pub fn is_static(pod: &Pod) -> bool {
    pod.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(SOURCE))
}

/// Whether the system needs the pod. Mirrors `IsCriticalPod`.
pub fn is_critical(pod: &Pod) -> bool {
    is_static(pod)
        || pod.spec.as_ref().and_then(|spec| spec.priority).is_some_and(|priority| priority >= SYSTEM_CRITICAL)
}

/// `format.Pod`: `web_default(6a1f…)`.
pub fn pod_text(pod: &Pod) -> String {
    let meta = &pod.metadata;
    let part = |field: &Option<String>| field.clone().unwrap_or_default();
    format!("{}_{}({})", part(&meta.name), part(&meta.namespace), part(&meta.uid))
}
