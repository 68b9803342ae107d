//! Calls that are to fail: which, how often, and what their clients get.
//!
//! Mirrors what a client sees of a busy API server, of etcd in trouble, and of a connection that breaks.

use std::time::Duration;

use super::serve::answered;
use super::{Engine, Host};
use crate::registry;
use engine::{Note, Outgoing, Pending, ReplyTo, What};
use object::glob::matches;
use object::status::Reason;
use object::{Kind, Status};
use wire::{Answer, Body, Error, Request, Transport, WatchEvent};

/// How a call is to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// 409, as if another client had changed the object.
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
    /// The connection is refused: the API server does not run.
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

impl Host {
    /// The next calls that fit will fail.
    pub fn fail(&mut self, failure: Failure) {
        self.failures.push(failure);
    }
}

/// How a request is to fail, if it is.
pub(super) fn failing(engine: &mut Engine, event: &Pending, request: &Request, watch: bool) -> Option<Failing> {
    if engine.server.down.contains(&event.to) {
        return Some(Failing::Refused);
    }
    if engine.server.failures.is_empty() || watch {
        return None;
    }
    let process = engine.name(event.from).to_owned();
    let fits = |failure: &&mut Failure| {
        let whose = matches(&failure.component, &request.user.agent) || matches(&failure.component, &process);
        let verb = failure.verb.is_empty() || failure.verb == request.verb.as_str();
        whose && verb && failure.kind.is_none_or(|kind| kind == request.kind)
    };
    let failure = engine.server.failures.iter_mut().find(fits)?;
    failure.times -= 1;
    let how = failure.how;
    engine.server.failures.retain(|failure| failure.times > 0);
    Some(how)
}

/// Answers a request that is to fail without carrying it out.
pub(super) fn refuse(engine: &mut Engine, event: &Pending, reply: ReplyTo, request: &Request, how: Failing) {
    let answer = how.answer(request);
    engine.hub().note(|| Note::Stage { name: "fault", detail: how.name().to_owned() });
    let what = match (reply, answer.result) {
        (ReplyTo::Watch(watch), Err(error)) => What::Notification { watch, event: WatchEvent::Error(error) },
        (ReplyTo::Call(call), result) => {
            engine.hub().note(|| answered(&Answer { result: result.clone(), ..answer }));
            note_conflict(engine, answer.code, request);
            let answer = Box::new(Answer { code: answer.code, result, warnings: Vec::new(), wrote: false });
            What::Response { call, about: request.line().into(), answer }
        }
        (ReplyTo::Watch(_), Ok(_)) => return,
    };
    let (background, idle) = (event.background, event.idle);
    let (from, to) = (event.to, event.from);
    engine.send(Outgoing { from, to, delay: Duration::ZERO, background, idle, what });
}

/// Notes what stands in the store, if a write was refused for a conflict with it.
pub(super) fn note_conflict(engine: &Engine, code: u16, request: &Request) {
    if code != 409 || !engine.hub().recording() {
        return;
    }
    let name = match &request.body {
        Body::Object(object) => object.name(),
        _ => &request.name,
    };
    if let Some(entry) = engine.server.api.store.get(&registry::key(request.kind, &request.namespace, name)) {
        engine.hub().note(|| Note::Stands { object: entry.value.clone() });
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
        let error = self.error(request);
        let code = error.status().map_or(0, |status| status.code);
        Answer { code, result: Err(error), warnings: Vec::new(), wrote: false }
    }

    fn error(self, request: &Request) -> Error {
        let (plural, name) = (request.kind.info().plural, &request.name);
        let status = match self {
            Failing::Lost | Failing::LostAfter => return Transport::Lost.into(),
            Failing::Refused => return Transport::Refused.into(),
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
        };
        status.into()
    }
}
