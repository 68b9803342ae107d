//! kube-apiserver: the only door to the store, and the place where every rule about objects is kept.
//!
//! A request passes a row of stages, each a small check in a file of its own, in the order the real server runs
//! them ([`pipeline`]): authentication, priority and fairness, authorization, decoding with field validation, defaulting,
//! mutating admission, the kind's strategy, validation, validating admission, and at last one etcd transaction. Whatever
//! the transaction changed is then offered to every open watch.
//!
//! [`ApiServer::handle`] is all of it: a plain function from a request to an answer and the watch events it caused.
//! It does no I/O and knows no clock but the one handed in.
//!
//! - [`pipeline`]: the stages, in order. [`handling`]: a request on its way; [`waiting`]: one that waits for webhooks.
//!   [`server`]: the server's state. [`host`]: the actor that serves it.
//! - [`identity`]: who asks; [`authentication`], [`impersonation`]. [`flow_control`]: which requests would go first, if any had
//!   to wait. [`authorization`]: who may do what. [`admission`]: the plugins.
//! - [`read`], [`list`], [`create`], [`update`], [`apply`], [`delete`], [`scale`], [`subresources`], [`eviction`], [`tokens`],
//!   [`aggregation`] ([`metrics`]), [`reviews`], [`component_status`], [`non_resource`], [`health`]: the handlers.
//! - [`rest`]: the same over HTTP. [`printers`]: objects as tables. [`versions`]: the same in another version of a kind.
//! - [`managed_fields`]: who wrote which field; [`managers`]: asked and shown.
//! - [`service_addresses`]: cluster IPs and node ports. [`ip_addresses`]: the objects that stand for the former.
//! - [`registry`]: etcd keys, and reading objects from the store.
//! - [`leases`]: what etcd is to forget after a time.
//! - [`siblings`]: Pods that are stored alike share their spec.
//! - [`warnings`]: what is right and yet hardly meant.
//! - [`watch`]: who is told of which change; [`fanout`]: telling them. [`cache`]: what one of several API servers knows of the
//!   store.
//!
//! What users add to it, kinds and rules of their own, is in [`rules`].
//!
//! Must hold:
//! - Nothing is stored that was not validated. Kept by `raw_requests_are_answered_as_kubernetes_answers_them`.
//! - A write that changes nothing stores nothing and tells nobody. Kept by
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
pub mod cache;
pub mod component_status;
pub mod continue_token;
mod create;
pub mod decode;
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
mod pipeline;
mod read;
mod recent;
pub mod rest;
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
