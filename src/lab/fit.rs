//! Exercise 10: does a Pod fit on a node? Mirrors `plugins/noderesources/fit.go`, without resources of one's own.
//!
//! Pods with plain and init containers, requests and limits, are asked against nodes that are empty, partly taken and
//! full to the last millicore.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};

use super::function::Function;
use super::words::{Part, part};
use super::{Exercise, Judging, scheduling, words};
use crate::cluster::kubectl::print::describe::taint_text;
use crate::exercise::fit::{Case, bytes, milli_cpu};
use crate::object::read;

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "10_fit",
    title: "Does the Pod fit on the node?",
    outcome: "say what a Pod asks for, what a node has left, and why the scheduler filters a node out",
    needs: &[],
    hints: [
        "What a Pod asks for is its requests; what it may use at most does not matter. What does a node have to give: \
         capacity or allocatable?",
        "Containers run side by side, so their requests add up. Init containers run before them, one after another, so \
         (without sidecars) only the largest matters, and only if it is larger than that sum.",
        "For each of cpu and memory, in this order: ask > 0 and ask > allocatable - what the running Pods ask for means \
         \"Insufficient cpu\" or \"Insufficient memory\". Before both: one Pod more than allocatable pods means \"Too many \
         pods\". Give all reasons. Overhead is part of what a Pod asks for.",
    ],
    minutes: 30,
    judging: Judging::of_part::<Fit>(scheduling::with_fit),
};

pub(super) struct Fit;

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    Limits,
    Capacity,
    EmptyNode,
    NoCount,
    CountsWithoutIt,
    MustBeLess,
    ZeroMatters,
    NoInit,
    AddsInit,
    NoOverhead,
    FirstReason,
    RunningPlain,
    RunningFirst,
    InitByCpu,
    UnsaidIsEnough,
    CapacityInstead,
    GoingIsGone,
    SameName,
    Cordoned,
    Tainted,
    Preempts,
    FewRun,
}

impl Function for Fit {
    type Question = Case;
    type Answer = Vec<String>;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = &[
        ("limits are counted instead of requests", Slip::Limits),
        ("the node's capacity is used; part of it is not for Pods, allocatable is", Slip::Capacity),
        ("the Pods that run on the node already are not counted", Slip::EmptyNode),
        ("the number of Pods is not looked at", Slip::NoCount),
        ("a node with as many Pods as it may have gets one more", Slip::CountsWithoutIt),
        ("a Pod that would fill the node exactly is refused", Slip::MustBeLess),
        ("a Pod that asks for nothing is refused by a node that has nothing left", Slip::ZeroMatters),
        ("init containers are not looked at", Slip::NoInit),
        ("init containers are added to the others, although they do not run at the same time", Slip::AddsInit),
        ("the Pod's overhead is not counted", Slip::NoOverhead),
        ("only the first reason is given", Slip::FirstReason),
        (
            "of the Pods that run there only plain containers are counted, not init containers or overhead",
            Slip::RunningPlain,
        ),
        ("of the Pods that run there only the first container is counted", Slip::RunningFirst),
        (
            "the largest init container is the one that asks for most cpu; each resource has its own largest",
            Slip::InitByCpu,
        ),
        ("what the node does not say that it has is taken for enough; it has none of it", Slip::UnsaidIsEnough),
        ("where allocatable is not said, capacity is taken", Slip::CapacityInstead),
        ("Pods that are being deleted are not counted; they run until they are gone", Slip::GoingIsGone),
        ("a Pod of the same name that runs there is not counted; it is of another namespace", Slip::SameName),
        ("whether the node takes new Pods at all is looked at; another plugin does that", Slip::Cordoned),
        ("whether the node takes new Pods at all is looked at; another plugin does that", Slip::Tainted),
        ("Pods of a lower priority are not counted; whether they have to go is decided later", Slip::Preempts),
        ("only the first ten of the Pods that run there are counted", Slip::FewRun),
    ];

