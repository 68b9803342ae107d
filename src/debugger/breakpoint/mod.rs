//! Breakpoints: where a session stops beside its own stops.
//!
//! A breakpoint is a [`Filter`] (terms that must all hold, see [`mod@parse`]), perhaps a condition, and perhaps a text to
//! print instead of stopping. Each step is offered to each enabled breakpoint; the cheap terms are asked first, and
//! nothing is looked up in the cluster, so a breakpoint costs the same however large the cluster is.

use std::fmt;

use super::choice::Choice;
use super::expression::{Expression, eval, parse::parse_parts};
use super::facts::{Facts, Subject, View};

pub mod filter;
mod meant;
pub mod parse;
pub mod template;

pub use filter::{Filter, Term};
pub use parse::Context;
use template::Template;

/// One breakpoint.
#[derive(Clone, Debug)]
pub struct Breakpoint {
    /// Its number, from 1; numbers are never given twice.
    pub number: u32,
    /// As it was typed, without the command.
    pub text: String,
    /// What must hold.
    pub filter: Filter,
    /// And this, of one of the objects that fit the filter.
    pub condition: Option<Expression>,
    /// Stops when the condition comes true, and not as long as it stays so.
    pub comes_true: bool,
    /// Stops when this changes.
    pub watched: Option<Watched>,
    /// Prints this and goes on.
    pub log: Option<Template>,
    /// Does this and goes on.
    pub act: Option<String>,
    /// What is looked at when it stops, as it is typed.
    pub looks: Vec<String>,
    /// Goes away when it has stopped once.
    pub once: bool,
    /// Whether it is asked at all.
    pub enabled: bool,
    /// How often it fitted.
    pub hits: u64,
    /// So many hits are passed over first.
    pub ignore: u64,
}

/// A field under watch.
#[derive(Clone, Debug)]
pub struct Watched {
    /// As it was typed: `status.phase`.
    pub path: String,
    parts: Vec<super::expression::Part>,
}

/// What a breakpoint has to say about a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The breakpoint's number.
    pub number: u32,
    /// `breakpoint 1: pod/web (hit 2)`, and of a watch the values.
    pub text: String,
}

/// All breakpoints of a session.
#[derive(Clone, Debug, Default)]
pub struct Breakpoints {
    list: Vec<Breakpoint>,
    last: u32,
}

impl Breakpoints {
    /// All, in the order of their numbers.
    pub fn list(&self) -> &[Breakpoint] {
        &self.list
    }

    /// Adds a breakpoint from its text: `pod/web-* request if new.status.phase == "Running" print {new.metadata.name}`.
    pub fn add(&mut self, text: &str, once: bool, context: &Context) -> Result<&Breakpoint, String> {
        let parse::Parsed { filter, condition, log, comes_true } = parse::parse(text, context)?;
        Ok(self.push(Breakpoint { filter, condition, log, comes_true, once, ..Breakpoint::empty(text) }))
    }

    /// Adds a watch from its text: `pod/web.status.phase`.
    pub fn watch(&mut self, text: &str, context: &Context) -> Result<&Breakpoint, String> {
        let (object, path) = parse::split_watch(text)?;
        let parts = parse_parts(&path).map_err(|error| error.to_string())?;
        let parse::Parsed { filter, .. } = parse::parse(&format!("{object} request"), context)?;
        let watched = Some(Watched { path, parts });
        Ok(self.push(Breakpoint { filter, watched, ..Breakpoint::empty(text) }))
    }

    fn push(&mut self, breakpoint: Breakpoint) -> &Breakpoint {
        self.last += 1;
        self.list.push(Breakpoint { number: self.last, ..breakpoint });
        &self.list[self.list.len() - 1]
    }

    /// The breakpoint with this number.
    pub fn get(&mut self, number: u32) -> Result<&mut Breakpoint, String> {
        let known = match self.list.as_slice() {
            [] => "there are none; break makes one".to_owned(),
            list => format!("there are {}", list.iter().map(|b| b.number.to_string()).collect::<Vec<_>>().join(", ")),
        };
        self.list.iter_mut().find(|b| b.number == number).ok_or(format!("there is no breakpoint {number}; {known}"))
    }

