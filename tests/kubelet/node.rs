//! The kubelet against recordings 01, 05, 07, 10 and 11: what it sends to the API server, in order.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, Container, ExecAction, Lifecycle, LifecycleHandler, PodReadinessGate, PodSecurityContext,
    Probe, SleepAction, Sysctl, Volume,
};

use crate::harness::{Harness, spec};

/// A pod that starts, its image being pulled: recording 01. Events may come a little earlier or later.
const START: [&str; 11] = [
    "watch configmaps in default",
    "get pods default/web",
    "patch Pending FTFFT ContainerCreating gen=1",
    "create serviceaccounts/token default/default",
    "get pods default/web",
    "event Pulling",
    "patch Pending TTFFT ContainerCreating gen=1",
    "event Pulled",
    "get pods default/web",
    "event Created",
    "patch Running TTTTT running gen=1",
];

#[test]
fn a_normal_start_and_a_graceful_end() {
    let mut harness = Harness::new();
    harness.create_pod("web", spec("web", "nginx:1.27"));
    harness.run(5_000);
    assert_eq!(harness.lines()[..11], START, "{:#?}", harness.calls);
    assert_eq!(harness.lines()[11..], ["event Started"]);
    let status = harness.pod("web").status.clone().unwrap();
    let container = &status.container_statuses.as_ref().unwrap()[0];
    assert_eq!((container.ready, container.started), (true, Some(true)));
    assert_eq!(status.pod_ip.as_deref(), Some("10.244.0.2"));
    harness.delete_pod("web");
    harness.run(5_000);
    let expected = [
        "get pods default/web",
        "event Killing",
        "patch Running TTTTT running gen=2",
        "get pods default/web",
        "patch Succeeded FTFFT exit 0 gen=2",
        "get pods default/web",
        "delete pods default/web",
    ];
    assert_eq!(harness.lines(), expected, "{:#?}", harness.calls);
    assert!(harness.runtime.borrow().is_empty(), "nothing of the pod is left in the runtime");
}

#[test]
fn a_missing_image_alternates_between_error_and_back_off() {
    let mut harness = Harness::new();
    harness.create_pod("web", spec("web", "nginx:no-such-tag"));
    harness.run(30_000);
    let expected = [
        // The first pull fails; the status does not say so yet.
        "event Failed",
        "event Failed",
        // The relist has seen the sandbox: a sync that may not pull again.
        "get pods default/web",
        "event BackOff",
        "patch Pending TTFFT ErrImagePull gen=1",
        "event Failed",
        // The back-off is over: what was said last, and the next pull.
        "get pods default/web",
        "patch events",
        "patch Pending TTFFT ImagePullBackOff gen=1",
        "patch events",
        "patch events",
        // Ten seconds and some after that, within a back-off of twenty.
        "get pods default/web",
        "patch events",
        "patch Pending TTFFT ErrImagePull gen=1",
        "patch events",
    ];
    assert_eq!(harness.lines()[7..], expected, "{:#?}", harness.calls);
    harness.delete_pod("web");
    harness.run(5_000);
    let expected = [
        "get pods default/web",
        "patch Pending TTFFT ContainerCreating gen=2",
        "get pods default/web",
        "patch Pending FTFFT ContainerCreating gen=2",
        "get pods default/web",
        "patch Failed FTFFT exit 137 gen=2",
        "delete pods default/web",
    ];
    assert_eq!(harness.lines(), expected, "{:#?}", harness.calls);
}

#[test]
fn a_crash_shows_its_back_off_only_when_it_ends() {
    let mut harness = Harness::new();
    harness.runtime.borrow_mut().lives.insert("web".into(), (1_000, 1));
    harness.create_pod("web", spec("web", "nginx:1.27"));
    harness.run(30_000);
    let expected = [
        "event Started",
        // The first restart is immediate.
        "get pods default/web",
        "event Pulled",
        "patch Running TTFFT exit 1 gen=1",
        "patch events",
        "get pods default/web",
        "patch Running TTTTT running gen=1",
        "patch events",
        // The second waits ten seconds from the container's end, and is shown as ended all the while.
        "get pods default/web",
        "event BackOff",
        "patch Running TTFFT exit 1 gen=1",
        "get pods default/web",
        "patch events",
        "patch Running TTFFT CrashLoopBackOff gen=1",
        "patch events",
        "get pods default/web",
        "patch Running TTTTT running gen=1",
        "patch events",
        "get pods default/web",
        "patch events",
        "patch Running TTFFT exit 1 gen=1",
    ];
    assert_eq!(harness.lines()[11..], expected, "{:#?}", harness.calls);
    let status = harness.pod("web").status.clone().unwrap();
    let container = &status.container_statuses.as_ref().unwrap()[0];
    assert_eq!(container.restart_count, 2);
}

