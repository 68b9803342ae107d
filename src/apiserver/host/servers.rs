//! API servers beside one another: one etcd, and a watch cache each.
//!
//! A cluster that is to outlive a machine has several API servers. All write to the same etcd. Each follows it with a watch
//! for every kind, and answers from what that has brought: see [`crate::cache`]. What is written through one of
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

use super::serve::notify;
use super::{Engine, Host};
use crate::cache::Cache;
use crate::store::Change;
use engine::{APISERVER, ActorId, EventId, Note, Pending, Stream};
use object::status::Reason;
use object::time::Instant;
use object::{Kind, Status};
use wire::{Request, WatchEvent, WatchId};

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

impl Host {
    /// Whether this is an API server.
    pub fn is_server(&self, id: ActorId) -> bool {
        (id.0 as usize) < self.servers.count()
    }

    /// Whether there are several API servers.
    pub fn has_several(&self) -> bool {
        self.servers.several()
    }

    /// Whether any API server runs.
    pub fn runs(&self) -> bool {
        let mut all = (0..self.servers.count()).map(|place| ActorId(place as u32));
        all.any(|server| !self.down.contains(&server))
    }

    /// etcd, or the one API server that speaks for it.
    pub(super) fn etcd(&self) -> ActorId {
        if self.servers.several() { ActorId(self.servers.count() as u32) } else { APISERVER }
    }

    /// The API server that a client's requests go to.
    pub(super) fn server_of(&mut self, client: ActorId, name: &Rc<str>) -> ActorId {
        if !self.servers.several() {
            return APISERVER;
        }
        let down = &self.down;
        self.servers.of(client, name, |server| !down.contains(&server))
    }
}

/// etcd tells every server that runs of a change.
pub(super) fn etcd_tells(engine: &mut Engine, change: &Change) {
    let Some((old, last)) = change.seen() else { return };
    let (kind, etcd) = (last.kind(), engine.server.etcd());
    let event = match (old, &change.new) {
        (_, None) => WatchEvent::Deleted(last),
        (None, _) => WatchEvent::Added(last),
        (Some(_), _) => WatchEvent::Modified(last),
    };
    for place in 0..engine.server.servers.all.len() {
        let server = ActorId(place as u32);
        if engine.server.down.contains(&server) {
            continue;
        }
        let hub = engine.hub().clone();
        let follows = engine.server.servers.all[place]
            .follows
            .entry(kind)
            .or_insert_with(|| Follows { watch: hub.new_watch(), unheard: VecDeque::new() });
        follows.unheard.push_back(change.revision);
        let watch = follows.watch;
        if engine.stream(watch).is_none() {
            engine.open_stream(watch, Stream::new(server, etcd, 0));
        }
        notify(engine, watch, event.clone());
    }
}

/// A server hears of a change: its cache has it from now on, and those who watch there are told.
pub(super) fn hear(engine: &mut Engine, server: ActorId, said: &WatchEvent) {
    let Some(object) = said.object() else { return };
    let (kind, revision) = (object.kind(), object.revision());
    if let Some(follows) = engine.server.servers.get(server).and_then(|server| server.follows.get_mut(&kind)) {
        follows.unheard.retain(|unheard| *unheard > revision);
    }
    let Some(told) = engine.server.api.told_of(revision) else { return list_anew(engine, server, kind) };
    for (watch, said) in told {
        if engine.stream(watch).is_some_and(|stream| stream.server == server && stream.after < revision) {
            notify(engine, watch, said);
        }
    }
    end_waiting(engine, server, kind);
}

/// What a server's cache of a kind has come to; none: it is up to date.
fn cache_of(engine: &mut Engine, server: ActorId, kind: Kind) -> Option<u64> {
    let oldest = |engine: &mut Engine| {
        let follows = engine.server.servers.get(server)?.follows.get(&kind)?;
        follows.unheard.front().map(|unheard| unheard - 1)
    };
    if oldest(engine)? < engine.server.api.store.compacted() {
        list_anew(engine, server, kind);
    }
    oldest(engine)
}

/// Tells a watch how far its server's cache has come, unless its client knows that already.
pub(super) fn tell_progress(engine: &mut Engine, watch: WatchId) {
    let Some(Stream { server, after, .. }) = engine.stream(watch).cloned() else { return };
    let Some(kind) = engine.server.api.watchers.kind(watch) else { return };
    let stored = engine.server.api.kind_in_store(kind);
    let heard = cache_of(engine, server, stored).unwrap_or_else(|| engine.server.api.store.revision());
    if heard > after {
        notify(engine, watch, WatchEvent::Bookmark { kind, revision: heard, initial_events_end: false });
    }
}

