//! The table of kinds, and [`Object`], a shared object of any of them.
//!
//! Mirrors the scheme and the REST mapping of `k8s.io/apimachinery`: which group, version and plural a kind
//! has, whether it lives in a namespace, and what kubectl may call it. Kinds that users define come on top
//! ([`super::custom`]).
//!
//! Of most kinds there are objects, which the API server keeps. Some are only asked about: a client that creates a review gets it
//! back with an answer in it, and that is the end of it. These have rows of their own.

use std::sync::Arc;

use k8s_openapi::Resource as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::custom::{CustomKind, CustomObject};
use super::json::Json;
use super::meta::Accessor;
use super::read::{self, Reader};

/// What the cluster knows of a kind before it has seen any object of it.
#[derive(Debug)]
pub struct KindInfo {
    /// CamelCase singular, as in a manifest: `Deployment`.
    pub kind: &'static str,
    /// API group, empty for core.
    pub group: &'static str,
    /// API version: `v1`.
    pub version: &'static str,
    /// `group/version`, or just the version for core.
    pub api_version: &'static str,
    /// Lowercase plural, as in URLs: `deployments`.
    pub plural: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What kubectl also accepts: `deploy`.
    pub short_names: &'static [&'static str],
}

impl KindInfo {
    /// Lowercase singular, as kubectl prints it: `deployment`.
    pub fn singular(&self) -> String {
        self.kind.to_ascii_lowercase()
    }

    /// `deployments.apps`, or `pods` in the core group: how errors name a resource.
    pub fn qualified_plural(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// `Deployment.apps`, or `Pod` in the core group: how validation errors name a kind.
    pub fn qualified_kind(&self) -> String {
        if self.group.is_empty() { self.kind.to_owned() } else { format!("{}.{}", self.kind, self.group) }
    }
}

/// A typed object that the table has a row for.
pub trait Resource:
    Clone
    + std::fmt::Debug
    + PartialEq
    + serde::Serialize
    + serde::de::DeserializeOwned
    + k8s_openapi::Metadata<Ty = ObjectMeta>
    + Send
    + Sync
    + 'static
{
    /// The kind.
    fn kind() -> Kind;
    /// The typed object inside `object`, if it is of this kind.
    fn from_object(object: &Object) -> Option<&Arc<Self>>;
    /// The same, to be changed.
    fn from_object_mut(object: &mut Object) -> Option<&mut Arc<Self>>;
    /// The object as one of any kind.
    fn into_object(self: Arc<Self>) -> Object;
}

impl Kind {
    /// Reads an object of this kind from JSON, leniently: unknown fields are dropped.
    ///
    /// # Errors
    /// What Go's decoder says of the first value that does not fit.
    pub fn decode(self, value: Value) -> Result<Object, String> {
        read::object(self, &Json::of(&value)).map(|(object, _)| object).map_err(|error| error.to_string())
    }
}

/// Both parts of the table: of all rows the types, and of each part the list.
macro_rules! kinds {
    (kept { $($kept:tt)* } never kept { $($never_kept:tt)* }) => {
        rows! { $($kept)* $($never_kept)* }

        impl Kind {
            /// Every built-in kind whose objects are kept, in table order.
            pub const ALL: &'static [Kind] = kinds! { list $($kept)* };
            /// Every kind that is only asked about: something is sent and answered, and nothing is stored.
            pub const NEVER_KEPT: &'static [Kind] = kinds! { list $($never_kept)* };
        }
    };
    (list $($kind:ident: $path:path, $plural:literal, $namespaced:literal, [$($short:literal),*];)*) => {
        &[$(Kind::$kind,)*]
    };
}

macro_rules! rows {
    ($($kind:ident: $path:path, $plural:literal, $namespaced:literal, [$($short:literal),*];)*) => {
        /// A kind of object, in the order of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(#[doc = concat!("`", stringify!($kind), "`")] $kind,)*
            /// A kind that a user has defined.
            Custom(CustomKind),
        }

        impl Kind {
            /// The kind's row.
            pub const fn info(self) -> &'static KindInfo {
                match self {
                    $(Kind::$kind => {
                        const INFO: KindInfo = KindInfo {
                            kind: <$path>::KIND, group: <$path>::GROUP, version: <$path>::VERSION,
                            api_version: <$path>::API_VERSION, plural: $plural, namespaced: $namespaced,
                            short_names: &[$($short),*],
                        };
                        &INFO
                    })*
                    Kind::Custom(kind) => kind.info(),
                }
            }

            /// Which row of the table it is, from 0; none of a kind that a user has defined.
            pub const fn index(self) -> Option<usize> {
                enum Place { $($kind,)* }
                match self {
                    $(Kind::$kind => Some(Place::$kind as usize),)*
                    Kind::Custom(_) => None,
                }
            }

            /// Reads an object of this kind.
            pub(super) fn read(self, reader: Reader<'_>) -> Result<Object, read::Error> {
                match self {
                    $(Kind::$kind => Ok(Object::$kind(Arc::new(serde::Deserialize::deserialize(reader)?))),)*
                    Kind::Custom(kind) => Ok(Object::Custom(Arc::new(CustomObject::read(kind, reader)?))),
                }
            }
        }

