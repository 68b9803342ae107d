//! Metadata in use: keys, names, owners.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::{Kind, Object, Resource};

/// `namespace/name`, or just the name of a cluster-scoped object: what caches and work queues hold.
/// Mirrors `cache.MetaNamespaceKeyFunc` of client-go. Cloning copies a pointer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// `namespace` is empty for a cluster-scoped object.
    pub fn new(namespace: &str, name: &str) -> Key {
        if namespace.is_empty() { Key(name.into()) } else { Key([namespace, "/", name].concat().into()) }
    }

    /// A key as it is printed.
    pub fn parse(text: &str) -> Key {
        Key(text.into())
    }

    /// The key of an object.
    pub fn of(object: &Object) -> Key {
        Key::of_meta(object.meta())
    }

    /// The key of an object with this metadata.
    pub fn of_meta(meta: &ObjectMeta) -> Key {
        Key::new(meta.namespace(), meta.name())
    }

    /// Empty for a cluster-scoped object.
    pub fn namespace(&self) -> &str {
        self.0.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The name without the namespace.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// The key as it is printed.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What an object is known by, read off its metadata: empty where nothing is said. Mirrors `meta.Accessor` of apimachinery.
pub trait Accessor {
    /// The name. Empty before a `generateName` has become one.
    fn name(&self) -> &str;
    /// The namespace. Empty for a cluster-scoped object.
    fn namespace(&self) -> &str;
    /// The uid. Empty before the API server has given one.
    fn uid(&self) -> &str;
}

impl Accessor for ObjectMeta {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    fn uid(&self) -> &str {
        self.uid.as_deref().unwrap_or_default()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The owner that has `controller: true`, if any.
pub fn controller_of(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.as_deref().unwrap_or_default().iter().find(|owner| owner.controller == Some(true))
}

/// The reference a controller writes into what it makes for `owner`.
/// Mirrors `metav1.NewControllerRef`.
pub fn controller_ref<T: Resource>(owner: &T) -> OwnerReference {
    let info = T::kind().info();
    let meta = owner.metadata();
    OwnerReference {
        api_version: info.api_version.to_owned(),
        kind: info.kind.to_owned(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Whether the object has this finalizer.
pub fn has_finalizer(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.finalizers.iter().flatten().any(|there| there == finalizer)
}

/// The metadata of an object's `Scale`.
pub fn scale_metadata(meta: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        name: meta.name.clone(),
        namespace: meta.namespace.clone(),
        uid: meta.uid.clone(),
        resource_version: meta.resource_version.clone(),
        creation_timestamp: meta.creation_timestamp.clone(),
        ..ObjectMeta::default()
    }
}

/// `Kind/name`, as describe pages and Events name an object.
pub fn kind_name(kind: Kind, name: &str) -> String {
    format!("{kind}/{name}")
}
