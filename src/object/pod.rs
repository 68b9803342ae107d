//! The Pod, and what its status says in a word: read by the API server, controllers, kubelet and debugger alike.
//!
//! - [`spec`]: one copy is shared by Pods made alike. [`status`]: small, and cheap to copy.
//!
//! Mirrors `k8s.io/kubernetes/pkg/api/v1/pod/util.go`.

use k8s_openapi::Resource as _;
use k8s_openapi::api::core::v1::{self as core, Container, ContainerPort, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::shared::Shared;

pub mod spec;
pub mod status;

pub use spec::Spec;
pub use status::{PodCondition, PodStatus};

/// A Pod: `k8s-openapi`'s, but its versions share the spec and status that they have in common, and Pods that were made
/// alike share their spec. There are more Pods than anything else, each is written five times while it starts, and most of
/// those writes change a few bytes of the status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pod {
    /// Who it is.
    pub metadata: ObjectMeta,
    /// What should run.
    pub spec: Option<Spec>,
    /// What was seen.
    pub status: Option<Shared<PodStatus>>,
}

impl From<core::Pod> for Pod {
    fn from(pod: core::Pod) -> Pod {
        Pod {
            metadata: pod.metadata,
            spec: pod.spec.map(Spec::from),
            status: pod.status.map(|status| PodStatus::from(status).into()),
        }
    }
}

impl From<Pod> for core::Pod {
    fn from(pod: Pod) -> core::Pod {
        core::Pod {
            metadata: pod.metadata,
            spec: pod.spec.map(PodSpec::from),
            status: pod.status.map(|status| status.into_inner().into()),
        }
    }
}

impl k8s_openapi::Resource for Pod {
    const API_VERSION: &'static str = core::Pod::API_VERSION;
    const GROUP: &'static str = core::Pod::GROUP;
    const KIND: &'static str = core::Pod::KIND;
    const VERSION: &'static str = core::Pod::VERSION;
    const URL_PATH_SEGMENT: &'static str = core::Pod::URL_PATH_SEGMENT;
    type Scope = <core::Pod as k8s_openapi::Resource>::Scope;
}

impl k8s_openapi::Metadata for Pod {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Serialize for Pod {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = 3 + usize::from(self.spec.is_some()) + usize::from(self.status.is_some());
        let mut pod = serializer.serialize_struct(core::Pod::KIND, parts)?;
        pod.serialize_field("apiVersion", core::Pod::API_VERSION)?;
        pod.serialize_field("kind", core::Pod::KIND)?;
        pod.serialize_field("metadata", &self.metadata)?;
        if let Some(spec) = &self.spec {
            pod.serialize_field("spec", spec)?;
        }
        if let Some(status) = &self.status {
            pod.serialize_field("status", status)?;
        }
        pod.end()
    }
}

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pod, D::Error> {
        core::Pod::deserialize(deserializer).map(Pod::from)
    }
}

use super::quantity::Amount;
use super::resources::pod_level;

/// The Pod's phase, empty before it has one.
pub fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// Whether a phase is one that a Pod never leaves.
pub fn is_final(phase: &str) -> bool {
    matches!(phase, "Succeeded" | "Failed")
}

/// Whether none of the Pod's containers will run again. Mirrors `podutil.IsPodTerminal`.
pub fn has_ended(pod: &Pod) -> bool {
    is_final(phase(pod))
}

/// The node that the Pod is assigned to; None before it has one. Mirrors `assignedPod` of the scheduler.
pub fn assigned_node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

/// The node on which room is being made for the Pod; None if there is none.
pub fn nominated_node(pod: &Pod) -> Option<&str> {
    pod.status.as_ref()?.nominated_node_name.as_deref().filter(|node| !node.is_empty())
}

/// The Pod's IPv4 address.
pub fn address_of(pod: &Pod) -> Option<&str> {
    let status = pod.status.as_ref()?;
    let all = status.pod_ips.iter().flatten().map(|ip| ip.ip.as_str()).chain(status.pod_ip.as_deref());
    all.into_iter().find(|ip| ip.parse::<std::net::Ipv4Addr>().is_ok())
}

/// The annotation of a Pod that only shows what a kubelet runs because a file on its node asks for it: that one's uid.
pub const MIRROR: &str = "kubernetes.io/config.mirror";

/// The action of a rule that starts all containers of the Pod anew.
const RESTART_ALL: &str = "RestartAllContainers";

