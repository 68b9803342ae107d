//! The API server's state.

use std::rc::Rc;

use crate::store::{Entry, Store};
use object::random::Random;
use object::{Kind, Object, Status};
use rules::apiextensions::Definitions;
use rules::policy::Policies;
use rules::webhook::Webhooks;
use wire::WatchId;

use super::admission::elsewhere::PodPlugin;
use super::admission::limit_ranger::LiveLookups;
use super::admission::row::Row;
use super::authorization::Authorizer;
use super::availability::Remotes;
use super::component_status::Neighbours;
use super::leases::LeaseManager;
use super::managed_fields::Writers;
use super::managed_fields::templates::Templates;
use super::metrics::MetricsApi;
use super::registry;
use super::service_addresses::ServiceAddresses;
use super::siblings::Siblings;
use super::watch::Watchers;

/// The API server's state: the store, who may do what, and who watches.
#[derive(Clone)]
pub struct ApiServer {
    /// etcd.
    pub store: Store,
    /// Open watches.
    pub watchers: Watchers,
    /// Whether a watch that begins with the state so far begins with the newest. Mirrors the feature gate WatchList.
    pub watch_list: bool,
    /// Whether several servers stand before the store. Then a change is not told by the server that wrote it, but by each
    /// server when its own watch of etcd has brought it: see [`super::cache`].
    pub several: bool,
    /// The aggregated API `metrics.k8s.io`.
    pub metrics: MetricsApi,
    /// The programs beside it on its machine.
    pub neighbours: Neighbours,
    pub(super) authorizer: Authorizer,
    pub(super) addresses: ServiceAddresses,
    pub(super) definitions: Definitions,
    pub(super) policies: Policies,
    pub(super) webhooks: Webhooks,
    pub(super) remotes: Remotes,
    pub(super) templates: Templates,
    pub(super) writers: Writers,
    pub(super) siblings: Siblings,
    pub(super) leases: LeaseManager,
    pub(super) live_limits: LiveLookups,
    /// The plugins that may change objects.
    pub(super) plugins: Row,
    pub(super) random: Random,
    pub(super) keep_stages: bool,
}

impl ApiServer {
    /// An API server in front of an empty store. `seed` feeds uids and generated names.
    pub fn new(seed: u64) -> ApiServer {
        ApiServer {
            store: Store::default(),
            watchers: Watchers::default(),
            watch_list: true,
            several: false,
            metrics: MetricsApi::default(),
            neighbours: Neighbours::default(),
            authorizer: Authorizer::new(),
            addresses: ServiceAddresses::default(),
            definitions: Definitions::default(),
            policies: Policies::default(),
            webhooks: Webhooks::default(),
            remotes: Remotes::default(),
            templates: Templates::default(),
            writers: Writers::default(),
            siblings: Siblings::default(),
            leases: LeaseManager::default(),
            live_limits: LiveLookups::default(),
            plugins: Row::shipped(),
            random: Random::new(seed ^ 0x6170_6973),
            keep_stages: true,
        }
    }

    /// Whether the stages of a request are kept, to be looked at.
    pub fn keep_stages(&mut self, on: bool) {
        self.keep_stages = on;
    }

    /// New Pods are admitted by this plugin.
    pub fn use_pod_plugin(&mut self, plugin: Rc<PodPlugin>) {
        self.plugins = Row::with(plugin);
    }

    /// Draws uids and generated names from another generator, and gives back the one before.
    pub fn swap_random(&mut self, random: Random) -> Random {
        std::mem::replace(&mut self.random, random)
    }

    /// A generator that has nothing to do with the usual one, the same for the same seed.
    pub fn fork_random(&self) -> Random {
        Random::new(self.random.clone().next_u64() ^ 0x626f_6f74)
    }

    /// A watch's connection broke.
    pub fn close_watch(&mut self, watch: WatchId) {
        self.watchers.close(watch);
    }

    /// The kind under which etcd keeps the objects of a kind: of custom ones, in one of their versions.
    pub fn kind_in_store(&self, kind: Kind) -> Kind {
        self.definitions.storage(kind)
    }

    /// What is stored under this name, or the 404.
    pub(super) fn stored(&self, kind: Kind, namespace: &str, name: &str) -> Result<Object, Status> {
        let entry = self.store.get(&registry::key(kind, namespace, name));
        let read = |entry: &Entry| self.definitions.read(&entry.value).into_owned().in_version(kind);
        entry.map(read).ok_or_else(|| Status::not_found(kind, name))
    }
}
