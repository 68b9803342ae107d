//! API servers beside one another: one etcd, and a watch cache each.
//!
//! A cluster that is to outlive a machine has several API servers. All write to the same etcd. Each follows it with a watch
//! for every kind, and answers from what that has brought: see [`crate::apiserver::cache`]. What is written through one of
//! them becomes a message from etcd to each, and when that has arrived the server tells those who watch there. So their
//! clients may see different states at the same time, and one who goes from one server to another may see an older state
//! than before.
//!
//! Clients reach them through a load balancer: a process has one connection, to one server, and all its requests go there.
//! When that server stops, or the process starts anew, it connects again, and gets the next server that runs.
//!
//! With one API server nothing of this happens: its cache and the store are one.
//!
//! Left out: clients that know only the API server of their own machine, as controller managers and schedulers that kubeadm
//! sets up; servers that send their clients away now and then (`--goaway-chance`); the moment for which a server that has
//! just started is not ready. The controllers inside API servers run once, as one client of their own, and the Service
//! `kubernetes` names one address. A watch that breaks goes on as a new state that is not older than what was seen, where a
//! real one goes on from there; an informer whose server is too far behind asks again, where a real one lists from etcd. All
//! of kubectl's commands are one process. `disconnect` does not reach a server's own watch of etcd.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use super::event::{APISERVER, ActorId, EventId, Pending, StepId};
use super::{Engine, Note, Stream};
use crate::apiserver::cache::Cache;
use crate::object::status::Reason;
use crate::object::time::Instant;
use crate::object::{Kind, Status};
use crate::store::Change;
use crate::wire::{Request, WatchEvent, WatchId};

/// So long a request waits for a watch cache. Mirrors `blockTimeout` of `storage/cacher`.
const FRESH: Duration = Duration::from_secs(3);

/// All API servers of a cluster, and who is connected to which.
#[derive(Clone, Debug, Default)]
pub(super) struct Servers {
    /// None: there is one, whose cache and the store are one.
    all: Vec<Server>,
    connections: BTreeMap<ActorId, ActorId>,
    /// Which server the next connection of a process gets, if that runs.
    next: BTreeMap<Rc<str>, u64>,
}

/// One of several.
#[derive(Clone, Debug, Default)]
struct Server {
    follows: BTreeMap<Kind, Follows>,
    waiting: BTreeMap<EventId, Waiting>,
}

/// A server's watch of etcd for one kind.
#[derive(Clone, Debug)]
struct Follows {
    watch: WatchId,
    /// The revisions under way to the cache, oldest first.
    unheard: VecDeque<u64>,
}

/// A request that waits for the cache.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    kind: Kind,
    wanted: u64,
    until: Instant,
}

/// A request has arrived that the cache is too old for: it waits.
pub(super) struct Waits;

impl Servers {
    /// So many; 0 and 1: one.
    pub fn new(count: u16) -> Servers {
        let several = if count > 1 { usize::from(count) } else { 0 };
        Servers { all: vec![Server::default(); several], ..Servers::default() }
    }

    /// The names of those who are no clients, in the order of their places: the servers, and if there are several, etcd.
    pub fn names(&self) -> Vec<Rc<str>> {
        if self.all.is_empty() {
            return vec!["kube-apiserver".into()];
        }
        let servers = (1..=self.all.len()).map(|number| format!("kube-apiserver/{number}").into());
        servers.chain(["etcd".into()]).collect()
    }

    /// One of several.
    fn get(&mut self, id: ActorId) -> Option<&mut Server> {
        self.all.get_mut(id.0 as usize)
    }

    /// Whether there are several.
    pub fn several(&self) -> bool {
        !self.all.is_empty()
    }

    /// How many there are who are no clients.
    pub fn places(&self) -> usize {
        self.count() + usize::from(self.several())
    }

    fn count(&self) -> usize {
        self.all.len().max(1)
    }

    /// The server of a client, who is connected if it was not.
    fn of(&mut self, client: ActorId, name: &Rc<str>, runs: impl Fn(ActorId) -> bool) -> ActorId {
        if let Some(server) = self.connections.get(&client) {
            return *server;
        }
        let count = self.all.len() as u64;
        let first = || name.bytes().map(u64::from).sum();
        let next = self.next.entry(name.clone()).or_insert_with(first);
        for _ in 0..count {
            let server = ActorId((*next % count) as u32);
            *next += 1;
            if runs(server) {
                self.connections.insert(client, server);
                return server;
            }
        }
        APISERVER
    }

