//! From text to a tree. The grammar, literals and macros are those of the crate `cel`; nothing else of it is used.
//!
//! The crate has an interpreter too. It is not used because the steps of two runs must be equal byte for byte, and it keeps
//! maps in an order that differs between processes; because it has no types to check a rule by before it is kept; and
//! because it counts no cost. Of its two parsers the hand-written one is used: the other needs 150 KB of stack for each
//! bracket that is open.
//!
//! Left out: the list of tokens that the real parser would have taken instead, which its errors name.

use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, SourceInfo};
use cel::parser::{ParseErrors, PrattParser};

use super::value::Value;

/// How many operators, points and brackets an expression may have, and how deep its parts may lie in each other. The real
/// limits are higher; here a tree is gone through on the stack of whoever asks.
const MARKS_MAX: usize = 1_000;
const DEPTH_MAX: usize = 120;

/// One part of an expression.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its number, by which the parser knows where it stands.
    pub id: u64,
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
    Fold(Box<Fold>),
}

/// What `all`, `exists`, `map` and the like are: a loop that changes one result.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "they are named as in the language")]
pub struct Fold {
    pub range: Node,
    pub item: String,
    pub result: String,
    pub start: Node,
    pub condition: Node,
    pub step: Node,
    pub end: Node,
}

/// The tree of `source`, or what is wrong with it, as the compiler reports it.
pub fn parse(source: &str) -> Result<Node, String> {
    if marks(source) > MARKS_MAX {
        return Err(error_at("", 1, 0, &format!("expression has more than {MARKS_MAX} operators")));
    }
    let tree = parser().parse(source).map_err(|errors| syntax(source, &errors))?;
    node(tree, 0)
        .map_err(|id| report(source, &[Wrong { id, after: 0, text: "expression is nested too deeply".to_owned() }]))
}

fn parser() -> PrattParser {
    PrattParser::default().enable_optional_syntax(true)
}

/// How many characters outside of quotes may begin a part below another.
fn marks(source: &str) -> usize {
    let (mut count, mut rest) = (0, source);
    while let Some(at) = rest.find(|c: char| c.is_ascii_punctuation() && c != '_' || c == 'i') {
        let mark = &rest[at..=at];
        let raw = rest[..at].ends_with(['r', 'R']);
        rest = &rest[at + 1..];
        match mark {
            "i" if !rest.starts_with('n') => {}
            "'" | "\"" => {
                let triple = [mark, mark].concat();
                let quote = if rest.starts_with(&triple) { mark.repeat(3) } else { mark.to_owned() };
                rest = after_quote(&rest[quote.len() - 1..], &quote, raw);
            }
            _ => count += 1,
        }
    }
    count
}

/// What follows the end of a text in quotes.
fn after_quote<'t>(text: &'t str, quote: &str, raw: bool) -> &'t str {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && !raw {
            chars.next();
        } else if text[at..].starts_with(quote) {
            return &text[at + quote.len()..];
        }
    }
    ""
}

fn syntax(source: &str, errors: &ParseErrors) -> String {
    let one = |error: &cel::ParseError| {
        let (line, column) = error.pos;
        error_at(source, usize::try_from(line).unwrap_or(0), usize::try_from(column - 1).unwrap_or(0), &error.msg)
    };
    errors.errors.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// Something that is wrong with a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The part.
    pub id: u64,
    /// How many bytes after its beginning: cel-go points at the bracket of a call, this parser at its name.
    pub after: usize,
    /// What is wrong.
    pub text: String,
}

/// Errors of the type checker, in the order of their places. Mirrors `common.Errors.ToDisplayString`.
pub fn report(source: &str, errors: &[Wrong]) -> String {
    let places = places(source);
    let at = |error: &Wrong| place(source, places.as_deref(), error);
    let mut found: Vec<((usize, usize), &str)> = errors.iter().map(|error| (at(error), error.text.as_str())).collect();
    found.sort();
    let shown = found.into_iter().map(|((line, column), text)| error_at(source, line, column, text));
    shown.collect::<Vec<_>>().join("\n")
}

