//! What the collector asks of the API server, about objects of any kind. Mirrors `operations.go`.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

use client::Error;
use object::status::Reason;
use object::{Discovery, Kind, Object};
use wire::{self, Answer, Body, DeleteOptions, Patch, Propagation, Request, Response, Verb};

use super::GarbageCollector;
use super::graph::{Identity, Uid, owners_of};

/// `retry.DefaultBackoff`: a refused write is tried again after these, from the newest version.
const CONFLICT_BACKOFF: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(50), Duration::from_millis(250)];

/// Why an object cannot be looked at.
pub enum Unreachable {
    /// No kind of this name is known to the API server; perhaps later.
    UnknownKind,
    /// A cluster-scoped object names a namespaced owner, which can never be.
    NamespacedOwnerOfClusterScoped,
}

impl GarbageCollector {
    fn request(&self, verb: Verb, kind: Kind, identity: &Identity, body: Body) -> Request {
        let namespace = if kind.info().namespaced { identity.namespace.as_str() } else { "" };
        Request::new(self.client.user().clone(), verb, kind, namespace, &identity.name, body)
    }

    /// The kind to ask for, if there is one to ask for. Mirrors `apiResource`.
    pub(super) fn resource(&self, identity: &Identity) -> Result<Kind, Unreachable> {
        let kind = identity.known_kind(&self.discovery.borrow()).ok_or(Unreachable::UnknownKind)?;
        if kind.info().namespaced && identity.namespace.is_empty() {
            return Err(Unreachable::NamespacedOwnerOfClusterScoped);
        }
        Ok(kind)
    }

