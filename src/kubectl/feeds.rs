//! The watches that commands follow.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use client::Client;
use engine::{CallId, Memory};
use object::status::Reason;
use wire::Request;
use wire::{WatchEvent, WatchId};

/// The user's open watches. The user's actor puts events in, commands take them out.
pub type Feeds = Memory<BTreeMap<WatchId, Feed>>;

/// One open watch of a command.
#[derive(Clone, Default)]
pub struct Feed {
    events: VecDeque<WatchEvent>,
    waiter: Option<CallId>,
}

/// Wake: a command has followed a watch for as long as it may. The wake's key is the watch's number.
pub const TIMEOUT: &str = "command times out";

/// Gives an event of a watch to the command that waits for it. Returns whom to wake.
pub fn feed(feeds: &Feeds, watch: WatchId, event: WatchEvent) -> Option<CallId> {
    let mut feeds = feeds.borrow_mut();
    let feed = feeds.get_mut(&watch)?;
    feed.events.push_back(event);
    feed.waiter.take()
}

/// Opens a watch. After `timeout`, if there is one, it brings nothing more.
pub fn open(client: &Client, feeds: &Feeds, request: Request, timeout: Option<Duration>) -> Stream {
    let (hub, actor) = (client.hub(), client.actor());
    let watch = hub.watch(actor, request);
    feeds.borrow_mut().insert(watch, Feed::default());
    if let Some(timeout) = timeout {
        hub.wake_background(actor, TIMEOUT, watch.0.to_string(), timeout);
    }
    Stream { client: client.clone(), feeds: feeds.clone(), watch }
}

/// What brings nothing but the end of a time: see [`Stream::next_within`].
pub fn clock(client: &Client, feeds: &Feeds) -> Stream {
    let watch = client.hub().new_watch();
    feeds.borrow_mut().insert(watch, Feed::default());
    Stream { client: client.clone(), feeds: feeds.clone(), watch }
}

/// A watch that a command follows; it is closed when the command lets go of it.
pub struct Stream {
    client: Client,
    feeds: Feeds,
    watch: WatchId,
}

impl Stream {
    /// The next event; none when the time is over.
    pub async fn next(&self) -> Option<WatchEvent> {
        self.event().await.filter(|event| !is_timeout(event))
    }

    /// The next event, if one comes within that time.
    pub async fn next_within(&self, time: Duration) -> Option<WatchEvent> {
        let (hub, end) = (self.client.hub(), self.client.now() + time);
        hub.wake_background(self.client.actor(), TIMEOUT, self.watch.0.to_string(), time);
        loop {
            match self.event().await? {
                // The end of an earlier wait.
                event if is_timeout(&event) && self.client.now() < end => {}
                event => return Some(event).filter(|event| !is_timeout(event)),
            }
        }
    }

    async fn event(&self) -> Option<WatchEvent> {
        loop {
            let event = self.feeds.borrow_mut().get_mut(&self.watch)?.events.pop_front();
            match event {
                Some(event) => return Some(event),
                None => {
                    let park = self.client.hub().park("the next watch event");
                    self.feeds.borrow_mut().get_mut(&self.watch)?.waiter = Some(park.call());
                    park.await;
                }
            }
        }
    }
}

fn is_timeout(event: &WatchEvent) -> bool {
    matches!(event, WatchEvent::Error(error) if error.reason() == Reason::Timeout)
}

impl Drop for Stream {
    fn drop(&mut self) {
        // A command that is cut off in the middle may be dropped at any time.
        if let Some(mut feeds) = self.feeds.try_borrow_mut() {
            feeds.remove(&self.watch);
        }
        self.client.hub().close_watch(self.watch);
    }
}
