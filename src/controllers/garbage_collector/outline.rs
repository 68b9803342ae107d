//! The graph as lines of text: each object below its owner, for a user who looks into the collector.

use std::collections::BTreeSet;

use super::graph::{Graph, Identity, Node, Uid};

impl Graph {
    /// Every object that owns or is owned, indented below its owner, and what is remembered of owners that were looked up
    /// and are not there. An object with two owners stands below both.
    pub fn outline(&self) -> Vec<String> {
        let mut page = Page { graph: self, lines: Vec::new(), shown: BTreeSet::new() };
        let mut named: Vec<&Node> = self.nodes().filter(|node| !node.dependents.is_empty()).collect();
        named.sort_by_key(|node| (&node.identity.kind, &node.identity.namespace, &node.identity.name));
        let owned = |node: &Node| node.owners().iter().any(|owner| self.get(&owner.uid).is_some());
        // What owns itself in a circle has no root; any of the circle will do.
        let (circles, roots): (Vec<&Node>, Vec<&Node>) = named.into_iter().partition(|node| owned(node));
        for node in roots.into_iter().chain(circles) {
            if !page.shown.contains(&node.identity.uid) {
                page.tree(node, None, 0);
            }
        }
        // A new object may have the name of an absent one, but never its uid.
        let uid = |owner: &Identity| owner.uid.split('-').next().unwrap_or_default().to_owned();
        let absent = |owner: &Identity| format!("{}  (proved absent: uid {}…)", short(owner), uid(owner));
        page.lines.extend(self.absent.iter().map(absent));
        page.lines
    }
}

struct Page<'a> {
    graph: &'a Graph,
    lines: Vec<String>,
    shown: BTreeSet<Uid>,
}

impl Page<'_> {
    fn tree(&mut self, node: &Node, owner: Option<&Node>, depth: usize) {
        let name = short(&node.identity);
        self.lines.push(format!("{:indent$}{name}{}", "", remarks(node, owner), indent = 2 * depth));
        if !self.shown.insert(node.identity.uid.clone()) {
            return;
        }
        let graph = self.graph;
        let mut dependents: Vec<&Node> = node.dependents.iter().filter_map(|uid| graph.get(uid)).collect();
        dependents.sort_by_key(|node| (&node.identity.kind, &node.identity.name));
        for dependent in dependents {
            self.tree(dependent, Some(node), depth + 1);
        }
    }
}

/// `ReplicaSet default/web-5d8`.
fn short(identity: &Identity) -> String {
    match identity.namespace.as_str() {
        "" => format!("{} {}", identity.kind, identity.name),
        namespace => format!("{} {namespace}/{}", identity.kind, identity.name),
    }
}

/// What is special about an object below this owner.
fn remarks(node: &Node, owner: Option<&Node>) -> String {
    let remarks: Vec<&str> = [
        (!node.is_observed(), "virtual: named as an owner, seen by no informer"),
        (node.being_deleted(), "being deleted"),
        (node.deleting_dependents, "waits for its dependents"),
        (owner.is_some_and(|owner| owner.deleting_dependents && owner.is_blocked_by(node)), "holds up its owner"),
    ]
    .into_iter()
    .filter_map(|(holds, remark)| holds.then_some(remark))
    .collect();
    if remarks.is_empty() { String::new() } else { format!("  ({})", remarks.join("; ")) }
}
