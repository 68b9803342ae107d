//! The typed handle to the API server. Mirrors a client-go clientset: who it is, how fast it may ask, and one
//! method a verb.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Namespace;
use serde_json::Value;

use engine::call::{HubCall, Sleep};
use engine::{ActorId, Hub, Memory, Place};
use object::metrics::Metrics;
use object::time::Instant;
use object::token::Token;
use object::{Kind, Object, Pod, Resource, Status};
use wire::{Answer, Binding, Body, DeleteOptions, Error, Patch, Request, Response, Subresource, User, Verb};

use super::limiter::TokenBucket;

/// A component's handle to the API server. Clones share the rate limit.
#[derive(Clone)]
pub struct Client {
    hub: Hub,
    actor: ActorId,
    user: Rc<User>,
    limiter: Memory<TokenBucket>,
    slower_by: Duration,
}

impl Client {
    /// A client of `actor`, asking as `user`, at most `qps` requests a second after a burst of `burst`.
    pub fn new(hub: Hub, actor: ActorId, user: Rc<User>, qps: u32, burst: u32) -> Client {
        let limiter = hub.memory(TokenBucket::new(qps, burst));
        Client { hub, actor, user, limiter, slower_by: Duration::ZERO }
    }

    /// The same, each of its requests taking so much longer on its way: a busy machine, a bad link.
    pub fn slower_by(mut self, time: Duration) -> Client {
        self.slower_by = time;
        self
    }

    /// The same, within the same limit, with requests of another user.
    pub fn acting_as(mut self, user: User) -> Client {
        self.user = Rc::new(user);
        self
    }

    /// The engine's handle.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Whose client it is.
    pub fn actor(&self) -> ActorId {
        self.actor
    }

    /// Who it asks as.
    pub fn user(&self) -> &Rc<User> {
        &self.user
    }

    /// The virtual time.
    pub fn now(&self) -> Instant {
        self.hub.now()
    }

    /// Waits for `duration` of virtual time.
    #[track_caller]
    pub fn sleep(&self, duration: Duration) -> Sleep {
        self.hub.sleep(duration)
    }

    /// Reads one object from the API server, not from a cache.
    #[track_caller]
    pub fn get<T: Resource>(&self, namespace: &str, name: &str) -> Call<Arc<T>> {
        self.object_call(self.parts::<T>(Verb::Get, namespace, name, Body::None))
    }

    /// Lists from the API server, not from a cache.
    #[track_caller]
    pub fn list<T: Resource>(&self, namespace: &str, label_selector: &str) -> Call<List<T>> {
        let mut request = self.parts::<T>(Verb::List, namespace, "", Body::None);
        request.options.label_selector = label_selector.to_owned();
        self.call(request, read_list::<T>)
    }

    /// POST. The namespace is the object's.
    #[track_caller]
    pub fn create<T: Resource>(&self, object: T) -> Call<Arc<T>> {
        let meta = object.metadata();
        let namespace = meta.namespace.clone().unwrap_or_default();
        let body = Body::Object(Arc::new(object).into_object());
        self.object_call(self.parts::<T>(Verb::Create, &namespace, "", body))
    }

    /// PUT. Refused with 409 if the object has changed since the version that this one was made from.
    #[track_caller]
    pub fn update<T: Resource>(&self, object: T) -> Call<Arc<T>> {
        self.object_call(self.put(object))
    }

    /// PUT of the status alone.
    #[track_caller]
    pub fn update_status<T: Resource>(&self, object: T) -> Call<Arc<T>> {
        let mut request = self.put(object);
        request.subresource = Some(Subresource::Status);
        self.object_call(request)
    }

    /// PUT of what was decided about a request for a certificate.
    #[track_caller]
    pub fn update_approval(&self, request: CertificateSigningRequest) -> Call<Arc<CertificateSigningRequest>> {
        let mut request = self.put(request);
        request.subresource = Some(Subresource::Approval);
        self.object_call(request)
    }

    /// PUT of a Namespace's finalizers.
    #[track_caller]
    pub fn finalize(&self, namespace: Namespace) -> Call<Arc<Namespace>> {
        let mut request = self.put(namespace);
        request.subresource = Some(Subresource::Finalize);
        self.object_call(request)
    }

    /// PATCH.
    #[track_caller]
    pub fn patch<T: Resource>(&self, namespace: &str, name: &str, patch: Patch) -> Call<Arc<T>> {
        self.object_call(self.parts::<T>(Verb::Patch, namespace, name, Body::Patch(patch)))
    }

    /// Server-side apply of what `manager` wants of an object, even where another manager holds the fields.
    #[track_caller]
    pub fn apply<T: Resource>(&self, namespace: &str, name: &str, wanted: Value, manager: &str) -> Call<Arc<T>> {
        let mut request = self.parts::<T>(Verb::Patch, namespace, name, Body::Patch(Patch::Apply(wanted)));
        (request.options.field_manager, request.options.force) = (manager.to_owned(), true);
        self.object_call(request)
    }