/// The probe finds that the container does not run, and that leads to a sync in the middle of the wait.
#[test]
fn a_crash_of_what_was_ready_shows_its_back_off_sooner() {
    let mut harness = Harness::new();
    harness.runtime.borrow_mut().lives.insert("web".into(), (3_000, 1));
    harness.runtime.borrow_mut().files.push("/run/ready".into());
    let mut spec = spec("web", "nginx:1.27");
    let exec = ExecAction { command: Some(vec!["cat".into(), "/run/ready".into()]) };
    spec.containers[0].readiness_probe = Some(Probe { exec: Some(exec), period_seconds: Some(3), ..Probe::default() });
    harness.create_pod("web", spec);
    harness.run(14_000);
    let told: Vec<String> = harness.lines().into_iter().filter(|line| line.starts_with("patch Running")).collect();
    let [.., ready, ended, waits] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(ready, "patch Running TTTTT running gen=1", "{:#?}", harness.calls);
    assert_eq!(ended, "patch Running TTFFT exit 1 gen=1", "{:#?}", harness.calls);
    assert_eq!(waits, "patch Running TTFFT CrashLoopBackOff gen=1", "{:#?}", harness.calls);
}

#[test]
fn a_pod_that_ends_by_itself_is_terminal_a_tick_later() {
    let mut harness = Harness::new();
    harness.runtime.borrow_mut().lives.insert("web".into(), (3_000, 0));
    let mut spec = spec("web", "nginx:1.27");
    spec.restart_policy = Some("Never".into());
    harness.create_pod("web", spec);
    harness.run(9_000);
    let expected = [
        "event Started",
        "get pods default/web",
        "patch Running TTFFT exit 0 gen=1",
        "get pods default/web",
        "patch Succeeded FTFFT exit 0 gen=1",
        "get pods default/web",
    ];
    assert_eq!(harness.lines()[11..], expected, "{:#?}", harness.calls);
}

#[test]
fn nothing_is_asked_of_a_pod_that_is_over_until_it_may_go() {
    let over = || {
        let mut harness = Harness::new();
        harness.runtime.borrow_mut().lives.insert("web".into(), (1_000, 0));
        let mut spec = spec("web", "nginx:1.27");
        spec.restart_policy = Some("Never".into());
        harness.create_pod("web", spec);
        harness.run(9_000);
        harness
    };
    let nothing: [&str; 0] = [];
    let mut harness = over();
    harness
        .change_pod("web", |pod| _ = pod.metadata.labels.get_or_insert_default().insert("seen".into(), "yes".into()));
    harness.run(20_000);
    assert_eq!(harness.lines(), nothing, "{:#?}", harness.calls);
    harness.delete_pod("web");
    harness.run(20_000);
    assert_eq!(harness.lines(), nothing, "{:#?}", harness.calls);
    // One that somebody holds is looked at every ten seconds, and removed as far as the kubelet goes; once.
    let mut harness = over();
    harness.change_pod("web", |pod| pod.metadata.finalizers = Some(vec!["example.com/hold".into()]));
    harness.delete_pod("web");
    harness.run(9_000);
    assert_eq!(harness.lines(), nothing, "{:#?}", harness.calls);
    harness.run(30_000);
    assert_eq!(harness.lines(), ["get pods default/web", "delete pods default/web"], "{:#?}", harness.calls);
    harness.change_pod("web", |pod| pod.metadata.finalizers = None);
    harness.run(20_000);
    assert_eq!(harness.lines(), nothing, "{:#?}", harness.calls);
}

