//! What netfilter does with a packet on its way, and what its sender hears of it.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::route::{first_address, is_local};
use super::{Death, Kernel};
use crate::cni::netns::{Links, Namespace};
use crate::netfilter::{
    self, Hook, Packet, Passed, Payload, Protocol, RejectWith, Surroundings, Table, Tuple, Unreachable, Verdict,
};

impl Kernel<'_> {
    /// Shows the packet to the netfilter of the machine's own namespace; the Pods' namespaces have no rules. An error is its
    /// death.
    pub(super) fn hook(
        &mut self,
        namespace: &str,
        hook: Hook,
        packet: &mut Packet,
    ) -> Result<Option<Passed>, Box<Death>> {
        if !namespace.is_empty() {
            return Ok(None);
        }
        let before = packet.tuple;
        let Namespace { links, netfilter, .. } = &mut self.network.root;
        let addresses = Addresses { links };
        let mut around = Surroundings { host: &addresses, random: self.random, now: self.now };
        let passed = netfilter.pass(hook, packet, &mut around);
        for decision in &passed.trace {
            let place = format!("{} rule {}", decision.chain, decision.number);
            self.say(decision.table.as_str(), format!("{place}: {}", decision.rule));
        }
        if passed.rewritten {
            let asked = passed.trace.iter().any(|decision| decision.table == Table::Nat);
            let why = if asked { "nat" } else { "conntrack" };
            self.say(why, format!("{}: {}", hook.chain(), rewriting(before, packet)));
        }
        let reject = match passed.verdict {
            Verdict::Accept => return Ok(Some(passed)),
            Verdict::Drop => None,
            Verdict::Reject(with) => Some(with),
        };
        let why = passed.trace.last().map_or(String::new(), |decision| {
            format!("{} {} rule {}: {}", decision.table.as_str(), decision.chain, decision.number, decision.rule)
        });
        let tell = reject.and_then(|with| match with {
            RejectWith::Icmp(code) => unreachable(packet, self.router(namespace, packet), code),
            RejectWith::TcpReset => (packet.payload != Payload::Rst).then(|| packet.answer(Payload::Rst)),
        });
        let (place, reason) = (self.place(namespace, hook.chain()), why);
        Err(Box::new(Death { namespace: namespace.to_owned(), place, reason, tell: at_once(tell) }))
    }
}

/// A machine's own addresses, for rules that ask.
struct Addresses<'a> {
    links: &'a Links,
}

impl netfilter::Host for Addresses<'_> {
    fn is_local(&self, address: Ipv4Addr) -> bool {
        is_local(self.links, address)
    }

    fn address_of(&self, interface: &str) -> Option<Ipv4Addr> {
        self.links.get(interface).and_then(first_address)
    }
}

/// An ICMP error about a packet. An ICMP error about an ICMP error is never sent.
pub(super) fn unreachable(packet: &Packet, router: Ipv4Addr, code: Unreachable) -> Option<Packet> {
    let first = packet.payload.about().is_none();
    first.then(|| packet.error(router, Payload::Unreachable { code, original: packet.tuple }))
}

/// Told without delay.
pub(super) fn at_once(tell: Option<Packet>) -> Option<(Packet, Duration)> {
    tell.map(|packet| (packet, Duration::ZERO))
}

/// `destination 10.96.0.10:80 becomes 10.244.1.2:8080`.
fn rewriting(before: Tuple, packet: &Packet) -> String {
    let after = packet.tuple;
    let end = |address: Ipv4Addr, port: u16| match before.protocol {
        Protocol::Icmp => address.to_string(),
        _ => format!("{address}:{port}"),
    };
    let mut parts = Vec::new();
    for (side, old, new) in [
        ("source", (before.source, before.source_port), (after.source, after.source_port)),
        ("destination", (before.destination, before.destination_port), (after.destination, after.destination_port)),
    ] {
        if old != new {
            parts.push(format!("{side} {} becomes {}", end(old.0, old.1), end(new.0, new.1)));
        }
    }
    parts.join(", ")
}
