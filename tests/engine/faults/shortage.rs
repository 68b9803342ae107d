//! Nodes that run out of memory, disk or process ids.

use std::time::Duration;

use debugger::{Goal, Session};
use engine::Note;
use kubestep_tests::scenario;
use network::host::Shortage;
use object::Object;
use object::pod::has_ended;

use super::harness::{available, session, settle};

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
  - kubectl events -n default --for node/node-1
  - kubectl get events --field-selector reason=Evicted
  - kubectl get events --field-selector reason=Evicted -o jsonpath='{.items[0].metadata.annotations}'
  - kubectl logs asks-nothing
  - relieve node-1
";
    let mut cluster = scenario::started(text);
    let mut failed = Vec::new();
    scenario::run_checked(&mut cluster, |_, step| {
        for note in &step.notes {
            let Note::Stored { old: Some(Object::Pod(old)), new: Some(Object::Pod(new)), .. } = note else { continue };
            if !has_ended(old) && has_ended(new) {
                failed.push((step.time, new.metadata.name.clone().unwrap_or_default()));
            }
        }
    });
    let names: Vec<&str> = failed.iter().map(|(_, name)| name.split('-').next().unwrap_or_default()).collect();
    assert_eq!(names, ["asks", "web", "asks"], "those that ask for nothing, then the one that asks: {failed:?}");
    assert_eq!((failed[0].1.as_str(), failed[2].1.as_str()), ("asks-nothing", "asks"));
    for pair in failed.windows(2) {
        assert!((pair[1].0 - pair[0].0).as_secs().abs_diff(10) <= 1, "one a round: {failed:?}");
    }
    scenario::has_said(
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

/// A Pod that writes more than its node's disk holds makes it short: the node says so, and the kubelet ends the one that has
/// written the most beyond what it asked for. That frees the disk. One that writes more than it may goes by itself.
/// A Pod that is being deleted but still there is as good a victim as any other, and then it has failed.
#[test]
fn a_pod_that_is_being_deleted_is_evicted_as_well() {
    let text = "\
title: t
nodes: 1
files:
  pods.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: slow}
    spec:
      terminationGracePeriodSeconds: 60
      containers: [{name: c, image: 'busybox:1.36', command: [sh, -c, sleep 3600]}]
timeline:
  - kubectl apply -f pods.yaml
  - kubectl wait --for=condition=Ready pod/slow --timeout=60s
  - kubectl delete pod slow --wait=false
  - full node-1 memory
  - sleep 90
  - kubectl get events --field-selector reason=Evicted -o name
";
    let mut cluster = scenario::started(text);
    let mut ends = Vec::new();
    scenario::run_checked(&mut cluster, |_, step| {
        for note in &step.notes {
            let Note::Stored { old: Some(Object::Pod(old)), new: Some(Object::Pod(new)), .. } = note else { continue };
            if !has_ended(old) && has_ended(new) {
                let status = new.status.as_ref().unwrap();
                ends.push((status.phase.clone().unwrap_or_default(), status.reason.clone().unwrap_or_default()));
            }
        }
    });
    assert_eq!(ends.len(), 1);
    assert_eq!((&*ends[0].0, &*ends[0].1), ("Failed", "Evicted"));
    let said = cluster.kubectl.printed_since(0);
    assert_eq!(said.matches("event/slow.").count(), 1, "once: {said}");
}

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
  - kubectl events -n default --for node/node-1
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
    let mut cluster = scenario::started(text);
    scenario::run_checked(&mut cluster, |_, _| {});
    scenario::has_said(
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
        let node = session.cluster.engine.server.api.store.get("/registry/minions/node-1").expect("there is a node");
        let json = node.value.to_json();
        let conditions = json["status"]["conditions"].as_array().expect("a node has conditions");
        assert!(conditions.iter().any(|c| c["type"] == condition && c["status"] == "True"), "{conditions:?}");
        assert!(json["spec"]["taints"].as_array().is_some_and(|t| t.iter().any(|t| t["key"] == taint)), "{json}");
        let pods = session.cluster.engine.server.api.store.prefix("/registry/pods/default/");
        let pods: Vec<_> = pods.map(|(_, entry)| entry.value.to_json()).collect();
        let here = pods.iter().filter(|pod| pod["spec"]["nodeName"] == "node-1");
        assert!(here.clone().count() > 0 && here.clone().all(|pod| pod["status"]["reason"] == "Evicted"), "{pods:?}");
        assert_eq!(available(&session), 2);
        session.act("relieve node-1").expect("its kubelet runs");
        let has_taint = |session: &Session| {
            let node =
                session.cluster.engine.server.api.store.get("/registry/minions/node-1").expect("there is a node");
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
            let node =
                session.cluster.engine.server.api.store.get("/registry/minions/node-1").expect("there is a node");
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

/// Half a minute passes.
fn go_on(session: &mut Session) {
    let end = session.cluster.engine.now() + Duration::from_secs(30);
    session.go(&mut Goal::Time(end), 100_000);
}
