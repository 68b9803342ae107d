//! Pods that a file on a node asks for.

use kubestep::cluster::Cluster;

use super::scripts::pass;
use crate::scenario;

const FILES: &str = "title: a file on a node
nodes: 2
files:
  web.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: Web, labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: nginx, image: nginx:1.27}]
  newer.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: web, labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: nginx, image: nginx:1.28}]
  broken.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: broken}
    spec: {containers: []}
  far.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: far, namespace: far}
    spec:
      containers: [{name: nginx, image: nginx:1.27}]
  text.yaml: |
    [not: a: manifest
  other.yaml: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}
timeline:
- node node-1 cp web.yaml /etc/kubernetes/manifests/web.yaml
";

fn cluster(timeline: &str) -> Cluster {
    scenario::settled(&format!("{FILES}{timeline}"), 60)
}

/// What a line prints, some seconds later.
fn said(cluster: &mut Cluster, line: &str) -> String {
    let before = cluster.kubectl.printed();
    cluster.type_lines(vec![line.to_owned()]);
    pass(cluster, 15);
    let said = cluster.kubectl.printed_since(before);
    said.split_once('\n').map_or(String::new(), |(_, said)| said.trim_end().to_owned())
}

fn told(cluster: &mut Cluster, path: &str) -> String {
    said(cluster, &format!("kubectl get pods -o jsonpath='{{.items[*]{path}}}'"))
}

const CONTAINER: &str = ".status.containerStatuses[*].containerID";

/// Nobody schedules it, and no admission gives it an account; its mirror is the node's and says what runs.
#[test]
fn a_file_is_run_and_shown() {
    let mut cluster = cluster("");
    assert_eq!(told(&mut cluster, ".metadata.name"), "web-node-1");
    assert_eq!(told(&mut cluster, ".status.phase"), "Running");
    assert_eq!(told(&mut cluster, ".metadata.ownerReferences[*].kind"), "Node");
    assert_eq!(told(&mut cluster, ".spec.volumes"), "");
    let hash = told(&mut cluster, r".metadata.annotations.kubernetes\.io/config\.hash");
    assert_eq!(told(&mut cluster, r".metadata.annotations.kubernetes\.io/config\.mirror"), hash);
    assert_ne!(told(&mut cluster, ".metadata.uid"), hash);
    let described = said(&mut cluster, "kubectl describe pod web-node-1");
    assert!(described.contains("Container started") && !described.contains("default-scheduler"), "{described}");
    assert!(said(&mut cluster, "kubectl exec web-node-1 -- hostname").contains("web-node-1"));
}

#[test]
fn to_delete_the_mirror_changes_nothing() {
    let mut cluster = cluster("");
    let (container, uid) = (told(&mut cluster, CONTAINER), told(&mut cluster, ".metadata.uid"));
    said(&mut cluster, "kubectl delete pod web-node-1");
    assert_ne!(told(&mut cluster, ".metadata.uid"), uid);
    assert_eq!(told(&mut cluster, CONTAINER), container);
    assert_eq!(told(&mut cluster, ".status.phase"), "Running");
}

#[test]
fn the_pod_goes_the_way_of_its_file() {
    let mut cluster = cluster("");
    said(&mut cluster, "node node-1 cp newer.yaml /etc/kubernetes/manifests/web.yaml");
    assert_eq!(told(&mut cluster, ".status.containerStatuses[*].image"), "nginx:1.28");
    assert_eq!(told(&mut cluster, ".status.containerStatuses[*].restartCount"), "0");
    said(&mut cluster, "node node-1 rm /etc/kubernetes/manifests/web.yaml");
    assert_eq!(told(&mut cluster, ".metadata.name"), "");
    let events = said(&mut cluster, "kubectl get events --field-selector reason=Killing -o name");
    assert_eq!(events.lines().count(), 2, "the old one and the new one were stopped: {events}");
}

#[test]
fn what_is_no_pod_is_passed_over() {
    let lines = ["broken", "text", "other"].map(|name| {
        let path = format!("/etc/kubernetes/manifests/{name}.yaml");
        format!("- node node-1 cp {name}.yaml {path}\n")
    });
    let mut cluster = cluster(&lines.concat());
    assert_eq!(told(&mut cluster, ".metadata.name"), "web-node-1");
}

/// A kubelet that comes back knows its pod by its uid, and the mirror of one whose file went meanwhile goes.
#[test]
fn a_kubelet_that_comes_back_finds_its_pods() {
    let mut cluster = cluster("");
    let container = told(&mut cluster, CONTAINER);
    said(&mut cluster, "crash kubelet/node-1");
    assert_eq!(told(&mut cluster, CONTAINER), container);
    assert_eq!(told(&mut cluster, ".status.containerStatuses[*].restartCount"), "0");
    said(&mut cluster, "node stop 1");
    said(&mut cluster, "node start 1");
    assert_eq!(told(&mut cluster, ".status.phase"), "Running", "as a machine that boots does");
}

/// It runs without its namespace; the mirror comes when that is there, and nobody waits for it busily.
#[test]
fn a_pod_can_run_that_cannot_be_shown() {
    let mut cluster = cluster("- node node-1 cp far.yaml /etc/kubernetes/manifests/far.yaml\n");
    assert!(cluster.is_quiet());
    assert!(said(&mut cluster, "node node-1 ip netns").lines().count() >= 2, "two sandboxes stand");
    assert_eq!(said(&mut cluster, "kubectl get pods -n far -o name"), "");
    said(&mut cluster, "kubectl create namespace far");
    for _ in 0..4 {
        said(&mut cluster, "kubectl get namespace far");
    }
    assert_eq!(said(&mut cluster, "kubectl get pods -n far -o name"), "pod/far-node-1");
    let phase = said(&mut cluster, "kubectl get pod far-node-1 -n far -o jsonpath='{.status.phase}'");
    assert_eq!(phase, "Running");
}
