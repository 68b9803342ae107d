//! What names may look like. Mirrors `k8s.io/apimachinery/pkg/util/validation` and `pkg/api/validation/path`; each
//! check gives the sentences about what is wrong.

use std::net::IpAddr;

use crate::selector::names::{check_subdomain, is_subdomain};

use super::field::{Path, Problems};

/// The longest DNS label.
const LABEL_LEN_MAX: usize = 63;
/// The longest name in DNS.
const SUBDOMAIN_LEN_MAX: usize = 253;
/// The longest name of a container's port: an IANA service name.
const PORT_NAME_LEN_MAX: usize = 15;
const DNS_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS_1035_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SEARCH_DOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' \
    or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
    consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
    '*.example.com', regex used for validation is \
    '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  \
    or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// What is wrong with `name` as a DNS label. Mirrors `IsDNS1123Label`.
pub fn check_dns_label(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > LABEL_LEN_MAX {
        problems.push(format!("must be no more than {LABEL_LEN_MAX} characters"));
    }
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if name.is_empty() || name.starts_with('-') || name.ends_with('-') || !name.bytes().all(inner) {
        // A fine name but for its dots is told about those.
        let why = if is_subdomain(name) { "must not contain dots" } else { DNS_LABEL };
        problems.push(why.to_owned());
    }
    problems
}

/// What is wrong with `name` as a DNS label that begins with a letter. Mirrors `IsDNS1035Label`.
pub fn check_dns_1035_label(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > LABEL_LEN_MAX {
        problems.push(format!("must be no more than {LABEL_LEN_MAX} characters"));
    }
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || name.ends_with('-') || !name.bytes().all(inner) {
        problems.push(DNS_1035_LABEL.to_owned());
    }
    problems
}

/// What is wrong with `name` as a part of a URL. Mirrors `IsValidPathSegmentName`.
pub fn check_path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let wrong = ["/", "%"].into_iter().filter(|part| name.contains(part));
    wrong.map(|part| format!("may not contain '{part}'")).collect()
}

/// What is wrong with a port's name. Mirrors `IsValidPortName`.
pub fn check_port_name(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut unless = |fine: bool, why: &str| {
        if !fine {
            problems.push(why.to_owned());
        }
    };
    unless(name.len() <= PORT_NAME_LEN_MAX, &format!("must be no more than {PORT_NAME_LEN_MAX} characters"));
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let characters = !name.is_empty() && name.bytes().all(inner);
    unless(characters, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    unless(name.bytes().any(|c| c.is_ascii_lowercase()), "must contain at least one letter (a-z)");
    unless(!name.contains("--"), "must not contain consecutive hyphens");
    let ends = !name.is_empty() && !name.starts_with('-') && !name.ends_with('-');
    unless(ends, "must not begin or end with a hyphen");
    problems
}

/// What is wrong with a port's number.
pub fn check_port(number: i32) -> Option<&'static str> {
    (!(1..=65535).contains(&number)).then_some("must be between 1 and 65535, inclusive")
}

const HTTP_PATH: &str = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

/// A domain, a slash and more. Mirrors `IsDomainPrefixedPath`.
pub fn prefixed_path(problems: &mut Problems, path: &Path, text: &str) {
    const WHY: &str = "must be a domain-prefixed path (such as \"acme.io/foo\")";
    match text.split_once('/') {
        _ if text.is_empty() => problems.required(path, ""),
        Some((domain, rest)) if !domain.is_empty() && !rest.is_empty() => {
            problems.all_invalid(path, domain, check_subdomain(domain));
            let inner = |c: u8| c.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&c);
            if !rest.bytes().all(inner) {
                problems.invalid(path, rest, HTTP_PATH);
            }
        }
        _ => problems.invalid(path, text, WHY),
    }
}

