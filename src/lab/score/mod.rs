//! Exercise 11: which nodes may a Pod go to, and which one best? Mirrors `plugins/tainttoleration` and
//! `plugins/noderesources/least_allocated.go`, with their weights of the default profile.
//!
//! Every pair of a set of tolerations and a set of taints is asked, on one node and on two, and a few Pods on nodes that
//! are empty, partly taken and overfull.
//!
//! Left out: the operators Gt and Lt, nodes that have none of a resource, and the other plugins that score.

use k8s_openapi::api::core::v1::{Taint, Toleration};
use serde_json::{Value, json};

use super::function::Function;
use super::mistake::{Mistake, mistakes};
use super::words::{Part, part};
use super::{Exercise, Judging, scheduling, words};
use exercise::score::{Candidate, Case, Share, Wanted};
use kubectl::print::describe::taint_text;

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "11_score",
    title: "Which nodes may a Pod go to, and which is best?",
    outcome: "say which taints keep a Pod off a node, which only cost points, and how free nodes are preferred",
    needs: &["fit"],
    hints: [
        "A taint has one of three effects. Which of them keep a Pod off, and which only make a node less wanted? When \
         does a toleration cover a taint?",
        "A toleration covers a taint if key, effect and value agree; an absent key or effect agrees with all, and so does \
         any value with the operator Exists; no operator means Equal. Points are worked out among the nodes that are left.",
        "taints = 100 - 100 * soft / most, where soft counts a node's PreferNoSchedule taints that are not covered and \
         most is the largest such count of the nodes left (100 if that is 0). free = the mean of (allocatable - used - \
         asked) * 100 / allocatable for cpu and memory, each at least 0. Whole numbers, rounded down at each division. \
         Score: 3 * taints + free.",
    ],
    minutes: 35,
    judging: Judging::of_part::<Scoring>(scheduling::with_score),
};

pub(super) struct Scoring;

impl Function for Scoring {
    type Question = Case;
    type Answer = Vec<Option<i64>>;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn answer(rule: &Rule, case: &Case) -> Vec<Option<i64>> {
        let pod = &case.pod.tolerations;
        let fits: Vec<bool> = case.nodes.iter().map(|node| is_open(rule, &node.taints, pod)).collect();
        let soft: Vec<i64> = case.nodes.iter().map(|node| count_soft(rule, &node.taints, pod)).collect();
        let rivals = soft.iter().zip(&fits).take(rule.nodes).filter(|(_, fits)| (rule.is_rival)(**fits));
        let most = rivals.map(|(count, _)| *count).max().unwrap_or(0);
        let left: Vec<i64> = soft.iter().zip(&fits).filter(|(_, fits)| **fits).map(|(count, _)| *count).collect();
        let least = (rule.least)(&left);
        let score = |(node, soft): (&Candidate, i64)| {
            let lost = if most <= least { 0 } else { (rule.lost)(soft - least, most - least) };
            (rule.score)((rule.points)(lost), free(rule, node, &case.pod))
        };
        let scored = case.nodes.iter().zip(soft).zip(fits);
        scored.map(|(node, fits)| fits.then(|| score(node))).collect()
    }

