//! Every fault, at any place of a rollout, with any seed: the cluster comes through it, or ends in a state that has a name.
//!
//! `KUBESTEP_FAULT_SEEDS` sets how many seeds each fault is tried with. A failing one names the commands that show it.

use std::time::Duration;

use kubestep::bugs;
use kubestep::cluster::Cluster;
use kubestep::cluster::scenario::Scenario;
use kubestep::debugger::timeline::{self, About};
use kubestep::debugger::{Advance, Goal, Session, causes, file, properties};
use kubestep::engine::{Note, Step, StepId, What};
use kubestep::node::host::Shortage;
use kubestep::object::pod::has_ended;
use kubestep::object::random::Random;
use kubestep::object::{Kind, Object};
use seeds::seeds;

mod seeds;

/// How many seeds are tried unless the environment says otherwise.
const SEEDS: u64 = 3;
/// A rollout takes so many steps or more.
const STEPS: u64 = 240;
/// Between two parts of a fault so many steps pass at most.
const BETWEEN: u64 = 40;

fn session(seed: u64) -> Session {
    Session::of(Scenario { seed, ..Scenario::find("deployment").expect("the scenario is shipped") })
}

/// Runs until nothing is left to do, and then on through what repeats itself: back-offs, relists, heartbeats.
fn settle(session: &mut Session) {
    for _ in 0..4 {
        session.go(&mut Goal::Quiet, 100_000);
        let end = session.cluster.engine.now() + Duration::from_secs(60);
        session.go(&mut Goal::Time(end), 100_000);
    }
    session.go(&mut Goal::Quiet, 100_000);
}

/// Half a minute passes.
fn go_on(session: &mut Session) {
    let end = session.cluster.engine.now() + Duration::from_secs(30);
    session.go(&mut Goal::Time(end), 100_000);
}

/// A node without power, or without a connection, is given up only after five minutes.
fn give_up_nodes(session: &mut Session) {
    let end = session.cluster.engine.now() + Duration::from_secs(400);
    session.go(&mut Goal::Time(end), 200_000);
    settle(session);
}

/// How many Pods of the Deployment are available, as its status says.
fn available(session: &Session) -> i32 {
    let entry = session.cluster.engine.api.store.get("/registry/deployments/default/web");
    match entry.map(|entry| &entry.value) {
        Some(Object::Deployment(web)) => web.status.as_ref().and_then(|s| s.available_replicas).unwrap_or(0),
        _ => 0,
    }
}

/// What must hold in every run and does not, over all steps of a session.
fn broken(session: &mut Session) -> Vec<String> {
    let compared = session.compare([None, None]).expect("a session can be laid beside itself");
    compared.ends[0].broken.clone()
}

/// Does the parts of a fault, at a place and with pauses that follow from the seed. Returns what was done, as it is typed.
fn inflict(session: &mut Session, fault: &[&str], seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let at = 5 + random.below(STEPS);
    session.goto(at);
    let mut typed = vec![format!("kubestep step deployment --seed {seed}"), format!("goto {at}")];
    for text in fault {
        session.act(text).unwrap_or_else(|error| panic!("{typed:?}, {text}: {error}"));
        session.goto(session.cluster.engine.steps() + 1 + random.below(BETWEEN));
        typed.push((*text).to_owned());
    }
    typed
}

/// Faults that a cluster comes through by itself.
const HEALED: &[&[&str]] = &[
    &["crash kube-controller-manager"],
    &["crash kube-scheduler"],
    &["crash kubelet/node-1"],
    &["crash kubelet/node-2"],
    &["crash kube-apiserver"],
    &["stop kube-apiserver", "start kube-apiserver"],
    &["stop kube-controller-manager", "start kube-controller-manager"],
    &["stop kube-scheduler", "start kube-scheduler"],
    &["compact"],
    &["hold kube-controller-manager deployments", "compact", "release"],
    &["fail * with 409"],
    &["fail * with 429 times 3"],
    &["fail * with 500"],
    &["fail * with 503 times 2"],
    &["fail * with lost"],
    &["fail * with lost-after"],
    &["fail replicaset-controller create pods with lost-after"],
    &["fail kube-scheduler create pods with lost-after"],
    &["cut node-1", "mend node-1"],
    &["hold kube-scheduler pods", "release"],
    &["hold kube-controller-manager", "release kube-controller-manager"],
    &["hold link kubelet/node-2 kube-apiserver", "release"],
    &["seed 7"],
    &["slow nginx 20"],
    &["node stop 1"],
    &["node stop 2", "node start 2"],
    &["node shutdown 1"],
    &["full node-1 disk"],
    &["full node-1 memory"],
    &["full node-1 disk", "relieve node-1"],
    &["full node-2 pids", "relieve node-2"],
    &["skew node-2 3600"],
    &["disconnect kube-scheduler nodes"],
    &["disconnect kube-controller-manager pods"],
    &["disconnect kubelet/* pods"],
    &["skew node-1 -3600", "skew node-1 0"],
];

