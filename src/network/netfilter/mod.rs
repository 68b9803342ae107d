//! netfilter: the part of a node's kernel in which iptables' rules live, and conntrack.
//!
//! Services are made of this. kube-proxy writes rules; the network plugins write a few more; and every packet that
//! crosses a node is shown to them at up to three *hooks*:
//!
//! ```text
//!   from an interface -> PREROUTING -> routing -+-> INPUT -> a process here
//!                                               +-> FORWARD -> POSTROUTING -> out by an interface
//!   from a process    -> routing -> OUTPUT -> routing again, if it changed -> POSTROUTING -> out
//! ```
//!
//! At a hook, tables are asked in the order raw, conntrack, mangle, nat (destination), filter, nat (source). A table is
//! chains of rules ([`rule`], [`ruleset`]); the first rule that matches and has something to say decides. The nat table
//! is asked for the first packet of a connection only: what it says is kept in [`conntrack`], which rewrites all the
//! packets that follow, and undoes it for answers.
//!
//! - [`packet`]: a packet, and what a kernel notes about it.
//! - [`cidr`]: ranges of addresses.
//! - [`rule`]: rules, matches, targets.
//! - [`ruleset`]: tables and chains, and how they are changed.
//! - [`save`]: all of it as `iptables-save` prints it.
//! - [`evaluate`]: asking one table.
//! - [`conntrack`]: connections and their NAT.
//!
//! How to use it: kube-proxy and the plugins change [`Netfilter::rules`] ([`Ruleset::restore`] takes a whole table's
//! change at once, [`Ruleset::insert`] a jump from a hook's chain); the network calls [`Netfilter::pass`] for each packet
//! at each hook and follows the verdict; commands that list the state read [`Ruleset::save`] and [`Conntrack::list`].
//!
//! Must hold:
//! - What is rewritten one way is rewritten back the other way. Kept by `a_cluster_ip_becomes_an_endpoint_and_back`
//!   and `an_error_finds_its_way_back_through_nat`.
//! - A packet that dies opens no connection. Kept by `a_rejected_packet_opens_no_connection`.
//! - A refused change changes nothing. Kept by `a_change_happens_whole_or_not_at_all`.
//! - Chance (`-m statistic`, `--random-fully`) comes from the run's one generator. Kept by
//!   `endpoints_are_drawn_evenly_and_repeatably`.
//!
//! As in Linux the rules of a chain are asked one after another, so a node with 10,000 Services asks 10,000 rules for
//! a packet that is for none of them: that is why nftables mode exists, and IPVS before it.
//!
//! Left out: IPv6, fragments, packet and byte counters (they print as 0), the security table, ipset, helpers and zones
//! of conntrack, sequence numbers of TCP.

use std::net::Ipv4Addr;

pub mod cidr;
pub mod conntrack;
pub mod evaluate;
pub mod packet;
pub mod rule;
pub mod ruleset;
mod save;

#[cfg(test)]
mod tests;

pub use cidr::Cidr;
pub use conntrack::{Connection, Conntrack};
pub use evaluate::{Decision, Host, Recent, Surroundings};
pub use packet::{ConnectionId, Direction, Packet, Payload, Protocol, Tuple, Unreachable};
pub use rule::{AddressType, Invertible, Match, RejectWith, Rule, State, Target};
pub use ruleset::{Chain, Change, Hook, Ruleset, RulesetError, Table};

use evaluate::{Hearing, Ruling};

/// netfilter of one network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Netfilter {
    /// The rules.
    pub rules: Ruleset,
    /// The connections.
    pub conntrack: Conntrack,
    /// The lists of `-m recent`.
    pub recent: Recent,
}

/// What becomes of a packet at a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on, perhaps with other addresses.
    Accept,
    /// It is gone.
    Drop,
    /// It is gone, and its sender is to be told.
    Reject(RejectWith),
}

/// What a hook did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// What becomes of the packet.
    pub verdict: Verdict,
    /// The rules that had a say, in order.
    pub trace: Vec<Decision>,
    /// Whether its addresses have changed here.
    pub rewritten: bool,
}

/// Where a hook stands among others that ask the same packet.
const RAW_HOOKS: [Hook; 2] = [Hook::Prerouting, Hook::Output];

impl Netfilter {
    /// Shows a packet to the tables of a hook, in their order, and rewrites it as conntrack says.
    pub fn pass(&mut self, hook: Hook, packet: &mut Packet, around: &mut Surroundings<'_>) -> Passed {
        let before = packet.tuple;
        let mut trace = Vec::new();
        let verdict = self.ask(hook, packet, around, &mut trace);
        if verdict != Verdict::Accept
            && let Some((id, _)) = packet.noted.connection
        {
            self.conntrack.abandon(id);
        }
        Passed { verdict, trace, rewritten: packet.tuple != before }
    }

