//! What a Pod asks for in all, resource by resource. Mirrors `k8s.io/component-helpers/resource`.
//!
//! Containers run side by side, so they add up. Init containers run before them, one after the other, so only the largest
//! of them counts, together with the sidecars (init containers that restart always) that started before it.
//!
//! Left out: what a container holds on to while its kubelet resizes it in place.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::pod::is_sidecar;
use super::quantity::Amount;
use crate::Pod;

/// Amounts by the name of the resource: `cpu`, `requests.memory`, `count/secrets`.
pub type ResourceList = BTreeMap<String, Amount>;

/// Quantities as numbers; none is an empty list.
pub fn amounts(quantities: Option<&BTreeMap<String, Quantity>>) -> ResourceList {
    quantities.into_iter().flatten().map(|(name, quantity)| (name.clone(), Amount::of(quantity))).collect()
}

/// Numbers as the quantities that objects carry.
pub fn quantities(amounts: &ResourceList) -> BTreeMap<String, Quantity> {
    amounts.iter().map(|(name, amount)| (name.clone(), amount.to_quantity())).collect()
}

/// Whether Kubernetes itself gives this resource its meaning. Mirrors `IsNativeResource`.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether this is a resource that Kubernetes only counts: devices, and others with a vendor's domain in their name. Mirrors
/// `IsExtendedResourceName`.
pub fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.")
}

/// Whether nodes may promise more of it than they have. Mirrors `IsOvercommitAllowed`.
pub fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Memory in large pages: `hugepages-2Mi`.
pub fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether this can be said of a Pod as a whole. Mirrors `IsSupportedPodLevelResource`.
pub fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_page(name)
}

/// What is said of the Pod as a whole, if anything is: its containers need not say it then. Mirrors
/// `IsPodLevelResourcesSet`.
pub fn pod_level(pod: &Pod) -> Option<&ResourceRequirements> {
    let resources = pod.spec.as_ref()?.resources.as_ref()?;
    let said = resources.requests.iter().chain(&resources.limits).flatten().any(|(name, _)| is_pod_level(name));
    said.then_some(resources)
}

/// Adds each of `more` to its like.
pub fn add(total: &mut ResourceList, more: &ResourceList) {
    more.iter().for_each(|(name, amount)| add_one(total, name, *amount));
}

fn add_one(total: &mut ResourceList, name: &str, amount: Amount) {
    match total.get_mut(name) {
        Some(there) => *there += amount,
        None => drop(total.insert(name.to_owned(), amount)),
    }
}

/// What the Pod requests. Mirrors `PodRequests`.
pub fn pod_requests(pod: &Pod) -> ResourceList {
    let mut requests = total(pod, |resources| resources.requests.as_ref());
    add(&mut requests, &overhead(pod));
    requests
}

/// What the Pod is limited to; a resource that no container limits is missing. Mirrors `PodLimits`.
pub fn pod_limits(pod: &Pod) -> ResourceList {
    let mut limits = total(pod, |resources| resources.limits.as_ref());
    for (name, amount) in overhead(pod) {
        limits.entry(name).and_modify(|limit| *limit += amount);
    }
    limits
}

fn overhead(pod: &Pod) -> ResourceList {
    amounts(pod.spec.as_ref().and_then(|spec| spec.overhead.as_ref()))
}

/// What the Pod's containers request, without regard to the Pod's own requests. Mirrors `AggregateContainerRequests`.
pub fn requests_of_containers(pod: &Pod) -> ResourceList {
    of_containers(pod, |resources| resources.requests.as_ref())
}

/// What the Pod's containers are limited to, where they are. Mirrors `AggregateContainerLimits`.
pub fn limits_of_containers(pod: &Pod) -> ResourceList {
    of_containers(pod, |resources| resources.limits.as_ref())
}

/// One of the two lists that requirements have.
type List = fn(&ResourceRequirements) -> Option<&BTreeMap<String, Quantity>>;

fn total(pod: &Pod, of: List) -> ResourceList {
    let mut total = of_containers(pod, of);
    // What is said of the Pod as a whole wins, for the resources that the Pod level supports.
    let whole = amounts(pod.spec.as_ref().and_then(|spec| of(spec.resources.as_ref()?)));
    total.extend(whole.into_iter().filter(|(name, _)| is_pod_level(name)));
    total
}

fn of_containers(pod: &Pod, of: List) -> ResourceList {
    let Some(spec) = &pod.spec else { return ResourceList::new() };
    let mut running = ResourceList::new();
    for (name, quantity) in spec.containers.iter().filter_map(|container| of(container.resources.as_ref()?)).flatten() {
        add_one(&mut running, name, Amount::of(quantity));
    }
    let of = |resources: Option<&ResourceRequirements>| amounts(resources.and_then(of));
    let (mut sidecars, mut peak) = (ResourceList::new(), ResourceList::new());
    for container in spec.init_containers.iter().flatten() {
        let mut beside = of(container.resources.as_ref());
        if is_sidecar(container) {
            add(&mut running, &beside);
            add(&mut sidecars, &beside);
            raise(&mut peak, &sidecars);
        } else {
            add(&mut beside, &sidecars);
            raise(&mut peak, &beside);
        }
    }
    raise(&mut running, &peak);
    running
}

/// Each amount becomes that of `other`, where that is greater.
fn raise(list: &mut ResourceList, other: &ResourceList) {
    for (name, amount) in other {
        let there = list.entry(name.clone()).or_insert(*amount);
        *there = (*there).max(*amount);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shown(list: &ResourceList) -> String {
        list.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn containers_add_up_and_init_containers_peak() {
        let asks = |cpu: &str| json!({"requests": {"cpu": cpu}, "limits": {"memory": "1Gi"}});
        let cases: [(Value, &str, &str); 6] = [
            (json!({"containers": [{"name": "a"}]}), "", ""),
            (
                json!({"containers": [{"name": "a", "resources": asks("1")}, {"name": "b", "resources": asks("500m")}]}),
                "cpu=1500m",
                "memory=2Gi",
            ),
            (
                json!({"initContainers": [{"name": "i", "resources": asks("2")}],
                    "containers": [{"name": "a", "resources": asks("1")}]}),
                "cpu=2",
                "memory=1Gi",
            ),
            (
                json!({"initContainers": [{"name": "s", "restartPolicy": "Always", "resources": asks("1")},
                    {"name": "i", "resources": asks("3")}], "containers": [{"name": "a", "resources": asks("1")}]}),
                "cpu=4",
                "memory=2Gi",
            ),
            (
                json!({"overhead": {"cpu": "250m"}, "containers": [{"name": "a", "resources": asks("1")}]}),
                "cpu=1250m",
                "memory=1Gi",
            ),
            (
                json!({"resources": {"requests": {"cpu": "5"}}, "containers": [{"name": "a", "resources": asks("1")}]}),
                "cpu=5",
                "memory=1Gi",
            ),
        ];
        for (spec, requests, limits) in cases {
            let pod: Pod = serde_json::from_value(json!({"spec": spec})).expect("a Pod");
            assert_eq!(
                (shown(&pod_requests(&pod)), shown(&pod_limits(&pod))),
                (requests.into(), limits.into()),
                "{spec}"
            );
        }
    }
}
