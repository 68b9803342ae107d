//! Services as rules of iptables. Mirrors `syncProxyRules` of `pkg/proxy/iptables/proxier.go`.
//!
//! A packet to a Service comes through these chains of the nat table:
//!
//! ```text
//! PREROUTING, OUTPUT -> KUBE-SERVICES -+-> KUBE-SVC-x (or -SVL-: endpoints of this node only) -> KUBE-SEP-y -> DNAT
//!                                      +-> KUBE-NODEPORTS -> KUBE-EXT-x -> KUBE-SVC-x …
//! POSTROUTING -> KUBE-POSTROUTING: what KUBE-MARK-MASQ has marked leaves with the node's address
//! ```
//!
//! KUBE-SVC-x draws lots: the first of n endpoints with probability 1/n, the next with 1/(n-1), the last always, which
//! gives each the same chance. A port without endpoints has no chain there; a rule of the filter table rejects what is
//! sent to it, so that clients need not wait for a timeout.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::portal::{Backend, Choice, Location, Portal};
use crate::netfilter::{Change, Cidr, Match, Netfilter, Protocol, Rule, RulesetError, State, Table, Target};

/// Marks packets whose source is to become the node's.
pub const MASQUERADE_MARK: u32 = 0x4000;

const SERVICES: &str = "KUBE-SERVICES";
const EXTERNAL_SERVICES: &str = "KUBE-EXTERNAL-SERVICES";
const NODE_PORTS: &str = "KUBE-NODEPORTS";
const FORWARD: &str = "KUBE-FORWARD";
const FIREWALL: &str = "KUBE-PROXY-FIREWALL";
const POSTROUTING: &str = "KUBE-POSTROUTING";
const MARK_MASQ: &str = "KUBE-MARK-MASQ";
/// Holds nothing: when it is gone, another program has flushed the tables.
const CANARY: &str = "KUBE-PROXY-CANARY";

/// A jump from a hook's chain: table, from, to, why, and whether only for the first packet of a connection.
type Jump = (Table, &'static str, &'static str, &'static str, bool);

/// Put first in their chains one after another, so that the last of them is asked first.
const JUMPS: [Jump; 12] = [
    (Table::Filter, "INPUT", EXTERNAL_SERVICES, "kubernetes externally-visible service portals", true),
    (Table::Filter, "FORWARD", EXTERNAL_SERVICES, "kubernetes externally-visible service portals", true),
    (Table::Filter, "INPUT", NODE_PORTS, "kubernetes health check service ports", false),
    (Table::Filter, "FORWARD", SERVICES, "kubernetes service portals", true),
    (Table::Filter, "OUTPUT", SERVICES, "kubernetes service portals", true),
    (Table::Filter, "FORWARD", FORWARD, "kubernetes forwarding rules", false),
    (Table::Filter, "INPUT", FIREWALL, "kubernetes load balancer firewall", true),
    (Table::Filter, "OUTPUT", FIREWALL, "kubernetes load balancer firewall", true),
    (Table::Filter, "FORWARD", FIREWALL, "kubernetes load balancer firewall", true),
    (Table::Nat, "OUTPUT", SERVICES, "kubernetes service portals", false),
    (Table::Nat, "PREROUTING", SERVICES, "kubernetes service portals", false),
    (Table::Nat, "POSTROUTING", POSTROUTING, "kubernetes postrouting rules", false),
];

/// Makes the chains that are always there, and the jumps to them. Others' rules stay.
pub fn prepare(netfilter: &mut Netfilter) -> Result<(), RulesetError> {
    let rules = &mut netfilter.rules;
    for table in [Table::Mangle, Table::Nat, Table::Filter] {
        rules.make_chain(table, CANARY);
    }
    for chain in [SERVICES, EXTERNAL_SERVICES, FORWARD, NODE_PORTS, FIREWALL] {
        rules.make_chain(Table::Filter, chain);
    }
    for chain in [SERVICES, NODE_PORTS, POSTROUTING, MARK_MASQ] {
        rules.make_chain(Table::Nat, chain);
    }
    for (table, from, to, why, only_new) in JUMPS {
        let rule = if only_new { Rule::jump(to).state(&[State::New]) } else { Rule::jump(to) };
        rules.insert(table, from, rule.comment(why))?;
    }
    Ok(())
}

/// What one portal adds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contribution {
    /// Chains of its own in the nat table.
    pub chains: BTreeMap<String, Vec<Rule>>,
    /// Rules in chains that all portals share.
    pub shared: Vec<(Table, &'static str, Rule)>,
}

/// How rules are written.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Where Pods' addresses lie: what comes from elsewhere is masqueraded.
    pub pods: Cidr,
    /// With very many endpoints, comments about each would take too much room.
    pub comments: bool,
}

