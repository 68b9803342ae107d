//! Rules: what a packet must look like, and what then becomes of it.
//!
//! A rule is built as one writes it for iptables, in any order:
//!
//! ```
//! # use kubestep_network::netfilter::{Protocol, Rule, Target};
//! let rule = Rule::jump("KUBE-SVC-ABC")
//!     .comment("default/web cluster IP")
//!     .protocol(Protocol::Tcp)
//!     .destination("10.96.0.10/32".parse().unwrap())
//!     .dport(80);
//! let text = "-d 10.96.0.10/32 -p tcp -m comment --comment \"default/web cluster IP\" -m tcp --dport 80 -j KUBE-SVC-ABC";
//! assert_eq!(rule.to_string(), text);
//! ```

use std::net::Ipv4Addr;

use super::cidr::Cidr;
use super::packet::{Protocol, Unreachable};
use object::text::Text;

/// A value that a rule asks for, or (`!`) asks not to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invertible<T> {
    /// The value.
    pub value: T,
    /// `!`: the rule matches what is otherwise.
    pub not: bool,
}

impl<T> Invertible<T> {
    /// Asks for a value.
    pub fn is(value: T) -> Invertible<T> {
        Invertible { value, not: false }
    }

    /// Asks for anything else.
    pub fn not(value: T) -> Invertible<T> {
        Invertible { value, not: true }
    }
}

/// One rule. What is None is not asked for. There are some for each Pod, and few name an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// `-s`.
    pub source: Option<Invertible<Cidr>>,
    /// `-d`.
    pub destination: Option<Invertible<Cidr>>,
    /// `-i`; a trailing `+` stands for any ending.
    pub in_interface: Option<Box<Invertible<String>>>,
    /// `-o`, in the same way.
    pub out_interface: Option<Box<Invertible<String>>>,
    /// `-p`.
    pub protocol: Option<Invertible<Protocol>>,
    /// `-m …`, in order; all must match.
    pub matches: Vec<Match>,
    /// `-j` or `-g`; None: the rule only counts, or marks in passing (`recent`).
    pub target: Option<Target>,
}

/// A match extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// `-m comment`: matches everything.
    Comment(Text),
    /// `-m tcp`, or udp, sctp, alone: the rule must ask for the protocol, and that is all.
    OfProtocol,
    /// `-m tcp --sport`, or udp, sctp: first and last port. The rule must ask for the protocol.
    SourcePort(Invertible<(u16, u16)>),
    /// `-m tcp --dport`.
    DestinationPort(Invertible<(u16, u16)>),
    /// `-m multiport --dports`.
    DestinationPorts(Invertible<Vec<u16>>),
    /// `-m addrtype --src-type`.
    SourceType(Invertible<AddressType>),
    /// `-m addrtype --dst-type`.
    DestinationType(Invertible<AddressType>),
    /// `-m conntrack --ctstate`: one of these.
    State(Invertible<Vec<State>>),
    /// `-m mark --mark value/mask`.
    Mark(Invertible<(u32, u32)>),
    /// `-m statistic --mode random --probability`: in ten-billionths, as kube-proxy writes ten digits.
    Probability(u64),
    /// `-m recent --rcheck --seconds S --reap --name N`: the source was noted in this list lately.
    RecentCheck {
        /// The list.
        name: String,
        /// How lately, in seconds.
        seconds: u32,
        /// Older entries are thrown out of the list.
        reap: bool,
    },
    /// `-m recent --set --name N`: notes the source in this list; always matches.
    RecentSet {
        /// The list.
        name: String,
    },
    /// `-m physdev --physdev-is-bridged`.
    PhysdevIsBridged(Invertible<()>),
}

/// What sort of address it is, to the host that looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressType {
    /// One of the host's own, 127.0.0.0/8 included.
    Local,
    /// One of a single other machine.
    Unicast,
    /// 224.0.0.0/4.
    Multicast,
    /// 255.255.255.255.
    Broadcast,
}

/// What conntrack says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It makes no sense.
    Invalid,
    /// It is the first of its connection, or no answer has been seen yet.
    New,
    /// It is an error about a known connection.
    Related,
    /// Packets have gone both ways.
    Established,
    /// It was exempt from tracking.
    Untracked,
    /// The source was changed.
    Snat,
    /// The destination was changed.
    Dnat,
}

