//! What the controller does with a ReplicaSet, and what learners do instead.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use crate::controllers::pods::is_active;
use crate::exercise::host::{Host, Read};
use crate::exercise::kube::{Action, Api, Context, DeleteParams, Error, ListParams, Patch, PatchParams, PostParams};
use crate::lab::making::{has_long_name, pod_for};
use crate::object::meta::controller_of;
use crate::object::pod::status::ContainerStatus;
use crate::object::pod::{is_ready, phase};
use crate::object::{Accessor, Pod};

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
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
    StaleStatus,
    LiveGeneration,
    NeverUnready,
    FinalizerIsGoing,
    SaysIfControlled,
    UnknownIsEnded,
    TerminatedIsEnded,
    OfSet,
    ContainersOnly,
    OnlyUnready,
    ChoosesFromAll,
    DeletesInDefault,
    ReplacesOld,
    DeletesCached,
    NineReady,
    CountsOnly,
    ByTemplateLabels,
    PatchesStaleStatus,
    FortyAtMost,
    TwoLabels,
    SomeFields,
    NoLongName,
}

pub(super) fn host(read: Read, slip: Option<Slip>) -> Host {
    Host::new(read, move |set, context| reconcile(set, context, slip))
}

/// The rule, with at most one part of it wrong.
async fn reconcile(set: Arc<ReplicaSet>, context: Arc<Context>, slip: Option<Slip>) -> Result<Action, Error> {
    let is = |one| slip == Some(one);
    if is_left_alone(&set, slip) {
        return Ok(Action::await_change());
    }
    let namespace = set.metadata.namespace.clone().filter(|_| !is(Slip::InDefault)).unwrap_or("default".to_owned());
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), &namespace);
    let there: Vec<Pod> = match is(Slip::CountsCache) {
        true => context.store::<Pod>().state().iter().map(|pod| (**pod).clone()).collect(),
        false => pods.list(&listed(&set, slip)).await?.items,
    };
    let its: Vec<Pod> = there.iter().filter(|pod| is_its(&set, pod)).cloned().collect();
    let mine: Vec<Pod> = there.into_iter().filter(|pod| counts(&set, pod, slip)).collect();
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let wanted = usize::try_from(wanted).unwrap_or(0) + usize::from(is(Slip::OneTooMany) && mine.is_empty());
    let wanted = if is(Slip::FortyAtMost) { wanted.min(40) } else { wanted };
    if wanted == 0 && is(Slip::IgnoresNone) {
        return Ok(Action::await_change());
    }
    let seen = if is(Slip::StatusCountsAll) { &its } else { &mine };
    let most = if is(Slip::NineReady) { 9 } else { usize::MAX };
    let ready = seen.iter().filter(|pod| is_ready(pod)).count().min(most);
    let count = if is(Slip::StatusAsked) { wanted } else { seen.len() };
    let status = (count as i32, ready as i32, set.metadata.generation);
    if is(Slip::StatusAsked) && written(&set) != status {
        write(&set, &context, &namespace, status, slip).await?;
    }
    for pod in new_pods(&set, mine.len(), wanted, slip) {
        match pods.create(&PostParams::default(), &pod).await {
            Err(_) if is(Slip::SwallowsCreations) => {}
            other => drop(other?),
        }
    }
    let mine = match is(Slip::DeletesCached) {
        true => context
            .store::<Pod>()
            .state()
            .iter()
            .filter(|pod| counts(&set, pod, slip))
            .map(|pod| (**pod).clone())
            .collect(),
        false => mine,
    };
    let pods = if is(Slip::DeletesInDefault) { Api::namespaced(context.client.clone(), "default") } else { pods };
    for pod in not_needed(&set, its, mine, wanted, slip) {
        let name = pod.metadata.name();
        match pods.delete(name, &DeleteParams::default()).await {
            Err(error) if !error.is_not_found() && !is(Slip::SwallowsDeletions) => return Err(error),
            _ => {}
        }
    }
    if is_written(&set, status, slip) {
        match write(&set, &context, &namespace, status, slip).await {
            Err(error) if !is(Slip::SwallowsStatus) => return Err(error),
            _ => {}
        }
    }
    Ok(Action::await_change())
}

