//! Exercise 07: the ReplicaSet controller on a cache that is behind. Mirrors `ControllerExpectations` of the real one, for
//! creations: deletions need none as long as one chooses the same Pods again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::making::{all, has_long_name, pod_for};
use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario, slip};
use super::{Exercise, Judging};
use crate::controllers::pods::is_active;
use crate::exercise::host::{Host, Read};
use crate::exercise::kube::{Action, Api, Context, DeleteParams, Error, PostParams};
use crate::object::meta::controller_of;
use crate::object::pod::{has_ended, is_ready, phase};
use crate::object::{Accessor, Kind, Pod};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "07_expectations",
    title: "How does a controller work on a cache that is behind?",
    outcome: "say why a controller must not count what its cache has not seen yet, and what it does about it",
    needs: &["replicaset"],
    hints: [
        "You have created a Pod, and are called again before your cache shows it. What would you have to know to see that \
         the cache cannot be trusted yet?",
        "Remember, for each ReplicaSet, how many Pods you have asked for and not yet seen. While there are any, do nothing. \
         `observe` sees Pods come; each that is new, and that the set controls, is one less.",
        "Before you create N Pods, add N to what you expect of this set (by its uid). In `observe`, if there is no old Pod \
         and a new one, take one off for its controller, not below 0. If a creation fails, take off what will not come, \
         this one and those after it, and return the error. Always change what `remembered()` says now: others have changed \
         it while you waited.",
    ],
    minutes: 35,
    judging: Judging::Controller(&PLAN),
};

static PLAN: Plan = Plan {
    duty: Duty {
        name: "replicaset-controller",
        kind: Kind::ReplicaSet,
        others: &[Kind::Pod],
        concerns: owner,
        workers: 5,
        observes: true,
    },
    trials: &[
        scenario!("expectations", "more"),
        scenario!("expectations", "fewer"),
        scenario!("expectations", "two-sets"),
        scenario!("expectations", "another-goes"),
        scenario!("expectations", "both-new"),
        scenario!("expectations", "another-shrinks"),
        scenario!("expectations", "elsewhere"),
        scenario!("expectations", "others-pods"),
        scenario!("expectations", "other-news"),
        scenario!("expectations", "again"),
        scenario!("expectations", "broken-calls"),
        scenario!("expectations", "deleted"),
        scenario!("expectations", "going"),
        scenario!("expectations", "not-its-own"),
        scenario!("expectations", "refused"),
        scenario!("expectations", "comes-late"),
        scenario!("expectations", "six-sets"),
        scenario!("expectations", "no-more"),
        scenario!("expectations", "one-call-fails"),
        scenario!("expectations", "any-number"),
    ],
    reference: |read| host(read, None),
    mistakes: &[
        slip!("it does not wait until its cache has seen what it created", NoWait),
        slip!("it asks the API server for a list instead of waiting for its cache", Lists),
        slip!("it expects one Pod, however many it creates", ExpectsOne),
        slip!("it forgets all that it expects when one creation fails", ForgetsAll),
        slip!("it begins to expect a Pod only when the API server has answered: the watch may be quicker", ExpectsLate),
        slip!("it goes on expecting a Pod whose creation has failed", KeepsFailed),
        slip!("it expects less than nothing: Pods that were there before are taken off too", BelowZero),
        slip!("it takes any news of a Pod for the arrival of a new one", AnyNews),
        slip!("it does not tell apart what it expects for different ReplicaSets", OneForAll),
        slip!("it never sees that a Pod has come", NeverObserves),
        slip!("it takes the departure of a Pod for an arrival", CountsDeletions),
        slip!("it works in the namespace default, wherever the ReplicaSet is", InDefault),
        slip!("it knows its Pods by the name of their controller: others may have that name too", OwnerByName),
        slip!("it does nothing for a ReplicaSet that asks for no Pods", IgnoresNone),
        slip!("it creates Pods for a ReplicaSet that is being deleted", IgnoresDeletion),
        slip!("it deletes Pods of a ReplicaSet that is being deleted", ShrinksGoing),
        slip!("it forgets all that it expects when one ReplicaSet is being deleted", WipedByGoing),
        slip!("it counts Pods that are being deleted", CountsGoing),
        slip!("it counts Pods that have succeeded", CountsSucceeded),
        slip!("it takes a Pod that it owns, but does not control, for one that it waits for", AnyOwner),
        slip!("it deletes all its Pods if there are too many", DeletesAll),
        slip!("it deletes in the namespace default, wherever the ReplicaSet is", DeletesInDefault),
        slip!("it deletes Pods that have ended", DeletesEnded),
        slip!("it takes a ReplicaSet that has a finalizer for one that is being deleted", FinalizerIsGoing),
        slip!("it takes the news that a Pod begins to go for an arrival", CountsGoings),
        slip!("it forgets all that it expects when one ReplicaSet has Pods to delete", WipedByFewer),
        slip!("it remembers what it expects of one ReplicaSet in the place of what it expects of all", KeepsOne),
        slip!("which Pods it deletes depends on how they are: called again too soon, it deletes others too", UnreadyGo),
        slip!("which Pods it deletes depends on how they are: called again too soon, it deletes others too", NewestGo),
        slip!("which Pods it deletes depends on how they are: called again too soon, it deletes others too", OldestGo),
        slip!("it has forty Pods at most, however many are asked for", FortyAtMost),
        slip!("it waits for ever for a Pod that goes already, or has ended, when its cache sees it first", OnlyActive),
        slip!("it waits for ever for a Pod that goes already, or has ended, when its cache sees it first", NotGoing),
        slip!("it remembers what it expects of a few ReplicaSets, and not of all", KeepsThree),
        slip!("it does nothing about a ReplicaSet that has a long name", NoLongName),
    ],
};

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    NoWait,
    Lists,
    ExpectsOne,
    ExpectsLate,
    KeepsFailed,
    AnyNews,
    OneForAll,
    NeverObserves,
    BelowZero,
    CountsDeletions,
    InDefault,
    OwnerByName,
    IgnoresNone,
    IgnoresDeletion,
    ForgetsAll,
    ShrinksGoing,
    WipedByGoing,
    CountsGoing,
    CountsSucceeded,
    AnyOwner,
    DeletesAll,
    DeletesInDefault,
    DeletesEnded,
    FinalizerIsGoing,
    CountsGoings,
    WipedByFewer,
    KeepsOne,
    UnreadyGo,
    NewestGo,
    OldestGo,
    FortyAtMost,
    OnlyActive,
    NotGoing,
    KeepsThree,
    NoLongName,
}

