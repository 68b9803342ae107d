//! Times of conditions, and the status as it is written over what the API server holds.
//!
//! Mirrors `updateStatusInternal`, `mergePodStatus` and `TerminatePod` (`pkg/kubelet/status/status_manager.go`).

use k8s_openapi::api::core::v1::PodSpec;

use super::conditions::{self, CONTAINERS_READY, OWNED, READY};
use super::containers::{lost, terminated};
use super::phase;
use crate::params::TERMINATION_MESSAGES_MAX;
use crate::pod_types::is_static;
use object::budget::DISRUPTION_TARGET;
use object::pod::status::{ContainerStatus, PodCondition, PodStatus};
use object::pod::{is_final, is_sidecar};
use object::time::Instant;
use object::{Pod, Shared};

/// Sets the start time once, and each condition's time whenever its value has changed.
pub fn stamp(status: &mut PodStatus, old: &PodStatus, now: Instant) {
    status.start_time = old.start_time.clone().or_else(|| status.start_time.clone()).or_else(|| Some(now.time()));
    let old = old.conditions.as_deref().unwrap_or_default();
    for condition in status.conditions.iter_mut().flatten().filter(|c| OWNED.contains(&c.type_.as_str())) {
        let before = old.iter().find(|c| c.type_ == condition.type_ && c.status == condition.status);
        let since = before.and_then(|c| c.last_transition_time.clone());
        condition.last_transition_time = since.or_else(|| Some(now.time()));
    }
}

/// What containers leave as their last words is shared room: many containers have little each. Mirrors `normalizeStatus`.
pub fn shorten_messages(status: &mut PodStatus, pod: &Pod) {
    let Some(spec) = &pod.spec else { return };
    let init = spec.init_containers.as_ref().map_or(0, Vec::len);
    let ephemeral = spec.ephemeral_containers.as_ref().map_or(0, Vec::len);
    let room = TERMINATION_MESSAGES_MAX / (spec.containers.len() + init + ephemeral).max(1);
    let of_pod = status.container_statuses.iter_mut().chain(&mut status.init_container_statuses);
    for container in of_pod.chain(&mut status.ephemeral_container_statuses).flatten() {
        let states = [&mut container.state, &mut container.last_state].into_iter().flatten();
        for message in states.filter_map(|state| state.terminated.as_mut()?.message.as_mut()) {
            let end = (0..=room.min(message.len())).rev().find(|end| message.is_char_boundary(*end));
            *message = message[..end.unwrap_or_default()].into();
        }
    }
}

/// What to write, given what the API server holds. Three rules:
/// conditions that others own are theirs; a pod does not become Succeeded or Failed while a container may still
/// run; and once it has, it is no longer ready.
pub fn merge(pod: &Pod, new: &Shared<PodStatus>, may_run: bool, now: Instant) -> Shared<PodStatus> {
    let empty = PodStatus::default();
    let held = pod.status.as_deref().unwrap_or(&empty);
    let mut merged = new.clone();
    let (others, own) = (conditions_of(held, false), conditions_of(new, true));
    if !others.is_empty() || own.len() < new.conditions.iter().flatten().count() {
        merged.conditions = Some(others.into_iter().chain(own).cloned().collect());
    }
    keep_fields_of_others(&mut merged, held);
    let held_phase = held.phase.as_deref().unwrap_or_default();
    let new_phase = new.phase.as_deref().unwrap_or_default();
    let ends = is_final(new_phase) && !is_final(held_phase);
    if ends && may_run {
        merged.phase = held.phase.clone();
        merged.reason = held.reason.clone();
        merged.message = held.message.clone();
    } else if ends {
        tell_why_ended(new, &mut merged, now);
    }
    if merged.phase.as_deref().is_some_and(is_final) {
        let is_ready = |c: &PodCondition| matches!(c.type_.as_str(), READY | CONTAINERS_READY) && c.status == "True";
        if merged.conditions.iter().flatten().any(is_ready) {
            not_ready(pod, &mut merged, now);
        }
    }
    merged
}

/// Whether a status says what the kubelet would write. Other clients may have added conditions, in any place. Mirrors
/// `isPodStatusByKubeletEqual`.
pub fn says_as_much(held: Option<&PodStatus>, merged: &PodStatus) -> bool {
    let Some(held) = held else { return false };
    if held == merged {
        return true;
    }
    let bare = |status: &PodStatus| PodStatus { conditions: None, ..status.clone() };
    conditions_of(held, true) == conditions_of(merged, true) && bare(held) == bare(merged)
}

/// The types of the kubelet's own conditions that are to go from the status.
pub fn gone(held: Option<&PodStatus>, merged: &PodStatus) -> Vec<String> {
    let stays = |type_: &str| merged.conditions.iter().flatten().any(|c| c.type_ == type_);
    let own = held.map(|held| conditions_of(held, true)).unwrap_or_default();
    own.into_iter().filter(|c| !stays(&c.type_)).map(|c| c.type_.to_string()).collect()
}

/// The kubelet's own conditions, or those of others.
fn conditions_of(status: &PodStatus, own: bool) -> Vec<&PodCondition> {
    status.conditions.iter().flatten().filter(|c| OWNED.contains(&c.type_.as_str()) == own).collect()
}

