//! Exercise 22: an operator of one's own, for a kind of one's own. A ConfigMap with a label stands for an object of the kind.
//!
//! Left out: a CustomResourceDefinition. Its status would be a subresource; here it is an annotation.

use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario};
use super::{Exercise, Judging};
use object::Kind;
use rule::{MISTAKES, RULE, host};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "22_operator",
    title: "What does an operator do?",
    outcome: "write a controller for a kind of your own that no order and no crash can break",
    needs: &["deployment", "finalizer"],
    hints: [
        "Write down what there must be in the end for one site, and who may have changed it. Which of it is in your cache, and \
         how will you hear of a change?",
        "Four cases: no site or a site that goes (nothing); no Deployment (create it); not the site's (nothing); else compare \
         both fields and patch what differs, then compare the status. Everything you write comes back to you as a change.",
        "Find the Deployment by the site's name and namespace in the cache. Not there: create it and be done; if it is \
         there after all, return that error. Its controller's uid is not the site's: be done. Then patch spec.replicas and the \
         image if one differs, and the annotation if it is not status.replicas as text.",
    ],
    minutes: 60,
    judging: Judging::Controller(&PLAN),
};

static PLAN: Plan = Plan {
    duty: Duty {
        name: "site-operator",
        kind: Kind::ConfigMap,
        others: &[Kind::Deployment],
        concerns: owner,
        workers: 1,
        observes: false,
    },
    trials: &[
        scenario!("operator", "new"),
        scenario!("operator", "changes"),
        scenario!("operator", "site-behind"),
        scenario!("operator", "elsewhere"),
        scenario!("operator", "by-hand"),
        scenario!("operator", "deleted-by-hand"),
        scenario!("operator", "no-site"),
        scenario!("operator", "anothers"),
        scenario!("operator", "others-site"),
        scenario!("operator", "not-seen-yet"),
        scenario!("operator", "others-write"),
        scenario!("operator", "again"),
        scenario!("operator", "no-number"),
        scenario!("operator", "negative"),
        scenario!("operator", "none"),
        scenario!("operator", "going"),
        scenario!("operator", "gone"),
        scenario!("operator", "one-call-fails"),
        scenario!("operator", "broken-calls"),
        scenario!("operator", "any-number"),
    ],
    reference: |read| host(read, RULE),
    mistakes: MISTAKES,
};

mod rule;
#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::reconcile::check("operator", &super::PLAN);
    }
}
