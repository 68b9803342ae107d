//! NodeRestriction: a kubelet writes its own Node, its own lease and the Pods bound to it. Mirrors
//! `plugin/pkg/admission/noderestriction`.
//!
//! The Node authorizer let the request through by its URL; here its object is looked at. A node that was broken into
//! can so neither move the Pods of others nor make itself look trusted.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;

use crate::authorization::node::{NODE_LEASES, node_of};
use object::node::taints_of;
use object::pod::{MIRROR, assigned_node};
use object::well_known::{ARCH, HOSTNAME, OS, REGION, REGION_BETA, ZONE, ZONE_BETA};
use object::{Accessor, Kind, Object, Pod, Status};
use wire::{Body, Request, Subresource};

use super::{Attributes, forbidden};
use object::reader::Reader;

/// Labels that a kubelet may set about itself, besides those outside of kubernetes.io and k8s.io.
/// Mirrors `kubeletapis.KubeletLabels`.
const OWN_LABELS: &[&str] = &[
    HOSTNAME,
    ZONE,
    REGION,
    ZONE_BETA,
    REGION_BETA,
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    OS,
    ARCH,
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];

/// Label namespaces that a kubelet may use as it likes. Mirrors `kubeletapis.KubeletLabelNamespaces`.
const OWN_LABEL_NAMESPACES: &[&str] = &["kubelet.kubernetes.io", "node.kubernetes.io"];

/// Creates and updates by a kubelet.
pub fn admit(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    let request = attributes.request;
    let Some(node) = node_of(&request.user) else { return Ok(()) };
    let checked = match (&*object, request.subresource) {
        (Object::Pod(pod), Some(Subresource::Status)) => pod_status(node, pod, attributes.old),
        (Object::Pod(pod), None) => mirror_pod(node, pod, attributes.is_create()),
        (Object::Node(new), _) => own_node(node, new, attributes.old),
        (Object::Lease(_), _) => own_lease(node, &request.namespace, object.name()),
        (Object::CSINode(_), _) => own_drivers(node, object.name()),
        _ => Ok(()),
    };
    checked.map_err(|why| forbidden(request, Some(object), &why))
}

/// Deletes by a kubelet: the Pods bound to it.
pub fn admit_delete(attributes: &Attributes) -> Result<(), Status> {
    let request = attributes.request;
    let Some(node) = node_of(&request.user) else { return Ok(()) };
    let checked = match attributes.old {
        Some(Object::Pod(pod)) if !is_bound(pod, node) => {
            Err(format!("node \"{node}\" can only delete pods with spec.nodeName set to itself"))
        }
        Some(Object::Node(other)) if other.metadata.name.as_deref() != Some(node) => Err(not_own(node, other)),
        Some(Object::Lease(_)) => own_lease(node, &request.namespace, &request.name),
        _ => Ok(()),
    };
    checked.map_err(|why| forbidden(request, attributes.old, &why))
}

/// A kubelet asks for tokens for the Pods bound to it, and names the Pod.
pub fn admit_token(request: &Request, reader: &dyn Reader) -> Result<(), Status> {
    let Some(node) = node_of(&request.user) else { return Ok(()) };
    let refuse = |why: &str| Err(forbidden(request, None, why));
    let Body::Token { bound: Some((Kind::Pod, name, uid)), .. } = &request.body else {
        return refuse("node requested token not bound to a pod");
    };
    if uid.is_empty() {
        return refuse("node requested token with a pod binding without a uid");
    }
    let Some(Object::Pod(pod)) = reader.get(Kind::Pod, &request.namespace, name) else {
        return Err(Status::not_found(Kind::Pod, name));
    };
    if pod.metadata.uid.as_deref() != Some(uid) {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        );
        return Err(Status::conflict(request.kind, &request.name, &why));
    }
    match is_bound(&pod, node) {
        true => Ok(()),
        false => refuse("node requested token bound to a pod scheduled on a different node"),
    }
}

