//! What is done from outside to API servers and etcd: stop one, break its watches, show the past, compact.

use super::servers::{followed_by, forget_server, list_anew, watches_at};
use super::webhook::give_up_parked;
use super::{Engine, Host};
use engine::{ActorId, Pending, ReplyTo, What};
use object::glob::matches;
use object::status::Reason;
use object::{Kind, Status};
use wire::{Request, Transport, WatchId};

/// The next list of a component's informer shows the past: the API server's watch cache lags behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// Whose informer: a glob.
    pub component: String,
    /// The kind that it lists.
    pub kind: Kind,
    /// As of this revision.
    pub revision: u64,
}

impl Host {
    /// The next list of this informer will show the past. Refused where a list is always of the newest state.
    pub fn make_stale(&mut self, stale: Stale) -> Result<(), String> {
        if self.api.watch_list {
            return Err("informers ask for the newest state (WatchList), so no old cache can answer them".to_owned());
        }
        if stale.revision < self.api.store.compacted() || stale.revision > self.api.store.revision() {
            return Err(format!("etcd does not have revision {} (any more)", stale.revision));
        }
        self.stale.push(stale);
        Ok(())
    }

    /// An API server answers again.
    pub fn start_server(&mut self, server: ActorId) {
        self.down.remove(&server);
    }
}

/// The kinds that a process watches.
pub fn watched_by(engine: &Engine, actor: ActorId) -> Vec<Kind> {
    let own = |watch: &WatchId| engine.stream(*watch).is_some_and(|stream| stream.client == actor);
    engine.server.api.watchers.iter().filter(|(watch, _)| own(watch)).map(|(_, watcher)| watcher.kind).collect()
}

/// Breaks a component's watches of a kind; its informer tries again and lists anew. Says how many there were.
pub fn disconnect(engine: &mut Engine, component: &str, kind: Kind) -> usize {
    let open = engine.server.api.watchers.iter().filter(|(_, watcher)| watcher.kind == kind).map(|(watch, _)| watch);
    let whose = |watch: WatchId| Some((watch, engine.stream(watch)?.client));
    let of: Vec<(WatchId, ActorId)> =
        open.filter_map(whose).filter(|(_, actor)| matches(component, engine.name(*actor))).collect();
    for (watch, _) in &of {
        engine.break_watch(*watch, Transport::Lost);
    }
    of.len()
}

/// The revision that a watch which begins now is shown, if it is an old one.
pub(super) fn stale_revision(engine: &mut Engine, request: &Request, from: ActorId) -> Option<u64> {
    if engine.server.stale.is_empty() || request.options.send_initial_events != Some(true) {
        return None;
    }
    let process = engine.name(from);
    let fits = |stale: &Stale| stale.kind == request.kind && matches(&stale.component, process);
    let at = engine.server.stale.iter().position(fits)?;
    Some(engine.server.stale.remove(at).revision)
}

/// Compacts etcd. Watches that lag behind what is now forgotten are told 410 and list anew. Says how many.
pub fn compact(engine: &mut Engine) -> usize {
    engine.server.api.store.compact(engine.server.api.store.revision());
    let lagging =
        |event: &&Pending| matches!(&event.what, What::Notification { event, .. } if event.object().is_some());
    let mut watches: Vec<WatchId> = Vec::new();
    for event in engine.pending().chain(engine.held()).filter(lagging) {
        if let What::Notification { watch, .. } = event.what
            && !watches.contains(&watch)
        {
            watches.push(watch);
        }
    }
    let expired = Status::new(Reason::Expired, "The resourceVersion for the provided watch is too old.");
    for watch in &watches {
        let Some(actor) = engine.stream(*watch).map(|stream| stream.client) else { continue };
        match followed_by(engine, actor, *watch) {
            Some(kind) => list_anew(engine, actor, kind),
            None => engine.break_watch(*watch, expired.clone()),
        }
    }
    watches.len()
}

/// An API server stops: what it was asked and what it was about to say is lost, and every watch breaks. The store
/// is etcd's and stays.
pub fn stop_server(engine: &mut Engine, server: ActorId) {
    engine.server.down.insert(server);
    forget_server(engine, server);
    for watch in watches_at(engine, server) {
        engine.break_watch(watch, Transport::Lost);
    }
    // Timers of one that speaks for etcd are etcd's.
    let with_server = |event: &Pending| match event.what {
        What::Wake { .. } => false,
        What::Response { .. } => event.to == server || event.from == server,
        _ => event.to == server,
    };
    let gone = engine.take_lost(with_server);
    for (client, call, about) in give_up_parked(engine, server) {
        engine.answer_lost(server, client, call, &about);
    }
    for event in gone {
        match event.what {
            // One that has waited for webhooks, which was given up just now.
            What::Request { .. } if event.from == server => {}
            What::Request { reply: ReplyTo::Call(call), request } => {
                engine.answer_lost(server, event.from, call, &request.line());
            }
            What::Request { reply: ReplyTo::Watch(watch), .. } => engine.refuse_watch(watch, &event, Transport::Lost),
            What::Response { call, about, .. } => engine.answer_lost(server, event.to, call, &about),
            _ => {}
        }
    }
}
