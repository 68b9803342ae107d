//! A packet under way between two network devices.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use crate::netfilter::Packet;
use engine::Message;

/// A packet about to arrive at a device: one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The packet.
    pub packet: Packet,
    /// The namespace of the device; empty: the machine's own.
    pub namespace: String,
    /// The device.
    pub device: String,
    /// Whose hardware address the frame carries: the next router, or the receiver.
    pub next_hop: Ipv4Addr,
    /// The nodes between which it is wrapped, while it is in a tunnel.
    pub tunnel: Option<(Ipv4Addr, Ipv4Addr)>,
    /// PREROUTING has seen it already, on the bridge's port.
    pub prerouted: bool,
    /// Where the device is, in words.
    pub place: String,
}

impl Message for Frame {
    fn method(&self) -> &'static str {
        "packet"
    }

    fn json(&self) -> Value {
        json!({
            "packet": self.packet.to_string(),
            "at": self.place,
            "nextHop": self.next_hop.to_string(),
            "ttl": self.packet.ttl,
            "tunnel": self.tunnel.map(|(from, to)| format!("{from} > {to}")),
        })
    }

    fn line(&self) -> String {
        let tunnel = self.tunnel.map_or(String::new(), |(from, to)| format!(" in VXLAN {from} > {to}"));
        format!("{}{tunnel} at {}", self.packet, self.place)
    }
}
