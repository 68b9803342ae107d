//! Creating the Pods that a Job misses, deleting those that are too many. Mirrors `manageJob`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::JobSpec;
use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, ObjectFieldSelector, PodSpec};

use crate::pods::{pod_from_template, slow_start};
use crate::replicaset::rank::least_missed;
use client::{Error, join_all};
use object::meta::{controller_ref, has_finalizer};
use object::pod::is_ready;
use object::{Kind, Pod, Status};

use super::indexes::{INDEX, first_pending};
use super::sync::Sync;
use super::tracking::release;
use super::{Jobs, TRACKING, is_indexed, is_suspended, is_tracked, per_index, replaces_failed_only, uid_of};

/// At most so many Pods are created or deleted in one reconcile.
const BURST: i32 = 500;
/// A Pod's name is its Job's, the index and a generated part: the first is cut so that all fit a DNS label.
const PREFIX_MAX: usize = 58;

impl Jobs {
    /// One step towards the number of Pods that should run. The counts follow.
    pub(super) async fn manage(&self, sync: &mut Sync) -> Result<(), Error> {
        let (active, wanted) = (sync.counts.active, sync.wanted());
        let pods = self.superfluous(sync, (active - wanted).max(0));
        if !pods.is_empty() {
            return self.delete_pods(sync, pods).await;
        }
        let leaving = if replaces_failed_only(&sync.spec) { sync.counts.terminating } else { 0 };
        match wanted - leaving - active {
            missing @ 1.. => self.create_pods(sync, missing.min(BURST)).await,
            _ => Ok(()),
        }
    }

    /// At least `count` Pods to delete: those whose index no Job needs or another Pod has, then those that would be missed
    /// least. Mirrors `activePodsForRemoval`.
    fn superfluous(&self, sync: &Sync, count: i32) -> Vec<Arc<Pod>> {
        let (mut surplus, mut rest) = (Vec::new(), sync.active.clone());
        if is_indexed(&sync.spec) {
            let mut by_index: BTreeMap<Option<i32>, Vec<Arc<Pod>>> = BTreeMap::new();
            for pod in rest.drain(..) {
                by_index.entry(sync.index_of(&pod)).or_default().push(pod);
            }
            for (index, pods) in by_index {
                let keep = usize::from(index.is_some());
                let gone = least_missed(&pods, pods.len() - keep);
                rest.extend(pods.into_iter().filter(|pod| !gone.contains(pod)));
                surplus.extend(gone);
            }
        }
        let more = (count as usize).saturating_sub(surplus.len());
        surplus.extend(least_missed(&rest, more));
        // A Job that is suspended loses all its Pods at once.
        if !is_suspended(&sync.spec) {
            surplus.truncate(BURST as usize);
        }
        surplus
    }

    async fn create_pods(&self, sync: &mut Sync, count: i32) -> Result<(), Error> {
        let now = self.client.now();
        if sync.spec.backoff_limit_per_index.is_none() {
            let pause = sync.backoff.remaining(now);
            if !pause.is_zero() {
                self.hold_back(sync, pause);
                return Ok(());
            }
        }
        let mut pods: Vec<Pod> = Vec::new();
        if is_indexed(&sync.spec) {
            let active: BTreeSet<i32> = sync.active.iter().filter_map(|pod| sync.index_of(pod)).collect();
            let done: Vec<_> = std::iter::once(&sync.succeeded_indexes).chain(&sync.failed_indexes).collect();
            let mut indexes = first_pending(&active, &done, count as usize, sync.spec.completions.unwrap_or(0));
            if sync.spec.backoff_limit_per_index.is_some() {
                let (due, pause) = per_index::due(sync, &indexes, now);
                if due.is_empty() && !indexes.is_empty() {
                    self.hold_back(sync, pause);
                    return Ok(());
                }
                indexes = due;
            }
            pods.extend(indexes.into_iter().map(|index| indexed_pod(sync, index)));
        } else {
            pods.extend((0..count).map(|_| new_pod(sync)));
        }
        let (created, result) = self.send_pods(sync, pods).await;
        sync.counts.active += created as i32;
        result
    }

    /// No Pod is made before `pause` is over. This reconcile then calls nothing active, as Kubernetes' does.
    fn hold_back(&self, sync: &mut Sync, pause: Duration) {
        self.enqueue_after(&sync.key, pause);
        sync.counts.active = 0;
    }

    /// Creates the Pods in growing batches, and says how many there are then.
    async fn send_pods(&self, sync: &Sync, pods: Vec<Pod>) -> (usize, Result<(), Error>) {
        let (key, job, count) = (&sync.key, &sync.job, pods.len());
        self.expectations.expect_creations(key, count, self.client.now());
        let mut pods = pods.into_iter();
        let create = || {
            // No more are asked for than there are.
            let pod = pods.next().unwrap_or_default();
            async move {
                match self.pod_control.create_pod(job, pod).await {
                    Ok(pod) => self.consistency.wrote(key, Kind::Pod, pod.metadata.resource_version.as_deref()),
                    // The Job is about to go with its namespace: nothing more is to be tried.
                    Err(Error::Api(status)) if status.is_namespace_terminating() => {}
                    Err(error) => return Err(error),
                }
                Ok(())
            }
        };
        let (successes, result) = slow_start(count, create).await;
        for _ in successes..count {
            self.expectations.creation_observed(key);
        }
        (successes, result)
    }

