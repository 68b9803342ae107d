//! From a session to a scene.

use std::any::Any;
use std::collections::BTreeSet;

use serde_json::Value;

use engine::{Note, Pending, Queued, StepId, What};
use network::kernel::frame::Frame;
use object::patch::diff_merge;
use object::{Kind, Object};

use super::super::changes::stored;
use super::super::facts::Class;
use super::super::{Session, Stop, describe};
use super::{After, Cached, Change, Code, Flight, How, Moved, Packet, Scene, Start, Step, words};

/// Kinds that fill the store and tell nothing.
const LEFT_OUT: &[Kind] = &[Kind::Event, Kind::Lease, Kind::ServiceAccount];
/// Kinds that are shown from the start in every namespace; all others in the scenario's own.
const WORKLOADS: &[Kind] =
    &[Kind::Pod, Kind::Deployment, Kind::ReplicaSet, Kind::StatefulSet, Kind::DaemonSet, Kind::Job];

/// Whether an object is shown from the start. Of others a scene tells once they are written, and then the whole object.
fn from_the_start(object: &Object, namespace: &str) -> bool {
    let everywhere = object.name() == "kube-root-ca.crt" || object.name() == "kubernetes";
    let kind = object.kind();
    !LEFT_OUT.contains(&kind) && (WORKLOADS.contains(&kind) || object.namespace() == namespace && !everywhere)
}

impl Start {
    /// What was there when the first steps of a session had run, `after` in number.
    pub fn of(session: &Session, after: u64) -> Start {
        let namespace = &session.scenario().namespace;
        let mut start = Start::default();
        let shown = |object: &Object| from_the_start(object, namespace);
        let store = &session.cluster.engine.server.api.store;
        for object in store.prefix("/registry/").map(|(_, entry)| &entry.value).filter(|object| shown(object)) {
            start.objects.insert(describe::name(object), bare(object));
        }
        // From the present back to that moment.
        let (before, since) = session.history().split_at(session.history().len().min(after as usize));
        for (_, old, new) in since.iter().rev().flat_map(|step| stored(step).collect::<Vec<_>>().into_iter().rev()) {
            let Some(object) = old.or(new).filter(|object| shown(object)) else { continue };
            let name = describe::name(object);
            match old {
                Some(old) => drop(start.objects.insert(name, bare(old))),
                None => drop(start.objects.remove(&name)),
            }
        }
        for note in before.iter().flat_map(|step| &step.notes) {
            let Note::Queue { queue, key, how } = note else { continue };
            let entry = (queue.to_string(), key.as_str().to_owned());
            start.queues.retain(|known| *known != entry);
            if matches!(how, Queued::Added) {
                start.queues.push(entry);
            }
        }
        // The scheduler says what comes into its queue. What it took out again is bound to a node, or gone.
        let waits = |key: &str| {
            start.objects.get(&format!("Pod {key}")).is_some_and(|pod| pod.pointer("/spec/nodeName").is_none())
        };
        start.queues.retain(|(queue, key)| queue != "kube-scheduler" || waits(key));
        start
    }
}

/// An object without what no reader looks at.
fn bare(object: &Object) -> Value {
    let mut json = object.to_json();
    if let Some(Value::Object(metadata)) = json.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    json
}

/// One step, and what it changed.
pub fn of_step(session: &Session, step: &engine::Step) -> Step {
    let engine = &session.cluster.engine;
    let (from, to) = (engine.name(step.event.from).to_owned(), engine.name(step.event.to).to_owned());
    let what = describe::headline(engine, &step.event).what;
    let mut out = Step {
        number: step.id.0,
        t_us: session.time(step.time).0 / 1_000,
        class: Class::of(&step.event.what).name(),
        from,
        to,
        code: code(session, step, &what),
        what,
        cause: step.event.cause.0,
        text: String::new(),
        effects: Vec::new(),
        stages: Vec::new(),
        answer: None,
        caption: None,
        changes: Vec::new(),
        caches: Vec::new(),
        queues: Vec::new(),
        packet: packet(&step.event.what),
        decisions: Vec::new(),
    };
    for note in &step.notes {
        match note {
            Note::Stage { name, detail } => out.stages.push((name, detail.clone())),
            Note::Answered { code, .. } => out.answer = Some(*code),
            Note::Text { topic, text } => out.decisions.push((topic, text.clone())),
            Note::Stored { revision, old, new, .. } => {
                out.changes.extend(change(session, *revision, old.as_ref(), new.as_ref()))
            }
            Note::Cache { actor, kind, key, new, .. } => out.caches.push(Cached {
                actor: engine.name(*actor).to_owned(),
                object: format!("{kind} {key}"),
                revision: new.as_ref().map_or(0, Object::revision),
            }),
            Note::Queue { queue, key, how } => {
                let how = match how {
                    Queued::Added => How::Added,
                    Queued::Taken => How::Taken,
                    Queued::Done => How::Done,
                    Queued::Later(_) => How::Later,
                    Queued::AlreadyQueued | Queued::WhileProcessing => continue,
                };
                out.queues.push(Moved { queue: queue.to_string(), key: key.as_str().to_owned(), how });
            }
            _ => {}
        }
    }
    let stop = Stop::of(session, step);
    out.text = words::sentence(&stop, out.answer);
    out.effects = words::effects(&stop, &out.changes);
    out
}

