//! What must hold of DaemonSets.

use std::collections::{BTreeMap, BTreeSet};

use super::{Property, stored};
use apiserver::host::Engine;
use controllers::daemon::nodes::node_of;
use engine::Step;
use object::meta::controller_of;
use object::pod::has_ended;
use object::share::scaled;
use object::{Kind, Object};

/// No DaemonSet that may not surge has two Pods on a node that have not ended.
#[derive(Clone, Default)]
pub(super) struct OneANode {
    /// DaemonSets that may have more Pods than nodes for a while, by uid.
    surging: BTreeSet<String>,
    /// By DaemonSet and node, the Pods that have not ended.
    there: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Property for OneANode {
    fn name(&self) -> &'static str {
        "no node has two Pods of a DaemonSet that does not surge"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        for (_, old, new) in stored(step) {
            if let Some(Object::DaemonSet(set)) = new {
                let strategy = set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref());
                let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
                let surge = scaled(rolling.and_then(|r| r.max_surge.as_ref()), 100, true);
                let uid = set.metadata.uid.clone().unwrap_or_default();
                if surge > 0 {
                    self.surging.insert(uid);
                }
            }
            let (Some(Object::Pod(pod)), is_gone) = (new.or(old), new.is_none()) else { continue };
            let owner = controller_of(&pod.metadata).filter(|owner| owner.kind == Kind::DaemonSet.info().kind);
            let (Some(owner), Some(node), Some(name)) = (owner, node_of(pod), &pod.metadata.name) else { continue };
            let there = self.there.entry((owner.uid.clone(), node.to_owned())).or_default();
            if is_gone || has_ended(pod) {
                there.remove(name);
            } else {
                there.insert(name.clone());
            }
            if there.len() > 1 && !self.surging.contains(&owner.uid) {
                let names: Vec<&str> = there.iter().map(String::as_str).collect();
                return Err(format!("{node} has {} of DaemonSet {}", names.join(" and "), owner.name));
            }
        }
        Ok(())
    }
}
