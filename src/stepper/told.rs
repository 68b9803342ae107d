//! Answers to questions as values: what `--json` says of `why`, `who`, `timeline` and the others beside their text.
//!
//! A question changes nothing, so it is asked once more, of the same functions of the debugger that the prompt's answer
//! comes from. `docs/json.md` says what each field is.

use serde_json::{Value, json};

use debugger::changes::{self, Changed};
use debugger::compare::telling;
use debugger::inspect;
use debugger::scene::{Drawn, since};
use debugger::spine::{self, STAGES};
use debugger::stop::{self, How};
use debugger::target::{self, Target};
use debugger::{Session, causes, chapters, describe, explain, timeline};
use engine::{Pending, Step};
use object::explain::Field;

use super::commands::held::{self, Queues};
use super::commands::{Line, ask, back, print};
use super::{Stepper, Typed, What};

/// So many effects are told.
const EFFECTS: usize = 1_000;

type Told = Result<Value, String>;

/// The value of a command that has just been carried out; none if all it says is its text.
pub fn told(stepper: &mut Stepper, typed: &Typed) -> Option<Value> {
    if let What::Complete(line) = &typed.what {
        return Some(json!({"topic": "complete", "line": line, "lines": stepper.candidates(line)}));
    }
    let What::Command { command, line, .. } = &typed.what else { return None };
    let session = &stepper.session;
    let value = match command.names[0] {
        "why" => why(session, line),
        "effects" => effects(session, line),
        "timeline" => messages(session, line),
        "diff" => diff(session, line),
        "history" => history(session, line),
        "who" => who(session, line),
        "explain" => explained(session, line),
        "where" => Ok(place(session)),
        "pending" => Ok(pending(session, line.flag("--all").unwrap_or(false))),
        "stack" => Ok(json!({"topic": "stack", "tasks": stop::all_waiting(session)})),
        "cache" => cache(session, line),
        "queue" => queue(session, line),
        "scene" => scene(&mut stepper.session, line),
        "solved" => Ok(json!({"topic": "solved", "solved": stepper.solved})),
        "print" => print::values(stepper, line).map(|values| json!({"topic": "print", "values": values})),
        "breakpoints" => Ok(breakpoints(session)),
        "choices" => Ok(choices(session)),
        "branches" => Ok(branches(&mut stepper.session)),
        "compare" => compare(stepper, line),
        _ => return None,
    };
    value.ok()
}

/// A step in one line.
fn step(session: &Session, step: &Step) -> Value {
    let head = describe::headline(&session.cluster.engine, &step.event);
    let t_ns = session.time(step.time).0;
    json!({"step": step.id.0, "t_ns": t_ns, "from": head.from, "what": head.what, "to": head.to})
}

/// What a page draws that has drawn the session as far as the line says.
fn scene(session: &mut Session, line: &Line) -> Told {
    let drawn = Drawn::read(&line.arguments())?;
    let (told, scene) = since(session, drawn);
    Ok(json!({"topic": "scene", "told": told, "scene": scene}))
}

fn why(session: &Session, line: &Line) -> Told {
    let of = ask::asked(session, line)?;
    let (chain, typed) = causes::chain(session, of.id);
    let steps: Vec<Value> = chain.into_iter().map(|cause| step(session, cause)).collect();
    let by = typed.as_ref().map(|typed| typed.by.name());
    Ok(json!({"topic": "why", "steps": steps, "typed": typed.map(|typed| typed.line), "by": by}))
}

fn effects(session: &Session, line: &Line) -> Told {
    let of = ask::asked(session, line)?;
    let effect = |effect: causes::Effect<'_>| json!({"depth": effect.depth, "step": step(session, effect.step)});
    let effects: Vec<Value> = causes::effects(session, of.id, EFFECTS).into_iter().map(effect).collect();
    Ok(json!({"topic": "effects", "effects": effects}))
}