/// What becomes of a packet that a rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The table has no objection.
    Accept,
    /// The packet is gone, without a word.
    Drop,
    /// The packet is gone, and its sender is told.
    Reject(RejectWith),
    /// Back to the chain that jumped here.
    Return,
    /// Through another chain, and then on here.
    Jump(String),
    /// Through another chain, and then on where this one was called from.
    Goto(String),
    /// `MARK --set-xmark value/mask`: the mask's bits are cleared, then the value's flipped.
    SetXmark {
        /// Flipped.
        value: u32,
        /// Cleared before.
        mask: u32,
    },
    /// The destination becomes this address, and port if one is given.
    Dnat(Ipv4Addr, Option<u16>),
    /// The source becomes this address.
    Snat(Ipv4Addr),
    /// The source becomes the address of the interface by which the packet leaves.
    Masquerade {
        /// The source port is drawn at random, which spares two packets from wanting the same one.
        random_fully: bool,
    },
    /// The destination becomes this host, at this port.
    Redirect(u16),
    /// Conntrack is not to look at it. In the raw table.
    NoTrack,
}

/// How REJECT tells the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectWith {
    /// An ICMP error.
    Icmp(Unreachable),
    /// `tcp-reset`.
    TcpReset,
}

impl Rule {
    /// A rule that asks for nothing and does this.
    pub fn new(target: Target) -> Rule {
        Rule { target: Some(target), ..Rule::default() }
    }

    /// A rule that jumps to a chain.
    pub fn jump(chain: impl Into<String>) -> Rule {
        Rule::new(Target::Jump(chain.into()))
    }

    /// `-j MARK --or-mark bits`.
    pub fn or_mark(bits: u32) -> Rule {
        Rule::new(Target::SetXmark { value: bits, mask: bits })
    }

    /// `-j MARK --xor-mark bits`.
    pub fn xor_mark(bits: u32) -> Rule {
        Rule::new(Target::SetXmark { value: bits, mask: 0 })
    }

    /// `-j REJECT`, with its usual answer.
    pub fn reject() -> Rule {
        Rule::new(Target::Reject(RejectWith::Icmp(Unreachable::Port)))
    }

    /// `-j DNAT --to-destination address:port`.
    pub fn dnat(address: Ipv4Addr, port: u16) -> Rule {
        Rule::new(Target::Dnat(address, Some(port)))
    }

    /// `-s`.
    pub fn source(mut self, range: Cidr) -> Rule {
        self.source = Some(Invertible::is(range));
        self
    }

    /// `! -s`.
    pub fn not_source(mut self, range: Cidr) -> Rule {
        self.source = Some(Invertible::not(range));
        self
    }

    /// `-d`.
    pub fn destination(mut self, range: Cidr) -> Rule {
        self.destination = Some(Invertible::is(range));
        self
    }

    /// `! -d`.
    pub fn not_destination(mut self, range: Cidr) -> Rule {
        self.destination = Some(Invertible::not(range));
        self
    }

    /// `-i`.
    pub fn in_interface(mut self, name: impl Into<String>) -> Rule {
        self.in_interface = Some(Invertible::is(name.into()).into());
        self
    }

    /// `-o`.
    pub fn out_interface(mut self, name: impl Into<String>) -> Rule {
        self.out_interface = Some(Invertible::is(name.into()).into());
        self
    }

    /// `-p`.
    pub fn protocol(mut self, protocol: Protocol) -> Rule {
        self.protocol = Some(Invertible::is(protocol));
        self
    }

    /// `-m comment --comment`.
    pub fn comment(self, text: impl Into<Text>) -> Rule {
        self.and(Match::Comment(text.into()))
    }

    /// `--dport`; the rule also needs a protocol.
    pub fn dport(self, port: u16) -> Rule {
        self.and(Match::DestinationPort(Invertible::is((port, port))))
    }

    /// `-m addrtype --dst-type LOCAL`.
    pub fn to_local(self) -> Rule {
        self.and(Match::DestinationType(Invertible::is(AddressType::Local)))
    }

    /// `-m addrtype --src-type LOCAL`.
    pub fn from_local(self) -> Rule {
        self.and(Match::SourceType(Invertible::is(AddressType::Local)))
    }

    /// `-m conntrack --ctstate`.
    pub fn state(self, states: &[State]) -> Rule {
        self.and(Match::State(Invertible::is(states.to_vec())))
    }

    /// `-m mark --mark bits/bits`.
    pub fn marked(self, bits: u32) -> Rule {
        self.and(Match::Mark(Invertible::is((bits, bits))))
    }

    /// `-m mark ! --mark bits/bits`.
    pub fn not_marked(self, bits: u32) -> Rule {
        self.and(Match::Mark(Invertible::not((bits, bits))))
    }

    /// `-m statistic --mode random --probability 1/n`. Nothing for n of 0 or 1, which is always.
    pub fn one_in(self, n: u64) -> Rule {
        match n {
            0 | 1 => self,
            _ => self.and(Match::Probability((2 * TEN_BILLION + n) / (2 * n))),
        }
    }

    /// One more match.
    pub fn and(mut self, more: Match) -> Rule {
        self.matches.push(more);
        self
    }
}

/// Ten digits behind the point.
pub(super) const TEN_BILLION: u64 = 10_000_000_000;