#[test]
fn the_cluster_comes_through() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || HEALED.iter().skip(thread).step_by(threads).for_each(|fault| comes_through(fault)));
        }
    });
}

fn comes_through(fault: &[&str]) {
    for seed in 1..=seeds(SEEDS) {
        let mut session = session(seed);
        let typed = inflict(&mut session, fault, seed);
        settle(&mut session);
        if fault == ["node stop 1"] {
            give_up_nodes(&mut session);
        }
        assert_eq!(available(&session), 2, "{typed:?}");
        assert!(session.crashes().is_empty(), "{typed:?}: {:?}", session.crashes());
        if seed == 1 {
            assert_eq!(broken(&mut session), [""; 0], "{typed:?}");
        }
    }
}

/// A container whose process ends is started anew by its kubelet, which counts that.
#[test]
fn containers_that_are_killed_start_anew() {
    for (seed, how) in (1..=seeds(SEEDS)).flat_map(|seed| [(seed, "kill"), (seed, "oom")]) {
        let mut session = session(seed);
        session.go(&mut Goal::Quiet, 100_000);
        let store = &session.cluster.engine.api.store;
        let key = store.prefix("/registry/pods/default/").next().map(|(key, _)| key.to_owned());
        let key = key.expect("the Deployment has Pods");
        session.act(&format!("{how} {}", key.trim_start_matches("/registry/pods/"))).expect("it runs");
        settle(&mut session);
        let pod = session.cluster.engine.api.store.get(&key).expect("it stays").value.to_json();
        let container = &pod["status"]["containerStatuses"][0];
        assert_eq!(
            (available(&session), &container["restartCount"]),
            (2, &1.into()),
            "{how}, seed {seed}: {container}"
        );
        let reason = if how == "oom" { "OOMKilled" } else { "Error" };
        assert_eq!(container["lastState"]["terminated"]["reason"], reason, "{container}");
    }
}

/// Faults that last, and what they are to be known by.
#[test]
fn what_lasts_has_a_name() {
    let pending = |session: &Session| {
        let pods = session.cluster.engine.api.store.prefix("/registry/pods/default/");
        pods.filter(|(_, entry)| entry.value.to_json()["spec"]["nodeName"].is_null()).count()
    };
    for seed in 1..=seeds(SEEDS) {
        let mut session = session(seed);
        session.act("stop kube-scheduler").expect("it runs");
        settle(&mut session);
        assert_eq!((available(&session), pending(&session)), (0, 2), "nobody gives Pods a node");
        session.act("start kube-scheduler").expect("it was stopped");
        settle(&mut session);
        assert_eq!(available(&session), 2, "it finds them when it comes back");
    }
}

/// Whoever is cut off or hangs, and stays so: the cluster comes through without it, or stops where it is needed. Then what
/// it was not told stands among the events that are held back, and with a release all goes on.
#[test]
fn what_is_held_for_good_has_a_name() {
    let cases = [
        ("cut node-1", "kubelet/node-1"),
        ("cut node-2", "kubelet/node-2"),
        ("hold link kubelet/node-2 kube-apiserver", "kubelet/node-2"),
        ("hold kubelet/node-1", "kubelet/node-1"),
        ("hold kube-scheduler pods", "kube-scheduler"),
        ("hold kube-scheduler", "kube-scheduler"),
        ("hold kube-controller-manager pods", "kube-controller-manager"),
        ("hold kube-controller-manager", "kube-controller-manager"),
    ];
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let cases = cases.into_iter().skip(thread).step_by(threads);
            scope.spawn(move || {
                cases.for_each(|(fault, who)| (1..=seeds(SEEDS)).for_each(|seed| lasts(fault, who, seed)))
            });
        }
    });
}

