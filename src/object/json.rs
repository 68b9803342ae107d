//! A JSON parser that keeps duplicate keys and the order of keys, and complains in the words of Go's
//! `encoding/json`: `invalid character '}' looking for beginning of value`.

use serde_json::Value;

/// How deep values may nest. Go stops at 10,000; no Kubernetes object comes near either.
const DEPTH_MAX: usize = 200;

/// A parsed value. Numbers stay text, because Go quotes them in errors as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as written.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// Fields in the order written, duplicates included.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// A value that was parsed elsewhere.
    pub fn of(value: &Value) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => Json::Number(number.to_string()),
            Value::String(text) => Json::String(text.clone()),
            Value::Array(items) => Json::Array(items.iter().map(Json::of).collect()),
            Value::Object(fields) => Json::Object(fields.iter().map(|(k, v)| (k.clone(), Json::of(v))).collect()),
        }
    }

    /// The value of a field, the last if it is there more than once.
    pub fn field(&self, name: &str) -> Option<&Json> {
        let Json::Object(fields) = self else { return None };
        fields.iter().rev().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// Whether it is what Go's variables hold before anything is written into them, or has nothing in it.
    pub fn is_empty(&self) -> bool {
        match self {
            Json::Null => true,
            Json::Bool(value) => !value,
            Json::Number(number) => number == "0",
            Json::String(text) => text.is_empty(),
            Json::Array(items) => items.is_empty(),
            Json::Object(fields) => fields.is_empty(),
        }
    }

    /// What Go calls a value of this kind in an error.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "bool",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }
}

/// A number as Go prints it: whole ones without a point.
pub fn go_number(number: f64) -> Value {
    // Up to here a float is exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT { Value::from(number as i64) } else { Value::from(number) }
}

/// The same everywhere in a value.
pub fn go_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => *value = go_number(number.as_f64().unwrap_or_default()),
        Value::Array(items) => items.iter_mut().for_each(go_numbers),
        Value::Object(fields) => fields.values_mut().for_each(go_numbers),
        _ => {}
    }
}

/// Parses a whole text. The error is Go's.
pub fn parse(text: &str) -> Result<Json, String> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    match parser.skip_blanks() {
        None => Ok(value),
        Some(_) => Err(parser.unexpected("after top-level value")),
    }
}

struct Parser<'a> {
    text: &'a str,
    /// The next byte; always at the start of a character.
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) -> Option<u8> {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.peek()
    }

    /// The error about the byte at hand, or about the end.
    fn unexpected(&self, context: &str) -> String {
        match self.peek() {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => format!("invalid character {} {context}", quote(byte)),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEPTH_MAX {
            return Err("exceeded max depth".to_owned());
        }
        match self.skip_blanks() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Json::Bool(true)),
            Some(b'f') => self.literal("false", Json::Bool(false)),
            Some(b'n') => self.literal("null", Json::Null),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let mut fields = Vec::new();
        self.at += 1;
        if self.skip_blanks() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(fields));
        }
        loop {
            if self.skip_blanks() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let key = self.string()?;
            if self.skip_blanks() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            fields.push((key, self.value(depth + 1)?));
            match self.skip_blanks() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
        self.at += 1;
        Ok(Json::Object(fields))
    }

    fn array(&mut self, depth: usize) -> Result<Json, String> {
        let mut items = Vec::new();
        self.at += 1;
        if self.skip_blanks() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            match self.skip_blanks() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected("after array element")),
            }
        }
        self.at += 1;
        Ok(Json::Array(items))
    }

    fn literal(&mut self, word: &str, value: Json) -> Result<Json, String> {
        for want in word.bytes() {
            if self.peek() != Some(want) {
                return Err(self.unexpected(&format!("in literal {word} (expecting {})", quote(want))));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.unexpected("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.unexpected("after decimal point in numeric literal"));
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.unexpected("in exponent of numeric literal"));
            }
            self.digits();
        }
        Ok(Json::Number(self.text[start..self.at].to_owned()))
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let mut out = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c| c == '"' || c == '\\' || c < ' ').unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(self.unexpected("in string literal")),
            }
        }
        self.at += 1;
        Ok(out)
    }

    fn escape(&mut self) -> Result<char, String> {
        let c = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        Ok(c)
    }

    /// Four hexadecimal digits, or eight as a surrogate pair; half a pair becomes the replacement character.
    fn unicode_escape(&mut self) -> Result<char, String> {
        let high = self.hex4()?;
        if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u") {
            let after_high = self.at;
            self.at += 2;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = after_high;
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let digit = digit.ok_or_else(|| self.unexpected("in \\u hexadecimal character escape"))?;
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

/// A byte as Go quotes it in an error.
pub fn quote(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        b' '..=b'~' => format!("'{}'", char::from(byte)),
        _ => format!("'\\x{byte:02x}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_parse() {
        let text = r#" {"a": [1, -2.5e+3, true, false, null], "a": "x\n\u00e9\ud83d\ude00\ud800", "é": {}} "#;
        let want = Json::Object(vec![
            (
                "a".into(),
                Json::Array(vec![
                    Json::Number("1".into()),
                    Json::Number("-2.5e+3".into()),
                    Json::Bool(true),
                    Json::Bool(false),
                    Json::Null,
                ]),
            ),
            ("a".into(), Json::String("x\né😀\u{fffd}".into())),
            ("é".into(), Json::Object(vec![])),
        ]);
        assert_eq!(parse(text), Ok(want));
    }

    #[test]
    fn errors_are_gos() {
        #[rustfmt::skip]
        let cases = [
            ("", "unexpected end of JSON input"), ("{", "unexpected end of JSON input"), ("\"a", "unexpected end of JSON input"),
            ("}", "invalid character '}' looking for beginning of value"), ("[1 2]", "invalid character '2' after array element"),
            ("{\"a\" 1}", "invalid character '1' after object key"), ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"), ("1 1", "invalid character '1' after top-level value"),
            ("tru", "unexpected end of JSON input"), ("trie", "invalid character 'i' in literal true (expecting 'u')"),
            ("-x", "invalid character 'x' in numeric literal"), ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"), ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape"), ("\"\n\"", "invalid character '\\n' in string literal"),
            ("é", "invalid character '\\xc3' looking for beginning of value"),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text), Err(want.to_owned()), "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), Err("exceeded max depth".to_owned()));
    }
}
