//! What the controller does with a Deployment.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde_json::{Value, json};

use crate::making::all;
use controllers::deployment::revision::equal_ignoring_hash;
use exercise::deployment::{TEMPLATE_HASH, template_hash};
use exercise::host::{Host, Read};
use exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use object::Accessor;
use object::meta::{controller_of, controller_ref};

/// What becomes of a ReplicaSet that has the name of today's already.
#[derive(Clone, Copy)]
enum Taken {
    /// Nothing. It is its own, or another's.
    Nothing,
    /// It gets the number that is asked for.
    Sized,
    /// It is deleted.
    Deleted,
    /// If it has another owner, there will be one of another name.
    Avoided,
    /// Nothing, and all else is left too.
    End,
    /// That it is there is a failure.
    Failure,
}

/// How a number is written.
enum Write {
    Patch(Value),
    Whole(Box<ReplicaSet>),
}

/// Finds the ReplicaSet of today among those of a Deployment, and those with its template.
type Find = fn(&Deployment, &[Arc<ReplicaSet>], Vec<Arc<ReplicaSet>>) -> Option<Arc<ReplicaSet>>;

/// What decides.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// The namespace that is worked in.
    namespace: fn(&ObjectMeta) -> &str,
    /// Whether the API server is asked for a list.
    lists: bool,
    /// Whether a ReplicaSet is the Deployment's.
    is_mine: fn(&Deployment, &ReplicaSet) -> bool,
    /// Whether a template is that of today: by the Deployment's, and the ReplicaSet's.
    is_of_today: fn(&PodTemplateSpec, &PodTemplateSpec) -> bool,
    /// The ReplicaSet of today: of all that are its, and those that have the template.
    find: Find,
    /// Whether nothing is done about a Deployment, whose ReplicaSet is there or not.
    is_left_alone: fn(&ObjectMeta, bool) -> bool,
    /// Whether it has been done before.
    is_done: fn(&Deployment, &Context, bool) -> bool,
    /// How many Pods there should be, by the spec.
    wanted: fn(i32) -> i32,
    /// Whether no ReplicaSet is made for so many, though there is none.
    is_made: fn(&Deployment, &Context, i32) -> bool,
    /// Whether the template of one that is there is changed instead.
    in_place: bool,
    /// The one that is made.
    set: fn(&Deployment) -> ReplicaSet,
    /// What becomes of one that has its name.
    taken: Taken,
    /// What is made of a creation that fails.
    created: fn(Error) -> Result<(), Error>,
    /// Whether there is more to do when one was made.
    goes_on: bool,
    /// So many others are looked at.
    others: usize,
    /// Whether one stays as it is: whether it is that of today, or has the same template; by that of today and the number.
    stays: fn(bool, bool, Option<&ReplicaSet>, i32) -> bool,
    /// Whether others are deleted.
    deletes_others: bool,
    /// The number of one, whether it is that of today or not.
    size: fn(bool, i32) -> i32,
    /// Whether it has that already.
    is_right: fn(&ReplicaSet, i32) -> bool,
    /// How it is written; with the Deployment's template, if it is that of today.
    write: fn(&ReplicaSet, i32, Option<&PodTemplateSpec>) -> Write,
    /// What is made of a failure of that.
    resized: fn(Error) -> Result<(), Error>,
}

pub(super) const RULE: Rule = Rule {
    namespace: |meta| meta.namespace.as_deref().unwrap_or("default"),
    lists: false,
    is_mine,
    is_of_today: equal_ignoring_hash,
    find: |_, _, of_today| of_today.into_iter().min_by_key(age),
    is_left_alone: |meta, _| meta.deletion_timestamp.is_some(),
    is_done: |_, _, _| false,
    wanted: |wanted| wanted,
    is_made: |_, _, _| false,
    in_place: false,
    set: replica_set_for,
    taken: Taken::Nothing,
    created: Err,
    goes_on: true,
    others: usize::MAX,
    stays: |_, _, _, _| false,
    deletes_others: false,
    size: |is_today, wanted| if is_today { wanted } else { 0 },
    is_right: |set, size| set.spec.as_ref().and_then(|spec| spec.replicas) == Some(size),
    write: |_, size, _| Write::Patch(json!({"spec": {"replicas": size}})),
    resized: Err,
};

pub(super) fn host(read: Read, rule: Rule) -> Host {
    Host::new(read, move |deployment, context| reconcile(deployment, context, rule))
}

async fn reconcile(deployment: Arc<Deployment>, context: Arc<Context>, rule: Rule) -> Result<Action, Error> {
    let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), (rule.namespace)(&deployment.metadata));
    let mut mine = all(&sets, &context, rule.lists).await?;
    mine.retain(|set| (rule.is_mine)(&deployment, set));
    let of_today = mine.iter().filter(|set| is_of_today(rule, &deployment, set)).cloned().collect();
    let today = (rule.find)(&deployment, &mine, of_today);
    if (rule.is_left_alone)(&deployment.metadata, today.is_some())
        || (rule.is_done)(&deployment, &context, today.is_some())
    {
        return Ok(Action::await_change());
    }
    let wanted = (rule.wanted)(deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1));
    if today.is_none() && !(rule.is_made)(&deployment, &context, wanted) {
        if let Some(end) = make(&deployment, &sets, &mine, wanted, rule).await? {
            return Ok(end);
        }
        if !rule.goes_on {
            return Ok(Action::await_change());
        }
    }
    scale(&deployment, &sets, mine, today.as_deref(), wanted, rule).await?;
    Ok(Action::await_change())
}

