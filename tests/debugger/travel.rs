//! Going back in time, and forward again, changes nothing: a session that has been anywhere ends as one that went
//! straight on.

use std::hash::{DefaultHasher, Hash, Hasher};

use cluster::scenario::{Nodes, Scenario};
use debugger::{Choice, Goal, Session, StopAt, file};
use object::random::Random;

fn session(scenario: &Scenario) -> Session {
    Session::of(scenario.clone())
}

/// All steps, each as a digest of everything that is known of it.
fn digests(session: &Session) -> Vec<u64> {
    let digest = |step| {
        let mut hasher = DefaultHasher::new();
        format!("{step:?}").hash(&mut hasher);
        hasher.finish()
    };
    session.history().iter().map(digest).collect()
}

/// Fails at the first step that is not as expected.
#[track_caller]
fn same(session: &Session, expected: &[u64], what: &str) {
    let now = digests(session);
    let differs = now.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{what}: the first step, from 0, that differs");
    assert_eq!(now.len(), expected.len(), "{what}: how many steps");
}

#[test]
fn any_way_leads_to_the_same_end() {
    for scenario in Scenario::shipped() {
        let mut straight = session(&scenario);
        straight.go(&mut Goal::Quiet, 0);
        let expected = digests(&straight);
        let (end, mut random) = (expected.len() as u64, Random::new(7));
        let mut wandering = session(&scenario);
        for _ in 0..6 {
            let step = random.below(end + 1);
            assert_eq!(wandering.goto(step), step, "{}", scenario.name);
            same(&wandering, &expected[..step as usize], &format!("{} at step {step}", scenario.name));
        }
        wandering.go(&mut Goal::Quiet, 0);
        same(&wandering, &expected, &scenario.name);
    }
}

/// What may be broken anywhere; what cannot be at some place is refused there, and changes nothing.
const FAULTS: &[&str] = &[
    "crash kube-controller-manager",
    "crash kube-apiserver",
    "stop kube-scheduler",
    "start kube-scheduler",
    "hold kube-scheduler pods",
    "hold kubelet/node-1",
    "release",
    "cut node-2",
    "mend node-2",
    "disconnect kube-controller-manager pods",
    "fail * with lost-after",
    "fail replicaset-controller create pods with 500 times 2",
    "node stop 3",
    "node start 3",
    "compact",
    "full node-1 disk",
    "type kubectl scale deployment web --replicas=3",
    "seed 7",
];

/// The same after faults at random places, on each of several branches.
#[test]
fn any_way_leads_to_the_same_end_of_any_course() {
    for seed in 1..=5 {
        let scenario = Scenario { seed, ..Scenario::find("deployment").expect("it is shipped") };
        let (mut session, mut random) = (session(&scenario), Random::new(seed));
        let mut courses = Vec::new();
        for _ in 0..3 {
            session.goto(random.below(200));
            for _ in 0..3 {
                let _ = session.act(FAULTS[random.below(FAULTS.len() as u64) as usize]);
                session.goto(session.cluster.engine.steps() + random.below(40));
            }
            session.go(&mut Goal::Quiet, 20_000);
            courses.push((session.choices().to_vec(), digests(&session)));
        }
        for (choices, expected) in &courses {
            let choices = choices.iter().map(|chosen| (chosen.after, chosen.choice.clone())).collect();
            let straight = file::of_run(scenario.clone(), choices, expected.len() as u64);
            same(&straight, expected, &format!("seed {seed}"));
        }
        let expected = &courses.last().expect("there are three").1;
        for _ in 0..4 {
            let step = random.below(expected.len() as u64 + 1);
            assert_eq!(session.goto(step), step, "seed {seed}");
            same(&session, &expected[..step as usize], &format!("seed {seed}, back to step {step}"));
        }
        session.go(&mut Goal::Quiet, 20_000);
        same(&session, expected, &format!("seed {seed}"));
        for branch in 0..session.branches().len() {
            session.switch(branch);
            session.switch(branch);
            same(&session, expected, &format!("seed {seed}, to branch {branch} and back"));
        }
    }
}

