//! The person at the keyboard, as a process.

use std::any::Any;
use std::rc::Rc;

use crate::apiserver::watch::{WatchEvent, WatchId};
use crate::engine::{Actor, ActorId, Delivery, Hub};
use crate::object::Status;
use crate::object::status::Reason;

use super::kubectl::{self, Feeds};
use super::timeline::{self, Runner};

/// The person at the keyboard: all they do is start commands, and some commands follow a watch.
pub(super) struct UserActor {
    pub(super) hub: Hub,
    pub(super) actor: ActorId,
    pub(super) feeds: Feeds,
    pub(super) runner: Rc<Runner>,
}

impl UserActor {
    fn feed(&self, watch: WatchId, event: WatchEvent) {
        if !self.feeds.borrow().contains_key(&watch) {
            // The command ended while its watch was being opened.
            return self.hub.close_watch(watch);
        }
        if let Some(call) = kubectl::client::feed(&self.feeds, watch, event) {
            self.hub.unpark(self.actor, call);
        }
    }
}

impl Actor for UserActor {
    fn name(&self) -> &str {
        "user/kubectl"
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.feed(watch, event),
            Delivery::Wake { what: kubectl::client::TIMEOUT, key } => {
                let over = Status::new(Reason::Timeout, "the time is over");
                self.feed(WatchId(key.parse().unwrap_or_default()), WatchEvent::Error(over));
            }
            Delivery::Wake { what: timeline::NEXT_LINE, .. } => self.runner.go_on(),
            Delivery::Wake { .. } | Delivery::Rpc { .. } => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
