//! A request as policies and webhooks see it: what can be matched, and the values that expressions use.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use object::reader::Reader;
use object::{Kind, Object};
use wire::{Request, Subresource, Verb};

use super::apiextensions::Definitions;
use super::cel::Value;
use super::cel::eval::Activation;
use super::scale;

/// One request, put to policies and webhooks.
pub struct Question<'a> {
    /// The request.
    pub request: &'a Request,
    /// What is stored; none of what is created.
    pub old: Option<&'a Object>,
    /// What is to be stored; none of what is deleted.
    pub new: Option<&'a Object>,
    /// What else is stored.
    pub reader: &'a dyn Reader,
    /// The kinds that users have defined.
    pub definitions: &'a Definitions,
    /// Made when the first policy needs them.
    values: OnceCell<BTreeMap<String, Value>>,
}

impl<'a> Question<'a> {
    /// The request that would make `new` of `old`.
    pub fn new(
        request: &'a Request,
        old: Option<&'a Object>,
        new: Option<&'a Object>,
        reader: &'a dyn Reader,
        definitions: &'a Definitions,
    ) -> Question<'a> {
        Question { request, old, new, reader, definitions, values: OnceCell::new() }
    }

    /// `CREATE`, `UPDATE` or `DELETE`: what the request comes to, which a PUT of an absent object shows.
    pub fn operation(&self) -> &'static str {
        match (self.old, self.new) {
            (_, None) => "DELETE",
            (None, Some(_)) => "CREATE",
            (Some(_), Some(_)) => "UPDATE",
        }
    }

    /// `status`, or nothing.
    pub fn subresource(&self) -> &'static str {
        self.request.subresource.map_or("", Subresource::as_str)
    }

    /// The name in the URL, or that of the object.
    pub fn name(&self) -> &str {
        match (self.request.name.as_str(), self.new) {
            ("", Some(new)) => new.name(),
            (name, _) => name,
        }
    }

    /// The Namespace that the object lives in.
    pub fn namespace(&self) -> Option<Object> {
        let name = self.request.namespace.as_str();
        if name.is_empty() || self.request.kind == Kind::Namespace {
            return None;
        }
        self.reader.get(Kind::Namespace, "", name)
    }

    /// The values that every expression can use, by name.
    pub fn values(&self) -> &BTreeMap<String, Value> {
        self.values.get_or_init(|| self.make_values())
    }

    /// What the conditions of a webhook can use.
    pub fn plain_activation(&self) -> Activation<'static> {
        Activation { values: self.values().clone(), variables: &[] }
    }

    /// The `request` of the AdmissionReview that a webhook is sent, but for its uid.
    pub fn review(&self) -> Json {
        let mut review = self.request_json();
        review["object"] = self.new.map_or(Json::Null, |new| self.seen(new));
        review["oldObject"] = self.old.map_or(Json::Null, |old| self.seen(old));
        review
    }

    fn seen(&self, object: &Object) -> Json {
        scale::seen(self.request, self.definitions.of(object.kind()).map(Arc::as_ref), object)
    }

    fn make_values(&self) -> BTreeMap<String, Value> {
        let object = |object: Option<&Object>| object.map_or(Value::Null, |object| Value::of_json(&self.seen(object)));
        let values = [
            ("object", object(self.new)),
            ("oldObject", object(self.old)),
            ("namespaceObject", self.namespace().as_ref().map_or(Value::Null, namespace_value)),
            ("request", Value::of_json(&self.request_json())),
        ];
        values.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// Mirrors `CreateAdmissionRequest`.
    fn request_json(&self) -> Json {
        let (request, info) = (self.request, self.request.kind.info());
        let kind = if scale::is_asked(request) {
            json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
        } else {
            json!({"group": info.group, "version": info.version, "kind": info.kind})
        };
        let resource = json!({"group": info.group, "version": info.version, "resource": info.plural});
        let options = match request.verb {
            Verb::Create => "CreateOptions",
            Verb::Patch => "PatchOptions",
            Verb::Delete | Verb::DeleteCollection => "DeleteOptions",
            _ => "UpdateOptions",
        };
        let user = serde_json::to_value(request.user.info()).unwrap_or_default();
        let mut value = json!({"kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": self.name(), "operation": self.operation(), "userInfo": user, "dryRun": request.options.dry_run,
            "options": {"kind": options, "apiVersion": "meta.k8s.io/v1"}});
        // What Go leaves out when it is empty.
        let subresource = self.subresource();
        let optional = [
            ("namespace", request.namespace.as_str()),
            ("subResource", subresource),
            ("requestSubResource", subresource),
        ];
        for (field, text) in optional.into_iter().filter(|(_, text)| !text.is_empty()) {
            value[field] = text.into();
        }
        value
    }
}

/// An object as expressions see it.
pub fn value_of(object: &Object) -> Value {
    Value::of_json(&object.to_json())
}

/// A Namespace, whose times are times: this one has a type.
fn namespace_value(namespace: &Object) -> Value {
    let value = value_of(namespace);
    let Some(Value::Map(metadata)) = value.field("metadata") else { return value };
    let metadata = metadata.iter().map(|(key, value)| match value {
        Value::String(text) if key.to_string().ends_with("Timestamp") => {
            (key.to_string(), text.parse().map_or_else(|_| value.clone(), Value::Timestamp))
        }
        value => (key.to_string(), value.clone()),
    });
    let part = |name: &str| value.field(name).cloned().map(|value| (name.to_owned(), value));
    let parts = [part("spec"), part("status"), Some(("metadata".to_owned(), Value::object(metadata)))];
    Value::object(parts.into_iter().flatten())
}
