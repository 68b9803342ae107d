//! Claiming: who owns what a selector selects.
//!
//! A controller works on the objects that it owns and that its selector matches. One that it owns but that does not
//! match any more (a client changed a label) is released; one that matches and has no owner is adopted. Both are
//! patches with the object's uid in them, so that they cannot hit another object that took its name.
//! Mirrors `pkg/controller/controller_ref_manager.go`.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use client::{Client, Error};
use object::meta::{controller_of, controller_ref};
use object::selector::Selector;
use object::status::Reason;
use object::{Accessor, Key, Resource, status};
use wire::Patch;

/// Claims objects for one owner during one sync.
pub struct Claimer<'a, O> {
    /// Asks as the controller.
    pub client: &'a Client,
    /// Who claims.
    pub owner: &'a O,
    /// What it claims.
    pub selector: &'a Selector,
    /// Finalizers that adoption adds and release takes away: a Job's Pods carry one.
    pub finalizers: &'a [&'a str],
    /// Told of the resourceVersion of every patch made.
    pub patched: &'a dyn Fn(Option<&str>),
}

/// What is to be done about one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Another's, or none of our business.
    Ignore,
    /// Ours.
    Keep,
    /// Ours, but not selected any more.
    Release,
    /// Without an owner, and selected.
    Adopt,
}

