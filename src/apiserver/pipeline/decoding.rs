//! Decoding: from the body of a request to the object that it is about, in its place.
//!
//! Mirrors the decoder of `endpoints/handlers/{create,update}.go`, and `rest.BeforeCreate` and `checkName` after it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::managed_fields::Written;
use crate::{ApiServer, Handling};
use object::{Object, Status};
use rest::body::OTHER_NAMESPACE;
use rest::decode;
use rules::apiextensions::{self, Version};
use rules::scale::{replicas, set_replicas};
use wire::{Body, FieldValidation};

use super::write::{Create, Write};

impl ApiServer {
    /// The object that came with the request, typed.
    pub(crate) fn incoming(&self, handling: &mut Handling) -> Result<Object, Status> {
        let request = handling.request;
        match &request.body {
            Body::Object(object) => match &handling.custom {
                Some(version) => Ok(apiextensions::decode::coerced(version, object.clone())),
                None => Ok(object.clone()),
            },
            Body::Json(text) => {
                let (mode, custom) = (request.options.field_validation, handling.custom.as_deref());
                let (object, warnings) = decode::decode(handling.served, custom, text, mode)?;
                handling.warnings.extend(warnings);
                handling.stage("decoding", || format!("{:?} field validation", request.options.field_validation));
                Ok(object)
            }
            _ => Err(Status::bad_request("the request carries no object")),
        }
    }
}

impl Write {
    /// The creation of an object that was sent. `written` says who manages what of it, if that is known already.
    pub fn create(handling: &mut Handling, mut new: Object, written: Option<Written>) -> Result<Write, Status> {
        let versioned = wipe_system_metadata(&mut new);
        place_in_namespace(&mut new, &handling.request.namespace)?;
        dedup_owner_references(handling, &mut new, "");
        Ok(Write::Create(Create { new, written, versioned, came: None }))
    }
}

/// The new state, if it is for where the URL says.
pub(crate) fn addressed(handling: &mut Handling, mut new: Object) -> Result<Object, Status> {
    place_in_namespace(&mut new, &handling.request.namespace)?;
    check_name(&new, &handling.request.name)?;
    dedup_owner_references(handling, &mut new, "");
    Ok(new)
}

/// What a client may not set itself. Whether it had a version, as no new object has; one that is no number is none.
fn wipe_system_metadata(object: &mut Object) -> bool {
    clear_system_metadata(object);
    if object.meta().resource_version.is_none() {
        return false;
    }
    let version = object.meta_mut().resource_version.take().unwrap_or_default();
    version.parse::<u64>().is_ok_and(|version| version != 0)
}

/// Mirrors `rest.WipeObjectMetaSystemFields`.
pub(crate) fn clear_system_metadata(object: &mut Object) {
    let meta = object.meta();
    let clean = meta.uid.is_none()
        && meta.creation_timestamp.is_none()
        && meta.deletion_timestamp.is_none()
        && meta.deletion_grace_period_seconds.is_none()
        && meta.self_link.is_none();
    if !clean {
        let meta = object.meta_mut();
        meta.uid = None;
        meta.creation_timestamp = None;
        meta.deletion_timestamp = None;
        meta.deletion_grace_period_seconds = None;
        meta.self_link = None;
    }
}

/// The URL's namespace wins where the object names none, and what is in no namespace loses the one that it names. Mirrors
/// `rest.EnsureObjectNamespaceMatchesRequestNamespace`.
pub(crate) fn place_in_namespace(object: &mut Object, namespace: &str) -> Result<(), Status> {
    if !object.kind().info().namespaced {
        if object.meta().namespace.is_some() {
            object.meta_mut().namespace = None;
        }
        return Ok(());
    }
    if object.namespace().is_empty() {
        object.meta_mut().namespace = Some(namespace.to_owned());
    } else if object.namespace() != namespace {
        return Err(Status::bad_request(OTHER_NAMESPACE));
    }
    Ok(())
}

/// Whether an object has the name in the URL.
pub(crate) fn check_name(new: &Object, name: &str) -> Result<(), Status> {
    check_place(new.meta(), name, "")
}

/// Whether an object is for where the URL says. Mirrors `checkName`.
pub(crate) fn check_place(sent: &ObjectMeta, name: &str, namespace: &str) -> Result<(), Status> {
    let said = sent.name.as_deref().unwrap_or_default();
    if said.is_empty() {
        let text = format!("the name of the object ({name} based on URL) was undeterminable: name must be provided");
        return Err(Status::bad_request(text));
    }
    if said != name {
        let text = format!("the name of the object ({said}) does not match the name on the URL ({name})");
        return Err(Status::bad_request(text));
    }
    let said = sent.namespace.as_deref().unwrap_or_default();
    if !said.is_empty() && !namespace.is_empty() && said != namespace {
        return Err(Status::bad_request(OTHER_NAMESPACE));
    }
    Ok(())
}

/// When duplicate owners came to be, if the client has not sent them.
pub(crate) const AFTER_ADMISSION: &str = " after mutating admission happens";

/// An owner that is named twice in the same words counts once, and the client is told. Mirrors
/// `dedupOwnerReferencesAndAddWarning`; `when` is said of those that admission has brought.
pub(crate) fn dedup_owner_references(handling: &mut Handling, object: &mut Object, when: &str) {
    let owners = object.meta().owner_references.as_deref().unwrap_or_default();
    let again = |i: usize| owners[..i].contains(&owners[i]);
    let doubled: Vec<&str> = (0..owners.len()).filter(|i| again(*i)).map(|i| owners[i].uid.as_str()).collect();
    if doubled.is_empty() {
        return;
    }
    handling.warnings.push(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may \
         reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        doubled.join(", ")
    ));
    let once = (0..owners.len()).filter(|i| !again(*i)).map(|i| owners[i].clone()).collect();
    object.meta_mut().owner_references = Some(once);
}

/// The object with what a policy or webhook has made of its Scale.
///
/// # Errors
/// That it is no Scale any more.
pub(super) fn scaled(
    object: &Object,
    version: Option<&Version>,
    scale: &Value,
    mode: FieldValidation,
) -> Result<Object, Status> {
    let (scale, _) = decode::patched_scale(scale, decode::Patched::Otherwise, (mode, &[]))?;
    let mut after = object.clone();
    set_replicas(&mut after, version, replicas(&scale));
    Ok(after)
}
