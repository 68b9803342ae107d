//! Bodies: what may be sent where, and in which media type.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use serde_json::Value;

use super::options::{Query, cause, invalid_options};
use super::path::Shape;
use super::{HttpRequest, with_empty_details};
use crate::apiserver::decode;
use crate::apiserver::request::{
    Binding, Body, DeleteOptions, FieldValidation, Options, Patch, Propagation, Subresource, Verb,
};
use crate::object::Status;
use crate::object::patch::go_type;
use crate::object::status::Reason;

/// The largest body that is read.
const BODY_LEN_MAX: usize = 3 * 1024 * 1024;
/// What a body may be written in.
const MEDIA_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// The body of a request, decoded as far as this layer knows it. Options that come in the body join the others.
pub fn parse(
    http: &HttpRequest,
    shape: &Shape,
    verb: Verb,
    query: &Query,
    options: &mut Options,
) -> Result<Body, Status> {
    if !verb.writes() {
        return Ok(Body::None);
    }
    if verb == Verb::Patch {
        check_patch_options(http, query)?;
        return patch(http, options.field_validation).map(Body::Patch);
    }
    let deletes = matches!(verb, Verb::Delete | Verb::DeleteCollection);
    let text = if deletes && http.body.is_empty() { "{}".to_owned() } else { json_text(http)? };
    match shape.subresource {
        _ if deletes => delete_options(decode::body("DeleteOptions", &text)?, query, options).map(Body::Delete),
        Some(Subresource::Binding) => binding(&text, &shape.name).map(Body::Binding),
        Some(Subresource::Token) => token(&text),
        Some(Subresource::Eviction) => eviction(&text, &shape.name, query, options).map(Body::Delete),
        _ => Ok(Body::Json(text)),
    }
}

