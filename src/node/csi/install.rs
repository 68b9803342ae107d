//! What an administrator applies to install the driver: its CSIDriver, and the roles of its sidecars.

use std::sync::Arc;

use k8s_openapi::api::storage::v1::{CSIDriver, CSIDriverSpec};

use super::{DRIVER, attacher, provisioner, resizer};
use crate::node::install::{Rule, named, role};
use crate::object::Object;

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
    for (name, account, rules) in [
        ("external-provisioner-runner", provisioner::NAME, PROVISIONER),
        ("external-attacher-runner", attacher::NAME, ATTACHER),
        ("external-resizer-runner", resizer::NAME, RESIZER),
    ] {
        objects.extend(role(name, account, rules));
    }
    objects
}
