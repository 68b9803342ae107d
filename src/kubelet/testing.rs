//! Small values for the table tests.

use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::runtime_pod::{RunState, RuntimeContainer, RuntimePod, RuntimeSandbox};
use object::Pod;
use object::pod::status::PodStatus;
use object::time::Instant;

pub fn container(name: &str) -> Container {
    Container { name: name.into(), image: Some("nginx:1.27".into()), ..Container::default() }
}

/// A pod with these containers, bound and never synced.
pub fn pod(containers: &[&str]) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name: Some("web".into()),
            namespace: Some("default".into()),
            uid: Some("u1".into()),
            generation: Some(1),
            ..ObjectMeta::default()
        },
        spec: Some(
            PodSpec {
                containers: containers.iter().map(|name| container(name)).collect(),
                restart_policy: Some("Always".into()),
                node_name: Some("node-1".into()),
                ..PodSpec::default()
            }
            .into(),
        ),
        status: Some(PodStatus { phase: Some("Pending".into()), ..PodStatus::default() }.into()),
    }
}

pub fn running(name: &str) -> RuntimeContainer {
    RuntimeContainer {
        id: format!("{name}-id").into(),
        sandbox_id: "sandbox".into(),
        name: name.into(),
        state: RunState::Running,
        image: "nginx:1.27".into(),
        image_id: "nginx:1.27".into(),
        started_at: Instant(2_000_000_000),
        ..RuntimeContainer::default()
    }
}

pub fn exited(name: &str, exit_code: i32) -> RuntimeContainer {
    let reason = if exit_code == 0 { "Completed" } else { "Error" };
    RuntimeContainer {
        state: RunState::Exited,
        exit_code,
        reason: reason.into(),
        finished_at: Instant(3_000_000_000),
        ..running(name)
    }
}

/// A pod whose sandbox is ready.
pub fn sandboxed(containers: Vec<RuntimeContainer>) -> RuntimePod {
    let sandbox =
        RuntimeSandbox { id: "sandbox".into(), ready: true, ip: "10.244.1.2".into(), ..RuntimeSandbox::default() };
    RuntimePod { ips: vec!["10.244.1.2".into()], sandboxes: vec![sandbox], containers, seen_at: Instant(0) }
}
