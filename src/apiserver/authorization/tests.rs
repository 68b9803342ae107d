use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding};
use serde_json::{Value, json};

use super::*;
use crate::admission::testing::Objects;
use object::{Pod, versions};
use wire::{Body, Options, Subresource, Verb};

/// An authorizer that has seen the bootstrap policy and `more`.
fn authorizer(more: &[Object]) -> Authorizer {
    let mut authorizer = Authorizer::new();
    for object in bootstrap::objects().iter().chain(more) {
        authorizer.object_changed(object.kind(), None, Some(object));
    }
    authorizer
}

/// `verb resource namespace/name`: a subresource after a slash, a field selector after `?`.
fn request(user: User, line: &str) -> Request {
    let (line, selector) = line.split_once('?').unwrap_or((line, ""));
    let words: Vec<&str> = line.split(' ').collect();
    let (resource, subresource) = words[1].split_once('/').unwrap_or((words[1], ""));
    let subresources = [Subresource::Status, Subresource::Scale, Subresource::Binding, Subresource::Token];
    let verbs = [Verb::Get, Verb::List, Verb::Watch, Verb::Create, Verb::Update, Verb::Patch, Verb::Delete];
    let (namespace, name) = words.get(2).and_then(|word| word.split_once('/')).unwrap_or_default();
    Request {
        connection: None,
        user: Rc::new(user),
        verb: verbs.into_iter().find(|verb| verb.as_str() == words[0]).expect("a known verb"),
        kind: Kind::ALL.iter().copied().find(|kind| kind.info().plural == resource).expect("a known resource"),
        subresource: subresources.into_iter().find(|sub| sub.as_str() == subresource),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        body: Body::None,
        options: Options { field_selector: selector.to_owned(), ..Options::default() },
    }
}

fn controller(name: &str) -> User {
    User::service_account("kube-system", name, name)
}

fn scheduler() -> User {
    User::component("system:kube-scheduler", "kube-scheduler")
}

#[test]
fn components_have_the_roles_they_need() {
    let authorizer = authorizer(&[]);
    let allowed = [
        (User::admin(), "delete nodes /node-1", "allowed: the group system:masters may do everything"),
        (
            scheduler(),
            "create pods/binding default/web",
            "RBAC: allowed by ClusterRoleBinding \"system:kube-scheduler\" of ClusterRole \"system:kube-scheduler\" \
             to User \"system:kube-scheduler\"",
        ),
        (
            scheduler(),
            "list leases kube-system/",
            "RBAC: allowed by RoleBinding \"system::leader-locking-kube-scheduler/kube-system\" of Role \
             \"system::leader-locking-kube-scheduler\" to User \"system:kube-scheduler\"",
        ),
        (
            controller("deployment-controller"),
            "update deployments/status default/web",
            "RBAC: allowed by ClusterRoleBinding \"system:controller:deployment-controller\" of ClusterRole \
             \"system:controller:deployment-controller\" to ServiceAccount \"deployment-controller/kube-system\"",
        ),
    ];
    for (user, line, why) in allowed {
        let got = authorizer.authorize(&request(user, line), &Objects::default()).map(|allowed| allowed.to_string());
        assert_eq!(got.as_deref(), Ok(why), "{line}");
    }
}

#[test]
fn what_nobody_allows_is_forbidden_in_the_servers_words() {
    let authorizer = authorizer(&[]);
    let denied = [
        (
            scheduler(),
            "create configmaps s22b/",
            "configmaps is forbidden: User \"system:kube-scheduler\" cannot create resource \"configmaps\" in API \
             group \"\" in the namespace \"s22b\"",
        ),
        (
            controller("replicaset-controller"),
            "update deployments/status default/web",
            "deployments.apps \"web\" is forbidden: User \
             \"system:serviceaccount:kube-system:replicaset-controller\" cannot update resource \
             \"deployments/status\" in API group \"apps\" in the namespace \"default\"",
        ),
        (
            User::component("jane", "kubectl"),
            "list nodes",
            "nodes is forbidden: User \"jane\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
        ),
        (
            User::component("jane", "kubectl"),
            "get namespaces /dev",
            "namespaces \"dev\" is forbidden: User \"jane\" cannot get resource \"namespaces\" in API group \"\" in \
             the namespace \"dev\"",
        ),
    ];
    for (user, line, message) in denied {
        let status = authorizer.authorize(&request(user, line), &Objects::default()).expect_err(line);
        assert_eq!((status.code, status.message.as_str()), (403, message), "{line}");
    }
}

