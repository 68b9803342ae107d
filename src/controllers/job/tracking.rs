//! Counting each Pod once: note it in the status, take its finalizer off, count it.
//! Mirrors `trackJobStatusAndRemoveFinalizers`.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::{Job, JobStatus};
use serde_json::json;

use client::{Client, Error, EventType, join_all};
use object::pod::phase;
use object::{Key, Kind, Pod};
use wire::Patch;

use super::conditions::{self, COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, ensure};
use super::indexes::Indexes;
use super::policy::{self, FailureAction};
use super::sync::{Sync, nonzero};
use super::{Jobs, TRACKING, is_indexed, per_index, uid_of};

/// So many Pods are noted at once; the status is no place for all of a big Job.
const UNCOUNTED_MAX: usize = 500;

/// Takes the finalizer off a Pod. Gives its new resourceVersion; None if it was gone, or had no finalizer.
pub(super) async fn release(client: &Client, pod: &Pod) -> Result<Option<String>, Error> {
    let key = Key::of_meta(&pod.metadata);
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}});
    match client.patch::<Pod>(key.namespace(), key.name(), Patch::Strategic(patch)).await {
        Ok(patched) => Ok(patched.metadata.resource_version.clone()),
        Err(status) if status.is_not_found() => Ok(None),
        Err(status) => Err(status.into()),
    }
}

impl Jobs {
    /// Writes what has ended into the status. `changed` says whether there is something to write anyway.
    pub(super) async fn track(&self, mut sync: Sync, changed: bool) -> Result<(), Error> {
        let mut open: BTreeSet<String> =
            sync.pods.iter().filter(|pod| sync.is_open(pod)).map(|pod| uid_of(pod).to_owned()).collect();
        let mut dirty = count_released(&mut sync.status, &open) | changed;
        let (ended, all_noted) = self.note_ended(&mut sync, &mut dirty);
        dirty |= write_indexes(&mut sync);
        dirty |= self.note_decision(&mut sync);
        if dirty {
            self.write(&mut sync).await?;
            self.backoff.borrow_mut().insert(sync.key.clone(), sync.backoff);
        }
        let freed = self.release_all(&sync.key, &ended).await;
        for (pod, _) in ended.iter().zip(&freed).filter(|(_, freed)| freed.is_ok()) {
            open.remove(uid_of(pod));
        }
        dirty = count_released(&mut sync.status, &open);
        let failure = freed.into_iter().find_map(Result::err);
        if let Some(error) = failure {
            if dirty {
                self.write(&mut sync).await?;
            }
            return Err(error);
        }
        let finished = all_noted && self.finish(&mut sync);
        if dirty || finished {
            self.write(&mut sync).await?;
        }
        if finished {
            self.tell_end(&sync);
        }
        Ok(())
    }

