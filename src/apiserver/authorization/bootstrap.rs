//! The roles and bindings that the API server writes into an empty store. Mirrors
//! `plugin/pkg/auth/authorizer/rbac/bootstrappolicy/{policy,controller_policy,namespace_policy}.go`.
//!
//! Reading the tables is reading who does what in Kubernetes: a controller may touch what it must, and nothing else.
//! The kubelet has no role here, because the Node authorizer speaks for it.
//!
//! Left out: rules about kinds that this cluster does not have, except where they show what a component is for.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use k8s_openapi::api::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use object::Object;
use object::certificates::GROUP as CERTIFICATES;
use object::well_known::RBAC;

/// Verbs, API groups and resources, each separated by commas; the core group is empty. After `=` stand the names of those
/// objects alone that it is about.
type Rule = (&'static str, &'static str, &'static str);

const READ: &str = "get,list,watch";
const WRITE: &str = "create,delete,deletecollection,patch,update";
const EVENTS: Rule = ("create,patch,update", ",events.k8s.io", "events");

/// What the kinds of an ordinary application are, by group.
const CORE_KINDS: &str = "configmaps,persistentvolumeclaims,pods,replicationcontrollers,\
     replicationcontrollers/scale,secrets,serviceaccounts,services,\
     services/proxy,pods/attach,pods/exec,pods/portforward,pods/proxy";
const CORE_KINDS_READ: &str = "bindings,configmaps,endpoints,limitranges,namespaces,namespaces/status,\
     persistentvolumeclaims,persistentvolumeclaims/status,pods,pods/log,pods/status,replicationcontrollers,\
     replicationcontrollers/scale,replicationcontrollers/status,resourcequotas,resourcequotas/status,\
     serviceaccounts,services,services/status";
const APPS_KINDS: &str = "daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,\
     replicasets/scale,statefulsets,statefulsets/scale";
const APPS_KINDS_READ: &str = "controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,\
     deployments/status,replicasets,replicasets/scale,replicasets/status,statefulsets,statefulsets/scale,\
     statefulsets/status";
const BATCH_KINDS: &str = "cronjobs,jobs";
const BATCH_KINDS_READ: &str = "cronjobs,cronjobs/status,jobs,jobs/status";

const VIEW: &[Rule] = &[
    (READ, "", CORE_KINDS_READ),
    (READ, ",events.k8s.io", "events"),
    (READ, "apps", APPS_KINDS_READ),
    (READ, "batch", BATCH_KINDS_READ),
    (READ, "autoscaling", "horizontalpodautoscalers,horizontalpodautoscalers/status"),
    (READ, "policy", "poddisruptionbudgets,poddisruptionbudgets/status"),
    (READ, "discovery.k8s.io", "endpointslices"),
    (READ, "networking.k8s.io", "ingresses,ingresses/status,networkpolicies"),
];

const EDIT: &[Rule] = &[
    (READ, "", "pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy"),
    (WRITE, "", CORE_KINDS),
    (WRITE, ",events.k8s.io", "events"),
    ("create", "", "pods/eviction"),
    ("create", "", "serviceaccounts/token"),
    (WRITE, "apps", APPS_KINDS),
    (WRITE, "batch", BATCH_KINDS),
    (WRITE, "autoscaling", "horizontalpodautoscalers"),
    (WRITE, "policy", "poddisruptionbudgets"),
    (WRITE, "networking.k8s.io", "ingresses,networkpolicies"),
    ("create,delete,deletecollection,get,list,patch,update,watch", "coordination.k8s.io", "leases"),
];

const ADMIN: &[Rule] = &[
    ("create", "authorization.k8s.io", "localsubjectaccessreviews"),
    ("create,delete,deletecollection,get,list,patch,update,watch", RBAC, "roles,rolebindings"),
];

/// A role's name, its rules, and the kinds and names of those who have it.
type RoleRow = (&'static str, &'static [&'static [Rule]], &'static [(&'static str, &'static str)]);

/// ClusterRoles of users and components, each with the subjects of the ClusterRoleBinding of the same name.
const CLUSTER_ROLES: &[RoleRow] = &[
    ("cluster-admin", &[&[("*", "*", "*")]], &[("Group", "system:masters")]),
    ("admin", &[EDIT, VIEW, ADMIN], &[]),
    ("edit", &[EDIT, VIEW], &[]),
    ("view", &[VIEW], &[]),
    ("system:aggregate-to-admin", &[ADMIN], &[]),
    ("system:aggregate-to-edit", &[EDIT], &[]),
    ("system:aggregate-to-view", &[VIEW], &[]),
    (
        "system:basic-user",
        &[&[
            ("create", "authorization.k8s.io", "selfsubjectaccessreviews,selfsubjectrulesreviews"),
            ("create", "authentication.k8s.io", "selfsubjectreviews"),
        ]],
        &[("Group", "system:authenticated")],
    ),
    // Discovery is about URLs, not about resources: see NON_RESOURCE.
    ("system:discovery", &[], &[("Group", "system:authenticated")]),
    ("system:public-info-viewer", &[], &[("Group", "system:authenticated"), ("Group", "system:unauthenticated")]),
    // Bound to nobody: the Node authorizer knows better what a kubelet may do.
    ("system:node", &[], &[]),
    ("system:kube-scheduler", &[SCHEDULER], &[("User", "system:kube-scheduler")]),
    // For who administers a cluster to bind: a kubelet's first certificate, and those after it, are approved for those who may
    // create these parts, which are none.
    ("system:certificates.k8s.io:certificatesigningrequests:nodeclient", &[NODE_CLIENT], &[]),
    ("system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", &[SELF_NODE_CLIENT], &[]),
    ("system:certificates.k8s.io:kube-apiserver-client-approver", &[APPROVER_OF_CLIENTS], &[]),
    ("system:certificates.k8s.io:kube-apiserver-client-kubelet-approver", &[APPROVER_OF_KUBELETS], &[]),
    ("system:certificates.k8s.io:kubelet-serving-approver", &[APPROVER_OF_SERVING], &[]),
    ("system:certificates.k8s.io:legacy-unknown-approver", &[APPROVER_OF_LEGACY], &[]),
    ("system:node-bootstrapper", &[NODE_BOOTSTRAPPER], &[]),
    ("system:volume-scheduler", &[VOLUME_SCHEDULER], &[("User", "system:kube-scheduler")]),
    ("system:kube-controller-manager", &[CONTROLLER_MANAGER], &[("User", "system:kube-controller-manager")]),
    ("system:node-proxier", &[PROXY], &[("User", "system:kube-proxy")]),
];

/// Roles that gather the rules of others: of all that carry the label `AGGREGATE` and their name. What they have gathered
/// from the bootstrap roles is written above; whatever else is labelled so the clusterrole-aggregation controller adds.
const GATHERING: &[&str] = &["admin", "edit", "view"];

/// The begin of these labels.
const AGGREGATE: &str = "rbac.authorization.k8s.io/aggregate-to-";

/// The bootstrap roles that are gathered, and by which.
const GATHERED: &[(&str, &str)] = &[
    ("edit", "admin"),
    ("view", "edit"),
    ("system:aggregate-to-admin", "admin"),
    ("system:aggregate-to-edit", "edit"),
    ("system:aggregate-to-view", "view"),
];

const SCHEDULER: &[Rule] = &[
    EVENTS,
    ("create", "coordination.k8s.io", "leases"),
    ("get,list,watch", "", "nodes"),
    ("delete,get,list,watch", "", "pods"),
    ("create", "", "bindings,pods/binding"),
    ("patch,update", "", "pods/status"),
    (READ, "", "replicationcontrollers,services,namespaces,persistentvolumeclaims,persistentvolumes"),
    (READ, "apps", "replicasets,statefulsets"),
    (READ, "policy", "poddisruptionbudgets"),
    (READ, "storage.k8s.io", "csidrivers,csinodes,csistoragecapacities,storageclasses,volumeattachments"),
    (READ, "scheduling.k8s.io", "priorityclasses"),
    ("create", "authentication.k8s.io", "tokenreviews"),
    ("create", "authorization.k8s.io", "subjectaccessreviews"),
];

const NODE_BOOTSTRAPPER: &[Rule] = &[("create,get,list,watch", CERTIFICATES, "certificatesigningrequests")];
const NODE_CLIENT: &[Rule] = &[("create", CERTIFICATES, "certificatesigningrequests/nodeclient")];
const SELF_NODE_CLIENT: &[Rule] = &[("create", CERTIFICATES, "certificatesigningrequests/selfnodeclient")];
const APPROVER_OF_CLIENTS: &[Rule] = &[("approve", CERTIFICATES, "signers=kubernetes.io/kube-apiserver-client")];
const APPROVER_OF_KUBELETS: &[Rule] =
    &[("approve", CERTIFICATES, "signers=kubernetes.io/kube-apiserver-client-kubelet")];
const APPROVER_OF_SERVING: &[Rule] = &[("approve", CERTIFICATES, "signers=kubernetes.io/kubelet-serving")];
const APPROVER_OF_LEGACY: &[Rule] = &[("approve", CERTIFICATES, "signers=kubernetes.io/legacy-unknown")];

/// What binding volumes takes.
const VOLUME_SCHEDULER: &[Rule] = &[
    ("get,list,patch,update,watch", "", "persistentvolumes"),
    (READ, "storage.k8s.io", "storageclasses"),
    ("get,list,patch,update,watch", "", "persistentvolumeclaims"),
];

/// What the process does in its own name: its shared informers read everything, its controllers act as themselves.
const CONTROLLER_MANAGER: &[Rule] = &[
    EVENTS,
    ("create", "coordination.k8s.io", "leases"),
    ("create", "", "secrets,serviceaccounts"),
    ("delete", "", "secrets"),
    ("get", "", "configmaps,namespaces,secrets,serviceaccounts"),
    ("update", "", "secrets,serviceaccounts"),
    ("create", "authentication.k8s.io", "tokenreviews"),
    ("create", "authorization.k8s.io", "subjectaccessreviews"),
    ("list,watch", "*", "*"),
    ("create", "", "serviceaccounts/token"),
];

const PROXY: &[Rule] = &[
    ("list,watch", "", "services,endpoints"),
    (READ, "", "nodes"),
    ("list,watch", "discovery.k8s.io", "endpointslices"),
    ("list,watch", "networking.k8s.io", "servicecidrs"),
    EVENTS,
];

/// Rules about URLs, which no resource request matches.
const NON_RESOURCE: &[(&str, &[&str])] = &[
    ("cluster-admin", &["*"]),
    (
        "system:discovery",
        &[
            "/api",
            "/api/*",
            "/apis",
            "/apis/*",
            "/healthz",
            "/livez",
            "/openapi",
            "/openapi/*",
            "/readyz",
            "/version",
            "/version/",
        ],
    ),
    ("system:public-info-viewer", &["/healthz", "/livez", "/readyz", "/version", "/version/"]),
];

/// The controllers' roles: `system:controller:NAME`, bound to the service account NAME in kube-system.
const CONTROLLERS: &[(&str, &[Rule])] = &[
    (
        "attachdetach-controller",
        &[
            ("list,watch", "", "persistentvolumes,persistentvolumeclaims"),
            (READ, "", "nodes"),
            ("patch,update", "", "nodes/status"),
            ("list,watch", "", "pods"),
            ("create,delete,get,list,watch", "storage.k8s.io", "volumeattachments"),
            (READ, "storage.k8s.io", "csidrivers,csinodes"),
            EVENTS,
        ],
    ),
    // Approving, signing and cleaning share this account.
    (
        "certificate-controller",
        &[
            ("delete,get,list,watch", CERTIFICATES, "certificatesigningrequests"),
            ("update", CERTIFICATES, "certificatesigningrequests/approval,certificatesigningrequests/status"),
            ("approve", CERTIFICATES, "signers=kubernetes.io/kube-apiserver-client-kubelet"),
            (
                "sign",
                CERTIFICATES,
                "signers=kubernetes.io/kube-apiserver-client,kubernetes.io/kube-apiserver-client-kubelet,\
                 kubernetes.io/kubelet-serving,kubernetes.io/legacy-unknown",
            ),
            ("create", "authorization.k8s.io", "subjectaccessreviews"),
            EVENTS,
        ],
    ),
    ("clusterrole-aggregation-controller", &[("escalate,get,list,patch,update,watch", RBAC, "clusterroles")]),
    (
        "cronjob-controller",
        &[
            ("get,list,update,watch", "batch", "cronjobs"),
            ("create,delete,get,list,patch,update,watch", "batch", "jobs"),
            ("update", "batch", "cronjobs/status,cronjobs/finalizers"),
            ("delete,list,watch", "", "pods"),
            EVENTS,
        ],
    ),
    (
        "daemon-set-controller",
        &[
            (READ, "apps", "daemonsets"),
            ("update", "apps", "daemonsets/status,daemonsets/finalizers"),
            ("list,watch", "", "nodes"),
            ("create,delete,list,patch,watch", "", "pods"),
            ("create", "", "pods/binding"),
            ("create,delete,get,list,patch,update,watch", "apps", "controllerrevisions"),
            EVENTS,
        ],
    ),
    (
        "deployment-controller",
        &[
            ("get,list,update,watch", "apps", "deployments"),
            ("update", "apps", "deployments/status,deployments/finalizers"),
            ("create,delete,get,list,patch,update,watch", "apps", "replicasets"),
            ("get,list,update,watch", "", "pods"),
            EVENTS,
        ],
    ),
    (
        "disruption-controller",
        &[
            (READ, "apps", "deployments,replicasets,statefulsets"),
            (READ, "", "replicationcontrollers"),
            (READ, "policy", "poddisruptionbudgets"),
            ("update", "policy", "poddisruptionbudgets/status"),
            ("patch,update", "", "pods/status"),
            ("get", "*", "*/scale"),
            EVENTS,
        ],
    ),
    (
        "endpoint-controller",
        &[
            (READ, "", "pods,services"),
            ("create,delete,get,list,update,watch", "", "endpoints"),
            ("create", "", "endpoints/restricted"),
            EVENTS,
        ],
    ),
    (
        "endpointslice-controller",
        &[
            (READ, "", "nodes,pods,services"),
            ("update", "", "services/finalizers"),
            ("create,delete,get,list,update,watch", "discovery.k8s.io", "endpointslices"),
            ("create", "discovery.k8s.io", "endpointslices/restricted"),
            EVENTS,
        ],
    ),
    (
        "endpointslicemirroring-controller",
        &[
            (READ, "", "endpoints,services"),
            ("update", "", "endpoints/finalizers,services/finalizers"),
            ("create,delete,get,list,update,watch", "discovery.k8s.io", "endpointslices"),
            ("create", "discovery.k8s.io", "endpointslices/restricted"),
            EVENTS,
        ],
    ),
    (
        "ephemeral-volume-controller",
        &[
            ("get,list,watch", "", "pods"),
            ("update", "", "pods/finalizers"),
            ("create,get,list,watch", "", "persistentvolumeclaims"),
            EVENTS,
        ],
    ),
    (
        "expand-controller",
        &[
            ("get,list,patch,update,watch", "", "persistentvolumes"),
            ("patch,update", "", "persistentvolumeclaims/status"),
            (READ, "", "persistentvolumeclaims"),
            EVENTS,
        ],
    ),
    ("generic-garbage-collector", &[("delete,get,list,patch,update,watch", "*", "*"), EVENTS]),
    (
        "horizontal-pod-autoscaler",
        &[
            (READ, "autoscaling", "horizontalpodautoscalers"),
            ("update", "autoscaling", "horizontalpodautoscalers/status"),
            ("get,update", "*", "*/scale"),
            ("list", "", "pods"),
            ("list", "metrics.k8s.io", "pods"),
            EVENTS,
        ],
    ),
    (
        "job-controller",
        &[
            ("get,list,patch,update,watch", "batch", "jobs"),
            ("update", "batch", "jobs/status,jobs/finalizers"),
            ("create,delete,list,patch,watch", "", "pods"),
            EVENTS,
        ],
    ),
    (
        "namespace-controller",
        &[
            ("delete,get,list,watch", "", "namespaces"),
            ("update", "", "namespaces/finalize,namespaces/status"),
            ("delete,deletecollection,get,list,watch", "*", "*"),
        ],
    ),
    // Node lifecycle, node IPAM and taint eviction share this account.
    (
        "node-controller",
        &[
            ("delete,get,list,patch,update,watch", "", "nodes"),
            ("patch,update", "", "nodes/status"),
            ("patch,update", "", "pods/status"),
            ("delete,get,list,watch", "", "pods"),
            EVENTS,
        ],
    ),
    (
        "persistent-volume-binder",
        &[
            ("create,delete,get,list,update,watch", "", "persistentvolumes"),
            ("update", "", "persistentvolumes/status,persistentvolumeclaims/status"),
            ("get,list,update,watch", "", "persistentvolumeclaims"),
            ("create,delete,get,list,watch", "", "pods"),
            (READ, "storage.k8s.io", "storageclasses"),
            ("list,watch", "", "nodes"),
            EVENTS,
            ("watch", "", "events"),
        ],
    ),
    (
        "pod-garbage-collector",
        &[("delete,list,watch", "", "pods"), ("get,list,watch", "", "nodes"), ("patch", "", "pods/status")],
    ),
    ("pv-protection-controller", &[("get,list,update,watch", "", "persistentvolumes"), EVENTS]),
    (
        "pvc-protection-controller",
        &[
            ("get,list,update,watch", "", "persistentvolumeclaims"),
            ("update", "", "persistentvolumeclaims/status"),
            ("get,list,watch", "", "pods"),
            EVENTS,
        ],
    ),
    (
        "replicaset-controller",
        &[
            ("get,list,update,watch", "apps", "replicasets"),
            ("update", "apps", "replicasets/status,replicasets/finalizers"),
            ("create,delete,list,patch,watch", "", "pods"),
            EVENTS,
        ],
    ),
    (
        "replication-controller",
        &[
            ("get,list,update,watch", "", "replicationcontrollers"),
            ("update", "", "replicationcontrollers/status,replicationcontrollers/finalizers"),
            ("create,delete,list,patch,watch", "", "pods"),
            EVENTS,
        ],
    ),
    ("resourcequota-controller", &[("list,watch", "*", "*"), ("update", "", "resourcequotas/status"), EVENTS]),
    ("root-ca-cert-publisher", &[("create,update", "", "configmaps"), EVENTS]),
    ("service-account-controller", &[("create", "", "serviceaccounts"), EVENTS]),
    (
        "statefulset-controller",
        &[
            ("list,watch", "", "pods"),
            (READ, "apps", "statefulsets"),
            ("update", "apps", "statefulsets/status,statefulsets/finalizers"),
            ("create,delete,get,patch,update", "", "pods"),
            ("create,delete,get,list,patch,update,watch", "apps", "controllerrevisions"),
            ("create,get,list,watch", "", "persistentvolumeclaims"),
            ("delete,update", "", "persistentvolumeclaims"),
            ("update", "", "pods/finalizers"),
            EVENTS,
        ],
    ),
    ("ttl-after-finished-controller", &[("delete,get,list,watch", "batch", "jobs"), EVENTS]),
    ("ttl-controller", &[("list,patch,update,watch", "", "nodes"), EVENTS]),
    (
        "validatingadmissionpolicy-status-controller",
        &[
            (READ, "admissionregistration.k8s.io", "validatingadmissionpolicies"),
            ("get,patch,update", "admissionregistration.k8s.io", "validatingadmissionpolicies/status"),
            EVENTS,
        ],
    ),
    (
        "volumeattributesclass-protection-controller",
        &[
            (READ, "", "persistentvolumeclaims"),
            (READ, "", "persistentvolumes"),
            ("get,list,update,watch", "storage.k8s.io", "volumeattributesclasses"),
            EVENTS,
        ],
    ),
];

/// Components that run more than once, of which one leads: who may take the lease of that name.
const LEADERS: &[&str] = &["kube-controller-manager", "kube-scheduler"];

/// All of it, in the order in which the API server writes it: ClusterRoles, ClusterRoleBindings, Roles, RoleBindings.
pub fn objects() -> &'static [Object] {
    static OBJECTS: LazyLock<Vec<Object>> = LazyLock::new(|| {
        let mut objects = cluster_roles();
        objects.extend(cluster_role_bindings());
        objects.extend(LEADERS.iter().map(|component| leader_role(component)));
        objects.extend(LEADERS.iter().map(|component| leader_binding(component)));
        objects
    });
    &OBJECTS
}

fn cluster_roles() -> Vec<Object> {
    let mut roles = Vec::new();
    for (name, parts, _) in CLUSTER_ROLES {
        let mut rules: Vec<PolicyRule> = parts.iter().flat_map(|part| part.iter()).map(rule).collect();
        rules.extend(NON_RESOURCE.iter().filter(|(role, _)| role == name).map(|(_, urls)| url_rule(urls)));
        roles.push(cluster_role(name, rules));
    }
    for (name, rules) in CONTROLLERS {
        roles.push(cluster_role(&format!("system:controller:{name}"), rules.iter().map(rule).collect()));
    }
    roles
}

fn cluster_role(name: &str, rules: Vec<PolicyRule>) -> Object {
    let label = |of: &str| (format!("{AGGREGATE}{of}"), "true".to_owned());
    let mut metadata = meta("", name);
    let into = GATHERED.iter().filter(|(role, _)| *role == name).map(|(_, into)| label(into));
    metadata.labels.get_or_insert_default().extend(into);
    let aggregation_rule = GATHERING.contains(&name).then(|| {
        let selector = LabelSelector { match_labels: Some(BTreeMap::from([label(name)])), match_expressions: None };
        AggregationRule { cluster_role_selectors: Some(vec![selector]) }
    });
    Object::ClusterRole(Arc::new(ClusterRole { metadata, aggregation_rule, rules: Some(rules) }))
}

fn cluster_role_bindings() -> Vec<Object> {
    let mut bindings = Vec::new();
    for (name, _, subjects) in CLUSTER_ROLES.iter().filter(|(_, _, subjects)| !subjects.is_empty()) {
        bindings.push(cluster_binding(name, subjects.iter().map(|(kind, name)| subject(kind, name)).collect()));
    }
    for (name, _) in CONTROLLERS {
        bindings.push(cluster_binding(&format!("system:controller:{name}"), vec![account(name)]));
    }
    bindings
}

fn cluster_binding(name: &str, subjects: Vec<Subject>) -> Object {
    let role_ref = RoleRef { api_group: Some(RBAC.into()), kind: "ClusterRole".into(), name: name.into() };
    Object::ClusterRoleBinding(Arc::new(ClusterRoleBinding {
        metadata: meta("", name),
        role_ref,
        subjects: Some(subjects),
    }))
}

/// `system::leader-locking-kube-scheduler`: the lease of that name, and no other.
fn leader_role(component: &str) -> Object {
    let mut rule = rule(&("get,watch,update", "coordination.k8s.io", "leases"));
    rule.resource_names = Some(vec![component.to_owned()]);
    let metadata = meta("kube-system", &format!("system::leader-locking-{component}"));
    Object::Role(Arc::new(Role { metadata, rules: Some(vec![rule]) }))
}

fn leader_binding(component: &str) -> Object {
    let name = format!("system::leader-locking-{component}");
    Object::RoleBinding(Arc::new(RoleBinding {
        metadata: meta("kube-system", &name),
        role_ref: RoleRef { api_group: Some(RBAC.into()), kind: "Role".into(), name },
        subjects: Some(vec![subject("User", &format!("system:{component}"))]),
    }))
}

fn rule((verbs, groups, resources): &Rule) -> PolicyRule {
    let list = |text: &str| text.split(',').map(|word| word.trim().to_owned()).collect::<Vec<_>>();
    let (resources, names) = resources.split_once('=').map_or((*resources, None), |(of, names)| (of, Some(names)));
    PolicyRule {
        verbs: list(verbs),
        api_groups: Some(list(groups)),
        resources: Some(list(resources)),
        resource_names: names.map(list),
        ..PolicyRule::default()
    }
}

fn url_rule(urls: &[&str]) -> PolicyRule {
    let verbs = if urls == ["*"] { "*" } else { "get" };
    let urls = urls.iter().map(|url| (*url).to_owned()).collect();
    PolicyRule { verbs: vec![verbs.into()], non_resource_urls: Some(urls), ..PolicyRule::default() }
}

fn subject(kind: &str, name: &str) -> Subject {
    Subject { api_group: Some(RBAC.into()), kind: kind.into(), name: name.into(), namespace: None }
}

fn account(name: &str) -> Subject {
    Subject { api_group: None, kind: "ServiceAccount".into(), name: name.into(), namespace: Some("kube-system".into()) }
}

/// What all bootstrap policy carries: it is repaired when the API server starts.
fn meta(namespace: &str, name: &str) -> ObjectMeta {
    let annotation = ("rbac.authorization.kubernetes.io/autoupdate".to_owned(), "true".to_owned());
    let label = ("kubernetes.io/bootstrapping".to_owned(), "rbac-defaults".to_owned());
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
        annotations: Some(BTreeMap::from([annotation])),
        labels: Some(BTreeMap::from([label])),
        ..ObjectMeta::default()
    }
}