    /// The same of the status alone.
    #[track_caller]
    pub fn apply_status<T: Resource>(&self, namespace: &str, name: &str, wanted: Value, manager: &str) -> Call<Arc<T>> {
        let mut request = self.parts::<T>(Verb::Patch, namespace, name, Body::Patch(Patch::Apply(wanted)));
        (request.options.field_manager, request.options.force) = (manager.to_owned(), true);
        request.subresource = Some(Subresource::Status);
        self.object_call(request)
    }

    /// PATCH of the status alone.
    #[track_caller]
    pub fn patch_status<T: Resource>(&self, namespace: &str, name: &str, patch: Patch) -> Call<Arc<T>> {
        let mut request = self.parts::<T>(Verb::Patch, namespace, name, Body::Patch(patch));
        request.subresource = Some(Subresource::Status);
        self.object_call(request)
    }

    /// DELETE.
    #[track_caller]
    pub fn delete<T: Resource>(&self, namespace: &str, name: &str, options: DeleteOptions) -> Call<()> {
        self.call(self.parts::<T>(Verb::Delete, namespace, name, Body::Delete(options)), read_nothing)
    }

    /// `POST pods/NAME/binding`.
    #[track_caller]
    pub fn bind(&self, namespace: &str, pod: &str, binding: Binding) -> Call<()> {
        let mut request = self.parts::<Pod>(Verb::Create, namespace, pod, Body::Binding(binding));
        request.subresource = Some(Subresource::Binding);
        self.call(request, read_nothing)
    }

    /// `GET KIND/NAME/scale`: how many Pods an object of any kind asks for.
    #[track_caller]
    pub fn get_scale(&self, kind: Kind, namespace: &str, name: &str) -> Call<Scale> {
        let mut request = Request::new(self.user.clone(), Verb::Get, kind, namespace, name, Body::None);
        request.subresource = Some(Subresource::Scale);
        self.call(request, read_scale)
    }

    /// `PUT KIND/NAME/scale`: asks for so many Pods, unless the object has changed since the version that `scale` is of.
    #[track_caller]
    pub fn update_scale(&self, kind: Kind, scale: &Scale, replicas: i32) -> Call<Scale> {
        let [namespace, name] =
            [&scale.metadata.namespace, &scale.metadata.name].map(|n| n.clone().unwrap_or_default());
        let body = Body::Scale { replicas, resource_version: scale.metadata.resource_version.clone() };
        let mut request = Request::new(self.user.clone(), Verb::Update, kind, &namespace, &name, body);
        request.subresource = Some(Subresource::Scale);
        self.call(request, read_scale)
    }

    /// `GET /apis/metrics.k8s.io/v1beta1/namespaces/NAMESPACE/pods`: what Pods use.
    #[track_caller]
    pub fn pod_metrics(&self, namespace: &str, label_selector: &str) -> Call<Vec<Metrics>> {
        let mut request = self.parts::<Pod>(Verb::List, namespace, "", Body::None);
        request.subresource = Some(Subresource::Metrics);
        request.options.label_selector = label_selector.to_owned();
        self.call(request, read_metrics)
    }

    /// `POST serviceaccounts/NAME/token`, bound to a Pod, for an audience (empty: the API server), and good for so many
    /// seconds. Gives the token.
    #[track_caller]
    pub fn create_token(
        &self,
        namespace: &str,
        account: &str,
        (pod_name, pod_uid): (&str, &str),
        audience: &str,
        expiration_seconds: i64,
    ) -> Call<Token> {
        use k8s_openapi::api::core::v1::ServiceAccount;
        let bound = Some((Kind::Pod, pod_name.into(), pod_uid.into()));
        let audiences = if audience.is_empty() { Vec::new() } else { vec![audience.to_owned()] };
        let body = Body::Token { audiences, expiration_seconds, bound };
        let mut request = self.parts::<ServiceAccount>(Verb::Create, namespace, account, body);
        request.subresource = Some(Subresource::Token);
        self.call(request, read_token)
    }

    /// A request about all objects of a kind in a namespace. Gives the objects that it was answered with.
    #[track_caller]
    pub fn collection(&self, verb: Verb, kind: Kind, namespace: &str, body: Body) -> Call<Vec<Object>> {
        self.call(Request::new(self.user.clone(), verb, kind, namespace, "", body), read_items)
    }

    /// Any request, as kubectl sends it. The user is this client's.
    #[track_caller]
    pub fn request(&self, request: Request) -> Call<Answer> {
        self.call(request, Ok)
    }

