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
use super::words::{Part, part};
use super::{Exercise, Judging, scheduling, words};
use crate::cluster::kubectl::print::describe::taint_text;
use crate::exercise::score::{Candidate, Case, Share, Wanted};

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

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    KeyOnly,
    ExistsByDefault,
    KeyNeeded,
    EffectNeeded,
    EffectIgnored,
    OneIsEnough,
    OnlyNoSchedule,
    SoftIsHard,
    SoftIsNothing,
    SoftIsBetter,
    AmongAll,
    NoWeight,
    WithoutIt,
    FullIsBetter,
    DividesFirst,
    RoundsOnce,
    BelowNothing,
    OperatorIsExists,
    Fraction,
    RoundedUp,
    Nearest,
    TakenDown,
    MeanUp,
    Averages,
    FewestIsAll,
    KeyBegins,
    ValueBegins,
    FewNodes,
    FewTolerations,
    OnlyNew,
}

impl Function for Scoring {
    type Question = Case;
    type Answer = Vec<Option<i64>>;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = &[
        ("a toleration's value is not compared", Slip::KeyOnly),
        ("a toleration without an operator is taken for Exists; it means Equal", Slip::ExistsByDefault),
        ("a toleration without a key covers nothing; it covers every key", Slip::KeyNeeded),
        ("a toleration without an effect covers nothing; it covers every effect", Slip::EffectNeeded),
        ("a toleration's effect is not compared", Slip::EffectIgnored),
        ("one tolerated taint is enough; each must be", Slip::OneIsEnough),
        ("NoExecute keeps no Pod off; it does, and even ends those that are there", Slip::OnlyNoSchedule),
        ("PreferNoSchedule keeps Pods off; it only costs points", Slip::SoftIsHard),
        ("PreferNoSchedule costs nothing", Slip::SoftIsNothing),
        ("the more PreferNoSchedule taints, the more points", Slip::SoftIsBetter),
        ("points for taints are worked out among all nodes; only those that are left count", Slip::AmongAll),
        ("the points for taints are not counted three times", Slip::NoWeight),
        ("what the Pod itself asks for is not taken off", Slip::WithoutIt),
        ("fuller nodes are preferred", Slip::FullIsBetter),
        ("the division comes before the multiplication, so that nothing is left of it", Slip::DividesFirst),
        ("the mean is rounded once at the end; each share is rounded down first", Slip::RoundsOnce),
        ("a resource that would be overfull counts below 0", Slip::BelowNothing),
        ("a toleration without a value is taken for Exists, whatever its operator", Slip::OperatorIsExists),
        ("the share is worked out as a fraction, which is not exact; whole numbers are", Slip::Fraction),
        ("points for taints are rounded down at the end; what is lost is rounded down", Slip::RoundedUp),
        ("a share is rounded to the nearest whole percent; it is rounded down", Slip::Nearest),
        ("the share that is taken is rounded down; the one that is free is", Slip::TakenDown),
        ("the mean is rounded up; it is rounded down", Slip::MeanUp),
        ("the score is divided by the weights; it is their sum", Slip::Averages),
        (
            "the nodes with the fewest taints get all points, though they have some; only one without does",
            Slip::FewestIsAll,
        ),
        ("a toleration whose key only begins as the taint's does is taken for one", Slip::KeyBegins),
        ("a toleration whose value only begins as the taint's does is taken for one", Slip::ValueBegins),
        ("the most is looked for among the first few nodes only", Slip::FewNodes),
        ("only the first few tolerations are looked at", Slip::FewTolerations),
        ("a taint that says when it was added is not looked at", Slip::OnlyNew),
    ];

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn rule(case: &Case, slip: Option<Slip>) -> Vec<Option<i64>> {
        let is = |one| slip == Some(one);
        let pod = &case.pod.tolerations;
        let fits: Vec<bool> = case.nodes.iter().map(|node| is_open(&node.taints, pod, slip)).collect();
        let soft: Vec<i64> = case.nodes.iter().map(|node| count_soft(&node.taints, pod, slip)).collect();
        let few = if is(Slip::FewNodes) { 4 } else { usize::MAX };
        let counted = soft.iter().zip(&fits).take(few).filter(|(_, fits)| **fits || is(Slip::AmongAll));
        let most = counted.map(|(count, _)| *count).max().unwrap_or(0);
        let left = soft.iter().zip(&fits).filter(|(_, fits)| **fits && is(Slip::FewestIsAll));
        let fewest = left.map(|(count, _)| *count).min().unwrap_or(0);
        let score = |(node, soft): (&Candidate, i64)| {
            let rest = if is(Slip::RoundedUp) { most - 1 } else { 0 };
            let lost = if most <= fewest { 0 } else { (100 * (soft - fewest) + rest) / (most - fewest) };
            let taints = if is(Slip::SoftIsBetter) { lost } else { 100 - lost };
            let weight = if is(Slip::NoWeight) { 1 } else { 3 };
            let score = weight * taints + free(node, &case.pod, slip);
            if is(Slip::Averages) { score / 4 } else { score }
        };
        let scored = case.nodes.iter().zip(soft).zip(fits);
        scored.map(|(node, fits)| fits.then(|| score(node))).collect()
    }

