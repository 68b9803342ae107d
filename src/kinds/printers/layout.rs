//! How a kind shows in a table.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;
use serde_json::Value;

use crate::printers::cells::name;
use crate::printers::columns::{Column, NAME};
use crate::printers::duration::since;
use crate::printers::fields::plain;
use crate::row::Table;
use crate::table::facts;
use object::{Discovery, Kind, jsonpath};

/// How one kind shows in a table.
pub struct Layout<'a> {
    /// From left to right.
    pub columns: Cow<'a, [Column<'a>]>,
    /// The cells of one object, wide ones included, given the time it is.
    pub cells: Cells<'a>,
}

/// Makes the cells of one object, given the time it is.
pub type Cells<'a> = Box<dyn Fn(&Value, Timestamp) -> Vec<Value> + 'a>;

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

/// What a column of a definition means: what that says, or where it looks.
pub(super) fn about(columns: &[CustomResourceColumnDefinition], name: &str) -> Option<String> {
    let column = columns.iter().find(|column| column.name == name)?;
    let said = column.description.clone().filter(|about| !about.is_empty());
    let path = || format!("Custom resource definition column (in JSONPath format): {}", column.json_path);
    Some(said.unwrap_or_else(path))
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
