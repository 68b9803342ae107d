//! Everything there is to see at a stop, as one value: who told whom what, why, what changed, what waits, what is pending.
//!
//! Every face shows this value and nothing else of a stop: the prompt lays it out in lines, `--json` writes it as it is,
//! the full screen puts its parts into panes. So they show the same facts. `docs/json.md` says what each field is.

use serde::Serialize;
use serde_json::Value;

use apiserver::host::Engine;
use engine::{Note, Pending, Queued, Step, Table, Task, What};
use object::Object;
use object::time::Instant;

use super::Session;
use super::changes::stored;
use super::diff::{self, FieldChange};
use super::facts::Class;
use super::{causes, describe, makers};

/// So many events in flight, and so many suspended tasks, are told of.
const SHOWN: usize = 20;

/// A stop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stop {
    /// The step's number.
    pub step: u64,
    /// Virtual time since the user's part began, in nanoseconds.
    pub t_ns: u64,
    /// What was delivered.
    pub event: Event,
    /// What led to it, one cause away from a person's point of view; none if it was under way before the first step.
    pub why: Option<Why>,
    /// The object that it changed, in a cache or in the store.
    pub change: Option<Change>,
    /// The other objects that it changed in the store, in order: a request may write several.
    pub also: Vec<Change>,
    /// What else it did, in order.
    pub facts: Vec<Fact>,
    /// Reconciles and pod workers under way, those that ran last first. None are known of a stop of the past.
    pub waiting: Vec<Waiting>,
    /// How many there are in all.
    pub waiting_total: usize,
    /// What is in flight, in the order in which it will be delivered, without background traffic.
    pub pending: Vec<InFlight>,
    /// How many there are in all.
    pub pending_total: usize,
    /// Background events since the stop before.
    pub unseen: u64,
    /// The breakpoints that stopped here.
    pub hits: Vec<String>,
    /// What panicked.
    pub crashes: Vec<String>,
}

/// An event that was delivered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// `request`, `response`, `notification`, `timer`, `runtime`, `packet`, `fault`.
    pub class: &'static str,
    /// Who sent it.
    pub from: String,
    /// What it says.
    pub what: String,
    /// Who got it.
    pub to: String,
    /// Whether it belongs to the traffic that never stops.
    pub background: bool,
}

/// A cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// Its step.
    pub step: u64,
    /// Who asked, if it was a request.
    pub from: Option<String>,
    /// What for.
    pub what: String,
    /// How it was answered.
    pub code: Option<u16>,
    /// At which revision.
    pub revision: Option<u64>,
}

/// An object that came, changed or went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// `Pod default/web`.
    pub object: String,
    /// Which of the three.
    pub how: How,
    /// Of one that came: what it asks for, in a few words.
    pub summary: Vec<(String, Value)>,
    /// Of one that changed: its fields that differ.
    pub fields: Vec<FieldChange>,
}

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// It is new.
    Added,
    /// It is another version.
    Modified,
    /// It is gone.
    Deleted,
}

/// Something that a step did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// `cache`, `queue`, `stage`, `answer`, `done`, `table`, and those that components define themselves: `cni` …
    pub topic: String,
    /// In words.
    pub text: String,
    /// And in a table.
    pub table: Option<Table>,
    /// The same for a program, where it is one of these.
    pub value: Option<FactValue>,
}

/// What a fact says, in parts. Its topic says which it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum FactValue {
    /// Topic `cache`: an informer's cache has another version of an object.
    Cache {
        /// Whose informer.
        component: String,
        /// `Pod default/web`.
        object: String,
        /// The version; none if the object is gone.
        revision: Option<u64>,
    },
    /// Topic `queue`: something happened to a key of a work queue.
    Queue {
        /// Whose queue.
        queue: String,
        /// The key.
        key: String,
        /// What happened to it.
        how: KeyMoved,
    },
    /// Topic `stage`: a request passed a stage of the API server's pipeline.
    Stage {
        /// Which.
        stage: String,
        /// What was decided there.
        decision: String,
    },
    /// Topic `answer`: a request was answered.
    Answer {
        /// The HTTP status code.
        code: u16,
    },
}

/// What happens to a key of a work queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyMoved {
    /// It waits for a worker.
    Added,
    /// It waited already.
    Waiting,
    /// A worker has it: it is added again when the worker is done.
    Again,
    /// It is added after a while.
    Later,
    /// A worker takes it.
    Taken,
    /// The worker is done with it.
    Done,
}

impl KeyMoved {
    fn of(how: &Queued) -> KeyMoved {
        match how {
            Queued::Added => KeyMoved::Added,
            Queued::AlreadyQueued => KeyMoved::Waiting,
            Queued::WhileProcessing => KeyMoved::Again,
            Queued::Later(_) => KeyMoved::Later,
            Queued::Taken => KeyMoved::Taken,
            Queued::Done => KeyMoved::Done,
        }
    }
}

/// A reconcile or pod worker that waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Waiting {
    /// Which.
    pub task: String,
    /// In which process.
    pub component: String,
    /// What for.
    pub awaits: String,
    /// The line of code.
    pub file: String,
    /// Its number.
    pub line: u32,
    /// Since when, as `t_ns`.
    pub since_ns: u64,
}