/// What is wrong with an address. Programs differ over what zeros in front mean, and over which family an address of the
/// other family is of: so neither is taken. Mirrors `IsValidIPForLegacyField`, strictly.
pub fn check_ip(address: &str) -> Option<&'static str> {
    match address.parse::<IpAddr>() {
        Ok(ip) if is_mapped(ip) => Some("must not be an IPv4-mapped IPv6 address"),
        Ok(_) => None,
        Err(_) if without_zeros(address).parse::<IpAddr>().is_ok() => Some("must not have leading 0s"),
        Err(_) => Some("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    }
}

/// What is wrong with an address that may be written in one way only. Mirrors `IsValidIP`.
pub fn check_canonical_ip(address: &str) -> Option<String> {
    if let Some(why) = check_ip(address) {
        return Some(why.to_owned());
    }
    let ip: IpAddr = address.parse().ok()?;
    not_canonical(address, &ip.to_string())
}

/// The same of a range. Mirrors `IsValidCIDR`.
pub fn check_canonical_cidr(cidr: &str) -> Option<String> {
    if let Some(why) = check_cidr(cidr) {
        return Some(why.to_owned());
    }
    let (ip, bits) = parse_cidr(cidr)?;
    not_canonical(cidr, &format!("{ip}/{bits}"))
}

fn not_canonical(text: &str, canonical: &str) -> Option<String> {
    (text != canonical).then(|| format!("must be in canonical form ({canonical:?})"))
}

/// What is wrong with a range of addresses. One of its addresses with its length is none. Mirrors
/// `IsValidCIDRForLegacyField`, strictly.
pub fn check_cidr(cidr: &str) -> Option<&'static str> {
    let (address, length) = cidr.split_once('/').unwrap_or((cidr, ""));
    let has_zeros = address.parse::<IpAddr>().is_err() || (length.len() > 1 && length.starts_with('0'));
    match parse_cidr(&format!("{}/{length}", without_zeros(address))) {
        None => Some("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        Some(_) if has_zeros => Some("must not have leading 0s in IP or prefix length"),
        Some((ip, _)) if is_mapped(ip) => Some("must not have an IPv4-mapped IPv6 address"),
        Some((ip, bits)) => {
            let beyond = match ip {
                IpAddr::V4(ip) => ip.to_bits().checked_shl(bits).unwrap_or(0) != 0,
                IpAddr::V6(ip) => ip.to_bits().checked_shl(bits).unwrap_or(0) != 0,
            };
            beyond.then_some("must not have bits set beyond the prefix length")
        }
    }
}

/// An address of a range, and how many bits all of the range have in common.
pub fn parse_cidr(cidr: &str) -> Option<(IpAddr, u32)> {
    let (ip, bits) = cidr.split_once('/')?;
    let ip: IpAddr = ip.parse().ok()?;
    let max = if ip.is_ipv4() { 32 } else { 128 };
    bits.parse::<u32>().ok().filter(|bits| *bits <= max).map(|bits| (ip, bits))
}

/// An address as programs once read it: zeros in front of a number mean nothing, and one of IPv4 in the form of IPv6 is
/// that address. Mirrors `ParseIPSloppy`.
pub fn parse_ip_sloppy(address: &str) -> Option<IpAddr> {
    let ip: IpAddr = without_zeros(address).parse().ok()?;
    Some(ip.to_canonical())
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

/// An address of IPv4 without zeros in front of its numbers.
fn without_zeros(address: &str) -> String {
    let number = |part: &str| match part.trim_start_matches('0') {
        "" => part[..part.len().min(1)].to_owned(),
        rest => rest.to_owned(),
    };
    if address.contains(':') {
        address.to_owned()
    } else {
        address.split('.').map(number).collect::<Vec<_>>().join(".")
    }
}

/// What is wrong with the name of an HTTP header. Mirrors `IsHTTPHeaderName`.
pub fn check_header_name(name: &str) -> Option<&'static str> {
    const WHY: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', \
        regex used for validation is '[-A-Za-z0-9]+')";
    let fine = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
    (!fine).then_some(WHY)
}

/// What is wrong with a domain in a resolver's search list: a subdomain whose labels may begin with `_`. Mirrors
/// `IsDNS1123SubdomainWithUnderscore`.
pub fn check_search_domain(name: &str) -> Vec<String> {
    let end = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_".contains(&c);
    let is_label = |label: &str| {
        let label = label.strip_prefix('_').unwrap_or(label);
        end(label.bytes().next()) && end(label.bytes().last()) && label.bytes().all(inner)
    };
    let mut problems = Vec::new();
    if name.len() > SUBDOMAIN_LEN_MAX {
        problems.push(format!("must be no more than {SUBDOMAIN_LEN_MAX} characters"));
    }
    if !name.split('.').all(is_label) {
        problems.push(SEARCH_DOMAIN.to_owned());
    }
    problems
}

/// What is wrong with `*.` and a subdomain, which stand for all names in it. Mirrors `IsWildcardDNS1123Subdomain`.
pub fn check_wildcard(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > SUBDOMAIN_LEN_MAX {
        problems.push(format!("must be no more than {SUBDOMAIN_LEN_MAX} characters"));
    }
    if !name.strip_prefix("*.").is_some_and(is_subdomain) {
        problems.push(WILDCARD.to_owned());
    }
    problems
}

/// What is wrong with a key of a ConfigMap or Secret. Mirrors `IsConfigMapKey`.
pub fn check_config_key(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if key.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    if key.is_empty() || !key.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c)) {
        problems.push(CONFIG_KEY.to_owned());
    } else if key == "." {
        problems.push("must not be '.'".to_owned());
    } else if key == ".." {
        problems.push("must not be '..'".to_owned());
    } else if key.starts_with("..") {
        problems.push("must not start with '..'".to_owned());
    }
    problems
}

