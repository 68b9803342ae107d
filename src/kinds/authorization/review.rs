//! Reviews: a question must be about one thing, and carry nothing that has no meaning in a question. Mirrors
//! `pkg/apis/authorization/validation`.

use k8s_openapi::api::authorization::v1::{
    FieldSelectorAttributes, LabelSelectorAttributes, LocalSubjectAccessReview, NonResourceAttributes,
    ResourceAttributes, SelfSubjectAccessReview, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::validation::metadata::{label_requirement, requirement_values};
use object::status::Cause;
use object::validation::field::{Literal, Path, Problems, Shown};
use object::validation::internal::Internal;
const SPEC: Path = Path::new("spec");
const RESOURCE: Path = SPEC.child("resourceAttributes");
const URL: Path = SPEC.child("nonResourceAttributes");

/// Mirrors `ValidateSelfSubjectAccessReview`.
pub fn self_subject_access(review: &SelfSubjectAccessReview) -> Vec<Cause> {
    let mut problems = Problems::default();
    let (resource, url) = (&review.spec.resource_attributes, &review.spec.non_resource_attributes);
    one_of(&mut problems, resource.as_ref(), url.as_ref());
    selectors(&mut problems, resource.as_ref());
    nothing_in(&mut problems, &review.metadata, review.metadata.clone(), "must be empty");
    problems.0
}

/// Mirrors `ValidateSubjectAccessReview`.
pub fn subject_access(review: &SubjectAccessReview) -> Vec<Cause> {
    let mut problems = Problems::default();
    about_somebody(&mut problems, &review.spec);
    nothing_in(&mut problems, &review.metadata, review.metadata.clone(), "must be empty");
    problems.0
}

/// Mirrors `ValidateLocalSubjectAccessReview`.
pub fn local_subject_access(review: &LocalSubjectAccessReview) -> Vec<Cause> {
    let mut problems = Problems::default();
    about_somebody(&mut problems, &review.spec);
    let rest = ObjectMeta { namespace: None, ..review.metadata.clone() };
    nothing_in(&mut problems, &review.metadata, rest, "must be empty except for namespace");
    let namespace = |text: &Option<String>| text.clone().unwrap_or_default();
    if let Some(resource) = &review.spec.resource_attributes {
        let asked = namespace(&resource.namespace);
        if asked != namespace(&review.metadata.namespace) {
            problems.invalid(&RESOURCE.child("namespace"), asked.as_str(), "must match metadata.namespace");
        }
    }
    if let Some(url) = &review.spec.non_resource_attributes {
        let shown = Internal("NonResourceAttributes", url);
        problems.invalid(&URL, shown, "disallowed on this kind of request");
    }
    problems.0
}

/// Mirrors `ValidateSubjectAccessReviewSpec`.
fn about_somebody(problems: &mut Problems, spec: &SubjectAccessReviewSpec) {
    one_of(problems, spec.resource_attributes.as_ref(), spec.non_resource_attributes.as_ref());
    let is_somebody = spec.user.as_ref().is_some_and(|user| !user.is_empty());
    if !is_somebody && spec.groups.as_ref().is_none_or(Vec::is_empty) {
        problems.invalid(&SPEC.child("user"), "", "at least one of user or group must be specified");
    }
    selectors(problems, spec.resource_attributes.as_ref());
}

/// A review is about a resource or about a URL.
fn one_of(problems: &mut Problems, resource: Option<&ResourceAttributes>, url: Option<&NonResourceAttributes>) {
    match (resource, url) {
        (Some(_), Some(url)) => {
            let shown = Internal("NonResourceAttributes", url);
            problems.invalid(&URL, shown, "cannot be specified in combination with resourceAttributes");
        }
        (None, None) => {
            const WHY: &str = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            problems.invalid(&RESOURCE, Literal("null"), WHY);
        }
        _ => {}
    }
}

/// `rest` is the metadata without what may be in it; who manages which field the server has put there itself.
fn nothing_in(problems: &mut Problems, metadata: &ObjectMeta, rest: ObjectMeta, why: &str) {
    let rest = ObjectMeta { managed_fields: None, ..rest };
    if Internal("ObjectMeta", &rest).shown() != "{}" {
        problems.invalid(&Path::new("metadata"), Internal("ObjectMeta", metadata), why);
    }
}

fn selectors(problems: &mut Problems, resource: Option<&ResourceAttributes>) {
    let Some(resource) = resource else { return };
    if let Some(selector) = &resource.field_selector {
        field_selector(problems, &RESOURCE.child("fieldSelector"), selector);
    }
    if let Some(selector) = &resource.label_selector {
        label_selector(problems, &RESOURCE.child("labelSelector"), selector);
    }
}

/// Mirrors `validateFieldSelectorAttributes`. An unknown operator may be one of a newer client.
fn field_selector(problems: &mut Problems, path: &Path, selector: &FieldSelectorAttributes) {
    let requirements = selector.requirements.as_deref().unwrap_or_default();
    one_form(problems, path, selector.raw_selector.as_deref(), requirements.is_empty());
    let list = path.child("requirements");
    for (i, requirement) in requirements.iter().enumerate() {
        let path = list.index(i);
        if requirement.key.is_empty() {
            problems.required(&path.child("key"), "must be specified");
        }
        requirement_values(problems, &path, &requirement.operator, requirement.values.as_deref());
    }
}

/// Mirrors `validateLabelSelectorAttributes`.
fn label_selector(problems: &mut Problems, path: &Path, selector: &LabelSelectorAttributes) {
    let requirements = selector.requirements.as_deref().unwrap_or_default();
    one_form(problems, path, selector.raw_selector.as_deref(), requirements.is_empty());
    let list = path.child("requirements");
    for (i, requirement) in requirements.iter().enumerate() {
        let path = list.index(i);
        requirement_values(problems, &path, &requirement.operator, requirement.values.as_deref());
        label_requirement(problems, &path, requirement);
    }
}

/// A selector is a text or a list.
fn one_form(problems: &mut Problems, path: &Path, raw: Option<&str>, no_requirements: bool) {
    let raw = raw.unwrap_or_default();
    match (raw, no_requirements) {
        ("", true) => {
            let why = format!("when {path} is specified, requirements or rawSelector is required");
            problems.required(&path.child("requirements"), &why);
        }
        (raw, false) if !raw.is_empty() => {
            problems.invalid(&path.child("rawSelector"), raw, "may not specified at the same time as requirements");
        }
        _ => {}
    }
}