/// Which Pods are asked for.
fn listed(set: &ReplicaSet, slip: Option<Slip>) -> ListParams {
    if slip != Some(Slip::ByTemplateLabels) {
        return ListParams::default();
    }
    let labels = pod_for(set).metadata.labels.unwrap_or_default();
    let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    ListParams::default().labels(&labels.join(","))
}

/// Whether nothing is done about it.
fn is_left_alone(set: &ReplicaSet, slip: Option<Slip>) -> bool {
    match slip {
        Some(Slip::IgnoresDeletion | Slip::BarsCreations) => false,
        Some(Slip::FinalizerIsGoing) => set.metadata.finalizers.is_some(),
        Some(Slip::NoLongName) if has_long_name(&set.metadata) => true,
        _ => set.metadata.deletion_timestamp.is_some(),
    }
}

/// The Pods to create, where there are so many that count.
fn new_pods(set: &ReplicaSet, there: usize, wanted: usize, slip: Option<Slip>) -> Vec<Pod> {
    let missing = match slip {
        Some(Slip::BarsCreations) if set.metadata.deletion_timestamp.is_some() => 0,
        Some(Slip::CreatesAll) if there < wanted => wanted,
        _ => wanted.saturating_sub(there),
    };
    let numbered = |n| {
        let mut pod = pod_of(set, slip);
        if slip == Some(Slip::Numbered) {
            let name = pod.metadata.generate_name.take().unwrap_or_default();
            pod.metadata.name = Some(format!("{name}{}", there + n));
        }
        pod
    };
    (0..missing).map(numbered).collect()
}

/// The Pods to delete: of all that it controls, `mine` are those that count.
fn not_needed(set: &ReplicaSet, its: Vec<Pod>, mut mine: Vec<Pod>, wanted: usize, slip: Option<Slip>) -> Vec<Pod> {
    let mut too_many = mine.len().saturating_sub(wanted);
    match slip {
        Some(Slip::NeverDeletes) => too_many = 0,
        Some(Slip::ReplacesOld) => {
            let images = |spec: Option<&PodSpec>| -> Vec<Option<String>> {
                spec.iter().flat_map(|spec| &spec.containers).map(|container| container.image.clone()).collect()
            };
            let asked = images(pod_for(set).spec.as_deref());
            return mine.into_iter().filter(|pod| images(pod.spec.as_deref()) != asked).collect();
        }
        Some(Slip::OnlyUnready) => mine.retain(|pod| !is_ready(pod)),
        Some(Slip::ChoosesFromAll) => mine.clone_from(&its),
        _ => {}
    }
    mine.sort_by_key(|pod| match slip {
        Some(Slip::RunningIsReady) => phase(pod) == "Running",
        _ => is_ready(pod) != (slip == Some(Slip::DeletesReady)),
    });
    mine.truncate(too_many);
    if slip == Some(Slip::DeletesEnded) {
        mine.extend(its.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none() && !is_active(pod)));
    }
    mine
}

/// What a status says: how many Pods, how many of them are ready, and what generation asks for them.
type Said = (i32, i32, Option<i64>);

/// What the status says.
fn written(set: &ReplicaSet) -> Said {
    let status = set.status.clone().unwrap_or_default();
    (status.replicas, status.ready_replicas.unwrap_or(0), status.observed_generation)
}

/// Whether it is written.
fn is_written(set: &ReplicaSet, status: Said, slip: Option<Slip>) -> bool {
    let (before, ready) = (written(set), status.1);
    match slip {
        Some(Slip::NoStatus) => false,
        Some(Slip::AlwaysStatus | Slip::SameStatus) => true,
        Some(Slip::NeverUnready) if ready == 0 => (before.0, before.2) != (status.0, status.2),
        Some(Slip::CountsOnly) => (before.0, before.1) != (status.0, status.1),
        _ => before != status,
    }
}

