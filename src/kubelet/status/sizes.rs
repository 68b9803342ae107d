//! What a status tells of the pod's size.
//!
//! Unless a pod is being made larger or smaller, its spec alone decides this: pods that share their spec share it too.

use k8s_openapi::api::core::v1::{Container, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::resize::pending::Resize;
use object::pod::Spec;
use object::pod::status::Quantities;
use object::resources::{pod_limits, pod_requests, quantities};
use object::{Last, Pod, Shared};

/// What is set aside for a pod or container, and what is in force.
#[derive(Clone, Debug, Default)]
pub struct Size {
    /// `allocatedResources`.
    pub allocated: Option<Shared<Quantities>>,
    /// `resources`.
    pub in_force: Shared<ResourceRequirements>,
    /// The same for a container that does not run and that the runtime does not report: what is set aside for it. And
    /// for a pod that has run and ended: what its spec says of it as a whole, and the memory that its containers ask for.
    pub at_rest: Shared<ResourceRequirements>,
}

/// The sizes of a pod.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    of: Option<Spec>,
    /// That of all of it.
    pub whole: Size,
    containers: Vec<(String, Size)>,
}

impl Sizes {
    /// Of a pod as large as is allocated, and of what is known of its being made larger or smaller.
    pub fn of(pod: &Pod, resize: Option<&Resize>) -> Sizes {
        let Some(spec) = &pod.spec else { return Sizes::default() };
        let all = spec.containers.iter().chain(spec.init_containers.iter().flatten());
        let one = |container: &Container| {
            let actual = resize.and_then(|resize| resize.actual(&container.name));
            (container.name.clone(), of_container(container, actual))
        };
        Sizes { of: Some(spec.clone()), whole: of_pod(pod, resize), containers: all.map(one).collect() }
    }

    /// The same, which may be what was told last: of the same pod, or of one that shares its spec.
    pub fn told(last: &Last<Sizes>, pod: &Pod, resize: Option<&Resize>) -> Shared<Sizes> {
        let (Some(spec), None) = (&pod.spec, resize) else { return Sizes::of(pod, resize).into() };
        let is_of = |sizes: &Sizes| sizes.of.as_ref().is_some_and(|of| of.shares_with(spec));
        last.or_make(is_of, || Sizes::of(pod, None))
    }

    /// That of a container; one that was added to look at the pod has none.
    pub fn of_container(&self, name: &str) -> Size {
        let found = self.containers.iter().find(|(container, _)| container == name);
        found.map(|(_, size)| size.clone()).unwrap_or_default()
    }
}

/// What all containers of a pod have together.
fn of_pod(pod: &Pod, resize: Option<&Resize>) -> Size {
    let filled = |list: Quantities| (!list.is_empty()).then_some(list);
    let in_force = |pod: &Pod| ResourceRequirements {
        requests: filled(quantities(&pod_requests(pod))),
        limits: filled(quantities(&pod_limits(pod))),
        ..ResourceRequirements::default()
    };
    let now = resize.map_or_else(|| in_force(pod), |resize| in_force(&resize.actual_pod(pod)));
    let in_force = Shared::from(now);
    let allocated = filled(quantities(&pod_requests(pod))).map(Shared::from);
    Size { allocated, at_rest: of_ended_pod(pod).into(), in_force }
}

/// What its containers have together was read where they ran, and is not there any more. Mirrors
/// `convertToAPIPodLevelResourcesStatus` (`pkg/kubelet/kubelet_pods.go`) when it finds nothing to keep.
fn of_ended_pod(pod: &Pod) -> ResourceRequirements {
    let said = pod.spec.as_ref().and_then(|spec| spec.resources.clone()).unwrap_or_default();
    let mut requests = said.requests.unwrap_or_default();
    if let Some(memory) = quantities(&pod_requests(pod)).remove("memory") {
        requests.entry("memory".into()).or_insert(memory);
    }
    ResourceRequirements {
        requests: Some(requests).filter(|requests| !requests.is_empty()),
        limits: said.limits.filter(|limits| !limits.is_empty()),
        ..ResourceRequirements::default()
    }
}

