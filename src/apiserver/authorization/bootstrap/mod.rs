//! The roles and bindings that the API server writes into an empty store. Mirrors
//! `plugin/pkg/auth/authorizer/rbac/bootstrappolicy/{policy,controller_policy,namespace_policy}.go`.
//!
//! Reading the tables is reading who does what in Kubernetes: a controller may touch what it must, and nothing else.
//! The kubelet has no role here, because the Node authorizer speaks for it.
//!
//! - [`users`]: roles of users and components. [`controllers`]: those of controllers. [`namespaced`]: what is about one namespace.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use k8s_openapi::api::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use object::Object;
use object::well_known::RBAC;

mod controllers;
mod namespaced;
mod users;

use controllers::CONTROLLERS;
use namespaced::{ROLE_BINDINGS, ROLES};
use users::CLUSTER_ROLES;

/// Verbs, API groups and resources, each separated by commas; the core group is empty. After `=` stand the names of those
/// objects alone that it is about. With [`URLS`] in the middle it is about URLs, which no resource request matches.
type Rule = (&'static str, &'static str, &'static str);

/// In the place of API groups: the rule is about paths.
const URLS: &str = "URLs";
const READ: &str = "get,list,watch";
const WRITE: &str = "create,delete,deletecollection,patch,update";
const EVENTS: Rule = ("create,patch,update", ",events.k8s.io", "events");

/// A role's name, its rules, and the kinds and names of the subjects that have it; none: it is bound to no subject, and there is no
/// binding.
type RoleRow = (&'static str, &'static [&'static [Rule]], Option<&'static [(&'static str, &'static str)]>);

/// Roles that gather the rules of others: of all that carry the label `AGGREGATE` and their name. What they have gathered
/// from the bootstrap roles is written above; the clusterrole-aggregation controller adds those of other roles with such a label.
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

/// All of it, in the order in which the API server writes it: ClusterRoles, ClusterRoleBindings, Roles, RoleBindings.
pub fn objects() -> &'static [Object] {
    static OBJECTS: LazyLock<Vec<Object>> = LazyLock::new(|| {
        let mut objects = cluster_roles();
        objects.extend(cluster_role_bindings());
        objects.extend(ROLES.iter().map(|(namespace, name, rules)| role(namespace, name, rules)));
        objects.extend(
            ROLE_BINDINGS.iter().map(|(namespace, name, of, subjects)| role_binding(namespace, name, of, subjects)),
        );
        objects
    });
    &OBJECTS
}

fn cluster_roles() -> Vec<Object> {
    let mut roles = Vec::new();
    for (name, parts, _) in CLUSTER_ROLES {
        roles.push(cluster_role(name, parts.iter().flat_map(|part| part.iter()).map(rule).collect()));
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
    for (name, _, subjects) in CLUSTER_ROLES {
        bindings.extend(subjects.map(|subjects| cluster_binding(name, subjects)));
    }
    for (name, _) in CONTROLLERS {
        bindings.push(cluster_binding(&format!("system:controller:{name}"), &[("ServiceAccount", name)]));
    }
    bindings
}

fn cluster_binding(name: &str, subjects: &[(&str, &str)]) -> Object {
    let role_ref = RoleRef { api_group: Some(RBAC.into()), kind: "ClusterRole".into(), name: name.into() };
    Object::ClusterRoleBinding(Arc::new(ClusterRoleBinding {
        metadata: meta("", name),
        role_ref,
        subjects: all(subjects),
    }))
}

fn role(namespace: &str, name: &str, rules: &[Rule]) -> Object {
    let rules = Some(rules.iter().map(rule).collect());
    Object::Role(Arc::new(Role { metadata: meta(namespace, name), rules }))
}

fn role_binding(namespace: &str, name: &str, of: &str, subjects: &[(&str, &str)]) -> Object {
    Object::RoleBinding(Arc::new(RoleBinding {
        metadata: meta(namespace, name),
        role_ref: RoleRef { api_group: Some(RBAC.into()), kind: "Role".into(), name: of.into() },
        subjects: all(subjects),
    }))
}

fn rule((verbs, groups, resources): &Rule) -> PolicyRule {
    let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    if *groups == URLS {
        return PolicyRule { verbs: list(verbs), non_resource_urls: Some(list(resources)), ..PolicyRule::default() };
    }
    let (resources, names) = resources.split_once('=').map_or((*resources, None), |(of, names)| (of, Some(names)));
    PolicyRule {
        verbs: list(verbs),
        api_groups: Some(list(groups)),
        resources: Some(list(resources)),
        resource_names: names.map(list),
        ..PolicyRule::default()
    }
}

/// Users, groups, and service accounts of kube-system.
fn all(subjects: &[(&str, &str)]) -> Option<Vec<Subject>> {
    let subject = |(kind, name): &(&str, &str)| {
        let is_account = *kind == "ServiceAccount";
        Subject {
            api_group: (!is_account).then(|| RBAC.into()),
            kind: (*kind).into(),
            name: (*name).into(),
            namespace: is_account.then(|| "kube-system".into()),
        }
    };
    Some(subjects.iter().map(subject).collect()).filter(|all: &Vec<_>| !all.is_empty())
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