fn pod_status(node: &str, pod: &Pod, old: Option<&Object>) -> Result<(), String> {
    let Some(Object::Pod(old)) = old else { return Ok(()) };
    if !is_bound(old, node) {
        return Err(format!("node \"{node}\" can only update pod status for pods with spec.nodeName set to itself"));
    }
    if labels_of(&old.metadata.labels) != labels_of(&pod.metadata.labels) {
        return Err(format!("node \"{node}\" cannot update labels through pod status"));
    }
    Ok(())
}

/// The only Pods that a kubelet creates stand for files in its manifest directory.
fn mirror_pod(node: &str, pod: &Pod, create: bool) -> Result<(), String> {
    if !create {
        return Err("unexpected operation \"UPDATE\"".to_owned());
    }
    if !labels_of(&pod.metadata.annotations).contains_key(MIRROR) {
        return Err(format!("pod does not have \"{MIRROR}\" annotation, node \"{node}\" can only create mirror pods"));
    }
    if !is_bound(pod, node) {
        return Err(format!("node \"{node}\" can only create pods with spec.nodeName set to itself"));
    }
    Ok(())
}

fn own_node(node: &str, new: &Node, old: Option<&Object>) -> Result<(), String> {
    if new.metadata.name.as_deref() != Some(node) {
        return Err(not_own(node, new));
    }
    let Some(Object::Node(old)) = old else {
        return match foreign_labels(labels_of(&new.metadata.labels).keys()) {
            foreign if foreign.is_empty() => Ok(()),
            foreign => Err(format!("node \"{node}\" is not allowed to set the following labels: {foreign}")),
        };
    };
    if taints_of(new) != taints_of(old) {
        return Err(format!("node \"{node}\" is not allowed to modify taints"));
    }
    let (before, after) = (labels_of(&old.metadata.labels), labels_of(&new.metadata.labels));
    let changed = before.keys().chain(after.keys()).filter(|key| before.get(*key) != after.get(*key));
    match foreign_labels(changed) {
        foreign if foreign.is_empty() => Ok(()),
        foreign => Err(format!("is not allowed to modify labels: {foreign}")),
    }
}

fn own_lease(node: &str, namespace: &str, name: &str) -> Result<(), String> {
    if namespace != NODE_LEASES {
        return Err(format!("can only access leases in the \"{NODE_LEASES}\" system namespace"));
    }
    if name != node {
        return Err("can only access node lease with the same name as the requesting node".to_owned());
    }
    Ok(())
}

fn own_drivers(node: &str, name: &str) -> Result<(), String> {
    match name == node {
        true => Ok(()),
        false => Err("can only access CSINode with the same name as the requesting node".to_owned()),
    }
}

fn not_own(node: &str, other: &Node) -> String {
    format!("node \"{node}\" is not allowed to modify node {:?}", other.metadata.name())
}

/// The labels among `keys` that a kubelet may not touch, sorted and joined.
fn foreign_labels<'a>(keys: impl Iterator<Item = &'a String>) -> String {
    let mut foreign: Vec<&str> = keys.map(String::as_str).filter(|key| is_foreign(key)).collect();
    foreign.sort_unstable();
    foreign.dedup();
    foreign.join(", ")
}

/// Labels in kubernetes.io and k8s.io belong to the cluster, but for those that describe a machine.
fn is_foreign(key: &str) -> bool {
    let namespace = key.split_once('/').map_or("", |(namespace, _)| namespace);
    let within =
        |domain: &str| namespace == domain || namespace.strip_suffix(domain).is_some_and(|sub| sub.ends_with('.'));
    let reserved = within("kubernetes.io") || within("k8s.io");
    // Only an administrator may say that a node is safe.
    if within("node-restriction.kubernetes.io") {
        return true;
    }
    reserved && !OWN_LABELS.contains(&key) && !OWN_LABEL_NAMESPACES.iter().any(|domain| within(domain))
}

fn labels_of(labels: &Option<BTreeMap<String, String>>) -> &BTreeMap<String, String> {
    static NONE: BTreeMap<String, String> = BTreeMap::new();
    labels.as_ref().unwrap_or(&NONE)
}

