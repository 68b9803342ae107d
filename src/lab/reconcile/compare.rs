//! Where a learner's controller does something else than the right one, and which known mistake would do the same.
//!
//! Beside the learner's code run the right solution and each mistake, in this process, and hear all that it hears. As long
//! as they say the same they are kept; where one says something else, it has parted in that reconcile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::Plan;
use super::alike::read_before;
use super::other::Other;
use super::partner::Partner;
use super::words;
use exercise::host::Read;
use exercise::wire::{Answer, Ask, Request, Say};
use object::Object;

/// So many objects that were told of are known at most: of several reconciles at once.
const KNOWN: usize = 300;

/// What was found in a run, or in several.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Where the right solution parted, in each reconcile in which it did.
    partings: Vec<Parting>,
    /// Which of them counts.
    chosen: usize,
    /// The last call of each name.
    calls: BTreeMap<String, Called>,
    /// The learner's line of the call that breaks something, where a call does.
    breaks: Option<String>,
    /// How often each mistake parted, by its number in the plan.
    mistakes: BTreeMap<usize, usize>,
    /// The mistakes by which the learner's code would have done something else where it did not do what is right.
    misfits: BTreeSet<usize>,
}

/// A call of the learner's code.
#[derive(Clone, Debug)]
struct Called {
    /// Its line.
    at: String,
    /// Where the right solution had parted in that reconcile, if it had.
    parting: Option<usize>,
}

impl Findings {
    /// How often the right solution has parted.
    pub fn count(&self) -> usize {
        self.partings.len()
    }

    /// The parting that counts.
    pub fn parting(&self) -> Option<&Parting> {
        self.partings.get(self.chosen)
    }

    /// The same, with its place among all.
    pub fn chosen(&self) -> Option<(usize, &Parting)> {
        self.parting().map(|parting| (self.chosen, parting))
    }

    /// A call of the learner's code breaks something. Code that goes another right way parts sooner, and so the
    /// parting that counts is that of the reconcile that calls; or that cannot go on (`panics`). Gives which one this is.
    pub fn choose(&mut self, breaks: Option<&wire::Request>, panics: bool) -> usize {
        let called = breaks.and_then(|request| self.calls.get(&name_of(request)));
        self.breaks = called.map(|called| called.at.clone());
        let waits = || self.partings.iter().position(|parting| parting.waits);
        let first = || self.partings.iter().position(Parting::counts).or_else(waits).unwrap_or(0);
        let broken = self.partings.iter().rposition(|parting| parting.broken).filter(|_| panics);
        self.chosen = broken.or(called.and_then(|called| called.parting)).unwrap_or_else(first);
        self.chosen
    }

    /// Which partings may be what breaks something where no call does, each the first of its reconcile, and the numbers of those,
    /// in their order.
    pub fn candidates(&self) -> Vec<(usize, u64)> {
        let mut tasks = BTreeSet::new();
        let counts = self.partings.iter().enumerate().filter(|(_, parting)| parting.counts() && parting.task > 0);
        let all = counts.map(|(n, parting)| (n, parting.task)).filter(|(_, task)| tasks.insert(*task)).collect();
        let mut all: Vec<(usize, u64)> = if self.breaks.is_some() { Vec::new() } else { all };
        all.sort_by_key(|(_, task)| *task);
        all
    }

    /// This parting counts.
    pub fn counts(&mut self, parting: usize) {
        self.chosen = parting;
    }

    /// The line of the call that breaks something, if it is not where the right solution parted.
    pub fn line(&self) -> Option<&String> {
        let parted = self.parting().and_then(|parting| parting.at.as_ref());
        self.breaks.as_ref().filter(|line| Some(*line) != parted)
    }

    /// Of the mistakes that do the same where the right solution parts, the one that parted least, if it did so less often
    /// than the right solution, and did the same wherever that parted. The first of several: simple ones come first in the
    /// table.
    pub fn mistake(&self, plan: &Plan) -> Option<&'static str> {
        let parted = |n: &usize| self.mistakes.get(n).copied().unwrap_or(0);
        let nearest = self.agree()?.iter().filter(|n| !self.misfits.contains(n)).min_by_key(|n| parted(n))?;
        // That the code looks again, as no mistake does, says nothing either.
        let count = self.partings.iter().filter(|parting| !parting.waits || !parting.agree.is_empty()).count();
        (parted(nearest) < count).then(|| plan.mistakes[*nearest].says)
    }

    /// The mistakes that do the same at the parting that counts; or else at the first. That the code reads something besides,
    /// as a mistake does, says nothing.
    fn agree(&self) -> Option<&BTreeSet<usize>> {
        let of_chosen = self.parting().map(|parting| &parting.agree);
        of_chosen
            .filter(|agree| !agree.is_empty())
            .or_else(|| self.partings.iter().find(|parting| parting.counts()).map(|parting| &parting.agree))
    }

    /// Which mistakes it may be.
    pub fn suspects(&self, plan: &Plan) -> BTreeSet<usize> {
        self.agree().cloned().unwrap_or_else(|| (0..plan.mistakes.len()).collect())
    }

    /// Adds what was found in a run after these.
    pub fn add(&mut self, later: Findings) {
        for (n, parted) in later.mistakes {
            *self.mistakes.entry(n).or_default() += parted;
        }
        self.misfits.extend(later.misfits);
        self.partings.extend(later.partings);
    }
}

