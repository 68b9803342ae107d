//! Whom to delete first. Mirrors `getPodsToDelete` and `ActivePodsWithRanks` of `pkg/controller`.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::pods::{is_active, ready_since};
use object::Pod;
use object::pod::status::ContainerStatus;
use object::pod::{assigned_node, is_ready, is_sidecar, phase};
use object::time::Instant;

/// What a Pod's deletion costs, as people see it: an int32, lower goes first.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// How many related Pods that count stand on each node.
#[derive(Clone, Debug, Default)]
pub struct Related(BTreeMap<String, usize>);

impl Related {
    /// Counts `pods` by node.
    pub fn new(pods: &[Arc<Pod>]) -> Related {
        let mut counts = BTreeMap::new();
        for pod in pods.iter().filter(|pod| is_active(pod)) {
            *counts.entry(node(pod).to_owned()).or_insert(0) += 1;
        }
        Related(counts)
    }

    fn on(&self, node: &str) -> usize {
        self.0.get(node).copied().unwrap_or(0)
    }
}

/// The `count` of `active` to delete.
pub fn victims(active: &[Arc<Pod>], related: &Related, count: usize, now: Instant) -> Vec<Arc<Pod>> {
    let mut pods = active.to_vec();
    if count < pods.len() {
        pods = sort(pods, &|a, b| compare(a, b, related, now));
        pods.truncate(count);
    }
    pods
}

/// Go's `sort` inserts, where there are no more than so many.
const FEW: usize = 12;

/// Sorts by an order that need not be total, as Go's `sort` does: a few in the same way, so that what comes of it is the same.
/// This one is not: of Pods of a similar age the uid decides, of Pods of the same age what comes after it. `sort_by` panics
/// where it sees that.
fn sort(mut pods: Vec<Arc<Pod>>, compare: &impl Fn(&Pod, &Pod) -> Ordering) -> Vec<Arc<Pod>> {
    if pods.len() <= FEW {
        insertion_sort(&mut pods, compare);
        return pods;
    }
    let right = sort(pods.split_off(pods.len() / 2), compare);
    let (mut left, mut right) = (sort(pods, compare).into_iter().peekable(), right.into_iter().peekable());
    let next = || match (left.peek(), right.peek()) {
        (Some(a), Some(b)) if compare(b, a).is_lt() => right.next(),
        (Some(_), _) => left.next(),
        (None, _) => right.next(),
    };
    std::iter::from_fn(next).collect()
}

fn insertion_sort(pods: &mut [Arc<Pod>], compare: &impl Fn(&Pod, &Pod) -> Ordering) {
    for end in 1..pods.len() {
        let goes_after = |there: &Arc<Pod>| compare(&pods[end], there).is_lt();
        let later = pods[..end].iter().rev().take_while(|there| goes_after(there)).count();
        pods[end - later..=end].rotate_right(1);
    }
}

/// The `count` of `active` to delete where only what the Pods themselves do counts, and every moment of their ages. So it is
/// for Jobs. Mirrors `ActivePods`.
pub fn least_missed(active: &[Arc<Pod>], count: usize) -> Vec<Arc<Pod>> {
    let age = |time: Option<Instant>| time.map(Reverse);
    let mut pods = active.to_vec();
    pods.sort_by(|a, b| {
        by_state(a, b)
            .then_with(|| age(ready_since(a)).cmp(&age(ready_since(b))))
            .then_with(|| max_restarts(b).cmp(&max_restarts(a)))
            .then_with(|| age(created(a)).cmp(&age(created(b))))
    });
    pods.truncate(count);
    pods
}

/// Who does least goes first.
fn by_state(a: &Pod, b: &Pod) -> Ordering {
    let unassigned_first = node(b).is_empty().cmp(&node(a).is_empty());
    let not_ready_first = is_ready(a).cmp(&is_ready(b));
    unassigned_first.then_with(|| phase_order(a).cmp(&phase_order(b))).then(not_ready_first)
}

