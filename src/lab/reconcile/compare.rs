//! Where a learner's controller does something else than the right one, and which known mistake would do the same.
//!
//! Beside the learner's code run the right solution and each mistake, in this process, and hear all that it hears. As long
//! as they say the same they are kept; where one says something else, it has parted in that reconcile.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::Plan;
use super::partner::Partner;
use super::words;
use crate::exercise::host::{Host, Read};
use crate::exercise::wire::{Ask, Request, Say};
use crate::object::Object;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Where the right solution parted first.
    pub parting: Option<Parting>,
    /// Which mistakes, by their number, said the same as the learner's code there.
    pub agree: BTreeSet<usize>,
    /// How often the right solution parted, and then each mistake.
    pub parted: Vec<usize>,
}

impl Findings {
    /// Of the mistakes that do the same where the right solution parts, the one that parted least, if it did so less often
    /// than the right solution. The first of several: simple ones come first in the table.
    pub fn mistake(&self, plan: &Plan) -> Option<&'static str> {
        let (right, mistakes) = self.parted.split_first()?;
        let all = (0..).zip(mistakes.iter().zip(plan.mistakes)).filter(|(n, _)| self.agree.contains(n));
        let (_, (parted, (says, _))) = all.min_by_key(|(_, (parted, _))| **parted)?;
        (parted < right).then_some(*says)
    }
}

/// What was said where the right solution would have said something else.
#[derive(Clone, Debug)]
pub struct Parting {
    /// The learner's line that calls the API so: `src/lib.rs:42`; or after which it did so, the last one that called.
    pub at: Option<String>,
    /// What it did.
    pub did: String,
    /// What would have been right.
    pub right: String,
}

/// A partner, and all who are compared with it.
pub struct Compared {
    learner: Box<dyn Partner>,
    others: Vec<Other>,
    make: Vec<fn(Read) -> Host>,
    last: Option<(String, u32)>,
    /// What the learner's code has said last that it remembers.
    memory: Value,
    findings: Arc<Mutex<Findings>>,
}

/// Someone who hears the same.
struct Other {
    host: Host,
    memory: Value,
    /// In which reconciles it said something else.
    parted: BTreeSet<u64>,
}

impl Compared {
    /// Compares a learner's code with what a plan knows.
    pub fn new(learner: Box<dyn Partner>, plan: &Plan, findings: Arc<Mutex<Findings>>) -> Compared {
        let make = [plan.reference].into_iter().chain(plan.mistakes.iter().map(|(_, make)| *make)).collect();
        Compared { learner, others: Vec::new(), make, last: None, memory: Value::Null, findings }
    }

    /// Where the learner's code remembers nothing any more, the world has gone back to its beginning: nobody does then.
    fn begin_anew(&mut self, ask: &Ask<Object>) {
        if let Ask::Reconcile { memory: Value::Null, .. } | Ask::Observe { memory: Value::Null, .. } = ask
            && !self.memory.is_null()
        {
            self.others.iter_mut().for_each(|other| other.memory = Value::Null);
        }
    }

    fn compare(&mut self, ask: &Ask<Object>, said: &Say) {
        let task = match ask {
            Ask::Reconcile { task, .. } | Ask::Reply { task, .. } => *task,
            _ => 0,
        };
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        findings.parted.resize(self.others.len(), 0);
        let mut is_first = false;
        for (n, other) in self.others.iter_mut().enumerate() {
            let Some(would) = other.hear(ask) else { continue };
            if gist(&would) == gist(said) {
                if is_first {
                    findings.agree.insert(n - 1);
                }
                continue;
            }
            other.parted.insert(task);
            findings.parted[n] += 1;
            if n == 0 && findings.parting.is_none() {
                is_first = true;
                let line = |(file, line): &(String, u32)| format!("{file}:{line}");
                let at = match said {
                    Say::Call { at, .. } => Some(line(at)),
                    _ => self.last.as_ref().map(|at| format!("after {}", line(at))),
                };
                let (did, right) = words::apart(said, &would);
                findings.parting = Some(Parting { at, did, right });
            }
        }
        if let Say::Call { at, .. } = said {
            self.last = Some(at.clone());
        }
    }
}

impl Other {
    /// What it would say; None once it has parted in this reconcile.
    fn hear(&mut self, ask: &Ask<Object>) -> Option<Say> {
        let mut ask = ask.clone();
        match &mut ask {
            Ask::Reconcile { memory, .. } | Ask::Observe { memory, .. } => memory.clone_from(&self.memory),
            Ask::Reply { task, memory, .. } => {
                if self.parted.contains(task) {
                    return None;
                }
                memory.clone_from(&self.memory);
            }
            Ask::Cached { .. } | Ask::Mark | Ask::Forget { .. } => return None,
        }
        let said = self.host.hear(ask)?;
        if let Say::Call { memory, .. } | Say::Done { memory, .. } = &said {
            self.memory.clone_from(memory);
        }
        Some(said)
    }
}

impl Partner for Compared {
    fn tell(&mut self, ask: Ask<Object>, read: &Read) -> Say {
        if self.others.is_empty() {
            let other = |make: &fn(Read) -> Host| Other {
                host: make(read.clone()),
                memory: Value::Null,
                parted: BTreeSet::new(),
            };
            self.others = self.make.iter().map(other).collect();
        }
        self.begin_anew(&ask);
        let said = self.learner.tell(ask.clone(), read);
        if let Say::Call { memory, .. } | Say::Done { memory, .. } = &said {
            self.memory.clone_from(memory);
        }
        self.compare(&ask, &said);
        said
    }

    fn forget(&mut self, task: u64) {
        self.learner.forget(task);
    }
}

/// What counts of what was said: not the words of an error, not what is remembered, not the line.
fn gist(said: &Say) -> Value {
    match said {
        Say::Call { request, .. } => {
            let Request { verb, kind, subresource, namespace, name, body: _, labels, patch: _ } = &**request;
            serde_json::json!([verb, kind, subresource, namespace, name, words::plain(request), labels])
        }
        Say::Done { result, .. } => serde_json::json!(result.as_ref().ok().map(Option::is_some)),
        Say::Broken(_) => "broken".into(),
        Say::Read { .. } => Value::Null,
    }
}
