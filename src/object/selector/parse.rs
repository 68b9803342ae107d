//! The string form of label selectors: `app=web,tier in (a,b),!old`.
//!
//! Mirrors the lexer and parser of `k8s.io/apimachinery/pkg/labels/selector.go` step by step, because its errors
//! tell where it stood: `unable to parse requirement: found '=', expected: identifier`.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::{Operator, Requirement, names};

/// Reads all requirements, in the order written.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser { tokens: tokens(text).into_iter().peekable() };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            Token::Identifier(_) | Token::Not => {}
            Token::End => return Ok(requirements),
            other => return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text())),
        }
        let requirement = parser.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
        requirements.push(requirement);
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Comma => match parser.peek() {
                Token::Identifier(_) | Token::Not => {}
                other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
            },
            other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A key or a value; `in` and `notin` too, which are operators only between a key and its values.
    Identifier(String),
    Not,
    Comma,
    Open,
    Close,
    /// `=`, `==`, `!=`, `>`, `<`
    Compare(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Token::Identifier(text) => text,
            Token::Not => "!",
            Token::Comma => ",",
            Token::Open => "(",
            Token::Close => ")",
            Token::Compare(text) => text,
            Token::End => "",
        }
    }
}

/// The symbols, each longest match first.
const SYMBOLS: [(&str, Token); 9] = [
    ("!=", Token::Compare("!=")),
    ("!", Token::Not),
    ("==", Token::Compare("==")),
    ("=", Token::Compare("=")),
    (">", Token::Compare(">")),
    ("<", Token::Compare("<")),
    (",", Token::Comma),
    ("(", Token::Open),
    (")", Token::Close),
];

fn tokens(text: &str) -> Vec<Token> {
    const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(BLANKS);
    while !rest.is_empty() {
        let symbol = SYMBOLS.iter().find_map(|(symbol, token)| Some((rest.strip_prefix(symbol)?, token.clone())));
        let (after, token) = symbol.unwrap_or_else(|| {
            let end = rest.find(|c| "=!(),><".contains(c) || BLANKS.contains(&c)).unwrap_or(rest.len());
            (&rest[end..], Token::Identifier(rest[..end].to_owned()))
        });
        tokens.push(token);
        rest = after.trim_start_matches(BLANKS);
    }
    tokens
}

struct Parser {
    tokens: Peekable<IntoIter<Token>>,
}

impl Parser {
    fn peek(&mut self) -> Token {
        self.tokens.peek().cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        self.tokens.next().unwrap_or(Token::End)
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek() == Token::Not;
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Identifier(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        let problems = names::check_label_key(&key);
        if !problems.is_empty() {
            // The parser has no path to name here, and Go prints the missing path so.
            return Err(format!("<nil>: Invalid value: {key:?}: {}", problems.join("; ")));
        }
        if negated {
            return Requirement::new(&key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Requirement::new(&key, Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.exact_value()?],
        };
        Requirement::new(&key, operator, values)
    }

    fn operator(&mut self) -> Result<Operator, String> {
        let token = self.next();
        match token.text() {
            "=" => Ok(Operator::Equals),
            "==" => Ok(Operator::DoubleEquals),
            "!=" => Ok(Operator::NotEquals),
            ">" => Ok(Operator::GreaterThan),
            "<" => Ok(Operator::LessThan),
            "in" => Ok(Operator::In),
            "notin" => Ok(Operator::NotIn),
            other => Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        }
    }

    fn exact_value(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.next() {
            Token::Identifier(value) => Ok(value),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// `(a,b)`; an empty place is the empty value.
    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.next() {
            Token::Open => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        match self.peek() {
            Token::Identifier(_) | Token::Comma => {}
            Token::Close => {
                self.next();
                return Ok(vec![String::new()]);
            }
            other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
        }
        let mut values = Vec::new();
        loop {
            match self.next() {
                Token::Identifier(value) => {
                    values.push(value);
                    match self.peek() {
                        Token::Comma => continue,
                        Token::Close => break,
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Comma => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    match self.peek() {
                        Token::Close => {
                            values.push(String::new());
                            break;
                        }
                        Token::Comma => {
                            self.next();
                            values.push(String::new());
                        }
                        _ => {}
                    }
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
        self.next();
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Selector;

    #[test]
    fn selectors_print_as_they_are_read() {
        #[rustfmt::skip]
        let cases = [
            ("", ""), ("a", "a"), ("! a", "!a"), ("a = b , c!=d", "a=b,c!=d"), ("z,a", "a,z"), ("a in ( y,x )", "a in (x,y)"),
            ("a notin (x)", "a notin (x)"), ("in in (in,notin)", "in in (in,notin)"), ("a=,b", "a=,b"), ("a in (,)", "a in ()"),
            ("a in (x,x,)", "a in (,x)"), ("a>5", "a>5"), ("example.com/a=1", "example.com/a=1"), ("a==b", "a==b"),
        ];
        for (text, want) in cases {
            assert_eq!(Selector::parse(text).map(|s| s.to_string()).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn errors_say_where_the_parser_stood() {
        #[rustfmt::skip]
        let cases = [
            ("a===b", "unable to parse requirement: found '=', expected: identifier"),
            ("=a", "found '=', expected: !, identifier, or 'end of string'"),
            (",a", "found ',', expected: !, identifier, or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
            ("!!a", "unable to parse requirement: found '!', expected: identifier"),
            ("a>b", "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer"),
        ];
        for (text, want) in cases {
            assert_eq!(Selector::parse(text).map(|s| s.to_string()), Err(want.to_owned()), "{text}");
        }
        let key = Selector::parse("a_=b").unwrap_err();
        assert!(key.starts_with("unable to parse requirement: <nil>: Invalid value: \"a_\": name part must"), "{key}");
        let value = Selector::parse("a=b_").unwrap_err();
        assert!(
            value.starts_with("unable to parse requirement: values[0][a]: Invalid value: \"b_\": a valid"),
            "{value}"
        );
    }
}
