//! The debugger as a library: where it stops, and what it says.

use std::time::Duration;

use cluster::scenario::Scenario;
use debugger::breakpoint::Breakpoints;
use debugger::moves::Reaction;
use debugger::stop::{Change, Stop};
use debugger::{Advance, Goal, Session, StopAt, causes, describe, file, source};
use engine::{Note, Step, What};
use kubestep::cli::sources::Disk;
use kubestep_tests::project::from_root;
use kubestep_tests::scenario;
use wire::Subresource;

fn session(scenario: &str) -> Session {
    source::provide(&Disk);
    Session::of(Scenario::find(scenario).expect("the scenario is shipped"))
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
        ("node-deleted", "from=node-controller request", "node-controller"),
        ("node-deleted", "node-controller", "node-lifecycle-controller"),
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
    let text = std::fs::read_to_string(from_root("src/controllers/pods.rs")).expect("it is there");
    let line = text.lines().position(|line| line.contains("self.client.create(pod).await")).expect("it creates Pods");
    let mut session = session("deployment");
    let names = session.names();
    session.breakpoints.add(&format!("controllers/pods.rs:{}", line + 1), false, &names).unwrap();
    let (at, _) = run(&mut session).expect("the ReplicaSet controller comes there");
    assert!(at.contains("work replicaset-controller"), "{at}");
}

