//! What a real cluster has before a user does anything, and what this one has.

use cluster::{Cluster, Config};
use object::Kind;
use object::reader::Reader;
use serde_json::Value;

use crate::raw::recorded::recording;

/// What is compared of each kind. Addresses and certificates are a cluster's own.
const KINDS: &[(&str, Kind)] = &[
    ("rbac.authorization.k8s.io/v1/clusterroles", Kind::ClusterRole),
    ("rbac.authorization.k8s.io/v1/clusterrolebindings", Kind::ClusterRoleBinding),
    ("rbac.authorization.k8s.io/v1/roles", Kind::Role),
    ("rbac.authorization.k8s.io/v1/rolebindings", Kind::RoleBinding),
    ("scheduling.k8s.io/v1/priorityclasses", Kind::PriorityClass),
    ("flowcontrol.apiserver.k8s.io/v1/flowschemas", Kind::FlowSchema),
    ("flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", Kind::PriorityLevelConfiguration),
    ("apiregistration.k8s.io/v1/apiservices", Kind::APIService),
    ("v1/namespaces", Kind::Namespace),
    ("v1/configmaps", Kind::ConfigMap),
    ("v1/serviceaccounts", Kind::ServiceAccount),
];
const FIELDS: &[&str] = &[
    "/rules",
    "/aggregationRule",
    "/subjects",
    "/roleRef",
    "/value",
    "/description",
    "/spec",
    "/metadata/labels",
    "/metadata/annotations",
];

#[test]
fn a_cluster_begins_with_what_a_real_one_begins_with() {
    let Some(text) = recording("real/bootstrap.json") else { return };
    let recorded: Value = serde_json::from_str(&text).expect("it is JSON");
    let mut cluster = Cluster::start(Config { nodes: Vec::new(), ..Config::default() });
    cluster.settle(std::time::Duration::from_secs(5));
    let store = &cluster.engine.server.api.store;
    let (mut differ, mut compared) = (Vec::new(), 0);
    for (resource, kind) in KINDS {
        let parts = ["apiserver", "added_by_controllers"];
        let objects = parts.iter().flat_map(|part| recorded[part][resource].as_array().into_iter().flatten());
        for object in objects {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
            compared += 1;
            let Some(ours) = Reader::get(store, *kind, namespace, name) else {
                differ.push(format!("{resource} {namespace}/{name} is missing"));
                continue;
            };
            let ours = ours.to_json();
            // What is gathered was written before a controller ran.
            let is_gathered = |field: &&&str| **field == "/rules" && !object["aggregationRule"].is_null();
            let fields = FIELDS.iter().filter(|field| !is_gathered(field));
            let other = fields.filter(|field| ours.pointer(field) != object.pointer(field));
            differ.extend(other.map(|field| {
                format!(
                    "{resource} {namespace}/{name} {field}: {:?} | {:?}",
                    object.pointer(field),
                    ours.pointer(field)
                )
            }));
        }
    }
    assert!(compared > 200, "{compared} objects");
    assert!(differ.is_empty(), "{} differ\n{}", differ.len(), differ.join("\n"));
}
