//! DER, the encoding of requests and certificates: elements of a tag, a length and a content.
//!
//! Left out: tags and lengths that no certificate has (tags above 30, more than four bytes of length).

/// The tags that occur.
pub mod tag {
    #![expect(missing_docs, reason = "the names are those of ASN.1")]
    pub const BOOLEAN: u8 = 0x01;
    pub const INTEGER: u8 = 0x02;
    pub const BIT_STRING: u8 = 0x03;
    pub const OCTET_STRING: u8 = 0x04;
    pub const NULL: u8 = 0x05;
    pub const OBJECT: u8 = 0x06;
    pub const UTF8_STRING: u8 = 0x0c;
    pub const PRINTABLE_STRING: u8 = 0x13;
    pub const UTC_TIME: u8 = 0x17;
    pub const GENERALIZED_TIME: u8 = 0x18;
    pub const SEQUENCE: u8 = 0x30;
    pub const SET: u8 = 0x31;

    /// An element that its place names.
    pub const fn context(n: u8) -> u8 {
        0xa0 | n
    }

    /// The same, of bytes instead of elements.
    pub const fn context_bytes(n: u8) -> u8 {
        0x80 | n
    }
}

/// An element.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// What it is.
    pub tag: u8,
    /// What is inside.
    pub content: &'a [u8],
    /// All of it.
    pub whole: &'a [u8],
}

/// Elements, one after the other.
#[derive(Clone, Debug)]
pub struct Elements<'a>(&'a [u8]);

impl<'a> Element<'a> {
    /// The elements inside.
    pub fn inside(self) -> Elements<'a> {
        Elements(self.content)
    }
}

impl<'a> Elements<'a> {
    /// The elements of these bytes.
    pub fn of(bytes: &'a [u8]) -> Elements<'a> {
        Elements(bytes)
    }

    /// Whether there is no more.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next element. The errors are those of Go's `encoding/asn1`.
    pub fn take(&mut self) -> Result<Element<'a>, String> {
        const SHORT: &str = "asn1: syntax error: data truncated";
        let bytes = self.0;
        let [tag, length, rest @ ..] = bytes else { return Err(SHORT.to_owned()) };
        let (length, rest) = match *length {
            short @ 0..0x80 => (usize::from(short), rest),
            0x80 => return Err("asn1: syntax error: indefinite length found (not DER)".to_owned()),
            long => {
                let count = usize::from(long & 0x7f);
                if count > 4 {
                    return Err("asn1: structure error: length too large".to_owned());
                }
                let (digits, rest) = rest.split_at_checked(count).ok_or(SHORT)?;
                (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
            }
        };
        let (content, after) = rest.split_at_checked(length).ok_or(SHORT)?;
        self.0 = after;
        Ok(Element { tag: *tag, content, whole: &bytes[..bytes.len() - after.len()] })
    }

    /// The next element, which must be of this tag.
    pub fn expect(&mut self, tag: u8) -> Result<Element<'a>, String> {
        let element = self.take()?;
        match element.tag == tag {
            true => Ok(element),
            false => Err("asn1: structure error: tags don't match".to_owned()),
        }
    }
}

/// Writes an element around what is inside.
pub fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match content.len() {
        short @ 0..0x80 => out.push(short as u8),
        long => {
            let digits: Vec<u8> = long.to_be_bytes().into_iter().skip_while(|digit| *digit == 0).collect();
            out.push(0x80 | digits.len() as u8);
            out.extend(digits);
        }
    }
    out.extend_from_slice(content);
    out
}

/// The same around several.
pub fn around(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    element(tag, &parts.concat())
}
