//! kube-apiserver: the only door to the store, and the place where every rule about objects is kept.
//!
//! A request passes a row of stages, each a small check in a file of its own, in the order the real server runs
//! them ([`pipeline`]): authentication, priority and fairness, authorization, decoding with field validation, defaulting,
//! mutating admission, the kind's strategy, validation, validating admission, and at last one etcd transaction. Each change
//! that the transaction made is then offered to every open watch.
//!
//! [`ApiServer::handle`] is all of it: a plain function from a request to an answer and the watch events it caused.
//! It does no I/O and knows no clock but the one handed in.
//!
//! - [`pipeline`]: the stages, in order. [`handling`]: a request on its way; [`waiting`]: one that waits for webhooks.
//!   [`server`]: the server's state. [`host`]: the actor that serves it.
//! - [`identity`]: who asks; [`authentication`], [`impersonation`]. [`flow_control`]: which requests would go first, if any had
//!   to wait. [`authorization`]: who may do what. [`admission`]: the plugins.
//! - [`read`], [`list`], [`create`], [`update`], [`apply`], [`delete`], [`scale`], [`subresources`], [`proxy`], [`eviction`], [`tokens`],
//!   [`aggregation`] ([`metrics`], [`availability`]), [`reviews`], [`component_status`], [`non_resource`], [`health`]: the handlers.
//! - [`rest`], a crate of its own: the same over HTTP. [`kinds::printers`]: objects as tables. [`versions`]: the same in another
//!   version of a kind.
//! - [`managed_fields`]: who wrote which field; [`managers`]: asked and shown.
//! - [`service_addresses`]: cluster IPs and node ports. [`ip_addresses`]: the objects that stand for the former.
//! - [`mod@store`]: etcd. [`kinds::registry`]: where in it an object stands.
//! - [`leases`]: what etcd is to forget after a time.
//! - [`siblings`]: Pods that are stored alike share their spec.
//! - [`watch`]: which watches see a change; [`fanout`]: telling them. [`cache`]: what one of several API servers knows of the
//!   store.
//!
//! What it knows of each kind is in [`kinds`]: defaults, validation, warnings, columns. What users add to it, kinds and rules of
//! their own, is in [`rules`].
//!
//! # An API server in a test
//!
//! [`ApiServer::handle`] can be called as it is: a [`Request`](wire::Request) goes in, a [`Response`](wire::Response) and the
//! events for those who watch come out. To have clients, watches and time beside it, put it into an engine: [`host::Host`] is the
//! actor that serves it. A client is an [`Actor`](engine::Actor), whose tasks are straight async code; each
//! [`step`](engine::Engine::step) delivers one event, and the run ends when nothing is pending.
//!
//! ```
//! use std::any::Any;
//! use std::rc::Rc;
//! use std::time::Duration;
//!
//! use engine::{Actor, ActorId, Delivery, Hub, What};
//! use kubestep_apiserver::ApiServer;
//! use kubestep_apiserver::host::{Engine, Host};
//! use object::Kind;
//! use serde_json::json;
//! use wire::{Body, Request, User, Verb};
//!
//! struct Person(Hub, ActorId);
//!
//! impl Actor for Person {
//!     fn name(&self) -> &str { "person" }
//!     fn as_any(&self) -> &dyn Any { self }
//!     fn deliver(&self, _: Delivery) {}
//!     fn start(&self) {
//!         let (hub, me, user) = (self.0.clone(), self.1, Rc::new(User::admin()));
//!         hub.watch(me, Request::new(user.clone(), Verb::Watch, Kind::Deployment, "", "", Body::None));
//!         self.0.spawn(me, "create", async move {
//!             let labels = json!({"app": "web"});
//!             let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "nginx"}]}});
//!             let spec = json!({"selector": {"matchLabels": labels}, "template": template});
//!             let namespace = Kind::Namespace.decode(json!({"metadata": {"name": "default"}}));
//!             let web = Kind::Deployment.decode(json!({"metadata": {"name": "web", "namespace": "default"}, "spec": spec}));
//!             for object in [namespace.unwrap(), web.unwrap()] {
//!                 let answer = hub.request(Request::create(user.clone(), object), Duration::ZERO).await;
//!                 assert_eq!(answer.code, 201, "{:?}", answer.result);
//!             }
//!         });
//!     }
//! }
//!
//! let mut engine = Engine::new(Host::new(ApiServer::new(0)), 0);
//! let person = Person(engine.hub().clone(), engine.next_actor());
//! engine.add(Rc::new(person));
//! let mut told = Vec::new();
//! while let Some(step) = engine.step() {
//!     let What::Notification { event, .. } = step.event.what else { continue };
//!     // A bookmark comes first: the watch has seen all that there was, nothing.
//!     told.extend(event.object().map(|object| format!("{} {}", event.type_str(), object.name())));
//! }
//! assert_eq!(told, ["ADDED web"]);
//! ```
//!
//! A crate of yours names these by their folders, as here: `object = { package = "kubestep-object", … }`. Two engines with the
//! same actors and the same seed take the same steps. Informers, work queues and typed calls for such an actor are in the crate
//! `client`; a whole cluster, with nodes, in `cluster`.
//!
//! Must hold:
//! - Nothing is stored that was not validated. Kept by `raw_requests_are_answered_as_kubernetes_answers_them`.
//! - A write that changes nothing stores nothing and notifies no watch. Kept by
//!   `who_applies_what_is_there_has_written_nothing`.
//! - An update made from an old version is refused. Kept by `a_scale_made_from_an_old_version_is_written_again`.
//! - Every watch sees each revision once, in order. Kept by `a_watch_is_lines` and
//!   `a_watch_by_node_is_told_of_what_comes_and_goes`.
//!
//! Left out: aggregation (but for [`metrics`]), encryption at rest.

use kinds::{defaults, registry, strategy, validation, warnings};
pub mod admission;
mod aggregation;
mod apply;
pub mod authentication;
pub mod authorization;
mod availability;
pub mod cache;
pub mod component_status;
pub mod continue_token;
mod create;
mod delete;
mod eviction;
mod fanout;
pub mod flow_control;
mod handling;
mod health;
pub mod host;
mod identity;
pub mod impersonation;
mod ip_addresses;
pub mod leases;
mod list;
pub mod managed_fields;
mod managers;
pub mod metrics;
pub mod non_resource;
pub mod own_service;
mod pages;
mod pipeline;
mod proxy;
mod read;
mod recent;
pub mod reviews;
pub mod scale;
mod server;
pub mod service_addresses;
mod siblings;
pub mod store;
mod stored;
mod subresources;
pub mod tokens;
mod update;
mod versions;
pub mod waiting;
pub mod watch;

pub use handling::Handled;
pub(crate) use handling::{Handling, Outcome};
pub use server::ApiServer;