    /// A process has ended, and its connection with it.
    pub fn left(&mut self, client: ActorId) {
        self.connections.remove(&client);
    }
}

impl Engine {
    /// The names of the API servers, and of etcd if there are several.
    pub fn servers(&self) -> impl Iterator<Item = (ActorId, &str)> {
        (0..self.servers.places()).map(|place| (ActorId(place as u32), &*self.names[place]))
    }

    /// Whether this is an API server.
    pub fn is_server(&self, id: ActorId) -> bool {
        (id.0 as usize) < self.servers.count()
    }

    /// Whether this is etcd, which has a name only where several API servers follow it.
    pub(super) fn is_etcd(&self, id: ActorId) -> bool {
        self.servers.several() && id.0 as usize == self.servers.count()
    }

    /// Whether there are several API servers.
    pub fn has_several_servers(&self) -> bool {
        self.servers.several()
    }

    /// Whether any API server runs.
    pub fn has_running_server(&self) -> bool {
        let mut all = (0..self.servers.count()).map(|place| ActorId(place as u32));
        all.any(|server| !self.controls.servers_down.contains(&server))
    }

    /// etcd, or the one API server that speaks for it.
    pub(super) fn etcd(&self) -> ActorId {
        if self.servers.several() { ActorId(self.servers.count() as u32) } else { APISERVER }
    }

    /// The API server that a client's requests go to.
    pub(super) fn server_of(&mut self, client: ActorId) -> ActorId {
        if !self.servers.several() {
            return APISERVER;
        }
        let down = &self.controls.servers_down;
        self.servers.of(client, &self.names[client.0 as usize], |server| !down.contains(&server))
    }

    /// etcd tells every server that runs of a change.
    pub(super) fn etcd_tells(&mut self, change: &Change) {
        let Some((old, last)) = change.seen() else { return };
        let (kind, etcd) = (last.kind(), self.etcd());
        let event = match (old, &change.new) {
            (_, None) => WatchEvent::Deleted(last),
            (None, _) => WatchEvent::Added(last),
            (Some(_), _) => WatchEvent::Modified(last),
        };
        for place in 0..self.servers.all.len() {
            let server = ActorId(place as u32);
            if self.controls.servers_down.contains(&server) {
                continue;
            }
            let hub = &self.hub;
            let follows = self.servers.all[place]
                .follows
                .entry(kind)
                .or_insert_with(|| Follows { watch: hub.new_watch(), unheard: VecDeque::new() });
            follows.unheard.push_back(change.revision);
            let watch = follows.watch;
            let stream = Stream { actor: server, server: etcd, after: 0, last_due: Instant::default() };
            self.watches.entry(watch).or_insert(stream);
            self.notify(watch, event.clone());
        }
    }

    /// A server hears of a change: its cache has it from now on, and those who watch there are told.
    pub(super) fn hear(&mut self, server: ActorId, said: &WatchEvent) {
        let Some(object) = said.object() else { return };
        let (kind, revision) = (object.kind(), object.revision());
        if let Some(follows) = self.servers.get(server).and_then(|server| server.follows.get_mut(&kind)) {
            follows.unheard.retain(|unheard| *unheard > revision);
        }
        let Some(told) = self.api.told_of(revision) else { return self.list_anew(server, kind) };
        for (watch, said) in told {
            if self.watches.get(&watch).is_some_and(|stream| stream.server == server && stream.after < revision) {
                self.notify(watch, said);
            }
        }
        self.end_waiting(server, kind);
    }

    /// What a server's cache of a kind has come to; none: it is up to date.
    fn cache_of(&mut self, server: ActorId, kind: Kind) -> Option<u64> {
        let oldest = |engine: &mut Engine| {
            let follows = engine.servers.get(server)?.follows.get(&kind)?;
            follows.unheard.front().map(|unheard| unheard - 1)
        };
        if oldest(self)? < self.api.store.compacted() {
            self.list_anew(server, kind);
        }
        oldest(self)
    }

