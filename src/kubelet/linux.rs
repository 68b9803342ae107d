//! What the kernel is told of a container: how much of the machine it may use, and how soon it goes when memory runs out.
//!
//! Mirrors `generateLinuxContainerResources` (`pkg/kubelet/kuberuntime/kuberuntime_container_linux.go`) and
//! `GetContainerOOMScoreAdjust` (`pkg/kubelet/qos/policy.go`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::cri::LinuxContainerResources;
use crate::pod_types::is_critical;
use object::Pod;
use object::pod::{is_sidecar, qos_class};
use object::quantity::Amount;
use object::resources::{pod_level, requests_of_containers};

/// The least CPU quota that the kernel takes, in microseconds.
const CPU_QUOTA_MIN: i64 = 1000;
/// The kernel's bounds for shares of the CPU.
const CPU_SHARES_MIN: i64 = 2;
const CPU_SHARES_MAX: i64 = 262_144;
/// What goes last. Mirrors `guaranteedOOMScoreAdj`.
const OOM_LAST: i64 = -997;
/// What goes first. Mirrors `besteffortOOMScoreAdj`.
const OOM_FIRST: i64 = 1000;
/// The class of pods without which a node is none.
const NODE_CRITICAL: &str = "system-node-critical";

/// Requests and limits of `size` as the kernel knows them, on a machine with so much memory. A container with a CPU limit and
/// no request gets shares for the limit; one without a limit has that of its pod, if the pod as a whole has one.
pub fn resources(
    pod: &Pod,
    container: &Container,
    size: Option<&ResourceRequirements>,
    memory: i64,
) -> LinuxContainerResources {
    let (requests, limits) = (size.and_then(|size| size.requests.as_ref()), size.and_then(|size| size.limits.as_ref()));
    let of_pod = pod_level(pod).and_then(|whole| whole.limits.as_ref());
    let limit = |name: &str| amount(limits, name).filter(|limit| !limit.is_zero()).or_else(|| amount(of_pod, name));
    let cpu = limit("cpu").unwrap_or_default().milli_value();
    let shares = amount(requests, "cpu").map_or(cpu, Amount::milli_value) * 1024 / 1000;
    LinuxContainerResources {
        cpu_quota: if cpu == 0 { 0 } else { (cpu * 100).max(CPU_QUOTA_MIN) },
        cpu_shares: shares.clamp(CPU_SHARES_MIN, CPU_SHARES_MAX),
        memory_limit_in_bytes: limit("memory").unwrap_or_default().value(),
        oom_score_adj: oom_score_adj(pod, container, requests, memory),
    }
}

/// The more of the machine's memory a container asks for, the later it goes.
fn oom_score_adj(pod: &Pod, container: &Container, requests: Option<&BTreeMap<String, Quantity>>, memory: i64) -> i64 {
    let class = pod.spec.as_ref().and_then(|spec| spec.priority_class_name.as_deref());
    match qos_class(pod) {
        _ if is_critical(pod) && class == Some(NODE_CRITICAL) => return OOM_LAST,
        "Guaranteed" => return OOM_LAST,
        "BestEffort" => return OOM_FIRST,
        _ => {}
    }
    let beside = rest_of_each(pod);
    let score = |asked: i64| 1000 - 1000 * (asked + beside) / memory.max(1);
    let asked = amount(requests, "memory").unwrap_or_default().value();
    // A sidecar outlives the containers that it serves.
    let all = pod.spec.iter().flat_map(|spec| &spec.containers).map(memory_of);
    let least = all.min().filter(|_| is_sidecar(container)).map_or(i64::MAX, score);
    score(asked).min(least).clamp(OOM_FIRST + OOM_LAST, OOM_FIRST - 1)
}

