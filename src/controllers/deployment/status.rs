//! What a Deployment's status says, and whether its rollout moves.
//! Mirrors `pkg/controller/deployment/progress.go` and `calculateStatus` of `sync.go`.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet};

use crate::pods::seconds;
use client::Error;
use object::time::Instant;
use object::{Accessor, Key};

use super::arithmetic::{available, min_available, size, wanted};
use super::{Deployments, Sets};

/// Enough Pods are available.
pub const AVAILABLE: &str = "Available";
/// The rollout moves, or is done.
pub const PROGRESSING: &str = "Progressing";
/// A ReplicaSet could not create or delete Pods.
const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Reasons of the condition Progressing.
pub mod reason {
    /// The rollout is done.
    pub const AVAILABLE: &str = "NewReplicaSetAvailable";
    /// Pods came or went.
    pub const UPDATED: &str = "ReplicaSetUpdated";
    /// The deadline passed.
    pub const TIMED_OUT: &str = "ProgressDeadlineExceeded";
    /// A user paused it.
    pub const PAUSED: &str = "DeploymentPaused";
    /// A user resumed it.
    pub const RESUMED: &str = "DeploymentResumed";
    /// A ReplicaSet was made for the template.
    pub const CREATED: &str = "NewReplicaSetCreated";
    /// One was there already.
    pub const FOUND: &str = "FoundNewReplicaSet";
    /// None could be made.
    pub const CREATE_ERROR: &str = "ReplicaSetCreateError";
}

/// A condition as of `now`. Mirrors `NewDeploymentCondition`.
pub fn condition(
    type_: &str,
    status: &str,
    reason: &str,
    message: impl Into<String>,
    now: Instant,
) -> DeploymentCondition {
    DeploymentCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.into()),
        last_update_time: Some(now.time()),
        last_transition_time: Some(now.time()),
    }
}

/// The condition of this type.
pub fn find<'a>(status: Option<&'a DeploymentStatus>, type_: &str) -> Option<&'a DeploymentCondition> {
    status?.conditions.as_ref()?.iter().find(|condition| condition.type_ == type_)
}

/// Sets a condition. The same status and reason change nothing, not even the message; a changed one goes to the end
/// of the list, and keeps its time of transition if the status stays. Mirrors `SetDeploymentCondition`.
pub fn set(status: &mut DeploymentStatus, mut new: DeploymentCondition) {
    let conditions = status.conditions.get_or_insert_default();
    if let Some(current) = conditions.iter().find(|current| current.type_ == new.type_) {
        if current.status == new.status && current.reason == new.reason {
            return;
        }
        if current.status == new.status {
            new.last_transition_time = current.last_transition_time.clone();
        }
    }
    conditions.retain(|current| current.type_ != new.type_);
    conditions.push(new);
}

fn remove(status: &mut DeploymentStatus, type_: &str) {
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|condition| condition.type_ != type_);
    }
    status.conditions = status.conditions.take().filter(|conditions| !conditions.is_empty());
}

/// The time a rollout may stand still; None: for ever. Mirrors `HasProgressDeadline`.
pub fn progress_deadline(d: &Deployment) -> Option<Duration> {
    let limit = d.spec.as_ref()?.progress_deadline_seconds?;
    (limit != i32::MAX).then(|| seconds(limit))
}

/// A count as the API prints it: zero is left out.
fn nonzero(count: i32) -> Option<i32> {
    (count != 0).then_some(count)
}

/// The status that these ReplicaSets come to; Progressing stays as it is. Mirrors `calculateStatus`.
pub fn calculate(d: &Deployment, sets: &Sets, now: Instant) -> DeploymentStatus {
    let old = d.status.clone().unwrap_or_default();
    let replicas = |rs: &ReplicaSet| rs.status.as_ref().map_or(0, |status| status.replicas);
    let ready = |rs: &ReplicaSet| rs.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0);
    let sum = |count: &dyn Fn(&ReplicaSet) -> i32| sets.all().map(|rs| count(rs)).fold(0, i32::saturating_add);

    let available = sum(&available);
    let mut status = DeploymentStatus {
        observed_generation: d.metadata.generation,
        replicas: nonzero(sum(&replicas)),
        updated_replicas: nonzero(sets.new.as_deref().map_or(0, replicas)),
        ready_replicas: nonzero(sum(&ready)),
        available_replicas: nonzero(available),
        unavailable_replicas: nonzero((sum(&size) - available).max(0)),
        terminating_replicas: sets.all().map(|rs| terminating(rs)).sum(),
        collision_count: old.collision_count,
        conditions: old.conditions,
    };
    let (state, reason, message) = if available >= min_available(d) {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    set(&mut status, condition(AVAILABLE, state, reason, message, now));
    status
}

