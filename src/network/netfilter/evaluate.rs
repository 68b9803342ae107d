//! Asking a table: which rules match a packet, and what they decide.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::conntrack::Conntrack;
use super::packet::{Direction, Packet, Protocol};
use super::rule::{AddressType, Invertible, Match, RejectWith, Rule, State, Target};
use super::ruleset::{Chain, Hook, Ruleset, Table};
use super::save::kernel_probability;
use object::random::Random;
use object::time::Instant;

/// The lists of `-m recent`: when each source was noted last.
pub type Recent = BTreeMap<String, BTreeMap<Ipv4Addr, Instant>>;

/// What rules may ask about the host they are on.
pub trait Host {
    /// Whether an address is one of its own.
    fn is_local(&self, address: Ipv4Addr) -> bool;
    /// The address that MASQUERADE takes for packets that leave by an interface.
    fn address_of(&self, interface: &str) -> Option<Ipv4Addr>;
}

/// What a hook needs beside the packet.
pub struct Surroundings<'a> {
    /// The host.
    pub host: &'a dyn Host,
    /// Chance.
    pub random: &'a mut Random,
    /// The time.
    pub now: Instant,
}

/// How many chains deep a packet may be. Linux refuses rules that could go deeper when they are loaded.
const DEPTH: usize = 16;

/// A rule that decided something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The table.
    pub table: Table,
    /// The chain.
    pub chain: String,
    /// The rule's number in it, from 1.
    pub number: usize,
    /// The rule as `iptables-save` prints it.
    pub rule: String,
}

/// What a table says about a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ruling {
    Accept,
    Drop,
    Reject(RejectWith),
    /// What a target of the nat table wants done.
    Translate(Target),
}

/// One packet before one table.
pub(super) struct Hearing<'a> {
    pub table: Table,
    pub chains: &'a Ruleset,
    pub conntrack: &'a Conntrack,
    pub recent: &'a mut Recent,
    pub trace: &'a mut Vec<Decision>,
}

