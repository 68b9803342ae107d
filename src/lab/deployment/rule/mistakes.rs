//! What learners do instead.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::*;
use crate::making::has_long_name;
use crate::mistake::mistaken_hosts;
use crate::reconcile::Mistaken;

/// What learners really write, and how to say so.
pub(crate) const MISTAKES: &[Mistaken] = mistaken_hosts! {
    random_name: "the ReplicaSet has another name each time it is made"
        => {
            set: |deployment| set_with(deployment, |set| {
                set.metadata.name = None;
                set.metadata.generate_name = Some(format!("{}-", deployment.metadata.name()));
            })
        };
    no_owner: "the ReplicaSet has no owner reference to the Deployment"
        => { set: |deployment| set_with(deployment, |set| set.metadata.owner_references = None) };
    not_controller: "the owner reference does not say controller: true"
        => {
            set: |deployment| set_with(deployment, |set| {
                set.metadata.owner_references.iter_mut().flatten().for_each(|owner| owner.controller = None);
            })
        };
    no_hash: "the ReplicaSet has no label pod-template-hash in its selector"
        => {
            set: |deployment| set_with(deployment, |set| {
                let asked = deployment.spec.clone().unwrap_or_default();
                let labels = labels_of(&asked.template);
                set.metadata.labels = Some(labels.clone());
                let spec = set.spec.get_or_insert_default();
                spec.selector = asked.selector;
                *template_labels(spec) = labels;
            })
        };
    by_labels: "it takes every ReplicaSet with these labels for its own" => { is_mine: has_labels };
    newest: "it takes the newest ReplicaSet for that of today's template"
        => { find: |_, mine, _| mine.iter().max_by_key(|set| age(set)).cloned() };
    images_only: "it compares nothing but the images of two templates"
        => { is_of_today: |wanted, its| images(wanted) == images(its) };
    in_place: "it changes the template of the ReplicaSet that is there" => { in_place: true };
    others_stay: "it leaves the other ReplicaSets as large as they were" => { stays: |is_today, _, _, _| !is_today };
    all_alike: "it gives all its ReplicaSets the number that is asked for" => { size: |_, wanted| wanted };
    no_follow: "it does not change the number of a ReplicaSet that is there" => { stays: |is_today, _, _, _| is_today };
    always_size: "it writes the numbers of its ReplicaSets again, though they are right" => { is_right: |_, _| false };
    ignores_deletion: "it makes a ReplicaSet for a Deployment that is being deleted" => { is_left_alone: |_, _| false };
    swallows_errors: "it takes a failed call for done"
        => {
            created: |_| Ok(()),
            resized: |_| Ok(())
        };
    in_default: "it works in the namespace default, wherever the Deployment is" => { namespace: |_| "default" };
    owner_by_name: "it knows its ReplicaSets by the name of their controller: others may have that name too"
        => {
            is_mine: |deployment, set| {
                let owner = controller_of(&set.metadata);
                owner.is_some_and(|owner| Some(&owner.name) == deployment.metadata.name.as_ref())
            }
        };
    any_owner: "it takes ReplicaSets for its own that have it for an owner, though it does not control them"
        => {
            is_mine: |deployment, set| {
                let mut owners = set.metadata.owner_references.iter().flatten();
                owners.any(|owner| is_owner(owner, deployment))
            }
        };
    no_own_hash: "the ReplicaSet does not have the label pod-template-hash itself"
        => {
            set: |deployment| set_with(deployment, |set| {
                let template = deployment.spec.as_ref().and_then(|spec| spec.template.metadata.as_ref());
                set.metadata.labels = template.and_then(|meta| meta.labels.clone());
            })
        };
    takes_named: "if the name of its ReplicaSet is taken, it scales what has the name, without looking at its controller"
        => { taken: Taken::Sized };
    deletes_named: "if the name of its ReplicaSet is taken, it deletes what has the name" => { taken: Taken::Deleted };
    containers_only: "of two templates it compares the metadata and the containers only"
        => { is_of_today: |wanted, its| equal_ignoring_hash(&bare(wanted), &bare(its)) };
    labels_within: "it does not see that a label has gone from the template"
        => {
            is_of_today: |wanted, its| {
                let mut less = its.clone();
                let wanted_labels = labels_of(wanted);
                if let Some(labels) = less.metadata.get_or_insert_default().labels.as_mut() {
                    labels.retain(|key, _| wanted_labels.contains_key(key));
                }
                equal_ignoring_hash(wanted, &less)
            }
        };
    waits: "it empties the others only when today's ReplicaSet has its Pods"
        => { stays: |is_today, _, today, wanted| !is_today && today.map_or(0, pods) < wanted };
    by_status: "it looks at how many Pods a ReplicaSet has, and not at how many it asks for"
        => { is_right: |set, size| pods(set) == size };
    all_labels: "the selector of the ReplicaSet has all labels of the template"
        => {
            set: |deployment| set_with(deployment, |set| {
                let spec = set.spec.get_or_insert_default();
                spec.selector.match_labels = Some(template_labels(spec).clone());
            })
        };
    overwrites: "it writes the whole ReplicaSet as its cache knows it, and what others wrote meanwhile is lost"
        => { write: |set, size, _| Write::Whole(Box::new(sized(set, size))) };
    sizes_going: "it sizes the ReplicaSet of a Deployment that is being deleted"
        => { is_left_alone: |meta, is_there| meta.deletion_timestamp.is_some() && !is_there };
    none_for_none: "it makes no ReplicaSet for a Deployment that asks for no Pods"
        => { is_made: |_, _, wanted| wanted == 0 };
    by_name: "it looks for its ReplicaSet by name or label, and not by template"
        => {
            find: |deployment, mine, _| {
                let name = name_for(deployment);
                mine.iter().find(|set| set.metadata.name.as_ref() == Some(&name)).cloned()
            }
        };
    not_oldest: "of several ReplicaSets with its template it does not take the oldest"
        => { find: |_, _, of_today| of_today.into_iter().max_by_key(age) };
    few_others: "it empties the first few ReplicaSets, and leaves all others as they were"
        => { others: 3 }
        | { others: 5 }
        | { others: 10 };
    once_per_change: "it looks at its ReplicaSets only when the Deployment has changed" => { is_done: has_seen };
    of_nobody: "it takes a ReplicaSet without a controller for its own if the labels are those of its selector"
        => {
            is_mine: |deployment, set| match controller_of(&set.metadata) {
                Some(owner) => is_owner(owner, deployment),
                None => set.metadata.namespace == deployment.metadata.namespace && has_labels(deployment, set),
            }
        };
    label_names: "of the labels of two templates it compares the names only"
        => {
            is_of_today: |wanted, its| {
                let names = |template| labels_of(template).into_keys().filter(|name| name != TEMPLATE_HASH);
                let mut alike = its.clone();
                if names(wanted).eq(names(its)) {
                    let labels = wanted.metadata.as_ref().and_then(|meta| meta.labels.clone());
                    alike.metadata.get_or_insert_default().labels = labels;
                }
                equal_ignoring_hash(wanted, &alike)
            }
        };
    at_most_ten: "it never asks for more than ten Pods" => { wanted: |wanted| wanted.min(10) };
    at_most_forty: "it never asks for more than forty Pods" => { wanted: |wanted| wanted.min(40) };
    last_owner: "it looks at the last owner of a ReplicaSet only"
        => {
            is_mine: |deployment, set| {
                let last = set.metadata.owner_references.iter().flatten().last();
                last.is_some_and(|last| last.controller == Some(true) && is_owner(last, deployment))
            }
        };
    hash_beside_labels: "the selector gets the label pod-template-hash only if it has labels"
        => {
            set: |deployment| set_with(deployment, |set| {
                let asked = deployment.spec.clone().unwrap_or_default().selector;
                if asked.match_labels.is_none() {
                    set.spec.get_or_insert_default().selector = asked;
                }
            })
        };
    keeps_own_hash:
        "if the Deployment's own template has a label pod-template-hash, it finds no ReplicaSet with that template"
        => {
            is_of_today: |wanted, its| {
                !labels_of(wanted).contains_key(TEMPLATE_HASH) && equal_ignoring_hash(wanted, its)
            }
        };
    others_stay_for_none: "it leaves the others as they are if the Deployment asks for no Pods"
        => { stays: |is_today, _, _, wanted| !is_today && wanted == 0 };
    patches_all:
        "it sends all that its cache knows of the ReplicaSet in a patch, and what others changed meanwhile is lost"
        => { write: |set, size, _| Write::Patch(json!(sized(set, size))) };
    remembers_made: "it remembers what it has made, and does not make it again after another client has deleted it"
        => { is_made: |deployment, context, _| has_made(deployment, context) };
    labels_of_selector: "the ReplicaSet has the labels of its selector; it has those of its template"
        => {
            set: |deployment| set_with(deployment, |set| {
                let selector = set.spec.as_ref().and_then(|spec| spec.selector.match_labels.clone());
                set.metadata.labels = Some(selector.unwrap_or_default());
            })
        };
    labels_of_deployment: "the labels of the Deployment are on its ReplicaSet too"
        => {
            set: |deployment| set_with(deployment, |set| {
                let own = deployment.metadata.labels.clone().unwrap_or_default();
                set.metadata.labels.get_or_insert_default().extend(own);
            })
        };
    exists_is_failure: "it takes it for a failure that its ReplicaSet is there already" => { taken: Taken::Failure };
    stops_if_taken: "if the name of its ReplicaSet is taken, it leaves the others as they were"
        => { taken: Taken::End };
    stops_after_making:
        "it empties the others only when the ReplicaSet that it makes is there, and so never if the name of that is taken"
        => { goes_on: false };
    copied_hash: "a label pod-template-hash that its template has already stays in the place of the hash"
        => {
            set: |deployment| set_with(deployment, |set| {
                let asked = deployment.spec.as_ref().map(|spec| labels_of(&spec.template)).unwrap_or_default();
                if let Some(hash) = asked.get(TEMPLATE_HASH) {
                    let hash = || (TEMPLATE_HASH.to_owned(), hash.clone());
                    set.metadata.labels.get_or_insert_default().extend([hash()]);
                    let spec = set.spec.get_or_insert_default();
                    spec.selector.match_labels.get_or_insert_default().extend([hash()]);
                    template_labels(spec).extend([hash()]);
                }
            })
        };
    some_fields: "of two templates it compares some fields, and not all"
        => { is_of_today: |wanted, its| equal_ignoring_hash(&some_fields(wanted), &some_fields(its)) };
    fullest: "of several ReplicaSets with its template it takes one that is not empty before the oldest"
        => {
            find: |_, _, of_today| {
                let is_empty = |set: &ReplicaSet| set.spec.as_ref().and_then(|spec| spec.replicas) == Some(0);
                of_today.into_iter().min_by_key(|set| (is_empty(set), age(set)))
            }
        };
    other_name: "if the name of its ReplicaSet is taken, it makes one of another name" => { taken: Taken::Avoided };
    spec_only: "of two templates it compares the spec only, and not the labels and annotations"
        => { is_of_today: |wanted, its| wanted.spec == its.spec };
    ignores_annotations: "it does not see that an annotation of the template has changed"
        => { is_of_today: |wanted, its| equal_ignoring_hash(&plain(wanted), &plain(its)) };
    deletes_others: "it deletes the other ReplicaSets" => { deletes_others: true };
    lists: "it lists the ReplicaSets from the API server, and does not read its cache" => { lists: true };
    sends_template:
        "it sends a template along with the number, and what others wrote into that of the ReplicaSet meanwhile is lost"
        => {
            write: |set, size, _| {
                let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
                Write::Patch(json!({"spec": {"replicas": size, "template": template}}))
            }
        }
        | {
            write: |_, size, of_today| match of_today {
                Some(template) => Write::Patch(json!({"spec": {"replicas": size, "template": template}})),
                None => Write::Patch(json!({"spec": {"replicas": size}})),
            }
        };
    twins_stay: "of several ReplicaSets with its template it empties none"
        => { stays: |is_today, is_twin, _, _| !is_today && is_twin };
    some_metadata: "of the template's metadata, the ReplicaSet has the labels and annotations only"
        => {
            set: |deployment| set_with(deployment, |set| {
                let spec = set.spec.get_or_insert_default();
                spec.template.get_or_insert_default().metadata.get_or_insert_default().finalizers = None;
            })
        };
    no_long_name: "it does nothing about a Deployment that has a long name"
        => { is_left_alone: |meta, _| meta.deletion_timestamp.is_some() || has_long_name(meta) };
    cuts_name: "the name of the ReplicaSet has only the beginning of a long name"
        => {
            set: |deployment| set_with(deployment, |set| {
                let (its, name) = (name_for(deployment), deployment.metadata.name());
                let begin: String = name.chars().take(16).collect();
                set.metadata.name = Some(its.replacen(name, &begin, 1));
            })
        };
};

type Labels = BTreeMap<String, String>;

/// The ReplicaSet with something changed.
fn set_with(deployment: &Deployment, change: impl FnOnce(&mut ReplicaSet)) -> ReplicaSet {
    let mut set = replica_set_for(deployment);
    change(&mut set);
    set
}

/// The labels of the template in a ReplicaSet's spec.
fn template_labels(spec: &mut ReplicaSetSpec) -> &mut Labels {
    spec.template.get_or_insert_default().metadata.get_or_insert_default().labels.get_or_insert_default()
}

fn labels_of(template: &PodTemplateSpec) -> Labels {
    template.metadata.as_ref().and_then(|meta| meta.labels.clone()).unwrap_or_default()
}

/// Whether a ReplicaSet has the labels of the selector.
fn has_labels(deployment: &Deployment, set: &ReplicaSet) -> bool {
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.selector.match_labels.as_ref());
    let labels = set.metadata.labels.clone().unwrap_or_default();
    wanted.into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value))
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
