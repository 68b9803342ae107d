//! Rules as text, the way `iptables-save` prints them.

use std::fmt;

use super::packet::Protocol;
use super::rule::{AddressType, Invertible, Match, RejectWith, Rule, State, TEN_BILLION, Target};
use super::ruleset::{Ruleset, Table};

impl Ruleset {
    /// What `iptables-save` prints. A table that holds nothing but empty chains of hooks is left out, as one that no
    /// program has asked for.
    pub fn save(&self) -> String {
        Table::ALL.into_iter().filter(|table| self.is_used(*table)).map(|table| self.save_table(table)).collect()
    }

    /// One table of it, used or not.
    pub fn save_table(&self, table: Table) -> String {
        let (mut heads, mut lines) = (String::new(), String::new());
        let hooks = table.hooks().iter().map(|hook| hook.chain());
        let own = self.chains(table).map(|(name, _)| name.as_str());
        let own: Vec<&str> = own.filter(|name| !table.hooks().iter().any(|hook| hook.chain() == *name)).collect();
        for name in hooks.chain(own) {
            let Some(chain) = self.chain(table, name) else { continue };
            let is_hook = table.hooks().iter().any(|hook| hook.chain() == name);
            let policy = if is_hook { "ACCEPT" } else { "-" };
            heads += &format!(":{name} {policy} [0:0]\n");
            for rule in &chain.rules {
                lines += format!("-A {name} {rule}").trim_end();
                lines.push('\n');
            }
        }
        format!("*{}\n{heads}{lines}COMMIT\n", table.as_str())
    }

    fn is_used(&self, table: Table) -> bool {
        self.chains(table).count() > table.hooks().len() || self.chains(table).any(|(_, chain)| !chain.rules.is_empty())
    }
}

impl fmt::Display for Rule {
    /// The rule without `-A CHAIN`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        option(&mut words, "-s", self.source.as_ref(), |range| range.network().to_string());
        option(&mut words, "-d", self.destination.as_ref(), |range| range.network().to_string());
        option(&mut words, "-i", self.in_interface.as_deref(), String::clone);
        option(&mut words, "-o", self.out_interface.as_deref(), String::clone);
        option(&mut words, "-p", self.protocol.as_ref(), |protocol| protocol.as_str().to_owned());
        let protocol = self.protocol.as_ref().map_or(Protocol::Tcp, |protocol| protocol.value);
        words.extend(self.matches.iter().map(|matching| match_text(matching, protocol)));
        words.extend(self.target.iter().map(Target::to_string));
        f.write_str(&words.join(" "))
    }
}

fn option<T>(words: &mut Vec<String>, flag: &str, asked: Option<&Invertible<T>>, text: impl Fn(&T) -> String) {
    if let Some(Invertible { value, not }) = asked {
        words.push(format!("{}{flag} {}", bang(*not), text(value)));
    }
}

fn bang(not: bool) -> &'static str {
    if not { "! " } else { "" }
}

fn match_text(matching: &Match, protocol: Protocol) -> String {
    let protocol = protocol.as_str();
    match matching {
        Match::Comment(text) => format!("-m comment --comment {}", quoted(text)),
        Match::OfProtocol => format!("-m {protocol}"),
        Match::SourcePort(asked) => format!("-m {protocol} {}--sport {}", bang(asked.not), ports(asked.value)),
        Match::DestinationPort(asked) => format!("-m {protocol} {}--dport {}", bang(asked.not), ports(asked.value)),
        Match::DestinationPorts(Invertible { value, not }) => {
            let ports: Vec<String> = value.iter().map(u16::to_string).collect();
            format!("-m multiport {}--dports {}", bang(*not), ports.join(","))
        }
        Match::SourceType(asked) => format!("-m addrtype {}--src-type {}", bang(asked.not), asked.value.as_str()),
        Match::DestinationType(asked) => format!("-m addrtype {}--dst-type {}", bang(asked.not), asked.value.as_str()),
        Match::State(Invertible { value, not }) => {
            let mut states = value.clone();
            states.sort_unstable();
            states.dedup();
            let states: Vec<&str> = states.into_iter().map(State::as_str).collect();
            format!("-m conntrack {}--ctstate {}", bang(*not), states.join(","))
        }
        Match::Mark(Invertible { value: (value, mask), not }) => {
            let mask = if *mask == u32::MAX { String::new() } else { format!("/{mask:#x}") };
            format!("-m mark {}--mark {value:#x}{mask}", bang(*not))
        }
        Match::Probability(ten_billionths) => {
            format!("-m statistic --mode random --probability {}", probability(*ten_billionths))
        }
        Match::RecentCheck { name, seconds, reap } => {
            let reap = if *reap { " --reap" } else { "" };
            format!("-m recent --rcheck --seconds {seconds}{reap} --name {name} --mask 255.255.255.255 --rsource")
        }
        Match::RecentSet { name } => format!("-m recent --set --name {name} --mask 255.255.255.255 --rsource"),
        Match::PhysdevIsBridged(asked) => format!("-m physdev {}--physdev-is-bridged", bang(asked.not)),
    }
}

fn ports((first, last): (u16, u16)) -> String {
    if first == last { first.to_string() } else { format!("{first}:{last}") }
}