        /// One object of any kind, shared. Cloning it copies a pointer.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Object {
            $(#[doc = concat!("A `", stringify!($kind), "`")] $kind(Arc<$path>),)*
            /// An object of a kind that a user has defined.
            Custom(Arc<CustomObject>),
        }

        impl Object {
            /// Its kind.
            pub fn kind(&self) -> Kind {
                match self { $(Object::$kind(_) => Kind::$kind,)* Object::Custom(o) => Kind::Custom(o.kind()) }
            }

            /// Its metadata.
            pub fn meta(&self) -> &ObjectMeta {
                match self { $(Object::$kind(o) => &o.metadata,)* Object::Custom(o) => &o.metadata }
            }

            /// The metadata to change; the object is copied first if anyone else holds it.
            pub fn meta_mut(&mut self) -> &mut ObjectMeta {
                match self {
                    $(Object::$kind(o) => &mut Arc::make_mut(o).metadata,)*
                    Object::Custom(o) => &mut Arc::make_mut(o).metadata,
                }
            }

            /// The object as the API prints it.
            pub fn to_json(&self) -> Value {
                let mut value = match self {
                    $(Object::$kind(o) => serde_json::to_value(&**o),)*
                    Object::Custom(o) => serde_json::to_value(&**o),
                }
                .expect("a typed object has string keys and finite numbers, so it prints as JSON");
                // No other built-in kind has numbers that may have a point.
                if matches!(self, Object::CustomResourceDefinition(_)) {
                    super::json::go_numbers(&mut value);
                }
                value
            }

            /// The same as the API server prints it: with the unset fields that Go prints all the same.
            pub fn printed(&self) -> Value {
                let mut value = self.to_json();
                if let (Value::Object(fields), Some(type_)) = (&mut value, super::versions::go_type(self.kind())) {
                    super::go_types::complete_object(type_, self.kind().is_kept(), fields);
                }
                value
            }

            /// The typed object, for a caller that knows its type in another way.
            pub fn as_any(&self) -> Arc<dyn std::any::Any + Send + Sync> {
                match self { $(Object::$kind(o) => o.clone(),)* Object::Custom(o) => o.clone() }
            }

            /// Whether both are the very same version in memory.
            pub fn same(&self, other: &Object) -> bool {
                match (self, other) {
                    $((Object::$kind(a), Object::$kind(b)) => Arc::ptr_eq(a, b),)*
                    (Object::Custom(a), Object::Custom(b)) => Arc::ptr_eq(a, b),
                    _ => false,
                }
            }
        }

        $(impl Resource for $path {
            fn kind() -> Kind { Kind::$kind }
            fn from_object(object: &Object) -> Option<&Arc<Self>> {
                match object { Object::$kind(o) => Some(o), _ => None }
            }
            fn from_object_mut(object: &mut Object) -> Option<&mut Arc<Self>> {
                match object { Object::$kind(o) => Some(o), _ => None }
            }
            fn into_object(self: Arc<Self>) -> Object { Object::$kind(self) }
        })*
    };
}

