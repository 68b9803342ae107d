//! A request that has arrived: the API server carries it out, and what comes of it is sent.

use std::rc::Rc;
use std::time::Duration;

use super::event::{CallId, Pending, ReplyTo, What};
use super::failing::Failing;
use super::hub::Outgoing;
use super::servers::Waits;
use super::{Engine, Note, Stream};
use crate::apiserver::cache::Cache;
use crate::apiserver::leases::Lease;
use crate::object::Kind;
use crate::object::time::Instant;
use crate::store::Change;
use crate::wire::{Answer, Request, Response, WatchEvent, WatchId};

/// The timer of etcd's that says that a lease is over; its key is the lease's number.
pub const LEASE_EXPIRES: &str = "etcd lease expires";

impl Engine {
    pub(super) fn handle_request(&mut self, event: &Pending, reply: ReplyTo, request: &Request) {
        let (server, background, idle) = (event.to, event.background, event.idle);
        let watch = match reply {
            ReplyTo::Watch(watch) => Some(watch),
            ReplyTo::Call(_) => None,
        };
        let goes_on = event.from == server;
        let fault = if goes_on { None } else { self.failing(event, request, watch.is_some()) };
        if let Some(how) = fault.filter(|how| *how != Failing::LostAfter) {
            return self.refuse(event, reply, request, how);
        }
        let Ok(cache) = self.cache_for(event, request, watch) else { return };
        let parked = self.unpark(reply);
        let (from, fault) = parked.as_ref().map_or((event.from, fault), |parked| (parked.client, parked.fault));
        if let Some(watch) = watch {
            let known = request.options.resource_version.parse().unwrap_or(0);
            let after = if request.options.send_initial_events == Some(true) { 0 } else { known };
            self.watches.insert(watch, Stream { actor: from, server, after, last_due: Instant::default() });
        }
        let handled = match parked {
            Some(parked) => self.api.resume(cache, request, parked.reviews),
            None => self.api.handle_with(cache, request, watch, self.now),
        };
        for (name, detail) in handled.stages {
            self.hub.note(|| Note::Stage { name, detail });
        }
        if let Some(user) = handled.by_token {
            self.hub.note(|| Note::Authenticated(user));
        }
        if let Some(other) = handled.impersonated {
            self.hub.note(|| Note::Impersonated(other));
        }
        for (key, value) in handled.audit {
            self.hub.note(|| Note::Audit { key, value });
        }
        if let Some(waits) = handled.waits {
            return self.park(event, from, request, *waits, fault);
        }
        self.stored(handled.changes);
        self.hub.note(|| answered(&handled.answer));
        self.note_conflict(handled.answer.code, request);
        if let ReplyTo::Call(call) = reply {
            let about: Rc<str> = if self.hub.recording() { request.line().into() } else { Rc::from("") };
            let answer = fault.map_or(handled.answer, |how| how.answer(request));
            let what = What::Response { call, about, answer: Box::new(answer) };
            self.scratch.push(Outgoing { from: server, to: from, delay: Duration::ZERO, background, idle, what });
        }
        for (watch, said) in handled.fanout {
            self.notify(watch, said);
        }
        if let Some(lease) = handled.granted {
            self.arm(lease);
        }
    }

    /// The store has changed: whoever follows it is told, and the step says so.
    fn stored(&mut self, changes: Vec<Change>) {
        for change in changes {
            if self.has_several_servers() {
                self.etcd_tells(&change);
            }
            let (old, new) = (change.old.map(|e| e.value), change.new.map(|e| e.value));
            self.hub.note(|| Note::Stored { key: change.key.as_ref().into(), revision: change.revision, old, new });
        }
    }

    /// etcd will revoke a lease.
    fn arm(&mut self, lease: Lease) {
        let what = What::Wake { what: LEASE_EXPIRES, key: format!("{:x}", lease.id).into(), timer: None };
        let (etcd, delay) = (self.etcd(), lease.expires - self.now);
        self.scratch.push(Outgoing { from: etcd, to: etcd, delay, background: true, idle: true, what });
    }

    /// etcd has revoked a lease, which nobody has asked for.
    pub(super) fn lease_expires(&mut self, key: &str) {
        let expired = self.api.expire(u64::from_str_radix(key, 16).unwrap_or_default());
        self.stored(expired.changes);
        for (watch, said) in expired.fanout {
            self.notify(watch, said);
        }
    }

    /// What the server's watch cache has come to, if it lags behind. An error: the request waits for it.
    fn cache_for(
        &mut self,
        event: &Pending,
        request: &Request,
        watch: Option<WatchId>,
    ) -> Result<Option<Cache>, Waits> {
        if let Some(revision) = watch.and_then(|_| self.stale_revision(request, event.from)) {
            self.hub.note(|| Note::Stage { name: "fault", detail: format!("the watch cache is at {revision}") });
            return Ok(Some(Cache { revision, heard: u64::MAX, missed: None }));
        }
        self.look_into_cache(event, request)
    }

    /// Sends what a watch is told.
    pub(super) fn notify(&mut self, watch: WatchId, said: WatchEvent) {
        let Some(stream) = self.watches.get(&watch) else { return };
        let (from, to, quiet) = (stream.server, stream.actor, is_background(&said));
        let what = What::Notification { watch, event: said };
        self.scratch.push(Outgoing { from, to, delay: Duration::ZERO, background: quiet, idle: quiet, what });
    }

    /// A task of the background whose request was to be seen has left the background with it: so has what follows.
    pub(super) fn changed_something(&mut self, call: CallId, background: bool) {
        if let Some(task) = self.calls.get(&call).and_then(|id| self.tasks.get_mut(id)) {
            task.background &= background;
        }
    }
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
