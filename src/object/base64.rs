//! Base64, RFC 4648: with the alphabet of URLs and without padding, in which web tokens and pages of lists are written, and
//! the usual one.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The text that stands for `bytes`.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 3);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        let characters = (0..=chunk.len()).map(|i| ALPHABET[(word >> (18 - 6 * i) & 63) as usize]);
        out.extend(characters.map(char::from));
    }
    out
}

/// The text that stands for `bytes` in the usual alphabet, padded to whole groups of four.
pub fn padded(bytes: &[u8]) -> String {
    let mut text = encode(bytes).replace('-', "+").replace('_', "/");
    text.extend(std::iter::repeat_n('=', text.len().next_multiple_of(4) - text.len()));
    text
}

/// The bytes, or the place of the first character that is wrong.
pub fn decode(text: &str) -> Result<Vec<u8>, usize> {
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
    fn the_usual_one_is_padded() {
        for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy"), ("ä?>", "w6Q/Pg==")] {
            assert_eq!(padded(text.as_bytes()), encoded);
        }
    }

    #[test]
    fn bytes_come_back() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("ä?>", "w6Q_Pg")]
        {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text), Ok(bytes.as_bytes().to_vec()));
        }
        assert_eq!((decode("a!"), decode("abcde")), (Err(1), Err(4)));
    }
}
