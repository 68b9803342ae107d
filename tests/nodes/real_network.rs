//! The simulated network beside a real one: the same links, routes and rules in network namespaces of this machine, the
//! same connections tried in both, and the same outcome expected.
//!
//! What is built for real is derived from the simulated machines: `ip` makes their links, addresses and routes, and
//! `iptables-restore` loads what the simulation prints as `iptables-save`. Needs root, `ip` and iptables; where the
//! machine has none of it the test says so and checks nothing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use engine::{ActorId, Hub};
use kubestep_tests::skip;
use network::cni::ipnet::IpNet;
use network::cni::netns::{ALL, LinkKind, Namespace, Route, mac};
use network::disk::Disk;
use network::host::Host;
use network::kernel::addon;
use network::kernel::fabric::{Fabric, Mode, OUTSIDE, VXLAN_DEVICE};
use network::kernel::hop::{Fate, Kernel};
use network::kernel::sockets::{Listener, Owner, Speaks};
use network::netfilter::{Change, Cidr, Packet, Payload, Protocol, Rule, Table, Target, Tuple};
use object::random::Random;
use object::time::Instant;

/// The port that every Pod serves.
const PORT: u16 = 8080;
/// What a server prints once it has its port.
const LISTENING: &str = "listening";
/// How long a real connection may take.
const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn a_real_walk_agrees_with_the_simulated_one() {
    if let Some(missing) = missing() {
        return skip::skipped(missing);
    }
    let bridged = std::path::Path::new("/proc/sys/net/bridge/bridge-nf-call-iptables").exists();
    if !bridged {
        println!("skipped in part: connections to a Service's endpoint on the same node need br_netfilter");
    }
    for mode in [Mode::HostGateway, Mode::Vxlan] {
        let world = World::new(mode);
        let real = Real::build(&world);
        let mut compared = 0;
        for (from, to, port, needs_bridged) in CONNECTIONS {
            if *needs_bridged && !bridged {
                continue;
            }
            let (simulated, found) = (world.connect(from, to, *port), real.connect(from, to, *port));
            assert_eq!(simulated, found, "{mode:?}: {from} to {to}:{port}, simulated and real");
            compared += 1;
        }
        assert!(compared >= 12, "{compared}");
    }
}

/// From where, to which address and port, and whether bridged packets must be shown to iptables.
const CONNECTIONS: &[(&str, &str, u16, bool)] = &[
    ("a", "10.244.0.3", PORT, false),
    ("a", "10.244.1.2", PORT, false),
    ("c", "10.244.0.2", PORT, false),
    ("a", "10.244.1.2", 81, false),
    ("a", "10.244.0.1", 81, false),
    ("node-1", "10.244.0.2", PORT, false),
    ("node-1", "10.244.1.2", PORT, false),
    ("node-2", "10.244.0.3", PORT, false),
    ("a", "10.96.0.10", 80, false),
    ("node-1", "10.96.0.10", 80, false),
    ("a", "10.96.0.11", 80, false),
    ("node-1", "10.96.0.11", 80, false),
    ("outside", "172.18.0.10", 30080, false),
    ("outside", "172.18.0.11", 30080, false),
    ("outside", "10.244.0.2", PORT, false),
    ("a", "172.18.0.77", 80, false),
    ("c", "10.96.0.10", 80, true),
];

// The simulated side.

const MACHINES: [(&str, ActorId, &[&str]); 2] = [("node-1", ActorId(1), &["a", "b"]), ("node-2", ActorId(2), &["c"])];
const OUT: ActorId = ActorId(9);

struct World {
    machines: BTreeMap<ActorId, (String, Host)>,
    fabric: Fabric,
}

fn ip(text: &str) -> Ipv4Addr {
    text.parse().expect("an address of ours")
}

fn range(text: &str) -> Cidr {
    text.parse().expect("a range of ours")
}

fn path(pod: &str) -> String {
    format!("/var/run/netns/{pod}")
}

