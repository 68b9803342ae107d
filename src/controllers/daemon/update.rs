//! Rolling a new template out. Mirrors `pkg/controller/daemon/update.go`.
//!
//! Without surge, old Pods are deleted, as many as may be unavailable at once; the next reconcile finds their nodes empty
//! and makes new ones. With surge, new Pods are made beside old ones, and an old one goes when the new one is available.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::pods::is_available;
use client::Error;
use object::Pod;
use object::share::scaled;

use super::nodes::{Fit, fit, is_updated};
use super::{DaemonSets, Sync};

/// What stands on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NodePods<T> {
    /// Of the present template, and whether it is available.
    new: Option<(T, bool)>,
    /// Of an older one.
    old: Option<(T, bool)>,
    /// More of one template than one: the next look at the nodes will set that right.
    crowded: bool,
    /// The node should not have a Pod any more.
    leaving: bool,
}

/// Which old Pods go, without surge. Those that are not available go in any case, nothing is lost with them; but they
/// count among those that may be unavailable.
fn to_delete<T: Clone>(on_nodes: &[NodePods<T>], max_unavailable: i32) -> Vec<T> {
    let (mut unavailable, mut broken, mut sound) = (0, Vec::new(), Vec::new());
    for on_node in on_nodes {
        match (&on_node.new, &on_node.old) {
            _ if on_node.crowded => unavailable += 1,
            (None, None) | (Some(_), Some(_)) => unavailable += 1,
            (Some((_, available)), None) => unavailable += i32::from(!available),
            (None, Some((pod, false))) => {
                unavailable += 1;
                broken.push(pod.clone());
            }
            (None, Some((pod, true))) => sound.push(pod.clone()),
        }
    }
    let more = (max_unavailable - unavailable).max(0) as usize;
    broken.extend(sound.into_iter().take(more));
    broken
}

/// Which nodes get a new Pod beside their old one, and which old Pods go. One on a node that should not have any goes
/// when enough others are available.
fn to_surge<T: Clone>(on_nodes: &BTreeMap<String, NodePods<T>>, max_surge: i32) -> (Vec<String>, Vec<T>) {
    let (mut surging, mut available) = (0, 0);
    let (mut broken, mut sound, mut delete, mut spare) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (node, on_node) in on_nodes {
        if on_node.crowded {
            surging += 1;
            continue;
        }
        let first = on_node.old.as_ref().or(on_node.new.as_ref());
        available += usize::from(first.is_some_and(|(_, available)| *available));
        match (&on_node.new, &on_node.old) {
            (_, None) => {}
            (None, Some((pod, true))) if on_node.leaving => spare.push(pod.clone()),
            (None, Some((pod, false))) if on_node.leaving => delete.push(pod.clone()),
            (None, Some((_, false))) => broken.push(node.clone()),
            (None, Some((_, true))) => sound.push(node.clone()),
            (Some((_, false)), Some(_)) => surging += 1,
            (Some((_, true)), Some((pod, _))) => delete.push(pod.clone()),
        }
    }
    let wanted = on_nodes.values().filter(|on_node| !on_node.leaving).count();
    delete.extend(spare.into_iter().take(available.saturating_sub(wanted)));
    broken.extend(sound.into_iter().take((max_surge - surging).max(0) as usize));
    (broken, delete)
}

/// Whether a node may have two Pods for a while, however few nodes there are. Mirrors `AllowsSurge`.
pub(super) fn allows_surge(context: &Sync) -> bool {
    let strategy = context.spec.update_strategy.as_ref();
    let rolling = strategy.filter(|strategy| strategy.type_.as_deref() == Some("RollingUpdate"));
    let surge = rolling.and_then(|strategy| strategy.rolling_update.as_ref()?.max_surge.as_ref());
    scaled(surge, 1, true) > 0
}

/// `maxSurge` and `maxUnavailable`, of as many nodes as should have a Pod. Both round up.
fn limits(context: &Sync) -> (i32, i32) {
    let strategy = context.spec.update_strategy.as_ref();
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    let wanted = context.nodes.iter().filter(|node| fit(&context.set, node) == Fit::Run).count() as i32;
    let scale = |value: Option<&IntOrString>| scaled(value, wanted, true);
    let surge = scale(rolling.and_then(|rolling| rolling.max_surge.as_ref()));
    let unavailable = scale(rolling.and_then(|rolling| rolling.max_unavailable.as_ref()));
    match (surge, unavailable) {
        (0, 0) if wanted > 0 => (0, 1),
        limits => limits,
    }
}

