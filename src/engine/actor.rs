//! What runs on the engine: processes, and what they are handed.

use std::rc::Rc;

use wire::{WatchEvent, WatchId};

use super::event::{ActorId, CallId, Message};

/// What the engine hands to an actor.
#[derive(Debug)]
pub enum Delivery {
    /// One of its watches says something.
    Notification {
        /// Which watch.
        watch: WatchId,
        /// What it says.
        event: WatchEvent,
    },
    /// One of its timers went off.
    Wake {
        /// Which timer.
        what: &'static str,
        /// What it is about.
        key: Rc<str>,
    },
    /// Another part of the node calls, or sends a packet.
    Rpc {
        /// To answer with [`Hub::reply`](super::Hub::reply).
        call: CallId,
        /// Who calls.
        from: ActorId,
        /// What is asked.
        message: Rc<dyn Message>,
    },
}

/// A process of the cluster. It changes through shared references only: all it remembers sits in a
/// [`Memory`](super::Memory), so that the world can be saved.
pub trait Actor {
    /// `kube-scheduler`, `kubelet/node-1` …
    fn name(&self) -> &str;
    /// Called once, at the start of the run or when the process joins it.
    fn start(&self) {}
    /// Takes one delivery. What it sends goes through its [`Hub`](super::Hub).
    fn deliver(&self, delivery: Delivery);
    /// The end of each of its turns: all of its tasks wait again, and what it has sent is not on its way yet. Here a process
    /// that is only to be called when there is something to do finds out whether there is, from what it remembers.
    fn turn_ended(&self) {}
    /// For a caller that looks inside: the component's caches and queues, see [`Actor`]'s implementors.
    fn as_any(&self) -> &dyn std::any::Any;
}
