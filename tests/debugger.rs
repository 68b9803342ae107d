//! The debugger as a library: where it stops, and what it says.

use kubestep::cluster::Cluster;
use kubestep::cluster::scenario::Scenario;
use kubestep::debugger::breakpoint::Breakpoints;
use kubestep::debugger::moves::Reaction;
use kubestep::debugger::stop::{Change, Stop};
use kubestep::debugger::{Advance, Goal, Session, StopAt, describe};
use kubestep::engine::{Note, Step, What};

fn session(scenario: &str) -> Session {
    let scenario = Scenario::find(scenario).expect("the scenario is shipped");
    Session::new(Cluster::for_scenario(&scenario))
}

/// Runs on, and says what the current step is and why it is a stop.
fn run(session: &mut Session) -> Option<(String, String)> {
    match session.go(&mut Goal::Quiet, 200_000) {
        Advance::Breakpoint => {
            let step = session.current().expect("a breakpoint stops at a step");
            let head = describe::headline(&session.cluster.engine, &step.event);
            Some((format!("{} {} {}", head.from, head.what, head.to), session.hits()[0].text.clone()))
        }
        _ => None,
    }
}

/// Every class of breakpoint: the scenario, what is typed, and a part of the headline at the first stop.
#[test]
fn every_class_of_breakpoint_stops_where_it_says() {
    for (scenario, text, headline) in [
        ("deployment", "rs", "create replicasets default/web-"),
        ("deployment", "replicaset notification", "ADDED ReplicaSet"),
        ("deployment", "pod/web-*", "create pods default/web-"),
        ("deployment", "pod/default/web-*", "create pods default/web-"),
        ("deployment", "pods/status", "kubelet/"),
        ("deployment", "pods/binding", "create pods/binding default/web-"),
        ("deployment", "-l app=web notification", "ADDED"),
        ("deployment", "kind=rs name=web-* notification", "ADDED ReplicaSet"),
        ("deployment", "ns=def* create", "create deployments default/web"),
        ("deployment", "kube-scheduler response", "for create pods/binding"),
        ("deployment", "deployment-controller request", "deployment-controller create replicasets"),
        ("deployment", "from=user/* create", "user/kubectl create deployments default/web"),
        ("deployment", "to=containerd/*", "containerd/"),
        ("deployment", "timer kube-scheduler", "kube-scheduler"),
        ("deployment", "method=RunPodSandbox", "RunPodSandbox"),
        ("deployment", "runtime if message.RunPodSandbox.name ~ \"web-*\"", "RunPodSandbox"),
        ("deployment", "create deployments", "create deployments default/web kube-apiserver"),
        ("deployment", "409", "409 for update deployments/status"),
        ("deployment", "4xx request", "get deployments default/web"),
        ("deployment", "reason=Scal*", "create events"),
        ("unschedulable", "reason=FailedScheduling", "kube-scheduler"),
        ("unschedulable", "verdict=unschedulable", "kube-scheduler"),
        ("unschedulable", "verdict='NodeResourcesFit: Insufficient cpu'", "kube-scheduler"),
        ("deployment", "verdict=chosen", "kube-scheduler"),
        ("deployment", "condition=Ready:True pod", "patch pods/status default/web-"),
        ("deployment", "condition=Available deploy", "update deployments/status default/web"),
        ("deployment", "fn=put_status", "201 for create replicasets"),
        ("deployment", "pod if new.status.phase == \"Running\"", "patch pods/status"),
        ("deployment", "if step == 20", ""),
        (
            "deployment",
            "deploy if changed(status.readyReplicas) and new.status.readyReplicas == 2",
            "deployments/status",
        ),
    ] {
        let mut session = session(scenario);
        let names = session.names();
        session.breakpoints.add(text, false, &names).unwrap_or_else(|error| panic!("{text}: {error}"));
        let (at, why) = run(&mut session).unwrap_or_else(|| panic!("{text} never stops"));
        assert!(at.contains(headline), "{text} stops at {at}");
        assert!(why.contains(text), "{text}: {why}");
        assert_eq!(session.breakpoints.list()[0].hits, 1);
    }
}