#[test]
fn every_subresource_can_be_stopped_at() {
    let mut session = session("deployment");
    let names = session.names();
    for part in Subresource::ALL {
        let text = format!("sub={}", part.as_str());
        session.breakpoints.add(&text, false, &names).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[test]
fn a_question_that_is_not_kept_can_be_stopped_at() {
    let scene = "{title: Questions, timeline: [kubectl auth can-i create pods, kubectl auth whoami]}";
    let mut session = Session::of(scenario::parsed(scene));
    let names = session.names();
    session.breakpoints.add("create selfsubjectreviews", false, &names).unwrap();
    let (at, _) = run(&mut session).expect("kubectl asks who it is");
    assert!(at.contains("create selfsubjectreviews"), "{at}");
}

#[test]
fn wrong_breakpoints_say_what_would_do() {
    for (text, says) in [
        ("", "say where to stop"),
        ("podd", "is neither a kind nor a component"),
        ("pod/", "needs a name after it"),
        ("colour=red", "colour= is no term"),
        ("ns=", "ns= needs a value"),
        ("verb=make", "there is no verb \"make\"; there are get, list"),
        ("code=900", "is not a code"),
        ("sub=state", "there is no subresource"),
        ("kind=Podd", "there is no kind"),
        ("-l", "-l needs a selector"),
        ("-l a=b=c", "found '='"),
        ("component=nobody", "is neither a kind nor a component"),
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
    assert!(printed[0].1.ends_with(": - → Pending") && printed[3].1.ends_with(": Pending → Running"), "{printed:?}");
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
    let mut session = Session::of(scenario::parsed(text));
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

#[test]
fn waiting_ends_at_the_time_and_not_at_the_next_event() {
    let mut session = session("deployment");
    let begin = session.cluster.engine.now();
    for half_seconds in 1..=40 {
        let end = begin + Duration::from_millis(500) * half_seconds;
        assert_eq!(session.go(&mut Goal::Time(end), 0), Advance::Stopped);
        assert_eq!(session.cluster.engine.now(), end);
        assert!(session.history().iter().all(|step| step.time <= end));
    }
}

/// What is decided after a wait is decided at that time, also when the run is gone through again.
#[test]
fn what_is_done_after_a_wait_is_done_at_that_time() {
    let scenario = Scenario::find("pod").expect("it is shipped");
    let mut session = Session::of(scenario.clone());
    session.go(&mut Goal::Quiet, 0);
    let asked = session.cluster.engine.now() + Duration::from_millis(1234);
    session.go(&mut Goal::Time(asked), 0);
    session.act("type kubectl delete pod web").expect("there is one");
    session.advance(StopAt::Event, 0);
    let sent = session.current().expect("it was sent").time;
    assert!(sent >= asked && sent < asked + Duration::from_millis(200), "sent at {sent}, asked at {asked}");
    let digest = session.digest();
    let steps = session.history().len() as u64;
    session.goto(0);
    session.goto(steps);
    assert_eq!(session.digest(), digest);
    let text = file::save(&session);
    assert!(text.contains("wait "), "{text}");
    assert_eq!(file::open(&text, None).expect("it opens").history().len() as u64, steps);
}

fn until(session: &mut Session, text: &str) -> Advance {
    let mut condition = Breakpoints::default();
    condition.add(text, true, &session.names()).expect("it can be read");
    session.go(&mut Goal::Until(Box::new(condition)), 0)
}

/// A cluster is quiet when nothing comes of what never stops; until then moves go on.
#[test]
fn what_comes_of_background_traffic_is_waited_for() {
    // A Lease that is renewed no more.
    let mut session = session("deployment");
    assert_eq!(session.go(&mut Goal::Quiet, 0), Advance::Quiet);
    session.act("stop kubelet/node-1").expect("it runs");
    assert_eq!(until(&mut session, "node/node-1 condition=Ready:Unknown"), Advance::Stopped);
    // Pods are taken away five minutes later.
    assert_eq!(until(&mut session, "delete pods"), Advance::Stopped);
    // What never comes ends quietly, and costs no time.
    assert_eq!(session.go(&mut Goal::Quiet, 0), Advance::Quiet);
    let (steps, now) = (session.history().len(), session.cluster.engine.now());
    assert_eq!(until(&mut session, "pod/nobody condition=Ready:True"), Advance::Quiet);
    assert_eq!((session.history().len(), session.cluster.engine.now()), (steps, now));
}

#[test]
fn quiet_is_found_behind_a_link_that_is_cut() {
    let mut session = session("deployment");
    session.go(&mut Goal::Quiet, 0);
    session.act("cut node-1").expect("there is such a node");
    assert_eq!(until(&mut session, "node/node-1 condition=Ready:Unknown"), Advance::Stopped);
    assert_eq!(session.go(&mut Goal::Quiet, 100_000), Advance::Quiet);
}

#[test]
fn a_list_after_410_is_no_background_traffic() {
    let mut session = session("deployment");
    session.act("hold kube-scheduler pods").expect("it watches them");
    session.go(&mut Goal::Quiet, 0);
    session.act("compact").expect("etcd can");
    session.act("release").expect("something is held");
    assert_eq!(session.go(&mut Goal::Quiet, 0), Advance::Quiet);
    let lists = |step: &&Step| match &step.event.what {
        What::Request { request, .. } => request.line().starts_with("watch pods") && !step.event.background,
        _ => false,
    };
    assert_eq!(session.history().iter().filter(lists).count(), 1);
    let bound =
        |step: &Step| matches!(&step.event.what, What::Request { request, .. } if request.line().contains("binding"));
    assert!(session.history().iter().any(bound), "the scheduler has seen the Pods");
}

/// A step that changes the cluster is shown in the foreground, even if something in the background set it off.
#[test]
fn writes_are_seen() {
    for (scenario, what) in [("readiness", "patch pods/status"), ("volume", "NodeStageVolume")] {
        let mut session = session(scenario);
        session.go(&mut Goal::Quiet, 0);
        let hidden = session.history().iter().find(|step| {
            let line = match &step.event.what {
                What::Request { request, .. } => request.line(),
                What::Rpc { message, .. } => message.line(),
                _ => return false,
            };
            line.starts_with(what) && step.event.background
        });
        assert!(hidden.is_none(), "{what} is hidden in step {:?}", hidden.map(|step| step.id));
    }
}

#[test]
fn next_from_a_request_ends_with_its_answer() {
    let mut session = session("deployment");
    until(&mut session, "create pods");
    let request = session.current().expect("it was made").id;
    let reaction = Reaction::to(&session.cluster, session.current().expect("it was made")).expect("it is answered");
    assert_eq!(session.go(&mut Goal::Reaction(reaction), 0), Advance::Stopped);
    let step = session.current().expect("the answer");
    assert!(matches!(step.event.what, What::Response { .. }));
    assert_eq!(step.event.cause, request);
}

/// What a command prints is no line that was typed, however it looks.
#[test]
fn what_is_printed_like_a_prompt_was_not_typed() {
    let timeline = [
        "kubectl create configmap trap --from-literal='line=$ rm -rf /'",
        "kubectl get configmap trap -o jsonpath='{.data.line}{\"\\n\"}'",
        "kubectl delete configmap trap",
    ]
    .map(str::to_owned);
    let mut session = Session::of(Scenario { timeline: timeline.to_vec(), ..Scenario::default() });
    session.go(&mut Goal::Quiet, 0);
    assert!(session.cluster.kubectl.printed_since(0).contains("\n$ rm -rf /\n"), "it was printed");
    let typed: Vec<&str> = session.typed().iter().map(|(_, line)| &**line).collect();
    assert_eq!(typed, timeline);
    let said = session.history().iter().filter_map(|step| causes::chain(&session, step.id).1);
    assert!(said.into_iter().all(|typed| timeline.contains(&typed.line)));
}

/// What stands in the store is to be had where a write was refused because of it.
#[test]
fn a_conflict_has_its_old_object() {
    for class in ["", "request "] {
        let mut session = session("deployment");
        let text = format!("409 {class}print {{old.metadata.name}} at {{old.metadata.resourceVersion}}");
        session.breakpoints.add(&text, false, &session.names()).expect("it can be read");
        session.go(&mut Goal::Quiet, 0);
        let printed = session.take_printed();
        assert!(printed.iter().any(|(_, line)| line.starts_with("web at ")), "{class}: {printed:?}");
    }
}

#[test]
fn continue_stops_at_the_scenarios_next_command() {
    let scenario = Scenario::find("rolling-update").expect("it is shipped");
    let mut session = Session::of(scenario.clone());
    let mut typed = Vec::new();
    loop {
        let first = session.typed().is_empty();
        if session.go(&mut Goal::NextLine { first }, 0) != Advance::Stopped {
            break;
        }
        typed.push(session.typed().last().expect("one was typed").1.to_string());
    }
    assert_eq!(typed, scenario.timeline[1..]);
}
