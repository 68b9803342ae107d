//! The text of a filter.

use serde_json::Value;

use super::filter::Filter;
use super::functions;

/// Filters may be so deep, and have so many parts one behind the other: what goes over them calls itself.
const DEPTH: usize = 50;
const PARTS: usize = 300;
/// Operators, from those that bind least.
const LEVELS: &[&[&str]] =
    &[&["//"], &["or"], &["and"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*", "/", "%"]];
/// What is known of the real one, and left out.
const MORE: &[&str] = &["as", "reduce", "foreach", "def", "label", "import", "try"];

/// Reads a filter.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(text: &str) -> Result<Filter, String> {
    let mut parser = Parser { rest: text, depth: 0, parts: 0 };
    let filter = parser.pipe()?;
    parser.blanks();
    if parser.rest.is_empty() { Ok(filter) } else { Err(parser.unexpected()) }
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
    parts: usize,
}

impl<'t> Parser<'t> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eats(&mut self, sign: &str) -> bool {
        self.blanks();
        let is_word = sign.ends_with(|c: char| c.is_ascii_alphabetic());
        match self.rest.strip_prefix(sign) {
            Some(rest) if is_word && rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') => false,
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn must(&mut self, sign: &str) -> Result<(), String> {
        if self.eats(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// One more part; none if there are too many.
    fn part(&mut self) -> Result<(), String> {
        self.parts += 1;
        if self.parts > PARTS { Err("the filter is too long".to_owned()) } else { Ok(()) }
    }

    fn unexpected(&self) -> String {
        let next: String = self.rest.chars().take(20).collect();
        let is_more = self.rest.starts_with(['$', '=', '|']) || MORE.iter().any(|word| self.rest.starts_with(word));
        match next.as_str() {
            "" => "syntax error, unexpected end of file".to_owned(),
            _ if is_more => format!("{next:?}: this is more than is known of it here"),
            _ => format!("syntax error, unexpected {next:?}"),
        }
    }

    fn pipe(&mut self) -> Result<Filter, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("the filter is too deep".to_owned());
        }
        let mut filter = self.both()?;
        while self.eats("|") {
            filter = Filter::Pipe(filter.into(), self.both()?.into());
        }
        self.depth -= 1;
        Ok(filter)
    }

    fn both(&mut self) -> Result<Filter, String> {
        let mut filter = self.level(0)?;
        while self.eats(",") {
            filter = Filter::Both(filter.into(), self.level(0)?.into());
        }
        Ok(filter)
    }

    fn level(&mut self, level: usize) -> Result<Filter, String> {
        let Some(signs) = LEVELS.get(level) else { return self.postfix() };
        let mut filter = self.level(level + 1)?;
        loop {
            self.blanks();
            let is_there = |sign: &&&str| {
                let alone = **sign != "/" || !self.rest.starts_with("//");
                alone && self.rest.starts_with(**sign) && !self.rest.starts_with("|=")
            };
            let Some(sign) = signs.iter().find(is_there) else { return Ok(filter) };
            if !self.eats(sign) {
                return Ok(filter);
            }
            filter = Filter::Binary(sign, filter.into(), self.level(level + 1)?.into());
        }
    }

    fn postfix(&mut self) -> Result<Filter, String> {
        let mut filter = self.term()?;
        loop {
            self.part()?;
            // Nothing but a pipe may stand apart.
            if self.rest.starts_with('[') {
                filter = self.brackets(filter)?;
            } else if self.rest.starts_with('?') {
                self.rest = &self.rest[1..];
                filter = Filter::Try(filter.into());
            } else if self.rest.starts_with('.') && !self.rest.starts_with("..") {
                self.rest = &self.rest[1..];
                filter = self.after_dot(filter)?;
            } else {
                return Ok(filter);
            }
        }
    }

    /// What stands behind a dot: a name, a text, or brackets.
    fn after_dot(&mut self, of: Filter) -> Result<Filter, String> {
        if self.rest.starts_with('[') {
            return self.brackets(of);
        }
        let name = if self.rest.starts_with('"') { self.text()? } else { Filter::Literal(self.name()?.into()) };
        Ok(Filter::At(of.into(), name.into()))
    }

    fn brackets(&mut self, of: Filter) -> Result<Filter, String> {
        self.must("[")?;
        if self.eats("]") {
            return Ok(Filter::Each(of.into()));
        }
        let from = if self.eats(":") { None } else { Some(Box::new(self.pipe()?)) };
        let filter = match from {
            Some(at) if !self.eats(":") => Filter::At(of.into(), at),
            from => {
                self.blanks();
                let to = if self.rest.starts_with(']') { None } else { Some(Box::new(self.pipe()?)) };
                Filter::Slice(of.into(), from, to)
            }
        };
        self.must("]").map(|()| filter)
    }

    fn name(&mut self) -> Result<String, String> {
        let long = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(long);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.unexpected());
        }
        self.rest = rest;
        Ok(name.to_owned())
    }

    fn term(&mut self) -> Result<Filter, String> {
        self.part()?;
        self.blanks();
        let Some(first) = self.rest.chars().next() else { return Err(self.unexpected()) };
        match first {
            '.' if self.eats("..") => Ok(Filter::All),
            '.' => {
                self.rest = &self.rest[1..];
                let is_alone =
                    !self.rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '"' | '['));
                if is_alone { Ok(Filter::This) } else { self.after_dot(Filter::This) }
            }
            '"' => self.text(),
            '(' => {
                self.must("(")?;
                let filter = self.pipe()?;
                self.must(")").map(|()| filter)
            }
            '[' => {
                self.must("[")?;
                if self.eats("]") {
                    return Ok(Filter::Array(None));
                }
                let filter = self.pipe()?;
                self.must("]").map(|()| Filter::Array(Some(filter.into())))
            }
            '{' => self.object(),
            '0'..='9' | '-' => self.number(),
            '@' => {
                self.rest = &self.rest[1..];
                let name = format!("@{}", self.name()?);
                call(name, Vec::new())
            }
            _ => self.word(),
        }
    }

    fn number(&mut self) -> Result<Filter, String> {
        let of_number = |c: char| c.is_ascii_digit() || c == '.';
        let long = self.rest[1..].find(|c| !of_number(c)).map_or(self.rest.len(), |at| at + 1);
        let value: Value = serde_json::from_str(&self.rest[..long]).map_err(|_| self.unexpected())?;
        self.rest = &self.rest[long..];
        Ok(Filter::Literal(value))
    }

    /// A text: what stands in `\(…)` is a filter.
    fn text(&mut self) -> Result<Filter, String> {
        self.must("\"")?;
        let (mut parts, mut plain) = (Vec::new(), String::new());
        loop {
            let mut chars = self.rest.chars();
            match (chars.next(), chars.clone().next()) {
                (Some('"'), _) => break,
                (Some('\\'), Some('(')) => {
                    parts.push(Filter::Literal(unescaped(&std::mem::take(&mut plain))?));
                    self.rest = &self.rest[2..];
                    parts.push(self.pipe()?);
                    self.must(")")?;
                    continue;
                }
                (Some('\\'), Some(escaped)) => {
                    plain.extend(['\\', escaped]);
                    chars.next();
                }
                (Some(c), _) => plain.push(c),
                (None, _) => return Err(self.unexpected()),
            }
            self.rest = chars.as_str();
        }
        self.rest = &self.rest[1..];
        parts.push(Filter::Literal(unescaped(&plain)?));
        Ok(if parts.len() == 1 { parts.remove(0) } else { Filter::Text(parts) })
    }

    fn object(&mut self) -> Result<Filter, String> {
        self.must("{")?;
        let mut fields = Vec::new();
        while !self.eats("}") {
            if !fields.is_empty() {
                self.must(",")?;
                self.blanks();
            }
            self.blanks();
            let key = match self.rest.chars().next() {
                Some('"') => self.text()?,
                Some('(') => self.term()?,
                _ => Filter::Literal(self.name()?.into()),
            };
            let value = match self.eats(":") {
                true => self.level(0)?,
                false => Filter::At(Filter::This.into(), key.clone().into()),
            };
            fields.push((key, value));
        }
        Ok(Filter::Object(fields))
    }

    fn word(&mut self) -> Result<Filter, String> {
        if MORE.iter().any(|word| self.eats(word)) {
            return Err("this is more than is known of it here".to_owned());
        }
        if self.eats("if") {
            return self.choice();
        }
        let name = self.name()?;
        let mut arguments = Vec::new();
        if self.rest.starts_with('(') {
            self.must("(")?;
            arguments.push(self.pipe()?);
            while self.eats(";") {
                arguments.push(self.pipe()?);
            }
            self.must(")")?;
        }
        match name.as_str() {
            "null" => Ok(Filter::Literal(Value::Null)),
            "true" | "false" => Ok(Filter::Literal((name == "true").into())),
            _ => call(name, arguments),
        }
    }

    /// Behind `if`, or `elif`.
    fn choice(&mut self) -> Result<Filter, String> {
        let when = self.pipe()?;
        self.must("then")?;
        let then = self.pipe()?;
        let other = if self.eats("elif") {
            return self.choice().map(|other| Filter::If(when.into(), then.into(), other.into()));
        } else if self.eats("else") {
            self.pipe()?
        } else {
            Filter::This
        };
        self.must("end").map(|()| Filter::If(when.into(), then.into(), other.into()))
    }
}

fn call(name: String, arguments: Vec<Filter>) -> Result<Filter, String> {
    match functions::is_known(&name, arguments.len()) {
        true => Ok(Filter::Call(name, arguments)),
        false => Err(format!("{name}/{} is not defined", arguments.len())),
    }
}

fn unescaped(text: &str) -> Result<Value, String> {
    serde_json::from_str(&format!("\"{text}\"")).map_err(|_| format!("syntax error, invalid text \"{text}\""))
}
