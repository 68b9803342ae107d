//! What the text of an expression is made into.

use super::value::Value;

/// One part of an expression.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it stands: the byte of its name, literal or bracket, or of its operator.
    pub at: usize,
    /// What it is.
    pub is: Is,
}

/// What a part of an expression is.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "they are named as in the language")]
pub enum Is {
    Literal(Value),
    Name(String),
    /// `of.field`; with `test`: `has(of.field)`.
    Select {
        of: Box<Node>,
        field: String,
        test: bool,
    },
    /// A function, an operator (`_+_`), or a method of `target`.
    Call {
        name: String,
        target: Option<Box<Node>>,
        args: Vec<Node>,
    },
    /// Items, and whether each is an optional one.
    List(Vec<(Node, bool)>),
    /// Keys, values, and whether each entry is an optional one.
    Map(Vec<(Node, Node, bool)>),
    /// `Object.spec{replicas: 3}`.
    Struct {
        name: String,
        fields: Vec<Field>,
    },
    Fold(Box<Fold>),
}

/// A field of an object that an expression makes.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "they are named as in the language")]
pub struct Field {
    pub at: usize,
    pub name: String,
    pub value: Node,
    pub optional: bool,
}

/// What `all`, `exists`, `map` and the like are: a loop that changes one result.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "they are named as in the language")]
pub struct Fold {
    pub range: Node,
    /// A list's item, or a map's key; with a second name: a list's index, or a map's key.
    pub item: String,
    /// A list's item, or what stands under a map's key.
    pub second: Option<String>,
    pub result: String,
    pub start: Node,
    pub condition: Node,
    pub step: Node,
    pub end: Node,
}

impl Node {
    /// A call of a function, or an operator with its operands.
    pub fn call(at: usize, name: &str, args: Vec<Node>) -> Node {
        Node { at, is: Is::Call { name: name.to_owned(), target: None, args } }
    }

    /// `a.b.c`, if that is all it is.
    pub fn dotted(&self) -> Option<String> {
        match &self.is {
            Is::Name(name) => Some(name.clone()),
            Is::Select { of, field, test: false } => of.dotted().map(|of| format!("{of}.{field}")),
            _ => None,
        }
    }
}
