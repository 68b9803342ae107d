//! The API server looks after its own Service: every ten seconds it writes what is missing of it.
//!
//! A round that finds all there changes nothing, so a round is only due where something was deleted, at the time at which
//! the real one comes.

use std::rc::Rc;
use std::time::Duration;

use super::Engine;
use super::serve::{notify, stored};
use crate::own_service::objects;
use crate::registry;
use crate::store::Change;
use engine::{Outgoing, What};
use object::Object;
use object::time::Instant;
use wire::{Request, User};

/// The timer of a round.
pub const LOOKS_AFTER_SERVICE: &str = "the Service kubernetes is looked after";

/// How often the real one looks. Mirrors `EndpointInterval`, `DefaultEndpointReconcilerInterval`.
const EVERY: Duration = Duration::from_secs(10);

/// Whether the change has taken away something that the next round brings back.
pub(super) fn is_lost(change: &Change) -> bool {
    change.new.is_none() && crate::own_service::is_key(&change.key)
}

/// The next round is due, if it was not. `idle`: nobody waits for it.
pub(super) fn arm(engine: &mut Engine, idle: bool) {
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
pub(super) fn look(engine: &mut Engine) {
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
        arm(engine, true);
    }
}

fn missing(engine: &Engine) -> Vec<Object> {
    let store = &engine.server.api.store;
    let is_there = |o: &Object| store.get(&registry::key(o.kind(), o.namespace(), o.name())).is_some();
    objects().into_iter().filter(|object| !is_there(object)).collect()
}
