//! From text to tokens. Mirrors the lexer's rules in `parser/gen/CEL.g4` of cel-go, and `parser/unescape.go`.

use super::report::Wrong;
use super::value::Value;

/// A token, and the bytes it takes.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub is: Lexeme,
    /// Its first byte.
    pub at: usize,
    /// The byte after it.
    pub end: usize,
}

/// What a token can be.
#[derive(Clone, Debug)]
pub enum Lexeme {
    /// A name; words of the language too, but for those that are literals or operators.
    Name(String),
    /// A field's name in backquotes.
    Quoted(String),
    /// A number, text, bytes, `true`, `false` or `null`. A number's sign is not part of it.
    Literal(Value),
    /// The number that fits an int only with a minus before it.
    LeastInt,
    /// `&&`, `in`, `(` …
    Mark(&'static str),
    /// The end of the text.
    End,
}

/// The longest first.
const MARKS: &[&str] = &[
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")", "[", "]",
    "{", "}",
];

/// All tokens of `source`, the last of which is its end.
pub fn tokens(source: &str) -> Result<Vec<Token>, Wrong> {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let at = lexer.at;
        let is = lexer.lexeme()?;
        let last = matches!(is, Lexeme::End);
        tokens.push(Token { is, at, end: lexer.at });
        if last {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    source: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.source[self.at..]
    }

    /// Takes the longest beginning whose characters all fit.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !fits(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn take(&mut self, text: &str) -> bool {
        let there = self.rest().starts_with(text);
        self.at += if there { text.len() } else { 0 };
        there
    }

