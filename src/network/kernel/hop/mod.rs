//! One hop: what one kernel does with one packet until it is under way to the next device.
//!
//! This is the whole of the network's logic, as plain functions: a frame comes in at a device, or a packet from a
//! process; what comes out is where it goes next, with a line for every table that had a say, or where and why it died.
//!
//! ```text
//! port of a bridge -> bridge: known address? -> the other port          (same node: no routing, the TTL stays)
//!                        \-> for the bridge itself -> routing
//! any other device -> PREROUTING -> routing -> INPUT -> a process
//!                                          \-> FORWARD -> POSTROUTING -> out by a device
//! ```
//!
//! As on every Kubernetes node, bridged packets are shown to netfilter too (`net.bridge.bridge-nf-call-iptables = 1`).
//! Without that, answers of a Service's endpoint on the same node would come back from the wrong address.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use super::fabric::{Fabric, Mode, VXLAN_DEVICE, VXLAN_PORT};
use super::frame::{Frame, Spot};
use super::sockets::Sockets;
use crate::cni::netns::{Link, LinkKind, NodeNetwork};
use crate::netfilter::{Hook, Packet, Payload, Protocol, Tuple, Unreachable};
use engine::ActorId;
use object::random::Random;
use object::time::Instant;

mod hook;
mod route;

use hook::{at_once, unreachable};
use route::{Found, first_address};

/// How long a kernel asks for a hardware address before it gives up: three tries, a second apart.
const ARP: Duration = Duration::from_secs(3);

/// One machine's kernel with a packet in its hands.
pub struct Kernel<'a> {
    /// The machine.
    pub name: &'a str,
    /// Links, routes, rules and connections.
    pub network: &'a mut NodeNetwork,
    /// Whose the namespaces are.
    pub sockets: &'a Sockets,
    /// What lies between the machines.
    pub fabric: &'a Fabric,
    /// Whether the network add-on keeps routes here.
    pub is_node: bool,
    /// Chance.
    pub random: &'a mut Random,
    /// The time.
    pub now: Instant,
    /// What was decided, in order: which table, and what it said.
    pub lines: Vec<(&'static str, String)>,
}

/// Where a packet goes from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// To another device of this machine.
    Next(Frame),
    /// Over the wire.
    Wire(ActorId, Frame),
    /// To a process in this namespace.
    Here(String, Packet),
    /// Nowhere.
    Dead(Death),
}

/// A packet's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// The namespace in which it died.
    pub namespace: String,
    /// Where: `node-1 FORWARD`, `eth0 of default/web`.
    pub place: String,
    /// Why.
    pub reason: String,
    /// What the sender is told, and after how long.
    pub tell: Option<(Packet, Duration)>,
}

