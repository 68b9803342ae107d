//! Kinds that users define: which are served, and what is asked of their objects.
//!
//! A CustomResourceDefinition in the store makes the API server serve a kind that it has no type for. Its objects take the
//! way of all objects, through the same stages; where a built-in kind has code of its own (decoding, defaulting, strategy,
//! validation, scale), a custom kind has its [`Version`], made from the definition.
//!
//! - [`definition`]: the definitions themselves; [`structural`], [`nested`]: their schemas; [`selectable`]: what to select by.
//! - [`field_path`]: how a definition points at a field.
//! - [`schema`]: a schema, ready to be asked. [`coerce`]: pruning and defaults. [`value`], [`mod@format`]: validation.
//! - [`rules`]: what schemas say in CEL.
//! - [`decode`]: bytes to an object. [`scale`]: the replica count of one.
//!
//! Mirrors `k8s.io/apiextensions-apiserver`. Its controllers (naming, establishing, finalizing) are in
//! `controllers/apiextensions`, like all that ask for things rather than answer.
//!
//! Must hold:
//! - What is served follows from the store alone, so that it comes and goes with it. Kept by
//!   `what_is_stored_is_read_as_the_schema_is_now` and `a_definition_waits_for_its_objects`.
//!
//! Left out: conversion by webhook, in whose place only `apiVersion` changes. A real server answers the first creates
//! two seconds late, for the sake of other API servers that have not heard of the kind yet.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, CustomResourceSubresourceScale, JSONSchemaProps,
};
use serde_json::{Map, Value};

use object::definition::{age, is_true, kind_of};
use object::validation::field::Problems;
use object::{CustomKind, CustomObject, Kind, Object, Status};
use wire::{Request, Subresource};

pub mod approval;
mod coerce;
pub mod decode;
pub mod definition;
pub mod field_path;
pub mod fields;
pub mod format;
mod internal;
pub mod nested;
pub mod rules;
pub mod scale;
pub mod schema;
pub mod selectable;
pub mod structural;
pub mod value;

use schema::Schema;

/// All kinds that are served on top of the built-in ones.
#[derive(Clone, Default)]
pub struct Definitions(BTreeMap<(String, String), Served>);

/// One definition, as it is served.
#[derive(Clone)]
struct Served {
    /// Those versions that are served, by name.
    versions: BTreeMap<String, Arc<Version>>,
    /// The kind in which objects are stored.
    storage: CustomKind,
    /// The revision at which its versions became what they are.
    since: u64,
}

/// One version of a custom kind: all that the server knows of its objects.
pub struct Version {
    /// The kind, in this version.
    pub kind: CustomKind,
    /// What its objects look like.
    pub schema: Schema,
    /// What field selectors may ask for beside the metadata: `spec.colour`.
    pub selectable: Vec<String>,
    /// Whether the status has an endpoint of its own.
    pub has_status: bool,
    /// Where the replica count is, if it has an endpoint of its own.
    pub scale: Option<CustomResourceSubresourceScale>,
    /// The warning for a client that asks for this version.
    pub deprecation: Option<String>,
    /// The definition is being deleted: nothing new is created any more.
    pub terminating: bool,
}