fn lasts(fault: &str, who: &str, seed: u64) {
    let mut session = session(seed);
    let typed = inflict(&mut session, &[fault], seed);
    settle(&mut session);
    give_up_nodes(&mut session);
    assert!(session.crashes().is_empty(), "{typed:?}: {:?}", session.crashes());
    match who.strip_prefix("kubelet/") {
        Some(node) => {
            assert_eq!((ready(&session, node).as_str(), available(&session)), ("Unknown", 2), "{typed:?}");
            assert!(pods(&session).iter().all(|pod| is_lost(pod, node)), "{typed:?}: {:?}", pods(&session));
        }
        None => {
            let engine = &session.cluster.engine;
            let untold = engine.held().filter(|event| engine.name(event.to) == who).count();
            assert!(available(&session) == 2 || untold > 0, "{typed:?}: nobody can say why");
        }
    }
    if fault == "hold kube-scheduler pods" {
        let waiting = pods(&session).iter().filter(|pod| pod["spec"]["nodeName"].is_null()).count();
        assert_eq!(available(&session) + waiting as i32, 2, "{typed:?}: those that it has not heard of wait");
    }
    session.act("release").expect("something is held");
    settle(&mut session);
    assert_eq!(available(&session), 2, "{typed:?}, release");
}

/// The Pods of the Deployment.
fn pods(session: &Session) -> Vec<serde_json::Value> {
    let pods = session.cluster.engine.api.store.prefix("/registry/pods/default/");
    pods.map(|(_, entry)| entry.value.to_json()).collect()
}

/// Whether a Pod is elsewhere, or is to go: only the kubelet of its node could say that it has.
fn is_lost(pod: &serde_json::Value, node: &str) -> bool {
    pod["spec"]["nodeName"] != node || !pod["metadata"]["deletionTimestamp"].is_null()
}

/// A node whose memory runs out says so, and its kubelet ends one Pod after the other, those that ask for nothing first. They
/// stay, Failed, and others are made elsewhere.
#[test]
fn a_node_without_memory_evicts() {
    let text = "\
title: t
nodes: 2
files:
  pods.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: asks}
    spec: {nodeName: node-1, containers: [{name: c, image: 'nginx:1.27', resources: {requests: {memory: 64Mi}}}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: asks-nothing}
    spec: {nodeName: node-1, containers: [{name: c, image: 'nginx:1.27'}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: needed}
    spec: {nodeName: node-1, priorityClassName: system-node-critical, containers: [{name: c, image: 'nginx:1.27'}]}
timeline:
  - kubectl create deployment web --image=nginx:1.27 --replicas=2
  - kubectl rollout status deployment web --timeout=60s
  - kubectl apply -f pods.yaml
  - kubectl wait --for=condition=Ready pod/asks pod/asks-nothing pod/needed --timeout=60s
  - full node-1 memory
  - sleep 90
  - kubectl get pods -o wide
  - kubectl get pod asks-nothing -o yaml
  - kubectl describe node node-1
  - kubectl get events --field-selector reason=Evicted
  - kubectl get events --field-selector reason=Evicted -o jsonpath='{.items[0].metadata.annotations}'
  - kubectl logs asks-nothing
  - relieve node-1
";
    let scenario = Scenario::parse("memory", text).unwrap_or_else(|error| panic!("{error}"));
    let mut cluster = bugs::cluster(&scenario);
    let mut properties = properties::all();
    let mut failed = Vec::new();
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        for property in &mut properties {
            property.check(&cluster.engine, &step).unwrap_or_else(|what| panic!("{}: {what}", property.name()));
        }
        for note in &step.notes {
            let Note::Stored { old: Some(Object::Pod(old)), new: Some(Object::Pod(new)), .. } = note else { continue };
            if !has_ended(old) && has_ended(new) {
                failed.push((step.time, new.metadata.name.clone().unwrap_or_default()));
            }
        }
    }
    let names: Vec<&str> = failed.iter().map(|(_, name)| name.split('-').next().unwrap_or_default()).collect();
    assert_eq!(names, ["asks", "web", "asks"], "those that ask for nothing, then the one that asks: {failed:?}");
    assert_eq!((failed[0].1.as_str(), failed[2].1.as_str()), ("asks-nothing", "asks"));
    for pair in failed.windows(2) {
        assert!((pair[1].0 - pair[0].0).as_secs().abs_diff(10) <= 1, "one a round: {failed:?}");
    }
    says(
        &cluster,
        &[
            "reason: Evicted",
            r#"{"offending_containers":"","offending_containers_usage":"","starved_resource":"memory"}"#,
            "message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 64Mi. '",
            "reason: TerminationByKubelet",
            "MemoryPressure True",
            "KubeletHasInsufficientMemory kubelet has insufficient memory available",
            "node.kubernetes.io/memory-pressure:NoSchedule",
            "Warning EvictionThresholdMet",
            "needed 1/1 Running",
            // Its containers have been removed.
            "unable to retrieve container logs for containerd://",
        ],
    );
}

