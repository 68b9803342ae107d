//! How much a pod asks for: plain arithmetic over pod specs.
//!
//! Mirrors `k8s.io/component-helpers/resource/helpers.go` (`PodRequests`) and `framework.NodeInfo`'s accounting in
//! `pkg/scheduler/framework/types.go`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use object::Pod;
use object::pod::is_sidecar;
use object::pod::status::ContainerStatus;
use object::quantity::Amount;
use object::resources::is_pod_level;

/// What a container without a CPU request counts as in scores: 100 m. `DefaultMilliCPURequest`.
const DEFAULT_MILLI_CPU_REQUEST: i64 = 100;
/// What a container without a memory request counts as in scores: 200 MiB. `DefaultMemoryRequest`.
const DEFAULT_MEMORY_REQUEST: i64 = 200 * 1024 * 1024;

/// Amounts of each resource: what a node has, what its pods use, what a pod asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// CPU in thousandths.
    pub milli_cpu: i64,
    /// Bytes.
    pub memory: i64,
    /// Bytes.
    pub ephemeral_storage: i64,
    /// How many pods a node takes; unused in requests.
    pub pods: i64,
    /// Extended resources and huge pages, by name; seldom any.
    pub scalar: BTreeMap<String, i64>,
}

/// A list of amounts, as objects carry it.
pub type Quantities = BTreeMap<String, Quantity>;

impl Resources {
    /// Reads a list such as `status.allocatable` or `resources.requests`.
    pub fn of(quantities: Option<&Quantities>) -> Resources {
        let mut resources = Resources::default();
        for (name, quantity) in quantities.into_iter().flatten() {
            resources.set(name, Amount::of(quantity));
        }
        resources
    }

    fn set(&mut self, name: &str, amount: Amount) {
        match name {
            "cpu" => self.milli_cpu = amount.milli_value(),
            "memory" => self.memory = amount.value(),
            "ephemeral-storage" => self.ephemeral_storage = amount.value(),
            "pods" => self.pods = amount.value(),
            _ => {
                self.scalar.insert(name.to_owned(), amount.value());
            }
        }
    }

    /// Adds every amount of `other`, but for the number of pods, which is counted, not requested.
    pub fn add(&mut self, other: &Resources) {
        self.milli_cpu += other.milli_cpu;
        self.memory += other.memory;
        self.ephemeral_storage += other.ephemeral_storage;
        for (name, amount) in &other.scalar {
            *self.scalar.entry(name.clone()).or_default() += amount;
        }
    }

    /// Takes away what [`Resources::add`] added.
    pub fn subtract(&mut self, other: &Resources) {
        self.milli_cpu -= other.milli_cpu;
        self.memory -= other.memory;
        self.ephemeral_storage -= other.ephemeral_storage;
        for (name, amount) in &other.scalar {
            *self.scalar.entry(name.clone()).or_default() -= amount;
        }
    }

    fn raise_to(&mut self, other: &Resources) {
        self.milli_cpu = self.milli_cpu.max(other.milli_cpu);
        self.memory = self.memory.max(other.memory);
        self.ephemeral_storage = self.ephemeral_storage.max(other.ephemeral_storage);
        for (name, amount) in &other.scalar {
            let own = self.scalar.entry(name.clone()).or_default();
            *own = (*own).max(*amount);
        }
    }

    /// Whether nothing at all is asked for, so that only the number of pods can be in the way.
    pub fn is_zero(&self) -> bool {
        self.milli_cpu == 0 && self.memory == 0 && self.ephemeral_storage == 0 && self.scalar.is_empty()
    }

    /// Whether any amount is smaller than in `other`, or gone. Mirrors `extractPodScaleDown`'s comparison.
    pub fn any_below(&self, other: &Resources) -> bool {
        self.milli_cpu < other.milli_cpu
            || self.memory < other.memory
            || self.ephemeral_storage < other.ephemeral_storage
            || other.scalar.iter().any(|(name, amount)| self.scalar.get(name).copied().unwrap_or(0) < *amount)
    }
}

/// What the pod asks for, as the filter counts it: a missing request is zero.
pub fn pod_requests(pod: &Pod) -> Resources {
    total(pod, Missing::IsZero)
}

/// The same for scores: CPU and memory requests that are missing count as a small default, so that pods that
/// ask for nothing still spread. An explicit zero stays zero.
pub fn non_zero_requests(pod: &Pod) -> (i64, i64) {
    let requests = total(pod, Missing::IsDefault);
    (requests.milli_cpu, requests.memory)
}

#[derive(Clone, Copy, PartialEq)]
enum Missing {
    IsZero,
    IsDefault,
}

/// Init containers run one after the other and before the others, so their peak counts; sidecars (init containers
/// that restart always) stay beside everything that starts after them, so they add up.
fn total(pod: &Pod, missing: Missing) -> Resources {
    let Some(spec) = &pod.spec else { return Resources::default() };
    let mut running = Resources::default();
    for container in &spec.containers {
        running.add(&container_requests(pod, container, missing));
    }
    let mut sidecars = Resources::default();
    let mut init_peak = Resources::default();
    for container in spec.init_containers.iter().flatten() {
        let requests = container_requests(pod, container, missing);
        if is_sidecar(container) {
            running.add(&requests);
            sidecars.add(&requests);
            init_peak.raise_to(&sidecars);
        } else {
            let mut beside = sidecars.clone();
            beside.add(&requests);
            init_peak.raise_to(&beside);
        }
    }
    running.raise_to(&init_peak);
    override_with_pod_level(&mut running, spec.resources.as_ref());
    running.add(&Resources::of(spec.overhead.as_ref()));
    running
}

