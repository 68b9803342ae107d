//! Properties that a scenario states itself, in the language of breakpoints' conditions.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::expression::eval::Scope;
use crate::expression::{Expression, Root, parse};
use crate::facts::{Facts, Subject, View};
use apiserver::host::Engine;
use cluster::scenario::OwnProperty;
use engine::Step;
use object::glob::matches;
use object::time::Instant;
use object::{Key, Kind, Object};

use super::{Make, Property, named, stored};

/// A property of a scenario, understood.
#[derive(Clone)]
pub enum Stated {
    /// One that the program knows, and what the scenario calls it.
    Shared(String, Make),
    /// One of the scenario's own.
    Own(Own),
}

impl Stated {
    /// What must hold, in words.
    pub fn name(&self) -> &str {
        match self {
            Stated::Shared(name, _) => name,
            Stated::Own(own) => &own.name,
        }
    }

    /// One that has seen nothing yet.
    pub fn begin(&self) -> Box<dyn Property> {
        match self {
            Stated::Shared(_, make) => make(),
            Stated::Own(own) => Box::new(own.clone()),
        }
    }
}

/// A property of objects of one kind.
#[derive(Clone)]
pub struct Own {
    name: String,
    kind: Kind,
    /// Their names: a glob.
    objects: String,
    rule: Rule,
    /// The objects that count now.
    counted: BTreeSet<Key>,
    origin: Option<Instant>,
}

#[derive(Clone)]
enum Rule {
    Never(Expression),
    Always(Expression),
    /// Of those that are as the second condition says.
    Eventually(Expression, Option<Expression>),
    AtMost(usize, Option<Expression>),
}

/// Reads the properties of a scenario. An error says which is wrong, and how to write it.
pub fn read(stated: &[OwnProperty]) -> Result<Vec<Stated>, String> {
    let numbered = (1..).zip(stated);
    numbered.map(|(number, text)| one(text).map_err(|error| format!("property {number}: {error}"))).collect()
}

/// Reads one property.
///
/// # Errors
/// What is wrong with it, and how to write it.
pub fn one(stated: &OwnProperty) -> Result<Stated, String> {
    let expression = |text: &String| parse(text).map_err(|error| error.to_string());
    let OwnProperty { name, shared, of, never, always, eventually, at_most, which } = stated;
    if which.is_some() && at_most.is_none() && eventually.is_none() {
        return Err("where belongs to atMost or eventually".to_owned());
    }
    let which = which.as_ref().map(expression).transpose()?;
    let (rule, text) = match (shared, never, always, eventually, at_most) {
        (Some(word), None, None, None, None) if of.is_empty() => {
            return Ok(Stated::Shared(if name.is_empty() { word.clone() } else { name.clone() }, named(word)?));
        }
        (None, Some(text), None, None, None) => (Rule::Never(expression(text)?), format!("never {text}")),
        (None, None, Some(text), None, None) => (Rule::Always(expression(text)?), format!("always {text}")),
        (None, None, None, Some(text), None) => {
            (Rule::Eventually(expression(text)?, which), format!("eventually {text}"))
        }
        (None, None, None, None, Some(most)) => (Rule::AtMost(*most, which), format!("at most {most}")),
        _ => {
            return Err("write one of: shared: NAME; of: KIND with never:, always: or eventually: and a condition; \
                        of: KIND with atMost: NUMBER"
                .to_owned());
        }
    };
    let mut words = of.split_whitespace();
    let word = words.next().ok_or("name the objects, as in: of: pods, or: of: pods web-*")?;
    let kind = Kind::from_word(word).ok_or_else(|| format!("there is no kind {word:?}"))?;
    let objects = words.next().unwrap_or("*").to_owned();
    let name = if name.is_empty() { format!("{of}: {text}") } else { name.clone() };
    Ok(Stated::Own(Own { name, kind, objects, rule, counted: BTreeSet::new(), origin: None }))
}

/// An object alone, without a step.
struct Alone {
    object: Value,
    null: Value,
}

impl Alone {
    fn new(object: &Object) -> Alone {
        Alone { object: object.to_json(), null: Value::Null }
    }
}

impl Scope for Alone {
    fn root(&self, root: Root) -> &Value {
        match root {
            Root::New | Root::Object => &self.object,
            _ => &self.null,
        }
    }
}

impl Own {
    fn concerns(&self, object: &Object) -> bool {
        object.kind() == self.kind && matches(&self.objects, object.name())
    }

