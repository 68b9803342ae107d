//! A certificate as kube-controller-manager writes it. Mirrors `pkg/controller/certificates/authority` and what Go's
//! `x509.CreateCertificate` makes of its template.
//!
//! Left out: the signature, whose place is empty, and the extension that names the authority's key.

use jiff::Timestamp;

use super::der::{around, element, tag};
use super::{CERTIFICATE, COMMON_NAME, ORGANIZATION, Oid, Request, SUBJECT_ALT_NAME, pem};
use crate::time::Instant;

/// What the authority is called.
const ISSUER: &str = "kubernetes";

/// `sha256WithRSAEncryption`.
const ALGORITHM: Oid = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
const KEY_USAGE: Oid = &[0x55, 29, 15];
const BASIC_CONSTRAINTS: Oid = &[0x55, 29, 19];
const EXTENDED_KEY_USAGE: Oid = &[0x55, 29, 37];
/// What purposes begin with: `id-kp`.
const PURPOSE: Oid = &[0x2b, 6, 1, 5, 5, 7, 3];

/// The attributes of a name in the order in which Go writes them, not in that of the request. Mirrors `ToRDNSequence`.
const ATTRIBUTES: [Oid; 9] = [
    &[0x55, 4, 6],
    ORGANIZATION,
    &[0x55, 4, 11],
    &[0x55, 4, 7],
    &[0x55, 4, 8],
    &[0x55, 4, 9],
    &[0x55, 4, 17],
    COMMON_NAME,
    &[0x55, 4, 5],
];
/// The attributes that a name has once: the last one counts.
const SINGLE: [Oid; 2] = [COMMON_NAME, &[0x55, 4, 5]];

/// What a key may be used for, as bits: the first is the highest. Mirrors `keyUsageDict`.
const USAGES: [(&str, u32); 10] = [
    ("signing", 0),
    ("digital signature", 0),
    ("content commitment", 1),
    ("key encipherment", 2),
    ("data encipherment", 3),
    ("key agreement", 4),
    ("cert sign", 5),
    ("crl sign", 6),
    ("encipher only", 7),
    ("decipher only", 8),
];

/// What a certificate may be used for, in the order in which it says so. Mirrors `extKeyUsageDict`.
const PURPOSES: [(&str, &[u8]); 13] = [
    ("any", &[0x55, 29, 37, 0]),
    ("server auth", &[1]),
    ("client auth", &[2]),
    ("code signing", &[3]),
    ("email protection", &[4]),
    ("s/mime", &[4]),
    ("ipsec end system", &[5]),
    ("ipsec tunnel", &[6]),
    ("ipsec user", &[7]),
    ("timestamping", &[8]),
    ("ocsp signing", &[9]),
    ("microsoft sgc", &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 10, 3, 3]),
    ("netscape sgc", &[0x60, 0x86, 0x48, 1, 0x86, 0xf8, 0x42, 4, 1]),
];

/// From when until when a certificate is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// From then on.
    pub not_before: Timestamp,
    /// Until then.
    pub not_after: Timestamp,
}

/// The certificate that answers a request, in PEM. `serial` is its number, 16 bytes.
pub fn issue(request: &Request, usages: &[String], serial: &[u8], validity: Validity) -> String {
    let to_be_signed = around(
        tag::SEQUENCE,
        &[
            element(tag::context(0), &element(tag::INTEGER, &[2])),
            element(tag::INTEGER, &positive(serial)),
            algorithm(),
            around(tag::SEQUENCE, &[attribute(COMMON_NAME, &[ISSUER])]),
            around(tag::SEQUENCE, &[moment(validity.not_before), moment(validity.not_after)]),
            subject(request),
            request.public_key.clone(),
            element(tag::context(3), &around(tag::SEQUENCE, &extensions(request, usages))),
        ],
    );
    let unsigned = element(tag::BIT_STRING, &[0]);
    pem::encode(&around(tag::SEQUENCE, &[to_be_signed, algorithm(), unsigned]), CERTIFICATE)
}

/// A number as DER has it: no zeros in front, but for one where the highest bit would make it negative.
fn positive(number: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = number.iter().copied().skip_while(|digit| *digit == 0).collect();
    match digits.first() {
        Some(first) if *first < 0x80 => digits,
        _ => [&[0], digits.as_slice()].concat(),
    }
}

fn algorithm() -> Vec<u8> {
    around(tag::SEQUENCE, &[element(tag::OBJECT, ALGORITHM), element(tag::NULL, &[])])
}

