//! Nodes in a whole cluster: what kubelets send, next to the recordings of a real one.

use apiserver::host::Engine;
use cluster::{Cluster, Config};
use engine::{Step, What};
use kubelet::runtime::Runtime;
use kubestep_tests::scenario;
use object::reader::Reader;
use object::{Key, Kind, Object, Pod, Resource};
use serde_json::{Value, json};
use wire::{Body, DeleteOptions, Patch, Request, StatusPatch, Verb};

use crate::world::Observer;

/// A cluster of three nodes.
type World = crate::world::World<Sent>;

/// What its kubelets send.
#[derive(Default)]
struct Sent {
    calls: Vec<String>,
}

impl Observer for Sent {
    fn observe(&mut self, _: &Engine, step: &Step) {
        if let What::Request { request, .. } = &step.event.what
            && request.user.agent.starts_with("kubelet/")
        {
            self.calls.extend(describe(request));
        }
    }
}

impl World {
    fn new() -> World {
        let mut world = World { cluster: Cluster::start(Config::default()), seen: Sent::default() };
        world.run(5);
        world.seen.calls.clear();
        world
    }

    /// What was sent about one pod, in order.
    fn about(&self, pod: &str) -> Vec<&str> {
        let of_pod = |line: &String| line.split_once(' ').is_some_and(|(name, _)| name == pod);
        self.seen.calls.iter().filter(|line| of_pod(line)).filter_map(|line| Some(line.split_once(' ')?.1)).collect()
    }

    /// All pods as the API server has them.
    fn pods(&self) -> Vec<std::sync::Arc<Pod>> {
        let objects = Reader::list(&self.cluster.engine.server.api.store, Kind::Pod, "");
        objects.iter().filter_map(|object| Pod::from_object(object).cloned()).collect()
    }
}

/// The pod that a request is about, and the request in a few words.
fn describe(request: &Request) -> Option<String> {
    let verb = request.verb.as_str();
    match &request.body {
        Body::Object(Object::Event(event)) => {
            let involved = &event.involved_object;
            (involved.kind.as_deref() == Some("Pod")).then(|| {
                let (name, reason) = (involved.name.as_deref(), event.reason.as_deref());
                format!("{} Event {}", name.unwrap_or_default(), reason.unwrap_or_default())
            })
        }
        Body::Patch(Patch::Status(patch)) => match &**patch {
            StatusPatch::Pod { status, .. } => {
                let truths: String =
                    status.conditions.iter().flatten().filter_map(|c| c.status.chars().next()).collect();
                let phase = status.phase.as_deref().unwrap_or_default();
                Some(format!("{} patch status {phase} {truths}", request.name))
            }
            StatusPatch::Node { .. } => None,
        },
        _ => (request.kind == Kind::Pod && !request.name.is_empty()).then(|| format!("{} {verb}", request.name)),
    }
}

fn deployment(image: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "nginx", "image": image}]},
            },
        },
    })
}

/// Recording 02, as far as the nodes are concerned; here the image has to be pulled.
#[test]
fn the_pods_of_a_deployment_start() {
    let mut world = World::new();
    world.send_manifest(deployment("nginx:1.27", 2));
    world.run(10);
    let pods = world.pods();
    assert_eq!(pods.len(), 2);
    for pod in pods {
        let status = pod.status.clone().unwrap();
        assert_eq!(status.phase.as_deref(), Some("Running"), "{:#?}", world.seen.calls);
        assert!(status.pod_ip.is_some() && status.pod_ip != status.host_ip);
        let calls = world.about(pod.metadata.name.as_deref().unwrap());
        let patches: Vec<&&str> = calls.iter().filter(|call| call.starts_with("patch")).collect();
        let expected = ["patch status Pending FTFFT", "patch status Pending TTFFT", "patch status Running TTTTT"];
        assert_eq!(patches, expected.iter().collect::<Vec<_>>());
        let events: Vec<&&str> = calls.iter().filter(|call| call.starts_with("Event")).collect();
        let expected = ["Event Pulling", "Event Pulled", "Event Created", "Event Started"];
        assert_eq!(events, expected.iter().collect::<Vec<_>>());
        assert_eq!(calls.iter().filter(|call| **call == "get").count(), 3, "one before each patch");
    }
}