/// An event that was not delivered yet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InFlight {
    /// Its number, as `choose` takes it: `e45`.
    pub event: String,
    /// When it is due, as `t_ns`.
    pub t_ns: u64,
    /// Who sent it.
    pub from: String,
    /// What it says.
    pub what: String,
    /// Who will get it.
    pub to: String,
}

impl Stop {
    /// What there is to see at a step. What waits and what is pending is known of the present only.
    pub fn of(session: &Session, step: &Step) -> Stop {
        let engine = &session.cluster.engine;
        let present = session.current().is_some_and(|current| current.id == step.id);
        let tasks = if present { tasks(session) } else { Vec::new() };
        let pending: Vec<&Pending> = engine.pending().filter(|event| present && !event.background).collect();
        let texts = |shown: bool, texts: Vec<String>| if shown { texts } else { Vec::new() };
        Stop {
            step: step.id.0,
            t_ns: session.time(step.time).0,
            event: event(engine, step),
            why: why(session, step),
            change: change(step),
            also: also(step),
            facts: step
                .notes
                .iter()
                .filter_map(|note| fact(engine, note, step.time))
                .chain(makers(engine, step))
                .collect(),
            waiting: tasks.iter().take(SHOWN).filter_map(|task| waiting(session, task)).collect(),
            waiting_total: tasks.len(),
            pending: pending.iter().take(SHOWN).map(|event| in_flight(session, event)).collect(),
            pending_total: pending.len(),
            unseen: if present { session.background() } else { 0 },
            hits: texts(present, session.hits().iter().map(|hit| hit.text.clone()).collect()),
            crashes: texts(present, session.crashes().to_vec()),
        }
    }
}

impl Session {
    /// The stop where we stand; none before the first step.
    pub fn stop(&self) -> Option<Stop> {
        self.current().map(|step| Stop::of(self, step))
    }
}

fn event(engine: &Engine, step: &Step) -> Event {
    let head = describe::headline(engine, &step.event);
    let class = Class::of(&step.event.what).name();
    Event { class, from: head.from, what: head.what, to: head.to, background: step.event.background }
}

/// The request behind an event; of a packet, the hop before.
fn why(session: &Session, step: &Step) -> Option<Why> {
    if let (What::Packet { .. }, Some(before)) = (&step.event.what, session.step(step.event.cause)) {
        let what = describe::headline(&session.cluster.engine, &before.event).what;
        return Some(Why { step: before.id.0, from: None, what, code: None, revision: None });
    }
    let (chain, typed) = causes::chain(session, step.id);
    let Some(write) = chain.into_iter().skip(1).find(|cause| matches!(cause.event.what, What::Request { .. })) else {
        // No client's request: a fault, perhaps.
        let typed = typed?;
        let what = format!("{}: {}", typed.by.typed(), typed.line);
        return Some(Why { step: step.event.cause.0, from: None, what, code: None, revision: None });
    };
    let What::Request { request, .. } = &write.event.what else { return None };
    let answer = write.notes.iter().find_map(|note| match note {
        Note::Answered { code, revision, .. } => Some((*code, (*revision > 0).then_some(*revision))),
        _ => None,
    });
    Some(Why {
        step: write.id.0,
        from: Some(request.user.agent.to_string()),
        what: request.line(),
        code: answer.map(|(code, _)| code),
        revision: answer.and_then(|(_, revision)| revision),
    })
}

fn change(step: &Step) -> Option<Change> {
    let (old, new) =
        describe::cache_change(step).or_else(|| stored(step).nth(main_write(step)).map(|(_, old, new)| (old, new)))?;
    change_of(old, new)
}

/// What was stored beside the one change that a step is known by.
fn also(step: &Step) -> Vec<Change> {
    let known = describe::cache_change(step).is_none().then(|| main_write(step));
    let others = stored(step).enumerate().filter(|(place, _)| Some(*place) != known);
    others.filter_map(|(_, (_, old, new))| change_of(old, new)).collect()
}

/// Which of a step's writes is of the kind that was asked for; the API server may write others before it.
pub(super) fn main_write(step: &Step) -> usize {
    let What::Request { request, .. } = &step.event.what else { return 0 };
    let is_it =
        |(_, old, new): (u64, Option<&Object>, Option<&Object>)| new.or(old).map(Object::kind) == Some(request.kind);
    stored(step).position(is_it).unwrap_or(0)
}

fn change_of(old: Option<&Object>, new: Option<&Object>) -> Option<Change> {
    let object = describe::name(new.or(old)?);
    Some(match (old, new) {
        (None, Some(new)) => Change { object, how: How::Added, summary: summary(new), fields: Vec::new() },
        (Some(_), None) => Change { object, how: How::Deleted, summary: Vec::new(), fields: Vec::new() },
        _ => Change { object, how: How::Modified, summary: Vec::new(), fields: diff::fields(old, new) },
    })
}

