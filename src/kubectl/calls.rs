//! Requests as kubectl sends them.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::feeds::Stream;
use crate::kubectl::Kubectl;
use crate::options::{Query, write_options};
use crate::targets::{Target, are_built_in, targets};
use kinds::printers::fields::namespace_and_name;
use object::status::Reason;
use object::{Discovery, Kind, Object, patch};
use wire::{Answer, Body, DeleteOptions, Options, Patch, Request, Response, Subresource, User, Verb};

/// A list, and the revision that a watch goes on from.
pub struct Listed {
    /// The objects, in key order.
    pub items: Vec<Value>,
    /// The list's resourceVersion.
    pub revision: u64,
}

impl Kubectl {
    /// A request of this command's with nothing in it but where it goes.
    pub fn request(&self, verb: Verb, kind: Kind, namespace: &str, name: &str, body: Body) -> Request {
        let namespace = if kind.info().namespaced { namespace } else { "" };
        let request = Request::new(self.client.user().clone(), verb, kind, namespace, name, body);
        Request { connection: self.connection(), ..request }
    }

    /// The kinds that users have defined, as the API server has them now. The real kubectl reads discovery documents, and
    /// keeps them for some minutes; it asks again when it meets a name that it does not know.
    pub async fn discover(&self) -> Result<Discovery, Failure> {
        let mut request = self.request(Verb::List, Kind::CustomResourceDefinition, "", "", Body::None);
        // Discovery is open to every user, so it is asked for as the admin.
        (request.user, request.connection) = (Rc::new(User::admin()), None);
        if let Response::List { items, .. } = self.send(request).await? {
            self.known.set(Discovery::of(&items));
        }
        Ok(self.known.get())
    }

    /// What a command is about: as [`targets`], asking the API server only if a word is of no built-in kind.
    pub async fn targets(&self, verb: &str, words: &[String]) -> Result<Vec<Target>, Failure> {
        if are_built_in(words) {
            return targets(verb, words, &Discovery::default());
        }
        targets(verb, words, &self.discover().await?)
    }

    /// Sends a request and prints the warnings that come with the answer.
    pub async fn send(&self, mut request: Request) -> Result<Response, Failure> {
        request.options.managed_fields = self.managed_fields;
        let answer = self.ask(request).await?;
        self.warn(&answer.warnings);
        Ok(answer.result?)
    }

    /// Sends a request, and logs what was answered if `-v` says so.
    pub async fn ask(&self, request: Request) -> Result<Answer, Failure> {
        if self.verbosity == 0 {
            return Ok(self.client.request(request).await?);
        }
        let began = self.client.now();
        let answer = self.client.request(request.clone()).await;
        let code = answer.as_ref().map_or(0, |answer| answer.code);
        self.log_answer(&request, code, self.client.now() - began);
        Ok(answer?)
    }

    async fn send_for_object(&self, request: Request) -> Result<Value, Failure> {
        match self.send(request).await? {
            Response::Object(object) => Ok(object.printed()),
            Response::Scale(scale) => serde_json::to_value(scale).map_err(|why| Failure::text(why.to_string())),
            _ => Ok(Value::Null),
        }
    }

    /// GET. Of an object that is not there, the namespace is asked for too, to blame it if it is missing.
    /// Mirrors `resource.Info.Get`.
    pub async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Result<Value, Failure> {
        let missing = match self.get_once(kind, namespace, name).await {
            Err(fault) if fault.is_not_found() && kind.info().namespaced && namespace != "default" => fault,
            result => return result,
        };
        match self.get_once(Kind::Namespace, "", namespace).await {
            Err(fault) if fault.is_not_found() => Err(fault),
            _ => Err(missing),
        }
    }

    /// GET, and nothing more.
    pub async fn get_once(&self, kind: Kind, namespace: &str, name: &str) -> Result<Value, Failure> {
        must_be_named(name)?;
        self.send_for_object(self.request(Verb::Get, kind, namespace, name, Body::None)).await
    }

    /// GET of a part of an object.
    pub async fn get_part(&self, kind: Kind, namespace: &str, name: &str, part: Subresource) -> Result<Value, Failure> {
        must_be_named(name)?;
        let mut request = self.request(Verb::Get, kind, namespace, name, Body::None);
        request.subresource = Some(part);
        self.send_for_object(request).await
    }

    /// LIST of what a command line selects. Mirrors `resource.Selector.Visit`, which says what it was that could not be
    /// listed.
    pub async fn select(&self, kind: Kind, namespace: &str, options: Options) -> Result<Listed, Failure> {
        let (labels, fields) = (options.label_selector.clone(), options.field_selector.clone());
        self.list(kind, namespace, options).await.map_err(|fault| match fault {
            Failure::Server { mut status, context }
                if matches!(status.reason, Reason::BadRequest | Reason::NotFound) =>
            {
                let info = kind.info();
                let version = info.api_version.rsplit('/').next().unwrap_or_default();
                let what = format!("\"{}/{version}, Resource={}\"", info.group, info.plural);
                let message = match (labels.is_empty(), fields.is_empty()) {
                    (true, true) => format!("Unable to list {what}: {}", status.message),
                    _ => format!(
                        "Unable to find {what} that match label selector {labels:?}, field selector {fields:?}: {}",
                        status.message
                    ),
                };
                status.message = message;
                Failure::Server { status, context }
            }
            other => other,
        })
    }

