//! What becomes of a node and its pods when its kubelet, or the whole machine, is started again.

use k8s_openapi::api::core::v1::{Container, Probe};

use super::harness::{Harness, probe, spec};

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
    let events = harness.lines_with("event");
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
fn a_restarted_kubelet_adopts_what_runs() {
    let mut harness = Harness::new();
    harness.create_pod("web", spec("web", "nginx:1.27"));
    harness.run(5_000);
    let before = harness.pod("web");
    harness.stop_kubelet();
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
        let twice = |file: &str| Probe { failure_threshold: Some(2), ..probe(file, 3) };
        spec.containers[0].startup_probe = Some(twice("/run/started"));
        spec.containers[0].readiness_probe = Some(twice("/run/ready"));
        harness.runtime.borrow_mut().files = vec!["/run/started".into(), "/run/ready".into()];
        harness.create_pod("web", spec);
        harness.run(20_000);
        let container = harness.container("web");
        assert_eq!((container.ready, container.started), (true, Some(true)));
        harness.stop_kubelet();
        harness.mark();
        if !ready {
            harness.runtime.borrow_mut().files.pop();
        }
        harness.start_kubelet();
        harness.run(20_000);
        let patches = harness.lines_with("patch R");
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
    harness.stop_kubelet();
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
    let status = harness.status("web");
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
        harness.stop_kubelet();
        harness.runtime.borrow_mut().reboot();
        harness.start_kubelet();
        harness.run(130_000);
        assert_eq!(harness.runtime.borrow().sandboxes(), sandboxes);
    }
    assert_eq!(harness.phase("web")[0], "Running");
    harness.delete_pod("web");
    harness.run(5_000);
    assert!(harness.runtime.borrow().is_empty());
}

#[test]
fn after_a_power_cut_containers_are_new_and_counted_as_restarts() {
    let mut harness = Harness::new();
    harness.create_pod("web", spec("web", "nginx:1.27"));
    harness.run(5_000);
    harness.stop_kubelet();
    harness.runtime.borrow_mut().clear();
    harness.mark();
    harness.start_kubelet();
    harness.run(5_000);
    let patches = harness.lines_with("patch R");
    let expected = [
        "patch Running FTFFT ContainerCreating gen=1",
        "patch Running TTFFT ContainerCreating gen=1",
        "patch Running TTTTT running gen=1",
    ];
    assert_eq!(patches, expected, "{:#?}", harness.calls);
    assert_eq!(harness.container("web").restart_count, 1);
}
