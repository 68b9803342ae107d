//! A fault is a step like any: typed, or in a scenario.

use cluster::scenario::Scenario;
use debugger::timeline::{self, About};
use debugger::{Advance, Goal, Session, causes, file};
use engine::StepId;
use kubestep_tests::scenario::{self, has_said};

use super::harness::{can_get_lost, describes, session};

/// A line for each kind of fault that can be at this moment of the scenario.
const KINDS: &[&str] = &[
    "hold kube-scheduler pods",
    "release kube-scheduler pods",
    "cut node-1",
    "mend node-1",
    "release",
    "disconnect kube-scheduler nodes",
    "fail replicaset-controller create pods with 500 times 2",
    "stop kube-scheduler",
    "start kube-scheduler",
    "crash kube-controller-manager",
    "crash kube-apiserver",
    "node stop 1",
    "node start 1",
    "node start 4 --cpu 8",
    "compact",
    "slow nginx 20.5",
    "full node-2 disk",
    "relieve node-2",
    "skew node-2 -40",
    "node node-2 rm /etc/cni/net.d/10-kubestep.conflist",
    "node shutdown 3 --grace 20 --critical 5",
];

/// Each is a step: it has a number, is caused by who typed it, causes what follows, and is there again on any way back.
#[test]
fn a_fault_is_a_step() {
    let mut session = session(0);
    session.goto(60);
    for text in KINDS {
        let before = session.cluster.engine.steps();
        session.act(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let stop = session.stop().expect("there was a step");
        assert_eq!((stop.step, stop.event.class, stop.event.what.as_str()), (before + 1, "fault", *text));
        let (chain, typed) = causes::chain(&session, StepId(before + 1));
        assert_eq!((chain.len(), typed.map(|typed| typed.line).as_deref()), (1, Some(*text)));
        session.goto(before + 40);
    }
    let lost = session.cluster.engine.pending().find(|event| can_get_lost(&event.what)).map(|event| event.id);
    let lost = format!("drop {}", lost.expect("somebody always says something"));
    session.act(&lost).expect("it can get lost");
    assert_eq!(session.stop().expect("there was a step").event.what, lost);
    session.goto(session.cluster.engine.steps() + 40);
    let rows = timeline::rows(&session, &About::Everything);
    for text in KINDS.iter().copied().chain([lost.as_str()]) {
        assert!(rows.iter().any(|row| row.text.contains(text)), "{text} is not in the timeline");
    }
    let (end, expected) = (session.cluster.engine.steps(), session.digest());
    let crash = session.history().iter().find(|step| describes(step, "crash kube-controller-manager")).expect("it ran");
    let (crash, effects) = (crash.id, causes::effects(&session, crash.id, 50).len());
    assert!(effects > 10, "what starts anew lists everything: {effects}");
    assert!(causes::chain(&session, StepId(crash.0 + 3)).0.len() > 1);
    assert!(session.act("stop nobody").is_err());
    assert_eq!(session.cluster.engine.steps(), end, "what cannot be is no step");
    for back in [62, 70, 0, crash.0, end] {
        session.goto(back);
        session.goto(end);
        assert_eq!(session.digest(), expected, "back from step {back}");
    }
    let opened = file::open(&file::save(&session), None);
    assert_eq!(opened.expect("it repeats").digest(), expected);
    session.goto(61);
    assert_eq!(session.stop().expect("a step").event.class, "fault", "goto stops at it");
}

/// In a scenario they are lines like any, and steps too. One that cannot be is told of, and counted.
#[test]
fn a_scenario_breaks_things_in_steps() {
    let timeline = ["kubectl create deployment web --image=nginx", "sleep 3", "crash kube-scheduler", "kill nobody"];
    let timeline = timeline.into_iter().map(str::to_owned).collect();
    let mut session = Session::of(Scenario { timeline, namespace: "default".into(), ..Scenario::default() });
    let names = session.names();
    session.breakpoints.add("fault", false, &names).expect("it is a class of events");
    for line in ["crash kube-scheduler", "kill default/nobody"] {
        assert_eq!(session.go(&mut Goal::Quiet, 0), Advance::Breakpoint);
        let step = session.current().expect("a step");
        assert!(describes(step, line), "{step:?}");
        let (_, typed) = causes::chain(&session, step.id);
        assert_eq!(typed.map(|typed| typed.line).as_deref(), Some(line.replace("default/", "").as_str()));
    }
    session.go(&mut Goal::Quiet, 0);
    let printed = session.cluster.kubectl.printed_since(0);
    assert!(printed.contains("no such container runs in default/nobody"), "{printed}");
    assert_eq!(session.cluster.failures.get(), 1);
}

/// A Pod that is on no node yet finds its file wherever it comes to run.
#[test]
fn a_file_may_be_there_before_its_pod() {
    let text = "\
title: t
nodes: 2
files:
  pod.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: app}
    spec: {containers: [{name: c, image: 'nginx:1.27', readinessProbe: {exec: {command: [cat, /ready]}, periodSeconds: 1}}]}
timeline:
  - kubectl apply -f pod.yaml
  - file on app /ready
  - kubectl wait --for=condition=Ready pod/app --timeout=5s
  - kubectl get events -o jsonpath='events {.items[*].reason}.'
  - file on nobody /ready
";
    let scenario = scenario::parsed(text);
    let mut cluster = bugs::cluster(&scenario);
    while !cluster.is_quiet() && cluster.step().is_some() {}
    has_said(
        &cluster,
        &[
            "pod/app condition met",
            "events Scheduled Pulling Pulled Created Started Starting",
            "default/nobody runs nowhere",
        ],
    );
}