    /// LIST, page by page.
    pub async fn list(&self, kind: Kind, namespace: &str, options: Options) -> Result<Listed, Failure> {
        let mut listed = Listed { items: Vec::new(), revision: 0 };
        let mut request = self.request(Verb::List, kind, namespace, "", Body::None);
        request.options = options;
        loop {
            match self.send(request.clone()).await? {
                Response::List { items, revision, continue_token, .. } => {
                    listed.items.extend(items.iter().map(Object::printed));
                    listed.revision = revision;
                    if continue_token.is_empty() {
                        return Ok(listed);
                    }
                    request.options.continue_token = continue_token;
                    request.options.resource_version = String::new();
                }
                _ => return Ok(listed),
            }
        }
    }

    /// LIST of the one object, then WATCH of it from there: how every waiting command follows an object.
    /// Mirrors `watchtools.UntilWithSync`.
    pub async fn follow(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        timeout: Option<Duration>,
    ) -> Result<(Listed, Stream), Failure> {
        let field_selector = format!("metadata.name={name}");
        let options = Options { field_selector, limit: 500, resource_version: "0".to_owned(), ..Options::default() };
        let listed = self.list(kind, namespace, options.clone()).await?;
        let mut request = self.request(Verb::Watch, kind, namespace, "", Body::None);
        request.options = Options { limit: 0, resource_version: listed.revision.to_string(), ..options };
        Ok((listed, self.open(request, timeout)))
    }

    /// POST.
    pub async fn post(&self, kind: Kind, namespace: &str, object: &Value, query: Query) -> Result<Value, Failure> {
        if query.only_here {
            return Ok(object.clone());
        }
        let mut request = self.request(Verb::Create, kind, namespace, "", Body::Json(unversioned(object).to_string()));
        request.options = query.options;
        match self.send_for_object(request).await? {
            // A Binding changes a Pod, and is none itself.
            Value::Null => Ok(json!({"apiVersion": "v1", "kind": "Status", "metadata": {},
                "status": "Success", "code": 201})),
            created => Ok(created),
        }
    }

    /// PUT.
    pub async fn put(&self, kind: Kind, object: &Value, manager: &str, args: &Args) -> Result<Value, Failure> {
        let (namespace, name) = namespace_and_name(object);
        must_be_named(name)?;
        let mut request = self.request(Verb::Update, kind, namespace, name, Body::Json(object.to_string()));
        let query = write_options(manager, args)?;
        if query.only_here {
            return Ok(object.clone());
        }
        request.options = query.options;
        self.send_for_object(request).await
    }

    /// PATCH.
    pub async fn patch(
        &self,
        kind: Kind,
        object: &Value,
        patch: Patch,
        subresource: Option<Subresource>,
        query: Query,
    ) -> Result<Value, Failure> {
        if query.only_here {
            return Ok(match &patch {
                Patch::Json(patch) => patch::json(object.clone(), patch)?,
                Patch::Merge(patch) => patch::merge(object.clone(), patch),
                Patch::Strategic(patch) => patch::strategic(kind, object.clone(), patch)?,
                Patch::Status(_) | Patch::Apply(_) | Patch::Unreadable { .. } => object.clone(),
            });
        }
        let (namespace, name) = namespace_and_name(object);
        must_be_named(name)?;
        let mut request = self.request(Verb::Patch, kind, namespace, name, Body::Patch(patch));
        request.subresource = subresource;
        request.options = query.options;
        self.send_for_object(request).await
    }

    /// DELETE. Returns the uid of what was deleted.
    pub async fn remove(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        options: DeleteOptions,
        query: Query,
    ) -> Result<String, Failure> {
        must_be_named(name)?;
        if query.only_here {
            return Ok(String::new());
        }
        let mut request = self.request(Verb::Delete, kind, namespace, name, Body::Delete(options));
        request.options = query.options;
        match self.send(request).await? {
            Response::Object(object) => Ok(object.meta().uid.clone().unwrap_or_default()),
            Response::Success { uid } => Ok(uid),
            _ => Ok(String::new()),
        }
    }
}

/// What is new has no version yet, and the API server refuses one: an object that was read is sent without. Mirrors
/// `Helper.CreateWithOptions`.
fn unversioned(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.remove("resourceVersion");
    }
    object
}

/// A request about one object names it, or is not sent. Mirrors `Request.Name` of `client-go`.
fn must_be_named(name: &str) -> Result<(), Failure> {
    if name.is_empty() { Err(Failure::text("resource name may not be empty")) } else { Ok(()) }
}
