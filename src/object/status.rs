//! Errors as the API server gives them: `metav1.Status`, a value that controllers match on.

use std::fmt;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::StrDeserializer;
use serde_json::{Value, json};

use super::Kind;

/// Why a request failed. The names are `metav1.StatusReason`'s.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A Go error without a reason: code 500 and an empty `reason`.
    Unknown,
    /// 400: what was sent cannot be understood.
    BadRequest,
    /// 401: who are you?
    Unauthorized,
    /// 403: you may not.
    Forbidden,
    /// 404.
    NotFound,
    /// 405: not this verb here.
    MethodNotAllowed,
    /// 406: no such output format.
    NotAcceptable,
    /// 415: no such input format.
    UnsupportedMediaType,
    /// 409: the name is taken.
    AlreadyExists,
    /// 409: made from an old version, or against a precondition.
    Conflict,
    /// 410.
    Gone,
    /// 410: that revision is compacted away.
    Expired,
    /// 413.
    RequestEntityTooLarge,
    /// 422: understood, and refused by validation.
    Invalid,
    /// 429.
    TooManyRequests,
    /// 500.
    InternalError,
    /// 503.
    ServiceUnavailable,
    /// 504.
    Timeout,
}

impl Reason {
    /// The reason of this name, if it is one of Kubernetes' own.
    pub fn named(name: &str) -> Option<Reason> {
        let name: StrDeserializer<'_, serde::de::value::Error> = name.into_deserializer();
        Reason::deserialize(name).ok()
    }

    /// The HTTP status code.
    pub fn code(self) -> u16 {
        match self {
            Reason::BadRequest => 400,
            Reason::Unauthorized => 401,
            Reason::Forbidden => 403,
            Reason::NotFound => 404,
            Reason::MethodNotAllowed => 405,
            Reason::NotAcceptable => 406,
            Reason::AlreadyExists | Reason::Conflict => 409,
            Reason::Gone | Reason::Expired => 410,
            Reason::RequestEntityTooLarge => 413,
            Reason::UnsupportedMediaType => 415,
            Reason::Invalid => 422,
            Reason::TooManyRequests => 429,
            Reason::Unknown | Reason::InternalError => 500,
            Reason::ServiceUnavailable => 503,
            Reason::Timeout => 504,
        }
    }
}

/// The cause of a refusal to make anything in a namespace that is being deleted. Mirrors `NamespaceTerminatingCause`.
pub const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// One of several things wrong: `metav1.StatusCause`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// `FieldValueInvalid`, `NamespaceTerminating` …
    pub reason: String,
    /// What is wrong, without the field.
    pub message: String,
    /// The path of the field: `spec.containers[0].image`.
    pub field: String,
}

/// A failed request's answer: `metav1.Status` with status Failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// HTTP status code.
    pub code: u16,
    /// The machine's word for it.
    pub reason: Reason,
    /// The sentence for people.
    pub message: String,
    /// What it is about.
    pub details: Option<Box<Details>>,
    /// Where a list could go on, though not with what it has begun with.
    pub continue_token: Option<Box<str>>,
}

/// `metav1.StatusDetails`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// Its API group.
    pub group: String,
    /// The plural resource, or the CamelCase kind in validation errors.
    pub kind: String,
    /// Its uid.
    pub uid: String,
    /// Everything wrong with it.
    pub causes: Vec<Cause>,
    /// When to try again; 0: not said.
    pub retry_after_seconds: u32,
}

/// `deployments.apps`, or `pods` in the core group.
fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

impl Status {
    /// A failure without details.
    pub fn new(reason: Reason, message: impl Into<String>) -> Status {
        Status { code: reason.code(), reason, message: message.into(), details: None, continue_token: None }
    }

    fn about(group: &str, resource: &str, name: &str, reason: Reason, message: String) -> Status {
        let details = Details { name: name.into(), group: group.into(), kind: resource.into(), ..Details::default() };
        Status { details: Some(Box::new(details)), ..Status::new(reason, message) }
    }

    /// 400, with this message.
    pub fn bad_request(message: impl Into<String>) -> Status {
        Status::new(Reason::BadRequest, message)
    }

    /// 404: `deployments.apps "web" not found`.
    pub fn not_found(kind: Kind, name: &str) -> Status {
        Status::not_found_as(kind.info().group, kind.info().plural, name)
    }

    /// The same of what goes by another name: `deployments/scale`.
    pub fn not_found_as(group: &str, resource: &str, name: &str) -> Status {
        let message = format!("{} \"{name}\" not found", qualified(resource, group));
        Status::about(group, resource, name, Reason::NotFound, message)
    }

    /// 404 of an endpoint that is not there.
    pub fn not_served() -> Status {
        let status = Status::new(Reason::NotFound, "the server could not find the requested resource");
        Status { details: Some(Box::default()), ..status }
    }

    /// 409: `pods "web" already exists`.
    pub fn already_exists(kind: Kind, name: &str) -> Status {
        let message = format!("{} \"{name}\" already exists", kind.info().qualified_plural());
        Status::about(kind.info().group, kind.info().plural, name, Reason::AlreadyExists, message)
    }

    /// 409: `Operation cannot be fulfilled on deployments.apps "web": why`.
    pub fn conflict(kind: Kind, name: &str, why: &str) -> Status {
        Status::conflict_with(kind.info().group, kind.info().plural, name, why)
    }

