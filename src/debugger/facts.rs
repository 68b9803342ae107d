//! What breakpoints ask of a step: its class, who sent it, who gets it, and the objects it is about.
//!
//! Facts are read from the step alone, never from the store or a cache, so they cost the same in any cluster.

use std::any::Any;
use std::cell::OnceCell;

use serde_json::{Value, json};

use apiserver::host::Engine;
use cluster::fault::{About, Fault};
use engine::{Note, Step, Table, What};
use object::{Kind, Object};
use wire::{Body, Request, Response};

use super::changes;
use super::expression::Root;
use super::expression::eval::Scope;

/// The classes of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A request reaches the API server.
    Request,
    /// Its answer reaches the client.
    Response,
    /// A watch event reaches an informer.
    Notification,
    /// A timer goes off, or a worker has something to do.
    Timer,
    /// A call to the runtime or the network plugins, or the reply.
    Runtime,
    /// A packet reaches its next hop.
    Packet,
    /// Something breaks, or is changed from outside.
    Fault,
}

impl Class {
    /// All classes by name.
    pub const ALL: [(&'static str, Class); 7] = [
        ("request", Class::Request),
        ("response", Class::Response),
        ("notification", Class::Notification),
        ("timer", Class::Timer),
        ("runtime", Class::Runtime),
        ("packet", Class::Packet),
        ("fault", Class::Fault),
    ];

    /// As it is written in breakpoints: `notification`.
    pub fn name(self) -> &'static str {
        Class::ALL[self as usize].0
    }

    /// The class of an event.
    pub fn of(what: &What) -> Class {
        match what {
            What::Request { .. } => Class::Request,
            What::Response { .. } => Class::Response,
            What::Notification { .. } => Class::Notification,
            What::Wake { .. } | What::Resume { .. } => Class::Timer,
            What::Rpc { .. } | What::Reply { .. } => Class::Runtime,
            What::Packet { .. } => Class::Packet,
            What::Fault { .. } => Class::Fault,
        }
    }
}

/// One object that a step is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace, empty if it has none.
    pub namespace: &'a str,
    /// Its name, empty if the step names none.
    pub name: &'a str,
    /// Before.
    pub old: Option<&'a Object>,
    /// After.
    pub new: Option<&'a Object>,
}

impl<'a> Subject<'a> {
    fn changed(old: Option<&'a Object>, new: Option<&'a Object>) -> Option<Subject<'a>> {
        let object = new.or(old)?;
        Some(Subject { kind: object.kind(), namespace: object.namespace(), name: object.name(), old, new })
    }
}

/// A step as breakpoints see it.
pub struct Facts<'a> {
    /// The step.
    pub step: &'a Step,
    /// Its event's class.
    pub class: Class,
    /// Who sent it: a component, a controller, a node's part.
    pub from: &'a str,
    /// Who gets it.
    pub to: &'a str,
    /// The verb, of requests and their answers.
    pub verb: Option<&'a str>,
    /// The subresource, of requests and their answers.
    pub subresource: Option<&'a str>,
    /// The HTTP code: of an answer, and of a request as it was answered in this step.
    pub code: Option<u16>,
    /// The method, of calls to the runtime; the timer's name, of timers; the first word, of faults.
    pub method: Option<&'a str>,
    /// The objects that it is about.
    pub subjects: Vec<Subject<'a>>,
}

