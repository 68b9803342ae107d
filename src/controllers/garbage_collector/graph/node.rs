//! A node of the graph: which object it stands for, as far as is known, and who depends on it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use object::{Accessor, Discovery, Kind, Object};

/// An object's uid. Cloning copies a pointer.
pub type Uid = Rc<str>;

/// Which object a node stands for, as far as is known. Mirrors `objectReference`, and `referenceLessThan` by the order
/// of the fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// `ReplicaSet`.
    pub kind: Cow<'static, str>,
    /// `apps/v1`.
    pub api_version: Cow<'static, str>,
    /// The object's; that of a dependent, where only a reference is known. Empty for a cluster-scoped object.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The uid.
    pub uid: Uid,
}

impl Identity {
    /// The identity of an object that was seen.
    pub fn of(object: &Object) -> Identity {
        let info = object.kind().info();
        Identity {
            api_version: Cow::Borrowed(info.api_version),
            kind: Cow::Borrowed(info.kind),
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            uid: uid_of(object.meta()),
        }
    }

    /// What `reference` says, if its owner lives in `namespace`.
    pub fn claimed(reference: &OwnerReference, namespace: &str) -> Identity {
        Identity {
            api_version: Cow::Owned(reference.api_version.clone()),
            kind: Cow::Owned(reference.kind.clone()),
            namespace: namespace.to_owned(),
            name: reference.name.clone(),
            uid: reference.uid.as_str().into(),
        }
    }

    /// The kind, if the cluster has it.
    pub fn known_kind(&self, discovery: &Discovery) -> Option<Kind> {
        discovery.from_manifest(&self.api_version, &self.kind)
    }

    /// Whether `reference` names this object; the namespace is not compared.
    pub(super) fn is_named_by(&self, reference: &OwnerReference) -> bool {
        *self.uid == *reference.uid
            && self.name == reference.name
            && self.kind == reference.kind
            && self.api_version == reference.api_version
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { api_version, kind, namespace, name, uid } = self;
        write!(f, "[{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {uid}]")
    }
}

/// One object in the graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// Which object it is, or is claimed to be.
    pub identity: Rc<Identity>,
    /// As last seen; none for a virtual node.
    pub(super) object: Option<Object>,
    /// It is being deleted in the foreground: its dependents go first. It stays so to the end.
    pub deleting_dependents: bool,
    /// Those that name it as an owner.
    pub dependents: BTreeSet<Uid>,
    /// Those of them that hold up its foreground deletion.
    pub(super) blocking: BTreeSet<Uid>,
    /// Those of `blocking` that are not being deleted yet.
    pub(super) undeleted: BTreeSet<Uid>,
}

impl Node {
    pub(super) fn new(identity: Identity, object: Option<Object>) -> Node {
        Node {
            identity: Rc::new(identity),
            object,
            deleting_dependents: false,
            dependents: BTreeSet::new(),
            blocking: BTreeSet::new(),
            undeleted: BTreeSet::new(),
        }
    }

    /// The object, as last seen.
    pub fn object(&self) -> Option<&Object> {
        self.object.as_ref()
    }

    /// Whether an informer has told of it.
    pub fn is_observed(&self) -> bool {
        self.object.is_some()
    }

    /// Whether it is being deleted.
    pub fn being_deleted(&self) -> bool {
        self.object.as_ref().is_some_and(|object| object.meta().deletion_timestamp.is_some())
    }

    /// Its owner references, as last seen.
    pub fn owners(&self) -> &[OwnerReference] {
        self.object.as_ref().map_or(&[], |object| owners_of(object.meta()))
    }

    /// Whether nothing holds up its foreground deletion.
    pub fn is_unblocked(&self) -> bool {
        self.blocking.is_empty()
    }

    /// Whether `dependent` is one of those that hold up its foreground deletion.
    pub fn is_blocked_by(&self, dependent: &Node) -> bool {
        self.blocking.contains(&dependent.identity.uid)
    }

    /// Those that hold up its foreground deletion, and that are not being deleted yet.
    pub fn undeleted(&self) -> impl Iterator<Item = &Uid> {
        self.undeleted.iter()
    }
}

/// The uid of an object.
pub(super) fn uid_of(meta: &ObjectMeta) -> Uid {
    meta.uid().into()
}

/// The owner references of an object.
pub fn owners_of(meta: &ObjectMeta) -> &[OwnerReference] {
    meta.owner_references.as_deref().unwrap_or_default()
}
