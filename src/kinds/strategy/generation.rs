//! `metadata.generation`: of which kinds it counts, and by what.

use crate::object::{Kind, Object};

macro_rules! generations {
    (
        counted { $($kind:ident: $($($field:ident).+),+;)* }
        from_first_change { $($later:ident: $($later_field:ident).+;)* }
        never { $($other:ident)* }
    ) => {
        /// Whether a new object of a kind is of generation 1.
        pub(super) fn is_counted(kind: Kind) -> bool {
            match kind {
                $(Kind::$kind)|* | Kind::Custom(_) => true,
                $(Kind::$later)|* | $(Kind::$other)|* => false,
            }
        }

        /// Whether an update asks for something else, and so makes a new generation. An object of a kind that a user has
        /// defined has been numbered by then, by what is known of its kind.
        pub(super) fn is_next(new: &Object, old: &Object) -> bool {
            match (new, old) {
                $((Object::$kind(new), Object::$kind(old)) => $(new.$($field).+ != old.$($field).+)||+,)*
                $((Object::$later(new), Object::$later(old)) => new.$($later_field).+ != old.$($later_field).+,)*
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
        NetworkPolicy: spec;
        Ingress: spec;
        IngressClass: spec;
        PodDisruptionBudget: spec;
        // It stays the first: the value cannot be changed, and nothing else counts.
        PriorityClass: value;
        ValidatingAdmissionPolicy: spec;
        ValidatingAdmissionPolicyBinding: spec;
        MutatingAdmissionPolicy: spec;
        MutatingAdmissionPolicyBinding: spec;
        MutatingWebhookConfiguration: webhooks;
        ValidatingWebhookConfiguration: webhooks;
        CustomResourceDefinition: spec;
    }
    from_first_change {
        CSIDriver: spec;
    }
    never {
        Namespace Node Service ConfigMap Secret ServiceAccount Event Lease RuntimeClass IPAddress ServiceCIDR
        ResourceQuota LimitRange HorizontalPodAutoscaler Role RoleBinding ClusterRole ClusterRoleBinding
        Endpoints ControllerRevision
        PersistentVolume PersistentVolumeClaim StorageClass VolumeAttachment
        CSINode CSIStorageCapacity ResourceClaim ResourceClaimTemplate
        Binding ComponentStatus SelfSubjectReview TokenReview
        LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn some_kinds_begin_at_one_and_some_never() {
        for (kind, counted) in [
            (Kind::Deployment, true),
            (Kind::PriorityClass, true),
            (Kind::PodDisruptionBudget, true),
            (Kind::CSIDriver, false),
            (Kind::IPAddress, false),
            (Kind::ServiceCIDR, false),
            (Kind::ResourceQuota, false),
        ] {
            assert_eq!(is_counted(kind), counted, "{kind}");
        }
    }

    #[test]
    fn a_driver_counts_from_its_first_change() {
        let driver = |republish: bool| {
            let driver = json!({"metadata": {"name": "d"}, "spec": {"requiresRepublish": republish}});
            Kind::CSIDriver.decode(driver).expect("the driver decodes")
        };
        assert!(is_next(&driver(true), &driver(false)));
        assert!(!is_next(&driver(true), &driver(true)));
    }
}
