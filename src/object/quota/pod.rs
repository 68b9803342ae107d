//! Pods, which cost what they request and are limited to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::Container;

use crate::Pod;
use crate::pod::has_ended;
use crate::quantity::Amount;
use crate::resources::{ResourceList, amounts, is_extended, is_huge_page, pod_level, pod_limits, pod_requests};
use crate::time::Instant;

/// What quotas measure of Pods by name, and so can have a scope.
pub const RESOURCES: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];
/// A quota on one of these wants every container to say what it needs.
const TO_SPECIFY: [&str; 6] = ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

/// Whether this resource of a quota is measured on Pods.
pub fn uses(name: &str) -> bool {
    RESOURCES.contains(&name)
        || is_huge_page(name)
        || name.strip_prefix("requests.").is_some_and(|rest| is_huge_page(rest) || is_extended(rest))
}

/// What the Pod costs beside its number. Nothing, once it has ended. Mirrors `PodUsageFunc`.
pub fn usage(pod: &Pod, now: Instant) -> ResourceList {
    if !is_charged(pod, now) {
        return ResourceList::new();
    }
    compute(&pod_requests(pod), &pod_limits(pod))
}

/// Whether the Pod holds what it asks for: until it has ended, or its grace period should be over. Mirrors `QuotaV1Pod`.
pub fn is_charged(pod: &Pod, now: Instant) -> bool {
    let meta = &pod.metadata;
    let overdue = match (&meta.deletion_timestamp, meta.deletion_grace_period_seconds) {
        (Some(deleted), Some(grace)) => {
            now > Instant::from_time(deleted) + Duration::from_secs(u64::try_from(grace).unwrap_or(0))
        }
        _ => false,
    };
    !has_ended(pod) && !overdue
}

/// Whether the Pod has an end that it is known by from the start: the scope `Terminating`. Mirrors `IsTerminating`.
pub fn is_terminating(pod: &Pod) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.active_deadline_seconds).is_some_and(|seconds| seconds >= 0)
}

/// Mirrors `podComputeUsageHelper`.
fn compute(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut usage = ResourceList::from([("pods".to_owned(), Amount::units(1))]);
    for (name, amount) in requests {
        let shared = matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage");
        if shared || is_huge_page(name) {
            usage.insert(name.clone(), *amount);
        }
        if shared || is_huge_page(name) || is_extended(name) {
            usage.insert(format!("requests.{name}"), *amount);
        }
    }
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(amount) = limits.get(name) {
            usage.insert(format!("limits.{name}"), *amount);
        }
    }
    usage
}

/// What the containers would have to say for a quota that measures these resources; None if they do. Mirrors
/// `podEvaluator.Constraints`.
pub fn left_unspecified(pod: &Pod, measured: &[&str]) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    if pod_level(pod).is_some() {
        return None;
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in spec.containers.iter().chain(spec.init_containers.iter().flatten()) {
        let said = said_by(container);
        for name in measured.iter().filter(|name| TO_SPECIFY.contains(name) && !said.contains_key(**name)) {
            missing.entry(name).or_default().insert(&container.name);
        }
    }
    let list = |(name, containers): (&&str, &BTreeSet<&str>)| {
        format!("{name} for: {}", containers.iter().copied().collect::<Vec<_>>().join(","))
    };
    let lists: Vec<String> = missing.iter().map(list).collect();
    (!lists.is_empty()).then(|| format!("must specify {}", lists.join("; ")))
}

fn said_by(container: &Container) -> ResourceList {
    let resources = container.resources.as_ref();
    compute(
        &amounts(resources.and_then(|resources| resources.requests.as_ref())),
        &amounts(resources.and_then(|resources| resources.limits.as_ref())),
    )
}
