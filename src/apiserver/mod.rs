//! kube-apiserver: the only door to the store, and the place where every rule about objects is kept.
//!
//! A request passes a row of stages, each a small check in a file of its own, in the order the real server runs
//! them: authentication, priority and fairness, authorization, decoding with field validation, defaulting, mutating
//! admission, the kind's strategy, validation, validating admission, and at last one etcd transaction. Whatever the
//! transaction changed is then offered to every open watch.
//!
//! [`ApiServer::handle`] is all of it: a plain function from a request to an answer and the watch events it caused.
//! It does no I/O and knows no clock but the one handed in.
//!
//! - [`handling`]: a request ([`crate::wire`]) on its way. [`identity`]: who asks.
//!   [`flow_control`]: which requests would go first, if any had to wait.
//! - [`read`], [`list`], [`create`], [`update`], [`delete`], [`subresources`], [`eviction`], [`tokens`], [`metrics`],
//!   [`reviews`], [`component_status`], [`non_resource`]: the handlers.
//! - [`rest`]: the same over HTTP. [`printers`]: objects as tables. [`versions`]: the same in another version of a kind.
//! - [`managed_fields`]: who wrote which field; server-side apply.
//! - [`service_addresses`]: cluster IPs and node ports. [`ip_addresses`]: the objects that stand for the former.
//! - [`registry`]: etcd keys, and reading objects from the store.
//! - [`apiextensions`]: kinds that users define. [`cel`]: the language of their rules, and of policies.
//!   [`type_checking`]: whether those fit the kinds that they are about.
//! - [`leases`]: what etcd is to forget after a time.
//! - [`siblings`]: Pods that are stored alike share their spec.
//! - [`warnings`]: what is right and yet hardly meant.
//! - [`watch`]: who is told of which change. [`cache`]: what one of several API servers knows of the store.
//!
//! Must hold: nothing is stored that was not validated; a write that changes nothing stores nothing and tells nobody;
//! an update made from an old version is refused; every watch sees each revision once, in order.
//!
//! Left out: aggregation (but for [`metrics`]), encryption at rest.

use std::rc::Rc;
use std::sync::Arc;

use crate::kinds::{defaults, registry, strategy, validation, warnings};
use crate::object::random::Random;
use crate::object::status::Reason;
use crate::object::time::Instant;
use crate::object::{Kind, Object, Status};
use crate::rules::apiextensions::Definitions;
use crate::rules::policy::Policies;
use crate::rules::webhook::Webhooks;
use crate::store::{Change, Entry, Store};
use crate::wire::{Body, Request, Subresource, Verb, WatchEvent, WatchId};

pub mod admission;
pub mod authentication;
pub mod authorization;
pub mod cache;
pub mod component_status;
pub mod continue_token;
mod create;
pub mod decode;
mod delete;
mod eviction;
pub mod flow_control;
mod handling;
mod health;
mod identity;
pub mod impersonation;
mod ip_addresses;
pub mod leases;
mod list;
pub mod managed_fields;
pub mod metrics;
pub mod non_resource;
mod pipeline;
mod read;
mod recent;
pub mod rest;
pub mod reviews;
pub mod scale;
pub mod service_addresses;
mod siblings;
mod stored;
mod subresources;
pub mod tokens;
mod update;
mod versions;
pub mod waiting;
pub mod watch;

pub use handling::Handled;
pub(crate) use handling::{Handling, Outcome};

use admission::elsewhere::PodPlugin;
use authorization::Authorizer;
use cache::Cache;
use leases::LeaseManager;
use managed_fields::templates::Templates;
use managed_fields::{Writers, Written};
use service_addresses::ServiceAddresses;
use siblings::Siblings;
use waiting::Reviews;
use watch::Watchers;

/// How many of the newest changes a watch or a list can still go back to. The real server has etcd compacted every
/// five minutes; in virtual time a large cluster writes a million versions in less, and memory is real.
const CHANGES_KEPT: usize = 4096;

