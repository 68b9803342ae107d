//! What the controller does with a ReplicaSet.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use crate::making::pod_for;
use controllers::pods::is_active;
use exercise::host::{Host, Read};
use exercise::kube::{Action, Api, Context, DeleteParams, Error, ListParams, Patch, PatchParams, PostParams};
use object::meta::controller_of;
use object::pod::is_ready;
use object::{Accessor, Pod};

/// What a status says: how many Pods, how many of them are ready, and what generation asks for them.
type Said = (i32, i32, Option<i64>);

/// How a status is written.
enum Write {
    Patch(Value),
    Whole(Box<ReplicaSet>),
}

/// Where the Pods to delete are chosen from.
#[derive(Clone, Copy)]
enum Victims {
    /// Among those that were listed.
    Listed,
    /// Among those of the cache.
    Cached,
    /// There too, and it says how many are too many.
    CachedAndCounted,
}

/// What decides.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// Whether nothing is done about a ReplicaSet.
    is_left_alone: fn(&ObjectMeta) -> bool,
    /// The namespace that is worked in.
    namespace: fn(&ObjectMeta) -> &str,
    /// Which Pods are asked for; none: those of the cache are looked at.
    listed: fn(&ReplicaSet) -> Option<ListParams>,
    /// Which of them count.
    counts: fn(&ReplicaSet, &Pod) -> bool,
    /// How many there should be, by the spec and by how many there are.
    wanted: fn(usize, usize) -> usize,
    /// Whether nothing is done where there should be so many.
    is_nothing: fn(usize) -> bool,
    /// How many are created, of those that are there and those that should be.
    missing: fn(&ReplicaSet, usize, usize) -> usize,
    /// The Pod of this number.
    pod: fn(&ReplicaSet, usize) -> Pod,
    /// What is made of a creation that fails.
    created: fn(Error) -> Result<(), Error>,
    /// The Pods among which those to delete are chosen.
    victims: Victims,
    /// Those that are deleted: of all that it controls and those that count, where so many are too many.
    not_needed: fn(&ReplicaSet, &[Pod], Vec<Pod>, usize) -> Vec<Pod>,
    /// The namespace in which they are.
    deletes_in: fn(&str) -> &str,
    /// What is made of a deletion that fails.
    deleted: fn(Error) -> Result<(), Error>,
    /// Which Pods the status counts: of all that it controls, and of those that count.
    seen: for<'a> fn(&'a [Pod], &'a [Pod]) -> &'a [Pod],
    /// How many it says that there are, of those that should be and those that are.
    count: fn(usize, usize) -> usize,
    /// How many it says that are ready.
    ready: fn(usize) -> usize,
    /// Whether it is written before anything is done, too.
    writes_first: bool,
    /// Whether a failure keeps it from being written.
    fails_first: bool,
    /// Whether it is written, by what it says and what it should say.
    is_written: fn(Said, Said) -> bool,
    /// Whether the generation is read again.
    reads_generation: bool,
    /// How it is written.
    write: fn(&ReplicaSet, Said) -> Write,
    /// What is made of a failure of that.
    written: fn(Error) -> Result<(), Error>,
}

pub(super) const RULE: Rule = Rule {
    is_left_alone: |meta| meta.deletion_timestamp.is_some(),
    namespace: |meta| meta.namespace.as_deref().unwrap_or("default"),
    listed: |_| Some(ListParams::default()),
    counts,
    wanted: |wanted, _| wanted,
    is_nothing: |_| false,
    missing: |_, there, wanted| wanted.saturating_sub(there),
    pod: |set, _| pod_for(set),
    created: Err,
    victims: Victims::Listed,
    not_needed,
    deletes_in: |namespace| namespace,
    deleted: |error| if error.is_not_found() { Ok(()) } else { Err(error) },
    seen: |_, mine| mine,
    count: |_, there| there,
    ready: |ready| ready,
    writes_first: false,
    fails_first: false,
    is_written: |before, now| before != now,
    reads_generation: false,
    write: |_, said| Write::Patch(patch(said)),
    written: Err,
};

pub(super) fn host(read: Read, rule: Rule) -> Host {
    Host::new(read, move |set, context| reconcile(set, context, rule))
}

