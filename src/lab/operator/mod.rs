//! Exercise 21: an operator of one's own, for a kind of one's own. A ConfigMap with a label stands for an object of the kind.
//!
//! Left out: a CustomResourceDefinition. Its status would be a subresource; here it is an annotation.

use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario, slip};
use super::{Exercise, Judging};
use crate::object::Kind;
use rule::{Slip, host};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "21_operator",
    title: "What does an operator do?",
    outcome: "write a controller for a kind of your own that no order and no crash can break",
    needs: &["deployment", "finalizer"],
    hints: [
        "Write down what there must be in the end for one site, and who may have changed it. Which of it is in your cache, and \
         how will you hear of a change?",
        "Four cases: no site or a site that goes (nothing); no Deployment (create it); somebody else's (nothing); yours (compare \
         both fields, and patch what differs; then compare the status). Everything you write comes back to you as a change.",
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
    reference: |read| host(read, None),
    mistakes: &[
        slip!("the Deployment has no owner reference to the site", NoOwner),
        slip!("the owner reference does not say controller: true", NotController),
        slip!("every ConfigMap is taken for a site", AllMaps),
        slip!("a Deployment that is there is not changed", NeverChanges),
        slip!("the Deployment is written again, though it is as the site asks", AlwaysChanges),
        slip!("the Deployment does not follow the image", OnlyReplicas),
        slip!("the Deployment does not follow the number of replicas", OnlyImage),
        slip!("a Deployment of somebody else is taken over", TakesForeign),
        slip!("replicas that are no number count as 1", GuessesNumber),
        slip!("the Deployment has another name each time it is made", RandomName),
        slip!("the status is not written", NoStatus),
        slip!("the status is written again, though it is the same", SameStatus),
        slip!("the status says what is asked for, and not what there is", StatusAsked),
        slip!("it makes a Deployment for a site that is being deleted", IgnoresDeletion),
        slip!("it takes a failed call for done", Swallows),
        slip!("it works in the namespace default, wherever the site is", InDefault),
        slip!("a Deployment of another namespace is taken for that of the site", AnyNamespace),
        slip!("it knows its Deployment by the name of the controller: others may have that name too", OwnerByName),
        slip!("it fails at what cannot be read, and so tries it again and again", FailsAtNonsense),
        slip!("of replicas that are too many to count, a part is taken for all", Truncates),
        slip!("the Pods of all sites have the same label", OneLabel),
        slip!("the container has another name than site", OtherContainer),
        slip!("an empty image is taken for one", EmptyImage),
        slip!("replicas that are too large become a negative number", TurnsNegative),
        slip!("if replicas are no number, it still follows the image", KeepsNumber),
        slip!("it changes the Deployment of a site that is being deleted", ChangesGoing),
        slip!("if the Deployment is there after all, it changes it, whoever it belongs to", TakesUnseen),
        slip!("the status counts the Pods of somebody else's Deployment", ForeignStatus),
        slip!("it puts a new Deployment in the place of the old one, and what others wrote into that is lost", Anew),
        slip!("it takes any Deployment that the site controls for its own, whatever its name", AnyName),
        slip!("of the owners of a Deployment it looks at one only", FirstOwner),
        slip!("a kind that only begins like Site is taken for it", LikeSite),
        slip!("replicas of more than 65535 are taken for no number", Small),
        slip!("it changes the image of the first container, whatever its name", FirstContainer),
        slip!("it puts a new spec in the place of the old one: what others wrote into that is lost", SpecAnew),
        slip!("it writes the Deployment as its cache shows it: what others wrote meanwhile is lost", IgnoresVersion),
        slip!("the status counts the Pods that are not ready", Unavailable),
        slip!("the status counts all Pods with the label, whoever made them", CountsLabel),
        slip!("a Deployment of somebody else gets a label", MarksForeign),
        slip!("an image that becomes empty is taken for one", EmptyLater),
        slip!("a number that becomes negative is sent nevertheless", NegativeLater),
        slip!(
            "it puts its own container in the place of all that there are, with what others wrote into it",
            MergesList
        ),
        slip!("an image without a tag is taken for none", NeedsTag),
        slip!(
            "it changes the image at the place where its cache shows the container; that may be another's by now",
            ByPlace
        ),
        slip!(
            "it sends all containers as its cache shows them, and what others wrote into them meanwhile is lost",
            SendsList
        ),
        slip!(
            "it remembers what status it has written, and does not see that somebody has changed it",
            RemembersStatus
        ),
        slip!("it takes a label for kind whose name only ends like that", LikeKind),
        slip!(
            "it writes all annotations of the site as it knows them: what others write into them meanwhile is lost",
            AllAnnotations
        ),
        slip!(
            "it writes all annotations of the site as it knows them: what others write into them meanwhile is lost",
            FreshAnnotations
        ),
        slip!("replicas that are missing count as 1", MissingIsOne),
        slip!("it writes the whole site as it knows it: what others wrote meanwhile is lost", WholeSite),
        slip!("it writes the whole site as it knows it: what others wrote meanwhile is lost", FreshSite),
        slip!("it puts its own annotation in the place of all that a site has", OnlyAnnotation),
        slip!("the status counts the Pods that are ready", CountsReady),
        slip!("it never asks for more than forty Pods", FortyAtMost),
        slip!("it lists the Deployments from the API server, and does not read its cache", Lists),
        slip!("of two images it compares the tags only", TagsOnly),
        slip!("it does nothing about a site that has a long name", NoLongName),
        slip!("the digest of an image is cut off", NoDigest),
    ],
};

mod rule;
#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::lab::reconcile::check("operator", &super::PLAN);
    }
}
