//! Who told whom what, as rows of a sequence diagram.

use apiserver::host::Engine;
use engine::{Note, Step, StepId, What};

use super::Session;
use super::describe;
use super::expression::matches_glob;
use super::facts::{Class, Facts};
use super::target::Target;

/// What a timeline shows.
#[derive(Clone, Debug)]
pub enum About {
    /// Everything but background traffic.
    Everything,
    /// Steps about one object.
    Object(Target),
    /// Steps of one component or controller: a glob.
    Component(String),
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The step that delivered it.
    pub step: StepId,
    /// The process that sent it.
    pub from: String,
    /// The process that got it; the same for timers.
    pub to: String,
    /// What it said, and how it was answered.
    pub text: String,
}

/// The rows of a timeline, oldest first. Answers stand with their requests, so that a call is one row; the step where we
/// stand has a row in any case.
pub fn rows(session: &Session, about: &About) -> Vec<Row> {
    let engine = &session.cluster.engine;
    let here = session.current().map(|step| step.id);
    let shown = |step: &&Step| here == Some(step.id) || fits(engine, step, about);
    session.history().iter().filter(shown).map(|step| row(engine, step)).collect()
}

/// The last rows of a timeline, so many at most.
pub fn latest(session: &Session, about: &About, count: usize) -> Vec<Row> {
    let engine = &session.cluster.engine;
    let here = session.current().map(|step| step.id);
    let shown = |step: &&Step| here == Some(step.id) || fits(engine, step, about);
    let steps: Vec<&Step> = session.history().iter().rev().filter(shown).take(count).collect();
    steps.into_iter().rev().map(|step| row(engine, step)).collect()
}

fn fits(engine: &Engine, step: &Step, about: &About) -> bool {
    let facts = Facts::of(engine, step);
    let call = facts.class != Class::Response && !matches!(step.event.what, What::Resume { .. } | What::Reply { .. });
    call && match about {
        About::Everything => !step.event.background,
        About::Object(target) => facts.subjects.iter().any(|subject| {
            let key = &target.key;
            subject.kind == target.kind && subject.name == key.name() && subject.namespace == key.namespace()
        }),
        About::Component(glob) => {
            let task = |task: &str| matches_glob(glob, task.split(' ').next().unwrap_or(task));
            let named = matches_glob(glob, facts.from) || matches_glob(glob, facts.to) || facts.tasks().any(task);
            named && !step.event.background
        }
    }
}

fn row(engine: &Engine, step: &Step) -> Row {
    let event = &step.event;
    let (from, to) = (engine.name(event.from).to_owned(), engine.name(event.to).to_owned());
    let head = describe::headline(engine, event);
    let code = step.notes.iter().find_map(|note| match note {
        Note::Answered { code, .. } => Some(format!(" → {code}")),
        _ => None,
    });
    let who = match &event.what {
        What::Request { request, .. } if *request.user.agent != *from => format!("{}: ", request.user.agent),
        _ => String::new(),
    };
    Row { step: step.id, from, to, text: format!("{who}{}{}", head.what, code.unwrap_or_default()) }
}
