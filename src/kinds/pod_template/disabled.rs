//! Fields behind feature gates that are off by default: they are not stored. Mirrors `DropDisabledPodFields` and
//! `DropDisabledTemplateFields`, and the strategy of Leases.
//!
//! They are `lifecycle.stopSignal` (ContainerStopSignals) and `schedulingGroup` (GenericWorkload) of Pods, and `strategy` and
//! `preferredHolder` (CoordinatedLeaderElection) of Leases.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Lifecycle, PodSpec};

use object::{Object, template};

/// Takes them out of a Pod, or of the Pod template of a workload.
pub fn drop_from_pods(object: &mut Object) {
    let spec = match &*object {
        Object::Pod(pod) => pod.spec.as_deref(),
        other => template::of(other).and_then(|(_, template)| template.spec.as_ref()),
    };
    // A change copies the object, and hardly any object has such a field.
    if !spec.is_some_and(has_any) {
        return;
    }
    match object {
        Object::Pod(pod) => Arc::make_mut(pod).spec.as_deref_mut().into_iter().for_each(drop_all),
        other => template::of_mut(other).and_then(|template| template.spec.as_mut()).into_iter().for_each(drop_all),
    }
}

fn has_any(spec: &PodSpec) -> bool {
    let all = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    let added = spec.ephemeral_containers.iter().flatten().map(|container| &container.lifecycle);
    let signals = |lifecycle: &Option<Lifecycle>| lifecycle.as_ref().is_some_and(|at| at.stop_signal.is_some());
    spec.scheduling_group.is_some() || all.map(|container| &container.lifecycle).chain(added).any(signals)
}

fn drop_all(spec: &mut PodSpec) {
    spec.scheduling_group = None;
    let all = spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten());
    let added = spec.ephemeral_containers.iter_mut().flatten().map(|container| &mut container.lifecycle);
    for lifecycle in all.map(|container| &mut container.lifecycle).chain(added) {
        if lifecycle.as_mut().is_some_and(|at| at.stop_signal.take().is_some())
            && *lifecycle == Some(Lifecycle::default())
        {
            *lifecycle = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use object::Kind;

    fn stored(kind: Kind, manifest: Value) -> Value {
        let mut object = kind.decode(manifest).expect("it is of that kind");
        crate::strategy::drop_disabled(&mut object);
        object.to_json()["spec"].clone()
    }

    #[test]
    fn leases_and_drivers_lose_what_a_gate_is_off_for() {
        let named = |spec: Value| json!({"metadata": {"name": "a"}, "spec": spec});
        let lease = json!({"holderIdentity": "a", "strategy": "OldestEmulationVersion", "preferredHolder": "b"});
        assert_eq!(stored(Kind::Lease, named(lease)), json!({"holderIdentity": "a"}));
        let driver = json!({"attachRequired": true, "preventPodSchedulingIfMissing": true});
        assert_eq!(stored(Kind::CSIDriver, named(driver)), json!({"attachRequired": true}));
    }

    #[test]
    fn pods_and_templates_lose_what_a_gate_is_off_for() {
        let signal = json!({"stopSignal": "SIGUSR1"});
        let hook = json!({"preStop": {"sleep": {"seconds": 5}}});
        let both = json!({"stopSignal": "SIGUSR1", "preStop": {"sleep": {"seconds": 5}}});
        let with = |first: Option<Value>, second: Value, group: Option<Value>| {
            let mut spec =
                json!({"containers": [{"name": "a"}], "initContainers": [{"name": "b", "lifecycle": second}]});
            first.into_iter().for_each(|lifecycle| spec["containers"][0]["lifecycle"] = lifecycle);
            group.into_iter().for_each(|group| spec["schedulingGroup"] = group);
            spec
        };
        let sent = with(Some(signal), both, Some(json!({"podGroupName": "all"})));
        let kept = with(None, hook, None);
        assert_eq!(stored(Kind::Pod, json!({"metadata": {"name": "web"}, "spec": sent})), kept);
        let of = |spec: &Value| json!({"selector": {}, "template": {"spec": spec}});
        assert_eq!(
            stored(Kind::Deployment, json!({"metadata": {"name": "web"}, "spec": of(&sent)}))["template"]["spec"],
            kept
        );
        let job = json!({"schedule": "* * * * *", "jobTemplate": {"spec": of(&sent)}});
        let job = stored(Kind::CronJob, json!({"metadata": {"name": "web"}, "spec": job}));
        assert_eq!(job["jobTemplate"]["spec"]["template"]["spec"], kept);
    }
}
