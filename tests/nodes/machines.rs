//! The controllers that work on nodes, against what a real control plane writes. The scenes are those of the
//! recordings: a node joins, a node falls silent, a NoExecute taint.

use std::sync::Arc;

use apiserver::host::Engine;
use cluster::{Cluster, Config, NodeConfig};
use engine::{Step, What};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, ServiceAccount};
use object::{Object, Pod, Resource};
use serde_json::{Value, json};
use wire::{Body, DeleteOptions, Error, Patch};

use crate::world;
use crate::world::{Observer, answered, resource};

const NODE_CONTROLLERS: &[&str] = &["node-controller ", "ttl-controller "];

type World = world::World<Writes>;

struct Writes {
    /// Milliseconds since the last look, and `agent verb resource name code`, of all writes but leases and tokens.
    lines: Vec<(u64, String)>,
    since: u64,
}

impl Observer for Writes {
    fn observe(&mut self, _: &Engine, step: &Step) {
        let What::Request { request, .. } = &step.event.what else { return };
        if !request.verb.writes() || request.is_background() && request.kind.info().plural != "events" {
            return;
        }
        let (code, name) = answered(step).expect("the API server is there");
        let agent = &request.user.agent;
        let at = step.event.due.since_start().as_millis() as u64 - self.since;
        let line = match &request.body {
            Body::Object(Object::Event(event)) => format!(
                "{agent} event {} {}: {}",
                event.involved_object.name.clone().unwrap_or_default(),
                event.reason.clone().unwrap_or_default(),
                event.message.clone().unwrap_or_default()
            ),
            body => {
                let patch = match body {
                    Body::Patch(Patch::Strategic(value)) => format!(" {value}"),
                    _ => String::new(),
                };
                format!("{agent} {} {} {name} {code}{patch}", request.verb.as_str(), resource(request))
            }
        };
        self.lines.push((at, line));
    }
}

impl World {
    fn new(nodes: usize) -> World {
        let nodes = (1..=nodes).map(NodeConfig::numbered).collect();
        let cluster = Cluster::start(Config { nodes, ..Config::default() });
        let since = cluster.engine.now().since_start().as_millis() as u64;
        World { cluster, seen: Writes { lines: Vec::new(), since } }
    }

    fn create<T: Resource>(&mut self, manifest: Value) {
        let object: T = serde_json::from_value(manifest).expect("the manifest decodes");
        self.call(|client| async move { client.create(object).await }).expect("the object is valid");
    }

    fn get<T: Resource>(&mut self, namespace: &str, name: &str) -> Result<Arc<T>, Error> {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.call(move |client| async move { client.get::<T>(&namespace, &name).await })
    }

    fn taint(&mut self, node: &str, taints: Value) {
        let (node, patch) = (node.to_owned(), Patch::Merge(json!({"spec": {"taints": taints}})));
        self.call(move |client| async move { client.patch::<Node>("", &node, patch).await }).expect("it is there");
    }

    /// A Pod `name` that runs on `node`, with these tolerations of its own.
    fn pod_on(&mut self, name: &str, node: &str, tolerations: Value) {
        self.create::<Pod>(json!({
            "metadata": {"namespace": "default", "name": name},
            "spec": {"containers": [{"name": "app", "image": "nginx:1.27"}], "nodeName": node,
                "tolerations": tolerations},
        }));
        self.run(2);
    }

    fn taints(&mut self, node: &str) -> String {
        let node = self.get::<Node>("", node).expect("the node is there");
        let taints = node.spec.clone().unwrap_or_default().taints.unwrap_or_default();
        let short = |key: &str| key.trim_start_matches("node.kubernetes.io/").to_owned();
        taints.iter().map(|t| format!("{}:{}", short(&t.key), t.effect)).collect::<Vec<_>>().join(" ")
    }

    /// What these agents wrote since the last look. From now on times count from here.
    fn take(&mut self, agents: &[&str]) -> Vec<(u64, String)> {
        self.seen.since = self.cluster.engine.now().since_start().as_millis() as u64;
        let writes = std::mem::take(&mut self.seen.lines);
        writes.into_iter().filter(|(_, line)| agents.iter().any(|agent| line.starts_with(agent))).collect()
    }
}

fn lines(writes: &[(u64, String)]) -> Vec<&str> {
    writes.iter().map(|(_, line)| line.as_str()).collect()
}

