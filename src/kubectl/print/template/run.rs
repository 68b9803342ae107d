//! A template's nodes to text, for an object. Mirrors `text/template/exec.go`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::functions::{call, is_true, text};
use super::tree::{Item, Node, Operand};

/// The text for an object.
pub fn run(nodes: &[Node], defined: &BTreeMap<String, Vec<Node>>, object: &Value) -> Result<String, String> {
    let root = Item::of(object.clone());
    let variables = vec![("$".to_owned(), root.clone())];
    let mut run = Run { defined, variables, out: String::new(), rounds: 0, depth: 0 };
    run.nodes(nodes, &root)?;
    Ok(run.out)
}

struct Run<'t> {
    /// Templates by their names.
    defined: &'t BTreeMap<String, Vec<Node>>,
    variables: Vec<(String, Item)>,
    out: String,
    /// How often a range went round and a template was called, in all.
    rounds: u32,
    /// How many lists of nodes stand in one another here.
    depth: u32,
}

/// How a list of nodes ended.
#[derive(Clone, Copy, PartialEq)]
enum Flow {
    Through,
    Break,
    Continue,
}

/// Lists of nodes may stand so deep in one another while a template runs.
const DEPTH_MAX: u32 = 300;

/// A template that goes round more often is ended.
const ROUNDS_MAX: u32 = 1_000_000;

impl Run<'_> {
    fn nodes(&mut self, nodes: &[Node], dot: &Item) -> Result<Flow, String> {
        let known = self.variables.len();
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("exceeded maximum template depth ({DEPTH_MAX})"));
        }
        let mut flow = Flow::Through;
        for node in nodes {
            flow = self.node(node, dot)?;
            if flow != Flow::Through {
                break;
            }
        }
        self.depth -= 1;
        self.variables.truncate(known);
        Ok(flow)
    }

    fn node(&mut self, node: &Node, dot: &Item) -> Result<Flow, String> {
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
                return match is_true(&item) {
                    true => self.nodes(then, if *with { &item } else { dot }),
                    false => self.nodes(otherwise, dot),
                };
            }
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
            Node::Call { name, dot: given } => {
                let given = given.as_ref().map(|given| self.pipeline(given, dot)).transpose()?;
                self.call(name, given.unwrap_or(Item::Missing))?;
            }
            Node::Range { names, over, body, otherwise } => {
                let over = self.pipeline(over, dot)?;
                let items = items(over)?;
                if items.is_empty() {
                    return self.nodes(otherwise, dot);
                }
                for (key, item) in items {
                    self.round()?;
                    let outer = self.variables.len();
                    match &names[..] {
                        [value] => self.variables.push((value.clone(), item.clone())),
                        [place, value, ..] => {
                            self.variables.push((place.clone(), key));
                            self.variables.push((value.clone(), item.clone()));
                        }
                        [] => {}
                    }
                    let flow = self.nodes(body, &item)?;
                    self.variables.truncate(outer);
                    if flow == Flow::Break {
                        break;
                    }
                }
            }
        }
        Ok(Flow::Through)
    }

    fn round(&mut self) -> Result<(), String> {
        self.rounds += 1;
        match self.rounds > ROUNDS_MAX {
            true => Err(format!("the ranges go round more than {ROUNDS_MAX} times")),
            false => Ok(()),
        }
    }

    /// What was defined under a name, for `dot`. It knows no variable but `$`, which is its dot.
    fn call(&mut self, name: &str, dot: Item) -> Result<(), String> {
        self.round()?;
        let defined = self.defined.get(name).ok_or_else(|| format!("template {name:?} not defined"))?;
        let outside = std::mem::replace(&mut self.variables, vec![("$".to_owned(), dot.clone())]);
        self.nodes(defined, &dot)?;
        self.variables = outside;
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
            Item::Value(Value::Object(mut fields)) => fields.remove(name).map_or(Item::Missing, Item::of),
            Item::Value(_) | Item::Int(_) => return Err(format!("can't evaluate field {name} in type interface {{}}")),
        };
    }
    Ok(item)
}

/// What a range goes through: places and items, or names and values in their order.
fn items(over: Item) -> Result<Vec<(Item, Item)>, String> {
    match over {
        Item::Missing | Item::Value(Value::Null) => Ok(Vec::new()),
        Item::Value(Value::Array(items)) => Ok((0..).map(Item::Int).zip(items.into_iter().map(Item::of)).collect()),
        Item::Value(Value::Object(fields)) => {
            Ok(fields.into_iter().map(|(name, value)| (Item::Value(name.into()), Item::of(value))).collect())
        }
        Item::Int(count) if count <= i64::from(ROUNDS_MAX) => {
            Ok((0..count).map(|n| (Item::Int(n), Item::Int(n))).collect())
        }
        other => Err(format!("range can't iterate over {}", text(&other))),
    }
}
