//! What is one field: which values are taken whole, and which lists have items that are fields of their own.
//!
//! Mirrors the `listType`, `mapType` and `structType` markers of `k8s.io/api`. Where a list has no marker it is atomic. Most
//! lists that strategic merge patches merge have the same key here ([`FieldPath`]); the table below has those that differ.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::set::Step;
use crate::Kind;
use crate::patch::schema::{FieldPath, Lists};

/// What is known of a place in an object.
pub trait Schema: Clone {
    /// Whether what stands here has one owner, as a whole.
    fn is_atomic(&self) -> bool;
    /// Whether its fields are named by the kind, and are no keys of a map.
    fn is_struct(&self) -> bool;
    /// What the list here is made of.
    fn list(&self) -> List<'_>;
    /// What a key of the items of the list here is where an item does not say.
    fn key_default(&self, key: &str) -> Option<Value>;
    /// A field of what stands here.
    #[must_use]
    fn field(&self, name: &str) -> Self;
    /// An item of the list here.
    #[must_use]
    fn item(&self) -> Self;
}

/// `listType`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum List<'a> {
    /// One field.
    Atomic,
    /// Each value is a field.
    Set,
    /// Each item is a field, known by its values in these keys.
    Map(Vec<&'a str>),
}

/// The step to `item` of the list at `schema`, which is not atomic; or why it has none.
pub fn step_to<S: Schema>(schema: &S, item: &Value) -> Result<Step, String> {
    let List::Map(names) = schema.list() else { return step_to_value(item) };
    match item {
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        Value::Object(_) => {}
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    }
    let mut keys = BTreeMap::new();
    for name in &names {
        // An item without one of several keys is another than those that have it.
        if let Some(value) = item.get(name).cloned().or_else(|| schema.key_default(name)) {
            keys.insert(*name, value);
        }
    }
    if keys.is_empty() {
        let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values \
             for any key fields)",
            names.join(" ")
        ));
    }
    Ok(Step::key(keys))
}

fn step_to_value(item: &Value) -> Result<Step, String> {
    let is = match item {
        Value::Object(_) => "associative list without keys has an element that's a map type",
        Value::Array(_) => "not supported: associative list with lists as elements",
        Value::Null => "associative list without keys has an element that's an explicit null",
        value => return Ok(Step::value(value)),
    };
    Err(is.to_owned())
}

/// A place in an object of a built-in kind.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    kind: Kind,
    parent: String,
    field: String,
    item: bool,
}

impl BuiltIn {
    /// The object itself.
    pub fn new(kind: Kind) -> BuiltIn {
        BuiltIn { kind, parent: String::new(), field: String::new(), item: false }
    }
}

impl Schema for BuiltIn {
    fn is_atomic(&self) -> bool {
        match (self.field.as_str(), self.item) {
            ("ownerReferences" | "imagePullSecrets", true) => true,
            ("data", false) => self.kind == Kind::ControllerRevision,
            // The port of an Ingress' backend: by name or by number.
            ("port", false) if self.parent == "service" => true,
            ("scaleTargetRef", false) => self.kind.info().api_version == "autoscaling/v1",
            (field, _) => ATOMIC.contains(&field),
        }
    }

    fn is_struct(&self) -> bool {
        !is_map(&self.field)
    }

    fn list(&self) -> List<'_> {
        let kind = self.kind.info().kind;
        match (self.parent.as_str(), self.field.as_str()) {
            ("status", "conditions") if kind == "Job" => List::Atomic,
            ("status", "hostIPs") => List::Atomic,
            ("spec", "ports") if kind == "Service" => List::Map(vec!["port", "protocol"]),
            ("containers" | "initContainers" | "ephemeralContainers", "ports") => {
                List::Map(vec!["containerPort", "protocol"])
            }
            ("spec", "topologySpreadConstraints") => List::Map(vec!["topologyKey", "whenUnsatisfiable"]),
            ("resources", "claims") => List::Map(vec!["name"]),
            ("uncountedTerminatedPods", "succeeded" | "failed")
            | ("spec", "volumeLifecycleModes" | "validationActions") => List::Set,
            (parent, field) => match FieldPath::root(self.kind).field(parent).field(field).lists() {
                Lists::Atomic => List::Atomic,
                Lists::Set => List::Set,
                Lists::MergedBy(key) => List::Map(vec![key]),
            },
        }
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        (key == "protocol").then(|| json!("TCP"))
    }

    fn field(&self, name: &str) -> BuiltIn {
        BuiltIn { kind: self.kind, parent: self.field.clone(), field: name.to_owned(), item: false }
    }

    fn item(&self) -> BuiltIn {
        BuiltIn { item: true, ..self.clone() }
    }
}