impl Kernel<'_> {
    /// A frame has arrived at a device.
    pub fn receive(&mut self, frame: Frame) -> Fate {
        let Some(link) = self.link(&frame.namespace, &frame.at.device) else {
            let reason = format!("{} is gone", frame.at.device);
            return self.dead(&frame.namespace, frame.at.to_string(), reason, None);
        };
        if let Some((from, to)) = frame.tunnel {
            return self.unwrap(frame, from, to);
        }
        match &link.master {
            Some(bridge) => {
                let bridge = bridge.clone();
                self.bridge(&bridge, frame)
            }
            None => self.input(frame),
        }
    }

    /// A process sends a packet. A source of 0.0.0.0 is filled in from the route.
    pub fn send(&mut self, namespace: &str, mut packet: Packet) -> Fate {
        let destination = packet.tuple.destination;
        let Some(route) = self.route(namespace, destination) else {
            let place = self.place(namespace, "routing");
            return self.dead(namespace, place, format!("no route to {destination}: Network is unreachable"), None);
        };
        self.say("route", route.text.clone());
        if packet.tuple.source.is_unspecified() {
            packet.tuple.source = route.source.unwrap_or(destination);
        }
        packet.noted.out_interface.clone_from(&route.device);
        let passed = match self.hook(namespace, Hook::Output, &mut packet) {
            Ok(passed) => passed,
            Err(death) => return Fate::Dead(*death),
        };
        let mut route = route;
        if passed.is_some_and(|passed| passed.rewritten) {
            let destination = packet.tuple.destination;
            let Some(again) = self.route(namespace, destination) else {
                let place = self.place(namespace, "routing");
                return self.dead(namespace, place, format!("no route to {destination}: Network is unreachable"), None);
            };
            self.say("route", format!("again, for {destination}: {}", again.text));
            packet.noted.out_interface.clone_from(&again.device);
            route = again;
        }
        self.leave(namespace, packet, route)
    }

    /// A frame at a bridge's port: to another port, or up to the bridge's own address.
    fn bridge(&mut self, bridge: &str, mut frame: Frame) -> Fate {
        let namespace = frame.namespace.clone();
        let port = frame.at.device.clone();
        frame.packet.noted.in_interface = bridge.to_owned();
        frame.packet.noted.bridged = true;
        let before = frame.packet.tuple.destination;
        if let Err(death) = self.hook(&namespace, Hook::Prerouting, &mut frame.packet) {
            return Fate::Dead(*death);
        }
        let now = frame.packet.tuple.destination;
        let moved = now != before && self.route(&namespace, now).is_some_and(|route| route.device == bridge);
        let target = if moved { now } else { frame.next_hop };
        if self.has_address(&namespace, bridge, target) {
            self.say("bridge", format!("{bridge}: {target} is the bridge itself"));
            frame.packet.noted.bridged = false;
            let by = vec![self.spot(&namespace, &port)];
            return self.next(&namespace, bridge, target, Frame { prerouted: true, by, ..frame });
        }
        let Some((out, link)) = self.port_of(&namespace, bridge, target) else {
            // The sender looked up the hardware address itself, and reports the error to itself.
            let tell = unreachable(&frame.packet, frame.packet.tuple.source, Unreachable::Host);
            let reason = format!("no machine on {bridge} has {target}");
            return self.dead(&namespace, self.place(&namespace, bridge), reason, tell.map(|tell| (tell, ARP)));
        };
        if out == port && !link.hairpin {
            let reason = format!("{target} is behind {port}, where it came from, and hairpin mode is off");
            return self.dead(&namespace, self.place(&namespace, bridge), reason, None);
        }
        let (out, peer) = (out.to_owned(), link.kind.clone());
        self.say("bridge", format!("{bridge}: {target} is behind {out}"));
        frame.packet.noted.out_interface = bridge.to_owned();
        for hook in [Hook::Forward, Hook::Postrouting] {
            if let Err(death) = self.hook(&namespace, hook, &mut frame.packet) {
                return Fate::Dead(*death);
            }
        }
        self.across(&namespace, &[bridge, &out], &peer, target, frame.packet)
    }

    /// A packet for IP: for this machine, or to be forwarded.
    fn input(&mut self, frame: Frame) -> Fate {
        let Frame { mut packet, namespace, at, prerouted, .. } = frame;
        packet.noted.in_interface = at.device;
        packet.noted.out_interface.clear();
        if !prerouted && let Err(death) = self.hook(&namespace, Hook::Prerouting, &mut packet) {
            return Fate::Dead(*death);
        }
        let destination = packet.tuple.destination;
        if self.is_local(&namespace, destination) {
            self.say("route", format!("{destination} is an address of {}", self.owner(&namespace)));
            return match self.hook(&namespace, Hook::Input, &mut packet) {
                Ok(_) => Fate::Here(namespace, packet),
                Err(death) => Fate::Dead(*death),
            };
        }
        if !self.network.namespace(&namespace).is_some_and(|there| there.ip_forward) {
            let reason = format!("{destination} is no address of this machine, and ip_forward is off");
            return self.dead(&namespace, self.place(&namespace, "routing"), reason, None);
        }
        self.forward(&namespace, packet)
    }

    fn forward(&mut self, namespace: &str, mut packet: Packet) -> Fate {
        let destination = packet.tuple.destination;
        let place = self.place(namespace, "routing");
        let router = self.router(namespace, &packet);
        if packet.ttl <= 1 {
            let tell = packet.error(router, Payload::TimeExceeded { original: packet.tuple });
            return self.dead(namespace, place, "its TTL is used up".into(), Some((tell, Duration::ZERO)));
        }
        packet.ttl -= 1;
        let Some(route) = self.route(namespace, destination) else {
            let tell = unreachable(&packet, router, Unreachable::Net);
            return self.dead(namespace, place, format!("no route to {destination}"), at_once(tell));
        };
        self.say("route", route.text.clone());
        packet.noted.out_interface.clone_from(&route.device);
        if let Err(death) = self.hook(namespace, Hook::Forward, &mut packet) {
            return Fate::Dead(*death);
        }
        self.leave(namespace, packet, route)
    }

    /// POSTROUTING, and out.
    fn leave(&mut self, namespace: &str, mut packet: Packet, route: Found) -> Fate {
        if let Err(death) = self.hook(namespace, Hook::Postrouting, &mut packet) {
            return Fate::Dead(*death);
        }
        let Some(link) = self.link(namespace, &route.device).filter(|link| link.up) else {
            let reason = format!("{} is down", route.device);
            return self.dead(namespace, self.place(namespace, &route.device), reason, None);
        };
        let next_hop = route.next_hop;
        match &link.kind {
            LinkKind::Loopback => {
                let frame = Frame { by: vec![self.spot(namespace, &route.device)], ..bare(packet) };
                self.next(namespace, &route.device, next_hop, frame)
            }
            LinkKind::Bridge => match self.port_of(namespace, &route.device, next_hop) {
                Some((port, link)) => {
                    let (port, kind) = (port.to_owned(), link.kind.clone());
                    self.say("bridge", format!("{}: {next_hop} is behind {port}", route.device));
                    self.across(namespace, &[&route.device, &port], &kind, next_hop, packet)
                }
                None => self.no_neighbour(namespace, &route.device, next_hop, &packet),
            },
            LinkKind::Veth { .. } => {
                let kind = link.kind.clone();
                self.across(namespace, &[&route.device], &kind, next_hop, packet)
            }
            LinkKind::Device => self.wire(namespace, &route, packet),
        }
    }

    /// Through a veth pair: out of one namespace, into another. `by` ends with this end of the pair. What this kernel
    /// noted stays behind.
    fn across(&mut self, namespace: &str, by: &[&str], kind: &LinkKind, next_hop: Ipv4Addr, packet: Packet) -> Fate {
        let end = by.last().copied().unwrap_or_default();
        let LinkKind::Veth { namespace: other, name } = kind else {
            return self.dead(namespace, self.place(namespace, end), format!("{end} leads nowhere"), None);
        };
        self.say("veth", format!("{end} → {}", self.place(other, name)));
        let by = by.iter().map(|device| self.spot(namespace, device)).collect();
        self.next(other, name, next_hop, Frame { by, ..bare(packet) })
    }

    /// Onto the switch, in a tunnel if the route says so.
    fn wire(&mut self, namespace: &str, route: &Found, packet: Packet) -> Fate {
        let own = self.link(namespace, "eth0").and_then(first_address);
        let tunnel = route.way.filter(|way| way.mode == Mode::Vxlan).and_then(|way| Some((own?, way.node)));
        if let Some((from, to)) = tunnel {
            self.say("vxlan", format!("{VXLAN_DEVICE} wraps it in udp {from} > {to}:{VXLAN_PORT}"));
        }
        match self.fabric.machine_at(route.next_hop) {
            Some(machine) => {
                let by = tunnel.iter().map(|_| VXLAN_DEVICE).chain(["eth0"]);
                let by = by.map(|device| self.spot(namespace, device)).collect();
                let other = self.fabric.name_of(route.next_hop);
                self.say("wire", format!("out by eth0, to {other}"));
                let at = Spot { machine: other, device: "eth0".into(), ..Spot::default() };
                Fate::Wire(machine, Frame { at, by, tunnel, next_hop: route.next_hop, ..bare(packet) })
            }
            None => self.no_neighbour(namespace, "eth0", route.next_hop, &packet),
        }
    }

    /// A wrapped packet arrives: what was in it comes in by the overlay's device.
    fn unwrap(&mut self, frame: Frame, from: Ipv4Addr, to: Ipv4Addr) -> Fate {
        let tuple = Tuple {
            protocol: Protocol::Udp,
            source: from,
            source_port: VXLAN_PORT,
            destination: to,
            destination_port: VXLAN_PORT,
        };
        let mut outer = Packet::new(tuple, Payload::Data("VXLAN".into()));
        outer.noted.in_interface.clone_from(&frame.at.device);
        for hook in [Hook::Prerouting, Hook::Input] {
            if let Err(death) = self.hook(&frame.namespace, hook, &mut outer) {
                return Fate::Dead(*death);
            }
        }
        self.say("vxlan", format!("unwrapped: {}", frame.packet));
        let (next_hop, by) = (frame.next_hop, vec![frame.at.clone()]);
        self.next("", VXLAN_DEVICE, next_hop, Frame { tunnel: None, by, ..frame })
    }

    fn no_neighbour(&mut self, namespace: &str, device: &str, address: Ipv4Addr, packet: &Packet) -> Fate {
        self.say("arp", format!("who has {address}? No machine on {device} answers"));
        let tell = unreachable(packet, self.router(namespace, packet), Unreachable::Host);
        let reason = format!("{address} is down or does not exist: No route to host");
        self.dead(namespace, self.place(namespace, device), reason, tell.map(|tell| (tell, ARP)))
    }

    fn next(&self, namespace: &str, device: &str, next_hop: Ipv4Addr, frame: Frame) -> Fate {
        Fate::Next(Frame { namespace: namespace.to_owned(), at: self.spot(namespace, device), next_hop, ..frame })
    }

    fn dead(&self, namespace: &str, place: String, reason: String, tell: Option<(Packet, Duration)>) -> Fate {
        Fate::Dead(Death { namespace: namespace.to_owned(), place, reason, tell })
    }

    /// The port of a bridge behind which an address is, as ARP and the bridge's memory would tell.
    fn port_of(&self, namespace: &str, bridge: &str, address: Ipv4Addr) -> Option<(&str, &Link)> {
        let ports = self.network.namespace(namespace)?.links.iter();
        let mut ports = ports.filter(|(_, link)| link.up && link.master.as_deref() == Some(bridge));
        let (name, link) = ports.find(|(_, link)| match &link.kind {
            LinkKind::Veth { namespace, name } => self.has_address(namespace, name, address),
            _ => false,
        })?;
        Some((name, link))
    }

    fn link(&self, namespace: &str, device: &str) -> Option<&Link> {
        self.network.namespace(namespace)?.links.get(device)
    }

    fn has_address(&self, namespace: &str, device: &str, address: Ipv4Addr) -> bool {
        let link = self.link(namespace, device);
        link.is_some_and(|link| link.addresses.iter().any(|there| there.address == IpAddr::V4(address)))
    }

    /// A device or hook in words: `node-1 cni0`, `eth0 of default/web`.
    pub fn place(&self, namespace: &str, device: &str) -> String {
        self.spot(namespace, device).to_string()
    }

    fn spot(&self, namespace: &str, device: &str) -> Spot {
        let pod = if namespace.is_empty() { String::new() } else { self.owner(namespace) };
        Spot { machine: self.name.to_owned(), pod, device: device.to_owned() }
    }

    fn owner(&self, namespace: &str) -> String {
        match self.sockets.owners.get(namespace) {
            _ if namespace.is_empty() => self.name.to_owned(),
            Some(owner) => owner.pod.clone(),
            None => namespace.to_owned(),
        }
    }

    fn say(&mut self, table: &'static str, text: String) {
        self.lines.push((table, text));
    }
}

/// A frame whose device is still to be filled in, with nothing noted but what goes with a packet through `lo`.
fn bare(mut packet: Packet) -> Frame {
    let connection = packet.noted.connection.filter(|_| packet.noted.out_interface == "lo");
    packet.noted = Default::default();
    packet.noted.connection = connection;
    Frame {
        packet,
        namespace: String::new(),
        at: Spot::default(),
        by: Vec::new(),
        next_hop: Ipv4Addr::UNSPECIFIED,
        tunnel: None,
        prerouted: false,
    }
}