/// What was saved on a course that was left is not come back to.
#[test]
fn a_new_course_keeps_nothing_of_the_old_one() {
    let scenario = Scenario::find("scale").expect("it is shipped");
    let mut session = session(&scenario);
    session.go(&mut Goal::Quiet, 0);
    let old = digests(&session);
    session.goto(40);
    session.act("crash kube-scheduler").expect("it runs");
    session.go(&mut Goal::Quiet, 0);
    let new = digests(&session);
    assert_ne!(old, new);
    for step in (40..new.len() as u64).step_by(100) {
        session.goto(step);
        session.go(&mut Goal::Quiet, 0);
        same(&session, &new, &format!("back to step {step}, and on"));
    }
}

/// In a large cluster the beginning is busy: no moment of it can be saved.
#[test]
fn a_large_cluster_goes_back_to_its_beginning() {
    let scenario = Scenario { nodes: Nodes::Count(400), ..Scenario::find("deployment").expect("it is shipped") };
    let mut session = session(&scenario);
    session.goto(200);
    let expected = digests(&session);
    for step in [0, 150] {
        session.goto(step);
        same(&session, &expected[..step as usize], &format!("back to step {step}"));
    }
}

#[test]
fn choices_are_made_again_on_the_way_forward() {
    let scenario = Scenario::find("deployment").expect("it is shipped");
    let mut session = session(&scenario);
    session.goto(60);
    session.act("type kubectl scale deployment web --replicas=3").expect("it can be typed");
    session.goto(90);
    let last = session.cluster.engine.pending().last().map(|event| event.id).expect("something is pending");
    assert!(session.choose(Choice::Deliver(last)).is_ok());
    assert!(session.choose(Choice::Deliver(last)).is_err(), "it is not in flight any more");
    session.go(&mut Goal::Quiet, 0);
    let (expected, end) = (digests(&session), session.furthest());
    for step in [75, 60, 20, 91, 90, 0] {
        session.goto(step);
        same(&session, &expected[..step as usize], &format!("back to step {step}"));
    }
    session.goto(end);
    assert_eq!(digests(&session), expected);
    assert!(session.branches().is_empty(), "nothing else was chosen");
}

#[test]
fn a_new_choice_in_the_past_is_a_branch() {
    let scenario = Scenario::find("deployment").expect("it is shipped");
    let mut session = session(&scenario);
    session.go(&mut Goal::Quiet, 0);
    let first = digests(&session);
    session.goto(50);
    session.act("type kubectl delete deployment web").expect("it can be typed");
    session.go(&mut Goal::Quiet, 0);
    let second = digests(&session);
    assert_eq!(first[..50], second[..50]);
    assert_ne!(first, second);
    assert_eq!(session.branches().len(), 1);
    assert!(session.switch(0));
    assert_eq!(digests(&session), first);
    assert!(session.switch(0));
    assert_eq!(digests(&session), second);
    assert!(!session.switch(1));
}

#[test]
fn stops_of_the_past_are_those_of_the_way_there() {
    let mut session = session(&Scenario::find("scale").expect("it is shipped"));
    let mut stops = Vec::new();
    for _ in 0..12 {
        session.advance(StopAt::Notification, 0);
        stops.push(session.cluster.engine.steps());
    }
    for (times, expected) in (1..).zip(stops.iter().rev().skip(1)) {
        assert_eq!(session.stop_before(StopAt::Notification, times), *expected, "several at once");
    }
    assert_eq!(session.stop_before(StopAt::Notification, u64::MAX), 0, "no further than to the start");
    for expected in stops.iter().rev().skip(1) {
        let before = session.stop_before(StopAt::Notification, 1);
        assert_eq!((before, session.goto(before)), (*expected, *expected));
    }
}

