//! Rolling a new template out. Mirrors `pkg/controller/daemon/update.go`.
//!
//! Without surge, old Pods are deleted, as many as may be unavailable at once; the next reconcile finds their nodes empty
//! and makes new ones. With surge, new Pods are made beside old ones, and an old one goes when the new one is available.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::client::Error;
use crate::controllers::pods::is_available;
use crate::object::Pod;
use crate::object::share::scaled;

use super::nodes::{Fit, fit, is_updated};
use super::{DaemonSets, Sync};

/// What stands on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place<T> {
    /// Of the present template, and whether it is available.
    new: Option<(T, bool)>,
    /// Of an older one.
    old: Option<(T, bool)>,
    /// More of one template than one: the next look at the nodes will set that right.
    crowded: bool,
}

/// Which old Pods go, without surge. Those that are not available go in any case: nothing is lost with them.
fn to_delete<T: Clone>(places: &[Place<T>], max_unavailable: i32) -> Vec<T> {
    let (mut unavailable, mut broken, mut sound) = (0, Vec::new(), Vec::new());
    for place in places {
        match (&place.new, &place.old) {
            _ if place.crowded => unavailable += 1,
            (None, None) | (Some(_), Some(_)) => unavailable += 1,
            (Some((_, available)), None) => unavailable += i32::from(!available),
            (None, Some((pod, false))) => broken.push(pod.clone()),
            (None, Some((pod, true))) => sound.push(pod.clone()),
        }
    }
    let more = (max_unavailable - unavailable).max(0) as usize;
    broken.extend(sound.into_iter().take(more));
    broken
}

/// Which nodes get a new Pod beside their old one, and which old Pods go.
fn to_surge<T: Clone>(places: &BTreeMap<String, Place<T>>, max_surge: i32) -> (Vec<String>, Vec<T>) {
    let (mut surging, mut broken, mut sound, mut delete) = (0, Vec::new(), Vec::new(), Vec::new());
    for (node, place) in places {
        match (&place.new, &place.old) {
            _ if place.crowded => surging += 1,
            (_, None) => {}
            (None, Some((_, false))) => broken.push(node.clone()),
            (None, Some((_, true))) => sound.push(node.clone()),
            (Some((_, false)), Some(_)) => surging += 1,
            (Some((_, true)), Some((pod, _))) => delete.push(pod.clone()),
        }
    }
    broken.extend(sound.into_iter().take((max_surge - surging).max(0) as usize));
    (broken, delete)
}

/// How many Pods more than nodes there may be now.
pub(super) fn surge_of(context: &Sync) -> i32 {
    limits(context).0
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
        let mut places: BTreeMap<String, Place<Arc<Pod>>> = BTreeMap::new();
        for node in context.nodes.iter().filter(|node| fit(&context.set, node) == Fit::Run) {
            places.insert(node.metadata.name.clone().unwrap_or_default(), Place::default());
        }
        for (node, pods) in by_node {
            places.insert(node, self.place(context, &pods));
        }
        let (nodes, pods) = match surge {
            0 => (Vec::new(), to_delete(&places.into_values().collect::<Vec<_>>(), unavailable)),
            surge => to_surge(&places, surge),
        };
        self.sync_nodes(context, nodes, pods).await
    }

    /// Mirrors `findUpdatedPodsOnNode`.
    fn place(&self, context: &Sync, pods: &[Arc<Pod>]) -> Place<Arc<Pod>> {
        let mut place = Place { new: None, old: None, crowded: false };
        for pod in pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
            let available = is_available(pod, context.min_ready_seconds(), self.client.now());
            let updated = is_updated(pod, &context.set, &context.hash);
            let slot = if updated { &mut place.new } else { &mut place.old };
            place.crowded |= slot.is_some();
            *slot = Some((pod.clone(), available));
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &'static str) -> Place<&'static str> {
        let of = |letter: char| text.contains(letter).then_some((text, !text.contains('!')));
        Place { new: of('n'), old: of('o'), crowded: text.contains('2') }
    }

    #[test]
    fn so_many_old_pods_go_as_may_be_unavailable() {
        for (places, unavailable, want) in [
            (vec!["o", "o", "o"], 1, vec!["o"]),
            (vec!["o", "n!", "o"], 1, vec![]),
            (vec!["o", "n", "o"], 2, vec!["o", "o"]),
            (vec!["o!", "n!", "o"], 1, vec!["o!"]),
            (vec!["", "o"], 1, vec![]),
            (vec!["o2", "o"], 2, vec!["o"]),
        ] {
            let found = to_delete(&places.iter().copied().map(place).collect::<Vec<_>>(), unavailable);
            assert_eq!(found, want, "{places:?}");
        }
    }

    #[test]
    fn new_pods_come_beside_old_ones() {
        for (places, surge, nodes, pods) in [
            (vec!["o", "o", "o"], 1, vec!["0"], vec![]),
            (vec!["no", "o", "o"], 1, vec!["1"], vec!["no"]),
            (vec!["no!", "o"], 1, vec![], vec![]),
            (vec!["o!", "no!"], 1, vec!["0"], vec![]),
            (vec!["n", "n!"], 1, vec![], vec![]),
        ] {
            let at: BTreeMap<String, _> =
                places.iter().enumerate().map(|(i, text)| (i.to_string(), place(text))).collect();
            let (found, gone) = to_surge(&at, surge);
            assert_eq!((found, gone), (nodes.into_iter().map(str::to_owned).collect(), pods), "{places:?}");
        }
    }
}