use k8s_openapi::api::{
    admissionregistration::v1 as admission, apps::v1 as apps, autoscaling::v2 as autoscaling, batch::v1 as batch,
    coordination::v1 as coordination, core::v1 as core, node::v1 as node,
};
use k8s_openapi::api::{authentication::v1 as authentication, authorization::v1 as authorization};
use k8s_openapi::api::{certificates::v1 as certificates, flowcontrol::v1 as flowcontrol};
use k8s_openapi::api::{discovery::v1 as discovery, networking::v1 as networking, policy::v1 as policy};
use k8s_openapi::api::{
    rbac::v1 as rbac, resource::v1 as resource, scheduling::v1 as scheduling, storage::v1 as storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1 as apiregistration;

kinds! {
    kept {
        Namespace: core::Namespace, "namespaces", false, ["ns"];
        Node: core::Node, "nodes", false, ["no"];
        Pod: super::pod::Pod, "pods", true, ["po"];
        Service: core::Service, "services", true, ["svc"];
        ConfigMap: core::ConfigMap, "configmaps", true, ["cm"];
        Secret: core::Secret, "secrets", true, [];
        ServiceAccount: core::ServiceAccount, "serviceaccounts", true, ["sa"];
        Event: super::event::Event, "events", true, ["ev"];
        Deployment: apps::Deployment, "deployments", true, ["deploy"];
        ReplicaSet: apps::ReplicaSet, "replicasets", true, ["rs"];
        Lease: coordination::Lease, "leases", true, [];
        PriorityClass: scheduling::PriorityClass, "priorityclasses", false, ["pc"];
        Role: rbac::Role, "roles", true, [];
        RoleBinding: rbac::RoleBinding, "rolebindings", true, [];
        ClusterRole: rbac::ClusterRole, "clusterroles", false, [];
        ClusterRoleBinding: rbac::ClusterRoleBinding, "clusterrolebindings", false, [];
        PersistentVolume: core::PersistentVolume, "persistentvolumes", false, ["pv"];
        PersistentVolumeClaim: core::PersistentVolumeClaim, "persistentvolumeclaims", true, ["pvc"];
        StorageClass: storage::StorageClass, "storageclasses", false, ["sc"];
        VolumeAttachment: storage::VolumeAttachment, "volumeattachments", false, [];
        CSIDriver: storage::CSIDriver, "csidrivers", false, [];
        CSINode: storage::CSINode, "csinodes", false, [];
        Endpoints: core::Endpoints, "endpoints", true, ["ep"];
        EndpointSlice: discovery::EndpointSlice, "endpointslices", true, [];
        IPAddress: networking::IPAddress, "ipaddresses", false, ["ip"];
        ServiceCIDR: networking::ServiceCIDR, "servicecidrs", false, [];
        ReplicationController: core::ReplicationController, "replicationcontrollers", true, ["rc"];
        DaemonSet: apps::DaemonSet, "daemonsets", true, ["ds"];
        StatefulSet: apps::StatefulSet, "statefulsets", true, ["sts"];
        ControllerRevision: apps::ControllerRevision, "controllerrevisions", true, [];
        Job: batch::Job, "jobs", true, [];
        CronJob: batch::CronJob, "cronjobs", true, ["cj"];
        Ingress: networking::Ingress, "ingresses", true, ["ing"];
        IngressClass: networking::IngressClass, "ingressclasses", false, [];
        NetworkPolicy: networking::NetworkPolicy, "networkpolicies", true, ["netpol"];
        ResourceQuota: core::ResourceQuota, "resourcequotas", true, ["quota"];
        LimitRange: core::LimitRange, "limitranges", true, ["limits"];
        PodDisruptionBudget: policy::PodDisruptionBudget, "poddisruptionbudgets", true, ["pdb"];
        HorizontalPodAutoscaler: autoscaling::HorizontalPodAutoscaler, "horizontalpodautoscalers", true, ["hpa"];
        ValidatingAdmissionPolicy: admission::ValidatingAdmissionPolicy, "validatingadmissionpolicies", false, [];
        ValidatingAdmissionPolicyBinding: admission::ValidatingAdmissionPolicyBinding, "validatingadmissionpolicybindings", false, [];
        MutatingAdmissionPolicy: admission::MutatingAdmissionPolicy, "mutatingadmissionpolicies", false, [];
        MutatingAdmissionPolicyBinding: admission::MutatingAdmissionPolicyBinding, "mutatingadmissionpolicybindings", false, [];
        MutatingWebhookConfiguration: admission::MutatingWebhookConfiguration, "mutatingwebhookconfigurations", false, [];
        ValidatingWebhookConfiguration: admission::ValidatingWebhookConfiguration, "validatingwebhookconfigurations", false, [];
        CustomResourceDefinition: apiextensions::CustomResourceDefinition, "customresourcedefinitions", false, ["crd", "crds"];
        RuntimeClass: node::RuntimeClass, "runtimeclasses", false, [];
        PodTemplate: core::PodTemplate, "podtemplates", true, [];
        CSIStorageCapacity: storage::CSIStorageCapacity, "csistoragecapacities", true, [];
        ResourceClaim: resource::ResourceClaim, "resourceclaims", true, [];
        ResourceClaimTemplate: resource::ResourceClaimTemplate, "resourceclaimtemplates", true, [];
        ResourceSlice: resource::ResourceSlice, "resourceslices", false, [];
        DeviceClass: resource::DeviceClass, "deviceclasses", false, [];
        VolumeAttributesClass: storage::VolumeAttributesClass, "volumeattributesclasses", false, ["vac"];
        CertificateSigningRequest: certificates::CertificateSigningRequest, "certificatesigningrequests", false, ["csr"];
        FlowSchema: flowcontrol::FlowSchema, "flowschemas", false, [];
        PriorityLevelConfiguration: flowcontrol::PriorityLevelConfiguration, "prioritylevelconfigurations", false, [];
        APIService: apiregistration::APIService, "apiservices", false, [];
    }
    never kept {
        Binding: core::Binding, "bindings", true, [];
        ComponentStatus: core::ComponentStatus, "componentstatuses", false, ["cs"];
        SelfSubjectReview: authentication::SelfSubjectReview, "selfsubjectreviews", false, [];
        TokenReview: authentication::TokenReview, "tokenreviews", false, [];
        LocalSubjectAccessReview: authorization::LocalSubjectAccessReview, "localsubjectaccessreviews", true, [];
        SelfSubjectAccessReview: authorization::SelfSubjectAccessReview, "selfsubjectaccessreviews", false, [];
        SelfSubjectRulesReview: authorization::SelfSubjectRulesReview, "selfsubjectrulesreviews", false, [];
        SubjectAccessReview: authorization::SubjectAccessReview, "subjectaccessreviews", false, [];
    }
}

impl Object {
    /// The name; empty before it has one.
    pub fn name(&self) -> &str {
        self.meta().name()
    }

    /// The namespace, empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.meta().namespace()
    }

    /// The resourceVersion as a number; 0 before it is stored.
    pub fn revision(&self) -> u64 {
        self.meta().resource_version.as_deref().and_then(|rv| rv.parse().ok()).unwrap_or(0)
    }
}

