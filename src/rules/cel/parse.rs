//! From text to a tree: the grammar and the macros of the crate `cel`, which are those of cel-go.
//!
//! Its parser calls itself for every level of brackets, with a hundred kilobytes of stack each in a build that is not
//! optimised, and tells too late that it is too much: so it runs on a stack of its own ([`STACK`]), where no more is used
//! than an expression needs. What it makes is turned into the tree of [`super::tree`] there too.

#[cfg(not(target_family = "wasm"))]
use std::thread;

use cel::common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, SourceInfo};
use cel::parser::{ParseError, Parser};

use super::macros;
use super::report::Wrong;
use super::tree::{Field, Fold, Is, Node};
use super::value::Value;

/// How deep the parts of an expression may be nested: evaluation walks them on the caller's stack. The real
/// limit is 250.
const DEPTH_MAX: usize = 120;
/// How many characters an expression may have. Mirrors `expressionSizeCodePointLimit`.
const CHARACTERS_MAX: usize = 100_000;
/// Bytes of address space; what is not used costs nothing.
#[cfg(not(target_family = "wasm"))]
const STACK: usize = 256 << 20;
/// Words that cannot be names: those of the language, and those that are kept for later versions of it.
pub const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// The tree of `source`, or all that is wrong with it.
pub fn parse(source: &str) -> Result<Node, Vec<Wrong>> {
    let wrong = |text: String| Err(vec![Wrong { at: 0, text }]);
    let size = source.chars().count();
    if size > CHARACTERS_MAX {
        return wrong(format!("expression code point size exceeds limit: size: {size}, limit {CHARACTERS_MAX}"));
    }
    deep(|| parse_here(source)).unwrap_or_else(wrong)
}

/// Does it on a stack of its own. What became of it, or why that could not be.
#[cfg(not(target_family = "wasm"))]
fn deep<T: Send>(act: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        match thread::Builder::new().stack_size(STACK).spawn_scoped(scope, act).map(thread::ScopedJoinHandle::join) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(_)) => Err("Syntax error: the expression cannot be read".to_owned()),
            Err(error) => Err(format!("there is no memory to read the expression: {error}")),
        }
    })
}

/// A page has one stack.
#[cfg(target_family = "wasm")]
fn deep<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    Ok(act())
}

fn parse_here(source: &str) -> Result<Node, Vec<Wrong>> {
    let parser = Parser::new().max_recursion_depth(2 * DEPTH_MAX as u16);
    let parser = parser.enable_optional_syntax(true).enable_ident_escape_syntax(true);
    match parser.parse_with_source_info(source) {
        Ok((tree, places)) => Turning { source, places }.node(tree, DEPTH_MAX).map_err(|wrong| vec![wrong]),
        Err(errors) => {
            Err(errors.errors.iter().filter(|error| !is_echo(error)).map(|error| said(source, error)).collect())
        }
    }
}

/// Whether it says no more than that an error of the grammar has left a hole in the tree.
fn is_echo(error: &ParseError) -> bool {
    error.msg.ends_with('!')
}

fn said(source: &str, ParseError { pos: (line, column), msg, .. }: &ParseError) -> Wrong {
    let count = |n: &isize| usize::try_from(*n).unwrap_or(0).saturating_sub(1);
    let line: &str = source.split_inclusive('\n').nth(count(line)).unwrap_or_default();
    let begins = line.as_ptr() as usize - source.as_ptr() as usize;
    let inside = line.char_indices().nth(count(column)).map_or(line.len(), |(at, _)| at);
    Wrong { at: begins + inside, text: msg.clone() }
}

/// Turns one tree into the other.
struct Turning<'s> {
    source: &'s str,
    places: SourceInfo,
}

impl Turning<'_> {
    /// Where a part stands.
    fn at(&self, id: u64) -> usize {
        self.places.offset_for(id).map_or(0, |(start, _)| start as usize).min(self.source.len())
    }

    /// A part in which others may lie so deep.
    fn node(&self, IdedExpr { id, expr }: IdedExpr, depth: usize) -> Result<Node, Wrong> {
        let at = self.at(id);
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Wrong { at, text: format!("expression recursion limit exceeded: {DEPTH_MAX}") });
        };
        let is = match expr {
            Expr::Literal(literal) => Is::Literal(value(literal)),
            // A point before a name: from the root of all names, which is where those without are looked for too.
            Expr::Ident(name) => Is::Name(name.trim_start_matches('.').to_owned()),
            Expr::Select(select) => {
                let of = Box::new(self.node(*select.operand, depth)?);
                Is::Select { of, field: select.field, test: select.test }
            }
            Expr::Call(call) => {
                let target = call.target.map(|target| self.node(*target, depth)).transpose()?;
                let args = self.nodes(call.args, depth)?;
                return macros::expand(at, call.func_name.trim_start_matches('.'), target, args);
            }
            Expr::List(list) => {
                let items = self.nodes(list.elements, depth)?.into_iter().enumerate();
                Is::List(items.map(|(n, item)| (item, list.optional_indices.contains(&n))).collect())
            }
            Expr::Map(map) => {
                Is::Map(map.entries.into_iter().map(|entry| self.entry(entry, depth)).collect::<Result<_, _>>()?)
            }
            Expr::Comprehension(fold) => Is::Fold(Box::new(Fold {
                range: self.node(fold.iter_range, depth)?,
                item: fold.iter_var,
                second: None,
                result: fold.accu_var,
                start: self.node(fold.accu_init, depth)?,
                condition: self.node(fold.loop_cond, depth)?,
                step: self.node(fold.loop_step, depth)?,
                end: self.node(fold.result, depth)?,
            })),
            Expr::Struct(made) => Is::Struct {
                name: made.type_name.trim_start_matches('.').to_owned(),
                fields: made.entries.into_iter().map(|field| self.field(field, depth)).collect::<Result<_, _>>()?,
            },
            Expr::Unspecified => return Err(Wrong { at, text: "Syntax error: nothing is there".to_owned() }),
        };
        Ok(Node { at, is })
    }

    fn nodes(&self, parts: Vec<IdedExpr>, depth: usize) -> Result<Vec<Node>, Wrong> {
        parts.into_iter().map(|part| self.node(part, depth)).collect()
    }

    fn entry(&self, entry: IdedEntryExpr, depth: usize) -> Result<(Node, Node, bool), Wrong> {
        match entry.expr {
            EntryExpr::MapEntry(entry) => {
                Ok((self.node(entry.key, depth)?, self.node(entry.value, depth)?, entry.optional))
            }
            EntryExpr::StructField(_) => unreachable!("a map has no fields"),
        }
    }

    fn field(&self, IdedEntryExpr { id, expr }: IdedEntryExpr, depth: usize) -> Result<Field, Wrong> {
        match expr {
            EntryExpr::StructField(field) => {
                let value = self.node(field.value, depth)?;
                Ok(Field { at: self.at(id), name: field.field, value, optional: field.optional })
            }
            EntryExpr::MapEntry(_) => unreachable!("a struct has no keys"),
        }
    }
}

fn value(literal: LiteralValue) -> Value {
    match literal {
        LiteralValue::Null => Value::Null,
        LiteralValue::Boolean(value) => Value::Bool(value.into_inner()),
        LiteralValue::Int(value) => Value::Int(value.into_inner()),
        LiteralValue::UInt(value) => Value::Uint(value.into_inner()),
        LiteralValue::Double(value) => Value::Double(value.into_inner()),
        LiteralValue::String(value) => Value::string(value.into_inner()),
        LiteralValue::Bytes(value) => Value::Bytes(value.into_inner().into()),
    }
}
