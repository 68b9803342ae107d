//! A Pod's status, smaller than `k8s-openapi`'s and cheaper to copy.
//!
//! A status is made, compared and copied more often than anything else. Here its texts are [`Text`]s; the resources in it,
//! which are those of all Pods that were made alike, can be shared; and what few Pods have stands apart. The fields are
//! called as `k8s-openapi` calls them, and read and print as they do there.
//!
//! Must hold: what a status is made from is what turning it back gives.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    self as core, ContainerUser, NodeAllocatableResourceClaimStatus, PodExtendedResourceClaimStatus,
    PodResourceClaimStatus, ResourceRequirements, ResourceStatus, VolumeStatus,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Deserializer, Serialize};

use crate::shared::Shared;
use crate::text::Text;

/// Amounts by the name of the resource.
pub type Quantities = BTreeMap<String, Quantity>;

/// A type in place of one that `k8s-openapi` has.
trait Like: Sized {
    /// That one.
    type Theirs;

    /// From theirs.
    fn of(theirs: Self::Theirs) -> Self;

    /// Back to theirs.
    fn theirs(self) -> Self::Theirs;
}

/// How a field is printed.
trait Field {
    /// Whether it is not.
    fn is_left_out(&self) -> bool;
}

/// These are as they are.
macro_rules! the_same {
    ($($type:ty),* $(,)?) => { $(
        impl Like for $type {
            type Theirs = $type;

            fn of(theirs: $type) -> $type {
                theirs
            }

            fn theirs(self) -> $type {
                self
            }
        }
    )* };
}

the_same!(
    bool,
    i32,
    i64,
    Time,
    Quantities,
    ContainerUser,
    NodeAllocatableResourceClaimStatus,
    PodExtendedResourceClaimStatus,
    PodResourceClaimStatus,
    ResourceRequirements,
    ResourceStatus,
    VolumeStatus,
);

impl Like for Text {
    type Theirs = String;

    fn of(theirs: String) -> Text {
        theirs.into()
    }

    fn theirs(self) -> String {
        self.into()
    }
}

impl<T: Like> Like for Option<T> {
    type Theirs = Option<T::Theirs>;

    fn of(theirs: Self::Theirs) -> Self {
        theirs.map(T::of)
    }

    fn theirs(self) -> Self::Theirs {
        self.map(T::theirs)
    }
}

impl<T: Like> Like for Vec<T> {
    type Theirs = Vec<T::Theirs>;

    fn of(theirs: Self::Theirs) -> Self {
        theirs.into_iter().map(T::of).collect()
    }

    fn theirs(self) -> Self::Theirs {
        self.into_iter().map(T::theirs).collect()
    }
}

impl<T: Like> Like for Box<T> {
    type Theirs = T::Theirs;

    fn of(theirs: Self::Theirs) -> Self {
        Box::new(T::of(theirs))
    }

    fn theirs(self) -> Self::Theirs {
        (*self).theirs()
    }
}

impl<T: Like + Clone> Like for Shared<T> {
    type Theirs = T::Theirs;

    fn of(theirs: Self::Theirs) -> Self {
        T::of(theirs).into()
    }

    fn theirs(self) -> Self::Theirs {
        self.into_inner().theirs()
    }
}

impl<T> Field for Option<T> {
    fn is_left_out(&self) -> bool {
        self.is_none()
    }
}

/// These are always printed.
macro_rules! required {
    ($($type:ty),*) => { $(
        impl Field for $type {
            fn is_left_out(&self) -> bool {
                false
            }
        }
    )* };
}

required!(Text, bool, i32);

