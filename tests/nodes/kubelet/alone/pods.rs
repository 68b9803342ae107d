//! Against recordings 01, 05, 07 and 10: the life of a pod, from its binding to its end.

use k8s_openapi::api::core::v1::{ConfigMapVolumeSource, PodSecurityContext, Sysctl, Volume};

use super::harness::{Harness, spec};

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
    let container = harness.container("web");
    assert_eq!((container.ready, container.started), (true, Some(true)));
    assert_eq!(harness.status("web").pod_ip.as_deref(), Some("10.244.0.2"));
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
    assert_eq!(harness.container("web").restart_count, 2);
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
    // One that a finalizer holds is looked at every ten seconds, and removed as far as the kubelet goes; once.
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
    let message = "Pod was active on the node longer than the specified deadline";
    assert_eq!(harness.phase("web"), ["Failed", "DeadlineExceeded", message]);
    let killed = harness.calls.iter().filter(|line| line.contains("Killing"));
    assert_eq!(killed.count(), 1, "it is not started again: {:#?}", harness.calls);
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
fn a_pod_that_would_change_the_nodes_kernel_is_refused() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    let sysctl = Sysctl { name: "net.core.somaxconn".into(), value: "1024".into() };
    spec.security_context = Some(PodSecurityContext { sysctls: Some(vec![sysctl]), ..PodSecurityContext::default() });
    harness.create_pod("web", spec);
    harness.run(3_000);
    let message = "Pod was rejected: forbidden sysctl: \"net.core.somaxconn\" not allowlisted";
    assert_eq!(harness.phase("web"), ["Failed", "SysctlForbidden", message]);
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
        assert_eq!(harness.phase("picky")[0], if fits { "Running" } else { "Failed" }, "{:#?}", harness.calls);
        assert_eq!(harness.lines().contains(&"event NodeAffinity".to_owned()), !fits);
        assert!(harness.calls[0].ends_with("get nodes node-1"), "{:#?}", harness.calls);
        harness.create_pod("web", spec("web", "nginx:1.27"));
        harness.run(5_000);
        assert_eq!(harness.phase("web")[0], "Running", "the next has its turn");
    }
}

#[test]
fn a_missing_config_map_holds_the_pod() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    spec.volumes.get_or_insert_default().push(settings());
    harness.create_pod("web", spec);
    harness.run(5_000);
    let expected = ["event FailedMount", "patch events", "patch events", "patch events"];
    assert_eq!(harness.lines()[5..], expected, "tried after 0.5, 1 and 2 seconds: {:#?}", harness.calls);
    harness.create_config_map("settings");
    harness.run(5_000);
    assert_eq!(harness.phase("web")[0], "Running");
}

#[test]
fn a_pod_that_waits_for_a_volume_can_be_deleted() {
    let mut harness = Harness::new();
    let mut spec = spec("web", "nginx:1.27");
    spec.volumes.get_or_insert_default().push(settings());
    harness.create_pod("web", spec);
    harness.run(40_000);
    harness.delete_pod("web");
    harness.run(3_000);
    let lines = harness.lines();
    assert_eq!(lines.last().map(String::as_str), Some("delete pods default/web"), "{:#?}", harness.calls);
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
    let patches = harness.lines_with("patch P");
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
    assert_eq!(harness.phase("web")[0], "Running");
    harness.delete_pod("web");
    harness.run(5_000);
    let killed = harness.calls.iter().filter(|line| line.contains("Killing"));
    let times: Vec<u64> = killed.filter_map(|line| line.split_once(' ')?.0.parse().ok()).collect();
    assert!(times.len() == 2 && times[1] - times[0] < 50, "they hear of it together: {:#?}", harness.calls);
    assert!(harness.runtime.borrow().is_empty());
}

#[test]
fn a_pod_whose_object_is_gone_is_stopped_all_the_same() {
    let mut harness = Harness::new();
    harness.create_pod("web", spec("web", "nginx:1.27"));
    harness.run(5_000);
    harness.force_delete_pod("web");
    harness.run(5_000);
    // It is marked first: the kubelet wants to write its status, and finds no object.
    assert_eq!(harness.lines(), ["get pods default/web", "event Killing", "get pods default/web"]);
    assert!(harness.runtime.borrow().is_empty());
}

/// A volume with the files of the ConfigMap `settings`.
fn settings() -> Volume {
    let source = ConfigMapVolumeSource { name: "settings".into(), ..ConfigMapVolumeSource::default() };
    Volume { name: "config".into(), config_map: Some(source), ..Volume::default() }
}
