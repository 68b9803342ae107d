//! Cluster roles of users and components, in the order in which they are written. Mirrors `policy.go`.

use object::certificates::GROUP as CERTIFICATES;
use object::well_known::RBAC;

use super::{EVENTS, READ, RoleRow, Rule, URLS, WRITE};

/// What an ordinary application consists of, read: no Secrets.
const VIEW: &[Rule] = &[
    (
        READ,
        "",
        "configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,\
     replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,services/status",
    ),
    (
        READ,
        "",
        "bindings,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,\
     resourcequotas,resourcequotas/status",
    ),
    (READ, "", "namespaces"),
    (READ, ",events.k8s.io", "events"),
    (READ, "discovery.k8s.io", "endpointslices"),
    (
        READ,
        "apps",
        "controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,\
     deployments/status,replicasets,replicasets/scale,replicasets/status,statefulsets,\
     statefulsets/scale,statefulsets/status",
    ),
    (READ, "autoscaling", "horizontalpodautoscalers,horizontalpodautoscalers/status"),
    (READ, "batch", "cronjobs,cronjobs/status,jobs,jobs/status"),
    (
        READ,
        "extensions",
        "daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,ingresses,\
     ingresses/status,networkpolicies,replicasets,replicasets/scale,replicasets/status,\
     replicationcontrollers/scale",
    ),
    (READ, "policy", "poddisruptionbudgets,poddisruptionbudgets/status"),
    (READ, "networking.k8s.io", "ingresses,ingresses/status,networkpolicies"),
    (READ, "resource.k8s.io", "resourceclaims,resourceclaims/status,resourceclaimtemplates"),
];

/// The same written, and its Secrets.
const EDIT: &[Rule] = &[
    (READ, "", "pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy"),
    ("impersonate", "", "serviceaccounts"),
    (WRITE, "", "pods,pods/attach,pods/exec,pods/portforward,pods/proxy"),
    ("create", "", "pods/eviction"),
    (
        WRITE,
        "",
        "configmaps,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,\
     secrets,serviceaccounts,services,services/proxy",
    ),
    ("create", "", "serviceaccounts/token"),
    (WRITE, ",events.k8s.io", "events"),
    (
        WRITE,
        "apps",
        "daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,replicasets/scale,\
     statefulsets,statefulsets/scale",
    ),
    (WRITE, "autoscaling", "horizontalpodautoscalers"),
    (WRITE, "batch", "cronjobs,jobs"),
    (
        WRITE,
        "extensions",
        "daemonsets,deployments,deployments/rollback,deployments/scale,ingresses,networkpolicies,\
     replicasets,replicasets/scale,replicationcontrollers/scale",
    ),
    (WRITE, "policy", "poddisruptionbudgets"),
    (WRITE, "networking.k8s.io", "ingresses,networkpolicies"),
    ("create,delete,deletecollection,get,list,patch,update,watch", "coordination.k8s.io", "leases"),
    (WRITE, "resource.k8s.io", "resourceclaims,resourceclaimtemplates"),
];

/// Who else may do so.
const ADMIN: &[Rule] = &[
    ("create", "authorization.k8s.io", "localsubjectaccessreviews"),
    ("create,delete,deletecollection,get,list,patch,update,watch", RBAC, "rolebindings,roles"),
];

