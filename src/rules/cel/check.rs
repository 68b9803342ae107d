//! Which type every part of an expression has, and with it what can be known to be wrong before any value is there.
//!
//! Mirrors `checker/checker.go` of cel-go, with the options that Kubernetes sets: numbers of different types compare, and
//! the items of a list that is written out are of one type.
//!
//! Left out: estimates of what an expression may cost at most, by which a real server refuses some rules at once. Types as
//! values have no parameter.

use super::library::{self, Overload};
use super::report::Wrong;
use super::structs;
use super::tree::{Field, Fold, Is, Node};
use super::types::{Letters, Names, Type, UNKNOWN};

/// The type of `node`, or all that is wrong with it. Calls of functions that are named with
/// points (`optional.of`) are made plain calls of that name on the way.
pub fn check(node: &mut Node, names: &Names) -> Result<Type, Vec<Wrong>> {
    let mut checker = Checker { names: names.clone(), errors: Vec::new() };
    let found = checker.type_of(node);
    if checker.errors.is_empty() { Ok(found.with(&Letters::new())) } else { Err(checker.errors) }
}

struct Checker {
    /// The innermost last.
    names: Names,
    errors: Vec<Wrong>,
}

impl Checker {
    fn error(&mut self, at: usize, text: String) -> Type {
        self.errors.push(Wrong { at, text });
        Type::Dyn
    }

    fn type_of(&mut self, node: &mut Node) -> Type {
        let at = node.at;
        match &mut node.is {
            Is::Literal(value) => library::type_of(value),
            Is::Name(name) => match self.names.iter().rev().find(|(there, _)| there == name) {
                Some((_, of)) => of.clone(),
                None if library::is_type(name) => Type::Type,
                None => self.error(at, undeclared(name)),
            },
            Is::Select { of, field, test } => {
                let field = field.clone();
                let found = self.type_of(of);
                let found = self.field(at, found, &field);
                if *test { Type::Bool } else { found }
            }
            Is::Call { .. } => self.call(node),
            Is::List(items) => {
                let mut of = None;
                for (item, optional) in items {
                    let found = self.type_of(item);
                    let found = self.entry(item.at, found, *optional);
                    of = Some(self.joined(item.at, of, found));
                }
                Type::list(of.unwrap_or(Type::Param(UNKNOWN)))
            }
            Is::Map(entries) => {
                let (mut keys, mut values) = (None, None);
                for (key, value, optional) in entries {
                    let found = self.type_of(key);
                    keys = Some(self.joined(key.at, keys, found));
                    let found = self.type_of(value);
                    let found = self.entry(value.at, found, *optional);
                    values = Some(self.joined(value.at, values, found));
                }
                let of = |types: Option<Type>| Box::new(types.unwrap_or(Type::Param(UNKNOWN)));
                Type::Map(of(keys), of(values))
            }
            Is::Struct { name, fields } => self.made(at, name, fields),
            Is::Fold(fold) => self.fold(fold),
        }
    }

    /// The type of an object that is made, if expressions here may make such objects. Mirrors `checkCreateStruct`.
    fn made(&mut self, at: usize, name: &str, fields: &mut [Field]) -> Type {
        let declared = self.names.iter().any(|(there, of)| *of == Type::Type && there == structs::family(name));
        let made = if declared { structs::type_named(name) } else { None };
        let of = match &made {
            Some(of) => of.clone(),
            None => self.error(at, undeclared(name)),
        };
        for Field { at, name, value, optional } in fields {
            let found = self.type_of(value);
            let found = self.entry(value.at, found, *optional);
            let Some(Type::Struct(_)) = &made else { continue };
            let errors = self.errors.len();
            let wanted = self.field(*at, of.clone(), name);
            if self.errors.len() == errors && !found.fits(&wanted, &mut Letters::new()) {
                let text = format!("expected type of field '{name}' is '{wanted}' but provided type is '{found}'");
                self.error(*at, text);
            }
        }
        of
    }

    /// The type of `.field` of a value.
    fn field(&mut self, at: usize, of: Type, field: &str) -> Type {
        match of {
            Type::Map(_, value) => *value,
            Type::Object(object) => match object.fields.get(field) {
                Some(found) => found.clone(),
                None => self.error(at, format!("undefined field '{field}'")),
            },
            Type::Struct(name) => match structs::field_type(&name, field) {
                Some(found) => found,
                None => self.error(at, format!("undefined field '{field}'")),
            },
            Type::Optional(of) => Type::Optional(Box::new(self.field(at, *of, field))),
            Type::Dyn | Type::Param(_) => Type::Dyn,
            other => self.error(at, format!("type '{other}' does not support field selection")),
        }
    }

    /// The type that an item of a list or map counts as.
    fn entry(&mut self, at: usize, found: Type, optional: bool) -> Type {
        match found {
            Type::Optional(of) if optional => *of,
            Type::Dyn | Type::Param(_) => Type::Dyn,
            other if optional => {
                let text = format!("expected type 'optional_type({other})' but found '{other}'");
                self.error(at, text)
            }
            other => other,
        }
    }