    /// The same of what goes by another name: `pods/binding`.
    pub fn conflict_with(group: &str, resource: &str, name: &str, why: &str) -> Status {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", qualified(resource, group));
        Status::about(group, resource, name, Reason::Conflict, message)
    }

    /// 409 of an update made from an old version.
    pub fn modified(kind: Kind, name: &str) -> Status {
        const WHY: &str = "the object has been modified; please apply your changes to the latest version and try again";
        Status::conflict(kind, name, WHY)
    }

    /// 403: `pods "web" is forbidden: why`, or `pods is forbidden: why` where none is named.
    pub fn forbidden(kind: Kind, name: &str, why: &str) -> Status {
        let info = kind.info();
        Status::forbidden_resource(info.group, info.plural, name, why)
    }

    /// The same of a resource that may be none of the server's, such as `users`.
    pub fn forbidden_resource(group: &str, resource: &str, name: &str, why: &str) -> Status {
        let about = qualified(resource, group);
        let message = match name {
            "" => format!("{about} is forbidden: {why}"),
            name => format!("{about} \"{name}\" is forbidden: {why}"),
        };
        Status::about(group, resource, name, Reason::Forbidden, message)
    }

    /// 422 with one cause a wrong field. `causes` must not be empty; exact duplicates count once.
    pub fn invalid(kind: Kind, name: &str, causes: Vec<Cause>) -> Status {
        Status::invalid_kind(kind.info().group, kind.info().kind, name, causes)
    }

    /// The same of what goes by another name, such as `Scale`.
    pub fn invalid_kind(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Status {
        let mut texts: Vec<String> = Vec::new();
        for cause in &causes {
            let text = format!("{}: {}", cause.field, cause.message);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let list = if texts.len() == 1 { texts.remove(0) } else { format!("[{}]", texts.join(", ")) };
        let message = format!("{} \"{name}\" is invalid: {list}", qualified(kind, group));
        let details =
            Details { name: name.into(), group: group.into(), kind: kind.into(), causes, ..Details::default() };
        Status { details: Some(Box::new(details)), ..Status::new(Reason::Invalid, message) }
    }

    /// 500: `Internal error occurred: error`.
    pub fn internal(error: &str) -> Status {
        let cause = Cause { message: error.into(), ..Cause::default() };
        let details = Details { causes: vec![cause], ..Details::default() };
        let message = format!("Internal error occurred: {error}");
        Status { details: Some(Box::new(details)), ..Status::new(Reason::InternalError, message) }
    }

    /// Whether the object is not there.
    pub fn is_not_found(&self) -> bool {
        self.reason == Reason::NotFound
    }

    /// Whether it was made from an old version.
    pub fn is_conflict(&self) -> bool {
        self.reason == Reason::Conflict
    }

    /// Whether the name is taken.
    pub fn is_already_exists(&self) -> bool {
        self.reason == Reason::AlreadyExists
    }

    /// Whether nothing can be made in the namespace any more, because it is being deleted.
    pub fn is_namespace_terminating(&self) -> bool {
        self.has_cause(NAMESPACE_TERMINATING)
    }

    /// Whether a cause of this type is among the details, as `apierrors.HasStatusCause` asks.
    fn has_cause(&self, reason: &str) -> bool {
        self.details.as_ref().is_some_and(|d| d.causes.iter().any(|c| c.reason == reason))
    }

    /// The answer's body, as the API prints it.
    pub fn to_json(&self) -> Value {
        let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"});
        let fields = status.as_object_mut().expect("the literal above is an object");
        if let Some(token) = &self.continue_token {
            fields.insert("metadata".into(), json!({"continue": token}));
        }
        fields.insert("message".into(), json!(self.message));
        if self.reason != Reason::Unknown {
            fields.insert("reason".into(), json!(format!("{:?}", self.reason)));
        }
        if let Some(details) = &self.details {
            fields.insert("details".into(), details.to_json());
        }
        fields.insert("code".into(), json!(self.code));
        status
    }
}

impl Details {
    fn to_json(&self) -> Value {
        let mut out = serde_json::Map::new();
        for (field, text) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)] {
            if !text.is_empty() {
                out.insert(field.into(), json!(text));
            }
        }
        if !self.causes.is_empty() {
            out.insert("causes".into(), self.causes.iter().map(Cause::to_json).collect());
        }
        if self.retry_after_seconds > 0 {
            out.insert("retryAfterSeconds".into(), json!(self.retry_after_seconds));
        }
        Value::Object(out)
    }
}

impl Cause {
    fn to_json(&self) -> Value {
        let mut out = serde_json::Map::new();
        for (field, text) in [("reason", &self.reason), ("message", &self.message), ("field", &self.field)] {
            if !text.is_empty() {
                out.insert(field.into(), json!(text));
            }
        }
        Value::Object(out)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

/// Several errors as one, each said once. Mirrors `utilerrors.NewAggregate`.
pub fn aggregate(errors: &[String]) -> String {
    let mut said: Vec<&str> = Vec::new();
    for error in errors.iter().filter(|error| !error.is_empty()) {
        if !said.contains(&error.as_str()) {
            said.push(error);
        }
    }
    match said.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}
