//! Packets through the rules that kube-proxy writes for a Service.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::*;
use object::random::Random;
use object::time::Instant;

/// A node: 172.18.0.10 on eth0, 10.244.0.1 on cni0.
struct Node;

impl Host for Node {
    fn is_local(&self, address: Ipv4Addr) -> bool {
        [ip("172.18.0.10"), ip("10.244.0.1")].contains(&address)
    }

    fn address_of(&self, interface: &str) -> Option<Ipv4Addr> {
        [("eth0", "172.18.0.10"), ("cni0", "10.244.0.1")]
            .iter()
            .find(|(name, _)| *name == interface)
            .map(|(_, a)| ip(a))
    }
}

fn ip(text: &str) -> Ipv4Addr {
    text.parse().unwrap()
}

fn range(text: &str) -> Cidr {
    text.parse().unwrap()
}

fn tcp(source: &str, source_port: u16, destination: &str, destination_port: u16) -> Tuple {
    Tuple { protocol: Protocol::Tcp, source: ip(source), source_port, destination: ip(destination), destination_port }
}

/// The rules of one Service, `default/web` at 10.96.0.10:80, with these endpoints.
fn service(endpoints: &[&str]) -> Netfilter {
    let mut netfilter = Netfilter::default();
    let rules = &mut netfilter.rules;
    let mut nat = Change::default();
    let mut set = |chain: &str, rules: Vec<Rule>| nat.chains.insert(chain.to_owned(), rules);
    set("KUBE-MARK-MASQ", vec![Rule::or_mark(0x4000)]);
    let masquerade = Rule::new(Target::Masquerade { random_fully: true });
    set("KUBE-POSTROUTING", vec![Rule::new(Target::Return).not_marked(0x4000), Rule::xor_mark(0x4000), masquerade]);
    let web = Rule::jump("KUBE-SVC-WEB").protocol(Protocol::Tcp).destination(range("10.96.0.10")).dport(80);
    let node_port = Rule::jump("KUBE-EXT-WEB").protocol(Protocol::Tcp).to_local().dport(30080);
    set("KUBE-EXT-WEB", vec![Rule::jump("KUBE-MARK-MASQ"), Rule::jump("KUBE-SVC-WEB")]);
    set("KUBE-SERVICES", vec![web, node_port]);
    let count = endpoints.len();
    let mut choose =
        vec![Rule::jump("KUBE-MARK-MASQ").destination(range("10.96.0.10")).not_source(range("10.244.0.0/16"))];
    for (i, endpoint) in endpoints.iter().enumerate() {
        let chain = format!("KUBE-SEP-{i}");
        choose.push(Rule::jump(&chain).one_in((count - i) as u64));
        let hairpin = Rule::jump("KUBE-MARK-MASQ").source(range(endpoint));
        set(&chain, vec![hairpin, Rule::dnat(ip(endpoint), 8080).protocol(Protocol::Tcp)]);
    }
    set("KUBE-SVC-WEB", choose);
    rules.restore(Table::Nat, nat).unwrap();
    for chain in ["PREROUTING", "OUTPUT"] {
        rules.insert(Table::Nat, chain, Rule::jump("KUBE-SERVICES")).unwrap();
    }
    rules.insert(Table::Nat, "POSTROUTING", Rule::jump("KUBE-POSTROUTING")).unwrap();
    netfilter
}

/// Takes a packet in by one interface and out by another.
fn forward(netfilter: &mut Netfilter, packet: &mut Packet, out: &str, random: &mut Random) -> Vec<Passed> {
    packet.noted = Noted { in_interface: "cni0".into(), ..Noted::default() };
    let mut around = Surroundings { host: &Node, random, now: Instant(0) };
    let mut passed = vec![netfilter.pass(Hook::Prerouting, packet, &mut around)];
    packet.noted.out_interface = out.into();
    for hook in [Hook::Forward, Hook::Postrouting] {
        if passed.iter().all(|passed| passed.verdict == Verdict::Accept) {
            passed.push(netfilter.pass(hook, packet, &mut around));
        }
    }
    passed
}

use super::packet::Noted;