    fn property(case: &Case, given: Option<&Vec<Option<i64>>>) -> &'static str {
        let right = Scoring::rule(case, None);
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

fn is_open(taints: &[Taint], tolerations: &[Toleration], slip: Option<Slip>) -> bool {
    let is_hard = |taint: &&Taint| match &*taint.effect {
        "NoSchedule" => true,
        "NoExecute" => slip != Some(Slip::OnlyNoSchedule),
        _ => slip == Some(Slip::SoftIsHard),
    };
    let counts = |taint: &&Taint| is_hard(taint) && (taint.time_added.is_none() || slip != Some(Slip::OnlyNew));
    let mut hard = taints.iter().filter(counts).peekable();
    match slip {
        Some(Slip::OneIsEnough) => hard.peek().is_none() || hard.any(|taint| covers(tolerations, taint, slip)),
        _ => hard.all(|taint| covers(tolerations, taint, slip)),
    }
}

fn count_soft(taints: &[Taint], tolerations: &[Toleration], slip: Option<Slip>) -> i64 {
    let soft = taints.iter().filter(|taint| taint.effect == "PreferNoSchedule" && slip != Some(Slip::SoftIsNothing));
    soft.filter(|taint| !covers(tolerations, taint, slip)).count() as i64
}

fn covers(tolerations: &[Toleration], taint: &Taint, slip: Option<Slip>) -> bool {
    let is = |one| slip == Some(one);
    let few = if is(Slip::FewTolerations) { 4 } else { usize::MAX };
    tolerations.iter().take(few).any(|toleration| {
        let same = |key: &String| *key == taint.key || is(Slip::KeyBegins) && key.starts_with(&taint.key);
        let key = toleration.key.as_ref().map_or(!is(Slip::KeyNeeded), same);
        let effect = toleration.effect.as_ref().map_or(!is(Slip::EffectNeeded), |effect| *effect == taint.effect);
        let value = match toleration.operator.as_deref() {
            Some("Exists") => true,
            None if is(Slip::ExistsByDefault) => true,
            _ if is(Slip::OperatorIsExists) && toleration.value.is_none() => true,
            _ => {
                let [given, asked] =
                    [&toleration.value, &taint.value].map(|value| value.as_deref().unwrap_or_default());
                let begins = is(Slip::ValueBegins) && !asked.is_empty() && given.starts_with(asked);
                given == asked || begins
            }
        };
        key && (effect || is(Slip::EffectIgnored)) && (value || is(Slip::KeyOnly))
    })
}

fn free(node: &Candidate, pod: &Wanted, slip: Option<Slip>) -> i64 {
    let is = |one| slip == Some(one);
    let left = |share: Share, asked: i64| {
        let used = share.used + if is(Slip::WithoutIt) { 0 } else { asked };
        let left = if is(Slip::FullIsBetter) { used } else { share.allocatable - used };
        if is(Slip::BelowNothing) { left } else { left.max(0) }
    };
    let parts = [(node.milli_cpu, pod.milli_cpu), (node.memory, pod.memory)];
    let left = parts.map(|(share, asked)| (left(share, asked), share.allocatable));
    match slip {
        Some(Slip::DividesFirst) => left.map(|(left, of)| left / of * 100).iter().sum::<i64>() / 2,
        Some(Slip::Fraction) => left.map(|(left, of)| (left as f64 / of as f64 * 100.0) as i64).iter().sum::<i64>() / 2,
        Some(Slip::RoundsOnce) => {
            (left.map(|(left, of)| left as f64 * 100.0 / of as f64).iter().sum::<f64>() / 2.0) as i64
        }
        Some(Slip::Nearest) => left.map(|(left, of)| (left * 100 + of / 2) / of).iter().sum::<i64>() / 2,
        Some(Slip::TakenDown) => left.map(|(left, of)| 100 - (of - left) * 100 / of).iter().sum::<i64>() / 2,
        Some(Slip::MeanUp) => (left.map(|(left, of)| left * 100 / of).iter().sum::<i64>() + 1) / 2,
        _ => left.map(|(left, of)| left * 100 / of).iter().sum::<i64>() / 2,
    }
}

mod questions;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::plugins::node_resources_fit::NodeResourcesFit;
    use crate::scheduler::plugins::taint_toleration::TaintToleration;
    use crate::scheduler::plugins::testing::{filter_reasons, scores};
    use crate::scheduler::testing::{node, pod, snapshot};

    /// No question has more nodes.
    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::lab::function::check::<Scoring>("score");
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
            assert_eq!(ours, Scoring::rule(&case, None), "{}", Scoring::show(&case));
        }
    }
}
