//! When a cluster is quiet: nothing is left to do, and nothing will result from the traffic that never stops.
//!
//! Heartbeats, probes, resyncs and periodic checks go on for ever, so a cluster is never without a pending event. There is one
//! rule for what is left to do, and one for whether anything may result from the rest:
//!
//! - [`Cluster::is_quiet`]: nothing but background traffic and timers far ahead is pending, and no command is under way.
//! - [`Cluster::has_ended`]: the same of a scenario, which says itself how long it takes: what its last line leaves behind
//!   is waited for only if it comes soon. Else a container that crashes over and over would never let it end.
//! - [`Cluster::may_stir`]: something may result from those all the same. A heartbeat alone changes nothing as long as it comes:
//!   so nothing can, if all that is due is heartbeats and their receivers, every Node has its kubelet and that the
//!   right time, and nothing was broken lately or is broken still. That is told from what is pending, not by letting
//!   time pass.
//!
//! To find out what comes, if something may, the cluster has to run: the debugger lets it run, and goes back.

use std::collections::BTreeSet;
use std::time::Duration;

use apiserver::host::LEASE_EXPIRES;
use client::{leader, queue};
use engine::{Actor, Note, Pending, Step, What};
use kinds::registry;
use kubelet::{Kubelet, timers};
use network::{kernel, proxy};
use object::Kind;

use super::Cluster;

/// What is broken is noticed within so much time: a node that is silent is given up sooner.
pub const NOTICED: Duration = Duration::from_secs(60);

/// What is due later than this is not waited for when a scenario's last line is done.
const SOON: Duration = Duration::from_secs(5);

/// Timers that only say that all is as it was.
const HEARTBEATS: &[&str] = &[
    timers::LEASE,
    timers::NODE_STATUS,
    timers::REMOUNT,
    leader::TRY,
    leader::DEADLINE,
    LEASE_EXPIRES,
    kernel::system::TIMEOUT,
    proxy::FULL_SYNC,
];

/// Queues whose only delayed key is a look at all there is, which finds nothing as long as nothing else has changed.
const LOOK_ROUND: &[&str] = &["node-lifecycle-controller", "pod-garbage-collector"];

impl Cluster {
    /// Whether nothing but background traffic is pending, and no command of the user's is still running.
    pub fn is_quiet(&self) -> bool {
        self.engine.foreground() == 0 && self.is_left_alone()
    }

    /// Whether a scenario is over: its last line is done, and nothing is left to do that is due soon.
    pub fn has_ended(&self) -> bool {
        let end = self.engine.now() + SOON;
        self.is_left_alone() && self.engine.pending().take_while(|event| event.due <= end).all(|event| event.idle)
    }

    /// Whether no command of the user's is still running, and none is to come.
    fn is_left_alone(&self) -> bool {
        let types = self.runner.is_busy() || self.prompt.is_busy();
        !types && !self.engine.tasks().any(|task| task.actor == self.user.actor())
    }

    /// Whether it is the timeline that lets time pass.
    pub fn is_asleep(&self) -> bool {
        self.runner.is_asleep() || self.prompt.is_asleep()
    }

    /// Whether something may come of the background within that time. If not, a cluster that is quiet stays so.
    pub fn may_stir(&self, within: Duration) -> bool {
        let end = self.engine.now() + within;
        let (held, server) = (&self.engine.controls().holds, &self.engine.server);
        let broken = !server.down.is_empty() || !held.is_empty() || !server.failures.is_empty();
        broken
            || self.disturbed.get().is_some_and(|at| self.engine.now() - at < NOTICED)
            || self.engine.pending().take_while(|event| event.due <= end).any(|event| !is_heartbeat(event))
            || !self.nodes_have_kubelets()
    }

    /// A user or a fault has changed what the background looks after.
    pub(super) fn disturb(&self) {
        self.disturbed.set(Some(self.engine.now()));
    }

    /// Notes that the user has changed a Node, not its kubelet or a controller.
    pub(super) fn follow_nodes(&self, step: &Step) {
        let by_hand = step.event.from == self.user.actor();
        let node = |note: &Note| match note {
            Note::Stored { old, new, .. } => new.as_ref().or(old.as_ref()).is_some_and(|o| o.kind() == Kind::Node),
            _ => false,
        };
        if by_hand && step.notes.iter().any(node) {
            self.disturb();
        }
    }

    /// Whether every Node has a kubelet that will say so, and every kubelet its Node.
    fn nodes_have_kubelets(&self) -> bool {
        let kubelet =
            |actor: &'_ dyn Actor| actor.as_any().downcast_ref::<Kubelet>().is_some_and(Kubelet::clock_is_right);
        let actors = self.engine.actors().filter(|(_, actor)| kubelet(*actor)).map(|(_, actor)| actor.name());
        let kubelets: BTreeSet<&str> = actors.filter_map(|name| name.strip_prefix("kubelet/")).collect();
        let prefix = registry::list_prefix(Kind::Node, "");
        let nodes: BTreeSet<&str> =
            self.engine.server.api.store.prefix(&prefix).map(|(_, entry)| entry.value.name()).collect();
        kubelets == nodes
    }
}

/// Whether an event says only that all is as it was.
fn is_heartbeat(event: &Pending) -> bool {
    match &event.what {
        What::Wake { what, key, .. } if *what == queue::READY => {
            queue::Ready::read(key).is_some_and(|ready| LOOK_ROUND.contains(&ready.queue))
        }
        What::Wake { what, .. } => event.background && HEARTBEATS.contains(what),
        // What is under way of a heartbeat or an Event, and the answer to it.
        What::Request { .. } | What::Response { .. } | What::Notification { .. } => event.background,
        _ => false,
    }
}
