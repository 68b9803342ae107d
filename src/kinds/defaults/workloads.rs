//! The defaults of DaemonSets, StatefulSets, Jobs and CronJobs. Mirrors `pkg/apis/apps/v1` and `pkg/apis/batch/v1`.

use k8s_openapi::api::apps::v1::{DaemonSet, RollingUpdateDaemonSet, RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetPersistentVolumeClaimRetentionPolicy};
use k8s_openapi::api::batch::v1::{CronJob, Job, JobSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::kinds::defaults::{claim_defaults, or, or_text, template_defaults};
pub fn daemon_set(set: &mut DaemonSet) {
    let spec = set.spec.get_or_insert_default();
    let strategy = spec.update_strategy.get_or_insert_default();
    or_text(&mut strategy.type_, "RollingUpdate");
    if strategy.type_.as_deref() == Some("RollingUpdate") {
        let rolling = strategy.rolling_update.get_or_insert_with(RollingUpdateDaemonSet::default);
        or(&mut rolling.max_unavailable, IntOrString::Int(1));
        or(&mut rolling.max_surge, IntOrString::Int(0));
    }
    or(&mut spec.revision_history_limit, 10);
    template_defaults(&mut spec.template);
}

pub fn stateful_set(set: &mut StatefulSet) {
    let spec = set.spec.get_or_insert_default();
    or_text(&mut spec.pod_management_policy, "OrderedReady");
    let strategy = spec.update_strategy.get_or_insert_default();
    if strategy.type_.is_none() {
        strategy.type_ = Some("RollingUpdate".into());
        strategy.rolling_update.get_or_insert_with(RollingUpdateStatefulSetStrategy::default);
    }
    if let Some(rolling) = &mut strategy.rolling_update {
        or(&mut rolling.partition, 0);
    }
    let retention = spec
        .persistent_volume_claim_retention_policy
        .get_or_insert_with(StatefulSetPersistentVolumeClaimRetentionPolicy::default);
    or_text(&mut retention.when_deleted, "Retain");
    or_text(&mut retention.when_scaled, "Retain");
    or(&mut spec.replicas, 1);
    or(&mut spec.revision_history_limit, 10);
    spec.volume_claim_templates.iter_mut().flatten().for_each(claim_defaults);
    template_defaults(&mut spec.template);
}

pub fn job(job: &mut Job) {
    let spec = job.spec.get_or_insert_default();
    // Neither said: one Pod is to succeed. Only parallelism said: a queue of work, of which any Pod may see the end.
    if spec.completions.is_none() && spec.parallelism.is_none() {
        spec.completions = Some(1);
    }
    or(&mut spec.parallelism, 1);
    let limit = if spec.backoff_limit_per_index.is_some() { i32::MAX } else { 6 };
    or(&mut spec.backoff_limit, limit);
    or(&mut spec.suspend, false);
    or(&mut spec.manual_selector, false);
    or_text(&mut spec.completion_mode, "NonIndexed");
    let replacement = if spec.pod_failure_policy.is_some() { "Failed" } else { "TerminatingOrFailed" };
    or_text(&mut spec.pod_replacement_policy, replacement);
    job_template(spec);
}

/// What a Job's template says of its Pods, and which of their conditions its failure policy means.
fn job_template(spec: &mut JobSpec) {
    template_defaults(&mut spec.template);
    for rule in spec.pod_failure_policy.iter_mut().flat_map(|policy| policy.rules.iter_mut()) {
        for pattern in rule.on_pod_conditions.iter_mut().flatten() {
            or_text(&mut pattern.status, "True");
        }
    }
}

pub fn cron_job(job: &mut CronJob) {
    let spec = &mut job.spec;
    or_text(&mut spec.concurrency_policy, "Allow");
    or(&mut spec.suspend, false);
    or(&mut spec.successful_jobs_history_limit, 3);
    or(&mut spec.failed_jobs_history_limit, 1);
    job_template(spec.job_template.spec.get_or_insert_default());
}
