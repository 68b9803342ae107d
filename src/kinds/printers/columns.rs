//! Columns: what rows of kinds are made of, and how a kind shows.
//!
//! Mirrors `AddHandlers` of `pkg/printers/internalversion/printers.go`. Left out: what a column means, in words.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;
use serde_json::{Value, json};

use crate::facts;
use crate::printers::cells::name;
use crate::printers::duration::since;
use crate::printers::fields::plain;
use crate::row::Table;
use object::{Discovery, Kind, jsonpath};

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'a> {
    /// Its head: `Name`.
    pub name: &'a str,
    /// What it is said to hold, which is not always what its cells are: `string`, `integer`, `boolean` …
    pub type_: &'a str,
    /// More about that; empty for most.
    pub format: &'a str,
    /// 0, or more if it shows with `-o wide` only.
    pub priority: i32,
}

impl Column<'_> {
    /// As a Table has it.
    pub fn definition(&self) -> Value {
        let Column { name, type_, format, priority } = self;
        json!({"name": name, "type": type_, "format": format, "description": "", "priority": priority})
    }
}

/// How one kind shows in a table.
pub struct Layout<'a> {
    /// From left to right.
    pub columns: Cow<'a, [Column<'a>]>,
    /// The cells of one object, wide ones included, given the time it is.
    pub cells: Cells<'a>,
}

/// Makes the cells of one object, given the time it is.
pub type Cells<'a> = Box<dyn Fn(&Value, Timestamp) -> Vec<Value> + 'a>;

/// A column that always shows.
pub const fn always<'a>(name: &'a str, type_: &'a str) -> Column<'a> {
    Column { name, type_, format: "", priority: 0 }
}

/// A column of text.
pub const fn column(name: &str) -> Column<'_> {
    always(name, "string")
}

/// A column of text that shows with `-o wide` only.
pub const fn wide(name: &str) -> Column<'_> {
    Column { priority: 1, ..column(name) }
}

/// A column of whole numbers.
pub const fn integer(name: &str) -> Column<'_> {
    always(name, "integer")
}

/// A column of yes and no.
pub const fn boolean(name: &str) -> Column<'_> {
    always(name, "boolean")
}

/// The column of names.
pub const NAME: Column = Column { format: "name", ..column("Name") };

/// The column of ages.
pub const AGE: Column = column("Age");

/// How `kind` shows in a table: as its row says, a custom kind as its definition does.
pub fn layout(kind: Kind, discovery: &Discovery) -> Layout<'_> {
    match discovery.columns(kind) {
        Some(columns) => custom(columns),
        None => of_table(facts(kind).table),
    }
}

/// What there is to tell of any object: its name and its age.
pub fn any_layout<'a>() -> Layout<'a> {
    of_table(Table::NAME_AND_AGE)
}

fn of_table<'a>(table: Table) -> Layout<'a> {
    Layout { columns: Cow::Borrowed(table.columns), cells: Box::new(table.cells) }
}

/// The columns that a definition asks for. Mirrors `pkg/registry/customresource/tableconvertor` of
/// apiextensions-apiserver.
fn custom(columns: &[CustomResourceColumnDefinition]) -> Layout<'_> {
    let cells = move |object: &Value, now| {
        let cells = columns.iter().map(|column| custom_cell(column, object, now));
        std::iter::once(name(object).into()).chain(cells).collect()
    };
    let columns = columns.iter().map(|column| Column {
        name: &column.name,
        type_: &column.type_,
        format: column.format.as_deref().unwrap_or_default(),
        priority: column.priority.unwrap_or(0),
    });
    Layout { columns: std::iter::once(NAME).chain(columns).collect(), cells: Box::new(cells) }
}

/// The first value at the column's path, if it is of the column's type; else null.
fn custom_cell(column: &CustomResourceColumnDefinition, object: &Value, now: Timestamp) -> Value {
    let found = jsonpath::find(&column.json_path, object).unwrap_or_default();
    match (column.type_.as_str(), found.first()) {
        (_, None | Some(Value::Null)) => Value::Null,
        ("string", Some(value)) => plain(value).into(),
        ("date", Some(value)) => match value.as_str().map(str::parse) {
            Some(Ok(time)) => since(now, time).into(),
            _ => "<invalid>".into(),
        },
        ("integer", Some(value)) => value.as_f64().map_or(Value::Null, |number| (number as i64).into()),
        ("number", Some(value @ Value::Number(_))) | ("boolean", Some(value @ Value::Bool(_))) => value.clone(),
        _ => Value::Null,
    }
}
