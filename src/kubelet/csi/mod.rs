//! The Container Storage Interface: what Kubernetes asks of a storage system, and a storage system that answers.
//!
//! A driver has two halves. The controller half makes volumes and connects them to nodes; it runs once, and beside it
//! run the sidecars that translate Kubernetes' objects into calls: [`provisioner`], [`attacher`] and [`resizer`]. The
//! node half mounts volumes; it runs on each node and the kubelet calls it. A volume so goes through states, up and
//! down again:
//!
//! ```text
//! CreateVolume → ControllerPublishVolume → NodeStageVolume → NodePublishVolume
//! DeleteVolume ← ControllerUnpublishVolume ← NodeUnstageVolume ← NodeUnpublishVolume
//! ```
//!
//! A volume may also grow: ControllerExpandVolume makes it larger, NodeExpandVolume the file system on it.
//!
//! Mirrors the CSI specification 1.x (`csi.proto`). Every call may be made again and then changes nothing.
//!
//! - [`backend`]: the storage system: its volumes, and the files on them.
//! - [`driver`]: both halves of the driver.
//! - [`sidecar`]: what the sidecars have in common.
//!
//! Left out: snapshots, clones, listing, secrets, block volumes, ephemeral volumes, volume health.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use engine::Message;
use engine::event::printed;

pub mod attacher;
pub mod backend;
pub mod driver;
pub mod install;
pub mod provisioner;
pub mod resizer;
pub mod sidecar;

/// The name of the driver: provisioner in classes, attacher in attachments.
pub const DRIVER: &str = "disk.csi.kubestep.dev";

/// What is asked of a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum CsiRequest {
    /// Who are you?
    GetPluginInfo,
    /// Make a volume. The name makes it idempotent.
    CreateVolume {
        /// `pvc-` and the claim's uid.
        name: String,
        /// The least bytes that will do.
        required_bytes: i64,
        /// How it will be used: `ReadWriteOnce` …
        access_modes: Vec<String>,
        /// From the class.
        parameters: BTreeMap<String, String>,
        /// Where it must be reachable; empty: anywhere.
        topology: BTreeMap<String, String>,
    },
    /// Destroy a volume.
    DeleteVolume {
        /// The volume.
        volume_id: String,
    },
    /// Connect a volume to a node.
    ControllerPublishVolume {
        /// The volume.
        volume_id: String,
        /// The node, as the driver calls it.
        node_id: String,
        /// Other nodes may have it, too.
        shared: bool,
    },
    /// Disconnect it.
    ControllerUnpublishVolume {
        /// The volume.
        volume_id: String,
        /// The node, as the driver calls it.
        node_id: String,
    },
    /// Make a volume larger.
    ControllerExpandVolume {
        /// The volume.
        volume_id: String,
        /// The least bytes that will do.
        required_bytes: i64,
    },
    /// Which node is this?
    NodeGetInfo,
    /// What can the node half do?
    NodeGetCapabilities,
    /// Mount a connected volume once for the whole node.
    NodeStageVolume {
        /// The volume.
        volume_id: String,
        /// What ControllerPublishVolume said.
        publish_context: BTreeMap<String, String>,
        /// Where.
        staging_target_path: String,
    },
    /// Show a staged volume to a pod.
    NodePublishVolume {
        /// The volume.
        volume_id: String,
        /// Where it is staged.
        staging_target_path: String,
        /// Where the pod will find it.
        target_path: String,
        /// Writes are refused.
        readonly: bool,
    },
    /// Make the file system as large as the volume has become.
    NodeExpandVolume {
        /// The volume.
        volume_id: String,
        /// Where a pod finds it, or where it is staged.
        volume_path: String,
        /// The least bytes that will do.
        required_bytes: i64,
    },
    /// Hide it from the pod.
    NodeUnpublishVolume {
        /// The volume.
        volume_id: String,
        /// Where the pod found it.
        target_path: String,
    },
    /// Unmount it from the node.
    NodeUnstageVolume {
        /// The volume.
        volume_id: String,
        /// Where it is staged.
        staging_target_path: String,
    },
}

/// What a driver answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum CsiResponse {
    /// Done, with nothing to say.
    Done,
    /// To GetPluginInfo.
    PluginInfo {
        /// The driver's name.
        name: String,
        /// Its version.
        vendor_version: String,
    },
    /// To CreateVolume.
    Volume {
        /// The storage system's name for it.
        volume_id: String,
        /// How large it is.
        capacity_bytes: i64,
        /// Where it can be used.
        accessible_topology: BTreeMap<String, String>,
    },
    /// To ControllerPublishVolume: what the node half has to know.
    Published {
        /// `devicePath` …
        publish_context: BTreeMap<String, String>,
    },
    /// To ControllerExpandVolume and NodeExpandVolume.
    Expanded {
        /// How large it is now.
        capacity_bytes: i64,
        /// Whether NodeExpandVolume has to follow.
        node_expansion_required: bool,
    },
    /// To NodeGetInfo.
    NodeInfo {
        /// The node, as the driver calls it.
        node_id: String,
        /// How many volumes it takes.
        max_volumes_per_node: i32,
        /// Where the node is.
        accessible_topology: BTreeMap<String, String>,
    },
    /// To NodeGetCapabilities.
    Capabilities(Vec<String>),
}

impl Message for CsiRequest {
    fn method(&self) -> &'static str {
        match self {
            CsiRequest::GetPluginInfo => "GetPluginInfo",
            CsiRequest::CreateVolume { .. } => "CreateVolume",
            CsiRequest::DeleteVolume { .. } => "DeleteVolume",
            CsiRequest::ControllerPublishVolume { .. } => "ControllerPublishVolume",
            CsiRequest::ControllerUnpublishVolume { .. } => "ControllerUnpublishVolume",
            CsiRequest::ControllerExpandVolume { .. } => "ControllerExpandVolume",
            CsiRequest::NodeGetInfo => "NodeGetInfo",
            CsiRequest::NodeGetCapabilities => "NodeGetCapabilities",
            CsiRequest::NodeStageVolume { .. } => "NodeStageVolume",
            CsiRequest::NodePublishVolume { .. } => "NodePublishVolume",
            CsiRequest::NodeExpandVolume { .. } => "NodeExpandVolume",
            CsiRequest::NodeUnpublishVolume { .. } => "NodeUnpublishVolume",
            CsiRequest::NodeUnstageVolume { .. } => "NodeUnstageVolume",
        }
    }

    fn json(&self) -> Value {
        printed(self)
    }
}

impl Message for CsiResponse {
    fn method(&self) -> &'static str {
        "response"
    }

    fn json(&self) -> Value {
        printed(self)
    }
}
