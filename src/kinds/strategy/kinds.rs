//! In what the kinds' strategies differ, as far as it is a yes or a no.

use crate::object::{Kind, Object};

/// Whether a PUT without resourceVersion is accepted.
pub fn allow_unconditional_update(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Lease
            | Kind::RuntimeClass
            | Kind::CSIDriver
            | Kind::CSINode
            | Kind::CSIStorageCapacity
            | Kind::VolumeAttachment
            | Kind::PodDisruptionBudget
            | Kind::ValidatingAdmissionPolicy
            | Kind::ValidatingAdmissionPolicyBinding
            | Kind::MutatingAdmissionPolicy
            | Kind::MutatingAdmissionPolicyBinding
            | Kind::MutatingWebhookConfiguration
            | Kind::ValidatingWebhookConfiguration
            | Kind::CustomResourceDefinition
            | Kind::Custom(_)
    )
}

/// Whether a PUT of an absent object creates it.
pub fn allow_create_on_update(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Lease
            | Kind::Event
            | Kind::Service
            | Kind::Endpoints
            | Kind::LimitRange
            | Kind::RuntimeClass
            | Kind::Role
            | Kind::RoleBinding
            | Kind::ClusterRole
            | Kind::ClusterRoleBinding
    )
}

/// Whether deletion takes a grace period.
pub fn is_graceful(kind: Kind) -> bool {
    kind == Kind::Pod
}

/// Whether a DELETE answers with the object instead of a Status.
pub fn returns_object_on_delete(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Pod
            | Kind::Service
            | Kind::ServiceAccount
            | Kind::Namespace
            | Kind::ResourceQuota
            | Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::StorageClass
            | Kind::VolumeAttachment
            | Kind::CSIDriver
            | Kind::CSINode
            | Kind::PodTemplate
            | Kind::ResourceClaim
            | Kind::ResourceClaimTemplate
    )
}

/// Whether deleting an object leaves what it owns behind, unless the request says otherwise: so it was when there were
/// only ReplicationControllers, and so it stayed for Jobs. Mirrors `DefaultGarbageCollectionPolicy`.
pub fn orphans_by_default(kind: Kind) -> bool {
    matches!(kind, Kind::ReplicationController | Kind::Job)
}

/// Whether the first DELETE only marks the object: a Namespace goes when somebody finalizes it, a definition when its
/// objects are gone. Mirrors `REST.Delete` of `pkg/registry/core/namespace/storage` and of
/// `pkg/registry/customresourcedefinition`.
pub fn outlives_first_delete(object: &Object) -> bool {
    matches!(object.kind(), Kind::Namespace | Kind::CustomResourceDefinition)
        && object.meta().deletion_timestamp.is_none()
}

/// Whether finalizers in the spec still hold the object: those of a Namespace.
pub fn has_spec_finalizers(object: &Object) -> bool {
    let Object::Namespace(namespace) = object else { return false };
    namespace.spec.as_ref().is_some_and(|spec| spec.finalizers.as_ref().is_some_and(|f| !f.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_differ_in_small_things() {
        assert!(allow_create_on_update(Kind::RuntimeClass) && !allow_unconditional_update(Kind::RuntimeClass));
        assert!(!allow_create_on_update(Kind::StorageClass) && allow_unconditional_update(Kind::StorageClass));
        assert!(returns_object_on_delete(Kind::CSINode) && !returns_object_on_delete(Kind::CSIStorageCapacity));
    }
}