/// Fields whose structs or maps are atomic, in every kind: selectors, and references to other objects.
#[rustfmt::skip]
const ATOMIC: [&str; 24] = [
    "configMapKeyRef", "configMapRef", "dataSource", "fieldRef", "involvedObject", "labelSelector",
    "matchConstraints", "matchResources", "namespaceSelector", "nodeSelector", "objectSelector", "paramKind", "paramRef",
    "podSelector", "regarding", "related", "required", "requiredDuringSchedulingIgnoredDuringExecution", "resourceFieldRef", "roleRef",
    "scopeSelector", "secretKeyRef", "secretRef", "selector",
];

/// Whether a field is a map from keys that its writer chooses.
pub fn is_map(field: &str) -> bool {
    MAPS.contains(&field)
}

#[rustfmt::skip]
const MAPS: [&str; 23] = [
    "allocatable", "annotations", "binaryData", "capacity", "data", "hard", "labels", "limits", "matchLabels",
    "nodeSelector", "overhead", "parameters", "requests", "stringData", "used", "allocatedResources", "volumeAttributes",
    "default", "defaultRequest", "disruptedPods", "max", "maxLimitRequestRatio", "min",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn at(kind: Kind, path: &str) -> BuiltIn {
        path.split('.').fold(BuiltIn::new(kind), |place, name| match name {
            "[]" => place.item(),
            name => place.field(name),
        })
    }

    #[test]
    fn lists_have_their_types() {
        let map = |keys: &[&'static str]| List::Map(keys.to_vec());
        #[rustfmt::skip]
        let cases = [
            (Kind::Pod, "spec.containers", map(&["name"])), (Kind::Pod, "spec.tolerations", List::Atomic),
            (Kind::Deployment, "spec.template.spec.containers.[].ports", map(&["containerPort", "protocol"])),
            (Kind::Service, "spec.ports", map(&["port", "protocol"])), (Kind::Service, "spec.clusterIPs", List::Atomic),
            (Kind::Job, "status.conditions", List::Atomic), (Kind::Deployment, "status.conditions", map(&["type"])),
            (Kind::Pod, "status.podIPs", map(&["ip"])), (Kind::Pod, "status.hostIPs", List::Atomic),
            (Kind::Pod, "metadata.finalizers", List::Set), (Kind::Pod, "metadata.ownerReferences", map(&["uid"])),
            (Kind::Node, "spec.podCIDRs", List::Set), (Kind::Role, "rules", List::Atomic),
        ];
        for (kind, path, want) in cases {
            assert_eq!(at(kind, path).list(), want, "{kind} {path}");
        }
    }

    #[test]
    fn selectors_and_references_are_atomic() {
        for (kind, path, want) in [
            (Kind::Deployment, "spec.selector", true),
            (Kind::Service, "spec.selector", true),
            (Kind::Pod, "metadata.ownerReferences.[]", true),
            (Kind::Pod, "metadata.labels", false),
            (Kind::Pod, "spec.containers.[].resources.limits", false),
            (Kind::ControllerRevision, "data", true),
            (Kind::ConfigMap, "data", false),
        ] {
            assert_eq!(at(kind, path).is_atomic(), want, "{kind} {path}");
        }
    }

    #[test]
    fn an_item_is_known_by_its_keys() {
        let ports = at(Kind::Service, "spec.ports");
        let step = step_to(&ports, &json!({"port": 80, "name": "http"})).unwrap();
        assert_eq!(step.to_string(), "[port=80,protocol=\"TCP\"]");
        let step = step_to(&ports, &json!({"protocol": "UDP"})).unwrap();
        assert_eq!(step.to_string(), "[protocol=\"UDP\"]", "one of the keys will do");
        let why = step_to(&at(Kind::Pod, "spec.containers"), &json!({"image": "x"})).unwrap_err();
        const WANT: &str = "associative list with keys has an element that omits all key fields [\"name\"] (and doesn't \
            have default values for any key fields)";
        assert_eq!(why, WANT);
        let why = step_to(&at(Kind::Pod, "metadata.finalizers"), &Value::Null).unwrap_err();
        assert_eq!(why, "associative list without keys has an element that's an explicit null");
    }
}