/// Which of two Pods goes first: the one that would be missed least.
fn compare(a: &Pod, b: &Pod, related: &Related, now: Instant) -> Ordering {
    let crowded_node_first = related.on(node(b)).cmp(&related.on(node(a)));
    by_state(a, b)
        .then_with(|| deletion_cost(a).cmp(&deletion_cost(b)))
        .then(crowded_node_first)
        .then_with(|| by_age(ready_since(a), ready_since(b), (a, b), now))
        .then_with(|| max_restarts(b).cmp(&max_restarts(a)))
        .then_with(|| by_age(created(a), created(b), (a, b), now))
}

fn node(pod: &Pod) -> &str {
    assigned_node(pod).unwrap_or_default()
}

fn phase_order(pod: &Pod) -> u8 {
    match phase(pod) {
        "Running" => 2,
        "Unknown" => 1,
        _ => 0,
    }
}

fn deletion_cost(pod: &Pod) -> i32 {
    let annotations = pod.metadata.annotations.as_ref();
    annotations.and_then(|a| a.get(DELETION_COST)).and_then(|cost| cost.parse().ok()).unwrap_or(0)
}

fn created(pod: &Pod) -> Option<Instant> {
    pod.metadata.creation_timestamp.as_ref().map(Instant::from_time)
}

/// Younger first, but ages of the same power of two count as the same, and then the uid decides, which is as good as
/// chance: so a scale-down does not always hit the newest node.
fn by_age(a: Option<Instant>, b: Option<Instant>, pods: (&Pod, &Pod), now: Instant) -> Ordering {
    match (a, b) {
        (a, b) if a == b => Ordering::Equal,
        (None, _) => Ordering::Less,
        (_, None) => Ordering::Greater,
        (Some(a), Some(b)) => {
            let magnitude = |since: Instant| (now - since).as_nanos().checked_ilog2();
            magnitude(a).cmp(&magnitude(b)).then_with(|| pods.0.metadata.uid.cmp(&pods.1.metadata.uid))
        }
    }
}