/// All that kubectl has printed has these parts, however wide its columns are.
fn says(cluster: &Cluster, parts: &[&str]) {
    let said = cluster.kubectl.printed_since(0);
    let narrow = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(narrow.contains(part), "{part}\n-- is not in\n{said}");
    }
}

/// A Pod that is on no node yet finds its file wherever it comes to run.
#[test]
fn a_file_may_be_there_before_its_pod() {
    let text = "\
title: t
nodes: 2
files:
  pod.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: app}
    spec: {containers: [{name: c, image: 'nginx:1.27', readinessProbe: {exec: {command: [cat, /ready]}, periodSeconds: 1}}]}
timeline:
  - kubectl apply -f pod.yaml
  - file on app /ready
  - kubectl wait --for=condition=Ready pod/app --timeout=5s
  - kubectl get events -o jsonpath='events {.items[*].reason}.'
  - file on nobody /ready
";
    let scenario = Scenario::parse("file", text).unwrap_or_else(|error| panic!("{error}"));
    let mut cluster = bugs::cluster(&scenario);
    while !cluster.is_quiet() && cluster.step().is_some() {}
    says(
        &cluster,
        &[
            "pod/app condition met",
            "events Scheduled Pulling Pulled Created Started Starting",
            "default/nobody runs nowhere",
        ],
    );
}

/// A Pod that writes more than its node's disk holds makes it short: the node says so, and the kubelet ends the one that has
/// written the most beyond what it asked for. That frees the disk. One that writes more than it may goes by itself.
#[test]
fn a_node_without_disk_evicts_and_so_does_a_limit() {
    let text = "\
title: t
nodes: 2
files:
  pods.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: asks}
    spec: {nodeName: node-1, containers: [{name: c, image: 'nginx:1.27', resources: {requests: {ephemeral-storage: 40Gi}}}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: hog}
    spec: {nodeName: node-1, containers: [{name: c, image: 'nginx:1.27'}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: limited}
    spec:
      nodeName: node-1
      containers: [{name: c, image: 'nginx:1.27'}]
      volumes: [{name: cache, emptyDir: {sizeLimit: 100Mi}}]
timeline:
  - kubectl apply -f pods.yaml
  - kubectl wait --for=condition=Ready pod/asks pod/hog pod/limited --timeout=60s
  - fill limited 100Mi volume=cache
  - fill asks 30Gi
  - sleep 15
  - kubectl get pods
  - fill limited 101Mi volume=cache
  - fill hog 62Gi
  - sleep 12
  - kubectl get pod limited -o jsonpath='{.status.reason} {.status.message}{.status.conditions[*].type}'
  - sleep 12
  - kubectl describe node node-1
  - kubectl get pod hog -o jsonpath='{.status.phase} {.status.reason} {.status.message}'
  - sleep 240
  - kubectl get node node-1 -o jsonpath='still {.spec.taints[*].key}.'
  - sleep 100
  - kubectl get node node-1 -o jsonpath='taints {.spec.taints}.'
  - kubectl get pods
  - fill nobody 1Gi
  - fill asks 1Gi volume=cache
  - fill asks 1Gi d
";
    let scenario = Scenario::parse("disk", text).unwrap_or_else(|error| panic!("{error}"));
    let mut cluster = bugs::cluster(&scenario);
    let mut properties = properties::all();
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        for property in &mut properties {
            property.check(&cluster.engine, &step).unwrap_or_else(|what| panic!("{}: {what}", property.name()));
        }
    }
    says(
        &cluster,
        &[
            "limited 1/1 Running 0",
            "DiskPressure True",
            "KubeletHasDiskPressure kubelet has disk pressure",
            "node.kubernetes.io/disk-pressure:NoSchedule",
            "Evicted Usage of EmptyDir volume \"cache\" exceeds the limit \"100Mi\". PodReadyToStartContainers",
            "Failed Evicted The node was low on resource: ephemeral-storage. Threshold quantity: 10737418400, available: 8Gi. \
         Container c was using 65011748Ki, request is 0, has larger consumption of ephemeral-storage.",
            "Warning EvictionThresholdMet",
            "Attempting to reclaim ephemeral-storage",
            "still node.kubernetes.io/disk-pressure.",
            "taints .",
            "asks 1/1 Running",
            "default/nobody runs nowhere",
            "default/asks has no emptyDir volume \"cache\"; it has none",
            "default/asks has no container \"d\"; it has c",
        ],
    );
}

