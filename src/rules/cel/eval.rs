//! Running an expression: one function a kind of part, each step paid for.
//!
//! An error is a value too until something needs it: `false && x` is false even if `x` is an error, and so is
//! `x && false`. Mirrors `interpreter/interpretable.go` of cel-go.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Program;
use super::failure::{Budget, Failure, error, no_such_overload};
use super::library;
use super::structs::{self, Struct};
use super::tree::{Field, Fold, Is, Node};
use super::value::{Key, Value};

/// The names that an expression can use, and what they are worth.
#[derive(Default)]
pub struct Activation<'a> {
    /// Values by name.
    pub values: BTreeMap<String, Value>,
    /// `variables.x`: evaluated when the first expression asks for it. They may use those before them.
    pub variables: &'a [(String, Program)],
}

/// `variables`, in which the expressions of a policy find each other.
const VARIABLES: &str = "variables";

/// One evaluation.
pub struct Run<'a> {
    activation: &'a Activation<'a>,
    budget: &'a mut Budget,
    /// Names that loops have made, the innermost last. Their values may be errors that no step has needed yet.
    scope: Vec<(&'a str, Result<Value, Failure>)>,
    /// The variables that were asked for already.
    known: BTreeMap<&'a str, Result<Value, Failure>>,
}

impl<'a> Run<'a> {
    pub(super) fn new(activation: &'a Activation<'a>, budget: &'a mut Budget) -> Run<'a> {
        Run { activation, budget, scope: Vec::new(), known: BTreeMap::new() }
    }

    /// The value of a part.
    pub(super) fn value(&mut self, node: &'a Node) -> Result<Value, Failure> {
        self.budget.pay(1)?;
        match &node.is {
            Is::Literal(value) => Ok(value.clone()),
            Is::Name(name) => self.name(name),
            Is::Select { of, field, test } => self.select(of, field, *test),
            Is::Call { name, target, args } => self.call(name, target.as_deref(), args),
            Is::List(items) => self.list(items),
            Is::Map(entries) => self.map(entries),
            Is::Struct { name, fields } => self.make(name, fields),
            Is::Fold(fold) => self.fold(fold),
        }
    }

    fn name(&mut self, name: &str) -> Result<Value, Failure> {
        if let Some((_, value)) = self.scope.iter().rev().find(|(there, _)| *there == name) {
            return value.clone();
        }
        match self.activation.values.get(name) {
            Some(value) => Ok(value.clone()),
            None => library::type_value(name)
                .or_else(|| structs::type_value(name))
                .ok_or_else(|| error(format!("no such attribute(s): {name}"))),
        }
    }

    fn select(&mut self, of: &'a Node, field: &'a str, test: bool) -> Result<Value, Failure> {
        if matches!(&of.is, Is::Name(name) if name == VARIABLES) {
            return self.variable(field);
        }
        let of = self.value(of)?;
        match (of, test) {
            (Value::Map(entries), true) => Ok(Value::Bool(entries.contains_key(&Key::String(field.into())))),
            (Value::Map(entries), false) => {
                entries.get(&Key::String(field.into())).cloned().ok_or_else(|| error(format!("no such key: {field}")))
            }
            (Value::Struct(of), true) => Ok(Value::Bool(of.is_set(field))),
            (Value::Struct(of), false) => Ok(of.field(field)),
            (Value::Optional(Some(of)), true) => Ok(Value::Bool(of.field(field).is_some())),
            (Value::Optional(None), true) => Ok(Value::Bool(false)),
            (Value::Optional(of), false) => {
                Ok(Value::Optional(of.and_then(|of| of.field(field).cloned().map(Arc::new))))
            }
            _ => Err(no_such_overload()),
        }
    }

    fn variable(&mut self, name: &str) -> Result<Value, Failure> {
        if let Some(value) = self.known.get(name) {
            return value.clone();
        }
        let found = self.activation.variables.iter().find(|(there, _)| there == name);
        let Some((name, program)) = found else { return Err(error(format!("no such key: {name}"))) };
        // The loops around are not its own.
        let scope = std::mem::take(&mut self.scope);
        let value = self.value(&program.root);
        self.scope = scope;
        let value = value.map_err(|failure| match failure {
            Failure::Error(why) => error(format!("composited variable {name:?} fails to evaluate: {why}")),
            cost => cost,
        });
        self.known.insert(name, value.clone());
        value
    }

    fn list(&mut self, items: &'a [(Node, bool)]) -> Result<Value, Failure> {
        let mut list = Vec::with_capacity(items.len());
        for (item, optional) in items {
            match (self.value(item)?, optional) {
                (Value::Optional(of), true) => list.extend(of.map(Arc::unwrap_or_clone)),
                (value, _) => list.push(value),
            }
        }
        Ok(Value::list(list))
    }

    fn map(&mut self, entries: &'a [(Node, Node, bool)]) -> Result<Value, Failure> {
        let mut map = BTreeMap::new();
        for (key, value, optional) in entries {
            let key = self.value(key)?.key().ok_or_else(|| error("unsupported key type".to_owned()))?;
            let value = match (self.value(value)?, optional) {
                (Value::Optional(None), true) => continue,
                (Value::Optional(Some(of)), true) => Arc::unwrap_or_clone(of),
                (value, _) => value,
            };
            if map.contains_key(&key) {
                return Err(error(format!("Failed with repeated key: {key}")));
            }
            map.insert(key, value);
        }
        Ok(Value::Map(Arc::new(map)))
    }

    fn make(&mut self, name: &str, fields: &'a [Field]) -> Result<Value, Failure> {
        let mut made = BTreeMap::new();
        for field in fields {
            let value = match (self.value(&field.value)?, field.optional) {
                (Value::Optional(None), true) => continue,
                (Value::Optional(Some(of)), true) => Arc::unwrap_or_clone(of),
                (value, _) => value,
            };
            made.insert(field.name.clone(), value);
        }
        let made = Struct { name: name.into(), fields: made };
        made.check().map_err(error)?;
        Ok(Value::Struct(Arc::new(made)))
    }

    fn call(&mut self, name: &'a str, target: Option<&'a Node>, args: &'a [Node]) -> Result<Value, Failure> {
        match (name, args) {
            ("_&&_", [left, right]) => self.logic(left, right, false),
            ("_||_", [left, right]) => self.logic(left, right, true),
            ("_?_:_", [condition, yes, no]) => match self.value(condition)? {
                Value::Bool(true) => self.value(yes),
                Value::Bool(false) => self.value(no),
                _ => Err(no_such_overload()),
            },
            ("@not_strictly_false", [of]) => match self.value(of) {
                Err(Failure::Cost) => Err(Failure::Cost),
                found => Ok(Value::Bool(!matches!(found, Ok(Value::Bool(false))))),
            },
            ("_?._" | "_[?_]", [of, key]) => {
                let (of, key) = (self.value(of)?, self.value(key)?);
                let of = if let Value::Optional(of) = of { of.map(Arc::unwrap_or_clone) } else { Some(of) };
                Ok(Value::Optional(of.and_then(|of| library::at(&of, &key).ok()).map(Arc::new)))
            }
            ("_[_]", [of, key]) => {
                let (of, key) = (self.value(of)?, self.value(key)?);
                match of {
                    Value::Optional(of) => {
                        Ok(Value::Optional(of.and_then(|of| library::at(&of, &key).ok()).map(Arc::new)))
                    }
                    of => library::at(&of, &key),
                }
            }
            ("or" | "orValue", [other]) => match self.value(target.ok_or_else(no_such_overload)?)? {
                Value::Optional(Some(of)) if name == "orValue" => Ok(Arc::unwrap_or_clone(of)),
                there @ Value::Optional(Some(_)) => Ok(there),
                Value::Optional(None) => self.value(other),
                _ => Err(no_such_overload()),
            },
            _ => {
                let mut values = Vec::with_capacity(args.len() + 1);
                for part in target.into_iter().chain(args) {
                    values.push(self.value(part)?);
                }
                let read: u64 = values.iter().map(|value| value.size() / 10).sum();
                self.budget.pay(read)?;
                let result = library::call(name, &values, self.budget)?;
                self.budget.pay(result.size() / 10)?;
                Ok(result)
            }
        }
    }

    /// `&&` and `||`: either side may decide, and an error counts only if neither does.
    fn logic(&mut self, left: &'a Node, right: &'a Node, decides: bool) -> Result<Value, Failure> {
        let left = self.value(left);
        match left {
            Ok(Value::Bool(value)) if value == decides => return Ok(Value::Bool(decides)),
            Err(Failure::Cost) => return left,
            _ => {}
        }
        match (left, self.value(right)) {
            (_, Err(Failure::Cost)) => Err(Failure::Cost),
            (_, Ok(Value::Bool(value))) if value == decides => Ok(Value::Bool(decides)),
            (Err(why), _) | (_, Err(why)) => Err(why),
            (Ok(Value::Bool(_)), Ok(Value::Bool(_))) => Ok(Value::Bool(!decides)),
            _ => Err(no_such_overload()),
        }
    }

    fn fold(&mut self, fold: &'a Fold) -> Result<Value, Failure> {
        let items: Vec<Turn> = match (self.value(&fold.range)?, fold.second.is_some()) {
            (Value::List(items), false) => items.iter().map(|item| (item.clone(), None)).collect(),
            (Value::List(items), true) => (0..).map(Value::Int).zip(items.iter().cloned().map(Some)).collect(),
            (Value::Map(entries), false) => entries.keys().map(|key| (key.value(), None)).collect(),
            (Value::Map(entries), true) => entries.iter().map(|(key, of)| (key.value(), Some(of.clone()))).collect(),
            _ => return Err(no_such_overload()),
        };
        let start = self.value(&fold.start);
        let before = self.scope.len();
        let value = match appended(&fold.step, &fold.result) {
            Some((condition, item)) => self.gather(fold, &items, condition, item),
            None => self.loop_over(fold, &items, start),
        };
        self.scope.truncate(before);
        let value = value?;
        self.scope.push((&fold.result, value));
        let end = self.value(&fold.end);
        self.scope.truncate(before);
        end
    }

    /// Names what a turn is about.
    fn enter(&mut self, fold: &'a Fold, (item, second): &Turn) {
        self.scope.push((&fold.item, Ok(item.clone())));
        if let (Some(name), Some(second)) = (&fold.second, second) {
            self.scope.push((name, Ok(second.clone())));
        }
    }

    fn loop_over(
        &mut self,
        fold: &'a Fold,
        items: &[Turn],
        start: Result<Value, Failure>,
    ) -> Result<Result<Value, Failure>, Failure> {
        let mut result = start;
        let before = self.scope.len();
        for turn in items {
            self.scope.push((&fold.result, result));
            self.enter(fold, turn);
            let goes_on = self.value(&fold.condition)?;
            let next = matches!(goes_on, Value::Bool(true)).then(|| self.value(&fold.step));
            self.scope.truncate(before + 1);
            let (_, last) = self.scope.pop().unwrap_or(("", Err(no_such_overload())));
            match next {
                Some(Err(Failure::Cost)) => return Err(Failure::Cost),
                Some(next) => result = next,
                None => return Ok(last),
            }
        }
        Ok(result)
    }

    /// A loop that only puts items on a list: the list is made once.
    fn gather(
        &mut self,
        fold: &'a Fold,
        items: &[Turn],
        condition: Option<&'a Node>,
        item: &'a Node,
    ) -> Result<Result<Value, Failure>, Failure> {
        let mut list = Vec::new();
        let before = self.scope.len();
        for turn in items {
            self.enter(fold, turn);
            let wanted = match condition {
                Some(condition) => self.value(condition)?,
                None => Value::Bool(true),
            };
            match wanted {
                Value::Bool(true) => list.push(self.value(item)?),
                Value::Bool(false) => {}
                _ => return Err(no_such_overload()),
            }
            self.scope.truncate(before);
        }
        Ok(Ok(Value::list(list)))
    }
}

/// What one turn of a loop is about: a list's item, or a map's key; or place and what stands there.
type Turn = (Value, Option<Value>);

/// The condition and the item of `condition ? result + [item] : result`, or of `result + [item]`.
fn appended<'n>(step: &'n Node, result: &str) -> Option<(Option<&'n Node>, &'n Node)> {
    let is_result = |node: &Node| matches!(&node.is, Is::Name(name) if name == result);
    let Is::Call { name, args, .. } = &step.is else { return None };
    match (name.as_str(), &args[..]) {
        ("_+_", [list, Node { is: Is::List(items), .. }]) if is_result(list) => match &items[..] {
            [(item, false)] => Some((None, item)),
            _ => None,
        },
        ("_?_:_", [condition, yes, no]) if is_result(no) => match appended(yes, result)? {
            (None, item) => Some((Some(condition), item)),
            _ => None,
        },
        _ => None,
    }
}
