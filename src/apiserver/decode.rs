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

use crate::object::json::{self, Json};
use crate::object::patch::go_text;
use crate::object::read::{self, Problem};
use crate::object::status::{Cause, Details, Reason};
use crate::object::{Kind, Object, Status};

use super::apiextensions::{self, Version};
use super::request::FieldValidation;
use super::versions;

mod conversion;

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
            named.must_be(kind)?;
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
    let unrecognized = |why: String| {
        let summary = summarize(body);
        let what = "the object provided is unrecognized";
        Status::bad_request(format!("{what} (must be of type {wanted}): {why} ({summary})"))
    };
    let json =
        json::parse(body).map_err(|why| unrecognized(format!("couldn't get version/kind; json parse error: {why}")))?;
    let (api_version, kind) = version_and_kind(&json).map_err(unrecognized)?;
    Ok((json, api_version, kind))
}

/// Reads the body of a subresource, which has a Go type but no row in the table of kinds: `Binding`, `Eviction`.
pub fn body<T: serde::de::DeserializeOwned>(kind: &str, text: &str) -> Result<T, Status> {
    let refused =
        |why: String| Status::bad_request(format!("{kind} in version \"v1\" cannot be handled as a {kind}: {why}"));
    let (json, ..) = parsed(kind, text)?;
    read::value(&json).map(|(value, _)| value).map_err(|error| refused(error.to_string()))
}

/// Reads the `DeleteOptions` in the body of a DELETE; what is wrong with them is told without many words.
pub fn delete_options(text: &str) -> Result<DeleteOptions, Status> {
    let json = json::parse(text)
        .map_err(|why| Status::bad_request(format!("couldn't get version/kind; json parse error: {why}")))?;
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
        return Err(refused(match Kind::from_manifest(api_version, kind) {
            Some(_) => format!("converting ({version}.{kind}) to (autoscaling.Scale): unknown conversion"),
            None => not_registered(kind, api_version),
        }));
    }
    let (scale, problems) = read::value(&json).map_err(|error| refused(error.to_string()))?;
    Ok((scale, told(&problems, &[], mode).map_err(refused)?))
}

/// How an object was patched, and so what an error about the result says.
#[derive(Clone, Copy)]
pub enum Patched<'a> {
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
        (Patched::Otherwise, _) => version_and_kind(&json)
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
    fn must_be(&self, kind: Kind) -> Result<(), Status> {
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
            return Err(Status::invalid(kind, "", vec![cause]));
        }
        Ok(())
    }

    /// Reads the body as the kind that it says it is, which must be `kind`.
    fn read_as(&self, kind: Kind, json: &Json) -> Result<(Object, Vec<Problem>), String> {
        let sent = Kind::from_manifest(&self.api_version(), &self.kind)
            .ok_or_else(|| not_registered(&self.kind, &self.api_version()))?;
        let read = read_object(sent, None, json).map_err(|error| error.to_string())?;
        if sent != kind {
            let (from, package) = (sent.info().version, internal_package(kind));
            return Err(format!("converting ({from}.{sent}) to ({package}.{kind}): unknown conversion"));
        }
        Ok(read)
    }
}

fn not_registered(kind: &str, api_version: &str) -> String {
    const SCHEME: &str = "pkg/api/legacyscheme/scheme.go:30";
    format!("no kind {kind:?} is registered for version {api_version:?} in scheme {SCHEME:?}")
}

/// The Go package of a kind's internal type: `core.Pod`, `rbac.Role`.
fn internal_package(kind: Kind) -> &'static str {
    match kind.info().group {
        "" => "core",
        group => group.split('.').next().unwrap_or_default(),
    }
}

