//! Roles about one namespace, and who has them. Mirrors `namespace_policy.go`.

use super::{EVENTS, READ, Rule};

/// Namespace, name and rules.
pub(super) const ROLES: &[(&str, &str, &[Rule])] = &[
    (
        "kube-system",
        "extension-apiserver-authentication-reader",
        &[(READ, "", "configmaps=extension-apiserver-authentication")],
    ),
    ("kube-system", "system:controller:bootstrap-signer", &[(READ, "", "secrets")]),
    ("kube-system", "system:controller:cloud-provider", &[("create,get,list,watch", "", "configmaps")]),
    ("kube-system", "system:controller:token-cleaner", &[("delete,get,list,watch", "", "secrets"), EVENTS]),
    (
        "kube-system",
        "system::leader-locking-kube-controller-manager",
        &[
            ("create,get,list,update,watch", "coordination.k8s.io", "leases"),
            ("create,get,list,update,watch", "coordination.k8s.io", "leasecandidates"),
        ],
    ),
    (
        "kube-system",
        "system::leader-locking-kube-scheduler",
        &[
            ("create,get,list,update,watch", "coordination.k8s.io", "leases"),
            ("create,get,list,update,watch", "coordination.k8s.io", "leasecandidates"),
        ],
    ),
    (
        "kube-public",
        "system:controller:bootstrap-signer",
        &[(READ, "", "configmaps"), ("update", "", "configmaps=cluster-info"), EVENTS],
    ),
];

/// Namespace, name, role and subjects.
#[allow(clippy::type_complexity, reason = "the columns are named above")]
pub(super) const ROLE_BINDINGS: &[(&str, &str, &str, &[(&str, &str)])] = &[
    (
        "kube-system",
        "system::extension-apiserver-authentication-reader",
        "extension-apiserver-authentication-reader",
        &[("User", "system:kube-controller-manager"), ("User", "system:kube-scheduler")],
    ),
    (
        "kube-system",
        "system::leader-locking-kube-controller-manager",
        "system::leader-locking-kube-controller-manager",
        &[
            ("User", "system:kube-controller-manager"),
            ("ServiceAccount", "kube-controller-manager"),
            ("ServiceAccount", "leader-election-controller"),
        ],
    ),
    (
        "kube-system",
        "system::leader-locking-kube-scheduler",
        "system::leader-locking-kube-scheduler",
        &[("User", "system:kube-scheduler"), ("ServiceAccount", "kube-scheduler")],
    ),
    (
        "kube-system",
        "system:controller:bootstrap-signer",
        "system:controller:bootstrap-signer",
        &[("ServiceAccount", "bootstrap-signer")],
    ),
    (
        "kube-system",
        "system:controller:cloud-provider",
        "system:controller:cloud-provider",
        &[("ServiceAccount", "cloud-provider")],
    ),
    (
        "kube-system",
        "system:controller:token-cleaner",
        "system:controller:token-cleaner",
        &[("ServiceAccount", "token-cleaner")],
    ),
    (
        "kube-public",
        "system:controller:bootstrap-signer",
        "system:controller:bootstrap-signer",
        &[("ServiceAccount", "bootstrap-signer")],
    ),
];