impl<'a> Facts<'a> {
    /// What a step was about, by its event and its notes.
    pub fn of(engine: &'a Engine, step: &'a Step) -> Facts<'a> {
        let mut facts = Facts {
            step,
            class: Class::of(&step.event.what),
            from: engine.name(step.event.from),
            to: engine.name(step.event.to),
            verb: None,
            subresource: None,
            code: None,
            method: None,
            subjects: stored(step),
        };
        facts.read(&step.event.what);
        facts
    }

    /// The same of an answer that carries no object, with the objects of the request that it answers.
    pub fn answering(mut self, engine: &'a Engine, request: Option<&'a Step>) -> Facts<'a> {
        if self.class == Class::Response && self.subjects.iter().all(|s| s.old.is_none() && s.new.is_none()) {
            let request = request.filter(|step| matches!(step.event.what, What::Request { .. }));
            self.subjects = request.map_or(self.subjects, |step| Facts::of(engine, step).subjects);
        }
        self
    }

    fn read(&mut self, what: &'a What) {
        match what {
            What::Request { request, .. } => {
                self.from = &request.user.agent;
                self.verb = Some(request.verb.as_str());
                self.subresource = request.subresource.map(|s| s.as_str());
                self.code = self.step.notes.iter().find_map(|note| match note {
                    Note::Answered { code, .. } => Some(*code),
                    _ => None,
                });
                if self.subjects.is_empty() {
                    self.subjects.push(Subject { old: stands(self.step), ..target(request) });
                }
            }
            What::Response { answer, about, .. } => {
                self.code = Some(answer.code);
                let mut words = about.split(' ');
                self.verb = words.next().filter(|verb| !verb.is_empty());
                let resource = words.next().unwrap_or_default();
                let (plural, subresource) = resource.split_once('/').map_or((resource, None), |(p, s)| (p, Some(s)));
                self.subresource = subresource;
                self.subjects = match &answer.result {
                    Ok(Response::Object(object)) => Subject::changed(None, Some(object)).into_iter().collect(),
                    _ => named(plural, words.next().unwrap_or_default()).into_iter().collect(),
                };
            }
            What::Notification { event, .. } => {
                self.subjects = cached(self.step);
                if self.subjects.is_empty() {
                    self.subjects.extend(Subject::changed(None, event.object()));
                }
            }
            What::Wake { what, .. } => self.method = Some(what),
            What::Fault { message } => {
                let any: &dyn Any = &**message;
                self.method = Some(message.method());
                self.subjects.extend(any.downcast_ref().and_then(broken));
            }
            What::Resume { .. } => {}
            What::Rpc { message, .. } | What::Packet { message, .. } => self.method = Some(message.method()),
            What::Reply { method, .. } => self.method = Some(method),
        }
    }

    /// The reasons of the Events that the step wrote.
    pub fn reasons(&self) -> impl Iterator<Item = &'a str> {
        self.step.notes.iter().filter_map(|note| match note {
            Note::Stored { new: Some(Object::Event(event)), .. } => event.reason.as_deref(),
            _ => None,
        })
    }

    /// The scheduler's decisions in this step: a row a node.
    pub fn verdicts(&self) -> impl Iterator<Item = &'a Table> {
        self.step.notes.iter().filter_map(|note| match note {
            Note::Table(table) if table.columns.iter().any(|column| column == "verdict") => Some(&**table),
            _ => None,
        })
    }

    /// The reconciles and pod workers that ran in this step: those that now wait, and those that ended.
    pub fn tasks(&self) -> impl Iterator<Item = &'a str> {
        self.step.notes.iter().filter_map(|note| match note {
            Note::Waits { task, .. } | Note::Finished { task, .. } => Some(&**task),
            _ => None,
        })
    }
}

/// What the store changed.
fn stored(step: &Step) -> Vec<Subject<'_>> {
    changes::stored(step).filter_map(|(_, old, new)| Subject::changed(old, new)).collect()
}

/// What stood in the way of a write.
fn stands(step: &Step) -> Option<&Object> {
    step.notes.iter().find_map(|note| match note {
        Note::Stands { object } => Some(object),
        _ => None,
    })
}

/// What an informer's cache changed.
fn cached(step: &Step) -> Vec<Subject<'_>> {
    let changes = step.notes.iter().filter_map(|note| match note {
        Note::Cache { old, new, .. } => Subject::changed(old.as_ref(), new.as_ref()),
        _ => None,
    });
    changes.collect()
}

