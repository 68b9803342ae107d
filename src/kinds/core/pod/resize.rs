//! Other sizes for the containers of a Pod, while they run. Mirrors `ValidatePodResize` of `pkg/apis/core/validation`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::pod_template::spec::{Owner, SPEC, pod_spec};
use object::Pod;
use object::pod::status::PodStatus;
use object::pod::{MIRROR, is_sidecar, qos_class};
use object::resources::amounts;
use object::validation::field::{Path, Problems};

/// What can be changed.
const RESIZED: [&str; 2] = ["cpu", "memory"];
const ONLY: &str = "only cpu and memory resources are mutable";

/// CPU and memory may change, unless that makes the Pod another class of service; nothing else may.
pub fn update(problems: &mut Problems, new: &Pod, old: &Pod) {
    let (Some(spec), Some(before)) = (&new.spec, &old.spec) else { return };
    if old.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(MIRROR)) {
        return problems.forbidden(&Path::new(""), "static pods cannot be resized");
    }
    if before.os.as_ref().is_some_and(|os| os.name == "windows") {
        return problems.forbidden(&Path::new(""), "windows pods cannot be resized");
    }
    let (spec, before) = (&spec.whole(), &before.whole());
    pod_spec(problems, &SPEC, spec, Owner::Pod(&new.metadata));
    let class = old.status.as_ref().and_then(|status| status.qos_class.as_deref()).unwrap_or_default();
    if class != qos_class(new) {
        problems.invalid(&SPEC, class, "Pod QOS Class may not change as a result of resizing");
    }
    if !is_supported(old.status.as_deref()) {
        problems.forbidden(&SPEC, "Pod running on node without support for resize");
    }
    of_whole_pod(problems, spec.resources.as_ref(), before.resources.as_ref());
    let there = problems.0.len();
    same_containers(problems, spec, before);
    if problems.0.len() == there {
        sizes(problems, spec, before);
    }
}

/// Whether the kubelet says how large containers are: one that does can change it. Mirrors `isPodResizeRequestSupported`.
fn is_supported(status: Option<&PodStatus>) -> bool {
    let mut statuses = status.into_iter().flat_map(|status| status.container_statuses.iter().flatten());
    let running = statuses.find(|status| status.state.as_ref().is_some_and(|state| state.running.is_some()));
    running.is_none_or(|status| status.resources.is_some())
}

/// What the Pod has as a whole.
fn of_whole_pod(problems: &mut Problems, new: Option<&ResourceRequirements>, old: Option<&ResourceRequirements>) {
    let path = SPEC.child("resources");
    match (new, old) {
        (None, Some(_)) => return problems.forbidden(&path, "pod-level resources cannot be removed"),
        (Some(new), Some(old)) => nothing_removed(problems, &path, "pod-level resource", new, old),
        _ => {}
    }
    if rest(new) != rest(old) {
        problems.forbidden(&SPEC, "only cpu and memory resources are mutable at pod-level");
    }
}

/// The containers are those that there were, in their order.
fn same_containers(problems: &mut Problems, new: &PodSpec, old: &PodSpec) {
    for (name, new, old) in [
        ("containers", new.containers.as_slice(), old.containers.as_slice()),
        ("initContainers", inits(new), inits(old)),
    ] {
        let list = SPEC.child(name);
        if new.len() != old.len() {
            problems.forbidden(&list, &format!("{name} may not be added or removed on resize"));
            continue;
        }
        let renamed = new.iter().zip(old).enumerate().filter(|(_, (new, old))| new.name != old.name);
        for (i, _) in renamed {
            let why = format!("{name} may not be renamed or reordered on resize");
            problems.forbidden(&list.index(i).child("name"), &why);
        }
    }
}

fn sizes(problems: &mut Problems, new: &PodSpec, old: &PodSpec) {
    let (own, init) = (SPEC.child("containers"), SPEC.child("initContainers"));
    let empty = ResourceRequirements::default();
    for (list, new, old) in [(&init, inits(new), inits(old)), (&own, &new.containers, &old.containers)] {
        for (i, (new, old)) in new.iter().zip(old).enumerate() {
            let path = list.index(i);
            let of = |container: &Container| container.resources.clone().unwrap_or(empty.clone());
            nothing_removed(problems, &path.child("resources"), "resource", &of(new), &of(old));
        }
    }
    for _ in new.containers.iter().zip(&old.containers).filter(|(new, old)| !differ_in_size_alone(new, old)) {
        problems.forbidden(&SPEC, ONLY);
    }
    for (i, (new, old)) in inits(new).iter().zip(inits(old)).enumerate() {
        let path = init.index(i);
        if !differ_in_size_alone(new, old) {
            problems.forbidden(&path, "only cpu and memory resources for init or sidecar containers are mutable");
        }
        let restarts = new.resize_policy.iter().flatten().any(|policy| policy.restart_policy == "RestartContainer");
        if new != old && !is_sidecar(new) && restarts {
            const WHY: &str = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
            problems.forbidden(&path, WHY);
        }
    }
}