/// etcd has forgotten what a cache should hear of next: the server lists the kind anew. Clients that watch it there have
/// missed something, and get 410.
pub(super) fn list_anew(engine: &mut Engine, server: ActorId, kind: Kind) {
    let Some(follows) = engine.server.servers.get(server).and_then(|server| server.follows.remove(&kind)) else {
        return;
    };
    engine.close_watch(follows.watch);
    let expired = Status::new(Reason::Expired, "The resourceVersion for the provided watch is too old.");
    for watch in watches_at(engine, server) {
        let of = engine.server.api.watchers.kind(watch);
        if of.is_some_and(|of| engine.server.api.kind_in_store(of) == kind) {
            engine.break_watch(watch, expired.clone());
        }
    }
    end_waiting(engine, server, kind);
}

/// The kind that a server follows by this watch of etcd.
pub(super) fn followed_by(engine: &Engine, server: ActorId, watch: WatchId) -> Option<Kind> {
    let follows = &engine.server.servers.all.get(server.0 as usize)?.follows;
    follows.iter().find(|(_, follows)| follows.watch == watch).map(|(kind, _)| *kind)
}

/// The watches that clients have opened at a server.
pub(super) fn watches_at(engine: &Engine, server: ActorId) -> Vec<WatchId> {
    engine.streams().filter(|(_, stream)| stream.server == server).map(|(watch, _)| watch).collect()
}

/// What the server's cache has come to, for a request that has arrived. An error: it is too old for this request, which
/// waits.
pub(super) fn look_into_cache(engine: &mut Engine, event: &Pending, request: &Request) -> Result<Option<Cache>, Waits> {
    let server = event.to;
    let Some(waited) = engine.server.servers.get(server).map(|server| server.waiting.remove(&event.id)) else {
        return Ok(None);
    };
    let kind = engine.server.api.kind_in_store(request.kind);
    let Some(revision) = cache_of(engine, server, kind) else { return Ok(None) };
    let newest = engine.server.api.store.revision();
    let wanted = waited.map_or_else(|| engine.server.api.wants_cache_at(request), |waited| Some(waited.wanted));
    let wanted = wanted.filter(|wanted| (revision + 1..=newest).contains(wanted));
    let missed = match (wanted, waited) {
        (Some(wanted), Some(waited)) if engine.now() >= waited.until => Some(wanted),
        (Some(wanted), _) => {
            let until = waited.map_or(engine.now() + FRESH, |waited| waited.until);
            wait_for_cache(engine, event, Waiting { kind, wanted, until });
            let detail = || format!("at revision {revision}; the request waits until it has come to {wanted}");
            engine.hub().note(|| Note::Stage { name: "watch cache", detail: detail() });
            return Err(Waits);
        }
        (None, _) => None,
    };
    if !request.verb.writes() {
        let late = if missed.is_some() { ", and three seconds are over" } else { "" };
        let detail = || format!("at revision {revision}, where etcd is at {newest}{late}");
        engine.hub().note(|| Note::Stage { name: "watch cache", detail: detail() });
    }
    Ok(Some(Cache { revision, heard: revision, missed }))
}

fn wait_for_cache(engine: &mut Engine, event: &Pending, waiting: Waiting) {
    let id = engine.put_off(event, waiting.until);
    engine.server.servers.get(event.to).map(|server| server.waiting.insert(id, waiting));
}

/// Requests that have waited for the cache to come as far as it has go on.
fn end_waiting(engine: &mut Engine, server: ActorId, kind: Kind) {
    let cache = cache_of(engine, server, kind).unwrap_or(u64::MAX);
    let Some(server) = engine.server.servers.get(server) else { return };
    let over: Vec<(Instant, EventId)> = server
        .waiting
        .iter()
        .filter(|(_, waiting)| waiting.kind == kind && waiting.wanted <= cache)
        .map(|(id, waiting)| (waiting.until, *id))
        .collect();
    for (until, id) in over {
        // One that is held, or was delayed, goes on when it arrives.
        engine.hurry(until, id);
    }
}

/// A server has stopped: its clients have no connection any more, and its cache is gone. When it starts, it lists.
pub(super) fn forget_server(engine: &mut Engine, server: ActorId) {
    engine.server.servers.connections.retain(|_, of| *of != server);
    let Some(stopped) = engine.server.servers.get(server).map(std::mem::take) else { return };
    for follows in stopped.follows.into_values() {
        engine.close_watch(follows.watch);
    }
}