fn is_bound(pod: &Pod, node: &str) -> bool {
    assigned_node(pod) == Some(node)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{Objects, object, request};
    use super::*;
    use object::random::Random;
    use wire::{User, Verb};

    fn pod(node: &str, annotations: Value, labels: Value) -> Object {
        object(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "s22b", "name": "fixed", "uid": "u1", "annotations": annotations,
                "labels": labels},
            "spec": {"nodeName": node, "containers": []}}))
    }

    fn node(name: &str, labels: Value, taints: Value) -> Object {
        object(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints}}))
    }

    #[test]
    fn a_kubelet_writes_what_is_its_own() {
        let plain = |name: &str| pod(name, json!({}), json!({}));
        let labelled = pod("node-3", json!({}), json!({"a": "b"}));
        let mirror = pod("node-3", json!({MIRROR: "x"}), json!({}));
        let own = |labels: Value| node("node-3", labels, json!([]));
        let tainted = node("node-3", json!({}), json!([{"key": "k", "effect": "NoSchedule"}]));
        let status = Some(Subresource::Status);
        let cases = [
            (plain("node-3"), Some(plain("node-3")), status, None),
            (
                plain("node-1"),
                Some(plain("node-1")),
                status,
                Some(
                    "pods \"fixed\" is forbidden: node \"node-3\" can only update pod status for pods with \
                      spec.nodeName set to itself",
                ),
            ),
            (
                labelled,
                Some(plain("node-3")),
                status,
                Some("pods \"fixed\" is forbidden: node \"node-3\" cannot update labels through pod status"),
            ),
            (mirror, None, None, None),
            (
                plain("node-3"),
                None,
                None,
                Some(
                    "pods \"fixed\" is forbidden: pod does not have \"kubernetes.io/config.mirror\" annotation, node \
                      \"node-3\" can only create mirror pods",
                ),
            ),
            (own(json!({"kubernetes.io/os": "linux", "disk": "ssd"})), None, None, None),
            (
                own(json!({"node-restriction.kubernetes.io/safe": "yes"})),
                None,
                None,
                Some(
                    "nodes \"node-3\" is forbidden: node \"node-3\" is not allowed to set the following labels: \
                      node-restriction.kubernetes.io/safe",
                ),
            ),
            (
                node("node-1", json!({}), json!([])),
                None,
                None,
                Some("nodes \"node-1\" is forbidden: node \"node-3\" is not allowed to modify node \"node-1\""),
            ),
            (
                own(json!({})),
                Some(tainted),
                None,
                Some("nodes \"node-3\" is forbidden: node \"node-3\" is not allowed to modify taints"),
            ),
        ];
        for (mut new, old, subresource, message) in cases {
            let verb = if old.is_some() { Verb::Update } else { Verb::Create };
            let request = request(User::node("node-3"), verb, subresource, &new);
            let (objects, mut random) = (Objects::default(), Random::new(1));
            let mut attributes = Attributes {
                request: &request,
                old: old.as_ref(),
                reader: &objects,
                authorizer: &crate::authorization::Authorizer::new(),
                random: &mut random,
            };
            let got = admit(&mut attributes, &mut new).err().map(|status| status.message);
            assert_eq!(got.as_deref(), message);
        }
    }

    #[test]
    fn tokens_are_for_pods_of_the_node() {
        let objects = Objects::of(vec![pod("node-3", json!({}), json!({}))]);
        let account = object(json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"namespace": "s22b", "name": "default"}}));
        for (node, bound_to, message) in [
            ("node-3", Some(("fixed", "u1")), None),
            (
                "node-1",
                Some(("fixed", "u1")),
                Some(
                    "serviceaccounts \"default\" is forbidden: node requested token bound to a pod scheduled on a \
                      different node",
                ),
            ),
            ("node-3", None, Some("serviceaccounts \"default\" is forbidden: node requested token not bound to a pod")),
            ("node-3", Some(("gone", "u1")), Some("pods \"gone\" not found")),
        ] {
            let mut request = request(User::node(node), Verb::Create, Some(Subresource::Token), &account);
            request.name = "default".into();
            let bound = bound_to.map(|(name, uid)| (Kind::Pod, name.to_owned(), uid.to_owned()));
            request.body = Body::Token { audiences: Vec::new(), expiration_seconds: 3607, bound };
            assert_eq!(admit_token(&request, &objects).err().map(|status| status.message).as_deref(), message);
        }
    }
}
