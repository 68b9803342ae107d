//! Exercise 8: which ReplicaSet is a Deployment's, and who makes it. Mirrors `getNewReplicaSet` of the real one, and
//! `Recreate` without its patience: that a rollout goes step by step is the next exercise.
//!
//! Left out: hash collisions, revisions, conditions.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::json;

use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario, slip};
use super::{Exercise, Judging};
use crate::controllers::deployment::revision::equal_ignoring_hash;
use crate::exercise::deployment::{TEMPLATE_HASH, template_hash};
use crate::exercise::host::{Host, Read};
use crate::exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use crate::object::Kind;
use crate::object::meta::{controller_of, controller_ref};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "08_deployment",
    title: "How does a Deployment find its ReplicaSet?",
    outcome: "say why names that follow from what is wanted make a controller safe on a cache that is behind",
    needs: &["replicaset", "expectations"],
    hints: [
        "A Deployment has one ReplicaSet for each template that it ever had. How do you see which one belongs to the \
         template of today, and what is the one thing that differs in its template?",
        "Among the ReplicaSets that the Deployment controls, look for the one whose template is the Deployment's when the \
         label pod-template-hash is left out. If there is none, create it. It gets its name from the hash of the template: \
         whoever is called twice makes the same one twice, and the API server refuses the second.",
        "Create it with name NAME-HASH, the hash as the label pod-template-hash in its own labels, in spec.selector.\
         matchLabels and in the template's labels, an owner reference with controller: true, and the number of replicas. \
         is_already_exists() is no failure: your cache is behind. Then give every ReplicaSet of yours whose number is \
         another the right one with a patch of spec.replicas: the Deployment's number, or 0.",
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
        scenario!("deployment", "again"),
        scenario!("deployment", "templates"),
        scenario!("deployment", "no-pods"),
        scenario!("deployment", "deleted"),
        scenario!("deployment", "one-call-fails"),
        scenario!("deployment", "broken-calls"),
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
}

fn host(read: Read, slip: Option<Slip>) -> Host {
    Host::new(read, move |deployment, context| reconcile(deployment, context, slip))
}

/// The rule, with at most one part of it wrong.
async fn reconcile(deployment: Arc<Deployment>, context: Arc<Context>, slip: Option<Slip>) -> Result<Action, Error> {
    let is = |one| slip == Some(one);
    let namespace = deployment.metadata.namespace.as_deref().filter(|_| !is(Slip::InDefault)).unwrap_or("default");
    let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), namespace);
    let mut mine = context.store::<ReplicaSet>().state();
    mine.retain(|set| is_mine(&deployment, set, slip));
    let of_today = match slip {
        Some(Slip::Newest) => mine.iter().max_by_key(|set| set.metadata.creation_timestamp.clone()),
        _ => mine.iter().find(|set| is_of_today(&deployment, set, slip)),
    };
    let of_today = of_today.cloned();
    let is_going = deployment.metadata.deletion_timestamp.is_some() && !is(Slip::IgnoresDeletion);
    if is_going && (of_today.is_none() || !is(Slip::SizesGoing)) {
        return Ok(Action::await_change());
    }
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    match (&of_today, mine.first()) {
        (Some(_), _) => {}
        (None, _) if is(Slip::NoneForNone) && wanted == 0 => {}
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
            Err(error) if !error.is_already_exists() && !is(Slip::SwallowsErrors) => return Err(error),
            _ => {}
        },
    }
    for set in &mine {
        let is_of_today = of_today.as_ref().is_some_and(|one| one.metadata.uid == set.metadata.uid);
        if is_of_today && is(Slip::NoFollow) || !is_of_today && is(Slip::OthersStay) {
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
            let mut whole = ReplicaSet::clone(set);
            whole.metadata.resource_version = None;
            whole.spec.get_or_insert_default().replicas = Some(size);
            sets.replace(set.metadata.name.as_deref().unwrap_or_default(), &PostParams::default(), &whole).await?;
        } else if is_other {
            let patch = Patch::Merge(json!({"spec": {"replicas": size}}));
            let name = set.metadata.name.as_deref().unwrap_or_default();
            match sets.patch(name, &PatchParams::default(), &patch).await {
                Err(error) if !is(Slip::SwallowsErrors) => return Err(error),
                _ => {}
            }
        }
    }
    Ok(Action::await_change())
}

/// How many Pods it has.
fn pods(set: &Arc<ReplicaSet>) -> i32 {
    set.status.as_ref().map_or(0, |status| status.replicas)
}

fn name_for(deployment: &Deployment) -> String {
    replica_set_for(deployment, None).metadata.name.unwrap_or_default()
}

fn is_mine(deployment: &Deployment, set: &ReplicaSet, slip: Option<Slip>) -> bool {
    if slip == Some(Slip::ByLabels) {
        let wanted = deployment.spec.as_ref().and_then(|spec| spec.selector.match_labels.as_ref());
        let labels = set.metadata.labels.clone().unwrap_or_default();
        return wanted.into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    }
    let is_it = |owner: &OwnerReference| match slip {
        Some(Slip::OwnerByName) => Some(&owner.name) == deployment.metadata.name.as_ref(),
        _ => Some(&owner.uid) == deployment.metadata.uid.as_ref(),
    };
    match slip {
        Some(Slip::AnyOwner) => set.metadata.owner_references.iter().flatten().any(is_it),
        _ => controller_of(&set.metadata).is_some_and(is_it),
    }
}

/// Whether the ReplicaSet is that of the Deployment's template.
fn is_of_today(deployment: &Deployment, set: &ReplicaSet, slip: Option<Slip>) -> bool {
    let its = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
    let templates = deployment.spec.as_ref().map(|spec| &spec.template).zip(its);
    templates.is_some_and(|(wanted, its)| match slip {
        Some(Slip::ImagesOnly) => images(wanted) == images(its),
        Some(Slip::ContainersOnly) => equal_ignoring_hash(&bare(wanted), &bare(its)),
        Some(Slip::LabelsWithin) => {
            let mut less = its.clone();
            let wanted_labels = wanted.metadata.clone().unwrap_or_default().labels.unwrap_or_default();
            if let Some(labels) = less.metadata.get_or_insert_default().labels.as_mut() {
                labels.retain(|key, _| wanted_labels.contains_key(key));
            }
            equal_ignoring_hash(wanted, &less)
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

fn images(template: &PodTemplateSpec) -> Vec<Option<&String>> {
    let containers = template.spec.iter().flat_map(|spec| &spec.containers);
    containers.map(|container| container.image.as_ref()).collect()
}

fn replica_set_for(deployment: &Deployment, slip: Option<Slip>) -> ReplicaSet {
    let is = |one| slip == Some(one);
    let spec = deployment.spec.clone().unwrap_or_default();
    let (mut template, mut selector) = (spec.template, spec.selector);
    let hash = template_hash(&template);
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    if !is(Slip::NoHash) {
        labels.insert(TEMPLATE_HASH.to_owned(), hash.clone());
        selector.match_labels.get_or_insert_default().insert(TEMPLATE_HASH.to_owned(), hash.clone());
    }
    if is(Slip::AllLabels) {
        selector.match_labels = Some(labels.clone());
    }
    let name = deployment.metadata.name.clone().unwrap_or_default();
    let mut controller = controller_ref(deployment);
    if is(Slip::NotController) {
        controller.controller = None;
    }
    let mut own_labels = labels.clone();
    if is(Slip::NoOwnHash) {
        own_labels.remove(TEMPLATE_HASH);
    }
    let metadata = ObjectMeta {
        name: (!is(Slip::RandomName)).then(|| format!("{name}-{hash}")),
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
