//! Pods, nodes and what runs there.

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

use crate::making::{TIME, read};
use exercise::fit::Case;

/// Every Pod on every node, beside each of what runs there; then what seldom is.
pub(super) fn all() -> Vec<Case> {
    let mut all = Vec::new();
    for containers in containers() {
        for (init, overhead) in extras() {
            let pod = pod(&containers, &init, &overhead);
            for node in nodes() {
                for running in runnings() {
                    all.push(Case { pod: pod.clone(), node: node.clone(), running });
                }
            }
        }
    }
    let seldom = [several_containers(), nothing_said(), the_last_of_many(), quantities(), full_of_pods()];
    all.extend(seldom.into_iter().flatten());
    for case in &mut all {
        for (n, pod) in (1..).zip(&mut case.running) {
            (pod.metadata.name, pod.metadata.uid) = (Some(format!("web-{n}")), Some(format!("uid-{n}")));
        }
    }
    all.extend(beside());
    all
}

/// A container that asks for so much.
fn one(cpu: &str, memory: &str) -> Value {
    container(amounts(cpu, memory), json!({}))
}

fn small() -> Vec<Value> {
    vec![one("100m", "64Mi")]
}

/// A Pod of nothing but containers.
fn plain(containers: &[Value]) -> Pod {
    pod(containers, &[], &Value::Null)
}

/// Pods that each ask for 1 CPU and 1Gi, in another way.
fn asking_alike() -> Vec<Pod> {
    vec![
        plain(&[one("300m", "512Mi"), one("700m", "512Mi")]),
        plain(&[one("1", ""), one("", "1Gi")]),
        pod(&small(), &[one("1", "1Gi")], &Value::Null),
        pod(&small(), &[one("1", "64Mi"), one("200m", "1Gi")], &Value::Null),
        pod(&small(), &[one("200m", "1Gi"), one("1", "64Mi")], &Value::Null),
        pod(&[one("500m", "512Mi")], &[], &amounts("500m", "512Mi")),
        pod(&[one("250m", "256Mi")], &[one("500m", "512Mi")], &amounts("500m", "512Mi")),
        plain(&[container(amounts("1", "1Gi"), amounts("8", "8Gi"))]),
    ]
}

/// Pods that ask for as much, or for a little more; the first is the simplest.
fn asking() -> Vec<Pod> {
    vec![
        plain(&[one("1", "1Gi")]),
        plain(&[one("1001m", "1Gi")]),
        plain(&[one("1", "1025Mi")]),
        pod(&small(), &[one("1", "64Mi"), one("200m", "1Gi")], &Value::Null),
        pod(&small(), &[one("200m", "1Gi"), one("1001m", "64Mi")], &Value::Null),
        pod(&small(), &[one("", "1Mi"), one("1", "64Mi"), one("200m", "1025Mi")], &Value::Null),
        plain(&[one("500m", "512Mi"), one("250m", ""), one("250m", "512Mi")]),
        plain(&[one("500m", "512Mi"), one("250m", ""), one("251m", "513Mi")]),
        pod(&[one("500m", "")], &[], &amounts("500m", "1025Mi")),
    ]
}

/// Pods that run there and are more than one container; and a node that is large.
fn several_containers() -> Vec<Case> {
    let (running, mut all) = (asking_alike(), Vec::new());
    for pod in asking() {
        let case = |node, running| Case { pod: pod.clone(), node, running };
        for (n, first) in running.iter().enumerate() {
            let second = &running[(n + 3) % running.len()];
            all.push(case(node("2", "2Gi", "3"), vec![first.clone()]));
            all.push(case(node("3", "3Gi", "3"), vec![first.clone(), second.clone()]));
            let four = [vec![plain(&[one("1", "1Gi")]); 3], vec![first.clone()]].concat();
            all.push(case(node("5", "5Gi", "5"), four));
        }
        all.push(case(node("2", "2147483647", "3"), vec![running[0].clone()]));
        all.extend(on_large_nodes(&pod));
    }
    all
}

/// What a large machine has, in other units.
fn on_large_nodes(ask: &Pod) -> Vec<Case> {
    let (large, mut all) = (plain(&[one("60", "100Gi"), one("39500m", "150G")]), Vec::new());
    for (cpu, memory) in [("101", "300Gi"), ("100500m", "258448357376"), ("100499m", "257Gi"), ("128", "240Gi")] {
        all.push(Case { pod: ask.clone(), node: node(cpu, memory, "2"), running: vec![large.clone()] });
        all.push(Case { pod: large.clone(), node: node(cpu, memory, "2"), running: vec![ask.clone()] });
    }
    all
}