/// The most restarts of any regular container, then of any sidecar: who crashes more goes first.
fn max_restarts(pod: &Pod) -> (i32, i32) {
    let Some(status) = &pod.status else { return (0, 0) };
    let max = |statuses: &[&ContainerStatus]| statuses.iter().map(|status| status.restart_count).max().unwrap_or(0);
    let regular: Vec<_> = status.container_statuses.iter().flatten().collect();
    let init_containers = pod.spec.as_ref().and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default();
    let sidecars = init_containers.iter().filter(|init| is_sidecar(init)).map(|init| init.name.as_str());
    let sidecars: Vec<&str> = sidecars.collect();
    let init_statuses = status.init_container_statuses.iter().flatten();
    let of_sidecars: Vec<_> = init_statuses.filter(|status| sidecars.contains(&status.name.as_str())).collect();
    (max(&regular), max(&of_sidecars))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const NOW: Instant = Instant(1_000_000_000_000);

    /// A Pod like any other, changed by `change`: Running, ready and created at the start, on node-1.
    fn pod(name: &str, change: Value) -> Arc<Pod> {
        let mut pod = json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": Instant(0).time()},
            "spec": {"nodeName": "node-1", "containers": []},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": Instant(0).time()}]},
        });
        json_patch::merge(&mut pod, &change);
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn first(pods: &[Arc<Pod>], related: &[Arc<Pod>]) -> String {
        let chosen = victims(pods, &Related::new(related), 1, NOW);
        chosen[0].metadata.name.clone().unwrap()
    }

    /// One of the two differs from the other in one thing, and should go first.
    #[test]
    fn who_goes_first() {
        let ready = |status: &str, second: u64| {
            let since = Instant(second * 1_000_000_000).time();
            json!({"status": {"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": since}]}})
        };
        let restarts = json!({"status": {"containerStatuses":
            [{"name": "c", "image": "", "imageID": "", "ready": true, "restartCount": 3}]}});
        for (why, victim) in [
            ("unassigned", json!({"spec": {"nodeName": null}})),
            ("pending", json!({"status": {"phase": "Pending"}})),
            ("unknown", json!({"status": {"phase": "Unknown"}})),
            ("not ready", ready("False", 0)),
            ("cheap", json!({"metadata": {"annotations": {DELETION_COST: "-1"}}})),
            ("ready for less long", ready("True", 900)),
            ("restarts", restarts),
            ("younger", json!({"metadata": {"creationTimestamp": Instant(900_000_000_000).time()}})),
        ] {
            let pods = [pod("a", json!({})), pod("z", victim)];
            assert_eq!(first(&pods, &[]), "z", "{why}");
            assert_eq!(first(&[pods[1].clone(), pods[0].clone()], &[]), "z", "{why}");
        }
    }

    #[test]
    fn crowded_nodes_are_relieved() {
        let pods = [pod("a", json!({})), pod("b", json!({"spec": {"nodeName": "node-2"}}))];
        let related = [pods[1].clone(), pod("old", json!({"spec": {"nodeName": "node-2"}}))];
        assert_eq!(first(&pods, &related), "b");
    }

    #[test]
    fn similar_ages_are_decided_by_uid() {
        let since = |second: u64| json!({"metadata": {"creationTimestamp": Instant(second * 1_000_000_000).time()}});
        // 1000 s and 900 s are between the same two powers of two of nanoseconds.
        assert_eq!(first(&[pod("b", since(0)), pod("a", since(100))], &[]), "a");
        assert_eq!(first(&[pod("b", since(100)), pod("a", since(0))], &[]), "a");
    }

    #[test]
    fn many_and_few_are_sorted_alike() {
        for count in [0, 1, 12, 13, 100] {
            let pods = (0..count).map(|n| pod(&format!("{:03}", n * 37 % 101), json!({})));
            let sorted = sort(pods.collect(), &|a: &Pod, b: &Pod| a.metadata.name.cmp(&b.metadata.name));
            assert_eq!(sorted.len(), count);
            assert!(sorted.is_sorted_by_key(|pod| pod.metadata.name.clone()), "{count}");
        }
    }

    /// Fifty Pods were created at two moments: no order suits all pairs of them.
    #[test]
    fn many_pods_of_similar_ages_are_chosen_from() {
        let one = |n: u64| {
            let created = Instant(n % 2 * 1_000_000_000).time();
            pod(&format!("{:02}", n * 37 % 50), json!({"metadata": {"creationTimestamp": created}}))
        };
        let pods: Vec<Arc<Pod>> = (0..50).map(one).collect();
        assert_eq!(victims(&pods, &Related::default(), 49, NOW).len(), 49);
    }

    /// A Job looks at neither cost nor powers of two: the youngest goes.
    #[test]
    fn of_a_job_the_youngest_goes() {
        let since = |second: u64, cost: &str| {
            let created = Instant(second * 1_000_000_000).time();
            json!({"metadata": {"creationTimestamp": created, "annotations": {DELETION_COST: cost}}})
        };
        let pods = [pod("a", since(0, "-1")), pod("c", since(100, "0")), pod("b", since(50, "0"))];
        let gone: Vec<_> = least_missed(&pods, 2).iter().map(|pod| pod.metadata.name.clone().unwrap()).collect();
        assert_eq!(gone, ["c", "b"]);
    }

    #[test]
    fn all_go_in_the_order_they_stand() {
        let pods = [pod("b", json!({})), pod("a", json!({"spec": {"nodeName": null}}))];
        let names: Vec<_> =
            victims(&pods, &Related::default(), 2, NOW).iter().map(|p| p.metadata.name.clone()).collect();
        assert_eq!(names, [Some("b".into()), Some("a".into())]);
    }
}