#[test]
fn a_line_of_code_stops_where_it_waits() {
    let text = std::fs::read_to_string("src/controllers/pods.rs").expect("tests run in the project's folder");
    let line = text.lines().position(|line| line.contains("self.client.create(pod).await")).expect("it creates Pods");
    let mut session = session("deployment");
    let names = session.names();
    session.breakpoints.add(&format!("controllers/pods.rs:{}", line + 1), false, &names).unwrap();
    let (at, _) = run(&mut session).expect("the ReplicaSet controller comes there");
    assert!(at.contains("work replicaset-controller"), "{at}");
}

#[test]
fn wrong_breakpoints_say_what_would_do() {
    for (text, says) in [
        ("", "say where to stop"),
        ("podd", "is no kind and no component"),
        ("pod/", "needs a name after it"),
        ("colour=red", "colour= is no term"),
        ("ns=", "ns= needs a value"),
        ("verb=make", "there is no verb \"make\"; there are get, list"),
        ("code=900", "is not a code"),
        ("sub=state", "there is no subresource"),
        ("kind=Podd", "there is no kind"),
        ("-l", "-l needs a selector"),
        ("-l a=b=c", "found '='"),
        ("component=nobody", "is no kind and no component"),
        ("nowhere.rs:1", "there is no source file"),
        ("mod.rs:1", "may be"),
        ("controllers/pods.rs:x", "is not the number of a line"),
        ("controllers/pods.rs:100000", "so there is no line 100000"),
        ("debugger/diff.rs:1", "is in no function"),
        ("debugger/diff.rs:30", "nothing waits in"),
        ("fn=frobnicate", "there is no function"),
        ("fn=split_at_word", "never waits"),
        ("pod if", "a value is expected here"),
        ("pod if x", "column 1: there is nothing called \"x\""),
        ("pod print {", "without its partner"),
        ("pod print {x}", "there is nothing called \"x\""),
        ("pod 'web", "a quote is not closed"),
    ] {
        let error = Breakpoints::default().add(text, false, &session("pod").names()).expect_err(text);
        assert!(error.contains(says), "{text}: {error}");
    }
    for (text, says) in
        [("pod/web", "KIND/NAME.path"), (".x", "KIND/NAME.path"), ("pod/web.status..x", "name of a field")]
    {
        let error = Breakpoints::default().watch(text, &session("pod").names()).expect_err(text);
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn hits_are_counted_ignored_and_used_up() {
    let mut session = session("deployment");
    let names = session.names();
    session.breakpoints.add("create pods/binding", false, &names).unwrap();
    session.breakpoints.get(1).unwrap().ignore = 1;
    assert!(run(&mut session).is_some());
    assert_eq!(session.breakpoints.list()[0].hits, 2, "the first was passed over");
    session.breakpoints.add("condition=Ready:True pod", true, &names).unwrap();
    assert!(run(&mut session).is_some());
    assert_eq!(session.breakpoints.list().len(), 1, "a temporary one is gone when it has stopped");
    session.breakpoints.add("pods/status", false, &names).unwrap();
    session.breakpoints.get(3).unwrap().enabled = false;
    assert!(run(&mut session).is_none(), "a disabled one stops nobody");
    assert!(session.breakpoints.get(2).unwrap_err().contains("there are 1, 3"));
    session.breakpoints.delete(1).unwrap();
    assert!(session.breakpoints.delete(1).is_err());
}

#[test]
fn logpoints_print_and_go_on() {
    let mut session = session("deployment");
    let names = session.names();
    let text =
        "pod request if changed(status.phase) print {new.metadata.name}: {old.status.phase} → {new.status.phase}";
    session.breakpoints.add(text, false, &names).unwrap();
    assert!(run(&mut session).is_none());
    let printed = session.take_printed();
    assert_eq!(printed.len(), 4, "{printed:?}");
    assert!(printed[0].ends_with(": - → Pending") && printed[3].ends_with(": Pending → Running"), "{printed:?}");
}

#[test]
fn a_watch_stops_at_each_change() {
    let mut session = session("deployment");
    let names = session.names();
    session.breakpoints.watch("deploy/web.status.readyReplicas", &names).unwrap();
    let mut seen = Vec::new();
    while let Some((_, why)) = run(&mut session) {
        seen.push(why.lines().last().unwrap_or_default().to_owned());
    }
    let expected = ["nothing → 1", "1 → 2"].map(|change| format!("status.readyReplicas of Deployment web: {change}"));
    assert_eq!(seen, expected);
}

#[test]
fn a_condition_that_cannot_be_decided_stops_and_says_so() {
    let mut session = session("pod");
    let names = session.names();
    session.breakpoints.add("pod if new.metadata.name > 3", false, &names).unwrap();
    let (_, why) = run(&mut session).expect("it stops");
    assert!(why.contains("a text and a number cannot be compared"), "{why}");
}

/// Whether a step belongs to a reconcile of this controller.
fn ends(step: &Step, controller: &str) -> bool {
    step.notes.iter().any(|note| matches!(note, Note::Finished { task, .. } if task.starts_with(controller)))
}

#[test]
fn next_ends_with_the_reaction() {
    let mut session = session("deployment");
    session.advance(StopAt::Notification, 0);
    let step = session.current().expect("a step ran");
    assert!(matches!(&step.event.what, What::Notification { .. }));
    let reaction = Reaction::to(&session.cluster, step).expect("the deployment controller has work");
    assert_eq!(session.go(&mut Goal::Reaction(reaction), 0), Advance::Stopped);
    let worked = session.history().iter().filter(|step| ends(step, "deployment-controller")).count();
    assert!(worked >= 1, "the controller's reconcile has ended");
}

#[test]
fn finish_ends_with_the_reconcile() {
    let mut session = session("deployment");
    let names = session.names();
    session.breakpoints.add("fn=put_status", true, &names).unwrap();
    run(&mut session).expect("the controller writes a status");
    let waits = session.current().expect("a step ran").notes.iter().find_map(|note| match note {
        Note::Waits { actor, task, .. } => Some((*actor, task.clone())),
        _ => None,
    });
    let (actor, task) = waits.expect("it waits for the answer");
    assert_eq!(session.go(&mut Goal::End { actor, task }, 0), Advance::Stopped);
    assert!(ends(session.current().expect("a step ran"), "deployment-controller"));
}

/// A Service comes with its address, and takes its Endpoints with it: one request, several objects, and all are shown.
#[test]
fn a_stop_shows_every_object_that_a_step_changed() {
    let text = "\
title: t
timeline:
  - kubectl create service clusterip web --tcp=80 --clusterip=10.96.0.9
  - sleep 2
  - kubectl delete service web
";
    let scenario = Scenario::parse("also", text).unwrap_or_else(|error| panic!("{error}"));
    let mut session = Session::new(Cluster::for_scenario(&scenario));
    session.go(&mut Goal::Quiet, 200_000);
    let stops = session.history().iter().map(|step| Stop::of(&session, step)).filter(|stop| !stop.also.is_empty());
    let named = |change: &Change| format!("{:?} {}", change.how, change.object);
    let seen: Vec<String> =
        stops.map(|stop| stop.change.iter().chain(&stop.also).map(named).collect::<Vec<_>>().join(", ")).collect();
    let expected = [
        "Added Service default/web, Added IPAddress 10.96.0.9",
        "Deleted Service default/web, Deleted Endpoints default/web, Deleted IPAddress 10.96.0.9",
    ];
    assert_eq!(seen, expected);
}
