//! A manifest that is being built, and what it was called before. Mirrors `api/resource`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::id::{Gvk, Id};

/// What becomes of a generated object if there is one of its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behavior {
    /// Nothing is said: it is taken to be new.
    #[default]
    Unspecified,
    /// It is new.
    Create,
    /// It takes the other's place.
    Replace,
    /// What is in it is added to the other.
    Merge,
}

impl Behavior {
    /// What a generator's `behavior` means. An unknown word is the same as none.
    pub fn of(word: &str) -> Behavior {
        match word {
            "create" => Behavior::Create,
            "replace" => Behavior::Replace,
            "merge" => Behavior::Merge,
            _ => Behavior::Unspecified,
        }
    }

    /// The word, as messages have it.
    pub fn name(self) -> &'static str {
        match self {
            Behavior::Unspecified => "unspecified",
            Behavior::Create => "create",
            Behavior::Replace => "replace",
            Behavior::Merge => "merge",
        }
    }
}

/// A manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    pub object: Value,
    /// What it was called before, the first name first: kind, name and namespace.
    previous: Vec<(String, String, String)>,
    /// The prefixes and suffixes that its name has got, the innermost first.
    pub prefixes: Vec<String>,
    pub suffixes: Vec<String>,
    pub behavior: Behavior,
    /// Whether its name is to end in a hash.
    pub needs_hash: bool,
    /// The variables that stand for a field of it.
    pub variables: Vec<String>,
}

impl Resource {
    /// An object that has a kind and a name. Mirrors `GetValidatedMetadata`.
    ///
    /// # Errors
    /// What is missing.
    pub fn of(object: Value) -> Result<Resource, String> {
        let resource = Resource {
            object,
            previous: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            behavior: Behavior::Unspecified,
            needs_hash: false,
            variables: Vec::new(),
        };
        let id = resource.id();
        let meta = || {
            let Id { gvk, name, namespace } = resource.id();
            let api_version = resource.object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            let [labels, annotations] = [resource.labels(), resource.annotations()].map(|map| go_map(&map));
            format!("{{{{{api_version} {}}} {{{{{name} {namespace}}} {labels} {annotations}}}}}", gvk.kind)
        };
        if id.gvk.kind.is_empty() {
            return Err(format!("missing kind in object {}", meta()));
        }
        if id.name.is_empty() {
            return Err(format!("missing metadata.name in object {}", meta()));
        }
        Ok(resource)
    }

    /// What it is known by now.
    pub fn id(&self) -> Id {
        let text = |field: &str| self.meta(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        Id { gvk: Gvk::of(&self.object), name: text("name"), namespace: text("namespace") }
    }

    /// What it was known by before, the oldest first.
    pub fn previous_ids(&self) -> impl Iterator<Item = Id> + '_ {
        let gvk = Gvk::of(&self.object);
        self.previous.iter().map(move |(kind, name, namespace)| Id {
            gvk: Gvk { kind: kind.clone(), ..gvk.clone() },
            name: name.clone(),
            namespace: namespace.clone(),
        })
    }

    /// All that it is and was known by.
    pub fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        self.previous_ids().chain(std::iter::once(self.id()))
    }

    /// What it was known by at first.
    pub fn original_id(&self) -> Id {
        self.ids().next().unwrap_or_default()
    }

    /// Remembers what it is called now, because that is about to change.
    pub fn remember_id(&mut self) {
        let id = self.id();
        let namespace = id.effective_namespace().to_owned();
        self.previous.push((id.gvk.kind, id.name, namespace));
    }

    fn meta(&self, field: &str) -> Option<&Value> {
        self.object.get("metadata")?.get(field)
    }

    /// Sets a field of its metadata.
    pub fn set_meta(&mut self, field: &str, value: Value) {
        let Some(object) = self.object.as_object_mut() else { return };
        let meta = object.entry("metadata").or_insert_with(|| json!({}));
        if !meta.is_object() {
            *meta = json!({});
        }
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(field.to_owned(), value);
        }
    }

    /// Its labels; what is no text is shown as one.
    pub fn labels(&self) -> BTreeMap<String, String> {
        texts(self.meta("labels"))
    }

    /// The same of its annotations.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        texts(self.meta("annotations"))
    }

    /// Makes texts of annotations that were written as numbers or the like.
    pub fn quote_annotations(&mut self) {
        let annotations = self.annotations();
        if !annotations.is_empty() {
            self.set_meta("annotations", json!(annotations));
        }
    }

    /// Takes over an older object's name and what it is marked with. Mirrors `CopyMergeMetaDataFieldsFrom`.
    pub fn take_over(&mut self, old: &Resource) {
        for (field, older, newer) in
            [("labels", old.labels(), self.labels()), ("annotations", old.annotations(), self.annotations())]
        {
            let all: BTreeMap<String, String> = older.into_iter().chain(newer).collect();
            if !all.is_empty() {
                self.set_meta(field, json!(all));
            }
        }
        let id = old.id();
        self.set_meta("name", json!(id.name));
        if !id.namespace.is_empty() {
            self.set_meta("namespace", json!(id.namespace));
        }
        self.previous.clone_from(&old.previous);
        self.prefixes.clone_from(&old.prefixes);
        self.suffixes.clone_from(&old.suffixes);
        self.variables.clone_from(&old.variables);
        self.behavior = old.behavior;
        self.needs_hash = self.needs_hash && old.needs_hash;
    }

    /// Adds what is in an older object to what is in it.
    pub fn merge_data(&mut self, old: &Resource) {
        for field in ["data", "binaryData"] {
            let entries = |object: &Value| object.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
            let mut all: Map<String, Value> = entries(&old.object);
            all.extend(entries(&self.object));
            if let (false, Some(object)) = (all.is_empty(), self.object.as_object_mut()) {
                object.insert(field.to_owned(), Value::Object(all));
            }
        }
    }
}

fn texts(map: Option<&Value>) -> BTreeMap<String, String> {
    let entries = map.and_then(Value::as_object).into_iter().flatten();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    entries.map(|(key, value)| (key.clone(), text(value))).collect()
}

fn go_map(map: &BTreeMap<String, String>) -> String {
    let entries: Vec<String> = map.iter().map(|(key, value)| format!("{key}:{value}")).collect();
    format!("map[{}]", entries.join(" "))
}
