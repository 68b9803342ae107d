//! Tokens of an expression.

use super::Error;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A name or a keyword.
    Word(String),
    /// A number as it was typed.
    Number(String),
    /// Text in quotes.
    Text(String),
    /// `==`, `(`, `.` …
    Sign(&'static str),
}

impl Token {
    /// As an error message shows it.
    pub fn show(&self) -> String {
        match self {
            Token::Word(text) | Token::Number(text) => format!("{text:?}"),
            Token::Text(text) => format!("the text {text:?}"),
            Token::Sign(sign) => format!("{sign:?}"),
        }
    }
}

/// Longer signs first, so that `<=` is not `<`.
const SIGNS: &[&str] =
    &["==", "!=", "<=", ">=", "&&", "||", "<", ">", "~", "!", "(", ")", "[", "]", ".", "*", ",", "-"];

/// Splits an expression into tokens with their places.
pub(crate) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Error> {
    let chars: Vec<char> = text.chars().collect();
    let error = |at: usize, message: String| Error { text: text.to_owned(), at, message };
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let start = at;
        if c.is_whitespace() {
            at += 1;
        } else if c == '"' || c == '\'' {
            let (value, next) =
                quoted(&chars, at).ok_or_else(|| error(start, "this quote is not closed".to_owned()))?;
            at = next;
            out.push((start, Token::Text(value)));
        } else if c.is_ascii_digit() {
            at = end_of(&chars, at, |c| c.is_ascii_digit() || c == '.');
            out.push((start, Token::Number(chars[start..at].iter().collect())));
        } else if c.is_alphabetic() || c == '_' || c == '$' {
            at = end_of(&chars, at, |c| c.is_alphanumeric() || c == '_' || c == '$' || c == '/');
            out.push((start, Token::Word(chars[start..at].iter().collect())));
        } else if let Some(sign) = SIGNS.iter().find(|sign| starts_with(&chars[at..], sign)) {
            at += sign.len();
            out.push((start, Token::Sign(sign)));
        } else if c == '=' {
            return Err(error(start, "to compare, write == with two signs".to_owned()));
        } else {
            return Err(error(start, format!("{c:?} means nothing here")));
        }
    }
    Ok(out)
}

fn end_of(chars: &[char], from: usize, part: impl Fn(char) -> bool) -> usize {
    (from..chars.len()).find(|&i| !part(chars[i])).unwrap_or(chars.len())
}

fn starts_with(chars: &[char], sign: &str) -> bool {
    sign.chars().enumerate().all(|(i, c)| chars.get(i) == Some(&c))
}

/// The text of a quoted string and the place behind it. A backslash keeps the next character.
fn quoted(chars: &[char], start: usize) -> Option<(String, usize)> {
    let (mut value, mut at) = (String::new(), start + 1);
    loop {
        match chars.get(at)? {
            c if *c == chars[start] => return Some((value, at + 1)),
            '\\' => {
                value.push(*chars.get(at + 1)?);
                at += 2;
            }
            c => {
                value.push(*c);
                at += 1;
            }
        }
    }
}