/// The Pod or the node that a fault is about.
fn broken(fault: &Fault) -> Option<Subject<'_>> {
    let (kind, namespace, name) = match fault.about()? {
        About::Pod(pod) => (Kind::Pod, pod.namespace(), pod.name()),
        About::Node(node) => (Kind::Node, "", node),
    };
    Some(Subject { kind, namespace, name, old: None, new: None })
}

/// What a request that changed nothing was about.
fn target(request: &Request) -> Subject<'_> {
    let body = match &request.body {
        Body::Object(object) => Some(object),
        _ => None,
    };
    let name = body.map_or(request.name.as_str(), |object| object.name());
    let name = if name.is_empty() { request.name.as_str() } else { name };
    Subject { kind: request.kind, namespace: &request.namespace, name, old: None, new: body }
}

/// `pods` and `default/web`, as a request's line has them.
fn named<'a>(plural: &str, name: &'a str) -> Option<Subject<'a>> {
    let kind = Kind::from_word(plural)?;
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    Some(Subject { kind, namespace, name, old: None, new: None })
}

/// The fields of `event`.
pub const EVENT_FIELDS: &[&str] = &[
    "class",
    "from",
    "to",
    "verb",
    "subresource",
    "kind",
    "namespace",
    "name",
    "code",
    "method",
    "type",
    "background",
    "time",
];

/// What expressions look into: one step and one of its objects. JSON is made only of what is asked for.
pub struct View<'a> {
    facts: &'a Facts<'a>,
    subject: Option<Subject<'a>>,
    seconds: f64,
    old: OnceCell<Value>,
    new: OnceCell<Value>,
    event: OnceCell<Value>,
    message: OnceCell<Value>,
    step: Value,
    time: Value,
}

impl<'a> View<'a> {
    /// A view of a step and one of its objects. `seconds` is the virtual time since the start of the run.
    pub fn new(facts: &'a Facts<'a>, subject: Option<Subject<'a>>, seconds: f64) -> View<'a> {
        let (step, time) = (Value::from(facts.step.id.0), Value::from(seconds));
        let (old, new, event, message) = Default::default();
        View { facts, subject, seconds, old, new, event, message, step, time }
    }

    fn event_json(&self) -> Value {
        let facts = self.facts;
        json!({
            "class": facts.class.name(),
            "from": facts.from,
            "to": facts.to,
            "verb": facts.verb,
            "subresource": facts.subresource,
            "kind": self.subject.map(|subject| subject.kind.info().kind),
            "namespace": self.subject.map(|subject| subject.namespace),
            "name": self.subject.map(|subject| subject.name),
            "code": facts.code,
            "method": facts.method,
            "type": match &facts.step.event.what {
                What::Notification { event, .. } => Some(event.type_str()),
                _ => None,
            },
            "background": facts.step.event.background,
            "time": self.seconds,
        })
    }

    fn message_json(&self) -> Value {
        match &self.facts.step.event.what {
            What::Rpc { message, .. } | What::Packet { message, .. } | What::Fault { message } => message.json(),
            What::Reply { result: Ok(message), .. } => message.json(),
            What::Reply { result: Err(error), .. } => json!({"code": error.code, "message": error.message}),
            _ => Value::Null,
        }
    }

    fn object(&self, object: impl Fn(Subject<'a>) -> Option<&'a Object>) -> Value {
        self.subject.and_then(object).map_or(Value::Null, Object::to_json)
    }
}

impl Scope for View<'_> {
    fn root(&self, root: Root) -> &Value {
        match root {
            Root::Old => self.old.get_or_init(|| self.object(|subject| subject.old)),
            Root::New => self.new.get_or_init(|| self.object(|subject| subject.new)),
            Root::Object if self.subject.is_some_and(|subject| subject.new.is_some()) => self.root(Root::New),
            Root::Object => self.root(Root::Old),
            Root::Event => self.event.get_or_init(|| self.event_json()),
            Root::Message => self.message.get_or_init(|| self.message_json()),
            Root::Step => &self.step,
            Root::Time => &self.time,
        }
    }
}
