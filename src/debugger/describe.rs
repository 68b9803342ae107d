//! One event in words: who tells whom what.

use std::any::Any;
use std::fmt;

use apiserver::host::Engine;
use apiserver::host::webhook::REVIEW;
use engine::{Note, Pending, Step, What};
use network::kernel::frame::Frame;
use object::{Key, Object};
use wire::{Request, WatchEvent};

/// An event's parts, for faces to lay out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// Who sends: a component's name.
    pub from: String,
    /// What: `ADDED ReplicaSet default/web-cc544bdcc`.
    pub what: String,
    /// Who gets it: `replicaset informer in kube-controller-manager`.
    pub to: String,
}

impl fmt::Display for Headline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ─ {} → {}", self.from, self.what, self.to)
    }
}

/// An event as a headline.
pub fn headline(engine: &Engine, event: &Pending) -> Headline {
    let (from, to) = (engine.name(event.from).to_owned(), engine.name(event.to).to_owned());
    match &event.what {
        What::Request { request, .. } => Headline { from: sender(request), what: request.line(), to },
        What::Response { answer, about, .. } => Headline {
            from,
            what: match answer.code {
                // The client's own library says so: its connection is lost.
                0 => format!("no answer for {about}"),
                code => format!("{code} for {about}"),
            },
            to: waiting_for(engine, event).unwrap_or(to),
        },
        What::Notification { event: said, .. } => {
            let what = if engine.server.is_server(event.to) { "cache" } else { "informer" };
            let informer = said.kind().map_or(String::new(), |kind| format!("{} {what} in ", kind.info().singular()));
            Headline { from, what: notification(said), to: format!("{informer}{to}") }
        }
        What::Wake { what, key, .. } => {
            Headline { from: "timer".into(), what: format!("{what} {key}").trim_end().to_owned(), to }
        }
        What::Resume { .. } => Headline {
            from: "clock".into(),
            what: "the wait is over".into(),
            to: waiting_for(engine, event).unwrap_or(to),
        },
        What::Rpc { message, .. } | What::Packet { message, .. } | What::Fault { message } => {
            Headline { from, what: message.line(), to }
        }
        What::Reply { method, result, .. } => {
            let what = match result {
                Ok(message) if engine.server.is_server(event.to) => message.line(),
                Ok(_) => format!("{method} done"),
                Err(error) => format!("{method} failed: {error}"),
            };
            Headline { from, what, to }
        }
    }
}

/// Who really sends a request: a controller rather than its process.
fn sender(request: &Request) -> String {
    request.user.agent.to_string()
}

/// The task that waits for this event, if it is an answer.
fn waiting_for(engine: &Engine, event: &Pending) -> Option<String> {
    let call = match &event.what {
        What::Response { call, .. } | What::Resume { call } | What::Reply { call, .. } => *call,
        _ => return None,
    };
    let task = engine.tasks().find(|task| task.waits.iter().any(|wait| wait.call == call))?;
    Some(format!("{} in {}", task.label, engine.name(task.actor)))
}

fn notification(event: &WatchEvent) -> String {
    match event {
        WatchEvent::Bookmark { kind, revision, .. } => format!("BOOKMARK {} at {revision}", kind.info().plural),
        WatchEvent::Error(error) => format!("ERROR {error}"),
        other => other.object().map_or(String::new(), |o| format!("{} {}", other.type_str(), name(o))),
    }
}

/// `ReplicaSet default/web-cc544bdcc`.
pub fn name(object: &Object) -> String {
    format!("{} {}", object.kind(), Key::of(object))
}

/// Whether the step delivered an informer notification about an object, a packet, or a word of an admission webhook's or to
/// one, that is not background traffic, or broke something. The packets of probes are, even of a first one for which the
/// cluster waits.
pub fn is_notification(step: &Step) -> bool {
    let shown = match &step.event.what {
        What::Notification { event, .. } => event.object().is_some(),
        What::Packet { message, .. } => {
            let any: &dyn Any = &**message;
            any.downcast_ref::<Frame>().is_none_or(|frame| !frame.packet.probes)
        }
        What::Fault { .. } => true,
        What::Rpc { message, .. } => message.method() == REVIEW,
        What::Reply { method, .. } => *method == REVIEW,
        _ => false,
    };
    shown && !step.event.background
}

/// The object version before and after, where the step's informer saw one.
pub fn cache_change(step: &Step) -> Option<(Option<&Object>, Option<&Object>)> {
    step.notes.iter().find_map(|note| match note {
        Note::Cache { old, new, .. } => Some((old.as_ref(), new.as_ref())),
        _ => None,
    })
}
