//! A request that has arrived: the API server carries it out, and what comes of it is sent.
//!
//! The API server also looks after its own Service: every ten seconds it writes what is missing of it. A round that finds
//! all there changes nothing, so a round is only due where something was deleted, at the time at which the real one comes.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::Engine;
use super::control::stale_revision;
use super::failing::{Failing, failing, note_conflict, refuse};
use super::servers::{Waits, etcd_tells, look_into_cache};
use super::webhook::{park, unpark};
use crate::cache::Cache;
use crate::leases::Lease;
use crate::own_service::{is_key, objects};
use crate::registry;
use crate::store::{Change, Entry};
use engine::{Note, Outgoing, Pending, ReplyTo, Stream, What};
use object::time::Instant;
use object::{Accessor, Kind, Object};
use wire::{Answer, Body, Request, Response, Subresource, User, Verb, WatchEvent, WatchId};

/// The timer of etcd's that says that a lease is over; its key is the lease's number.
pub const LEASE_EXPIRES: &str = "etcd lease expires";

/// The timer of a round.
pub const LOOKS_AFTER_SERVICE: &str = "the Service kubernetes is looked after";

/// The timer of the look at other servers, whether they can answer.
pub const LOOKS_AT_SERVERS: &str = "the servers of other groups are looked at";

/// How often the real one looks. Mirrors `EndpointInterval`, `DefaultEndpointReconcilerInterval`.
const EVERY: Duration = Duration::from_secs(10);

/// A request has arrived.
pub(super) fn handle_request(engine: &mut Engine, event: &Pending, reply: ReplyTo, request: &Request) {
    let (server, background, idle) = (event.to, event.background, event.idle);
    let watch = match reply {
        ReplyTo::Watch(watch) => Some(watch),
        ReplyTo::Call(_) => None,
    };
    let goes_on = event.from == server;
    let fault = if goes_on { None } else { failing(engine, event, request, watch.is_some()) };
    if let Some(how) = fault.filter(|how| *how != Failing::LostAfter) {
        return refuse(engine, event, reply, request, how);
    }
    let Ok(cache) = cache_for(engine, event, request, watch) else { return };
    let parked = unpark(engine, reply);
    let (from, fault) = parked.as_ref().map_or((event.from, fault), |parked| (parked.client, parked.fault));
    if let Some(watch) = watch {
        let known = request.options.resource_version.parse().unwrap_or(0);
        let after = if request.options.send_initial_events == Some(true) { 0 } else { known };
        engine.open_stream(watch, Stream::new(from, server, after));
    }
    let handled = match parked {
        Some(mut parked) => {
            parked.reviews.go_on(engine.now());
            engine.server.api.resume(cache, request, parked.reviews)
        }
        None => {
            let now = engine.now();
            engine.server.api.handle_with(cache, request, watch, now)
        }
    };
    for (name, detail) in handled.stages {
        engine.hub().note(|| Note::Stage { name, detail });
    }
    if let Some(user) = handled.by_token {
        engine.hub().note(|| Note::Authenticated(user));
    }
    if let Some(other) = handled.impersonated {
        engine.hub().note(|| Note::Impersonated(other));
    }
    for (kind, namespace) in handled.lists {
        engine.hub().note(|| Note::Lists { kind, namespace });
    }
    for (key, value) in handled.audit {
        engine.hub().note(|| Note::Audit { key, value });
    }
    stored(engine, handled.changes);
    if let Some(waits) = handled.waits {
        handled.fanout.into_iter().for_each(|(watch, said)| notify(engine, watch, said));
        return park(engine, event, from, request, *waits, fault);
    }
    engine.hub().note(|| answered(&handled.answer));
    note_conflict(engine, handled.answer.code, request);
    if let ReplyTo::Call(call) = reply {
        let about: Rc<str> = if engine.hub().recording() { request.line().into() } else { Rc::from("") };
        let answer = fault.map_or(handled.answer, |how| how.answer(request));
        let what = What::Response { call, about, answer: Box::new(answer) };
        engine.send(Outgoing { from: server, to: from, delay: Duration::ZERO, background, idle, what });
    }
    for (watch, said) in handled.fanout {
        notify(engine, watch, said);
    }
    if let Some(lease) = handled.granted {
        arm(engine, lease);
    }
}

/// The store has changed: those that follow it are told, and the step says so.
pub(super) fn stored(engine: &mut Engine, changes: Vec<Change>) {
    let lost = changes.iter().any(is_lost);
    let remotes = &engine.server.api.remotes;
    let decides = |entry: &Option<Entry>| entry.as_ref().is_some_and(|entry| remotes.depend_on(&entry.value));
    let decisive = changes.iter().any(|change| decides(&change.old) || decides(&change.new));
    for change in changes {
        if engine.server.has_several() {
            etcd_tells(engine, &change);
        }
        let (old, new) = (change.old.map(|e| e.value), change.new.map(|e| e.value));
        engine.hub().note(|| Note::Stored { key: change.key.as_ref().into(), revision: change.revision, old, new });
    }
    if lost {
        arm_round(engine, false);
    }
    if decisive {
        let etcd = engine.server.etcd();
        let what = What::Wake { what: LOOKS_AT_SERVERS, key: "".into(), timer: None };
        engine.send(Outgoing { from: etcd, to: etcd, delay: Duration::ZERO, background: false, idle: false, what });
    }
}