/// A container that says nothing of what it asks for.
fn silent() -> Value {
    json!({"name": "c", "image": "nginx"})
}

/// Who says nothing: containers that ask for nothing, and a node that has just come.
fn nothing_said() -> Vec<Case> {
    let quiet = plain(&[silent()]);
    let mixed = pod(&[silent(), one("1", "1Gi")], &[silent()], &Value::Null);
    let new = |status: Value| -> Node { read(json!({"metadata": {"name": "node-1"}, "status": status})) };
    let some =
        |amounts: Value| json!({"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "allocatable": amounts});
    let mut all = Vec::new();
    for pod in [&quiet, &mixed, &asking()[0]] {
        for running in [vec![], vec![quiet.clone()], vec![mixed.clone(), quiet.clone()]] {
            for node in [
                node("2", "2Gi", "3"),
                node("1", "1Gi", "2"),
                new(Value::Null),
                new(some(Value::Null)),
                new(some(json!({"cpu": "4", "memory": "8Gi"}))),
                new(some(json!({"memory": "8Gi", "pods": "110"}))),
                new(some(json!({"cpu": "4", "pods": "110"}))),
            ] {
                all.push(Case { pod: pod.clone(), node, running: running.clone() });
            }
        }
    }
    all
}

/// Many of each; the last one decides.
fn the_last_of_many() -> Vec<Case> {
    let big = [vec![silent(); 6], vec![one("1", "1Gi")]].concat();
    let dozen = vec![plain(&[one("100m", "100Mi")]); 12];
    let hundred = vec![plain(&[one("10m", "10Mi")]); 100];
    let quiet = plain(&small());
    let mut all: Vec<Case> = ["1100m", "1099m", "1050m"]
        .map(|cpu| Case { pod: quiet.clone(), node: node(cpu, "3Gi", "110"), running: hundred.clone() })
        .into();
    for pod in [plain(&big), pod(&small(), &big, &Value::Null)] {
        for (cpu, memory) in [("2199m", "3Gi"), ("2200m", "2224Mi"), ("3", "2223Mi")] {
            all.push(Case { pod: pod.clone(), node: node(cpu, memory, "13"), running: dozen.clone() });
        }
    }
    all
}

/// As people write quantities: the same number in other units, and one more than there is.
fn quantities() -> Vec<Case> {
    let mut all = Vec::new();
    for (cpu, memory, more) in [
        ("0.5", "1Ti", "1099511627777"),
        (".5", "1500k", "1501k"),
        ("5e-1", "2e9", "2000000001"),
        ("500m", "64Ki", "65537"),
        ("0.5", "1.5Gi", "1537Mi"),
        ("500000u", "1P", "1.1P"),
        ("0.5", "1M", "1Mi"),
        ("0.5", "4E", "4000000000000000001"),
    ] {
        let asked = [(cpu, memory), ("501m", memory), ("0.4999", more), ("500m", more)];
        all.extend(asked.map(|(cpu_asked, asked)| {
            let (pod, node) = (plain(&[one(cpu_asked, asked)]), node(cpu, memory, "2"));
            Case { pod, node, running: vec![] }
        }));
    }
    all
}

/// Full to the last Pod, of many.
fn full_of_pods() -> Vec<Case> {
    let case = |count| {
        let running = vec![plain(&[container(json!({}), json!({}))]); count];
        Case { pod: asking().swap_remove(0), node: node("2", "2Gi", "256"), running }
    };
    [255, 256].map(case).into()
}

/// What the Pods that run there are called, whether they are going, and whether the node takes new ones does not matter.
fn beside() -> Vec<Case> {
    let one = |cpu: &str| pod(&[container(amounts(cpu, ""), json!({}))], &[], &Value::Null);
    let runs = |name: &str, going: bool| {
        let mut pod = one("1");
        (pod.metadata.name, pod.metadata.namespace) = (Some(name.to_owned()), Some("other".to_owned()));
        pod.metadata.deletion_timestamp = going.then(|| read(json!(TIME)));
        pod
    };
    let mut all = Vec::new();
    for (cpu, cordoned) in [("2", false), ("3", false), ("3", true)] {
        for (first, second) in [("db", "cache"), ("web", "db"), ("db", "web")] {
            for (going, last_going) in [(false, false), (true, false), (false, true)] {
                let mut node = node(cpu, "2Gi", "3");
                node.spec = cordoned.then(|| read(json!({"unschedulable": true})));
                let running = vec![runs(first, going), runs(second, last_going)];
                let mut pod = one("1");
                pod.metadata.namespace = Some("default".to_owned());
                all.push(Case { pod: pod.clone(), node: node.clone(), running: running.clone() });
                // Who goes first, and where it would rather be; and what keeps Pods off a node.
                let before = running.into_iter().map(|mut pod| {
                    pod.spec.iter_mut().for_each(|spec| spec.priority = Some(if going { 5 } else { 2000 }));
                    pod
                });
                let running = before.collect();
                if let Some(spec) = &mut pod.spec {
                    (spec.priority, spec.node_selector) =
                        (Some(1000), Some([("disk".to_owned(), "ssd".to_owned())].into()));
                }
                if !cordoned {
                    node.spec = Some(read(
                        json!({"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}),
                    ));
                }
                let conditions =
                    json!([{"type": "Ready", "status": "False"}, {"type": "MemoryPressure", "status": "True"}]);
                node.status.iter_mut().for_each(|status| status.conditions = Some(read(conditions.clone())));
                all.push(Case { pod, node, running });
            }
        }
    }
    all
}

/// Resources as `requests` has them.
fn amounts(cpu: &str, memory: &str) -> Value {
    let given = [("cpu", cpu), ("memory", memory)].into_iter().filter(|(_, amount)| !amount.is_empty());
    given.map(|(name, amount)| (name.to_owned(), json!(amount))).collect::<serde_json::Map<_, _>>().into()
}

fn container(requests: Value, limits: Value) -> Value {
    json!({"name": "c", "image": "nginx", "resources": {"requests": requests, "limits": limits}})
}

fn containers() -> Vec<Vec<Value>> {
    vec![
        vec![container(json!({}), json!({}))],
        vec![container(amounts("500m", ""), json!({}))],
        vec![container(amounts("1", "64Mi"), amounts("4", "4Gi"))],
        vec![container(amounts("500m", "512Mi"), json!({})), container(amounts("0.5", "512Mi"), json!({}))],
        vec![container(amounts("1500m", "2Gi"), json!({}))],
        vec![container(amounts("", "1Gi"), json!({}))],
        // The least that one can ask for.
        vec![container(amounts("1m", "1"), json!({}))],
        vec![container(amounts("250m", "128Mi"), json!({})), container(json!({}), amounts("2", "2Gi"))],
    ]
}

fn extras() -> Vec<(Vec<Value>, Value)> {
    vec![
        (vec![], Value::Null),
        (vec![container(amounts("1", "1Gi"), json!({}))], Value::Null),
        (vec![container(amounts("800m", ""), json!({})), container(amounts("800m", "1Gi"), json!({}))], Value::Null),
        (vec![], amounts("100m", "32Mi")),
        (vec![container(amounts("1", "512Mi"), json!({}))], amounts("500m", "512Mi")),
    ]
}

fn pod(containers: &[Value], init: &[Value], overhead: &Value) -> Pod {
    let spec = json!({"containers": containers, "initContainers": init, "overhead": overhead});
    read(json!({"metadata": {"name": "web"}, "spec": spec}))
}

fn node(cpu: &str, memory: &str, pods: &str) -> Node {
    let part = |amounts: Value| {
        let mut amounts = amounts;
        amounts["pods"] = json!(pods);
        amounts
    };
    let status = json!({"capacity": part(amounts("4", "8Gi")), "allocatable": part(amounts(cpu, memory))});
    read(json!({"metadata": {"name": "node-1"}, "status": status}))
}

fn nodes() -> Vec<Node> {
    vec![node("2", "2Gi", "110"), node("1500m", "1536Mi", "2"), node("1", "1Gi", "1"), node("0", "0", "110")]
}

fn runnings() -> Vec<Vec<Pod>> {
    let running = |cpu: &str, memory: &str| pod(&[container(amounts(cpu, memory), json!({}))], &[], &Value::Null);
    vec![
        vec![],
        vec![running("500m", "512Mi")],
        vec![running("500m", "512Mi"), running("500m", "512Mi")],
        vec![running("1", "1Gi"), running("1", "1Gi")],
    ]
}
