//! What an installer leaves on a machine; and what an administrator applies for a program that is installed beside
//! Kubernetes' own: a role, bound to its account.

use std::sync::Arc;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::cni::config::{self, PLUGINS};
use crate::cni::plugins::NAMES;
use crate::disk::Disk;
use engine::Hub;
use object::Object;
use object::well_known::RBAC;

/// A machine's disk: network plugins, and a configuration that gives Pods addresses of `subnet`.
pub fn disk(hub: &Hub, hostname: &str, subnet: &str) -> Disk {
    let disk = Disk::new(hub, hostname);
    let plugins = NAMES.iter().map(|name| (format!("{PLUGINS}/{name}"), "ELF\n".to_owned()));
    let config = (config::DEFAULT_FILE.to_owned(), config::default_text(subnet));
    for (path, text) in plugins.chain([config]) {
        disk.put(&path, &text).unwrap_or_else(|error| unreachable!("an empty disk takes {path}: {error}"));
    }
    disk
}

/// Verbs, API group and resources, each as a list with commas.
pub type Rule = (&'static str, &'static str, &'static str);

/// A ClusterRole with these rules, and the ClusterRoleBinding that gives it to a ServiceAccount of kube-system.
pub fn role(role: &str, account: &str, rules: &[Rule]) -> [Object; 2] {
    let rules = Some(rules.iter().map(policy_rule).collect());
    let subject = Subject {
        kind: "ServiceAccount".into(),
        name: account.into(),
        namespace: Some("kube-system".into()),
        api_group: None,
    };
    let role_ref = RoleRef { api_group: Some(RBAC.into()), kind: "ClusterRole".into(), name: role.into() };
    let (metadata, subjects) = (named(account), Some(vec![subject]));
    [
        Object::ClusterRole(Arc::new(ClusterRole { metadata: named(role), rules, ..Default::default() })),
        Object::ClusterRoleBinding(Arc::new(ClusterRoleBinding { metadata, role_ref, subjects })),
    ]
}

/// Metadata with a name and nothing else.
pub fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn policy_rule((verbs, group, resources): &Rule) -> PolicyRule {
    let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    PolicyRule {
        verbs: list(verbs),
        api_groups: Some(vec![(*group).to_owned()]),
        resources: Some(list(resources)),
        ..PolicyRule::default()
    }
}