/// The rules of one portal.
pub fn contribute(portal: &Portal, here: &Location, style: Style) -> Contribution {
    let writer = Writer { portal, choice: portal.choose(here), style, node: here };
    let mut out = Contribution::default();
    writer.capture(&mut out);
    if writer.choice.any {
        writer.own_chains(&mut out);
    }
    out
}

/// All the shared chains of a table, from what all portals add in order.
pub fn shared_chains<'a>(contributions: impl Iterator<Item = &'a Contribution> + Clone) -> [(Table, Change); 2] {
    let of = |table: Table, fixed: Vec<(&str, Vec<Rule>)>| {
        let chains = fixed.into_iter().map(|(name, rules)| (name.to_owned(), rules));
        let mut change = Change { chains: chains.collect(), delete: Vec::new() };
        for (_, chain, rule) in contributions.clone().flat_map(|one| &one.shared).filter(|(t, _, _)| *t == table) {
            change.chains.entry((*chain).to_owned()).or_default().push(rule.clone());
        }
        change
    };
    let empty = |chains: &[&'static str]| chains.iter().map(|chain| (*chain, Vec::new())).collect::<Vec<_>>();
    let mut filter = empty(&[SERVICES, EXTERNAL_SERVICES, NODE_PORTS, FIREWALL]);
    filter.push((FORWARD, forwarding()));
    let mut nat = empty(&[SERVICES, NODE_PORTS]);
    nat.extend([(POSTROUTING, postrouting()), (MARK_MASQ, vec![Rule::or_mark(MASQUERADE_MARK)])]);
    let (filter, mut nat) = (of(Table::Filter, filter), of(Table::Nat, nat));
    const LAST: &str = "kubernetes service nodeports; NOTE: this must be the last rule in this chain";
    let node_ports = Rule::jump(NODE_PORTS).comment(LAST).to_local();
    nat.chains.entry(SERVICES.to_owned()).or_default().push(node_ports);
    [(Table::Filter, filter), (Table::Nat, nat)]
}

/// The chains of single Services that exist, no matter which program made them.
pub fn service_chains(netfilter: &Netfilter) -> impl Iterator<Item = String> + '_ {
    const PREFIXES: [&str; 5] = ["KUBE-SVC-", "KUBE-SVL-", "KUBE-EXT-", "KUBE-FW-", "KUBE-SEP-"];
    let names = netfilter.rules.chains(Table::Nat).map(|(name, _)| name);
    names.filter(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix))).cloned()
}

fn forwarding() -> Vec<Rule> {
    vec![
        Rule::new(Target::Drop).state(&[State::Invalid]),
        Rule::new(Target::Accept).comment("kubernetes forwarding rules").marked(MASQUERADE_MARK),
        Rule::new(Target::Accept)
            .comment("kubernetes forwarding conntrack rule")
            .state(&[State::Related, State::Established]),
    ]
}

fn postrouting() -> Vec<Rule> {
    vec![
        Rule::new(Target::Return).not_marked(MASQUERADE_MARK),
        // Cleared, lest a packet that comes through here again is masqueraded twice.
        Rule::xor_mark(MASQUERADE_MARK),
        Rule::new(Target::Masquerade { random_fully: true }).comment("kubernetes service traffic requiring SNAT"),
    ]
}

/// Writes the rules of one portal.
struct Writer<'a> {
    portal: &'a Portal,
    choice: Choice<'a>,
    style: Style,
    node: &'a Location,
}

