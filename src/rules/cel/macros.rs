//! The macros of optional values, which the parser's crate does not have. Mirrors `cel/library.go` of cel-go.

use super::report::Wrong;
use super::tree::{Fold, Is, Node};
use super::value::Value;

/// What a loop over nothing would give to each turn.
const UNUSED: &str = "#unused";

/// The call, or what it stands for.
pub fn expand(at: usize, name: &str, target: Option<Node>, mut args: Vec<Node>) -> Result<Node, Wrong> {
    match (name, target, args.len()) {
        ("optMap" | "optFlatMap", Some(of), 2) => {
            let made_of_it = args.remove(1);
            optional(at, name == "optFlatMap", of, &args[0], made_of_it)
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