/// What was said where the right solution would have said something else.
#[derive(Clone, Debug)]
pub struct Parting {
    /// In which reconcile.
    task: u64,
    /// The learner's line that calls the API so: `src/lib.rs:42`; or after which it did so, the last one that called.
    pub at: Option<String>,
    /// What it did.
    pub did: String,
    /// What would have been right.
    pub right: String,
    /// Whether the learner's code has read something, where the right solution need not.
    reads: bool,
    /// Whether it looks again after a while, where the right solution waits for a change. That alone does no harm.
    waits: bool,
    /// Whether it could not go on.
    pub broken: bool,
    /// Which mistakes said the same as the learner's code.
    agree: BTreeSet<usize>,
}

impl Parting {
    /// Whether it may be what breaks something.
    fn counts(&self) -> bool {
        !self.reads && !self.waits
    }
}

/// A partner, and all who are compared with it.
pub struct Compared {
    learner: Box<dyn Partner>,
    /// The right solution, and the mistakes with their numbers. Made with the first thing that there is to hear.
    others: Option<(Other, Vec<(usize, Other)>)>,
    plan: &'static Plan,
    suspects: BTreeSet<usize>,
    last: Option<(String, u32)>,
    /// The last objects that the learner's code was told of.
    told: Vec<Object>,
    /// What the learner's code has said last that it remembers.
    memory: Value,
    findings: Arc<Mutex<Findings>>,
}

/// What the learner's code has said.
pub(super) struct Said<'a> {
    pub say: &'a Say,
    pub gist: Value,
    /// Versions that it may have read.
    pub known: &'a [Object],
}

impl Compared {
    /// Compares a learner's code with the right solution and with these mistakes of a plan.
    pub fn new(
        learner: Box<dyn Partner>,
        plan: &'static Plan,
        suspects: BTreeSet<usize>,
        findings: Arc<Mutex<Findings>>,
    ) -> Compared {
        Compared { learner, others: None, plan, suspects, last: None, told: Vec::new(), memory: Value::Null, findings }
    }

    /// Whether the learner's code has lost its memory: the world has gone back to its beginning, and the others forget too.
    fn begins_anew(&self, ask: &Ask<Object>) -> bool {
        matches!(ask, Ask::Reconcile { memory: Value::Null, .. } | Ask::Observe { memory: Value::Null, .. })
            && !self.memory.is_null()
    }

    /// The objects that the learner's code may have read before it writes something or is done: those of its caches, what it was
    /// called with, and what the API server answered last.
    fn known(&self, said: &Say, read: &Read) -> Vec<Object> {
        if is_read(said) || matches!(said, Say::Read { .. } | Say::Broken(_)) {
            return Vec::new();
        }
        let duty = &self.plan.duty;
        let cached = duty.others.iter().chain([&duty.kind]).flat_map(|kind| read(*kind));
        cached.chain(self.told.iter().cloned()).collect()
    }

    /// Notes what the learner's code is told of.
    fn note(&mut self, ask: &Ask<Object>) {
        let told = match ask {
            Ask::Reconcile { object, .. } => std::slice::from_ref(object),
            Ask::Reply { answer: Ok(Answer::One(object)), .. } => std::slice::from_ref(object),
            Ask::Reply { answer: Ok(Answer::Many(objects)), .. } => objects,
            _ => &[],
        };
        self.told.extend(told.iter().cloned());
        let too_many = self.told.len().saturating_sub(KNOWN);
        self.told.drain(..too_many);
    }