/// `actual` is its size, if that is not the one which is allocated.
fn of_container(container: &Container, actual: Option<&ResourceRequirements>) -> Size {
    let allocated = container.resources.as_ref().and_then(|r| r.requests.clone()).filter(|r| !r.is_empty());
    let own = |resources: Option<&ResourceRequirements>| ResourceRequirements {
        requests: resources.and_then(|r| r.requests.clone()).filter(|r| !r.is_empty()),
        limits: resources.and_then(|r| r.limits.clone()).filter(|l| !l.is_empty()),
        ..ResourceRequirements::default()
    };
    let at_rest = own(container.resources.as_ref());
    let mut in_force = own(actual.or(container.resources.as_ref()));
    if let Some(requests) = &mut in_force.requests {
        // The kubelet asks the runtime for the memory in force, and a container without a memory request has 0.
        requests.entry("memory".into()).or_insert_with(|| Quantity("0".into()));
    }
    let same = in_force == at_rest;
    let in_force = Shared::from(in_force);
    let at_rest = if same { in_force.clone() } else { at_rest.into() };
    Size { allocated: allocated.map(Shared::from), in_force, at_rest }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(cpu: &str) -> Pod {
        let resources = json!({"requests": {"cpu": cpu}, "limits": {"cpu": "2"}});
        let spec = json!({"containers": [{"name": "app", "resources": resources}]});
        serde_json::from_value(json!({"spec": spec})).expect("a Pod")
    }

    fn shown(size: &Size) -> Value {
        json!([size.allocated, size.in_force])
    }

    #[test]
    fn a_container_that_asks_for_no_memory_is_told_to_have_none() {
        let sizes = Sizes::of(&pod("1"), None);
        let whole = json!([{"cpu": "1"}, {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}]);
        let container = json!([{"cpu": "1"}, {"limits": {"cpu": "2"}, "requests": {"cpu": "1", "memory": "0"}}]);
        assert_eq!((shown(&sizes.whole), shown(&sizes.of_container("app"))), (whole, container));
        let stopped = json!({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}});
        assert_eq!(json!(sizes.of_container("app").at_rest), stopped, "once it has ended, the runtime is not asked");
        assert_eq!(shown(&sizes.of_container("debugger")), json!([null, {}]));
    }

    #[test]
    fn of_a_pod_that_has_ended_only_what_is_said_of_the_whole_and_its_memory_are_left() {
        let of = |whole: Value, container: Value| {
            let containers = json!([{"name": "app", "resources": container}]);
            let spec = json!({"containers": containers, "resources": whole});
            json!(Sizes::of(&serde_json::from_value(json!({"spec": spec})).expect("a Pod"), None).whole.at_rest)
        };
        assert_eq!(of(Value::Null, json!({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}})), json!({}));
        let memory = json!({"requests": {"cpu": "1", "memory": "1Gi"}});
        assert_eq!(of(Value::Null, memory.clone()), json!({"requests": {"memory": "1Gi"}}));
        let whole = json!({"limits": {"cpu": "2"}, "requests": {"cpu": "2", "memory": "2Gi"}});
        assert_eq!(of(whole.clone(), memory), whole);
    }

    #[test]
    fn pods_that_share_a_spec_share_their_sizes() {
        let (last, first, other) = (Last::default(), pod("1"), pod("2"));
        let mut sibling = first.clone();
        sibling.spec.as_mut().expect("a spec").node_name = Some("node-2".into());
        let [one, two, three] = [&first, &sibling, &other].map(|pod| Sizes::told(&last, pod, None));
        assert!(one.same(&two) && !one.same(&three));
        assert_eq!(shown(&three.whole)[0], json!({"cpu": "2"}));
    }
}