impl Kind {
    /// What kubectl means by `all`: the kinds of the category of that name, in the order of their groups.
    pub const CATEGORY_ALL: &'static [Kind] = &[
        Kind::Pod,
        Kind::ReplicationController,
        Kind::Service,
        Kind::DaemonSet,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::HorizontalPodAutoscaler,
        Kind::CronJob,
        Kind::Job,
    ];

    /// The categories, and the built-in kinds of each, in the order of their groups.
    const CATEGORIES: &'static [(&'static str, &'static [Kind])] = &[
        ("all", Kind::CATEGORY_ALL),
        (
            "api-extensions",
            &[
                Kind::MutatingAdmissionPolicy,
                Kind::MutatingAdmissionPolicyBinding,
                Kind::MutatingWebhookConfiguration,
                Kind::ValidatingAdmissionPolicy,
                Kind::ValidatingAdmissionPolicyBinding,
                Kind::ValidatingWebhookConfiguration,
                Kind::CustomResourceDefinition,
                Kind::APIService,
            ],
        ),
    ];

    /// The built-in kinds of a category; none if it has no such name.
    pub fn of_category(word: &str) -> &'static [Kind] {
        Kind::CATEGORIES.iter().find(|(name, _)| *name == word).map_or(&[], |(_, kinds)| kinds)
    }

    /// The categories of a built-in kind.
    pub fn categories(self) -> impl Iterator<Item = &'static str> {
        Kind::CATEGORIES.iter().filter(move |(_, kinds)| kinds.contains(&self)).map(|(name, _)| *name)
    }

    /// Every kind that is built in, those that are kept first.
    pub fn built_in() -> impl Iterator<Item = Kind> {
        Kind::ALL.iter().chain(Kind::NEVER_KEPT).copied()
    }

    /// Whether objects of this kind are stored, so that a client can find them later.
    pub fn is_kept(self) -> bool {
        !Kind::NEVER_KEPT.contains(&self)
    }

    /// The built-in kind with this `apiVersion` and `kind`, as a manifest names it.
    pub fn from_manifest(api_version: &str, kind: &str) -> Option<Kind> {
        Kind::built_in().find(|k| k.info().kind == kind && k.info().api_version == api_version)
    }

    /// The built-in kind that `word` means, if its objects are stored: see [`Kind::is_called`].
    pub fn from_word(word: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.is_called(word))
    }

    /// Whether kubectl means this kind by `word`: plural, singular or short name, alone or with `.group`, in any case.
    pub fn is_called(self, word: &str) -> bool {
        let (word, info) = (word.to_ascii_lowercase(), self.info());
        let (name, group) = word.split_once('.').unwrap_or((&word, ""));
        let is_name = name == info.plural || name == info.singular() || info.short_names.contains(&name);
        is_name && (group.is_empty() || group == info.group)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.info().kind)
    }
}