    /// Notes the Pods that have ended, and gives those whose finalizers may come off; and whether these are all, for only
    /// so many are noted at once.
    fn note_ended(&self, sync: &mut Sync, dirty: &mut bool) -> (Vec<Arc<Pod>>, bool) {
        let mut pods: Vec<Arc<Pod>> = sync.pods.iter().filter(|pod| sync.is_open(pod)).cloned().collect();
        if is_indexed(&sync.spec) {
            pods.sort_by_key(|pod| sync.index_of(pod));
        }
        let failing = sync.finish.as_ref().is_some_and(|finish| finish.type_ != SUCCESS_CRITERIA_MET);
        let (mut succeeded, mut failed) = {
            let (succeeded, failed) = sync.uncounted();
            (succeeded.to_vec(), failed.to_vec())
        };
        let (mut ended, mut new_indexes, mut all_noted) = (Vec::new(), Vec::new(), true);
        for pod in pods {
            if !may_release(sync, &pod) {
                continue;
            }
            let (uid, index) = (uid_of(&pod).to_owned(), sync.index_of(&pod));
            let is_noted = |list: &[String]| list.contains(&uid);
            if phase(&pod) == "Succeeded" && !is_noted(&failed) {
                // An index in `completedIndexes` is counted once by itself.
                if is_indexed(&sync.spec) {
                    let new = index.filter(|index| !sync.indexes_before.has(*index));
                    new_indexes.extend(new);
                    *dirty |= new.is_some();
                } else if !is_noted(&succeeded) {
                    succeeded.push(uid);
                    *dirty = true;
                }
            } else if (sync.has_failed(&pod) || failing)
                && !is_noted(&failed)
                && (!is_indexed(&sync.spec) || index.is_some())
                && policy::judge(&sync.spec, &pod) != FailureAction::Ignore
            {
                failed.push(uid);
                *dirty = true;
            }
            ended.push(pod);
            if new_indexes.len() + succeeded.len() + failed.len() >= UNCOUNTED_MAX {
                all_noted = false;
                break;
            }
        }
        set_uncounted(&mut sync.status, succeeded, failed);
        // Those that were not looked at are not written down yet.
        sync.succeeded_indexes.clone_from(&sync.indexes_before);
        sync.succeeded_indexes.extend(new_indexes);
        (ended, all_noted)
    }

    /// What is decided stands in the status before the finalizers come off; the end itself, after.
    fn note_decision(&self, sync: &mut Sync) -> bool {
        let now = self.client.now();
        let Some(finish) = sync.finish.take() else { return false };
        let (last, noted) = match finish.type_.as_str() {
            FAILURE_TARGET => (FAILED, true),
            SUCCESS_CRITERIA_MET => (COMPLETE, conditions::holding(&sync.job, SUCCESS_CRITERIA_MET).is_none()),
            _ => (FAILED, false),
        };
        if noted {
            sync.status.conditions.get_or_insert_default().push(finish.clone());
        }
        sync.finish = Some(conditions::following(&finish, last, now));
        noted
    }

    async fn release_all(&self, key: &Key, pods: &[Arc<Pod>]) -> Vec<Result<(), Error>> {
        let uids = pods.iter().map(|pod| uid_of(pod).to_owned());
        self.removals.borrow_mut().entry(key.clone()).or_default().extend(uids);
        let release = |pod: &Arc<Pod>| {
            let pod = pod.clone();
            async move {
                let released = release(&self.client, &pod).await;
                // No event will come of a Pod that is gone, or that was not changed.
                if !matches!(released, Ok(Some(_))) {
                    self.removal_observed(key, uid_of(&pod));
                }
                released.map(|version| self.consistency.wrote(key, Kind::Pod, version.as_deref()))
            }
        };
        join_all(pods.iter().map(release).collect()).await
    }

    /// The end, if it is decided and nothing is uncounted or still running. Mirrors `enactJobFinished`.
    fn finish(&self, sync: &mut Sync) -> bool {
        let (succeeded, failed) = sync.uncounted();
        let counted = succeeded.is_empty() && failed.is_empty() && sync.status.terminating.unwrap_or(0) == 0;
        let Some(finish) = sync.finish.clone().filter(|_| counted) else { return false };
        if finish.type_ == COMPLETE {
            sync.status.completion_time.clone_from(&finish.last_transition_time);
        }
        // Completed when it was decided; told when the last Pod is counted.
        let told = conditions::following(&finish, &finish.type_, self.client.now());
        ensure(sync.status.conditions.get_or_insert_default(), told);
        true
    }

    fn tell_end(&self, sync: &Sync) {
        let Some(finish) = &sync.finish else { return };
        if finish.type_ != COMPLETE {
            let [reason, message] = [&finish.reason, &finish.message].map(|text| text.clone().unwrap_or_default());
            return self.recorder.event(&sync.job, EventType::Warning, &reason, message);
        }
        if sync.spec.completions.is_some_and(|wanted| sync.status.succeeded.unwrap_or(0) > wanted) {
            const WHY: &str = "Too many succeeded pods running after completion count reached";
            self.recorder.event(&sync.job, EventType::Warning, "TooManySucceededPods", WHY);
        }
        self.recorder.event(&sync.job, EventType::Normal, "Completed", "Job completed");
    }

