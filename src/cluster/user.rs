//! The person at the keyboard, and their programs, as a process.

use std::any::Any;
use std::rc::Rc;

use engine::{Actor, ActorId, CallId, Delivery, Hub, Memory, Message};
use kubectl::feeds::{self, Feeds};
use kubectl::left_open::Ending;
use kubectl::{Kubectl, forwards, terminal};
use kubelet::cri::StreamEnded;
use network::kernel::messages::{Heard, Incoming};
use object::Status;
use object::status::Reason;
use wire::{WatchEvent, WatchId};

use super::timeline::{self, Runner};

/// The person at the keyboard: all they do is start commands. Some follow a watch, and one leaves a port open.
pub(super) struct UserActor {
    pub(super) hub: Hub,
    pub(super) actor: ActorId,
    pub(super) feeds: Feeds,
    pub(super) runner: Rc<Runner>,
    /// For lines of a shell that are typed at the prompt.
    pub(super) prompt: Rc<Runner>,
    /// For what it has left open.
    pub(super) kubectl: Kubectl,
    /// How many commands have failed.
    pub(super) failures: Memory<u32>,
}

impl UserActor {
    fn feed(&self, watch: WatchId, event: WatchEvent) {
        if !self.feeds.borrow().contains_key(&watch) {
            // The command ended while its watch was being opened.
            return self.hub.close_watch(watch);
        }
        if let Some(call) = feeds::feed(&self.feeds, watch, event) {
            self.hub.unpark(self.actor, call);
        }
    }

    /// A client has connected to a port that kubectl listens at.
    fn handle(&self, call: CallId, from: ActorId, incoming: Incoming) {
        let (hub, actor, kubectl) = (self.hub.clone(), self.actor, self.kubectl.clone());
        self.hub.spawn(actor, format!("kubectl port-forward: {}", incoming.line()), async move {
            let heard = forwards::handle(incoming.port, incoming.data, &kubectl).await;
            hub.reply(actor, from, call, "heard", Ok(Rc::new(Heard(heard))));
        });
    }
}

impl UserActor {
    /// The shell at the terminal is gone.
    pub(super) fn leave(&self, how: Ending) {
        let (kubectl, failures) = (self.kubectl.clone(), self.failures.clone());
        self.hub.spawn(self.actor, "kubectl: the shell is gone", async move {
            let failed = terminal::end(how, &kubectl).await != 0;
            failures.set(failures.get() + u32::from(failed));
        });
    }
}

impl Actor for UserActor {
    fn name(&self) -> &str {
        "user/kubectl"
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.feed(watch, event),
            Delivery::Wake { what: feeds::TIMEOUT, key } => {
                let over = Status::new(Reason::Timeout, "the time is over");
                self.feed(WatchId(key.parse().unwrap_or_default()), WatchEvent::Error(over.into()));
            }
            Delivery::Wake { what: timeline::NEXT_LINE, key } => match &*key {
                timeline::PROMPT => self.prompt.go_on(),
                _ => self.runner.go_on(),
            },
            Delivery::Rpc { call, from, message } => {
                let any: &dyn Any = &*message;
                if let Some(incoming) = any.downcast_ref::<Incoming>() {
                    self.handle(call, from, incoming.clone());
                } else if let Some(ended) = any.downcast_ref::<StreamEnded>()
                    && terminal::is_over(from, ended.stream, ended.code, &self.kubectl)
                {
                    self.leave(Ending::Code(ended.code));
                }
            }
            Delivery::Wake { .. } => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