impl World {
    /// Two nodes; Pods a (10.244.0.2) and b (10.244.0.3) on the first, c (10.244.1.2) on the second; a Service at
    /// 10.96.0.10:80 and node port 30080 whose endpoint is c, and one at 10.96.0.11 without endpoints.
    fn new(mode: Mode) -> World {
        let hub = Hub::new(0);
        let fabric = Fabric::new(&hub, mode);
        let mut machines = BTreeMap::new();
        for (name, id, pods) in MACHINES {
            let number = id.0 as u8;
            let (address, pod_range) =
                (Ipv4Addr::new(172, 18, 0, 9 + number), Cidr::new(Ipv4Addr::new(10, 244, number - 1, 0), 24));
            let host = Host::new(&hub, address, Disk::new(&hub, name));
            addon::prepare(&mut host.network.borrow_mut(), range("10.244.0.0/16"), mode);
            addon::tunnel(&mut host.network.borrow_mut(), pod_range);
            lay_cables(&host, pod_range, pods);
            rules(&host);
            fabric.plug(address, id, name);
            fabric.assign(pod_range, address);
            machines.insert(id, (name.to_owned(), host));
        }
        fabric.plug(OUTSIDE, OUT, "outside");
        machines.insert(OUT, ("outside".to_owned(), addon::outside(&hub)));
        World { machines, fabric }
    }

    fn home(&self, who: &str) -> (ActorId, String) {
        let of_pod = MACHINES.iter().find(|(_, _, pods)| pods.contains(&who));
        match of_pod {
            Some((_, id, _)) => (*id, path(who)),
            None => (MACHINES.iter().find(|(name, ..)| *name == who).map_or(OUT, |(_, id, _)| *id), String::new()),
        }
    }

    /// What becomes of a connection: who answers and from where it seems to come, or the error.
    fn connect(&self, from: &str, to: &str, port: u16) -> String {
        let (home, namespace) = self.home(from);
        let tuple = Tuple {
            protocol: Protocol::Tcp,
            source: Ipv4Addr::UNSPECIFIED,
            source_port: 40000,
            destination: ip(to),
            destination_port: port,
        };
        let mut rounds = vec![(home, namespace.clone(), Packet::new(tuple, Payload::Syn))];
        let mut answered = None;
        while let Some((at, namespace, packet)) = rounds.pop() {
            let (at, end) = self.walk(at, &namespace, packet);
            match end {
                Fate::Here(there, packet) => match packet.payload.clone() {
                    Payload::Syn => {
                        let listens =
                            self.machines[&at].1.sockets.borrow_mut().accept(&there, packet.tuple, Instant::default());
                        let pod = there.rsplit('/').next().unwrap_or_default().to_owned();
                        answered = listens.then(|| format!("{pod} sees {}", packet.tuple.source));
                        let answer = if listens { Payload::SynAck } else { Payload::Rst };
                        rounds.push((at, there, packet.answer(answer)));
                    }
                    Payload::SynAck => {
                        let right = (packet.tuple.source, packet.tuple.source_port) == (ip(to), port);
                        return if right { answered.unwrap_or_default() } else { "answer from a stranger".into() };
                    }
                    Payload::Rst => return "refused".into(),
                    other => return told(&other),
                },
                Fate::Dead(death) => match death.tell {
                    Some((packet, _)) => rounds.push((at, death.namespace, packet)),
                    None if death.reason.contains("no route") => return "unreachable".into(),
                    None => return "silence".into(),
                },
                Fate::Next(_) | Fate::Wire(..) => unreachable!("a walk goes to its end"),
            }
        }
        "silence".into()
    }

    fn walk(&self, from: ActorId, namespace: &str, packet: Packet) -> (ActorId, Fate) {
        let mut at = from;
        let mut fate = self.kernel(at, |kernel| kernel.send(namespace, packet));
        loop {
            let frame = match fate {
                Fate::Next(frame) => frame,
                Fate::Wire(to, frame) => {
                    at = to;
                    frame
                }
                end => return (at, end),
            };
            fate = self.kernel(at, |kernel| kernel.receive(frame));
        }
    }

