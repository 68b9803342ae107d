use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use super::*;
use crate::cycle::{Outcome, schedule};
use crate::nominator::Nominator;
use crate::profile::Profile;
use crate::snapshot::Snapshot;
use crate::testing::{info, labelled, node, snapshot};
use object::random::Random;

/// A pod that asks for CPUs, with a priority and the second at which it started.
fn running(name: &str, cpu: u32, priority: i32, started: u64) -> Pod {
    let spec = format!("{{priority: {priority}, containers: [{{name: a, resources: {{requests: {{cpu: {cpu}}}}}}}]}}");
    let mut pod = labelled(name, &format!("app={name}"), &spec);
    pod.status.get_or_insert_default().start_time = Some(Instant(started * 1_000_000_000).time());
    pod
}

/// Where room is made for a pod of 2 CPUs and priority 100, and at whose cost; or what is told.
fn outcome(snapshot: &Snapshot, preemptor: Pod, disruptions: Disruptions) -> String {
    let (profile, nominator) = (Profile::default(), Nominator::default());
    let context = Context { profile: &profile, snapshot, nominator: &nominator, disruptions: &disruptions };
    match schedule(&context, &info(preemptor), &mut 0, &mut Random::new(1)).outcome {
        Outcome::Unschedulable { preemption: Preemption::Candidate(candidate), .. } => {
            let names: Vec<&str> = candidate.victims.iter().map(|victim| victim.key.name()).collect();
            format!("{}: {}", snapshot.node(candidate.node).name, names.join(" "))
        }
        Outcome::Unschedulable { error, .. } => error.post_filter_message,
        other => format!("{other:?}"),
    }
}

fn wants_two() -> Pod {
    running("vip", 2, 100, 0)
}

#[test]
fn the_node_with_the_least_harm_is_picked() {
    let two = || vec![node("n1", ""), node("n2", "")];
    let cases = [
        ("the lower highest priority", vec![(running("a", 3, 50, 0), "n1"), (running("b", 3, 10, 0), "n2")], "n2: b"),
        (
            "the smaller sum of priorities, with equal highest ones",
            vec![(running("a", 2, 50, 0), "n1"), (running("b", 2, 0, 0), "n1"), (running("c", 4, 50, 0), "n2")],
            "n1: b",
        ),
        (
            "fewer victims",
            vec![
                (running("a", 1, 0, 0), "n1"),
                (running("b", 1, 0, 0), "n1"),
                (running("c", 2, 200, 0), "n1"),
                (running("d", 3, 0, 0), "n2"),
            ],
            "n2: d",
        ),
        ("the one that started last", vec![(running("a", 3, 0, 5), "n1"), (running("b", 3, 0, 9), "n2")], "n2: b"),
        ("else the first", vec![(running("a", 3, 0, 5), "n1"), (running("b", 3, 0, 5), "n2")], "n1: a"),
    ];
    for (name, pods, expected) in cases {
        assert_eq!(outcome(&snapshot(two(), pods), wants_two(), Disruptions::new()), expected, "{name}");
    }
}

#[test]
fn only_who_must_go_goes_the_least_important_first() {
    let pods = vec![
        (running("old", 1, 0, 1), "n"),
        (running("new", 1, 0, 9), "n"),
        (running("better", 1, 5, 9), "n"),
        (running("fixed", 1, 100, 0), "n"),
    ];
    let snapshot = snapshot(vec![node("n", "")], pods);
    assert_eq!(outcome(&snapshot, wants_two(), Disruptions::new()), "n: old new");
    assert_eq!(outcome(&snapshot, running("vip", 1, 100, 0), Disruptions::new()), "n: new");
}

#[test]
fn a_budget_protects_if_it_can() {
    let yaml = "{metadata: {name: b, namespace: default}, spec: {selector: {matchLabels: {app: new}}}, status: {disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0}}";
    let budget: PodDisruptionBudget = serde_yaml::from_str(yaml).expect("the YAML is a budget");
    let pods = || vec![(running("old", 2, 0, 1), "n"), (running("new", 2, 0, 9), "n")];
    let budgets = || Disruptions::from([(Key::new("default", "b"), Arc::new(budget.clone()))]);
    let snapshot = snapshot(vec![node("n", "")], pods());
    assert_eq!(outcome(&snapshot, wants_two(), Disruptions::new()), "n: new");
    assert_eq!(outcome(&snapshot, wants_two(), budgets()), "n: old");
    assert_eq!(outcome(&snapshot, running("vip", 4, 100, 0), budgets()), "n: old new", "there is no other way");
}

#[test]
fn when_it_does_not_help_it_says_why() {
    let told = |rest: &str| format!("{NO_CLAIMS}, preemption: {rest}");
    let full = snapshot(vec![node("n", "")], vec![(running("a", 4, 100, 0), "n")]);
    let none = told(&format!("0/1 nodes are available: 1 {NO_VICTIMS}."));
    assert_eq!(outcome(&full, wants_two(), Disruptions::new()), none, "equal priority is no reason");

    let mixed = snapshot(vec![node("n", "")], vec![(running("a", 3, 100, 0), "n"), (running("b", 1, 0, 0), "n")]);
    let not_enough = told("0/1 nodes are available: 1 Insufficient cpu.");
    assert_eq!(outcome(&mixed, wants_two(), Disruptions::new()), not_enough);

    let mut never = wants_two();
    never.spec.get_or_insert_default().preemption_policy = Some("Never".to_owned());
    let forbidden = told("not eligible due to preemptionPolicy=Never.");
    assert_eq!(outcome(&mixed, never, Disruptions::new()), forbidden);
}

#[test]
fn a_pod_waits_for_its_victims_before_it_makes_more_room() {
    let mut leaving = running("a", 4, 0, 0);
    leaving.metadata.deletion_timestamp = Some(Instant(0).time());
    let target = "{conditions: [{type: DisruptionTarget, status: 'True', reason: PreemptionByScheduler}]}";
    leaving.status = serde_yaml::from_str(target).ok();
    let snapshot =
        snapshot(vec![node("n", ""), node("other", "")], vec![(leaving, "n"), (running("b", 4, 0, 0), "other")]);
    let mut vip = wants_two();
    vip.status.get_or_insert_default().nominated_node_name = Some("n".into());
    let waiting = format!("{NO_CLAIMS}, preemption: not eligible due to a terminating pod on the nominated node.");
    assert_eq!(outcome(&snapshot, vip, Disruptions::new()), waiting);
}

/// Anti-affinity is counted across nodes; what is supposed away must be counted away too.
#[test]
fn a_pod_that_keeps_others_out_can_be_a_victim() {
    let alone = "{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}]}}}";
    let snapshot = snapshot(vec![node("n", "")], vec![(labelled("loner", "app=web", alone), "n")]);
    let mut vip = labelled("vip", "app=web", alone);
    vip.spec.get_or_insert_default().priority = Some(100);
    assert_eq!(outcome(&snapshot, vip, Disruptions::new()), "n: loner");
}
