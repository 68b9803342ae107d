//! Sets of fields, and the encoding `FieldsV1` of them.
//!
//! Mirrors `fieldpath.Set` of structured-merge-diff. A path is a row of steps; a set is a tree of them, each step either in
//! the set itself or only on the way to one that is. As JSON a step is a key, and `.` says that the step itself is in the
//! set although others follow below it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use super::schema::Schema;

/// One step of a path, spelt as in `FieldsV1`: `f:spec`, `k:{"name":"web"}`, `v:"example.com/hold"`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(Box<str>);

impl Step {
    /// A field of a struct, or a key of a map.
    pub fn field(name: &str) -> Step {
        Step(format!("f:{name}").into())
    }

    /// The item of a list that has these values in its keys.
    pub fn key(keys: BTreeMap<&str, Value>) -> Step {
        Step(format!("k:{}", json!(keys)).into())
    }

    /// The item of a set that is this value.
    pub fn value(value: &Value) -> Step {
        Step(format!("v:{value}").into())
    }

    /// The name of the field, if it is one.
    pub fn name(&self) -> Option<&str> {
        self.0.strip_prefix("f:")
    }

    fn is_known(text: &str) -> bool {
        text.starts_with("f:")
            || ["k:", "v:", "i:"]
                .iter()
                .any(|prefix| text.strip_prefix(prefix).is_some_and(|rest| serde_json::from_str::<Value>(rest).is_ok()))
    }
}

impl fmt::Display for Step {
    /// As in the message of a conflict: `.spec`, `[name="web"]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        match self.0.split_at(2) {
            ("f:", name) => write!(f, ".{name}"),
            ("k:", keys) => {
                let keys = parsed(keys);
                let keys = keys.as_object().into_iter().flatten().map(|(name, value)| format!("{name}={value}"));
                write!(f, "[{}]", keys.collect::<Vec<_>>().join(","))
            }
            ("v:", value) => write!(f, "[={value}]"),
            (_, index) => write!(f, "[{index}]"),
        }
    }
}

/// A set of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set(BTreeMap<Step, Node>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    /// Whether the path that ends here is in the set.
    member: bool,
    below: Set,
}

impl Set {
    /// The set of these paths, each a row of fields: `metadata.name`.
    pub fn of_fields(paths: &[&str]) -> Set {
        let mut set = Set::default();
        for path in paths {
            set.insert(&path.split('.').map(Step::field).collect::<Vec<_>>());
        }
        set
    }

    /// Adds a path. The path to the whole object is in no set.
    pub fn insert(&mut self, path: &[Step]) {
        let Some((first, rest)) = path.split_first() else { return };
        let node = self.0.entry(first.clone()).or_default();
        if rest.is_empty() { node.member = true } else { node.below.insert(rest) }
    }

    /// Whether no path is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the path of this one step is in it.
    pub fn has(&self, step: &Step) -> bool {
        self.0.get(step).is_some_and(|node| node.member)
    }

