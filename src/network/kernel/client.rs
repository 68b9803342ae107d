//! Sockets of the programs that ask: each hears what comes back to its port.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use crate::engine::CallId;
use crate::node::netfilter::{Packet, Payload, Protocol, Tuple};

use super::{Inner, TIMEOUT};

/// What the kernel holds of a client's socket.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    pub(super) inbox: VecDeque<Packet>,
    pub(super) waits: Option<CallId>,
    /// Which wait it is; a timeout of an earlier one means nothing.
    round: u64,
    timed_out: bool,
}

impl Inner {
    /// The source address and port of a new socket to `destination`; None: there is no route.
    pub(in super::super) fn open(
        self: &Rc<Self>,
        namespace: &str,
        protocol: Protocol,
        destination: Ipv4Addr,
        port: u16,
    ) -> Option<Socket> {
        let source = self.with_kernel(|kernel| kernel.source_for(namespace, destination))?;
        let source_port = self.free_port();
        // An echo has its identifier in the place of both ports.
        let destination_port = if protocol == Protocol::Icmp { source_port } else { port };
        let tuple = Tuple { protocol, source, source_port, destination, destination_port };
        self.clients.borrow_mut().insert((namespace.to_owned(), tuple), Client::default());
        Some(Socket { inner: self.clone(), namespace: namespace.to_owned(), tuple, probes: false })
    }

    pub(super) fn timeout(&self, key: &str) {
        let mut clients = self.clients.borrow_mut();
        let Some((port, round)) = key.split_once(' ') else { return };
        let (port, round): (u16, u64) = (port.parse().unwrap_or_default(), round.parse().unwrap_or_default());
        let waits = clients.iter_mut().find(|((_, tuple), client)| tuple.source_port == port && client.round == round);
        if let Some((_, client)) = waits
            && let Some(call) = client.waits.take()
        {
            client.timed_out = true;
            self.hub.unpark(self.actor, call);
        }
    }
}

/// A client's socket. It is closed when it is dropped.
pub struct Socket {
    inner: Rc<Inner>,
    namespace: String,
    /// The addresses of what it sends.
    pub tuple: Tuple,
    /// It belongs to a kubelet's probe.
    pub probes: bool,
}

impl Socket {
    /// Sends. False: nothing went out.
    pub fn send(&self, payload: Payload) -> bool {
        self.inner.send(&self.namespace, Packet { probes: self.probes, ..Packet::new(self.tuple, payload) })
    }

    /// What comes within `limit`, if there is one; None: nothing.
    pub async fn hear(&self, limit: impl Into<Option<Duration>>) -> Option<Packet> {
        let key = (self.namespace.clone(), self.tuple);
        let park = self.inner.hub.park("an answer");
        {
            let mut clients = self.inner.clients.borrow_mut();
            let client = clients.get_mut(&key)?;
            if let Some(packet) = client.inbox.pop_front() {
                return Some(packet);
            }
            client.round = self.inner.number();
            client.timed_out = false;
            client.waits = Some(park.call());
            if let Some(limit) = limit.into() {
                let timer = format!("{} {}", self.tuple.source_port, client.round);
                self.inner.hub.wake_background(self.inner.actor, TIMEOUT, timer, limit);
            }
        }
        park.await;
        self.inner.clients.borrow_mut().get_mut(&key)?.inbox.pop_front()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // A command that is cut off in the middle may be dropped at any time.
        if let Some(mut clients) = self.inner.clients.try_borrow_mut() {
            clients.remove(&(self.namespace.clone(), self.tuple));
        }
    }
}
