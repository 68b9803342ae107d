//! Exercise 07: the ReplicaSet controller on a cache that is behind. Mirrors `ControllerExpectations` of the real one, for
//! creations: deletions need none as long as one chooses the same Pods again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::making::{all, has_long_name, pod_for};
use super::mistake::mistaken_hosts;
use super::reconcile::Mistaken;
use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario};
use super::{Exercise, Judging};
use controllers::pods::is_active;
use exercise::host::{Host, Read};
use exercise::kube::{Action, Api, Context, DeleteParams, Error, PostParams};
use object::meta::controller_of;
use object::pod::{has_ended, is_ready, phase};
use object::{Accessor, Kind, Pod};

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
        scenario!("expectations", "anew"),
        scenario!("expectations", "any-number"),
    ],
    reference: |read| host(read, RULE),
    mistakes: MISTAKES,
};

/// How many Pods are expected, by the uid of their ReplicaSet.
type Expected = BTreeMap<String, i32>;

/// What decides.
#[derive(Clone, Copy)]
struct Rule {
    /// Whether an old and a new Pod are the news of one that has come.
    arrives: fn(Option<&Pod>, Option<&Pod>) -> bool,
    /// Whether an owner of it is told.
    is_told: fn(&OwnerReference) -> bool,
    /// Under which name it is remembered what is expected of a ReplicaSet.
    whose: fn(&str) -> &str,
    /// No fewer are expected.
    least: i32,
    /// What of all that is expected is remembered, when that of one has changed by so many.
    remembered: fn(&mut Expected, &str, i32),
    /// Whether all is forgotten when a ReplicaSet is being deleted.
    wiped_by_going: bool,
    /// Whether nothing is done about a ReplicaSet.
    is_left_alone: fn(&ObjectMeta) -> bool,
    /// Whether it waits, when so many are expected.
    waits: fn(i32) -> bool,
    /// Whether the API server is asked for a list.
    lists: bool,
    /// The namespace that is worked in.
    namespace: fn(&ObjectMeta) -> &str,
    /// Whether an owner is this ReplicaSet.
    controls: fn(&OwnerReference, &ObjectMeta) -> bool,
    /// Which of its Pods count.
    counts: fn(&Pod) -> bool,
    /// The first to stay first.
    order: fn(&mut Vec<Arc<Pod>>),
    /// How many there should be, by the spec.
    wanted: fn(usize) -> usize,
    /// Whether nothing is done where there should be so many.
    is_nothing: fn(usize) -> bool,
    /// How many are created, of those that are missing.
    missing: fn(&ObjectMeta, i32) -> i32,
    /// How many are expected before that many are created.
    expects: fn(i32) -> i32,
    /// And how many when one was.
    expects_created: i32,
    /// By how many that changes, if one fails and so many do not come.
    not_created: fn(i32) -> i32,
    /// Whether all is forgotten when there are too many Pods.
    wiped_by_fewer: bool,
    /// How many stay, of those that should be and those that are.
    kept: fn(usize, usize) -> usize,
    /// Whether one goes in any case.
    deletes: fn(&Pod) -> bool,
    /// The namespace in which those are that go.
    deletes_in: fn(&str) -> &str,
}

const RULE: Rule = Rule {
    arrives,
    is_told: |owner| owner.controller == Some(true),
    whose: |uid| uid,
    least: 0,
    remembered: |_, _, _| {},
    wiped_by_going: false,
    is_left_alone: |meta| meta.deletion_timestamp.is_some(),
    waits: |expected| expected > 0,
    lists: false,
    namespace: |meta| meta.namespace.as_deref().unwrap_or("default"),
    controls: |owner, meta| owner.uid == meta.uid(),
    counts: is_active,
    order: |_| {},
    wanted: |wanted| wanted,
    is_nothing: |_| false,
    missing: |_, missing| missing,
    expects: |missing| missing,
    expects_created: 0,
    not_created: |left| -left,
    wiped_by_fewer: false,
    kept: |wanted, _| wanted,
    deletes: |_| false,
    deletes_in: |namespace| namespace,
};

fn host(read: Read, rule: Rule) -> Host {
    let observing = move |old: Option<Pod>, new: Option<Pod>, context: &Context| observe(old, new, context, rule);
    Host::new(read, move |set, context| reconcile(set, context, rule)).observing(observing)
}

