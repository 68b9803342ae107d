//! From the bytes a client sent to a typed object, with every complaint the real decoder has.
//!
//! What happens to a body: it is parsed ([`json`]), asked for its `apiVersion` and `kind`, and read field by field
//! into the Go type of that kind ([`read`]); here the types are those of `k8s-openapi`. Unknown and duplicate fields
//! are collected on the way; `fieldValidation` decides whether they are an error, warnings, or nothing.
//!
//! Mirrors the JSON serializer of `k8s.io/apimachinery/pkg/runtime/serializer/json` over `sigs.k8s.io/json`, and
//! `transformDecodeError` of `k8s.io/apiserver/pkg/endpoints/handlers`. Field names are case-sensitive.
//!
//! Left out: duplicates of a nested struct are not merged, the last one counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, LabelSelector};
use serde_json::Value;

use object::json::{self, Json};
use object::patch::go_text;
use object::read::{self, Problem};
use object::status::{Cause, Details, Reason};
use object::validation::field::Problems;
use object::{Kind, Object, Status};
use wire::FieldValidation;

use rules::apiextensions::{self, Version};

mod conversion;
pub mod quote;
mod versions;

/// How many bytes of an unrecognisable body its error shows.
const SUMMARY_LEN: usize = 30;

/// Reads `body` as an object of `kind`; `custom` is what is known of it if a user has defined it. Also gives the
/// warnings of mode `Warn`.
pub fn decode(
    kind: Kind,
    custom: Option<&Version>,
    body: &str,
    mode: FieldValidation,
) -> Result<(Object, Vec<String>), Status> {
    let (json, api_version, kind_name) = parsed(&kind.to_string(), body)?;
    let named = Named::with_defaults(&api_version, &kind_name, kind);
    let refused = |why: String| {
        let Named { kind: name, version, .. } = &named;
        Status::bad_request(format!("{name} in version {version:?} cannot be handled as a {kind}: {why}"))
    };
    let (object, problems) = match kind {
        Kind::Custom(_) => {
            named.must_be(kind, custom, &json)?;
            read_object(kind, custom, &json).map_err(|error| refused(error.to_string()))?
        }
        _ => named.read_as(kind, &json).map_err(refused)?,
    };
    Ok((object, told(&problems, &[], mode).map_err(refused)?))
}

/// The warnings that these problems are, after those that were `noticed` before, or why they are an error.
fn told(problems: &[Problem], noticed: &[String], mode: FieldValidation) -> Result<Vec<String>, String> {
    let told: Vec<String> = noticed.iter().cloned().chain(problems.iter().map(Problem::to_string)).collect();
    match mode {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Strict if !told.is_empty() => Err(format!("strict decoding error: {}", told.join(", "))),
        FieldValidation::Warn | FieldValidation::Strict => Ok(told),
    }
}

/// The object in `json`, and its unknown and duplicate fields.
fn read_object(kind: Kind, custom: Option<&Version>, json: &Json) -> Result<(Object, Vec<Problem>), read::Error> {
    match (custom, kind) {
        (Some(version), _) => apiextensions::decode::object(version, json),
        (None, Kind::Custom(_)) => versions::decode(kind, json),
        (None, kind) => {
            let (mut object, problems) = read::object(kind, json)?;
            note_empty_selector(&mut object, json);
            Ok((object, problems))
        }
    }
}

/// A selector that is there and asks for nothing is wrong in another way than one that is missing. The typed struct can
/// tell them apart by the map of labels, which is there only here: what is stored always asks for something.
fn note_empty_selector(object: &mut Object, json: &Json) {
    let sent = json.field("spec").and_then(|spec| spec.field("selector"));
    if !matches!(sent, Some(Json::Object(_))) {
        return;
    }
    let selector = match object {
        Object::Deployment(made) => Arc::make_mut(made).spec.as_mut().map(|spec| &mut spec.selector),
        Object::ReplicaSet(made) => Arc::make_mut(made).spec.as_mut().map(|spec| &mut spec.selector),
        Object::DaemonSet(made) => Arc::make_mut(made).spec.as_mut().map(|spec| &mut spec.selector),
        Object::StatefulSet(made) => Arc::make_mut(made).spec.as_mut().map(|spec| &mut spec.selector),
        _ => None,
    };
    if let Some(selector) = selector.filter(|selector| **selector == LabelSelector::default()) {
        selector.match_labels = Some(BTreeMap::new());
    }
}

