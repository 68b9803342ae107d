//! The terms of a breakpoint, and whether a step fits them.

use serde_json::Value;

use crate::expression::matches_glob;
use crate::facts::{Class, Facts, Subject};
use engine::Note;
use object::selector::Selector;
use object::{Kind, Object};

/// One term. All terms of a filter must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// The event's class.
    Class(Class),
    /// Who sends, who gets, or which reconcile runs: a glob.
    Component(String),
    /// Who sends: a glob.
    From(String),
    /// Who gets: a glob.
    To(String),
    /// The request's verb.
    Verb(String),
    /// The subresource; empty: none.
    Subresource(String),
    /// The answer's code: `409`, `4xx`.
    Code(String),
    /// The runtime's method, or the timer's name: a glob.
    Method(String),
    /// The reason of an Event that the step writes: a glob.
    Reason(String),
    /// The scheduler's verdict: `unschedulable`, or a glob over `node-1 chosen` and `node-1 PLUGIN: text`.
    Verdict(String),
    /// A condition of the object changes: its type, and its new status if that matters.
    Condition(String, Option<String>),
    /// A reconcile or pod worker comes to wait in these lines.
    Lines(Vec<Lines>),
    /// The object's kind.
    Kind(Kind),
    /// A kind that users define, as `plural.group`, in any version.
    Custom(String),
    /// The object's namespace: a glob.
    Namespace(String),
    /// The object's name: a glob.
    Name(String),
    /// The object's labels.
    Labels(Selector),
}

/// Lines of one source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// `src/controllers/pods.rs`, as the compiler names it.
    pub file: String,
    /// The first.
    pub from: u32,
    /// The last.
    pub to: u32,
}

/// Terms that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// In the order in which they were typed.
    pub terms: Vec<Term>,
}

impl Filter {
    /// Whether the message itself fits, without regard to its objects.
    pub fn fits_event(&self, facts: &Facts) -> bool {
        self.terms.iter().all(|term| term.fits_event(facts))
    }

    /// Whether one of the objects fits.
    pub fn fits_object(&self, subject: &Subject) -> bool {
        self.terms.iter().all(|term| term.fits_object(subject))
    }

    /// Whether any term is about an object.
    pub fn asks_object(&self) -> bool {
        self.terms.iter().any(Term::asks_object)
    }
}

impl Term {
    /// Whether it names who tells whom, or what, so that it says by itself which events are meant.
    pub(super) fn names_event(&self) -> bool {
        use Term::{Class, Code, Component, From, Lines, Method, To, Verdict};
        matches!(self, Class(_) | Code(_) | Component(_) | From(_) | To(_) | Method(_) | Lines(_) | Verdict(_))
    }

    pub(super) fn asks_object(&self) -> bool {
        use Term::{Condition, Kind, Labels, Name, Namespace};
        matches!(self, Kind(_) | Namespace(_) | Name(_) | Labels(_) | Condition(..))
    }

    fn fits_event(&self, facts: &Facts) -> bool {
        match self {
            Term::Class(class) => facts.class == *class,
            Term::Component(glob) => {
                let task = |task: &str| matches_glob(glob, task.split(' ').next().unwrap_or(task));
                matches_glob(glob, facts.from) || matches_glob(glob, facts.to) || facts.tasks().any(task)
            }
            Term::From(glob) => matches_glob(glob, facts.from),
            Term::To(glob) => matches_glob(glob, facts.to),
            Term::Verb(verb) => facts.verb == Some(verb),
            Term::Subresource(subresource) => facts.subresource.unwrap_or_default() == subresource,
            Term::Code(pattern) => {
                facts.code.is_some_and(|code| matches_glob(&pattern.replace('x', "?"), &code.to_string()))
            }
            Term::Method(glob) => facts.method.is_some_and(|method| matches_glob(glob, method)),
            Term::Reason(glob) => facts.reasons().any(|reason| matches_glob(glob, reason)),
            Term::Verdict(verdict) => facts.verdicts().any(|table| fits_verdict(verdict, &table.rows)),
            Term::Lines(places) => facts.step.notes.iter().any(|note| match note {
                Note::Waits { at, .. } => places.iter().any(|lines| lines.hold(&at.file, at.line)),
                _ => false,
            }),
            Term::Condition(..) | Term::Kind(_) | Term::Custom(_) => true,
            Term::Namespace(_) | Term::Name(_) | Term::Labels(_) => true,
        }
    }

    fn fits_object(&self, subject: &Subject) -> bool {
        match self {
            Term::Kind(kind) => subject.kind == *kind,
            Term::Custom(name) => {
                matches!(subject.kind, Kind::Custom(kind) if kind.info().qualified_plural() == *name)
            }
            Term::Namespace(glob) => matches_glob(glob, subject.namespace),
            Term::Name(glob) => matches_glob(glob, subject.name),
            Term::Labels(selector) => {
                let object = subject.new.or(subject.old);
                object.is_some_and(|object| selector.matches(object.meta().labels.as_ref()))
            }
            Term::Condition(kind, wanted) => {
                let (old, new) = (condition(subject.old, kind), condition(subject.new, kind));
                old != new && wanted.as_ref().is_none_or(|wanted| new.as_ref() == Some(wanted))
            }
            _ => true,
        }
    }
}

impl Lines {
    fn hold(&self, file: &str, line: u32) -> bool {
        (self.from..=self.to).contains(&line) && file.replace('\\', "/") == self.file
    }
}

/// The status of one of an object's conditions.
fn condition(object: Option<&Object>, kind: &str) -> Option<String> {
    let json = object?.to_json();
    let conditions = json.pointer("/status/conditions")?.as_array()?;
    let found = conditions.iter().find(|c| c.get("type").and_then(Value::as_str) == Some(kind))?;
    found.get("status")?.as_str().map(str::to_owned)
}

fn fits_verdict(wanted: &str, rows: &[Vec<String>]) -> bool {
    if wanted == "unschedulable" {
        return !rows.iter().any(|row| row.get(1).is_some_and(|verdict| verdict == "chosen"));
    }
    rows.iter().any(|row| match row.as_slice() {
        [node, verdict, ..] => matches_glob(wanted, verdict) || matches_glob(wanted, &format!("{node} {verdict}")),
        _ => false,
    })
}
