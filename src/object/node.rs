//! What a Node's spec and status say in a word. Mirrors `pkg/controller/util/node`.

use k8s_openapi::api::core::v1::{Node, NodeCondition, Taint};

/// The Node's taints.
pub fn taints_of(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

/// The ranges that its Pods' addresses are from; none before it has got any.
pub fn pod_cidrs(node: &Node) -> &[String] {
    node.spec.as_ref().and_then(|spec| spec.pod_cidrs.as_deref()).unwrap_or_default()
}

/// Whether no more Pods may come to the Node.
pub fn is_cordoned(node: &Node) -> bool {
    node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true))
}

/// The Node's condition of this type. Mirrors `GetNodeCondition`.
pub fn condition<'a>(node: &'a Node, type_: &str) -> Option<&'a NodeCondition> {
    node.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == type_)
}

/// Whether the Node's Ready condition is True. Mirrors `IsNodeReady`.
pub fn is_ready(node: &Node) -> bool {
    condition(node, "Ready").is_some_and(|condition| condition.status == "True")
}
