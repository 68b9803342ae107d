//! How many ended Jobs stay. Mirrors `cleanupFinishedJobs`.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::{CronJob, Job};

use crate::job::conditions::{COMPLETE, FAILED, holding};

use super::CronJobs;

impl CronJobs {
    /// Deletes the oldest Jobs beyond the two limits, and says whether any went. One that could not be deleted has its
    /// Event; the next reconcile tries again.
    pub(super) async fn clean_up(&self, cron_job: &mut CronJob, jobs: &[Arc<Job>]) -> bool {
        let mut changed = false;
        let limits = [
            (COMPLETE, cron_job.spec.successful_jobs_history_limit),
            (FAILED, cron_job.spec.failed_jobs_history_limit),
        ];
        for (how, limit) in limits {
            let Some(limit) = limit else { continue };
            let ended: Vec<Arc<Job>> = jobs.iter().filter(|job| holding(job, how).is_some()).cloned().collect();
            for job in surplus(ended, limit) {
                changed |= self.delete_job(cron_job, &job).await.is_ok();
            }
        }
        changed
    }
}

/// The oldest by start, beyond `limit`. What has not started is the youngest.
fn surplus(mut jobs: Vec<Arc<Job>>, limit: i32) -> Vec<Arc<Job>> {
    let started = |job: &Job| job.status.as_ref().and_then(|status| status.start_time.clone()).map(|at| at.0);
    jobs.sort_by_key(|job| (started(job).is_none(), started(job), job.metadata.name.clone()));
    let surplus = jobs.len().saturating_sub(limit.max(0) as usize);
    jobs.truncate(surplus);
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_oldest_go() {
        let job = |name: &str, start: Option<&str>| {
            let job = json!({"metadata": {"name": name}, "status": {"startTime": start}});
            Arc::new(serde_json::from_value::<Job>(job).unwrap())
        };
        let at = |minute: &str| Some(format!("2026-01-01T00:{minute}:00Z"));
        let jobs = vec![
            job("never", None),
            job("b", at("02").as_deref()),
            job("a", at("01").as_deref()),
            job("c", at("03").as_deref()),
        ];
        for (limit, want) in [(4, vec![]), (2, vec!["a", "b"]), (0, vec!["a", "b", "c", "never"])] {
            let names: Vec<_> =
                surplus(jobs.clone(), limit).iter().filter_map(|job| job.metadata.name.clone()).collect();
            assert_eq!(names, want);
        }
    }
}