/// The JSON of a body, and the `apiVersion` and `kind` in it.
fn parsed(wanted: &str, body: &str) -> Result<(Json, String, String), Status> {
    let unrecognized = |why: String| unrecognized(wanted, &why, body.as_bytes());
    let json =
        json::parse(body).map_err(|why| unrecognized(format!("couldn't get version/kind; json parse error: {why}")))?;
    let (api_version, kind) = version_and_kind(&json).map_err(unrecognized)?;
    Ok((json, api_version, kind))
}

/// 400 about a body whose kind is unknown. Mirrors `transformDecodeError`.
pub fn unrecognized(wanted: &str, why: &str, body: &[u8]) -> Status {
    let summary = summarize(body);
    Status::bad_request(format!("the object provided is unrecognized (must be of type {wanted}): {why} ({summary})"))
}

/// Reads the body of a subresource, which is of a Go type in a `package` and of no kind that is kept: `Binding`, `Eviction`.
/// It has these versions; of the first is one that does not say.
pub fn body<T: serde::de::DeserializeOwned>(
    kind: &str,
    package: &str,
    versions: &[&str],
    text: &str,
) -> Result<T, Status> {
    let (json, api_version, said) = parsed(kind, text)?;
    let said = if said.is_empty() { kind } else { &said };
    let default = versions.first().copied().unwrap_or_default();
    let api_version = if api_version.is_empty() { default } else { &api_version };
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let refused = |why: String| {
        Status::bad_request(format!("{said} in version {version:?} cannot be handled as a {kind}: {why}"))
    };
    if said != kind || !versions.contains(&api_version) {
        return Err(refused(foreign(said, api_version, &format!("{package}.{kind}"))));
    }
    read::value(&json).map(|(value, _)| value).map_err(|error| refused(error.to_string()))
}

/// Reads the `DeleteOptions` in the body of a DELETE; what is wrong with them is told without many words.
pub fn delete_options(text: &str) -> Result<DeleteOptions, Status> {
    let json = json::parse(text)
        .map_err(|why| Status::bad_request(format!("couldn't get version/kind; json parse error: {why}")))?;
    // Every group has them.
    let sent: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let said = |field: &str| sent[field].as_str().unwrap_or_default();
    if !matches!(said("kind"), "" | "DeleteOptions") {
        const SCHEME: &str = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";
        let (kind, version) = (said("kind"), said("apiVersion"));
        let why = format!("no kind {kind:?} is registered for version {version:?} in scheme {SCHEME:?}");
        return Err(Status::bad_request(why));
    }
    read::value(&json).map(|(value, _)| value).map_err(|error| Status::bad_request(error.to_string()))
}

/// Reads the Scale that a PUT carries, and gives the warnings of mode `Warn`.
pub fn scale(text: &str, mode: FieldValidation) -> Result<(Scale, Vec<String>), Status> {
    let (json, api_version, kind) = parsed("Scale", text)?;
    let kind = if kind.is_empty() { "Scale" } else { &kind };
    let api_version = if api_version.is_empty() { "autoscaling/v1" } else { &api_version };
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let refused =
        |why: String| Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a Scale: {why}"));
    if (api_version, kind) != ("autoscaling/v1", "Scale") {
        return Err(refused(foreign(kind, api_version, "autoscaling.Scale")));
    }
    let (scale, problems) = read::value(&json).map_err(|error| refused(error.to_string()))?;
    Ok((scale, told(&problems, &[], mode).map_err(refused)?))
}

