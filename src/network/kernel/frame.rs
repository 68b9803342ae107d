//! A packet under way between two network devices.

use std::fmt;
use std::net::Ipv4Addr;

use serde::Serialize;
use serde_json::{Value, json};

use crate::netfilter::Packet;
use engine::Message;

/// A device of a machine, as readers name it: `node-1 cni0`, `eth0 of default/web`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spot {
    /// The machine.
    pub machine: String,
    /// In whose namespace: a Pod's `namespace/name`; empty: the machine's own.
    pub pod: String,
    /// The device.
    pub device: String,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pod.is_empty() {
            true => write!(f, "{} {}", self.machine, self.device),
            false => write!(f, "{} of {}", self.device, self.pod),
        }
    }
}

/// A packet about to arrive at a device: one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The packet.
    pub packet: Packet,
    /// The namespace of the device; empty: the machine's own.
    pub namespace: String,
    /// The device.
    pub at: Spot,
    /// The devices by which it has left the place before, in this order: a bridge and its port, a tunnel and `eth0`.
    pub by: Vec<Spot>,
    /// Whose hardware address the frame carries: the next router, or the receiver.
    pub next_hop: Ipv4Addr,
    /// The nodes between which it is wrapped, while it is in a tunnel.
    pub tunnel: Option<(Ipv4Addr, Ipv4Addr)>,
    /// PREROUTING has seen it already, on the bridge's port.
    pub prerouted: bool,
}

impl Message for Frame {
    fn method(&self) -> &'static str {
        "packet"
    }

    fn json(&self) -> Value {
        json!({
            "packet": self.packet.to_string(),
            "at": self.at.to_string(),
            "to": self.at,
            "by": self.by,
            "nextHop": self.next_hop.to_string(),
            "ttl": self.packet.ttl,
            "tunnel": self.tunnel.map(|(from, to)| format!("{from} > {to}")),
        })
    }

    fn line(&self) -> String {
        let tunnel = self.tunnel.map_or(String::new(), |(from, to)| format!(" in VXLAN {from} > {to}"));
        format!("{}{tunnel} at {}", self.packet, self.at)
    }
}