/// The media type without its parameters.
fn media_type(http: &HttpRequest) -> String {
    http.content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn check_length(body: &str) -> Result<(), Status> {
    if body.len() <= BODY_LEN_MAX {
        return Ok(());
    }
    let message = format!("Request entity too large: limit is {BODY_LEN_MAX}");
    Err(Status::new(Reason::RequestEntityTooLarge, message))
}

/// The body as JSON, whatever it was written in.
fn json_text(http: &HttpRequest) -> Result<String, Status> {
    let text = match media_type(http).as_str() {
        "" | "application/json" => http.body.to_owned(),
        "application/yaml" => {
            let value: Result<Value, _> = serde_yaml::from_str(http.body);
            value.map_err(|why| Status::bad_request(format!("yaml: {why}")))?.to_string()
        }
        _ => {
            let text = "the body of the request was in an unknown format - accepted media types include";
            return Err(Status::new(Reason::UnsupportedMediaType, format!("{text}: {MEDIA_TYPES}")));
        }
    };
    check_length(&text)?;
    Ok(text)
}

const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// Who applies must say who they are, and nobody else can force anything. Mirrors `ValidatePatchOptions`.
fn check_patch_options(http: &HttpRequest, query: &Query) -> Result<(), Status> {
    let said = |name: &str| query.get(name).is_some_and(|value| !value.is_empty());
    let cause = match media_type(http) == APPLY_PATCH {
        true if !said("fieldManager") => cause("fieldManager", "Required value", "is required for apply patch"),
        false if said("force") => cause("force", "Forbidden", "may not be specified for non-apply patch"),
        _ => return Ok(()),
    };
    Err(invalid_options("PatchOptions", vec![cause]))
}

fn configuration(http: &HttpRequest) -> Result<Patch, Status> {
    check_length(http.body)?;
    let config = serde_yaml::from_str(http.body);
    config
        .map(Patch::Apply)
        .map_err(|why| Status::bad_request(format!("error decoding YAML: error converting YAML to JSON: yaml: {why}")))
}

/// A patch. Unless it is told not to, the server first reads it looking for fields that are there twice, and it is then
/// that it finds out what is no patch. Mirrors `applyJSPatch` and `strategicPatchObject`.
fn patch(http: &HttpRequest, mode: FieldValidation) -> Result<Patch, Status> {
    let media_type = media_type(http);
    let make: fn(Value) -> Patch = match media_type.as_str() {
        APPLY_PATCH => return configuration(http),
        "application/json-patch+json" => Patch::Json,
        "application/merge-patch+json" => Patch::Merge,
        "application/strategic-merge-patch+json" => Patch::Strategic,
        _ => return Err(with_empty_details(Reason::UnsupportedMediaType, "415: Unsupported Media Type")),
    };
    check_length(http.body)?;
    let refuse = |why: String| {
        Status::bad_request(match (media_type.as_str(), mode) {
            ("application/strategic-merge-patch+json", _) => why,
            ("application/merge-patch+json", FieldValidation::Ignore) => "Invalid JSON Patch".to_owned(),
            (_, FieldValidation::Ignore) => why,
            (_, FieldValidation::Warn | FieldValidation::Strict) => format!("error decoding patch: {why}"),
        })
    };
    // Go's words about the text; the value itself comes from the parser that everybody uses.
    crate::object::json::parse(http.body).map_err(refuse)?;
    let value: Value = serde_json::from_str(http.body).map_err(|why| refuse(why.to_string()))?;
    let wanted = match (media_type.as_str(), mode, &value) {
        ("application/json-patch+json", FieldValidation::Warn | FieldValidation::Strict, Value::Array(_)) => None,
        ("application/json-patch+json", FieldValidation::Warn | FieldValidation::Strict, _) => {
            Some("[]handlers.jsonPatchOp")
        }
        ("application/merge-patch+json", _, Value::Object(_)) => None,
        ("application/merge-patch+json", ..) => Some("map[string]interface {}"),
        _ => None,
    };
    match wanted {
        None => Ok(make(value)),
        Some(wanted) => {
            Err(refuse(format!("json: cannot unmarshal {} into Go value of type {wanted}", go_type(&value))))
        }
    }
}

/// Mirrors `BindingREST.Create` and `ValidatePodBinding`, whose errors are none that the server knows: they become a 500.
fn binding(text: &str, name: &str) -> Result<Binding, Status> {
    let binding: core::Binding = decode::body("Binding", text)?;
    same_name(binding.metadata.name.as_deref(), name, "Binding")?;
    let (kind, node) = (binding.target.kind.unwrap_or_default(), binding.target.name.unwrap_or_default());
    let mut wrong = Vec::new();
    if !matches!(kind.as_str(), "" | "Node") {
        wrong.push(format!("target.kind: Unsupported value: {kind:?}: supported values: \"Node\", \"<empty>\""));
    }
    if node.is_empty() {
        wrong.push("target.name: Required value".to_owned());
    }
    match wrong.as_slice() {
        [] => {}
        [only] => return Err(Status::new(Reason::Unknown, only.clone())),
        all => return Err(Status::new(Reason::Unknown, format!("[{}]", all.join(", ")))),
    }
    Ok(Binding {
        uid: binding.metadata.uid.filter(|uid| !uid.is_empty()),
        node,
        labels: binding.metadata.labels.unwrap_or_default(),
    })
}

/// What is sent to a Pod's subresource says which Pod, as the URL does.
fn same_name(sent: Option<&str>, name: &str, what: &str) -> Result<(), Status> {
    if sent == Some(name) {
        return Ok(());
    }
    Err(Status::bad_request(format!("name in URL does not match name in {what} object")))
}

fn token(text: &str) -> Result<Body, Status> {
    let request: TokenRequest = decode::body("TokenRequest", text)?;
    let spec = request.spec.unwrap_or_default();
    let bound = spec.bound_object_ref.filter(|object| object.kind.as_deref() == Some("Pod"));
    let pod = bound.map(|object| (object.name.unwrap_or_default(), object.uid.unwrap_or_default()));
    let audiences = spec.audiences.unwrap_or_default();
    Ok(Body::Token { audiences, expiration_seconds: spec.expiration_seconds.unwrap_or(3600), pod })
}

fn eviction(text: &str, name: &str, query: &Query, options: &mut Options) -> Result<DeleteOptions, Status> {
    let eviction: Eviction = decode::body("Eviction", text)?;
    same_name(eviction.metadata.name.as_deref(), name, "Eviction")?;
    delete_options(eviction.delete_options.unwrap_or_default(), query, options)
}

/// `DeleteOptions` of the body, or of the query where the body has none. Mirrors `ValidateDeleteOptions`.
fn delete_options(sent: meta::DeleteOptions, query: &Query, options: &mut Options) -> Result<DeleteOptions, Status> {
    let parameter = |name: &str| query.get(name).filter(|value| !value.is_empty());
    let grace = match parameter("gracePeriodSeconds") {
        Some(seconds) => Some(
            seconds
                .parse()
                .map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {seconds:?}: invalid syntax")))?,
        ),
        None => None,
    };
    let policy = sent.propagation_policy.or_else(|| parameter("propagationPolicy").map(str::to_owned));
    let orphan =
        sent.orphan_dependents.or_else(|| parameter("orphanDependents").map(|_| query.flag("orphanDependents")));
    let refuse = |what: &str, detail: String| {
        Err(invalid_options("DeleteOptions", vec![cause("propagationPolicy", what, &detail)]))
    };
    let propagation = match (policy.as_deref(), orphan) {
        (Some(policy), Some(_)) => {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            return refuse("Invalid value", format!("{policy:?}: {why}"));
        }
        (Some("Orphan"), None) | (None, Some(true)) => Some(Propagation::Orphan),
        (Some("Background"), None) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), None) => Some(Propagation::Foreground),
        (Some(policy), None) => {
            const SUPPORTED: &str = "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
            return refuse("Unsupported value", format!("{policy:?}: {SUPPORTED}"));
        }
        (None, None) => None,
    };
    options.dry_run |= sent.dry_run.is_some_and(|dry_run| !dry_run.is_empty());
    let preconditions = sent.preconditions.unwrap_or_default();
    Ok(DeleteOptions {
        grace_period_seconds: sent.grace_period_seconds.or(grace),
        propagation,
        uid: preconditions.uid,
        resource_version: preconditions.resource_version,
    })
}