/// How an object was patched, and so what an error about the result says.
#[derive(Clone, Copy)]
pub enum Patched<'a> {
    /// By a merge patch. The result is quoted as this gives it, and read as JSON.
    Merge(&'a dyn Fn() -> String),
    /// By this strategic merge patch, which is quoted. Fields are converted one by one.
    Strategic(&'a Value),
    /// In another way. The result is quoted, and read as JSON.
    Otherwise,
}

impl Patched<'_> {
    /// The 422 that says why the result is no object.
    fn refused(self, patched: &Value, why: &read::Error) -> Status {
        let message = match self {
            Patched::Strategic(patch) => format!("Invalid value: {:?}: {}", go_text(patch), conversion::error(why)),
            Patched::Merge(quoted) => format!("Invalid value: {:?}: {why}", quoted()),
            Patched::Otherwise => format!("Invalid value: {:?}: {why}", patched.to_string()),
        };
        let cause = Cause { reason: "FieldValueInvalid".into(), message: message.clone(), field: "patch".into() };
        let mut status = Status::new(Reason::Invalid, format!(" \"\" is invalid: patch: {message}"));
        status.details = Some(Box::new(Details { causes: vec![cause], ..Details::default() }));
        status
    }
}

/// Reads what a patch made of an object of `kind`, in which something may have been `noticed` before. Mirrors
/// `applyPatchToCurrentObject` of `endpoints/handlers/patch.go`.
pub fn decode_patched(
    kind: Kind,
    custom: Option<&Version>,
    patched: &Value,
    how: Patched<'_>,
    (mode, noticed): (FieldValidation, &[String]),
) -> Result<(Object, Vec<String>), Status> {
    read_patched(kind, custom, patched, how)
        .and_then(|(object, problems)| Ok((object, told(&problems, noticed, mode)?)))
        .map_err(|why| how.refused(patched, &why))
}

fn read_patched(
    kind: Kind,
    custom: Option<&Version>,
    patched: &Value,
    how: Patched<'_>,
) -> Result<(Object, Vec<Problem>), read::Error> {
    let json = Json::of(patched);
    match (how, kind) {
        // Here the Go type takes the fields that it has; what the object says it is means nothing.
        (Patched::Strategic(_), _) | (_, Kind::Custom(_)) => read_object(kind, custom, &json),
        _ => version_and_kind(&json)
            .and_then(|(version, name)| Named::with_defaults(&version, &name, kind).read_as(kind, &json))
            .map_err(read::Error::from),
    }
}

/// Reads what a policy made of an object of `kind`; or why it is none.
pub fn patched_object(
    kind: Kind,
    custom: Option<&Version>,
    patched: &Value,
    mode: FieldValidation,
) -> Result<Object, String> {
    let (object, problems) = read_patched(kind, custom, patched, Patched::Otherwise).map_err(|why| why.to_string())?;
    told(&problems, &[], mode)?;
    Ok(object)
}

/// Reads what a patch made of a Scale.
pub fn patched_scale(
    patched: &Value,
    how: Patched<'_>,
    (mode, noticed): (FieldValidation, &[String]),
) -> Result<(Scale, Vec<String>), Status> {
    let read = read::value(&Json::of(patched));
    read.and_then(|(scale, problems)| Ok((scale, told(&problems, noticed, mode)?)))
        .map_err(|why| how.refused(patched, &why))
}

/// The fields of an object that its kind has not: `spec.foo`, `spec.ports[0].foo`.
pub fn unknown_fields(kind: Kind, custom: Option<&Version>, value: &Value) -> Result<Vec<String>, String> {
    let (_, problems) = read_object(kind, custom, &Json::of(value)).map_err(|error| error.to_string())?;
    let unknown = |problem| match problem {
        Problem::Unknown(path) => Some(path),
        Problem::Duplicate(_) => None,
    };
    Ok(problems.into_iter().filter_map(unknown).collect())
}

/// The `apiVersion` and `kind` of a body; both are empty when missing. Mirrors `SimpleMetaFactory.Interpret`.
fn version_and_kind(json: &Json) -> Result<(String, String), String> {
    const WRONG: &str = "couldn't get version/kind; json parse error: json: cannot unmarshal";
    let fields = match json {
        Json::Object(fields) => fields.as_slice(),
        Json::Null => &[],
        other => {
            const GO_TYPE: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
            return Err(format!("{WRONG} {} into Go value of type {GO_TYPE}", other.type_name()));
        }
    };
    let text = |field: &str| match fields.iter().rev().find(|(name, _)| name == field) {
        None | Some((_, Json::Null)) => Ok(String::new()),
        Some((_, Json::String(text))) => Ok(text.clone()),
        Some((_, other)) => Err(format!("{WRONG} {} into Go struct field .{field} of type string", other.type_name())),
    };
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    if api_version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {api_version}"));
    }
    Ok((api_version, kind))
}

