//! Which fields there are, and which differ. Mirrors `typed.Compare` and `ToFieldSet` of structured-merge-diff.

use std::collections::BTreeMap;

use serde_json::Value;

use super::schema::{List, Schema, step_to};
use super::set::{Set, Step};

/// How one state of an object differs from another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Fields that only the new one has.
    pub added: Set,
    /// Fields with another value.
    pub modified: Set,
    /// Fields that only the old one has.
    pub removed: Set,
}

impl Comparison {
    /// What the writer of the new state has set.
    pub fn written(&self) -> Set {
        self.added.union(&self.modified)
    }
}

/// What changes from `old` to `new`.
pub fn compare<S: Schema>(schema: &S, old: &Value, new: &Value) -> Comparison {
    let mut walk = Walk { path: Vec::new(), found: Comparison::default() };
    walk.visit(schema, Some(old), Some(new));
    walk.found
}

struct Walk {
    path: Vec<Step>,
    found: Comparison,
}

impl Walk {
    fn visit<S: Schema>(&mut self, schema: &S, old: Option<&Value>, new: Option<&Value>) {
        match shape(schema, old, new) {
            Shape::Leaf => return self.leaf(old, new),
            Shape::Fields => self.fields(schema, old, new),
            Shape::Items => self.items(schema, old, new),
        }
        match (old, new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            _ => {}
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            (old, new) if old != new => self.found.modified.insert(&self.path),
            _ => {}
        }
    }

    fn fields<S: Schema>(&mut self, schema: &S, old: Option<&Value>, new: Option<&Value>) {
        let all = |value: Option<&Value>| -> Vec<String> {
            value.and_then(Value::as_object).into_iter().flat_map(|fields| fields.keys().cloned()).collect()
        };
        let mut names = all(old);
        names.extend(all(new));
        names.sort();
        names.dedup();
        for name in names {
            self.path.push(Step::field(&name));
            let (old, new) = (old.and_then(|value| value.get(&name)), new.and_then(|value| value.get(&name)));
            self.visit(&schema.field(&name), old, new);
            self.path.pop();
        }
    }

    fn items<S: Schema>(&mut self, schema: &S, old: Option<&Value>, new: Option<&Value>) {
        let (old, new) = (by_step(schema, old), by_step(schema, new));
        let mut steps: Vec<&Step> = old.keys().chain(new.keys()).collect();
        steps.sort();
        steps.dedup();
        let (none, item) = (Vec::new(), schema.item());
        for step in steps {
            self.path.push(step.clone());
            match (old.get(step).unwrap_or(&none).as_slice(), new.get(step).unwrap_or(&none).as_slice()) {
                // An item that is there twice is taken whole.
                (old, new) if old.len() > 1 || new.len() > 1 => {
                    let whole =
                        |items: &[&Value]| (!items.is_empty()).then(|| items.iter().copied().cloned().collect());
                    let (old, new): (Option<Value>, Option<Value>) = (whole(old), whole(new));
                    self.leaf(old.as_ref(), new.as_ref());
                }
                (old, new) => self.visit(&item, old.first().copied(), new.first().copied()),
            }
            self.path.pop();
        }
    }
}

enum Shape {
    /// One field.
    Leaf,
    /// An object, or nothing.
    Fields,
    /// A list of fields, or nothing.
    Items,
}

/// What is compared as what: nothing and something empty are leaves.
fn shape<S: Schema>(schema: &S, old: Option<&Value>, new: Option<&Value>) -> Shape {
    if schema.is_atomic() {
        return Shape::Leaf;
    }
    let is_fields = |value: &Value| value.as_object().is_some_and(|fields| !fields.is_empty());
    let is_items = |value: &Value| value.as_array().is_some_and(|items| !items.is_empty());
    let other = |value: &Value| !value.is_null() && !value.is_object() && !value.is_array();
    let any = |test: &dyn Fn(&Value) -> bool| old.is_some_and(test) || new.is_some_and(test);
    match (any(&is_fields), any(&is_items), any(&other)) {
        (true, false, false) => Shape::Fields,
        (false, true, false) if schema.list() != List::Atomic => Shape::Items,
        _ => Shape::Leaf,
    }
}

fn by_step<'a, S: Schema>(schema: &S, list: Option<&'a Value>) -> BTreeMap<Step, Vec<&'a Value>> {
    let mut all: BTreeMap<Step, Vec<&Value>> = BTreeMap::new();
    for item in list.and_then(Value::as_array).into_iter().flatten() {
        // An item without its key has no manager; validation lets none into the store.
        if let Ok(step) = step_to(schema, item) {
            all.entry(step).or_default().push(item);
        }
    }
    all
}

