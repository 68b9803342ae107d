//! The fields of a mapping, one after another. Mirrors `encoding/json` with `DisallowUnknownFields`: case does not matter, and
//! a field that is never taken is a mistake.

use std::collections::BTreeMap;

use serde_json::Value;

use object::nearest::nearest;
use object::patch::go_type;

/// What is left of a mapping.
pub struct Fields {
    /// The Go type, and the path to it, as errors name them.
    go: &'static str,
    path: String,
    left: Vec<(String, Value)>,
    known: Vec<&'static str>,
}

impl Fields {
    /// Those of a value.
    ///
    /// # Errors
    /// It is no mapping.
    pub fn of(value: Value, go: &'static str, path: &str) -> Result<Fields, String> {
        match value {
            Value::Object(fields) => {
                Ok(Fields { go, path: path.to_owned(), left: fields.into_iter().collect(), known: Vec::new() })
            }
            Value::Null => Ok(Fields { go, path: path.to_owned(), left: Vec::new(), known: Vec::new() }),
            other => {
                let place = match path {
                    "" => "Go value".to_owned(),
                    path => format!("Go struct field Kustomization.{path}"),
                };
                Err(format!("json: cannot unmarshal {} into {place} of type types.{go}", go_type(&other)))
            }
        }
    }

    /// The value of a field; none if it is null or not there.
    pub fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        let exact = self.left.iter().position(|(key, _)| key == name);
        let at = exact.or_else(|| self.left.iter().position(|(key, _)| key.eq_ignore_ascii_case(name)))?;
        Some(self.left.remove(at).1).filter(|value| !value.is_null())
    }

    /// What has not been taken yet.
    pub fn rest(&self) -> Value {
        self.left.iter().cloned().collect::<serde_json::Map<String, Value>>().into()
    }

    fn inner(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn wrong(&self, value: &Value, name: &str, wanted: &str) -> String {
        format!(
            "json: cannot unmarshal {} into Go struct field {}.{} of type {wanted}",
            go_type(value),
            self.go,
            self.inner(name)
        )
    }

    /// A text; empty if it is not there.
    ///
    /// # Errors
    /// It is something else, as a number that is not quoted.
    pub fn text(&mut self, name: &'static str) -> Result<String, String> {
        match self.take(name) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.wrong(&other, name, "string")),
        }
    }

    /// Whether something is on; off if it is not there.
    ///
    /// # Errors
    /// It is something else.
    pub fn flag(&mut self, name: &'static str) -> Result<bool, String> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(value)) => Ok(value),
            Some(other) => Err(self.wrong(&other, name, "bool")),
        }
    }

    /// A whole number; 0 if it is not there.
    ///
    /// # Errors
    /// It is something else.
    pub fn number(&mut self, name: &'static str) -> Result<i64, String> {
        match self.take(name) {
            None => Ok(0),
            Some(value) => value.as_i64().ok_or_else(|| self.wrong(&value, name, "int64")),
        }
    }

    /// Texts in a list; none if it is not there.
    ///
    /// # Errors
    /// It is no list, or something else is in it.
    pub fn texts(&mut self, name: &'static str) -> Result<Vec<String>, String> {
        let items = match self.take(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(self.wrong(&other, name, "[]string")),
        };
        let text = |item: Value| match item {
            Value::String(text) => Ok(text),
            Value::Null => Ok(String::new()),
            other => Err(self.wrong(&other, name, "string")),
        };
        items.into_iter().map(text).collect()
    }

    /// Texts by name; none if the field is not there.
    ///
    /// # Errors
    /// It is no mapping, or something else is in it.
    pub fn pairs(&mut self, name: &'static str) -> Result<Option<BTreeMap<String, String>>, String> {
        let fields = match self.take(name) {
            None => return Ok(None),
            Some(Value::Object(fields)) => fields,
            Some(other) => return Err(self.wrong(&other, name, "map[string]string")),
        };
        let text = |(key, value): (String, Value)| match value {
            Value::String(text) => Ok((key, text)),
            Value::Null => Ok((key, String::new())),
            other => Err(self.wrong(&other, name, "string")),
        };
        fields.into_iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// A list of mappings.
    ///
    /// # Errors
    /// It is no list, or one of them is wrong.
    pub fn list<T>(
        &mut self,
        name: &'static str,
        go: &'static str,
        read: impl Fn(&mut Fields) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let items = match self.take(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(self.wrong(&other, name, &format!("[]types.{go}"))),
        };
        let path = self.inner(name);
        items.into_iter().map(|item| whole(item, go, &path, &read)).collect()
    }

    /// A mapping in this one; none if it is not there.
    ///
    /// # Errors
    /// It is none, or wrong.
    pub fn one<T>(
        &mut self,
        name: &'static str,
        go: &'static str,
        read: impl Fn(&mut Fields) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let path = self.inner(name);
        self.take(name).map(|value| whole(value, go, &path, &read)).transpose()
    }

    /// That is all.
    ///
    /// # Errors
    /// There is a field that is not known.
    pub fn end(self) -> Result<(), String> {
        let Some((unknown, _)) = self.left.first() else { return Ok(()) };
        let hint = nearest(unknown, self.known.iter().copied());
        let hint = hint.map(|meant| format!("\n  hint: was {meant} meant?")).unwrap_or_default();
        Err(format!("json: unknown field {unknown:?}{hint}"))
    }
}

/// Reads a mapping to its end.
///
/// # Errors
/// It is wrong.
pub fn whole<T>(
    value: Value,
    go: &'static str,
    path: &str,
    read: impl Fn(&mut Fields) -> Result<T, String>,
) -> Result<T, String> {
    let mut fields = Fields::of(value, go, path)?;
    let result = read(&mut fields)?;
    fields.end()?;
    Ok(result)
}
