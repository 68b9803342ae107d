//! Exercise 08: which ReplicaSet is a Deployment's, and who makes it. Mirrors `getNewReplicaSet` of the real one, and
//! `Recreate` without its patience: that a rollout goes step by step is the next exercise.
//!
//! Left out: hash collisions, revisions, conditions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::json;

use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario, slip};
use super::{Exercise, Judging};
use crate::controllers::deployment::revision::equal_ignoring_hash;
use crate::exercise::deployment::{TEMPLATE_HASH, template_hash};
use crate::exercise::host::{Host, Read};
use crate::exercise::kube::{Action, Api, Context, DeleteParams, Error, ListParams, Patch, PatchParams, PostParams};
use crate::object::Kind;
use crate::object::meta::{controller_of, controller_ref};

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
    ],
};

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
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
}

fn host(read: Read, slip: Option<Slip>) -> Host {
    Host::new(read, move |deployment, context| reconcile(deployment, context, slip))
}

/// The rule, with at most one part of it wrong.
async fn reconcile(deployment: Arc<Deployment>, context: Arc<Context>, slip: Option<Slip>) -> Result<Action, Error> {
    let is = |one| slip == Some(one);
    let namespace = deployment.metadata.namespace.as_deref().filter(|_| !is(Slip::InDefault)).unwrap_or("default");
    let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), namespace);
    let mut mine = match is(Slip::Lists) {
        true => sets.list(&ListParams::default()).await?.into_iter().map(Arc::new).collect(),
        false => context.store::<ReplicaSet>().state(),
    };
    mine.retain(|set| is_mine(&deployment, set, slip));
    let of_today = find(&deployment, &mine, slip);
    let is_going = deployment.metadata.deletion_timestamp.is_some() && !is(Slip::IgnoresDeletion);
    if is_going && (of_today.is_none() || !is(Slip::SizesGoing)) {
        return Ok(Action::await_change());
    }
    if is(Slip::OncePerChange) && has_seen(&deployment, &context, of_today.is_some()) {
        return Ok(Action::await_change());
    }
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let wanted = if let Some(Slip::AtMost(most)) = slip { wanted.min(most) } else { wanted };
    match (&of_today, mine.first()) {
        (Some(_), _) => {}
        (None, _) if is(Slip::NoneForNone) && wanted == 0 => {}
        (None, _) if is(Slip::RemembersMade) && has_made(&deployment, &context) => {}
        (None, Some(there)) if is(Slip::InPlace) => {
            let template = replica_set_for(&deployment, None).spec.and_then(|spec| spec.template);
            let patch = Patch::Merge(json!({"spec": {"template": {"spec": template.and_then(|one| one.spec)}}}));
            let name = there.metadata.name.as_deref().unwrap_or_default();
            sets.patch(name, &PatchParams::default(), &patch).await?;
            return Ok(Action::await_change());
        }
        _ => match sets.create(&PostParams::default(), &replica_set_for(&deployment, slip)).await {
            Err(error) if error.is_already_exists() && is(Slip::TakesNamed) => {
                let patch = Patch::Merge(json!({"spec": {"replicas": wanted}}));
                sets.patch(&name_for(&deployment), &PatchParams::default(), &patch).await?;
            }
            Err(error) if error.is_already_exists() && is(Slip::DeletesNamed) => {
                sets.delete(&name_for(&deployment), &DeleteParams::default()).await?;
                return Ok(Action::requeue(Duration::from_millis(200)));
            }
            Err(error) if error.is_already_exists() && is(Slip::OtherName) => make_beside(&deployment, &sets).await?,
            Err(error) if error.is_already_exists() && is(Slip::StopsIfTaken) => return Ok(Action::await_change()),
            Err(error) if error.is_already_exists() && is(Slip::ExistsIsFailure) => return Err(error),
            Err(error) if !error.is_already_exists() && !is(Slip::SwallowsErrors) => return Err(error),
            _ => {}
        },
    }
    if of_today.is_none() && is(Slip::StopsAfterMaking) {
        return Ok(Action::await_change());
    }
    let is_of_today = |set: &ReplicaSet| of_today.as_ref().is_some_and(|one| one.metadata.uid == set.metadata.uid);
    if let Some(Slip::FewOthers(most)) = slip {
        let (today, mut others): (Vec<_>, Vec<_>) = mine.into_iter().partition(|set| is_of_today(set));
        others.truncate(most);
        mine = [today, others].concat();
    }
    for set in &mine {
        let is_of_today = is_of_today(set);
        if is_of_today && is(Slip::NoFollow) || !is_of_today && is(Slip::OthersStay) {
            continue;
        }
        if !is_of_today && is(Slip::DeletesOthers) {
            sets.delete(set.metadata.name.as_deref().unwrap_or_default(), &DeleteParams::default()).await?;
            continue;
        }
        if !is_of_today && is(Slip::TwinsStay) && self::is_of_today(&deployment, set, slip) {
            continue;
        }
        if !is_of_today && is(Slip::OthersStayForNone) && wanted == 0 {
            continue;
        }
        if !is_of_today && is(Slip::Waits) && of_today.as_ref().map_or(0, pods) < wanted {
            continue;
        }
        let size = if is_of_today || is(Slip::AllAlike) { wanted } else { 0 };
        let is_other = match slip {
            Some(Slip::AlwaysSize) => true,
            Some(Slip::ByStatus) => pods(set) != size,
            _ => set.spec.as_ref().and_then(|spec| spec.replicas) != Some(size),
        };
        if is_other && is(Slip::Overwrites) {
            let name = set.metadata.name.as_deref().unwrap_or_default();
            sets.replace(name, &PostParams::default(), &sized(set, size)).await?;
        } else if is_other {
            let patch = match slip {
                Some(Slip::PatchesAll) => json!(sized(set, size)),
                Some(Slip::SendsTemplate) => {
                    let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
                    json!({"spec": {"replicas": size, "template": template}})
                }
                Some(Slip::SendsOwnTemplate) if is_of_today => {
                    let template = deployment.spec.as_ref().map(|spec| &spec.template);
                    json!({"spec": {"replicas": size, "template": template}})
                }
                _ => json!({"spec": {"replicas": size}}),
            };
            let patch = Patch::Merge(patch);
            let name = set.metadata.name.as_deref().unwrap_or_default();
            match sets.patch(name, &PatchParams::default(), &patch).await {
                Err(error) if !is(Slip::SwallowsErrors) => return Err(error),
                _ => {}
            }
        }
    }
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
fn pods(set: &Arc<ReplicaSet>) -> i32 {
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

/// Whether the ReplicaSet is that of the Deployment's template.
fn is_of_today(deployment: &Deployment, set: &ReplicaSet, slip: Option<Slip>) -> bool {
    let its = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
    let templates = deployment.spec.as_ref().map(|spec| &spec.template).zip(its);
    templates.is_some_and(|(wanted, its)| match slip {
        Some(Slip::ImagesOnly) => images(wanted) == images(its),
        Some(Slip::SomeFields) => equal_ignoring_hash(&some_fields(wanted), &some_fields(its)),
        Some(Slip::SpecOnly) => wanted.spec == its.spec,
        Some(Slip::IgnoresAnnotations) => equal_ignoring_hash(&plain(wanted), &plain(its)),
        Some(Slip::ContainersOnly) => equal_ignoring_hash(&bare(wanted), &bare(its)),
        Some(Slip::LabelsWithin) => {
            let mut less = its.clone();
            let wanted_labels = wanted.metadata.clone().unwrap_or_default().labels.unwrap_or_default();
            if let Some(labels) = less.metadata.get_or_insert_default().labels.as_mut() {
                labels.retain(|key, _| wanted_labels.contains_key(key));
            }
            equal_ignoring_hash(wanted, &less)
        }
        Some(Slip::LabelNames) => {
            let labels = |template: &PodTemplateSpec| template.metadata.clone().unwrap_or_default().labels;
            let mut alike = its.clone();
            let names =
                |template| labels(template).unwrap_or_default().into_keys().filter(|name| name != TEMPLATE_HASH);
            if names(wanted).eq(names(its)) {
                alike.metadata.get_or_insert_default().labels = labels(wanted);
            }
            equal_ignoring_hash(wanted, &alike)
        }
        Some(Slip::KeepsOwnHash) => {
            let has_hash = |meta: &ObjectMeta| meta.labels.iter().flatten().any(|(name, _)| name == TEMPLATE_HASH);
            !wanted.metadata.as_ref().is_some_and(has_hash) && equal_ignoring_hash(wanted, its)
        }
        _ => equal_ignoring_hash(wanted, its),
    })
}

/// A template with nothing but its metadata and containers.
fn bare(template: &PodTemplateSpec) -> PodTemplateSpec {
    let containers = template.spec.iter().flat_map(|spec| spec.containers.clone()).collect();
    let spec = PodSpec { containers, ..PodSpec::default() };
    PodTemplateSpec { metadata: template.metadata.clone(), spec: Some(spec) }
}

/// A template without annotations.
fn plain(template: &PodTemplateSpec) -> PodTemplateSpec {
    let mut template = template.clone();
    template.metadata.get_or_insert_default().annotations = None;
    template
}

/// A template with what people change most often, and nothing else.
fn some_fields(template: &PodTemplateSpec) -> PodTemplateSpec {
    let spec = template.spec.clone().unwrap_or_default();
    let containers = spec.containers.into_iter().map(|one| Container {
        name: one.name,
        image: one.image,
        command: one.command,
        args: one.args,
        env: one.env,
        ..Container::default()
    });
    let spec = PodSpec {
        containers: containers.collect(),
        node_selector: spec.node_selector,
        termination_grace_period_seconds: spec.termination_grace_period_seconds,
        ..PodSpec::default()
    };
    PodTemplateSpec { metadata: template.metadata.clone(), spec: Some(spec) }
}

fn images(template: &PodTemplateSpec) -> Vec<Option<&String>> {
    let containers = template.spec.iter().flat_map(|spec| &spec.containers);
    containers.map(|container| container.image.as_ref()).collect()
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
    let name = deployment.metadata.name.clone().unwrap_or_default();
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::lab::reconcile::check("deployment", &super::PLAN);
    }
}
