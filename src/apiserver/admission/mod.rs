//! Admission: what a request may become, after it is known who asks and that they may.
//!
//! Authorization sees the URL, admission sees the object. The plugins form two rows. The mutating row runs on a decoded
//! and defaulted object and may change it: this is where a Pod gets its service account, the volume with its token and
//! its default tolerations, and a Node its first taint. The validating row runs last, on what would be stored, and may
//! only refuse. Each row has a fixed order, whatever that of `--enable-admission-plugins`, and the first refusal ends the
//! request. Deletes and bindings pass plugins too ([`DELETING`], [`admit_binding`], [`admit_token`]).
//!
//! Three stand behind the rows: policies and webhooks, which users write, and the last of all, [`resource_quota`], because it
//! writes. What users have written may change an object behind all plugins that do, so those see it once more. The stages
//! `mutating admission` and `validating admission` in [`super::pipeline`] run the rows, and ask these.
//!
//! Must hold: a plugin reads nothing but the request, the stored objects and the seeded generator; admission comes
//! before validation, so what a plugin adds is checked like what the user wrote; a plugin run twice on its own result
//! changes nothing more.
//!
//! Left out: plugins for kinds that are not here, such as requests for certificates, and `NodeDeclaredFeatureValidator`, which
//! would have nothing to refuse: all nodes have the same kubelet.
//!
//! Mirrors `k8s.io/apiserver/pkg/admission` and `plugin/pkg/admission`; the order is that of
//! `pkg/kubeapiserver/options/plugins.go`.

use crate::object::Status;
use crate::object::reader::Reader;

use crate::wire::{Binding, Request};

mod attributes;
pub mod claim_resize;
pub mod default_class;
pub mod default_toleration_seconds;
pub mod elsewhere;
pub mod limit_ranger;
pub mod namespace_lifecycle;
pub mod node_restriction;
pub mod pod_resize;
pub mod pod_security;
pub mod pod_topology_labels;
pub mod priority;
pub mod resource_quota;
pub mod runtime_class;
pub mod service_account;
pub mod storage_protection;
pub mod taint_nodes_by_condition;
pub mod testing;

pub use attributes::{Attributes, Mutate, Validate, ValidateDelete, Warn, forbidden};

/// Mutating plugins in the server's order.
pub const MUTATING: &[(&str, Mutate)] = &[
    ("NamespaceLifecycle", namespace_lifecycle::admit),
    ("LimitRanger", limit_ranger::admit),
    ("ServiceAccount", service_account::admit),
    ("NodeRestriction", node_restriction::admit),
    ("TaintNodesByCondition", taint_nodes_by_condition::admit),
    ("Priority", priority::admit),
    ("DefaultTolerationSeconds", default_toleration_seconds::admit),
    ("DefaultStorageClass", default_class::of_storage),
    ("StorageObjectInUseProtection", storage_protection::admit),
    ("RuntimeClass", runtime_class::admit),
    ("DefaultIngressClass", default_class::of_ingress),
    ("PodTopologyLabels", pod_topology_labels::admit),
];

/// Validating plugins in the server's order.
pub const VALIDATING: &[(&str, Validate)] = &[
    ("LimitRanger", limit_ranger::validate),
    ("ServiceAccount", service_account::validate),
    ("PodSecurity", pod_security::validate),
    ("Priority", priority::validate),
    ("PersistentVolumeClaimResize", claim_resize::validate),
    ("RuntimeClass", runtime_class::validate),
    ("PodResizeValidator", pod_resize::validate),
];

/// Plugins that warn of what was admitted.
pub const WARNING: &[Warn] = &[pod_security::warnings];

/// Plugins that see deletes.
pub const DELETING: &[(&str, ValidateDelete)] =
    &[("NamespaceLifecycle", namespace_lifecycle::admit_delete), ("NodeRestriction", node_restriction::admit_delete)];

/// Plugins that see `pods/binding`. The node's zone and region go with the binding.
pub fn admit_binding(binding: &mut Binding, reader: &dyn Reader) {
    pod_topology_labels::admit_binding(binding, reader);
}

/// Plugins that see `serviceaccounts/token`.
pub fn admit_token(request: &Request, reader: &dyn Reader) -> Result<(), Status> {
    node_restriction::admit_token(request, reader)
}

/// The names of plugins, as a stage tells them.
pub fn plugin_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
