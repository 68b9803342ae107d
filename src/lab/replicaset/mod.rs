//! Exercise 06: what the ReplicaSet controller does with one ReplicaSet. Mirrors `syncReplicaSet` of the real one, but that
//! it asks the API server for its Pods each time: what to do about a cache that is behind is the next exercise.

use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario};
use super::{Exercise, Judging};
use object::Kind;
use rule::{MISTAKES, RULE, host};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "06_replicaset",
    title: "How does a ReplicaSet keep its Pods?",
    outcome: "write a reconcile: compare desired and current state, and do only what is missing",
    needs: &["ownership"],
    hints: [
        "The key says that something about this ReplicaSet may have changed, not what. Which two numbers decide what is to \
         be done, and which Pods count for the second?",
        "Count the Pods that this ReplicaSet controls and that are neither going nor ended. Create what is missing, delete \
         what is too many (those first that are not ready), and write into the status what you have counted, if it is not \
         there already. Everything you do comes back to you as a change.",
        "If the set is being deleted, do nothing. List the Pods; keep those whose controller owner has the set's uid, \
         without deletionTimestamp, whose phase is not Succeeded or Failed. For each one missing, create a Pod from the \
         template with its labels, generateName `NAME-` and an owner reference with controller: true. Return an error if \
         a call fails: you will be called again.",
    ],
    minutes: 40,
    judging: Judging::Controller(&PLAN),
};

static PLAN: Plan = Plan {
    duty: Duty {
        name: "replicaset-controller",
        kind: Kind::ReplicaSet,
        others: &[Kind::Pod],
        concerns: owner,
        workers: 5,
        observes: false,
    },
    trials: &[
        scenario!("replicaset", "two-pods"),
        scenario!("replicaset", "two-sets"),
        scenario!("replicaset", "names"),
        scenario!("replicaset", "elsewhere"),
        scenario!("replicaset", "others-pods"),
        scenario!("replicaset", "again"),
        scenario!("replicaset", "fewer"),
        scenario!("replicaset", "one-ends"),
        scenario!("replicaset", "one-is-going"),
        scenario!("replicaset", "unready-first"),
        scenario!("replicaset", "deleted"),
        scenario!("replicaset", "other-conditions"),
        scenario!("replicaset", "which"),
        scenario!("replicaset", "many-ready"),
        scenario!("replicaset", "late"),
        scenario!("replicaset", "behind"),
        scenario!("replicaset", "refused"),
        scenario!("replicaset", "no-more"),
        scenario!("replicaset", "one-for-good"),
        scenario!("replicaset", "one-call-fails"),
        scenario!("replicaset", "broken-calls"),
        scenario!("replicaset", "stale"),
        scenario!("replicaset", "any-number"),
    ],
    reference: |read| host(read, RULE),
    mistakes: MISTAKES,
};

mod rule;
#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::reconcile::check("replicaset", &super::PLAN);
    }
}
