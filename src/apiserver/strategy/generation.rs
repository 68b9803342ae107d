//! `metadata.generation`: of which kinds it counts, and by what.

use crate::object::{Kind, Object};

macro_rules! generations {
    (counted { $($kind:ident: $($($field:ident).+),+;)* } never { $($other:ident)* }) => {
        /// Whether the generations of a kind count.
        pub(super) fn is_counted(kind: Kind) -> bool {
            match kind {
                $(Kind::$kind)|* | Kind::Custom(_) => true,
                $(Kind::$other)|* => false,
            }
        }

        /// Whether an update asks for something else, and so makes a new generation. An object of a kind that a user has
        /// defined has been numbered by then, by what is known of its kind.
        pub(super) fn is_next(new: &Object, old: &Object) -> bool {
            match (new, old) {
                $((Object::$kind(new), Object::$kind(old)) => $(new.$($field).+ != old.$($field).+)||+,)*
                _ => false,
            }
        }
    };
}

// Each kind with the fields that say what is asked for.
#[rustfmt::skip]
generations! {
    counted {
        Pod: spec;
        Deployment: spec, metadata.annotations;
        ReplicaSet: spec;
        ReplicationController: spec;
        DaemonSet: spec;
        StatefulSet: spec;
        Job: spec;
        CronJob: spec;
        PodTemplate: template;
        EndpointSlice: metadata.labels, address_type, endpoints, ports;
        IPAddress: spec;
        ServiceCIDR: spec;
        NetworkPolicy: spec;
        Ingress: spec;
        IngressClass: spec;
        PodDisruptionBudget: spec;
        ValidatingAdmissionPolicy: spec;
        ValidatingAdmissionPolicyBinding: spec;
        MutatingAdmissionPolicy: spec;
        MutatingAdmissionPolicyBinding: spec;
        MutatingWebhookConfiguration: webhooks;
        ValidatingWebhookConfiguration: webhooks;
        CustomResourceDefinition: spec;
    }
    never {
        Namespace Node Service ConfigMap Secret ServiceAccount Event Lease PriorityClass RuntimeClass
        ResourceQuota LimitRange HorizontalPodAutoscaler Role RoleBinding ClusterRole ClusterRoleBinding
        Endpoints ControllerRevision
        PersistentVolume PersistentVolumeClaim StorageClass VolumeAttachment
        CSIDriver CSINode CSIStorageCapacity ResourceClaim ResourceClaimTemplate
        Binding ComponentStatus SelfSubjectReview TokenReview
        LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
    }
}
