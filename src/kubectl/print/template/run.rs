//! A template's nodes to text, for an object. Mirrors `text/template/exec.go`.

use serde_json::Value;

use super::functions::{call, is_true, text};
use super::tree::{Item, Node, Operand};

/// The text for an object.
pub fn run(nodes: &[Node], object: &Value) -> Result<String, String> {
    let root = Item::Value(as_fractions(object));
    let mut run = Run { variables: vec![("$".to_owned(), root.clone())], out: String::new(), rounds: 0 };
    run.nodes(nodes, &root)?;
    Ok(run.out)
}

/// An object as templates have it, in which every number is a fraction.
fn as_fractions(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.iter().map(as_fractions).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), as_fractions(value))).collect(),
        other => other.clone(),
    }
}

struct Run {
    variables: Vec<(String, Item)>,
    out: String,
    /// How often a range went round, in all.
    rounds: u32,
}

/// A template that goes round more often is ended.
const ROUNDS_MAX: u32 = 1_000_000;

impl Run {
    fn nodes(&mut self, nodes: &[Node], dot: &Item) -> Result<(), String> {
        let known = self.variables.len();
        for node in nodes {
            match node {
                Node::Text(text) => self.out += text,
                Node::Show(pipeline) => {
                    let item = self.pipeline(pipeline, dot)?;
                    self.out += &text(&item);
                }
                Node::Set { name, value, new } => {
                    let item = self.pipeline(value, dot)?;
                    match self.variables.iter_mut().rev().find(|(there, _)| there == name) {
                        Some((_, there)) if !new => *there = item,
                        _ => self.variables.push((name.clone(), item)),
                    }
                }
                Node::If { test, with, then, otherwise } => {
                    let item = self.pipeline(test, dot)?;
                    match is_true(&item) {
                        true => self.nodes(then, if *with { &item } else { dot })?,
                        false => self.nodes(otherwise, dot)?,
                    }
                }
                Node::Range { names, over, body, otherwise } => {
                    let over = self.pipeline(over, dot)?;
                    let items = items(over)?;
                    if items.is_empty() {
                        self.nodes(otherwise, dot)?;
                    }
                    for (key, item) in items {
                        self.rounds += 1;
                        if self.rounds > ROUNDS_MAX {
                            return Err(format!("the ranges go round more than {ROUNDS_MAX} times"));
                        }
                        let outer = self.variables.len();
                        match &names[..] {
                            [value] => self.variables.push((value.clone(), item.clone())),
                            [place, value, ..] => {
                                self.variables.push((place.clone(), key));
                                self.variables.push((value.clone(), item.clone()));
                            }
                            [] => {}
                        }
                        self.nodes(body, &item)?;
                        self.variables.truncate(outer);
                    }
                }
            }
        }
        self.variables.truncate(known);
        Ok(())
    }

    fn pipeline(&self, pipeline: &[Vec<Operand>], dot: &Item) -> Result<Item, String> {
        let mut last = None;
        for command in pipeline {
            last = Some(self.command(command, last, dot)?);
        }
        Ok(last.unwrap_or(Item::Missing))
    }

    fn command(&self, command: &[Operand], last: Option<Item>, dot: &Item) -> Result<Item, String> {
        let Some((first, rest)) = command.split_first() else { return Ok(Item::Missing) };
        if let Operand::Function(name) = first {
            let arguments = rest.iter().map(|operand| self.operand(operand, dot)).chain(last.map(Ok));
            let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
            return call(name, &arguments).map_err(|why| format!("error calling {name}: {why}"));
        }
        let item = self.operand(first, dot)?;
        match rest.is_empty() && last.is_none() {
            true => Ok(item),
            false => Err(format!("can't give argument to non-function {}", text(&item))),
        }
    }

    fn operand(&self, operand: &Operand, dot: &Item) -> Result<Item, String> {
        match operand {
            Operand::Dot(path) => field(dot.clone(), path),
            Operand::Variable(name, path) => {
                let found = self.variables.iter().rev().find(|(there, _)| there == name);
                field(found.map_or(Item::Missing, |(_, item)| item.clone()), path)
            }
            Operand::Literal(item) => Ok(item.clone()),
            Operand::Nested(pipeline, path) => field(self.pipeline(pipeline, dot)?, path),
            Operand::Function(name) => call(name, &[]).map_err(|why| format!("error calling {name}: {why}")),
        }
    }
}

/// The field at the end of a path; what is not there has no fields either.
fn field(mut item: Item, path: &[String]) -> Result<Item, String> {
    for name in path {
        item = match item {
            Item::Missing | Item::Value(Value::Null) => Item::Missing,
            Item::Value(Value::Object(mut fields)) => fields.remove(name).map_or(Item::Missing, Item::Value),
            Item::Value(_) | Item::Int(_) => return Err(format!("can't evaluate field {name} in type interface {{}}")),
        };
    }
    Ok(item)
}

/// What a range goes through: places and items, or names and values in their order.
fn items(over: Item) -> Result<Vec<(Item, Item)>, String> {
    match over {
        Item::Missing | Item::Value(Value::Null) => Ok(Vec::new()),
        Item::Value(Value::Array(items)) => Ok((0..).map(Item::Int).zip(items.into_iter().map(Item::Value)).collect()),
        Item::Value(Value::Object(fields)) => {
            Ok(fields.into_iter().map(|(name, value)| (Item::Value(name.into()), Item::Value(value))).collect())
        }
        Item::Int(count) if count <= i64::from(ROUNDS_MAX) => {
            Ok((0..count).map(|n| (Item::Int(n), Item::Int(n))).collect())
        }
        other => Err(format!("range can't iterate over {}", text(&other))),
    }
}
