use super::certificate::{Validity, issue, not_after};
use super::*;
use crate::time::Instant;

/// What a user of a real cluster sent, and what its signer answered.
const SENT: &str = include_str!("recorded-request.pem");
const ANSWERED: &str = include_str!("recorded-certificate.pem");

fn request() -> Request {
    Request::parse(SENT.as_bytes()).expect("a request that a real server took")
}

/// The parts of the signed part of a certificate.
fn parts(certificate: &str) -> Vec<Vec<u8>> {
    let bytes = pem::decode(certificate.as_bytes(), CERTIFICATE).expect("PEM");
    let mut outer = Elements::of(&bytes);
    let mut parts = outer.expect(tag::SEQUENCE).unwrap().inside().expect(tag::SEQUENCE).unwrap().inside();
    let mut found = Vec::new();
    while !parts.is_empty() {
        found.push(parts.take().unwrap().whole.to_vec());
    }
    found
}

#[test]
fn a_request_says_who_asks() {
    let request = request();
    assert_eq!((request.common_name(), request.organizations().collect::<Vec<_>>()), ("alice", vec!["dev"]));
    assert_eq!(request.has, AltNames::default());
}

#[test]
fn a_certificate_is_as_a_real_one_but_for_number_key_and_signature() {
    let at = |text: &str| text.parse().unwrap();
    let validity = Validity { not_before: at("2026-11-29T18:32:28Z"), not_after: at("2026-12-29T18:27:22Z") };
    let serial = [0xc2, 0xef, 0x91, 0xc0, 0x37, 0xd8, 0x8b, 0x84, 0xd3, 0x1e, 0x35, 0x6a, 0x71, 0xda, 0x26, 0xff];
    let ours = issue(&request(), &["client auth".to_owned()], &serial, validity);
    let (mut ours_parts, mut real) = (parts(&ours), parts(ANSWERED));
    let (extensions, real_extensions) = (ours_parts.pop().unwrap(), real.pop().unwrap());
    // Whose subject is a text in any form: Go writes the authority's own bytes.
    assert_eq!(ours_parts.remove(3).len(), real.remove(3).len());
    assert_eq!(ours_parts, real);
    let lists = |bytes: &[u8]| {
        let mut list = Elements::of(bytes).take().unwrap().inside().take().unwrap().inside();
        let mut found = Vec::new();
        while !list.is_empty() {
            found.push(list.take().unwrap().whole.to_vec());
        }
        found
    };
    let (ours_list, real_list) = (lists(&extensions), lists(&real_extensions));
    assert_eq!(ours_list, real_list[..2], "the third names the authority's key");
    assert_eq!(not_after(ours.as_bytes()), not_after(ANSWERED.as_bytes()));
    assert!(not_after(ours.as_bytes()).is_some_and(|end| end > Instant(0)));
}

#[test]
fn what_is_no_request_is_refused() {
    assert_eq!(Request::parse(b"hello"), Err("PEM block type must be CERTIFICATE REQUEST".to_owned()));
    let whole = pem::decode(SENT.as_bytes(), REQUEST).unwrap();
    for length in 0..whole.len() {
        let cut = pem::encode(&whole[..length], REQUEST);
        assert!(Request::parse(cut.as_bytes()).is_err(), "{length} of {} bytes", whole.len());
    }
    // With any byte changed there is an answer.
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        drop(Request::parse(pem::encode(&bytes, REQUEST).as_bytes()));
        let _end = not_after(pem::encode(&bytes, CERTIFICATE).as_bytes());
    }
}
