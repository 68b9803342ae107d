//! Where the next page of a list starts. Mirrors `k8s.io/apiserver/pkg/storage/continue.go`.
//!
//! A token is base64 of a small JSON document: the revision of the whole list, and the key after which to go on.
//! Nothing is kept in the server between two pages.

use serde_json::{Value, json};

use crate::object::json;

/// The version that all tokens carry.
const VERSION: &str = "meta.k8s.io/v1";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The token for what follows `last`, a key below the list's prefix, in the list of `revision`.
pub fn encode(last: &str, revision: u64) -> String {
    let document = json!({"v": VERSION, "rv": revision, "start": format!("{last}\u{0}")});
    encode_base64(document.to_string().as_bytes())
}

/// The revision of the list, and the first key of the next page. The error is what the API server says.
pub fn decode(token: &str) -> Result<(u64, String), String> {
    let wrong = |why: String| format!("continue key is not valid: {why}");
    let bytes = decode_base64(token).map_err(|at| wrong(format!("illegal base64 data at input byte {at}")))?;
    if let Some(byte) = bytes.first().filter(|byte| !byte.is_ascii()) {
        return Err(wrong(format!("invalid character {} looking for beginning of value", json::quote(*byte))));
    }
    let text = String::from_utf8_lossy(&bytes);
    json::parse(&text).map_err(wrong)?;
    let document: Value = serde_json::from_str(&text).unwrap_or_default();
    let version = document["v"].as_str().unwrap_or_default();
    if version != VERSION {
        return Err(wrong(format!("server does not recognize this encoded version {version:?}")));
    }
    let revision = document["rv"].as_u64().unwrap_or(0);
    if revision == 0 {
        return Err(wrong(format!("incorrect encoded start resourceVersion (version {VERSION})")));
    }
    let start = document["start"].as_str().unwrap_or_default();
    if start.is_empty() {
        return Err(wrong(format!("encoded start key empty (version {VERSION})")));
    }
    Ok((revision, start.to_owned()))
}

/// Base64 with the URL's alphabet and without padding.
fn encode_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 3);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        let characters = (0..=chunk.len()).map(|i| ALPHABET[(word >> (18 - 6 * i) & 63) as usize]);
        out.extend(characters.map(char::from));
    }
    out
}

/// The bytes, or the place of the first character that is wrong.
fn decode_base64(text: &str) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut word, mut bits) = (0_u32, 0);
    for (at, byte) in text.bytes().enumerate() {
        let value = ALPHABET.iter().position(|c| *c == byte).ok_or(at)?;
        word = (word << 6 | value as u32) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
        }
    }
    // A lone character at the end holds no whole byte.
    if bits == 6 { Err(text.len() - 1) } else { Ok(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_where_to_go_on() {
        for last in ["a", "ab", "abc", "default/web", "ä"] {
            assert_eq!(decode(&encode(last, 17)), Ok((17, format!("{last}\u{0}"))));
        }
    }

    #[test]
    fn wrong_tokens_are_refused_in_gos_words() {
        let document = |text: &str| encode_base64(text.as_bytes());
        #[rustfmt::skip]
        let cases = [
            ("zzz".to_owned(), "invalid character '\\xcf' looking for beginning of value"),
            ("a!".to_owned(), "illegal base64 data at input byte 1"),
            ("a".to_owned(), "illegal base64 data at input byte 0"),
            (document(r#"{"v":"v0"}"#), "server does not recognize this encoded version \"v0\""),
            (document(r#"{"v":"meta.k8s.io/v1"}"#), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
            (document(r#"{"v":"meta.k8s.io/v1","rv":2}"#), "encoded start key empty (version meta.k8s.io/v1)"),
        ];
        for (token, want) in cases {
            assert_eq!(decode(&token), Err(format!("continue key is not valid: {want}")), "{token}");
        }
    }
}
