//! Asks one plugin about a pod, as the cycle would.

use crate::framework::{Plugin, PreFilter, PreScore};
use crate::snapshot::Snapshot;
use crate::testing::info;
use object::Pod;

/// The reasons why the plugin turns the node down; empty if it does not.
pub fn filter_reasons(plugin: &dyn Plugin, pod: Pod, snapshot: &Snapshot, node: &str) -> String {
    let pod = info(pod);
    let node = snapshot.node_named(node).expect("the node is in the snapshot");
    match plugin.pre_filter(&pod, snapshot) {
        PreFilter::Skip => String::new(),
        PreFilter::Reject(rejection) => rejection.message(),
        PreFilter::Ask(filter) | PreFilter::AskAbout(_, filter) => {
            filter.filter(node).err().map(|rejection| rejection.message()).unwrap_or_default()
        }
    }
}

/// The normalised scores of all nodes in the order in which the snapshot has them; empty if the plugin skips.
pub fn scores(plugin: &dyn Plugin, pod: Pod, snapshot: &Snapshot) -> Vec<i64> {
    let pod = info(pod);
    let mut nodes = snapshot.order().to_vec();
    nodes.sort();
    match plugin.pre_score(&pod, snapshot, &nodes) {
        PreScore::Skip => Vec::new(),
        PreScore::Ask(score) => {
            let mut scores: Vec<i64> = nodes.iter().map(|id| score.score(snapshot.node(*id))).collect();
            score.normalise(&mut scores);
            scores
        }
    }
}