/// Expects `more` Pods of a ReplicaSet, or fewer.
fn expect(context: &Context, uid: &str, more: i32, rule: Rule) {
    let mut expected: Expected = context.remembered();
    let uid = (rule.whose)(uid);
    let count = expected.entry(uid.to_owned()).or_default();
    *count = (*count + more).max(rule.least);
    (rule.remembered)(&mut expected, uid, more);
    context.remember(&expected);
}

fn arrives(old: Option<&Pod>, new: Option<&Pod>) -> bool {
    old.is_none() && new.is_some()
}

fn observe(old: Option<Pod>, new: Option<Pod>, context: &Context, rule: Rule) {
    let arrives = (rule.arrives)(old.as_ref(), new.as_ref());
    let pod = new.or(old).unwrap_or_default();
    for owner in pod.metadata.owner_references.iter().flatten().filter(|owner| arrives && (rule.is_told)(owner)) {
        expect(context, &owner.uid, -1, rule);
    }
}

async fn reconcile(set: Arc<ReplicaSet>, context: Arc<Context>, rule: Rule) -> Result<Action, Error> {
    let expected: Expected = context.remembered();
    let expected = expected.get((rule.whose)(set.metadata.uid())).copied().unwrap_or(0);
    if rule.wiped_by_going && set.metadata.deletion_timestamp.is_some() {
        context.remember(&Expected::new());
    }
    if (rule.is_left_alone)(&set.metadata) || (rule.waits)(expected) {
        return Ok(Action::await_change());
    }
    let namespace = (rule.namespace)(&set.metadata);
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
    let mut its = all(&pods, &context, rule.lists).await?;
    its.retain(|pod| controller_of(&pod.metadata).is_some_and(|owner| (rule.controls)(owner, &set.metadata)));
    let mut mine: Vec<Arc<Pod>> = its.iter().filter(|pod| (rule.counts)(pod)).cloned().collect();
    (rule.order)(&mut mine);
    let asked = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let wanted = (rule.wanted)(usize::try_from(asked).unwrap_or(0));
    if (rule.is_nothing)(wanted) {
        return Ok(Action::await_change());
    }
    let missing = (rule.missing)(&set.metadata, wanted.saturating_sub(mine.len()) as i32);
    create(&set, &pods, &context, missing, rule).await?;
    if rule.wiped_by_fewer && mine.len() > wanted {
        context.remember(&Expected::new());
    }
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), (rule.deletes_in)(namespace));
    let gone = its.iter().filter(|pod| (rule.deletes)(pod));
    for pod in gone.chain(mine.iter().skip((rule.kept)(wanted, mine.len()))) {
        match pods.delete(pod.metadata.name(), &DeleteParams::default()).await {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
    }
    Ok(Action::await_change())
}

fn version(pod: &Arc<Pod>) -> Option<u64> {
    pod.metadata.resource_version.as_ref().and_then(|one| one.parse().ok())
}