    fn questions() -> Vec<Case> {
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
        all.extend(others());
        let besides = all.len();
        all.extend(beside());
        for case in &mut all[..besides] {
            for (n, pod) in (1..).zip(&mut case.running) {
                (pod.metadata.name, pod.metadata.uid) = (Some(format!("web-{n}")), Some(format!("uid-{n}")));
            }
        }
        all
    }

    fn rule(case: &Case, slip: Option<Slip>) -> Vec<String> {
        let mut reasons = why_not(case, slip);
        if slip == Some(Slip::FirstReason) {
            reasons.truncate(1);
        }
        reasons
    }

    fn property(case: &Case, given: Option<&Vec<String>>) -> &'static str {
        let right = why_not(case, None);
        match given {
            None => "every node gets a verdict",
            Some(given) if given.is_empty() => "a Pod that does not fit is refused",
            Some(_) if right.is_empty() => "a Pod that fits is not refused",
            Some(_) => "all reasons are given, and no others",
        }
    }

    fn show(case: &Case) -> String {
        let resources = |container: &Container| {
            let asked = json!(container.resources);
            if words::flow(&asked) == "none" { json!("asks for nothing") } else { asked }
        };
        let all = |containers: &[Container]| json!(containers.iter().map(resources).collect::<Vec<_>>());
        let spec = case.pod.spec.clone().unwrap_or_default();
        let pod = [
            ("initContainers", spec.init_containers.as_deref().map_or(Value::Null, all)),
            ("containers", all(&spec.containers)),
            ("overhead", json!(spec.overhead)),
            ("priority", json!(spec.priority)),
            ("nodeSelector", json!(spec.node_selector)),
        ];
        let status = case.node.status.clone().unwrap_or_default();
        let node = [("capacity", json!(status.capacity)), ("allocatable", json!(status.allocatable))];
        let cordoned = case.node.spec.as_ref().and_then(|spec| spec.unschedulable);
        let taints = case.node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        let taints = taints.map_or(Value::Null, |all| all.iter().map(|taint| taint_text(&json!(taint))).collect());
        let conditions = status
            .conditions
            .as_ref()
            .map_or(Value::Null, |all| all.iter().map(|one| format!("{} is {}", one.type_, one.status)).collect());
        let node = node.into_iter().chain([("unschedulable", json!(cordoned)), ("taints", taints)]);
        let node = node.chain([("conditions", conditions)]);
        let running = |pod: &Pod| {
            let spec = pod.spec.clone().unwrap_or_default();
            match (spec.containers.as_slice(), &spec.init_containers, &spec.overhead) {
                ([one], None, None) if pod.metadata.namespace.is_some() => {
                    let meta = &pod.metadata;
                    let name = [&meta.namespace, &meta.name].map(|part| part.as_deref().unwrap_or_default()).join("/");
                    json!({"name": name, "priority": spec.priority, "deletionTimestamp": meta.deletion_timestamp, "containers": [resources(one)]})
                }
                ([one], None, None) => resources(one),
                (several, init, overhead) => {
                    json!({"initContainers": init.as_deref().map_or(Value::Null, all), "containers": all(several), "overhead": overhead})
                }
            }
        };
        let running: Vec<Value> = case.running.iter().map(running).collect();
        let running = match running.as_slice() {
            [one, .., _] if running.len() > 9 && running.iter().all(|other| other == one) => {
                format!("Pods that run there: {} times {}", running.len(), words::flow(one))
            }
            running => words::field("Pods that run there", &json!(running)),
        };
        format!("{}\n{}\n{running}", words::object("Pod", pod), words::object("node", node))
    }

    fn say(_: &Case, reasons: &Vec<String>) -> Vec<Part> {
        vec![part("gave", if reasons.is_empty() { json!("no reason, it fits") } else { json!(reasons) })]
    }
}

