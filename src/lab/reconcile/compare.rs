//! Where a learner's controller does something else than the right one, and which known mistake would do the same.
//!
//! Beside the learner's code run the right solution and each mistake, in this process, and hear all that it hears. As long
//! as they say the same they are kept; where one says something else, it has parted in that reconcile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::Plan;
use super::partner::Partner;
use super::words;
use crate::exercise::host::{Host, Read};
use crate::exercise::wire::{Ask, Request, Say};
use crate::object::Object;

/// What was found in a run, or in several.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Where the right solution parted first.
    pub parting: Option<Parting>,
    /// How often it parted.
    right: usize,
    /// How often each mistake parted, by its number in the plan.
    mistakes: BTreeMap<usize, usize>,
    /// Which mistakes said the same as the learner's code where the right solution parted first.
    agree: BTreeSet<usize>,
}

impl Findings {
    /// Of the mistakes that do the same where the right solution parts, the one that parted least, if it did so less often
    /// than the right solution. The first of several: simple ones come first in the table.
    pub fn mistake(&self, plan: &Plan) -> Option<&'static str> {
        let parted = |n: &usize| self.mistakes.get(n).copied().unwrap_or(0);
        let nearest = self.agree.iter().min_by_key(|n| parted(n))?;
        (parted(nearest) < self.right).then(|| plan.mistakes[*nearest].0)
    }

    /// Which mistakes it may be.
    pub fn suspects(&self, plan: &Plan) -> BTreeSet<usize> {
        match self.parting {
            Some(_) => self.agree.clone(),
            None => (0..plan.mistakes.len()).collect(),
        }
    }

    /// Adds what was found in a run after these.
    pub fn add(&mut self, later: Findings) {
        self.right += later.right;
        for (n, parted) in later.mistakes {
            *self.mistakes.entry(n).or_default() += parted;
        }
        if self.parting.is_none() {
            (self.parting, self.agree) = (later.parting, later.agree);
        }
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
    /// The right solution, and the mistakes with their numbers. Made with the first thing that there is to hear.
    others: Option<(Other, Vec<(usize, Other)>)>,
    plan: &'static Plan,
    suspects: BTreeSet<usize>,
    last: Option<(String, u32)>,
    /// What the learner's code has said last that it remembers.
    memory: Value,
    findings: Arc<Mutex<Findings>>,
}

/// Someone who hears the same, in this process.
struct Other {
    host: Host,
    memory: Value,
    /// In which reconciles it said something else.
    parted: BTreeSet<u64>,
}

impl Compared {
    /// Compares a learner's code with the right solution and with these mistakes of a plan.
    pub fn new(
        learner: Box<dyn Partner>,
        plan: &'static Plan,
        suspects: BTreeSet<usize>,
        findings: Arc<Mutex<Findings>>,
    ) -> Compared {
        Compared { learner, others: None, plan, suspects, last: None, memory: Value::Null, findings }
    }

    /// Where the learner's code remembers nothing any more, the world has gone back to its beginning: nobody does then.
    fn begins_anew(&self, ask: &Ask<Object>) -> bool {
        matches!(ask, Ask::Reconcile { memory: Value::Null, .. } | Ask::Observe { memory: Value::Null, .. })
            && !self.memory.is_null()
    }

    fn compare(&mut self, ask: &Ask<Object>, said: &Say, read: &Read) {
        let begins_anew = self.begins_anew(ask);
        let (right, mistakes) = self.others.get_or_insert_with(|| {
            let mistake = |n: &usize| (*n, Other::new(self.plan.mistakes[*n].1, read));
            (Other::new(self.plan.reference, read), self.suspects.iter().map(mistake).collect())
        });
        if begins_anew {
            right.memory = Value::Null;
            mistakes.iter_mut().for_each(|(_, mistake)| mistake.memory = Value::Null);
        }
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        let gist = gist(said);
        let would = right.parts(ask, &gist);
        let is_first = would.is_some() && findings.parting.is_none();
        findings.right += usize::from(would.is_some());
        for (n, mistake) in mistakes {
            let heard = mistake.hears(ask);
            if mistake.parts(ask, &gist).is_some() {
                *findings.mistakes.entry(*n).or_default() += 1;
            } else if is_first && heard {
                findings.agree.insert(*n);
            }
        }
        if let Some(would) = would.filter(|_| is_first) {
            let line = |(file, line): &(String, u32)| format!("{file}:{line}");
            let at = match said {
                Say::Call { at, .. } => Some(line(at)),
                _ => self.last.as_ref().map(|at| format!("after {}", line(at))),
            };
            let (did, right) = words::apart(said, &would);
            findings.parting = Some(Parting { at, did, right });
        }
        if let Say::Call { at, .. } = said {
            self.last = Some(at.clone());
        }
    }
}

impl Other {
    fn new(make: fn(Read) -> Host, read: &Read) -> Other {
        Other { host: make(read.clone()), memory: Value::Null, parted: BTreeSet::new() }
    }

    /// Whether it is told this: it is not once it has parted in this reconcile.
    fn hears(&self, ask: &Ask<Object>) -> bool {
        match ask {
            Ask::Reconcile { .. } | Ask::Observe { .. } => true,
            Ask::Reply { task, .. } => !self.parted.contains(task),
            Ask::Cached { .. } | Ask::Mark | Ask::Forget { .. } => false,
        }
    }

    /// What it would say, if that is something else than was said.
    fn parts(&mut self, ask: &Ask<Object>, gist_of_said: &Value) -> Option<Say> {
        if !self.hears(ask) {
            return None;
        }
        let mut ask = ask.clone();
        let task = match &mut ask {
            Ask::Reconcile { task, memory, .. } | Ask::Reply { task, memory, .. } => {
                memory.clone_from(&self.memory);
                *task
            }
            Ask::Observe { memory, .. } => {
                memory.clone_from(&self.memory);
                0
            }
            Ask::Cached { .. } | Ask::Mark | Ask::Forget { .. } => 0,
        };
        let would = self.host.hear(ask)?;
        if let Say::Call { memory, .. } | Say::Done { memory, .. } = &would {
            self.memory.clone_from(memory);
        }
        if gist(&would) == *gist_of_said {
            return None;
        }
        self.parted.insert(task);
        Some(would)
    }
}

impl Partner for Compared {
    fn tell(&mut self, ask: Ask<Object>, read: &Read) -> Say {
        let said = self.learner.tell(ask.clone(), read);
        self.compare(&ask, &said, read);
        if let Say::Call { memory, .. } | Say::Done { memory, .. } = &said {
            self.memory.clone_from(memory);
        }
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
