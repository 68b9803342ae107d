//! Pods that a file on a node asks for.

use cluster::Cluster;
use kubestep_tests::scenario;

use super::scripts::pass;

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

/// No scheduler places it, and no admission gives it an account; its mirror is the node's and says what runs.
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

/// What belongs to no pod any more is looked for again and again.
#[test]
fn a_mirror_goes_though_it_cannot_be_deleted_at_first() {
    let mut cluster = cluster("");
    said(&mut cluster, "fail kubelet/node-1 delete pods with 500 times 3");
    said(&mut cluster, "node node-1 rm /etc/kubernetes/manifests/web.yaml");
    assert_eq!(told(&mut cluster, ".metadata.name"), "");
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

/// It runs without its namespace; the mirror comes when that is there, and the kubelet does not retry it busily.
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

const FULL: &str = "title: a node that is full
nodes: 1
files:
  others.yaml: |
    apiVersion: v1
    kind: List
    items:
    - {apiVersion: v1, kind: Pod, metadata: {name: free}, spec: {nodeName: node-1, containers: [{name: c, image: nginx:1.27}]}}
    - apiVersion: v1
      kind: Pod
      metadata: {name: large}
      spec: {nodeName: node-1, containers: [{name: c, image: nginx:1.27, resources: {requests: {cpu: '3'}}}]}
    - apiVersion: v1
      kind: Pod
      metadata: {name: small}
      spec:
        nodeName: node-1
        terminationGracePeriodSeconds: 5
        containers: [{name: c, image: busybox:1.36, command: [sh, -c, sleep 3600], resources: {requests: {cpu: 500m}}}]
  static.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: static}
    spec: {containers: [{name: c, image: nginx:1.27, resources: {requests: {cpu: '1'}}}]}
  second.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: second}
    spec: {containers: [{name: c, image: nginx:1.27}]}
  huge.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: huge}
    spec:
      nodeName: node-1
      priorityClassName: system-node-critical
      containers: [{name: c, image: nginx:1.27, resources: {requests: {cpu: '6'}}}]
timeline:
- kubectl apply -f others.yaml
- sleep 10
- node node-1 cp static.yaml /etc/kubernetes/manifests/static.yaml
- node node-1 cp second.yaml /etc/kubernetes/manifests/second.yaml
";

fn phases(cluster: &mut Cluster) -> String {
    let template = r#"'{range .items[*]}{.metadata.name}={.status.phase}{" "}{end}'"#;
    said(cluster, &format!("kubectl get pods -o jsonpath={template}")).trim().to_owned()
}

/// What a file asks for is critical: others go until it fits, in their own time, and it waits for them.
#[test]
fn others_make_room_for_it() {
    let mut cluster = scenario::settled(FULL, 60);
    let before = phases(&mut cluster);
    assert_eq!(before, "free=Running large=Running second-node-1=Running small=Failed static-node-1=Running");
    let status = said(&mut cluster, "kubectl get pod small -o jsonpath='{.status.reason}: {.status.message}'");
    assert_eq!(status, "Preempting: Preempted in order to admit critical pod");
    let path = r#"{range .status.conditions[?(@.type=="DisruptionTarget")]}{.reason}: {.message}{end}"#;
    let condition = said(&mut cluster, &format!("kubectl get pod small -o jsonpath='{path}'"));
    assert_eq!(condition, "TerminationByKubelet: Pod was preempted by Kubelet to accommodate a critical pod.");
    let events = said(
        &mut cluster,
        "kubectl get events --sort-by=.metadata.creationTimestamp -o jsonpath='{range .items[*]}{.reason}/{.involvedObject.name} {end}'",
    );
    let place = |what: &str| events.split(' ').position(|event| event == what).expect(what);
    assert!(place("Preempting/small") < place("Killing/small"), "{events}");
    assert!(place("Killing/small") < place("Pulled/static-node-1"), "it waits for them: {events}");
    assert!(place("Killing/small") < place("Pulled/second-node-1"), "and so does who came later: {events}");
    assert!(!events.contains("ExceededGracePeriod"), "{events}");
}

/// If all that may go are not enough, no pod goes.
#[test]
fn nobody_goes_for_nothing() {
    let copies = "node node-1 cp static.yaml /etc/kubernetes/manifests/static.yaml";
    let full = FULL.replace(copies, "kubectl apply -f huge.yaml");
    let mut cluster = scenario::settled(&full, 60);
    let before = phases(&mut cluster);
    assert_eq!(before, "free=Running huge=Failed large=Running second-node-1=Running small=Running");
    let status = said(&mut cluster, "kubectl get pod huge -o jsonpath='{.status.reason}: {.status.message}'");
    let expected = "UnexpectedAdmissionError: Pod was rejected: Unexpected error while attempting to recover from admission \
                    failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim \
                    resources: [(res: cpu, q: 2000), ]";
    assert_eq!(status, expected);
}
