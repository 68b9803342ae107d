//! Admission: what a request may become, after it is known who asks and that they may.
//!
//! Authorization sees the URL, admission sees the object. The plugins form two rows. The mutating row runs on a decoded
//! and defaulted object and may change it: this is where a Pod gets its service account, the volume with its token and
//! its default tolerations, and a Node its first taint. The validating row runs last, on what would be stored, and may
//! only refuse. Each row has a fixed order, independent of `--enable-admission-plugins`, and the first refusal ends the
//! request. Deletes and bindings pass plugins too ([`DELETING`], [`admit_binding`], [`admit_token`]).
//!
//! Three stand behind the rows: policies and webhooks, which users write, and the last of all, [`resource_quota`], because it
//! writes. What users have written may change an object behind all plugins that do, so those see it once more. The stages
//! `mutating admission` and `validating admission` in [`super::pipeline`] run the rows, and ask these.
//!
//! Must hold:
//! - A plugin reads nothing but the request, the stored objects and the seeded generator. Kept by
//!   `the_core_has_no_threads_and_asks_no_environment` and `runs_repeat_and_properties_hold`.
//! - Admission comes before validation, so what a plugin adds is checked like what the user wrote. Kept by
//!   `what_is_no_object_any_more_fails_whatever_the_policy_says`.
//! - A plugin run twice on its own result changes nothing more. Kept by `containers_get_what_they_do_not_ask_for` and
//!   `an_owner_that_a_webhook_adds_again_counts_once`.
//!
//! Left out: plugins for kinds that are not here, and `NodeDeclaredFeatureValidator`, which would have nothing to refuse: all
//! nodes have the same kubelet.
//!
//! Mirrors `k8s.io/apiserver/pkg/admission` and `plugin/pkg/admission`; the order is that of
//! `pkg/kubeapiserver/options/plugins.go`.

use object::Status;
use object::reader::Reader;

use wire::{Binding, Request};

mod attributes;
pub mod certificates;
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
pub mod row;
pub mod runtime_class;
pub mod service_account;
pub mod storage_protection;
pub mod taint_nodes_by_condition;
pub mod testing;

pub use attributes::{Attributes, Mutate, Validate, ValidateDelete, Warn, forbidden};

/// The names of plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "a plugin's name is its file's")]
pub enum Plugin {
    NamespaceLifecycle,
    LimitRanger,
    ServiceAccount,
    NodeRestriction,
    TaintNodesByCondition,
    PodSecurity,
    Priority,
    DefaultTolerationSeconds,
    PersistentVolumeClaimResize,
    DefaultStorageClass,
    StorageObjectInUseProtection,
    RuntimeClass,
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    DefaultIngressClass,
    PodTopologyLabels,
    PodResizeValidator,
    MutatingAdmissionPolicy,
    ValidatingAdmissionPolicy,
    ResourceQuota,
}

/// Mutating plugins in the server's order. They run as a [`row::Row`].
pub const MUTATING: &[(Plugin, Mutate)] = &[
    (Plugin::NamespaceLifecycle, namespace_lifecycle::admit),
    (Plugin::LimitRanger, limit_ranger::admit),
    (Plugin::ServiceAccount, service_account::admit),
    (Plugin::NodeRestriction, node_restriction::admit),
    (Plugin::TaintNodesByCondition, taint_nodes_by_condition::admit),
    (Plugin::Priority, priority::admit),
    (Plugin::DefaultTolerationSeconds, default_toleration_seconds::admit),
    (Plugin::DefaultStorageClass, default_class::of_storage),
    (Plugin::StorageObjectInUseProtection, storage_protection::admit),
    (Plugin::RuntimeClass, runtime_class::admit),
    (Plugin::DefaultIngressClass, default_class::of_ingress),
    (Plugin::PodTopologyLabels, pod_topology_labels::admit),
];

/// Validating plugins in the server's order.
pub const VALIDATING: &[(Plugin, Validate)] = &[
    (Plugin::LimitRanger, limit_ranger::validate),
    (Plugin::ServiceAccount, service_account::validate),
    (Plugin::PodSecurity, pod_security::validate),
    (Plugin::Priority, priority::validate),
    (Plugin::PersistentVolumeClaimResize, claim_resize::validate),
    (Plugin::RuntimeClass, runtime_class::validate),
    (Plugin::CertificateApproval, certificates::approval),
    (Plugin::CertificateSigning, certificates::signing),
    (Plugin::CertificateSubjectRestriction, certificates::subject),
    (Plugin::PodResizeValidator, pod_resize::validate),
];

/// Plugins that warn of what was admitted.
pub const WARNING: &[Warn] = &[pod_security::warnings];

/// Plugins that see deletes.
pub const DELETING: &[(Plugin, ValidateDelete)] = &[
    (Plugin::NamespaceLifecycle, namespace_lifecycle::admit_delete),
    (Plugin::NodeRestriction, node_restriction::admit_delete),
];

/// Plugins that see `pods/binding`. The node's zone and region go with the binding.
pub fn admit_binding(binding: &mut Binding, reader: &dyn Reader) {
    pod_topology_labels::admit_binding(binding, reader);
}

/// Plugins that see `serviceaccounts/token`.
pub fn admit_token(request: &Request, reader: &dyn Reader) -> Result<(), Status> {
    node_restriction::admit_token(request, reader)
}

/// The names of plugins, as a stage tells them.
pub fn plugin_names(names: impl Iterator<Item = Plugin>) -> String {
    names.map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}
