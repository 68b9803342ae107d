//! An IP packet: what is on the wire, and what one kernel notes beside it.

use std::fmt;
use std::net::Ipv4Addr;

/// The protocols that Services know, and the one that `ping` uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// 1.
    Icmp,
    /// 6.
    Tcp,
    /// 17.
    Udp,
    /// 132.
    Sctp,
}

impl Protocol {
    /// As rules write it: `tcp`.
    pub fn as_str(self) -> &'static str {
        match self {
            Protocol::Icmp => "icmp",
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Sctp => "sctp",
        }
    }

    /// Its number in the IP header.
    pub fn number(self) -> u8 {
        match self {
            Protocol::Icmp => 1,
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
            Protocol::Sctp => 132,
        }
    }

    /// As a Service writes it, in any case: `TCP`. None if it is another.
    pub fn parse(text: &str) -> Option<Protocol> {
        let known = [Protocol::Icmp, Protocol::Tcp, Protocol::Udp, Protocol::Sctp];
        known.into_iter().find(|protocol| protocol.as_str().eq_ignore_ascii_case(text))
    }
}

/// The five values that name one direction of a connection. An ICMP echo has its identifier in the place of both ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tuple {
    /// The protocol.
    pub protocol: Protocol,
    /// Who sends.
    pub source: Ipv4Addr,
    /// From which port.
    pub source_port: u16,
    /// Who receives.
    pub destination: Ipv4Addr,
    /// At which port.
    pub destination_port: u16,
}

impl Tuple {
    /// The other direction.
    pub fn inverted(self) -> Tuple {
        Tuple {
            protocol: self.protocol,
            source: self.destination,
            source_port: self.destination_port,
            destination: self.source,
            destination_port: self.source_port,
        }
    }
}

/// Why an ICMP "destination unreachable" was sent; iptables' names for REJECT's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unreachable {
    /// Code 0: no route.
    Net,
    /// Code 1: no machine answers for the address.
    Host,
    /// Code 3: no process listens, or a REJECT without more.
    Port,
    /// Code 10: REJECT `--reject-with icmp-host-prohibited`.
    HostProhibited,
    /// Code 13: REJECT `--reject-with icmp-admin-prohibited`.
    AdminProhibited,
}

impl Unreachable {
    /// `icmp-port-unreachable`, as REJECT writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Unreachable::Net => "icmp-net-unreachable",
            Unreachable::Host => "icmp-host-unreachable",
            Unreachable::Port => "icmp-port-unreachable",
            Unreachable::HostProhibited => "icmp-host-prohibited",
            Unreachable::AdminProhibited => "icmp-admin-prohibited",
        }
    }
}

/// What a packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// TCP, SYN: may we talk?
    Syn,
    /// TCP, SYN and ACK: yes.
    SynAck,
    /// TCP, RST: no, or not any more.
    Rst,
    /// TCP, FIN: that was all.
    Fin,
    /// TCP, ACK alone.
    Ack,
    /// Bytes, over TCP or UDP.
    Data(String),
    /// ICMP echo request, with its sequence number.
    Echo(u16),
    /// ICMP echo reply.
    EchoReply(u16),
    /// ICMP: a packet with these addresses could not be delivered.
    Unreachable {
        /// Why.
        code: Unreachable,
        /// The packet's addresses as they were on the wire where it died.
        original: Tuple,
    },
    /// ICMP: a packet with these addresses went through too many routers.
    TimeExceeded {
        /// The packet's addresses.
        original: Tuple,
    },
}

impl Payload {
    /// What a sniffer would call it.
    pub fn name(&self) -> String {
        match self {
            Payload::Syn => "SYN".into(),
            Payload::SynAck => "SYN,ACK".into(),
            Payload::Rst => "RST".into(),
            Payload::Fin => "FIN,ACK".into(),
            Payload::Ack => "ACK".into(),
            Payload::Data(text) => text.lines().next().unwrap_or_default().to_owned(),
            Payload::Echo(sequence) => format!("echo request seq {sequence}"),
            Payload::EchoReply(sequence) => format!("echo reply seq {sequence}"),
            Payload::Unreachable { code, .. } => code.as_str().into(),
            Payload::TimeExceeded { .. } => "icmp-time-exceeded".into(),
        }
    }

    /// Of an ICMP error: the addresses of the packet that it is about.
    pub fn about(&self) -> Option<Tuple> {
        match self {
            Payload::Unreachable { original, .. } | Payload::TimeExceeded { original } => Some(*original),
            _ => None,
        }
    }
}

/// A packet where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its addresses.
    pub tuple: Tuple,
    /// What it carries.
    pub payload: Payload,
    /// How many more routers it may pass.
    pub ttl: u8,
    /// It belongs to a kubelet's probe. Nothing on the wire says so; it is for display.
    pub probes: bool,
    /// What the kernel where it is notes about it. Nothing of this is on the wire.
    pub noted: Noted,
}

/// What a kernel keeps beside a packet: parts of Linux' `struct sk_buff`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// The firewall mark, by which chains tell one another things.
    pub mark: u32,
    /// The interface it came in by; empty if a process of this host sent it.
    pub in_interface: String,
    /// The interface it will leave by; empty before routing, and if it is for this host.
    pub out_interface: String,
    /// It goes from one port of a bridge to another, and IP sees it only because of br_netfilter.
    pub bridged: bool,
    /// Its connection, once conntrack has looked.
    pub connection: Option<(ConnectionId, Direction)>,
    /// It belongs to no connection that conntrack can make sense of.
    pub invalid: bool,
}

/// A connection's number within one kernel; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// As the first one did.
    Original,
    /// Back.
    Reply,
}

impl Packet {
    /// A packet as a process sends it.
    pub fn new(tuple: Tuple, payload: Payload) -> Packet {
        Packet { tuple, payload, ttl: 64, probes: false, noted: Noted::default() }
    }

    /// The packet that answers it, with everything the other way round.
    pub fn answer(&self, payload: Payload) -> Packet {
        Packet { probes: self.probes, ..Packet::new(self.tuple.inverted(), payload) }
    }

    /// An ICMP error about it, from `router` to its sender.
    pub fn error(&self, router: Ipv4Addr, payload: Payload) -> Packet {
        let (source_port, destination_port) = (0, 0);
        let destination = self.tuple.source;
        let tuple = Tuple { protocol: Protocol::Icmp, source: router, source_port, destination, destination_port };
        Packet { probes: self.probes, ..Packet::new(tuple, payload) }
    }
}

impl fmt::Display for Packet {
    /// `tcp 10.244.0.2:40000 > 10.96.0.10:53 SYN`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tuple { protocol, source, source_port, destination, destination_port } = self.tuple;
        match protocol {
            Protocol::Icmp => write!(f, "icmp {source} > {destination} {}", self.payload.name()),
            _ => write!(
                f,
                "{} {source}:{source_port} > {destination}:{destination_port} {}",
                protocol.as_str(),
                self.payload.name()
            ),
        }
    }
}
