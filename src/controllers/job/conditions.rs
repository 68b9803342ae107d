//! A Job's conditions. Mirrors `ensureJobConditionStatus` and `pkg/controller/job/utils.go`.

use k8s_openapi::api::batch::v1::{Job, JobCondition};

use object::time::Instant;

/// As many Pods have succeeded as were asked for.
pub const COMPLETE: &str = "Complete";
/// It has failed, and nothing of it runs any more.
pub const FAILED: &str = "Failed";
/// It will be complete as soon as all Pods are counted.
pub const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
/// It will be failed as soon as all Pods are gone.
pub const FAILURE_TARGET: &str = "FailureTarget";
/// It is told not to run.
pub const SUSPENDED: &str = "Suspended";

/// A condition that is now so.
pub fn condition(type_: &str, status: &str, reason: &str, message: &str, now: Instant) -> JobCondition {
    JobCondition {
        type_: type_.into(),
        status: status.into(),
        reason: Some(reason.into()),
        message: Some(message.into()),
        last_probe_time: Some(now.time()),
        last_transition_time: Some(now.time()),
    }
}

/// The condition `FailureTarget`: the Job fails, and why.
pub fn failure(reason: &str, message: &str, now: Instant) -> JobCondition {
    condition(FAILURE_TARGET, "True", reason, message, now)
}

/// The same as another condition's reason and message, under another type.
pub fn following(from: &JobCondition, type_: &str, now: Instant) -> JobCondition {
    JobCondition {
        type_: type_.into(),
        last_probe_time: Some(now.time()),
        last_transition_time: Some(now.time()),
        ..from.clone()
    }
}

/// The Job's condition of this type, if it is True.
pub fn holding<'a>(job: &'a Job, type_: &str) -> Option<&'a JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_deref()?;
    conditions.iter().find(|condition| condition.type_ == type_ && condition.status == "True")
}

/// Whether the Job has come to its end. Mirrors `IsJobFinished`.
pub fn is_finished(job: &Job) -> bool {
    [COMPLETE, FAILED].iter().any(|type_| holding(job, type_).is_some())
}

/// Puts a condition in, in place of the one of its type. One that is False and new says nothing. Tells whether anything
/// changed.
pub fn ensure(conditions: &mut Vec<JobCondition>, new: JobCondition) -> bool {
    match conditions.iter_mut().find(|there| there.type_ == new.type_) {
        Some(there) if there.status == new.status && there.reason == new.reason && there.message == new.message => {
            false
        }
        Some(there) => {
            *there = new;
            true
        }
        None if new.status == "False" => false,
        None => {
            conditions.push(new);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_put_in_its_place() {
        let now = Instant(0);
        let mut conditions = Vec::new();
        for (status, reason, changed, count) in [
            ("False", "JobResumed", false, 0),
            ("True", "JobSuspended", true, 1),
            ("True", "JobSuspended", false, 1),
            ("False", "JobResumed", true, 1),
        ] {
            assert_eq!(ensure(&mut conditions, condition(SUSPENDED, status, reason, "", now)), changed, "{status}");
            assert_eq!(conditions.len(), count, "{status}");
        }
    }
}
