//! Macros: calls that stand for more than they say. Mirrors `parser/macro.go` and `cel/library.go` of cel-go.

use super::report::Wrong;
use super::tree::{Fold, Is, Node};
use super::value::Value;

/// The name of what a loop changes. No name that is written can be the same.
const RESULT: &str = "@result";
/// What a loop over nothing would give to each turn.
const UNUSED: &str = "#unused";

/// What a call stands for, and how much deeper than it is written.
pub struct Expanded {
    /// The call itself, if it is no macro.
    pub node: Node,
    /// How much deeper its target lies.
    pub target_deeper: usize,
    /// How much deeper its arguments lie.
    pub args_deeper: usize,
}

/// The call, or what it stands for.
pub fn expand(at: usize, name: String, target: Option<Box<Node>>, args: Vec<Node>) -> Result<Expanded, Wrong> {
    let plain = |node| Ok(Expanded { node, target_deeper: 0, args_deeper: 0 });
    let made = |node| Ok(Expanded { node, target_deeper: 0, args_deeper: 4 });
    match (name.as_str(), target, args.len()) {
        ("has", None, 1) => plain(has(at, args)?),
        ("all", Some(range), 2) => {
            let [item, predicate] = these(args);
            let going_on = Node::call(at, "@not_strictly_false", vec![result(at)]);
            let step = Node::call(at, "_&&_", vec![result(at), predicate]);
            made(fold(at, *range, &item, boolean(at, true), going_on, step, result(at))?)
        }
        ("exists", Some(range), 2) => {
            let [item, predicate] = these(args);
            let going_on = Node::call(at, "@not_strictly_false", vec![Node::call(at, "!_", vec![result(at)])]);
            let step = Node::call(at, "_||_", vec![result(at), predicate]);
            made(fold(at, *range, &item, boolean(at, false), going_on, step, result(at))?)
        }
        ("exists_one" | "existsOne", Some(range), 2) => {
            let [item, predicate] = these(args);
            let one = |name| Node::call(at, name, vec![result(at), Node::literal(at, Value::Int(1))]);
            let step = Node::call(at, "_?_:_", vec![predicate, one("_+_"), result(at)]);
            let start = Node::literal(at, Value::Int(0));
            made(fold(at, *range, &item, start, boolean(at, true), step, one("_==_"))?)
        }
        ("filter", Some(range), 2) => {
            let [item, predicate] = these(args);
            let kept = item.clone();
            made(gathered(at, *range, &item, Some(predicate), kept)?)
        }
        ("map", Some(range), 2) => {
            let [item, made_of_it] = these(args);
            made(gathered(at, *range, &item, None, made_of_it)?)
        }
        ("map", Some(range), 3) => {
            let [item, predicate, made_of_it] = these(args);
            made(gathered(at, *range, &item, Some(predicate), made_of_it)?)
        }
        ("optMap" | "optFlatMap", Some(of), 2) => {
            let [item, made_of_it] = these(args);
            let node = optional(at, name == "optFlatMap", *of, &item, made_of_it)?;
            Ok(Expanded { node, target_deeper: 2, args_deeper: 4 })
        }
        (_, target, _) => plain(Node { at, is: Is::Call { name, target, args } }),
    }
}

/// `has(a.b)`: whether the field is there.
fn has(at: usize, mut args: Vec<Node>) -> Result<Node, Wrong> {
    match args.pop() {
        Some(Node { is: Is::Select { of, field, test: false }, at }) => {
            Ok(Node { at, is: Is::Select { of, field, test: true } })
        }
        other => {
            let at = other.map_or(at, |other| other.at);
            Err(Wrong { at, text: "invalid argument to has() macro".to_owned() })
        }
    }
}

/// The arguments of a macro that has so many.
fn these<const N: usize>(args: Vec<Node>) -> [Node; N] {
    <[Node; N]>::try_from(args).unwrap_or_else(|_| unreachable!("the macro was chosen by how many it has"))
}

fn result(at: usize) -> Node {
    Node::name(at, RESULT)
}

fn boolean(at: usize, value: bool) -> Node {
    Node::literal(at, Value::Bool(value))
}

/// The name that a loop gives to each item.
fn simple_name(item: &Node) -> Result<String, Wrong> {
    match &item.is {
        Is::Name(name) => Ok(name.clone()),
        _ => Err(Wrong { at: item.at, text: "argument must be a simple name".to_owned() }),
    }
}

fn fold(
    at: usize,
    range: Node,
    item: &Node,
    start: Node,
    condition: Node,
    step: Node,
    end: Node,
) -> Result<Node, Wrong> {
    let (item, result) = (simple_name(item)?, RESULT.to_owned());
    Ok(Node { at, is: Is::Fold(Box::new(Fold { range, item, result, start, condition, step, end })) })
}

/// A list of what is made of each item for which the predicate holds.
fn gathered(at: usize, range: Node, item: &Node, predicate: Option<Node>, made: Node) -> Result<Node, Wrong> {
    let one = Node { at, is: Is::List(vec![(made, false)]) };
    let mut step = Node::call(at, "_+_", vec![result(at), one]);
    if let Some(predicate) = predicate {
        step = Node::call(at, "_?_:_", vec![predicate, step, result(at)]);
    }
    let start = Node { at, is: Is::List(Vec::new()) };
    fold(at, range, item, start, boolean(at, true), step, result(at))
}

/// What is made of the value that an optional has, if it has one.
fn optional(at: usize, flat: bool, of: Node, item: &Node, made: Node) -> Result<Node, Wrong> {
    let method = |name: &str, of: Node| {
        let target = Some(Box::new(of));
        Node { at, is: Is::Call { name: name.to_owned(), target, args: Vec::new() } }
    };
    let item = simple_name(item)?;
    let bound = Fold {
        range: Node { at, is: Is::List(Vec::new()) },
        item: UNUSED.to_owned(),
        result: item.clone(),
        start: method("value", of.clone()),
        condition: boolean(at, false),
        step: Node::name(at, &item),
        end: made,
    };
    let bound = Node { at, is: Is::Fold(Box::new(bound)) };
    let some = if flat { bound } else { Node::call(at, "optional.of", vec![bound]) };
    let none = Node::call(at, "optional.none", Vec::new());
    Ok(Node::call(at, "_?_:_", vec![method("hasValue", of), some, none]))
}