impl DaemonSets {
    /// One step of an update.
    pub(super) async fn roll(&self, context: &Sync) -> Result<(), Error> {
        let by_node = self.pods_by_node(context, false).await?;
        let (surge, unavailable) = limits(context);
        let name = |node: &Node| node.metadata.name.clone().unwrap_or_default();
        let wants = |node: &Node| fit(&context.set, node) == Fit::Run;
        let wanted: BTreeMap<String, bool> = context.nodes.iter().map(|node| (name(node), wants(node))).collect();
        let mut on_nodes: BTreeMap<String, NodePods<Arc<Pod>>> = BTreeMap::new();
        for (node, _) in wanted.iter().filter(|(_, wanted)| **wanted) {
            on_nodes.insert(node.clone(), NodePods::default());
        }
        for (node, pods) in by_node {
            let mut on_node = self.on_node(context, &pods);
            // Whether a new Pod may come beside the old one cannot be said of a node that is gone.
            if surge > 0 && on_node.new.is_none() && on_node.old.is_some() && !wanted.contains_key(&node) {
                return Err(Error::Other(format!("couldn't get node for nodeName {node:?}: node {node:?} not found")));
            }
            on_node.leaving = !wanted.get(&node).copied().unwrap_or(false);
            on_nodes.insert(node, on_node);
        }
        let (nodes, pods) = match surge {
            0 => (Vec::new(), to_delete(&on_nodes.into_values().collect::<Vec<_>>(), unavailable)),
            surge => to_surge(&on_nodes, surge),
        };
        self.sync_nodes(context, nodes, pods).await
    }

    /// Mirrors `findUpdatedPodsOnNode`.
    fn on_node(&self, context: &Sync, pods: &[Arc<Pod>]) -> NodePods<Arc<Pod>> {
        let mut on_node = NodePods { new: None, old: None, crowded: false, leaving: false };
        for pod in pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
            let available = is_available(pod, context.min_ready_seconds(), self.client.now());
            let updated = is_updated(pod, &context.set, &context.hash);
            let slot = if updated { &mut on_node.new } else { &mut on_node.old };
            on_node.crowded |= slot.is_some();
            *slot = Some((pod.clone(), available));
        }
        on_node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_node(text: &'static str) -> NodePods<&'static str> {
        let of = |letter: char| text.contains(letter).then_some((text, !text.contains('!')));
        NodePods { new: of('n'), old: of('o'), crowded: text.contains('2'), leaving: text.contains('-') }
    }

    #[test]
    fn so_many_old_pods_go_as_may_be_unavailable() {
        for (on_nodes, unavailable, want) in [
            (vec!["o", "o", "o"], 1, vec!["o"]),
            (vec!["o", "n!", "o"], 1, vec![]),
            (vec!["o", "n", "o"], 2, vec!["o", "o"]),
            (vec!["o!", "n!", "o"], 1, vec!["o!"]),
            (vec!["o", "o!", "o"], 1, vec!["o!"]),
            (vec!["o", "o!", "o"], 2, vec!["o!", "o"]),
            (vec!["", "o"], 1, vec![]),
            (vec!["o2", "o"], 2, vec!["o"]),
        ] {
            let found = to_delete(&on_nodes.iter().copied().map(on_node).collect::<Vec<_>>(), unavailable);
            assert_eq!(found, want, "{on_nodes:?}");
        }
    }

    #[test]
    fn new_pods_come_beside_old_ones() {
        for (on_nodes, surge, nodes, pods) in [
            (vec!["o", "o", "o"], 1, vec!["0"], vec![]),
            (vec!["no", "o", "o"], 1, vec!["1"], vec!["no"]),
            (vec!["no!", "o"], 1, vec![], vec![]),
            (vec!["o!", "no!"], 1, vec!["0"], vec![]),
            (vec!["n", "n!"], 1, vec![], vec![]),
            (vec!["o-", "n!"], 1, vec![], vec![]),
            (vec!["o-", "n"], 1, vec![], vec!["o-"]),
            (vec!["o!-", "o"], 1, vec!["1"], vec!["o!-"]),
        ] {
            let at: BTreeMap<String, _> =
                on_nodes.iter().enumerate().map(|(i, text)| (i.to_string(), on_node(text))).collect();
            let (found, gone) = to_surge(&at, surge);
            assert_eq!((found, gone), (nodes.into_iter().map(str::to_owned).collect(), pods), "{on_nodes:?}");
        }
    }
}
