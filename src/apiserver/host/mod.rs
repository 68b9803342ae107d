//! The API server's host: the actor that serves it in the engine's world.
//!
//! [`ApiServer::handle`] is a plain function. Here is what carries requests to it and tells the world what came of them: a
//! request arrives as an event, its answer and its watch events are sent, and what etcd does of itself is a timer. To the
//! engine all this is a [`Server`], and it knows no more of it.
//!
//! - [`serve`]: a request that has arrived.
//! - [`servers`]: several API servers beside one another, and etcd behind them.
//! - [`webhook`]: requests that wait for admission webhooks.
//! - [`failing`]: calls that are to fail. [`control`]: servers that stop, watches that break, caches that show the past.
//!
//! Must hold:
//! - Nothing of a server's state is elsewhere, so that a copy of the host is a copy of all API servers and etcd. Kept by
//!   `saved_worlds_go_on_alike`.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::ApiServer;
use engine::{self, ActorId, Pending, Server, What};
use wire::WatchId;

pub mod control;
pub mod failing;
mod serve;
mod servers;
pub mod webhook;

pub use serve::{LEASE_EXPIRES, LOOKS_AFTER_SERVICE, LOOKS_AT_SERVERS};

use control::Stale;
use failing::Failure;

/// An engine whose requests go to API servers.
pub type Engine = engine::Engine<Host>;

/// The API servers of a cluster, one or several, and etcd behind them.
#[derive(Clone)]
pub struct Host {
    /// What every API server does, and the store.
    pub api: ApiServer,
    /// What is to fail.
    pub failures: Vec<Failure>,
    /// The informers whose next list shows the past.
    pub stale: Vec<Stale>,
    /// The API servers that do not answer at all.
    pub down: BTreeSet<ActorId>,
    servers: servers::Servers,
    webhooks: webhook::Webhooks,
}

impl Host {
    /// One API server.
    pub fn new(api: ApiServer) -> Host {
        Host::several(api, 1)
    }

    /// So many API servers.
    pub fn several(mut api: ApiServer, count: u16) -> Host {
        let servers = servers::Servers::new(count);
        api.several = servers.several();
        let (failures, stale, down) = (Vec::new(), Vec::new(), BTreeSet::new());
        Host { api, failures, stale, down, servers, webhooks: webhook::Webhooks::default() }
    }
}

impl Server for Host {
    fn names(&self) -> Vec<Rc<str>> {
        self.servers.names()
    }

    fn connect(&mut self, client: ActorId, name: &Rc<str>) -> ActorId {
        self.server_of(client, name)
    }

    fn deliver(engine: &mut Engine, event: &Pending) {
        match &event.what {
            What::Request { reply, request } => serve::handle_request(engine, event, *reply, request),
            What::Resume { call } => webhook::heard(engine, *call, None),
            What::Reply { call, result, .. } => webhook::heard(engine, *call, Some(result)),
            What::Notification { event: said, .. } => servers::hear(engine, event.to, said),
            What::Wake { what: LEASE_EXPIRES, key, .. } => serve::lease_expires(engine, key),
            What::Wake { what: LOOKS_AFTER_SERVICE, .. } => serve::look_after_service(engine),
            What::Wake { what: LOOKS_AT_SERVERS, .. } => serve::look_at_servers(engine),
            _ => {}
        }
    }

    fn tell_progress(engine: &mut Engine, watch: WatchId) {
        servers::tell_progress(engine, watch);
    }

    fn close_watch(&mut self, watch: WatchId) {
        self.api.close_watch(watch);
    }

    fn client_left(&mut self, client: ActorId) {
        self.servers.left(client);
    }

    fn keep_notes(&mut self, on: bool) {
        self.api.keep_stages(on);
    }
}