/// A struct like that of the same name in `k8s-openapi`.
macro_rules! like {
    ($($(#[$of:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty = $json:literal,)* })*) => { $(
        $(#[$of])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct $name { $(
            $(#[$about])*
            #[serde(rename = $json, skip_serializing_if = "Field::is_left_out")]
            pub $field: $type,
        )* }

        impl Like for $name {
            type Theirs = core::$name;

            fn of(theirs: core::$name) -> $name {
                $name { $($field: Like::of(theirs.$field),)* }
            }

            fn theirs(self) -> core::$name {
                core::$name { $($field: self.$field.theirs(),)* }
            }
        }
    )* };
}

like! {
    /// What was seen of a Pod.
    PodStatus {
        /// What its node has set aside for it.
        allocated_resources: Option<Shared<Quantities>> = "allocatedResources",
        /// What holds of it.
        conditions: Option<Vec<PodCondition>> = "conditions",
        /// Its containers.
        container_statuses: Option<Vec<ContainerStatus>> = "containerStatuses",
        /// Containers that were added to look at it.
        ephemeral_container_statuses: Option<Vec<ContainerStatus>> = "ephemeralContainerStatuses",
        /// The claim for its extended resources.
        extended_resource_claim_status: Option<Box<PodExtendedResourceClaimStatus>> = "extendedResourceClaimStatus",
        /// Its node's address.
        host_ip: Option<Text> = "hostIP",
        /// Its node's addresses.
        host_ips: Option<Vec<HostIP>> = "hostIPs",
        /// Its init containers.
        init_container_statuses: Option<Vec<ContainerStatus>> = "initContainerStatuses",
        /// Why it is in this phase, for people.
        message: Option<Text> = "message",
        /// Claims for resources that nodes allocate.
        node_allocatable_resource_claim_statuses: Option<Box<Vec<NodeAllocatableResourceClaimStatus>>> =
            "nodeAllocatableResourceClaimStatuses",
        /// Where it will run once others are out of the way.
        nominated_node_name: Option<Text> = "nominatedNodeName",
        /// The version of the spec that this was seen of.
        observed_generation: Option<i64> = "observedGeneration",
        /// How far it has come.
        phase: Option<Text> = "phase",
        /// Its address.
        pod_ip: Option<Text> = "podIP",
        /// Its addresses.
        pod_ips: Option<Vec<PodIP>> = "podIPs",
        /// `Guaranteed`, `Burstable` or `BestEffort`.
        qos_class: Option<Text> = "qosClass",
        /// Why it is in this phase, for programs.
        reason: Option<Text> = "reason",
        /// How far it is with becoming larger or smaller; conditions tell it now.
        resize: Option<Text> = "resize",
        /// Its claims.
        resource_claim_statuses: Option<Box<Vec<PodResourceClaimStatus>>> = "resourceClaimStatuses",
        /// What is in force for it as a whole.
        resources: Option<Shared<ResourceRequirements>> = "resources",
        /// When its kubelet saw it first.
        start_time: Option<Time> = "startTime",
    }

    /// Something that holds of a Pod, or does not.
    PodCondition {
        /// Never written by today's components.
        last_probe_time: Option<Time> = "lastProbeTime",
        /// Since when.
        last_transition_time: Option<Time> = "lastTransitionTime",
        /// Why, for people.
        message: Option<Text> = "message",
        /// The version of the spec that this was seen of.
        observed_generation: Option<i64> = "observedGeneration",
        /// Why, for programs.
        reason: Option<Text> = "reason",
        /// `True`, `False` or `Unknown`.
        status: Text = "status",
        /// What.
        type_: Text = "type",
    }

    /// What was seen of a container.
    ContainerStatus {
        /// What its node has set aside for it.
        allocated_resources: Option<Shared<Quantities>> = "allocatedResources",
        /// The health of devices.
        allocated_resources_status: Option<Box<Vec<ResourceStatus>>> = "allocatedResourcesStatus",
        /// The runtime, and its name for the container.
        container_id: Option<Text> = "containerID",
        /// The image that it runs.
        image: Text = "image",
        /// The image's digest.
        image_id: Text = "imageID",
        /// How the one before it ended.
        last_state: Option<ContainerState> = "lastState",
        /// Its name in the spec.
        name: Text = "name",
        /// Its readiness probe passes.
        ready: bool = "ready",
        /// What is in force.
        resources: Option<Shared<ResourceRequirements>> = "resources",
        /// How often it was started anew.
        restart_count: i32 = "restartCount",
        /// Its startup probe has passed.
        started: Option<bool> = "started",
        /// What it does.
        state: Option<ContainerState> = "state",
        /// How it is asked to stop.
        stop_signal: Option<Text> = "stopSignal",
        /// Who it runs as.
        user: Option<Box<ContainerUser>> = "user",
        /// What is mounted in it.
        volume_mounts: Option<Vec<VolumeMountStatus>> = "volumeMounts",
    }

    /// What a container does: one of these, or it waits.
    ContainerState {
        /// It runs.
        running: Option<ContainerStateRunning> = "running",
        /// It has ended.
        terminated: Option<Box<ContainerStateTerminated>> = "terminated",
        /// It does not run yet, or not again.
        waiting: Option<Box<ContainerStateWaiting>> = "waiting",
    }

    /// A container that runs.
    ContainerStateRunning {
        /// Since when.
        started_at: Option<Time> = "startedAt",
    }

    /// A container that has ended.
    ContainerStateTerminated {
        /// The runtime, and its name for the container.
        container_id: Option<Text> = "containerID",
        /// With which code.
        exit_code: i32 = "exitCode",
        /// When.
        finished_at: Option<Time> = "finishedAt",
        /// Its last words.
        message: Option<Text> = "message",
        /// Why, for programs.
        reason: Option<Text> = "reason",
        /// By which signal.
        signal: Option<i32> = "signal",
        /// When it had begun.
        started_at: Option<Time> = "startedAt",
    }

    /// A container that waits.
    ContainerStateWaiting {
        /// What for, for people.
        message: Option<Text> = "message",
        /// What for, for programs.
        reason: Option<Text> = "reason",
    }

    /// A volume in a container.
    VolumeMountStatus {
        /// Where.
        mount_path: Text = "mountPath",
        /// Which.
        name: Text = "name",
        /// Nothing can be written there.
        read_only: Option<bool> = "readOnly",
        /// Nor below it.
        recursive_read_only: Option<Text> = "recursiveReadOnly",
        /// What is told of an image that is mounted.
        volume_status: Option<Box<VolumeStatus>> = "volumeStatus",
    }

    /// An address of a node.
    HostIP {
        /// The address.
        ip: Text = "ip",
    }

    /// An address of a Pod.
    PodIP {
        /// The address.
        ip: Text = "ip",
    }
}

impl From<core::PodStatus> for PodStatus {
    fn from(theirs: core::PodStatus) -> PodStatus {
        PodStatus::of(theirs)
    }
}

impl From<PodStatus> for core::PodStatus {
    fn from(status: PodStatus) -> core::PodStatus {
        status.theirs()
    }
}

impl<'de> Deserialize<'de> for PodStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PodStatus, D::Error> {
        core::PodStatus::deserialize(deserializer).map(PodStatus::of)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn it_reads_and_prints_as_theirs() {
        let waits = json!({"waiting": {"message": "no such image", "reason": "ErrImagePull"}});
        let ended = json!({"terminated": {"containerID": "containerd://1", "exitCode": 1, "reason": "Error"}});
        let container = json!({
            "allocatedResources": {"cpu": "1"}, "containerID": "containerd://2", "image": "nginx", "imageID": "",
            "lastState": ended, "name": "web", "ready": false, "resources": {"requests": {"cpu": "1"}},
            "restartCount": 3, "started": true, "state": waits, "user": {"linux": {"gid": 0, "uid": 0}},
            "volumeMounts": [{"mountPath": "/data", "name": "data", "readOnly": true, "recursiveReadOnly": "Disabled"}],
        });
        let status = json!({
            "allocatedResources": {"cpu": "1"},
            "conditions": [{"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 2, "reason": "PodCompleted",
                "status": "False", "type": "Ready"}],
            "containerStatuses": [container], "hostIP": "172.18.0.11", "hostIPs": [{"ip": "172.18.0.11"}],
            "observedGeneration": 2, "phase": "Running", "podIP": "10.244.0.2", "podIPs": [{"ip": "10.244.0.2"}],
            "qosClass": "Burstable", "resources": {}, "startTime": "2026-01-01T00:00:00Z",
        });
        for value in [status, json!({}), json!({"conditions": [], "containerStatuses": []})] {
            let theirs: core::PodStatus = serde_json::from_value(value.clone()).expect("a status");
            let ours = PodStatus::from(theirs.clone());
            assert_eq!((json!(ours), core::PodStatus::from(ours)), (value, theirs));
        }
    }

    #[test]
    fn what_must_be_there_is_printed_when_it_is_empty() {
        let container: Value = json!(ContainerStatus::default());
        let empty = json!({"image": "", "imageID": "", "name": "", "ready": false, "restartCount": 0});
        assert_eq!(container, empty);
        assert_eq!(container, json!(core::ContainerStatus::default()));
    }
}