/// What is wrong with an environment variable's name. Mirrors `IsRelaxedEnvVarName`.
pub fn check_env_name(name: &str) -> Option<&'static str> {
    const WHY: &str =
        "a valid environment variable name must consist only of printable ASCII characters other than '='";
    (!name.bytes().all(|c| (b' '..=b'~').contains(&c) && c != b'=')).then_some(WHY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_dns_labels() {
        const LONG: &str = "must be no more than 63 characters";
        let (long, longer) = ("a".repeat(70), format!("{}.b", "a".repeat(70)));
        let cases: [(&str, &[&str]); 6] = [
            ("a-1", &[]),
            ("a.b", &["must not contain dots"]),
            ("a..b", &[DNS_LABEL]),
            ("A.b", &[DNS_LABEL]),
            (&long, &[LONG]),
            (&longer, &[LONG, "must not contain dots"]),
        ];
        for (name, wrong) in cases {
            assert_eq!(check_dns_label(name), wrong, "{name}");
        }
        assert_eq!(check_dns_1035_label(&long), [LONG]);
        assert_eq!(check_search_domain(&"a".repeat(254)), ["must be no more than 253 characters"]);
    }

    #[test]
    fn addresses_and_ranges_are_written_in_one_way() {
        for (address, wrong) in [
            ("10.9.8.7", ""),
            ("2001:DB8::1", ""),
            ("0.0.0.0", ""),
            ("010.9.8.7", "must not have leading 0s"),
            ("10.9.8.00", "must not have leading 0s"),
            ("::ffff:10.9.8.7", "must not be an IPv4-mapped IPv6 address"),
            ("10.9.8", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
            ("", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ] {
            assert_eq!(check_ip(address).unwrap_or_default(), wrong, "{address}");
        }
        for (range, wrong) in [
            ("10.0.0.0/8", ""),
            ("0.0.0.0/0", ""),
            ("10.9.8.7/32", ""),
            ("2001:db8::/64", ""),
            ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
            ("2001:db8::1/64", "must not have bits set beyond the prefix length"),
            ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
            ("010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
            ("::ffff:10.0.0.0/104", "must not have an IPv4-mapped IPv6 address"),
            ("10.0.0.0", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
            ("10.0.0.0/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ] {
            assert_eq!(check_cidr(range).unwrap_or_default(), wrong, "{range}");
        }
    }

    #[test]
    fn names_of_ports_and_keys() {
        for (name, fine) in
            [("http", true), ("80", false), ("a--b", false), ("-a", false), ("", false), ("HTTP", false)]
        {
            assert_eq!(check_port_name(name).is_empty(), fine, "{name}");
        }
        for (key, fine) in [("app.conf", true), (".dockercfg", true), ("..x", false), ("", false), ("a/b", false)] {
            assert_eq!(check_config_key(key).is_empty(), fine, "{key}");
        }
        assert!(check_env_name("A=B").is_some() && check_env_name("my.var").is_none());
    }
}
