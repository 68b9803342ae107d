//! Addresses and networks. Mirrors `pkg/cel/library/{ip,cidr}.go`.

use std::net::IpAddr;

use super::found::{Found, fails, ok};
use crate::cel::value::Value;

pub const DECLARED: &[&str] = &[
    "ip(string) ip",
    "isIP(string) bool",
    "static ip.isCanonical(string) bool",
    "ip.family() int",
    "ip.isUnspecified() bool",
    "ip.isLoopback() bool",
    "ip.isLinkLocalMulticast() bool",
    "ip.isLinkLocalUnicast() bool",
    "ip.isGlobalUnicast() bool",
    "cidr(string) cidr",
    "isCIDR(string) bool",
    "cidr.containsIP(string) bool",
    "cidr.containsIP(ip) bool",
    "cidr.containsCIDR(string) bool",
    "cidr.containsCIDR(cidr) bool",
    "cidr.ip() ip",
    "cidr.masked() cidr",
    "cidr.prefixLength() int",
];

pub fn call(name: &str, args: &[Value]) -> Found {
    match (name, args) {
        ("isIP", [Value::String(text)]) => ok(Value::Bool(address(text).is_some())),
        ("isCIDR", [Value::String(text)]) => ok(Value::Bool(network(text).is_some())),
        ("ip", [Value::String(text)]) => match address(text) {
            Some(found) => ok(Value::Ip(found)),
            None => fails(format!("IP Address {text:?} parse error during conversion from string: unable to parse IP")),
        },
        ("ip.isCanonical", [Value::String(text)]) => match address(text) {
            Some(found) => ok(Value::Bool(found.to_string() == **text)),
            None => fails(format!("IP Address {text:?} parse error during conversion from string: unable to parse IP")),
        },
        ("cidr", [Value::String(text)]) => match network(text) {
            Some((address, bits)) => ok(Value::Cidr(address, bits)),
            None => fails(format!("network address parse error during conversion from string: {text:?}")),
        },
        (_, [Value::Ip(address)]) => of_address(name, *address),
        (_, [Value::Cidr(address, bits), rest @ ..]) => of_network(name, (*address, *bits), rest),
        _ => None,
    }
}

/// An address that is written as one; IPv4 in the clothes of IPv6 is none.
fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok().filter(|found| !matches!(found, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some()))
}

fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (at, length) = text.split_once('/')?;
    let at = address(at)?;
    let plain = length == "0" || !length.starts_with(['0', '+']);
    let bits = length.parse().ok().filter(|bits| plain && *bits <= width(at))?;
    Some((at, bits))
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with only the bits of its network.
fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => IpAddr::V4((v4.to_bits() & u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0)).into()),
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() & u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)).into()),
    }
}

fn holds((network, bits): (IpAddr, u8), address: IpAddr) -> bool {
    network.is_ipv4() == address.is_ipv4() && masked(network, bits) == masked(address, bits)
}

fn of_address(name: &str, address: IpAddr) -> Found {
    let (link_local, link_local_multicast) = match address {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), v6.segments()[0] & 0xff0f == 0xff02),
    };
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    ok(Value::Bool(match name {
        "family" => return ok(Value::Int(if address.is_ipv4() { 4 } else { 6 })),
        "isUnspecified" => address.is_unspecified(),
        "isLoopback" => address.is_loopback(),
        "isLinkLocalMulticast" => link_local_multicast,
        "isLinkLocalUnicast" => link_local,
        "isGlobalUnicast" => {
            !(broadcast || address.is_unspecified() || address.is_loopback() || address.is_multicast() || link_local)
        }
        _ => return None,
    }))
}

fn of_network(name: &str, (at, bits): (IpAddr, u8), rest: &[Value]) -> Found {
    let contains = |(inner, length): (IpAddr, u8)| ok(Value::Bool(length >= bits && holds((at, bits), inner)));
    match (name, rest) {
        ("ip", []) => ok(Value::Ip(at)),
        ("masked", []) => ok(Value::Cidr(masked(at, bits), bits)),
        ("prefixLength", []) => ok(Value::Int(i64::from(bits))),
        ("containsIP", [Value::Ip(inner)]) => contains((*inner, width(*inner))),
        ("containsCIDR", [Value::Cidr(inner, length)]) => contains((*inner, *length)),
        ("containsIP", [Value::String(text)]) => match address(text) {
            Some(inner) => contains((inner, width(inner))),
            None => fails(format!("IP Address {text:?} parse error during conversion from string: unable to parse IP")),
        },
        ("containsCIDR", [Value::String(text)]) => match network(text) {
            Some(inner) => contains(inner),
            None => fails(format!("network address parse error during conversion from string: {text:?}")),
        },
        _ => None,
    }
}