    async fn write(&self, sync: &mut Sync) -> Result<(), Error> {
        let mut update: Job = sync.job.clone();
        update.status = Some(sync.status.clone());
        let updated = self.client.update_status(update).await?;
        self.consistency.wrote(&sync.key, Kind::Job, updated.metadata.resource_version.as_deref());
        sync.job = Job::clone(&updated);
        Ok(())
    }
}

/// Whether the Pod need not be kept for counting. Mirrors `canRemoveFinalizer`.
fn may_release(sync: &Sync, pod: &Pod) -> bool {
    let ending = sync.job.metadata.deletion_timestamp.is_some() || sync.finish.is_some();
    ending || phase(pod) == "Succeeded" || (sync.has_failed(pod) && !per_index::is_remembered(sync, pod))
}

/// What an Indexed Job says of its indexes. Tells whether that is new.
fn write_indexes(sync: &mut Sync) -> bool {
    if !is_indexed(&sync.spec) {
        return false;
    }
    let text = |indexes: &Indexes| indexes.to_string();
    let completed = Some(text(&sync.succeeded_indexes)).filter(|text| !text.is_empty());
    let failed = sync.failed_indexes.as_ref().map(text);
    let status = &mut sync.status;
    let changed = status.completed_indexes != completed || status.failed_indexes != failed;
    status.succeeded = nonzero(sync.succeeded_indexes.total());
    status.completed_indexes = completed;
    status.failed_indexes = failed;
    changed
}

/// Moves the noted Pods that hold no finalizer any more into the counts. Mirrors `cleanUncountedPodsWithoutFinalizers`.
fn count_released(status: &mut JobStatus, open: &BTreeSet<String>) -> bool {
    let uncounted = status.uncounted_terminated_pods.clone().unwrap_or_default();
    let split = |uids: Option<Vec<String>>| -> (Vec<String>, Vec<String>) {
        uids.unwrap_or_default().into_iter().partition(|uid| open.contains(uid))
    };
    let (succeeded, new_successes) = split(uncounted.succeeded);
    let (failed, new_failures) = split(uncounted.failed);
    let add = |count: &mut Option<i32>, new: &[String]| *count = nonzero(count.unwrap_or(0) + new.len() as i32);
    add(&mut status.succeeded, &new_successes);
    add(&mut status.failed, &new_failures);
    set_uncounted(status, succeeded, failed);
    !new_successes.is_empty() || !new_failures.is_empty()
}

fn set_uncounted(status: &mut JobStatus, succeeded: Vec<String>, failed: Vec<String>) {
    let some = |uids: Vec<String>| (!uids.is_empty()).then_some(uids);
    let uncounted = status.uncounted_terminated_pods.get_or_insert_default();
    uncounted.succeeded = some(succeeded);
    uncounted.failed = some(failed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_released_is_counted_once() {
        let uncounted = json!({"succeeded": ["a", "b"], "failed": ["c"]});
        let mut status: JobStatus =
            serde_json::from_value(json!({"succeeded": 1, "uncountedTerminatedPods": uncounted})).unwrap();
        for (open, changed, want) in [
            (vec!["a", "b", "c"], false, json!([1, null, ["a", "b"], ["c"]])),
            (vec!["b"], true, json!([2, 1, ["b"], null])),
            (vec!["b"], false, json!([2, 1, ["b"], null])),
            (vec![], true, json!([3, 1, null, null])),
        ] {
            let open = open.into_iter().map(str::to_owned).collect();
            assert_eq!(count_released(&mut status, &open), changed);
            let uncounted = status.uncounted_terminated_pods.clone().unwrap();
            assert_eq!(json!([status.succeeded, status.failed, uncounted.succeeded, uncounted.failed]), want);
        }
    }
}
