//! Ephemeral containers: what is added to a Pod that runs, to look around in it. Their type has the fields of a container and
//! names one whose processes they see. Mirrors `EphemeralContainer` and `EphemeralContainerCommon` (`pkg/apis/core`).

use k8s_openapi::api::core::v1::{Container, EphemeralContainer, PodSpec};

/// Those of a Pod, in their order, each as the container that it is.
pub fn containers(spec: &PodSpec) -> impl Iterator<Item = Container> + '_ {
    spec.ephemeral_containers.iter().flatten().map(|ephemeral| as_container(ephemeral.clone()))
}

/// Whether one of them has this name.
pub fn is_one(spec: &PodSpec, name: &str) -> bool {
    spec.ephemeral_containers.iter().flatten().any(|ephemeral| ephemeral.name == name)
}

/// The container whose processes the one of this name sees, if it names one.
pub fn target_of<'a>(spec: &'a PodSpec, name: &str) -> Option<&'a str> {
    let found = spec.ephemeral_containers.iter().flatten().find(|ephemeral| ephemeral.name == name)?;
    found.target_container_name.as_deref().filter(|target| !target.is_empty())
}

/// Changes one as the container that it is.
pub fn with_container(ephemeral: &mut EphemeralContainer, change: impl FnOnce(&mut Container)) {
    let mut taken = std::mem::take(ephemeral);
    let target = taken.target_container_name.take();
    let mut container = as_container(taken);
    change(&mut container);
    *ephemeral = of_container(container, target);
}

fn as_container(ephemeral: EphemeralContainer) -> Container {
    Container {
        args: ephemeral.args,
        command: ephemeral.command,
        env: ephemeral.env,
        env_from: ephemeral.env_from,
        image: ephemeral.image,
        image_pull_policy: ephemeral.image_pull_policy,
        lifecycle: ephemeral.lifecycle,
        liveness_probe: ephemeral.liveness_probe,
        name: ephemeral.name,
        ports: ephemeral.ports,
        readiness_probe: ephemeral.readiness_probe,
        resize_policy: ephemeral.resize_policy,
        resources: ephemeral.resources,
        restart_policy: ephemeral.restart_policy,
        restart_policy_rules: ephemeral.restart_policy_rules,
        security_context: ephemeral.security_context,
        startup_probe: ephemeral.startup_probe,
        stdin: ephemeral.stdin,
        stdin_once: ephemeral.stdin_once,
        termination_message_path: ephemeral.termination_message_path,
        termination_message_policy: ephemeral.termination_message_policy,
        tty: ephemeral.tty,
        volume_devices: ephemeral.volume_devices,
        volume_mounts: ephemeral.volume_mounts,
        working_dir: ephemeral.working_dir,
    }
}

fn of_container(container: Container, target_container_name: Option<String>) -> EphemeralContainer {
    EphemeralContainer {
        args: container.args,
        command: container.command,
        env: container.env,
        env_from: container.env_from,
        image: container.image,
        image_pull_policy: container.image_pull_policy,
        lifecycle: container.lifecycle,
        liveness_probe: container.liveness_probe,
        name: container.name,
        ports: container.ports,
        readiness_probe: container.readiness_probe,
        resize_policy: container.resize_policy,
        resources: container.resources,
        restart_policy: container.restart_policy,
        restart_policy_rules: container.restart_policy_rules,
        security_context: container.security_context,
        startup_probe: container.startup_probe,
        stdin: container.stdin,
        stdin_once: container.stdin_once,
        target_container_name,
        termination_message_path: container.termination_message_path,
        termination_message_policy: container.termination_message_policy,
        tty: container.tty,
        volume_devices: container.volume_devices,
        volume_mounts: container.volume_mounts,
        working_dir: container.working_dir,
    }
}
