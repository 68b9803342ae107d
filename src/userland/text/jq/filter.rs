//! What is asked of a value.

use serde_json::Value;

/// A filter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Filter {
    /// `.`
    This,
    /// `..`
    All,
    /// `"web"`, `1`, `null`
    Literal(Value),
    /// `"web-\(.n)"`: texts, and filters between them.
    Text(Vec<Filter>),
    /// `F.name`, `F["name"]`, `F[0]`
    At(Box<Filter>, Box<Filter>),
    /// `F[1:3]`
    Slice(Box<Filter>, Option<Box<Filter>>, Option<Box<Filter>>),
    /// `F[]`
    Each(Box<Filter>),
    /// `F?`
    Try(Box<Filter>),
    /// `F | G`
    Pipe(Box<Filter>, Box<Filter>),
    /// `F, G`
    Both(Box<Filter>, Box<Filter>),
    /// `F == G`
    Binary(&'static str, Box<Filter>, Box<Filter>),
    /// `[F]`
    Array(Option<Box<Filter>>),
    /// `{a: F, b}`
    Object(Vec<(Filter, Filter)>),
    /// `if F then G else H end`
    If(Box<Filter>, Box<Filter>, Box<Filter>),
    /// `select(F)`, `length`
    Call(String, Vec<Filter>),
}
