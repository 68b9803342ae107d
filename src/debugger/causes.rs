//! Backwards and forwards along causes.

use std::collections::BTreeMap;

use cluster::clients::Arrival;
use engine::{Step, StepId, What};
use object::Discovery;
use rest::path::Shape;

use super::{Choice, Chosen, Session};

/// One step that another set off, directly or not.
#[derive(Clone, Copy, Debug)]
pub struct Effect<'a> {
    /// How many causes lie between.
    pub depth: usize,
    /// The step.
    pub step: &'a Step,
}

/// What a step set off, each effect before the effects of its effects' siblings, as a tree is written. Background
/// traffic is left out. So many at most.
pub fn effects(session: &Session, of: StepId, limit: usize) -> Vec<Effect<'_>> {
    let mut children: BTreeMap<StepId, Vec<&Step>> = BTreeMap::new();
    for step in session.history().iter().filter(|step| step.event.cause >= of && !step.event.background) {
        children.entry(step.event.cause).or_default().push(step);
    }
    let below = |cause: StepId, depth: usize| {
        let steps = children.get(&cause).into_iter().flatten().rev();
        steps.map(move |step| Effect { depth, step }).collect::<Vec<_>>()
    };
    let (mut found, mut next) = (Vec::new(), below(of, 0));
    while let Some(effect) = next.pop() {
        if found.len() >= limit {
            break;
        }
        found.push(effect);
        next.extend(below(effect.step.id, effect.depth + 1));
    }
    found
}

/// A line that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// Of one that goes on below, its beginning.
    pub line: String,
    /// By whom.
    pub by: By,
}

/// Who has typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The scenario, by its timeline.
    Scenario,
    /// The user of this session.
    User,
    /// A client outside has sent it.
    Client,
}

impl By {
    /// As it is told: `you typed`.
    pub fn typed(self) -> &'static str {
        match self {
            By::Scenario => "the scenario typed",
            By::User => "you typed",
            By::Client => "a client sent",
        }
    }

    /// As programs know it.
    pub fn name(self) -> &'static str {
        match self {
            By::Scenario => "scenario",
            By::User => "user",
            By::Client => "client",
        }
    }
}

/// A step and its causes, nearest first, back to the keystroke; and the line that was typed there, if one was.
pub fn chain(session: &Session, of: StepId) -> (Vec<&Step>, Option<Typed>) {
    let mut chain = Vec::new();
    for step in session.step(of).into_iter().chain(session.why(of)) {
        chain.push(step);
        if let Some(line) = typed_in(session, step) {
            return (chain, Some(line));
        }
    }
    (chain, None)
}

/// The line that was typed in a step by the scenario, or right before it by the session's user: a command, or a fault that
/// has set this step off.
fn typed_in(session: &Session, step: &Step) -> Option<Typed> {
    let by_user = |line: String| Typed { line, by: By::User };
    if let Some((_, line)) = session.typed().iter().find(|(at, _)| *at == step.id) {
        let is_it = |chosen: &Chosen| matches!(&chosen.choice, Choice::Line(typed) if **typed == **line);
        let by = if session.choices().iter().any(is_it) { By::User } else { By::Scenario };
        return Some(Typed { line: line.lines().next().unwrap_or_default().to_owned(), by });
    }
    let (event, cause) = (&step.event, step.event.cause);
    let users = event.from == session.cluster.user.actor();
    if let What::Fault { message } = &event.what {
        // A fault without a cause was decided by the session's user.
        return (cause.0 == 0).then(|| by_user(message.line()));
    }
    // What a step has sent is its own doing; what else came of that moment was typed.
    let sent = session.step(cause).is_some_and(|cause| cause.sent.contains(&event.id));
    if sent {
        return None;
    }
    if session.cluster.clients.is_client(event.from) {
        return arrived_as(session, step).map(|line| Typed { line, by: By::Client });
    }
    if !users {
        return None;
    }
    let mut chosen =
        session.choices().iter().rev().filter(|chosen| chosen.after == cause.0).map(|chosen| &chosen.choice);
    let line = chosen.find_map(|choice| match choice {
        Choice::Kubectl(words) => Some(format!("kubectl {}", shell_words::join(words))),
        Choice::Line(line) | Choice::Typed(line) => Some(line.clone()),
        Choice::Network { words, .. } => Some(shell_words::join(words)),
        _ => None,
    });
    line.map(by_user)
}

/// What a client outside sent that became this request. Of several that came at once it is the one for the same object.
fn arrived_as(session: &Session, step: &Step) -> Option<String> {
    let What::Request { request, .. } = &step.event.what else { return None };
    let came = session.choices().iter().filter(|chosen| chosen.after == step.event.cause.0);
    let came: Vec<&Arrival> = came
        .filter_map(|chosen| match &chosen.choice {
            Choice::Arrive(arrival) => Some(&**arrival),
            _ => None,
        })
        .collect();
    let is_same = |arrival: &&&Arrival| {
        let path = arrival.target.split('?').next().unwrap_or_default();
        Shape::parse(path, &Discovery::default())
            .is_some_and(|shape| shape.kind == request.kind && shape.name == request.name)
    };
    came.iter().find(is_same).or(came.first()).map(|arrival| arrival.label())
}
