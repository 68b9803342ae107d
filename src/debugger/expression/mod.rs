//! Conditions of breakpoints: a small language over what a step was and did.
//!
//! ```text
//! new.status.phase == "Running" and old.status.phase != "Running"
//! new.status.containerStatuses[*].restartCount > 2
//! changed(spec.nodeName) or event.code >= 500
//! ```
//!
//! A path begins with what it looks into: `old` and `new` are the object before and after (null where there is none),
//! `object` is the newer of the two, `event` is the message (`class`, `from`, `to`, `verb`, `kind`, `namespace`,
//! `name`, `code`, `method`), `message` the body of a call to the runtime; `step` and `time` (seconds) are numbers. It
//! goes on with `.field`, `["a field with dots"]`, `[0]`, `[Ready]` (the item of that type, name or key) or `[*]` (any
//! item). A field that is not there is `null`.
//!
//! Comparisons are `==`, `!=`, `<`, `<=`, `>`, `>=`, and `~` for text and a pattern with `*` and `?`. Texts have CEL's
//! `contains`, `startsWith`, `endsWith` and `matches` (a regular expression), written as there,
//! `new.metadata.name.startsWith("web")`, or between the two, `new.metadata.name startsWith "web"`; a list contains its
//! items. Comparisons join with `and`, `or`, `not` and parentheses. `changed(PATH)` compares a field of `old` with that of `new`; `len(PATH)` counts.
//! Quantities such as `"100m"` compare by size. Comparing what cannot be compared, as a text with a number, is an
//! error, not a guess; a missing value is neither smaller nor larger than anything.
//!
//! Behind `cel:` a whole condition is in CEL: see [`cel`].
//!
//! - [`lex`]: tokens. [`mod@parse`]: the tree. [`eval`]: its value. [`words`]: why it is so.

use std::fmt;

pub mod cel;
pub mod eval;
mod lex;
pub mod parse;
pub mod words;

#[cfg(test)]
mod tests;

pub use eval::Scope;
pub use object::glob::matches as matches_glob;
pub use parse::parse;

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The whole expression.
    pub text: String,
    /// The place, in characters from the start.
    pub at: usize,
    /// What is wrong, and what would do.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}\n  {}\n  {}^", self.at + 1, self.message, self.text, " ".repeat(self.at))
    }
}

impl std::error::Error for Error {}

/// An expression, parsed, with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// As it was typed.
    pub text: String,
    pub(crate) node: Node,
}

/// One node of the tree. `at` is where it stands in the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Literal(serde_json::Value),
    Path(Path),
    Not(Box<Node>),
    /// `a and b and c`: a chain is flat, however long.
    All(Vec<Node>),
    /// `a or b or c`.
    Any(Vec<Node>),
    Compare {
        left: Box<Node>,
        operator: Operator,
        right: Box<Node>,
        at: usize,
    },
    Matches {
        left: Box<Node>,
        pattern: Pattern,
        at: usize,
    },
    Changed(Vec<Part>),
    /// All of it in CEL.
    Cel(cel::Rule),
    Length {
        of: Box<Node>,
        at: usize,
    },
}

/// A path from one of the roots.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    pub root: Root,
    pub parts: Vec<Part>,
}

/// What a path looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// The object before.
    Old,
    /// The object after.
    New,
    /// After if there is one, else before.
    Object,
    /// The message.
    Event,
    /// The body of a call to the runtime or the network plugins.
    Message,
    /// The step's number.
    Step,
    /// Virtual seconds since the start.
    Time,
}

impl Root {
    /// All, by name.
    pub const ALL: [(&'static str, Root); 7] = [
        ("old", Root::Old),
        ("new", Root::New),
        ("object", Root::Object),
        ("event", Root::Event),
        ("message", Root::Message),
        ("step", Root::Step),
        ("time", Root::Time),
    ];
}

/// One part of a path after its root.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// `.phase`, `["kubernetes.io/hostname"]`.
    Field(String),
    /// `[0]`.
    Index(usize),
    /// `[Ready]`: the item with this type, name or key.
    Named(String),
    /// `[*]`.
    Any,
}

impl Expression {
    /// Whether it is about nothing but an object as it is: so it can be asked of the version before a write too.
    pub fn is_about_an_object(&self) -> bool {
        self.node.is_about_an_object()
    }
}

impl Node {
    fn is_about_an_object(&self) -> bool {
        match self {
            Node::Literal(_) => true,
            Node::Path(path) => matches!(path.root, Root::New | Root::Object),
            Node::Not(inner) | Node::Matches { left: inner, .. } | Node::Length { of: inner, .. } => {
                inner.is_about_an_object()
            }
            Node::All(parts) | Node::Any(parts) => parts.iter().all(Node::is_about_an_object),
            Node::Compare { left, right, .. } => left.is_about_an_object() && right.is_about_an_object(),
            Node::Changed(_) => false,
            Node::Cel(rule) => rule.is_about_an_object(),
        }
    }
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
    Contains,
    StartsWith,
    EndsWith,
}

/// A regular expression after `matches`, compiled once.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(pub Box<regex::Regex>);

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}