/// The API server's state: the store, who may do what, and who watches.
#[derive(Clone)]
pub struct ApiServer {
    /// etcd.
    pub store: Store,
    /// Open watches.
    pub watchers: Watchers,
    /// Whether a watch that begins with the state so far begins with the newest. Mirrors the feature gate WatchList.
    pub watch_list: bool,
    /// Whether several servers stand before the store. Then a change is not told by whoever wrote it, but by each server
    /// when its own watch of etcd has brought it: see [`cache`].
    pub several: bool,
    /// The aggregated API `metrics.k8s.io`.
    pub metrics: metrics::MetricsApi,
    /// The programs beside it on its machine.
    pub neighbours: component_status::Neighbours,
    authorizer: Authorizer,
    addresses: ServiceAddresses,
    definitions: Definitions,
    policies: Policies,
    webhooks: Webhooks,
    templates: Templates,
    writers: Writers,
    siblings: Siblings,
    leases: LeaseManager,
    /// Who admits new Pods, if it is not the shipped plugins.
    pod_plugin: Option<Rc<PodPlugin>>,
    random: Random,
    keep_stages: bool,
}

impl ApiServer {
    /// An API server in front of an empty store. `seed` feeds uids and generated names.
    pub fn new(seed: u64) -> ApiServer {
        ApiServer {
            store: Store::default(),
            watchers: Watchers::default(),
            watch_list: true,
            several: false,
            metrics: metrics::MetricsApi::default(),
            neighbours: component_status::Neighbours::default(),
            authorizer: Authorizer::new(),
            addresses: ServiceAddresses::default(),
            definitions: Definitions::default(),
            policies: Policies::default(),
            webhooks: Webhooks::default(),
            templates: Templates::default(),
            writers: Writers::default(),
            siblings: Siblings::default(),
            leases: LeaseManager::default(),
            pod_plugin: None,
            random: Random::new(seed ^ 0x6170_6973),
            keep_stages: true,
        }
    }

    /// Whether the stages of a request are kept for whoever looks.
    pub fn keep_stages(&mut self, on: bool) {
        self.keep_stages = on;
    }

    /// Draws uids and generated names from another generator, and gives back the one before.
    pub fn swap_random(&mut self, random: Random) -> Random {
        std::mem::replace(&mut self.random, random)
    }

    /// A generator that has nothing to do with the usual one, the same for the same seed.
    pub fn fork_random(&self) -> Random {
        Random::new(self.random.clone().next_u64() ^ 0x626f_6f74)
    }

    /// Handles one request at time `now`. `watch` names the watch that a watch request opens.
    pub fn handle(&mut self, request: &Request, watch: Option<WatchId>, now: Instant) -> Handled {
        self.handle_with(None, request, watch, now)
    }

    /// The same on a server whose watch cache lags behind the store.
    pub fn handle_with(
        &mut self,
        cache: Option<Cache>,
        request: &Request,
        watch: Option<WatchId>,
        now: Instant,
    ) -> Handled {
        if !self.webhooks.concern(request) {
            return self.go_through(cache, request, watch, now, None);
        }
        let random = Random::new(self.random.next_u64());
        self.resume(cache, request, Reviews::new(random, now))
    }

    /// Handles a request again, for which webhooks had to be asked.
    pub fn resume(&mut self, cache: Option<Cache>, request: &Request, reviews: Reviews) -> Handled {
        let usual = self.swap_random(reviews.random.clone());
        let handled = self.go_through(cache, request, None, reviews.now, Some(reviews));
        self.swap_random(usual);
        handled
    }

    fn go_through(
        &mut self,
        cache: Option<Cache>,
        request: &Request,
        watch: Option<WatchId>,
        now: Instant,
        reviews: Option<Reviews>,
    ) -> Handled {
        let served = request.kind;
        let identity = self.identify(versions::internal(request), served, now);
        let mut handling = Handling::new(&identity.request, served, now, self.keep_stages);
        (handling.watch, handling.cache, handling.reviews) = (watch, cache, reviews);
        let outcome = identity
            .check(&mut handling)
            .and_then(|()| self.authorize(&mut handling))
            .and_then(|()| self.route(&mut handling));
        let handled = self.finish(handling, outcome);
        Handled { by_token: identity.by_token, impersonated: identity.impersonated, ..handled }
    }

    /// Says what came of it, to the caller and to the watches, in the version that each speaks.
    fn finish(&self, mut handling: Handling, outcome: Outcome) -> Handled {
        if let (Err(status), Some(watch)) = (&outcome, handling.watch) {
            handling.fanout.push((watch, WatchEvent::Error(status.clone())));
        }
        let result = outcome.map(|(code, mut response)| {
            self.show_managers(&mut handling, &mut response);
            (code, versions::answered_in(handling.served, response))
        });
        self.show_managers_in_events(&mut handling.fanout);
        self.tell_in_versions(&mut handling.fanout);
        handling.handled(result)
    }

