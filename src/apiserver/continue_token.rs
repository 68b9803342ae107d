//! Where the next page of a list starts. Mirrors `k8s.io/apiserver/pkg/storage/continue.go`.
//!
//! A token is base64 of a small JSON document: the revision of the whole list, and the key after which to go on.
//! Nothing is kept in the server between two pages.

use serde_json::Value;

use object::{Object, base64, json};
use wire::Request;

/// The version that all tokens carry.
const VERSION: &str = "meta.k8s.io/v1";

/// The token for what follows `last`, a key below the list's prefix, in the list of `revision`; none: as it is then.
pub fn encode(last: &str, revision: Option<u64>) -> String {
    let revision = revision.map_or("-1".to_owned(), |revision| revision.to_string());
    let start = Value::from(format!("/{last}\u{0}"));
    base64::encode(format!("{{\"v\":\"{VERSION}\",\"rv\":{revision},\"start\":{start}}}").as_bytes())
}

/// The token for what follows an object in the list that a request asks for.
pub fn after(last: &Object, request: &Request, revision: u64) -> String {
    match (last.namespace(), request.namespace.as_str()) {
        (namespace, "") if !namespace.is_empty() => encode(&format!("{namespace}/{}", last.name()), Some(revision)),
        _ => encode(last.name(), Some(revision)),
    }
}

/// The revision of the list, and the first key of the next page. The error is what the API server says.
pub fn decode(token: &str) -> Result<(Option<u64>, String), String> {
    let wrong = |why: String| format!("continue key is not valid: {why}");
    let bytes = base64::decode(token).map_err(|at| wrong(format!("illegal base64 data at input byte {at}")))?;
    if let Some(byte) = bytes.first().filter(|byte| !byte.is_ascii()) {
        return Err(wrong(format!("invalid character {} looking for beginning of value", json::quote(*byte))));
    }
    let text = String::from_utf8_lossy(&bytes);
    json::parse(&text).map_err(wrong)?;
    let document: Value = serde_json::from_str(&text).unwrap_or_default();
    let version = document["v"].as_str().unwrap_or_default();
    if version != VERSION {
        return Err(wrong(format!("server does not recognize this encoded version {version}")));
    }
    let revision = document["rv"].as_i64().unwrap_or(0);
    if revision == 0 {
        return Err(wrong(format!("incorrect encoded start resourceVersion (version {VERSION})")));
    }
    let start = document["start"].as_str().unwrap_or_default();
    if start.is_empty() {
        return Err(wrong(format!("encoded start key empty (version {VERSION})")));
    }
    // The key may not leave the list's prefix. Mirrors what `path.Clean` would change.
    let inside = start.strip_prefix('/').unwrap_or(start);
    let parts: Vec<&str> = inside.split('/').collect();
    if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
        return Err(wrong(start.to_owned()));
    }
    Ok((u64::try_from(revision).ok(), inside.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_where_to_go_on() {
        for last in ["a", "ab", "abc", "default/web", "ä"] {
            for revision in [Some(17), None] {
                assert_eq!(decode(&encode(last, revision)), Ok((revision, format!("{last}\u{0}"))));
            }
        }
    }

    #[test]
    fn a_token_is_written_as_a_real_one() {
        let recorded = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NDMwLCJzdGFydCI6Ii9sMVx1MDAwMCJ9";
        assert_eq!(encode("l1", Some(430)), recorded);
    }

    #[test]
    fn wrong_tokens_are_refused_in_gos_words() {
        let document = |text: &str| base64::encode(text.as_bytes());
        #[rustfmt::skip]
        let cases = [
            ("zzz".to_owned(), "invalid character '\\xcf' looking for beginning of value"),
            ("a!".to_owned(), "illegal base64 data at input byte 1"),
            ("a".to_owned(), "illegal base64 data at input byte 0"),
            (document(r#"{"v":"v0"}"#), "server does not recognize this encoded version v0"),
            (document(r#"{"v":"meta.k8s.io/v1"}"#), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
            (document(r#"{"v":"meta.k8s.io/v1","rv":2}"#), "encoded start key empty (version meta.k8s.io/v1)"),
            (document(r#"{"v":"meta.k8s.io/v1","rv":2,"start":"../secrets/a"}"#), "../secrets/a"),
            (document(r#"{"v":"meta.k8s.io/v1","rv":2,"start":"default//a"}"#), "default//a"),
        ];
        for (token, want) in cases {
            assert_eq!(decode(&token), Err(format!("continue key is not valid: {want}")), "{token}");
        }
    }
}
