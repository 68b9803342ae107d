//! Addresses that traffic is sent to. Mirrors `ValidateNonSpecialIP` of `pkg/apis/core/validation`, and its like.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use object::selector::names::check_label_key;
use object::validation::field::{Path, Problems};
use object::validation::names::{check_ip, parse_ip_sloppy};

/// Why a field stays what it was.
pub const IMMUTABLE: &str = "field is immutable";

/// An address that a client can be sent to. Mirrors `IsValidIPForLegacyField` and `ValidateEndpointIP`.
pub fn ip(problems: &mut Problems, path: &Path, address: &str) {
    if let Some(why) = check_ip(address) {
        problems.invalid(path, address, why);
    }
    reachable(problems, path, address);
}

/// Mirrors `ValidateEndpointIP`.
pub fn reachable(problems: &mut Problems, path: &Path, address: &str) {
    const LOOPBACK: &str = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
    const LINK: &str = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
    const MULTICAST: &str = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
    let Some(ip) = parse_ip_sloppy(address) else {
        return problems.invalid(path, address, "must be a valid IP address");
    };
    let (link, multicast) = match ip {
        IpAddr::V4(ip) => (Ipv4Addr::is_link_local(&ip), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => (Ipv6Addr::is_unicast_link_local(&ip), ip.segments()[0] & 0xff0f == 0xff02),
    };
    let any = format!("may not be unspecified ({address})");
    let special = [(ip.is_unspecified(), &*any), (ip.is_loopback(), LOOPBACK), (link, LINK), (multicast, MULTICAST)];
    for (_, why) in special.into_iter().filter(|(is, _)| *is) {
        problems.invalid(path, address, why);
    }
}

/// What is spoken at a port, if anything is said of it.
pub fn app_protocol(problems: &mut Problems, path: &Path, protocol: Option<&str>) {
    if let Some(protocol) = protocol {
        problems.all_invalid(&path.child("appProtocol"), protocol, check_label_key(protocol));
    }
}