#[test]
fn the_bootstrap_roles_are_those_of_this_release() {
    let binding = decode(
        Kind::RoleBinding,
        json!({"metadata": {"namespace": "dev", "name": "jane-edits"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"kind": "User", "name": "jane"}]}),
    );
    let authorizer = authorizer(&[binding]);
    let jane = || User::component("jane", "kubectl");
    for (user, line, may) in [
        (controller("pvc-protection-controller"), "update persistentvolumeclaims/status dev/data", true),
        (controller("node-controller"), "watch nodes", true),
        (controller("cronjob-controller"), "watch pods", true),
        (controller("endpointslice-controller"), "watch endpointslices", true),
        (controller("expand-controller"), "get secrets dev/key", false),
        (controller("persistent-volume-binder"), "get nodes /node-1", false),
        (jane(), "list events dev/", true),
    ] {
        assert_eq!(authorizer.authorize(&request(user, line), &Objects::default()).is_ok(), may, "{line}");
    }
    // Events are in two groups, and so are the rules about them.
    let newer = versions::other(Kind::Event).expect("Events are served in events.k8s.io too");
    for verb in ["list", "create"] {
        let request = Request { kind: newer, ..request(jane(), &format!("{verb} events dev/")) };
        assert!(authorizer.authorize(&request, &Objects::default()).is_ok(), "{verb}");
    }
}

fn decode(kind: Kind, value: Value) -> Object {
    kind.decode(value).expect("the test's object decodes")
}

#[test]
fn a_role_binding_counts_in_its_namespace_and_follows_changes() {
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": {"namespace": "dev", "name": "jane-edits"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "User", "name": "jane"}],
    }))
    .expect("the binding decodes");
    let binding = Object::RoleBinding(Arc::new(binding));
    let mut authorizer = authorizer(std::slice::from_ref(&binding));
    let jane = || User::component("jane", "kubectl");
    let may =
        |authorizer: &Authorizer, line: &str| authorizer.authorize(&request(jane(), line), &Objects::default()).is_ok();
    assert!(may(&authorizer, "create deployments dev/"));
    assert!(!may(&authorizer, "create deployments prod/"), "a RoleBinding counts in its own namespace only");
    assert!(!may(&authorizer, "create roles dev/"), "edit does not grant");
    authorizer.object_changed(Kind::RoleBinding, Some(&binding), None);
    assert!(!may(&authorizer, "create deployments dev/"), "the binding is gone");
}

#[test]
fn a_missing_role_is_told() {
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "broken"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"},
        "subjects": [{"kind": "Group", "name": "system:authenticated"}],
    }))
    .expect("the binding decodes");
    let authorizer = authorizer(&[Object::ClusterRoleBinding(Arc::new(binding))]);
    let request = request(User::component("jane", "kubectl"), "list pods dev/");
    let status = authorizer.authorize(&request, &Objects::default()).expect_err("jane has no role");
    let end = "in the namespace \"dev\": RBAC: clusterrole.rbac.authorization.k8s.io \"x\" not found";
    assert!(status.message.ends_with(end), "{}", status.message);
}

/// A Pod on node-1 that mounts a Secret and runs as `robot`.
fn pod() -> Object {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"namespace": "dev", "name": "web"},
        "spec": {
            "nodeName": "node-1", "serviceAccountName": "robot",
            "containers": [{"name": "app", "envFrom": [{"configMapRef": {"name": "env"}}]}],
            "volumes": [{"name": "tls", "secret": {"secretName": "tls"}}],
        },
    }))
    .expect("the pod decodes");
    Object::Pod(Arc::new(pod))
}