/// Pods that run there and are more than one container; and a node that is large.
fn others() -> Vec<Case> {
    let one = |cpu: &str, memory: &str| container(amounts(cpu, memory), json!({}));
    let small = || vec![one("100m", "64Mi")];
    let running = [
        // Each asks for 1 CPU and 1Gi, in another way.
        pod(&[one("300m", "512Mi"), one("700m", "512Mi")], &[], &Value::Null),
        pod(&[one("1", ""), one("", "1Gi")], &[], &Value::Null),
        pod(&small(), &[one("1", "1Gi")], &Value::Null),
        pod(&small(), &[one("1", "64Mi"), one("200m", "1Gi")], &Value::Null),
        pod(&small(), &[one("200m", "1Gi"), one("1", "64Mi")], &Value::Null),
        pod(&[one("500m", "512Mi")], &[], &amounts("500m", "512Mi")),
        pod(&[one("250m", "256Mi")], &[one("500m", "512Mi")], &amounts("500m", "512Mi")),
        pod(&[container(amounts("1", "1Gi"), amounts("8", "8Gi"))], &[], &Value::Null),
    ];
    let asking = [
        pod(&[one("1", "1Gi")], &[], &Value::Null),
        pod(&[one("1001m", "1Gi")], &[], &Value::Null),
        pod(&[one("1", "1025Mi")], &[], &Value::Null),
        pod(&small(), &[one("1", "64Mi"), one("200m", "1Gi")], &Value::Null),
        pod(&small(), &[one("200m", "1Gi"), one("1001m", "64Mi")], &Value::Null),
        pod(&small(), &[one("", "1Mi"), one("1", "64Mi"), one("200m", "1025Mi")], &Value::Null),
        pod(&[one("500m", "512Mi"), one("250m", ""), one("250m", "512Mi")], &[], &Value::Null),
        pod(&[one("500m", "512Mi"), one("250m", ""), one("251m", "513Mi")], &[], &Value::Null),
        pod(&[one("500m", "")], &[], &amounts("500m", "1025Mi")),
    ];
    let mut all = Vec::new();
    for ask in &asking {
        for (n, first) in running.iter().enumerate() {
            let second = &running[(n + 3) % running.len()];
            all.push(Case { pod: ask.clone(), node: node("2", "2Gi", "3"), running: vec![first.clone()] });
            all.push(Case {
                pod: ask.clone(),
                node: node("3", "3Gi", "3"),
                running: vec![first.clone(), second.clone()],
            });
            let plain = pod(&[one("1", "1Gi")], &[], &Value::Null);
            let four = vec![plain.clone(), plain.clone(), plain, first.clone()];
            all.push(Case { pod: ask.clone(), node: node("5", "5Gi", "5"), running: four });
        }
        all.push(Case { pod: ask.clone(), node: node("2", "2147483647", "3"), running: vec![running[0].clone()] });
        // What a large machine has, in other units.
        let large = pod(&[one("60", "100Gi"), one("39500m", "150G")], &[], &Value::Null);
        for (cpu, memory) in [("101", "300Gi"), ("100500m", "258448357376"), ("100499m", "257Gi"), ("128", "240Gi")] {
            all.push(Case { pod: ask.clone(), node: node(cpu, memory, "2"), running: vec![large.clone()] });
            all.push(Case { pod: large.clone(), node: node(cpu, memory, "2"), running: vec![ask.clone()] });
        }
    }
    // Who says nothing: containers that ask for nothing, and a node that has just come.
    let silent = json!({"name": "c", "image": "nginx"});
    let quiet = pod(std::slice::from_ref(&silent), &[], &Value::Null);
    let mixed = pod(&[silent.clone(), one("1", "1Gi")], std::slice::from_ref(&silent), &Value::Null);
    let new = |status: Value| -> Node { read(json!({"metadata": {"name": "node-1"}, "status": status})) };
    let some =
        |amounts: Value| json!({"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "allocatable": amounts});
    for pod in [&quiet, &mixed, &asking[0]] {
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
    // Many of each, of which the last decides.
    let last = |one: Value| [vec![silent.clone(); 6], vec![one]].concat();
    let dozen = vec![pod(&[one("100m", "100Mi")], &[], &Value::Null); 12];
    let big = last(one("1", "1Gi"));
    for ask in [pod(&big, &[], &Value::Null), pod(&small(), &big, &Value::Null)] {
        for (cpu, memory) in [("2199m", "3Gi"), ("2200m", "2224Mi"), ("3", "2223Mi")] {
            all.push(Case { pod: ask.clone(), node: node(cpu, memory, "13"), running: dozen.clone() });
        }
    }
    // As people write quantities: the same number in other units, and one more than there is.
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
        for (cpu_asked, asked) in [(cpu, memory), ("501m", memory), ("0.4999", more), ("500m", more)] {
            all.push(Case {
                pod: pod(&[one(cpu_asked, asked)], &[], &Value::Null),
                node: node(cpu, memory, "2"),
                running: vec![],
            });
        }
    }
    // Full to the last Pod, of many.
    for count in [255, 256] {
        let running = vec![pod(&[container(json!({}), json!({}))], &[], &Value::Null); count];
        all.push(Case { pod: asking[0].clone(), node: node("2", "2Gi", "256"), running });
    }
    all
}

/// What the Pods that run there are called, whether they are going, and whether the node takes new ones does not matter.
fn beside() -> Vec<Case> {
    let one = |cpu: &str| pod(&[container(amounts(cpu, ""), json!({}))], &[], &Value::Null);
    let runs = |name: &str, going: bool| {
        let mut pod = one("1");
        (pod.metadata.name, pod.metadata.namespace) = (Some(name.to_owned()), Some("other".to_owned()));
        pod.metadata.deletion_timestamp = going.then(|| read(json!("2026-01-01T00:00:00Z")));
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

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    read::from_value(&value).expect("what is asked is well formed")
}

/// Thousandths of a CPU and bytes of memory.
#[derive(Clone, Copy, Default)]
struct Ask {
    cpu: i64,
    memory: i64,
}

impl Ask {
    fn of(amounts: Option<&BTreeMap<String, Quantity>>) -> Ask {
        let amount = |name: &str| amounts.and_then(|amounts| amounts.get(name));
        Ask { cpu: amount("cpu").map_or(0, milli_cpu), memory: amount("memory").map_or(0, bytes) }
    }

    fn plus(self, other: Ask) -> Ask {
        Ask { cpu: self.cpu + other.cpu, memory: self.memory + other.memory }
    }

    fn at_least(self, other: Ask) -> Ask {
        Ask { cpu: self.cpu.max(other.cpu), memory: self.memory.max(other.memory) }
    }
}

fn why_not(case: &Case, slip: Option<Slip>) -> Vec<String> {
    let is = |one| slip == Some(one);
    let status = case.node.status.as_ref();
    let has = match slip {
        Some(Slip::Capacity) => status.and_then(|status| status.capacity.as_ref()),
        _ => status.and_then(|status| status.allocatable.as_ref()),
    };
    let capacity = || status.and_then(|status| status.capacity.as_ref());
    let has = if is(Slip::CapacityInstead) { has.or_else(capacity) } else { has };
    let unsaid = if is(Slip::UnsaidIsEnough) { i64::from(i32::MAX) << 20 } else { 0 };
    let pods = has.and_then(|has| has.get("pods")).map_or(0, bytes);
    let counts = |pod: &&Pod| match slip {
        Some(Slip::EmptyNode) => false,
        Some(Slip::GoingIsGone) => pod.metadata.deletion_timestamp.is_none(),
        Some(Slip::SameName) => pod.metadata.name != case.pod.metadata.name,
        Some(Slip::Preempts) => priority(pod) >= priority(&case.pod),
        _ => true,
    };
    let most = if is(Slip::FewRun) { 10 } else { usize::MAX };
    let running: Vec<&Pod> = case.running.iter().filter(counts).collect();
    let mut reasons = Vec::new();
    if is(Slip::Cordoned) && case.node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true)) {
        reasons.push("node(s) were unschedulable".to_owned());
    }
    let one = i64::from(slip != Some(Slip::CountsWithoutIt));
    if running.len() as i64 + one > pods && slip != Some(Slip::NoCount) {
        reasons.push("Too many pods".to_owned());
    }
    let part = |pod: &Pod| {
        let mut pod = pod.clone();
        match (&mut pod.spec, slip) {
            (Some(spec), Some(Slip::RunningPlain)) => (spec.init_containers, spec.overhead) = (None, None),
            (Some(spec), Some(Slip::RunningFirst)) => spec.containers.truncate(1),
            _ => {}
        }
        asks(&pod, slip)
    };
    if is(Slip::Tainted) && case.node.spec.as_ref().is_some_and(|spec| spec.taints.is_some()) {
        reasons.push("node(s) had untolerated taint(s)".to_owned());
    }
    let used = running.into_iter().take(most).map(part).fold(Ask::default(), Ask::plus);
    let left = |name: &str, read: fn(&Quantity) -> i64| has.and_then(|has| has.get(name)).map_or(unsaid, read);
    let (ask, cpu, memory) = (asks(&case.pod, slip), left("cpu", milli_cpu), left("memory", bytes));
    for (name, ask, left) in [("cpu", ask.cpu, cpu - used.cpu), ("memory", ask.memory, memory - used.memory)] {
        let matters = ask > 0 || slip == Some(Slip::ZeroMatters);
        let too_much = ask > left || (ask == left && slip == Some(Slip::MustBeLess));
        if matters && too_much {
            reasons.push(format!("Insufficient {name}"));
        }
    }
    reasons
}

fn priority(pod: &Pod) -> i32 {
    pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0)
}

