//! Field selectors: `spec.nodeName=node-1,status.phase!=Failed`.
//!
//! Only a few fields of a few kinds can be asked for, those the registry of the kind computes for each object.
//! Mirrors `k8s.io/apimachinery/pkg/fields`, the `AddFieldLabelConversionFunc` calls of `pkg/apis/*/conversion.go`
//! and the `ToSelectableFields` of `pkg/registry`.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde_json::Value;

use crate::event::Event;
use crate::{CustomObject, Kind, Object, Pod};

/// Which objects belong, by a few of their fields; all terms must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// `status.phase`
    pub field: String,
    /// What the field is compared with.
    pub value: String,
    /// `=` or `==`, and not `!=`.
    pub equal: bool,
}

impl FieldSelector {
    /// Reads a field selector for objects of `kind`. The error is what the API server says.
    pub fn parse(kind: Kind, text: &str) -> Result<FieldSelector, String> {
        FieldSelector::parse_with(kind, text, &[])
    }

    /// The same for a kind that users have defined with selectable fields.
    pub fn parse_with(kind: Kind, text: &str, selectable: &[String]) -> Result<FieldSelector, String> {
        let mut terms = FieldSelector::terms_of(text)?;
        let mut of_table = terms.iter_mut().filter(|term| !selectable.contains(&term.field));
        of_table.try_for_each(|term| check_field(kind, term))?;
        Ok(FieldSelector { terms })
    }

    /// The terms of a field selector for whichever objects. Mirrors `fields.ParseSelector`.
    pub fn terms_of(text: &str) -> Result<Vec<Term>, String> {
        let mut parts: Vec<&str> = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let (field, operator, value) =
                split_term(part).ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            terms.push(Term { field: field.to_owned(), value: unescape(value)?, equal: operator != "!=" });
        }
        Ok(terms)
    }

    /// Whether this object belongs.
    pub fn matches(&self, object: &Object) -> bool {
        self.terms.iter().all(|term| (field_value(object, &term.field) == term.value) == term.equal)
    }

    /// Whether every object belongs.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// The one value that `field` must have, if the selector asks for one: what an index can answer, and how a list
    /// by `metadata.name` meets the `resourceNames` of a role. Mirrors `Selector.RequiresExactMatch`.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|term| term.equal && term.field == field).map(|term| term.value.as_str())
    }

    /// The conditions; all of them must hold.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }
}