/// A ReplicaSet whose controller has not looked at it yet has no Pods to terminate.
fn terminating(rs: &ReplicaSet) -> Option<i32> {
    let status = rs.status.as_ref();
    let observed = status.and_then(|status| status.observed_generation).unwrap_or(0);
    status.and_then(|status| status.terminating_replicas).or((observed == 0).then_some(0))
}

/// Whether all Pods are of the newest template, and available. Mirrors `DeploymentComplete`.
pub fn is_complete(d: &Deployment, status: &DeploymentStatus) -> bool {
    let wanted = wanted(d);
    [status.updated_replicas, status.replicas, status.available_replicas].iter().all(|n| n.unwrap_or(0) == wanted)
        && status.observed_generation.unwrap_or(0) >= d.metadata.generation.unwrap_or(0)
}

/// Whether anything moved since the status that is stored. Mirrors `DeploymentProgressing`.
fn is_progressing(old: &DeploymentStatus, new: &DeploymentStatus) -> bool {
    let count = |n: Option<i32>| n.unwrap_or(0);
    let outdated = |status: &DeploymentStatus| count(status.replicas) - count(status.updated_replicas);
    count(new.updated_replicas) > count(old.updated_replicas)
        || outdated(new) < outdated(old)
        || count(new.ready_replicas) > count(old.ready_replicas)
        || count(new.available_replicas) > count(old.available_replicas)
}

/// Whether the rollout has stood still for longer than its deadline. Mirrors `DeploymentTimedOut`.
fn is_timed_out(deadline: Duration, status: &DeploymentStatus, now: Instant) -> bool {
    let Some(progressing) = find(Some(status), PROGRESSING) else { return false };
    match progressing.reason.as_deref() {
        Some(reason::AVAILABLE) => false,
        Some(reason::TIMED_OUT) => true,
        _ => progressing.last_update_time.as_ref().is_some_and(|from| Instant::from_time(from) + deadline < now),
    }
}

/// The status with the condition Progressing, and the failures of ReplicaSets. Mirrors `syncRolloutStatus`.
fn with_progress(d: &Deployment, sets: &Sets, now: Instant) -> DeploymentStatus {
    let mut status = calculate(d, sets, now);
    match progress_deadline(d) {
        None => remove(&mut status, PROGRESSING),
        Some(deadline) => set_progress(d, sets, deadline, &mut status, now),
    }
    match replica_failure(sets) {
        Some(failure) => set(&mut status, failure),
        None => remove(&mut status, REPLICA_FAILURE),
    }
    status
}

fn set_progress(d: &Deployment, sets: &Sets, deadline: Duration, status: &mut DeploymentStatus, now: Instant) {
    let current = find(d.status.as_ref(), PROGRESSING).cloned();
    let was_complete = current.as_ref().and_then(|c| c.reason.as_deref()) == Some(reason::AVAILABLE);
    if was_complete && status.replicas == status.updated_replicas {
        // No rollout is under way, only a change of size, which has no progress to report.
        return;
    }
    let subject = match &sets.new {
        Some(new) => format!("ReplicaSet \"{}\"", new.metadata.name()),
        None => format!("Deployment \"{}\"", d.metadata.name()),
    };
    let old = d.status.clone().unwrap_or_default();
    if is_complete(d, status) {
        let message = format!("{subject} has successfully progressed.");
        set(status, condition(PROGRESSING, "True", reason::AVAILABLE, message, now));
    } else if is_progressing(&old, status) {
        let message = format!("{subject} is progressing.");
        let mut moving = condition(PROGRESSING, "True", reason::UPDATED, message, now);
        if let Some(current) = current.filter(|current| current.status == "True") {
            moving.last_transition_time = current.last_transition_time;
        }
        // Taken away first: the time of the last update must be new even if nothing else is.
        remove(status, PROGRESSING);
        set(status, moving);
    } else if is_timed_out(deadline, status, now) {
        let message = format!("{subject} has timed out progressing.");
        set(status, condition(PROGRESSING, "False", reason::TIMED_OUT, message, now));
    }
}