    /// The object under this name, as the API server has it; None if there is none.
    pub(super) async fn live(&self, kind: Kind, identity: &Identity) -> Result<Option<Object>, wire::Error> {
        let request = self.request(Verb::Get, kind, identity, Body::None);
        match read(self.client.request(request).await?) {
            Ok(object) => Ok(object),
            Err(status) if status.is_not_found() => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// PATCH. That the object is gone is no error.
    pub(super) async fn patch(&self, kind: Kind, identity: &Identity, patch: Patch) -> Result<(), wire::Error> {
        let request = self.request(Verb::Patch, kind, identity, Body::Patch(patch));
        match read(self.client.request(request).await?) {
            Err(status) if !status.is_not_found() => Err(status),
            _ => Ok(()),
        }
    }

    /// Takes the references to these owners off an object.
    pub(super) async fn remove_owners(
        &self,
        kind: Kind,
        identity: &Identity,
        owners: &[Uid],
    ) -> Result<(), wire::Error> {
        let references: Vec<Value> = owners.iter().map(|uid| json!({"$patch": "delete", "uid": **uid})).collect();
        let strategic = json!({"metadata": {"uid": *identity.uid, "ownerReferences": references}});
        let gone = |uid: &str| owners.iter().any(|owner| **owner == *uid);
        let left = |seen: &[OwnerReference]| seen.iter().filter(|owner| !gone(&owner.uid)).cloned().collect();
        self.patch_owners(kind, identity, strategic, left).await
    }

    /// A strategic merge patch of an object's owners; or, where the API server says that the kind has no type, and so
    /// no tags to merge by, a merge patch of the whole list as it shall be, if the object is still as it was last seen.
    /// Mirrors `patch` of `patch.go`.
    pub(super) async fn patch_owners(
        &self,
        kind: Kind,
        identity: &Identity,
        strategic: Value,
        owners: impl FnOnce(&[OwnerReference]) -> Vec<OwnerReference>,
    ) -> Result<(), wire::Error> {
        match self.patch(kind, identity, Patch::Strategic(strategic)).await {
            Err(status) if status.reason() == Reason::UnsupportedMediaType => {}
            result => return result,
        }
        let known = self.graph.borrow().get(&identity.uid).and_then(|node| node.object().cloned());
        let seen = match known {
            Some(object) => object,
            None => match self.live(kind, identity).await? {
                Some(live) => live,
                None => return Ok(()),
            },
        };
        let owners = owners(owners_of(seen.meta()));
        // What Go prints for a nil slice.
        let owners = if owners.is_empty() { Value::Null } else { json!(owners) };
        let merge = json!({"metadata": {"resourceVersion": resource_version(&seen), "ownerReferences": owners}});
        self.patch(kind, identity, Patch::Merge(merge)).await
    }

    /// DELETE of what `seen` shows. If it has changed meanwhile, but still has the same owners, it goes all the same:
    /// otherwise an object that changes often would never be collected. Mirrors `deleteObject`.
    pub(super) async fn delete(&self, identity: &Identity, seen: &Object, how: Propagation) -> Result<(), wire::Error> {
        let kind = seen.kind();
        let refused = match self.delete_if(kind, identity, resource_version(seen), how).await {
            Err(status) if status.is_conflict() => status,
            result => return result,
        };
        let Some(live) = self.live(kind, identity).await? else { return Ok(()) };
        let same = live.meta().uid.as_deref() == Some(&*identity.uid)
            && live.meta().resource_version != seen.meta().resource_version
            && owners_of(live.meta()) == owners_of(seen.meta());
        if same { self.delete_if(kind, identity, None, how).await } else { Err(refused) }
    }

    async fn delete_if(
        &self,
        kind: Kind,
        identity: &Identity,
        resource_version: Option<String>,
        how: Propagation,
    ) -> Result<(), wire::Error> {
        let uid = Some(identity.uid.to_string());
        let options = DeleteOptions { propagation: Some(how), uid, resource_version, ..DeleteOptions::default() };
        let request = self.request(Verb::Delete, kind, identity, Body::Delete(options));
        match self.client.request(request).await?.result {
            Err(status) if !status.is_not_found() => Err(status),
            _ => Ok(()),
        }
    }

    /// Removes one finalizer from an object, even if its other fields change meanwhile. Mirrors `removeFinalizer`.
    pub(super) async fn remove_finalizer(&self, identity: &Identity, finalizer: &str) -> Result<(), Error> {
        let Ok(kind) = self.resource(identity) else { return Ok(()) };
        let mut waits = CONFLICT_BACKOFF.into_iter();
        loop {
            let Some(live) = self.live(kind, identity).await? else { return Ok(()) };
            let there = live.meta().finalizers.as_deref().unwrap_or_default();
            let left: Vec<&String> = there.iter().filter(|f| *f != finalizer).collect();
            if left.len() == there.len() {
                return Ok(());
            }
            // What Go prints for a nil slice.
            let left = if left.is_empty() { Value::Null } else { json!(left) };
            let patch = json!({"metadata": {"resourceVersion": resource_version(&live), "finalizers": left}});
            match self.patch(kind, identity, Patch::Merge(patch)).await {
                Err(status) if status.is_conflict() => {}
                result => return Ok(result?),
            }
            let Some(wait) = waits.next() else {
                let text = format!("updateMaxRetries({}) has reached.", CONFLICT_BACKOFF.len() + 1);
                let retry = format!("The garbage collector will retry later for owner {identity}");
                return Err(Error::Other(format!("{text} {retry}")));
            };
            self.client.sleep(wait).await;
        }
    }
}

fn read(answer: Answer) -> Result<Option<Object>, wire::Error> {
    match answer.result? {
        Response::Object(object) => Ok(Some(object)),
        _ => Ok(None),
    }
}

fn resource_version(object: &Object) -> Option<String> {
    object.meta().resource_version.clone()
}

/// The owner that a reference names: in the dependent's namespace, if its kind lives in namespaces.
pub fn claimed_owner(discovery: &Discovery, reference: &OwnerReference, dependent: &Identity) -> Identity {
    let mut owner = Identity::claimed(reference, &dependent.namespace);
    if owner.known_kind(discovery).is_some_and(|kind| !kind.info().namespaced) {
        owner.namespace.clear();
    }
    owner
}