    fn changed(
        &mut self,
        engine: &Engine,
        step: &Step,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Result<(), String> {
        let Some(object) = new.or(old).filter(|object| self.concerns(object)) else { return Ok(()) };
        let (namespace, name) = (object.namespace(), object.name());
        let subject = Subject { kind: self.kind, namespace, name, old, new };
        let origin = *self.origin.get_or_insert(step.time);
        let seconds = (step.time.0 - origin.0) as f64 / 1e9;
        let facts = Facts::of(engine, step);
        let view = View::new(&facts, Some(subject), seconds);
        let holds = |expression: &Expression| expression.holds(&view).map_err(|error| error.to_string());
        match &self.rule {
            Rule::Never(condition) if holds(condition)? => {
                Err(format!("{} {name}: {}", self.kind, condition.why(&view)))
            }
            Rule::Always(condition) if new.is_some() && !holds(condition)? => {
                Err(format!("{} {name}: {}", self.kind, condition.why_not(&view)))
            }
            Rule::AtMost(most, which) => {
                let counts = new.is_some() && which.as_ref().map_or(Ok(true), holds)?;
                let (key, most) = (Key::new(namespace, name), *most);
                if counts {
                    self.counted.insert(key);
                } else {
                    self.counted.remove(&key);
                }
                if self.counted.len() <= most {
                    return Ok(());
                }
                let names: Vec<&str> = self.counted.iter().map(Key::name).collect();
                let are = if names.len() == 1 { "is" } else { "are" };
                Err(format!("there {are} {}: {}", names.len(), names.join(", ")))
            }
            _ => Ok(()),
        }
    }
}

impl Property for Own {
    fn name(&self) -> &str {
        &self.name
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        self.origin.get_or_insert(step.time);
        for (_, old, new) in stored(step) {
            self.changed(engine, step, old, new)?;
        }
        Ok(())
    }

    fn finish(&mut self, engine: &Engine) -> Result<(), String> {
        let Rule::Eventually(condition, which) = &self.rule else { return Ok(()) };
        let holds = |condition: &Expression, object: &Alone| condition.holds(object).map_err(|error| error.to_string());
        let prefix = kinds::registry::list_prefix(self.kind, "");
        let mut found = false;
        for (_, entry) in engine.server.api.store.prefix(&prefix).filter(|(_, entry)| self.concerns(&entry.value)) {
            let object = Alone::new(&entry.value);
            if !which.as_ref().map_or(Ok(true), |which| holds(which, &object))? {
                continue;
            }
            found = true;
            if !holds(condition, &object)? {
                return Err(format!("{} {} in the end: {}", self.kind, entry.value.name(), condition.why_not(&object)));
            }
        }
        let none = Alone { object: Value::Null, null: Value::Null };
        if found || holds(condition, &none)? {
            return Ok(());
        }
        let such = which.as_ref().map_or(String::new(), |which| format!(" with {}", which.text.replace("new.", "")));
        let name = if self.objects == "*" { String::new() } else { format!(" {}", self.objects) };
        Err(format!("there is no {}{name}{such} in the end", self.kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_says_one_thing_about_some_objects() {
        let read = |yaml: &str| {
            let stated: OwnProperty = serde_yaml::from_str(yaml).unwrap();
            super::one(&stated).map(|stated| stated.name().to_owned())
        };
        for (yaml, name) in [
            ("{of: pods, never: old.spec.nodeName}", "pods: never old.spec.nodeName"),
            ("{of: cm a*, always: new.data.x == \"1\"}", "cm a*: always new.data.x == \"1\""),
            ("{name: few, of: pods, atMost: 2, where: new.status}", "few"),
            ("{shared: bound-once}", "bound-once"),
        ] {
            assert_eq!(read(yaml).unwrap(), name, "{yaml}");
        }
        for (yaml, says) in [
            ("{of: pods}", "write one of"),
            ("{never: old}", "name the objects"),
            ("{of: pots, never: old}", "there is no kind"),
            ("{of: pods, never: old ==}", "column"),
            ("{of: pods, never: old, always: new}", "write one of"),
            ("{of: pods, never: old, where: new}", "where belongs to atMost or eventually"),
            ("{shared: nothing}", "there is no property"),
        ] {
            let error = read(yaml).unwrap_err();
            assert!(error.contains(says), "{yaml}: {error}");
        }
    }
}