fn subject(request: &Request) -> Vec<u8> {
    let mut sets = Vec::new();
    for oid in ATTRIBUTES {
        let mut values: Vec<&str> = request.values(oid).collect();
        if SINGLE.contains(&oid) {
            values.drain(..values.len().saturating_sub(1));
        }
        if !values.is_empty() {
            sets.push(attribute(oid, &values));
        }
    }
    around(tag::SEQUENCE, &sets)
}

/// One attribute of a name, with its values.
fn attribute(oid: Oid, values: &[&str]) -> Vec<u8> {
    let one = |value: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || " '()+,-./:=?".contains(c);
        let string = if value.chars().all(plain) { tag::PRINTABLE_STRING } else { tag::UTF8_STRING };
        around(tag::SEQUENCE, &[element(tag::OBJECT, oid), element(string, value.as_bytes())])
    };
    let mut values: Vec<Vec<u8>> = values.iter().map(one).collect();
    values.sort_unstable();
    around(tag::SET, &values)
}

/// Two digits of the year, until there are too many years for that.
fn moment(at: Timestamp) -> Vec<u8> {
    match at < Timestamp::constant(2_524_608_000, 0) {
        true => element(tag::UTC_TIME, at.strftime("%y%m%d%H%M%SZ").to_string().as_bytes()),
        false => element(tag::GENERALIZED_TIME, at.strftime("%Y%m%d%H%M%SZ").to_string().as_bytes()),
    }
}

/// In the order of `buildCertExtensions`.
fn extensions(request: &Request, usages: &[String]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let bits = USAGES.iter().filter(|(usage, _)| usages.iter().any(|wanted| wanted == usage));
    let bits = bits.fold(0_u16, |bits, (_, bit)| bits | 0x8000 >> bit);
    if bits != 0 {
        let mut bytes = bits.to_be_bytes().to_vec();
        bytes.truncate(if bytes[1] == 0 { 1 } else { 2 });
        let unused = bytes.last().map_or(0, |last| last.trailing_zeros() as u8);
        bytes.insert(0, unused);
        found.push(extension(KEY_USAGE, true, &element(tag::BIT_STRING, &bytes)));
    }
    let purposes = PURPOSES.iter().filter(|(usage, _)| usages.iter().any(|wanted| wanted == usage));
    let mut purposes: Vec<&[u8]> = purposes.map(|(_, oid)| *oid).collect();
    purposes.dedup();
    if !purposes.is_empty() {
        let oid = |oid: &&[u8]| match oid {
            [_] => element(tag::OBJECT, &[PURPOSE, oid].concat()),
            whole => element(tag::OBJECT, whole),
        };
        let purposes: Vec<Vec<u8>> = purposes.iter().map(oid).collect();
        found.push(extension(EXTENDED_KEY_USAGE, false, &around(tag::SEQUENCE, &purposes)));
    }
    found.push(extension(BASIC_CONSTRAINTS, true, &element(tag::SEQUENCE, &[])));
    if let Some(names) = &request.alt_names {
        found.push(extension(SUBJECT_ALT_NAME, request.subject.is_empty(), names));
    }
    found
}

fn extension(oid: Oid, critical: bool, value: &[u8]) -> Vec<u8> {
    let critical = if critical { element(tag::BOOLEAN, &[0xff]) } else { Vec::new() };
    around(tag::SEQUENCE, &[element(tag::OBJECT, oid), critical, element(tag::OCTET_STRING, value)])
}

/// When a certificate ends; none if this is none.
pub fn not_after(text: &[u8]) -> Option<Instant> {
    let bytes = pem::decode(text, CERTIFICATE)?;
    let mut outer = super::Elements::of(&bytes);
    let mut parts = outer.expect(tag::SEQUENCE).ok()?.inside().expect(tag::SEQUENCE).ok()?.inside();
    // Version, number, algorithm, issuer.
    for _ in 0..4 {
        parts.take().ok()?;
    }
    let mut validity = parts.expect(tag::SEQUENCE).ok()?.inside();
    validity.take().ok()?;
    let end = validity.take().ok()?;
    let format = if end.tag == tag::UTC_TIME { "%y%m%d%H%M%SZ" } else { "%Y%m%d%H%M%SZ" };
    let text = std::str::from_utf8(end.content).ok()?;
    let civil = jiff::civil::DateTime::strptime(format, text).ok()?;
    let at = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    Some(Instant::from_time(&k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at)))
}