impl Hearing<'_> {
    /// Goes through the chain of a hook, and wherever it leads.
    pub fn hear(mut self, hook: Hook, packet: &mut Packet, around: &mut Surroundings<'_>) -> Ruling {
        let chains = self.chains;
        let Some(first) = chains.chain(self.table, hook.chain()) else { return Ruling::Accept };
        let mut stack: Vec<(&Chain, &str, usize)> = vec![(first, hook.chain(), 0)];
        while let Some((chain, name, at)) = stack.pop() {
            let Some((number, rule)) = self.next_match(chain, at, packet, around) else { continue };
            let target = rule.target.as_ref();
            if let Some(target) = target {
                self.decided(name, number, target, rule);
            }
            let leads = match target {
                Some(Target::Jump(to) | Target::Goto(to)) => {
                    chains.chain(self.table, to).map(|chain| (chain, to.as_str(), 0))
                }
                _ => None,
            };
            match target {
                None => stack.push((chain, name, number)),
                Some(Target::Accept) => return Ruling::Accept,
                Some(Target::Drop) => return Ruling::Drop,
                Some(Target::Reject(with)) => return Ruling::Reject(*with),
                Some(Target::Return) => {}
                Some(Target::Jump(_)) => {
                    stack.push((chain, name, number));
                    stack.extend(leads);
                }
                Some(Target::Goto(_)) => stack.extend(leads),
                Some(Target::SetXmark { value, mask }) => {
                    packet.noted.mark = (packet.noted.mark & !mask) ^ value;
                    stack.push((chain, name, number));
                }
                Some(translate) => return Ruling::Translate(translate.clone()),
            }
            if stack.len() > DEPTH {
                self.note(name, number, "too many chains deep: dropped".into());
                return Ruling::Drop;
            }
        }
        Ruling::Accept
    }

    /// The next rule of a chain that matches, from place `at` on, with its number.
    fn next_match<'c>(
        &mut self,
        chain: &'c Chain,
        at: usize,
        packet: &Packet,
        around: &mut Surroundings<'_>,
    ) -> Option<(usize, &'c Rule)> {
        let found = chain.rules.iter().enumerate().skip(at).find(|(_, rule)| self.matches(rule, packet, around))?;
        Some((found.0 + 1, found.1))
    }

    fn matches(&mut self, rule: &Rule, packet: &Packet, around: &mut Surroundings<'_>) -> bool {
        let (tuple, noted) = (&packet.tuple, &packet.noted);
        asked(rule.source.as_ref(), |range| range.contains(tuple.source))
            && asked(rule.destination.as_ref(), |range| range.contains(tuple.destination))
            && asked(rule.in_interface.as_deref(), |name| is_interface(name, &noted.in_interface))
            && asked(rule.out_interface.as_deref(), |name| is_interface(name, &noted.out_interface))
            && asked(rule.protocol.as_ref(), |protocol| *protocol == tuple.protocol)
            && rule.matches.iter().all(|matching| self.holds(matching, packet, around))
    }

    fn holds(&mut self, matching: &Match, packet: &Packet, around: &mut Surroundings<'_>) -> bool {
        let tuple = &packet.tuple;
        let has_ports = tuple.protocol != Protocol::Icmp;
        let within = |(first, last): (u16, u16), port: u16| has_ports && (first..=last).contains(&port);
        match matching {
            Match::Comment(_) | Match::OfProtocol => true,
            Match::SourcePort(Invertible { value, not }) => within(*value, tuple.source_port) != *not,
            Match::DestinationPort(Invertible { value, not }) => within(*value, tuple.destination_port) != *not,
            Match::DestinationPorts(Invertible { value, not }) => {
                (has_ports && value.contains(&tuple.destination_port)) != *not
            }
            Match::SourceType(Invertible { value, not }) => (address_type(tuple.source, around) == *value) != *not,
            Match::DestinationType(Invertible { value, not }) => {
                (address_type(tuple.destination, around) == *value) != *not
            }
            Match::State(Invertible { value, not }) => value.iter().any(|state| self.is_state(*state, packet)) != *not,
            Match::Mark(Invertible { value: (value, mask), not }) => (packet.noted.mark & mask == *value) != *not,
            Match::Probability(p) => around.random.next_u64() >> 33 < kernel_probability(*p),
            Match::RecentCheck { name, seconds, reap } => {
                let Some(list) = self.recent.get_mut(name) else { return false };
                let oldest = |at: Instant| around.now - at <= Duration::from_secs(u64::from(*seconds));
                if *reap {
                    list.retain(|_, at| oldest(*at));
                }
                list.get(&tuple.source).is_some_and(|at| oldest(*at))
            }
            Match::RecentSet { name } => {
                self.recent.entry(name.clone()).or_default().insert(tuple.source, around.now);
                true
            }
            Match::PhysdevIsBridged(Invertible { not, .. }) => packet.noted.bridged != *not,
        }
    }

    fn is_state(&self, state: State, packet: &Packet) -> bool {
        let Some((id, direction)) = packet.noted.connection else {
            let invalid = packet.noted.invalid;
            return state == if invalid { State::Invalid } else { State::Untracked };
        };
        let Some(connection) = self.conntrack.get(id) else { return false };
        let back = direction == Direction::Reply;
        match state {
            State::Related => packet.payload.about().is_some(),
            State::Established => packet.payload.about().is_none() && (back || connection.answered),
            State::New => packet.payload.about().is_none() && !back && !connection.answered,
            State::Snat => connection.has_snat(),
            State::Dnat => connection.has_dnat(),
            State::Invalid | State::Untracked => false,
        }
    }

    /// Keeps what a reader wants to know: jumps and what ends the hearing, and marks; and a way back if it says why.
    fn decided(&mut self, chain: &str, number: usize, target: &Target, rule: &Rule) {
        let says_why = rule.matches.iter().any(|matching| matches!(matching, Match::Comment(_)));
        if *target != Target::Return || says_why {
            self.note(chain, number, rule.to_string());
        }
    }

    fn note(&mut self, chain: &str, number: usize, rule: String) {
        self.trace.push(Decision { table: self.table, chain: chain.to_owned(), number, rule });
    }
}

fn asked<T>(asked: Option<&Invertible<T>>, holds: impl Fn(&T) -> bool) -> bool {
    asked.is_none_or(|asked| holds(&asked.value) != asked.not)
}

/// `eth+` is every name that begins with `eth`.
fn is_interface(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('+').map_or(pattern == name, |begin| name.starts_with(begin))
}

fn address_type(address: Ipv4Addr, around: &Surroundings<'_>) -> AddressType {
    match address {
        _ if address.is_broadcast() => AddressType::Broadcast,
        _ if address.is_multicast() => AddressType::Multicast,
        _ if address.is_loopback() || around.host.is_local(address) => AddressType::Local,
        _ => AddressType::Unicast,
    }
}
