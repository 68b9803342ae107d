//! Exercise 19: a controller that has to clean up behind an object, and the finalizer that gives it the time. Owner
//! references do not reach into another namespace, so here no other controller would do it.

use super::reconcile::guest::Duty;
use super::reconcile::{Plan, scenario};
use super::{Exercise, Judging};
use object::Kind;
use rule::{MISTAKES, RULE, host};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "19_finalizer",
    title: "Who cleans up when an object goes?",
    outcome: "use a finalizer so that nothing is left behind or kept for ever, even if a process crashes between two calls",
    needs: &["update", "replicaset"],
    hints: [
        "Imagine that your process crashes between any two calls, and that the object is deleted while it is down. After which \
         calls would something stay behind that no controller knows of any more?",
        "The finalizer goes on before there is anything to clean up, and comes off after it has been cleaned up. A copy that \
         is gone already has been cleaned up. The list of finalizers is not yours alone: what do others write into it while \
         you think?",
        "If it is being deleted: only if your finalizer is there, delete the copy (NotFound is fine) and then take yours, and \
         no other, off the list. Else: put it on the list if it is missing, and only then write the copy. Send the list \
         together with the resourceVersion that you have read, as in {\"metadata\": {\"finalizers\": …, \
         \"resourceVersion\": …}}: who has an old one gets a 409, returns the error and is called again.",
    ],
    minutes: 35,
    judging: Judging::Controller(&PLAN),
};

static PLAN: Plan = Plan {
    duty: Duty {
        name: "publisher",
        kind: Kind::ConfigMap,
        others: &[],
        concerns: |_, _| Vec::new(),
        workers: 1,
        observes: false,
    },
    trials: &[
        scenario!("finalizer", "published"),
        scenario!("finalizer", "not-published"),
        scenario!("finalizer", "elsewhere"),
        scenario!("finalizer", "changed"),
        scenario!("finalizer", "there-and-back"),
        scenario!("finalizer", "deleted"),
        scenario!("finalizer", "deleted-at-once"),
        scenario!("finalizer", "deleted-while-down"),
        scenario!("finalizer", "never-there"),
        scenario!("finalizer", "kept-by-others"),
        scenario!("finalizer", "again"),
        scenario!("finalizer", "copies-stay"),
        scenario!("finalizer", "others-finalizer"),
        scenario!("finalizer", "others-write-too"),
        scenario!("finalizer", "others-write-first"),
        scenario!("finalizer", "copy-meanwhile"),
        scenario!("finalizer", "others-let-go"),
        scenario!("finalizer", "let-go"),
        scenario!("finalizer", "public-comes-later"),
        scenario!("finalizer", "first-call-fails"),
        scenario!("finalizer", "one-call-fails"),
        scenario!("finalizer", "broken-calls"),
        scenario!("finalizer", "copy-anew"),
        scenario!("finalizer", "any-number"),
    ],
    reference: |read| host(read, RULE),
    mistakes: MISTAKES,
};

mod rule;
#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::reconcile::check("finalizer", &super::PLAN);
    }
}