/// Whether an init container is a sidecar: one that runs beside all that start after it. Mirrors
/// `podutil.IsRestartableInitContainer`.
pub fn is_sidecar(init: &Container) -> bool {
    init.restart_policy.as_deref() == Some("Always")
}

/// The containers of a Pod in the order in which they run: init containers come first. Mirrors `podutil.ContainerIter`.
pub fn containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().flatten().chain(&spec.containers)
}

/// The Pod's container of that name.
pub fn container<'a>(pod: &'a Pod, name: &str) -> Option<&'a Container> {
    containers(pod.spec.as_ref()?).find(|container| container.name == name)
}

/// The number of a port that one of the Pod's containers has under this name, with this protocol (`TCP`).
pub fn container_port(pod: &Pod, name: &str, protocol: &str) -> Option<i32> {
    let spec = pod.spec.as_ref()?;
    let sidecars = spec.init_containers.iter().flatten().filter(|init| is_sidecar(init));
    let declared = spec.containers.iter().chain(sidecars).flat_map(|container| container.ports.iter().flatten());
    let same = |there: &&ContainerPort| {
        there.name.as_deref() == Some(name) && there.protocol.as_deref().unwrap_or("TCP") == protocol
    };
    declared.into_iter().find(same).map(|there| there.container_port)
}

/// Whether a container that has ended is started again: its own rules for exit codes come first, then its own policy, then
/// that of the Pod. Mirrors `ContainerShouldRestart`.
pub fn is_restarted(of_pod: Option<&str>, container: &Container, exit_code: i32) -> bool {
    if let Some(action) = rule_for(container, exit_code) {
        return action == "Restart" || action == RESTART_ALL;
    }
    match container.restart_policy.as_deref().or(of_pod).unwrap_or("Always") {
        "Never" => false,
        "OnFailure" => exit_code != 0,
        _ => true,
    }
}

/// Whether all containers of the Pod are started anew because this one ended with that code.
pub fn restarts_all(container: &Container, exit_code: i32) -> bool {
    rule_for(container, exit_code) == Some(RESTART_ALL)
}

/// Whether any container's end may start all of them anew. Mirrors `AllContainersCouldRestart`.
pub fn could_restart_all(spec: &PodSpec) -> bool {
    containers(spec)
        .flat_map(|container| container.restart_policy_rules.iter().flatten())
        .any(|rule| rule.action == RESTART_ALL)
}

/// What the first of a container's rules that is about this exit code says.
fn rule_for(container: &Container, exit_code: i32) -> Option<&str> {
    container.restart_policy_rules.iter().flatten().find_map(|rule| {
        let codes = rule.exit_codes.as_ref()?;
        let listed = codes.values.as_deref().unwrap_or_default().contains(&exit_code);
        let matches = if codes.operator == "NotIn" { !listed } else { listed };
        matches.then_some(rule.action.as_str())
    })
}

/// The Pod's Ready condition. Mirrors `podutil.GetPodReadyCondition`.
pub fn ready_condition(pod: &Pod) -> Option<&PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    conditions.iter().find(|condition| condition.type_ == "Ready")
}

/// Whether the Pod's Ready condition is True. Mirrors `podutil.IsPodReady`.
pub fn is_ready(pod: &Pod) -> bool {
    ready_condition(pod).is_some_and(|condition| condition.status == "True")
}

/// `Guaranteed`, `Burstable` or `BestEffort`. Mirrors `pkg/apis/core/v1/helper/qos`.
pub fn qos_class(pod: &Pod) -> &'static str {
    let Some(spec) = &pod.spec else { return "BestEffort" };
    let each = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    // If anything is said of the Pod as a whole, only that counts.
    let resources: Vec<_> = match pod_level(pod) {
        Some(whole) => vec![Some(whole)],
        None => each.map(|container| container.resources.as_ref()).collect(),
    };
    let amount = |map: Option<&std::collections::BTreeMap<_, _>>, name: &str| {
        map.and_then(|m| m.get(name)).map(Amount::of).filter(|q| !q.is_zero())
    };
    let (mut any, mut all) = (false, true);
    for resources in resources {
        for name in ["cpu", "memory"] {
            let limit = amount(resources.and_then(|r| r.limits.as_ref()), name);
            let request = amount(resources.and_then(|r| r.requests.as_ref()), name);
            any |= limit.is_some() || request.is_some();
            all &= limit.is_some() && (request.is_none() || request == limit);
        }
    }
    match (any, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