fn messages(session: &Session, line: &Line) -> Told {
    let rows = timeline::rows(session, &ask::about(session, line)?);
    let message = |row: &timeline::Row| json!({"step": row.step.0, "from": row.from, "to": row.to, "text": row.text});
    Ok(json!({"topic": "timeline", "messages": rows.iter().map(message).collect::<Vec<_>>()}))
}

/// An object that changed, as `change` of a stop.
fn changed(changed: &Changed) -> Value {
    let how = match (&changed.old, &changed.new) {
        (None, _) => How::Added,
        (_, None) => How::Deleted,
        _ => How::Modified,
    };
    json!({"object": changed.name(), "how": how, "fields": changed.fields()})
}

fn diff(session: &Session, line: &Line) -> Told {
    let objects: Vec<Value> = ask::differences(session, line)?.iter().map(changed).collect();
    Ok(json!({"topic": "diff", "objects": objects}))
}

fn history(session: &Session, line: &Line) -> Told {
    let target = target::find(session, &line.arguments())?;
    let revision = |revision: &changes::Revision| {
        let at = revision.step.and_then(|id| session.step(id)).map(|step| session.time(step.time).0);
        let (step, changed) = (revision.step.map(|id| id.0), changed(&revision.changed));
        json!({
            "revision": revision.number, "step": step, "t_ns": at, "by": revision.by,
            "how": changed["how"], "fields": changed["fields"],
        })
    };
    let revisions: Vec<Value> = changes::history(session, &target).iter().map(revision).collect();
    Ok(json!({"topic": "history", "object": target.to_string(), "revisions": revisions}))
}

fn who(session: &Session, line: &Line) -> Told {
    let target = target::find(session, &line.arguments())?;
    let stored = session.cluster.engine.server.api.store.get(&target.etcd_key()).map(|entry| entry.mod_revision);
    let watcher = |belief: &inspect::Belief| {
        json!({
            "component": belief.component, "watches": belief.watches, "cached": belief.cached,
            "on_the_way": belief.on_the_way, "queued": belief.queued,
        })
    };
    let watchers: Vec<Value> = inspect::beliefs(session, &target).iter().map(watcher).collect();
    Ok(json!({"topic": "who", "object": target.to_string(), "stored": stored, "watchers": watchers}))
}

fn explained(session: &Session, line: &Line) -> Told {
    let explained = explain::explain(session, line.one("explain pod.status.phase")?)?;
    let explain::Explained { kind, asked, path, type_name, about, writer, fields } = &explained;
    let below = |field: &Field| if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
    Ok(json!({
        "topic": "explain", "object": kind.to_string(), "path": path, "type": type_name,
        "text": about.join(" "), "writer": writer, "chapter": chapters::of(*kind, path).file,
        "below": fields.iter().map(below).collect::<Vec<_>>(), "here": ask::values(session, *kind, asked),
    }))
}

fn place(session: &Session) -> Value {
    let progress = spine::progress(session);
    let stage = |(number, stage): (usize, &spine::Stage)| {
        json!({
            "name": stage.name, "story": stage.story, "chapter": stage.chapter.file,
            "first": progress.reached[number].map(|step| step.0), "here": progress.here == Some(number),
        })
    };
    json!({"topic": "where", "stages": STAGES.iter().enumerate().map(stage).collect::<Vec<_>>()})
}

fn pending(session: &Session, all: bool) -> Value {
    let engine = &session.cluster.engine;
    let flying = |event: &Pending, held: bool| {
        let said = stop::in_flight(session, event);
        json!({
            "event": said.event, "t_ns": said.t_ns, "from": said.from, "what": said.what, "to": said.to,
            "background": event.background, "held": held,
        })
    };
    let mut events: Vec<Value> =
        engine.pending().filter(|event| all || !event.background).map(|event| flying(event, false)).collect();
    events.extend(engine.held().map(|event| flying(event, true)));
    json!({"topic": "pending", "events": events})
}

