//! What a session's user decides and breaks: it happens, it is repeated, and the cluster comes through it.

use cluster::scenario::Scenario;
use debugger::{Advance, Goal, Session, file};
use engine::What;
use object::Object;

fn session() -> Session {
    Session::of(Scenario::find("deployment").expect("the scenario is shipped"))
}

/// Runs until nothing is left to do, and then on through what repeats itself: back-offs, relists, heartbeats.
fn settle(session: &mut Session) {
    for _ in 0..3 {
        session.go(&mut Goal::Quiet, 100_000);
        let end = session.cluster.engine.now() + std::time::Duration::from_secs(60);
        session.go(&mut Goal::Time(end), 100_000);
    }
}

/// How many Pods of the Deployment are available, as its status says.
fn available(session: &Session) -> i32 {
    let entry = session.cluster.engine.server.api.store.get("/registry/deployments/default/web");
    match entry.map(|entry| &entry.value) {
        Some(Object::Deployment(web)) => web.status.as_ref().and_then(|s| s.available_replicas).unwrap_or(0),
        _ => 0,
    }
}

fn trace(session: &Session) -> Vec<String> {
    session.history().iter().map(|step| format!("{step:?}")).collect()
}

/// Every fault, at several places of the rollout.
const FAULTS: &[&[&str]] = &[
    &["crash kube-controller-manager"],
    &["crash kube-scheduler"],
    &["crash kubelet/node-1"],
    &["stop kube-apiserver", "start kube-apiserver"],
    &["compact"],
    &["fail replicaset-controller create pods with 500"],
    &["fail replicaset-controller create pods with lost-after"],
    &["fail deployment-controller update with 409 times 3"],
    &["fail kube-scheduler create pods with lost"],
    &["fail kubelet/* patch pods with 429 times 2"],
    &["cut node-1", "mend node-1"],
    &["hold kube-scheduler pods", "release"],
    &["hold kube-controller-manager", "release kube-controller-manager"],
    &["seed 7"],
    &["slow nginx 20"],
];

#[test]
fn the_cluster_comes_through_every_fault() {
    for fault in FAULTS {
        for at in [10, 30, 120] {
            let mut session = session();
            session.goto(at);
            for text in *fault {
                session.act(text).unwrap_or_else(|error| panic!("{text} after step {at}: {error}"));
                session.goto(session.cluster.engine.steps() + 15);
            }
            settle(&mut session);
            assert_eq!(available(&session), 2, "{fault:?} after step {at}");
        }
    }
}

#[test]
fn a_killed_container_is_started_again() {
    for (verb, reason) in [("kill", "Error"), ("oom", "OOMKilled")] {
        let mut session = session();
        settle(&mut session);
        let pods = session.cluster.engine.server.api.store.prefix("/registry/pods/default/");
        let pod = pods.map(|(_, entry)| entry.value.name().to_owned()).next().expect("there is a Pod");
        session.act(&format!("{verb} {pod}")).expect("its container runs");
        settle(&mut session);
        assert_eq!(available(&session), 2);
        let said = session.read(&["get", "pod", &pod, "-o", "json"].map(str::to_owned));
        assert!(said.contains("\"restartCount\": 1") && said.contains(reason), "{said}");
    }
    assert!(session().act("kill nobody").unwrap_err().contains("no such container"));
}

#[test]
fn a_held_watch_says_nothing_until_it_is_released() {
    let mut session = session();
    session.act("hold kube-scheduler pods").expect("it watches Pods");
    session.go(&mut Goal::Time(session.cluster.engine.now() + std::time::Duration::from_secs(5)), 10_000);
    let engine = &session.cluster.engine;
    let bound = |step: &engine::Step| matches!(&step.event.what, What::Request { request, .. } if request.line().contains("pods/binding"));
    assert!(engine.held().count() >= 2 && !session.history().iter().any(bound), "no Pod can be scheduled");
    session.act("release kube-scheduler pods").expect("it is held");
    settle(&mut session);
    assert_eq!(available(&session), 2);
    assert!(session.act("release kube-scheduler pods").unwrap_err().contains("is not held"));
}

#[test]
fn events_come_out_of_turn_late_or_never() {
    let mut session = session();
    session.goto(30);
    let pending = |session: &Session, fits: fn(&What) -> bool| {
        session.cluster.engine.pending().filter(|event| fits(&event.what)).last().map(|event| event.id)
    };
    let response = pending(&session, |what| matches!(what, What::Response { .. })).expect("a call is under way");
    session.act(&format!("choose {response}")).expect("it is in flight");
    assert_eq!(session.current().map(|step| step.event.id), Some(response));
    assert!(session.act(&format!("choose {response}")).unwrap_err().contains("is not pending"));
    let timer = pending(&session, |what| matches!(what, What::Wake { .. })).expect("timers are armed");
    assert!(session.act(&format!("drop {timer}")).unwrap_err().contains("cannot get lost"));
    let told = pending(&session, |what| matches!(what, What::Notification { .. })).expect("somebody will be told");
    session.act(&format!("delay {told} 3")).expect("it is in flight");
    let late = session.cluster.engine.in_flight(told).map(|event| event.due - session.cluster.engine.now());
    assert!(late.is_some_and(|late| late >= std::time::Duration::from_secs(3)));
    settle(&mut session);
    assert_eq!(available(&session), 2);
}

