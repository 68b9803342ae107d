//! From tokens to a tree, by recursive descent: `or`, then `and`, `not`, comparison, value.

use serde_json::{Number, Value};

use super::cel::Rule;
use super::lex::{Token, tokens};
use super::{Error, Expression, Node, Operator, Part, Path, Pattern, Root};

/// Parentheses, `not` and `len` go so deep and no deeper: what lies in each other is gone through on the stack.
const DEPTH: usize = 64;

const COMPARISONS: &[(&str, Operator)] = &[
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("~", Operator::Like),
];

/// Comparisons that are words, between two values or behind a dot as CEL has them.
const WORDS: &[(&str, Operator)] =
    &[("contains", Operator::Contains), ("startsWith", Operator::StartsWith), ("endsWith", Operator::EndsWith)];

/// The word before a regular expression.
const MATCHES: &str = "matches";

/// What can be compared by words, as they are told.
pub(crate) fn comparing_words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|(word, _)| *word).chain([MATCHES])
}

/// Reads an expression.
pub fn parse(text: &str) -> Result<Expression, Error> {
    let text = text.trim();
    if let Some(rule) = Rule::read(text) {
        return Ok(Expression { text: text.to_owned(), node: Node::Cel(rule?) });
    }
    let mut parser = Parser::new(text)?;
    let node = parser.either(0)?;
    match parser.peek() {
        None => Ok(Expression { text: text.to_owned(), node }),
        Some(token) => {
            let message = format!("the expression is complete before {}; join two with and, or", token.show());
            Err(parser.error(message))
        }
    }
}

