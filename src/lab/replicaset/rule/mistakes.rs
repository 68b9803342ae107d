//! What learners do instead.

use k8s_openapi::api::apps::v1::ReplicaSetStatus;
use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::*;
use crate::making::has_long_name;
use crate::mistake::mistaken_hosts;
use crate::reconcile::Mistaken;
use object::pod::status::ContainerStatus;
use object::pod::{has_ended, phase};

/// What learners really write, and how to say so.
pub(crate) const MISTAKES: &[Mistaken] = mistaken_hosts! {
    no_owner: "the Pods that it creates have no owner reference to the ReplicaSet"
        => { pod: |set, _| pod_with(set, |pod| pod.metadata.owner_references = None) };
    not_controller: "the owner reference does not say controller: true"
        => {
            pod: |set, _| {
                pod_with(set, |pod| {
                    pod.metadata.owner_references.iter_mut().flatten().for_each(|owner| owner.controller = None);
                })
            }
        };
    counts_by_labels: "it counts all Pods with these labels, even those that it does not control"
        => { counts: |set, pod| has_labels(set, pod) && is_active(pod) };
    counts_by_name: "it matches Pods by the beginning of their names"
        => { counts: |set, pod| pod.metadata.name().starts_with(set.metadata.name()) && is_active(pod) };
    counts_terminating: "it counts Pods that are being deleted"
        => { counts: |set, pod| is_its(set, pod) && !has_ended(pod) };
    counts_ended: "it counts Pods that have ended"
        => { counts: |set, pod| is_its(set, pod) && pod.metadata.deletion_timestamp.is_none() };
    counts_cache: "it counts the Pods of its cache, which does not know yet what was just created"
        => { listed: |_| None };
    creates_all: "it creates all Pods anew, even if some are there"
        => { missing: |_, there, wanted| if there < wanted { wanted } else { 0 } };
    one_too_many: "it creates one Pod too many"
        => { wanted: |wanted, there| if there == 0 { wanted + 1 } else { wanted } };
    never_deletes: "it never deletes what is too many" => { not_needed: |_, _, _, _| Vec::new() };
    deletes_ready: "it deletes Pods that are ready before those that are not"
        => { not_needed: |_, _, mine, too_many| first_by(mine, too_many, |pod| !is_ready(pod)) };
    ignores_deletion: "it creates Pods for a ReplicaSet that is being deleted" => { is_left_alone: |_| false };
    no_status: "it does not write the status" => { is_written: |_, _| false };
    always_status: "it writes the status each time, and so calls itself for ever"
        => {
            is_written: |_, _| true,
            write: |set, said| {
                let mut patch = patch(said);
                let message = set.metadata.resource_version.clone();
                patch["status"]["conditions"] = json!([{"type": "Synced", "status": "True", "message": message}]);
                Write::Patch(patch)
            }
        };
    same_status: "it writes the status again, though it is the same" => { is_written: |_, _| true };
    swallows_status: "it takes a failed write of its status for done" => { written: |_| Ok(()) };
    swallows_creations: "it takes a Pod that could not be created for created" => { created: |_| Ok(()) };
    swallows_deletions: "it takes a Pod that could not be deleted for deleted" => { deleted: |_| Ok(()) };
    no_labels: "the Pods that it creates do not have the labels of the template"
        => { pod: |set, _| pod_with(set, |pod| pod.metadata.labels = None) };
    no_annotations: "of the template's metadata, its Pods have the labels only"
        => { pod: |set, _| pod_with(set, |pod| (pod.metadata.annotations, pod.metadata.finalizers) = (None, None)) };
    in_default: "it works in the namespace default, wherever the ReplicaSet is" => { namespace: |_| "default" };
    owner_by_name: "it knows its Pods by the name of their controller: others may have that name too"
        => {
            counts: |set, pod| {
                let owner = controller_of(&pod.metadata);
                owner.map(|owner| &owner.name) == set.metadata.name.as_ref() && is_active(pod)
            }
        };
    any_owner: "it counts Pods that have it for an owner, though it does not control them"
        => { counts: |set, pod| is_any_owner(set, pod, |_| true) && is_active(pod) };
    ignores_none: "it does nothing for a ReplicaSet that asks for no Pods" => { is_nothing: |wanted| wanted == 0 };
    counts_succeeded: "it counts Pods that have succeeded"
        => {
            counts: |set, pod| {
                let has_succeeded = phase(pod) == "Succeeded" && pod.metadata.deletion_timestamp.is_none();
                is_its(set, pod) && (is_active(pod) || has_succeeded)
            }
        };
    running_is_ready: "it takes a Pod that runs for ready when one has to go"
        => { not_needed: |_, _, mine, too_many| first_by(mine, too_many, |pod| phase(pod) == "Running") };
    bars_creations: "it creates no Pods for a ReplicaSet that is being deleted, but does all else"
        => {
            is_left_alone: |_| false,
            missing: |set, there, wanted| match set.metadata.deletion_timestamp {
                Some(_) => 0,
                None => wanted.saturating_sub(there),
            }
        };
    status_counts_all: "its status counts Pods that are being deleted or have ended" => { seen: |its, _| its };
    status_asked: "its status says how many Pods are asked for, before they are there"
        => {
            count: |wanted, _| wanted,
            writes_first: true
        };
    numbered: "it numbers its Pods, and so a name may be taken"
        => {
            pod: |set, number| {
                pod_with(set, |pod| {
                    let name = pod.metadata.generate_name.take().unwrap_or_default();
                    pod.metadata.name = Some(format!("{name}{number}"));
                })
            }
        };
    deletes_ended: "it deletes Pods that have ended"
        => {
            not_needed: |set, its, mine, too_many| {
                let ended = its.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none() && !is_active(pod));
                not_needed(set, its, mine, too_many).into_iter().chain(ended.cloned()).collect()
            }
        };
    whole_status: "it writes its status as a whole, and what others wrote into it is lost"
        => { write: |set, said| whole(set, status(said, ReplicaSetStatus::default())) };
    stale_status: "it writes the whole status that it was told of, and what others wrote since is lost"
        => { write: |set, said| whole(set, status(said, set.status.clone().unwrap_or_default())) };
    live_generation: "it reads the ReplicaSet again for observedGeneration, and so says of a newer one that it was seen"
        => { reads_generation: true };
    never_unready: "its status never says again that no Pod is ready"
        => {
            is_written: |before, now| match now.1 {
                0 => (before.0, before.2) != (now.0, now.2),
                _ => before != now,
            },
            write: |_, (replicas, ready, generation)| match ready {
                0 => Write::Patch(json!({"status": {"replicas": replicas, "observedGeneration": generation}})),
                _ => Write::Patch(patch((replicas, ready, generation))),
            }
        };
    finalizer_is_going: "it takes a ReplicaSet that has a finalizer for one that is being deleted"
        => { is_left_alone: |meta| meta.finalizers.is_some() };
    says_if_controlled: "it takes a Pod for its own whose owner reference says controller: false"
        => { counts: |set, pod| is_any_owner(set, pod, |owner| owner.controller.is_some()) && is_active(pod) };
    unknown_is_ended: "it does not count Pods whose state is not known (phase Unknown)"
        => { counts: |set, pod| counts(set, pod) && phase(pod) != "Unknown" };
    terminated_is_ended: "it does not count Pods that have a terminated container: it may be started again"
        => {
            counts: |set, pod| {
                let mut containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
                let has_terminated = |container: &ContainerStatus| {
                    container.state.as_ref().is_some_and(|state| state.terminated.is_some())
                };
                counts(set, pod) && !containers.any(has_terminated)
            }
        };
    of_set: "the annotations of the ReplicaSet are on its Pods too"
        => {
            pod: |set, _| {
                let own = set.metadata.annotations.clone().unwrap_or_default();
                pod_with(set, |pod| pod.metadata.annotations.get_or_insert_default().extend(own))
            }
        };
    containers_only: "of the template's spec, its Pods have the containers only"
        => {
            pod: |set, _| {
                pod_of_spec(set, |spec| PodSpec { containers: spec.containers, ..PodSpec::default() })
            }
        };
    only_unready: "it deletes Pods that are not ready, and never one that is"
        => {
            not_needed: |_, _, mine, too_many| {
                first_by(mine.into_iter().filter(|pod| !is_ready(pod)).collect(), too_many, is_ready)
            }
        };
    chooses_from_all: "it chooses whom to delete among Pods that do not count, too"
        => { not_needed: |_, its, _, too_many| first_by(its.to_vec(), too_many, is_ready) };
    deletes_in_default: "it deletes in the namespace default, wherever the ReplicaSet is"
        => { deletes_in: |_| "default" };
    replaces_old: "it deletes Pods that were made from an older template"
        => {
            not_needed: |set, _, mine, _| {
                let asked = images(pod_for(set).spec.as_deref());
                mine.into_iter().filter(|pod| images(pod.spec.as_deref()) != asked).collect()
            }
        };
    deletes_cached: "it deletes what its cache shows too many of, which does not know yet who has gone"
        => { victims: Victims::CachedAndCounted };
    nine_ready: "its status never says that more than nine Pods are ready" => { ready: |ready| ready.min(9) };
    counts_only: "it does not say that it has seen a new generation if it counts as many Pods as before"
        => { is_written: |before, now| (before.0, before.1) != (now.0, now.1) };
    by_template_labels: "it lists the Pods that have the labels of the template, and those may change"
        => {
            listed: |set| {
                let labels = pod_for(set).metadata.labels.unwrap_or_default();
                let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
                Some(ListParams::default().labels(&labels.join(",")))
            }
        };
    patches_stale_status: "it sends all that it was told of its status in a patch, and what others wrote since is lost"
        => {
            write: |set, said| {
                Write::Patch(json!({"status": status(said, set.status.clone().unwrap_or_default())}))
            }
        };
    forty_at_most: "it has forty Pods at most, however many are asked for" => { wanted: |wanted, _| wanted.min(40) };
    two_labels: "of the template's labels, its Pods have two only"
        => {
            pod: |set, _| {
                pod_with(set, |pod| {
                    let labels = pod.metadata.labels.take().unwrap_or_default();
                    pod.metadata.labels = Some(labels.into_iter().take(2).collect());
                })
            }
        };
    some_fields: "of the template's spec, its Pods have some fields, and not all"
        => {
            pod: |set, _| {
                pod_of_spec(set, |spec| PodSpec { tolerations: None, affinity: None, security_context: None, ..spec })
            }
        };
    stale_victims: "its cache says which Pods have to go: that does not know yet which of them are ready"
        => { victims: Victims::Cached };
    silent_failure: "its status is not written if a Pod cannot be created or deleted" => { fails_first: true };
    template_name: "its Pods get the name that the template has: there can be one such Pod only"
        => {
            pod: |set, _| {
                pod_with(set, |pod| {
                    let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref()?.metadata.as_ref());
                    pod.metadata.name = template.and_then(|meta| meta.name.clone());
                })
            }
        };
    adds_label: "its Pods have a label that the template lacks"
        => {
            pod: |set, _| {
                pod_with(set, |pod| {
                    let label = ("example.com/set".to_owned(), set.metadata.name().to_owned());
                    pod.metadata.labels.get_or_insert_default().extend([label]);
                })
            }
        };
    clears_at_none: "it deletes Pods that have ended when no Pods are asked for"
        => {
            not_needed: |set, its, mine, too_many| match set.spec.as_ref().and_then(|spec| spec.replicas) {
                Some(0) => its.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).cloned().collect(),
                _ => not_needed(set, its, mine, too_many),
            }
        };
    no_long_name: "it does nothing about a ReplicaSet that has a long name"
        => { is_left_alone: |meta| meta.deletion_timestamp.is_some() || has_long_name(meta) };
};

