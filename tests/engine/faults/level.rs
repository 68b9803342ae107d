//! Loops that a real cluster runs all the time, and that are run here only when they would do something: whether they
//! would is told from the state, so that nothing is ever left as it should not be.
//!
//! `KUBESTEP_FAULT_SEEDS` sets how many runs there are. A failing one shows its lines, which can be run as a scenario.

use apiserver::host::Engine;
use cluster::Cluster;
use debugger::properties;
use kubelet::Kubelet;
use kubestep_tests::scenario;
use kubestep_tests::seeds::seeds;
use kubestep_tests::threads;
use object::pod::assigned_node;
use object::random::Random;
use object::{Object, Pod};

use super::harness::SEEDS;

/// What is done to a cluster with a Deployment and a Pod without a controller.
const DONE: &[&str] = &[
    "cut node-1",
    "cut node-2",
    "mend node-1",
    "mend node-2",
    "compact",
    "kubectl label pod alone --overwrite x=$N",
    "kubectl label pods -l app=web --overwrite x=$N",
    "kubectl delete pod alone --wait=false",
    "kubectl run alone --image=nginx:1.27",
    "kubectl delete pods -l app=web --wait=false",
    "kubectl scale deployment web --replicas=$N",
    "kubectl patch pod alone --subresource=status -p '{\"status\":{\"phase\":\"Pending\"}}'",
    "full node-1 disk",
    "full node-2 memory",
    "relieve node-1",
    "relieve node-2",
    "crash kubelet/node-1",
    "kubectl delete node node-2",
    "disconnect kubelet/* pods",
    "fail kubelet/node-1 patch pods with 500 times 3",
    "fail kubelet/node-2 delete pods with 503",
    "hold kubelet/node-1 pods",
    "hold link kubelet/node-2 kube-apiserver",
    "release",
    "crash kube-controller-manager",
];

/// The lines of one run: faults and commands, some time apart; then all is mended, and the cluster has time to come to rest.
fn lines(seed: u64) -> Vec<String> {
    let mut random = Random::new(seed ^ 0x1e7e1);
    let mut lines = vec![
        "kubectl create deployment web --image=nginx:1.27 --replicas=3".to_owned(),
        "kubectl expose deployment web --port=80".to_owned(),
        "kubectl run alone --image=nginx:1.27".to_owned(),
        "sleep 5".to_owned(),
    ];
    for n in 0..10 {
        let line = DONE[random.below(DONE.len() as u64) as usize];
        lines.push(line.replace("$N", &n.to_string()));
        lines.push(format!("sleep {}", [0, 1, 3, 15, 70][random.below(5) as usize]));
    }
    lines.extend(["release", "mend node-1", "mend node-2", "relieve node-1", "relieve node-2"].map(str::to_owned));
    lines.push("sleep 900".to_owned());
    lines
}

fn kubelets(engine: &Engine) -> impl Iterator<Item = &Kubelet> {
    engine.actors().filter_map(|(_, actor)| actor.as_any().downcast_ref::<Kubelet>())
}

fn pods(engine: &Engine) -> impl Iterator<Item = &Pod> {
    let entries = engine.server.api.store.prefix("/registry/pods/");
    entries.filter_map(|(_, entry)| match &entry.value {
        Object::Pod(pod) => Some(&**pod),
        _ => None,
    })
}

/// Runs lines to their end, and looks at every step on the way.
fn run(lines: &[String], seed: u64, mut look: impl FnMut(&Engine)) -> Cluster {
    let timeline: String = lines.iter().map(|line| format!("- {}\n", serde_json::json!(line))).collect();
    let mut cluster = scenario::started(&format!("title: level\nnodes: 2\nseed: {seed}\ntimeline:\n{timeline}"));
    while !cluster.has_ended() {
        cluster.step().expect("the lines are not over");
        look(&cluster.engine);
    }
    cluster
}

#[test]
fn a_pass_comes_whenever_it_would_do_something() {
    threads::share(&(1..=6 * seeds(SEEDS)).collect::<Vec<_>>(), |seed| {
        let lines = lines(*seed);
        let cluster = run(&lines, *seed, |engine| {
            for kubelet in kubelets(engine).filter(|kubelet| !kubelet.status_pass_comes()) {
                assert_eq!(kubelet.statuses_due(), [], "seed {seed}, step {}: {lines:#?}", engine.steps());
            }
        });
        let engine = &cluster.engine;
        for pod in pods(engine) {
            let name = pod.metadata.name.as_deref();
            let on = |kubelet: &&Kubelet| assigned_node(pod).is_some_and(|node| is_of(kubelet, node));
            for kubelet in kubelets(engine).filter(on) {
                assert!(kubelet.agrees_with(pod), "seed {seed}: {name:?} has {:#?} after {lines:#?}", pod.status);
            }
            assert_eq!(pod.metadata.deletion_timestamp, None, "seed {seed}: {name:?} stays after {lines:#?}");
            let is_there = |node: &str| engine.server.api.store.get(&format!("/registry/minions/{node}")).is_some();
            assert!(assigned_node(pod).is_none_or(is_there), "seed {seed}: {name:?} has no node after {lines:#?}");
        }
        for (key, entry) in engine.server.api.store.prefix("/registry/minions/") {
            let node = entry.value.to_json();
            let conditions = node["status"]["conditions"].as_array().expect("a node has conditions");
            let ready = conditions.iter().find(|one| one["type"] == "Ready").map(|one| &one["status"]);
            let is_fine = ready == Some(&"True".into()) && node["spec"]["taints"].is_null();
            assert!(is_fine, "seed {seed}: {key} is {node:#} after {lines:#?}");
        }
        for word in ["settled", "owners-exist"] {
            let settled = properties::named(word).expect("there is such a property")().finish(engine);
            assert_eq!(settled, Ok(()), "seed {seed}: after {lines:#?}");
        }
    });
}

fn is_of(kubelet: &Kubelet, node: &str) -> bool {
    engine::Actor::name(kubelet).strip_prefix("kubelet/") == Some(node)
}