    fn compare(&mut self, ask: &Ask<Object>, said: &Say, read: &Read) {
        self.note(ask);
        let known = self.known(said, read);
        let begins_anew = self.begins_anew(ask);
        let (right, mistakes) = self.others.get_or_insert_with(|| {
            let mistake = |n: &usize| (*n, Other::new(self.plan.mistakes[*n].does, read));
            (Other::new(self.plan.reference, read), self.suspects.iter().map(mistake).collect())
        });
        if begins_anew {
            right.memory = Value::Null;
            mistakes.iter_mut().for_each(|(_, mistake)| mistake.memory = Value::Null);
        }
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        let heard = Said { say: said, gist: gist(said), known: &known };
        let would = right.parts(ask, &heard);
        // Those that say the same, and those that do, but for when to look again.
        let (mut agree, mut nearly) = (BTreeSet::new(), BTreeSet::new());
        for (n, mistake) in mistakes {
            let is_told = mistake.hears(ask);
            match mistake.parts(ask, &heard) {
                Some(would) if only_waits(said, &would) => drop(nearly.insert(*n)),
                Some(other) => {
                    *findings.mistakes.entry(*n).or_default() += 1;
                    let is_wrong =
                        |right: &Say| gist(right) != gist(&other) && !is_read(said) && !only_waits(said, right);
                    if would.as_ref().is_some_and(is_wrong) {
                        findings.misfits.insert(*n);
                    }
                }
                None if is_told => drop(agree.insert(*n)),
                None => {}
            }
        }
        let task = task_of(ask);
        if let Some(would) = would {
            let line = |(file, line): &(String, u32)| format!("{file}:{line}");
            let at = match said {
                Say::Call { at, .. } => Some(line(at)),
                _ => self.last.as_ref().map(|at| format!("after {}", line(at))),
            };
            let before = match said {
                Say::Call { request, .. } => read_before(request, known.iter()),
                _ => None,
            };
            let (did, right) = words::apart(said, &would, before.as_ref());
            let (reads, waits, broken) = (is_read(said), only_waits(said, &would), matches!(said, Say::Broken(_)));
            if !waits {
                agree.append(&mut nearly);
            }
            findings.partings.push(Parting { task, at, did, right, reads, waits, broken, agree });
        }
        if let Say::Call { request, at: (file, line), .. } = said {
            let Request { verb, kind, subresource, namespace, name, .. } = &**request;
            let name = [verb, kind, subresource, namespace, name].map(String::as_str).join(" ");
            // What is read besides breaks nothing, unless just that is not to be.
            let is_it = |parting: &Parting| parting.task == task && (!parting.reads || is_read(said));
            let parting = findings.partings.iter().rposition(is_it);
            findings.calls.insert(name, Called { at: format!("{file}:{line}"), parting });
        }
        if let Say::Call { at, .. } = said {
            self.last = Some(at.clone());
        }
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

/// Whether it calls the API server, and changes nothing.
pub(super) fn is_read(said: &Say) -> bool {
    matches!(said, Say::Call { request, .. } if matches!(&*request.verb, "get" | "list"))
}

/// Whether it has done all that another has, and looks again after a while nevertheless.
fn only_waits(said: &Say, would: &Say) -> bool {
    matches!((said, would), (Say::Done { result: Ok(Some(_)), .. }, Say::Done { result: Ok(None), .. }))
}

/// Which reconcile is told something; 0: none.
pub(super) fn task_of(ask: &Ask<Object>) -> u64 {
    match ask {
        Ask::Reconcile { task, .. } | Ask::Reply { task, .. } => *task,
        Ask::Observe { .. } | Ask::Cached { .. } | Ask::Mark | Ask::Forget { .. } => 0,
    }
}

/// What a request is called here: as the call is that asks for it.
fn name_of(request: &wire::Request) -> String {
    let subresource = request.subresource.map_or("", |subresource| subresource.as_str());
    let kind = request.kind.info().qualified_plural();
    [request.verb.as_str(), &kind, subresource, &request.namespace, &request.name].join(" ")
}

/// What counts of what was said: not the words of an error, not what is remembered, not the line.
pub(super) fn gist(said: &Say) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exercise, Judging};

    fn parting(task: u64, reads: bool, broken: bool, agree: &[usize]) -> Parting {
        let agree = agree.iter().copied().collect();
        Parting { task, at: None, did: String::new(), right: String::new(), reads, waits: false, broken, agree }
    }

    #[test]
    fn who_looks_again_after_a_while_has_parted_where_something_else_differs() {
        let done = |after: Option<f64>| Say::Done { result: Ok(after), memory: Value::Null };
        assert!(only_waits(&done(Some(60.0)), &done(None)) && !only_waits(&done(None), &done(Some(60.0))));
        let waits = Parting { waits: true, ..parting(1, false, false, &[]) };
        let chosen = |partings: &[Parting]| {
            let mut findings = Findings { partings: partings.to_vec(), ..Findings::default() };
            findings.choose(None, false)
        };
        assert_eq!(chosen(&[waits.clone(), parting(2, false, false, &[])]), 1);
        assert_eq!(chosen(&[parting(1, true, false, &[]), waits]), 1, "that is all, so it may be that");
    }

    #[test]
    fn who_reads_as_much_as_a_mistake_does_need_not_make_it() {
        let Ok(Judging::Controller(plan)) = Exercise::find("replicaset").map(|exercise| &exercise.judging) else {
            unreachable!("it is a controller")
        };
        let mistake = |partings: &[Parting]| {
            let mut findings = Findings { partings: partings.to_vec(), ..Findings::default() };
            findings.choose(None, false);
            findings.mistake(plan)
        };
        let (reads, does) = (parting(1, true, false, &[3]), parting(1, false, false, &[]));
        assert_eq!(mistake(&[reads.clone(), does]), None);
        assert_eq!(mistake(&[reads, parting(1, false, false, &[4])]), Some(plan.mistakes[4].says));
    }

    #[test]
    fn of_a_panic_the_reconcile_counts_that_panics() {
        let partings = vec![parting(1, false, false, &[]), parting(2, false, true, &[])];
        let mut findings = Findings { partings, ..Findings::default() };
        assert_eq!([findings.choose(None, false), findings.choose(None, true)], [0, 1]);
    }
}
