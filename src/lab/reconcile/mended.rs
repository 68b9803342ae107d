//! Which of several reconciles broke something: the last one from which on the right solution could still have saved it. The
//! same run is taken again, and from one reconcile on the right solution acts in the place of the learner's code.

use serde_json::Value;

use super::Plan;
use super::compare::{Said, gist, task_of};
use super::other::Other;
use super::partner::{Make, Partner};
use super::trial::{bound, trial};
use debugger::explore::plan as wanted;
use debugger::explore::{Bound, Subject, explore_here};
use debugger::properties::own::Stated;
use exercise::host::Read;
use exercise::wire::{Ask, Say};
use object::Object;

/// The last of these reconciles (`candidates`: its parting, and its number) from which on the right solution breaks nothing in
/// the usual course of a trial. A later one is too late, and so is each after it.
pub(super) fn cause(
    exercise: &str,
    plan: &'static Plan,
    (name, text): (&str, &str),
    make: Make,
    candidates: &[(usize, u64)],
) -> Option<usize> {
    let is_saved_from = |task: u64| {
        let mended: Make = Box::leak(Box::new(move || -> Box<dyn Partner> {
            Box::new(Mended { learner: make(), right: None, plan, task, memory: Value::Null })
        }));
        let scenario = trial(exercise, plan, name, text, mended);
        let Ok(stated) = wanted::properties(&scenario, &[]) else { return false };
        let properties = || stated.iter().map(Stated::begin).collect();
        let bound = Bound { late: 0, faults: 0, ..bound(&scenario) };
        let subject = Subject { cluster: &|| bugs::cluster(&scenario), properties: &properties };
        explore_here(&subject, &bound).violation.is_none()
    };
    let in_time = candidates.partition_point(|(_, task)| is_saved_from(*task));
    candidates.get(in_time.checked_sub(1)?).map(|(parting, _)| *parting)
}

/// A learner's code, up to the reconcile from which on the right solution acts.
struct Mended {
    learner: Box<dyn Partner>,
    right: Option<Other>,
    plan: &'static Plan,
    task: u64,
    /// What the learner's code remembers.
    memory: Value,
}

impl Partner for Mended {
    fn tell(&mut self, ask: Ask<Object>, read: &Read) -> Say {
        let right = self.right.get_or_insert_with(|| Other::new(self.plan.reference, read));
        if task_of(&ask) < self.task {
            let said = self.learner.tell(ask.clone(), read);
            right.parts(&ask, &Said { say: &said, gist: gist(&said), known: &[] });
            if let Say::Call { memory, .. } | Say::Done { memory, .. } = &said {
                self.memory.clone_from(memory);
            }
            return said;
        }
        // What the learner's code remembers stays as it is: this one remembers in its own way.
        let kept = self.memory.clone();
        match right.say(ask) {
            Some(Say::Call { request, at, .. }) => Say::Call { request, at, memory: kept },
            Some(Say::Done { result, .. }) => Say::Done { result, memory: kept },
            Some(said) => said,
            None => Say::Done { result: Ok(None), memory: kept },
        }
    }

    fn forget(&mut self, task: u64) {
        self.learner.forget(task);
    }
}