#[test]
fn a_pod_whose_time_is_over_is_stopped_and_has_failed() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    spec.active_deadline_seconds = Some(4);
    harness.create_pod("web", spec);
    harness.run(9_000);
    let expected = [
        "event Started",
        "event DeadlineExceeded",
        // The status is Failed, and is not told as long as something runs.
        "get pods default/web",
        "patch Running TTFFT running gen=1",
    ];
    assert_eq!(harness.lines()[11..15], expected, "{:#?}", harness.calls);
    let status = harness.pod("web").status.clone().unwrap();
    let said = [&status.phase, &status.reason, &status.message].map(|text| text.as_deref().unwrap_or_default());
    let message = "Pod was active on the node longer than the specified deadline";
    assert_eq!(said, ["Failed", "DeadlineExceeded", message]);
    let killed = harness.calls.iter().filter(|line| line.contains("Killing"));
    assert_eq!(killed.count(), 1, "it is not started again: {:#?}", harness.calls);
}

#[test]
fn readiness_follows_the_probe() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    let exec = ExecAction { command: Some(vec!["cat".into(), "/run/ready".into()]) };
    spec.containers[0].readiness_probe =
        Some(Probe { exec: Some(exec), period_seconds: Some(2), failure_threshold: Some(2), ..Probe::default() });
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
    let exec = ExecAction { command: Some(vec!["cat".into(), "/run/ready".into()]) };
    let probe = Probe { exec: Some(exec), period_seconds: Some(2), failure_threshold: Some(1), ..Probe::default() };
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

#[test]
fn a_sandbox_that_fails_is_told_of_unless_the_pod_is_to_end() {
    let failed = "event FailedCreatePodSandBox".to_owned();
    for deleted in [false, true] {
        let mut harness = Harness::new();
        harness.runtime.borrow_mut().no_network = true;
        harness.create_pod("web", spec("web", "nginx:1.27"));
        harness.run(2_000);
        if deleted {
            harness.delete_pod("web");
        }
        harness.run(10_000);
        assert_eq!(harness.lines().contains(&failed), !deleted, "{:#?}", harness.calls);
    }
}

#[test]
fn a_lease_that_others_have_touched_is_renewed_at_once() {
    let mut harness = Harness::new();
    let bare = |harness: &Harness| -> Vec<String> {
        let leases = harness.calls.iter().filter(|line| line.contains("lease"));
        leases.filter_map(|line| Some(line.split(' ').nth(1)?.to_owned())).collect()
    };
    harness.touch_lease();
    harness.run(10_100);
    assert_eq!(bare(&harness), ["update", "get", "update"], "{:#?}", harness.calls);
    harness.delete_lease();
    harness.run(10_100);
    assert_eq!(
        bare(&harness),
        ["update", "get", "create", "update"],
        "it is not there, nor is its uid: {:#?}",
        harness.calls
    );
    harness.mark();
    harness.run(10_100);
    assert_eq!(bare(&harness), ["update"]);
}

#[test]
fn a_kubelet_that_comes_back_tells_of_its_node_anew() {
    let mut harness = Harness::new();
    harness.mark();
    harness.start_kubelet();
    harness.run(3_000);
    let expected = ["Starting", "NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"];
    let events: Vec<String> = harness.lines().into_iter().filter(|line| line.starts_with("event")).collect();
    assert_eq!(events, expected.map(|reason| format!("event {reason}")), "{:#?}", harness.calls);
}

#[test]
fn a_node_that_goes_while_it_is_taken_over_is_made_anew_a_little_later() {
    let mut harness = Harness::new();
    harness.mark();
    harness.start_kubelet();
    harness.run_until("create nodes node-1");
    harness.delete_node();
    harness.run(1_000);
    let nodes = harness.calls.iter().filter(|line| line.ends_with(" nodes node-1"));
    let calls: Vec<(u64, &str)> = nodes
        .filter_map(|line| line.split_once(' '))
        .map(|(ms, call)| (ms.parse().unwrap(), call))
        .filter(|(_, call)| !call.starts_with("patch"))
        .collect();
    let [(first, "create nodes node-1"), (_, "get nodes node-1"), (again, "create nodes node-1"), ..] = calls[..]
    else {
        panic!("{calls:?}");
    };
    assert!((200..220).contains(&(again - first)), "it waits twice as long as the first time: {calls:?}");
}