    /// Blanks and comments.
    fn skip_blanks(&mut self) {
        loop {
            self.take_while(|c| matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{c}'));
            if !self.rest().starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn lexeme(&mut self) -> Result<Lexeme, Wrong> {
        let rest = self.rest();
        let mut chars = rest.chars();
        let Some(first) = chars.next() else { return Ok(Lexeme::End) };
        if first.is_ascii_digit() || (first == '.' && chars.next().is_some_and(|c| c.is_ascii_digit())) {
            return self.number();
        }
        if let Some(text) = self.text()? {
            return Ok(Lexeme::Literal(text));
        }
        if first == '_' || first.is_ascii_alphabetic() {
            return Ok(word(self.take_while(|c| c == '_' || c.is_ascii_alphanumeric())));
        }
        if first == '`' {
            let inner = rest[1..].split('`').next().unwrap_or_default();
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' ');
            if rest.len() == inner.len() + 1 || inner.is_empty() || !inner.chars().all(fits) {
                return Err(self.unknown(self.at, 1));
            }
            self.at += inner.len() + 2;
            return Ok(Lexeme::Quoted(inner.to_owned()));
        }
        match MARKS.iter().find(|mark| self.take(mark)) {
            Some(mark) => Ok(Lexeme::Mark(mark)),
            None => Err(self.unknown(self.at, first.len_utf8())),
        }
    }

    fn unknown(&self, at: usize, length: usize) -> Wrong {
        let text = self.source.get(at..at + length).unwrap_or_default();
        Wrong { at, text: format!("Syntax error: token recognition error at: '{text}'") }
    }

    fn number(&mut self) -> Result<Lexeme, Wrong> {
        let at = self.at;
        let wrong = |what: &str| Wrong { at, text: format!("invalid {what} literal") };
        if self.take("0x") {
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            return match self.take("u") || self.take("U") {
                true => u64::from_str_radix(digits, 16).map(uint).map_err(|_| wrong("uint")),
                false => int(u64::from_str_radix(digits, 16).ok()).ok_or_else(|| wrong("int")),
            };
        }
        self.take_while(|c| c.is_ascii_digit());
        let whole = self.at;
        let mut chars = self.rest().chars();
        if chars.next() == Some('.') && chars.next().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        self.exponent();
        let digits = &self.source[at..self.at];
        if self.at > whole {
            let value = digits.parse::<f64>().ok().filter(|value| value.is_finite());
            return value.map(|value| Lexeme::Literal(Value::Double(value))).ok_or_else(|| wrong("double"));
        }
        match self.take("u") || self.take("U") {
            true => digits.parse().map(uint).map_err(|_| wrong("uint")),
            false => int(digits.parse().ok()).ok_or_else(|| wrong("int")),
        }
    }

    /// `e-3`, if it is all there.
    fn exponent(&mut self) {
        let before = self.at;
        let marked = self.take("e") || self.take("E");
        let _sign = marked && (self.take("+") || self.take("-"));
        if !marked || self.take_while(|c| c.is_ascii_digit()).is_empty() {
            self.at = before;
        }
    }

    /// A text or bytes, if one begins here.
    fn text(&mut self) -> Result<Option<Value>, Wrong> {
        let before = self.at;
        let bytes = self.take("b") || self.take("B");
        let raw = self.take("r") || self.take("R");
        let Some(quote) = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| self.take(quote)) else {
            self.at = before;
            return Ok(None);
        };
        let begin = self.at;
        let Some(length) = inside(self.rest(), quote, raw) else {
            let line = self.source[before..].split('\n').next().unwrap_or_default();
            return Err(self.unknown(before, line.len()));
        };
        let inner = &self.source[begin..begin + length];
        self.at = begin + length + quote.len();
        let unescaped = if raw { Some(inner.as_bytes().to_vec()) } else { unescape(inner, bytes) };
        let value = unescaped.and_then(|value| match bytes {
            true => Some(Value::Bytes(value.into())),
            false => Some(Value::string(String::from_utf8(value).ok()?)),
        });
        let whole = self.at - before;
        value.map(Some).ok_or_else(|| self.unknown(before, whole))
    }
}

fn uint(value: u64) -> Lexeme {
    Lexeme::Literal(Value::Uint(value))
}

fn int(value: Option<u64>) -> Option<Lexeme> {
    match value? {
        value if value == i64::MIN.unsigned_abs() => Some(Lexeme::LeastInt),
        value => Some(Lexeme::Literal(Value::Int(i64::try_from(value).ok()?))),
    }
}

fn word(text: &str) -> Lexeme {
    match text {
        "true" => Lexeme::Literal(Value::Bool(true)),
        "false" => Lexeme::Literal(Value::Bool(false)),
        "null" => Lexeme::Literal(Value::Null),
        "in" => Lexeme::Mark("in"),
        name => Lexeme::Name(name.to_owned()),
    }
}

/// How many bytes stand before the quote that ends a text, if it ends.
fn inside(text: &str, quote: &str, raw: bool) -> Option<usize> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if text[at..].starts_with(quote) {
            return Some(at);
        }
        match c {
            '\\' if !raw => {
                chars.next();
            }
            '\n' | '\r' if quote.len() == 1 => return None,
            _ => {}
        }
    }
    None
}

/// A text without its backslashes, as UTF-8 or, for bytes, as they are.
fn unescape(text: &str, bytes: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend(&rest.as_bytes()[..at]);
        let escaped = rest[at + 1..].chars().next()?;
        rest = &rest[at + 1 + escaped.len_utf8()..];
        let mut number = |digits: usize, radix: u32, before: &str| {
            let digits = rest.get(..digits).filter(|digits| digits.chars().all(|c| c.is_ascii_alphanumeric()))?;
            rest = &rest[digits.len()..];
            u32::from_str_radix(&format!("{before}{digits}"), radix).ok()
        };
        let code = match escaped {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            '\\' | '?' | '"' | '\'' | '`' => u32::from(escaped),
            'x' | 'X' => number(2, 16, "")?,
            'u' if !bytes => number(4, 16, "")?,
            'U' if !bytes => number(8, 16, "")?,
            '0'..='3' => number(2, 8, &escaped.to_string())?,
            _ => return None,
        };
        match bytes {
            true => out.push(u8::try_from(code).ok()?),
            false => out.extend(char::from_u32(code)?.to_string().into_bytes()),
        }
    }
    out.extend(rest.as_bytes());
    Some(out)
}
