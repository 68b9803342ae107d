//! Sockets of the programs that ask: each hears what comes back to its port.

use std::fmt;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

use super::system::{Client, System, TIMEOUT};
use crate::netfilter::{Packet, Payload, Protocol, Tuple};

/// Linux sends a SYN again after 1, 3, 7, 15, 31 and 63 seconds, and gives up after 127 (`tcp_syn_retries = 6`).
pub const SYN_TRIES: u32 = 7;

impl System {
    /// The source address and port of a new socket to `destination`; None: there is no route.
    pub fn open(
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
        Some(Socket { system: self.clone(), namespace: namespace.to_owned(), tuple, probes: false })
    }

    /// A client has waited long enough.
    pub(super) fn timeout(&self, key: &str) {
        let Ok(Wait { port, round }) = key.parse() else { return };
        let mut clients = self.clients.borrow_mut();
        let waits = clients.iter_mut().find(|((_, tuple), client)| tuple.source_port == port && client.round == round);
        if let Some((_, client)) = waits
            && let Some(call) = client.waits.take()
        {
            client.timed_out = true;
            self.hub.unpark(self.actor, call);
        }
    }
}

/// The key of [`TIMEOUT`]: whose patience ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wait {
    /// The client's port.
    port: u16,
    /// Which of its waits it is.
    round: u64,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.port, self.round)
    }
}

impl FromStr for Wait {
    type Err = ();

    fn from_str(key: &str) -> Result<Wait, ()> {
        let (port, round) = key.split_once(' ').ok_or(())?;
        Ok(Wait { port: port.parse().map_err(drop)?, round: round.parse().map_err(drop)? })
    }
}

/// A client's socket. It is closed when it is dropped.
pub struct Socket {
    system: Rc<System>,
    namespace: String,
    /// The addresses of what it sends.
    pub tuple: Tuple,
    /// It belongs to a kubelet's probe.
    pub probes: bool,
}

impl Socket {
    /// Sends. False: nothing went out.
    pub fn send(&self, payload: Payload) -> bool {
        self.system.send(&self.namespace, Packet { probes: self.probes, ..Packet::new(self.tuple, payload) })
    }

    /// What comes within `limit`, if there is one; None: nothing.
    pub async fn hear(&self, limit: impl Into<Option<Duration>>) -> Option<Packet> {
        let key = (self.namespace.clone(), self.tuple);
        let park = self.system.hub.park("an answer");
        {
            let mut clients = self.system.clients.borrow_mut();
            let client = clients.get_mut(&key)?;
            if let Some(packet) = client.inbox.pop_front() {
                return Some(packet);
            }
            client.round = self.system.number();
            client.timed_out = false;
            client.waits = Some(park.call());
            if let Some(limit) = limit.into() {
                let timer = Wait { port: self.tuple.source_port, round: client.round }.to_string();
                self.system.hub.wake_background(self.system.actor, TIMEOUT, timer, limit);
            }
        }
        park.await;
        self.system.clients.borrow_mut().get_mut(&key)?.inbox.pop_front()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // A command that is cut off in the middle may be dropped at any time.
        if let Some(mut clients) = self.system.clients.try_borrow_mut() {
            clients.remove(&(self.namespace.clone(), self.tuple));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_knows_whose_it_is() {
        let wait = Wait { port: 32768, round: 7 };
        assert_eq!((wait.to_string().as_str(), wait.to_string().parse()), ("32768 7", Ok(wait)));
        assert!(["", "7", "x 7", "70000 7"].iter().all(|key| key.parse::<Wait>().is_err()));
    }
}