    /// etcd has forgotten what a cache should hear of next: the server lists the kind anew. Whoever watches it there has
    /// missed something, and is told 410.
    pub(super) fn list_anew(&mut self, server: ActorId, kind: Kind) {
        let Some(follows) = self.servers.get(server).and_then(|server| server.follows.remove(&kind)) else { return };
        self.close_watch(follows.watch);
        let expired = Status::new(Reason::Expired, "The resourceVersion for the provided watch is too old.");
        for watch in self.watches_at(server) {
            let of = self.api.watchers.iter().find(|(id, _)| *id == watch).map(|(_, watcher)| watcher.kind);
            if of.is_some_and(|of| self.api.kind_in_store(of) == kind) {
                self.break_watch(watch, &expired);
            }
        }
        self.end_waiting(server, kind);
    }

    /// The kind that a server follows by this watch of etcd.
    pub(super) fn followed_by(&self, server: ActorId, watch: WatchId) -> Option<Kind> {
        let follows = &self.servers.all.get(server.0 as usize)?.follows;
        follows.iter().find(|(_, follows)| follows.watch == watch).map(|(kind, _)| *kind)
    }

    /// The watches that clients have opened at a server.
    pub(super) fn watches_at(&self, server: ActorId) -> Vec<WatchId> {
        self.watches.iter().filter(|(_, stream)| stream.server == server).map(|(watch, _)| *watch).collect()
    }

    /// What the server's cache has come to, for a request that has arrived. An error: it is too old for this request, which
    /// waits.
    pub(super) fn look_into_cache(&mut self, event: &Pending, request: &Request) -> Result<Option<Cache>, Waits> {
        let server = event.to;
        let Some(waited) = self.servers.get(server).map(|server| server.waiting.remove(&event.id)) else {
            return Ok(None);
        };
        let kind = self.api.kind_in_store(request.kind);
        let Some(revision) = self.cache_of(server, kind) else { return Ok(None) };
        let newest = self.api.store.revision();
        let wanted = waited.map_or_else(|| self.api.wants_cache_at(request), |waited| Some(waited.wanted));
        let wanted = wanted.filter(|wanted| (revision + 1..=newest).contains(wanted));
        let missed = match (wanted, waited) {
            (Some(wanted), Some(waited)) if self.now >= waited.until => Some(wanted),
            (Some(wanted), _) => {
                let until = waited.map_or(self.now + FRESH, |waited| waited.until);
                self.wait_for_cache(event, Waiting { kind, wanted, until });
                let detail = || format!("at revision {revision}; the request waits until it has come to {wanted}");
                self.hub.note(|| Note::Stage { name: "watch cache", detail: detail() });
                return Err(Waits);
            }
            (None, _) => None,
        };
        if !request.verb.writes() {
            let late = if missed.is_some() { ", and three seconds are over" } else { "" };
            let detail = || format!("at revision {revision}, where etcd is at {newest}{late}");
            self.hub.note(|| Note::Stage { name: "watch cache", detail: detail() });
        }
        Ok(Some(Cache { revision, heard: revision, missed }))
    }

    fn wait_for_cache(&mut self, event: &Pending, waiting: Waiting) {
        let id = EventId(self.next_event);
        self.next_event += 1;
        self.servers.get(event.to).map(|server| server.waiting.insert(id, waiting));
        self.put_or_hold(Pending { id, due: waiting.until, cause: StepId(self.steps), ..event.clone() });
    }

    /// Requests that have waited for the cache to come as far as it has go on.
    fn end_waiting(&mut self, server: ActorId, kind: Kind) {
        let cache = self.cache_of(server, kind).unwrap_or(u64::MAX);
        let Some(server) = self.servers.get(server) else { return };
        let over: Vec<(Instant, EventId)> = server
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.kind == kind && waiting.wanted <= cache)
            .map(|(id, waiting)| (waiting.until, *id))
            .collect();
        let now = self.now;
        for key in over.into_iter().filter(|key| key.0 > now) {
            // One that is held, or was delayed, goes on when it arrives.
            if self.pending.contains_key(&key) {
                let event = self.take_pending(key);
                self.put(Pending { due: now, ..event });
            }
        }
    }

    /// A server has stopped: its clients have no connection any more, and its cache is gone. When it starts, it lists.
    pub(super) fn forget_server(&mut self, server: ActorId) {
        self.servers.connections.retain(|_, of| *of != server);
        let Some(stopped) = self.servers.get(server).map(std::mem::take) else { return };
        for follows in stopped.follows.into_values() {
            self.close_watch(follows.watch);
        }
    }
}