#[test]
fn a_pod_that_would_change_the_nodes_kernel_is_refused() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    let sysctl = Sysctl { name: "net.core.somaxconn".into(), value: "1024".into() };
    spec.security_context = Some(PodSecurityContext { sysctls: Some(vec![sysctl]), ..PodSecurityContext::default() });
    harness.create_pod("web", spec);
    harness.run(3_000);
    let status = harness.pod("web").status.clone().unwrap();
    let said = [&status.phase, &status.reason, &status.message].map(|text| text.as_deref().unwrap_or_default());
    let message = "Pod was rejected: forbidden sysctl: \"net.core.somaxconn\" not allowlisted";
    assert_eq!(said, ["Failed", "SysctlForbidden", message]);
}

/// The scheduler may know of a node's label before its kubelet does.
#[test]
fn a_pod_that_does_not_fit_the_node_is_compared_with_the_node_as_it_is_now() {
    for label in ["disk", "other"] {
        let fits = label == "disk";
        let mut harness = Harness::new();
        let mut picky = spec("picky", "nginx:1.27");
        picky.node_selector = Some([("disk".into(), "ssd".into())].into());
        harness.create_pod_and_label("picky", picky, label, "ssd");
        harness.run(5_000);
        let phase = harness.pod("picky").status.as_ref().unwrap().phase.clone().unwrap();
        assert_eq!(phase, if fits { "Running" } else { "Failed" }, "{:#?}", harness.calls);
        assert_eq!(harness.lines().contains(&"event NodeAffinity".to_owned()), !fits);
        assert!(harness.calls[0].ends_with("get nodes node-1"), "{:#?}", harness.calls);
        harness.create_pod("web", spec("web", "nginx:1.27"));
        harness.run(5_000);
        assert_eq!(
            harness.pod("web").status.as_ref().unwrap().phase.as_deref(),
            Some("Running"),
            "the next has its turn"
        );
    }
}

/// An evicted pod is Failed while its containers still have their time.
#[test]
fn nobody_asks_a_pod_that_has_ended_whether_it_is_ready() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    spec.active_deadline_seconds = Some(4);
    let exec = ExecAction { command: Some(vec!["cat".into(), "/run/ready".into()]) };
    let sleep = SleepAction { seconds: 20 };
    spec.containers[0].lifecycle = Some(Lifecycle {
        pre_stop: Some(LifecycleHandler { sleep: Some(sleep), ..LifecycleHandler::default() }),
        ..Lifecycle::default()
    });
    spec.containers[0].readiness_probe = Some(Probe { exec: Some(exec), period_seconds: Some(1), ..Probe::default() });
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
        let status = harness.pod("web").status.clone().unwrap();
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
fn a_missing_config_map_holds_the_pod() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    let source = ConfigMapVolumeSource { name: "settings".into(), ..ConfigMapVolumeSource::default() };
    let volume = Volume { name: "config".into(), config_map: Some(source), ..Volume::default() };
    spec.volumes.as_mut().unwrap().push(volume);
    harness.create_pod("web", spec);
    harness.run(5_000);
    let expected = ["event FailedMount", "patch events", "patch events", "patch events"];
    assert_eq!(harness.lines()[5..], expected, "tried after 0.5, 1 and 2 seconds: {:#?}", harness.calls);
    harness.create_config_map("settings");
    harness.run(5_000);
    assert_eq!(harness.pod("web").status.as_ref().unwrap().phase.as_deref(), Some("Running"));
}

#[test]
fn a_pod_that_waits_for_a_volume_can_be_deleted() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    let source = ConfigMapVolumeSource { name: "settings".into(), ..ConfigMapVolumeSource::default() };
    let volume = Volume { name: "config".into(), config_map: Some(source), ..Volume::default() };
    spec.volumes.as_mut().unwrap().push(volume);
    harness.create_pod("web", spec);
    harness.run(40_000);
    harness.delete_pod("web");
    harness.run(3_000);
    let lines = harness.lines();
    assert_eq!(lines.last().map(String::as_str), Some("delete pods default/web"), "{:#?}", harness.calls);
}