/// Whether a Pod has the labels of the selector.
fn has_labels(set: &ReplicaSet, pod: &Pod) -> bool {
    let wanted = set.spec.as_ref().and_then(|spec| spec.selector.match_labels.as_ref());
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    wanted.into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value))
}

/// Whether it is one of a Pod's owners, by a reference for which `is` holds.
fn is_any_owner(set: &ReplicaSet, pod: &Pod, is: fn(&OwnerReference) -> bool) -> bool {
    let mut owners = pod.metadata.owner_references.iter().flatten();
    owners.any(|owner| is(owner) && Some(&owner.uid) == set.metadata.uid.as_ref())
}

/// The Pod with something changed.
fn pod_with(set: &ReplicaSet, change: impl FnOnce(&mut Pod)) -> Pod {
    let mut pod = pod_for(set);
    change(&mut pod);
    pod
}

/// The Pod with another spec.
fn pod_of_spec(set: &ReplicaSet, change: fn(PodSpec) -> PodSpec) -> Pod {
    pod_with(set, |pod| pod.spec = pod.spec.take().map(|spec| change((*spec).clone()).into()))
}

fn images(spec: Option<&PodSpec>) -> Vec<Option<String>> {
    spec.iter().flat_map(|spec| &spec.containers).map(|container| container.image.clone()).collect()
}

/// A status that says this, and all else that another does.
fn status((replicas, ready, observed_generation): Said, kept: ReplicaSetStatus) -> ReplicaSetStatus {
    ReplicaSetStatus { replicas, ready_replicas: Some(ready), observed_generation, ..kept }
}

/// The ReplicaSet with another status.
fn whole(set: &ReplicaSet, status: ReplicaSetStatus) -> Write {
    let mut whole = set.clone();
    whole.metadata.resource_version = None;
    whole.status = Some(status);
    Write::Whole(Box::new(whole))
}
