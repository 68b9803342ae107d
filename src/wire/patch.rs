//! The patch formats.

use k8s_openapi::api::core::v1::NodeStatus;
use serde_json::Value;

use object::pod::status::PodStatus;
use object::{Shared, Status};

/// A change to an object. Values are the patch documents.
#[derive(Clone, Debug)]
pub enum Patch {
    /// RFC 6902.
    Json(Value),
    /// RFC 7386.
    Merge(Value),
    /// `application/strategic-merge-patch+json`.
    Strategic(Value),
    /// `application/apply-patch+yaml`: all that its author wants.
    Apply(Value),
    /// What cannot be read. It is refused for that once there is something to patch.
    Unreadable {
        /// Why.
        why: Box<Status>,
        /// Whether it would have been applied, which needs nothing to be there.
        applies: bool,
    },
    /// What a node agent sends as a strategic merge patch of a status, kept typed on its way.
    Status(Box<StatusPatch>),
}

impl Patch {
    /// What is sent, if it is sent as text.
    pub fn document(&self) -> Option<&Value> {
        match self {
            Patch::Json(document) | Patch::Merge(document) | Patch::Strategic(document) | Patch::Apply(document) => {
                Some(document)
            }
            Patch::Status(_) | Patch::Unreadable { .. } => None,
        }
    }
}

/// A status patch with its conditions merged by type, everything else replaced: what the strategic merge patch
/// that the kubelet computes comes to.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a patch holds it in a Box")]
pub enum StatusPatch {
    /// `pods/status`; the uid is a precondition.
    Pod {
        /// The Pod this status was made for.
        uid: String,
        /// The whole status as its writer sees it, which is often what will be stored.
        status: Shared<PodStatus>,
        /// Types of conditions that it takes away (`$patch: delete`); those of others stay.
        without: Vec<String>,
    },
    /// `nodes/status`.
    Node {
        /// The whole status as its writer sees it.
        status: NodeStatus,
    },
}
