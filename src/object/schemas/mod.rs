//! Schemas of kinds as OpenAPI documents have them: `io.k8s.api.apps.v1.Deployment` and all that it is made of.
//!
//! A built-in kind's are written from the table of Go types ([`crate::go_types`]), from the notes of [`crate::explain`], and from what
//! patches know of lists ([`crate::patch::schema`], [`crate::fields::schema`]). A custom kind's is the one of its definition. They are
//! written as text at once: a document has hundreds, and a client keeps it.
//!
//! Mirrors `k8s.io/kube-openapi/pkg/{generators,builder3}` and, for custom kinds,
//! `apiextensions-apiserver/pkg/controller/openapi/builder`.
//!
//! Left out: descriptions in the API's own words: these are ours. Defaults other than zero.

mod custom;
mod names;
mod writer;

use std::collections::BTreeMap;

use crate::explain::notes::{self, Note};
use crate::fields::schema::{BuiltIn, List, Schema as _};
use crate::go_types::{self, Field, GoType};
use crate::patch::schema::{FieldPath, Lists};
use crate::{Discovery, Kind, versions};

pub use names::Package;
pub use writer::Writer;

/// Where a document's schemas stand.
pub const HERE: &str = "#/components/schemas/";

/// All that schemas of built-in kinds are written from, as one text: it changes when they do.
pub fn sources() -> String {
    [go_types::TABLE, &notes::TEXT.concat()].concat()
}

/// The schemas of one document, by their names.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    written: BTreeMap<String, String>,
}

/// Where in which object a struct is met first. All say the same of a struct but for lists that two kinds merge differently.
struct Place<'p> {
    /// The kind that it is part of.
    kind: Kind,
    /// The name of that kind's struct in the table.
    outermost: &'p str,
    /// The package of that kind.
    package: Package,
    /// The name of the field that it is in.
    field: &'p str,
    /// What is known of its fields.
    schema: BuiltIn,
}

impl Schemas {
    /// Writes the schema of a kind and of what it is made of, unless they are there. Gives its name.
    pub fn kind(&mut self, kind: Kind, known: &Discovery) -> String {
        if let Some(definition) = known.definition(kind) {
            return self.custom(kind, definition);
        }
        let go_type = versions::go_type(kind).unwrap_or("HorizontalPodAutoscalerV1");
        self.of_type(kind, go_type, Package::of_kind(kind), kind.info().kind)
    }

    /// The schema of a list of a kind. Gives its name.
    pub fn list(&mut self, kind: Kind, known: &Discovery) -> String {
        let (item, meta) = (self.kind(kind, known), self.meta("ListMeta", kind));
        let (name, info) = (format!("{item}List"), kind.info());
        let mut json = Writer::default();
        json.object(|json| {
            json.field("description", &format!("{}List is a list of {}", info.kind, info.plural));
            json.field("type", "object");
            json.key("required").texts(["items"]);
            json.key("properties").object(|json| {
                type_fields(json);
                json.key("items").object(|json| {
                    json.field("description", &format!("The {} of the list.", info.plural));
                    json.field("type", "array");
                    json.key("items").object(|json| refer(json, &item, Some("{}")));
                });
                json.key("metadata").object(|json| {
                    json.field(
                        "description",
                        "What a list says of itself: its revision, and where its next page starts.",
                    );
                    refer(json, &meta, Some("{}"));
                });
            });
            group_version_kind(json, info.group, info.version, &format!("{}List", info.kind));
        });
        self.written.insert(name.clone(), json.finish());
        name
    }

    /// The schema of a struct of `meta/v1`, as it is met beside a kind. Gives its name.
    pub fn meta(&mut self, go_type: &str, beside: Kind) -> String {
        let (name, is_new) = self.begin(Package::Meta, go_type);
        match go_type {
            _ if !is_new => {}
            "Patch" | "WatchEvent" => {
                self.written.insert(name.clone(), names::fixed(go_type).to_owned());
                self.fixed("runtime.RawExtension");
            }
            _ => self.write(go_type, Package::Meta, go_type, None, &Place::root(beside, go_type, Package::Meta)),
        }
        name
    }

    /// The schema of what a part of an object is, which is no kind that is kept: `autoscaling/v1 Scale`. Gives its name.
    pub fn part(&mut self, group: &'static str, go_type: &'static str, beside: Kind) -> String {
        self.of_type(beside, go_type, Package::of_group(group, "v1"), go_type)
    }