/// Whether the ReplicaSet is that of the Deployment's template.
fn is_of_today(rule: Rule, deployment: &Deployment, set: &ReplicaSet) -> bool {
    let its = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
    let templates = deployment.spec.as_ref().map(|spec| &spec.template).zip(its);
    templates.is_some_and(|(wanted, its)| (rule.is_of_today)(wanted, its))
}

fn age(set: &Arc<ReplicaSet>) -> Option<Time> {
    set.metadata.creation_timestamp.clone()
}

/// Makes the ReplicaSet of today. Says with what the reconcile ends, if it does not go on.
async fn make(
    deployment: &Deployment,
    sets: &Api<ReplicaSet>,
    mine: &[Arc<ReplicaSet>],
    wanted: i32,
    rule: Rule,
) -> Result<Option<Action>, Error> {
    if let Some(there) = mine.first().filter(|_| rule.in_place) {
        let template = replica_set_for(deployment).spec.and_then(|spec| spec.template);
        let patch = Patch::Merge(json!({"spec": {"template": {"spec": template.and_then(|one| one.spec)}}}));
        sets.patch(there.metadata.name(), &PatchParams::default(), &patch).await?;
        return Ok(Some(Action::await_change()));
    }
    match sets.create(&PostParams::default(), &(rule.set)(deployment)).await {
        Err(error) if error.is_already_exists() => is_taken(deployment, sets, wanted, error, rule).await,
        made => made.map(drop).or_else(rule.created).map(|()| None),
    }
}

/// What it does if there is one of this name.
async fn is_taken(
    deployment: &Deployment,
    sets: &Api<ReplicaSet>,
    wanted: i32,
    error: Error,
    rule: Rule,
) -> Result<Option<Action>, Error> {
    let name = name_for(deployment);
    match rule.taken {
        Taken::Nothing => {}
        Taken::Sized => {
            let patch = Patch::Merge(json!({"spec": {"replicas": wanted}}));
            sets.patch(&name, &PatchParams::default(), &patch).await?;
        }
        Taken::Deleted => {
            sets.delete(&name, &DeleteParams::default()).await?;
            return Ok(Some(Action::requeue(Duration::from_millis(200))));
        }
        Taken::Avoided => make_beside(deployment, sets).await?,
        Taken::End => return Ok(Some(Action::await_change())),
        Taken::Failure => return Err(error),
    }
    Ok(None)
}

/// Makes the ReplicaSet of today under another name, if that which has its name has another owner.
async fn make_beside(deployment: &Deployment, sets: &Api<ReplicaSet>) -> Result<(), Error> {
    let name = name_for(deployment);
    if is_mine(deployment, &sets.get(&name).await?) {
        return Ok(());
    }
    let mut other = replica_set_for(deployment);
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
    rule: Rule,
) -> Result<(), Error> {
    let is_today = |set: &ReplicaSet| today.is_some_and(|one| one.metadata.uid == set.metadata.uid);
    if rule.others < usize::MAX {
        let (today, mut others): (Vec<_>, Vec<_>) = mine.into_iter().partition(|set| is_today(set));
        others.truncate(rule.others);
        mine = [today, others].concat();
    }
    for set in &mine {
        let is_today = is_today(set);
        if (rule.stays)(is_today, is_of_today(rule, deployment, set), today, wanted) {
            continue;
        }
        if !is_today && rule.deletes_others {
            sets.delete(set.metadata.name(), &DeleteParams::default()).await?;
            continue;
        }
        let template = deployment.spec.as_ref().map(|spec| &spec.template).filter(|_| is_today);
        resize(sets, set, (rule.size)(is_today, wanted), template, rule).await?;
    }
    Ok(())
}

/// Gives a ReplicaSet this number, if it has another; the Deployment's template is that of today.
async fn resize(
    sets: &Api<ReplicaSet>,
    set: &ReplicaSet,
    size: i32,
    of_today: Option<&PodTemplateSpec>,
    rule: Rule,
) -> Result<(), Error> {
    let name = set.metadata.name();
    if (rule.is_right)(set, size) {
        return Ok(());
    }
    let resized = match (rule.write)(set, size, of_today) {
        Write::Patch(patch) => sets.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await,
        Write::Whole(whole) => sets.replace(name, &PostParams::default(), &whole).await,
    };
    resized.map(drop).or_else(rule.resized)
}

fn name_for(deployment: &Deployment) -> String {
    replica_set_for(deployment).metadata.name.unwrap_or_default()
}

fn is_owner(owner: &OwnerReference, deployment: &Deployment) -> bool {
    Some(&owner.uid) == deployment.metadata.uid.as_ref()
}

fn is_mine(deployment: &Deployment, set: &ReplicaSet) -> bool {
    controller_of(&set.metadata).is_some_and(|owner| is_owner(owner, deployment))
}

fn replica_set_for(deployment: &Deployment) -> ReplicaSet {
    let spec = deployment.spec.clone().unwrap_or_default();
    let (mut template, mut selector) = (spec.template, spec.selector);
    let hash = template_hash(&template);
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.insert(TEMPLATE_HASH.to_owned(), hash.clone());
    selector.match_labels.get_or_insert_default().insert(TEMPLATE_HASH.to_owned(), hash.clone());
    let metadata = ObjectMeta {
        name: Some(format!("{}-{hash}", deployment.metadata.name())),
        labels: Some(labels.clone()),
        owner_references: Some(vec![controller_ref(deployment)]),
        ..ObjectMeta::default()
    };
    let spec =
        ReplicaSetSpec { replicas: spec.replicas, selector, template: Some(template), ..ReplicaSetSpec::default() };
    ReplicaSet { metadata, spec: Some(spec), status: None }
}

mod mistakes;
pub(super) use mistakes::MISTAKES;