/// What the pod as a whole asks for beyond what its containers do, in equal parts.
fn rest_of_each(pod: &Pod) -> i64 {
    let whole = pod_level(pod).and_then(|whole| amount(whole.requests.as_ref(), "memory"));
    let (Some(whole), Some(spec)) = (whole, &pod.spec) else { return 0 };
    let own = requests_of_containers(pod).get("memory").copied().unwrap_or_default();
    let sidecars = spec.init_containers.iter().flatten().filter(|init| is_sidecar(init)).count();
    let count = i64::try_from(spec.containers.len() + sidecars).unwrap_or(1).max(1);
    (whole.value() - own.value()).max(0) / count
}

fn memory_of(container: &Container) -> i64 {
    let requests = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    amount(requests, "memory").unwrap_or_default().value()
}

fn amount(list: Option<&BTreeMap<String, Quantity>>, name: &str) -> Option<Amount> {
    list?.get(name).map(Amount::of)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use object::pod::containers;

    const GIB: i64 = 1 << 30;

    /// What the kernel is told of the first init container, or else of the first container, of a machine with 8Gi.
    fn told(spec: Value) -> LinuxContainerResources {
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": spec})).expect("a Pod");
        let spec = pod.spec.as_ref().expect("a spec");
        let container = containers(spec).next().expect("a container");
        resources(&pod, container, container.resources.as_ref(), 8 * GIB)
    }

    fn of(resources: Value) -> Value {
        json!({"containers": [{"name": "a", "resources": resources}]})
    }

    #[test]
    fn requests_and_limits_are_what_the_kernel_understands() {
        for (resources, quota, shares, memory) in [
            (json!({}), 0, 2, 0),
            (json!({"requests": {"cpu": "250m"}, "limits": {"cpu": "1", "memory": "1Gi"}}), 100_000, 256, GIB),
            (json!({"limits": {"cpu": "500m"}}), 50_000, 512, 0),
            (json!({"requests": {"cpu": "0"}, "limits": {"cpu": "1m"}}), 1000, 2, 0),
        ] {
            let told = told(of(resources.clone()));
            assert_eq!(
                (told.cpu_quota, told.cpu_shares, told.memory_limit_in_bytes),
                (quota, shares, memory),
                "{resources}"
            );
        }
        let mut whole = of(json!({"requests": {"cpu": "1"}}));
        whole["resources"] = json!({"limits": {"cpu": "2", "memory": "2Gi"}});
        let told = told(whole);
        assert_eq!((told.cpu_quota, told.cpu_shares, told.memory_limit_in_bytes), (200_000, 1024, 2 * GIB));
    }

    #[test]
    fn who_asks_for_more_memory_goes_later() {
        let requests = |memory: &str| json!({"requests": {"memory": memory}});
        let with_sidecar = |sidecar: &str, app: &str| {
            json!({"initContainers": [{"name": "s", "restartPolicy": "Always", "resources": requests(sidecar)}],
                "containers": [{"name": "a", "resources": requests(app)}, {"name": "b", "resources": requests("4Gi")}]})
        };
        let mut critical = of(json!({}));
        critical["priority"] = json!(2_000_001_000);
        let cluster_critical = critical.clone();
        critical["priorityClassName"] = json!(NODE_CRITICAL);
        let mut whole = json!({"containers": [{"name": "a"}, {"name": "b", "resources": requests("2Gi")}]});
        whole["resources"] = requests("4Gi");
        for (spec, score) in [
            (of(json!({})), 1000),
            (of(json!({"requests": {"cpu": "1"}})), 999),
            (of(requests("800Mi")), 903),
            (of(requests("8Gi")), 3),
            (of(json!({"limits": {"cpu": "1", "memory": "1Gi"}})), -997),
            (with_sidecar("1Gi", "2Gi"), 750),
            (with_sidecar("3Gi", "2Gi"), 625),
            (critical, -997),
            (cluster_critical, 1000),
            // No container asks for two of the GiB: each gets one of them.
            (whole, 875),
        ] {
            assert_eq!(told(spec.clone()).oom_score_adj, score, "{spec}");
        }
    }
}