/// Recording 26: the range, the TTL and the first taint are three controllers' work, and the third meets a conflict.
#[test]
fn a_node_joins_and_leaves() {
    let mut world = World::new(3);
    world.run(6);
    world.take(&[]);
    world.cluster.add_node(&NodeConfig::numbered(6));
    world.run(3);
    let mut writes = world.take(NODE_CONTROLLERS);
    writes.retain(|(_, line)| !line.contains(" event "));
    let versionless = |line: &str| match line.find("\"resourceVersion\"") {
        Some(start) => format!("{}…{}", &line[..start], &line[line[start..].find('}').unwrap_or(0) + start..]),
        None => line.to_owned(),
    };
    let got: Vec<String> = lines(&writes).into_iter().map(versionless).collect();
    let expected = [
        "node-controller patch nodes node-6 200 {\"spec\":{\"podCIDR\":\"10.244.3.0/24\",\"podCIDRs\":[\"10.244.3.0/24\"]}}",
        "ttl-controller patch nodes node-6 200 {\"metadata\":{\"annotations\":{\"node.alpha.kubernetes.io/ttl\":\"0\"}}}",
        "node-controller patch nodes node-6 409 {\"metadata\":{…},\"spec\":{\"taints\":null}}",
        "ttl-controller patch nodes node-6 200 {\"metadata\":{\"annotations\":{\"node.alpha.kubernetes.io/ttl\":\"0\"}}}",
        "node-controller patch nodes node-6 200 {\"metadata\":{…},\"spec\":{\"taints\":null}}",
    ];
    assert_eq!(got, expected);
    assert!((100..=210).contains(&(writes[4].0 - writes[2].0)), "a conflict is tried again after 100 to 200 ms");
    assert_eq!(world.taints("node-6"), "");
    world.run(5);
    let greeting =
        "node-controller event node-6 RegisteredNode: Node node-6 event: Registered Node node-6 in Controller";
    assert_eq!(lines(&world.take(NODE_CONTROLLERS)), [greeting]);
    world.cluster.stop_node("node-6");
    world.call(|client| async move { client.delete::<Node>("", "node-6", DeleteOptions::default()).await }).unwrap();
    world.run(6);
    let farewell = "node-controller event node-6 RemovingNode: Node node-6 event: Removing Node node-6 from Controller";
    assert_eq!(lines(&world.take(NODE_CONTROLLERS)), [farewell]);
}

/// Recording 26: that the node has been given its addresses, after the first status, is reason to write the next, though
/// nothing in it has changed but the heartbeats.
#[test]
fn a_kubelet_writes_its_status_once_more_when_it_has_its_addresses() {
    let mut world = World::new(1);
    world.run(6);
    world.cluster.add_node(&NodeConfig::numbered(2));
    world.take(&[]);
    world.run(60);
    let writes = world.take(&["kubelet/node-2 patch nodes/status"]);
    let times: Vec<u64> = writes.iter().map(|(at, _)| *at / 1000).collect();
    assert_eq!(times, [0, 10], "{writes:#?}");
}

/// Nothing for the grace period; then all in one go; and the Pod goes 300 s after the NoExecute taint.
#[test]
fn a_silent_node_is_tainted_and_its_pods_go() {
    let mut world = World::new(3);
    world.pod_on("web", "node-1", json!([]));
    world.take(&[]);
    world.cluster.stop_node("node-1");
    world.run(400);
    let mut writes = world.take(&["node-controller "]);
    writes.retain(|(_, line)| !line.contains("RegisteredNode"));
    let short: Vec<String> =
        lines(&writes).iter().map(|line| line.split(" {").next().unwrap_or(line).to_owned()).collect();
    let expected = [
        "node-controller update nodes/status node-1 200",
        "node-controller update pods/status web 200",
        "node-controller event node-1 NodeNotReady: Node node-1 status is now: NodeNotReady",
        "node-controller patch nodes node-1 200",
        "node-controller event web NodeNotReady: Node is not ready",
        "node-controller patch nodes node-1 200",
        "node-controller event web TaintManagerEviction: Marking for deletion Pod default/web",
        "node-controller patch pods/status web 200",
        "node-controller delete pods web 200",
    ];
    assert_eq!(short, expected);
    assert!((40_000..=60_000).contains(&writes[0].0), "grace: {} ms", writes[0].0);
    assert!(writes[5].0 - writes[0].0 <= 150, "in one go: {writes:#?}");
    let stayed = writes[6].0 - writes[5].0;
    assert!((300_000..300_100).contains(&stayed), "tolerationSeconds: {stayed} ms");
    assert_eq!(world.taints("node-1"), "unreachable:NoSchedule unreachable:NoExecute");
    let pod = world.get::<Pod>("default", "web").expect("nobody confirms that its containers stopped");
    assert!(pod.metadata.deletion_timestamp.is_some());
}

