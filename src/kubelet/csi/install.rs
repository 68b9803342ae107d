//! What an administrator applies to install the driver: its CSIDriver, the roles of its sidecars, and a StorageClass.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::storage::v1::{CSIDriver, CSIDriverSpec, StorageClass};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{DRIVER, attacher, provisioner, resizer};
use network::install::{Rule, named, role};
use object::Object;
use object::well_known::DEFAULT_STORAGE_CLASS;

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

/// The class of claims that name none, as kind and minikube have one.
pub fn default_class() -> Object {
    let annotation = (DEFAULT_STORAGE_CLASS.to_owned(), "true".to_owned());
    let metadata = ObjectMeta { annotations: Some(BTreeMap::from([annotation])), ..named("standard") };
    Object::StorageClass(Arc::new(StorageClass {
        metadata,
        provisioner: DRIVER.into(),
        reclaim_policy: Some("Delete".into()),
        volume_binding_mode: Some("WaitForFirstConsumer".into()),
        ..StorageClass::default()
    }))
}

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
