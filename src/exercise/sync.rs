//! Exercise 12: a Pod, and what the runtime has of it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};

use crate::process;

/// What the runtime has of a Pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its sandbox.
    pub sandbox: Sandbox,
    /// The newest run of each container, init containers too, by name. One that has never run is not there.
    pub containers: BTreeMap<String, State>,
}

/// A Pod's sandbox: its network and all that its containers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sandbox {
    /// There has never been one.
    None,
    /// It stands.
    Ready,
    /// There was one, and it is of no use any more.
    Lost,
}

/// How a container is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Its process runs.
    Running,
    /// Its process has ended, with this code.
    Exited(i32),
}

/// What is to be done, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Actions {
    /// Stop everything, sandbox included.
    pub kill_pod: bool,
    /// Make a sandbox.
    pub create_sandbox: bool,
    /// Init containers to start, by name.
    pub start_init: Vec<String>,
    /// Containers to start, by name, in the order of the Pod.
    pub start: Vec<String>,
}

/// A question to the function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// The Pod, as the API server has it.
    pub pod: Pod,
    /// What the runtime has.
    pub seen: Seen,
}

/// Answers with this function.
pub fn answer(sync: fn(&Pod, &Seen) -> Actions) {
    process::answer(|case: &Case| sync(&case.pod, &case.seen));
}