/// A packet that arrives.
fn packet(what: &What) -> Option<Packet> {
    let What::Packet { message, .. } = what else { return None };
    let message: &dyn Any = &**message;
    let frame: &Frame = message.downcast_ref()?;
    Some(Packet { what: frame.packet.to_string(), at: frame.at.clone(), by: frame.by.clone() })
}

fn change(session: &Session, revision: u64, old: Option<&Object>, new: Option<&Object>) -> Option<Change> {
    let object = new.or(old)?;
    if LEFT_OUT.contains(&object.kind()) {
        return None;
    }
    let after = match (old, new) {
        (_, None) => After::Gone,
        (Some(old), Some(new)) if from_the_start(new, &session.scenario().namespace) => {
            After::Patched(diff_merge(&bare(old), &bare(new)))
        }
        (_, Some(new)) => After::Whole(bare(new)),
    };
    Some(Change { object: describe::name(object), revision, after })
}

/// Where the code that acts has come to: the task that ran in this step; of a request, the line that sent it.
fn code(session: &Session, step: &engine::Step, what: &str) -> Option<Code> {
    let background =
        |code: &Code| session.cluster.engine.tasks().any(|task| task.is_background() && *task.label == *code.task);
    let sender = match &step.event.what {
        What::Request { .. } | What::Rpc { .. } => session.step(step.event.cause),
        _ => None,
    };
    let acts = waits(step).into_iter().rfind(|code| !background(code));
    acts.or_else(|| waits(sender?).into_iter().rfind(|code| code.awaits == what))
}

/// The lines at which tasks stopped in a step.
fn waits(step: &engine::Step) -> Vec<Code> {
    let waits = step.notes.iter().filter_map(|note| match note {
        Note::Waits { task, at, awaits, .. } => Some(Code {
            task: task.to_string(),
            awaits: awaits.to_string(),
            file: at.file.replace('\\', "/"),
            line: at.line,
        }),
        _ => None,
    });
    waits.collect()
}

impl Scene {
    /// The session stands at the last step: keeps what is under way, and of what components said of themselves what kernels
    /// decided about packets, which are drawn; all else stands in a step's words.
    pub fn close(&mut self, session: &Session) {
        let engine = &session.cluster.engine;
        let first = self.steps.first().map_or(0, |step| step.number);
        let pending: Vec<&Pending> =
            engine.pending().filter(|event| !event.background && event.cause >= StepId(first)).collect();
        let arrived = self.steps.iter().filter(|step| step.packet.is_some()).map(|step| step.cause);
        let under_way = pending.iter().filter(|event| matches!(event.what, What::Packet { .. }));
        let senders: BTreeSet<u64> = arrived.chain(under_way.map(|event| event.cause.0)).collect();
        for step in self.steps.iter_mut().filter(|step| step.packet.is_none() && !senders.contains(&step.number)) {
            step.decisions.clear();
        }
        let timer = |what: &What| matches!(what, What::Wake { .. } | What::Resume { .. });
        let flights = pending.iter().filter(|event| !timer(&event.what)).map(|event| Flight {
            cause: event.cause.0,
            from: engine.name(event.from).to_owned(),
            to: engine.name(event.to).to_owned(),
            what: describe::headline(engine, event).what,
        });
        self.under_way = flights.collect();
    }
}
