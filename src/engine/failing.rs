//! Calls that are to fail: which, how often, and what their clients get.
//!
//! Mirrors what a client sees of a busy API server, of etcd in trouble, and of a connection that breaks.

use std::time::Duration;

use super::event::{Pending, ReplyTo, What};
use super::hub::Outgoing;
use super::{Engine, Note};
use crate::kinds::registry;
use crate::object::glob::matches;
use crate::object::status::Reason;
use crate::object::{Kind, Status};
use crate::wire::{Answer, Body, Request, WatchEvent};

/// What a client says whose connection nobody takes.
pub const REFUSED: &str = "connect: connection refused";

/// What a client says whose connection breaks.
const LOST: &str = "http2: client connection lost";

/// Whether this is no answer of the API server's, but what Go's HTTP client says when there is none.
pub fn is_unanswered(status: &Status) -> bool {
    status.message.contains(REFUSED) || status.message.contains(LOST)
}

/// How a call is to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// 409, as if somebody had changed the object.
    Conflict,
    /// 429.
    TooManyRequests,
    /// 500.
    InternalError,
    /// 503.
    Unavailable,
    /// The connection breaks before the request arrives.
    Lost,
    /// The request is carried out, and the connection breaks before the answer arrives.
    LostAfter,
    /// Nobody takes the connection: the API server does not run.
    Refused,
}

/// The next calls that are to fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whose: a glob over processes and controllers.
    pub component: String,
    /// The verb; empty: any.
    pub verb: String,
    /// The kind, if it matters.
    pub kind: Option<Kind>,
    /// How.
    pub how: Failing,
    /// How many more.
    pub times: u32,
}

impl Engine {
    /// The next calls that fit will fail.
    pub fn fail(&mut self, failure: Failure) {
        self.controls.failures.push(failure);
    }

    /// How a request is to fail, if it is.
    pub(super) fn failing(&mut self, event: &Pending, request: &Request, watch: bool) -> Option<Failing> {
        if self.controls.servers_down.contains(&event.to) {
            return Some(Failing::Refused);
        }
        if self.controls.failures.is_empty() || watch {
            return None;
        }
        let process = self.names[event.from.0 as usize].clone();
        let fits = |failure: &&mut Failure| {
            let whose = matches(&failure.component, &request.user.agent) || matches(&failure.component, &process);
            let verb = failure.verb.is_empty() || failure.verb == request.verb.as_str();
            whose && verb && failure.kind.is_none_or(|kind| kind == request.kind)
        };
        let failure = self.controls.failures.iter_mut().find(fits)?;
        failure.times -= 1;
        let how = failure.how;
        self.controls.failures.retain(|failure| failure.times > 0);
        Some(how)
    }

    /// Answers a request that is to fail without carrying it out.
    pub(super) fn refuse(&mut self, event: &Pending, reply: ReplyTo, request: &Request, how: Failing) {
        let answer = how.answer(request);
        self.hub.note(|| Note::Stage { name: "fault", detail: how.name().to_owned() });
        let what = match (reply, answer.result) {
            (ReplyTo::Watch(watch), Err(status)) => What::Notification { watch, event: WatchEvent::Error(status) },
            (ReplyTo::Call(call), result) => {
                self.hub.note(|| super::serve::answered(&Answer { result: result.clone(), ..answer }));
                self.note_conflict(answer.code, request);
                let answer = Box::new(Answer { code: answer.code, result, warnings: Vec::new(), wrote: false });
                What::Response { call, about: request.line().into(), answer }
            }
            (ReplyTo::Watch(_), Ok(_)) => return,
        };
        let (background, idle) = (event.background, event.idle);
        let (from, to) = (event.to, event.from);
        self.scratch.push(Outgoing { from, to, delay: Duration::ZERO, background, idle, what });
    }

    /// Notes what stands in the store, if a write was refused for a conflict with it.
    pub(super) fn note_conflict(&self, code: u16, request: &Request) {
        if code != 409 || !self.hub.recording() {
            return;
        }
        let name = match &request.body {
            Body::Object(object) => object.name(),
            _ => &request.name,
        };
        if let Some(entry) = self.api.store.get(&registry::key(request.kind, &request.namespace, name)) {
            self.hub.note(|| Note::Stands { object: entry.value.clone() });
        }
    }
}

impl Failing {
    /// All that may be asked for, as they are typed.
    pub const ALL: [(&'static str, Failing); 6] = [
        ("409", Failing::Conflict),
        ("429", Failing::TooManyRequests),
        ("500", Failing::InternalError),
        ("503", Failing::Unavailable),
        ("lost", Failing::Lost),
        ("lost-after", Failing::LostAfter),
    ];

    /// As it is typed.
    pub fn name(self) -> &'static str {
        Failing::ALL.iter().find(|(_, how)| *how == self).map_or("refused", |(name, _)| name)
    }

    /// The answer that the client gets. Where there is no connection there is no code.
    pub(super) fn answer(self, request: &Request) -> Answer {
        let status = self.status(request);
        let code = if matches!(self, Failing::Lost | Failing::LostAfter | Failing::Refused) { 0 } else { status.code };
        Answer { code, result: Err(status), warnings: Vec::new(), wrote: false }
    }

    fn status(self, request: &Request) -> Status {
        let (plural, name) = (request.kind.info().plural, &request.name);
        match self {
            Failing::Conflict => Status::new(
                Reason::Conflict,
                format!(
                    "Operation cannot be fulfilled on {plural} \"{name}\": the object has been modified; please apply \
                     your changes to the latest version and try again"
                ),
            ),
            Failing::TooManyRequests => Status::new(
                Reason::TooManyRequests,
                "the server has received too many requests and has asked us to try again later",
            ),
            // What etcd says goes to the client as it is.
            Failing::InternalError => {
                Status { code: 500, ..Status::new(Reason::Unknown, "etcdserver: request timed out") }
            }
            Failing::Unavailable => {
                Status::new(Reason::ServiceUnavailable, "the server is currently unable to handle the request")
            }
            Failing::Lost | Failing::LostAfter => lost(),
            Failing::Refused => Status::new(Reason::Unknown, REFUSED),
        }
    }
}

/// What a client sees when its connection breaks. No status of the API server's: Go's HTTP client says it.
pub(super) fn lost() -> Status {
    Status::new(Reason::Unknown, LOST)
}
