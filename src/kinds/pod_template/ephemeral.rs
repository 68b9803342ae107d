//! The containers that are added to a Pod which runs. Mirrors `validateEphemeralContainers` and
//! `ValidatePodEphemeralContainersUpdate` of `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::{Container, EphemeralContainer, PodSpec};

use crate::pod_template::container;
use crate::pod_template::container::Around;
use crate::pod_template::spec::{Owner, SPEC, pod_spec, trimmed_image, unique};
use crate::validation::diff;
use object::validation::field::{Path, Problems};
use object::{Pod, ephemeral};

const NOT_FOR_THEM: &str = "cannot be set for an Ephemeral Container";

/// What ephemeral containers must be: named like no other container, and nothing that a Pod relies on.
pub fn containers(problems: &mut Problems, list: &Path, spec: &PodSpec, around: &Around) {
    let others: Vec<&str> = spec.containers.iter().chain(spec.init_containers.iter().flatten()).map(name).collect();
    let targets = spec.ephemeral_containers.iter().flatten().map(|one| one.target_container_name.as_deref());
    let mut before: Vec<String> = Vec::new();
    for (i, (one, target)) in ephemeral::containers(spec).zip(targets).enumerate() {
        let path = list.index(i);
        container::container(problems, &path, &one, around);
        trimmed_image(problems, &path, &one);
        unique(problems, &path, &one, others.contains(&name(&one)) || before.contains(&one.name));
        if let Some(target) = target.filter(|target| !target.is_empty() && !others.contains(target)) {
            problems.not_found(&path.child("targetContainerName"), target);
        }
        forbidden_fields(problems, &path, &one);
        sub_paths(problems, &path, &one);
        before.push(one.name);
    }
}

fn name(container: &Container) -> &str {
    &container.name
}

/// In the order of Go's fields. Mirrors `validateFieldAllowList`.
fn forbidden_fields(problems: &mut Problems, path: &Path, one: &Container) {
    let resources = one.resources.as_ref().is_some_and(|resources| *resources != Default::default());
    let given = [
        ("ports", one.ports.as_ref().is_some_and(|ports| !ports.is_empty())),
        ("resources", resources),
        ("resizePolicy", one.resize_policy.as_ref().is_some_and(|policies| !policies.is_empty())),
        ("restartPolicy", one.restart_policy.is_some()),
        ("restartPolicyRules", one.restart_policy_rules.as_ref().is_some_and(|rules| !rules.is_empty())),
        ("livenessProbe", one.liveness_probe.is_some()),
        ("readinessProbe", one.readiness_probe.is_some()),
        ("startupProbe", one.startup_probe.is_some()),
        ("lifecycle", one.lifecycle.is_some()),
    ];
    for (field, _) in given.into_iter().filter(|(_, given)| *given) {
        problems.forbidden(&path.child(field), NOT_FOR_THEM);
    }
}

fn sub_paths(problems: &mut Problems, path: &Path, one: &Container) {
    let list = path.child("volumeMounts");
    for (i, mount) in one.volume_mounts.iter().flatten().enumerate() {
        let path = list.index(i);
        for (field, value) in [("subPath", &mount.sub_path), ("subPathExpr", &mount.sub_path_expr)] {
            if value.as_deref().is_some_and(|value| !value.is_empty()) {
                problems.forbidden(&path.child(field), NOT_FOR_THEM);
            }
        }
    }
}

/// What is there stays as it is; more may come.
pub fn update(problems: &mut Problems, new: &Pod, old: &Pod) {
    let (Some(spec), Some(before)) = (&new.spec, &old.spec) else { return };
    let (spec, before) = (&spec.whole(), &before.whole());
    pod_spec(problems, &SPEC, spec, Owner::Pod(&new.metadata));
    let list = SPEC.child("ephemeralContainers");
    for old in before.ephemeral_containers.iter().flatten() {
        match spec.ephemeral_containers.iter().flatten().rfind(|new| new.name == old.name) {
            None => {
                let why = format!("existing ephemeral containers {:?} may not be removed\n", old.name);
                problems.forbidden(&list, &why);
            }
            Some(new) if new != old => problems.forbidden(&list, &changed(old, new)),
            Some(_) => {}
        }
    }
}

fn changed(old: &EphemeralContainer, new: &EphemeralContainer) -> String {
    let differs = diff::of_structs("EphemeralContainer", old, new);
    format!("existing ephemeral containers {:?} may not be changed\n{differs}", old.name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::defaults::set_defaults;
    use object::{Object, read};

    fn pod(ephemeral: &Value) -> Pod {
        let spec = json!({
            "containers": [{"name": "web", "image": "nginx"}], "ephemeralContainers": ephemeral,
            "volumes": [{"name": "data", "emptyDir": {}}],
        });
        let mut pod = Object::Pod(
            read::from_value::<Pod>(&json!({"metadata": {"name": "web"}, "spec": spec})).expect("it is a Pod").into(),
        );
        set_defaults(&mut pod);
        let Object::Pod(pod) = pod else { unreachable!("it stays one") };
        Arc::unwrap_or_clone(pod)
    }

    fn problems(new: &Value, old: &Value) -> Vec<String> {
        let mut problems = Problems::default();
        update(&mut problems, &pod(new), &pod(old));
        problems.0.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
    }

    #[test]
    fn nothing_that_a_pod_relies_on() {
        let probe = json!({"tcpSocket": {"port": 80}});
        for (field, value) in [
            ("ports", json!([{"containerPort": 80, "protocol": "TCP"}])),
            ("resources", json!({"limits": {"cpu": "1"}})),
            ("restartPolicy", json!("Always")),
            ("livenessProbe", probe.clone()),
            ("readinessProbe", probe.clone()),
            ("startupProbe", probe),
            ("lifecycle", json!({"preStop": {"exec": {"command": ["true"]}}})),
        ] {
            let one = json!([{"name": "look", "image": "busybox", field: value}]);
            let expected = format!("spec.ephemeralContainers[0].{field}: Forbidden: {NOT_FOR_THEM}");
            assert_eq!(problems(&one, &json!([])), [expected]);
        }
        let mount = json!({"name": "data", "mountPath": "/data", "subPath": "a"});
        let one = json!([{"name": "look", "image": "busybox", "volumeMounts": [mount]}]);
        let expected = format!("spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: {NOT_FOR_THEM}");
        assert_eq!(problems(&one, &json!([])), [expected]);
    }

    #[test]
    fn what_is_there_stays() {
        let [a, b] = ["a", "b"].map(|name| json!({"name": name, "image": "busybox"}));
        assert_eq!(problems(&json!([b.clone(), a.clone()]), &json!([a.clone()])), [""; 0]);
        let removed = "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"a\" may not be removed\n";
        assert_eq!(problems(&json!([b.clone()]), &json!([a.clone()])), [removed]);
        let twice = problems(&json!([a.clone(), a.clone()]), &json!([a]));
        assert_eq!(twice, ["spec.ephemeralContainers[1].name: Duplicate value: \"a\""]);
    }
}