/// How many Pods are expected, by the uid of their ReplicaSet.
type Expected = BTreeMap<String, i32>;

fn host(read: Read, slip: Option<Slip>) -> Host {
    let observing = move |old: Option<Pod>, new: Option<Pod>, context: &Context| observe(old, new, context, slip);
    Host::new(read, move |set, context| reconcile(set, context, slip)).observing(observing)
}

/// Expects `more` Pods of a ReplicaSet, or fewer.
fn expect(context: &Context, uid: &str, more: i32, slip: Option<Slip>) {
    let mut expected: Expected = context.remembered();
    let uid = if slip == Some(Slip::OneForAll) { "" } else { uid };
    if slip == Some(Slip::KeepsOne) && more >= 0 {
        expected.retain(|known, _| known == uid);
    }
    let count = expected.entry(uid.to_owned()).or_default();
    *count += more;
    if slip != Some(Slip::BelowZero) {
        *count = (*count).max(0);
    }
    while slip == Some(Slip::KeepsThree) && expected.len() > 3 {
        expected.pop_first();
    }
    context.remember(&expected);
}

fn observe(old: Option<Pod>, new: Option<Pod>, context: &Context, slip: Option<Slip>) {
    let is = |one| slip == Some(one);
    let arrived = match (&old, &new) {
        (None, Some(pod)) if is(Slip::OnlyActive) => is_active(pod),
        (None, Some(pod)) if is(Slip::NotGoing) => pod.metadata.deletion_timestamp.is_none(),
        (None, Some(_)) => true,
        (Some(_), None) => is(Slip::CountsDeletions),
        (Some(old), Some(new)) if is(Slip::CountsGoings) => {
            old.metadata.deletion_timestamp.is_none() && new.metadata.deletion_timestamp.is_some()
        }
        _ => is(Slip::AnyNews),
    };
    let pod = new.or(old).unwrap_or_default();
    let owners = pod.metadata.owner_references.iter().flatten();
    let whose = owners.filter(|owner| owner.controller == Some(true) || is(Slip::AnyOwner));
    for owner in whose.filter(|_| arrived && !is(Slip::NeverObserves)) {
        expect(context, &owner.uid, -1, slip);
    }
}