    fn kernel<T>(&self, id: ActorId, work: impl FnOnce(&mut Kernel<'_>) -> T) -> T {
        let (name, host) = &self.machines[&id];
        let mut kernel = Kernel {
            name,
            network: &mut host.network.borrow_mut(),
            sockets: &host.sockets.borrow(),
            fabric: &self.fabric,
            is_node: id != OUT,
            random: &mut Random::new(0),
            now: Instant(0),
            lines: Vec::new(),
        };
        work(&mut kernel)
    }
}

fn told(payload: &Payload) -> String {
    use network::netfilter::Unreachable;
    match payload {
        Payload::Unreachable { code: Unreachable::Port, .. } => "refused".into(),
        Payload::Unreachable { .. } => "unreachable".into(),
        other => format!("{other:?}"),
    }
}

/// As the bridge plugin does.
fn lay_cables(host: &Host, pods_range: Cidr, pods: &[&str]) {
    let [a, b, c, _] = pods_range.address.octets();
    let at = |last: u8| IpNet::v4(Ipv4Addr::new(a, b, c, last), 24);
    let network = &mut *host.network.borrow_mut();
    network.root.ip_forward = true;
    network.root.add_link("cni0", LinkKind::Bridge, mac(b"cni0"));
    network.root.set_up("cni0");
    network.root.add_address("cni0", at(1));
    for (last, pod) in (2..).zip(pods) {
        let mut inside = Namespace::default();
        inside.set_up("lo");
        inside.add_link("eth0", LinkKind::Veth { namespace: String::new(), name: format!("veth{pod}") }, mac(b"e"));
        inside.set_up("eth0");
        inside.add_address("eth0", at(last));
        let (gateway, device) = (Some(at(1).address), "eth0".to_owned());
        inside.routes.push(Route { destination: ALL, gateway, device, source: None, from_address: false });
        let port = LinkKind::Veth { namespace: path(pod), name: "eth0".into() };
        let link = network.root.add_link(&format!("veth{pod}"), port, mac(b"v"));
        link.master = Some("cni0".into());
        link.hairpin = true;
        network.root.set_up(&format!("veth{pod}"));
        network.named.insert(path(pod), inside.into());
        let sockets = &mut host.sockets.borrow_mut();
        sockets.owners.insert(path(pod), Owner { pod: (*pod).to_owned(), ..Owner::default() });
        let (name, since) = ((*pod).to_owned(), Instant::default());
        let listener = Listener { container: String::new(), name, speaks: Speaks::Http, since, address: None };
        sockets.listen(&path(pod), Protocol::Tcp, PORT, listener);
    }
}

/// As kube-proxy does, in fewer chains.
fn rules(host: &Host) {
    let rules = &mut host.network.borrow_mut().root.netfilter.rules;
    let tcp = |rule: Rule| rule.protocol(Protocol::Tcp);
    let mark = || Rule::jump("KUBE-MARK-MASQ");
    let chain = |name: &str, rules: Vec<Rule>| (name.to_owned(), rules);
    let endpoint = "10.244.1.2";
    let chains = [
        chain("KUBE-MARK-MASQ", vec![Rule::or_mark(0x4000)]),
        chain("KUBE-SEP", vec![mark().source(range(endpoint)), tcp(Rule::dnat(ip(endpoint), PORT))]),
        chain("KUBE-EXT", vec![mark(), Rule::jump("KUBE-SVC")]),
        chain(
            "KUBE-SVC",
            vec![mark().destination(range("10.96.0.10")).not_source(range("10.244.0.0/16")), Rule::jump("KUBE-SEP")],
        ),
        chain(
            "KUBE-SERVICES",
            vec![
                tcp(Rule::jump("KUBE-SVC"))
                    .comment("default/web cluster IP")
                    .destination(range("10.96.0.10"))
                    .dport(80),
                tcp(Rule::jump("KUBE-EXT")).to_local().dport(30080),
            ],
        ),
        chain(
            "KUBE-POSTROUTING",
            vec![
                Rule::new(Target::Return).not_marked(0x4000),
                Rule::xor_mark(0x4000),
                Rule::new(Target::Masquerade { random_fully: true }),
            ],
        ),
    ];
    rules.restore(Table::Nat, Change { chains: chains.into(), delete: Vec::new() }).expect("chains of ours");
    for (hook, chain) in
        [("PREROUTING", "KUBE-SERVICES"), ("OUTPUT", "KUBE-SERVICES"), ("POSTROUTING", "KUBE-POSTROUTING")]
    {
        rules.insert(Table::Nat, hook, Rule::jump(chain)).expect("a hook is always there");
    }
    let nobody =
        tcp(Rule::reject()).destination(range("10.96.0.11")).comment("default/none has no endpoints").dport(80);
    for hook in ["FORWARD", "OUTPUT"] {
        rules.insert(Table::Filter, hook, nobody.clone()).expect("a hook is always there");
    }
}

// The real side.

/// Network namespaces of this machine; they go when it is dropped.
struct Real {
    prefix: String,
    names: Vec<String>,
    servers: Vec<Child>,
}

/// What this machine lacks.
fn missing() -> Option<&'static str> {
    let works = |program: &str, words: &[&str]| {
        let run = Command::new(program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
        run.is_ok_and(|status| status.success())
    };
    let probe = format!("ks{}", std::process::id());
    if !works("ip", &["netns", "add", &probe]) {
        return Some("root and `ip netns`");
    }
    let filters = works("ip", &["netns", "exec", &probe, "iptables", "-t", "nat", "-S"]);
    let bridges = works("ip", &["-n", &probe, "link", "add", "br0", "type", "bridge"]);
    works("ip", &["netns", "del", &probe]);
    if !filters { Some("iptables") } else { (!bridges).then_some("bridges") }
}

impl Real {
    fn build(world: &World) -> Real {
        let prefix = format!("ks{}-", std::process::id());
        let mut real = Real { prefix, names: Vec::new(), servers: Vec::new() };
        real.add_namespace("outside");
        real.ip(&["link", "add", "eth0", "type", "bridge"], "outside");
        real.ip(&["addr", "add", "172.18.0.1/16", "dev", "eth0"], "outside");
        real.ip(&["link", "set", "eth0", "up"], "outside");
        for (name, id, pods) in MACHINES {
            real.add_namespace(name);
            pods.iter().for_each(|pod| real.add_namespace(pod));
            let (_, host) = &world.machines[&id];
            real.cable(name);
            real.machine(name, host, world);
            real.load(name, &host.network.borrow().root.netfilter.rules.save());
        }
        for (_, _, pods) in MACHINES {
            pods.iter().for_each(|pod| real.serve(pod));
        }
        real
    }