impl Writer<'_> {
    fn chain(&self, prefix: &str) -> String {
        self.portal.name.chain(prefix)
    }

    fn policy_chain(&self, local: bool) -> String {
        self.chain(if local { "KUBE-SVL-" } else { "KUBE-SVC-" })
    }

    /// `-p tcp … -m tcp --dport 80`, with a comment in between, as `iptables-save` orders them.
    fn to_port(&self, rule: Rule, comment: &str, port: u16) -> Rule {
        rule.protocol(self.portal.name.protocol).comment(format!("{}{comment}", self.portal.name)).dport(port)
    }

    fn has_internal(&self) -> bool {
        self.choice.any && (!self.portal.internal_local || !self.choice.local.is_empty())
    }

    fn has_external(&self) -> bool {
        self.choice.any && (!self.portal.external_local || !self.choice.local.is_empty())
    }

    fn is_guarded(&self) -> bool {
        self.choice.any && !self.portal.load_balancer_ips.is_empty() && !self.portal.source_ranges.is_empty()
    }

    /// What becomes of packets to a portal that no endpoint takes: told if there is none at all, dropped if there are
    /// some, but not here.
    fn refusal(&self) -> (Rule, &'static str) {
        if self.choice.any {
            (Rule::new(Target::Drop), " has no local endpoints")
        } else {
            (Rule::reject(), " has no endpoints")
        }
    }

    /// The rules of the shared chains: addresses of the Service, and where they lead.
    fn capture(&self, out: &mut Contribution) {
        let portal = self.portal;
        let (cluster_ip, port) = (Cidr::host(portal.cluster_ip), portal.port);
        let mut add = |table, chain, rule| out.shared.push((table, chain, rule));
        if self.has_internal() {
            let rule = Rule::jump(self.policy_chain(portal.internal_local)).destination(cluster_ip);
            add(Table::Nat, SERVICES, self.to_port(rule, " cluster IP", port));
        } else {
            let (rule, why) = self.refusal();
            add(Table::Filter, SERVICES, self.to_port(rule.destination(cluster_ip), why, port));
        }
        let balanced = if self.is_guarded() { "KUBE-FW-" } else { "KUBE-EXT-" };
        let outside = portal.external_ips.iter().map(|ip| (ip, " external IP", "KUBE-EXT-"));
        let outside = outside.chain(portal.load_balancer_ips.iter().map(|ip| (ip, " loadbalancer IP", balanced)));
        for (ip, comment, chain) in outside {
            if self.choice.any {
                let rule = Rule::jump(self.chain(chain)).destination(Cidr::host(*ip));
                add(Table::Nat, SERVICES, self.to_port(rule, comment, port));
            }
            if chain == "KUBE-FW-" {
                let rule = Rule::new(Target::Drop).destination(Cidr::host(*ip));
                let comment = format!(" traffic not accepted by {}", self.chain(chain));
                add(Table::Filter, FIREWALL, self.to_port(rule, &comment, port));
            }
            if !self.has_external() {
                let (rule, why) = self.refusal();
                add(Table::Filter, EXTERNAL_SERVICES, self.to_port(rule.destination(Cidr::host(*ip)), why, port));
            }
        }
        let Some(node_port) = portal.node_port else { return };
        if self.choice.any {
            let rule = Rule::jump(self.chain("KUBE-EXT-"));
            add(Table::Nat, NODE_PORTS, self.to_port(rule, "", node_port));
        }
        if !self.has_external() {
            let (rule, why) = self.refusal();
            let rule = rule.protocol(portal.name.protocol).comment(format!("{}{why}", portal.name)).to_local();
            add(Table::Filter, EXTERNAL_SERVICES, rule.dport(node_port));
        }
    }

    /// The portal's own chains.
    fn own_chains(&self, out: &mut Contribution) {
        let portal = self.portal;
        let mut chains: BTreeMap<String, Vec<Rule>> = BTreeMap::new();
        if portal.uses_cluster() && !self.choice.cluster.is_empty() {
            chains.insert(self.policy_chain(false), self.lots(&self.choice.cluster));
        }
        if portal.uses_local() && !self.choice.local.is_empty() {
            chains.insert(self.policy_chain(true), self.lots(&self.choice.local));
        }
        if self.has_internal() {
            // A client outside may have a route to cluster IPs over this node: answers must come back here.
            let rule = Rule::jump(MARK_MASQ).not_source(self.style.pods).destination(Cidr::host(portal.cluster_ip));
            let rule = self.to_port(rule, " cluster IP", portal.port);
            chains.entry(self.policy_chain(portal.internal_local)).or_default().insert(0, rule);
        }
        if portal.is_external() {
            chains.insert(self.chain("KUBE-EXT-"), self.outside_rules());
        }
        if self.is_guarded() {
            chains.insert(self.chain("KUBE-FW-"), self.guard());
        }
        for backend in &self.choice.reachable {
            chains.insert(portal.name.endpoint_chain(&backend.to_string()), self.to_endpoint(backend));
        }
        out.chains = chains;
    }

    /// Draws one of the endpoints; a client that was here lately keeps its own.
    fn lots(&self, backends: &[&Backend]) -> Vec<Rule> {
        let name = &self.portal.name;
        let note = |rule: Rule, backend: &Backend| {
            if self.style.comments { rule.comment(format!("{name} -> {backend}")) } else { rule }
        };
        let mut rules = Vec::with_capacity(backends.len() + 1);
        for backend in backends.iter().filter(|_| self.portal.affinity.is_some()) {
            let chain = name.endpoint_chain(&backend.to_string());
            let seconds = self.portal.affinity.unwrap_or_default();
            let lately = Match::RecentCheck { name: chain.clone(), seconds, reap: true };
            rules.push(note(Rule::jump(chain), backend).and(lately));
        }
        for (i, backend) in backends.iter().enumerate() {
            let rule = Rule::jump(name.endpoint_chain(&backend.to_string()));
            rules.push(note(rule, backend).one_in((backends.len() - i) as u64));
        }
        rules
    }

    /// What comes to a node port or an external address.
    fn outside_rules(&self) -> Vec<Rule> {
        let (portal, name) = (self.portal, &self.portal.name);
        let mut rules = Vec::new();
        if portal.external_local {
            let cluster = || Rule::jump(self.policy_chain(false));
            let pods = cluster().source(self.style.pods);
            rules.push(pods.comment(format!("pod traffic for {name} external destinations")));
            let own =
                Rule::jump(MARK_MASQ).comment(format!("masquerade LOCAL traffic for {name} external destinations"));
            rules.push(own.from_local());
            let own = cluster().comment(format!("route LOCAL traffic for {name} external destinations"));
            rules.push(own.from_local());
        } else {
            rules.push(Rule::jump(MARK_MASQ).comment(format!("masquerade traffic for {name} external destinations")));
        }
        if self.has_external() {
            rules.push(Rule::jump(self.policy_chain(portal.external_local)));
        }
        rules
    }

    /// Who may come through a load balancer.
    fn guard(&self) -> Vec<Rule> {
        let (portal, name) = (self.portal, &self.portal.name);
        let passes = |range: &Cidr| {
            Rule::jump(self.chain("KUBE-EXT-")).source(*range).comment(format!("{name} loadbalancer IP"))
        };
        let mut rules: Vec<Rule> = portal.source_ranges.iter().map(passes).collect();
        if self.node.ip.is_some_and(|ip| portal.source_ranges.iter().any(|range| range.contains(ip))) {
            rules.extend(portal.load_balancer_ips.iter().map(|ip| passes(&Cidr::host(*ip))));
        }
        let rest = format!("other traffic to {name} will be dropped by {FIREWALL}");
        rules.push(Rule::default().comment(rest));
        rules
    }

    /// To one endpoint: a Pod that reaches itself must not see itself as the client.
    fn to_endpoint(&self, backend: &Backend) -> Vec<Rule> {
        let name = &self.portal.name;
        let note = |rule: Rule| if self.style.comments { rule.comment(name.to_string()) } else { rule };
        let hairpin = note(Rule::jump(MARK_MASQ).source(Cidr::host(backend.ip)));
        let mut there = note(Rule::dnat(backend.ip, backend.port).protocol(name.protocol));
        if self.portal.affinity.is_some() {
            there = there.and(Match::RecentSet { name: name.endpoint_chain(&backend.to_string()) });
        }
        vec![hairpin, there.and(Match::OfProtocol)]
    }
}