    fn property(case: &Case, given: Option<&Vec<Option<i64>>>) -> &'static str {
        let right = Scoring::right(case);
        let Some(given) = given.filter(|given| given.len() == right.len()) else {
            return "every node gets its points, or none";
        };
        let wrong = given.iter().zip(&right).find(|(given, right)| given != right);
        match wrong {
            Some((Some(_), None)) => "a node with a taint that is not tolerated and not soft is out of the question",
            Some((None, _)) => "a node whose hard taints are all tolerated may be chosen",
            _ if case.nodes.iter().any(|node| !node.taints.is_empty()) => "soft taints cost points, and only those",
            _ => "without soft taints a score is 300 and what would be left free, in whole percents",
        }
    }

    fn show(case: &Case) -> String {
        let pod = &case.pod;
        let mut text = format!("the Pod asks for milli_cpu {}, memory {}\n", pod.milli_cpu, pod.memory);
        text += &words::field("tolerations", &json!(pod.tolerations));
        for (n, node) in case.nodes.iter().enumerate() {
            let share = |share: Share| format!("{} of {}", share.used, share.allocatable);
            let (cpu, memory) = (share(node.milli_cpu), share(node.memory));
            let taints: Value = node.taints.iter().map(|taint| taint_text(&json!(taint))).collect();
            text += &format!("\nnodes[{n}]: used milli_cpu {cpu}, memory {memory}");
            text += &format!("\n  {}", words::field("taints", &taints));
        }
        text
    }

    fn say(_: &Case, scores: &Vec<Option<i64>>) -> Vec<Part> {
        let score = |score: &Option<i64>| score.map_or("None".to_owned(), |score| score.to_string());
        vec![part("gave", scores.iter().map(score).collect::<Value>())]
    }
}

/// What decides.
pub(super) struct Rule {
    /// So many of a Pod's tolerations are looked at.
    tolerations: usize,
    /// Whether the key of a toleration is that of a taint.
    same_key: fn(&str, &str) -> bool,
    /// Whether one without a key covers each key.
    no_key: bool,
    /// Whether the effect of a toleration is that of a taint.
    same_effect: fn(&str, &str) -> bool,
    /// Whether one without an effect covers each effect.
    no_effect: bool,
    /// Whether a toleration covers each value.
    any_value: fn(&Toleration) -> bool,
    /// Whether the value of a toleration is that of a taint.
    same_value: fn(&str, &str) -> bool,
    /// Whether a taint is looked at when it could keep a Pod off.
    is_seen: fn(&Taint) -> bool,
    /// Whether a taint of this effect keeps Pods off.
    is_hard: fn(&str) -> bool,
    /// Whether one of this effect costs points.
    is_soft: fn(&str) -> bool,
    /// Whether a node is open to the Pod, of whose hard taints these are tolerated.
    covered: fn(&[bool]) -> bool,
    /// So many nodes are looked at to see which has most soft taints.
    nodes: usize,
    /// Whether a node is, which is open or is not.
    is_rival: fn(bool) -> bool,
    /// So many soft taints cost nothing, where the nodes that are open have so many.
    least: fn(&[i64]) -> i64,
    /// What so many soft taints cost, where that is the most.
    lost: fn(i64, i64) -> i64,
    /// The points of a node that has lost so many.
    points: fn(i64) -> i64,
    /// What is left of a share for a Pod that asks for so much.
    left: fn(Share, i64) -> i64,
    /// The points for what is left, of how much.
    free: fn([(i64, i64); 2]) -> i64,
    /// What both sorts of points come to.
    score: fn(i64, i64) -> i64,
}

const RULE: Rule = Rule {
    tolerations: usize::MAX,
    same_key: |key, asked| key == asked,
    no_key: true,
    same_effect: |effect, asked| effect == asked,
    no_effect: true,
    any_value: is_exists,
    same_value: |value, asked| value == asked,
    is_seen: |_| true,
    is_hard: |effect| matches!(effect, "NoSchedule" | "NoExecute"),
    is_soft: |effect| effect == "PreferNoSchedule",
    covered: |all| all.iter().all(|one| *one),
    nodes: usize::MAX,
    is_rival: |is_open| is_open,
    least: |_| 0,
    lost: |soft, most| 100 * soft / most,
    points: |lost| 100 - lost,
    left: |share, asked| (share.allocatable - share.used - asked).max(0),
    free: |parts| mean(parts.map(percent)),
    score: |taints, free| 3 * taints + free,
};

fn is_exists(toleration: &Toleration) -> bool {
    toleration.operator.as_deref() == Some("Exists")
}

fn mean(percents: [i64; 2]) -> i64 {
    percents.iter().sum::<i64>() / 2
}

fn percent((left, of): (i64, i64)) -> i64 {
    left * 100 / of
}

