//! What a Node's status says in a word. Mirrors `pkg/controller/util/node`.

use k8s_openapi::api::core::v1::{Node, NodeCondition};

/// The Node's condition of this type. Mirrors `GetNodeCondition`.
pub fn condition<'a>(node: &'a Node, type_: &str) -> Option<&'a NodeCondition> {
    node.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == type_)
}

/// Whether the Node's Ready condition is True. Mirrors `IsNodeReady`.
pub fn is_ready(node: &Node) -> bool {
    condition(node, "Ready").is_some_and(|condition| condition.status == "True")
}