/// The kinds with fields of their own, and what else than the metadata can be asked for.
const SELECTABLE: [(&str, &str, &[&str]); 10] = [
    (
        "",
        "Pod",
        &[
            "metadata.name",
            "metadata.namespace",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
    ),
    ("", "Node", &["metadata.name", "spec.unschedulable"]),
    ("", "Namespace", &["metadata.name", "status.phase"]),
    ("", "Secret", &["metadata.name", "metadata.namespace", "type"]),
    ("", "Service", &["metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"]),
    (
        "",
        "Event",
        &[
            "metadata.name",
            "metadata.namespace",
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
    (
        "events.k8s.io",
        "Event",
        &[
            "metadata.name",
            "metadata.namespace",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
    ),
    ("", "ReplicationController", &["metadata.name", "metadata.namespace", "status.replicas"]),
    ("batch", "Job", &["metadata.name", "metadata.namespace", "status.successful"]),
    ("certificates.k8s.io", "CertificateSigningRequest", &["metadata.name", "spec.signerName"]),
];

/// Checks that objects of `kind` can be asked for the term's field, and gives the field the name that it has in the version
/// that is stored.
fn check_field(kind: Kind, term: &mut Term) -> Result<(), String> {
    let info = kind.info();
    if info.kind == "Pod" && term.field == "spec.host" {
        term.field = "spec.nodeName".to_owned();
    }
    let field = term.field.as_str();
    let row = SELECTABLE.iter().find(|(group, kind, _)| *group == info.group && *kind == info.kind);
    match row {
        Some((group, _, fields)) if fields.contains(&field) => {
            if *group == "events.k8s.io" {
                let name = field.replace("regarding.", "involvedObject.");
                term.field = name.replace("reportingController", "reportingComponent");
            }
            Ok(())
        }
        Some((_, "Job", _)) => Err(format!("field label {field:?} not supported for batchv1.Job")),
        Some(_) => Err(format!("field label not supported: {field}")),
        None if field == "metadata.name" || field == "metadata.namespace" => Ok(()),
        None if matches!(kind, Kind::Custom(_)) => Err(format!("field label not supported: {field}")),
        None => Err(format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")),
    }
}

/// What an object has in a selectable field; fields that no registry computes are empty.
fn field_value<'a>(object: &'a Object, field: &str) -> Cow<'a, str> {
    match (field, object) {
        ("metadata.name", _) => object.name().into(),
        ("metadata.namespace", _) => object.namespace().into(),
        (_, Object::Pod(pod)) => pod_field(pod, field),
        (_, Object::Event(event)) => event_field(event, field),
        (_, Object::Custom(custom)) => custom_field(custom, field),
        ("spec.unschedulable", Object::Node(node)) => {
            bool_text(node.spec.as_ref().and_then(|spec| spec.unschedulable)).into()
        }
        ("status.replicas", Object::ReplicationController(controller)) => {
            controller.status.as_ref().map_or(0, |status| status.replicas).to_string().into()
        }
        ("status.successful", Object::Job(job)) => {
            job.status.as_ref().and_then(|status| status.succeeded).unwrap_or(0).to_string().into()
        }
        ("status.phase", Object::Namespace(namespace)) => text(namespace.status.as_ref().map(|status| &status.phase)),
        ("spec.signerName", Object::CertificateSigningRequest(request)) => request.spec.signer_name.as_str().into(),
        ("type", Object::Secret(secret)) => secret.type_.as_deref().unwrap_or_default().into(),
        ("spec.type", Object::Service(service)) => text(service.spec.as_ref().map(|spec| &spec.type_)),
        ("spec.clusterIP", Object::Service(service)) => text(service.spec.as_ref().map(|spec| &spec.cluster_ip)),
        _ => Cow::Borrowed(""),
    }
}

/// Only a scalar is anything that one can ask for.
fn custom_field<'a>(custom: &'a CustomObject, field: &str) -> Cow<'a, str> {
    let mut steps = field.split('.');
    let first = steps.next().and_then(|step| custom.get(step));
    match steps.try_fold(first, |at, step| Some(at?.get(step))).flatten() {
        Some(Value::String(text)) => text.into(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string().into(),
        _ => Cow::Borrowed(""),
    }
}

fn pod_field<'a>(pod: &'a Pod, field: &str) -> Cow<'a, str> {
    let (spec, status) = (pod.spec.as_ref(), pod.status.as_ref());
    match field {
        "spec.nodeName" => text(spec.map(|spec| &spec.node_name)),
        "spec.restartPolicy" => text(spec.map(|spec| &spec.restart_policy)),
        "spec.schedulerName" => text(spec.map(|spec| &spec.scheduler_name)),
        "spec.serviceAccountName" => text(spec.map(|spec| &spec.service_account_name)),
        "spec.hostNetwork" => bool_text(spec.and_then(|spec| spec.host_network)).into(),
        "status.phase" => text(status.map(|status| &status.phase)),
        "status.podIP" => text(status.map(|status| &status.pod_ip)),
        "status.nominatedNodeName" => text(status.map(|status| &status.nominated_node_name)),
        _ => Cow::Borrowed(""),
    }
}