    fn ask(
        &mut self,
        hook: Hook,
        packet: &mut Packet,
        around: &mut Surroundings<'_>,
        trace: &mut Vec<Decision>,
    ) -> Verdict {
        for table in order(hook) {
            let ruling = match table {
                Stage::Track => {
                    if packet.noted.connection.is_none() {
                        self.conntrack.track(packet, around.now);
                    }
                    continue;
                }
                Stage::Table(Table::Nat) => self.translate(hook, packet, around, trace),
                Stage::Table(table) => self.hear(*table, hook, packet, around, trace),
            };
            match ruling {
                Ruling::Drop => return Verdict::Drop,
                Ruling::Reject(with) => return Verdict::Reject(with),
                Ruling::Translate(Target::NoTrack) => return Verdict::Accept,
                Ruling::Accept | Ruling::Translate(_) => {}
            }
        }
        if matches!(hook, Hook::Input | Hook::Postrouting)
            && let Some((id, _)) = packet.noted.connection
        {
            self.conntrack.confirm(id);
        }
        Verdict::Accept
    }

    fn hear(
        &mut self,
        table: Table,
        hook: Hook,
        packet: &mut Packet,
        around: &mut Surroundings<'_>,
        trace: &mut Vec<Decision>,
    ) -> Ruling {
        let Netfilter { rules, conntrack, recent } = self;
        Hearing { table, chains: rules, conntrack, recent, trace }.hear(hook, packet, around)
    }

    /// The nat table: rules for the first packet of a connection, memory for all others.
    fn translate(
        &mut self,
        hook: Hook,
        packet: &mut Packet,
        around: &mut Surroundings<'_>,
        trace: &mut Vec<Decision>,
    ) -> Ruling {
        let Some((id, direction)) = packet.noted.connection else { return Ruling::Accept };
        let destination = RAW_HOOKS.contains(&hook);
        let settled = self.conntrack.get(id).is_none_or(|connection| {
            if destination { connection.destination_settled } else { connection.source_settled }
        });
        if !settled && direction == Direction::Original && packet.payload.about().is_none() {
            let ruling = self.hear(Table::Nat, hook, packet, around, trace);
            if ruling == Ruling::Drop {
                return ruling;
            }
            self.decide(id, &ruling, packet, around);
            if !destination {
                self.conntrack.make_distinct(id);
            }
            self.conntrack.settle(id, destination);
        }
        let Some(connection) = self.conntrack.get(id) else { return Ruling::Accept };
        rewrite(packet, connection, direction, destination);
        Ruling::Accept
    }

    /// Writes into the connection what a target of the nat table wants.
    fn decide(&mut self, id: ConnectionId, ruling: &Ruling, packet: &Packet, around: &mut Surroundings<'_>) {
        let Ruling::Translate(target) = ruling else { return };
        let out = around.host.address_of(&packet.noted.out_interface);
        match target {
            Target::Dnat(address, port) => self.conntrack.set_destination(id, *address, *port),
            Target::Redirect(port) => {
                let incoming = around.host.address_of(&packet.noted.in_interface);
                self.conntrack.set_destination(id, incoming.unwrap_or(Ipv4Addr::LOCALHOST), Some(*port));
            }
            Target::Snat(address) => self.conntrack.set_source(id, *address, false, around.random),
            Target::Masquerade { random_fully } => {
                if let Some(address) = out {
                    self.conntrack.set_source(id, address, *random_fully, around.random);
                }
            }
            _ => {}
        }
    }
}

/// Gives a packet the addresses that its connection wants at this side of the kernel. An error's quotation is rewritten
/// with it, so that its receiver recognises the packet that it once sent.
fn rewrite(packet: &mut Packet, connection: &Connection, direction: Direction, destination: bool) {
    let wanted = connection.rewritten(direction);
    let is_error = packet.payload.about().is_some();
    // Where nothing is translated, an error keeps the address of the router that sent it.
    let translated = match (direction, destination) {
        (Direction::Original, true) | (Direction::Reply, false) => connection.has_dnat(),
        (Direction::Original, false) | (Direction::Reply, true) => connection.has_snat(),
    };
    if is_error && !translated {
        return;
    }
    if destination {
        packet.tuple.destination = wanted.destination;
        if !is_error {
            packet.tuple.destination_port = wanted.destination_port;
        }
    } else {
        packet.tuple.source = wanted.source;
        if !is_error {
            packet.tuple.source_port = wanted.source_port;
        }
    }
    if let Payload::Unreachable { original, .. } | Payload::TimeExceeded { original } = &mut packet.payload {
        if destination {
            (original.source, original.source_port) = (wanted.destination, wanted.destination_port);
        } else {
            (original.destination, original.destination_port) = (wanted.source, wanted.source_port);
        }
    }
}

/// What is asked at a hook, and when.
#[derive(Clone, Copy)]
enum Stage {
    Table(Table),
    Track,
}

fn order(hook: Hook) -> &'static [Stage] {
    use Stage::{Table as T, Track};
    use Table::{Filter, Mangle, Nat, Raw};
    match hook {
        Hook::Prerouting => &[T(Raw), Track, T(Mangle), T(Nat)],
        Hook::Input => &[T(Mangle), T(Filter), T(Nat)],
        Hook::Forward => &[T(Mangle), T(Filter)],
        Hook::Output => &[T(Raw), Track, T(Mangle), T(Nat), T(Filter)],
        Hook::Postrouting => &[T(Mangle), T(Nat)],
    }
}