/// etcd will revoke a lease.
fn arm(engine: &mut Engine, lease: Lease) {
    let what = What::Wake { what: LEASE_EXPIRES, key: format!("{:x}", lease.id).into(), timer: None };
    let (etcd, delay) = (engine.server.etcd(), lease.expires - engine.now());
    engine.send(Outgoing { from: etcd, to: etcd, delay, background: true, idle: true, what });
}

/// etcd has revoked a lease by itself, without a request.
pub(super) fn lease_expires(engine: &mut Engine, key: &str) {
    let expired = engine.server.api.expire(u64::from_str_radix(key, 16).unwrap_or_default());
    stored(engine, expired.changes);
    for (watch, said) in expired.fanout {
        notify(engine, watch, said);
    }
}

/// What the server's watch cache has come to, if it lags behind. An error: the request waits for it.
fn cache_for(
    engine: &mut Engine,
    event: &Pending,
    request: &Request,
    watch: Option<WatchId>,
) -> Result<Option<Cache>, Waits> {
    if let Some(revision) = watch.and_then(|_| stale_revision(engine, request, event.from)) {
        engine.hub().note(|| Note::Stage { name: "fault", detail: format!("the watch cache is at {revision}") });
        return Ok(Some(Cache { revision, heard: u64::MAX, missed: None }));
    }
    look_into_cache(engine, event, request)
}

/// Sends what a watch is told.
pub(super) fn notify(engine: &mut Engine, watch: WatchId, said: WatchEvent) {
    let Some(stream) = engine.stream(watch) else { return };
    let (from, to, quiet) = (stream.server, stream.client, is_background(&said));
    let what = What::Notification { watch, event: said };
    engine.send(Outgoing { from, to, delay: Duration::ZERO, background: quiet, idle: quiet, what });
}

pub(super) fn answered(answer: &Answer) -> Note {
    let (name, revision) = match &answer.result {
        Ok(Response::Object(object)) => (object.name().to_owned(), object.revision()),
        Ok(Response::List { revision, .. }) => (String::new(), *revision),
        _ => (String::new(), 0),
    };
    let error = answer.result.as_ref().err().cloned().map(Box::new);
    Note::Answered { code: answer.code, name, revision, error }
}

/// Kinds whose changes are traffic that never stops.
fn is_background(said: &WatchEvent) -> bool {
    match said {
        // The cache is filled now, which is what a controller waits for.
        WatchEvent::Bookmark { kind, initial_events_end: true, .. } => matches!(kind, Kind::Event | Kind::Lease),
        _ => matches!(said.kind(), None | Some(Kind::Event | Kind::Lease)),
    }
}

/// Whether the change has taken away something that the next round brings back.
fn is_lost(change: &Change) -> bool {
    change.new.is_none() && is_key(&change.key)
}

/// The next round is due, if it was not. `idle`: nothing waits for it.
fn arm_round(engine: &mut Engine, idle: bool) {
    let is_round = |what: &What| matches!(what, What::Wake { what: LOOKS_AFTER_SERVICE, .. });
    if engine.pending().any(|event| is_round(&event.what)) {
        return;
    }
    let etcd = engine.server.etcd();
    let into = (engine.now() - Instant::default()).as_nanos() % EVERY.as_nanos();
    let delay = EVERY - Duration::from_nanos(u64::try_from(into).unwrap_or_default());
    let what = What::Wake { what: LOOKS_AFTER_SERVICE, key: "".into(), timer: None };
    engine.send(Outgoing { from: etcd, to: etcd, delay, background: idle, idle, what });
}

/// A round. What could not be written, because no server runs or something refuses it, is tried again in the next.
pub(super) fn look_after_service(engine: &mut Engine) {
    if engine.server.runs() {
        let user = Rc::new(User::loopback());
        for object in missing(engine) {
            let now = engine.now();
            let handled = engine.server.api.handle(&Request::create(user.clone(), object), None, now);
            stored(engine, handled.changes);
            for (watch, said) in handled.fanout {
                notify(engine, watch, said);
            }
        }
    }
    if !missing(engine).is_empty() {
        arm_round(engine, true);
    }
}

/// What decides whether other servers can answer has changed: their APIServices say what is true.
pub(super) fn look_at_servers(engine: &mut Engine) {
    if !engine.server.runs() {
        return;
    }
    let user = Rc::new(User::loopback());
    for service in engine.server.api.misjudged_servers(engine.now()) {
        let name = service.metadata.name().to_owned();
        let body = Body::Object(Object::APIService(Arc::new(service)));
        let mut request = Request::new(user.clone(), Verb::Update, Kind::APIService, "", &name, body);
        request.subresource = Some(Subresource::Status);
        let now = engine.now();
        let handled = engine.server.api.handle(&request, None, now);
        stored(engine, handled.changes);
        for (watch, said) in handled.fanout {
            notify(engine, watch, said);
        }
    }
}

fn missing(engine: &Engine) -> Vec<Object> {
    let store = &engine.server.api.store;
    let is_there = |o: &Object| store.get(&registry::key(o.kind(), o.namespace(), o.name())).is_some();
    objects().into_iter().filter(|object| !is_there(object)).collect()
}
