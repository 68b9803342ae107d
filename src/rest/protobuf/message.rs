//! A message as it stands on the wire: numbers of fields, and what they hold.

/// Goes through the fields of a message.
pub struct Message<'b> {
    name: &'b str,
    rest: &'b [u8],
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Held<'b> {
    /// An integer or a boolean.
    Varint(u64),
    /// Eight bytes: a float.
    Fixed64(u64),
    /// Four bytes, which nothing in Kubernetes has.
    Fixed32,
    /// A text, bytes or a message.
    Bytes(&'b [u8]),
}

impl<'b> Message<'b> {
    /// The message of a struct of this name.
    pub fn new(name: &'b str, bytes: &'b [u8]) -> Message<'b> {
        Message { name, rest: bytes }
    }

    /// Whether nothing is left.
    pub fn is_at_its_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field; None at the end.
    ///
    /// # Errors
    /// The bytes are no message.
    pub fn field(&mut self) -> Result<Option<(u32, Held<'b>)>, String> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let (number, wire_type) = ((tag >> 3) as u32, tag & 7);
        if i32::try_from(number).map_or(true, |number| number <= 0) {
            let name = self.name;
            return Err(format!("proto: {name}: illegal tag {} (wire type {wire_type})", number as i32));
        }
        let held = match wire_type {
            0 => Held::Varint(self.varint()?),
            1 => {
                let bytes = self.take(8)?.try_into().unwrap_or_default();
                Held::Fixed64(u64::from_le_bytes(bytes))
            }
            2 => {
                let length = self.varint()?;
                if i64::try_from(length).is_err() {
                    return Err("proto: negative length found during unmarshaling".to_owned());
                }
                Held::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Held::Fixed32)?,
            other => return Err(format!("proto: illegal wireType {other}")),
        };
        Ok(Some((number, held)))
    }

    /// An integer, seven bits a byte.
    ///
    /// # Errors
    /// It has no end, or more than 64 bits.
    pub fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take(1)? else { break };
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("proto: integer overflow".to_owned())
    }

    fn take(&mut self, length: u64) -> Result<&'b [u8], String> {
        let parts = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (taken, rest) = parts.ok_or_else(|| "unexpected EOF".to_owned())?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'b> Held<'b> {
    /// An integer.
    ///
    /// # Errors
    /// It is none.
    pub fn varint(&self, field: &str) -> Result<u64, String> {
        if let Held::Varint(value) = self { Ok(*value) } else { Err(self.wrong(field)) }
    }

    /// The bits of a float.
    ///
    /// # Errors
    /// It is none.
    pub fn fixed64(&self, field: &str) -> Result<u64, String> {
        if let Held::Fixed64(value) = self { Ok(*value) } else { Err(self.wrong(field)) }
    }

    /// Bytes, or a message.
    ///
    /// # Errors
    /// It is neither.
    pub fn bytes(&self, field: &str) -> Result<&'b [u8], String> {
        if let Held::Bytes(bytes) = self { Ok(bytes) } else { Err(self.wrong(field)) }
    }

    /// A text. Bytes that are none in UTF-8 are replaced, as Go's JSON replaces them.
    ///
    /// # Errors
    /// It is none.
    pub fn text(&self, field: &str) -> Result<String, String> {
        self.bytes(field).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    fn wrong(&self, field: &str) -> String {
        let wire_type = match self {
            Held::Varint(_) => 0,
            Held::Fixed64(_) => 1,
            Held::Bytes(_) => 2,
            Held::Fixed32 => 5,
        };
        format!("proto: wrong wireType = {wire_type} for field {field}")
    }
}
