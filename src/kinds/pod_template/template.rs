//! Templates of Pods, and the selectors that must match them. Mirrors `ValidatePodTemplateSpec`.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::pod_template::spec;
use crate::validation::metadata;
use object::selector::{Labels, Selector, is_empty};
use object::validation::field::{Json, Path, Problems, Shown};
use object::validation::internal::Internal;

const SPEC: Path = Path::new("spec");

/// Who belongs, and what is made: the template's Pods must belong. Mirrors `ValidatePodTemplateSpecForReplicaSet`.
pub fn selector_and_template(problems: &mut Problems, selector: &LabelSelector, template: &PodTemplateSpec) {
    let path = SPEC.child("selector");
    let missing = *selector == LabelSelector::default();
    if missing {
        // The typed struct does not tell a missing selector from an empty one; a missing one is the usual slip.
        problems.required(&path, "");
    }
    metadata::label_selector(problems, &path, selector);
    if !missing && is_empty(selector) {
        problems.invalid(&path, Internal("LabelSelector", selector), "empty selector is invalid for deployment");
    }
    let Ok(parsed) = Selector::of(selector) else {
        problems.invalid(&path, Internal("LabelSelector", selector), "invalid label selector");
        return;
    };
    let path = SPEC.child("template");
    let labels = template.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    if missing || !parsed.matches(labels) {
        not_selected(problems, &path, labels);
    }
    validate_template(problems, &path, template, "ReplicaSet");
}

/// What is to be made. `owner` is the kind that the error names: a Deployment speaks as its ReplicaSets do.
pub fn validate_template(problems: &mut Problems, path: &Path, template: &PodTemplateSpec, owner: &str) {
    template_body(problems, path, template);
    runs_forever(problems, path, template, owner);
}

/// The complaint about labels that the selector does not match.
pub fn not_selected(problems: &mut Problems, template: &Path, labels: Option<&Labels>) {
    let meta = template.child("metadata");
    problems.invalid(&meta.child("labels"), Json(&labels), "`selector` does not match template `labels`");
}

/// What a template must not say if its Pods are to be there always.
pub fn runs_forever(problems: &mut Problems, path: &Path, template: &PodTemplateSpec, owner: &str) {
    let Some(spec) = &template.spec else { return };
    let path = path.child("spec");
    let policy = spec.restart_policy.as_deref().unwrap_or_default();
    if policy != "Always" {
        problems.not_supported(&path.child("restartPolicy"), policy, &["Always"]);
    }
    if spec.active_deadline_seconds.is_some() {
        let why = format!("activeDeadlineSeconds in {owner} is not Supported");
        problems.forbidden(&path.child("activeDeadlineSeconds"), &why);
    }
}

/// What is true of any template. Mirrors `ValidatePodTemplateSpec`.
pub fn template_body(problems: &mut Problems, path: &Path, template: &PodTemplateSpec) {
    template_metadata(problems, path, template);
    let path = path.child("spec");
    let Some(spec) = &template.spec else { return problems.required(&path.child("containers"), "") };
    spec::pod_spec(problems, &path, spec, spec::Owner::Template);
    spec::restarted_inits(problems, &path, spec);
    if spec.ephemeral_containers.as_ref().is_some_and(|containers| !containers.is_empty()) {
        const WHY: &str = "ephemeral containers not allowed in pod template";
        problems.forbidden(&path.child("ephemeralContainers"), WHY);
    }
}

/// The labels and annotations of a template.
pub fn template_metadata(problems: &mut Problems, path: &Path, template: &PodTemplateSpec) {
    if let Some(meta) = &template.metadata {
        metadata::labels(problems, &path.child("labels"), meta.labels.as_ref());
        metadata::annotations(problems, &path.child("annotations"), meta.annotations.as_ref());
    }
}

/// A selector as Go prints it.
pub fn selector_text(selector: &LabelSelector) -> String {
    Internal("LabelSelector", selector).shown()
}

/// A selector that selects something, and the template whose labels it has to match.
pub fn selected_template(problems: &mut Problems, selector: &LabelSelector, missing: bool, template: &PodTemplateSpec) {
    let labels = template.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    if let Ok(parsed) = Selector::of(selector)
        && (missing || !parsed.matches(labels))
    {
        not_selected(problems, &SPEC.child("template"), labels);
    }
}
