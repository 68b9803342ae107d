//! A template, taken apart.

use serde_json::Value;

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    /// `{{.metadata.name}}`
    Show(Pipeline),
    /// `{{$x := .spec}}`; without the colon if not `new`.
    Set {
        name: String,
        value: Pipeline,
        new: bool,
    },
    /// `{{if …}} … {{else}} … {{end}}`; with `with` the dot becomes what it came to.
    If {
        test: Pipeline,
        with: bool,
        then: Vec<Node>,
        otherwise: Vec<Node>,
    },
    /// `{{range $i, $x := .items}} … {{else}} … {{end}}`
    Range {
        names: Vec<String>,
        over: Pipeline,
        body: Vec<Node>,
        otherwise: Vec<Node>,
    },
    /// `{{break}}`
    Break,
    /// `{{continue}}`
    Continue,
    /// `{{template "name" .}}`: what was defined under the name, with what its dot is.
    Call {
        name: String,
        dot: Option<Pipeline>,
    },
}

/// Commands; what one comes to is the last argument of the next.
pub(super) type Pipeline = Vec<Command>;

/// An operand, or a function and its arguments.
pub(super) type Command = Vec<Operand>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    /// `.`, `.metadata.name`
    Dot(Vec<String>),
    /// `$`, `$x.name`
    Variable(String, Vec<String>),
    Literal(Item),
    /// `(…).name`
    Nested(Pipeline, Vec<String>),
    Function(&'static str),
}

/// What an operand comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// A field that is not there.
    Missing,
    /// A whole number, of an object or the template's own.
    Int(i64),
    /// All else; a number here is a fraction.
    Value(Value),
}

impl Item {
    /// A value of an object.
    pub(super) fn of(value: Value) -> Item {
        value.as_i64().map_or(Item::Value(value), Item::Int)
    }
}
