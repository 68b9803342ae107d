//! Columns: what tables are made of.
//!
//! Mirrors `AddHandlers` of `pkg/printers/internalversion/printers.go`. What a column means, `descriptions.txt` says in the real
//! server's words, since clients show them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

/// What the columns of each kind mean, by the names of both.
static DESCRIPTIONS: LazyLock<BTreeMap<&str, BTreeMap<&str, String>>> = LazyLock::new(|| {
    let mut all = BTreeMap::<&str, BTreeMap<&str, String>>::new();
    for line in include_str!("descriptions.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some((kind, (column, text))) =
            line.split_once('|').and_then(|(kind, rest)| Some((kind, rest.split_once('|')?)))
        {
            all.entry(kind).or_default().insert(column, text.replace("\\n", "\n"));
        }
    }
    all
});

/// What a column of a kind means; empty if nothing is said.
pub fn description(kind: &str, column: &str) -> &'static str {
    let of = |kind| DESCRIPTIONS.get(kind)?.get(column);
    of(kind).or_else(|| of("*")).map_or("", String::as_str)
}

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
    /// As a Table of this kind has it.
    pub fn definition(&self, kind: &str) -> Value {
        let Column { name, type_, format, priority } = self;
        let about = description(kind, name);
        json!({"name": name, "type": type_, "format": format, "description": about, "priority": priority})
    }
}

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

#[cfg(test)]
mod tests {
    use object::Kind;

    use super::*;
    use crate::table::facts;

    #[test]
    fn every_column_of_a_built_in_kind_is_described() {
        let silent = |kind: Kind| {
            let columns = facts(kind).table.columns.iter();
            // Of a RuntimeClass the real one looks for its handler in the metadata, and finds nothing.
            let columns = columns.filter(|column| column.name != "Handler");
            let silent = columns.filter(move |column| description(kind.info().kind, column.name).is_empty());
            silent.map(move |column| format!("{kind}.{}", column.name)).collect::<Vec<_>>()
        };
        let silent: Vec<String> = Kind::built_in().flat_map(silent).collect();
        assert!(silent.is_empty(), "{silent:?}");
    }
}