/// Where the parts of `source` stand. The parser tells it only beside an error, so it is given one, on a line of its own.
fn places(source: &str) -> Option<Arc<SourceInfo>> {
    let errors = parser().parse(&format!("{source}\n)")).err()?;
    errors.errors.into_iter().find_map(|error| error.source_info)
}

/// Line (from 1) and column (from 0, in characters) of a part.
fn place(source: &str, places: Option<&SourceInfo>, wrong: &Wrong) -> (usize, usize) {
    let start = places.and_then(|places| places.offset_for(wrong.id)).map_or(0, |(start, _)| start as usize);
    let offset = start + wrong.after;
    let before = source.get(..offset).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    (line, before.rsplit('\n').next().unwrap_or_default().chars().count())
}

/// One error with the line it is in. Mirrors `common.Error.ToDisplayString`.
fn error_at(source: &str, line: usize, column: usize, text: &str) -> String {
    let snippet = source.lines().nth(line.saturating_sub(1)).unwrap_or_default().replace('\t', " ");
    let dots: String = snippet.chars().take(column).map(|c| if c.is_ascii() { '.' } else { '\u{ff0e}' }).collect();
    format!("ERROR: <input>:{line}:{}: {text}\n | {snippet}\n | {dots}^", column + 1)
}

/// The crate's tree as ours; the error is the part that lies too deep.
fn node(tree: IdedExpr, depth: usize) -> Result<Node, u64> {
    let id = tree.id;
    if depth > DEPTH_MAX {
        return Err(id);
    }
    let below = |tree| node(tree, depth + 1);
    let is = match tree.expr {
        Expr::Literal(value) => Is::Literal(literal(&value)),
        Expr::Ident(name) => Is::Name(name),
        Expr::Select(select) => {
            Is::Select { of: Box::new(below(*select.operand)?), field: select.field, test: select.test }
        }
        Expr::Call(call) => Is::Call {
            name: call.func_name,
            target: call.target.map(|target| below(*target).map(Box::new)).transpose()?,
            args: call.args.into_iter().map(below).collect::<Result<_, _>>()?,
        },
        Expr::List(list) => {
            let optional = list.optional_indices;
            let items = list.elements.into_iter().enumerate();
            Is::List(items.map(|(i, item)| Ok((below(item)?, optional.contains(&i)))).collect::<Result<_, u64>>()?)
        }
        Expr::Map(map) => {
            let entry = |entry: EntryExpr| match entry {
                EntryExpr::MapEntry(entry) => Ok((below(entry.key)?, below(entry.value)?, entry.optional)),
                EntryExpr::StructField(_) => Err(id),
            };
            Is::Map(map.entries.into_iter().map(|of| entry(of.expr)).collect::<Result<_, u64>>()?)
        }
        Expr::Comprehension(of) => Is::Fold(Box::new(Fold {
            range: below(of.iter_range)?,
            item: of.iter_var,
            result: of.accu_var,
            start: below(of.accu_init)?,
            condition: below(of.loop_cond)?,
            step: below(of.loop_step)?,
            end: below(of.result)?,
        })),
        // No type here can be written as `Type{field: value}`; the checker says so.
        Expr::Struct(of) => Is::Call { name: of.type_name, target: None, args: Vec::new() },
        Expr::Unspecified => return Err(id),
    };
    Ok(Node { id, is })
}

fn literal(value: &LiteralValue) -> Value {
    match value {
        LiteralValue::Boolean(value) => Value::Bool(*value.inner()),
        LiteralValue::Bytes(value) => Value::Bytes(value.inner().into()),
        LiteralValue::Double(value) => Value::Double(*value.inner()),
        LiteralValue::Int(value) => Value::Int(*value.inner()),
        LiteralValue::Null => Value::Null,
        LiteralValue::String(value) => Value::String(value.inner().into()),
        LiteralValue::UInt(value) => Value::Uint(*value.inner()),
    }
}