fn is_open(rule: &Rule, taints: &[Taint], tolerations: &[Toleration]) -> bool {
    let hard = taints.iter().filter(|taint| (rule.is_hard)(&taint.effect) && (rule.is_seen)(taint));
    let covered: Vec<bool> = hard.map(|taint| covers(rule, tolerations, taint)).collect();
    (rule.covered)(&covered)
}

fn count_soft(rule: &Rule, taints: &[Taint], tolerations: &[Toleration]) -> i64 {
    let soft = taints.iter().filter(|taint| (rule.is_soft)(&taint.effect));
    soft.filter(|taint| !covers(rule, tolerations, taint)).count() as i64
}

fn covers(rule: &Rule, tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations.iter().take(rule.tolerations).any(|toleration| {
        let key = toleration.key.as_ref().map_or(rule.no_key, |key| (rule.same_key)(key, &taint.key));
        let effect = toleration.effect.as_ref();
        let effect = effect.map_or(rule.no_effect, |effect| (rule.same_effect)(effect, &taint.effect));
        let [value, asked] = [&toleration.value, &taint.value].map(|value| value.as_deref().unwrap_or_default());
        key && effect && ((rule.any_value)(toleration) || (rule.same_value)(value, asked))
    })
}

fn free(rule: &Rule, node: &Candidate, pod: &Wanted) -> i64 {
    let parts = [(node.milli_cpu, pod.milli_cpu), (node.memory, pod.memory)];
    (rule.free)(parts.map(|(share, asked)| ((rule.left)(share, asked), share.allocatable)))
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    key_only: "a toleration's value is not compared" => { same_value: |_, _| true };
    exists_by_default: "a toleration without an operator is taken for Exists; it means Equal"
        => { any_value: |toleration| toleration.operator.as_deref().is_none_or(|operator| operator == "Exists") };
    key_needed: "a toleration without a key covers nothing; it covers every key" => { no_key: false };
    effect_needed: "a toleration without an effect covers nothing; it covers every effect" => { no_effect: false };
    effect_ignored: "a toleration's effect is not compared"
        => {
            same_effect: |_, _| true,
            no_effect: true
        };
    one_is_enough: "one tolerated taint is enough; each must be"
        => { covered: |all| all.is_empty() || all.contains(&true) };
    only_no_schedule: "NoExecute keeps no Pod off; it does, and even ends those that are there"
        => { is_hard: |effect| effect == "NoSchedule" };
    soft_is_hard: "PreferNoSchedule keeps Pods off; it only costs points" => { is_hard: |_| true };
    soft_is_nothing: "PreferNoSchedule costs nothing" => { is_soft: |_| false };
    soft_is_better: "the more PreferNoSchedule taints, the more points" => { points: |lost| lost };
    among_all: "points for taints are worked out among all nodes; only those that are left count"
        => { is_rival: |_| true };
    no_weight: "the points for taints are not counted three times" => { score: |taints, free| taints + free };
    without_it: "what the Pod itself asks for is not taken off"
        => { left: |share, _| (share.allocatable - share.used).max(0) };
    full_is_better: "fuller nodes are preferred" => { left: |share, asked| (share.used + asked).max(0) };
    divides_first: "the division comes before the multiplication, so that nothing is left of it"
        => { free: |parts| mean(parts.map(|(left, of)| left / of * 100)) };
    rounds_once: "the mean is rounded once at the end; each share is rounded down first"
        => { free: |parts| (parts.map(|(left, of)| left as f64 * 100.0 / of as f64).iter().sum::<f64>() / 2.0) as i64 };
    below_nothing: "a resource that would be overfull counts below 0"
        => { left: |share, asked| share.allocatable - share.used - asked };
    operator_is_exists: "a toleration without a value is taken for Exists, even if its operator is Equal"
        => { any_value: |toleration| is_exists(toleration) || toleration.value.is_none() };
    fraction: "the share is worked out as a fraction, which is not exact; whole numbers are"
        => { free: |parts| mean(parts.map(|(left, of)| (left as f64 / of as f64 * 100.0) as i64)) };
    rounded_up: "points for taints are rounded down at the end; what is lost is rounded down"
        => { lost: |soft, most| (100 * soft + most - 1) / most };
    nearest: "a share is rounded to the nearest whole percent; it is rounded down"
        => { free: |parts| mean(parts.map(|(left, of)| (left * 100 + of / 2) / of)) };
    taken_down: "the share that is taken is rounded down; the one that is free is"
        => { free: |parts| mean(parts.map(|(left, of)| 100 - (of - left) * 100 / of)) };
    mean_up: "the mean is rounded up; it is rounded down"
        => { free: |parts| (parts.map(percent).iter().sum::<i64>() + 1) / 2 };
    averages: "the score is divided by the weights; it is their sum"
        => { score: |taints, free| (3 * taints + free) / 4 };
    fewest_is_all: "the nodes with the fewest taints get all points, though they have some; only one without does"
        => { least: |rivals| rivals.iter().copied().min().unwrap_or(0) };
    key_begins: "a toleration whose key only begins as the taint's does is taken for one"
        => { same_key: |key, asked| key.starts_with(asked) };
    value_begins: "a toleration whose value only begins as the taint's does is taken for one"
        => { same_value: |value, asked| value == asked || !asked.is_empty() && value.starts_with(asked) };
    few_nodes: "the most is looked for among the first few nodes only" => { nodes: 4 };
    few_tolerations: "only the first few tolerations are looked at" => { tolerations: 4 };
    only_new: "a taint that says when it was added is not looked at" => { is_seen: |taint| taint.time_added.is_none() };
};