/// A machine that is to be switched off waits for its kubelet: ordinary Pods end first, then critical ones, each Failed with
/// the reason. Others are made elsewhere, and the node comes back.
#[test]
fn a_node_that_is_shut_down_ends_its_pods() {
    let text = "\
title: t
nodes: 2
files:
  pods.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: quick}
    spec: {nodeName: node-1, containers: [{name: c, image: 'nginx:1.27'}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: slow}
    spec:
      nodeName: node-1
      terminationGracePeriodSeconds: 60
      containers: [{name: c, image: 'nginx:1.27', lifecycle: {preStop: {sleep: {seconds: 50}}}}]
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: critical}
    spec: {nodeName: node-1, priorityClassName: system-node-critical, containers: [{name: c, image: 'nginx:1.27'}]}
  late.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: late}
    spec: {nodeName: node-1, tolerations: [{operator: Exists}], containers: [{name: c, image: 'nginx:1.27'}]}
timeline:
  - kubectl create deployment web --image=nginx:1.27 --replicas=2
  - kubectl rollout status deployment web --timeout=60s
  - kubectl apply -f pods.yaml
  - kubectl wait --for=condition=Ready pod/quick pod/slow pod/critical --timeout=60s
  - node shutdown 1
  - sleep 5
  - kubectl get nodes
  - kubectl describe node node-1
  - kubectl apply -f late.yaml
  - sleep 60
  - kubectl get pods
  - kubectl get pod critical -o jsonpath='{.status.phase} {.status.reason} {.status.message} {.status.conditions[*].reason}'
  - kubectl get pod late -o jsonpath='{.status.reason} {.status.message}'
  - node start 1
  - sleep 40
  - kubectl get nodes
";
    let scenario = Scenario::parse("shutdown", text).unwrap_or_else(|error| panic!("{error}"));
    let mut cluster = bugs::cluster(&scenario);
    let mut properties = properties::all();
    let (mut ended, mut off) = (Vec::new(), None);
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        for property in &mut properties {
            property.check(&cluster.engine, &step).unwrap_or_else(|what| panic!("{}: {what}", property.name()));
        }
        if describes(&step, "node stop 1") {
            off = Some(step.time);
        }
        for note in &step.notes {
            let Note::Stored { old: Some(Object::Pod(old)), new: Some(Object::Pod(new)), .. } = note else { continue };
            let reason = new.status.as_ref().and_then(|status| status.reason.as_deref());
            if !has_ended(old) && has_ended(new) && reason == Some("Terminated") {
                ended.push((step.time, new.metadata.name.clone().unwrap_or_default()));
            }
        }
    }
    let said = cluster.kubectl.printed_since(0);
    let at = |wanted: &str| {
        let found = ended.iter().find(|(_, name)| name.starts_with(wanted));
        found.unwrap_or_else(|| panic!("{wanted}: {ended:?}\n{said}")).0
    };
    let (quick, slow, critical) = (at("quick"), at("slow"), at("critical"));
    assert!(at("web") - quick < Duration::from_secs(1), "ordinary Pods end side by side: {ended:?}");
    assert!((19..=21).contains(&(slow - quick).as_secs()), "it is cut short after 20 s: {ended:?}");
    assert!((19..=21).contains(&(critical - quick).as_secs()), "critical ones come then: {ended:?}");
    let off = off.expect("the kubelet has let go");
    assert!((off - critical).as_secs() <= 3, "nothing is waited for any more: {off} {ended:?}");
    says(
        &cluster,
        &[
            "node-1 NotReady",
            "KubeletNotReady node is shutting down",
            "Shutdown manager detected shutdown event",
            "Failed Terminated Pod was terminated in response to imminent node shutdown. ",
            "TerminationByKubelet",
            "NodeShutdown Pod was rejected: Pod was rejected as the node is shutting down.",
            "node-1 Ready",
        ],
    );
}

