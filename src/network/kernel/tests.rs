//! Packets through two nodes and a machine outside, without an engine: hop after hop, to the end.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::addon;
use super::fabric::{Fabric, Mode, OUTSIDE};
use super::frame::Frame;
use super::hop::{Fate, Kernel};
use crate::cni::ipnet::IpNet;
use crate::cni::netns::{ALL, LinkKind, Namespace, Route, mac};
use crate::disk::Disk;
use crate::host::Host;
use crate::netfilter::{Change, Cidr, Packet, Payload, Protocol, Rule, Table, Target, Tuple};
use engine::{ActorId, Hub, Memory};
use object::random::Random;
use object::time::Instant;

struct World {
    machines: BTreeMap<ActorId, (String, Host)>,
    fabric: Fabric,
    random: Memory<Random>,
}

/// Where a packet went, what was said on the way, and how it ended.
struct Walk {
    places: Vec<String>,
    /// The devices by which each place was left, for the next.
    by: Vec<String>,
    lines: Vec<String>,
    end: Fate,
}

const NODE_1: ActorId = ActorId(1);
const NODE_2: ActorId = ActorId(2);
const OUT: ActorId = ActorId(9);

fn ip(text: &str) -> Ipv4Addr {
    text.parse().unwrap()
}

fn range(text: &str) -> Cidr {
    text.parse().unwrap()
}

impl World {
    /// Two nodes; Pods a (10.244.0.2) and b (10.244.0.3) on the first, c (10.244.1.2) on the second.
    fn new(mode: Mode) -> World {
        let hub = Hub::new(0);
        let fabric = Fabric::new(&hub, mode);
        let mut machines = BTreeMap::new();
        for (id, pods) in [(NODE_1, &["a", "b"][..]), (NODE_2, &["c"][..])] {
            let (name, address) = (format!("node-{}", id.0), Ipv4Addr::new(172, 18, 0, 9 + id.0 as u8));
            let pods_range = Cidr::new(Ipv4Addr::new(10, 244, id.0 as u8 - 1, 0), 24);
            let machine = node(&hub, address, pods_range, mode, pods);
            fabric.plug(address, id, &name);
            fabric.assign(pods_range, address);
            machines.insert(id, (name, machine));
        }
        fabric.plug(OUTSIDE, OUT, "outside");
        machines.insert(OUT, ("outside".to_owned(), addon::outside(&hub)));
        World { machines, fabric, random: hub.memory(Random::new(0)) }
    }

    fn machine(&self, id: ActorId) -> &Host {
        &self.machines[&id].1
    }

    /// On every node: 10.96.0.10:80 is this endpoint's port 8080; port 30080 of a node too.
    fn service(&self, endpoint: &str) {
        for id in [NODE_1, NODE_2] {
            let rules = &mut self.machine(id).network.borrow_mut().root.netfilter.rules;
            let chain = |name: &str, rules: Vec<Rule>| (name.to_owned(), rules);
            let tcp = |rule: Rule| rule.protocol(Protocol::Tcp);
            let mark = || Rule::jump("MARK");
            let chains = [
                chain("MARK", vec![Rule::or_mark(0x4000)]),
                chain("SEP", vec![mark().source(range(endpoint)), tcp(Rule::dnat(ip(endpoint), 8080))]),
                chain("EXT", vec![mark(), Rule::jump("SEP")]),
                chain("SVC", vec![mark().not_source(range("10.244.0.0/16")), Rule::jump("SEP")]),
                chain(
                    "SERVICES",
                    vec![
                        tcp(Rule::jump("SVC")).destination(range("10.96.0.10")).dport(80),
                        tcp(Rule::jump("EXT")).to_local().dport(30080),
                    ],
                ),
                chain(
                    "MASQ",
                    vec![
                        Rule::new(Target::Return).not_marked(0x4000),
                        Rule::new(Target::Masquerade { random_fully: false }),
                    ],
                ),
            ];
            rules.restore(Table::Nat, Change { chains: chains.into(), delete: Vec::new() }).unwrap();
            for (hook, chain) in [("PREROUTING", "SERVICES"), ("OUTPUT", "SERVICES"), ("POSTROUTING", "MASQ")] {
                rules.insert(Table::Nat, hook, Rule::jump(chain)).unwrap();
            }
        }
    }

