//! Where objects live in the store. Mirrors `pkg/registry` and `storage/etcd3`.

use crate::object::Kind;

/// The etcd path of a kind: `/registry/pods/`, `/registry/minions/` …
pub fn prefix(kind: Kind) -> &'static str {
    macro_rules! paths {
        ($($kind:ident => $path:literal,)*) => { match kind {
            $(Kind::$kind => concat!("/registry/", $path, "/"),)*
            Kind::Custom(kind) => kind.prefix(),
        } };
    }
    paths! {
        Namespace => "namespaces",
        Node => "minions",
        Pod => "pods",
        Service => "services/specs",
        ConfigMap => "configmaps",
        Secret => "secrets",
        ServiceAccount => "serviceaccounts",
        Event => "events",
        Deployment => "deployments",
        ReplicaSet => "replicasets",
        Lease => "leases",
        PriorityClass => "priorityclasses",
        Role => "roles",
        RoleBinding => "rolebindings",
        ClusterRole => "clusterroles",
        ClusterRoleBinding => "clusterrolebindings",
        PersistentVolume => "persistentvolumes",
        PersistentVolumeClaim => "persistentvolumeclaims",
        StorageClass => "storageclasses",
        VolumeAttachment => "volumeattachments",
        CSIDriver => "csidrivers",
        CSINode => "csinodes",
        Endpoints => "services/endpoints",
        EndpointSlice => "endpointslices",
        IPAddress => "ipaddresses",
        ServiceCIDR => "servicecidrs",
        ReplicationController => "controllers",
        DaemonSet => "daemonsets",
        StatefulSet => "statefulsets",
        ControllerRevision => "controllerrevisions",
        Job => "jobs",
        CronJob => "cronjobs",
        Ingress => "ingress",
        IngressClass => "ingressclasses",
        NetworkPolicy => "networkpolicies",
        ResourceQuota => "resourcequotas",
        LimitRange => "limitranges",
        PodDisruptionBudget => "poddisruptionbudgets",
        HorizontalPodAutoscaler => "horizontalpodautoscalers",
        ValidatingAdmissionPolicy => "validatingadmissionpolicies",
        ValidatingAdmissionPolicyBinding => "validatingadmissionpolicybindings",
        MutatingAdmissionPolicy => "mutatingadmissionpolicies",
        MutatingAdmissionPolicyBinding => "mutatingadmissionpolicybindings",
        MutatingWebhookConfiguration => "mutatingwebhookconfigurations",
        ValidatingWebhookConfiguration => "validatingwebhookconfigurations",
        CustomResourceDefinition => "apiextensions.k8s.io/customresourcedefinitions",
        RuntimeClass => "runtimeclasses",
        PodTemplate => "podtemplates",
        CSIStorageCapacity => "csistoragecapacities",
        ResourceClaim => "resourceclaims",
        ResourceClaimTemplate => "resourceclaimtemplates",
        // Nothing ever lies there.
        Binding => "bindings",
        ComponentStatus => "componentstatuses",
        SelfSubjectReview => "selfsubjectreviews",
        TokenReview => "tokenreviews",
        LocalSubjectAccessReview => "localsubjectaccessreviews",
        SelfSubjectAccessReview => "selfsubjectaccessreviews",
        SelfSubjectRulesReview => "selfsubjectrulesreviews",
        SubjectAccessReview => "subjectaccessreviews",
    }
}

/// What the API server warns of whenever somebody asks for a kind that has had its time.
pub fn deprecation(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Endpoints => Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        Kind::ComponentStatus => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}

/// The etcd key of one object: `/registry/pods/default/web`.
pub fn key(kind: Kind, namespace: &str, name: &str) -> String {
    if kind.info().namespaced { [prefix(kind), namespace, "/", name].concat() } else { [prefix(kind), name].concat() }
}

/// The key prefix of all objects of a kind, in one namespace or (empty) in all.
pub fn list_prefix(kind: Kind, namespace: &str) -> String {
    if namespace.is_empty() || !kind.info().namespaced {
        prefix(kind).to_owned()
    } else {
        format!("{}{namespace}/", prefix(kind))
    }
}
