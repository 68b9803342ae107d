//! Exercise 6: what the ReplicaSet controller does with one ReplicaSet. Mirrors `syncReplicaSet` of the real one, but that
//! it asks the API server for its Pods each time: what to do about a cache that is behind is the next exercise.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario, slip};
use super::{Exercise, Judging};
use crate::controllers::pods::{is_active, pod_from_template};
use crate::exercise::host::{Host, Read};
use crate::exercise::kube::{Action, Api, Context, DeleteParams, Error, ListParams, Patch, PatchParams, PostParams};
use crate::object::meta::{controller_of, controller_ref};
use crate::object::pod::{is_ready, phase_of};
use crate::object::{Kind, Pod};

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
        scenario!("replicaset", "refused"),
        scenario!("replicaset", "no-more"),
        scenario!("replicaset", "one-for-good"),
        scenario!("replicaset", "one-call-fails"),
        scenario!("replicaset", "broken-calls"),
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
    ],
};

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    NoOwner,
    NotController,
    CountsByLabels,
    CountsByName,
    CountsTerminating,
    CountsEnded,
    CountsCache,
    CreatesAll,
    OneTooMany,
    NeverDeletes,
    DeletesReady,
    IgnoresDeletion,
    NoStatus,
    AlwaysStatus,
    SameStatus,
    SwallowsStatus,
    SwallowsCreations,
    SwallowsDeletions,
    NoLabels,
    NoAnnotations,
    InDefault,
    OwnerByName,
    AnyOwner,
    IgnoresNone,
    CountsSucceeded,
    RunningIsReady,
    BarsCreations,
    StatusCountsAll,
    StatusAsked,
    Numbered,
    DeletesEnded,
    WholeStatus,
}

fn host(read: Read, slip: Option<Slip>) -> Host {
    Host::new(read, move |set, context| reconcile(set, context, slip))
}

/// The rule, with at most one part of it wrong.
async fn reconcile(set: Arc<ReplicaSet>, context: Arc<Context>, slip: Option<Slip>) -> Result<Action, Error> {
    let is = |one| slip == Some(one);
    let is_going = set.metadata.deletion_timestamp.is_some();
    if is_going && !is(Slip::IgnoresDeletion) && !is(Slip::BarsCreations) {
        return Ok(Action::await_change());
    }
    let namespace = set.metadata.namespace.clone().filter(|_| !is(Slip::InDefault)).unwrap_or("default".to_owned());
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), &namespace);
    let there: Vec<Pod> = match is(Slip::CountsCache) {
        true => context.store::<Pod>().state().iter().map(|pod| (**pod).clone()).collect(),
        false => pods.list(&ListParams::default()).await?.items,
    };
    let is_its =
        |pod: &&Pod| controller_of(&pod.metadata).map(|owner| owner.uid.as_str()) == set.metadata.uid.as_deref();
    let all = there.iter().filter(is_its);
    let seen: Vec<Pod> = match slip {
        Some(Slip::StatusCountsAll) => all.cloned().collect(),
        _ => there.iter().filter(|pod| counts(&set, pod, slip)).cloned().collect(),
    };
    let mut mine: Vec<Pod> = there.iter().filter(|pod| counts(&set, pod, slip)).cloned().collect();
    if is(Slip::DeletesEnded) {
        let has_ended = |pod: &&Pod| pod.metadata.deletion_timestamp.is_none() && !is_active(pod);
        for pod in there.iter().filter(is_its).filter(has_ended) {
            pods.delete(pod.metadata.name.as_deref().unwrap_or_default(), &DeleteParams::default()).await?;
        }
    }
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let wanted = usize::try_from(wanted).unwrap_or(0) + usize::from(is(Slip::OneTooMany) && mine.is_empty());
    if wanted == 0 && is(Slip::IgnoresNone) {
        return Ok(Action::await_change());
    }
    let ready = seen.iter().filter(|pod| is_ready(pod)).count();
    let count = if is(Slip::StatusAsked) { wanted } else { seen.len() };
    let status = (count as i32, ready as i32, set.metadata.generation);
    if is(Slip::StatusAsked) && written(&set) != status {
        write(&set, &context, &namespace, status, slip).await?;
    }
    let missing = if is_going && is(Slip::BarsCreations) {
        0
    } else if is(Slip::CreatesAll) && mine.len() < wanted {
        wanted
    } else {
        wanted.saturating_sub(mine.len())
    };
    for n in 0..missing {
        let mut pod = pod_of(&set, slip);
        if is(Slip::Numbered) {
            let name = pod.metadata.generate_name.take().unwrap_or_default();
            pod.metadata.name = Some(format!("{name}{}", mine.len() + n));
        }
        match pods.create(&PostParams::default(), &pod).await {
            Err(_) if is(Slip::SwallowsCreations) => {}
            other => drop(other?),
        }
    }
    mine.sort_by_key(|pod| match slip {
        Some(Slip::RunningIsReady) => phase_of(pod.status.as_deref()) == "Running",
        _ => is_ready(pod) != is(Slip::DeletesReady),
    });
    let too_many = if is(Slip::NeverDeletes) { 0 } else { mine.len().saturating_sub(wanted) };
    for pod in &mine[..too_many] {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        match pods.delete(name, &DeleteParams::default()).await {
            Err(error) if !error.is_not_found() && !is(Slip::SwallowsDeletions) => return Err(error),
            _ => {}
        }
    }
    let writes = written(&set) != status || is(Slip::AlwaysStatus) || is(Slip::SameStatus);
    if writes && !is(Slip::NoStatus) {
        match write(&set, &context, &namespace, status, slip).await {
            Err(error) if !is(Slip::SwallowsStatus) => return Err(error),
            _ => {}
        }
    }
    Ok(Action::await_change())
}