#[test]
fn something_can_be_done_when_something_happens() {
    let mut session = session();
    let names = session.names();
    session.breakpoints.when("create pods do crash kube-controller-manager", &names).expect("it is well written");
    settle(&mut session);
    assert_eq!(available(&session), 2);
    assert!(session.breakpoints.list().is_empty(), "it is done once");
    assert_eq!(session.choices().len(), 1, "and remembered");
    for (text, says) in [
        ("pod", "write: when"),
        ("pod do", "write: when"),
        ("pod do dance", "is no choice"),
        ("pod do choose e1", "cannot stand after do"),
    ] {
        assert!(session.breakpoints.when(text, &names).unwrap_err().contains(says), "{text}");
    }
}

#[test]
fn choices_are_repeated_on_every_way() {
    let mut session = session();
    for (at, text) in [(20, "hold kube-scheduler pods"), (40, "crash kube-controller-manager"), (60, "release")] {
        session.goto(at);
        session.act(text).expect("it can be done");
    }
    session.go(&mut Goal::Quiet, 0);
    let (expected, end) = (trace(&session), session.furthest());
    for step in [50, 20, 61, 0, end] {
        session.goto(step);
        assert_eq!(trace(&session), expected[..step as usize], "by way of step {step}");
    }
}

#[test]
fn a_saved_session_opens_as_it_was() {
    let mut session = session();
    let names = session.names();
    session.goto(50);
    session.act("crash kube-scheduler").expect("it runs");
    session.act("type kubectl scale deployment web --replicas=3").expect("it can be typed");
    session.breakpoints.add("409", false, &names).expect("it is well written");
    session.breakpoints.watch("deploy/web.status.readyReplicas", &names).expect("it is well written");
    assert_ne!(session.go(&mut Goal::Quiet, 120), Advance::Quiet);
    let text = file::save(&session);
    let opened = file::open(&text, None).expect("it is the same program");
    assert_eq!(trace(&opened), trace(&session));
    assert_eq!(opened.breakpoints.commands(), session.breakpoints.commands());
    assert_eq!(file::save(&opened), text);
    let mut earlier = file::open(&text, Some(30)).expect("it came by there");
    earlier.goto(session.history().len() as u64);
    assert_eq!(trace(&earlier), trace(&session), "what was chosen later is chosen again");
}

#[test]
fn a_session_that_cannot_be_repeated_says_so() {
    let mut session = session();
    session.goto(40);
    session.act("seed 3").expect("it can be done");
    session.goto(80);
    let text = file::save(&session);
    for (changed, says) in [
        (text.replace("seed 3", "seed 4"), "differs from the one that was saved from step 4"),
        (text.replace(env!("CARGO_PKG_VERSION"), "0.0.1").replace("seed 3", "seed 4"), "saved by version 0.0.1"),
        (text.replace("do: seed 3", "do: dance"), "is no choice"),
        (text.replace("scenario: deployment", "scenario: nowhere"), "there is no scenario \"nowhere\""),
        ("nonsense: true".to_owned(), "this is not a saved session"),
        (String::new(), "this is not a saved session"),
    ] {
        let error = file::open(&changed, None).err().unwrap_or_else(|| panic!("{says}"));
        assert!(error.contains(says), "{says}: {error}");
    }
    assert!(file::open(&text, Some(81)).err().is_some_and(|error| error.contains("no step 81")));
}

#[test]
fn what_cannot_break_is_refused() {
    for (text, says) in [
        ("crash containerd/node-1", "left out"),
        ("crash user/kubectl", "cannot be stopped"),
        ("start kube-scheduler", "runs already"),
        ("start kube-apiserver", "runs already"),
        ("stop kubelet/node-9", "cannot be stopped"),
        ("node start 1", "is on already"),
        ("node stop 9", "is off already"),
        ("hold nobody", "there is no component"),
        ("hold kube-scheduler leases", "watches no leases"),
        ("fail nobody with 500", "there is no component"),
        ("choose e999999", "is not pending"),
        ("delay e999999 1", "is not pending"),
        ("drop e999999", "is not pending"),
    ] {
        let error = session().act(text).expect_err(text);
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn packets_that_were_sent_are_sent_again() {
    let mut session = Session::of(Scenario::find("service").expect("the scenario is shipped"));
    session.go(&mut Goal::Quiet, 0);
    session.act("type curl web --from client").expect("it can be typed");
    session.go(&mut Goal::Quiet, 0);
    let (expected, end) = (trace(&session), session.furthest());
    assert!(session.history().iter().any(|step| matches!(step.event.what, What::Packet { .. })));
    session.goto(10);
    session.goto(end);
    assert_eq!(trace(&session), expected);
}

#[test]
fn two_courses_are_laid_side_by_side() {
    let mut session = session();
    session.go(&mut Goal::Quiet, 0);
    session.goto(50);
    session.act("type kubectl delete deployment web").expect("it can be typed");
    session.go(&mut Goal::Quiet, 0);
    session.goto(70);
    let before = trace(&session);
    let compared = session.compare([Some(0), None]).expect("there is one branch");
    assert_eq!(trace(&session), before, "looking changes nothing");
    let parting = compared.parting.expect("they differ");
    assert!(parting.step > 50 && parting.sides[0] != parting.sides[1]);
    assert!(parting.choices[0].is_none() && parting.choices[1].as_ref().is_some_and(|chosen| chosen.after == 50));
    assert!(compared.ends.iter().all(|end| end.quiet && end.broken.is_empty()));
    let web = compared.objects.iter().find(|object| object.name() == "Deployment default/web");
    assert!(web.is_some_and(|web| web.old.is_some() && web.new.is_none()));
    assert!(session.compare([Some(1), None]).is_err());
}
