//! What a step leaves behind for the reader of a trace: the delivered event and notes on what it changed.

use std::fmt;
use std::rc::Rc;

use serde::Serialize;

use super::event::{ActorId, EventId, Pending, StepId};
use super::place::Place;
use object::time::Instant;
use object::{Key, Kind, Object};
use wire::{Error, Impersonated, User};

/// One delivery and what came of it.
#[derive(Debug)]
pub struct Step {
    /// The step's number, from 1.
    pub id: StepId,
    /// The virtual time at which it ran.
    pub time: Instant,
    /// What was delivered; its `cause` is the step that sent it.
    pub event: Pending,
    /// What changed, in order. Empty unless notes are kept.
    pub notes: Vec<Note>,
    /// What became pending. Empty unless notes are kept.
    pub sent: Vec<EventId>,
}

/// One thing that a step did.
#[derive(Clone, Debug)]
pub enum Note {
    /// A stage of the API server's request pipeline.
    Stage {
        /// `authentication`, `authorization`, `mutating admission` …
        name: &'static str,
        /// What it decided.
        detail: String,
    },
    /// Whom the request's token has named as the one who asks.
    Authenticated(Rc<User>),
    /// As whom the request counts, if that is not who asks.
    Impersonated(Impersonated),
    /// Before it went on, the API server has asked itself for a list.
    Lists {
        /// The kind of the list.
        kind: Kind,
        /// In which namespace.
        namespace: String,
    },
    /// An annotation of the request in the audit log.
    Audit {
        /// What it is about.
        key: String,
        /// What is noted.
        value: String,
    },
    /// The API server answered a request.
    Answered {
        /// HTTP status code.
        code: u16,
        /// The name of the object it was about, where the answer has one: a generated name shows here first.
        name: String,
        /// The answer's resourceVersion; 0 if it has none.
        revision: u64,
        /// The error, if it is one.
        error: Option<Box<Error>>,
    },
    /// The store changed.
    Stored {
        /// The etcd key.
        key: String,
        /// The new revision.
        revision: u64,
        /// What was there.
        old: Option<Object>,
        /// What is there now.
        new: Option<Object>,
    },
    /// A write was refused with a conflict: this is what stands in the store instead.
    Stands {
        /// The object as it is.
        object: Object,
    },
    /// An informer's cache changed.
    Cache {
        /// Whose informer.
        actor: ActorId,
        /// The kind of the object.
        kind: Kind,
        /// Which object.
        key: Key,
        /// The cached object before.
        old: Option<Object>,
        /// And after.
        new: Option<Object>,
    },
    /// A work queue was given a key, or handed one out.
    Queue {
        /// Whose queue: `replicaset-controller`.
        queue: Rc<str>,
        /// The key.
        key: Key,
        /// What happened to it.
        how: Queued,
    },
    /// A reconcile or pod worker stopped at an `.await`.
    Waits {
        /// Whose.
        actor: ActorId,
        /// Which: `replicaset-controller default/web`.
        task: Rc<str>,
        /// The line of source it waits at.
        at: Place,
        /// What it waits for.
        awaits: Rc<str>,
    },
    /// A reconcile or pod worker came to its end.
    Finished {
        /// Whose.
        actor: ActorId,
        /// Which.
        task: Rc<str>,
    },
    /// The user has typed a line: a scenario's, or one for the shell that runs those.
    Typed {
        /// The line; it may go on below, after `<<`.
        line: Rc<str>,
    },
    /// A table, as the scheduler's verdicts.
    Table(Rc<Table>),
    /// What a program that is not known is assumed to do.
    Assumed {
        /// The program, or the image that runs it.
        program: Rc<str>,
        /// What it is taken to do.
        does: Assumed,
    },
    /// Anything else worth a line.
    Text {
        /// What it is about: `cni`, `containerd` …
        topic: &'static str,
        /// The line.
        text: String,
    },
}

/// What a program that is not known is taken to do, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assumed {
    /// It listens on a TCP port, because a container port names it.
    ListensForPort(u16),
    /// The same, because a probe asks there.
    ListensForProbe(u16),
    /// The same, because a Service sends connections there.
    ListensForService(u16),
    /// It does its work and ends well, because it runs in an init container.
    EndsForInit,
    /// The same, because it runs in a Job.
    EndsForJob,
}

impl fmt::Display for Assumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Assumed::ListensForPort(port) => write!(f, "listens on {port}, because a container port names it"),
            Assumed::ListensForProbe(port) => write!(f, "listens on {port}, because a probe asks"),
            Assumed::ListensForService(port) => {
                write!(f, "listens on {port}, because a Service sends connections there")
            }
            Assumed::EndsForInit => write!(f, "does its work and ends, because it is in an init container"),
            Assumed::EndsForJob => write!(f, "does its work and ends, because it is in a Job"),
        }
    }
}

/// What happened to a key in a work queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// It was added.
    Added,
    /// It was there already.
    AlreadyQueued,
    /// A worker holds it; it will be queued again when that one is done.
    WhileProcessing,
    /// It will be added at this time.
    Later(Instant),
    /// A worker took it.
    Taken,
    /// A worker is done with it.
    Done,
}

/// A small table to show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Column heads.
    pub columns: Vec<String>,
    /// Rows, one cell a column.
    pub rows: Vec<Vec<String>>,
}
