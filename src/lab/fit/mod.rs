//! Exercise 10: does a Pod fit on a node? Mirrors `plugins/noderesources/fit.go`, without resources of one's own.
//!
//! Pods with plain and init containers, requests and limits, are asked against nodes that are empty, partly taken and
//! full to the last millicore.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, NodeStatus, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};

use super::function::Function;
use super::mistake::{Mistake, mistakes};
use super::words::{Part, part};
use super::{Exercise, Judging, scheduling, words};
use exercise::fit::{Case, bytes, milli_cpu};
use kubectl::print::describe::taint_text;
use object::node::is_cordoned;

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

impl Function for Fit {
    type Question = Case;
    type Answer = Vec<String>;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn answer(rule: &Rule, case: &Case) -> Vec<String> {
        (rule.given)(why_not(rule, case))
    }

    fn property(case: &Case, given: Option<&Vec<String>>) -> &'static str {
        let right = Fit::right(case);
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

/// Amounts of resources, by name.
type Amounts = BTreeMap<String, Quantity>;

/// Thousandths of a CPU and bytes of memory.
#[derive(Clone, Copy, Default)]
struct Ask {
    cpu: i64,
    memory: i64,
}

impl Ask {
    fn of(amounts: Option<&Amounts>) -> Ask {
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

/// What decides.
pub(super) struct Rule {
    /// What a container asks for.
    asked: fn(&Container) -> Ask,
    /// What all containers ask for: the plain ones together, and each of those that run before them.
    with_init: fn(Ask, &[Ask]) -> Ask,
    /// What the Pod itself asks for.
    overhead: fn(&PodSpec) -> Ask,
    /// What a node has to give.
    has: fn(&NodeStatus) -> Option<&Amounts>,
    /// How much it has of what it does not speak of.
    unsaid: i64,
    /// Whether a Pod that runs there counts for a new one.
    counts: fn(&Pod, &Pod) -> bool,
    /// So many of those that count take something away.
    first: usize,
    /// What of one that runs there takes something away.
    running: fn(&PodSpec) -> PodSpec,
    /// Whether so many Pods are too many to get one more, where there is room for so many.
    too_many: fn(i64, i64) -> bool,
    /// Whether so much is asked for that so little is not enough.
    too_much: fn(i64, i64) -> bool,
    /// Why the node is no place for any Pod.
    besides: fn(&Node) -> Option<&'static str>,
    /// Which of the reasons are given.
    given: fn(Vec<String>) -> Vec<String>,
}

const RULE: Rule = Rule {
    asked: |container| Ask::of(container.resources.as_ref().and_then(|all| all.requests.as_ref())),
    with_init: |together, init| init.iter().copied().fold(together, Ask::at_least),
    overhead: |spec| Ask::of(spec.overhead.as_ref()),
    has: |status| status.allocatable.as_ref(),
    unsaid: 0,
    counts: |_, _| true,
    first: usize::MAX,
    running: PodSpec::clone,
    too_many: |running, most| running + 1 > most,
    too_much: |ask, left| ask > 0 && ask > left,
    besides: |_| None,
    given: |reasons| reasons,
};

fn why_not(rule: &Rule, case: &Case) -> Vec<String> {
    let has = case.node.status.as_ref().and_then(rule.has);
    let pods = has.and_then(|has| has.get("pods")).map_or(0, bytes);
    let running: Vec<&Pod> = case.running.iter().filter(|pod| (rule.counts)(pod, &case.pod)).collect();
    let mut reasons: Vec<String> = (rule.besides)(&case.node).into_iter().map(str::to_owned).collect();
    if (rule.too_many)(running.len() as i64, pods) {
        reasons.push("Too many pods".to_owned());
    }
    let specs = running.iter().take(rule.first).filter_map(|pod| pod.spec.as_ref());
    let used = specs.map(|spec| asks(rule, &(rule.running)(spec))).fold(Ask::default(), Ask::plus);
    let ask = case.pod.spec.as_ref().map_or(Ask::default(), |spec| asks(rule, spec));
    let left = |name: &str, read: fn(&Quantity) -> i64| has.and_then(|has| has.get(name)).map_or(rule.unsaid, read);
    let (cpu, memory) = (left("cpu", milli_cpu), left("memory", bytes));
    for (name, ask, left) in [("cpu", ask.cpu, cpu - used.cpu), ("memory", ask.memory, memory - used.memory)] {
        if (rule.too_much)(ask, left) {
            reasons.push(format!("Insufficient {name}"));
        }
    }
    reasons
}

fn asks(rule: &Rule, spec: &PodSpec) -> Ask {
    let together = spec.containers.iter().map(rule.asked).fold(Ask::default(), Ask::plus);
    let init: Vec<Ask> = spec.init_containers.iter().flatten().map(rule.asked).collect();
    (rule.with_init)(together, &init).plus((rule.overhead)(spec))
}

fn priority(pod: &Pod) -> i32 {
    pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0)
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    limits: "limits are counted instead of requests"
        => { asked: |container| Ask::of(container.resources.as_ref().and_then(|all| all.limits.as_ref())) };
    capacity: "the node's capacity is used; part of it is not for Pods, allocatable is"
        => { has: |status| status.capacity.as_ref() };
    empty_node: "the Pods that run on the node already are not counted" => { counts: |_, _| false };
    no_count: "the number of Pods is not looked at" => { too_many: |_, _| false };
    counts_without_it: "a node with as many Pods as it may have gets one more"
        => { too_many: |running, most| running > most };
    must_be_less: "a Pod that would fill the node exactly is refused"
        => { too_much: |ask, left| ask > 0 && ask >= left };
    zero_matters: "a Pod that asks for nothing is refused by a node that has nothing left"
        => { too_much: |ask, left| ask > left };
    no_init: "init containers are not looked at" => { with_init: |together, _| together };
    adds_init: "init containers are added to the others, although they do not run at the same time"
        => { with_init: |together, init| init.iter().copied().fold(together, Ask::plus) };
    no_overhead: "the Pod's overhead is not counted" => { overhead: |_| Ask::default() };
    first_reason: "only the first reason is given" => { given: |reasons| reasons.into_iter().take(1).collect() };
    running_plain: "of the Pods that run there only plain containers are counted, not init containers or overhead"
        => { running: |spec| PodSpec { init_containers: None, overhead: None, ..spec.clone() } };
    running_first: "of the Pods that run there only the first container is counted"
        => {
            running: |spec| PodSpec { containers: spec.containers.iter().take(1).cloned().collect(), ..spec.clone() }
        };
    init_by_cpu: "the largest init container is the one that asks for most cpu; each resource has its own largest"
        => {
            with_init: |together, init| {
                together.at_least(init.iter().copied().max_by_key(|ask| ask.cpu).unwrap_or_default())
            }
        };
    unsaid_is_enough: "what the node does not say that it has is taken for enough; it has none of it"
        => { unsaid: 1 << 50 };
    capacity_instead: "where allocatable is not said, capacity is taken"
        => { has: |status| status.allocatable.as_ref().or(status.capacity.as_ref()) };
    going_is_gone: "Pods that are being deleted are not counted; they run until they are gone"
        => { counts: |pod, _| pod.metadata.deletion_timestamp.is_none() };
    same_name: "a Pod of the same name that runs there is not counted; it is of another namespace"
        => { counts: |pod, new| pod.metadata.name != new.metadata.name };
    looks_whether_open: "whether the node takes new Pods at all is looked at; another plugin does that"
        => { besides: |node| is_cordoned(node).then_some("node(s) were unschedulable") }
        | { besides: |node| node.spec.as_ref()?.taints.as_ref().map(|_| "node(s) had untolerated taint(s)") };
    preempts: "Pods of a lower priority are not counted; whether they have to go is decided later"
        => { counts: |pod, new| priority(pod) >= priority(new) };
    ten_run: "only the first ten of the Pods that run there are counted" => { first: 10 };
    fifty_run: "only the first fifty of the Pods that run there are counted" => { first: 50 };
};

mod questions;
#[cfg(test)]
mod tests {
    use super::*;
    use scheduler::plugins::node_resources_fit::insufficient;
    use scheduler::resources::{Resources, pod_requests};

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Fit>("fit");
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
            assert_eq!(Fit::right(&case), reasons, "{}", Fit::show(&case));
        }
    }
}
