//! Exercise 10: does a Pod fit on a node? Mirrors `plugins/noderesources/fit.go`, without resources of one's own.
//!
//! Pods with plain and init containers, requests and limits, are asked against nodes that are empty, partly taken and
//! full to the last millicore.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};

use super::function::Function;
use super::words::{Part, part};
use super::{Exercise, Judging, scheduling, words};
use crate::cluster::kubectl::print::describe::taint_text;
use crate::exercise::fit::{Case, bytes, milli_cpu};
use crate::object::node::is_cordoned;

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
    FewRun(usize),
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
        ("only the first ten of the Pods that run there are counted", Slip::FewRun(10)),
        ("only the first fifty of the Pods that run there are counted", Slip::FewRun(50)),
    ];

    fn questions() -> Vec<Case> {
        questions::all()
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
    let most = if let Some(Slip::FewRun(most)) = slip { most } else { usize::MAX };
    let running: Vec<&Pod> = case.running.iter().filter(counts).collect();
    let mut reasons = Vec::new();
    if is(Slip::Cordoned) && is_cordoned(&case.node) {
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

mod questions;
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