/// The rule, with at most one part of it wrong.
async fn reconcile(set: Arc<ReplicaSet>, context: Arc<Context>, slip: Option<Slip>) -> Result<Action, Error> {
    let is = |one| slip == Some(one);
    let namespace = set.metadata.namespace.clone().filter(|_| !is(Slip::InDefault)).unwrap_or("default".to_owned());
    let uid = set.metadata.uid.clone().unwrap_or_default();
    let name = set.metadata.name.clone().unwrap_or_default();
    let expected: Expected = context.remembered();
    let waits_for = if is(Slip::OneForAll) { "" } else { &uid };
    let waits = expected.get(waits_for).is_some_and(|count| *count > 0);
    let is_deleted = set.metadata.deletion_timestamp.is_some();
    if is_deleted && is(Slip::WipedByGoing) {
        context.remember(&Expected::new());
    }
    let is_left_alone = match slip {
        Some(Slip::IgnoresDeletion | Slip::ShrinksGoing) => false,
        Some(Slip::FinalizerIsGoing) => set.metadata.finalizers.is_some(),
        Some(Slip::NoLongName) if has_long_name(&set.metadata) => true,
        _ => is_deleted,
    };
    if is_left_alone || waits && !is(Slip::NoWait) && !is(Slip::Lists) {
        return Ok(Action::await_change());
    }
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), &namespace);
    let there = all(&pods, &context, is(Slip::Lists)).await?;
    let controls = |owner: &OwnerReference| if is(Slip::OwnerByName) { owner.name == name } else { owner.uid == uid };
    let its: Vec<Arc<Pod>> =
        there.into_iter().filter(|pod| controller_of(&pod.metadata).is_some_and(controls)).collect();
    let mine = that_count(&its, slip);
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1).max(0) as usize;
    let wanted = if is(Slip::FortyAtMost) { wanted.min(40) } else { wanted };
    if wanted == 0 && is(Slip::IgnoresNone) {
        return Ok(Action::await_change());
    }
    let missing = if is_deleted && is(Slip::ShrinksGoing) { 0 } else { wanted.saturating_sub(mine.len()) as i32 };
    create(&set, &pods, &context, missing, slip).await?;
    if mine.len() > wanted && is(Slip::WipedByFewer) {
        context.remember(&Expected::new());
    }
    let kept = if is(Slip::DeletesAll) && mine.len() > wanted { 0 } else { wanted };
    let ended = its.iter().filter(|pod| is(Slip::DeletesEnded) && has_ended(pod));
    let pods = if is(Slip::DeletesInDefault) { Api::namespaced(context.client.clone(), "default") } else { pods };
    for pod in ended.chain(mine.iter().skip(kept)) {
        match pods.delete(pod.metadata.name(), &DeleteParams::default()).await {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
    }
    Ok(Action::await_change())
}

/// Of its Pods those that count, the first to stay first.
fn that_count(its: &[Arc<Pod>], slip: Option<Slip>) -> Vec<Arc<Pod>> {
    let is = |one| slip == Some(one);
    let counts = |pod: &Pod| {
        is_active(pod)
            || is(Slip::CountsGoing) && !has_ended(pod)
            || is(Slip::CountsSucceeded) && phase(pod) == "Succeeded"
    };
    let mut mine: Vec<Arc<Pod>> = its.iter().filter(|pod| counts(pod)).cloned().collect();
    let version = |pod: &Arc<Pod>| pod.metadata.resource_version.as_ref().and_then(|one| one.parse::<u64>().ok());
    match slip {
        Some(Slip::UnreadyGo) => mine.sort_by_key(|pod| !is_ready(pod)),
        Some(Slip::NewestGo) => mine.sort_by_key(version),
        Some(Slip::OldestGo) => mine.sort_by_key(|pod| Reverse(version(pod))),
        _ => {}
    }
    mine
}

/// Expects what is missing, and creates it.
async fn create(
    set: &ReplicaSet,
    pods: &Api<Pod>,
    context: &Context,
    missing: i32,
    slip: Option<Slip>,
) -> Result<(), Error> {
    let is = |one| slip == Some(one);
    let uid = set.metadata.uid();
    let expects = match missing {
        1.. if is(Slip::ExpectsOne) => 1,
        _ if is(Slip::ExpectsLate) => 0,
        missing => missing,
    };
    expect(context, uid, expects, slip);
    for left in (1..=missing).rev() {
        if let Err(error) = pods.create(&PostParams::default(), &pod_for(set)).await {
            if !is(Slip::KeepsFailed) {
                expect(context, uid, if is(Slip::ForgetsAll) { i32::MIN / 2 } else { -left }, slip);
            }
            return Err(error);
        }
        if is(Slip::ExpectsLate) {
            expect(context, uid, 1, slip);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::lab::reconcile::check("expectations", &super::PLAN);
    }
}
