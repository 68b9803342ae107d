//! What a command leaves open when it has returned: ports that are forwarded, and a shell that has the terminal.
//!
//! It is plain data; [`forwards`](crate::forwards) and [`terminal`](crate::terminal) say what becomes of it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::args::Args;
use crate::failure::Failure;
use client::Client;
use engine::{ActorId, CallId, Memory};
use object::text::Text;

/// Forwarded ports, by the port of the user's machine.
pub type Forwards = Memory<BTreeMap<u16, Forward>>;

/// One port that is forwarded.
#[derive(Clone, Debug)]
pub struct Forward {
    /// The first port of the same kubectl: if it loses its connection, all of them end.
    pub process: u16,
    /// The port of the Pod.
    pub remote: u16,
    /// The Pod's node.
    pub node: String,
    /// Where its kubelet listens.
    pub address: String,
    /// The kubelet that the connection goes to.
    pub kubelet: ActorId,
    /// The Pod's sandbox.
    pub sandbox: Text,
}

/// What is said of a connection that broke.
const LOST: &str = "websocket: close 1006 (abnormal closure): unexpected EOF";

/// A kubectl that is connected to a shell.
#[derive(Clone)]
pub struct Terminal {
    /// Where the shell is: a Pod, and its container if it has several.
    pub place: String,
    /// Who is at the other end.
    pub kubelet: ActorId,
    /// The shell there.
    pub stream: u64,
    /// What it is at.
    pub state: State,
    /// As whom it sends.
    pub client: Client,
    /// What kubectl does when the shell has ended.
    pub then: Then,
    /// Wakes who waits for the end of a line, when the connection breaks.
    pub line: Option<CallId>,
    /// The shell was killed with this code while a line was on its way there.
    pub killed: Option<i32>,
}

/// What it is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The shell waits for a line, and says so with this.
    Waits(String),
    /// The shell runs a line.
    Works,
    /// The shell has ended, and kubectl has still something to do.
    Ends,
}

/// What kubectl does when the shell has ended.
#[derive(Clone)]
pub enum Then {
    /// It says how.
    Exec,
    /// It says how to come back, if there is a way.
    Attach(Option<String>),
    /// The same, and what `run` does in the end.
    Run(Box<Run>),
}

/// What `run` needs to know in the end.
#[derive(Clone)]
pub struct Run {
    /// How to come back.
    pub says: Option<String>,
    /// The Pod.
    pub pod: Value,
    /// Its Service, if there is one.
    pub services: Vec<Value>,
    /// The command line.
    pub args: Args,
}

/// How a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The shell has ended with this code.
    Code(i32),
    /// The shell was lost: it cannot say how it ended.
    Lost,
}

impl Ending {
    /// The code.
    ///
    /// # Errors
    /// It broke.
    pub fn code(self) -> Result<i32, Failure> {
        match self {
            Ending::Code(code) => Ok(code),
            Ending::Lost => Err(Failure::text(LOST)),
        }
    }
}

/// The Pod, and the container if need be, that a shell runs in: shown to the user who types.
pub fn place_of(pod: &Value, container: &str) -> String {
    let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let several = pod["spec"]["containers"].as_array().is_some_and(|all| all.len() != 1 || all[0]["name"] != container);
    let pod = name(&pod["metadata"]["name"]);
    if several { format!("{pod}, container {container}") } else { pod }
}