impl<O: Resource> Claimer<'_, O> {
    /// Those of `candidates` that the owner has after adoption and release. All are tried; the errors are told
    /// together. Mirrors `BaseControllerRefManager.ClaimObject`.
    pub async fn claim<T: Resource>(&self, candidates: Vec<Arc<T>>) -> Result<Vec<Arc<T>>, Error> {
        self.claim_by(candidates, |candidate| verdict(self.owner.metadata(), self.selector, candidate.metadata())).await
    }

    /// The same by another rule.
    pub async fn claim_by<T: Resource>(
        &self,
        candidates: Vec<Arc<T>>,
        verdict: impl Fn(&T) -> Verdict,
    ) -> Result<Vec<Arc<T>>, Error> {
        let mut claimed = Vec::with_capacity(candidates.len());
        let mut errors = Vec::new();
        let mut may_adopt = None;
        for candidate in candidates {
            let kept = match verdict(&candidate) {
                Verdict::Ignore => Ok(false),
                Verdict::Keep => Ok(true),
                Verdict::Release => self.release(&*candidate).await.map(|()| false),
                Verdict::Adopt => {
                    // The cache may show an owner that is gone already: look once a sync, at the API server.
                    if may_adopt.is_none() {
                        may_adopt = Some(self.may_adopt().await);
                    }
                    self.adopt(&*candidate, may_adopt.as_ref().and_then(|result| result.as_ref().err())).await
                }
            };
            match kept {
                Ok(true) => claimed.push(candidate),
                Ok(false) => {}
                Err(error) => errors.push(error),
            }
        }
        aggregate(errors).map_or(Ok(claimed), Err)
    }

    /// Whether the owner is still the object that the cache shows. Mirrors `RecheckDeletionTimestamp`.
    async fn may_adopt(&self) -> Result<(), String> {
        let meta = self.owner.metadata();
        let key = Key::of_meta(meta);
        let fresh = self.client.get::<O>(key.namespace(), key.name()).await.map_err(|status| status.to_string())?;
        let (got, wanted) = (fresh.metadata().uid.as_deref(), meta.uid.as_deref());
        if got != wanted {
            let (kind, got, wanted) = (O::kind(), got.unwrap_or_default(), wanted.unwrap_or_default());
            return Err(format!("original {kind} {key} is gone: got uid {got}, wanted {wanted}"));
        }
        match &fresh.metadata().deletion_timestamp {
            Some(at) => Err(format!("{key} has just been deleted at {}", at.0)),
            None => Ok(()),
        }
    }

    async fn adopt<T: Resource>(&self, candidate: &T, refusal: Option<&String>) -> Result<bool, Error> {
        let key = Key::of_meta(candidate.metadata());
        if let Some(refusal) = refusal {
            let uid = candidate.metadata().uid();
            return Err(Error::Other(format!("can't adopt {} {key} ({uid}): {refusal}", T::kind())));
        }
        let patch = adoption(candidate.metadata().uid.as_deref(), self.owner, self.finalizers);
        match self.client.patch::<T>(key.namespace(), key.name(), Patch::Strategic(patch)).await {
            Ok(patched) => {
                (self.patched)(patched.metadata().resource_version.as_deref());
                Ok(true)
            }
            Err(status) if status.is_not_found() => Ok(false),
            Err(status) => Err(status.into()),
        }
    }

    async fn release<T: Resource>(&self, candidate: &T) -> Result<(), Error> {
        let key = Key::of_meta(candidate.metadata());
        let owner = self.owner.metadata().uid.as_deref();
        let patch = release(candidate.metadata().uid.as_deref(), owner, self.finalizers);
        match self.client.patch::<T>(key.namespace(), key.name(), Patch::Strategic(patch)).await {
            Ok(patched) => {
                (self.patched)(patched.metadata().resource_version.as_deref());
                Ok(())
            }
            // Gone, or not ours any more: what was wanted has happened.
            Err(error) if matches!(error.reason(), Reason::NotFound | Reason::Invalid) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The rule of all controllers.
pub fn verdict(owner: &ObjectMeta, selector: &Selector, candidate: &ObjectMeta) -> Verdict {
    let selected = selector.matches(candidate.labels.as_ref());
    let owner_deleted = owner.deletion_timestamp.is_some();
    match controller_of(candidate) {
        Some(controller) if Some(&controller.uid) != owner.uid.as_ref() => Verdict::Ignore,
        Some(_) if selected => Verdict::Keep,
        Some(_) if owner_deleted => Verdict::Ignore,
        Some(_) => Verdict::Release,
        None if owner_deleted || !selected || candidate.deletion_timestamp.is_some() => Verdict::Ignore,
        None if owner.namespace != candidate.namespace => Verdict::Ignore,
        None => Verdict::Adopt,
    }
}

/// The patch that makes `owner` the controller of the object with this uid.
fn adoption<O: Resource>(uid: Option<&str>, owner: &O, finalizers: &[&str]) -> Value {
    let mut metadata = json!({"uid": uid, "ownerReferences": [controller_ref(owner)]});
    if !finalizers.is_empty() {
        metadata["finalizers"] = json!(finalizers);
    }
    json!({"metadata": metadata})
}

/// The patch that takes the owner's reference away. Mirrors `GenerateDeleteOwnerRefStrategicMergeBytes`.
fn release(uid: Option<&str>, owner: Option<&str>, finalizers: &[&str]) -> Value {
    let mut metadata = json!({"uid": uid, "ownerReferences": [{"$patch": "delete", "uid": owner}]});
    if !finalizers.is_empty() {
        metadata["$deleteFromPrimitiveList/finalizers"] = json!(finalizers);
    }
    json!({"metadata": metadata})
}

/// Several errors as one, None if there are none. What is said twice is told once. Mirrors `utilerrors.NewAggregate`.
pub fn aggregate(mut errors: Vec<Error>) -> Option<Error> {
    if errors.len() < 2 {
        return errors.pop();
    }
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    Some(Error::Other(status::aggregate(&texts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(value: Value) -> ObjectMeta {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn who_owns_what() {
        let selector = Selector::parse("app=web").unwrap();
        let owned_by =
            |uid: &str| json!([{"apiVersion": "v1", "kind": "K", "name": "n", "uid": uid, "controller": true}]);
        let deleted = "2026-01-01T00:00:00Z";
        for (what, owner_deleted, candidate, want) in [
            ("another's", false, json!({"labels": {"app": "web"}, "ownerReferences": owned_by("u2")}), Verdict::Ignore),
            ("ours", false, json!({"labels": {"app": "web"}, "ownerReferences": owned_by("u1")}), Verdict::Keep),
            ("ours, of a dying owner", true, json!({"ownerReferences": owned_by("u1")}), Verdict::Ignore),
            ("relabelled", false, json!({"labels": {"app": "x"}, "ownerReferences": owned_by("u1")}), Verdict::Release),
            ("an orphan", false, json!({"labels": {"app": "web"}}), Verdict::Adopt),
            ("a dying orphan", false, json!({"labels": {"app": "web"}, "deletionTimestamp": deleted}), Verdict::Ignore),
            ("an orphan of a dying owner", true, json!({"labels": {"app": "web"}}), Verdict::Ignore),
            ("an orphan elsewhere", false, json!({"labels": {"app": "web"}, "namespace": "b"}), Verdict::Ignore),
            ("a stranger", false, json!({"labels": {"app": "db"}}), Verdict::Ignore),
        ] {
            let owner =
                if owner_deleted { json!({"uid": "u1", "deletionTimestamp": deleted}) } else { json!({"uid": "u1"}) };
            assert_eq!(verdict(&meta(owner), &selector, &meta(candidate)), want, "{what}");
        }
    }

    #[test]
    fn several_errors_are_told_as_one() {
        for (errors, want) in
            [(vec![], None), (vec!["a"], Some("a")), (vec!["a", "b", "a"], Some("[a, b]")), (vec!["a", "a"], Some("a"))]
        {
            let errors = errors.iter().map(|text| Error::Other((*text).to_owned())).collect();
            assert_eq!(aggregate(errors).map(|error| error.to_string()).as_deref(), want);
        }
    }

    #[test]
    fn patches_name_the_uid() {
        let release = release(Some("pod-uid"), Some("owner-uid"), &["f"]);
        let want = json!({"metadata": {"uid": "pod-uid", "ownerReferences": [{"$patch": "delete", "uid": "owner-uid"}],
            "$deleteFromPrimitiveList/finalizers": ["f"]}});
        assert_eq!(release, want);
        let owner: k8s_openapi::api::apps::v1::ReplicaSet =
            serde_json::from_value(json!({"metadata": {"name": "web", "uid": "owner-uid"}})).unwrap();
        let want = json!({"metadata": {"uid": "pod-uid", "ownerReferences": [{"apiVersion": "apps/v1",
            "kind": "ReplicaSet", "name": "web", "uid": "owner-uid", "controller": true, "blockOwnerDeletion": true}]}});
        assert_eq!(adoption(Some("pod-uid"), &owner, &[]), want);
    }
}
