//! Exercise 08: which ReplicaSet is a Deployment's, and who makes it. Mirrors `getNewReplicaSet` of the real one, and
//! `Recreate` without its patience: that a rollout goes step by step is the next exercise.
//!
//! Left out: hash collisions, revisions, conditions.

use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario};
use super::{Exercise, Judging};
use object::Kind;
use rule::{MISTAKES, RULE, host};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "08_deployment",
    title: "How does a Deployment find its ReplicaSet?",
    outcome: "say why names that follow from the desired state make a controller safe on a cache that is behind",
    needs: &["replicaset", "expectations"],
    hints: [
        "A Deployment has one ReplicaSet for each template that it ever had. How do you see which one belongs to the \
         template of today, and what is the one thing that may differ in their templates?",
        "Among the ReplicaSets that the Deployment controls, look for the oldest whose template is the Deployment's when the \
         label pod-template-hash is left out of both. If there is none, create it. It gets its name from the hash of the \
         template: a reconcile that is called twice makes the same one twice, and the API server refuses the second.",
        "Create it with name NAME-HASH, the hash as the label pod-template-hash in spec.selector.matchLabels and in the \
         template's labels, which are its own labels too, an owner reference with controller: true, and the number of \
         replicas. is_already_exists() is no failure: your cache is behind. Then give every ReplicaSet of yours whose number \
         is another the right one with a patch of spec.replicas: the Deployment's number, or 0.",
    ],
    minutes: 35,
    judging: Judging::Controller(&PLAN),
};

static PLAN: Plan = Plan {
    duty: Duty {
        name: "deployment-controller",
        kind: Kind::Deployment,
        others: &[Kind::ReplicaSet],
        concerns: owner,
        workers: 5,
        observes: false,
    },
    trials: &[
        scenario!("deployment", "new"),
        scenario!("deployment", "another-template"),
        scenario!("deployment", "back-again"),
        scenario!("deployment", "more"),
        scenario!("deployment", "cache-behind"),
        scenario!("deployment", "two-deployments"),
        scenario!("deployment", "elsewhere"),
        scenario!("deployment", "others-sets"),
        scenario!("deployment", "taken"),
        scenario!("deployment", "found"),
        scenario!("deployment", "by-hand"),
        scenario!("deployment", "again"),
        scenario!("deployment", "templates"),
        scenario!("deployment", "other-places"),
        scenario!("deployment", "no-pods"),
        scenario!("deployment", "deleted"),
        scenario!("deployment", "one-call-fails"),
        scenario!("deployment", "broken-calls"),
        scenario!("deployment", "others-write"),
        scenario!("deployment", "many"),
        scenario!("deployment", "restarted"),
        scenario!("deployment", "any-number"),
    ],
    reference: |read| host(read, RULE),
    mistakes: MISTAKES,
};

mod rule;
#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::reconcile::check("deployment", &super::PLAN);
    }
}