/// The kernel keeps a probability as so many of 2^31, and prints it back with eleven digits: 0.3333333333 comes back
/// as 0.33333333349.
fn probability(ten_billionths: u64) -> String {
    let of_kernel = u128::from(kernel_probability(ten_billionths));
    let eleven = (of_kernel * 100_000_000_000 + (1 << 30)) >> 31;
    format!("{}.{:011}", eleven / 100_000_000_000, eleven % 100_000_000_000)
}

/// How many of 2^31 draws match.
pub(super) fn kernel_probability(ten_billionths: u64) -> u64 {
    let exact = u128::from(ten_billionths.min(TEN_BILLION)) << 31;
    u64::try_from((exact + u128::from(TEN_BILLION / 2)) / u128::from(TEN_BILLION)).unwrap_or(1 << 31)
}

/// A word as `iptables-save` quotes it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '\'') {
            out.push('\\');
        }
        out.push(c);
    }
    out + "\""
}

impl AddressType {
    /// `LOCAL`.
    pub fn as_str(self) -> &'static str {
        match self {
            AddressType::Local => "LOCAL",
            AddressType::Unicast => "UNICAST",
            AddressType::Multicast => "MULTICAST",
            AddressType::Broadcast => "BROADCAST",
        }
    }
}

impl State {
    /// `ESTABLISHED`.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Invalid => "INVALID",
            State::New => "NEW",
            State::Related => "RELATED",
            State::Established => "ESTABLISHED",
            State::Untracked => "UNTRACKED",
            State::Snat => "SNAT",
            State::Dnat => "DNAT",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Accept => f.write_str("-j ACCEPT"),
            Target::Drop => f.write_str("-j DROP"),
            Target::Reject(RejectWith::Icmp(code)) => write!(f, "-j REJECT --reject-with {}", code.as_str()),
            Target::Reject(RejectWith::TcpReset) => f.write_str("-j REJECT --reject-with tcp-reset"),
            Target::Return => f.write_str("-j RETURN"),
            Target::Jump(chain) => write!(f, "-j {chain}"),
            Target::Goto(chain) => write!(f, "-g {chain}"),
            Target::SetXmark { value, mask } => write!(f, "-j MARK --set-xmark {value:#x}/{mask:#x}"),
            Target::Dnat(address, port) => {
                write!(f, "-j DNAT --to-destination {address}")?;
                port.map_or(Ok(()), |port| write!(f, ":{port}"))
            }
            Target::Snat(address) => write!(f, "-j SNAT --to-source {address}"),
            Target::Masquerade { random_fully } => {
                f.write_str("-j MASQUERADE")?;
                if *random_fully { f.write_str(" --random-fully") } else { Ok(()) }
            }
            Target::Redirect(port) => write!(f, "-j REDIRECT --to-ports {port}"),
            Target::NoTrack => f.write_str("-j CT --notrack"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_is_what_the_kernel_makes_of_it() {
        for (n, text) in [(2, "0.50000000000"), (3, "0.33333333349"), (10, "0.10000000009")] {
            let rule = Rule::jump("X").one_in(n);
            assert_eq!(rule.to_string(), format!("-m statistic --mode random --probability {text} -j X"));
        }
        assert_eq!(Rule::jump("X").one_in(3).matches, [Match::Probability(3_333_333_333)]);
        assert_eq!(Rule::jump("X").one_in(1).to_string(), "-j X");
    }

    #[test]
    fn rules_print_as_iptables_save_prints_them() {
        let pods = "10.244.0.7/24".parse().unwrap();
        for (rule, text) in [
            (Rule::or_mark(0x4000), "-j MARK --set-xmark 0x4000/0x4000"),
            (Rule::xor_mark(0x4000), "-j MARK --set-xmark 0x4000/0x0"),
            (Rule::new(Target::Return).not_marked(0x4000), "-m mark ! --mark 0x4000/0x4000 -j RETURN"),
            (Rule::new(Target::Accept).not_source(pods), "! -s 10.244.0.0/24 -j ACCEPT"),
            (Rule::new(Target::Accept).in_interface("cni0").comment("a"), "-i cni0 -m comment --comment a -j ACCEPT"),
            (
                Rule::new(Target::Drop).state(&[State::Established, State::Related]),
                "-m conntrack --ctstate RELATED,ESTABLISHED -j DROP",
            ),
            (
                Rule::reject().protocol(Protocol::Udp).comment("it's").dport(53),
                "-p udp -m comment --comment \"it\\'s\" -m udp --dport 53 -j REJECT --reject-with icmp-port-unreachable",
            ),
            (Rule::jump("N").to_local().comment("last"), "-m addrtype --dst-type LOCAL -m comment --comment last -j N"),
        ] {
            assert_eq!(rule.to_string(), text);
        }
    }

    #[test]
    fn an_unused_table_is_not_saved() {
        let mut ruleset = Ruleset::default();
        assert_eq!(ruleset.save(), "");
        ruleset.make_chain(Table::Nat, "KUBE-MARK-MASQ");
        ruleset.append(Table::Nat, "KUBE-MARK-MASQ", Rule::or_mark(0x4000)).unwrap();
        let expected = "\
            *nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n\
            :KUBE-MARK-MASQ - [0:0]\n-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000\nCOMMIT\n";
        assert_eq!(ruleset.save(), expected);
    }
}