/// The ReplicaFailure of the new ReplicaSet, or else of the first that has one. Mirrors `getReplicaFailures`.
fn replica_failure(sets: &Sets) -> Option<DeploymentCondition> {
    let failure = |rs: &Arc<ReplicaSet>| {
        let conditions = rs.status.as_ref()?.conditions.as_ref()?;
        conditions.iter().find(|condition| condition.type_ == REPLICA_FAILURE).cloned()
    };
    let found = sets.new.as_ref().and_then(failure).or_else(|| sets.old.iter().find_map(failure))?;
    Some(DeploymentCondition {
        type_: found.type_,
        status: found.status,
        reason: found.reason,
        message: found.message,
        last_update_time: found.last_transition_time.clone(),
        last_transition_time: found.last_transition_time,
    })
}

/// When to look again at a rollout that stands still, to tell that its deadline has passed; None: no need to.
/// Mirrors `requeueStuckDeployment`.
fn time_to_deadline(d: &Deployment, status: &DeploymentStatus, now: Instant) -> Option<Duration> {
    let deadline = progress_deadline(d)?;
    let progressing = find(d.status.as_ref(), PROGRESSING)?;
    if is_complete(d, status) || progressing.reason.as_deref() == Some(reason::TIMED_OUT) {
        return None;
    }
    let from = progressing.last_update_time.as_ref().map(Instant::from_time).unwrap_or_default();
    Some((from + deadline) - now)
}

impl Deployments {
    /// Writes the status of a rollout, if it says anything new. Mirrors `syncRolloutStatus`.
    pub(super) async fn sync_rollout_status(&self, d: &mut Deployment, sets: &Sets) -> Result<(), Error> {
        let now = self.client.now();
        let status = with_progress(d, sets, now);
        if d.status.as_ref() != Some(&status) {
            return self.write_status(d, status).await;
        }
        let key = Key::of_meta(&d.metadata);
        match time_to_deadline(d, &status, now) {
            None => {}
            // Nearly there: soon, but not in a hot loop.
            Some(left) if left < Duration::from_secs(1) => self.queue.add_rate_limited(key),
            Some(left) => self.queue.add_after(key, left + Duration::from_secs(1)),
        }
        Ok(())
    }

    /// Writes the status outside of a rollout, if it says anything new. Mirrors `syncDeploymentStatus`.
    pub(super) async fn sync_status(&self, d: &mut Deployment, sets: &Sets) -> Result<(), Error> {
        let status = calculate(d, sets, self.client.now());
        if d.status.as_ref() == Some(&status) {
            return Ok(());
        }
        self.write_status(d, status).await
    }

    /// PUT of the status as `d` has it. The answer is dropped, as in Kubernetes: a second write in one sync is made
    /// from an old version and gets 409, and the sync is tried again.
    pub(super) async fn put_status(&self, d: &Deployment) -> Result<(), Error> {
        self.client.update_status(d.clone()).await?;
        Ok(())
    }

    async fn write_status(&self, d: &mut Deployment, status: DeploymentStatus) -> Result<(), Error> {
        d.status = Some(status);
        self.put_status(d).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn at(second: u64) -> Instant {
        Instant(second * 1_000_000_000)
    }

    /// A Deployment of 4 with a deadline of 30 seconds, its Progressing condition last updated at the start.
    fn deployment(status: Value, reason: &str) -> Deployment {
        let spec = json!({"replicas": 4, "progressDeadlineSeconds": 30, "selector": {}, "template": {},
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}});
        let d = json!({"metadata": {"name": "web", "generation": 2}, "spec": spec, "status": status});
        let mut d: Deployment = serde_json::from_value(d).unwrap();
        set(d.status.get_or_insert_default(), condition(PROGRESSING, "True", reason, "", at(0)));
        d
    }

    fn replica_set(size: i32, replicas: i32, available: i32) -> Arc<ReplicaSet> {
        let status = json!({"replicas": replicas, "readyReplicas": available, "availableReplicas": available,
            "terminatingReplicas": 0});
        let rs = json!({"metadata": {"name": "rs"}, "spec": {"replicas": size, "selector": {}}, "status": status});
        Arc::new(serde_json::from_value(rs).unwrap())
    }

