//! Faults that last end in a state that has a name.

use std::time::Duration;

use debugger::{Goal, Session};
use kubestep_tests::scenario;
use kubestep_tests::seeds::seeds;
use kubestep_tests::threads;

use super::harness::{SEEDS, available, give_up_nodes, inflict, ready, session, settle};

/// Faults that last, and what they are to be known by.
#[test]
fn what_lasts_has_a_name() {
    let pending = |session: &Session| {
        let pods = session.cluster.engine.server.api.store.prefix("/registry/pods/default/");
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

/// A component is cut off or hangs, and stays so: the cluster comes through without it, or stops where it is needed. Then what
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
    threads::share(&cases, |(fault, who)| (1..=seeds(SEEDS)).for_each(|seed| lasts(fault, who, seed)));
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
    let pods = session.cluster.engine.server.api.store.prefix("/registry/pods/default/");
    pods.map(|(_, entry)| entry.value.to_json()).collect()
}

/// Whether a Pod is elsewhere, or is to go: only the kubelet of its node could say that it has.
fn is_lost(pod: &serde_json::Value, node: &str) -> bool {
    pod["spec"]["nodeName"] != node || !pod["metadata"]["deletionTimestamp"].is_null()
}

/// What a component tells while the server does not answer, it tells again later.
#[test]
fn what_was_told_while_the_server_was_gone_is_not_lost() {
    let mut session = session(0);
    session.act("fail replicaset-controller create events with lost times 3").expect("it has an agent");
    settle(&mut session);
    let events = session.cluster.engine.server.api.store.prefix("/registry/events/default/");
    let told = events.filter(|(_, entry)| entry.value.to_json()["reason"] == "SuccessfulCreate").count();
    assert_eq!((told, available(&session)), (2, 2));
}

/// A clock that is fast does no harm. One that goes back makes its node doubted, until it is right again: a Lease counts
/// as renewed only if its time has grown.
#[test]
fn a_clock_that_goes_back_makes_a_node_doubted() {
    let mut session = session(0);
    session.act("skew node-2 7200").expect("its kubelet runs");
    settle(&mut session);
    let lease =
        session.cluster.engine.server.api.store.get("/registry/leases/kube-node-lease/node-2").expect("it has one");
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

/// A kubelet watches each ConfigMap that its Pods mount. When the API server was gone, it goes on with all of them.
#[test]
fn a_kubelet_follows_its_config_maps_after_the_server_was_gone() {
    let text = "
title: t
nodes: 1
files:
  pod.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: box}
    spec:
      containers:
      - name: box
        image: busybox
        command: [sleep, infinity]
        volumeMounts: [{name: c, mountPath: /c}]
      volumes: [{name: c, configMap: {name: c}}]
timeline:
- kubectl create configmap c --from-literal=a=before
- kubectl apply -f pod.yaml
- kubectl wait --for=condition=Ready pod/box --timeout=60s
- crash kube-apiserver
- sleep 10
- kubectl create configmap c --from-literal=a=after --dry-run=client -o yaml | kubectl replace -f -
- sleep 150
- kubectl exec box -- cat /c/a
";
    let cluster = scenario::settled(text, 600);
    let printed = cluster.kubectl.printed_since(0);
    assert!(printed.trim_end().ends_with("cat /c/a\nafter"), "{printed}");
}