/// Writes a status: how many Pods, how many of them are ready, and what generation asks for them.
async fn write(
    set: &ReplicaSet,
    context: &Context,
    namespace: &str,
    (replicas, ready, generation): (i32, i32, Option<i64>),
    slip: Option<Slip>,
) -> Result<(), Error> {
    let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), namespace);
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let mut patch = json!({"status": {"replicas": replicas, "readyReplicas": ready, "observedGeneration": generation}});
    match slip {
        Some(Slip::WholeStatus) => {
            let mut whole = set.clone();
            whole.metadata.resource_version = None;
            whole.status = Some(ReplicaSetStatus {
                replicas,
                ready_replicas: Some(ready),
                observed_generation: generation,
                ..ReplicaSetStatus::default()
            });
            return sets.replace_status(name, &PostParams::default(), &whole).await.map(drop);
        }
        Some(Slip::AlwaysStatus) => {
            let message = set.metadata.resource_version.clone();
            patch["status"]["conditions"] = json!([{"type": "Synced", "status": "True", "message": message}]);
        }
        _ => {}
    }
    sets.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}

/// What the status says.
fn written(set: &ReplicaSet) -> (i32, i32, Option<i64>) {
    let status = set.status.clone().unwrap_or_default();
    (status.replicas, status.ready_replicas.unwrap_or(0), status.observed_generation)
}

fn counts(set: &ReplicaSet, pod: &Pod, slip: Option<Slip>) -> bool {
    let is = |one| slip == Some(one);
    let mine = || controller_of(&pod.metadata).map(|owner| owner.uid.as_str()) == set.metadata.uid.as_deref();
    let name = |meta: &ObjectMeta| meta.name.clone().unwrap_or_default();
    let chosen = match slip {
        Some(Slip::CountsByLabels) => {
            let wanted = set.spec.as_ref().and_then(|spec| spec.selector.match_labels.as_ref()).into_iter().flatten();
            let labels = pod.metadata.labels.clone().unwrap_or_default();
            wanted.into_iter().all(|(key, value)| labels.get(key) == Some(value))
        }
        Some(Slip::OwnerByName) => controller_of(&pod.metadata).map(|owner| &owner.name) == set.metadata.name.as_ref(),
        Some(Slip::AnyOwner) => {
            let mut owners = pod.metadata.owner_references.iter().flatten();
            owners.any(|owner| Some(&owner.uid) == set.metadata.uid.as_ref())
        }
        Some(Slip::CountsByName) => name(&pod.metadata).starts_with(&name(&set.metadata)),
        _ => mine(),
    };
    let active = match slip {
        Some(Slip::CountsTerminating) => is_active(&Pod { metadata: ObjectMeta::default(), ..pod.clone() }),
        Some(Slip::CountsSucceeded) if phase_of(pod.status.as_deref()) == "Succeeded" => {
            pod.metadata.deletion_timestamp.is_none()
        }
        _ => is(Slip::CountsEnded) && pod.metadata.deletion_timestamp.is_none() || is_active(pod),
    };
    chosen && active
}

fn pod_of(set: &ReplicaSet, slip: Option<Slip>) -> Pod {
    let mut pod = pod_for(set);
    match slip {
        Some(Slip::NotController) => {
            pod.metadata.owner_references.iter_mut().flatten().for_each(|owner| owner.controller = None)
        }
        Some(Slip::NoOwner) => pod.metadata.owner_references = None,
        Some(Slip::NoLabels) => pod.metadata.labels = None,
        Some(Slip::NoAnnotations) => (pod.metadata.annotations, pod.metadata.finalizers) = (None, None),
        _ => {}
    }
    pod
}

/// A Pod as a ReplicaSet asks for it.
pub(super) fn pod_for(set: &ReplicaSet) -> Pod {
    let template = set.spec.as_ref().and_then(|spec| spec.template.clone()).unwrap_or_default();
    pod_from_template(&template, &set.metadata, controller_ref(set))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::lab::reconcile::check("replicaset", &super::PLAN);
    }
}
