//! What the controller does with a Deployment, and what learners do instead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::json;

use super::templates::is_of_today;
use crate::exercise::deployment::{TEMPLATE_HASH, template_hash};
use crate::exercise::host::{Host, Read};
use crate::exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use crate::lab::making::{all, has_long_name};
use crate::object::Accessor;
use crate::object::meta::{controller_of, controller_ref};

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
    RandomName,
    NoOwner,
    NotController,
    NoHash,
    ByLabels,
    Newest,
    ImagesOnly,
    InPlace,
    OthersStay,
    AllAlike,
    NoFollow,
    AlwaysSize,
    IgnoresDeletion,
    SwallowsErrors,
    InDefault,
    OwnerByName,
    AnyOwner,
    NoOwnHash,
    TakesNamed,
    DeletesNamed,
    ContainersOnly,
    LabelsWithin,
    Waits,
    ByStatus,
    AllLabels,
    Overwrites,
    SizesGoing,
    NoneForNone,
    ByName,
    NotOldest,
    FewOthers(usize),
    OncePerChange,
    OfNobody,
    LabelNames,
    AtMost(i32),
    LastOwner,
    HashBesideLabels,
    KeepsOwnHash,
    OthersStayForNone,
    PatchesAll,
    RemembersMade,
    LabelsOfSelector,
    LabelsOfDeployment,
    ExistsIsFailure,
    StopsIfTaken,
    StopsAfterMaking,
    CopiedHash,
    SomeFields,
    Fullest,
    OtherName,
    SpecOnly,
    IgnoresAnnotations,
    DeletesOthers,
    Lists,
    SendsTemplate,
    SendsOwnTemplate,
    TwinsStay,
    SomeMetadata,
    NoLongName,
    CutsName,
}

pub(super) fn host(read: Read, slip: Option<Slip>) -> Host {
    Host::new(read, move |deployment, context| reconcile(deployment, context, slip))
}

/// The rule, with at most one part of it wrong.
async fn reconcile(deployment: Arc<Deployment>, context: Arc<Context>, slip: Option<Slip>) -> Result<Action, Error> {
    let is = |one| slip == Some(one);
    let namespace = deployment.metadata.namespace.as_deref().filter(|_| !is(Slip::InDefault)).unwrap_or("default");
    let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), namespace);
    let mut mine = all(&sets, &context, is(Slip::Lists)).await?;
    mine.retain(|set| is_mine(&deployment, set, slip));
    let today = find(&deployment, &mine, slip);
    let is_going = deployment.metadata.deletion_timestamp.is_some() && !is(Slip::IgnoresDeletion);
    let is_passed_over = is(Slip::NoLongName) && has_long_name(&deployment.metadata);
    if is_passed_over || is_going && (today.is_none() || !is(Slip::SizesGoing)) {
        return Ok(Action::await_change());
    }
    if is(Slip::OncePerChange) && has_seen(&deployment, &context, today.is_some()) {
        return Ok(Action::await_change());
    }
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let wanted = if let Some(Slip::AtMost(most)) = slip { wanted.min(most) } else { wanted };
    let is_done = || is(Slip::NoneForNone) && wanted == 0 || is(Slip::RemembersMade) && has_made(&deployment, &context);
    if today.is_none()
        && !is_done()
        && let Some(end) = make(&deployment, &sets, &mine, wanted, slip).await?
    {
        return Ok(end);
    }
    if today.is_none() && is(Slip::StopsAfterMaking) {
        return Ok(Action::await_change());
    }
    scale(&deployment, &sets, mine, today.as_deref(), wanted, slip).await?;
    Ok(Action::await_change())
}

/// The ReplicaSet of today.
fn find(deployment: &Deployment, mine: &[Arc<ReplicaSet>], slip: Option<Slip>) -> Option<Arc<ReplicaSet>> {
    let age = |set: &&Arc<ReplicaSet>| set.metadata.creation_timestamp.clone();
    let of_today = mine.iter().filter(|set| is_of_today(deployment, set, slip));
    match slip {
        Some(Slip::Newest) => mine.iter().max_by_key(age),
        Some(Slip::NotOldest) => of_today.max_by_key(age),
        Some(Slip::Fullest) => {
            let is_empty = |set: &Arc<ReplicaSet>| set.spec.as_ref().and_then(|spec| spec.replicas) == Some(0);
            of_today.min_by_key(|set| (is_empty(set), age(set)))
        }
        Some(Slip::ByName) => {
            let name = name_for(deployment);
            mine.iter().find(|set| set.metadata.name.as_ref() == Some(&name))
        }
        _ => of_today.min_by_key(age),
    }
    .cloned()
}

