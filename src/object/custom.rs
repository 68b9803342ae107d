//! Custom resources: kinds that a user defines while the cluster runs, and their objects.
//!
//! A [`CustomKind`] is a name, not a promise: it says how a kind is called, and nothing about whether a cluster serves it.
//! That is the API server's to say, from the CustomResourceDefinitions in its store. So two clusters in one process, or
//! one cluster before and after it went back in time, may use the same names for different things.
//!
//! Mirrors `schema.GroupVersionKind` with its REST mapping, and `unstructured.Unstructured`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::KindInfo;
use super::json::Json;
use super::read::{self, Reader};
use super::shared::Shared;

/// A kind that is not in the table. Copying it copies a pointer; equal names are one row in memory, and rows stay for
/// good, so there are never more of them than kinds that were ever named.
#[derive(Clone, Copy)]
pub struct CustomKind(&'static Row);

struct Row {
    info: KindInfo,
    /// `/registry/stable.example.com/crontabs/`.
    prefix: &'static str,
}

/// What makes two kinds one: group, version, plural, kind, and whether its objects live in namespaces.
type Names = (String, String, String, String, bool);

/// The rows there are. Nothing is decided by what is in it: it only saves a second row of the same names.
static ROWS: Mutex<BTreeMap<Names, &'static Row>> = Mutex::new(BTreeMap::new());

impl CustomKind {
    /// The kind of these names.
    pub fn new(group: &str, version: &str, plural: &str, kind: &str, namespaced: bool) -> CustomKind {
        let names = (group.to_owned(), version.to_owned(), plural.to_owned(), kind.to_owned(), namespaced);
        let mut rows = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
        CustomKind(rows.entry(names).or_insert_with(|| {
            let keep = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
            let info = KindInfo {
                kind: keep(kind),
                group: keep(group),
                version: keep(version),
                api_version: keep(&format!("{group}/{version}")),
                plural: keep(plural),
                namespaced,
                short_names: &[],
            };
            Box::leak(Box::new(Row { info, prefix: keep(&format!("/registry/{group}/{plural}/")) }))
        }))
    }

    /// Its row. Short names are not in it: a definition may change them.
    pub const fn info(self) -> &'static KindInfo {
        &self.0.info
    }

    /// The etcd path of its objects, which is that of all its versions.
    pub const fn prefix(self) -> &'static str {
        self.0.prefix
    }

    /// The same kind in another version.
    pub fn in_version(self, version: &str) -> CustomKind {
        let info = self.info();
        CustomKind::new(info.group, version, info.plural, info.kind, info.namespaced)
    }

    fn names(&self) -> (&str, &str, &str, &str, bool) {
        let info = self.info();
        (info.group, info.plural, info.version, info.kind, info.namespaced)
    }
}

impl PartialEq for CustomKind {
    fn eq(&self, other: &CustomKind) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for CustomKind {}

impl Ord for CustomKind {
    /// By name: where a row lies, or when it was made, decides nothing.
    fn cmp(&self, other: &CustomKind) -> Ordering {
        if self == other { Ordering::Equal } else { self.names().cmp(&other.names()) }
    }
}

impl PartialOrd for CustomKind {
    fn partial_cmp(&self, other: &CustomKind) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl std::hash::Hash for CustomKind {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.names().hash(state);
    }
}

impl std::fmt::Debug for CustomKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.info().plural, self.info().api_version)
    }
}

/// An object of a custom kind: its metadata, and the rest as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomObject {
    kind: CustomKind,
    /// Who it is.
    pub metadata: ObjectMeta,
    /// All other fields, `spec` and `status` if it has them. Its versions share them.
    pub content: Shared<Map<String, Value>>,
}

impl CustomObject {
    /// An object of `kind`.
    pub fn new(kind: CustomKind, metadata: ObjectMeta, mut content: Map<String, Value>) -> CustomObject {
        for field in ["apiVersion", "kind", "metadata"] {
            content.remove(field);
        }
        CustomObject { kind, metadata, content: content.into() }
    }

    /// Its kind, and with it its version.
    pub fn kind(&self) -> CustomKind {
        self.kind
    }

    /// The same object in another version of its kind: nothing but `apiVersion` differs. Mirrors the conversion strategy
    /// None, `nopConverter`.
    pub fn in_version(mut self, kind: CustomKind) -> CustomObject {
        self.kind = kind;
        self
    }

    /// A top-level field.
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.content.get(field)
    }

    /// Reads an object of `kind`.
    pub(super) fn read(kind: CustomKind, reader: Reader<'_>) -> Result<CustomObject, read::Error> {
        let mut content = Map::deserialize(reader)?;
        let metadata = match content.remove("metadata") {
            Some(metadata) => read::value(&Json::of(&metadata))?.0,
            None => ObjectMeta::default(),
        };
        Ok(CustomObject::new(kind, metadata, content))
    }
}

impl Serialize for CustomObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3 + self.content.len()))?;
        map.serialize_entry("apiVersion", self.kind.info().api_version)?;
        map.serialize_entry("kind", self.kind.info().kind)?;
        map.serialize_entry("metadata", &self.metadata)?;
        for (field, value) in self.content.iter() {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Kind;
    use super::*;

    #[test]
    fn equal_names_are_one_kind_and_order_goes_by_name() {
        let new = |group, version, plural| CustomKind::new(group, version, plural, "Thing", true);
        let (late, early) = (new("z.example.com", "v1", "things"), new("a.example.com", "v1", "things"));
        assert_eq!(late, new("z.example.com", "v1", "things"));
        assert!(early < late, "the later row has the earlier name");
        assert_ne!(early, CustomKind::new("a.example.com", "v1", "things", "Thing", false));
        assert!(early < early.in_version("v2"));
        assert_eq!(early.prefix(), early.in_version("v2").prefix());
        assert!(Kind::Custom(early) > Kind::CustomResourceDefinition, "custom kinds come after the table");
    }

    #[test]
    fn an_object_is_read_and_printed_as_it_was_written() {
        let kind = Kind::Custom(CustomKind::new("stable.example.com", "v1", "crontabs", "CronTab", true));
        let written = json!({"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a"},
            "spec": {"replicas": 1, "ratio": 0.5, "any": [null, {"x": ""}]}, "extra": true});
        let object = kind.decode(written.clone()).unwrap();
        assert_eq!((object.kind(), object.name()), (kind, "a"));
        assert_eq!(object.to_json(), written);
        let Kind::Custom(custom) = kind else { unreachable!() };
        let other = object.clone().in_version(Kind::Custom(custom.in_version("v2")));
        assert_eq!(other.to_json()["apiVersion"], "stable.example.com/v2");
        assert_ne!(other, object);
    }
}
