//! Bodies: what may be sent where, and in which media type.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::message::{HttpRequest, with_empty_details};
use super::options::{self, Query, cause, invalid_options};
use super::path::{Shape, cleaned, split_proxy};
use super::protobuf;
use crate::decode;
use object::doubled::{OnceEach, TWICE};
use object::json::{self, Json};
use object::patch::go_type;
use object::read::{self, Problem};
use object::status::{Reason, aggregate};
use object::{Accessor, Kind, Status, nesting, versions};
use wire::{Binding, Body, DeleteOptions, FieldValidation, Options, Patch, Propagation, Subresource, Verb};

/// The largest body that is read.
const BODY_LEN_MAX: usize = 3 * 1024 * 1024;
/// A body that is a message.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
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
    let container = || query.get("container").unwrap_or_default().to_owned();
    match shape.subresource {
        Some(Subresource::Log) => {
            check_log_options(query, &shape.name)?;
            return Ok(Body::Log { container: container() });
        }
        Some(Subresource::Exec) => return Ok(Body::Exec { container: container(), command: query.all("command") }),
        Some(Subresource::Attach) => return Ok(Body::Attach { container: container() }),
        Some(Subresource::PortForward) => return Ok(Body::None),
        Some(Subresource::Proxy) => {
            let (path, query) = http.target.split_at(http.target.find('?').unwrap_or(http.target.len()));
            let (_, behind) = split_proxy(path).unwrap_or_default();
            return Ok(Body::Proxy { target: format!("{}{query}", cleaned(behind)) });
        }
        _ => {}
    }
    if !verb.writes() {
        return Ok(Body::None);
    }
    if verb == Verb::Patch {
        let media_type = media_type(http);
        let text = String::from_utf8_lossy(http.body);
        check_patch(&media_type, &text)?;
        let unreadable = |why| Patch::Unreadable { why: Box::new(why), applies: media_type == APPLY_PATCH };
        return Ok(Body::Patch(patch(&media_type, &text, options).unwrap_or_else(unreadable)));
    }
    if matches!(verb, Verb::Delete | Verb::DeleteCollection) {
        let sent = match http.body {
            [] => delete_parameters(query)?,
            _ => decode::delete_options(&json_text(http, shape.kind, Status::bad_request)?)?,
        };
        return delete_options(sent, options).map(Body::Delete);
    }
    let refused = |why: String| decode::unrecognized(&sent_to(shape), &why, http.body);
    let text = json_text(http, shape.kind, refused)?;
    if media_type(http) == "application/yaml" && options.field_validation == FieldValidation::Strict {
        check_doubled(&String::from_utf8_lossy(http.body), &text, shape)?;
    }
    match shape.subresource {
        Some(Subresource::Binding) => binding(&text, shape).map(Body::Binding),
        Some(Subresource::Token) => token(&text, shape),
        Some(Subresource::Eviction) => eviction(&text, shape, options).map(Body::Delete),
        _ => Ok(Body::Json(text)),
    }
}

/// Mirrors `ValidatePodLogOptions`, and what reads them before.
fn check_log_options(query: &Query, pod: &str) -> Result<(), Status> {
    let mut causes = Vec::new();
    let since = query.get("sinceTime").filter(|text| !matches!(*text, "" | "null"));
    since.map_or(Ok(()), read::check_time).map_err(Status::bad_request)?;
    for (name, least, why) in [
        ("tailLines", 0, "must be greater than or equal to 0"),
        ("limitBytes", 1, "must be greater than 0"),
        ("sinceSeconds", 1, "must be greater than 0"),
    ] {
        let said = query.get(name).map(options::parse_int).transpose()?;
        if name == "sinceSeconds" && said.is_some() && query.get("sinceTime").is_some() {
            causes.push(cause("", "Forbidden", "at most one of `sinceTime` or `sinceSeconds` may be specified"));
        } else if let Some(value) = said.filter(|value| *value < least) {
            causes.push(cause(name, "Invalid value", &format!("{value}: {why}")));
        }
    }
    if causes.is_empty() { Ok(()) } else { Err(Status::invalid_kind("", "PodLogOptions", pod, causes)) }
}