/// The beginning of a body, for an error about it. Mirrors `summarizeData`.
fn summarize(body: &str) -> String {
    let shown = &body.as_bytes()[..body.len().min(SUMMARY_LEN)];
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
mod tests {
    use super::*;

    fn error(kind: Kind, body: &str) -> String {
        match decode(kind, None, body, FieldValidation::Strict) {
            Ok((object, _)) => format!("decoded {}", object.to_json()),
            Err(status) => {
                assert_eq!(status.code, 400);
                status.message
            }
        }
    }

    #[test]
    fn bodies_that_are_no_deployment() {
        const PREFIX: &str = "the object provided is unrecognized (must be of type Deployment): ";
        const PARSE: &str = "couldn't get version/kind; json parse error: ";
        #[rustfmt::skip]
        let cases = [
            ("", format!("{PREFIX}{PARSE}unexpected end of JSON input (<empty>)")),
            ("hello", format!("{PREFIX}{PARSE}invalid character 'h' looking for beginning of value (68656c6c6f)")),
            ("{\"a\":1,}", format!("{PREFIX}{PARSE}invalid character '}}' looking for beginning of object key string ({{\"a\":1,}})")),
            ("{\"kind\":1}", format!("{PREFIX}{PARSE}json: cannot unmarshal number into Go struct field .kind of type string ({{\"kind\":1}})")),
            (r#"{"apiVersion":"a/b/c"}"#, format!("{PREFIX}unexpected GroupVersion string: a/b/c ({{\"apiVersion\":\"a/b/c\"}})")),
            (r#"{"apiVersion":"v1","kind":"Pod","spec":{"containers":[]}}"#,
                "Pod in version \"v1\" cannot be handled as a Deployment: converting (v1.Pod) to (apps.Deployment): unknown conversion".into()),
            (r#"{"apiVersion":"apps/v1","kind":"Deploymint"}"#, "Deploymint in version \"v1\" cannot be handled as a \
                Deployment: no kind \"Deploymint\" is registered for version \"apps/v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"".into()),
        ];
        for (body, want) in cases {
            assert_eq!(error(Kind::Deployment, body), want, "{body}");
        }
        assert!(error(Kind::Deployment, "[]").contains("json: cannot unmarshal array into Go value of type struct {"));
    }

    #[test]
    fn a_patch_that_spoils_an_object_is_quoted() {
        let patched = serde_json::json!({"metadata": {"name": "web"}, "spec": {"replica": 1}});
        let patch = serde_json::json!({"spec": {"replica": 1}});
        let how = Patched::Strategic(&patch);
        let status = decode_patched(Kind::Deployment, None, &patched, how, (FieldValidation::Strict, &[])).unwrap_err();
        const WANT: &str = " \"\" is invalid: patch: Invalid value: \"map[spec:map[replica:1]]\": \
            strict decoding error: unknown field \"spec.replica\"";
        assert_eq!((status.code, status.message.as_str()), (422, WANT));
        let (_, warnings) =
            decode_patched(Kind::Deployment, None, &patched, how, (FieldValidation::Warn, &[])).unwrap();
        assert_eq!(warnings, ["unknown field \"spec.replica\""]);
    }

    #[test]
    fn kind_and_version_come_from_the_path_when_missing() {
        let (object, warnings) =
            decode(Kind::Deployment, None, "{\"metadata\":{\"name\":\"web\"}}", FieldValidation::Strict).unwrap();
        assert_eq!((object.kind(), object.name(), warnings.len()), (Kind::Deployment, "web", 0));
        assert!(decode(Kind::Pod, None, "{\"kind\":null}", FieldValidation::Strict).is_ok());
    }

    #[test]
    fn unknown_and_duplicate_fields_are_named_by_path() {
        #[rustfmt::skip]
        let cases = [
            (r#"{"spec":{"replica":3}}"#, vec!["unknown field \"spec.replica\""]),
            (r#"{"metadata":{"name":"a","name":"b"},"foo":1}"#, vec!["duplicate field \"metadata.name\"", "unknown field \"foo\""]),
            (r#"{"spec":{"template":{"spec":{"containers":[{"name":"a"},{"Image":"x","env":[{"nam":1}]}]}}}}"#, vec![
                "unknown field \"spec.template.spec.containers[1].Image\"", "unknown field \"spec.template.spec.containers[1].env[0].nam\""]),
            (r#"{"metadata":{"labels":{"a":"1","a":"2"}}}"#, vec!["duplicate field \"metadata.labels.a\""]),
            (r#"{"spec":{"selector":{"matchLabel":{}}},"status":{}}"#, vec!["unknown field \"spec.selector.matchLabel\""]),
            (r#"{"metadata":{"creationTimestamp":null,"labels":{},"finalizers":[]},"spec":{"replicas":0,"minReadySeconds":0}}"#, vec![]),
        ];
        for (body, want) in cases {
            let (_, warnings) = decode(Kind::Deployment, None, body, FieldValidation::Warn).unwrap();
            assert_eq!(warnings, want, "{body}");
            let (_, warnings) = decode(Kind::Deployment, None, body, FieldValidation::Ignore).unwrap();
            assert!(warnings.is_empty());
            if !want.is_empty() {
                let message = error(Kind::Deployment, body);
                let strict = format!("cannot be handled as a Deployment: strict decoding error: {}", want.join(", "));
                assert!(message.ends_with(&strict), "{message}");
            }
        }
    }

    #[test]
    fn wrong_types_are_named_as_go_names_them() {
        const FIELD: &str = "into Go struct field";
        #[rustfmt::skip]
        let cases = [
            (r#"{"spec":{"replicas":"three"}}"#, format!("string {FIELD} DeploymentSpec.spec.replicas of type int32")),
            (r#"{"spec":{"replicas":1.5}}"#, format!("number 1.5 {FIELD} DeploymentSpec.spec.replicas of type int32")),
            (r#"{"spec":{"replicas":3000000000}}"#, format!("number 3000000000 {FIELD} DeploymentSpec.spec.replicas of type int32")),
            (r#"{"spec":5}"#, format!("number {FIELD} Deployment.spec of type v1.DeploymentSpec")),
            (r#"{"metadata":{"labels":{"a":1}}}"#, format!("number {FIELD} ObjectMeta.metadata.labels of type string")),
            (r#"{"metadata":{"labels":["a"]}}"#, format!("array {FIELD} ObjectMeta.metadata.labels of type map[string]string")),
            (r#"{"spec":{"template":{"spec":{"containers":{}}}}}"#, format!("object {FIELD} PodSpec.spec.template.spec.containers of type []v1.Container")),
            (r#"{"spec":{"template":{"spec":{"containers":["a"]}}}}"#, format!("string {FIELD} PodSpec.spec.template.spec.containers of type v1.Container")),
            (r#"{"spec":{"template":{"spec":{"containers":[{"env":[{"value":1}]}]}}}}"#, format!("number {FIELD} EnvVar.spec.template.spec.containers.env.value of type string")),
            (r#"{"spec":{"template":{"spec":{"containers":[{"args":"a"}]}}}}"#, format!("string {FIELD} Container.spec.template.spec.containers.args of type []string")),
            (r#"{"spec":{"template":{"spec":{"restartPolicy":true}}}}"#, format!("bool {FIELD} PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy")),
            (r#"{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":"1"}}]}}}}"#, format!("string {FIELD} ResourceRequirements.spec.template.spec.containers.resources.limits of type v1.ResourceList")),
            (r#"{"spec":{"strategy":{"rollingUpdate":{"maxSurge":true}}}}"#, format!("bool {FIELD} RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32")),
            (r#"{"metadata":{"creationTimestamp":5}}"#, format!("number {FIELD} ObjectMeta.metadata.creationTimestamp of type string")),
        ];
        for (body, want) in cases {
            let message = error(Kind::Deployment, body);
            let (_, why) = message.split_once("cannot be handled as a Deployment: ").unwrap_or_default();
            assert_eq!(why, format!("json: cannot unmarshal {want}"), "{body}: {message}");
        }
    }

    #[test]
    fn texts_inside_fields_are_checked_too() {
        #[rustfmt::skip]
        let cases = [
            (Kind::Pod, r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":"lots"}}}]}}"#,
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
            (Kind::Secret, r#"{"data":{"a":"b c"}}"#, "illegal base64 data at input byte 1"),
            (Kind::Secret, r#"{"data":{"a":"abc"}}"#, "illegal base64 data at input byte 0"),
            (Kind::Pod, r#"{"metadata":{"deletionTimestamp":"now"}}"#,
                "parsing time \"now\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"now\" as \"2006\""),
        ];
        for (kind, body, want) in cases {
            let message = error(kind, body);
            assert!(message.ends_with(&format!("cannot be handled as a {kind}: {want}")), "{message}");
        }
    }

    #[test]
    fn values_become_what_go_would_print() {
        let body = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{},"annotations":null},"spec":{
            "hostNetwork":false,"nodeName":"","enableServiceLinks":false,"containers":[{"name":"a","args":[],"env":[null],
            "resources":{"limits":{"cpu":0.5,"memory":"1024Mi","pods":1}},"securityContext":{}}],"volumes":[{"name":"v","emptyDir":{}}]}}"#;
        let (object, warnings) = decode(Kind::Pod, None, body, FieldValidation::Strict).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let want = serde_json::json!({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{
            "enableServiceLinks":false,"containers":[{"name":"a","env":[{"name":""}],
            "resources":{"limits":{"cpu":"500m","memory":"1Gi","pods":"1"}},"securityContext":{}}],"volumes":[{"name":"v","emptyDir":{}}]}});
        assert_eq!(object.to_json(), want);
    }
}