    /// A watch's connection broke.
    pub fn close_watch(&mut self, watch: WatchId) {
        self.watchers.close(watch);
    }

    /// In which flow it would wait, and whether it is allowed.
    fn authorize(&self, handling: &mut Handling) -> Result<(), Status> {
        if let (true, Some(flow)) = (handling.stages.is_some(), flow_control::classify(handling.request)) {
            handling.stage("priority and fairness", || flow.to_string());
        }
        let rule = match handling.served == handling.request.kind {
            true => self.authorizer.authorize(handling.request, &self.store)?,
            // Rules name the group that was asked.
            false => {
                let asked = Request { kind: handling.served, ..handling.request.clone() };
                self.authorizer.authorize(&asked, &self.store)?
            }
        };
        handling.stage("authorization", || rule.to_string());
        Ok(())
    }

    /// Nobody grants what they do not have.
    fn check_escalation(&self, handling: &Handling, old: Option<&Object>, new: &Object) -> Result<(), Status> {
        self.authorizer.check_escalation(handling.request, old, new, &self.store)
    }

    fn route(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        if let Kind::Custom(kind) = request.kind {
            let version = self.definitions.for_request(kind, request)?;
            handling.warnings.extend(version.deprecation.clone());
            handling.custom = Some(version);
        }
        if let Body::Path(path) = &request.body {
            return Ok(self.page(path));
        }
        if !request.kind.is_kept() {
            return self.route_unkept(handling);
        }
        match (request.verb, request.subresource) {
            (Verb::Get | Verb::List, Some(Subresource::Metrics)) => self.metrics(handling),
            (Verb::Get, part) if part.is_none_or(Subresource::is_of_object) => self.get(handling),
            (Verb::List, _) => self.list(handling),
            (Verb::Watch, _) => self.watch(handling),
            (Verb::Create, None) => self.create(handling),
            (Verb::Update | Verb::Patch, part) if part.is_none_or(Subresource::is_of_object) => self.update(handling),
            (Verb::Update, Some(Subresource::Finalize)) => self.update(handling),
            (Verb::Delete, None) => self.delete(handling),
            (Verb::DeleteCollection, None) => self.delete_collection(handling),
            (Verb::Create, Some(Subresource::Binding)) => self.bind(handling),
            (Verb::Create, Some(Subresource::Token)) => self.create_token(handling),
            (Verb::Create, Some(Subresource::Eviction)) => self.evict(handling),
            (Verb::Get | Verb::Create, Some(part)) if part.is_connection() => self.connect(handling),
            (Verb::Get, Some(Subresource::Log)) => self.log(handling),
            (Verb::Get | Verb::Update | Verb::Patch, Some(Subresource::Scale)) => self.scale(handling),
            _ => Err(not_allowed()),
        }
    }

    /// What is only asked about has no verbs but these.
    fn route_unkept(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        match (request.kind, request.verb, request.subresource) {
            (Kind::Binding, Verb::Create, None) => self.bind_named(handling),
            (Kind::ComponentStatus, Verb::Get | Verb::List, None) => self.component_statuses(handling),
            (Kind::ComponentStatus, Verb::Watch, None) => {
                const WHY: &str = "watch is not supported on resources of kind \"componentstatuses\"";
                Err(Status::new(Reason::MethodNotAllowed, WHY))
            }
            (Kind::Binding | Kind::ComponentStatus, ..) => Err(not_allowed()),
            (_, Verb::Create, None) => self.review(handling),
            _ => Err(not_allowed()),
        }
    }

    /// Stores what the server itself makes of an object: nobody manages that.
    pub(crate) fn put(&mut self, handling: &mut Handling, expected: u64, object: Object) -> Result<Object, Status> {
        self.put_written(handling, expected, object, Written::ByNobody)
    }