/// The media type without its parameters.
fn media_type(http: &HttpRequest) -> String {
    http.content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn check_length(body: &[u8]) -> Result<(), Status> {
    if body.len() <= BODY_LEN_MAX {
        return Ok(());
    }
    let message = format!("Request entity too large: limit is {BODY_LEN_MAX}");
    Err(Status::new(Reason::RequestEntityTooLarge, message))
}

/// The body as JSON; it may have come as JSON, YAML or protobuf. `refused` makes the answer to broken protobuf.
fn json_text(http: &HttpRequest, kind: Kind, refused: impl Fn(String) -> Status) -> Result<String, Status> {
    check_length(http.body)?;
    let lossy = || String::from_utf8_lossy(http.body);
    let text = match media_type(http).as_str() {
        "" | "application/json" => lossy().into_owned(),
        "application/yaml" => {
            let value: Result<Value, String> = yaml(&lossy());
            value.map_err(|why| refused(format!("yaml: {}", in_go_words(&why))))?.to_string()
        }
        // What users define has no messages.
        PROTOBUF if !matches!(versions::stored_as(kind), Kind::Custom(_)) => {
            protobuf::to_json(http.body, kind).map_err(refused)?.to_string()
        }
        _ => {
            let text = "the body of the request was in an unknown format - accepted media types include";
            return Err(Status::new(Reason::UnsupportedMediaType, format!("{text}: {MEDIA_TYPES}")));
        }
    };
    check_length(text.as_bytes())?;
    Ok(text)
}

/// What is sent there.
fn sent_to(shape: &Shape) -> String {
    match shape.subresource {
        Some(Subresource::Binding) => "Binding".to_owned(),
        Some(Subresource::Eviction) => "Eviction".to_owned(),
        Some(Subresource::Scale) => "Scale".to_owned(),
        Some(Subresource::Token) => "TokenRequest".to_owned(),
        _ => shape.kind.to_string(),
    }
}

const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// Whether this is an apply patch.
pub fn applies(http: &HttpRequest) -> bool {
    media_type(http) == APPLY_PATCH
}

fn yaml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    nesting::check(text)?;
    // Of several documents the first is taken.
    let first = serde_yaml::Deserializer::from_str(text).next();
    first.map_or_else(|| serde_yaml::from_str(text), T::deserialize).map_err(|why| why.to_string())
}

/// Why a text is no YAML, as Go's reader says it: the line comes first, if it is not the first.
fn in_go_words(why: &str) -> String {
    let Some((what, at)) = why.split_once(" at line ") else { return why.to_owned() };
    match at.split(' ').next() {
        None | Some("1") => what.to_owned(),
        Some(line) => format!("line {line}: {what}"),
    }
}

/// A key that stands twice in one mapping, as Go's reader of YAML says it; none: there is none. The last would count.
fn doubled(text: &str, shown: impl Fn(&str) -> String) -> Option<String> {
    let why = OnceEach::deserialize(serde_yaml::Deserializer::from_str(text).next()?).err()?;
    let line = why.location()?.line();
    let why = why.to_string();
    let (key, _) = why.split_once(TWICE)?.1.split_once(" at line ")?;
    Some(format!("yaml: unmarshal errors:\n  line {line}: key {} already set in map", shown(key)))
}

/// Refuses a body in YAML in which a key stands twice.
fn check_doubled(text: &str, as_json: &str, shape: &Shape) -> Result<(), Status> {
    let Some(why) = doubled(text, str::to_owned) else { return Ok(()) };
    let sent: Value = serde_json::from_str(as_json).unwrap_or_default();
    let said = |field: &str, default: &str| sent[field].as_str().unwrap_or(default).to_owned();
    let (wanted, version) = (sent_to(shape), said("apiVersion", "v1"));
    let (kind, version) = (said("kind", &wanted), version.rsplit('/').next().unwrap_or_default());
    Err(Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {wanted}: strict decoding error: {why}"
    )))
}

/// A key as goyaml shows it that has not been told that it is a text: it may be a word of YAML 1.1.
fn untyped_key(key: &str) -> String {
    match key.trim_matches('"').to_ascii_lowercase().as_str() {
        "y" | "yes" | "on" => "true".to_owned(),
        "n" | "no" | "off" => "false".to_owned(),
        _ => key.to_owned(),
    }
}

fn configuration(text: &str, mode: FieldValidation) -> Result<Patch, Status> {
    const CONVERTING: &str = "error converting YAML to JSON";
    let read =
        yaml(text).map_err(|why| Status::bad_request(format!("error decoding YAML: {CONVERTING}: yaml: {why}")))?;
    match doubled(text, untyped_key).filter(|_| mode == FieldValidation::Strict) {
        Some(why) => Err(Status::bad_request(format!("error strict decoding YAML: {CONVERTING}: {why}"))),
        None => Ok(Patch::Apply(read)),
    }
}

/// Whether this may be a patch, as far as can be seen without reading it.
fn check_patch(media_type: &str, text: &str) -> Result<(), Status> {
    const MEDIA_TYPES: [&str; 4] = [
        APPLY_PATCH,
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ];
    if !MEDIA_TYPES.contains(&media_type) {
        return Err(unsupported());
    }
    check_length(text.as_bytes())
}

