//! The text of a template to its nodes. Mirrors `text/template/parse`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::functions;
use super::tree::{Command, Item, Node, Operand, Pipeline};

/// So deep actions and brackets may stand in one another.
const DEPTH_MAX: usize = 100;

/// A template's nodes, and those that it defines under names.
pub type Parsed = (Vec<Node>, BTreeMap<String, Vec<Node>>);

/// Reads a template; an error begins with the number of its line.
pub fn parse(text: &str) -> Result<Parsed, String> {
    let variables = vec!["$".to_owned()];
    let mut parser = Parser { rest: text, line: 1, variables, depth: 0, ranges: 0, defined: BTreeMap::new() };
    let (nodes, end) = parser.nodes()?;
    match end {
        Until::Text => Ok((nodes, parser.defined)),
        Until::Else(_) => Err(parser.wrong("unexpected {{else}}")),
        Until::End => Err(parser.wrong("unexpected {{end}}")),
    }
}

struct Parser<'a> {
    rest: &'a str,
    line: usize,
    /// Those that may be named here.
    variables: Vec<String>,
    depth: usize,
    /// How many ranges stand around this place.
    ranges: usize,
    /// Templates that have names.
    defined: BTreeMap<String, Vec<Node>>,
}

/// What ends a list of nodes.
enum Until {
    Text,
    End,
    /// `{{else}}`, or the rest of `{{else if …}}`.
    Else(Vec<Token>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Dot(Vec<String>),
    Variable(String, Vec<String>),
    Literal(Item),
    Open,
    Close(Vec<String>),
    Pipe,
    Comma,
    Declare,
    Assign,
}

impl Parser<'_> {
    fn wrong(&self, what: &str) -> String {
        format!("{}: {what}", self.line)
    }