/// Writes a status.
async fn write(
    set: &ReplicaSet,
    context: &Context,
    namespace: &str,
    (replicas, ready, mut generation): Said,
    slip: Option<Slip>,
) -> Result<(), Error> {
    let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), namespace);
    let name = set.metadata.name();
    if slip == Some(Slip::LiveGeneration) {
        generation = sets.get(name).await?.metadata.generation;
    }
    let mut patch = json!({"status": {"replicas": replicas, "readyReplicas": ready, "observedGeneration": generation}});
    match slip {
        Some(Slip::WholeStatus | Slip::StaleStatus) => {
            let kept = set.status.clone().filter(|_| slip == Some(Slip::StaleStatus)).unwrap_or_default();
            let mut whole = set.clone();
            whole.metadata.resource_version = None;
            whole.status = Some(ReplicaSetStatus {
                replicas,
                ready_replicas: Some(ready),
                observed_generation: generation,
                ..kept
            });
            return sets.replace_status(name, &PostParams::default(), &whole).await.map(drop);
        }
        Some(Slip::AlwaysStatus) => {
            let message = set.metadata.resource_version.clone();
            patch["status"]["conditions"] = json!([{"type": "Synced", "status": "True", "message": message}]);
        }
        Some(Slip::PatchesStaleStatus) => {
            let kept = set.status.clone().unwrap_or_default();
            let ready_replicas = Some(ready);
            patch = json!({"status": ReplicaSetStatus { replicas, ready_replicas, observed_generation: generation, ..kept }});
        }
        Some(Slip::NeverUnready) if ready == 0 => {
            patch = json!({"status": {"replicas": replicas, "observedGeneration": generation}});
        }
        _ => {}
    }
    sets.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}

/// Whether it controls the Pod.
fn is_its(set: &ReplicaSet, pod: &Pod) -> bool {
    controller_of(&pod.metadata).map(|owner| owner.uid.as_str()) == set.metadata.uid.as_deref()
}

fn counts(set: &ReplicaSet, pod: &Pod, slip: Option<Slip>) -> bool {
    let is = |one| slip == Some(one);
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
        Some(Slip::SaysIfControlled) => {
            let mut owners = pod.metadata.owner_references.iter().flatten();
            owners.any(|owner| owner.controller.is_some() && Some(&owner.uid) == set.metadata.uid.as_ref())
        }
        Some(Slip::CountsByName) => name(&pod.metadata).starts_with(&name(&set.metadata)),
        _ => is_its(set, pod),
    };
    let active = match slip {
        Some(Slip::CountsTerminating) => is_active(&Pod { metadata: ObjectMeta::default(), ..pod.clone() }),
        Some(Slip::CountsSucceeded) if phase(pod) == "Succeeded" => pod.metadata.deletion_timestamp.is_none(),
        Some(Slip::UnknownIsEnded) => is_active(pod) && phase(pod) != "Unknown",
        Some(Slip::TerminatedIsEnded) => {
            let mut containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
            let has_terminated =
                |container: &ContainerStatus| container.state.as_ref().is_some_and(|state| state.terminated.is_some());
            is_active(pod) && !containers.any(has_terminated)
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
        Some(Slip::TwoLabels) => {
            let labels = pod.metadata.labels.take().unwrap_or_default();
            pod.metadata.labels = Some(labels.into_iter().take(2).collect());
        }
        Some(Slip::SomeFields) => {
            let whole = pod.spec.map(|spec| (*spec).clone()).unwrap_or_default();
            pod.spec = Some(PodSpec { tolerations: None, affinity: None, security_context: None, ..whole }.into());
        }
        Some(Slip::NoAnnotations) => (pod.metadata.annotations, pod.metadata.finalizers) = (None, None),
        Some(Slip::OfSet) => {
            let own = set.metadata.annotations.clone().unwrap_or_default();
            pod.metadata.annotations.get_or_insert_default().extend(own);
        }
        Some(Slip::ContainersOnly) => {
            let containers = pod.spec.map(|spec| spec.containers.clone()).unwrap_or_default();
            pod.spec = Some(PodSpec { containers, ..PodSpec::default() }.into());
        }
        _ => {}
    }
    pod
}
