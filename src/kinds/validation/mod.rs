//! Validation: what is wrong with an object, in the API server's own words.
//!
//! The last look at an object before it is stored, after defaults, mutating admission and the kind's strategy. Each
//! problem is one cause of a 422: the field, the kind of problem, the sentence. All problems are listed, in the order
//! in which Kubernetes finds them. Mirrors `pkg/apis/*/validation` and what the strategies add to it.
//!
//! What is wrong with an object of one kind stands in the kind's file; here is what kinds have in common.
//!
//! - `object_meta`: every object's metadata. [`metadata`]: what it is made of, and label selectors. [`conditions`]: those of a
//!   status.
//! - [`data`], [`volumes`], [`addresses`], [`counts`]: what several kinds have.
//! - [`diff`]: how a sentence shows what changed.
//!
//! Must hold:
//! - A valid object costs no text. Kept by the benchmark `cluster`.
//! - What did not change in an update is not looked at again. Kept by `what_is_there_stays`.
//!
//! Left out: fields that nothing here acts on, such as the options of Windows, are accepted as they are.

use crate::certificates::certificate_signing_request;
use crate::core::namespace;
use crate::core::pod::resize;
use crate::pod_template::ephemeral;
use crate::table::row;
use object::status::Cause;
use object::validation::field::Problems;
use object::{Kind, Object};
use rules::apiextensions::Version;

pub mod addresses;
pub mod conditions;
pub mod counts;
pub mod data;
pub mod diff;
pub mod metadata;
mod object_meta;
pub mod volumes;

#[cfg(test)]
pub mod tests;

/// What is wrong with a new object; `custom` is what is known of its kind if a user has defined it.
pub fn validate_create(object: &Object, custom: Option<&Version>) -> Vec<Cause> {
    validate_create_in(object.kind(), object, custom)
}

/// The same of one that was written in this version of its kind: `events.k8s.io` asks more than `v1`.
pub fn validate_create_in(version: Kind, object: &Object, custom: Option<&Version>) -> Vec<Cause> {
    let mut problems = Problems::default();
    object_meta::validate_create(&mut problems, object);
    if let (Object::Custom(object), Some(version)) = (object, custom) {
        version.validate(&mut problems, object, None);
    } else if let Some(row) = row(object.kind()) {
        row.validate_create(&mut problems, object, matches!(version, Kind::Custom(_)));
    }
    problems.0
}

/// What is wrong with the metadata of a new version, each twice: the server looks at it for all kinds, and the strategy of the kind
/// does again.
fn of_metadata(new: &Object, old: &Object) -> Problems {
    let mut problems = Problems::default();
    object_meta::validate_update(&mut problems, new, old);
    let again = problems.0.clone();
    problems.0.extend(again);
    problems
}

/// What is wrong with a change.
pub fn validate_update(new: &Object, old: &Object, custom: Option<&Version>) -> Vec<Cause> {
    validate_update_in(new.kind(), new, old, custom)
}

/// The same of one that was written in this version of its kind.
pub fn validate_update_in(version: Kind, new: &Object, old: &Object, custom: Option<&Version>) -> Vec<Cause> {
    let mut problems = of_metadata(new, old);
    if let (Object::Custom(new), Object::Custom(old), Some(version)) = (new, old, custom) {
        version.validate(&mut problems, new, Some(old));
    } else if let Some(row) = row(new.kind()) {
        row.validate_update(&mut problems, new, old, matches!(version, Kind::Custom(_)));
    }
    problems.0
}

/// What is wrong with a change of the status.
pub fn validate_status_update(new: &Object, old: &Object, custom: Option<&Version>) -> Vec<Cause> {
    let mut problems = of_metadata(new, old);
    if let (Object::Custom(new), Object::Custom(old), Some(version)) = (new, old, custom) {
        version.validate_status(&mut problems, new, Some(old));
    } else if let Some(row) = row(new.kind()) {
        row.validate_status(&mut problems, new, old);
    }
    problems.0
}

/// What is wrong with a change of a Pod's ephemeral containers.
pub fn validate_ephemeral_containers(new: &Object, old: &Object) -> Vec<Cause> {
    let mut problems = of_metadata(new, old);
    if let (Object::Pod(new), Object::Pod(old)) = (new, old) {
        ephemeral::update(&mut problems, new, old);
    }
    problems.0
}

/// What is wrong with other sizes of a Pod's containers.
pub fn validate_resize(new: &Object, old: &Object) -> Vec<Cause> {
    let mut problems = of_metadata(new, old);
    if let (Object::Pod(new), Object::Pod(old)) = (new, old) {
        resize::update(&mut problems, new, old);
    }
    problems.0
}

/// What is wrong with what was decided about a request for a certificate.
pub fn validate_approval(new: &Object, old: &Object) -> Vec<Cause> {
    let mut problems = of_metadata(new, old);
    if let (Object::CertificateSigningRequest(new), Object::CertificateSigningRequest(old)) = (new, old) {
        certificate_signing_request::validate_approval(&mut problems, new, old);
    }
    problems.0
}

/// What is wrong with a change through `finalize`.
pub fn validate_finalize(new: &Object, old: &Object) -> Vec<Cause> {
    let mut problems = of_metadata(new, old);
    if let Object::Namespace(new) = new {
        namespace::validate_finalize(&mut problems, new);
    }
    problems.0
}
