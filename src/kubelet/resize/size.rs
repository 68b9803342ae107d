//! How large the containers of a pod are: compared, and taken over from one version of a pod to another.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec, ResourceRequirements};

use object::quantity::Amount;
use object::resources::amounts;
use object::{Pod, pod};

/// Init containers, then the pod's own.
pub(super) fn containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    pod.spec.iter().flat_map(|spec| pod::containers(spec))
}

/// Changes them all, in the same order.
pub(super) fn each_container(pod: &mut Pod, change: impl Fn(&mut Container)) {
    let Some(spec) = &mut pod.spec else { return };
    let spec: &mut PodSpec = spec;
    spec.init_containers.iter_mut().flatten().chain(&mut spec.containers).for_each(change);
}

/// `new` with the sizes of `old`.
pub(super) fn as_large_as(new: &Pod, old: &Pod) -> Pod {
    let mut pod = new.clone();
    each_container(&mut pod, |container| {
        if let Some(old) = pod::container(old, &container.name) {
            container.resources.clone_from(&old.resources);
        }
    });
    pod
}

/// Whether all containers of two versions of a pod are equally large. Most versions share their spec.
pub(super) fn same_size(a: &Pod, b: &Pod) -> bool {
    match (&a.spec, &b.spec) {
        (Some(a), Some(b)) if a.same(b) => true,
        _ => containers(a).zip(containers(b)).all(|(a, b)| same_amounts(a.resources.as_ref(), b.resources.as_ref())),
    }
}

/// Whether requests and limits are the same, however they are written: `1000m` is `1`.
pub(super) fn same_amounts(a: Option<&ResourceRequirements>, b: Option<&ResourceRequirements>) -> bool {
    a == b || {
        let requests = |r: Option<&ResourceRequirements>| amounts(r.and_then(|r| r.requests.as_ref()));
        let limits = |r: Option<&ResourceRequirements>| amounts(r.and_then(|r| r.limits.as_ref()));
        requests(a) == requests(b) && limits(a) == limits(b)
    }
}

/// The same of one resource: `cpu`.
pub(super) fn same_amount(a: Option<&ResourceRequirements>, b: Option<&ResourceRequirements>, name: &str) -> bool {
    let both = |r: Option<&ResourceRequirements>| {
        let of = |list: Option<&BTreeMap<String, _>>| list.and_then(|list| list.get(name)).map(Amount::of);
        (of(r.and_then(|r| r.requests.as_ref())), of(r.and_then(|r| r.limits.as_ref())))
    };
    both(a) == both(b)
}

/// `cpu`'s CPU and `memory`'s memory.
pub(super) fn with_memory_of(
    cpu: Option<&ResourceRequirements>,
    memory: Option<&ResourceRequirements>,
) -> Option<ResourceRequirements> {
    let mut size = memory.cloned()?;
    for (into, from) in [
        (&mut size.requests, cpu.and_then(|cpu| cpu.requests.as_ref())),
        (&mut size.limits, cpu.and_then(|cpu| cpu.limits.as_ref())),
    ] {
        let list = into.get_or_insert_default();
        list.remove("cpu");
        list.extend(from.and_then(|from| from.get("cpu")).map(|cpu| ("cpu".to_owned(), cpu.clone())));
    }
    Some(size)
}