fn unsupported() -> Status {
    with_empty_details(Reason::UnsupportedMediaType, "415: Unsupported Media Type")
}

/// A patch. Unless it is told not to, the server first reads it looking for fields that are there twice, and it is then
/// that it finds out what is no patch. Mirrors `applyJSPatch` and `strategicPatchObject`.
pub fn patch(media_type: &str, text: &str, options: &mut Options) -> Result<Patch, Status> {
    let mode = options.field_validation;
    let make: fn(Value) -> Patch = match media_type {
        APPLY_PATCH => return configuration(text, mode),
        "application/json-patch+json" => Patch::Json,
        "application/merge-patch+json" => Patch::Merge,
        "application/strategic-merge-patch+json" => Patch::Strategic,
        _ => return Err(unsupported()),
    };
    let refuse = |why: String| {
        Status::bad_request(match (media_type, mode) {
            ("application/strategic-merge-patch+json", _) => why,
            ("application/merge-patch+json", FieldValidation::Ignore) => "Invalid JSON Patch".to_owned(),
            (_, FieldValidation::Ignore) => why,
            (_, FieldValidation::Warn | FieldValidation::Strict) => format!("error decoding patch: {why}"),
        })
    };
    // Go's words about the text; the value itself comes from the usual parser.
    let json = json::parse(text).map_err(refuse)?;
    if mode != FieldValidation::Ignore {
        options.patch_problems = patch_problems(&json);
    }
    let value: Value = serde_json::from_str(text).map_err(|why| refuse(why.to_string()))?;
    let wanted = match (media_type, mode, &value) {
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

/// Fields that are twice in the text of a patch, and those of its operations that no operation has. A merge patch has no
/// others: what its fields mean, the object says.
fn patch_problems(patch: &Json) -> Vec<String> {
    let Json::Array(operations) = patch else {
        let read = read::value::<Value>(patch);
        return read.map_or(Vec::new(), |(_, problems)| problems.iter().map(Problem::to_string).collect());
    };
    let mut problems = Vec::new();
    for (i, operation) in operations.iter().enumerate() {
        let Json::Object(fields) = operation else { continue };
        for (at, (name, _)) in fields.iter().enumerate() {
            if !["op", "from", "path", "value"].contains(&name.as_str()) {
                problems.push(format!("json patch unknown field \"[{i}].{name}\""));
            } else if fields[..at].iter().any(|(before, _)| before == name) {
                problems.push(format!("json patch duplicate field \"[{i}].{name}\""));
            }
        }
    }
    problems
}

/// What is sent to a subresource may say in which namespace its object is, which is then the URL's.
fn same_namespace(sent: &meta::ObjectMeta, shape: &Shape) -> Result<(), Status> {
    match sent.namespace.as_deref() {
        Some(said) if !said.is_empty() && said != shape.namespace => Err(Status::bad_request(OTHER_NAMESPACE)),
        _ => Ok(()),
    }
}

/// Why a body is refused that is about another namespace than the URL.
pub const OTHER_NAMESPACE: &str =
    "the namespace of the provided object does not match the namespace sent on the request";

/// Mirrors `BindingREST.Create`.
fn binding(text: &str, shape: &Shape) -> Result<Binding, Status> {
    let binding: core::Binding = decode::body("Binding", "core", &["v1"], text)?;
    same_namespace(&binding.metadata, shape)?;
    same_name(binding.metadata.name.as_deref(), &shape.name, "Binding")?;
    binding_of(binding)
}

/// What a Binding says. Mirrors `ValidatePodBinding`, whose errors are none that the server knows: they become a 500.
pub fn binding_of(sent: core::Binding) -> Result<Binding, Status> {
    let (kind, node) = (sent.target.kind.unwrap_or_default(), sent.target.name.unwrap_or_default());
    let mut wrong = Vec::new();
    if !matches!(kind.as_str(), "" | "Node") {
        wrong.push(format!("target.kind: Unsupported value: {kind:?}: supported values: \"Node\", \"<empty>\""));
    }
    if node.is_empty() {
        wrong.push("target.name: Required value".to_owned());
    }
    if !wrong.is_empty() {
        return Err(Status::new(Reason::Unknown, aggregate(&wrong)));
    }
    Ok(Binding {
        uid: sent.metadata.uid.filter(|uid| !uid.is_empty()),
        resource_version: sent.metadata.resource_version.filter(|version| !version.is_empty()),
        node,
        annotations: sent.metadata.annotations.unwrap_or_default(),
        labels: sent.metadata.labels.unwrap_or_default(),
    })
}

/// What is sent to a Pod's subresource says which Pod, as the URL does.
fn same_name(sent: Option<&str>, name: &str, what: &str) -> Result<(), Status> {
    if sent == Some(name) {
        return Ok(());
    }
    Err(Status::bad_request(format!("name in URL does not match name in {what} object")))
}

fn token(text: &str, shape: &Shape) -> Result<Body, Status> {
    let request: TokenRequest = decode::body("TokenRequest", "authentication", &["authentication.k8s.io/v1"], text)?;
    same_namespace(&request.metadata, shape)?;
    let name = shape.name.as_str();
    let said = request.metadata.name();
    if !said.is_empty() && said != name {
        let why = format!("{said:?}: must match the service account name if specified");
        let causes = vec![cause("metadata.name", "Invalid value", &why)];
        return Err(Status::invalid_kind("authentication.k8s.io", "TokenRequest", name, causes));
    }
    let spec = request.spec.unwrap_or_default();
    let bound = spec.bound_object_ref.map(|bound| {
        let (version, kind) = (bound.api_version.unwrap_or_default(), bound.kind.unwrap_or_default());
        let kind = match (version.as_str(), kind.as_str()) {
            ("v1", "Pod") => Kind::Pod,
            ("v1", "Secret") => Kind::Secret,
            ("v1", "Node") => Kind::Node,
            _ => {
                let version = if version.contains('/') { version } else { format!("/{version}") };
                return Err(Status::bad_request(format!("cannot bind token to object of type {version}, Kind={kind}")));
            }
        };
        Ok((kind, bound.name.unwrap_or_default(), bound.uid.unwrap_or_default()))
    });
    let (audiences, bound) = (spec.audiences.unwrap_or_default(), bound.transpose()?);
    Ok(Body::Token { audiences, expiration_seconds: spec.expiration_seconds.unwrap_or(3600), bound })
}

fn eviction(text: &str, shape: &Shape, options: &mut Options) -> Result<DeleteOptions, Status> {
    let eviction: Eviction = decode::body("Eviction", "policy", &["policy/v1", "policy/v1beta1"], text)?;
    same_namespace(&eviction.metadata, shape)?;
    same_name(eviction.metadata.name.as_deref(), &shape.name, "Eviction")?;
    let dry_run = options.dry_run;
    let sent = delete_options(eviction.delete_options.unwrap_or_default(), options)?;
    options.dry_run |= dry_run;
    Ok(sent)
}

/// `DeleteOptions` in the query: they count where there is no body.
fn delete_parameters(query: &Query) -> Result<meta::DeleteOptions, Status> {
    let grace = query.get("gracePeriodSeconds").map(options::parse_int);
    Ok(meta::DeleteOptions {
        grace_period_seconds: grace.transpose()?,
        propagation_policy: query.get("propagationPolicy").map(str::to_owned),
        orphan_dependents: query.said("orphanDependents"),
        dry_run: Some(query.all("dryRun")),
        ..meta::DeleteOptions::default()
    })
}

/// What `DeleteOptions` come to. Mirrors `ValidateDeleteOptions`.
fn delete_options(sent: meta::DeleteOptions, options: &mut Options) -> Result<DeleteOptions, Status> {
    let mut causes = Vec::new();
    let policy = |what: &str, detail: String| cause("propagationPolicy", what, &detail);
    let propagation = match (sent.propagation_policy.as_deref(), sent.orphan_dependents) {
        (Some(said), Some(_)) => {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(policy("Invalid value", format!("{said:?}: {why}")));
            None
        }
        (Some("Orphan"), None) | (None, Some(true)) => Some(Propagation::Orphan),
        (Some("Background"), None) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), None) => Some(Propagation::Foreground),
        (Some(said), None) => {
            const SUPPORTED: &str = "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
            causes.push(policy("Unsupported value", format!("{said:?}: {SUPPORTED}")));
            None
        }
        (None, None) => None,
    };
    let stages: Vec<&str> = sent.dry_run.iter().flatten().map(String::as_str).collect();
    causes.extend(options::dry_run(&stages));
    if !causes.is_empty() {
        return Err(invalid_options("DeleteOptions", causes));
    }
    options.dry_run = stages.contains(&"All");
    let preconditions = sent.preconditions.unwrap_or_default();
    Ok(DeleteOptions {
        grace_period_seconds: sent.grace_period_seconds,
        propagation,
        says_orphan_not: sent.orphan_dependents == Some(false),
        uid: preconditions.uid,
        resource_version: preconditions.resource_version,
    })
}
