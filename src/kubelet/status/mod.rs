//! A pod's status: what the kubelet tells the API about a pod, computed from the spec, the runtime and the probes.
//!
//! `generate` mirrors `generateAPIPodStatus` (`pkg/kubelet/kubelet_pods.go`) and is a plain function: the same
//! pod, the same runtime picture and the same previous status give the same answer. What happens to the answer
//! on its way to the API server (coalescing, merging, the final DELETE) is [`merge`] and [`manager`].
//!
//! - [`inputs`]: what all of it is computed from.
//! - [`containers`]: waiting, running or terminated, and the last state, for each container.
//! - [`phase`]: Pending, Running, Succeeded or Failed.
//! - [`conditions`]: PodReadyToStartContainers, Initialized, Ready, ContainersReady, PodScheduled.
//! - [`deadline`]: whether it has been active for too long.
//! - [`sizes`]: what is set aside for each, and what is in force.
//! - [`merge`]: the status as written, seen against what the API server holds.
//! - [`manager`]: which statuses wait to be written.

pub mod conditions;
pub mod containers;
pub mod deadline;
pub mod inputs;
pub mod manager;
pub mod merge;
pub mod phase;
pub mod sizes;
#[cfg(test)]
mod tests;

use k8s_openapi::api::core::v1::{PodSpec, ResourceRequirements};

use crate::restart::exit_code;
use inputs::{Inputs, Probed};
use object::Shared;
use object::pod::status::{ContainerStatus, HostIP, PodIP, PodStatus};
use object::pod::{is_final, is_sidecar};

/// The pod's status now.
pub fn generate(inputs: &Inputs) -> PodStatus {
    let pod = inputs.pod;
    let empty = PodSpec::default();
    let spec = pod.spec.as_deref().unwrap_or(&empty);
    let mut status = PodStatus {
        container_statuses: containers::regular(inputs, spec),
        init_container_statuses: containers::init(inputs, spec),
        ephemeral_container_statuses: containers::ephemeral(inputs, spec),
        qos_class: pod.status.as_ref().and_then(|s| s.qos_class.clone()),
        nominated_node_name: pod.status.as_ref().and_then(|s| s.nominated_node_name.clone()),
        observed_generation: pod.metadata.generation,
        ..PodStatus::default()
    };
    set_phase(&mut status, inputs, spec);
    apply_probes(&mut status, inputs, spec);
    set_addresses(&mut status, inputs, spec);
    status.allocated_resources = inputs.sizes.whole.allocated.clone();
    status.resources = Some(resources_of_pod(inputs, &status));
    status.conditions = Some(conditions::all(inputs, &status, spec));
    status
}

/// What is in force for the pod as a whole. Of one that has run and whose last status said already that it is over, nothing
/// is kept that only its containers knew.
fn resources_of_pod(inputs: &Inputs, status: &PodStatus) -> Shared<ResourceRequirements> {
    let whole = &inputs.sizes.whole;
    let is_over = inputs.old.phase.as_deref().is_some_and(is_final);
    let mut containers = status.container_statuses.iter().flatten();
    let has_run = containers.all(|container| container.container_id.as_ref().is_some_and(|id| !id.is_empty()));
    if is_over && has_run { whole.at_rest.clone() } else { whole.in_force.clone() }
}

/// The computed phase, except that Succeeded and Failed are never left again.
fn set_phase(status: &mut PodStatus, inputs: &Inputs, spec: &PodSpec) {
    let all = status.container_statuses.iter().chain(&status.init_container_statuses).flatten();
    let all: Vec<&ContainerStatus> = all.collect();
    let computed = phase::of(spec, &all, inputs.terminal, inputs.runtime.has_initialized(spec));
    let api = inputs.pod.status.as_deref();
    let earlier = [Some(inputs.old), api].into_iter().flatten().filter_map(|s| s.phase.as_deref());
    let sticky = earlier.into_iter().find(|p| is_final(p));
    let phase = sticky.unwrap_or(computed);
    if inputs.old.phase.as_deref() == Some(phase) {
        status.reason = inputs.old.reason.clone().or_else(|| api?.reason.clone());
        status.message = inputs.old.message.clone().or_else(|| api?.message.clone());
    }
    status.phase = Some(phase.into());
    // A container that ends well when it is stopped for that does not make it a success.
    let by_itself = sticky.is_some() && inputs.old.reason.as_deref() != Some(deadline::REASON);
    if inputs.overdue && !by_itself {
        status.phase = Some(phase::FAILED.into());
        status.reason = Some(deadline::REASON.into());
        status.message = Some(deadline::MESSAGE.into());
    }
}

/// Fills in `started` and `ready` (`prober_manager.go` `UpdatePodStatus`).
fn apply_probes(status: &mut PodStatus, inputs: &Inputs, spec: &PodSpec) {
    let probe = |status: &mut ContainerStatus| {
        let running = status.state.as_ref().is_some_and(|s| s.running.is_some());
        let mut old = inputs.old.container_statuses.iter().chain(&inputs.old.init_container_statuses).flatten();
        let probed = match running {
            true => (inputs.probed)(status, old.find(|old| old.container_id == status.container_id)),
            false => Probed { started: false, ready: false },
        };
        status.started = Some(probed.started);
        status.ready = probed.started && probed.ready;
    };
    for status in status.container_statuses.iter_mut().flatten() {
        probe(status);
    }
    for status in status.init_container_statuses.iter_mut().flatten() {
        probe(status);
        let sidecar = spec.init_containers.iter().flatten().any(|c| c.name == status.name && is_sidecar(c));
        if !sidecar {
            status.ready = exit_code(status) == Some(0);
        }
    }
}

/// The node's address from the first status on; the pod's own once its sandbox has one. A kubelet that has restarted
/// and finds no sandbox has none to report, even if the API server holds one.
fn set_addresses(status: &mut PodStatus, inputs: &Inputs, spec: &PodSpec) {
    status.host_ip = Some(inputs.host_ip.into());
    status.host_ips = Some(vec![HostIP { ip: inputs.host_ip.into() }]);
    let mut ips = inputs.runtime.ips.clone();
    if ips.is_empty() && spec.host_network == Some(true) {
        ips = vec![inputs.host_ip.to_owned()];
    }
    status.pod_ip = ips.first().cloned().map(Into::into);
    status.pod_ips = (!ips.is_empty()).then(|| ips.into_iter().map(|ip| PodIP { ip: ip.into() }).collect());
}
