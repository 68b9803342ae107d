//! The value of an expression in a step.

use std::cmp::Ordering;

use serde_json::Value;

use super::{Error, Expression, Node, Operator, Part, Path, Root};
use object::glob;
use object::quantity::Amount;

/// What paths look into.
pub trait Scope {
    /// The value of a root; `Null` where there is none.
    fn root(&self, root: Root) -> &Value;
}

impl Expression {
    /// Whether it holds. Null, false, 0, and empty texts and lists do not.
    pub fn holds(&self, scope: &dyn Scope) -> Result<bool, Error> {
        self.is(&self.node, scope)
    }

    /// Whether a part of it holds.
    pub(super) fn is(&self, node: &Node, scope: &dyn Scope) -> Result<bool, Error> {
        Ok(self.values(node, scope)?.iter().any(truth))
    }

    /// Whether each part of a chain comes to this, as far as it has to be looked at.
    fn all(&self, parts: &[Node], scope: &dyn Scope, come_to: bool) -> Result<bool, Error> {
        for part in parts {
            if self.is(part, scope)? != come_to {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Its value as a text, for templates: texts without quotes, null as `-`.
    pub fn text_in(&self, scope: &dyn Scope) -> Result<String, Error> {
        let texts: Vec<String> = self.values(&self.node, scope)?.iter().map(shown).collect();
        Ok(if texts.is_empty() { shown(&Value::Null) } else { texts.join(", ") })
    }

    /// Its values.
    ///
    /// # Errors
    /// Something in it cannot be compared.
    pub fn values_in(&self, scope: &dyn Scope) -> Result<Vec<Value>, Error> {
        self.values(&self.node, scope)
    }

    /// A path with `[*]` has a value an item; everything else has one.
    pub(super) fn values(&self, node: &Node, scope: &dyn Scope) -> Result<Vec<Value>, Error> {
        let one = |value: bool| Ok(vec![Value::Bool(value)]);
        match node {
            Node::Literal(value) => Ok(vec![value.clone()]),
            Node::Path(Path { root, parts }) => Ok(follow(scope.root(*root), parts)),
            Node::Not(inner) => one(!self.is(inner, scope)?),
            Node::All(parts) => one(self.all(parts, scope, true)?),
            Node::Any(parts) => one(!self.all(parts, scope, false)?),
            Node::Cel(rule) => Ok(vec![rule.value(scope).map_err(|message| self.error(rule.at, message))?]),
            Node::Changed(parts) => one(follow(scope.root(Root::Old), parts) != follow(scope.root(Root::New), parts)),
            Node::Length { of, at } => {
                let values = self.values(of, scope)?;
                let length = match values.as_slice() {
                    [Value::Array(items)] => items.len(),
                    [Value::Object(fields)] => fields.len(),
                    [Value::String(text)] => text.chars().count(),
                    [Value::Null] => 0,
                    [Value::Bool(_) | Value::Number(_)] => {
                        return Err(self.error(*at, "this is neither a list nor a text, so it has no length".into()));
                    }
                    many => many.len(),
                };
                Ok(vec![Value::from(length)])
            }
            Node::Matches { left, pattern, at } => {
                for value in self.values(left, scope)? {
                    match value {
                        Value::String(text) if pattern.0.is_match(&text) => return one(true),
                        Value::String(_) | Value::Null => {}
                        other => {
                            let message = format!("matches looks into a text, not into {}", what(&other));
                            return Err(self.error(*at, message));
                        }
                    }
                }
                one(false)
            }
            Node::Compare { left, operator, right, at } => {
                let (left, right) = (self.values(left, scope)?, self.values(right, scope)?);
                for (a, b) in left.iter().flat_map(|a| right.iter().map(move |b| (a, b))) {
                    if compare(a, *operator, b).map_err(|message| self.error(*at, message))? {
                        return one(true);
                    }
                }
                one(false)
            }
        }
    }

    fn error(&self, at: usize, message: String) -> Error {
        Error { text: self.text.clone(), at, message }
    }
}

/// The values at the end of a path. A field that is not there is null.
pub fn follow(value: &Value, parts: &[Part]) -> Vec<Value> {
    static NULL: Value = Value::Null;
    let mut ends = vec![value];
    for part in parts {
        ends = match part {
            Part::Any => ends.into_iter().flat_map(items).collect(),
            part => ends.into_iter().map(|value| at(value, part).unwrap_or(&NULL)).collect(),
        };
    }
    ends.into_iter().cloned().collect()
}

/// The items of a list, or the fields of an object.
fn items(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

fn at<'a>(value: &'a Value, part: &Part) -> Option<&'a Value> {
    match (part, value) {
        (Part::Field(name) | Part::Named(name), Value::Object(fields)) => fields.get(name),
        (Part::Index(index), Value::Array(items)) => items.get(*index),
        (Part::Named(name) | Part::Field(name), Value::Array(items)) => items.iter().find(|item| item_is(item, name)),
        _ => None,
    }
}

/// Items of lists go by their type, name or key.
fn item_is(item: &Value, name: &str) -> bool {
    ["type", "name", "key", "ip"].iter().any(|field| item.get(field).and_then(Value::as_str) == Some(name))
}

fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// A value as a template prints it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn compare(a: &Value, operator: Operator, b: &Value) -> Result<bool, String> {
    let equal = || match (a.as_f64(), b.as_f64()) {
        (Some(x), Some(y)) => x == y,
        _ => a == b,
    };
    match operator {
        Operator::Equal => Ok(equal()),
        Operator::NotEqual => Ok(!equal()),
        Operator::Like => like(a, b),
        Operator::Contains | Operator::StartsWith | Operator::EndsWith => within(a, operator, b),
        _ if a.is_null() || b.is_null() => Ok(false),
        _ => {
            let order = order(a, b).ok_or_else(|| format!("{} and {} cannot be compared by size", what(a), what(b)))?;
            Ok(match operator {
                Operator::Less => order == Ordering::Less,
                Operator::LessOrEqual => order != Ordering::Greater,
                Operator::Greater => order == Ordering::Greater,
                _ => order != Ordering::Less,
            })
        }
    }
}

fn like(a: &Value, b: &Value) -> Result<bool, String> {
    match (a, b) {
        (Value::Null, Value::String(_)) => Ok(false),
        (Value::String(text), Value::String(pattern)) => Ok(glob::matches(pattern, text)),
        _ => Err(format!("~ compares a text with a pattern in quotes, not {} with {}", what(a), what(b))),
    }
}

/// Whether a text has another in it, or a list an item.
fn within(a: &Value, operator: Operator, b: &Value) -> Result<bool, String> {
    match (operator, a, b) {
        (_, Value::Null, _) => Ok(false),
        (Operator::Contains, Value::Array(items), item) => Ok(items.contains(item)),
        (Operator::Contains, Value::String(text), Value::String(part)) => Ok(text.contains(part.as_str())),
        (Operator::StartsWith, Value::String(text), Value::String(part)) => Ok(text.starts_with(part.as_str())),
        (Operator::EndsWith, Value::String(text), Value::String(part)) => Ok(text.ends_with(part.as_str())),
        _ => Err(format!("{} cannot be looked for in {}", what(b), what(a))),
    }
}

fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        (Value::String(a), Value::String(b)) => match (Amount::parse(a), Amount::parse(b)) {
            (Ok(a), Ok(b)) => a.partial_cmp(&b),
            _ => Some(a.cmp(b)),
        },
        _ => None,
    }
}

fn what(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