#[test]
fn a_restarted_kubelet_adopts_what_runs() {
    let mut harness = Harness::new();
    harness.create_pod("web", spec("web", "nginx:1.27"));
    harness.run(5_000);
    let before = harness.pod("web");
    let old = harness.kubelet;
    harness.engine.remove(old);
    harness.mark();
    harness.runtime.borrow_mut().calls.clear();
    harness.start_kubelet();
    harness.run(5_000);
    assert_eq!(harness.pod("web").status, before.status);
    let calls = harness.runtime.borrow().calls.clone();
    let changes =
        calls.iter().filter(|call| !call.ends_with("Status") && !call.starts_with("List") && *call != "Version");
    assert_eq!(changes.count(), 0, "{calls:#?}");
    harness.delete_pod("web");
    harness.run(3_000);
    assert!(harness.runtime.borrow().is_empty());
}

/// What the probes have found is not kept; but a container that was ready stays so until a probe says otherwise.
#[test]
fn a_restarted_kubelet_does_not_doubt_what_was_ready() {
    for (ready, changes) in [(true, 0), (false, 1)] {
        let mut harness = Harness::new();
        let mut spec = spec("web", "nginx:1.27");
        let probe = |file: &str| Probe {
            exec: Some(ExecAction { command: Some(vec!["cat".into(), file.into()]) }),
            period_seconds: Some(3),
            failure_threshold: Some(2),
            ..Probe::default()
        };
        spec.containers[0].startup_probe = Some(probe("/run/started"));
        spec.containers[0].readiness_probe = Some(probe("/run/ready"));
        harness.runtime.borrow_mut().files = vec!["/run/started".into(), "/run/ready".into()];
        harness.create_pod("web", spec);
        harness.run(20_000);
        let before = harness.pod("web");
        let statuses = before.status.as_ref().unwrap().container_statuses.as_ref().unwrap();
        assert!(statuses[0].ready && statuses[0].started == Some(true));
        let old = harness.kubelet;
        harness.engine.remove(old);
        harness.mark();
        if !ready {
            harness.runtime.borrow_mut().files.pop();
        }
        harness.start_kubelet();
        harness.run(20_000);
        let patches: Vec<String> = harness.lines().into_iter().filter(|line| line.starts_with("patch R")).collect();
        assert_eq!(patches.len(), changes, "{patches:?}");
        let unready = patches.iter().all(|line| line.starts_with("patch Running TTFFT"));
        assert!(unready, "it has started all the same: {patches:?}");
    }
}

#[test]
fn in_a_new_sandbox_everything_runs_again() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    let init = |name: &str| Container { name: name.into(), ..spec.containers[0].clone() };
    spec.init_containers = Some(vec![init("one"), init("two")]);
    for name in ["one", "two"] {
        harness.runtime.borrow_mut().lives.insert(name.into(), (500, 0));
    }
    harness.create_pod("web", spec);
    harness.run(8_000);
    let old = harness.kubelet;
    harness.engine.remove(old);
    harness.runtime.borrow_mut().reboot();
    harness.runtime.borrow_mut().calls.clear();
    harness.mark();
    harness.start_kubelet();
    harness.run(20_000);
    let calls = harness.runtime.borrow().calls.clone();
    let expected = ["StopPodSandbox", "RunPodSandbox", "CreateContainer", "CreateContainer", "CreateContainer"];
    let made: Vec<&str> = calls.iter().map(String::as_str).filter(|call| expected.contains(call)).collect();
    assert_eq!(made, expected, "{:#?}", harness.calls);
    assert!(harness.lines().contains(&"event SandboxChanged".to_owned()), "{:#?}", harness.calls);
    let pod = harness.pod("web");
    let status = pod.status.as_ref().unwrap();
    assert_eq!(status.phase.as_deref(), Some("Running"));
    let all = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    let all: Vec<_> = all.map(|c| (c.name.as_str(), c.ready, c.restart_count)).collect();
    assert_eq!(all, [("one", true, 1), ("two", true, 1), ("web", true, 1)]);
}