    /// Another condition for the breakpoint with this number; none, if it is empty.
    pub fn set_condition(&mut self, number: u32, text: &str, context: &Context) -> Result<&Breakpoint, String> {
        let breakpoint = self.get(number)?;
        if breakpoint.watched.is_some() {
            return Err("a watch has no condition: it stops when its field changes".to_owned());
        }
        let (head, act) = match &breakpoint.act {
            Some(act) => (parse::split_at_word(&breakpoint.text, "do").0, Some(act.as_str())),
            None => (breakpoint.text.as_str(), None),
        };
        let (head, log) = parse::split_at_word(head, "print");
        let mut whole = parse::split_at_word(head, "if").0.trim().to_owned();
        for (word, part) in [("if", Some(text.trim()).filter(|text| !text.is_empty())), ("print", log)] {
            whole += &part.map_or(String::new(), |part| format!(" {word} {part}"));
        }
        let parse::Parsed { filter, condition, log, comes_true } = parse::parse(&whole, context)?;
        let text = whole.trim().to_owned() + &act.map_or(String::new(), |act| format!(" do {act}"));
        *breakpoint = Breakpoint { text, filter, condition, log, comes_true, ..breakpoint.clone() };
        Ok(breakpoint)
    }

    /// Takes a breakpoint away.
    pub fn delete(&mut self, number: u32) -> Result<(), String> {
        self.get(number)?;
        self.list.retain(|breakpoint| breakpoint.number != number);
        Ok(())
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Offers a step to all.
    pub fn check(&mut self, facts: &Facts, seconds: f64) -> Found {
        let (mut found, mut used) = (Found::default(), Vec::new());
        for breakpoint in self.list.iter_mut().filter(|b| b.enabled) {
            match breakpoint.check(facts, seconds) {
                Outcome::Passed => continue,
                Outcome::Printed(text) => found.printed.push(text),
                Outcome::Acts(text) => found.acts.push(text),
                Outcome::Stopped(hit) => found.hits.push(hit),
            }
            if breakpoint.once {
                used.push(breakpoint.number);
            }
        }
        self.list.retain(|breakpoint| !used.contains(&breakpoint.number));
        found
    }

    /// Adds what is to be done once, from its text: `create pods do crash kube-controller-manager`.
    pub fn when(&mut self, text: &str, context: &Context) -> Result<&Breakpoint, String> {
        let (condition, act) = parse::split_at_word(text, "do");
        let act = act
            .filter(|act| !act.is_empty())
            .ok_or("write: when TERM… [if EXPR] do CHOICE, as in: when create pods do crash kube-scheduler")?
            .to_owned();
        if let Choice::Deliver(_) = Choice::parse(&act, "default")? {
            return Err("an event's number is not known before, so choose cannot stand after do".to_owned());
        }
        let parse::Parsed { filter, condition, .. } = parse::parse(condition, context)?;
        Ok(self.push(Breakpoint { filter, condition, act: Some(act), once: true, ..Breakpoint::empty(text) }))
    }

    /// All as they are typed, to be added again with [`Breakpoints::add_command`].
    pub fn commands(&self) -> Vec<String> {
        let lines = self.list.iter().flat_map(|breakpoint| {
            let looks = (!breakpoint.looks.is_empty()).then(|| format!("commands {}", breakpoint.looks.join("; ")));
            [Some(format!("{} {}", breakpoint.command(), breakpoint.text)), looks]
        });
        lines.flatten().collect()
    }

    /// Adds one as it is typed: `break 409`.
    pub fn add_command(&mut self, line: &str, context: &Context) -> Result<&Breakpoint, String> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("break", text) => self.add(text, false, context),
            ("tbreak", text) => self.add(text, true, context),
            ("watch", text) => self.watch(text, context),
            ("when", text) => self.when(text, context),
            ("commands", text) => {
                let last = self.list.last_mut().ok_or("commands come after their breakpoint")?;
                last.looks = looks(text);
                Ok(last)
            }
            (other, _) => Err(format!("{other:?} makes no breakpoint")),
        }
    }
}

impl Breakpoints {
    /// Whether any breakpoint would stop at a step of the past. Counts and ignored hits are not touched.
    pub fn would_stop(&self, facts: &Facts, seconds: f64) -> bool {
        self.list.iter().any(|b| b.enabled && b.log.is_none() && b.act.is_none() && b.fits(facts, seconds).is_some())
    }
}

/// The lines of `get pods; where`.
pub fn looks(text: &str) -> Vec<String> {
    text.split([';', '\n']).map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// What breakpoints have to say about a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Who stops.
    pub hits: Vec<Hit>,
    /// What logpoints print.
    pub printed: Vec<String>,
    /// What is to be done now.
    pub acts: Vec<String>,
}

enum Outcome {
    Passed,
    Printed(String),
    Acts(String),
    Stopped(Hit),
}