/// All fields of a configuration, which are those that its author wants to own; or what is wrong with it.
pub fn set_of<S: Schema>(schema: &S, value: &Value) -> Result<Set, String> {
    let mut set = Set::default();
    collect(schema, value, &mut Vec::new(), &mut set)?;
    Ok(set)
}

fn collect<S: Schema>(schema: &S, value: &Value, path: &mut Vec<Step>, set: &mut Set) -> Result<(), String> {
    match value {
        _ if schema.is_atomic() => set.insert(path),
        Value::Object(fields) => {
            for (name, value) in fields {
                path.push(Step::field(name));
                collect(&schema.field(name), value, path, set)?;
                // A key of a map is a field of its own; a struct is only if it is empty.
                let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                if empty || !schema.is_struct() {
                    set.insert(path);
                }
                path.pop();
            }
        }
        Value::Array(items) if schema.list() != List::Atomic => {
            let mut seen = Vec::new();
            for (i, item) in items.iter().enumerate() {
                let at = || path.iter().map(Step::to_string).collect::<String>();
                let step = step_to(schema, item).map_err(|why| format!("{}: element {i}: {why}", at()))?;
                if seen.contains(&step) {
                    return Err(format!("{}: duplicate entries for key {step}", at()));
                }
                path.push(step.clone());
                seen.push(step);
                collect(&schema.item(), item, path, set)?;
                set.insert(path);
                path.pop();
            }
        }
        _ => set.insert(path),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Kind;
    use crate::fields::schema::BuiltIn;

    #[test]
    fn a_configuration_owns_what_it_says() {
        let config = json!({"metadata": {"labels": {"app": "web"}, "finalizers": ["a/b"]}, "spec": {"replicas": 2, "strategy": {},
            "selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {"containers": [
                {"name": "web", "args": ["a"], "ports": [{"containerPort": 80}]}]}}}});
        let set = set_of(&BuiltIn::new(Kind::Deployment), &config).unwrap();
        let want = json!({"f:metadata": {"f:labels": {"f:app": {}}, "f:finalizers": {"v:\"a/b\"": {}}},
            "f:spec": {"f:replicas": {}, "f:strategy": {}, "f:selector": {}, "f:template": {"f:spec": {"f:containers": {
                "k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:args": {}, "f:ports": {
                    "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}}}}});
        assert_eq!(set.to_json(), want);
    }

    #[test]
    fn a_configuration_with_an_item_twice_is_refused() {
        let pod = |containers| json!({"spec": {"containers": containers}});
        let error = |config| set_of(&BuiltIn::new(Kind::Pod), &config).unwrap_err();
        let twice = error(pod(json!([{"name": "a"}, {"name": "a"}])));
        assert_eq!(twice, ".spec.containers: duplicate entries for key [name=\"a\"]");
        let nameless = error(pod(json!([{"image": "a"}])));
        assert!(nameless.starts_with(".spec.containers: element 0: associative list with keys"), "{nameless}");
    }

    #[test]
    fn a_change_is_told_field_by_field() {
        let old = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"replicas": 1, "paused": true, "template": {"spec":
            {"containers": [{"name": "a", "image": "x"}, {"name": "b"}]}}}});
        let new = json!({"metadata": {"labels": {"a": "1", "b": "2"}, "annotations": {"c": "d"}}, "spec": {"replicas": 2,
            "template": {"spec": {"containers": [{"name": "b", "env": [{"name": "E", "value": "1"}]}, {"name": "a", "image": "y"}]}}}});
        let found = compare(&BuiltIn::new(Kind::Deployment), &old, &new);
        let env = json!({".": {}, "k:{\"name\":\"E\"}": {".": {}, "f:name": {}, "f:value": {}}});
        let of = |name: &str, value: Value| json!({"f:template": {"f:spec": {"f:containers": {format!("k:{{\"name\":\"{name}\"}}"): value}}}});
        let added = json!({"f:metadata": {"f:labels": {"f:b": {}}, "f:annotations": {".": {}, "f:c": {}}}, "f:spec": of("b", json!({"f:env": env}))});
        assert_eq!(found.added.to_json(), added);
        let mut modified = of("a", json!({"f:image": {}}));
        modified["f:replicas"] = json!({});
        assert_eq!(found.modified.to_json(), json!({"f:spec": modified}));
        assert_eq!(found.removed.to_json(), json!({"f:spec": {"f:paused": {}}}));
    }
}
