//! What breaks a cluster, or changes it from outside: the same at the prompt, in a scenario's timeline, in a saved session
//! and in the explorer. Each is a line of text, and a step of its own.
//!
//! A fault is a row of [`TABLE`], which reads it, and a value that [`Breaks`] something: it says how it is written, what it
//! does and whom it concerns. Both stand in one place.
//!
//! - [`delivery`]: what is sent gets lost, late or refused. [`processes`]: processes stop and start. [`machines`]: nodes, and
//!   what happens on them. [`pods`]: what is in Pods.
//! - [`text`]: how words are read. [`whose`]: components by a part of their names.

pub mod delivery;
pub mod machines;
pub mod pods;
pub mod processes;
pub mod text;
pub mod whose;

use std::any::Any;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use engine::fault::Breaking;
use engine::{APISERVER, ActorId, EventId, Message, Note, Step, What};
use object::Key;
use object::glob::matches;

use super::Cluster;
use text::Words;

/// What one fault is.
pub trait Breaks: Any + fmt::Debug + Send + Sync {
    /// The word with which it begins.
    fn name(&self) -> &'static str;

    /// The words behind that, as they are read.
    fn words(&self) -> String;

    /// Does it, and says what came of it.
    ///
    /// # Errors
    /// Why it cannot be; then nothing has changed.
    fn perform(&self, cluster: &mut Cluster) -> Result<String, String>;

    /// The process that it happens to.
    fn concerned(&self, cluster: &Cluster) -> Option<ActorId>;

    /// The same with components' full names; none if it names none.
    fn in_full(&self, _cluster: &Cluster) -> Option<Fault> {
        None
    }

    /// The object that it is about.
    fn about(&self) -> Option<About<'_>> {
        None
    }

    /// Whether what came of it is printed for the user, where a scenario has typed it.
    fn prints(&self) -> bool {
        false
    }
}

/// An object that a fault is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About<'a> {
    /// A Pod.
    Pod(&'a Key),
    /// A node.
    Node(&'a str),
}

/// How a fault is read.
struct Row {
    /// Its names, each with how it is written.
    names: &'static [(&'static str, &'static str)],
    /// Reads the words behind one of these names.
    read: fn(&Words<'_>) -> Result<Fault, String>,
}

/// Every fault there is.
const TABLE: &[&Row] = &[
    &delivery::DROP,
    &delivery::HOLD,
    &delivery::RELEASE,
    &delivery::DISCONNECT,
    &delivery::STALE,
    &delivery::FAIL,
    &processes::STOP,
    &pods::KILL,
    &machines::NODE,
    &pods::FILE,
    &pods::ANSWER,
    &delivery::CUT,
    &delivery::COMPACT,
    &pods::SLOW,
    &machines::FULL,
    &machines::FILL,
    &machines::SKEW,
    &processes::LEADER_CHANGE,
    &pods::BUSY,
];

/// The words with which faults begin.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|row| row.names).map(|(name, _)| *name)
}

/// One fault.
#[derive(Clone, Debug)]
pub struct Fault(Arc<dyn Breaks>);

impl Fault {
    /// The fault that this is.
    pub fn of(what: impl Breaks) -> Fault {
        Fault(Arc::new(what))
    }

    /// What it is, if it is of this type.
    pub fn is<T: Breaks>(&self) -> Option<&T> {
        let what: &dyn Any = &*self.0;
        what.downcast_ref()
    }

    /// Whether a line that begins with this word is one.
    pub fn is_named(word: &str) -> bool {
        names().any(|name| name == word)
    }

    /// Reads one. `namespace` is where Pods are looked for.
    ///
    /// # Errors
    /// How it is written.
    pub fn parse(words: &[&str], namespace: &str) -> Result<Fault, String> {
        let (name, rest) = words.split_first().map_or(("", words), |(name, rest)| (*name, rest));
        let of_row = |row: &&&Row| row.names.iter().any(|(known, _)| *known == name);
        let Some(row) = TABLE.iter().find(of_row) else {
            return Err(format!("{name:?} breaks nothing; there are {}", names().collect::<Vec<_>>().join(", ")));
        };
        let usage = row.names.iter().find(|(known, _)| *known == name).map_or("", |(_, usage)| usage);
        (row.read)(&Words { name, rest, namespace, usage })
    }

    /// The object that it is about.
    pub fn about(&self) -> Option<About<'_>> {
        self.0.about()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())?;
        match self.0.words() {
            words if words.is_empty() => Ok(()),
            words => write!(f, " {words}"),
        }
    }
}