/// A shell that the user types into is left and entered again like anything else, and lines that run are no hindrance.
#[test]
fn a_shell_is_left_and_entered_again() {
    for seed in 0..4 {
        let scenario = Scenario { seed, ..Scenario::find("pod").expect("it is shipped") };
        let mut typing = session(&scenario);
        let mut waits = Vec::new();
        typing.go(&mut Goal::Quiet, 0);
        for text in [
            "type kubectl run box --image=busybox -- sleep 100000",
            "type kubectl exec -it box -- sh",
            "type in 'cd /tmp; X=1'",
            "type in 'sleep 40; echo $X'",
            "type in 'echo $X > x; cat x'",
            "type in exit",
            "type kubectl run -it --rm tmp --image=busybox",
            "type in hostname",
            "kill default/tmp",
        ] {
            typing.act(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            typing.go(&mut Goal::Quiet, 0);
            waits.push((typing.history().len() as u64, typing.cluster.shell()));
        }
        assert!(waits.iter().filter(|(_, shell)| shell.is_some()).count() >= 6, "{waits:?}");
        let said = typing.cluster.kubectl.printed_since(0);
        assert!(said.contains("\n1\n1\n") && said.contains("\ntmp\n"), "{said}");
        let (expected, end) = (digests(&typing), typing.history().len() as u64);
        let mut random = Random::new(seed);
        for _ in 0..8 {
            let step = random.below(end + 1);
            assert_eq!(typing.goto(step), step, "seed {seed}");
            same(&typing, &expected[..step as usize], &format!("seed {seed}, step {step}"));
        }
        for (step, shell) in waits.iter().rev() {
            typing.goto(*step);
            assert_eq!(typing.cluster.shell(), *shell, "seed {seed}, step {step}");
        }
        typing.goto(end);
        assert_eq!(typing.cluster.kubectl.printed_since(0), said);
        let opened = file::open(&file::save(&typing), None).unwrap_or_else(|error| panic!("{error}"));
        same(&opened, &expected, "saved and opened");
    }
}

/// A path as a shell's line has it, on any system.
fn slashed(path: &std::path::Path) -> String {
    path.display().to_string().replace('\\', "/")
}

/// What is in a file is no part of a run until it is read; from then on it is, even if the file is changed or removed.
#[test]
fn what_was_read_is_read_again() {
    let folder = std::env::temp_dir().join(format!("kubestep-travel-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("base")).expect("a temporary folder can be made");
    let (file, base) = (folder.join("motto"), folder.join("base"));
    let write = |path: &std::path::Path, text: &str| std::fs::write(path, text).expect("it can be written");
    write(&file, "  first\n\n\u{7f}\tümlaut: \"#'\n");
    write(&base.join("kustomization.yaml"), "resources: [ns.yaml]\n");
    write(&base.join("ns.yaml"), "{apiVersion: v1, kind: Namespace, metadata: {name: first}}");
    let mut session = session(&Scenario::find("pod").expect("it is shipped"));
    session.goto(20);
    let type_all = |session: &mut Session| {
        session.act(&format!("type kubectl create configmap a --from-file={}", slashed(&file))).expect("it is typed");
        session.go(&mut Goal::Quiet, 0);
        session.act(&format!("type kubectl apply -k {}", slashed(&base))).expect("it is typed");
        session.go(&mut Goal::Quiet, 0);
        digests(session)
    };
    let first = type_all(&mut session);
    let (saved, end) = (file::save(&session), first.len() as u64);
    std::fs::remove_file(&file).expect("it is there");
    write(&base.join("ns.yaml"), "{apiVersion: v1, kind: Namespace, metadata: {name: second}}");

    session.goto(10);
    session.goto(end);
    same(&session, &first, "there and back");
    let opened = file::open(&saved, None).unwrap_or_else(|error| panic!("{error}\n{saved}"));
    same(&opened, &first, "a saved session");

    // The same choices once more read what is there now, on a course of their own.
    session.goto(20);
    let second = type_all(&mut session);
    assert_ne!(first, second);
    assert!(session.rehearse(&["get".into(), "ns".into(), "second".into()]).is_ok());
    assert!(session.switch(0));
    session.goto(end);
    same(&session, &first, "the course that was left");
    assert!(session.switch(0));
    session.goto(second.len() as u64);
    same(&session, &second, "the other one");
    std::fs::remove_dir_all(&folder).expect("it is there");
}