fn asks(pod: &Pod, slip: Option<Slip>) -> Ask {
    let Some(spec) = &pod.spec else { return Ask::default() };
    let of = |container: &Container| {
        let resources = container.resources.as_ref();
        match slip {
            Some(Slip::Limits) => Ask::of(resources.and_then(|resources| resources.limits.as_ref())),
            _ => Ask::of(resources.and_then(|resources| resources.requests.as_ref())),
        }
    };
    let together = spec.containers.iter().map(of).fold(Ask::default(), Ask::plus);
    let init = spec.init_containers.iter().flatten().map(of);
    let ask = match slip {
        Some(Slip::NoInit) => together,
        Some(Slip::AddsInit) => init.fold(together, Ask::plus),
        Some(Slip::InitByCpu) => together.at_least(init.max_by_key(|ask| ask.cpu).unwrap_or_default()),
        _ => init.fold(together, Ask::at_least),
    };
    if slip == Some(Slip::NoOverhead) { ask } else { ask.plus(Ask::of(spec.overhead.as_ref())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::plugins::node_resources_fit::insufficient;
    use crate::scheduler::resources::{Resources, pod_requests};

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::lab::function::check::<Fit>("fit");
    }

    #[test]
    fn the_rule_is_that_of_the_scheduler() {
        let requests = |pod: &Pod| pod_requests(&pod.clone().into());
        for case in Fit::questions() {
            let allocatable = Resources::of(case.node.status.as_ref().and_then(|status| status.allocatable.as_ref()));
            let mut used = Resources::default();
            case.running.iter().for_each(|pod| used.add(&requests(pod)));
            let rejection = insufficient(&requests(&case.pod), &allocatable, &used, case.running.len() as i64);
            let reasons: Vec<String> = rejection.into_iter().flat_map(|r| r.reasons).map(|r| r.into_owned()).collect();
            assert_eq!(Fit::rule(&case, None), reasons, "{}", Fit::show(&case));
        }
    }
}