fn inits(spec: &PodSpec) -> &[Container] {
    spec.init_containers.as_deref().unwrap_or_default()
}

/// A request or limit that there was can get another value, and not go. `what`: `resource`.
fn nothing_removed(
    problems: &mut Problems,
    path: &Path,
    what: &str,
    new: &ResourceRequirements,
    old: &ResourceRequirements,
) {
    for (name, new, old) in [("requests", &new.requests, &old.requests), ("limits", &new.limits, &old.limits)] {
        let is_there = |name: &String| new.as_ref().is_some_and(|new| new.contains_key(name));
        if !old.iter().flat_map(|old| old.keys()).all(is_there) {
            problems.forbidden(&path.child(name), &format!("{what} {name} cannot be removed"));
        }
    }
}

/// Whether two containers are the same but for their CPU and memory.
fn differ_in_size_alone(new: &Container, old: &Container) -> bool {
    let shape = |container: &Container| Container { resources: None, ..container.clone() };
    shape(new) == shape(old) && rest(new.resources.as_ref()) == rest(old.resources.as_ref())
}

/// What is asked for beside CPU and memory.
fn rest(resources: Option<&ResourceRequirements>) -> impl PartialEq + use<> {
    let resources = resources.cloned().unwrap_or_default();
    let others = |list: Option<&BTreeMap<String, Quantity>>| {
        let mut others = amounts(list);
        others.retain(|name, _| !RESIZED.contains(&name.as_str()));
        others
    };
    (others(resources.requests.as_ref()), others(resources.limits.as_ref()), resources.claims.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use object::read;

    fn pod(spec: &Value, class: &str) -> Pod {
        let running = json!({"name": "app", "state": {"running": {}}, "resources": {}});
        let status = json!({"qosClass": class, "containerStatuses": [running]});
        read::from_value(&json!({"metadata": {"name": "web"}, "spec": spec, "status": status})).expect("it is a Pod")
    }

    fn of(resources: &Value, more: &[Value]) -> Value {
        let mut containers = vec![json!({"name": "app", "image": "nginx", "resources": resources})];
        containers.extend_from_slice(more);
        json!({"containers": containers})
    }

    fn says(new: &Value, old: &Value) -> Vec<String> {
        let mut problems = Problems::default();
        let class = qos_class(&pod(old, ""));
        update(&mut problems, &pod(new, class), &pod(old, class));
        let ours = |cause: &object::status::Cause| {
            let about = ["resiz", "mutable", "removed"].iter().any(|word| cause.message.contains(word));
            about.then(|| format!("{}: {}", cause.field, cause.message))
        };
        problems.0.iter().filter_map(ours).collect()
    }

    #[test]
    fn cpu_and_memory_change_and_nothing_else() {
        let old = of(&json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}), &[]);
        let larger = of(&json!({"requests": {"cpu": "150m", "memory": "1Gi"}, "limits": {"cpu": "1"}}), &[]);
        assert_eq!(says(&larger, &old), [""; 0]);
        for (resources, expected) in [
            (
                json!({"requests": {"cpu": "200m"}}),
                "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
            ),
            (
                json!({"limits": {"cpu": "200m"}}),
                "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
            ),
            (
                json!({"requests": {"cpu": "100m", "ephemeral-storage": "1Gi"}, "limits": {"cpu": "200m"}}),
                "spec: Forbidden: only cpu and memory resources are mutable",
            ),
            (
                json!({"requests": {"cpu": "200m", "memory": "1Gi"}, "limits": {"cpu": "200m", "memory": "1Gi"}}),
                "spec: Invalid value: \"Burstable\": Pod QOS Class may not change as a result of resizing",
            ),
        ] {
            assert_eq!(says(&of(&resources, &[]), &old), [expected], "{resources}");
        }
        let another = of(&json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}), &[json!({"name": "b"})]);
        assert_eq!(
            says(&another, &old),
            ["spec.containers: Forbidden: containers may not be added or removed on resize"]
        );
        let mut windows = old.clone();
        windows["os"] = json!({"name": "windows"});
        assert_eq!(says(&larger, &windows), [": Forbidden: windows pods cannot be resized"]);
        let (mut problems, mut of_file) = (Problems::default(), pod(&old, "Burstable"));
        of_file.metadata.annotations = Some([(MIRROR.to_owned(), String::new())].into());
        update(&mut problems, &pod(&larger, "Burstable"), &of_file);
        assert_eq!(problems.0[0].message, "Forbidden: static pods cannot be resized");
    }
}