/// When no node answers, it is not the nodes: no Pod is evicted.
#[test]
fn a_dark_cluster_evicts_nobody() {
    let mut world = World::new(2);
    world.run(6);
    for node in ["node-1", "node-2"] {
        world.cluster.stop_node(node);
    }
    world.run(120);
    for node in ["node-1", "node-2"] {
        assert_eq!(world.taints(node), "unreachable:NoSchedule");
    }
}

/// Recording 19: who does not tolerate goes at once, who tolerates for a time may stay if the taint goes first.
#[test]
fn a_no_execute_taint_evicts() {
    let mut world = World::new(2);
    let tolerates = |seconds: Value| json!([{"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]);
    world.pod_on("plain", "node-2", json!([]));
    world.pod_on("patient", "node-2", tolerates(json!(60)));
    world.pod_on("stoic", "node-2", tolerates(Value::Null));
    world.pod_on("elsewhere", "node-1", json!([]));
    world.run(10);
    world.take(&[]);
    world.taint("node-2", json!([{"key": "maintenance", "value": "yes", "effect": "NoExecute"}]));
    let writes = world.take(&["node-controller "]);
    let (event, patch) = ("Marking for deletion Pod default/plain", "\"reason\":\"DeletionByTaintManager\"");
    assert_eq!(writes.len(), 3, "{writes:#?}");
    assert!(writes[0].1.ends_with(event) && writes[1].1.contains(patch), "{writes:#?}");
    assert_eq!(writes[2].1, "node-controller delete pods plain 200");
    world.run(10);
    world.taint("node-2", Value::Null);
    world.run(120);
    let cancelled = "node-controller event patient TaintManagerEviction: Cancelling deletion of Pod default/patient";
    assert_eq!(lines(&world.take(&["node-controller "])), [cancelled]);
    for name in ["patient", "stoic", "elsewhere"] {
        let pod = world.get::<Pod>("default", name).expect("it stays");
        assert_eq!(pod.metadata.deletion_timestamp, None, "{name}");
    }
}

/// The kubelet tells of what others do to its Node, at its next look.
#[test]
fn a_kubelet_tells_that_its_node_is_cordoned() {
    let mut world = World::new(1);
    world.run(10);
    world.take(&[]);
    for (cordoned, told) in [(true, "NodeNotSchedulable"), (false, "NodeSchedulable")] {
        let patch = Patch::Merge(json!({"spec": {"unschedulable": cordoned}}));
        world.call(move |client| async move { client.patch::<Node>("", "node-1", patch).await }).expect("it is there");
        world.run(11);
        let expected = format!("kubelet/node-1 event node-1 {told}: Node node-1 status is now: {told}");
        assert_eq!(lines(&world.take(&["kubelet/node-1 "])), [expected.as_str()], "and nothing else is written");
    }
}

/// Every namespace has its account and its certificate authority, even after a client deletes them.
#[test]
fn a_namespace_is_furnished() {
    let mut world = World::new(0);
    world.create::<Namespace>(json!({"metadata": {"name": "dev"}}));
    for _ in 0..2 {
        let account = world.get::<ServiceAccount>("dev", "default");
        let authority = world.get::<ConfigMap>("dev", "kube-root-ca.crt").expect("it was published");
        assert!(account.is_ok());
        assert!(authority.data.as_ref().is_some_and(|data| data.contains_key("ca.crt")));
        let options = DeleteOptions::default;
        world.call(move |c| async move { c.delete::<ServiceAccount>("dev", "default", options()).await }).unwrap();
        world.call(move |c| async move { c.delete::<ConfigMap>("dev", "kube-root-ca.crt", options()).await }).unwrap();
    }
}