#[test]
fn a_cluster_ip_becomes_an_endpoint_and_back() {
    let mut netfilter = service(&["10.244.1.2"]);
    let mut random = Random::new(0);
    let mut there = Packet::new(tcp("10.244.0.5", 40000, "10.96.0.10", 80), Payload::Syn);
    let passed = forward(&mut netfilter, &mut there, "eth0", &mut random);
    assert_eq!(there.tuple, tcp("10.244.0.5", 40000, "10.244.1.2", 8080), "no masquerade among Pods");
    let chains: Vec<&str> = passed[0].trace.iter().map(|decision| decision.chain.as_str()).collect();
    assert_eq!(chains, ["PREROUTING", "KUBE-SERVICES", "KUBE-SVC-WEB", "KUBE-SEP-0"]);
    assert!(passed[0].rewritten && !passed[2].rewritten);
    let mut back = there.answer(Payload::SynAck);
    let passed = forward(&mut netfilter, &mut back, "cni0", &mut random);
    assert_eq!(back.tuple, tcp("10.96.0.10", 80, "10.244.0.5", 40000));
    assert!(passed.iter().all(|passed| passed.trace.is_empty()), "no rule of nat is asked again");
    assert_eq!(
        netfilter.conntrack.list(None, Instant(0)),
        "tcp      6 60 SYN_RECV src=10.244.0.5 dst=10.96.0.10 sport=40000 dport=80 \
         src=10.244.1.2 dst=10.244.0.5 sport=8080 dport=40000 mark=0 use=1\n"
    );
}

#[test]
fn a_pod_that_reaches_itself_is_masqueraded() {
    let mut netfilter = service(&["10.244.0.5"]);
    let mut random = Random::new(0);
    let mut there = Packet::new(tcp("10.244.0.5", 40000, "10.96.0.10", 80), Payload::Syn);
    forward(&mut netfilter, &mut there, "cni0", &mut random);
    assert_eq!((there.tuple.source, there.tuple.destination), (ip("10.244.0.1"), ip("10.244.0.5")));
    let mut back = there.answer(Payload::SynAck);
    forward(&mut netfilter, &mut back, "cni0", &mut random);
    assert_eq!(back.tuple, tcp("10.96.0.10", 80, "10.244.0.5", 40000));
}

#[test]
fn a_node_port_is_masqueraded_and_undone() {
    let mut netfilter = service(&["10.244.1.2"]);
    let mut random = Random::new(0);
    let mut there = Packet::new(tcp("192.0.2.9", 51000, "172.18.0.10", 30080), Payload::Syn);
    forward(&mut netfilter, &mut there, "eth0", &mut random);
    assert_eq!((there.tuple.source, there.tuple.destination), (ip("172.18.0.10"), ip("10.244.1.2")));
    let mut back = there.answer(Payload::SynAck);
    forward(&mut netfilter, &mut back, "eth0", &mut random);
    assert_eq!(back.tuple, tcp("172.18.0.10", 30080, "192.0.2.9", 51000));
}

#[test]
fn endpoints_are_drawn_evenly_and_repeatably() {
    let run = |seed| {
        let mut netfilter = service(&["10.244.0.2", "10.244.1.2", "10.244.2.2"]);
        let mut random = Random::new(seed);
        let mut counts = std::collections::BTreeMap::new();
        for port in 0..3000 {
            let mut packet = Packet::new(tcp("10.244.0.5", 20000 + port, "10.96.0.10", 80), Payload::Syn);
            forward(&mut netfilter, &mut packet, "eth0", &mut random);
            *counts.entry(packet.tuple.destination).or_insert(0) += 1;
        }
        counts
    };
    let counts = run(1);
    assert_eq!(counts.len(), 3);
    assert!(counts.values().all(|count| (900..1100).contains(count)), "{counts:?}");
    assert_eq!(counts, run(1));
}

#[test]
fn a_rejected_packet_opens_no_connection() {
    let mut netfilter = Netfilter::default();
    let reject = Rule::reject().destination(range("10.96.0.10")).comment("default/web has no endpoints");
    netfilter.rules.append(Table::Filter, "FORWARD", reject.clone()).unwrap();
    let mut packet = Packet::new(tcp("10.244.0.5", 40000, "10.96.0.10", 80), Payload::Syn);
    let passed = forward(&mut netfilter, &mut packet, "eth0", &mut Random::new(0));
    let last = passed.last().unwrap();
    assert_eq!(last.verdict, Verdict::Reject(RejectWith::Icmp(Unreachable::Port)));
    assert_eq!((last.trace[0].number, &last.trace[0].rule), (1, &reject.to_string()));
    assert_eq!(netfilter.conntrack, {
        let mut empty = Conntrack::default();
        empty.track(&mut packet.clone(), Instant(0));
        empty.delete(|_| true);
        empty
    });
}

