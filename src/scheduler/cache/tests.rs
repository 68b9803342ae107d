use super::*;
use crate::testing::{info, labelled, node};
use object::random::Random;

fn bound(name: &str, labels: &str, cpu: u32, to: &str) -> Pod {
    labelled(name, labels, &spec(cpu, &format!(", nodeName: {to}")))
}

fn spec(cpu: u32, more: &str) -> String {
    format!(
        "{{containers: [{{name: a, ports: [{{containerPort: 1, hostPort: {}}}], resources: {{requests: {{cpu: {cpu}}}}}}}]{more}}}",
        8000 + cpu
    )
}

fn cpus(cache: &Cache, name: &str) -> i64 {
    cache.snapshot.node_named(name).map_or(-1, |node| node.requested.milli_cpu / 1000)
}

fn with_nodes(names: &[&str]) -> Cache {
    let mut cache = Cache::default();
    names.iter().for_each(|name| cache.set_node(Arc::new(node(name, ""))));
    cache.snapshot.refresh();
    cache
}

#[test]
fn an_assumed_pod_counts_at_once_and_is_confirmed_or_forgotten() {
    let mut cache = with_nodes(&["a", "b"]);
    let pod = info(labelled("p", "x=y", &spec(2, "")));
    assert!(cache.assume(pod.clone(), "a"));
    assert!(!cache.assume(pod.clone(), "b"), "it has a place");
    assert_eq!((cpus(&cache, "a"), cache.is_assumed(&pod.key)), (2, true));

    cache.set_pod(Arc::new(bound("p", "x=y", 2, "a")));
    assert_eq!((cpus(&cache, "a"), cache.is_assumed(&pod.key)), (2, false));
    assert!(cache.forget(&pod.key).is_none());
    assert_eq!(cpus(&cache, "a"), 2, "what the informer has seen is not forgotten");

    let other = info(labelled("q", "x=y", &spec(1, "")));
    cache.assume(other.clone(), "b");
    let forgotten = cache.forget(&other.key).and_then(|pod| pod.spec.as_ref()?.node_name.clone());
    assert_eq!(forgotten.as_deref(), Some("b"), "what others are told is where it was");
    assert_eq!(cpus(&cache, "b"), 0);
    cache.assume(other, "b");
    cache.set_pod(Arc::new(bound("q", "x=y", 1, "a")));
    assert_eq!((cpus(&cache, "a"), cpus(&cache, "b")), (3, 0), "the informer knows better");
}

/// The kubelet writes when it started a pod before any container holds anything.
#[test]
fn a_preemption_can_see_when_a_pod_started() {
    let mut cache = with_nodes(&["a"]);
    let mut pod = bound("p", "x=y", 2, "a");
    cache.set_pod(Arc::new(pod.clone()));
    let start_time = Some(object::time::Instant(5).time());
    pod.status = Some(object::pod::status::PodStatus { start_time, ..Default::default() }.into());
    cache.set_pod(Arc::new(pod.clone()));
    let known = cache.snapshot.node_named("a").map(|node| node.pods[0].pod.status.clone());
    assert_eq!(known, Some(pod.status));
}

#[test]
fn a_node_that_went_keeps_its_pods_until_they_go() {
    let mut cache = with_nodes(&["a"]);
    let pod = bound("p", "x=y", 2, "a");
    cache.set_pod(Arc::new(pod.clone()));
    cache.remove_node("a");
    cache.snapshot.refresh();
    assert_eq!((cache.snapshot.node_count(), cpus(&cache, "a")), (0, -1));
    cache.set_node(Arc::new(node("a", "")));
    assert_eq!(cpus(&cache, "a"), 2, "it came back");
    cache.remove_node("a");
    cache.remove_pod(&Key::of_meta(&pod.metadata));
    cache.set_node(Arc::new(node("a", "")));
    assert_eq!(cpus(&cache, "a"), 0);
}

/// After any changes, the sums are those of a cache that has only ever seen the end.
#[test]
fn sums_kept_are_sums_counted() {
    let names = ["a", "b", "c"];
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut cache = with_nodes(&names);
        let mut there: BTreeMap<String, Pod> = BTreeMap::new();
        for _ in 0..200 {
            let name = format!("p{}", random.below(12));
            let node_name = names[random.below(3) as usize];
            match random.below(5) {
                0 => {
                    cache.remove_pod(&Key::new("default", &name));
                    there.remove(&name);
                }
                1 => cache.remove_node(node_name),
                2 => cache.set_node(Arc::new(node(node_name, ""))),
                _ => {
                    let mut pod =
                        bound(&name, &format!("l={}", random.below(3)), random.below(3) as u32 + 1, node_name);
                    pod.metadata.generation = Some(random.next_u64() as i64);
                    cache.set_pod(Arc::new(pod.clone()));
                    there.insert(name, pod);
                }
            }
        }
        names.iter().for_each(|name| cache.set_node(Arc::new(node(name, ""))));
        let mut fresh = with_nodes(&names);
        there.into_values().for_each(|pod| fresh.set_pod(Arc::new(pod)));
        assert_eq!(counts(&cache), counts(&fresh), "seed {seed}");
    }
}

/// All that is kept of pods, without the numbers that depend on history.
fn counts(cache: &Cache) -> Vec<String> {
    let snapshot = &cache.snapshot;
    let mut lines = Vec::new();
    for name in ["a", "b", "c"] {
        let node = snapshot.node_named(name).expect("the node is there");
        lines.push(format!("{name} {:?} {} {:?}", node.requested, node.pods.len(), node.host_ports));
    }
    for class in snapshot.classes.all() {
        let mut nodes: Vec<_> = class.nodes.iter().map(|(id, pods)| (snapshot.node(*id).name.clone(), *pods)).collect();
        nodes.sort();
        lines.push(format!("{:?} {nodes:?}", class.labels));
    }
    lines.sort();
    lines
}
