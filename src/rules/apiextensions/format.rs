//! The formats of strings that are checked: `format` in a schema. Mirrors `k8s.io/kube-openapi/pkg/validation/strfmt`.
//!
//! Left out: `byte`, `uri`, `email`, `hostname`, `mac`, `isbn`, `creditcard`, `ssn`, colours and `bsonobjectid`; as
//! unknown formats they allow every text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use jiff::Timestamp;
use jiff::civil::Date;

use object::selector::names::check_subdomain;
use object::validation::names::check_dns_label;

/// Whether `text` is of this format; every text is of a format that is not checked.
pub fn fits(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => text.parse::<Timestamp>().is_ok(),
        "date" => text.len() == 10 && text.parse::<Date>().is_ok(),
        "duration" => is_duration(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => text.split_once('/').is_some_and(|(address, length)| is_cidr(address, length)),
        "uuid" => is_uuid(text),
        "k8s-short-name" => check_dns_label(text).is_empty(),
        "k8s-long-name" => check_subdomain(text).is_empty(),
        _ => true,
    }
}

fn is_cidr(address: &str, length: &str) -> bool {
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    length.parse::<u8>().is_ok_and(|length| length <= most)
}

/// Numbers with units, one after another: `1h30m`, `300ms`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut any = false;
    while !rest.is_empty() {
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let unit = ["ns", "us", "µs", "ms", "s", "m", "h"].iter().find(|unit| {
            rest[number..].strip_prefix(**unit).is_some_and(|after| !after.starts_with(|c: char| c.is_alphabetic()))
        });
        match unit {
            Some(unit) if rest[..number].parse::<f64>().is_ok() => rest = &rest[number + unit.len()..],
            _ => return false,
        }
        any = true;
    }
    any
}

/// 32 hexadecimal digits, with or without dashes between the groups.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (i, group) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        match rest.get(..group) {
            Some(digits) if digits.bytes().all(|c| c.is_ascii_hexdigit()) => rest = &rest[group..],
            _ => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_their_formats() {
        #[rustfmt::skip]
        let cases = [
            ("date-time", "2026-01-01T00:00:00Z", true), ("date-time", "2026-01-01", false), ("date", "2026-02-28", true),
            ("date", "2026-02-30", false), ("duration", "1h30m", true), ("duration", "300ms", true), ("duration", "5", false),
            ("duration", "1 year", false), ("duration", "", false), ("ipv4", "10.0.0.1", true), ("ipv4", "::1", false), ("ipv6", "::1", true),
            ("cidr", "10.0.0.0/8", true), ("cidr", "10.0.0.0/33", false), ("cidr", "10.0.0.0", false),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", true), ("uuid", "123e4567", false),
            ("k8s-short-name", "a-1", true), ("k8s-short-name", "a.b", false), ("k8s-short-name", "A", false),
            ("k8s-long-name", "a.b", true), ("k8s-long-name", "a..b", false),
            ("anything", "x", true), ("", "x", true),
        ];
        for (format, text, want) in cases {
            assert_eq!(fits(format, text), want, "{format} {text:?}");
        }
    }
}
