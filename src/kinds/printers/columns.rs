//! Columns: what tables are made of.
//!
//! Mirrors `AddHandlers` of `pkg/printers/internalversion/printers.go`. Left out: what a column means, in words.

use serde_json::{Value, json};

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