/// The kind a body says it is of.
struct Named {
    group: String,
    version: String,
    kind: String,
}

impl Named {
    /// What the body says, and where it says nothing, what the path asks for. Mirrors `gvkWithDefaults`.
    fn with_defaults(api_version: &str, kind: &str, default: Kind) -> Named {
        let info = default.info();
        let (mut group, mut version) = api_version.split_once('/').unwrap_or(("", api_version));
        if version.is_empty() && (group.is_empty() || group == info.group) {
            (group, version) = (info.group, info.version);
        }
        let kind = if kind.is_empty() { info.kind } else { kind };
        Named { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// A custom kind has no type, so the names alone say whether the body is of it.
    fn must_be(&self, kind: Kind, custom: Option<&Version>, json: &Json) -> Result<(), Status> {
        let info = kind.info();
        if self.api_version() != info.api_version {
            return Err(Status::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({})",
                self.api_version(),
                info.api_version
            )));
        }
        if self.kind != info.kind {
            let message = format!("Invalid value: {:?}: must be {}", self.kind, info.kind);
            let cause = Cause { reason: "FieldValueInvalid".into(), message, field: "kind".into() };
            let name = match json.field("metadata").and_then(|meta| meta.field("name")) {
                Some(Json::String(name)) => name.as_str(),
                _ => "",
            };
            let mut problems = Problems(vec![cause]);
            if let Some(version) = custom
                && let Ok((Object::Custom(object), _)) = apiextensions::decode::object(version, json)
            {
                version.validate_other_kind(&mut problems, &object);
            }
            return Err(Status::invalid_kind(&self.group, &self.kind, name, problems.0));
        }
        Ok(())
    }

    /// Reads the body as the kind that it says it is, which must be `kind`.
    fn read_as(&self, kind: Kind, json: &Json) -> Result<(Object, Vec<Problem>), String> {
        let other = || foreign(&self.kind, &self.api_version(), &format!("{}.{kind}", internal_package(kind)));
        let sent = Kind::from_manifest(&self.api_version(), &self.kind).ok_or_else(other)?;
        let read = read_object(sent, None, json).map_err(|error| error.to_string())?;
        if sent == kind { Ok(read) } else { Err(other()) }
    }
}

/// Why what is of this kind is no `wanted` Go type: the server may have a type for it, and converts it to no other. Each kind
/// has a list, and there is a list of anything.
fn foreign(kind: &str, api_version: &str, wanted: &str) -> String {
    const SCHEME: &str = "pkg/api/legacyscheme/scheme.go:30";
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let is_kind = |kind: &str| Kind::from_manifest(api_version, kind).is_some();
    let of_anything = (api_version, kind) == ("v1", "List");
    match of_anything || is_kind(kind) || kind.strip_suffix("List").is_some_and(is_kind) {
        true => format!("converting ({version}.{kind}) to ({wanted}): unknown conversion"),
        false => format!("no kind {kind:?} is registered for version {api_version:?} in scheme {SCHEME:?}"),
    }
}

/// The Go package of a kind's internal type: `core.Pod`, `rbac.Role`.
fn internal_package(kind: Kind) -> &'static str {
    match kind.info().group {
        "" => "core",
        group => group.split('.').next().unwrap_or_default(),
    }
}

/// The beginning of a body, for an error about it. Mirrors `summarizeData`.
fn summarize(body: &[u8]) -> String {
    let shown = &body[..body.len().min(SUMMARY_LEN)];
    let rest = if shown.len() < body.len() { " ..." } else { "" };
    match shown.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{rest}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            hex + rest
        }
    }
}

#[cfg(test)]
mod tests;
