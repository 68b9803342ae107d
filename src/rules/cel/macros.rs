//! The macros that the parser's crate does not have: those of optional values, and those of two variables. Mirrors
//! `cel/library.go` and `ext/comprehensions.go` of cel-go.

use super::report::Wrong;
use super::tree::{Fold, Is, Node};
use super::value::Value;

/// What a loop over nothing would give to each turn.
const UNUSED: &str = "#unused";
/// What a loop has come to so far.
const RESULT: &str = "@result";
/// Puts an entry, or those of a map, into a map that has no such key.
pub const INSERT: &str = "@mapInsert";

/// The call, or what it stands for.
pub fn expand(at: usize, name: &str, target: Option<Node>, mut args: Vec<Node>) -> Result<Node, Wrong> {
    match (name, target, args.len()) {
        ("optMap" | "optFlatMap", Some(of), 2) => {
            let made_of_it = args.remove(1);
            optional(at, name == "optFlatMap", of, &args[0], made_of_it)
        }
        ("all" | "exists" | "existsOne" | "exists_one", Some(of), 3)
        | ("transformList" | "transformMap" | "transformMapEntry", Some(of), 3 | 4) => {
            let made = args.pop();
            let filter = if args.len() == 3 { args.pop() } else { None };
            let (Some(made), [first, second]) = (made, &args[..]) else {
                return Err(Wrong { at, text: "argument must be a simple name".to_owned() });
            };
            two_variables(at, name, of, [first, second], filter, made)
        }
        (name, target, _) => {
            Ok(Node { at, is: Is::Call { name: name.to_owned(), target: target.map(Box::new), args } })
        }
    }
}

/// What is made of the value that an optional has, if it has one.
fn optional(at: usize, flat: bool, of: Node, item: &Node, made: Node) -> Result<Node, Wrong> {
    let Is::Name(item) = &item.is else {
        return Err(Wrong { at: item.at, text: "argument must be a simple name".to_owned() });
    };
    let method = |name: &str, of: Node| {
        let target = Some(Box::new(of));
        Node { at, is: Is::Call { name: name.to_owned(), target, args: Vec::new() } }
    };
    let bound = Fold {
        range: Node { at, is: Is::List(Vec::new()) },
        item: UNUSED.to_owned(),
        second: None,
        result: item.clone(),
        start: method("value", of.clone()),
        condition: Node { at, is: Is::Literal(Value::Bool(false)) },
        step: Node { at, is: Is::Name(item.clone()) },
        end: made,
    };
    let bound = Node { at, is: Is::Fold(Box::new(bound)) };
    let some = if flat { bound } else { Node::call(at, "optional.of", vec![bound]) };
    let none = Node::call(at, "optional.none", Vec::new());
    Ok(Node::call(at, "_?_:_", vec![method("hasValue", of), some, none]))
}

/// A loop that knows both the place and what stands there: index and item of a list, key and value of a map.
fn two_variables(
    at: usize,
    name: &str,
    of: Node,
    names: [&Node; 2],
    filter: Option<Node>,
    made: Node,
) -> Result<Node, Wrong> {
    let [first, second] = names.map(|node| match &node.is {
        Is::Name(name) => Ok(name.clone()),
        _ => Err(Wrong { at: node.at, text: "argument must be a simple name".to_owned() }),
    });
    let (first, second) = (first?, second?);
    if first == second {
        return Err(Wrong { at: names[1].at, text: format!("duplicate variable name: {second}") });
    }
    let result = || Node { at, is: Is::Name(RESULT.to_owned()) };
    let literal = |value: Value| Node { at, is: Is::Literal(value) };
    let call = |name: &str, args: Vec<Node>| Node::call(at, name, args);
    let unless_sure = |of: Node| call("@not_strictly_false", vec![of]);
    let (start, condition, step, end) = match name {
        "all" => (literal(Value::Bool(true)), unless_sure(result()), call("_&&_", vec![result(), made]), result()),
        "exists" => {
            let goes_on = unless_sure(call("!_", vec![result()]));
            (literal(Value::Bool(false)), goes_on, call("_||_", vec![result(), made]), result())
        }
        "existsOne" | "exists_one" => {
            let more = call("_+_", vec![result(), literal(Value::Int(1))]);
            let step = call("_?_:_", vec![made, more, result()]);
            let end = call("_==_", vec![result(), literal(Value::Int(1))]);
            (literal(Value::Int(0)), literal(Value::Bool(true)), step, end)
        }
        _ => {
            let (start, more) = match name {
                "transformList" => {
                    let one = Node { at, is: Is::List(vec![(made, false)]) };
                    (Is::List(Vec::new()), call("_+_", vec![result(), one]))
                }
                "transformMap" => {
                    let key = Node { at, is: Is::Name(first.clone()) };
                    (Is::Map(Vec::new()), call(INSERT, vec![result(), key, made]))
                }
                _ => (Is::Map(Vec::new()), call(INSERT, vec![result(), made])),
            };
            let step = match filter {
                Some(filter) => call("_?_:_", vec![filter, more, result()]),
                None => more,
            };
            (Node { at, is: start }, literal(Value::Bool(true)), step, result())
        }
    };
    let (item, second, result) = (first, Some(second), RESULT.to_owned());
    Ok(Node { at, is: Is::Fold(Box::new(Fold { range: of, item, second, result, start, condition, step, end })) })
}
