//! DaemonSets, StatefulSets and the ControllerRevisions that both keep. Mirrors `pkg/apis/apps/validation`.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::{PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource, PodTemplateSpec, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::kinds::validation::metadata;
use crate::kinds::validation::volumes::claim_spec;
use crate::kinds::validation::workload::{amount, int_or_percent, not_more_than_all, not_selected, pod_template, runs_forever, selector_text, template_body, template_metadata};
use crate::object::selector::{Selector, is_empty};
use crate::object::validation::field::{Path, Problems};
use crate::object::validation::internal::Internal;
use crate::object::validation::names::check_dns_label;

const SPEC: Path = Path::new("spec");

/// The spec of a DaemonSet. Mirrors `ValidateDaemonSetSpec`.
pub fn daemon_set(problems: &mut Problems, set: &DaemonSet) {
    let default = DaemonSetSpec::default();
    let spec = set.spec.as_ref().unwrap_or(&default);
    let path = SPEC.child("selector");
    let missing = spec.selector == LabelSelector::default();
    metadata::label_selector(problems, &path, &spec.selector);
    selected_template(problems, &spec.selector, missing, &spec.template);
    if !missing && is_empty(&spec.selector) {
        problems.invalid(&path, Internal("LabelSelector", &spec.selector), "empty selector is invalid for daemonset");
    }
    pod_template(problems, &SPEC.child("template"), &spec.template, "DaemonSet");
    problems.not_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds.unwrap_or(0));
    if let Some(strategy) = &spec.update_strategy {
        daemon_set_strategy(problems, &SPEC.child("updateStrategy"), strategy);
    }
    problems.not_negative(&SPEC.child("revisionHistoryLimit"), spec.revision_history_limit.unwrap_or(0));
}

/// What may not change in a DaemonSet.
pub fn daemon_set_update(problems: &mut Problems, new: &DaemonSet, old: &DaemonSet) {
    if new.spec == old.spec {
        return;
    }
    if let (Some(new), Some(old)) = (&new.spec, &old.spec) {
        problems.immutable(&SPEC.child("selector"), &new.selector, &old.selector, selector_text);
    }
    daemon_set(problems, new);
}

fn selected_template(problems: &mut Problems, selector: &LabelSelector, missing: bool, template: &PodTemplateSpec) {
    let labels = template.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    if let Ok(parsed) = Selector::of(selector)
        && (missing || !parsed.matches(labels))
    {
        not_selected(problems, &SPEC.child("template"), labels);
    }
}

/// Mirrors `ValidateDaemonSetUpdateStrategy`.
fn daemon_set_strategy(problems: &mut Problems, path: &Path, strategy: &DaemonSetUpdateStrategy) {
    let rolling = path.child("rollingUpdate");
    match (strategy.type_.as_deref().unwrap_or_default(), &strategy.rolling_update) {
        ("OnDelete", _) => {}
        ("RollingUpdate", None) => problems.required(&rolling, ""),
        ("RollingUpdate", Some(update)) => {
            let zero = IntOrString::Int(0);
            let unavailable = update.max_unavailable.as_ref().unwrap_or(&zero);
            let surge = update.max_surge.as_ref().unwrap_or(&zero);
            let (unavailable_at, surge_at) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
            int_or_percent(problems, &unavailable_at, unavailable);
            int_or_percent(problems, &surge_at, surge);
            not_more_than_all(problems, &unavailable_at, unavailable);
            not_more_than_all(problems, &surge_at, surge);
            match (amount(unavailable) != 0, amount(surge) != 0) {
                (true, true) => problems.invalid(&surge_at, surge, "may not be set when maxUnavailable is non-zero"),
                (false, false) => problems.required(&unavailable_at, "cannot be 0 when maxSurge is 0"),
                _ => {}
            }
        }
        _ => {
            problems.not_supported(path, Internal("DaemonSetUpdateStrategy", strategy), &["RollingUpdate", "OnDelete"])
        }
    }
}