    fn kernel<T>(&self, id: ActorId, lines: &mut Vec<String>, work: impl FnOnce(&mut Kernel<'_>) -> T) -> T {
        let (name, machine) = &self.machines[&id];
        let (mut network, sockets) = (machine.network.borrow_mut(), machine.sockets.borrow());
        let mut random = self.random.borrow_mut();
        let mut kernel = Kernel {
            name,
            network: &mut network,
            sockets: &sockets,
            fabric: &self.fabric,
            is_node: id != OUT,
            random: &mut random,
            now: Instant(0),
            lines: Vec::new(),
        };
        let result = work(&mut kernel);
        lines.extend(kernel.lines.iter().map(|(table, text)| format!("{table}: {text}")));
        result
    }

    fn walk(&self, id: ActorId, namespace: &str, packet: Packet) -> Walk {
        let (mut places, mut by, mut lines, mut at) = (Vec::new(), Vec::new(), Vec::new(), id);
        let mut fate = self.kernel(id, &mut lines, |kernel| kernel.send(namespace, packet));
        loop {
            let frame: Frame = match fate {
                Fate::Next(frame) => frame,
                Fate::Wire(to, frame) => {
                    at = to;
                    frame
                }
                end => return Walk { places, by, lines, end },
            };
            places.push(frame.at.to_string());
            by.push(frame.by.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
            fate = self.kernel(at, &mut lines, |kernel| kernel.receive(frame));
        }
    }
}

fn path(pod: &str) -> String {
    format!("/var/run/netns/{pod}")
}

fn node(hub: &Hub, address: Ipv4Addr, pods_range: Cidr, mode: Mode, pods: &[&str]) -> Host {
    let machine = Host::new(hub, address, Disk::new(hub, "node"));
    addon::prepare(&mut machine.network.borrow_mut(), range("10.244.0.0/16"), mode);
    addon::tunnel(&mut machine.network.borrow_mut(), pods_range);
    let [a, b, c, _] = pods_range.address.octets();
    let at = |host: u8| IpNet::v4(Ipv4Addr::new(a, b, c, host), 24);
    {
        let network = &mut *machine.network.borrow_mut();
        network.root.ip_forward = true;
        network.root.add_link("cni0", LinkKind::Bridge, mac(b"cni0"));
        network.root.set_up("cni0");
        network.root.add_address("cni0", at(1));
        for (host, pod) in (2..).zip(pods) {
            let mut inside = Namespace::default();
            inside.add_link("eth0", LinkKind::Veth { namespace: String::new(), name: format!("veth{pod}") }, mac(b"e"));
            inside.set_up("eth0");
            inside.set_up("lo");
            inside.add_address("eth0", at(host));
            let gateway = Some(at(1).address);
            let destination = ALL;
            inside.routes.push(Route {
                destination,
                gateway,
                device: "eth0".into(),
                source: None,
                from_address: false,
            });
            let port = LinkKind::Veth { namespace: path(pod), name: "eth0".into() };
            network.root.add_link(&format!("veth{pod}"), port, mac(b"v")).master = Some("cni0".into());
            network.root.set_up(&format!("veth{pod}"));
            network.named.insert(path(pod), inside.into());
        }
    }
    for pod in pods {
        let owner = super::sockets::Owner { pod: format!("default/{pod}"), ..Default::default() };
        machine.sockets.borrow_mut().owners.insert(path(pod), owner);
    }
    machine
}

fn syn(to: &str, port: u16) -> Packet {
    let (source, destination) = (Ipv4Addr::UNSPECIFIED, ip(to));
    let tuple = Tuple { protocol: Protocol::Tcp, source, source_port: 40000, destination, destination_port: port };
    Packet::new(tuple, Payload::Syn)
}

impl Walk {
    fn arrived(&self) -> (&str, &Packet) {
        match &self.end {
            Fate::Here(namespace, packet) => (namespace.rsplit('/').next().unwrap_or_default(), packet),
            other => panic!("{other:?} after {:#?}", self.lines),
        }
    }

    fn died(&self) -> (&str, &str) {
        match &self.end {
            Fate::Dead(death) => (&death.place, &death.reason),
            other => panic!("{other:?} after {:#?}", self.lines),
        }
    }
}

#[test]
fn on_one_node_the_bridge_does_it() {
    let world = World::new(Mode::HostGateway);
    let walk = world.walk(NODE_1, &path("a"), syn("10.244.0.3", 80));
    assert_eq!(walk.places, ["node-1 vetha", "eth0 of default/b"]);
    let (pod, packet) = walk.arrived();
    assert_eq!((pod, packet.ttl, packet.tuple.source), ("b", 64, ip("10.244.0.2")));
}

#[test]
fn to_another_node_it_is_routed_twice() {
    for (mode, says) in
        [(Mode::HostGateway, "10.244.1.0/24 via 172.18.0.11 dev eth0"), (Mode::Vxlan, "tunnel to 172.18.0.11")]
    {
        let world = World::new(mode);
        let walk = world.walk(NODE_1, &path("a"), syn("10.244.1.2", 80));
        let (pod, packet) = walk.arrived();
        assert_eq!((pod, packet.ttl, packet.tuple.source), ("c", 62, ip("10.244.0.2")), "{mode:?}");
        assert!(walk.lines.iter().any(|line| line.contains(says)), "{:#?}", walk.lines);
        let overlay = if mode == Mode::Vxlan { &["node-2 flannel.1"][..] } else { &[] };
        let mut expected = vec!["node-1 vetha", "node-1 cni0", "node-2 eth0"];
        expected.extend(overlay);
        expected.push("eth0 of default/c");
        assert_eq!(walk.places, expected);
        let tunnelled =
            if mode == Mode::Vxlan { &["node-1 flannel.1, node-1 eth0", "node-2 eth0"][..] } else { &["node-1 eth0"] };
        let mut by = vec!["eth0 of default/a", "node-1 vetha"];
        by.extend(tunnelled);
        by.push("node-2 cni0, node-2 vethc");
        assert_eq!(walk.by, by);
        let back = world.walk(NODE_2, &path("c"), packet.answer(Payload::SynAck));
        assert_eq!((back.arrived().0, back.arrived().1.ttl), ("a", 62));
    }
}

#[test]
fn a_node_reaches_a_pod() {
    let world = World::new(Mode::HostGateway);
    let walk = world.walk(NODE_1, "", syn("10.244.1.2", 80));
    assert_eq!((walk.arrived().0, walk.arrived().1.tuple.source), ("c", ip("172.18.0.10")));
    let local = world.walk(NODE_1, "", syn("10.244.0.2", 80));
    assert_eq!(local.arrived().1.tuple.source, ip("10.244.0.1"));
}

#[test]
fn a_service_is_undone_on_the_way_back() {
    for (endpoint, from) in [("10.244.1.2", "a"), ("10.244.0.3", "a"), ("10.244.0.2", "a")] {
        let world = World::new(Mode::HostGateway);
        world.service(endpoint);
        world.machine(NODE_1).network.borrow_mut().root.links.values_mut().for_each(|link| link.hairpin = true);
        let walk = world.walk(NODE_1, &path(from), syn("10.96.0.10", 80));
        let (namespace, packet) = match &walk.end {
            Fate::Here(namespace, packet) => (namespace, packet),
            other => panic!("{other:?} {:#?}", walk.lines),
        };
        assert_eq!((packet.tuple.destination, packet.tuple.destination_port), (ip(endpoint), 8080));
        let home = if endpoint == "10.244.1.2" { NODE_2 } else { NODE_1 };
        let back = world.walk(home, namespace, packet.answer(Payload::SynAck));
        let (pod, answer) = back.arrived();
        assert_eq!(pod, "a");
        assert_eq!((answer.tuple.source, answer.tuple.source_port), (ip("10.96.0.10"), 80), "{:#?}", back.lines);
        assert_eq!((answer.tuple.destination, answer.tuple.destination_port), (ip("10.244.0.2"), 40000));
    }
}

#[test]
fn without_hairpin_mode_a_pod_does_not_reach_itself() {
    let world = World::new(Mode::HostGateway);
    world.service("10.244.0.2");
    let walk = world.walk(NODE_1, &path("a"), syn("10.96.0.10", 80));
    assert_eq!(walk.died().0, "node-1 cni0");
    assert!(walk.died().1.ends_with("hairpin mode is off"), "{}", walk.died().1);
}

#[test]
fn a_node_port_from_outside_crosses_nodes_and_comes_back() {
    let world = World::new(Mode::HostGateway);
    world.service("10.244.1.2");
    let walk = world.walk(OUT, "", syn("172.18.0.10", 30080));
    let (pod, packet) = walk.arrived();
    assert_eq!((pod, packet.tuple.source), ("c", ip("172.18.0.10")), "masqueraded");
    let back = world.walk(NODE_2, &path("c"), packet.answer(Payload::SynAck));
    let answer = back.arrived().1;
    assert_eq!((answer.tuple.source, answer.tuple.source_port), (ip("172.18.0.10"), 30080));
}

#[test]
fn every_death_has_a_place_and_a_reason() {
    let world = World::new(Mode::HostGateway);
    for (to, place, reason) in [
        ("10.244.0.9", "node-1 cni0", "no machine on cni0 has 10.244.0.9"),
        ("10.96.0.99", "outside routing", "10.96.0.99 is no address of this machine, and ip_forward is off"),
        ("172.18.0.77", "node-1 eth0", "172.18.0.77 is down or does not exist: No route to host"),
    ] {
        let walk = world.walk(NODE_1, &path("a"), syn(to, 80));
        assert_eq!(walk.died(), (place, reason), "{:#?}", walk.lines);
    }
    world.fabric.unplug("node-2");
    let walk = world.walk(NODE_1, &path("a"), syn("10.244.1.2", 80));
    assert_eq!(walk.died(), ("node-1 eth0", "172.18.0.11 is down or does not exist: No route to host"));
    let Fate::Dead(death) = &walk.end else { unreachable!() };
    let (error, after) = death.tell.clone().unwrap();
    assert_eq!((after.as_secs(), error.tuple.source), (3, ip("10.244.0.1")));
    let told = world.walk(NODE_1, "", error);
    assert_eq!(told.arrived().0, "a");
    let reject = Rule::reject().destination(range("10.96.0.10")).comment("default/web has no endpoints");
    world.machine(NODE_1).network.borrow_mut().root.netfilter.rules.append(Table::Filter, "FORWARD", reject).unwrap();
    let walk = world.walk(NODE_1, &path("a"), syn("10.96.0.10", 80));
    assert_eq!(walk.died().0, "node-1 FORWARD");
    assert!(walk.died().1.contains("has no endpoints"), "{}", walk.died().1);
}

#[test]
fn a_packet_in_circles_dies_of_age() {
    let world = World::new(Mode::HostGateway);
    world.fabric.assign(range("10.244.9.0/24"), ip("172.18.0.11"));
    {
        let routes = &mut world.machine(NODE_2).network.borrow_mut().root.routes;
        let mut back = routes[0].clone();
        (back.destination, back.gateway) = ("10.244.9.0/25".parse().unwrap(), Some("172.18.0.10".parse().unwrap()));
        routes.push(back);
    }
    let walk = world.walk(NODE_1, &path("a"), syn("10.244.9.9", 80));
    assert_eq!(walk.died().1, "its TTL is used up");
}
