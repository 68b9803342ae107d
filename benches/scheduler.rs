//! How long scheduling takes in large clusters, without an API server: `cargo bench --bench scheduler`. It measures and
//! prints; it asserts nothing.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::Node;

use object::Pod;
use object::random::Random;
use scheduler::cache::Cache;
use scheduler::cycle::{Context, Outcome, schedule};
use scheduler::labels::Matcher;
use scheduler::nominator::Nominator;
use scheduler::pod_info::PodInfo;
use scheduler::preemption::Disruptions;
use scheduler::profile::Profile;

const PLAIN: &str = "{containers: [{name: a, image: 'nginx:1.27', resources: {requests: {cpu: 10m, memory: 10Mi}}}]}";

fn main() {
    let alone = "{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}]}}, containers: [{name: a, image: x}]}";
    let spread = "{topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}], containers: [{name: a, image: x}]}";
    let huge = "{containers: [{name: a, image: x, resources: {requests: {cpu: '64'}}}]}";
    measure("plain", 50, 1_000, PLAIN);
    measure("plain", 500, 10_000, PLAIN);
    measure("plain", 5_000, 10_000, PLAIN);
    measure("anti-affinity", 500, 500, alone);
    measure("hard spread", 500, 5_000, spread);
    measure("unschedulable", 500, 1_000, huge);
}

fn node(n: usize) -> Node {
    let labels = format!(
        "{{kubernetes.io/hostname: node-{n}, kubernetes.io/arch: amd64, kubernetes.io/os: linux, topology.kubernetes.io/zone: zone-{}}}",
        n % 3
    );
    let images = "[{names: ['nginx:1.27'], sizeBytes: 70000000}]";
    let status = format!("{{allocatable: {{cpu: '4', memory: 8Gi, pods: '110'}}, images: {images}}}");
    serde_yaml::from_str(&format!("{{metadata: {{name: node-{n}, labels: {labels}}}, status: {status}}}"))
        .expect("a node")
}

fn pod(n: usize, spec: &str) -> Pod {
    let owner = "[{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}]";
    let metadata =
        format!("{{name: web-{n}, namespace: default, uid: uid-{n}, labels: {{app: web}}, ownerReferences: {owner}}}");
    serde_yaml::from_str(&format!("{{metadata: {metadata}, spec: {spec}}}")).expect("a pod")
}

/// Schedules so many Pods of one ReplicaSet, and prints how long each takes.
fn measure(name: &str, nodes: usize, pods: usize, spec: &str) {
    let mut cache = Cache::default();
    (0..nodes).for_each(|n| cache.set_node(Arc::new(node(n))));
    let selector = serde_yaml::from_str("{matchLabels: {app: web}}").expect("a selector");
    let set = ReplicaSet { spec: Some(ReplicaSetSpec { selector, ..Default::default() }), ..Default::default() };
    let matcher = Matcher::new(set.spec.as_ref().map(|spec| &spec.selector));
    cache.snapshot.set_owner_selector("ReplicaSet", "default", "web", Some(matcher));
    let first = pod(0, spec);
    let waiting: Vec<Arc<Pod>> = (0..pods)
        .map(|n| {
            let mut pod = first.clone();
            pod.metadata.name = Some(format!("web-{n}"));
            pod.metadata.uid = Some(format!("uid-{n}"));
            Arc::new(pod)
        })
        .collect();
    let (profile, nominator, disruptions) = (Profile::default(), Nominator::default(), Disruptions::new());
    let (mut next_start, mut random, mut bound) = (0, Random::new(1), 0);
    let start = Instant::now();
    for pod in waiting {
        let info = Arc::new(PodInfo::new(pod));
        cache.snapshot.refresh();
        let context =
            Context { profile: &profile, snapshot: &cache.snapshot, nominator: &nominator, disruptions: &disruptions };
        let decision = schedule(&context, &info, &mut next_start, &mut random);
        if let Outcome::Chosen(id) = decision.outcome {
            let node = cache.snapshot.node(id).name.to_string();
            cache.assume(info, &node);
            bound += 1;
        }
    }
    let each = start.elapsed().as_micros() as f64 / pods as f64;
    println!("{name}: {bound} of {pods} Pods on {nodes} nodes, {each:.1} us each");
}
