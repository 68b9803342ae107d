//! PEM: bytes as text between two lines that say what they are. Mirrors Go's `encoding/pem`.

use crate::base64;

/// Bytes to a line.
const LINE: usize = 48;

/// The bytes of the first block of this type; none if there is none, or what is in it is no base64.
pub fn decode(text: &[u8], block: &str) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(text);
    let [begin, end] = ["BEGIN", "END"].map(|word| format!("-----{word} {block}-----"));
    let (_, rest) = text.split_once(&begin)?;
    let (body, _) = rest.split_once(&end)?;
    let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
    base64::decode(&body.trim_end_matches('=').replace('+', "-").replace('/', "_")).ok()
}

/// The block of these bytes.
pub fn encode(bytes: &[u8], block: &str) -> String {
    let lines: String = bytes.chunks(LINE).map(|line| base64::padded(line) + "\n").collect();
    format!("-----BEGIN {block}-----\n{lines}-----END {block}-----\n")
}