    fn name(&self, of: &str) -> String {
        format!("{}{of}", self.prefix)
    }

    fn add_namespace(&mut self, name: &str) {
        let full = self.name(name);
        run(Command::new("ip").args(["netns", "add", &full]));
        self.names.push(full);
        self.ip(&["link", "set", "lo", "up"], name);
        self.exec(name, &["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"]);
    }

    fn ip(&self, words: &[&str], at: &str) {
        run(Command::new("ip").args(["-n", &self.name(at)]).args(words));
    }

    fn exec(&self, at: &str, words: &[&str]) {
        run(Command::new("ip").args(["netns", "exec", &self.name(at)]).args(words));
    }

    /// A node's eth0 is plugged into the switch.
    fn cable(&self, node: &str) {
        let (here, there) = (self.name(node), self.name("outside"));
        let port = format!("p-{node}");
        run(Command::new("ip")
            .args(["-n", &there, "link", "add", &port, "type", "veth"])
            .args(["peer", "name", "eth0", "netns", &here]));
        self.ip(&["link", "set", &port, "master", "eth0", "up"], "outside");
    }

    /// Links, addresses and routes, as the simulated machine has them.
    fn machine(&self, node: &str, host: &Host, world: &World) {
        self.exec(node, &["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
        let network = host.network.borrow();
        for (name, link) in network.root.links.iter() {
            match &link.kind {
                LinkKind::Bridge => self.ip(&["link", "add", name, "type", "bridge"], node),
                LinkKind::Device if name == VXLAN_DEVICE => self.overlay(node, host, world),
                _ => {}
            }
        }
        for (name, link) in network.root.links.iter() {
            let LinkKind::Veth { namespace, name: peer } = &link.kind else { continue };
            let pod = namespace.rsplit('/').next().unwrap_or_default();
            let inside = self.name(pod);
            self.ip(&["link", "add", name, "type", "veth", "peer", "name", peer, "netns", &inside], node);
            let master = link.master.as_deref().expect("Pods hang on the bridge");
            self.ip(&["link", "set", name, "master", master], node);
            self.ip(&["link", "set", name, "type", "bridge_slave", "hairpin", "on"], node);
            self.namespace(pod, &network.named[namespace]);
        }
        self.namespace(node, &network.root);
        for way in world.fabric.ways() {
            if way.node == address_of(host) {
                continue;
            }
            let (to, gateway) = (way.range.to_string(), way.node.to_string());
            match world.fabric.mode() {
                Mode::HostGateway => self.ip(&["route", "add", &to, "via", &gateway], node),
                Mode::Vxlan => {
                    let first = way.range.address.to_string();
                    self.ip(&["route", "add", &to, "via", &first, "dev", VXLAN_DEVICE, "onlink"], node);
                }
            }
        }
    }

    fn overlay(&self, node: &str, host: &Host, world: &World) {
        let own = address_of(host);
        let other = world.fabric.ways().into_iter().find(|way| way.node != own).expect("there are two nodes").node;
        let (local, remote) = (own.to_string(), other.to_string());
        let words = ["link", "add", VXLAN_DEVICE, "type", "vxlan", "id", "1", "local", &local, "remote", &remote];
        self.ip(&[&words[..], &["dstport", "8472", "dev", "eth0"]].concat(), node);
    }

    fn namespace(&self, name: &str, simulated: &Namespace) {
        for (device, link) in simulated.links.iter().filter(|(device, _)| *device != "lo") {
            for address in &link.addresses {
                self.ip(&["addr", "add", &address.to_string(), "dev", device], name);
            }
            self.ip(&["link", "set", device, "up"], name);
        }
        for route in simulated.routes.iter().filter(|route| !route.from_address) {
            if let Some(gateway) = route.gateway {
                self.ip(&["route", "add", &route.destination.to_string(), "via", &gateway.to_string()], name);
            }
        }
    }

    /// The rules, as the simulation prints them.
    fn load(&self, node: &str, rules: &str) {
        for flags in [&["--test"][..], &[]] {
            let mut words = vec!["netns".to_owned(), "exec".into(), self.name(node), "iptables-restore".into()];
            words.extend(flags.iter().map(|flag| (*flag).to_owned()));
            let mut child = Command::new("ip").args(words).stdin(Stdio::piped()).spawn().expect("ip runs");
            child.stdin.take().expect("it has one").write_all(rules.as_bytes()).expect("it reads");
            assert!(child.wait().expect("it ends").success(), "iptables-restore {flags:?} refuses:\n{rules}");
        }
    }

    /// This test binary again, as a server in a Pod.
    fn serve(&mut self, pod: &str) {
        let mut child = self.again(pod, "serve", pod);
        // The test harness speaks first, before the server has its port.
        let lines = BufReader::new(child.stdout.as_mut().expect("it has one")).lines();
        let listens = lines.map_while(Result::ok).any(|line| line.ends_with(LISTENING));
        assert!(listens, "the server of {pod} ended before it listened");
        self.servers.push(child);
    }

    /// This test binary again, as a client.
    fn connect(&self, from: &str, to: &str, port: u16) -> String {
        let mut child = self.again(from, "connect", &format!("{to}:{port}"));
        let mut said = String::new();
        child.stdout.take().expect("it has one").read_to_string(&mut said).expect("it speaks UTF-8");
        child.wait().expect("it ends");
        said.lines().find_map(|line| line.split_once("result: ")).map_or(said.clone(), |(_, result)| result.to_owned())
    }

    fn again(&self, at: &str, what: &str, with: &str) -> Child {
        let me = std::env::current_exe().expect("a test has a path");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(at)]).arg(me);
        command.args(["--exact", "real_network::in_a_namespace", "--nocapture", "--include-ignored"]);
        command.env("KUBESTEP_IN_NAMESPACE", format!("{what} {with}")).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().expect("ip runs")
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

fn address_of(host: &Host) -> Ipv4Addr {
    let network = host.network.borrow();
    network.root.links["eth0"].addresses[0].to_string().split('/').next().expect("it has one").parse().expect("IPv4")
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program is there");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Not a test of its own: what the other one runs in namespaces.
#[test]
fn in_a_namespace() {
    let Ok(order) = std::env::var("KUBESTEP_IN_NAMESPACE") else { return };
    match order.split_once(' ') {
        Some(("serve", pod)) => serve(pod),
        Some(("connect", address)) => println!("result: {}", connect(address.parse().expect("an address"))),
        _ => panic!("{order}"),
    }
}

fn serve(pod: &str) {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).expect("the port is free");
    println!("{LISTENING}");
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        let Ok(SocketAddr::V4(peer)) = stream.peer_addr() else { continue };
        let _ = write!(stream, "{pod} sees {}", peer.ip());
    }
}

fn connect(address: SocketAddr) -> String {
    match TcpStream::connect_timeout(&address, PATIENCE) {
        Ok(mut stream) => {
            let mut said = String::new();
            let _ = stream.set_read_timeout(Some(PATIENCE));
            stream.read_to_string(&mut said).map_or_else(|error| error.to_string(), |_| said)
        }
        Err(error) => match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "refused".into(),
            std::io::ErrorKind::HostUnreachable | std::io::ErrorKind::NetworkUnreachable => "unreachable".into(),
            std::io::ErrorKind::TimedOut => "silence".into(),
            _ => error.to_string(),
        },
    }
}