/// Each with the subjects of the binding of the same name, if there is one.
pub(super) const CLUSTER_ROLES: &[RoleRow] = &[
    ("cluster-admin", &[&[("*", "*", "*"), ("*", URLS, "*")]], Some(&[("Group", "system:masters")])),
    // Discovery is about URLs, not about resources.
    (
        "system:discovery",
        &[&[("get", URLS, "/api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/")]],
        Some(&[("Group", "system:authenticated")]),
    ),
    (
        "system:monitoring",
        &[&[
            (
                "get",
                URLS,
                "/flagz,/healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*,/statusz",
            ),
            ("get", "", "nodes/metrics"),
        ]],
        Some(&[("Group", "system:monitoring")]),
    ),
    (
        "system:basic-user",
        &[&[
            ("create", "authorization.k8s.io", "selfsubjectaccessreviews,selfsubjectrulesreviews"),
            ("create", "authentication.k8s.io", "selfsubjectreviews"),
        ]],
        Some(&[("Group", "system:authenticated")]),
    ),
    (
        "system:public-info-viewer",
        &[&[("get", URLS, "/healthz,/livez,/readyz,/version,/version/")]],
        Some(&[("Group", "system:authenticated"), ("Group", "system:unauthenticated")]),
    ),
    // These three gather the rules of others: see GATHERED.
    ("admin", &[EDIT, VIEW, ADMIN], None),
    ("edit", &[EDIT, VIEW], None),
    ("view", &[VIEW], None),
    ("system:aggregate-to-admin", &[ADMIN], None),
    ("system:aggregate-to-edit", &[EDIT], None),
    ("system:aggregate-to-view", &[VIEW], None),
    ("system:heapster", &[&[(READ, "", "events,namespaces,nodes,pods"), (READ, "extensions", "deployments")]], None),
    // Bound to no user: the Node authorizer knows better what a kubelet may do.
    (
        "system:node",
        &[&[
            ("create", "authentication.k8s.io", "tokenreviews"),
            ("create", "authorization.k8s.io", "localsubjectaccessreviews,subjectaccessreviews"),
            (READ, "", "services"),
            ("create,get,list,watch", "", "nodes"),
            ("patch,update", "", "nodes/status"),
            ("patch,update", "", "nodes"),
            EVENTS,
            (READ, "", "pods"),
            ("create,delete", "", "pods"),
            ("patch,update", "", "pods/status"),
            ("create", "", "pods/eviction"),
            (READ, "", "configmaps,secrets"),
            ("get", "", "persistentvolumeclaims,persistentvolumes"),
            ("get", "", "endpoints"),
            ("create,get,list,watch", CERTIFICATES, "certificatesigningrequests"),
            ("create,delete,get,patch,update", "coordination.k8s.io", "leases"),
            ("get", "storage.k8s.io", "volumeattachments"),
            ("create", "", "serviceaccounts/token"),
            ("get,patch,update", "", "persistentvolumeclaims/status"),
            (READ, "storage.k8s.io", "csidrivers"),
            ("create,delete,get,patch,update", "storage.k8s.io", "csinodes"),
            (READ, "node.k8s.io", "runtimeclasses"),
            ("get", "resource.k8s.io", "resourceclaims"),
            ("deletecollection", "resource.k8s.io", "resourceslices"),
            ("get", "", "serviceaccounts"),
        ]],
        Some(&[]),
    ),
    ("system:node-problem-detector", &[&[("get", "", "nodes"), ("patch", "", "nodes/status"), EVENTS]], None),
    ("system:node-bootstrapper", &[&[("create,get,list,watch", CERTIFICATES, "certificatesigningrequests")]], None),
    (
        "system:auth-delegator",
        &[&[
            ("create", "authentication.k8s.io", "tokenreviews"),
            ("create", "authorization.k8s.io", "subjectaccessreviews"),
        ]],
        None,
    ),
    ("system:kube-aggregator", &[&[(READ, "", "endpoints,services")]], None),
    // What the process does in its own name: its shared informers read everything, its controllers act as themselves.
    (
        "system:kube-controller-manager",
        &[&[
            EVENTS,
            ("create", "coordination.k8s.io", "leases"),
            ("get,update", "coordination.k8s.io", "leases=kube-controller-manager"),
            ("create", "", "secrets,serviceaccounts"),
            ("delete", "", "secrets"),
            ("get", "", "configmaps,namespaces,secrets,serviceaccounts"),
            ("update", "", "secrets,serviceaccounts"),
            ("create", "authentication.k8s.io", "tokenreviews"),
            ("create", "authorization.k8s.io", "subjectaccessreviews"),
            ("list,watch", "*", "*"),
            ("create", "", "serviceaccounts/token"),
        ]],
        Some(&[("User", "system:kube-controller-manager")]),
    ),
    ("system:kube-dns", &[&[("list,watch", "", "endpoints,services")]], Some(&[("ServiceAccount", "kube-dns")])),
    (
        "system:persistent-volume-provisioner",
        &[&[
            ("create,delete,get,list,watch", "", "persistentvolumes"),
            ("get,list,update,watch", "", "persistentvolumeclaims"),
            (READ, "storage.k8s.io", "storageclasses"),
            ("watch", "", "events"),
            EVENTS,
        ]],
        None,
    ),
    // For an administrator to bind: a kubelet's first certificate, and those after it, are approved for users who may create these
    // parts, which are none.
    (
        "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
        &[&[("create", CERTIFICATES, "certificatesigningrequests/nodeclient")]],
        None,
    ),
    (
        "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
        &[&[("create", CERTIFICATES, "certificatesigningrequests/selfnodeclient")]],
        None,
    ),
    (
        "system:volume-scheduler",
        &[&[
            ("get,list,patch,update,watch", "", "persistentvolumes"),
            (READ, "storage.k8s.io", "storageclasses"),
            ("get,list,patch,update,watch", "", "persistentvolumeclaims"),
        ]],
        Some(&[("User", "system:kube-scheduler")]),
    ),
    (
        "system:certificates.k8s.io:legacy-unknown-approver",
        &[&[("approve", CERTIFICATES, "signers=kubernetes.io/legacy-unknown")]],
        None,
    ),
    (
        "system:certificates.k8s.io:kubelet-serving-approver",
        &[&[("approve", CERTIFICATES, "signers=kubernetes.io/kubelet-serving")]],
        None,
    ),
    (
        "system:certificates.k8s.io:kube-apiserver-client-approver",
        &[&[("approve", CERTIFICATES, "signers=kubernetes.io/kube-apiserver-client")]],
        None,
    ),
    (
        "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
        &[&[("approve", CERTIFICATES, "signers=kubernetes.io/kube-apiserver-client-kubelet")]],
        None,
    ),
    (
        "system:service-account-issuer-discovery",
        &[&[(
            "get",
            URLS,
            "/.well-known/openid-configuration,/.well-known/openid-configuration/,/openid/v1/jwks,\
     /openid/v1/jwks/",
        )]],
        Some(&[("Group", "system:serviceaccounts")]),
    ),
    (
        "system:kubelet-api-admin",
        &[&[
            (READ, "", "nodes"),
            ("proxy", "", "nodes"),
            ("*", "", "nodes/log,nodes/metrics,nodes/proxy,nodes/stats"),
            ("*", "", "nodes/configz,nodes/healthz,nodes/pods"),
        ]],
        None,
    ),
    (
        "system:node-proxier",
        &[&[
            ("list,watch", "", "endpoints,services"),
            (READ, "", "nodes"),
            EVENTS,
            ("list,watch", "networking.k8s.io", "servicecidrs"),
            ("list,watch", "discovery.k8s.io", "endpointslices"),
        ]],
        Some(&[("User", "system:kube-proxy")]),
    ),
    (
        "system:kube-scheduler",
        &[&[
            EVENTS,
            ("create", "coordination.k8s.io", "leases"),
            ("get,list,update,watch", "coordination.k8s.io", "leases=kube-scheduler"),
            ("create,delete,deletecollection,get,list,patch,update,watch", "coordination.k8s.io", "leasecandidates"),
            (READ, "", "nodes"),
            ("delete,get,list,watch", "", "pods"),
            ("create", "", "bindings,pods/binding"),
            ("patch,update", "", "pods/status"),
            (READ, "", "replicationcontrollers,services"),
            (READ, "apps,extensions", "replicasets"),
            (READ, "apps", "statefulsets"),
            (READ, "policy", "poddisruptionbudgets"),
            (READ, "", "persistentvolumeclaims,persistentvolumes"),
            ("create", "authentication.k8s.io", "tokenreviews"),
            ("create", "authorization.k8s.io", "subjectaccessreviews"),
            (READ, "storage.k8s.io", "csinodes"),
            (READ, "storage.k8s.io", "volumeattachments"),
            (READ, "", "namespaces"),
            (READ, "storage.k8s.io", "csidrivers"),
            (READ, "storage.k8s.io", "csistoragecapacities"),
            (READ, "resource.k8s.io", "deviceclasses"),
            ("get,list,patch,update,watch", "resource.k8s.io", "resourceclaims"),
            ("get,list,patch,update,watch", "resource.k8s.io", "resourceclaims/status"),
            ("update", "", "pods/finalizers"),
            (READ, "resource.k8s.io", "resourceslices"),
            ("create,delete", "resource.k8s.io", "resourceclaims"),
            ("patch,update", "resource.k8s.io", "resourceclaims/binding"),
        ]],
        Some(&[("User", "system:kube-scheduler")]),
    ),
];
