//! Against recording 11: what follows from probes and readiness gates.

use k8s_openapi::api::core::v1::{Lifecycle, LifecycleHandler, PodReadinessGate, Probe, SleepAction};

use super::harness::{Harness, probe, spec};

#[test]
fn readiness_follows_the_probe() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    spec.containers[0].readiness_probe = Some(Probe { failure_threshold: Some(2), ..probe("/run/ready", 2) });
    harness.create_pod("web", spec);
    harness.run(2_000);
    let expected = ["patch Running TTFFT running gen=1", "event Started", "event Unhealthy", "patch events"];
    assert_eq!(harness.lines()[10..], expected, "probed at once and at the next tick: {:#?}", harness.calls);
    harness.runtime.borrow_mut().files.push("/run/ready".into());
    harness.mark();
    harness.run(6_000);
    assert_eq!(harness.lines(), ["get pods default/web", "patch Running TTTTT running gen=1"]);
    harness.runtime.borrow_mut().files.clear();
    harness.mark();
    harness.run(7_000);
    let expected = ["patch events", "patch events", "get pods default/web", "patch Running TTFFT running gen=1"];
    assert!(
        harness.lines().starts_with(&expected.map(String::from)),
        "two failures make it unready: {:#?}",
        harness.calls
    );
}

#[test]
fn a_probe_that_cannot_be_made_is_tried_three_times() {
    let mut harness = Harness::new();
    harness.runtime.borrow_mut().files.push("/run/ready".into());
    let mut spec = spec("web", "nginx:1.27");
    let probe = Probe { failure_threshold: Some(1), ..probe("/run/ready", 2) };
    spec.containers[0].readiness_probe = Some(probe);
    harness.create_pod("web", spec);
    harness.run(4_000);
    harness.mark();
    harness.runtime.borrow_mut().calls.clear();
    harness.runtime.borrow_mut().broken = true;
    harness.run(2_500);
    let tries = harness.runtime.borrow().calls.iter().filter(|call| *call == "ExecSync").count();
    assert_eq!((harness.lines(), tries), (vec!["event Unhealthy".to_owned()], 3), "and it counts for nothing");
}

/// An evicted pod is Failed while its containers still have their time.
#[test]
fn nobody_asks_a_pod_that_has_ended_whether_it_is_ready() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    spec.active_deadline_seconds = Some(4);
    let sleep = SleepAction { seconds: 20 };
    spec.containers[0].lifecycle = Some(Lifecycle {
        pre_stop: Some(LifecycleHandler { sleep: Some(sleep), ..LifecycleHandler::default() }),
        ..Lifecycle::default()
    });
    spec.containers[0].readiness_probe = Some(probe("/run/ready", 1));
    harness.create_pod("web", spec);
    harness.run(7_000);
    harness.runtime.borrow_mut().calls.clear();
    harness.run(5_000);
    assert!(!harness.runtime.borrow().calls.contains(&"ExecSync".to_owned()));
}

#[test]
fn readiness_follows_the_gates() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    spec.readiness_gates = Some(vec![PodReadinessGate { condition_type: "example.com/on".into() }]);
    harness.create_pod("web", spec);
    harness.run(5_000);
    let ready = |harness: &mut Harness| {
        let status = harness.status("web");
        let ready = status.conditions.iter().flatten().find(|c| c.type_ == "Ready").cloned().unwrap();
        (ready.status, ready.message.unwrap_or_default())
    };
    let none = "corresponding condition of pod readiness gate \"example.com/on\" does not exist.";
    assert_eq!(ready(&mut harness), ("False".into(), none.into()));
    harness.turn_gate("web", "example.com/on", "True");
    harness.run(1_500);
    assert_eq!(harness.lines(), ["get pods default/web", "patch Running TTTTTT running gen=1"]);
    assert_eq!(ready(&mut harness).0, "True");
    harness.turn_gate("web", "example.com/on", "False");
    harness.run(1_500);
    let closed = "the status of pod readiness gate \"example.com/on\" is not \"True\", but False";
    assert_eq!(ready(&mut harness), ("False".into(), closed.into()));
}

#[test]
fn a_failed_liveness_probe_restarts_the_container() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    spec.containers[0].liveness_probe = Some(Probe { failure_threshold: Some(2), ..probe("/run/alive", 2) });
    harness.create_pod("web", spec);
    harness.run(6_000);
    let expected = [
        "event Started",
        "event Unhealthy",
        "patch events",
        "event Killing",
        "event Pulled",
        "patch events",
        "get pods default/web",
        "patch Running TTTTT running gen=1",
        "patch events",
    ];
    assert_eq!(harness.lines()[11..20], expected, "{:#?}", harness.calls);
    assert_eq!(harness.container("web").restart_count, 1);
}

/// The probe finds that the container does not run, and that leads to a sync in the middle of the wait.
#[test]
fn a_crash_of_what_was_ready_shows_its_back_off_sooner() {
    let mut harness = Harness::new();
    harness.runtime.borrow_mut().lives.insert("web".into(), (3_000, 1));
    harness.runtime.borrow_mut().files.push("/run/ready".into());
    let mut spec = spec("web", "nginx:1.27");
    spec.containers[0].readiness_probe = Some(probe("/run/ready", 3));
    harness.create_pod("web", spec);
    harness.run(14_000);
    let told = harness.lines_with("patch Running");
    let [.., ready, ended, waits] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(ready, "patch Running TTTTT running gen=1", "{:#?}", harness.calls);
    assert_eq!(ended, "patch Running TTFFT exit 1 gen=1", "{:#?}", harness.calls);
    assert_eq!(waits, "patch Running TTFFT CrashLoopBackOff gen=1", "{:#?}", harness.calls);
}