    /// Stores `object` if its key is still at `expected`, and tells the watchers.
    pub(crate) fn put_written(
        &mut self,
        handling: &mut Handling,
        expected: u64,
        object: Object,
        written: Written,
    ) -> Result<Object, Status> {
        let (kind, name) = (object.kind(), object.name().to_owned());
        let key = registry::key(kind, object.namespace(), &name);
        let now = handling.now;
        if handling.request.options.dry_run {
            let old = self.store.get(&key);
            if old.map_or(0, |entry| entry.mod_revision) != expected {
                return Err(Status::modified(kind, &name));
            }
            handling.tried =
                Some(managed_fields::after(&self.definitions, &mut self.writers, old, &object, written, now));
            return Ok(object);
        }
        self.claim_addresses(handling, expected, &object)?;
        let object = object.in_version(self.definitions.storage(kind));
        let (definitions, writers) = (&self.definitions, &mut self.writers);
        let history =
            |old: Option<&Entry>, new: &Object| managed_fields::after(definitions, writers, old, new, written, now);
        let (lease, granted) = self.leases.lease_for(&mut self.store, kind, now);
        handling.granted = granted.or(handling.granted);
        let change =
            self.store.put(&key, expected, lease, object, history).map_err(|_| Status::modified(kind, &name))?.clone();
        let new = change.new.as_ref().expect("a put leaves a value").value.clone();
        let old = change.old.as_ref().map(|entry| entry.value.clone());
        self.publish(handling, change, &new, false);
        self.release_addresses(handling, old.as_ref(), Some(&new));
        Ok(new.in_version(kind))
    }

    /// Removes what is stored as `object`, and tells the watchers. Returns the last state, with the revision of the
    /// deletion.
    pub(crate) fn remove(&mut self, handling: &mut Handling, mut object: Object) -> Result<Object, Status> {
        let key = registry::key(object.kind(), object.namespace(), object.name());
        if handling.request.options.dry_run {
            return Ok(object);
        }
        let expected = self.store.get(&key).map_or(0, |entry| entry.mod_revision);
        let change = match self.store.delete(&key, expected) {
            Ok(change) => change.clone(),
            Err(_) => return Err(Status::not_found(object.kind(), object.name())),
        };
        object.meta_mut().resource_version = Some(change.revision.to_string());
        self.publish(handling, change, &object, true);
        self.release_addresses(handling, Some(&object), None);
        Ok(object)
    }

    fn publish(&mut self, handling: &mut Handling, change: Change, new: &Object, deleted: bool) {
        let old = change.old.as_ref().map(|entry| &entry.value);
        self.authorizer.object_changed(new.kind(), old, (!deleted).then_some(new));
        self.addresses.changed(old, (!deleted).then_some(new));
        if !self.several {
            self.tell_watchers(old, new, deleted, &mut handling.fanout);
        }
        if new.kind() == Kind::CustomResourceDefinition {
            self.definitions.changed(old, (!deleted).then_some(new));
        }
        self.policies.changed(old, (!deleted).then_some(new));
        self.webhooks.changed(old, (!deleted).then_some(new));
        handling.stage("etcd", || format!("{} at revision {}", change.key, change.revision));
        handling.changes.push(change);
        self.store.keep_changes(CHANGES_KEPT);
    }

    /// Offers a change to the watches of its kind, and of every version of it.
    fn tell_watchers(
        &self,
        old: Option<&Object>,
        new: &Object,
        deleted: bool,
        fanout: &mut Vec<(WatchId, WatchEvent)>,
    ) {
        let Kind::Custom(kind) = new.kind() else { return self.watchers.fan_out(old, new, deleted, fanout) };
        for version in self.definitions.told_as(kind) {
            let old = old.map(|old| self.definitions.read(old).into_owned().in_version(version));
            self.watchers.fan_out(old.as_ref(), &new.clone().in_version(version), deleted, fanout);
        }
    }

    /// What is stored under this name, or the 404.
    pub(crate) fn stored(&self, kind: Kind, namespace: &str, name: &str) -> Result<Object, Status> {
        let entry = self.store.get(&registry::key(kind, namespace, name));
        let read = |entry: &Entry| self.definitions.read(&entry.value).into_owned().in_version(kind);
        entry.map(read).ok_or_else(|| Status::not_found(kind, name))
    }

    /// Fills in what the sender left out.
    pub(crate) fn set_defaults(handling: &Handling, object: &mut Object) {
        match (&handling.custom, &mut *object) {
            (Some(version), Object::Custom(custom)) => version.set_defaults(Arc::make_mut(custom)),
            _ => defaults::set_defaults(object),
        }
    }
}

/// The 405.
fn not_allowed() -> Status {
    Status::new(Reason::MethodNotAllowed, "the server does not allow this method on the requested resource")
}
