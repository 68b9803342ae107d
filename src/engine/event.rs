//! Pending events: every message in flight and every armed timer, visible and ordered.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use serde::Serialize;
use serde_json::{Value, json};

use object::time::Instant;
use wire::{Answer, Request, WatchEvent, WatchId};

/// An actor: the API server is 0, the others follow in the order in which they were added. Of several API servers, the
/// first is 0, and etcd comes after the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActorId(pub u32);

/// The API server's place among the actors. What a client sends there goes to the server to which it is connected.
pub const APISERVER: ActorId = ActorId(0);

/// A pending event, numbered in the order in which events were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub u64);

/// A delivered event, numbered from 1. 0 stands for the start of the run; as a cause, for an event that nothing in the run has
/// caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub u64);

/// A call that a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// A timer that can be called off, see [`super::Hub::arm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(pub u64);

/// Something that will be delivered to one actor.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The event's number.
    pub id: EventId,
    /// When it is delivered if the user does not choose otherwise.
    pub due: Instant,
    /// The step that sent it.
    pub cause: StepId,
    /// Who sent it.
    pub from: ActorId,
    /// Who will get it.
    pub to: ActorId,
    /// Whether it belongs to the traffic that never stops: heartbeats, Events, tokens, resyncs.
    pub background: bool,
    /// Whether the cluster counts as quiet while this is pending: background traffic that no task in the foreground
    /// waits for, and timers armed far ahead.
    pub idle: bool,
    /// What it is.
    pub what: What,
}

impl Pending {
    /// By what it can be called off.
    pub(super) fn timer(&self) -> Option<TimerId> {
        if let What::Wake { timer, .. } = self.what { timer } else { None }
    }
}

/// All that can happen.
#[derive(Clone, Debug)]
pub enum What {
    /// A client's request reaches the API server.
    Request {
        /// Who waits for the answer.
        reply: ReplyTo,
        /// What is asked.
        request: Box<Request>,
    },
    /// The API server's answer reaches the client.
    Response {
        /// The call that it answers.
        call: CallId,
        /// The request's line, for the readers of the trace: `create pods/web`.
        about: Rc<str>,
        /// The answer.
        answer: Box<Answer>,
    },
    /// A watch event reaches an informer.
    Notification {
        /// The watch.
        watch: WatchId,
        /// What it says.
        event: WatchEvent,
    },
    /// A timer goes off, or a worker has something to do.
    Wake {
        /// Which of the actor's timers.
        what: &'static str,
        /// What it is about; may be empty.
        key: Rc<str>,
        /// By what it can be called off, if it can.
        timer: Option<TimerId>,
    },
    /// A sleep inside a reconcile is over.
    Resume {
        /// The call that slept.
        call: CallId,
    },
    /// One part of a node calls another: CRI, CNI.
    Rpc {
        /// The call, to reply to.
        call: CallId,
        /// What is asked.
        message: Rc<dyn Message>,
    },
    /// The answer to such a call.
    Reply {
        /// The call that it answers.
        call: CallId,
        /// The method that was called.
        method: &'static str,
        /// The answer, or the error's text.
        result: Result<Rc<dyn Message>, RpcError>,
    },
    /// A packet reaches its next hop. There is no reply; what comes back is a packet of its own.
    Packet {
        /// The number of its sending.
        call: CallId,
        /// The packet, and where it is.
        message: Rc<dyn Message>,
    },
    /// Something breaks, or is changed from outside: see [`super::fault`].
    Fault {
        /// What.
        message: Rc<dyn Message>,
    },
}

/// Where the API server's answer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyTo {
    /// To the task that made this call.
    Call(CallId),
    /// To no task: the request opened a watch, whose events follow.
    Watch(WatchId),
}

/// A typed message between the parts of a node. Printed as JSON only on request.
pub trait Message: Any + fmt::Debug {
    /// `RunPodSandbox`, `ADD` …
    fn method(&self) -> &'static str;
    /// The message as its protocol would print it.
    fn json(&self) -> Value;
    /// The message in a line, for a trace: the method, unless there is more to say.
    fn line(&self) -> String {
        self.method().to_owned()
    }
}

/// A message that knows how to be written, as JSON.
pub fn printed<T: Serialize>(message: &T) -> Value {
    serde_json::to_value(message).unwrap_or_else(|error| json!({ "unprintable": error.to_string() }))
}

/// Why such a call failed: a gRPC code and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// `NotFound`, `Unknown`, `DeadlineExceeded` …
    pub code: &'static str,
    /// The description.
    pub message: String,
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rpc error: code = {} desc = {}", self.code, self.message)
    }
}

impl std::error::Error for RpcError {}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