    /// The same for code that runs elsewhere: `at` is the line that asks.
    pub fn request_at(&self, at: Place, request: Request) -> Call<Answer> {
        let delay = self.limiter.borrow_mut().reserve(self.hub.now()) + self.slower_by;
        Call { inner: self.hub.request_at(at, request, delay), read: Ok }
    }

    /// A request of this client's with nothing in it but what is given.
    pub fn parts<T: Resource>(&self, verb: Verb, namespace: &str, name: &str, body: Body) -> Request {
        Request::new(self.user.clone(), verb, T::kind(), namespace, name, body)
    }

    fn put<T: Resource>(&self, object: T) -> Request {
        let meta = object.metadata();
        let (namespace, name) = (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default());
        self.parts::<T>(Verb::Update, &namespace, &name, Body::Object(Arc::new(object).into_object()))
    }

    #[track_caller]
    fn object_call<T: Resource>(&self, request: Request) -> Call<Arc<T>> {
        self.call(request, read_object::<T>)
    }

    #[track_caller]
    fn call<T>(&self, request: Request, read: fn(Answer) -> Result<T, Error>) -> Call<T> {
        let delay = self.limiter.borrow_mut().reserve(self.hub.now()) + self.slower_by;
        Call { inner: self.hub.request(request, delay), read }
    }
}

/// The objects of one list, and the revision at which it was taken.
#[derive(Clone, Debug)]
pub struct List<T> {
    /// In key order.
    pub items: Vec<Arc<T>>,
    /// The list's resourceVersion.
    pub revision: u64,
}

fn typed<T: Resource>(object: Object) -> Result<Arc<T>, Error> {
    T::from_object(&object)
        .cloned()
        .ok_or_else(|| Status::internal(&format!("expected a {}, got a {}", T::kind(), object.kind())).into())
}

fn read_nothing(answer: Answer) -> Result<(), Error> {
    answer.result.map(|_| ())
}

fn read_token(answer: Answer) -> Result<Token, Error> {
    match answer.result? {
        Response::Token(issued) => Ok(issued.token),
        other => Err(Status::internal(&format!("expected a token, got {other:?}")).into()),
    }
}

fn read_scale(answer: Answer) -> Result<Scale, Error> {
    match answer.result? {
        Response::Scale(scale) => Ok(*scale),
        other => Err(Status::internal(&format!("expected a scale, got {other:?}")).into()),
    }
}

fn read_metrics(answer: Answer) -> Result<Vec<Metrics>, Error> {
    match answer.result? {
        Response::Metrics(metrics) => Ok(metrics),
        other => Err(Status::internal(&format!("expected metrics, got {other:?}")).into()),
    }
}

fn read_items(answer: Answer) -> Result<Vec<Object>, Error> {
    match answer.result? {
        Response::List { items, .. } => Ok(items),
        _ => Ok(Vec::new()),
    }
}

fn read_object<T: Resource>(answer: Answer) -> Result<Arc<T>, Error> {
    match answer.result? {
        Response::Object(object) => typed::<T>(object),
        other => Err(Status::internal(&format!("expected an object, got {other:?}")).into()),
    }
}

fn read_list<T: Resource>(answer: Answer) -> Result<List<T>, Error> {
    match answer.result? {
        Response::List { items, revision, .. } => {
            Ok(List { items: items.into_iter().map(typed::<T>).collect::<Result<_, _>>()?, revision })
        }
        other => Err(Status::internal(&format!("expected a list, got {other:?}")).into()),
    }
}

/// One call in flight: the future of its result.
pub struct Call<T> {
    inner: HubCall,
    read: fn(Answer) -> Result<T, Error>,
}

impl<T> Future for Call<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.inner).poll(context).map(|answer| (self.read)(answer))
    }
}

/// Waits for all of `futures`, which are under way together. Results come in the order given.
pub fn join_all<F: Future>(futures: Vec<F>) -> JoinAll<F> {
    let running = futures.into_iter().map(|future| Slot::Running(Box::pin(future))).collect();
    JoinAll { slots: running }
}

/// The future of several futures.
pub struct JoinAll<F: Future> {
    slots: Vec<Slot<F>>,
}

enum Slot<F: Future> {
    Running(Pin<Box<F>>),
    Done(Option<F::Output>),
}

impl<F: Future> Unpin for JoinAll<F> {}

impl<F: Future> Future for JoinAll<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut waiting = false;
        for slot in &mut self.slots {
            if let Slot::Running(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(output) => *slot = Slot::Done(Some(output)),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            return Poll::Pending;
        }
        let take = |slot: &mut Slot<F>| match slot {
            Slot::Done(output) => output.take(),
            Slot::Running(_) => None,
        };
        Poll::Ready(self.slots.iter_mut().filter_map(take).collect())
    }
}
