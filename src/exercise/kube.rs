//! What a learner's controller is written with. Mirrors the kube-rs crates: names, shapes and meanings are theirs, so that
//! a file that was written here can be pointed at a real cluster by changing what it imports.
//!
//! Left out: everything that the exercises have no use for. A call must be awaited before the next one is made.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::wire;
pub use crate::wire::Status;
use object::{Kind, Object};

/// What a controller calls objects by: the types of `k8s-openapi`.
pub trait Resource:
    k8s_openapi::Metadata<Ty = ObjectMeta> + Clone + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Resource for K where
    K: k8s_openapi::Metadata<Ty = ObjectMeta> + Clone + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

/// Why a call, or a reconcile, failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The API server refused.
    Api(Box<Status>),
    /// Something else, as a sentence.
    Other(String),
}

impl Error {
    /// Whether another client has changed the object since it was read: 409 Conflict.
    pub fn is_conflict(&self) -> bool {
        self.is("Conflict")
    }

    /// Whether there is no such object: 404.
    pub fn is_not_found(&self) -> bool {
        self.is("NotFound")
    }

    /// Whether there is one of that name already: 409 AlreadyExists.
    pub fn is_already_exists(&self) -> bool {
        self.is("AlreadyExists")
    }

    fn is(&self, reason: &str) -> bool {
        matches!(self, Error::Api(status) if status.reason == reason)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Api(status) => f.write_str(&status.message),
            Error::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

/// What comes after a reconcile that went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action(pub(crate) Option<Duration>);

impl Action {
    /// The next reconcile comes when something changes.
    pub fn await_change() -> Action {
        Action(None)
    }

    /// The next reconcile comes after this time, or when something changes before that.
    pub fn requeue(after: Duration) -> Action {
        Action(Some(after))
    }
}

/// What a reconcile has at hand.
#[derive(Clone)]
pub struct Context {
    /// For calls to the API server.
    pub client: Client,
}

impl Context {
    /// The cache of one kind, kept up to date by a watch. It is a little behind the API server.
    pub fn store<K: Resource>(&self) -> Store<K> {
        Store { client: self.client.clone(), of: PhantomData }
    }

    /// What this controller has remembered with [`Context::remember`], in this process; the default until then. Gone after
    /// a restart.
    pub fn remembered<T: DeserializeOwned + Default>(&self) -> T {
        serde_json::from_value(self.client.0.memory.borrow().clone()).unwrap_or_default()
    }

    /// Remembers something for later reconciles.
    pub fn remember<T: Serialize>(&self, value: &T) {
        let value = serde_json::to_value(value).expect("what is remembered must be data that JSON can hold");
        self.client.0.memory.replace(value);
    }
}

/// The way to the API server.
#[derive(Clone)]
pub struct Client(pub(crate) Rc<Link>);

/// A call, and the file and line that make it.
pub(crate) type Asked = (wire::Request, (String, u32));

/// What the API server answers a call.
pub(crate) type Answered = Result<wire::Answer<Object>, Status>;

/// What connects a reconcile with the program that runs it.
pub(crate) struct Link {
    /// A call that was made and not taken yet.
    pub call: RefCell<Option<Asked>>,
    /// The answer to it.
    pub answer: RefCell<Option<Answered>>,
    /// What the controller remembers.
    pub memory: RefCell<Value>,
    /// Reads a cache.
    pub read: Box<dyn Fn(Kind) -> Vec<Object>>,
}

/// The cache of one kind.
pub struct Store<K> {
    client: Client,
    of: PhantomData<K>,
}

impl<K: Resource> Store<K> {
    /// All objects in it, in no order that means anything.
    pub fn state(&self) -> Vec<Arc<K>> {
        let kind = Kind::from_manifest(K::API_VERSION, K::KIND);
        let objects = kind.map(|kind| (self.client.0.read)(kind)).unwrap_or_default();
        // From the last to the first: code that takes it for sorted shall fail.
        objects.iter().rev().filter_map(|object| typed(object).ok()).collect()
    }
}

/// An object as the type that the controller knows it by. The cluster has a type of its own for some kinds.
pub(crate) fn typed<K: Resource>(object: &Object) -> Result<Arc<K>, Error> {
    let own: Result<Arc<K>, _> = object.as_any().downcast();
    own.or_else(|_| match object {
        Object::Pod(pod) => {
            let pod: Arc<dyn Any + Send + Sync> = Arc::new(core::Pod::from((**pod).clone()));
            pod.downcast().map_err(|_| Error::Other(format!("a Pod is no {}", K::KIND)))
        }
        other => serde_json::from_value(other.to_json()).map(Arc::new).map_err(|error| Error::Other(error.to_string())),
    })
}

/// Options of a POST or PUT.
#[derive(Clone, Debug, Default)]
pub struct PostParams {}

/// Which objects to list.
#[derive(Clone, Debug, Default)]
pub struct ListParams {
    /// A label selector: `app=web`.
    pub label_selector: Option<String>,
}

impl ListParams {
    /// Those with these labels: `app=web`.
    pub fn labels(mut self, selector: &str) -> ListParams {
        self.label_selector = Some(selector.to_owned());
        self
    }
}

/// How to delete.
#[derive(Clone, Debug, Default)]
pub struct DeleteParams {
    /// The object is deleted only if it has this uid.
    pub uid: Option<String>,
}

/// Options of a PATCH.
#[derive(Clone, Debug, Default)]
pub struct PatchParams {}

/// A change to an object.
#[derive(Clone, Debug)]
pub enum Patch<T> {
    /// RFC 7386: the given value replaces the current one, null removes.
    Merge(T),
    /// As `kubectl patch`: lists are merged by their keys.
    Strategic(T),
    /// RFC 6902: a list of operations.
    Json(T),
}

/// What a list returns.
#[derive(Clone, Debug)]
pub struct ObjectList<K> {
    /// The objects.
    pub items: Vec<K>,
}

impl<K> IntoIterator for ObjectList<K> {
    type Item = K;
    type IntoIter = std::vec::IntoIter<K>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

/// The API server's objects of one kind, in one namespace or in all.
pub struct Api<K> {
    client: Client,
    namespace: String,
    of: PhantomData<K>,
}

impl<K: Resource> Api<K> {
    /// Those of one namespace.
    pub fn namespaced(client: Client, namespace: &str) -> Api<K> {
        Api { client, namespace: namespace.to_owned(), of: PhantomData }
    }

    /// Those of all namespaces, or of a kind that has none.
    pub fn all(client: Client) -> Api<K> {
        Api::namespaced(client, "")
    }

    /// Reads one.
    #[track_caller]
    pub fn get(&self, name: &str) -> Call<K> {
        self.call("get", name, Value::Null)
    }

    /// Reads one that may not be there.
    #[track_caller]
    pub fn get_opt(&self, name: &str) -> Call<Option<K>> {
        self.call::<K>("get", name, Value::Null).reading(|answer| match answer {
            Err(status) if status.reason == "NotFound" => Ok(None),
            answer => decoded(answer).map(Some),
        })
    }

    /// Reads many.
    #[track_caller]
    pub fn list(&self, params: &ListParams) -> Call<ObjectList<K>> {
        let mut call = self.call::<K>("list", "", Value::Null);
        call.request.labels = params.label_selector.clone().unwrap_or_default();
        call.reading(|answer| {
            let wire::Answer::Many(items) = answered(answer)? else { return Err(Error::Other("no list".to_owned())) };
            let items: Result<_, Error> = items.iter().map(|item| typed(item).map(Arc::unwrap_or_clone)).collect();
            items.map(|items| ObjectList { items })
        })
    }

    /// Makes a new one.
    #[track_caller]
    pub fn create(&self, _: &PostParams, object: &K) -> Call<K> {
        self.call("create", "", manifest(object))
    }

    /// Replaces one. Refused with 409 Conflict if it has changed since the version that `object` was made from.
    #[track_caller]
    pub fn replace(&self, name: &str, _: &PostParams, object: &K) -> Call<K> {
        self.call("update", name, manifest(object))
    }

    /// Replaces the status of one.
    #[track_caller]
    pub fn replace_status(&self, name: &str, _: &PostParams, object: &K) -> Call<K> {
        self.call("update", name, manifest(object)).on("status")
    }

    /// Changes a part of one.
    #[track_caller]
    pub fn patch<T: Serialize>(&self, name: &str, _: &PatchParams, patch: &Patch<T>) -> Call<K> {
        let (sort, body) = match patch {
            Patch::Merge(body) => ("merge", body),
            Patch::Strategic(body) => ("strategic", body),
            Patch::Json(body) => ("json", body),
        };
        let body = serde_json::to_value(body).expect("a patch is JSON");
        let mut call = self.call("patch", name, body);
        call.request.patch = sort.to_owned();
        call
    }

    /// Changes a part of the status of one.
    #[track_caller]
    pub fn patch_status<T: Serialize>(&self, name: &str, params: &PatchParams, patch: &Patch<T>) -> Call<K> {
        self.patch(name, params, patch).on("status")
    }

    /// Deletes one.
    #[track_caller]
    pub fn delete(&self, name: &str, params: &DeleteParams) -> Call<()> {
        self.call::<K>("delete", name, json!({"uid": params.uid})).reading(|answer| answered(answer).map(drop))
    }

    #[track_caller]
    fn call<T: Resource>(&self, verb: &str, name: &str, body: Value) -> Call<T> {
        let at = Location::caller();
        let request = wire::Request {
            verb: verb.to_owned(),
            kind: plural::<K>(),
            namespace: self.namespace.clone(),
            name: name.to_owned(),
            body,
            ..wire::Request::default()
        };
        let at = (at.file().replace('\\', "/"), at.line());
        Call { client: self.client.clone(), request, at, asked: false, read: decoded }
    }
}

/// An object as it is sent: with its kind, which the types of `k8s-openapi` say when they are written.
fn manifest<K: Resource>(object: &K) -> Value {
    serde_json::to_value(object).expect("an object is JSON")
}

/// The kind as a URL names it, with its group: `deployments.apps`.
fn plural<K: Resource>() -> String {
    if K::GROUP.is_empty() { K::URL_PATH_SEGMENT.into() } else { format!("{}.{}", K::URL_PATH_SEGMENT, K::GROUP) }
}

fn answered(answer: Answered) -> Result<wire::Answer<Object>, Error> {
    answer.map_err(|status| Error::Api(Box::new(status)))
}

fn decoded<K: Resource>(answer: Answered) -> Result<K, Error> {
    match answered(answer)? {
        wire::Answer::One(object) => typed(&object).map(Arc::unwrap_or_clone),
        _ => Err(Error::Other("no object".to_owned())),
    }
}

/// A call to the API server: the future of its answer.
#[must_use = "a call is made when it is awaited"]
pub struct Call<T> {
    client: Client,
    request: wire::Request,
    at: (String, u32),
    asked: bool,
    read: fn(Answered) -> Result<T, Error>,
}

impl<T> Call<T> {
    fn on(mut self, subresource: &str) -> Call<T> {
        self.request.subresource = subresource.to_owned();
        self
    }

    fn reading<U>(self, read: fn(Answered) -> Result<U, Error>) -> Call<U> {
        Call { client: self.client, request: self.request, at: self.at, asked: self.asked, read }
    }
}

impl<T> Future for Call<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Self::Output> {
        let link = self.client.0.clone();
        if !self.asked {
            self.asked = true;
            let before = link.call.replace(Some((self.request.clone(), self.at.clone())));
            assert!(before.is_none(), "two calls at once: await one before you make the next");
            return Poll::Pending;
        }
        match link.answer.take() {
            Some(answer) => Poll::Ready((self.read)(answer)),
            None => Poll::Pending,
        }
    }
}
