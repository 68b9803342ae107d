//! Exercise 06: what the ReplicaSet controller does with one ReplicaSet. Mirrors `syncReplicaSet` of the real one, but that
//! it asks the API server for its Pods each time: what to do about a cache that is behind is the next exercise.

use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario, slip};
use super::{Exercise, Judging};
use crate::object::Kind;
use rule::{Slip, host};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "06_replicaset",
    title: "How does a ReplicaSet keep its Pods?",
    outcome: "write a reconcile: compare what is asked for with what is there, and do only what is missing",
    needs: &["ownership"],
    hints: [
        "You are told that something about this ReplicaSet may have changed, not what. Which two numbers decide what is to \
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
        scenario!("replicaset", "any-number"),
    ],
    reference: |read| host(read, None),
    mistakes: &[
        slip!("the Pods that it creates have no owner reference to the ReplicaSet", NoOwner),
        slip!("the owner reference does not say controller: true", NotController),
        slip!("it counts all Pods with these labels, whoever controls them", CountsByLabels),
        slip!("it matches Pods by the beginning of their names", CountsByName),
        slip!("it counts Pods that are being deleted", CountsTerminating),
        slip!("it counts Pods that have ended", CountsEnded),
        slip!("it counts the Pods of its cache, which does not know yet what was just created", CountsCache),
        slip!("it creates all Pods anew, whatever is there", CreatesAll),
        slip!("it creates one Pod too many", OneTooMany),
        slip!("it never deletes what is too many", NeverDeletes),
        slip!("it deletes Pods that are ready before those that are not", DeletesReady),
        slip!("it creates Pods for a ReplicaSet that is being deleted", IgnoresDeletion),
        slip!("it does not write the status", NoStatus),
        slip!("it writes the status each time, and so calls itself for ever", AlwaysStatus),
        slip!("it writes the status again, though it is the same", SameStatus),
        slip!("it takes a failed write of its status for done", SwallowsStatus),
        slip!("it takes a Pod that could not be created for created", SwallowsCreations),
        slip!("it takes a Pod that could not be deleted for deleted", SwallowsDeletions),
        slip!("the Pods that it creates do not have the labels of the template", NoLabels),
        slip!("of the template's metadata, its Pods have the labels only", NoAnnotations),
        slip!("it works in the namespace default, wherever the ReplicaSet is", InDefault),
        slip!("it knows its Pods by the name of their controller: others may have that name too", OwnerByName),
        slip!("it counts Pods that have it for an owner, though it does not control them", AnyOwner),
        slip!("it does nothing for a ReplicaSet that asks for no Pods", IgnoresNone),
        slip!("it counts Pods that have succeeded", CountsSucceeded),
        slip!("it takes a Pod that runs for ready when one has to go", RunningIsReady),
        slip!("it creates no Pods for a ReplicaSet that is being deleted, but does all else", BarsCreations),
        slip!("its status counts Pods that are being deleted or have ended", StatusCountsAll),
        slip!("its status says how many Pods are asked for, before they are there", StatusAsked),
        slip!("it numbers its Pods, and so a name may be taken", Numbered),
        slip!("it deletes Pods that have ended", DeletesEnded),
        slip!("it writes its status as a whole, and what others wrote into it is lost", WholeStatus),
        slip!("it writes the whole status that it was told of, and what others wrote since is lost", StaleStatus),
        slip!(
            "it reads the ReplicaSet again for observedGeneration, and so says of a newer one that it was seen",
            LiveGeneration
        ),
        slip!("its status never says again that no Pod is ready", NeverUnready),
        slip!("it takes a ReplicaSet that has a finalizer for one that is being deleted", FinalizerIsGoing),
        slip!("it takes a Pod for its own whose owner reference says controller: false", SaysIfControlled),
        slip!("it does not count Pods of which nobody knows how they are (phase Unknown)", UnknownIsEnded),
        slip!("it does not count Pods that have a terminated container: it may be started again", TerminatedIsEnded),
        slip!("the annotations of the ReplicaSet are on its Pods too", OfSet),
        slip!("of the template's spec, its Pods have the containers only", ContainersOnly),
        slip!("it deletes Pods that are not ready, and never one that is", OnlyUnready),
        slip!("it chooses whom to delete among Pods that do not count, too", ChoosesFromAll),
        slip!("it deletes in the namespace default, wherever the ReplicaSet is", DeletesInDefault),
        slip!("it deletes Pods that were made from an older template", ReplacesOld),
        slip!("it deletes what its cache shows too many of, which does not know yet who has gone", DeletesCached),
        slip!("its status never says that more than nine Pods are ready", NineReady),
        slip!("it does not say that it has seen a new generation if it counts as many Pods as before", CountsOnly),
        slip!("it lists the Pods that have the labels of the template, and those may change", ByTemplateLabels),
        slip!(
            "it sends all that it was told of its status in a patch, and what others wrote since is lost",
            PatchesStaleStatus
        ),
        slip!("it has forty Pods at most, however many are asked for", FortyAtMost),
        slip!("of the template's labels, its Pods have two only", TwoLabels),
        slip!("of the template's spec, its Pods have some fields, and not all", SomeFields),
        slip!("it does nothing about a ReplicaSet that has a long name", NoLongName),
    ],
};

mod rule;
#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::lab::reconcile::check("replicaset", &super::PLAN);
    }
}