/// A new object in a few words: what it asks for rather than all it says.
fn summary(object: &Object) -> Vec<(String, Value)> {
    let json = object.to_json();
    let at = |path: &str| json.pointer(path).filter(|value| !value.is_null()).cloned();
    let shown = [
        ("replicas", "/spec/replicas"),
        ("image", "/spec/template/spec/containers/0/image"),
        ("image", "/spec/containers/0/image"),
        ("node", "/spec/nodeName"),
        ("phase", "/status/phase"),
        ("owner", "/metadata/ownerReferences/0/name"),
    ];
    shown.iter().filter_map(|(name, path)| Some(((*name).to_owned(), at(path)?))).collect()
}

fn fact(engine: &Engine, note: &Note, now: Instant) -> Option<Fact> {
    let said = |topic: &str, text: String, value| Some(Fact { topic: topic.to_owned(), text, table: None, value });
    let say = |topic: &str, text: String| said(topic, text, None);
    match note {
        Note::Cache { actor, kind, key, new, .. } => {
            let now = new.as_ref().map_or("removed".to_owned(), |o| format!("now at revision {}", o.revision()));
            let component = engine.name(*actor).to_owned();
            let text = format!("{} of {component}: {key} {now}", kind.info().plural);
            let revision = new.as_ref().map(Object::revision);
            said("cache", text, Some(FactValue::Cache { component, object: format!("{kind} {key}"), revision }))
        }
        Note::Queue { queue, key, how } => {
            let text = format!("{queue}: {}", queued(how, key.as_str(), now));
            let (queue, key) = (queue.to_string(), key.as_str().to_owned());
            said("queue", text, Some(FactValue::Queue { queue, key, how: KeyMoved::of(how) }))
        }
        Note::Stage { name, detail } => {
            let text = format!("{name}: {detail}").trim_end_matches([' ', ':']).to_owned();
            said("stage", text, Some(FactValue::Stage { stage: (*name).to_owned(), decision: detail.clone() }))
        }
        // The stages of authentication and impersonation have said so.
        Note::Authenticated(_) | Note::Impersonated(_) => None,
        // Of the calls that it makes to itself records and the audit log tell.
        Note::Lists { .. } => None,
        Note::Audit { key, value } => say("stage", format!("audit annotation: {key}={value}")),
        Note::Answered { code, error, .. } => {
            let text = error.as_ref().map_or(String::new(), |error| format!(" {error}"));
            said("answer", format!("{code}{text}"), Some(FactValue::Answer { code: *code }))
        }
        Note::Finished { task, .. } => say("done", task.to_string()),
        Note::Assumed { program, does } => say("assumed", format!("{program} {does}")),
        Note::Text { topic, text } => say(topic, text.clone()),
        Note::Table(table) => {
            let table = (**table).clone();
            Some(Fact { topic: "table".to_owned(), text: table.title.clone(), table: Some(table), value: None })
        }
        Note::Stands { object } => {
            say("stands", format!("{} at revision {}", describe::name(object), object.revision()))
        }
        Note::Stored { .. } | Note::Waits { .. } | Note::Typed { .. } => None,
    }
}

/// Who would make what a Pod waits for.
fn makers(engine: &Engine, step: &Step) -> impl Iterator<Item = Fact> {
    let facts = makers::told(engine, step).into_iter();
    facts.map(|text| Fact { topic: "waits for".to_owned(), text, table: None, value: None })
}

fn queued(how: &Queued, key: &str, now: Instant) -> String {
    match how {
        Queued::Added => format!("+ {key}"),
        Queued::AlreadyQueued => format!("{key} was queued already"),
        Queued::WhileProcessing => format!("{key} again, once its worker is done"),
        Queued::Later(at) => format!("{key} in {}", Instant::default() + (*at - now)),
        Queued::Taken => format!("a worker takes {key}"),
        Queued::Done => format!("a worker is done with {key}"),
    }
}

/// Reconciles and pod workers in flight, those that have just run first. Commands of the user's are not among them.
fn tasks(session: &Session) -> Vec<&Task> {
    let user = session.cluster.user.actor();
    let shown = |task: &&Task| !task.is_background() && task.actor != user;
    let mut tasks: Vec<&Task> = session.cluster.engine.tasks().filter(shown).collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.waits.iter().map(|wait| wait.since).max()));
    tasks
}

/// All of them, with those of background traffic and the user's commands.
pub fn all_waiting(session: &Session) -> Vec<Waiting> {
    session.cluster.engine.tasks().filter_map(|task| waiting(session, task)).collect()
}

fn waiting(session: &Session, task: &Task) -> Option<Waiting> {
    let wait = task.waits.first()?;
    Some(Waiting {
        task: task.label.to_string(),
        component: session.cluster.engine.name(task.actor).to_owned(),
        awaits: wait.about.to_string(),
        file: wait.at.file.replace('\\', "/"),
        line: wait.at.line,
        since_ns: session.time(wait.since).0,
    })
}

/// An event that was not delivered yet.
pub fn in_flight(session: &Session, event: &Pending) -> InFlight {
    let head = describe::headline(&session.cluster.engine, event);
    let t_ns = session.time(event.due).0;
    InFlight { event: event.id.to_string(), t_ns, from: head.from, what: head.what, to: head.to }
}