#[test]
fn a_kubelet_sees_what_its_pods_name() {
    let pod = pod();
    let mut authorizer = authorizer(std::slice::from_ref(&pod));
    let objects = Objects::of(vec![pod.clone()]);
    let cases = [
        ("get secrets dev/tls", "node-1", None),
        ("get configmaps dev/env", "node-1", None),
        ("watch configmaps dev/?metadata.name=env", "node-1", None),
        ("create serviceaccounts/token dev/robot", "node-1", None),
        ("get pods dev/web", "node-1", None),
        ("list pods?spec.nodeName=node-1", "node-1", None),
        ("patch pods/status dev/web", "node-2", None),
        ("create events dev/", "node-1", None),
        ("list services", "node-1", None),
        ("get nodes /node-1", "node-1", None),
        ("update leases kube-node-lease/node-1", "node-1", None),
        ("get secrets dev/tls", "node-2", Some("no relationship found between node 'node-2' and this object")),
        ("get secrets dev/other", "node-1", Some("no relationship found between node 'node-1' and this object")),
        ("list secrets dev/", "node-1", Some("No Object name found")),
        ("update secrets dev/tls", "node-1", Some("can only read resources of this type")),
        ("list pods", "node-1", Some("can only list/watch pods with spec.nodeName field selector")),
        ("list nodes", "node-1", Some("node 'node-1' cannot read all nodes, only its own Node object")),
        ("get nodes /node-2", "node-1", Some("node 'node-1' cannot read 'node-2', only its own Node object")),
        (
            "update leases kube-node-lease/node-2",
            "node-1",
            Some("can only access node lease with the same name as the requesting node"),
        ),
    ];
    for (line, node, denied) in cases {
        match (authorizer.authorize(&request(User::node(node), line), &objects), denied) {
            (Ok(_), None) => {}
            (Err(status), Some(reason)) => assert!(status.message.ends_with(reason), "{line}: {}", status.message),
            (got, _) => panic!("{line} by {node}: {got:?}"),
        }
    }
    authorizer.object_changed(Kind::Pod, Some(&pod), None);
    let gone = authorizer.authorize(&request(User::node("node-1"), "get secrets dev/tls"), &Objects::default());
    assert!(gone.is_err(), "the Pod that named the Secret is gone");
}

#[test]
fn rules_match_as_written() {
    let rule = |value: Value| match decode(Kind::ClusterRole, json!({"metadata": {}, "rules": [value]})) {
        Object::ClusterRole(role) => role.rules.clone().unwrap_or_default().remove(0),
        other => panic!("not a role: {other:?}"),
    };
    let any = json!(["*"]);
    let cases = [
        (json!({"verbs": any, "apiGroups": any, "resources": any}), "patch pods/status dev/web", true),
        (json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}), "get pods dev/web", true),
        (json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}), "get pods/status dev/web", false),
        (json!({"verbs": ["get"], "apiGroups": ["apps"], "resources": ["pods"]}), "get pods dev/web", false),
        (json!({"verbs": ["get"], "apiGroups": any, "resources": ["*/scale"]}), "get deployments/scale dev/web", true),
        (json!({"verbs": ["get"], "apiGroups": any, "resources": ["*/scale"]}), "get deployments dev/web", false),
        (json!({"verbs": any, "apiGroups": any, "resources": any, "resourceNames": ["web"]}), "get pods dev/web", true),
        (
            json!({"verbs": any, "apiGroups": any, "resources": any, "resourceNames": ["web"]}),
            "create pods dev/",
            false,
        ),
        (
            json!({"verbs": any, "apiGroups": any, "resources": any, "resourceNames": ["web"]}),
            "watch pods dev/?metadata.name=web",
            true,
        ),
    ];
    for (value, line, expected) in cases {
        let request = request(User::component("jane", ""), line);
        assert_eq!(rbac::rule_allows(&rule(value.clone()), &Attributes::of(&request)), expected, "{value} {line}");
    }
}
