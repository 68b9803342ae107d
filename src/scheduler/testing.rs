//! Short pods and nodes for the tests of this module, and of the exercises that write plugins.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use super::pod_info::PodInfo;
use super::snapshot::Snapshot;
use object::Pod;

/// A pod in namespace `default` from its spec in YAML; no spec means one container that asks for nothing.
pub fn pod(name: &str, spec: &str) -> Pod {
    let mut spec: Value = serde_yaml::from_str(if spec.is_empty() { "{}" } else { spec }).expect("the spec is YAML");
    if spec.get("containers").is_none() {
        spec["containers"] = json!([{"name": "a"}]);
    }
    quantities_to_text(&mut spec);
    let mut pod: Pod = serde_json::from_value(json!({"spec": spec})).expect("the spec is a pod's");
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.namespace = Some("default".to_owned());
    pod.metadata.uid = Some(format!("uid-{name}"));
    pod
}

/// The same with labels `k=v,…`.
pub fn labelled(name: &str, labels: &str, spec: &str) -> Pod {
    let mut pod = pod(name, spec);
    let pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
    pod.metadata.labels = Some(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect());
    pod
}

/// What the scheduler works out about the pod.
pub fn info(pod: Pod) -> Arc<PodInfo> {
    Arc::new(PodInfo::new(Arc::new(pod)))
}

/// A node from YAML with the label `kubernetes.io/hostname`; without a status it has 4 CPUs, 8 GiB, 110 pods.
pub fn node(name: &str, yaml: &str) -> Node {
    let mut value: Value = serde_yaml::from_str(if yaml.is_empty() { "{}" } else { yaml }).expect("the node is YAML");
    if value.get("status").is_none() {
        value["status"] = json!({"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}});
    }
    quantities_to_text(&mut value);
    let mut node: Node = serde_json::from_value(value).expect("the value is a node");
    node.metadata.name = Some(name.to_owned());
    let labels = node.metadata.labels.get_or_insert_default();
    labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
    node
}

/// A snapshot of nodes, and of pods with the names of their nodes.
pub fn snapshot(nodes: Vec<Node>, pods: Vec<(Pod, &str)>) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for node in nodes {
        snapshot.set_node(Arc::new(node));
    }
    for (pod, node) in pods {
        snapshot.place(info(pod), node);
    }
    snapshot.refresh();
    snapshot
}

/// Numbers where Kubernetes has quantities: `cpu: 2`.
fn quantities_to_text(value: &mut Value) {
    const HOLDERS: [&str; 5] = ["requests", "limits", "allocatable", "capacity", "overhead"];
    let Value::Object(fields) = value else {
        value.as_array_mut().into_iter().flatten().for_each(quantities_to_text);
        return;
    };
    for (name, field) in fields {
        match field.as_object_mut().filter(|_| HOLDERS.contains(&name.as_str())) {
            Some(amounts) => amounts.values_mut().filter(|a| a.is_number()).for_each(|a| *a = json!(a.to_string())),
            None => quantities_to_text(field),
        }
    }
}