/// The last end of a container is kept, and the sandbox that it was in.
#[test]
fn a_sandbox_goes_when_nothing_is_in_it_any_more() {
    let mut harness = Harness::new();
    harness.create_pod("web", spec("web", "nginx:1.27"));
    harness.run(5_000);
    for sandboxes in [2, 2, 2] {
        let old = harness.kubelet;
        harness.engine.remove(old);
        harness.runtime.borrow_mut().reboot();
        harness.start_kubelet();
        harness.run(130_000);
        assert_eq!(harness.runtime.borrow().sandboxes(), sandboxes);
    }
    assert_eq!(harness.pod("web").status.as_ref().unwrap().phase.as_deref(), Some("Running"));
    harness.delete_pod("web");
    harness.run(5_000);
    assert!(harness.runtime.borrow().is_empty());
}

#[test]
fn init_containers_run_in_order_and_sidecars_stop_last() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    let mut setup = spec.containers[0].clone();
    setup.name = "setup".into();
    let mut proxy = setup.clone();
    proxy.name = "proxy".into();
    proxy.restart_policy = Some("Always".into());
    spec.init_containers = Some(vec![setup, proxy]);
    harness.runtime.borrow_mut().lives.insert("setup".into(), (1_500, 0));
    harness.create_pod("web", spec);
    harness.run(8_000);
    let patches: Vec<String> = harness.lines().into_iter().filter(|line| line.starts_with("patch P")).collect();
    let expected = [
        "patch Pending FFFFT PodInitializing gen=1",
        "patch Pending TFFFT PodInitializing gen=1",
        // setup runs, setup has ended …
        "patch Pending TFFFT PodInitializing gen=1",
        "patch Pending TFFFT PodInitializing gen=1",
        // … and with the sidecar up, initialization is over.
        "patch Pending TTFFT PodInitializing gen=1",
    ];
    assert_eq!(patches, expected, "{:#?}", harness.calls);
    assert_eq!(harness.pod("web").status.as_ref().unwrap().phase.as_deref(), Some("Running"));
    harness.delete_pod("web");
    harness.run(5_000);
    let killed = harness.calls.iter().filter(|line| line.contains("Killing"));
    let times: Vec<u64> = killed.filter_map(|line| line.split_once(' ')?.0.parse().ok()).collect();
    assert!(times.len() == 2 && times[1] - times[0] < 50, "they hear of it together: {:#?}", harness.calls);
    assert!(harness.runtime.borrow().is_empty());
}

#[test]
fn a_failed_liveness_probe_restarts_the_container() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    let exec = ExecAction { command: Some(vec!["cat".into(), "/run/alive".into()]) };
    spec.containers[0].liveness_probe =
        Some(Probe { exec: Some(exec), period_seconds: Some(2), failure_threshold: Some(2), ..Probe::default() });
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
    let status = harness.pod("web").status.clone().unwrap();
    assert_eq!(status.container_statuses.as_ref().unwrap()[0].restart_count, 1);
}

#[test]
fn a_pod_whose_object_is_gone_is_stopped_all_the_same() {
    let mut harness = Harness::new();
    harness.create_pod("web", spec("web", "nginx:1.27"));
    harness.run(5_000);
    harness.force_delete_pod("web");
    harness.run(5_000);
    // It is marked first: the kubelet wants to say that it goes, and finds nobody to say it of.
    assert_eq!(harness.lines(), ["get pods default/web", "event Killing", "get pods default/web"]);
    assert!(harness.runtime.borrow().is_empty());
}

#[test]
fn after_a_power_cut_containers_are_new_and_counted_as_restarts() {
    let mut harness = Harness::new();
    harness.create_pod("web", spec("web", "nginx:1.27"));
    harness.run(5_000);
    let old = harness.kubelet;
    harness.engine.remove(old);
    harness.runtime.borrow_mut().clear();
    harness.mark();
    harness.start_kubelet();
    harness.run(5_000);
    let patches: Vec<String> = harness.lines().into_iter().filter(|line| line.starts_with("patch R")).collect();
    let expected = [
        "patch Running FTFFT ContainerCreating gen=1",
        "patch Running TTFFT ContainerCreating gen=1",
        "patch Running TTTTT running gen=1",
    ];
    assert_eq!(patches, expected, "{:#?}", harness.calls);
    let status = harness.pod("web").status.clone().unwrap();
    assert_eq!(status.container_statuses.as_ref().unwrap()[0].restart_count, 1);
}
