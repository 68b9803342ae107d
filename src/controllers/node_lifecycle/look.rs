//! The look at all nodes, every five seconds. Mirrors `monitorNodeHealth`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, ObjectReference};

use crate::node_taints::{self, BY_NODE, taint};
use client::{EventType, join_all};
use object::node::condition;
use object::well_known::{NOT_READY, UNREACHABLE};
use object::{Accessor, Key};

use super::Monitor;
use super::health::{self, NodeHealth};
use super::zones::{self, Disruption};

/// How many nodes are worked on at once. Mirrors `scheduler.UpdateWorkerSize`.
const AT_ONCE: usize = 8;
/// How often writing a node's status is tried, and the pause between.
const TRIES: usize = 5;
const RETRY_SLEEP: Duration = Duration::from_millis(20);

/// What a look at one node saw.
struct Seen {
    node: Arc<Node>,
    /// The status of Ready before the controller wrote anything.
    observed: String,
    /// What it is now; None: the node never told.
    current: Option<String>,
}

impl Monitor {
    /// Looks at every node once, then at the zones.
    pub(super) async fn look(&self) {
        let nodes = self.nodes.list();
        self.greet(&nodes).await;
        let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for some in nodes.chunks(AT_ONCE) {
            let looks = join_all(some.iter().map(|node| self.look_at(node.clone())).collect()).await;
            for (node, seen) in some.iter().zip(looks) {
                let Some(seen) = seen else { continue };
                let (ready, not_ready) = counts.entry(zones::zone_of(node)).or_default();
                *(if seen.current.as_deref() == Some("True") { ready } else { not_ready }) += 1;
            }
        }
        let disruption = zones::handle_disruption(&mut self.state.borrow_mut().zones, &counts);
        match disruption {
            Disruption::Begins => {
                for node in &nodes {
                    self.reachable(node).await;
                }
            }
            Disruption::Ends => {
                let now = self.client.now();
                self.state.borrow_mut().health.values_mut().for_each(|health| health.probe = now);
            }
            Disruption::None => {}
        }
        self.arrange_tainting();
    }

    /// Takes note of nodes that are new and of nodes that are gone. Mirrors `classifyNodes`.
    async fn greet(&self, nodes: &[Arc<Node>]) {
        let now: BTreeMap<String, String> = nodes.iter().map(|node| (name(node).to_owned(), uid(node))).collect();
        let before = std::mem::replace(&mut self.state.borrow_mut().known, now.clone());
        for node in nodes {
            self.state.borrow_mut().zones.entry(zones::zone_of(node)).or_default();
            if !before.contains_key(name(node)) {
                let text = format!("Registered Node {} in Controller", name(node));
                self.tell(name(node), &uid(node), "RegisteredNode", format!("Node {} event: {text}", name(node)));
                self.reachable(node).await;
            }
        }
        for (name, uid) in before.iter().filter(|(name, _)| !now.contains_key(*name)) {
            let text = format!("Removing Node {name} from Controller");
            self.tell(name, uid, "RemovingNode", format!("Node {name} event: {text}"));
            self.state.borrow_mut().health.remove(name);
        }
    }

    /// One node: is it silent, and what follows from it.
    async fn look_at(&self, mut node: Arc<Node>) -> Option<Seen> {
        for _ in 0..TRIES {
            match self.examine(&node).await {
                Ok(seen) => {
                    self.respond(&seen).await;
                    return Some(seen);
                }
                Err(_) => {
                    self.client.sleep(RETRY_SLEEP).await;
                    node = self.client.get::<Node>("", name(&node)).await.ok()?;
                }
            }
        }
        None
    }

    /// Notes the node's signs of life; says that its conditions are Unknown if there were none for too long.
    async fn examine(&self, node: &Arc<Node>) -> Result<Seen, wire::Error> {
        let now = self.client.now();
        let lease = self.leases.get(&Key::new("kube-node-lease", name(node)));
        let old = self.state.borrow_mut().health.remove(name(node));
        let seen = NodeHealth::observe(old, node, lease.as_deref(), now);
        let silent = seen.is_silent(now);
        let current = seen.ready().map(str::to_owned);
        self.state.borrow_mut().health.insert(name(node).to_owned(), seen);
        let silent = self.found_elsewhere(node).map_or(silent, |found| found.is_unknown);
        // A node that never told counts as Unknown.
        let observed = current.clone().unwrap_or_else(|| "Unknown".to_owned());
        if silent {
            let changed = health::with_unknown_conditions(node, now);
            if condition(&changed, "Ready") != condition(node, "Ready") {
                let stored = self.client.update_status(changed).await?;
                if let Some(health) = self.state.borrow_mut().health.get_mut(name(node)) {
                    health.wrote(&stored);
                }
                return Ok(Seen { node: stored, observed, current: Some("Unknown".to_owned()) });
            }
        }
        Ok(Seen { node: node.clone(), observed, current })
    }

    async fn respond(&self, seen: &Seen) {
        let Some(current) = seen.current.as_deref() else { return };
        let node = name(&seen.node);
        self.taint_or_clear(&seen.node, current).await;
        let lost = current != "True" && seen.observed == "True";
        if lost {
            let text = format!("Node {node} status is now: NodeNotReady");
            self.tell(node, &uid(&seen.node), "NodeNotReady", text);
        }
        let again = seen.observed != "True" && self.state.borrow().retry.contains(node);
        let marked = if lost || again { self.mark_not_ready(self.pods.by_index(BY_NODE, node)).await } else { Ok(()) };
        match marked {
            Ok(()) => self.state.borrow_mut().retry.remove(node),
            Err(_) => self.state.borrow_mut().retry.insert(node.to_owned()),
        };
    }

    /// Mirrors `processTaintBaseEviction`. What fails is tried again at the next look.
    async fn taint_or_clear(&self, node: &Node, ready: &str) {
        let Some((add, opposite)) = self.no_execute_taints(node, Some(ready)) else {
            self.reachable(node).await;
            return;
        };
        if node_taints::has(node, &opposite) {
            let _ = node_taints::swap(&self.client, node, vec![add], &[opposite]).await;
            return;
        }
        let tainted = node_taints::has(node, &add);
        self.with_zone(&zones::zone_of(node), |zone, _| {
            if !tainted {
                zone.forget(name(node));
            }
            zone.add(name(node));
        });
        self.arrange_tainting();
    }

    /// Takes both NoExecute taints off. Mirrors `markNodeAsReachable`.
    async fn reachable(&self, node: &Node) {
        for key in [UNREACHABLE, NOT_READY] {
            // What fails is tried again at the next look.
            let _ = node_taints::take_off(&self.client, node, &[taint(key, "NoExecute")]).await;
        }
        self.with_zone(&zones::zone_of(node), |zone, _| zone.remove(name(node)));
    }

    /// An Event about a node, which may be gone.
    fn tell(&self, node: &str, uid: &str, reason: &str, message: String) {
        let about = ObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Node".into()),
            name: Some(node.into()),
            uid: Some(uid.into()),
            ..ObjectReference::default()
        };
        self.recorder.event_about(about, EventType::Normal, reason, message);
    }
}

fn name(node: &Node) -> &str {
    node.metadata.name()
}

fn uid(node: &Node) -> String {
    node.metadata.uid.clone().unwrap_or_default()
}