impl Definitions {
    /// Takes notice of a change of a definition.
    pub fn changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let mut since = new.map_or(0, Object::revision);
        if let Some(Object::CustomResourceDefinition(old)) = old {
            let before = self.0.remove(&name_of(old));
            if let (Some(before), Some(Object::CustomResourceDefinition(new))) = (before, new)
                && new.spec.versions == old.spec.versions
            {
                since = before.since;
            }
        }
        if let Some(Object::CustomResourceDefinition(new)) = new
            && let Some(served) = Served::of(new, since)
        {
            self.0.insert(name_of(new), served);
        }
    }

    /// A stored object as it is read. One that was written before its definition became what it is loses what the schema no
    /// longer knows, and gets what it has got a default for; in the store it stays as it is. Mirrors `schemaCoercingDecoder`
    /// and `unstructuredDefaulter`, between which and etcd every custom object goes.
    pub fn read<'a>(&self, object: &'a Object) -> Cow<'a, Object> {
        let Object::Custom(custom) = object else { return Cow::Borrowed(object) };
        match self.served(custom.kind()).filter(|served| object.revision() < served.since) {
            Some(served) => served.read(object, custom),
            None => Cow::Borrowed(object),
        }
    }

    /// What is asked for, if it is served.
    pub fn version(&self, kind: CustomKind) -> Option<&Arc<Version>> {
        let info = kind.info();
        let served = self.served(kind)?;
        served.versions.get(info.version).filter(|version| version.kind == kind)
    }

    /// What is known of a kind, if a user has defined it.
    pub fn of(&self, kind: Kind) -> Option<&Arc<Version>> {
        if let Kind::Custom(kind) = kind { self.version(kind) } else { None }
    }

    /// The version that a request is about, or why it cannot be.
    pub fn for_request(&self, kind: CustomKind, request: &Request) -> Result<Arc<Version>, Status> {
        let version = self.version(kind).ok_or_else(Status::not_served)?;
        let there = match request.subresource {
            None => true,
            Some(Subresource::Status) => version.has_status,
            Some(Subresource::Scale) => version.scale.is_some(),
            Some(_) => false,
        };
        if !there {
            return Err(Status::not_found(request.kind, &request.name));
        }
        Ok(version.clone())
    }

    /// The kind that is served under these names, as manifests have them.
    pub fn named(&self, api_version: &str, name: &str) -> Option<Kind> {
        let versions = self.0.values().flat_map(|served| served.versions.values());
        let mut kinds = versions.map(|version| Kind::Custom(version.kind));
        kinds.find(|kind| kind.info().api_version == api_version && kind.info().kind == name)
    }

    /// The kind in which objects of this one are stored.
    pub fn storage(&self, kind: Kind) -> Kind {
        match kind {
            Kind::Custom(custom) => self.served(custom).map_or(kind, |served| Kind::Custom(served.storage)),
            kind => kind,
        }
    }

    /// The kinds in which an object of this one is told of, one for each version.
    pub fn told_as(&self, kind: CustomKind) -> impl Iterator<Item = Kind> {
        let served = self.served(kind);
        served.into_iter().flat_map(|served| served.versions.values()).map(|version| Kind::Custom(version.kind))
    }

    fn served(&self, kind: CustomKind) -> Option<&Served> {
        let info = kind.info();
        self.0.get(&(info.group.to_owned(), info.plural.to_owned()))
    }
}

fn name_of(definition: &CustomResourceDefinition) -> (String, String) {
    (definition.spec.group.clone(), definition.spec.names.plural.clone())
}

impl Served {
    fn read<'a>(&self, object: &'a Object, custom: &CustomObject) -> Cow<'a, Object> {
        let Some(version) = self.versions.get(self.storage.info().version) else { return Cow::Borrowed(object) };
        let mut content = Map::clone(&custom.content);
        coerce::prune(&mut content, &version.schema);
        coerce::default(&mut content, &version.schema);
        if content == *custom.content {
            return Cow::Borrowed(object);
        }
        Cow::Owned(Object::Custom(CustomObject::new(custom.kind(), custom.metadata.clone(), content).into()))
    }

    /// What a definition makes the server serve; nothing before its names are accepted.
    fn of(definition: &CustomResourceDefinition, since: u64) -> Option<Served> {
        let is_true = |condition| is_true(definition, condition);
        if !is_true("Established") && !is_true("NamesAccepted") {
            return None;
        }
        let spec = &definition.spec;
        let kind = |version: &str| kind_of(definition, version);
        let storage = spec.versions.iter().find(|version| version.storage)?;
        let terminating = definition.metadata.deletion_timestamp.is_some() || is_true("Terminating");
        let versions = spec.versions.iter().filter(|version| version.served);
        let versions =
            versions.map(|v| (v.name.clone(), Arc::new(Version::of(v, &spec.versions, kind(&v.name), terminating))));
        Some(Served { versions: versions.collect(), storage: kind(&storage.name), since })
    }
}

impl Version {
    fn of(
        version: &CustomResourceDefinitionVersion,
        all: &[CustomResourceDefinitionVersion],
        kind: CustomKind,
        terminating: bool,
    ) -> Version {
        let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
        let subresources = version.subresources.as_ref();
        let info = kind.info();
        let deprecation = (version.deprecated == Some(true)).then(|| {
            // Mirrors `defaultDeprecationWarning`.
            let standard = || {
                let lasting = all.iter().filter(|other| other.served && other.deprecated != Some(true));
                let newer = lasting.map(|other| &*other.name).filter(|name| age(name) > age(&version.name));
                let instead = newer.max_by_key(|name| age(name));
                let instead = instead.map(|name| format!("; use {}/{name} {}", info.group, info.kind));
                format!("{} {} is deprecated{}", info.api_version, info.kind, instead.unwrap_or_default())
            };
            version.deprecation_warning.clone().unwrap_or_else(standard)
        });
        Version {
            kind,
            schema: schema.map(with_rules).unwrap_or_default(),
            selectable: version.selectable_fields.iter().flatten().map(selectable::name_of).collect(),
            has_status: subresources.is_some_and(|subresources| subresources.status.is_some()),
            scale: subresources.and_then(|subresources| subresources.scale.clone()),
            deprecation,
            terminating,
        }
    }