/// Makes the ReplicaSet of today. Says with what the reconcile ends, if it does not go on.
async fn make(
    deployment: &Deployment,
    sets: &Api<ReplicaSet>,
    mine: &[Arc<ReplicaSet>],
    wanted: i32,
    slip: Option<Slip>,
) -> Result<Option<Action>, Error> {
    if let Some(there) = mine.first().filter(|_| slip == Some(Slip::InPlace)) {
        let template = replica_set_for(deployment, None).spec.and_then(|spec| spec.template);
        let patch = Patch::Merge(json!({"spec": {"template": {"spec": template.and_then(|one| one.spec)}}}));
        let name = there.metadata.name();
        sets.patch(name, &PatchParams::default(), &patch).await?;
        return Ok(Some(Action::await_change()));
    }
    match sets.create(&PostParams::default(), &replica_set_for(deployment, slip)).await {
        Err(error) if error.is_already_exists() => is_taken(deployment, sets, wanted, error, slip).await,
        Err(error) if slip != Some(Slip::SwallowsErrors) => Err(error),
        _ => Ok(None),
    }
}

/// What it does if there is one of this name: nothing. It is its own, or another's.
async fn is_taken(
    deployment: &Deployment,
    sets: &Api<ReplicaSet>,
    wanted: i32,
    error: Error,
    slip: Option<Slip>,
) -> Result<Option<Action>, Error> {
    match slip {
        Some(Slip::TakesNamed) => {
            let patch = Patch::Merge(json!({"spec": {"replicas": wanted}}));
            sets.patch(&name_for(deployment), &PatchParams::default(), &patch).await?;
        }
        Some(Slip::DeletesNamed) => {
            sets.delete(&name_for(deployment), &DeleteParams::default()).await?;
            return Ok(Some(Action::requeue(Duration::from_millis(200))));
        }
        Some(Slip::OtherName) => make_beside(deployment, sets).await?,
        Some(Slip::StopsIfTaken) => return Ok(Some(Action::await_change())),
        Some(Slip::ExistsIsFailure) => return Err(error),
        _ => {}
    }
    Ok(None)
}

/// Makes the ReplicaSet of today under another name, if that which has its name is somebody else's.
async fn make_beside(deployment: &Deployment, sets: &Api<ReplicaSet>) -> Result<(), Error> {
    let name = name_for(deployment);
    if is_mine(deployment, &sets.get(&name).await?, None) {
        return Ok(());
    }
    let mut other = replica_set_for(deployment, None);
    other.metadata.name = Some(format!("{name}1"));
    match sets.create(&PostParams::default(), &other).await {
        Err(error) if !error.is_already_exists() => Err(error),
        _ => Ok(()),
    }
}

/// Gives the ReplicaSet of today the number that is asked for, and all others none.
async fn scale(
    deployment: &Deployment,
    sets: &Api<ReplicaSet>,
    mut mine: Vec<Arc<ReplicaSet>>,
    today: Option<&ReplicaSet>,
    wanted: i32,
    slip: Option<Slip>,
) -> Result<(), Error> {
    let is_today = |set: &ReplicaSet| today.is_some_and(|one| one.metadata.uid == set.metadata.uid);
    if let Some(Slip::FewOthers(most)) = slip {
        let (today, mut others): (Vec<_>, Vec<_>) = mine.into_iter().partition(|set| is_today(set));
        others.truncate(most);
        mine = [today, others].concat();
    }
    for set in &mine {
        let is_today = is_today(set);
        let stays = match slip {
            Some(Slip::NoFollow) => is_today,
            _ if is_today => false,
            Some(Slip::OthersStay) => true,
            Some(Slip::TwinsStay) => is_of_today(deployment, set, slip),
            Some(Slip::OthersStayForNone) => wanted == 0,
            Some(Slip::Waits) => today.map_or(0, pods) < wanted,
            _ => false,
        };
        if stays {
            continue;
        }
        if !is_today && slip == Some(Slip::DeletesOthers) {
            sets.delete(set.metadata.name(), &DeleteParams::default()).await?;
            continue;
        }
        let size = if is_today || slip == Some(Slip::AllAlike) { wanted } else { 0 };
        let template = deployment.spec.as_ref().map(|spec| &spec.template).filter(|_| is_today);
        resize(sets, set, size, template, slip).await?;
    }
    Ok(())
}

/// Gives a ReplicaSet this number, if it has another; the Deployment's template is that of today.
async fn resize(
    sets: &Api<ReplicaSet>,
    set: &ReplicaSet,
    size: i32,
    of_today: Option<&PodTemplateSpec>,
    slip: Option<Slip>,
) -> Result<(), Error> {
    let name = set.metadata.name();
    let is_right = match slip {
        Some(Slip::AlwaysSize) => false,
        Some(Slip::ByStatus) => pods(set) == size,
        _ => set.spec.as_ref().and_then(|spec| spec.replicas) == Some(size),
    };
    if is_right {
        return Ok(());
    }
    let patch = match slip {
        Some(Slip::Overwrites) => {
            return sets.replace(name, &PostParams::default(), &sized(set, size)).await.map(drop);
        }
        Some(Slip::PatchesAll) => json!(sized(set, size)),
        Some(Slip::SendsTemplate) => {
            let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
            json!({"spec": {"replicas": size, "template": template}})
        }
        Some(Slip::SendsOwnTemplate) if of_today.is_some() => {
            json!({"spec": {"replicas": size, "template": of_today}})
        }
        _ => json!({"spec": {"replicas": size}}),
    };
    match sets.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await {
        Err(error) if slip != Some(Slip::SwallowsErrors) => Err(error),
        _ => Ok(()),
    }
}