/// What was not always asked of a StatefulSet: one that is there may stay as it is. Mirrors
/// `StatefulSetValidationOptions`.
#[derive(Clone, Copy)]
struct StatefulSetValidationOptions {
    /// The name of the Service, and what claims are made from: neither ever changes.
    fixed: bool,
    /// What is wrong with its Pods.
    pods: bool,
}

/// The spec of a new StatefulSet.
pub fn new_stateful_set(problems: &mut Problems, set: &StatefulSet) {
    stateful_set(
        problems,
        set.spec.as_ref().unwrap_or(&StatefulSetSpec::default()),
        StatefulSetValidationOptions { fixed: true, pods: true },
    );
}

/// The spec of a StatefulSet. Mirrors `ValidateStatefulSetSpec`.
fn stateful_set(problems: &mut Problems, spec: &StatefulSetSpec, asked: StatefulSetValidationOptions) {
    let policy = SPEC.child("podManagementPolicy");
    match spec.pod_management_policy.as_deref().unwrap_or_default() {
        "" => problems.required(&policy, ""),
        "OrderedReady" | "Parallel" => {}
        other => problems.invalid(&policy, other, "must be 'OrderedReady' or 'Parallel'"),
    }
    stateful_set_strategy(problems, spec);
    let retention = spec.persistent_volume_claim_retention_policy.as_ref();
    let path = SPEC.child("persistentVolumeClaimRetentionPolicy");
    for (field, value) in [
        ("whenDeleted", retention.and_then(|policy| policy.when_deleted.as_deref())),
        ("whenScaled", retention.and_then(|policy| policy.when_scaled.as_deref())),
    ] {
        if let Some(value) = value.filter(|value| !matches!(*value, "Retain" | "Delete")) {
            problems.not_supported(&path.child(field), value, &["Retain", "Delete"]);
        }
    }
    let list = SPEC.child("volumeClaimTemplates");
    for (i, template) in spec.volume_claim_templates.iter().flatten().enumerate().filter(|_| asked.fixed) {
        let default = PersistentVolumeClaimSpec::default();
        claim_spec(problems, &list.index(i).child("spec"), template.spec.as_ref().unwrap_or(&default));
    }
    problems.not_negative(&SPEC.child("replicas"), spec.replicas.unwrap_or(1));
    problems.not_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds.unwrap_or(0));
    let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or(0);
    problems.not_negative(&SPEC.child("ordinals").child("start"), start);
    let service = spec.service_name.as_deref().filter(|name| asked.fixed && !name.is_empty());
    if let Some(service) = service {
        problems.all_invalid(&SPEC.child("serviceName"), service, check_dns_label(service));
    }
    let path = SPEC.child("selector");
    let missing = spec.selector == LabelSelector::default();
    if missing {
        problems.required(&path, "");
    } else {
        metadata::label_selector(problems, &path, &spec.selector);
        if is_empty(&spec.selector) {
            let shown = Internal("LabelSelector", &spec.selector);
            problems.invalid(&path, shown, "empty selector is invalid for statefulset");
        }
    }
    let at = SPEC.child("template");
    if Selector::of(&spec.selector).is_ok() {
        selected_template(problems, &spec.selector, missing, &spec.template);
        if asked.pods {
            template_body(problems, &at, &with_claims(spec));
        }
        template_metadata(problems, &at, &spec.template);
    } else {
        problems.invalid(&path, Internal("LabelSelector", &spec.selector), "");
    }
    runs_forever(problems, &at, &spec.template, "StatefulSet");
}

