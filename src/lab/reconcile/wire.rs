//! What the cluster and the process that a learner's code runs in say to one another, one line of JSON each.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the process is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Begin to reconcile an object.
    Reconcile {
        /// The number of this reconcile.
        task: u64,
        /// The object, from the controller's cache.
        object: Value,
        /// What the controller remembers.
        memory: Value,
    },
    /// Something that the controller watches has changed.
    Observe {
        /// As it was; null: it is new.
        old: Value,
        /// As it is; null: it is gone.
        new: Value,
        /// What the controller remembers.
        memory: Value,
    },
    /// The API server has answered the call of a reconcile.
    Reply {
        /// Of which one.
        task: u64,
        /// The object, or the objects of a list as `items`; null for a deletion.
        answer: Result<Value, Status>,
        /// What the controller remembers by now.
        memory: Value,
    },
    /// What a cache that is read shows that it did not show when it was read last.
    Cached {
        /// The objects that are new in it, or have changed.
        changed: Vec<Value>,
        /// What is gone: `default/web`.
        gone: Vec<String>,
    },
    /// A reconcile will not go on.
    Forget {
        /// Which one.
        task: u64,
    },
}

/// What the process says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Say {
    /// A reconcile calls the API server and waits.
    Call {
        /// What it asks.
        request: Box<Request>,
        /// The file and line of the call.
        at: (String, u32),
        /// What the controller remembers now.
        memory: Value,
    },
    /// It reads a cache, in the middle of a reconcile.
    Read {
        /// Of this kind: `pods`.
        kind: String,
    },
    /// A reconcile has come to its end, or a change was observed.
    Done {
        /// When it wants to look again, in seconds; or an error, as a sentence.
        result: Result<Option<f64>, String>,
        /// What the controller remembers now.
        memory: Value,
    },
    /// It cannot go on: how, in words.
    Broken(String),
}

/// A call to the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// `create`, `patch` … as in RBAC rules.
    pub verb: String,
    /// `pods`, `replicasets.apps`.
    pub kind: String,
    /// `status`, or empty.
    pub subresource: String,
    /// The namespace, or empty.
    pub namespace: String,
    /// The object's name, or empty.
    pub name: String,
    /// The object, the patch, or how to delete.
    pub body: Value,
    /// Of which sort a patch is: `merge`, `strategic` or `json`.
    pub patch: String,
    /// Which objects to list.
    pub labels: String,
}

/// What went wrong with a call: `metav1.Status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The HTTP status.
    pub code: u16,
    /// The machine's word for it: `Conflict`.
    pub reason: String,
    /// The sentence for people.
    pub message: String,
}