/// A condition that others write as well: the kubelet's own word on why it ended the pod comes with the pod's end, and counts.
fn tell_why_ended(new: &PodStatus, merged: &mut PodStatus, now: Instant) {
    let Some(why) = new.conditions.iter().flatten().find(|c| c.type_ == DISRUPTION_TARGET) else { return };
    let mut why = PodCondition { last_transition_time: Some(now.time()), ..why.clone() };
    let conditions = merged.conditions.get_or_insert_default();
    if let Some(there) = conditions.iter_mut().find(|c| c.type_ == DISRUPTION_TARGET) {
        if there.status == why.status {
            why.last_transition_time.clone_from(&there.last_transition_time);
        }
        *there = why;
        return;
    }
    let place = conditions.iter().position(|c| OWNED.contains(&c.type_.as_str())).unwrap_or(conditions.len());
    conditions.insert(place, why);
}

/// Marks a pod as torn down: what ran and has no known end ended with 137, and the phase is terminal, but for a static pod,
/// whose mirror is to go anyway. Mirrors `TerminatePod`.
pub fn finish(pod: &Pod, status: &mut PodStatus) {
    let Some(spec) = &pod.spec else { return };
    if has_initialized(spec, status) {
        end_unseen(status.container_statuses.iter_mut().flatten());
    }
    // Init containers count only as far as they got: those behind the last that ever began never ran.
    let inits = status.init_container_statuses.as_deref_mut().unwrap_or_default();
    let got_to = inits.iter().rposition(has_begun).unwrap_or(0);
    end_unseen(inits.iter_mut().take(got_to + 1));
    if !status.phase.as_deref().is_some_and(is_final) && !is_static(pod) {
        status.phase = Some(phase::FAILED.into());
    }
}

fn end_unseen<'a>(statuses: impl Iterator<Item = &'a mut ContainerStatus>) {
    const GONE: &str = "The container could not be located when the pod was terminated";
    for status in statuses.filter(|status| status.state.as_ref().is_none_or(|state| state.terminated.is_none())) {
        status.state = Some(terminated(lost(GONE)));
    }
}

/// Whether initialization is over, so that the containers of the pod were to run: one of them has, or the last init
/// container got to its end. Mirrors `hasPodInitialized`.
fn has_initialized(spec: &PodSpec, status: &PodStatus) -> bool {
    let inits = spec.init_containers.as_deref().unwrap_or_default();
    if inits.is_empty() || status.container_statuses.iter().flatten().any(has_begun) {
        return true;
    }
    let Some(last) = status.init_container_statuses.iter().flatten().next_back() else { return false };
    if inits.iter().any(|init| init.name == last.name && is_sidecar(init)) {
        return last.started == Some(true) && last.state.as_ref().is_some_and(|state| state.running.is_some());
    }
    let mut ends = [&last.last_state, &last.state].into_iter().flatten().filter_map(|state| state.terminated.as_ref());
    ends.any(|end| end.exit_code == 0)
}

/// Whether a container has ever been more than waited for.
fn has_begun(status: &ContainerStatus) -> bool {
    let ended = status.last_state.as_ref().is_some_and(|last| last.terminated.is_some());
    ended || status.state.as_ref().is_none_or(|state| state.waiting.is_none())
}

/// Fields of the status that the scheduler or a resource driver writes. What is the same already stays shared.
fn keep_fields_of_others(merged: &mut Shared<PodStatus>, held: &PodStatus) {
    if merged.nominated_node_name != held.nominated_node_name {
        merged.nominated_node_name.clone_from(&held.nominated_node_name);
    }
    if merged.resource_claim_statuses != held.resource_claim_statuses {
        merged.resource_claim_statuses.clone_from(&held.resource_claim_statuses);
    }
    if merged.extended_resource_claim_status != held.extended_resource_claim_status {
        merged.extended_resource_claim_status.clone_from(&held.extended_resource_claim_status);
    }
    if held.qos_class.is_some() && held.qos_class != merged.qos_class {
        merged.qos_class.clone_from(&held.qos_class);
    }
}

/// `generateContainersReadyConditionForTerminalPhase` and its twin for Ready.
fn not_ready(pod: &Pod, status: &mut PodStatus, now: Instant) {
    let reason = if status.phase.as_deref() == Some(phase::FAILED) { "PodFailed" } else { "PodCompleted" };
    let list = status.conditions.get_or_insert_default();
    for type_ in [CONTAINERS_READY, READY] {
        let wanted = PodCondition {
            observed_generation: pod.metadata.generation,
            last_transition_time: Some(now.time()),
            ..conditions::terminal(type_, reason)
        };
        match list.iter_mut().find(|c| c.type_ == type_) {
            Some(found) if found.status == "False" && found.reason.as_deref() == Some(reason) => {}
            Some(found) => {
                let since = found.last_transition_time.clone().filter(|_| found.status == "False");
                *found = PodCondition { last_transition_time: since.or(wanted.last_transition_time.clone()), ..wanted };
            }
            None => list.push(wanted),
        }
    }
}