/// An address and a port.
type Socket = (Ipv4Addr, u16);

/// Forgets connections of UDP to endpoints that no longer serve, and those that began before the rules were there. A
/// client of UDP that goes on sending would keep such a connection alive for ever, and never reach another endpoint. While
/// no endpoint serves, all stay. Mirrors `pkg/proxy/conntrack/cleanup.go`.
pub fn forget_stale_udp<'a>(netfilter: &mut Netfilter, portals: impl Iterator<Item = &'a Portal>) -> usize {
    // By address (any, for a node port) and port.
    let mut serving: BTreeMap<(Option<Ipv4Addr>, u16), Vec<Socket>> = BTreeMap::new();
    for portal in portals.filter(|portal| portal.name.protocol == Protocol::Udp) {
        let live = portal.endpoints.iter().filter(|backend| backend.serving);
        let live: Vec<_> = live.map(|backend| (backend.ip, backend.port)).collect();
        if live.is_empty() {
            continue;
        }
        let addresses = [&portal.external_ips, &portal.load_balancer_ips].into_iter().flatten();
        for ip in addresses.chain([&portal.cluster_ip]) {
            serving.insert((Some(*ip), portal.port), live.clone());
        }
        portal.node_port.into_iter().for_each(|port| drop(serving.insert((None, port), live.clone())));
    }
    if serving.is_empty() {
        return 0;
    }
    netfilter.conntrack.delete(|connection| {
        let (to, answers) = (&connection.original, &connection.reply);
        let answered_by = (answers.source, answers.source_port);
        let is_stale = |ip| serving.get(&(ip, to.destination_port)).is_some_and(|live| !live.contains(&answered_by));
        to.protocol == Protocol::Udp && (is_stale(Some(to.destination)) || is_stale(None))
    })
}