fn event_field<'a>(event: &'a Event, field: &str) -> Cow<'a, str> {
    let (involved, reporter) = (&event.involved_object, &event.reporter);
    let value = match field {
        "involvedObject.kind" => &involved.kind,
        "involvedObject.namespace" => &involved.namespace,
        "involvedObject.name" => &involved.name,
        "involvedObject.uid" => &involved.uid,
        "involvedObject.apiVersion" => &involved.api_version,
        "involvedObject.resourceVersion" => &involved.resource_version,
        "involvedObject.fieldPath" => &involved.field_path,
        "reason" => return event.reason.as_deref().unwrap_or_default().into(),
        "reportingComponent" => &reporter.component,
        "type" => return event.type_.as_deref().unwrap_or_default().into(),
        // The older name of the reporter, and the newer one where the older is missing.
        "source" => match reporter.source.as_ref().map(|source| &source.component) {
            Some(component @ Some(name)) if !name.is_empty() => component,
            _ => &reporter.component,
        },
        _ => &None,
    };
    value.as_deref().unwrap_or_default().into()
}

fn text<T: Deref<Target = str>>(field: Option<&Option<T>>) -> Cow<'_, str> {
    field.and_then(Option::as_deref).unwrap_or_default().into()
}

fn bool_text(value: Option<bool>) -> &'static str {
    if value == Some(true) { "true" } else { "false" }
}

/// Splits at commas that no backslash protects.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split_term(term: &str) -> Option<(&str, &'static str, &str)> {
    term.char_indices().find_map(|(i, _)| {
        let operator = ["!=", "==", "="].into_iter().find(|operator| term[i..].starts_with(operator))?;
        Some((&term[..i], operator, &term[i + operator.len()..]))
    })
}

/// Takes the backslashes away that protect a comma, an equals sign or a backslash.
fn unescape(value: &str) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(protected @ ('\\' | ',' | '=')) => out.push(protected),
                Some(other) => return Err(format!("invalid field selector: invalid escape sequence: \\{other}")),
                None => return Err("invalid field selector: invalid escape sequence: \\".to_owned()),
            },
            // Go prints the character as its number.
            ',' | '=' => {
                return Err(format!("invalid field selector: unescaped character in value: {}", u32::from(c)));
            }
            _ => out.push(c),
        }
    }
    Ok(out)
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            let operator = if term.equal { "=" } else { "!=" };
            let value = term.value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
            write!(f, "{}{}{operator}{value}", if i == 0 { "" } else { "," }, term.field)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_select() {
        let pod = json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"containers": [], "nodeName": "node-1"},
            "status": {"phase": "Running"},
        });
        let pod = Kind::Pod.decode(pod).unwrap();
        #[rustfmt::skip]
        let cases = [
            ("", true), ("metadata.name=web", true), ("metadata.name==db", false), ("spec.nodeName=node-1", true),
            ("spec.host=node-1", true), ("status.phase!=Failed,status.phase!=Succeeded", true), ("status.phase!=Running", false),
            ("spec.hostNetwork=false", true), ("status.podIP=", true), (",,", true),
        ];
        for (text, want) in cases {
            assert_eq!(FieldSelector::parse(Kind::Pod, text).unwrap().matches(&pod), want, "{text}");
        }
        let selector = FieldSelector::parse(Kind::Pod, "status.phase!=Failed,spec.nodeName=n").unwrap();
        assert_eq!(selector.to_string(), "spec.nodeName=n,status.phase!=Failed");
        assert_eq!(selector.exact("spec.nodeName"), Some("n"));
        assert_eq!(selector.exact("status.phase"), None);
    }

    #[test]
    fn wrong_fields_are_refused() {
        #[rustfmt::skip]
        let cases = [
            (Kind::Pod, "spec.colour=red", "field label not supported: spec.colour"),
            (Kind::Node, "metadata.namespace=x", "field label not supported: metadata.namespace"),
            (Kind::ConfigMap, "data.a=1",
                "\"data.a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
            (Kind::Pod, "status.phase", "invalid selector: 'status.phase'; can't understand 'status.phase'"),
            (Kind::Pod, "status.phase=a=b", "invalid field selector: unescaped character in value: 61"),
            (Kind::Pod, r"status.phase=a\b", r"invalid field selector: invalid escape sequence: \b"),
        ];
        for (kind, text, want) in cases {
            assert_eq!(FieldSelector::parse(kind, text), Err(want.to_owned()), "{text}");
        }
    }
}
