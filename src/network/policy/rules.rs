//! The rules of one Pod: what policies allow returns to where it was asked from, and the rest dies.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::policies::{Policies, network_address};
use super::ranges;
use crate::netfilter::{Cidr, Invertible, Match, Protocol, Rule, Target};
use object::pod::container_port;
use object::{Key, Pod};

/// The longest comment that iptables takes.
const COMMENT_MAX: usize = 255;

/// Which way a connection is opened, as the isolated Pod sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// By others.
    Ingress,
    /// By the Pod.
    Egress,
}

impl Direction {
    /// As sentences have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::Ingress => "ingress",
            Direction::Egress => "egress",
        }
    }

    /// As `policyTypes` has it.
    pub fn policy_type(self) -> &'static str {
        match self {
            Direction::Ingress => "Ingress",
            Direction::Egress => "Egress",
        }
    }

    /// A rule that asks for the Pod's end of the connection.
    pub fn of_pod(self, rule: Rule, pod: Cidr) -> Rule {
        match self {
            Direction::Ingress => rule.destination(pod),
            Direction::Egress => rule.source(pod),
        }
    }

    fn of_peer(self, rule: Rule, peer: Cidr) -> Rule {
        match self {
            Direction::Ingress => rule.source(peer),
            Direction::Egress => rule.destination(peer),
        }
    }
}

/// The rules of a Pod, for each direction in which it is isolated.
pub fn of_pod(known: &Policies, key: &Key, pod: &Pod) -> Vec<(Direction, Vec<Rule>)> {
    let mut all = Vec::new();
    for direction in [Direction::Egress, Direction::Ingress] {
        let policies: Vec<&NetworkPolicy> = known.isolating(pod, direction).map(|policy| &**policy).collect();
        if policies.is_empty() {
            continue;
        }
        let mut rules: Vec<Rule> = network_address(pod)
            .map(|own| Rule::new(Target::Return).source(own.into()).destination(own.into()))
            .map(|rule| rule.comment("a Pod reaches itself"))
            .into_iter()
            .collect();
        for policy in &policies {
            let writer = Writer { known, policy: Key::of_meta(&policy.metadata), direction, pod };
            writer.allowed(policy, &mut rules);
        }
        let names: Vec<String> = policies.iter().map(|policy| Key::of_meta(&policy.metadata).to_string()).collect();
        let (names, direction_word) = (names.join(", "), direction.as_str());
        let why = format!("{key} is isolated for {direction_word}, and this is not allowed by {names}");
        rules.push(Rule::new(Target::Drop).comment(shortened(why)));
        all.push((direction, rules));
    }
    all
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(COMMENT_MAX - 3) {
        Some((end, _)) if text.len() > COMMENT_MAX => format!("{}...", &text[..end]),
        _ => text,
    }
}

struct Writer<'a> {
    known: &'a Policies,
    policy: Key,
    direction: Direction,
    pod: &'a Pod,
}

/// The other end of a connection: a Pod, or any address in a range.
type Ends<'a> = BTreeMap<Cidr, Option<&'a Pod>>;

impl Writer<'_> {
    fn allowed(&self, policy: &NetworkPolicy, out: &mut Vec<Rule>) {
        let Some(spec) = &policy.spec else { return };
        match self.direction {
            Direction::Ingress => {
                for rule in spec.ingress.iter().flatten() {
                    self.allow(rule.from.as_deref(), rule.ports.as_deref(), out);
                }
            }
            Direction::Egress => {
                for rule in spec.egress.iter().flatten() {
                    self.allow(rule.to.as_deref(), rule.ports.as_deref(), out);
                }
            }
        }
    }

    /// One rule of the policy: from (or to) any of these peers, at any of these ports. None of either means all.
    fn allow(&self, peers: Option<&[NetworkPolicyPeer]>, ports: Option<&[NetworkPolicyPort]>, out: &mut Vec<Rule>) {
        let ends = match peers.unwrap_or_default() {
            [] => Ends::from([(Cidr::ALL, None)]),
            peers => peers.iter().flat_map(|peer| self.ends(peer)).collect(),
        };
        for (range, pod) in ends {
            let base = Rule::new(Target::Return);
            let base = if range == Cidr::ALL { base } else { self.direction.of_peer(base, range) };
            let named = |rule: Rule| rule.comment(format!("allowed by {}", self.policy));
            match ports.unwrap_or_default() {
                [] => out.push(named(base)),
                ports => out.extend(ports.iter().filter_map(|port| Some(named(self.at(base.clone(), port, pod)?)))),
            }
        }
    }

    fn ends(&self, peer: &NetworkPolicyPeer) -> Ends<'_> {
        if let Some(block) = &peer.ip_block {
            let holes: Vec<Cidr> = block.except.iter().flatten().filter_map(|hole| hole.parse().ok()).collect();
            let Ok(range) = block.cidr.parse::<Cidr>() else { return Ends::new() };
            return ranges::without(range, &holes).into_iter().map(|range| (range, None)).collect();
        }
        let pods = self.known.pods_of(self.policy.namespace(), peer).into_iter();
        pods.filter_map(|pod| Some((Cidr::host(network_address(pod)?), Some(&**pod)))).collect()
    }

    /// The rule at a port; None: there is no port of that name.
    fn at(&self, rule: Rule, port: &NetworkPolicyPort, peer: Option<&Pod>) -> Option<Rule> {
        let text = port.protocol.as_deref().unwrap_or("TCP");
        let protocol = Protocol::parse(text)?;
        let number = |number: i32| u16::try_from(number).ok();
        let ports = match &port.port {
            None => None,
            Some(IntOrString::Int(first)) => Some((number(*first)?, number(port.end_port.unwrap_or(*first))?)),
            Some(IntOrString::String(name)) => {
                // The port belongs to the server's Pod.
                let server = if self.direction == Direction::Ingress { Some(self.pod) } else { peer };
                let port = number(container_port(server?, name, text)?)?;
                Some((port, port))
            }
        };
        let rule = rule.protocol(protocol);
        Some(match ports {
            Some(ports) => rule.and(Match::DestinationPort(Invertible::is(ports))),
            None => rule,
        })
    }
}