/// Recording 07: a deleted pod is replaced at once, and its object goes when nothing of it runs.
#[test]
fn a_deleted_pod_ends_and_is_replaced() {
    let mut world = World::new();
    world.send_manifest(deployment("nginx:1.27", 2));
    world.run(10);
    world.seen.calls.clear();
    let name = world.pods()[0].metadata.name.clone().unwrap();
    world.send(Verb::Delete, Kind::Pod, &name, Body::Delete(Default::default()));
    world.run(10);
    let calls = world.about(&name);
    let expected =
        ["get", "Event Killing", "patch status Running TTTTT", "get", "patch status Succeeded FTFFT", "get", "delete"];
    assert_eq!(calls, expected, "{:#?}", world.seen.calls);
    let pods = world.pods();
    assert_eq!(pods.len(), 2);
    assert!(pods.iter().all(|pod| pod.metadata.name.as_ref() != Some(&name)));
    assert!(pods.iter().all(|pod| pod.status.as_ref().and_then(|s| s.phase.as_deref()) == Some("Running")));
}

/// A container whose process is killed is noticed by the next relist and started again at once; the second time it
/// has to wait, which its status shows as terminated.
#[test]
fn a_killed_container_is_started_again_in_the_same_pod() {
    let mut world = World::new();
    world.send_manifest(deployment("nginx:1.27", 1));
    world.run(10);
    let before = world.pods().remove(0);
    for restarts in 1..=2 {
        world.seen.calls.clear();
        let pod = Key::of_meta(&before.metadata);
        assert!(world.cluster.kill_container(&pod, "", false));
        world.run(if restarts == 1 { 5 } else { 30 });
        let calls = world.about(before.metadata.name.as_deref().unwrap());
        let patches: Vec<&&str> = calls.iter().filter(|call| call.starts_with("patch")).collect();
        let expected = ["patch status Running TTFFT", "patch status Running TTFFT", "patch status Running TTTTT"];
        assert_eq!(patches, expected[2 - restarts..].iter().collect::<Vec<_>>(), "{:#?}", world.seen.calls);
    }
    let after = world.pods().remove(0);
    assert_eq!(after.metadata.uid, before.metadata.uid);
    let (old, new) = (before.status.clone().unwrap(), after.status.clone().unwrap());
    assert_eq!(old.pod_ip, new.pod_ip, "the sandbox, and with it the address, stays");
    let container = &new.container_statuses.as_ref().unwrap()[0];
    assert_eq!(container.restart_count, 2);
    let end = container.last_state.as_ref().and_then(|last| last.terminated.as_ref()).unwrap();
    assert_eq!((end.exit_code, end.reason.as_deref()), (137, Some("Error")));
}

/// A forced delete removes the object first; the kubelet stops the containers afterwards, and has no object to report to.
#[test]
fn a_forced_delete_leaves_nothing_behind() {
    let mut world = World::new();
    world.send_manifest(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
    }));
    world.run(10);
    world.seen.calls.clear();
    let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    world.send(Verb::Delete, Kind::Pod, "web", Body::Delete(options));
    world.run(30);
    assert!(world.pods().is_empty());
    let calls = world.about("web");
    assert!(calls.contains(&"Event Killing"), "{calls:?}");
    assert!(calls.iter().filter(|call| **call == "get").count() < 5, "it does not ask for ever: {calls:?}");
    let engine = &world.cluster.engine;
    for node in ["node-1", "node-2", "node-3"] {
        let id = engine.find(&format!("containerd/{node}")).unwrap();
        let runtime = engine.actor(id).and_then(|actor| actor.as_any().downcast_ref::<Runtime>()).unwrap();
        assert!(runtime.with(|state| state.sandboxes.is_empty() && state.containers.is_empty()), "{node}");
    }
}