fn cache(session: &Session, line: &Line) -> Told {
    let (holder, only) = held::cached(session, line)?;
    let cache = |informer: &client::Informer| {
        let cache = informer.cache().borrow();
        let object = |(key, object): (&object::Key, &object::Object)| json!({"object": Target { kind: informer.kind(), key: key.clone() }.to_string(), "revision": object.revision()});
        let objects: Vec<Value> = cache.objects().iter().map(object).collect();
        json!({"kind": informer.kind().to_string(), "revision": cache.revision(), "objects": objects})
    };
    let caches: Vec<Value> = held::cached_by(session, &holder, only)?.iter().map(cache).collect();
    Ok(json!({"topic": "cache", "component": holder.component, "caches": caches}))
}

fn queue(session: &Session, line: &Line) -> Told {
    let one = |queue: &&client::Queue| {
        queue.with(|state| {
            let later = |(key, at): (&object::Key, &object::time::Instant)| {
                json!({"key": key.to_string(), "t_ns": session.time(*at).0})
            };
            json!({
                "queue": &**queue.name(),
                "queued": state.queue.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "working": state.processing.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "later": state.delayed.iter().map(later).collect::<Vec<_>>(),
            })
        })
    };
    let (holder, queues) = held::queued(session, line)?;
    let (table, queues) = match queues {
        Queues::Scheduler(scheduler) => (json!(scheduler.queue_table()), Vec::new()),
        Queues::Controllers(queues) => (Value::Null, queues.iter().map(one).collect()),
    };
    Ok(json!({"topic": "queue", "component": holder.component, "table": table, "queues": queues}))
}

fn breakpoints(session: &Session) -> Value {
    let list = session.breakpoints.list().iter();
    let one = |b: &debugger::breakpoint::Breakpoint| json!({"number": b.number, "text": b.text, "enabled": b.enabled, "once": b.once, "hits": b.hits, "ignore": b.ignore});
    json!({"topic": "breakpoints", "breakpoints": list.map(one).collect::<Vec<_>>()})
}

fn choices(session: &Session) -> Value {
    let one = |chosen: &debugger::Chosen| json!({"after": chosen.after, "choice": chosen.choice.to_string()});
    json!({"topic": "choices", "choices": session.choices().iter().map(one).collect::<Vec<_>>()})
}

fn branches(session: &mut Session) -> Value {
    let here = session.called().clone();
    let last = |choices: &[debugger::Chosen]| choices.last().map(|chosen| chosen.choice.to_string());
    let one = |called: &debugger::Called, steps: u64, choices: &[debugger::Chosen], here: bool| {
        let (number, name) = (called.number(), &called.name);
        json!({"number": number, "name": name, "steps": steps, "choice": last(choices), "here": here})
    };
    let left = session.branches().iter().map(|branch| one(&branch.called, branch.steps, &branch.choices, false));
    let mut branches: Vec<Value> = left.collect();
    branches.push(one(&here, session.furthest(), session.choices(), true));
    json!({"topic": "branches", "branches": branches})
}

fn compare(stepper: &mut Stepper, line: &Line) -> Told {
    let (_, which) = back::courses(stepper, line)?;
    let compared = stepper.session.compare(which)?;
    let parting = compared.parting.as_ref().map(|parting| {
        let choices = parting.choices.each_ref().map(|chosen| chosen.as_ref().map(|chosen| chosen.choice.to_string()));
        json!({"step": parting.step, "sides": parting.sides, "choices": choices})
    });
    let end = |end: &debugger::compare::End| json!({"steps": end.steps, "quiet": end.quiet, "broken": end.broken});
    let differs = |(object, made): (&Changed, &[Option<u64>; 2])| {
        let mut value = changed(object);
        (value["fields"], value["steps"]) = (json!(telling(object)), json!(made));
        value
    };
    let objects: Vec<Value> = compared.objects.iter().zip(&compared.made).map(differs).collect();
    let ends: Vec<Value> = compared.ends.iter().map(end).collect();
    Ok(json!({"topic": "compare", "parting": parting, "ends": ends, "objects": objects}))
}