    /// What two items of a list are together.
    fn joined(&mut self, at: usize, before: Option<Type>, found: Type) -> Type {
        let Some(before) = before else { return found };
        if found.fits(&before, &mut Letters::new()) {
            let tells_more = before == Type::Null || found == Type::Dyn || before.is_open();
            return if tells_more { found } else { before };
        }
        if before.fits(&found, &mut Letters::new()) {
            return found;
        }
        self.error(at, format!("expected type '{before}' but found '{found}'"))
    }

    fn fold(&mut self, fold: &mut Fold) -> Type {
        let (item, second) = match self.type_of(&mut fold.range) {
            Type::List(of) if fold.second.is_some() => (Type::Int, *of),
            Type::List(of) => (*of, Type::Dyn),
            Type::Map(key, value) => (*key, *value),
            Type::Dyn | Type::Param(_) => (Type::Dyn, Type::Dyn),
            other => {
                const WHY: &str = "cannot be range of a comprehension (must be list, map, or dynamic)";
                (self.error(fold.range.at, format!("expression of type '{other}' {WHY}")), Type::Dyn)
            }
        };
        let start = self.type_of(&mut fold.start);
        let before = self.names.len();
        self.names.push((fold.result.clone(), start.clone()));
        self.names.push((fold.item.clone(), item));
        self.names.extend(fold.second.clone().map(|name| (name, second)));
        let condition = self.type_of(&mut fold.condition);
        self.must_be(fold.condition.at, &condition, &Type::Bool);
        let step = self.type_of(&mut fold.step);
        // A list or map that is built is of what is put into it.
        let is_built = matches!((&start, &step), (Type::List(_), Type::List(_)) | (Type::Map(..), Type::Map(..)));
        let result = if is_built { step } else { start };
        self.names.truncate(before);
        self.names.push((fold.result.clone(), result));
        let end = self.type_of(&mut fold.end);
        self.names.truncate(before);
        end
    }

    fn must_be(&mut self, at: usize, found: &Type, wanted: &Type) {
        if !found.fits(wanted, &mut Letters::new()) {
            self.error(at, format!("expected type '{wanted}' but found '{found}'"));
        }
    }

    fn call(&mut self, node: &mut Node) -> Type {
        let at = node.at;
        let Is::Call { name, target, args } = &mut node.is else { return Type::Dyn };
        let mut types: Vec<Type> = args.iter_mut().map(|arg| self.type_of(arg)).collect();
        if let ("_?._", [_, Node { is: Is::Literal(super::Value::String(field)), .. }]) = (name.as_str(), &args[..]) {
            return match self.field(at, types.swap_remove(0), field) {
                of @ Type::Optional(_) => of,
                of => Type::Optional(Box::new(of)),
            };
        }
        let patches = self.names.iter().any(|(name, of)| *of == Type::Type && name == structs::JSON_PATCH);
        let is_known = |name: &String| !library::overloads(name).is_empty() && (patches || name != library::ESCAPE_KEY);
        let qualified = target.as_ref().and_then(|target| target.dotted()).map(|before| format!("{before}.{name}"));
        if let Some(qualified) = qualified.filter(is_known) {
            (*name, *target) = (qualified, None);
        }
        if matches!(name.as_str(), "_&&_" | "_||_") {
            args.iter().zip(&types).for_each(|(arg, found)| self.must_be(arg.at, found, &Type::Bool));
            return Type::Bool;
        }
        let on = target.as_mut().map(|target| self.type_of(target));
        let (member, overloads) = (on.is_some(), library::overloads(name));
        if overloads.is_empty() {
            let text = undeclared(name);
            return self.error(at, text);
        }
        let types: Vec<Type> = on.into_iter().chain(types).collect();
        match resolve(overloads, member, &types) {
            Some(found) => found,
            None => {
                let text = signature(member, &types);
                let text = format!("found no matching overload for '{name}' applied to '{text}'");
                self.error(at, text)
            }
        }
    }
}

fn undeclared(name: &str) -> String {
    format!("undeclared reference to '{name}' (in container '')")
}

/// What a call with these types comes to: the result of the one overload that takes them, or anything if several do.
fn resolve(overloads: &[Overload], member: bool, types: &[Type]) -> Option<Type> {
    let mut result = None;
    for overload in overloads.iter().filter(|of| of.member == member && of.takes.len() == types.len()) {
        let mut letters = Letters::new();
        if types.iter().zip(&overload.takes).all(|(found, wanted)| found.fits(wanted, &mut letters)) {
            let found = overload.gives.with(&letters);
            result = match result {
                None => Some(found),
                Some(before) if before == found => Some(before),
                Some(_) => Some(Type::Dyn),
            };
        }
    }
    result
}

/// `(int, string)`, or `string.(int)` of a method.
fn signature(member: bool, types: &[Type]) -> String {
    let texts: Vec<String> = types.iter().map(Type::to_string).collect();
    match texts.split_first() {
        Some((target, rest)) if member => format!("{target}.({})", rest.join(", ")),
        _ => format!("({})", texts.join(", ")),
    }
}