/// The template as its Pods will have it: with volumes for the claims that are made for each, and host names by the
/// controller. Mirrors `volumesToAddForTemplates`.
fn with_claims(spec: &StatefulSetSpec) -> PodTemplateSpec {
    let mut template = spec.template.clone();
    let Some(pod) = &mut template.spec else { return template };
    (pod.hostname, pod.subdomain) = (None, None);
    let claims = spec.volume_claim_templates.iter().flatten().filter_map(|claim| claim.metadata.name.as_deref());
    let names: BTreeSet<&str> = claims.collect();
    if names.is_empty() {
        return template;
    }
    let claimed = |name: &str| PersistentVolumeClaimVolumeSource { claim_name: name.to_owned(), read_only: None };
    let volume = |name: &&str| Volume {
        name: (*name).to_owned(),
        persistent_volume_claim: Some(claimed(name)),
        ..Volume::default()
    };
    let own = pod.volumes.take().into_iter().flatten().filter(|volume| !names.contains(volume.name.as_str()));
    pod.volumes = Some(names.iter().map(volume).chain(own).collect());
    template
}

fn stateful_set_strategy(problems: &mut Problems, spec: &StatefulSetSpec) {
    let path = SPEC.child("updateStrategy");
    let strategy = spec.update_strategy.clone().unwrap_or_default();
    let rolling = path.child("rollingUpdate");
    match (strategy.type_.as_deref().unwrap_or_default(), &strategy.rolling_update) {
        ("", _) => problems.required(&path, ""),
        ("OnDelete", Some(update)) => {
            let shown = Internal("RollingUpdateStatefulSetStrategy", update);
            problems.invalid(&rolling, shown, "only allowed for updateStrategy 'RollingUpdate'");
        }
        ("RollingUpdate", Some(update)) => {
            problems.not_negative(&rolling.child("partition"), update.partition.unwrap_or(0));
            if let Some(unavailable) = &update.max_unavailable {
                int_or_percent(problems, &rolling.child("maxUnavailable"), unavailable);
                if amount(unavailable) == 0 {
                    problems.invalid(&rolling.child("maxUnavailable"), unavailable, "cannot be 0");
                }
                not_more_than_all(problems, &rolling.child("maxUnavailable"), unavailable);
            }
        }
        ("OnDelete" | "RollingUpdate", None) => {}
        _ => {
            let shown = Internal("StatefulSetUpdateStrategy", &strategy);
            problems.invalid(&path, shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// What may not change in a StatefulSet: nearly all. Mirrors `ValidateStatefulSetUpdate`.
pub fn stateful_set_update(problems: &mut Problems, new: &StatefulSet, old: &StatefulSet) {
    const WHY: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
        'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are \
        forbidden";
    let (Some(wanted), Some(there)) = (&new.spec, &old.spec) else { return };
    if wanted == there {
        return;
    }
    let mut before = Problems::default();
    stateful_set(&mut before, there, StatefulSetValidationOptions { fixed: false, pods: true });
    stateful_set(problems, wanted, StatefulSetValidationOptions { fixed: false, pods: before.0.is_empty() });
    let changed = StatefulSetSpec {
        replicas: wanted.replicas,
        ordinals: wanted.ordinals.clone(),
        template: wanted.template.clone(),
        update_strategy: wanted.update_strategy.clone(),
        revision_history_limit: wanted.revision_history_limit,
        persistent_volume_claim_retention_policy: wanted.persistent_volume_claim_retention_policy.clone(),
        min_ready_seconds: wanted.min_ready_seconds,
        ..there.clone()
    };
    if *wanted != changed {
        problems.forbidden(&SPEC, WHY);
    }
}

/// A revision's number. Mirrors `ValidateControllerRevision`.
pub fn controller_revision(problems: &mut Problems, revision: &ControllerRevision) {
    problems.not_negative(&Path::new("revision"), revision.revision);
}

/// A revision's data never changes.
pub fn controller_revision_update(problems: &mut Problems, new: &ControllerRevision, old: &ControllerRevision) {
    controller_revision(problems, new);
    let shown = |data: &_| serde_json::to_string(data).unwrap_or_default();
    problems.immutable(&Path::new("data"), &new.data, &old.data, shown);
}