/// What is written alike is the same.
impl PartialEq for Fault {
    fn eq(&self, other: &Fault) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Fault {}

impl Message for Fault {
    fn method(&self) -> &'static str {
        self.0.name()
    }

    fn json(&self) -> Value {
        Value::String(self.to_string())
    }

    fn line(&self) -> String {
        self.to_string()
    }
}

impl Cluster {
    /// Does a fault at once, as a step that nothing in the run has caused, and says what came of it. An error says why it
    /// cannot be; then there was no step.
    pub fn fault(&mut self, fault: Fault) -> Result<(String, Step), String> {
        let breaking = self.engine.begin_fault(self.user.actor(), Rc::new(fault.clone()));
        let before = fault.0.concerned(self);
        match fault.0.perform(self) {
            Ok(said) => Ok((said.clone(), self.end_fault(breaking, &fault, before, said))),
            Err(error) => {
                self.engine.cancel_fault(&breaking);
                Err(error)
            }
        }
    }

    /// The same with the fault that is due next, or is chosen; none if that is no fault. What was asked for and cannot be
    /// is told to the person, and is a step all the same.
    pub(super) fn fault_due(&mut self, chosen: Option<EventId>) -> Option<Step> {
        let breaking = self.engine.begin_fault_due(chosen)?;
        let What::Fault { message } = breaking.event.what.clone() else { return None };
        let any: &dyn Any = &*message;
        let fault = any.downcast_ref::<Fault>().expect("nobody else sends faults");
        let before = fault.0.concerned(self);
        let said = match fault.0.perform(self) {
            Ok(said) => {
                if fault.0.prints() {
                    self.kubectl.print(&said);
                }
                said
            }
            Err(error) => {
                self.refused(&error);
                format!("it cannot be: {error}")
            }
        };
        Some(self.end_fault(breaking, fault, before, said))
    }

    fn end_fault(&mut self, breaking: Breaking, fault: &Fault, before: Option<ActorId>, said: String) -> Step {
        self.disturb();
        // Who starts was not there before.
        let at = fault.0.concerned(self).or(before).unwrap_or(breaking.event.from);
        if !said.trim().is_empty() {
            self.engine.hub().note(|| Note::Text { topic: "fault", text: said.trim_end().to_owned() });
        }
        self.engine.end_fault(breaking, at)
    }

    /// A fault as it was typed, with the component's full name where a part of it stands for one alone.
    pub fn in_full(&self, fault: Fault) -> Fault {
        fault.0.in_full(self).unwrap_or(fault)
    }

    /// The process of this name, or the first that the glob fits; of a controller, the process in which it runs.
    fn process_of(&self, glob: &str) -> Option<ActorId> {
        let first = |glob: &str| self.engine.actors().find(|(_, actor)| matches(glob, actor.name())).map(|(id, _)| id);
        let in_manager = || self.component_names().iter().any(|name| matches(glob, name));
        let server = || self.api_server(glob).or_else(|| (glob == "kube-apiserver").then_some(APISERVER));
        server().or_else(|| first(glob)).or_else(|| in_manager().then(|| first("kube-controller-manager*"))?)
    }

    /// The program of this name on a node.
    fn on_machine(&self, program: &str, node: &str) -> Option<ActorId> {
        self.engine.find(&format!("{program}/{node}"))
    }
}