async fn reconcile(set: Arc<ReplicaSet>, context: Arc<Context>, rule: Rule) -> Result<Action, Error> {
    if (rule.is_left_alone)(&set.metadata) {
        return Ok(Action::await_change());
    }
    let namespace = (rule.namespace)(&set.metadata);
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
    let there: Vec<Pod> = match (rule.listed)(&set) {
        Some(listed) => pods.list(&listed).await?.items,
        None => cached(&context),
    };
    let its: Vec<Pod> = there.iter().filter(|pod| is_its(&set, pod)).cloned().collect();
    let mine: Vec<Pod> = there.into_iter().filter(|pod| (rule.counts)(&set, pod)).collect();
    let asked = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let wanted = (rule.wanted)(usize::try_from(asked).unwrap_or(0), mine.len());
    if (rule.is_nothing)(wanted) {
        return Ok(Action::await_change());
    }
    let seen = (rule.seen)(&its, &mine);
    let ready = (rule.ready)(seen.iter().filter(|pod| is_ready(pod)).count());
    let status = ((rule.count)(wanted, seen.len()) as i32, ready as i32, set.metadata.generation);
    if rule.writes_first && (rule.is_written)(written(&set), status) {
        write(&set, &context, namespace, status, rule).await?;
    }
    let acted = act(&set, &context, &its, mine, wanted, rule).await;
    let is_silent = acted.is_err() && rule.fails_first;
    if !is_silent && (rule.is_written)(written(&set), status) {
        write(&set, &context, namespace, status, rule).await.or_else(rule.written)?;
    }
    acted.map(|()| Action::await_change())
}

/// Creates what is missing, or deletes what is too many.
async fn act(
    set: &ReplicaSet,
    context: &Context,
    its: &[Pod],
    mine: Vec<Pod>,
    wanted: usize,
    rule: Rule,
) -> Result<(), Error> {
    let namespace = (rule.namespace)(&set.metadata);
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
    for n in 0..(rule.missing)(set, mine.len(), wanted) {
        let created = pods.create(&PostParams::default(), &(rule.pod)(set, mine.len() + n)).await;
        created.map(drop).or_else(rule.created)?;
    }
    let cached = || cached(context).into_iter().filter(|pod| (rule.counts)(set, pod)).collect();
    let (too_many, mine) = match rule.victims {
        Victims::Listed => (mine.len().saturating_sub(wanted), mine),
        Victims::Cached => (mine.len().saturating_sub(wanted), cached()),
        Victims::CachedAndCounted => {
            let cached: Vec<Pod> = cached();
            (cached.len().saturating_sub(wanted), cached)
        }
    };
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), (rule.deletes_in)(namespace));
    for pod in (rule.not_needed)(set, its, mine, too_many) {
        pods.delete(pod.metadata.name(), &DeleteParams::default()).await.or_else(rule.deleted)?;
    }
    Ok(())
}

/// The Pods of the cache.
fn cached(context: &Context) -> Vec<Pod> {
    context.store::<Pod>().state().iter().map(|pod| (**pod).clone()).collect()
}

/// Whether it controls the Pod.
fn is_its(set: &ReplicaSet, pod: &Pod) -> bool {
    controller_of(&pod.metadata).map(|owner| owner.uid.as_str()) == set.metadata.uid.as_deref()
}

fn counts(set: &ReplicaSet, pod: &Pod) -> bool {
    is_its(set, pod) && is_active(pod)
}

fn not_needed(_: &ReplicaSet, _: &[Pod], mine: Vec<Pod>, too_many: usize) -> Vec<Pod> {
    first_by(mine, too_many, is_ready)
}

/// So many of these Pods, those for which `later` does not hold first.
fn first_by(mut pods: Vec<Pod>, count: usize, later: fn(&Pod) -> bool) -> Vec<Pod> {
    pods.sort_by_key(later);
    pods.truncate(count);
    pods
}

/// What the status says.
fn written(set: &ReplicaSet) -> Said {
    let status = set.status.clone().unwrap_or_default();
    (status.replicas, status.ready_replicas.unwrap_or(0), status.observed_generation)
}

fn patch((replicas, ready, generation): Said) -> Value {
    json!({"status": {"replicas": replicas, "readyReplicas": ready, "observedGeneration": generation}})
}

/// Writes a status.
async fn write(
    set: &ReplicaSet,
    context: &Context,
    namespace: &str,
    (replicas, ready, mut generation): Said,
    rule: Rule,
) -> Result<(), Error> {
    let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), namespace);
    let name = set.metadata.name();
    if rule.reads_generation {
        generation = sets.get(name).await?.metadata.generation;
    }
    match (rule.write)(set, (replicas, ready, generation)) {
        Write::Patch(patch) => sets.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop),
        Write::Whole(whole) => sets.replace_status(name, &PostParams::default(), &whole).await.map(drop),
    }
}

mod mistakes;
pub(super) use mistakes::MISTAKES;