/// Whether it remembers that it has looked at the Deployment as it is now. It remembers that once its ReplicaSet is there.
fn has_seen(deployment: &Deployment, context: &Context, is_there: bool) -> bool {
    let mut seen: BTreeMap<String, Option<i64>> = context.remembered();
    let generation = deployment.metadata.generation;
    let before = seen.insert(deployment.metadata.uid.clone().unwrap_or_default(), generation);
    if is_there {
        context.remember(&seen);
    }
    before == Some(generation)
}

/// Whether it remembers that it has made the ReplicaSet of today's template. From now on it does.
fn has_made(deployment: &Deployment, context: &Context) -> bool {
    let mut made: BTreeSet<String> = context.remembered();
    let is_new = made.insert(name_for(deployment));
    context.remember(&made);
    !is_new
}

/// All that the cache knows of it, with another number.
fn sized(set: &ReplicaSet, size: i32) -> ReplicaSet {
    let mut whole = set.clone();
    whole.metadata.resource_version = None;
    whole.spec.get_or_insert_default().replicas = Some(size);
    whole
}

/// How many Pods it has.
fn pods(set: &ReplicaSet) -> i32 {
    set.status.as_ref().map_or(0, |status| status.replicas)
}

fn name_for(deployment: &Deployment) -> String {
    replica_set_for(deployment, None).metadata.name.unwrap_or_default()
}

fn is_mine(deployment: &Deployment, set: &ReplicaSet, slip: Option<Slip>) -> bool {
    let has_labels = || {
        let wanted = deployment.spec.as_ref().and_then(|spec| spec.selector.match_labels.as_ref());
        let labels = set.metadata.labels.clone().unwrap_or_default();
        wanted.into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value))
    };
    let is_near = || set.metadata.namespace == deployment.metadata.namespace;
    let is_it = |owner: &OwnerReference| match slip {
        Some(Slip::OwnerByName) => Some(&owner.name) == deployment.metadata.name.as_ref(),
        _ => Some(&owner.uid) == deployment.metadata.uid.as_ref(),
    };
    match (slip, controller_of(&set.metadata)) {
        (Some(Slip::ByLabels), _) => has_labels(),
        (Some(Slip::OfNobody), None) => is_near() && has_labels(),
        (Some(Slip::AnyOwner), _) => set.metadata.owner_references.iter().flatten().any(is_it),
        (Some(Slip::LastOwner), _) => {
            let last = set.metadata.owner_references.iter().flatten().last();
            last.is_some_and(|last| last.controller == Some(true) && is_it(last))
        }
        (_, controller) => controller.is_some_and(is_it),
    }
}

fn replica_set_for(deployment: &Deployment, slip: Option<Slip>) -> ReplicaSet {
    let is = |one| slip == Some(one);
    let spec = deployment.spec.clone().unwrap_or_default();
    let (mut template, mut selector) = (spec.template, spec.selector);
    let mut hash = template_hash(&template);
    if is(Slip::SomeMetadata) {
        template.metadata.get_or_insert_default().finalizers = None;
    }
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    let named = hash.clone();
    if is(Slip::CopiedHash) {
        hash = labels.get(TEMPLATE_HASH).cloned().unwrap_or(hash);
    }
    if !is(Slip::NoHash) {
        labels.insert(TEMPLATE_HASH.to_owned(), hash.clone());
        if selector.match_labels.is_some() || !is(Slip::HashBesideLabels) {
            selector.match_labels.get_or_insert_default().insert(TEMPLATE_HASH.to_owned(), hash.clone());
        }
    }
    if is(Slip::AllLabels) {
        selector.match_labels = Some(labels.clone());
    }
    let mut name = deployment.metadata.name.clone().unwrap_or_default();
    if is(Slip::CutsName) {
        name.truncate(16);
    }
    let mut controller = controller_ref(deployment);
    if is(Slip::NotController) {
        controller.controller = None;
    }
    let mut own_labels = match slip {
        Some(Slip::LabelsOfSelector) => selector.match_labels.clone().unwrap_or_default(),
        _ => labels.clone(),
    };
    if is(Slip::LabelsOfDeployment) {
        own_labels.extend(deployment.metadata.labels.clone().unwrap_or_default());
    }
    if is(Slip::NoOwnHash) {
        own_labels.remove(TEMPLATE_HASH);
    }
    let metadata = ObjectMeta {
        name: (!is(Slip::RandomName)).then(|| format!("{name}-{named}")),
        generate_name: is(Slip::RandomName).then(|| format!("{name}-")),
        labels: Some(own_labels),
        owner_references: (!is(Slip::NoOwner)).then(|| vec![controller]),
        ..ObjectMeta::default()
    };
    let spec =
        ReplicaSetSpec { replicas: spec.replicas, selector, template: Some(template), ..ReplicaSetSpec::default() };
    ReplicaSet { metadata, spec: Some(spec), status: None }
}
