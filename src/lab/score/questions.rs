//! Pods and the nodes that they may go to.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::making::TIME;
use exercise::score::{Candidate, Case, Share, Wanted};

/// One node with each set of taints; numbers; many of each; then two nodes with each pair of sets.
pub(super) fn all() -> Vec<Case> {
    [
        one_node(),
        numbers(),
        fractions(),
        large_nodes(),
        some_of_many_taints(),
        the_last_of_many(),
        alike(),
        some_of_many(),
        two_and_three_nodes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn one_node() -> Vec<Case> {
    let taints = taints();
    let case = |pod: &Value, one: &Value| Case { pod: wanted(pod, 1000), nodes: vec![candidate(one, 1000, 1)] };
    tolerations().iter().flat_map(|pod| taints.iter().map(move |one| case(pod, one))).collect()
}

fn two_and_three_nodes() -> Vec<Case> {
    let (taints, mut all) = (taints(), Vec::new());
    for pod in &tolerations() {
        for one in &taints {
            let case = |two| Case { pod: wanted(pod, 700), nodes: vec![candidate(one, 500, 2), two] };
            all.extend(taints.iter().map(|two| case(candidate(two, 1300, 3))));
        }
        let three = |n: usize| candidate(&taints[n], 100 * n as i64, 2);
        all.push(Case { pod: wanted(pod, 300), nodes: vec![three(5), three(4), three(0)] });
        all.push(Case { pod: wanted(pod, 300), nodes: vec![three(9), three(5), three(4)] });
    }
    all
}

/// More and less of a node is taken.
fn numbers() -> Vec<Case> {
    let mut all = Vec::new();
    for asked in [1, 100, 700, 1500] {
        let node = |used| candidate(&json!([]), used, 3);
        let case = |used| Case { pod: wanted(&json!([]), asked), nodes: vec![node(used)] };
        all.extend([0, 1, 333, 1500, 2999, 3000].map(case));
    }
    // So small that a single unit too many would show.
    let all_used = share(100, 100);
    all.push(Case { pod: wanted(&json!([]), 1), nodes: vec![bare(all_used, all_used)] });
    all
}

/// What a fraction cannot say, and what is too large for a small number.
fn fractions() -> Vec<Case> {
    let hundredths = [7, 14, 28, 29, 55, 56, 57, 58, 99];
    let hundredths = hundredths.map(|left| bare(share(100, 100 - left), share(1000, 1000 - 10 * left)));
    let both = |(of, left): (i64, i64)| bare(share(of, of - left), share(of, of - left));
    let others = [(161, 161), (194, 97), (195, 117), (1_000_000_000, 289_999_999), (1_000_000_000, 569_999_999)];
    let nodes = hundredths.into_iter().chain(others.map(both));
    nodes.map(|node| Case { pod: wanted_of(&json!([]), 0, 0), nodes: vec![node] }).collect()
}

fn large_nodes() -> Vec<Case> {
    let (gib, mut all) = (1 << 30, Vec::new());
    for (cpu, memory) in [(8000, 30 * gib), (128_000, 2048 * gib), (64_000, 3 * gib)] {
        for part in [0, 3, 50, 97] {
            let node = bare(share(cpu, cpu * part / 100), share(memory, memory / 100 * (100 - part)));
            all.push(Case { pod: wanted_of(&json!([]), 100, gib), nodes: vec![node] });
        }
    }
    all
}

/// So many soft taints.
fn soft(count: usize) -> Value {
    (0..count).map(|n| json!({"key": format!("soft-{n}"), "effect": "PreferNoSchedule"})).collect()
}

/// One taint of seven, two of seven, and so on: each costs its part.
fn some_of_many_taints() -> Vec<Case> {
    let cases = [3_usize, 6, 7].into_iter().flat_map(|most| {
        let nodes = move |first: usize| [first, first / 2, most].map(|count| candidate(&soft(count), 500, 2)).to_vec();
        (0..most).map(move |first| Case { pod: wanted(&json!([]), 300), nodes: nodes(first) })
    });
    cases.collect()
}

/// Many of each; the last one decides.
fn the_last_of_many() -> Vec<Case> {
    let keys = ["old", "slow", "far", "odd"];
    let soft = |count: usize| -> Value {
        keys[..count].iter().map(|key| json!({"key": key, "effect": "PreferNoSchedule"})).collect()
    };
    let pod: Value = keys.iter().map(|key| json!({"key": key, "operator": "Exists"})).collect();
    let pods = [(json!([]), 4), (pod, 4), (json!([{"key": "odd", "operator": "Exists"}]), 4), (json!([]), 1)];
    let nodes = |last: usize| [1, 0, 2, last].map(|count| candidate(&soft(count), 500, 2)).to_vec();
    pods.map(|(pod, last)| Case { pod: wanted(&pod, 300), nodes: nodes(last) }).into()
}

fn tolerations() -> Vec<Value> {
    vec![
        json!([]),
        json!([{"operator": "Exists"}]),
        json!([{"key": "dedicated", "operator": "Exists"}]),
        json!([{"key": "dedicated", "operator": "Equal", "value": "db", "effect": "NoSchedule"}]),
        json!([{"key": "dedicated", "value": "web"}]),
        json!([{"key": "dedicated"}]),
        json!([{"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}]),
        json!([{"key": "dedicated", "operator": "Exists", "effect": "PreferNoSchedule"}]),
        json!([{"operator": "Exists", "effect": "NoSchedule"}]),
        json!([{"key": "slow", "operator": "Exists"}]),
        json!([{"key": "dedicated", "operator": "Equal"}]),
        json!([{"key": "ded", "operator": "Exists"}, {"key": "dedicated", "operator": "Equal", "value": "d"}]),
        json!([{"operator": "Exists", "effect": "PreferNoSchedule"}, {"key": "dedicated", "value": "db", "effect": "NoExecute"}]),
        json!([{"key": "slow", "operator": "Exists"}, {"key": "dedicated", "value": "db"}]),
        json!([{"key": "dedicated", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
               {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]),
    ]
}

fn taints() -> Vec<Value> {
    let dedicated = |value: &str, effect: &str| json!({"key": "dedicated", "value": value, "effect": effect});
    let slow = |effect: &str| json!({"key": "slow", "effect": effect});
    vec![
        json!([]),
        json!([dedicated("db", "NoSchedule")]),
        json!([{"key": "dedicated", "effect": "NoSchedule"}]),
        json!([dedicated("db", "NoExecute")]),
        json!([slow("PreferNoSchedule")]),
        json!([slow("PreferNoSchedule"), dedicated("db", "PreferNoSchedule")]),
        json!([slow("NoSchedule"), dedicated("db", "NoSchedule")]),
        json!([dedicated("web", "NoSchedule"), slow("PreferNoSchedule")]),
        json!([slow("NoExecute")]),
        json!([
            slow("PreferNoSchedule"),
            dedicated("db", "PreferNoSchedule"),
            {"key": "old", "effect": "PreferNoSchedule"},
            slow("NoSchedule")
        ]),
    ]
}

/// No node at all; keys and values that are nearly the same.
fn alike() -> Vec<Case> {
    let mut all = vec![Case { pod: wanted(&json!([]), 100), nodes: Vec::new() }];
    let keys = ["dedicated", "dedicated-2", "my-dedicated", "Dedicated", "node.kubernetes.io/unschedulable"];
    let values = ["db", "db-2", "my-db", "DB"];
    let tolerations = keys.iter().flat_map(|key| {
        let equal = values.iter().map(move |value| json!([{"key": key, "operator": "Equal", "value": value}]));
        equal.chain([json!([{"key": key, "operator": "Exists", "tolerationSeconds": 0}])])
    });
    for pod in tolerations {
        for (n, key) in keys.iter().enumerate() {
            let effect = ["NoSchedule", "NoExecute", "PreferNoSchedule"][n % 3];
            let taint = |value: &str| json!([{"key": key, "value": value, "effect": effect, "timeAdded": TIME}]);
            let nodes = values.map(|value| candidate(&taint(value), 100, 1));
            all.push(Case { pod: wanted(&pod, 100), nodes: nodes.to_vec() });
        }
    }
    all
}

/// Many nodes, many taints and many tolerations.
fn some_of_many() -> Vec<Case> {
    let mut all = Vec::new();
    for counts in [&[1, 0, 1, 1, 0, 2][..], &[2, 1, 0, 0, 3], &[9, 11]] {
        let nodes = counts.iter().map(|count| candidate(&soft(*count), 500, 2)).collect();
        all.push(Case { pod: wanted(&json!([]), 300), nodes });
    }
    let hard: Value = (0..6).map(|n| json!({"key": format!("hard-{n}"), "effect": "NoSchedule"})).collect();
    for count in [4, 5, 6] {
        let bears: Value = (0..count).map(|n| json!({"key": format!("hard-{n}"), "operator": "Exists"})).collect();
        all.push(Case { pod: wanted(&bears, 300), nodes: vec![candidate(&hard, 500, 2)] });
    }
    all
}

/// Memory is as many times a thousand bytes as the CPU's thousandths, and half as much again, so that the two differ.
fn wanted(tolerations: &Value, asked: i64) -> Wanted {
    wanted_of(tolerations, asked, asked * 1500)
}

fn wanted_of(tolerations: &Value, milli_cpu: i64, memory: i64) -> Wanted {
    Wanted { tolerations: Vec::deserialize(tolerations).expect("the tolerations above are such"), milli_cpu, memory }
}

fn candidate(taints: &Value, used: i64, cpus: i64) -> Candidate {
    Candidate {
        taints: Vec::deserialize(taints).expect("the taints above are such"),
        milli_cpu: Share { allocatable: cpus * 1000, used },
        memory: Share { allocatable: cpus * 1_700_000, used: used * 1100 },
    }
}

fn share(allocatable: i64, used: i64) -> Share {
    Share { allocatable, used }
}

/// A node without taints.
fn bare(milli_cpu: Share, memory: Share) -> Candidate {
    Candidate { taints: Vec::new(), milli_cpu, memory }
}