impl Breakpoint {
    fn empty(text: &str) -> Breakpoint {
        Breakpoint {
            number: 0,
            text: text.trim().to_owned(),
            filter: Filter::default(),
            condition: None,
            comes_true: false,
            watched: None,
            log: None,
            act: None,
            looks: Vec::new(),
            once: false,
            enabled: true,
            hits: 0,
            ignore: 0,
        }
    }

    fn check(&mut self, facts: &Facts, seconds: f64) -> Outcome {
        let Some((subject, why)) = self.fits(facts, seconds) else { return Outcome::Passed };
        self.hits += 1;
        if self.ignore > 0 {
            self.ignore -= 1;
            return Outcome::Passed;
        }
        if let Some(act) = &self.act {
            return Outcome::Acts(act.clone());
        }
        match &self.log {
            Some(template) => Outcome::Printed(template.fill(&View::new(facts, subject, seconds))),
            None => {
                let text = format!("{} {}: {} (hit {}){why}", self.what(), self.number, self.text, self.hits);
                Outcome::Stopped(Hit { number: self.number, text })
            }
        }
    }

    /// As it is typed: `break create pods`, with its number before it.
    pub fn text_of_command(&self) -> String {
        format!("{}: {} {}", self.number, self.command(), self.text)
    }

    /// The command that makes it.
    fn command(&self) -> &'static str {
        match (&self.watched, &self.act, self.once) {
            (Some(_), ..) => "watch",
            (_, Some(_), _) => "when",
            (.., true) => "tbreak",
            _ => "break",
        }
    }

    fn what(&self) -> &'static str {
        if self.watched.is_some() { "watch" } else { "breakpoint" }
    }

    /// The object that fits, if one does, and more to say about it. A condition that cannot be decided fits, and says
    /// why it cannot.
    fn fits<'a>(&self, facts: &Facts<'a>, seconds: f64) -> Option<(Option<Subject<'a>>, String)> {
        if !self.filter.fits_event(facts) {
            return None;
        }
        if !self.filter.asks_object() && facts.subjects.is_empty() {
            return self.decide(facts, None, seconds).map(|why| (None, why));
        }
        let fitting = facts.subjects.iter().filter(|subject| self.filter.fits_object(subject));
        fitting.copied().find_map(|s| self.decide(facts, Some(s), seconds).map(|why| (Some(s), why)))
    }

    fn decide(&self, facts: &Facts, subject: Option<Subject>, seconds: f64) -> Option<String> {
        if let Some(watched) = &self.watched {
            return watched.change(subject?);
        }
        let Some(condition) = &self.condition else { return Some(String::new()) };
        match condition.holds(&View::new(facts, subject, seconds)) {
            Ok(true) if self.comes_true && held_before(condition, facts, subject, seconds) => None,
            Ok(true) => Some(String::new()),
            Ok(false) => None,
            Err(error) => Some(format!("\nits condition cannot be decided: {error}")),
        }
    }
}

/// Whether a condition held of an object before it was written.
fn held_before(condition: &Expression, facts: &Facts, subject: Option<Subject>, seconds: f64) -> bool {
    let before = subject.filter(|subject| subject.old.is_some());
    let before = before.map(|subject| Subject { new: subject.old, old: None, ..subject });
    before.is_some_and(|before| condition.holds(&View::new(facts, Some(before), seconds)) == Ok(true))
}

impl Watched {
    fn change(&self, subject: Subject) -> Option<String> {
        let value = |object: Option<&object::Object>| {
            let values = object.map_or(Vec::new(), |object| eval::follow(&object.to_json(), &self.parts));
            let texts: Vec<String> = values.iter().filter(|v| !v.is_null()).map(|v| v.to_string()).collect();
            if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") }
        };
        let (old, new) = (value(subject.old), value(subject.new));
        (old != new).then(|| format!("\n{} of {} {}: {old} → {new}", self.path, subject.kind, subject.name))
    }
}

impl fmt::Display for Breakpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match (self.command(), &self.log) {
            (_, Some(_)) => "print",
            ("tbreak", _) => "once",
            (command, _) => command,
        };
        write!(f, "{:<3} {kind:<6} {}", self.number, self.text)?;
        let times = |n: u64| if n == 1 { "once".to_owned() } else { format!("{n} times") };
        if self.hits > 0 {
            write!(f, "  (hit {})", times(self.hits))?;
        }
        if self.ignore > 0 {
            write!(f, "  (passes over {} more)", self.ignore)?;
        }
        if !self.enabled {
            write!(f, "  (disabled)")?;
        }
        if !self.looks.is_empty() {
            write!(f, "  (then {})", self.looks.join("; "))?;
        }
        Ok(())
    }
}