    #[test]
    fn a_condition_moves_to_the_end_only_if_it_changes() {
        let mut status = DeploymentStatus::default();
        let set_at = |status: &mut DeploymentStatus, type_: &str, state: &str, reason: &str, second: u64| {
            set(status, condition(type_, state, reason, format!("at {second}"), at(second)));
            let conditions = status.conditions.as_ref().unwrap();
            let summary = |c: &DeploymentCondition| {
                let since = c.last_transition_time.as_ref().map(Instant::from_time).unwrap_or_default();
                format!("{} {} {}", c.type_, c.message.as_deref().unwrap_or_default(), since.0 / 1_000_000_000)
            };
            conditions.iter().map(summary).collect::<Vec<_>>()
        };
        assert_eq!(set_at(&mut status, "A", "True", "x", 1), ["A at 1 1"]);
        assert_eq!(set_at(&mut status, "B", "True", "x", 2), ["A at 1 1", "B at 2 2"]);
        assert_eq!(set_at(&mut status, "A", "True", "x", 3), ["A at 1 1", "B at 2 2"], "nothing new");
        assert_eq!(set_at(&mut status, "A", "True", "y", 4), ["B at 2 2", "A at 4 1"], "the status stays");
        assert_eq!(set_at(&mut status, "B", "False", "x", 5), ["A at 4 1", "B at 5 5"], "the status changes");
    }

    #[test]
    fn how_a_rollout_goes() {
        let before = json!({"observedGeneration": 2, "replicas": 5, "updatedReplicas": 1, "readyReplicas": 3,
            "availableReplicas": 3});
        // now, size and counts of the old and the new one -> status and reason
        for (what, second, old, new, want) in [
            ("more updated", 60, (3, 3, 3), (2, 2, 0), ("True", reason::UPDATED)),
            ("fewer old", 60, (3, 3, 3), (1, 1, 0), ("True", reason::UPDATED)),
            ("more available", 60, (4, 4, 3), (1, 1, 1), ("True", reason::UPDATED)),
            ("nothing yet", 30, (4, 4, 3), (1, 1, 0), ("True", reason::CREATED)),
            ("nothing for too long", 31, (4, 4, 3), (1, 1, 0), ("False", reason::TIMED_OUT)),
            ("all done", 60, (0, 0, 0), (4, 4, 4), ("True", reason::AVAILABLE)),
            ("old Pods left", 60, (0, 1, 0), (4, 4, 4), ("True", reason::UPDATED)),
        ] {
            let set = |(size, replicas, available)| replica_set(size, replicas, available);
            let sets = Sets { new: Some(set(new)), old: vec![set(old)] };
            let status = with_progress(&deployment(before.clone(), reason::CREATED), &sets, at(second));
            let progressing = find(Some(&status), PROGRESSING).unwrap();
            assert_eq!((&*progressing.status, progressing.reason.as_deref()), (want.0, Some(want.1)), "{what}");
        }
    }

    #[test]
    fn a_finished_rollout_is_not_judged_again() {
        let before = json!({"observedGeneration": 2, "replicas": 4, "updatedReplicas": 4, "availableReplicas": 4});
        let sets = Sets { new: Some(replica_set(4, 4, 2)), old: vec![] };
        let status = with_progress(&deployment(before, reason::AVAILABLE), &sets, at(100));
        assert_eq!(find(Some(&status), PROGRESSING).unwrap().reason.as_deref(), Some(reason::AVAILABLE));
        assert_eq!(find(Some(&status), AVAILABLE).unwrap().status, "False");
        assert_eq!((status.unavailable_replicas, status.terminating_replicas), (Some(2), Some(0)));
    }

    #[test]
    fn the_deadline_is_looked_after() {
        let idle = json!({"replicas": 5, "updatedReplicas": 1});
        let left = |reason: &str, second: u64| {
            let d = deployment(idle.clone(), reason);
            time_to_deadline(&d, d.status.as_ref().unwrap(), at(second))
        };
        assert_eq!(left(reason::CREATED, 10), Some(Duration::from_secs(20)));
        assert_eq!(left(reason::CREATED, 40), Some(Duration::ZERO));
        assert_eq!(left(reason::TIMED_OUT, 10), None);
    }
}
