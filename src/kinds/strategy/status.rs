//! Which kinds have a `status` subresource, and what either endpoint leaves as it was.

use std::sync::Arc;

use crate::object::{Kind, Object};

macro_rules! status_subresource {
    (with { $($with:ident)* } without { $($without:ident)* }) => {
        /// Whether a kind has a `status` subresource. Of a kind that a user defines, its definition says so.
        pub fn has_status(kind: Kind) -> bool {
            match kind {
                $(Kind::$with)|* | Kind::Custom(_) => true,
                $(Kind::$without)|* => false,
            }
        }

        /// At the main endpoint the status stays as it was.
        pub(super) fn keep_status(new: &mut Object, old: &Object) {
            match (new, old) {
                $((Object::$with(new), Object::$with(old)) => keep(new, |n| &mut n.status, &old.status),)*
                _ => {}
            }
        }

        /// At that of the status the spec does.
        pub(super) fn keep_spec(new: &mut Object, old: &Object) {
            match (new, old) {
                $((Object::$with(new), Object::$with(old)) => keep(new, |n| &mut n.spec, &old.spec),)*
                _ => {}
            }
        }
    };
}

#[rustfmt::skip]
status_subresource! {
    with {
        Pod Deployment ReplicaSet ReplicationController DaemonSet StatefulSet Job CronJob
        PodDisruptionBudget HorizontalPodAutoscaler
        Namespace Node ResourceQuota
        Service Ingress ServiceCIDR
        PersistentVolume PersistentVolumeClaim VolumeAttachment ResourceClaim
        ValidatingAdmissionPolicy CustomResourceDefinition
    }
    without {
        ConfigMap Secret ServiceAccount Event Lease PriorityClass RuntimeClass LimitRange
        Role RoleBinding ClusterRole ClusterRoleBinding
        Endpoints EndpointSlice IPAddress NetworkPolicy IngressClass
        ControllerRevision PodTemplate
        StorageClass CSIDriver CSINode CSIStorageCapacity ResourceClaimTemplate
        ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
        MutatingWebhookConfiguration ValidatingWebhookConfiguration
        Binding ComponentStatus SelfSubjectReview TokenReview
        LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
    }
}

/// Puts a field back to what it was, if it differs.
pub(super) fn keep<T: Clone, F: Clone + PartialEq>(new: &mut Arc<T>, field: fn(&mut T) -> &mut F, old: &F) {
    let there = field(Arc::make_mut(new));
    if there != old {
        *there = old.clone();
    }
}
