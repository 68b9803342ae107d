//! What an administrator applies to install the driver: its CSIDriver, and the roles of its sidecars.

use std::sync::Arc;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use k8s_openapi::api::storage::v1::{CSIDriver, CSIDriverSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{DRIVER, attacher, provisioner, resizer};
use crate::object::Object;

/// Verbs, API group and resources.
type Rule = (&'static str, &'static str, &'static str);

const EVENTS: Rule = ("create,list,patch,update,watch", "", "events");

const PROVISIONER: &[Rule] = &[
    ("create,delete,get,list,patch,watch", "", "persistentvolumes"),
    ("get,list,update,watch", "", "persistentvolumeclaims"),
    ("get,list,watch", "storage.k8s.io", "storageclasses,csinodes,volumeattachments"),
    ("get,list,watch", "", "nodes"),
    EVENTS,
];

const ATTACHER: &[Rule] = &[
    ("get,list,patch,watch", "", "persistentvolumes"),
    ("get,list,watch", "storage.k8s.io", "csinodes"),
    ("get,list,patch,watch", "storage.k8s.io", "volumeattachments"),
    ("patch", "storage.k8s.io", "volumeattachments/status"),
];

const RESIZER: &[Rule] = &[
    ("get,list,patch,watch", "", "persistentvolumes"),
    ("get,list,watch", "", "persistentvolumeclaims,pods"),
    ("patch", "", "persistentvolumeclaims/status"),
    EVENTS,
];

/// The objects, in the order in which they are applied.
pub fn objects() -> Vec<Object> {
    let spec = CSIDriverSpec { attach_required: Some(true), ..CSIDriverSpec::default() };
    let mut objects = vec![Object::CSIDriver(Arc::new(CSIDriver { metadata: named(DRIVER), spec }))];
    for (role, account, rules) in [
        ("external-provisioner-runner", provisioner::NAME, PROVISIONER),
        ("external-attacher-runner", attacher::NAME, ATTACHER),
        ("external-resizer-runner", resizer::NAME, RESIZER),
    ] {
        let rules = Some(rules.iter().map(rule).collect());
        objects.push(Object::ClusterRole(Arc::new(ClusterRole { metadata: named(role), rules, ..Default::default() })));
        let subject = Subject {
            kind: "ServiceAccount".into(),
            name: account.into(),
            namespace: Some("kube-system".into()),
            api_group: None,
        };
        let group = "rbac.authorization.k8s.io".to_owned();
        let role_ref = RoleRef { api_group: Some(group), kind: "ClusterRole".into(), name: role.into() };
        let (metadata, subjects) = (named(account), Some(vec![subject]));
        objects.push(Object::ClusterRoleBinding(Arc::new(ClusterRoleBinding { metadata, role_ref, subjects })));
    }
    objects
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn rule((verbs, group, resources): &Rule) -> PolicyRule {
    let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    PolicyRule {
        verbs: list(verbs),
        api_groups: Some(vec![(*group).to_owned()]),
        resources: Some(list(resources)),
        ..PolicyRule::default()
    }
}
