//! `status.volumesAttached` of the nodes, which kubelets wait for. Mirrors `statusupdater/node_status_updater.go`.
//!
//! What a node should say is remembered here and not read from the cache, which may be old: a write names the whole list
//! and no version of the node. So two writes at once could undo one another; a key of its own for each node has them made
//! one after the other.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, PersistentVolume};
use serde_json::{Value, json};

use super::AttachDetach;
use client::Error;
use object::Key;
use object::volume::unique_name;
use wire::Patch;

/// `ReconcilerLoopPeriod`: what has come or gone is written in the next of these rounds.
const ROUND: Duration = Duration::from_millis(100);

/// The unique names of a node's attached volumes, in the order in which they came.
#[derive(Clone, Default)]
pub(super) struct Report {
    /// What the node should say.
    wanted: Vec<String>,
    /// What it was told last.
    written: Vec<String>,
}

impl Report {
    /// What the node says.
    fn of(node: &Node) -> Report {
        let volumes = node.status.iter().flat_map(|status| status.volumes_attached.iter().flatten());
        let names: Vec<String> = volumes.map(|volume| volume.name.clone()).collect();
        Report { wanted: names.clone(), written: names }
    }
}

impl AttachDetach {
    /// A node should say that a volume is attached, or no more. Whether that is news.
    pub(super) fn report(&self, node: &str, volume: &PersistentVolume, attached: bool) -> bool {
        let Some(there) = self.nodes.get(&Key::new("", node)) else { return false };
        let name = unique_name(volume);
        let mut state = self.state.borrow_mut();
        let report = state.reports.entry(node.to_owned()).or_insert_with(|| Report::of(&there));
        if report.wanted.contains(&name) == attached {
            return false;
        }
        report.wanted.retain(|there| *there != name);
        if attached {
            report.wanted.push(name);
        }
        true
    }

    pub(super) fn write_in_next_round(&self, node: &str) {
        self.queue.add_after(Key::new("", node), self.client.now().until_round(self.started, ROUND));
    }

    /// Whether a node was told last that a volume is attached.
    pub(super) fn says_attached(&self, node: &str, volume: &PersistentVolume) -> bool {
        let name = unique_name(volume);
        self.state.borrow().reports.get(node).is_some_and(|report| report.written.contains(&name))
    }

    /// Tells a node what it should say, unless it was told already.
    pub(super) async fn write_report(&self, node: &str) -> Result<(), Error> {
        let report = self.state.borrow().reports.get(node).cloned();
        let Some(Report { wanted, .. }) = report.filter(|report| report.wanted != report.written) else {
            return Ok(());
        };
        let volumes: Vec<Value> = wanted.iter().map(|name| json!({"name": name, "devicePath": ""})).collect();
        let volumes = if volumes.is_empty() { Value::Null } else { json!(volumes) };
        let patch = Patch::Strategic(json!({"status": {"volumesAttached": volumes}}));
        match self.client.patch_status::<Node>("", node, patch).await {
            // It is gone, and says nothing any more.
            Err(status) if status.is_not_found() => return Ok(()),
            result => result?,
        };
        let mut state = self.state.borrow_mut();
        if let Some(report) = state.reports.get_mut(node) {
            report.written = wanted;
        }
        // The detachments of this node were waiting for that write.
        self.pairs_of(node).filter(|pair| state.unwanted.contains_key(pair)).for_each(|pair| self.queue.add(pair));
        Ok(())
    }
}
