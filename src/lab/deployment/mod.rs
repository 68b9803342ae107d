//! Exercise 08: which ReplicaSet is a Deployment's, and who makes it. Mirrors `getNewReplicaSet` of the real one, and
//! `Recreate` without its patience: that a rollout goes step by step is the next exercise.
//!
//! Left out: hash collisions, revisions, conditions.

use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario, slip};
use super::{Exercise, Judging};
use crate::object::Kind;
use rule::{Slip, host};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "08_deployment",
    title: "How does a Deployment find its ReplicaSet?",
    outcome: "say why names that follow from what is wanted make a controller safe on a cache that is behind",
    needs: &["replicaset", "expectations"],
    hints: [
        "A Deployment has one ReplicaSet for each template that it ever had. How do you see which one belongs to the \
         template of today, and what is the one thing that may differ in their templates?",
        "Among the ReplicaSets that the Deployment controls, look for the oldest whose template is the Deployment's when the \
         label pod-template-hash is left out of both. If there is none, create it. It gets its name from the hash of the \
         template: whoever is called twice makes the same one twice, and the API server refuses the second.",
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
        scenario!("deployment", "any-number"),
    ],
    reference: |read| host(read, None),
    mistakes: &[
        slip!("the ReplicaSet has another name each time it is made", RandomName),
        slip!("the ReplicaSet has no owner reference to the Deployment", NoOwner),
        slip!("the owner reference does not say controller: true", NotController),
        slip!("the ReplicaSet has no label pod-template-hash in its selector", NoHash),
        slip!("it takes every ReplicaSet with these labels for its own", ByLabels),
        slip!("it takes the newest ReplicaSet for that of today's template", Newest),
        slip!("it compares nothing but the images of two templates", ImagesOnly),
        slip!("it changes the template of the ReplicaSet that is there", InPlace),
        slip!("it leaves the other ReplicaSets as large as they were", OthersStay),
        slip!("it gives all its ReplicaSets the number that is asked for", AllAlike),
        slip!("it does not change the number of a ReplicaSet that is there", NoFollow),
        slip!("it writes the numbers of its ReplicaSets again, though they are right", AlwaysSize),
        slip!("it makes a ReplicaSet for a Deployment that is being deleted", IgnoresDeletion),
        slip!("it takes a failed call for done", SwallowsErrors),
        slip!("it works in the namespace default, wherever the Deployment is", InDefault),
        slip!("it knows its ReplicaSets by the name of their controller: others may have that name too", OwnerByName),
        slip!("it takes ReplicaSets for its own that have it for an owner, though it does not control them", AnyOwner),
        slip!("the ReplicaSet does not have the label pod-template-hash itself", NoOwnHash),
        slip!("if the name of its ReplicaSet is taken, it sizes what has the name, whoever controls that", TakesNamed),
        slip!("if the name of its ReplicaSet is taken, it deletes what has the name", DeletesNamed),
        slip!("of two templates it compares the metadata and the containers only", ContainersOnly),
        slip!("it does not see that a label has gone from the template", LabelsWithin),
        slip!("it empties the others only when today's ReplicaSet has its Pods", Waits),
        slip!("it looks at how many Pods a ReplicaSet has, and not at how many it asks for", ByStatus),
        slip!("the selector of the ReplicaSet has all labels of the template", AllLabels),
        slip!(
            "it writes the whole ReplicaSet as its cache knows it, and what others wrote meanwhile is lost",
            Overwrites
        ),
        slip!("it sizes the ReplicaSet of a Deployment that is being deleted", SizesGoing),
        slip!("it makes no ReplicaSet for a Deployment that asks for no Pods", NoneForNone),
        slip!("it looks for its ReplicaSet by name or label, and not by template", ByName),
        slip!("of several ReplicaSets with its template it does not take the oldest", NotOldest),
        slip!("it empties the first few ReplicaSets, and leaves all others as they were", FewOthers(3)),
        slip!("it empties the first few ReplicaSets, and leaves all others as they were", FewOthers(5)),
        slip!("it empties the first few ReplicaSets, and leaves all others as they were", FewOthers(10)),
        slip!("it looks at its ReplicaSets only when the Deployment has changed", OncePerChange),
        slip!(
            "it takes a ReplicaSet that nobody controls for its own if the labels are those of its selector",
            OfNobody
        ),
        slip!("of the labels of two templates it compares the names only", LabelNames),
        slip!("it never asks for more than ten Pods", AtMost(10)),
        slip!("it never asks for more than forty Pods", AtMost(40)),
        slip!("it looks at the last owner of a ReplicaSet only", LastOwner),
        slip!("the selector gets the label pod-template-hash only if it has labels", HashBesideLabels),
        slip!(
            "if the Deployment's own template has a label pod-template-hash, it finds no ReplicaSet with that template",
            KeepsOwnHash
        ),
        slip!("it leaves the others as they are if the Deployment asks for no Pods", OthersStayForNone),
        slip!(
            "it sends all that its cache knows of the ReplicaSet in a patch, and what others changed meanwhile is lost",
            PatchesAll
        ),
        slip!("it remembers what it has made, and does not make it again when somebody has deleted it", RemembersMade),
        slip!("the ReplicaSet has the labels of its selector; it has those of its template", LabelsOfSelector),
        slip!("the labels of the Deployment are on its ReplicaSet too", LabelsOfDeployment),
        slip!("it takes it for a failure that its ReplicaSet is there already", ExistsIsFailure),
        slip!("if the name of its ReplicaSet is taken, it leaves the others as they were", StopsIfTaken),
        slip!(
            "it empties the others only when the ReplicaSet that it makes is there, and so never if the name of that is taken",
            StopsAfterMaking
        ),
        slip!("a label pod-template-hash that its template has already stays in the place of the hash", CopiedHash),
        slip!("of two templates it compares some fields, and not all", SomeFields),
        slip!("of several ReplicaSets with its template it takes one that is not empty before the oldest", Fullest),
        slip!("if the name of its ReplicaSet is taken, it makes one of another name", OtherName),
        slip!("of two templates it compares the spec only, and not the labels and annotations", SpecOnly),
        slip!("it does not see that an annotation of the template has changed", IgnoresAnnotations),
        slip!("it deletes the other ReplicaSets", DeletesOthers),
        slip!("it lists the ReplicaSets from the API server, and does not read its cache", Lists),
        slip!(
            "it sends a template along with the number, and what others wrote into that of the ReplicaSet meanwhile is lost",
            SendsTemplate
        ),
        slip!(
            "it sends a template along with the number, and what others wrote into that of the ReplicaSet meanwhile is lost",
            SendsOwnTemplate
        ),
        slip!("of several ReplicaSets with its template it empties none", TwinsStay),
        slip!("of the template's metadata, the ReplicaSet has the labels and annotations only", SomeMetadata),
        slip!("it does nothing about a Deployment that has a long name", NoLongName),
        slip!("the name of the ReplicaSet has only the beginning of a long name", CutsName),
    ],
};

mod rule;
mod templates;
#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::lab::reconcile::check("deployment", &super::PLAN);
    }
}