/// Expects what is missing, and creates it.
async fn create(set: &ReplicaSet, pods: &Api<Pod>, context: &Context, missing: i32, rule: Rule) -> Result<(), Error> {
    let uid = set.metadata.uid();
    expect(context, uid, (rule.expects)(missing), rule);
    for left in (1..=missing).rev() {
        if let Err(error) = pods.create(&PostParams::default(), &pod_for(set)).await {
            expect(context, uid, (rule.not_created)(left), rule);
            return Err(error);
        }
        if rule.expects_created > 0 {
            expect(context, uid, rule.expects_created, rule);
        }
    }
    Ok(())
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistaken] = mistaken_hosts! {
    no_wait: "it does not wait until its cache has seen what it created" => { waits: |_| false };
    lists: "it asks the API server for a list instead of waiting for its cache"
        => {
            lists: true,
            waits: |_| false
        }
        | { lists: true };
    expects_one: "it expects one Pod, however many it creates" => { expects: |missing| missing.min(1) };
    forgets_all: "it forgets all that it expects when one creation fails" => { not_created: |_| i32::MIN / 2 };
    expects_late: "it begins to expect a Pod only when the API server has answered: the watch may be quicker"
        => {
            expects: |_| 0,
            expects_created: 1
        };
    keeps_failed: "it goes on expecting a Pod whose creation has failed" => { not_created: |_| 0 };
    below_zero: "it expects less than nothing: Pods that were there before are taken off too" => { least: i32::MIN };
    any_news: "it takes any news of a Pod for the arrival of a new one"
        => { arrives: |old, new| old.is_none() || new.is_some() };
    one_for_all: "it does not tell apart what it expects for different ReplicaSets" => { whose: |_| "" };
    never_observes: "it never sees that a Pod has come" => { arrives: |_, _| false };
    counts_deletions: "it takes the departure of a Pod for an arrival"
        => { arrives: |old, new| old.is_none() != new.is_none() };
    in_default: "it works in the namespace default, wherever the ReplicaSet is" => { namespace: |_| "default" };
    owner_by_name: "it knows its Pods by the name of their controller: others may have that name too"
        => { controls: |owner, meta| owner.name == meta.name() };
    ignores_none: "it does nothing for a ReplicaSet that asks for no Pods" => { is_nothing: |wanted| wanted == 0 };
    ignores_deletion: "it creates Pods for a ReplicaSet that is being deleted" => { is_left_alone: |_| false };
    shrinks_going: "it deletes Pods of a ReplicaSet that is being deleted"
        => {
            is_left_alone: |_| false,
            missing: |set, missing| if set.deletion_timestamp.is_some() { 0 } else { missing }
        };
    wiped_by_going: "it forgets all that it expects when one ReplicaSet is being deleted" => { wiped_by_going: true };
    counts_going: "it counts Pods that are being deleted" => { counts: |pod| !has_ended(pod) };
    counts_succeeded: "it counts Pods that have succeeded"
        => { counts: |pod| is_active(pod) || phase(pod) == "Succeeded" };
    any_owner: "it takes a Pod that it owns, but does not control, for one that it waits for" => { is_told: |_| true };
    deletes_all: "it deletes all its Pods if there are too many"
        => { kept: |wanted, there| if there > wanted { 0 } else { wanted } };
    deletes_in_default: "it deletes in the namespace default, wherever the ReplicaSet is"
        => { deletes_in: |_| "default" };
    deletes_ended: "it deletes Pods that have ended" => { deletes: has_ended };
    finalizer_is_going: "it takes a ReplicaSet that has a finalizer for one that is being deleted"
        => { is_left_alone: |meta| meta.finalizers.is_some() };
    counts_goings: "it takes the news that a Pod begins to go for an arrival"
        => {
            arrives: |old, new| match (old, new) {
                (Some(old), Some(new)) => {
                    old.metadata.deletion_timestamp.is_none() && new.metadata.deletion_timestamp.is_some()
                }
                _ => arrives(old, new),
            }
        };
    wiped_by_fewer: "it forgets all that it expects when one ReplicaSet has Pods to delete" => { wiped_by_fewer: true };
    keeps_one: "it remembers what it expects of one ReplicaSet in the place of what it expects of all"
        => {
            remembered: |expected, uid, more| {
                if more >= 0 {
                    expected.retain(|known, _| known == uid);
                }
            }
        };
    chooses_by_state: "which Pods it deletes depends on how they are: called again too soon, it deletes others too"
        => { order: |mine| mine.sort_by_key(|pod| !is_ready(pod)) }
        | { order: |mine| mine.sort_by_key(version) }
        | { order: |mine| mine.sort_by_key(|pod| Reverse(version(pod))) };
    forty_at_most: "it has forty Pods at most, however many are asked for" => { wanted: |wanted| wanted.min(40) };
    waits_for_ended: "it waits for ever for a Pod that goes already, or has ended, when its cache sees it first"
        => { arrives: |old, new| arrives(old, new) && new.is_some_and(is_active) }
        | { arrives: |old, new| arrives(old, new) && new.is_some_and(|pod| pod.metadata.deletion_timestamp.is_none()) };
    keeps_three: "it remembers what it expects of a few ReplicaSets, and not of all"
        => {
            remembered: |expected, _, _| {
                while expected.len() > 3 {
                    expected.pop_first();
                }
            }
        };
    no_long_name: "it does nothing about a ReplicaSet that has a long name"
        => { is_left_alone: |meta| meta.deletion_timestamp.is_some() || has_long_name(meta) };
};

#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::reconcile::check("expectations", &super::PLAN);
    }
}