#[test]
fn an_error_finds_its_way_back_through_nat() {
    let mut netfilter = service(&["10.244.1.2"]);
    let mut random = Random::new(0);
    let mut there = Packet::new(tcp("10.244.0.5", 40000, "10.96.0.10", 80), Payload::Syn);
    forward(&mut netfilter, &mut there, "eth0", &mut random);
    let unreachable = Payload::Unreachable { code: Unreachable::Host, original: there.tuple };
    let mut error = there.error(ip("172.18.0.11"), unreachable);
    forward(&mut netfilter, &mut error, "cni0", &mut random);
    assert_eq!(error.payload.about(), Some(tcp("10.244.0.5", 40000, "10.96.0.10", 80)));
    assert_eq!(error.tuple.destination, ip("10.244.0.5"));
}

#[test]
fn affinity_remembers_for_a_while() {
    let mut netfilter = Netfilter::default();
    let rules = &mut netfilter.rules;
    for (chain, rule) in [
        ("SEP", Rule::new(Target::Accept).and(Match::RecentSet { name: "SEP".into() })),
        ("SVC", Rule::jump("SEP").and(Match::RecentCheck { name: "SEP".into(), seconds: 10, reap: true })),
    ] {
        rules.set_chain(Table::Filter, chain, vec![rule]).unwrap();
    }
    rules.append(Table::Filter, "INPUT", Rule::jump("SVC")).unwrap();
    rules.append(Table::Filter, "INPUT", Rule::jump("SEP").dport(1)).unwrap();
    let mut hits = |port, second| {
        let mut packet = Packet::new(tcp("10.244.0.5", 40000, "172.18.0.10", port), Payload::Syn);
        let now = Instant(0) + Duration::from_secs(second);
        let mut around = Surroundings { host: &Node, random: &mut Random::new(0), now };
        netfilter.pass(Hook::Input, &mut packet, &mut around).trace.len()
    };
    assert_eq!(hits(2, 0), 1, "nothing is known yet");
    assert_eq!(hits(1, 0), 3, "noted");
    assert_eq!(hits(2, 10), 3, "remembered, and noted again");
    assert_eq!(hits(2, 21), 1, "forgotten");
}

#[test]
fn states_are_those_of_the_connection() {
    let mut netfilter = Netfilter::default();
    for (state, mark) in [(State::New, 1), (State::Established, 2), (State::Invalid, 4), (State::Related, 8)] {
        netfilter.rules.append(Table::Filter, "FORWARD", Rule::or_mark(mark).state(&[state])).unwrap();
    }
    let mut random = Random::new(0);
    let syn = Packet::new(tcp("10.244.0.5", 40000, "10.244.1.2", 80), Payload::Syn);
    let unreachable = Payload::Unreachable { code: Unreachable::Port, original: syn.tuple };
    for (packet, mark) in [
        (syn.answer(Payload::SynAck), 4),
        (syn.clone(), 1),
        (syn.clone(), 1),
        (syn.answer(Payload::SynAck), 2),
        (Packet::new(syn.tuple, Payload::Data("GET /".into())), 2),
        (syn.error(ip("10.244.1.2"), unreachable), 8),
    ] {
        let mut packet = packet;
        forward(&mut netfilter, &mut packet, "eth0", &mut random);
        assert_eq!(packet.noted.mark, mark, "{packet}");
    }
}

#[test]
fn chains_that_call_one_another_for_ever_drop() {
    let mut netfilter = Netfilter::default();
    netfilter.rules.set_chain(Table::Filter, "A", vec![Rule::jump("A")]).unwrap();
    netfilter.rules.append(Table::Filter, "FORWARD", Rule::jump("A")).unwrap();
    let mut packet = Packet::new(tcp("10.244.0.5", 40000, "10.244.1.2", 80), Payload::Syn);
    let passed = forward(&mut netfilter, &mut packet, "eth0", &mut Random::new(0));
    assert_eq!(passed.last().unwrap().verdict, Verdict::Drop);
}

#[test]
fn two_connections_that_dnat_makes_one_are_told_apart() {
    let mut netfilter = service(&["10.244.1.2"]);
    let mut random = Random::new(0);
    let mut direct = Packet::new(tcp("10.244.0.5", 40000, "10.244.1.2", 8080), Payload::Syn);
    let mut by_service = Packet::new(tcp("10.244.0.5", 40000, "10.96.0.10", 80), Payload::Syn);
    for packet in [&mut direct, &mut by_service] {
        forward(&mut netfilter, packet, "eth0", &mut random);
    }
    assert_eq!((direct.tuple.source_port, by_service.tuple.source_port), (40000, 40001));
    let mut back = by_service.answer(Payload::SynAck);
    forward(&mut netfilter, &mut back, "cni0", &mut random);
    assert_eq!(back.tuple, tcp("10.96.0.10", 80, "10.244.0.5", 40000));
}
