//! What components hold: their caches and their queues.

use client::{Informer, Queue};
use controllers::ControllerManager;
use debugger::Session;
use debugger::holder::{self, Holder};
use debugger::inspect::{informers, process};
use object::Kind;
use scheduler::KubeScheduler;

use super::super::Stepper;
use super::super::wrap::wrapped;
use super::{Line, Text};

/// So many objects of a cache are named.
const CACHED_SHOWN: usize = 20;

/// `cache COMPONENT [KIND]`.
pub fn cache(stepper: &mut Stepper, line: &Line) -> Text {
    let (holder, only) = cached(&stepper.session, line)?;
    let (mut out, mut empty, mut unfilled) = (String::new(), Vec::new(), Vec::new());
    for informer in cached_by(&stepper.session, &holder, only)? {
        let cache = informer.cache().borrow();
        let plural = informer.kind().info().plural;
        let (count, shown) = (cache.objects().len(), if only.is_some() { usize::MAX } else { CACHED_SHOWN });
        if count == 0 && only.is_none() {
            let names = if cache.revision() == 0 { &mut unfilled } else { &mut empty };
            names.push(plural);
            continue;
        }
        let objects = if count == 1 { "object" } else { "objects" };
        out += &format!("{plural}: {count} {objects}, up to revision {}\n", cache.revision());
        for (key, object) in cache.objects().iter().take(shown) {
            out += &format!("  {key} at revision {}\n", object.revision());
        }
        if count > shown {
            out += &format!("  … and {} more: cache {} {plural}\n", count - shown, holder.component);
        }
    }
    Ok(out + &rest(stepper, "none of", &empty) + &rest(stepper, "not listed yet", &unfilled))
}

/// What there is nothing of, in as many lines as it takes.
fn rest(stepper: &Stepper, what: &str, names: &[&str]) -> String {
    if names.is_empty() {
        return String::new();
    }
    wrapped(&format!("{what}: {}", names.join(", ")), stepper.width()) + "\n"
}

/// The informers of a component, or that of one kind.
pub fn cached_by(session: &Session, holder: &Holder, only: Option<Kind>) -> Result<Vec<Informer>, String> {
    let informers = informers(session, &holder.component).into_iter();
    let informers: Vec<Informer> = informers.filter(|i| only.is_none_or(|kind| kind == i.kind())).collect();
    match only {
        Some(kind) if informers.is_empty() => Err(format!("{} watches no {}", holder.component, kind.info().plural)),
        _ => Ok(informers),
    }
}

/// Whose cache is asked for, and the only kind to show, if one is named.
pub fn cached(session: &Session, line: &Line) -> Result<(Holder, Option<Kind>), String> {
    let words = line.words();
    let kind = |word: &String| Kind::from_word(word).ok_or_else(|| format!("there is no kind {word:?}"));
    match &words[1..] {
        [component] => Ok((holder::find(session, component)?, None)),
        [component, word] => Ok((holder::find(session, component)?, Some(kind(word)?))),
        _ => Err("write for example: cache kube-scheduler, or: cache kube-scheduler pods".to_owned()),
    }
}

/// `queue COMPONENT`.
pub fn queue(stepper: &mut Stepper, line: &Line) -> Text {
    match queued(&stepper.session, line)? {
        (_, Queues::Scheduler(scheduler)) => match scheduler.queue_table() {
            table if table.rows.is_empty() => Ok("no Pod waits for a node\n".to_owned()),
            table => Ok(stepper.view().table(&table)),
        },
        (_, Queues::Controllers(queues)) => {
            let (idle, busy): (Vec<&Queue>, Vec<&Queue>) =
                queues.iter().partition(|queue| queues.len() > 1 && is_idle(queue));
            let idle: Vec<&str> = idle.into_iter().map(|queue| &**queue.name()).collect();
            let busy: String = busy.into_iter().map(|queue| of_queue(&stepper.session, queue)).collect();
            Ok(busy + &rest(stepper, "nothing to do", &idle))
        }
    }
}

/// What waits for a component.
pub enum Queues<'s> {
    /// Pods that have no node.
    Scheduler(&'s KubeScheduler),
    /// Keys, for one controller or all of a component.
    Controllers(Vec<&'s Queue>),
}

/// Whose queues are asked for, and these.
pub fn queued<'s>(session: &'s Session, line: &Line) -> Result<(Holder, Queues<'s>), String> {
    let holder = holder::find(session, line.one("queue kube-controller-manager")?)?;
    if let Some(scheduler) = process::<KubeScheduler>(session, &holder.component) {
        return Ok((holder, Queues::Scheduler(scheduler)));
    }
    let Some(manager) = process::<ControllerManager>(session, &holder.component) else {
        return Err(format!("{} has caches, but no work queue", holder.component));
    };
    let named = |queue: &&Queue| holder.controller.as_deref().is_none_or(|name| **queue.name() == *name);
    let queues = manager.queues().filter(named).collect();
    Ok((holder, Queues::Controllers(queues)))
}

fn is_idle(queue: &Queue) -> bool {
    queue.with(|state| state.queue.is_empty() && state.processing.is_empty() && state.delayed.is_empty())
}

fn of_queue(session: &Session, queue: &Queue) -> String {
    queue.with(|state| {
        let (queued, working, later) = (state.queue.len(), state.processing.len(), state.delayed.len());
        let mut out = format!("{}: {queued} queued, {working} in work, {later} later\n", queue.name());
        for key in &state.queue {
            out += &format!("  {key}\n");
        }
        for key in &state.processing {
            out += &format!("  {key} (a worker has it)\n");
        }
        for (key, at) in &state.delayed {
            out += &format!("  {key} at {}\n", session.time(*at));
        }
        out
    })
}