    /// What is in it below this step.
    pub fn below(&self, step: &Step) -> Option<&Set> {
        self.0.get(step).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    /// Whether this path is in it.
    pub fn has_path(&self, path: &[Step]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.has_path(rest)),
        }
    }

    /// Paths in either.
    #[must_use]
    pub fn union(&self, other: &Set) -> Set {
        let mut all = self.clone();
        for (step, node) in &other.0 {
            let there = all.0.entry(step.clone()).or_default();
            there.member |= node.member;
            there.below = there.below.union(&node.below);
        }
        all
    }

    /// Paths in this and not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Set) -> Set {
        self.combine(other, |here, there| here && !there, true)
    }

    /// Paths in both.
    #[must_use]
    pub fn intersection(&self, other: &Set) -> Set {
        self.combine(other, |here, there| here && there, false)
    }

    /// Paths in this that are neither in `other` nor below one that is. Mirrors `RecursiveDifference`.
    #[must_use]
    pub fn without(&self, other: &Set) -> Set {
        let kept = self.0.iter().filter(|(step, _)| !other.has(step));
        let cut = kept.map(|(step, node)| {
            let below = other.below(step).map_or_else(|| node.below.clone(), |other| node.below.without(other));
            (step.clone(), Node { member: node.member, below })
        });
        Set(cut.filter(|(_, node)| node.member || !node.below.is_empty()).collect())
    }

    fn combine(&self, other: &Set, member: fn(bool, bool) -> bool, alone: bool) -> Set {
        let nodes = self.0.iter().filter_map(|(step, node)| {
            let combined = match other.0.get(step) {
                Some(there) => Node {
                    member: member(node.member, there.member),
                    below: node.below.combine(&there.below, member, alone),
                },
                None if alone => node.clone(),
                None => return None,
            };
            (combined.member || !combined.below.is_empty()).then(|| (step.clone(), combined))
        });
        Set(nodes.collect())
    }

    /// The same set with every field of a struct that has paths below it: who has taken away all of them takes away the
    /// struct. Mirrors `EnsureNamedFieldsAreMembers`.
    #[must_use]
    pub fn with_structs<S: Schema>(&self, schema: &S) -> Set {
        let nodes = self.0.iter().map(|(step, node)| {
            let (named, below) = match step.name() {
                Some(name) => (schema.is_struct(), schema.field(name)),
                None => (false, schema.item()),
            };
            let member = node.member || (named && !node.below.is_empty());
            (step.clone(), Node { member, below: node.below.with_structs(&below) })
        });
        Set(nodes.collect())
    }

    /// The paths as messages name them: those that end here first, then what is below, step by step.
    pub fn paths(&self) -> Vec<String> {
        let ends = self.0.iter().filter(|(_, node)| node.member).map(|(step, _)| step.to_string());
        let below = self
            .0
            .iter()
            .flat_map(|(step, node)| node.below.paths().into_iter().map(move |path| format!("{step}{path}")));
        ends.chain(below).collect()
    }

    /// As `FieldsV1`.
    pub fn to_json(&self) -> Value {
        let entry = |(step, node): (&Step, &Node)| {
            let mut below = match node.below.to_json() {
                Value::Object(below) => below,
                _ => Map::new(),
            };
            if node.member && !below.is_empty() {
                below.insert(".".to_owned(), json!({}));
            }
            (step.0.to_string(), Value::Object(below))
        };
        Value::Object(self.0.iter().map(entry).collect())
    }

    /// Reads `FieldsV1`; none if it is not one.
    pub fn from_json(value: &Value) -> Option<Set> {
        let mut set = Set::default();
        for (step, below) in value.as_object()?.iter().filter(|(step, _)| *step != ".") {
            if !Step::is_known(step) {
                return None;
            }
            let fields = below.as_object()?;
            let member = fields.is_empty() || fields.contains_key(".");
            set.0.insert(Step(step.as_str().into()), Node { member, below: Set::from_json(below)? });
        }
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(value: Value) -> Set {
        Set::from_json(&value).unwrap()
    }

    #[test]
    fn a_set_is_read_and_printed() {
        let text = json!({"f:metadata": {"f:labels": {".": {}, "f:app": {}}, "f:finalizers": {"v:\"a/b\"": {}}},
            "f:spec": {"f:replicas": {}, "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}});
        assert_eq!(set(text.clone()).to_json(), text);
        let paths = [
            ".metadata.finalizers[=\"a/b\"]",
            ".metadata.labels",
            ".metadata.labels.app",
            ".spec.replicas",
            ".spec.ports[port=80,protocol=\"TCP\"]",
            ".spec.ports[port=80,protocol=\"TCP\"].port",
        ];
        let mut shown = set(text).paths();
        shown.sort();
        let mut want = paths.map(str::to_owned).to_vec();
        want.sort();
        assert_eq!(shown, want);
        for wrong in [json!([]), json!({"spec": {}}), json!({"f:a": 1}), json!({"k:{": {}})] {
            assert_eq!(Set::from_json(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sets_combine() {
        let a = set(json!({"f:a": {".": {}, "f:x": {}, "f:y": {}}, "f:b": {}}));
        let b = set(json!({"f:a": {"f:x": {}}, "f:c": {}}));
        assert_eq!(a.union(&b), set(json!({"f:a": {".": {}, "f:x": {}, "f:y": {}}, "f:b": {}, "f:c": {}})));
        assert_eq!(a.difference(&b), set(json!({"f:a": {".": {}, "f:y": {}}, "f:b": {}})));
        assert_eq!(a.intersection(&b), set(json!({"f:a": {"f:x": {}}})));
        assert_eq!(a.without(&set(json!({"f:a": {}}))), set(json!({"f:b": {}})));
        assert_eq!(a.difference(&a), Set::default());
        assert!(a.has_path(&[Step::field("a"), Step::field("y")]) && !a.has(&Step::field("c")));
    }
}
