//! Connection tracking: which packets belong together, and how NAT is undone on the way back.
//!
//! A connection has two tuples: the addresses of its first packet as it came, and those that an answer will have. They
//! are mirror images of each other unless NAT stands between. The difference is what has to be rewritten: a packet of
//! one direction gets the addresses that mirror the other direction's tuple. NAT decides once, for a connection's first
//! packet; everything after is looked up here, which is why a rule that changed does not move an open connection.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;
use std::ops::Bound;
use std::time::Duration;

use super::packet::{ConnectionId, Direction, Packet, Payload, Protocol, Tuple};
use object::random::Random;
use object::time::Instant;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Only its first packet has been seen.
    Opening,
    /// TCP: the answer to the first packet has been seen.
    Answered,
    /// Packets have gone both ways.
    Established,
    /// TCP: one side has said that it is done, or has reset it.
    Closing,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The first packet's addresses, as it came.
    pub original: Tuple,
    /// The addresses that answers have, as they come.
    pub reply: Tuple,
    /// How far it has come.
    pub phase: Phase,
    /// Whether an answer has been seen.
    pub answered: bool,
    /// Whether its first packet made it through this kernel. Until then it is forgotten when the packet dies.
    pub confirmed: bool,
    /// When it is forgotten, if no packet comes.
    pub expires: Instant,
    /// Its destination has been settled: rewritten, or left alone.
    pub(super) destination_settled: bool,
    /// Its source has been settled.
    pub(super) source_settled: bool,
}

impl Connection {
    /// Whether the destination is rewritten.
    pub fn has_dnat(&self) -> bool {
        (self.reply.source, self.reply.source_port) != (self.original.destination, self.original.destination_port)
    }

    /// Whether the source is rewritten.
    pub fn has_snat(&self) -> bool {
        (self.reply.destination, self.reply.destination_port) != (self.original.source, self.original.source_port)
    }

    /// The addresses that a packet of one direction has once it is rewritten.
    pub fn rewritten(&self, direction: Direction) -> Tuple {
        match direction {
            Direction::Original => self.reply.inverted(),
            Direction::Reply => self.original.inverted(),
        }
    }
}

/// The connections of one network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conntrack {
    connections: BTreeMap<ConnectionId, Connection>,
    by_tuple: BTreeMap<Tuple, (ConnectionId, Direction)>,
    by_expiry: BTreeSet<(Instant, ConnectionId)>,
    next: u64,
}