/// A node that was switched off and on again runs its pods anew, in the same objects.
#[test]
fn a_node_comes_back_and_its_pods_with_it() {
    let mut world = World::new();
    world.send_manifest(deployment("nginx:1.27", 3));
    world.run(10);
    let pods = world.pods();
    let node = pods[0].spec.as_ref().and_then(|s| s.node_name.clone()).unwrap();
    world.cluster.stop_node(&node);
    world.run(10);
    let config = world.cluster.config().nodes.iter().find(|n| n.name == node).cloned().unwrap();
    world.cluster.add_node(&config);
    world.run(15);
    let restarts = |pod: &Pod| pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0].restart_count;
    for pod in world.pods() {
        let there = pod.spec.as_ref().and_then(|s| s.node_name.as_ref()) == Some(&node);
        assert_eq!(restarts(&pod), i32::from(there), "{:#?}", world.seen.calls);
        assert_eq!(pod.status.as_ref().and_then(|s| s.phase.as_deref()), Some("Running"));
    }
}

/// A RuntimeClass says what it costs and where it can be had; its handler is for the node's runtime to know.
#[test]
fn a_runtime_class_is_filled_in_and_looked_up() {
    let text = "\
title: t
nodes: 2
files:
  all.yaml: |
    apiVersion: node.k8s.io/v1
    kind: RuntimeClass
    metadata: {name: vm}
    handler: kata
    overhead: {podFixed: {cpu: 250m, memory: 128Mi}}
    scheduling: {nodeSelector: {kubernetes.io/hostname: node-2}}
    ---
    apiVersion: node.k8s.io/v1
    kind: RuntimeClass
    metadata: {name: unknown}
    handler: firecracker
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: works}
    spec: {runtimeClassName: vm, containers: [{name: c, image: 'nginx:1.27', resources: {requests: {cpu: '1'}}}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: does-not}
    spec: {runtimeClassName: unknown, containers: [{name: c, image: 'nginx:1.27'}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: refused}
    spec: {runtimeClassName: nobody, containers: [{name: c, image: 'nginx:1.27'}]}
  late.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: late}
    spec: {runtimeClassName: vm, containers: [{name: c, image: 'nginx:1.27'}]}
timeline:
  - kubectl apply -f all.yaml
  - kubectl wait --for=condition=Ready pod/works --timeout=60s
  - kubectl get runtimeclasses
  - kubectl get pods -o wide
  - kubectl get pod works -o jsonpath='{.spec.overhead}'
  - kubectl describe node node-2
  - kubectl get events --field-selector reason=FailedCreatePodSandBox
  - kubectl patch runtimeclass vm -p '{\"handler\":\"other\"}'
  - stop kubelet/node-2
  - kubectl apply -f late.yaml
  - sleep 1
  - kubectl delete runtimeclass vm
  - start kubelet/node-2
  - sleep 3
  - kubectl get events --field-selector involvedObject.name=late
";
    let parts = [
        "runtimeclass.node.k8s.io/vm created",
        "pods \"refused\" is forbidden: pod rejected: RuntimeClass \"nobody\" not found",
        "NAME HANDLER AGE unknown firecracker",
        "vm kata",
        "{\"cpu\":\"250m\",\"memory\":\"128Mi\"}",
        "default works 1250m (31%)",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = unable to get OCI runtime for sandbox \"",
        "\": no runtime for \"firecracker\" is configured",
        "handler: Invalid value: \"other\": field is immutable",
        "Failed to create pod sandbox: runtimeclass.node.k8s.io \"vm\" not found",
    ];
    scenario::has_said(&scenario::settled(text, 60), &parts);
}
