use std::sync::Arc;

use super::*;
use crate::testing::{info, node, pod, snapshot};

/// Decides with the default profile and no nominated pod.
fn decide(snapshot: &Snapshot, pod: &Arc<PodInfo>, next_start: &mut usize) -> Decision {
    decide_with(snapshot, &Nominator::default(), pod, next_start)
}

fn decide_with(snapshot: &Snapshot, nominator: &Nominator, pod: &PodInfo, next_start: &mut usize) -> Decision {
    let (profile, disruptions) = (Profile::default(), Disruptions::new());
    let context = Context { profile: &profile, snapshot, nominator, disruptions: &disruptions };
    schedule(&context, pod, next_start, &mut Random::new(7))
}

fn asking(cpu: &str, more: &str) -> Arc<PodInfo> {
    info(pod("p", &format!("{{containers: [{{name: a, resources: {{requests: {{cpu: {cpu}}}}}}}]{more}}}")))
}

fn message(decision: &Decision) -> String {
    match &decision.outcome {
        Outcome::Unschedulable { error, .. } => error.message(),
        other => format!("{other:?}"),
    }
}

fn chosen(decision: &Decision, snapshot: &Snapshot) -> String {
    decision.chosen(snapshot).map_or_else(|| message(decision), |node| node.name.to_string())
}

#[test]
fn how_many_nodes_are_enough() {
    let cases = [(5, 5), (99, 99), (100, 100), (500, 230), (1000, 420), (5000, 500), (6000, 300)];
    for (all, enough) in cases {
        assert_eq!(feasible_nodes_to_find(all, 0), enough, "{all}");
    }
    for (all, percentage, enough) in [(99, 10, 99), (1000, 5, 100), (1000, 100, 1000), (5000, 30, 1500)] {
        assert_eq!(feasible_nodes_to_find(all, percentage), enough, "{percentage}% of {all}");
    }
}

#[test]
fn without_nodes_the_attempt_breaks_off() {
    let decision = decide(&Snapshot::default(), &asking("1", ""), &mut 0);
    assert!(matches!(decision.outcome, Outcome::Error(text) if text == "no nodes available to schedule pods"));
}

#[test]
fn nodes_are_tried_a_zone_at_a_time() {
    let zone = |name: &str, zone: &str| {
        node(name, &format!("{{metadata: {{labels: {{topology.kubernetes.io/zone: {zone}}}}}}}"))
    };
    let snapshot =
        snapshot(vec![zone("a1", "a"), zone("a2", "a"), zone("a3", "a"), zone("b1", "b"), zone("c1", "c")], vec![]);
    let names: Vec<&str> = snapshot.order().iter().map(|id| &*snapshot.node(*id).name).collect();
    assert_eq!(names, ["a1", "b1", "c1", "a2", "a3"]);
}

#[test]
fn a_search_that_stops_early_goes_on_there_next_time() {
    let nodes = (0..200).map(|n| node(&format!("n{n:03}"), "")).collect();
    let snapshot = snapshot(nodes, vec![]);
    let mut next_start = 0;
    let first = decide(&snapshot, &asking("1", ""), &mut next_start);
    assert_eq!((first.feasible.len(), first.feasible[0], next_start), (100, NodeId(0), 100));
    let second = decide(&snapshot, &asking("1", ""), &mut next_start);
    assert_eq!((second.feasible[0], next_start), (NodeId(100), 0));
}

#[test]
fn without_scores_the_first_node_that_passes_will_do() {
    let snapshot = snapshot((1..=3).map(|n| node(&format!("n{n}"), "")).collect(), vec![]);
    let mut profile = Profile::default();
    profile.plugins.iter_mut().for_each(|entry| entry.points.retain(|point| *point != Point::Score));
    let (nominator, disruptions) = (Nominator::default(), Disruptions::new());
    let context = Context { profile: &profile, snapshot: &snapshot, nominator: &nominator, disruptions: &disruptions };
    let mut next_start = 1;
    let decision = schedule(&context, &asking("1", ""), &mut next_start, &mut Random::new(7));
    assert_eq!((chosen(&decision, &snapshot).as_str(), decision.feasible.len(), next_start), ("n2", 1, 2));
}

/// The vector of the checklist: 81 for LeastAllocated, 71 for BalancedAllocation, 100 x3 for TaintToleration.
#[test]
fn the_sums_of_an_empty_cluster() {
    let snapshot = snapshot((1..=3).map(|n| node(&format!("n{n}"), "")).collect(), vec![]);
    let pod = info(pod("p", "{containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Gi}}}]}"));
    let decision = decide(&snapshot, &pod, &mut 0);
    assert_eq!(decision.totals, [81 + 71 + 300; 3]);
}

#[test]
fn one_node_that_passes_is_not_scored() {
    let snapshot = snapshot(vec![node("small", "{status: {allocatable: {cpu: 1, pods: 9}}}"), node("big", "")], vec![]);
    let decision = decide(&snapshot, &asking("2", ""), &mut 0);
    assert_eq!(chosen(&decision, &snapshot), "big");
    assert!(decision.totals.is_empty());
}

/// A DaemonSet's pod pins its node by name.
#[test]
fn a_narrowed_choice_is_told_apart() {
    let tainted = "{spec: {taints: [{key: a, effect: NoSchedule}]}}";
    let snapshot = snapshot(vec![node("n1", tainted), node("n2", ""), node("n3", "")], vec![]);
    let pin = |name: &str| {
        asking(
            "1",
            &format!(
                ", affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchFields: [{{key: metadata.name, operator: In, values: [{name}]}}]}}]}}}}}}"
            ),
        )
    };
    assert_eq!(chosen(&decide(&snapshot, &pin("n2"), &mut 0), &snapshot), "n2");
    let no = decide(&snapshot, &pin("n1"), &mut 0);
    assert_eq!(
        message(&no),
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. \
         no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    );
    let Outcome::Unschedulable { rejected_by, .. } = no.outcome else { panic!("it is unschedulable") };
    let names: Vec<&str> = Profile::default()
        .plugins
        .iter()
        .enumerate()
        .filter(|(number, _)| rejected_by.contains(*number))
        .map(|(_, entry)| entry.plugin.name())
        .collect();
    assert_eq!(names, ["TaintToleration", "NodeAffinity"]);
}

#[test]
fn room_that_is_promised_is_left_free() {
    let snapshot = snapshot(vec![node("n1", "")], vec![]);
    let mut nominator = Nominator::default();
    let mut vip = pod("vip", "{priority: 100, containers: [{name: a, resources: {requests: {cpu: 3}}}]}");
    vip.status.get_or_insert_default().nominated_node_name = Some("n1".into());
    let vip = info(vip);
    nominator.nominate(vip.clone(), "n1");
    let decide = |pod: &PodInfo| chosen(&decide_with(&snapshot, &nominator, pod, &mut 0), &snapshot);
    assert!(decide(&asking("2", "")).starts_with("0/1 nodes are available: 1 Insufficient cpu."));
    assert_eq!(decide(&asking("1", "")), "n1", "there is room for both");
    assert_eq!(decide(&asking("2", ", priority: 200")), "n1", "it is more important");
    assert_eq!(decide(&vip), "n1", "its own promise does not stand in its way");
}