impl Conntrack {
    /// A connection by number.
    pub fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(&id)
    }

    /// All connections whose first packet made it, oldest first.
    pub fn connections(&self) -> impl Iterator<Item = (ConnectionId, &Connection)> {
        self.connections.iter().filter(|(_, connection)| connection.confirmed).map(|(id, connection)| (*id, connection))
    }

    /// Those of them that are younger than one of them.
    pub fn connections_after(
        &self,
        last: Option<ConnectionId>,
    ) -> impl Iterator<Item = (ConnectionId, &Connection)> + use<'_> {
        let range = (last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        self.connections.range(range).filter(|(_, it)| it.confirmed).map(|(id, it)| (*id, it))
    }

    /// The connection to which a packet with these addresses belongs.
    pub fn find(&self, tuple: Tuple) -> Option<(ConnectionId, Direction)> {
        self.by_tuple.get(&tuple).copied()
    }

    /// Looks a packet up and notes what it finds: its connection, a new one, or that the packet makes no sense.
    pub fn track(&mut self, packet: &mut Packet, now: Instant) {
        self.expire(now);
        if let Some(about) = packet.payload.about() {
            // An error quotes the packet that died, and goes the way that an answer to that one would go.
            packet.noted.connection = self.find(about.inverted());
            packet.noted.invalid = packet.noted.connection.is_none();
            return;
        }
        if let Some((id, direction)) = self.find(packet.tuple) {
            packet.noted.connection = Some((id, direction));
            self.seen(id, direction, &packet.payload, now);
            return;
        }
        if matches!(packet.payload, Payload::SynAck | Payload::Rst | Payload::EchoReply(_)) {
            packet.noted.invalid = true;
            return;
        }
        let id = ConnectionId(self.next);
        self.next += 1;
        let connection = Connection {
            original: packet.tuple,
            reply: packet.tuple.inverted(),
            phase: Phase::Opening,
            answered: false,
            confirmed: false,
            expires: now + timeout(packet.tuple.protocol, Phase::Opening),
            destination_settled: false,
            source_settled: false,
        };
        self.by_tuple.insert(connection.original, (id, Direction::Original));
        self.by_expiry.insert((connection.expires, id));
        self.connections.insert(id, connection);
        packet.noted.connection = Some((id, Direction::Original));
    }

    fn seen(&mut self, id: ConnectionId, direction: Direction, payload: &Payload, now: Instant) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.answered |= direction == Direction::Reply;
        connection.phase = match (payload, connection.phase, connection.answered) {
            (Payload::Rst | Payload::Fin, ..) | (_, Phase::Closing, _) => Phase::Closing,
            (Payload::SynAck, ..) => Phase::Answered,
            (_, phase, false) => phase,
            (_, _, true) => Phase::Established,
        };
        self.by_expiry.remove(&(connection.expires, id));
        connection.expires = now + timeout(connection.original.protocol, connection.phase);
        self.by_expiry.insert((connection.expires, id));
    }

    /// Rewrites where a connection goes: answers will come from there.
    pub(super) fn set_destination(&mut self, id: ConnectionId, address: Ipv4Addr, port: Option<u16>) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.reply.source = address;
        connection.reply.source_port = port.unwrap_or(connection.reply.source_port);
    }

    /// Rewrites where a connection comes from: answers will go there. The port stays, unless it is to be drawn.
    pub(super) fn set_source(&mut self, id: ConnectionId, address: Ipv4Addr, fully: bool, random: &mut Random) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.reply.destination = address;
        if fully && connection.reply.protocol != Protocol::Icmp {
            connection.reply.destination_port = FIRST_PORT + random.below(u64::from(u16::MAX - FIRST_PORT) + 1) as u16;
        }
    }

    /// Gives a connection another source port if answers to it could not be told from those to another one: two
    /// connections of one client may have become one by DNAT.
    pub(super) fn make_distinct(&mut self, id: ConnectionId) {
        let Some(mut wanted) = self.connections.get(&id).map(|connection| connection.reply) else { return };
        let taken = |tuple: &Tuple| self.by_tuple.get(tuple).is_some_and(|(other, _)| *other != id);
        // An echo has its identifier in both places, and answers carry it back.
        for _ in FIRST_PORT..=u16::MAX {
            if !taken(&wanted) {
                break;
            }
            wanted.destination_port = wanted.destination_port.checked_add(1).unwrap_or(FIRST_PORT).max(FIRST_PORT);
            if wanted.protocol == Protocol::Icmp {
                wanted.source_port = wanted.destination_port;
            }
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.reply = wanted;
        }
    }

    pub(super) fn settle(&mut self, id: ConnectionId, destination: bool) {
        if let Some(connection) = self.connections.get_mut(&id) {
            let settled =
                if destination { &mut connection.destination_settled } else { &mut connection.source_settled };
            *settled = true;
        }
    }

    /// A connection's first packet has made it: answers will be recognised from now on.
    pub(super) fn confirm(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id).filter(|connection| !connection.confirmed) {
            connection.confirmed = true;
            self.by_tuple.entry(connection.reply).or_insert((id, Direction::Reply));
        }
    }

    /// A packet has died: a connection that it was to open is forgotten.
    pub(super) fn abandon(&mut self, id: ConnectionId) {
        if self.connections.get(&id).is_some_and(|connection| !connection.confirmed) {
            self.forget(id);
        }
    }

    /// `conntrack -D`: forgets every connection that `which` picks, and says how many there were.
    pub fn delete(&mut self, which: impl Fn(&Connection) -> bool) -> usize {
        let picked = self.connections.iter().filter(|(_, connection)| which(connection)).map(|(id, _)| *id);
        let picked: Vec<ConnectionId> = picked.collect();
        picked.iter().for_each(|id| self.forget(*id));
        picked.len()
    }

    /// Forgets what has timed out.
    pub fn expire(&mut self, now: Instant) {
        while let Some((at, id)) = self.by_expiry.first().copied().filter(|(at, _)| *at <= now) {
            self.by_expiry.remove(&(at, id));
            self.forget(id);
        }
    }

    fn forget(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.by_expiry.remove(&(connection.expires, id));
        for tuple in [connection.original, connection.reply] {
            if self.by_tuple.get(&tuple).is_some_and(|(owner, _)| *owner == id) {
                self.by_tuple.remove(&tuple);
            }
        }
    }

    /// What `conntrack -L` prints at this time, of one protocol or all.
    pub fn list(&self, protocol: Option<Protocol>, now: Instant) -> String {
        let known = self.connections().map(|(_, connection)| connection).filter(|there| there.expires > now);
        let asked = known.filter(|there| protocol.is_none_or(|protocol| protocol == there.original.protocol));
        asked.map(|connection| connection.line(now)).collect()
    }
}

impl Connection {
    fn line(&self, now: Instant) -> String {
        let protocol = self.original.protocol;
        let phase = if protocol == Protocol::Tcp { format!("{} ", self.phase) } else { String::new() };
        let unanswered = if self.answered { "" } else { "[UNREPLIED] " };
        let assured = if self.answered && self.phase != Phase::Answered { "[ASSURED] " } else { "" };
        format!(
            "{:<8} {} {} {phase}{} {unanswered}{} {assured}mark=0 use=1\n",
            protocol.as_str(),
            protocol.number(),
            (self.expires - now).as_secs(),
            ends(self.original, "type=8 code=0 "),
            ends(self.reply, "type=0 code=0 "),
        )
    }
}

fn ends(tuple: Tuple, echo: &str) -> String {
    let Tuple { protocol, source, source_port, destination, destination_port } = tuple;
    match protocol {
        Protocol::Icmp => format!("src={source} dst={destination} {echo}id={source_port}"),
        _ => format!("src={source} dst={destination} sport={source_port} dport={destination_port}"),
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Opening => "SYN_SENT",
            Phase::Answered => "SYN_RECV",
            Phase::Established => "ESTABLISHED",
            Phase::Closing => "TIME_WAIT",
        })
    }
}

/// The first port that NAT gives away.
const FIRST_PORT: u16 = 1024;

/// How long a connection is remembered. Linux' defaults, and kube-proxy's for established TCP.
fn timeout(protocol: Protocol, phase: Phase) -> Duration {
    let seconds = match (protocol, phase) {
        (Protocol::Tcp, Phase::Established) => 86_400,
        (Protocol::Tcp, Phase::Answered) => 60,
        (Protocol::Tcp | Protocol::Sctp, _) | (Protocol::Udp, Phase::Established) => 120,
        (Protocol::Udp | Protocol::Icmp, _) => 30,
    };
    Duration::from_secs(seconds)
}