    /// Fills in what an object leaves out.
    pub fn set_defaults(&self, object: &mut CustomObject) {
        coerce::default(&mut object.content, &self.schema);
    }

    /// Before a create: the status is its writer's.
    pub fn prepare_for_create(&self, object: &mut CustomObject) {
        if self.has_status && object.content.contains_key(STATUS) {
            object.content.remove(STATUS);
        }
        object.metadata.generation = Some(1);
    }

    /// Before an update: the status stays, if it has an endpoint of its own; any other change counts as a generation.
    pub fn prepare_for_update(&self, new: &mut CustomObject, old: &CustomObject) {
        if self.has_status && new.get(STATUS) != old.get(STATUS) {
            match old.get(STATUS) {
                Some(status) => new.content.insert(STATUS.into(), status.clone()),
                None => new.content.remove(STATUS),
            };
        }
        if new.content != old.content {
            new.metadata.generation = Some(old.metadata.generation.unwrap_or(0) + 1);
        }
    }

    /// Before an update of the status: all else stays, metadata too.
    pub fn prepare_for_status_update(new: &mut CustomObject, old: &CustomObject) {
        let status = new.get(STATUS).cloned();
        let mut content = old.content.clone();
        if status.as_ref() != old.get(STATUS) {
            match status {
                Some(status) => content.insert(STATUS.into(), status),
                None => content.remove(STATUS),
            };
        }
        new.metadata.clone_from(&old.metadata);
        new.content = content;
    }

    /// What is wrong with an object. Of its metadata, that is what the schema says of them.
    pub fn validate(&self, problems: &mut Problems, object: &CustomObject, old: Option<&CustomObject>) {
        let old_whole = old.map(whole);
        problems.0.extend(value::validate_object(&whole(object), old_whole.as_ref(), &self.schema));
        scale::validate(problems, object, self.scale.as_ref());
        self.validate_lists(problems, object, old);
        problems.0.extend(rules::validate(&self.schema, object, old, &problems.0));
    }

    /// What is wrong with its status.
    pub fn validate_status(&self, problems: &mut Problems, object: &CustomObject, old: Option<&CustomObject>) {
        let known = self.schema.properties.get(STATUS).zip(object.get(STATUS));
        if let Some((schema, status)) = known {
            problems.0.extend(value::validate(status, old.and_then(|old| old.get(STATUS)), schema, STATUS));
        }
        scale::validate(problems, object, self.scale.as_ref());
        self.validate_lists(problems, object, old);
        problems.0.extend(rules::validate(&self.schema, object, old, &problems.0));
    }

    /// What is wrong with an object that says to be of another kind, after `kind` itself: nothing has set its defaults, and of
    /// the rest only items and rules are looked at. Mirrors `ValidateTypeMeta` and what `strategy.go` does after it.
    pub fn validate_other_kind(&self, problems: &mut Problems, object: &CustomObject) {
        self.validate_lists(problems, object, None);
        problems.0.extend(rules::validate(&self.schema, object, None, &problems.0));
    }

    /// Where items were the same before, they may be.
    fn validate_lists(&self, problems: &mut Problems, object: &CustomObject, old: Option<&CustomObject>) {
        let lists = |object: &CustomObject| value::validate_lists_in(&object.content, &self.schema, "");
        problems.0.extend(if old.is_some_and(|old| !lists(old).is_empty()) { Vec::new() } else { lists(object) });
    }
}

/// All fields of an object, those too that every object has: a schema may require them, and restrict a name.
fn whole(object: &CustomObject) -> Map<String, Value> {
    let mut fields = Map::clone(&object.content);
    let info = object.kind().info();
    fields.insert("apiVersion".to_owned(), info.api_version.into());
    fields.insert("kind".to_owned(), info.kind.into());
    fields.insert("metadata".to_owned(), serde_json::to_value(&object.metadata).unwrap_or_default());
    fields
}

/// The schema of a whole object with its rules.
fn with_rules(props: &JSONSchemaProps) -> Schema {
    let mut schema = Schema::of(props);
    rules::compile(&mut schema, props, true);
    schema
}

const STATUS: &str = "status";