    fn nodes(&mut self) -> Result<(Vec<Node>, Until), String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.wrong("exceeded maximum depth of actions"));
        }
        let mut nodes = Vec::new();
        let end = loop {
            let (text, action) = self.next_action()?;
            if !text.is_empty() {
                nodes.push(Node::Text(text));
            }
            let Some(tokens) = action else { break Until::Text };
            match tokens.split_first() {
                Some((Token::Word(word), rest)) => match (word.as_str(), rest) {
                    ("end", []) => break Until::End,
                    ("else", rest) => break Until::Else(rest.to_vec()),
                    ("if" | "with", rest) => nodes.push(self.branch(word == "with", rest)?),
                    ("range", rest) => nodes.push(self.range(rest)?),
                    ("break" | "continue", []) if self.ranges == 0 => {
                        return Err(self.wrong(&format!("{{{{{word}}}}} outside {{{{range}}}}")));
                    }
                    ("break", []) => nodes.push(Node::Break),
                    ("continue", []) => nodes.push(Node::Continue),
                    ("define", rest) if self.depth > 1 => {
                        return Err(
                            self.wrong(&format!("unexpected {} in define clause", rest.first().map_or("", shown)))
                        );
                    }
                    ("define" | "block" | "template", rest) => nodes.extend(self.named(word, rest)?),
                    _ => nodes.push(self.show(&tokens)?),
                },
                _ => nodes.push(self.show(&tokens)?),
            }
        };
        self.depth -= 1;
        Ok((nodes, end))
    }

    /// The text up to the next action, and the action; none at the end of the template. Comments are no actions.
    fn next_action(&mut self) -> Result<(String, Option<Vec<Token>>), String> {
        let mut text = String::new();
        loop {
            let Some((before, inside)) = self.rest.split_once("{{") else {
                text += self.rest;
                self.rest = "";
                return Ok((text, None));
            };
            self.line += before.matches('\n').count();
            text += before;
            let trimmed = inside.strip_prefix('-').filter(|inside| inside.starts_with(char::is_whitespace));
            if trimmed.is_some() {
                text.truncate(text.trim_end().len());
            }
            self.rest = trimmed.map_or(inside, str::trim_start);
            let Some(comment) = self.rest.strip_prefix("/*") else { break };
            let (comment, after) = comment.split_once("*/").ok_or_else(|| self.wrong("unclosed comment"))?;
            self.line += comment.matches('\n').count();
            self.rest = after.trim_start();
            if !self.closes() {
                return Err(self.wrong("comment ends before closing delimiter"));
            }
        }
        let tokens = self.tokens()?;
        Ok((text, Some(tokens)))
    }

    /// Goes past the end of an action, if it is there.
    fn closes(&mut self) -> bool {
        if let Some(after) = self.rest.strip_prefix("-}}") {
            self.rest = after.trim_start();
        } else if let Some(after) = self.rest.strip_prefix("}}") {
            self.rest = after;
        } else {
            return false;
        }
        true
    }

    fn tokens(&mut self) -> Result<Vec<Token>, String> {
        let mut tokens = Vec::new();
        loop {
            let spaces = self.rest.len() - self.rest.trim_start().len();
            self.line += self.rest[..spaces].matches('\n').count();
            self.rest = self.rest.trim_start();
            if self.closes() {
                return Ok(tokens);
            }
            let first = self.rest.chars().next().ok_or_else(|| self.wrong("unclosed action"))?;
            tokens.push(self.token(first)?);
        }
    }

    fn token(&mut self, first: char) -> Result<Token, String> {
        let single = |token| Ok((token, 1));
        let (token, length) = match first {
            '(' => single(Token::Open),
            '|' => single(Token::Pipe),
            ',' => single(Token::Comma),
            '=' => single(Token::Assign),
            ':' if self.rest.starts_with(":=") => Ok((Token::Declare, 2)),
            '"' => self.quoted(),
            '`' => match self.rest[1..].split_once('`') {
                Some((inside, _)) => Ok((Token::Literal(Item::Value(inside.into())), inside.len() + 2)),
                None => Err(self.wrong("unterminated raw quoted string")),
            },
            ')' => {
                self.rest = &self.rest[1..];
                return Ok(Token::Close(self.fields()));
            }
            '.' => {
                let fields = self.fields();
                self.rest = if fields.is_empty() { &self.rest[1..] } else { self.rest };
                return Ok(Token::Dot(fields));
            }
            '$' => {
                let name = format!("${}", word_of(&self.rest[1..]));
                self.rest = &self.rest[name.len()..];
                return Ok(Token::Variable(name, self.fields()));
            }
            '0'..='9' | '-' | '+' => self.number(),
            c if c.is_alphabetic() || c == '_' => {
                let word = word_of(self.rest);
                let token = match word {
                    "true" | "false" => Token::Literal(Item::Value((word == "true").into())),
                    "nil" => Token::Literal(Item::Value(Value::Null)),
                    word => Token::Word(word.to_owned()),
                };
                Ok((token, word.len()))
            }
            c => Err(self.wrong(&format!("unexpected bad character U+{:04X} {c:?} in command", c as u32))),
        }?;
        self.rest = &self.rest[length..];
        Ok(token)
    }

    /// `.metadata.name`, as far as it goes.
    fn fields(&mut self) -> Vec<String> {
        let mut fields = Vec::new();
        while let Some(after) = self.rest.strip_prefix('.') {
            let name = word_of(after);
            if name.is_empty() {
                break;
            }
            fields.push(name.to_owned());
            self.rest = &after[name.len()..];
        }
        fields
    }

    fn quoted(&self) -> Result<(Token, usize), String> {
        let mut escaped = false;
        for (i, c) in self.rest.char_indices().skip(1) {
            match c {
                '\n' => break,
                '"' if !escaped => {
                    let text: String = serde_json::from_str(&self.rest[..=i])
                        .map_err(|_| self.wrong("invalid syntax in a quoted string"))?;
                    return Ok((Token::Literal(Item::Value(text.into())), i + 1));
                }
                c => escaped = c == '\\' && !escaped,
            }
        }
        Err(self.wrong("unterminated quoted string"))
    }

    fn number(&self) -> Result<(Token, usize), String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
        let text = &self.rest[..self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len())];
        let text = text.strip_suffix('-').filter(|text| !text.is_empty()).unwrap_or(text);
        let item = match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) => Item::Int(whole),
            (_, Ok(number)) if number.is_finite() => Item::Value(number.into()),
            _ => return Err(self.wrong(&format!("bad number syntax: {text:?}"))),
        };
        Ok((Token::Literal(item), text.len()))
    }

    /// `$x := …`, `$x = …`, or a pipeline to print.
    fn show(&mut self, tokens: &[Token]) -> Result<Node, String> {
        match tokens {
            [Token::Variable(name, fields), Token::Declare, rest @ ..] if fields.is_empty() => {
                let value = self.pipeline(rest)?;
                self.variables.push(name.clone());
                Ok(Node::Set { name: name.clone(), value, new: true })
            }
            [Token::Variable(name, fields), Token::Assign, rest @ ..] if fields.is_empty() => {
                self.known(name)?;
                Ok(Node::Set { name: name.clone(), value: self.pipeline(rest)?, new: false })
            }
            tokens => Ok(Node::Show(self.pipeline(tokens)?)),
        }
    }

    /// `define`, `block` or `template`, its name, and what its dot is.
    fn named(&mut self, word: &str, tokens: &[Token]) -> Result<Option<Node>, String> {
        let [Token::Literal(Item::Value(Value::String(name))), dot @ ..] = tokens else {
            let unexpected = tokens.first().map_or("end of action", shown);
            return Err(self.wrong(&format!("unexpected {unexpected} in {word} clause")));
        };
        let dot = match (word, dot) {
            ("define", [token, ..]) => {
                return Err(self.wrong(&format!("unexpected {} in define clause", shown(token))));
            }
            ("block", []) => return Err(self.wrong("missing value for block clause")),
            (_, []) => None,
            (_, dot) => Some(self.pipeline(dot)?),
        };
        if word != "template" {
            let outside = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
            let ranges = std::mem::take(&mut self.ranges);
            match self.nodes()? {
                (nodes, Until::End) => drop(self.defined.insert(name.clone(), nodes)),
                (_, Until::Text) => return Err(self.wrong("unexpected EOF")),
                (_, Until::Else(_)) => return Err(self.wrong(&format!("unexpected {{{{else}}}} in {word} clause"))),
            }
            (self.variables, self.ranges) = (outside, ranges);
        }
        Ok((word != "define").then(|| Node::Call { name: name.clone(), dot }))
    }

    fn branch(&mut self, with: bool, tokens: &[Token]) -> Result<Node, String> {
        let known = self.variables.len();
        let test = self.pipeline(tokens)?;
        let (then, otherwise) = self.bodies()?;
        self.variables.truncate(known);
        Ok(Node::If { test, with, then, otherwise })
    }

    fn range(&mut self, tokens: &[Token]) -> Result<Node, String> {
        let known = self.variables.len();
        let (names, over) = match tokens {
            [Token::Variable(key, one), Token::Comma, Token::Variable(value, other), Token::Declare, over @ ..]
                if one.is_empty() && other.is_empty() =>
            {
                (vec![key.clone(), value.clone()], over)
            }
            [Token::Variable(value, fields), Token::Declare, over @ ..] if fields.is_empty() => {
                (vec![value.clone()], over)
            }
            over => (Vec::new(), over),
        };
        let over = self.pipeline(over)?;
        self.variables.extend(names.iter().cloned());
        self.ranges += 1;
        let (body, otherwise) = self.bodies()?;
        self.ranges -= 1;
        self.variables.truncate(known);
        Ok(Node::Range { names, over, body, otherwise })
    }

    /// What is done, and what otherwise, up to the `end`.
    fn bodies(&mut self) -> Result<(Vec<Node>, Vec<Node>), String> {
        let known = self.variables.len();
        let (then, end) = self.nodes()?;
        self.variables.truncate(known);
        let otherwise = match end {
            Until::End => Vec::new(),
            Until::Text => return Err(self.wrong("unexpected EOF")),
            Until::Else(rest) => match rest.split_first() {
                None => match self.nodes()? {
                    (nodes, Until::End) => nodes,
                    (_, Until::Text) => return Err(self.wrong("unexpected EOF")),
                    (_, Until::Else(_)) => return Err(self.wrong("expected end; found {{else}}")),
                },
                // The `end` of this one is that of the whole.
                Some((Token::Word(word), rest)) if word == "if" || word == "with" => {
                    self.depth += 1;
                    if self.depth > DEPTH_MAX {
                        return Err(self.wrong("exceeded maximum depth of actions"));
                    }
                    let branch = self.branch(word == "with", rest)?;
                    self.depth -= 1;
                    vec![branch]
                }
                Some(_) => return Err(self.wrong("unexpected words in else")),
            },
        };
        self.variables.truncate(known);
        Ok((then, otherwise))
    }

    fn pipeline(&self, tokens: &[Token]) -> Result<Pipeline, String> {
        let mut place = 0;
        let pipeline = self.commands(tokens, &mut place, 0)?;
        match tokens.get(place) {
            None => Ok(pipeline),
            Some(Token::Close(_)) => Err(self.wrong("unexpected right paren")),
            Some(token) => Err(self.wrong(&format!("unexpected {} in command", shown(token)))),
        }
    }

    /// Commands up to a token that belongs to none.
    fn commands(&self, tokens: &[Token], place: &mut usize, depth: usize) -> Result<Pipeline, String> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("too many nested parens"));
        }
        let (mut pipeline, mut command) = (Pipeline::new(), Command::new());
        while let Some(token) = tokens.get(*place) {
            let operand = match token {
                Token::Pipe if !command.is_empty() => {
                    pipeline.push(std::mem::take(&mut command));
                    *place += 1;
                    continue;
                }
                Token::Dot(fields) => Operand::Dot(fields.clone()),
                Token::Variable(name, fields) => {
                    self.known(name)?;
                    Operand::Variable(name.clone(), fields.clone())
                }
                Token::Literal(item) => Operand::Literal(item.clone()),
                Token::Word(word) => {
                    let wrong = || self.wrong(&format!("function {word:?} not defined"));
                    Operand::Function(functions::find(word).ok_or_else(wrong)?)
                }
                Token::Open => {
                    *place += 1;
                    let inner = self.commands(tokens, place, depth + 1)?;
                    match tokens.get(*place) {
                        Some(Token::Close(fields)) => Operand::Nested(inner, fields.clone()),
                        _ => return Err(self.wrong("unclosed left paren")),
                    }
                }
                _ => break,
            };
            command.push(operand);
            *place += 1;
        }
        if command.is_empty() {
            return Err(self.wrong("missing value for command"));
        }
        pipeline.push(command);
        Ok(pipeline)
    }

    fn known(&self, name: &String) -> Result<(), String> {
        match self.variables.contains(name) {
            true => Ok(()),
            false => Err(self.wrong(&format!("undefined variable {name:?}"))),
        }
    }
}

fn shown(token: &Token) -> &'static str {
    match token {
        Token::Pipe => "\"|\"",
        Token::Comma => "\",\"",
        Token::Declare => "\":=\"",
        Token::Assign => "\"=\"",
        _ => "operand",
    }
}

/// The name that a text begins with.
fn word_of(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}