    /// The schema of what `/version` says. Gives its name.
    pub fn version(&mut self) -> String {
        let name = Package::Machinery("version").name("Info");
        self.written.insert(name.clone(), names::fixed("Info").to_owned());
        name
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    /// All of them, as the fields of one object.
    pub fn write_to(&self, json: &mut Writer) {
        json.object(|json| self.written.iter().for_each(|(name, schema)| json.key(name).raw(schema)));
    }

    fn of_type(&mut self, kind: Kind, go_type: &str, package: Package, called: &str) -> String {
        let (name, is_new) = self.begin(package, called);
        if is_new {
            self.write(go_type, package, called, Some(package), &Place::root(kind, go_type, package));
        }
        name
    }

    /// Takes the name of a schema, before it is written: structs are made of one another in circles.
    fn begin(&mut self, package: Package, called: &str) -> (String, bool) {
        let name = package.name(called);
        let is_new = !self.written.contains_key(&name);
        if is_new {
            self.written.insert(name.clone(), String::new());
        }
        (name, is_new)
    }

    /// Writes the struct `go_type`. One that is a kind, in the `group` of its package, says so.
    fn write(&mut self, go_type: &str, package: Package, called: &str, group: Option<Package>, place: &Place) {
        let fields = go_types::fields_in(place.outermost, go_type).unwrap_or_default();
        let flat = flat(place.outermost, fields);
        let is_kind = group.is_some() || matches!(called, "Status" | "DeleteOptions" | "APIResourceList");
        let mut json = Writer::default();
        json.object(|json| {
            let note = notes::of_type(called);
            describe(json, note);
            json.field("type", "object");
            let required: Vec<&str> = flat.iter().filter(|field| field.required).map(|field| &*field.json).collect();
            if !required.is_empty() {
                json.key("required").texts(required);
            }
            if is_kind || !flat.is_empty() {
                json.key("properties").object(|json| {
                    if is_kind {
                        type_fields(json);
                    }
                    for field in &flat {
                        json.key(&field.json).object(|json| self.property(json, called, field, place));
                    }
                });
            }
            if place.schema.is_atomic() {
                json.field("x-kubernetes-map-type", "atomic");
            }
            if let Some(group) = group {
                group_version_kind(json, group.group(), group.version(), called);
            }
        });
        self.written.insert(package.name(called), json.finish());
    }

    /// The fields of the schema of a field.
    fn property(&mut self, json: &mut Writer, of: &str, field: &Field, place: &Place) {
        let note = notes::field(of, &field.json);
        describe(json, note);
        let at = place.schema.field(&field.json);
        let default = match field.resolved() {
            GoType::Struct(_) | GoType::Opaque => Some("{}"),
            GoType::Text if field.always => Some("\"\""),
            GoType::Bool if field.always => Some("false"),
            GoType::Number if field.always => Some("0"),
            _ => None,
        };
        self.value(json, field.go_type, default, place, &field.json, &at);
        if let Some(note) = note
            && !note.values.is_empty()
            && matches!(go_types::resolve(field.go_type.trim_start_matches('*')), GoType::Text)
        {
            json.key("enum").texts(note.values.iter().copied());
        }
        match field.resolved() {
            GoType::List(item) if item != "uint8" => lists(json, place.kind, place.field, &field.json, &at),
            GoType::Map(_) if at.is_atomic() => json.field("x-kubernetes-map-type", "atomic"),
            _ if FieldPath::root(place.kind).field(place.field).field(&field.json).retains_keys() => {
                json.field("x-kubernetes-patch-strategy", "retainKeys");
            }
            _ => {}
        }
    }

    /// What a value of a type is, as fields of its schema.
    fn value(
        &mut self,
        json: &mut Writer,
        go_type: &str,
        default: Option<&str>,
        place: &Place,
        field: &str,
        at: &BuiltIn,
    ) {
        match go_types::resolve(go_type) {
            GoType::Pointer(target) => return self.value(json, target, None, place, field, at),
            GoType::List("uint8") => {
                json.raw("\"type\":\"string\",\"format\":\"byte\"");
            }
            GoType::List(item) => {
                json.field("type", "array");
                json.key("items").object(|json| self.value(json, item, zero(item), place, field, &at.item()));
            }
            GoType::Map(value) => {
                json.field("type", "object");
                json.key("additionalProperties")
                    .object(|json| self.value(json, value, zero(value), place, field, &at.item()));
            }
            GoType::Text => json.raw("\"type\":\"string\""),
            GoType::Bool => json.raw("\"type\":\"boolean\""),
            GoType::Number => json.raw(match go_type {
                "int32" => "\"type\":\"integer\",\"format\":\"int32\"",
                "float64" => "\"type\":\"number\",\"format\":\"double\"",
                _ => "\"type\":\"integer\",\"format\":\"int64\"",
            }),
            GoType::Struct(_) => {
                let name = self.inner(go_type, place, field, at);
                return refer(json, &name, default);
            }
            GoType::Opaque => {
                let Some(name) = self.fixed(go_type) else { return };
                return refer(json, &name, default);
            }
        }
        if let Some(default) = default {
            json.key("default").raw(default);
        }
    }

    /// The schema of a type that reads and prints itself. Gives its name; none of one that may be anything.
    fn fixed(&mut self, go_type: &str) -> Option<String> {
        let (package, called) = names::opaque(go_type)?;
        let name = package.name(called);
        self.written.entry(name.clone()).or_insert_with(|| names::fixed(called).to_owned());
        Some(name)
    }

    /// The schema of a struct that a field has. Gives its name.
    fn inner(&mut self, go_type: &str, place: &Place, field: &str, at: &BuiltIn) -> String {
        let (package, called) = names::of_struct(place.outermost, go_type, place.package);
        let (name, is_new) = self.begin(package, called);
        if is_new {
            let Place { kind, outermost, package: own, .. } = *place;
            let inside = Place { kind, outermost, package: own, field, schema: at.clone() };
            // A claim in a template is a kind too.
            let group = Kind::from_manifest("v1", called).map(|_| package).filter(|package| *package == names::CORE);
            self.write(go_type, package, called, group, &inside);
        }
        name
    }
}

impl<'p> Place<'p> {
    fn root(kind: Kind, outermost: &'p str, package: Package) -> Place<'p> {
        Place { kind, outermost, package, field: "", schema: BuiltIn::new(kind) }
    }
}

/// The fields of a struct as JSON has them: those of embedded structs among its own. What has no number in protobuf is of an
/// older version, if others have one.
fn flat(outermost: &str, fields: &'static [Field]) -> Vec<&'static Field> {
    let mut flat = Vec::new();
    let are_numbered = fields.iter().any(|field| field.number > 0);
    for field in fields.iter().filter(|field| field.number > 0 || !are_numbered) {
        match field.inline {
            true => {
                flat.extend(self::flat(outermost, go_types::fields_in(outermost, field.go_type).unwrap_or_default()))
            }
            false => flat.push(field),
        }
    }
    flat
}

/// What an item has into which nothing was written, as JSON; none of what a pointer leads to.
fn zero(go_type: &str) -> Option<&'static str> {
    match go_types::resolve(go_type) {
        GoType::Struct(_) | GoType::Opaque => Some("{}"),
        GoType::Text => Some("\"\""),
        GoType::Bool => Some("false"),
        GoType::Number => Some("0"),
        GoType::Pointer(_) | GoType::List(_) | GoType::Map(_) => None,
    }
}

/// The fields that name an object's kind.
fn type_fields(json: &mut Writer) {
    for name in ["apiVersion", "kind"] {
        json.key(name).object(|json| {
            describe(json, notes::field("*", name));
            json.field("type", "string");
        });
    }
}

/// What it means, and who writes it.
fn describe(json: &mut Writer, note: Option<&Note>) {
    match note {
        Some(Note { text: "", .. }) | None => {}
        Some(Note { text, writer: None, .. }) => json.field("description", text),
        Some(Note { text, writer: Some(writer), .. }) => {
            json.field("description", &format!("{text} Written by {writer}."));
        }
    }
}

/// A reference to a schema. What stands beside a plain one is not looked at, so with a default it is one of one.
fn refer(json: &mut Writer, name: &str, default: Option<&str>) {
    let is_alone = json.as_str().ends_with('{') && default.is_none();
    let reference = |json: &mut Writer| json.field("$ref", &format!("{HERE}{name}"));
    if let Some(default) = default {
        json.key("default").raw(default);
    }
    match is_alone {
        true => reference(json),
        false => json.key("allOf").list(|json| json.object(reference)),
    }
}

/// How patches and server-side apply go about a list.
fn lists(json: &mut Writer, kind: Kind, parent: &str, field: &str, at: &BuiltIn) {
    match at.list() {
        List::Atomic => json.field("x-kubernetes-list-type", "atomic"),
        List::Set => json.field("x-kubernetes-list-type", "set"),
        List::Map(keys) => {
            json.key("x-kubernetes-list-map-keys").texts(keys);
            json.field("x-kubernetes-list-type", "map");
        }
    }
    let root = FieldPath::root(kind);
    let parent = root.field(parent);
    let path = parent.field(field);
    let strategy = if path.retains_keys() { "merge,retainKeys" } else { "merge" };
    match path.lists() {
        Lists::Atomic => {}
        Lists::Set => json.field("x-kubernetes-patch-strategy", strategy),
        Lists::MergedBy(key) => {
            json.field("x-kubernetes-patch-merge-key", key);
            json.field("x-kubernetes-patch-strategy", strategy);
        }
    }
}

/// As which kind an object with this schema is known.
fn group_version_kind(json: &mut Writer, group: &str, version: &str, kind: &str) {
    json.key("x-kubernetes-group-version-kind").list(|json| {
        json.object(|json| {
            json.field("group", group);
            json.field("kind", kind);
            json.field("version", version);
        });
    });
}

#[cfg(test)]
mod tests;