/// A node that is full says so, gets a taint, and its Pods that came too soon are Failed: Evicted.
#[test]
fn a_full_node_is_passed_over() {
    for (what, condition, taint) in [
        ("disk", "DiskPressure", "node.kubernetes.io/disk-pressure"),
        ("pids", "PIDPressure", "node.kubernetes.io/pid-pressure"),
    ] {
        let mut session = session(0);
        session.act(&format!("full node-1 {what}")).expect("its kubelet runs");
        settle(&mut session);
        let node = session.cluster.engine.api.store.get("/registry/minions/node-1").expect("there is a node");
        let json = node.value.to_json();
        let conditions = json["status"]["conditions"].as_array().expect("a node has conditions");
        assert!(conditions.iter().any(|c| c["type"] == condition && c["status"] == "True"), "{conditions:?}");
        assert!(json["spec"]["taints"].as_array().is_some_and(|t| t.iter().any(|t| t["key"] == taint)), "{json}");
        let pods = session.cluster.engine.api.store.prefix("/registry/pods/default/");
        let pods: Vec<_> = pods.map(|(_, entry)| entry.value.to_json()).collect();
        let here = pods.iter().filter(|pod| pod["spec"]["nodeName"] == "node-1");
        assert!(here.clone().count() > 0 && here.clone().all(|pod| pod["status"]["reason"] == "Evicted"), "{pods:?}");
        assert_eq!(available(&session), 2);
        session.act("relieve node-1").expect("its kubelet runs");
        let has_taint = |session: &Session| {
            let node = session.cluster.engine.api.store.get("/registry/minions/node-1").expect("there is a node");
            !node.value.to_json()["spec"]["taints"].is_null()
        };
        for (seconds, expected) in [(290, true), (40, false)] {
            let end = session.cluster.engine.now() + Duration::from_secs(seconds);
            session.go(&mut Goal::Time(end), 200_000);
            assert_eq!(has_taint(&session), expected, "the condition outlasts its cause by five minutes: {what}");
        }
    }
    assert!(session(0).act("full node-9 disk").unwrap_err().contains("no kubelet runs"));
}

/// What is taken on a machine is the machine's: the kubelet that starts anew finds it, and so does one that is told of no
/// end of it.
#[test]
fn a_full_node_is_full_for_its_next_kubelet_too() {
    for (what, condition) in [("disk", "DiskPressure"), ("memory", "MemoryPressure"), ("pids", "PIDPressure")] {
        let mut session = session(0);
        let is_short = |session: &Session| {
            let node = session.cluster.engine.api.store.get("/registry/minions/node-1").expect("there is a node");
            let json = node.value.to_json();
            let conditions = json["status"]["conditions"].as_array().expect("a node has conditions");
            conditions.iter().any(|c| c["type"] == condition && c["status"] == "True")
        };
        session.act(&format!("full node-1 {what}")).expect("its kubelet runs");
        session.act("crash kubelet/node-1").expect("it runs");
        go_on(&mut session);
        assert!(is_short(&session), "{what}");
        session.act("relieve node-1").expect("its kubelet runs");
        session.act("crash kubelet/node-1").expect("it runs");
        go_on(&mut session);
        assert!(!is_short(&session), "{what} again");
    }
    let mut session = session(0);
    for (act, full) in [("full node-1 disk", true), ("relieve node-1", false)] {
        session.act(act).expect("its kubelet runs");
        session.act("node stop 1").expect("it is on");
        session.act("node start 1").expect("it is off");
        let host = session.cluster.host("node-1").expect("it is on");
        assert_eq!(host.is_short_of(Shortage::Disk), full, "{act}: without power files stay");
    }
    session.act("full node-1 memory").expect("its kubelet runs");
    session.act("node stop 1").expect("it is on");
    session.act("node start 1").expect("it is off");
    assert!(!session.cluster.host("node-1").expect("it is on").is_short(), "memory is empty after that");
}