mod questions;
#[cfg(test)]
mod tests {
    use super::*;
    use scheduler::plugins::node_resources_fit::NodeResourcesFit;
    use scheduler::plugins::taint_toleration::TaintToleration;
    use scheduler::plugins::testing::{filter_reasons, scores};
    use scheduler::testing::{node, pod, snapshot};

    /// No question has more nodes.
    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Scoring>("score");
    }

    #[test]
    fn the_rule_is_that_of_our_scheduler() {
        for case in Scoring::questions() {
            let asking = |cpu: i64, memory: i64, tolerations: Value| {
                let requests = json!({"cpu": format!("{cpu}m"), "memory": memory.to_string()});
                let containers = json!([{"name": "a", "resources": {"requests": requests}}]);
                pod("p", &json!({"containers": containers, "tolerations": tolerations}).to_string())
            };
            let wanted = asking(case.pod.milli_cpu, case.pod.memory, json!(case.pod.tolerations));
            let in_snapshot = |keep: &dyn Fn(usize) -> bool| {
                let (mut nodes, mut pods) = (Vec::new(), Vec::new());
                for (n, one) in case.nodes.iter().enumerate().filter(|(n, _)| keep(*n)) {
                    let (cpu, memory) = (one.milli_cpu, one.memory);
                    let has = json!({"cpu": format!("{}m", cpu.allocatable), "memory": memory.allocatable.to_string()});
                    let yaml = json!({"spec": {"taints": one.taints}, "status": {"allocatable": has}});
                    nodes.push(node(NAMES[n], &yaml.to_string()));
                    pods.push((asking(cpu.used, memory.used, json!([])), NAMES[n]));
                }
                snapshot(nodes, pods)
            };
            let all = in_snapshot(&|_| true);
            let fits = |n: usize| filter_reasons(&TaintToleration, wanted.clone(), &all, NAMES[n]).is_empty();
            let left = in_snapshot(&fits);
            let (taints, free) = (
                scores(&TaintToleration, wanted.clone(), &left),
                scores(&NodeResourcesFit::default(), wanted.clone(), &left),
            );
            let mut points = taints.iter().zip(free).map(|(taints, free)| 3 * taints + free);
            let ours: Vec<Option<i64>> =
                (0..case.nodes.len()).map(|n| fits(n).then(|| points.next().expect("a score each"))).collect();
            assert_eq!(ours, Scoring::right(&case), "{}", Scoring::show(&case));
        }
    }
}