/// `spec.resources` of the pod as a whole wins over the sum of its containers, for the resources it may name.
fn override_with_pod_level(total: &mut Resources, resources: Option<&ResourceRequirements>) {
    let Some(requests) = resources.and_then(|resources| resources.requests.as_ref()) else { return };
    for (name, quantity) in requests {
        if is_pod_level(name) {
            total.set(name, Amount::of(quantity));
        }
    }
}

fn container_requests(pod: &Pod, container: &Container, missing: Missing) -> Resources {
    let spec = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let lists: Vec<&Quantities> = match held_by(pod, container) {
        // What the kubelet cannot give is not counted.
        Some(held) if is_resize_infeasible(pod) => held,
        held => spec.into_iter().chain(held.into_iter().flatten()).collect(),
    };
    let mut requests = Resources::default();
    lists.iter().for_each(|list| requests.raise_to(&Resources::of(Some(list))));
    if missing == Missing::IsDefault {
        let says = |name: &str| lists.iter().any(|list| list.contains_key(name));
        if !says("cpu") {
            requests.milli_cpu = DEFAULT_MILLI_CPU_REQUEST;
        }
        if !says("memory") {
            requests.memory = DEFAULT_MEMORY_REQUEST;
        }
    }
    requests
}

/// In-place resize: until the kubelet has shrunk a running container, it still holds what it was given. Init containers
/// that end are past that. Mirrors `determineContainerReqs`.
fn held_by<'a>(pod: &'a Pod, container: &Container) -> Option<Vec<&'a Quantities>> {
    let is_init = pod.spec.as_ref()?.init_containers.iter().flatten().any(|init| init.name == container.name);
    if is_init && !is_sidecar(container) {
        return None;
    }
    let status = container_status(pod, &container.name)?;
    let actuated = status.resources.as_ref()?.requests.as_ref();
    Some([actuated, status.allocated_resources.as_deref()].into_iter().flatten().collect())
}

/// Mirrors `IsPodResizeInfeasible`.
fn is_resize_infeasible(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let pending = conditions.find(|condition| condition.type_ == "PodResizePending");
    pending.is_some_and(|condition| condition.reason.as_deref() == Some("Infeasible"))
}

fn container_status<'a>(pod: &'a Pod, name: &str) -> Option<&'a ContainerStatus> {
    let status = pod.status.as_ref()?;
    let statuses = status.container_statuses.iter().chain(&status.init_container_statuses).flatten();
    statuses.into_iter().find(|status| status.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::pod;

    #[test]
    fn requests_of_containers_init_containers_and_sidecars() {
        let cases = [
            (
                "two containers add up",
                "containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Gi}}}, {name: b, resources: {requests: {cpu: 500m}}}]",
                (1500, 1 << 30),
            ),
            (
                "the biggest init container counts if it is above the sum",
                "{initContainers: [{name: i, resources: {requests: {cpu: 3}}}, {name: j, resources: {requests: {cpu: 2}}}], containers: [{name: a, resources: {requests: {cpu: 1}}}]}",
                (3000, 0),
            ),
            (
                "a sidecar runs beside everything after it",
                "{initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}, {name: i, resources: {requests: {cpu: 3}}}], containers: [{name: a, resources: {requests: {cpu: 1}}}]}",
                (4000, 0),
            ),
            (
                "and adds to the containers",
                "{initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}], containers: [{name: a, resources: {requests: {cpu: 1}}}]}",
                (2000, 0),
            ),
            (
                "the pod's own requests win, overhead comes on top",
                "{resources: {requests: {cpu: 5}}, overhead: {cpu: 250m, memory: 1Ki}, containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Ki}}}]}",
                (5250, 2048),
            ),
        ];
        for (name, spec, (milli_cpu, memory)) in cases {
            let requests = pod_requests(&pod("p", spec));
            assert_eq!((requests.milli_cpu, requests.memory), (milli_cpu, memory), "{name}");
        }
    }

    #[test]
    fn what_a_container_holds_counts_until_it_is_given_back() {
        let holding = |status: &str, more: &str| {
            let mut pod = pod("p", "containers: [{name: a, resources: {requests: {cpu: 3}}}]");
            let status = format!("{{containerStatuses: [{{{BASE}, {status}}}]{more}}}");
            pod.status = Some(serde_yaml::from_str(&status).expect("the status is a pod's"));
            pod_requests(&pod).milli_cpu
        };
        const BASE: &str = "name: a, image: x, imageID: x, ready: true, restartCount: 0";
        let infeasible = ", conditions: [{type: PodResizePending, status: 'True', reason: Infeasible}]";
        for (status, more, expected) in [
            ("resources: {requests: {cpu: '4'}}", "", 4000),
            ("resources: {requests: {cpu: '1'}}, allocatedResources: {cpu: '2'}", "", 3000),
            ("resources: {requests: {cpu: '1'}}, allocatedResources: {cpu: '2'}", infeasible, 2000),
            ("allocatedResources: {cpu: '4'}", "", 3000),
        ] {
            assert_eq!(holding(status, more), expected, "{status}{more}");
        }
    }

    #[test]
    fn missing_requests_count_in_scores_and_explicit_zero_does_not() {
        let cases = [
            ("containers: [{name: a}, {name: b}]", (200, 2 * DEFAULT_MEMORY_REQUEST)),
            ("containers: [{name: a, resources: {requests: {cpu: 0, memory: 1Mi}}}]", (0, 1 << 20)),
        ];
        for (spec, expected) in cases {
            assert_eq!(non_zero_requests(&pod("p", spec)), expected, "{spec}");
        }
    }
}