/// Reads a path without a root, as `watch` and `changed` have it: `status.phase`.
pub fn parse_parts(text: &str) -> Result<Vec<Part>, Error> {
    let text = text.trim().trim_start_matches('.');
    let mut parser = Parser::new(text)?;
    let parts = parser.relative()?;
    match parser.peek() {
        None => Ok(parts),
        Some(token) => Err(parser.error(format!("{} does not belong to a path", token.show()))),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token)>,
    next: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Parser<'a>, Error> {
        Ok(Parser { text, tokens: tokens(text)?, next: 0 })
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn take(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.next += 1;
        token
    }

    /// Where the next token stands.
    fn at(&self) -> usize {
        // Counted at the end alone: this is asked at every value.
        self.tokens.get(self.next).map_or_else(|| self.text.chars().count(), |(at, _)| *at)
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error { text: self.text.to_owned(), at: self.at(), message: message.into() }
    }

    fn found(&self) -> String {
        self.peek().map_or("the end".to_owned(), Token::show)
    }

    fn skip_sign(&mut self, sign: &str) -> bool {
        let here = matches!(self.peek(), Some(Token::Sign(s)) if *s == sign);
        self.next += usize::from(here);
        here
    }

    fn skip_word(&mut self, word: &str) -> bool {
        let here = matches!(self.peek(), Some(Token::Word(w)) if w == word);
        self.next += usize::from(here);
        here
    }

    fn expect(&mut self, sign: &str) -> Result<(), Error> {
        if self.skip_sign(sign) {
            return Ok(());
        }
        Err(self.error(format!("{sign:?} is expected here, not {}", self.found())))
    }

    fn either(&mut self, depth: usize) -> Result<Node, Error> {
        let mut parts = vec![self.both(depth)?];
        while self.skip_word("or") || self.skip_sign("||") {
            parts.push(self.both(depth)?);
        }
        Ok(chain(parts, Node::Any))
    }

    fn both(&mut self, depth: usize) -> Result<Node, Error> {
        let mut parts = vec![self.negated(depth)?];
        while self.skip_word("and") || self.skip_sign("&&") {
            parts.push(self.negated(depth)?);
        }
        Ok(chain(parts, Node::All))
    }

    fn negated(&mut self, depth: usize) -> Result<Node, Error> {
        if self.skip_word("not") || self.skip_sign("!") {
            self.go_deeper(depth)?;
            return Ok(Node::Not(Box::new(self.negated(depth + 1)?)));
        }
        let left = self.value(depth)?;
        let at = self.at();
        for (sign, operator) in COMPARISONS {
            if self.skip_sign(sign) {
                let right = self.value(depth)?;
                return Ok(Node::Compare { left: Box::new(left), operator: *operator, right: Box::new(right), at });
            }
        }
        if let Some(word) = self.method() {
            self.next += 3;
            let compared = self.by_word(left, &word, at + 1, depth)?;
            self.expect(")")?;
            return Ok(compared);
        }
        match self.peek().cloned() {
            Some(Token::Word(word)) if comparing_words().any(|known| known == word) => {
                self.next += 1;
                self.by_word(left, &word, at, depth)
            }
            _ => Ok(left),
        }
    }

    /// The word of `.word(`, if that stands here.
    fn method(&self) -> Option<String> {
        match self.tokens.get(self.next..self.next + 3)? {
            [(_, Token::Sign(".")), (_, Token::Word(word)), (_, Token::Sign("("))] => Some(word.clone()),
            _ => None,
        }
    }

    /// A comparison by a word that has been read, before its right side.
    fn by_word(&mut self, left: Node, word: &str, at: usize, depth: usize) -> Result<Node, Error> {
        let error = |message: String| Error { text: self.text.to_owned(), at, message };
        let left = Box::new(left);
        if word == MATCHES {
            let Some(Token::Text(pattern)) = self.peek().cloned() else {
                return Err(self.error("after matches comes a regular expression in quotes, as in matches \"web-.*\""));
            };
            let compiled = regex::Regex::new(&pattern);
            let compiled = compiled.map_err(|wrong| {
                let last = wrong.to_string();
                self.error(last.lines().last().unwrap_or_default().trim_start_matches("error: "))
            })?;
            self.next += 1;
            return Ok(Node::Matches { left, pattern: Pattern(Box::new(compiled)), at });
        }
        let Some((_, operator)) = WORDS.iter().find(|(known, _)| *known == word) else {
            let known = comparing_words().map(|word| format!("{word}(…)")).collect::<Vec<_>>().join(", ");
            return Err(error(format!("there is no function {word:?} behind a dot; there are {known}")));
        };
        let right = Box::new(self.value(depth + 1)?);
        Ok(Node::Compare { left, operator: *operator, right, at })
    }

    fn value(&mut self, depth: usize) -> Result<Node, Error> {
        let at = self.at();
        match self.peek().cloned() {
            Some(Token::Sign("(")) => {
                self.next += 1;
                self.go_deeper(depth)?;
                let inner = self.either(depth + 1)?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Sign("-")) => {
                self.next += 1;
                match self.take() {
                    Some(Token::Number(digits)) => self.number(&format!("-{digits}"), at),
                    _ => Err(Error { text: self.text.into(), at, message: "after - comes a number".into() }),
                }
            }
            Some(Token::Number(digits)) => {
                self.next += 1;
                self.number(&digits, at)
            }
            Some(Token::Text(text)) => {
                self.next += 1;
                Ok(Node::Literal(Value::String(text)))
            }
            Some(Token::Word(word)) => self.word(&word, at, depth),
            _ => Err(self.error(format!("a value is expected here, not {}", self.found()))),
        }
    }

    fn number(&self, digits: &str, at: usize) -> Result<Node, Error> {
        let whole = digits.parse::<i64>().ok().map(Number::from);
        let number = whole.or_else(|| digits.parse::<f64>().ok().and_then(Number::from_f64));
        let wrong = || Error { text: self.text.to_owned(), at, message: format!("{digits:?} is not a number") };
        number.map(|number| Node::Literal(Value::Number(number))).ok_or_else(wrong)
    }

    fn go_deeper(&self, depth: usize) -> Result<(), Error> {
        if depth >= DEPTH { Err(self.error("this is nested too deeply")) } else { Ok(()) }
    }

    fn word(&mut self, word: &str, at: usize, depth: usize) -> Result<Node, Error> {
        let call = matches!(self.tokens.get(self.next + 1), Some((_, Token::Sign("("))));
        match word {
            "true" | "false" => {
                self.next += 1;
                Ok(Node::Literal(Value::Bool(word == "true")))
            }
            "null" => {
                self.next += 1;
                Ok(Node::Literal(Value::Null))
            }
            "changed" if call => {
                self.next += 2;
                let parts = self.relative()?;
                self.expect(")")?;
                Ok(Node::Changed(parts))
            }
            "len" if call => {
                self.next += 2;
                self.go_deeper(depth)?;
                let of = self.value(depth + 1)?;
                self.expect(")")?;
                Ok(Node::Length { of: Box::new(of), at })
            }
            _ if call => {
                let behind = comparing_words().map(|word| format!(".{word}(…)")).collect::<Vec<_>>().join(", ");
                let known = format!("changed(PATH), len(PATH), and behind a value {behind}");
                Err(self.error(format!("there is no function {word:?}; there are {known}")))
            }
            _ => self.path(word),
        }
    }

    fn path(&mut self, word: &str) -> Result<Node, Error> {
        let Some((_, root)) = Root::ALL.iter().find(|(name, _)| *name == word) else {
            let known = Root::ALL.map(|(name, _)| name).join(", ");
            let hint = format!("a path begins with one of {known}, as in new.status.phase; text is written in quotes");
            return Err(self.error(format!("there is nothing called {word:?}: {hint}")));
        };
        self.next += 1;
        Ok(Node::Path(Path { root: *root, parts: self.parts()? }))
    }

    /// A path without its root: the first field has no dot before it.
    fn relative(&mut self) -> Result<Vec<Part>, Error> {
        self.skip_sign(".");
        let mut parts = match self.take() {
            Some(Token::Word(field)) => vec![Part::Field(field)],
            _ => {
                self.next -= 1;
                return Err(self.error("a path is expected here, as in status.phase"));
            }
        };
        parts.extend(self.parts()?);
        Ok(parts)
    }

    fn parts(&mut self) -> Result<Vec<Part>, Error> {
        let mut parts = Vec::new();
        loop {
            if self.method().is_some() {
                return Ok(parts);
            } else if self.skip_sign(".") {
                match self.take() {
                    Some(Token::Word(field)) => parts.push(Part::Field(field)),
                    _ => {
                        self.next -= 1;
                        return Err(self.error("after a dot comes the name of a field"));
                    }
                }
            } else if self.skip_sign("[") {
                parts.push(self.item()?);
                self.expect("]")?;
            } else {
                return Ok(parts);
            }
        }
    }

    /// What stands between brackets. A bare name may have dashes, as names of containers have.
    fn item(&mut self) -> Result<Part, Error> {
        match self.take() {
            Some(Token::Sign("*")) => Ok(Part::Any),
            Some(Token::Text(text)) => Ok(Part::Field(text)),
            Some(Token::Number(digits)) if digits.parse::<usize>().is_ok() => {
                Ok(Part::Index(digits.parse().unwrap_or_default()))
            }
            Some(Token::Word(mut name)) => {
                while self.skip_sign("-") {
                    name.push('-');
                    if let Some(Token::Word(more) | Token::Number(more)) = self.peek() {
                        name.push_str(more);
                        self.next += 1;
                    }
                }
                Ok(Part::Named(name))
            }
            _ => {
                self.next -= 1;
                Err(self.error("in brackets stands a number, a name, a text in quotes, or *"))
            }
        }
    }
}

/// What several parts are together. One alone is itself.
fn chain(mut parts: Vec<Node>, of: fn(Vec<Node>) -> Node) -> Node {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            of(parts)
        }
    }
}