    /// Deletes Pods that are not to be counted: their finalizers come off first.
    async fn delete_pods(&self, sync: &mut Sync, pods: Vec<Arc<Pod>>) -> Result<(), Error> {
        self.expectations.expect_deletions(&sync.key, pods.len(), self.client.now());
        let (key, job) = (&sync.key, &sync.job);
        let delete = |pod: &Arc<Pod>| {
            let pod = pod.clone();
            async move {
                if is_tracked(&pod) {
                    let Some(version) = release(&self.client, &pod).await? else {
                        return Err(Status::not_found(Kind::Pod, uid_of(&pod)).into());
                    };
                    self.consistency.wrote(key, Kind::Pod, Some(&version));
                }
                self.pod_control.delete(job, &pod).await
            }
        };
        let results = join_all(pods.iter().map(delete).collect()).await;
        for _ in results.iter().filter(|result| result.is_err()) {
            self.expectations.deletion_observed(&sync.key);
        }
        settle_deletions(sync, &pods, results).1
    }

    /// Deletes all that runs, and says how many Pods that were. They stay until they are counted.
    pub(super) async fn delete_active(&self, sync: &mut Sync) -> (i32, Result<(), Error>) {
        let pods = sync.active.clone();
        let job = &sync.job;
        let results = join_all(pods.iter().map(|pod| self.pod_control.delete(job, pod)).collect()).await;
        settle_deletions(sync, &pods, results)
    }
}

/// Moves what was deleted from one count to the other. A Pod that was gone already is no error, and counts as deleted.
fn settle_deletions(sync: &mut Sync, pods: &[Arc<Pod>], results: Vec<Result<(), Error>>) -> (i32, Result<(), Error>) {
    let deleted = || pods.iter().zip(&results).filter(|(_, result)| is_gone(result));
    let (count, ready) = (deleted().count() as i32, deleted().filter(|(pod, _)| is_ready(pod)).count() as i32);
    sync.counts.active -= count;
    sync.counts.ready -= ready;
    sync.counts.terminating += count;
    let failure = results.into_iter().find(|result| !is_gone(result));
    (count, failure.unwrap_or(Ok(())))
}

/// Whether nothing is left to delete of a Pod for whose deletion this is the answer.
fn is_gone(deletion: &Result<(), Error>) -> bool {
    match deletion {
        Ok(()) => true,
        Err(Error::Api(status)) => status.is_not_found(),
        Err(_) => false,
    }
}

/// How many Pods of a Job should run now, given how many have succeeded and how many are active.
pub fn wanted(spec: &JobSpec, succeeded: i32, active: i32) -> i32 {
    let parallelism = spec.parallelism.unwrap_or(1);
    match spec.completions {
        _ if is_suspended(spec) => 0,
        // One has seen the end of the work: the others may finish, and no more begin.
        None if succeeded > 0 => active,
        None => parallelism,
        Some(completions) => (completions - succeeded).clamp(0, parallelism.max(0)),
    }
}

fn new_pod(sync: &Sync) -> Pod {
    let mut pod = pod_from_template(&sync.spec.template, &sync.job.metadata, controller_ref(&sync.job));
    if !has_finalizer(&pod.metadata, TRACKING) {
        pod.metadata.finalizers.get_or_insert_default().push(TRACKING.into());
    }
    pod
}

/// A Pod that knows its index: by annotation, label, variable and host name.
fn indexed_pod(sync: &Sync, index: i32) -> Pod {
    let mut pod = new_pod(sync);
    let name = sync.key.name();
    let meta = &mut pod.metadata;
    let suffix = format!("-{index}-");
    let prefix: String = name.chars().take(PREFIX_MAX - suffix.len()).collect();
    meta.generate_name = Some(prefix + &suffix);
    meta.annotations.get_or_insert_default().insert(INDEX.into(), index.to_string());
    meta.labels.get_or_insert_default().insert(INDEX.into(), index.to_string());
    if let Some(counts) = per_index::annotations(sync, index) {
        meta.annotations.get_or_insert_default().extend(counts);
    }
    if let Some(spec) = &mut pod.spec {
        spec.hostname = Some(format!("{name}-{index}"));
        tell_index(spec);
    }
    pod
}

/// The variable `JOB_COMPLETION_INDEX` in every container that does not set it itself.
fn tell_index(spec: &mut PodSpec) {
    const VARIABLE: &str = "JOB_COMPLETION_INDEX";
    for container in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        let env = container.env.get_or_insert_default();
        if env.iter().any(|variable| variable.name == VARIABLE) {
            continue;
        }
        let field_path = format!("metadata.labels['{INDEX}']");
        let field = ObjectFieldSelector { field_path, ..ObjectFieldSelector::default() };
        let from = EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() };
        env.push(EnvVar { name: VARIABLE.into(), value_from: Some(from), ..EnvVar::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_pod_that_was_gone_already_counts_as_deleted() {
        let [gone, refused] = [Status::not_found(Kind::Pod, "p"), Status::forbidden(Kind::Pod, "p", "no")];
        for (answer, want) in [(Ok(()), true), (Err(gone.into()), true), (Err(refused.into()), false)] {
            assert_eq!(is_gone(&answer), want, "{answer:?}");
        }
    }

    #[test]
    fn containers_learn_their_index() {
        let mut spec: PodSpec = serde_json::from_value(json!({"containers": [
            {"name": "a"}, {"name": "b", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "9"}]},
        ]}))
        .unwrap();
        tell_index(&mut spec);
        let env = |i: usize| -> Value { json!(spec.containers[i].env) };
        let path = "metadata.labels['batch.kubernetes.io/job-completion-index']";
        assert_eq!(env(0)[0]["valueFrom"]["fieldRef"]["fieldPath"], json!(path));
        assert_eq!(env(1), json!([{"name": "JOB_COMPLETION_INDEX", "value": "9"}]));
    }
}
