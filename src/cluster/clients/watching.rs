//! Watches that clients have open: what they are told, and when they are over.
//!
//! A client that asked for bookmarks hears about every minute, and just before the end, how far the watch has come, so that it
//! can go on from there. Mirrors `storage/cacher`.
//!
//! Left out: a watch without `timeoutSeconds` ends after 45 minutes; a real server takes a random time between 30 minutes and an
//! hour.

use std::rc::Rc;
use std::time::Duration;

use engine::{ActorId, Hub};
use kinds::printers::View;
use object::Discovery;
use object::time::Instant;
use rest::Call;
use wire::{Answer, Error, WatchEvent, WatchId};

use super::{Clients, ExchangeId, Sent};

/// Wake: a watch has been open for as long as its client wanted. The key is the watch's number.
pub(super) const TIMEOUT: &str = "a watch times out";
/// Wake: the client of a watch is to hear how far it has come. The key is the watch's number.
pub(super) const BOOKMARK: &str = "a bookmark is due";
/// How often it hears that, and how long before the end. Mirrors `bookmarkFrequency` and `nextBookmarkTime`.
const BOOKMARKS: Duration = Duration::from_secs(60);
const BEFORE_THE_END: Duration = Duration::from_secs(2);
/// How long a watch stays open whose client did not say.
const WATCH_TIME: Duration = Duration::from_secs(45 * 60);

/// A watch that a client has open.
#[derive(Clone)]
pub(super) struct Watching {
    pub exchange: ExchangeId,
    pub actor: ActorId,
    pub label: Rc<str>,
    call: Rc<Call>,
    known: Rc<Discovery>,
    ends: Instant,
    /// Whether an event of it was sent: a table's columns go with the first alone.
    has_sent: bool,
}

impl Watching {
    /// Until the next bookmark is due, or the end.
    fn sleep(&self, hub: &Hub, watch: WatchId) {
        let left = self.ends - hub.now();
        let wants = self.call.request.options.allow_watch_bookmarks;
        let until_bookmark = left.saturating_sub(BEFORE_THE_END).min(BOOKMARKS);
        let (what, after) = match wants && !until_bookmark.is_zero() {
            true => (BOOKMARK, until_bookmark),
            false => (TIMEOUT, left),
        };
        hub.wake_background(self.actor, what, watch.0.to_string(), after);
    }
}

impl Clients {
    /// Opens a watch for so many seconds, if the client has said how many.
    pub(super) fn watch(
        &self,
        hub: &Hub,
        (exchange, actor, label): (ExchangeId, ActorId, Rc<str>),
        (call, known): (Call, Rc<Discovery>),
        seconds: Option<u64>,
    ) {
        let watch = hub.watch(actor, call.request.clone());
        let open_for = seconds.filter(|seconds| *seconds > 0).map_or(WATCH_TIME, Duration::from_secs);
        let (call, ends) = (Rc::new(call), hub.now() + open_for);
        let watching = Watching { exchange, actor, label, call, known, ends, has_sent: false };
        watching.sleep(hub, watch);
        self.watches.borrow_mut().insert(watch, watching);
    }

    /// A bookmark is due.
    pub(super) fn look_after(&self, hub: &Hub, watch: WatchId) {
        if let Some(watching) = self.watches.borrow().get(&watch) {
            hub.ask_progress(watch);
            watching.sleep(hub, watch);
        }
    }

    /// A watch is told something, and its client with it.
    pub(super) fn told(&self, hub: &Hub, watch: WatchId, event: &WatchEvent) {
        let Some(watching) = self.watches.borrow().get(&watch).cloned() else { return hub.close_watch(watch) };
        let Watching { exchange, call, known, has_sent, .. } = watching;
        let view = View { now: hub.now().timestamp(), known: &known };
        match event {
            WatchEvent::Error(Error::Transport(_)) => return self.drop(watch, exchange, Sent::Closed),
            // Before the watch was open it is its answer.
            WatchEvent::Error(error) if !has_sent && !self.has_begun(watch) => {
                let (code, result) = (error.clone().into_status().code, Err(error.clone()));
                let answer = Answer { code, result, warnings: Vec::new(), wrote: false };
                let answer = rest::respond(&call, &answer, view).into();
                return self.drop(watch, exchange, Sent::Answer(answer));
            }
            _ => {}
        }
        self.begin(watch, exchange);
        if let Some(line) = rest::watch_line(&call, event, !has_sent, view) {
            self.send(exchange, Sent::Line(line));
            self.watches.borrow_mut().entry(watch).and_modify(|watching| watching.has_sent = true);
        }
        if matches!(event, WatchEvent::Error(_)) {
            self.end(hub, watch);
        }
    }

    /// Says that a watch is open, once.
    pub(super) fn begin(&self, watch: WatchId, exchange: ExchangeId) {
        let mut outbox = self.outbox.borrow_mut();
        if outbox.is_taken && outbox.begun.insert(watch) {
            outbox.sent.push((exchange, Sent::Begins("application/json")));
        }
    }

    fn has_begun(&self, watch: WatchId) -> bool {
        self.outbox.borrow().begun.contains(&watch)
    }

    /// Ends a watch that is open.
    pub(super) fn end(&self, hub: &Hub, watch: WatchId) {
        let exchange = self.watches.borrow().get(&watch).map(|watching| watching.exchange);
        if let Some(exchange) = exchange {
            hub.close_watch(watch);
            self.begin(watch, exchange);
            self.drop(watch, exchange, Sent::Ends);
        }
    }

    /// Forgets a watch, with a last word to its client.
    fn drop(&self, watch: WatchId, exchange: ExchangeId, last: Sent) {
        self.watches.borrow_mut().remove(&watch);
        self.outbox.borrow_mut().begun.remove(&watch);
        self.send(exchange, last);
    }
}