/// The gate MaxUnavailableStatefulSet is off: what asks for two at a time is not stored, neither when the set is made nor when
/// it is changed, and the update takes one Pod after another.
#[test]
fn a_stateful_set_updates_one_pod_at_a_time_whatever_it_asks() {
    let strategy = "{type: RollingUpdate, rollingUpdate: {maxUnavailable: 2, partition: 0}}";
    let mut scenario = Scenario::find("statefulset").expect("the scenario is shipped");
    for text in scenario.files.values_mut() {
        *text = text.replace("  serviceName: db", &format!("  serviceName: db\n  updateStrategy: {strategy}"));
    }
    let ask = "kubectl patch sts db --type=merge -p '{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":{\"maxUnavailable\":3}}}}'";
    let show = "kubectl get sts db -o jsonpath='strategy {.spec.updateStrategy}.'";
    let lines = [
        "kubectl apply -f db.yaml",
        "kubectl rollout status sts/db --timeout=90s",
        show,
        ask,
        show,
        "kubectl set image sts/db db=postgres:18",
        "kubectl rollout status sts/db --timeout=120s",
    ];
    scenario.timeline = lines.map(str::to_owned).to_vec();
    for seed in 0..seeds(SEEDS) {
        let mut cluster = bugs::cluster(&Scenario { seed, ..scenario.clone() });
        let (mut up, mut fewest) = (0, usize::MAX);
        while !cluster.is_quiet() {
            cluster.step().expect("a cluster at rest has timers");
            let pods = cluster.engine.api.store.prefix("/registry/pods/default/");
            let there = pods.filter(|(_, entry)| entry.value.meta().deletion_timestamp.is_none()).count();
            up = up.max(there);
            if up == 3 {
                fewest = fewest.min(there);
            }
        }
        let kept = "strategy {\"rollingUpdate\":{\"partition\":0},\"type\":\"RollingUpdate\"}.";
        let printed = cluster.kubectl.printed_since(0);
        assert_eq!(printed.matches(kept).count(), 2, "seed {seed}: {printed}");
        assert_eq!((up, fewest), (3, 2), "seed {seed}");
    }
}

/// The condition Ready of a node.
fn ready(session: &Session, node: &str) -> String {
    let entry = session.cluster.engine.api.store.get(&format!("/registry/minions/{node}")).expect("there is a node");
    let json = entry.value.to_json();
    let conditions = json["status"]["conditions"].as_array().expect("a node has conditions");
    let ready = conditions.iter().find(|c| c["type"] == "Ready").expect("Ready is one of them");
    ready["status"].as_str().expect("it is text").to_owned()
}

/// A clock that is fast does no harm. One that goes back makes its node doubted, until it is right again: a Lease counts
/// as renewed only if its time has grown.
#[test]
fn a_clock_that_goes_back_makes_a_node_doubted() {
    let mut session = session(0);
    session.act("skew node-2 7200").expect("its kubelet runs");
    settle(&mut session);
    let lease = session.cluster.engine.api.store.get("/registry/leases/kube-node-lease/node-2").expect("it has one");
    assert!(lease.value.to_json()["spec"]["renewTime"].to_string().contains("2026-01-01T02:"));
    assert_eq!((ready(&session, "node-2").as_str(), available(&session)), ("True", 2));
    session.act("skew node-1 -7200").expect("its kubelet runs");
    let mut doubted = false;
    for _ in 0..30 {
        session.go(&mut Goal::Time(session.cluster.engine.now() + Duration::from_secs(5)), 100_000);
        doubted |= ready(&session, "node-1") == "Unknown";
    }
    assert!(doubted, "node-1 is never doubted");
    session.act("skew node-1 0").expect("its kubelet runs");
    settle(&mut session);
    assert_eq!((ready(&session, "node-1").as_str(), available(&session)), ("True", 2));
}

/// Any one message that can get lost is lost. Whoever waits for it is told and tries again; but an informer cannot know
/// what its watch did not say. That state has a name: a stale cache. A restart heals it.
#[test]
fn one_lost_message_is_healed_by_a_restart_at_the_latest() {
    let mut stale = 0;
    for seed in 1..=seeds(SEEDS).max(8) {
        let mut session = session(seed);
        let mut random = Random::new(seed ^ 0xd0);
        session.goto(10 + random.below(STEPS));
        let lossy: Vec<_> = session.cluster.engine.pending().filter(|event| can_get_lost(&event.what)).collect();
        if lossy.is_empty() {
            continue;
        }
        let event = lossy[random.below(lossy.len() as u64) as usize];
        let (id, notification) = (event.id, matches!(event.what, What::Notification { .. }));
        session.act(&format!("drop {id}")).expect("it can get lost");
        settle(&mut session);
        if available(&session) != 2 {
            assert!(notification, "seed {seed}: {id} was a call, which is tried again");
            stale += 1;
            let components = ["kube-controller-manager", "kube-scheduler"].map(str::to_owned).into_iter();
            let kubelets = (1..=3).map(|n| format!("kubelet/node-{n}"));
            for component in components.chain(kubelets) {
                session.act(&format!("crash {component}")).expect("it runs");
            }
            settle(&mut session);
        }
        assert_eq!(available(&session), 2, "seed {seed}, {id}");
    }
    println!("{stale} caches stayed stale until a restart");
}

fn can_get_lost(what: &What) -> bool {
    match what {
        What::Request { request, .. } => request.kind != Kind::Event,
        What::Response { .. } | What::Notification { .. } => true,
        _ => false,
    }
}

/// A line for each kind of fault that can be at this moment of the scenario.
const KINDS: &[&str] = &[
    "hold kube-scheduler pods",
    "release kube-scheduler pods",
    "cut node-1",
    "mend node-1",
    "release",
    "disconnect kube-scheduler nodes",
    "fail replicaset-controller create pods with 500 times 2",
    "stop kube-scheduler",
    "start kube-scheduler",
    "crash kube-controller-manager",
    "crash kube-apiserver",
    "node stop 1",
    "node start 1",
    "node start 4 --cpu 8",
    "compact",
    "slow nginx 20.5",
    "full node-2 disk",
    "relieve node-2",
    "skew node-2 -40",
    "node node-2 rm /etc/cni/net.d/10-kubestep.conflist",
    "node shutdown 3 --grace 20 --critical 5",
];

/// Each is a step: it has a number, is caused by who typed it, causes what follows, and is there again on any way back.
#[test]
fn a_fault_is_a_step() {
    let mut session = session(0);
    session.goto(60);
    for text in KINDS {
        let before = session.cluster.engine.steps();
        session.act(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let stop = session.stop().expect("there was a step");
        assert_eq!((stop.step, stop.event.class, stop.event.what.as_str()), (before + 1, "fault", *text));
        let (chain, typed) = causes::chain(&session, StepId(before + 1));
        assert_eq!((chain.len(), typed.as_deref()), (1, Some(*text)));
        session.goto(before + 40);
    }
    let lost = session.cluster.engine.pending().find(|event| can_get_lost(&event.what)).map(|event| event.id);
    let lost = format!("drop {}", lost.expect("somebody always says something"));
    session.act(&lost).expect("it can get lost");
    assert_eq!(session.stop().expect("there was a step").event.what, lost);
    session.goto(session.cluster.engine.steps() + 40);
    let rows = timeline::rows(&session, &About::Everything);
    for text in KINDS.iter().copied().chain([lost.as_str()]) {
        assert!(rows.iter().any(|row| row.text.contains(text)), "{text} is not in the timeline");
    }
    let (end, expected) = (session.cluster.engine.steps(), session.digest());
    let crash = session.history().iter().find(|step| describes(step, "crash kube-controller-manager")).expect("it ran");
    let (crash, effects) = (crash.id, causes::effects(&session, crash.id, 50).len());
    assert!(effects > 10, "what starts anew lists everything: {effects}");
    assert!(causes::chain(&session, StepId(crash.0 + 3)).0.len() > 1);
    assert!(session.act("stop nobody").is_err());
    assert_eq!(session.cluster.engine.steps(), end, "what cannot be is no step");
    for back in [62, 70, 0, crash.0, end] {
        session.goto(back);
        session.goto(end);
        assert_eq!(session.digest(), expected, "back from step {back}");
    }
    let opened = file::open(&file::save(&session), None);
    assert_eq!(opened.expect("it repeats").digest(), expected);
    session.goto(61);
    assert_eq!(session.stop().expect("a step").event.class, "fault", "goto stops at it");
}

fn describes(step: &Step, text: &str) -> bool {
    matches!(&step.event.what, What::Fault { message } if message.line() == text)
}

/// In a scenario they are lines like any, and steps too. One that cannot be is told of, and counted.
#[test]
fn a_scenario_breaks_things_in_steps() {
    let timeline = ["kubectl create deployment web --image=nginx", "sleep 3", "crash kube-scheduler", "kill nobody"];
    let timeline = timeline.into_iter().map(str::to_owned).collect();
    let mut session = Session::of(Scenario { timeline, namespace: "default".into(), ..Scenario::default() });
    let names = session.names();
    session.breakpoints.add("fault", false, &names).expect("it is a class of events");
    for line in ["crash kube-scheduler", "kill default/nobody"] {
        assert_eq!(session.go(&mut Goal::Quiet, 0), Advance::Breakpoint);
        let step = session.current().expect("a step");
        assert!(describes(step, line), "{step:?}");
        let (_, typed) = causes::chain(&session, step.id);
        assert_eq!(typed.as_deref(), Some(line.replace("default/", "").as_str()));
    }
    session.go(&mut Goal::Quiet, 0);
    let printed = session.cluster.kubectl.printed_since(0);
    assert!(printed.contains("no such container runs in default/nobody"), "{printed}");
    assert_eq!(session.cluster.failures.get(), 1);
}
