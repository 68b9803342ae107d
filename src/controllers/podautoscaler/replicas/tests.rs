use super::*;
use serde_json::json;

const NOW: Instant = Instant(1_000_000_000_000);

fn ago(seconds: u64) -> Instant {
    Instant(NOW.0 - seconds * 1_000_000_000)
}

/// A Pod that requests 100m and 100 bytes: `ready` long since, `fresh` since two seconds, `unready`, `pending`, `going`
/// or `failed`.
fn pod(name: &str, how: &str) -> Arc<Pod> {
    let (phase, started, ready, since) = match how {
        "ready" | "going" => ("Running", ago(900), "True", ago(800)),
        "fresh" => ("Running", ago(9), "True", ago(2)),
        "early" => ("Running", ago(60), "True", ago(50)),
        "unready" => ("Running", ago(60), "False", ago(50)),
        "never-ready" => ("Running", ago(900), "False", ago(895)),
        "lost" => ("Running", ago(900), "False", ago(10)),
        "pending" => ("Pending", NOW, "False", NOW),
        _ => ("Failed", ago(900), "False", ago(50)),
    };
    let conditions = json!([{"type": "Ready", "status": ready, "lastTransitionTime": since.time()}]);
    let requests = json!({"requests": {"cpu": "100m", "memory": "100"}});
    let mut pod = json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "resources": requests}]},
        "status": {"phase": phase, "startTime": started.time(), "conditions": conditions},
    });
    if how == "going" {
        pod["metadata"]["deletionTimestamp"] = json!(NOW.time());
    }
    Arc::new(serde_json::from_value(pod).unwrap())
}

/// Pods `a`, `b` …, and what those use that were measured.
fn world(of: &str) -> (Vec<Arc<Pod>>, Samples) {
    let (mut pods, mut samples) = (Vec::new(), Samples::new());
    for (word, name) in of.split_whitespace().zip('a'..) {
        let (how, used) = word.split_once('=').unwrap_or((word, ""));
        pods.push(pod(&name.to_string(), how));
        if let Ok(value) = used.parse() {
            let sample = Sample { value, timestamp: ago(5), window: Duration::from_secs(15) };
            samples.insert(name.to_string(), sample);
        }
    }
    (pods, samples)
}

fn ask(resource: &str, target: Target, current: i32, of: &str) -> Result<Proposal, String> {
    let (pods, samples) = world(of);
    propose(&Question { resource, container: "", target, tolerance: (0.1, 0.1), now: NOW }, current, &pods, samples)
}

#[test]
fn the_ratio_of_what_is_used_to_what_should_be() {
    #[rustfmt::skip]
    let cases = [
        // Used, in thousandths of a core of 100m each; the target is 50 %.
        ("ready=100 ready=100", 4), ("ready=90 ready=60", 3), ("ready=75 ready=75 ready=75", 5),
        ("ready=10 ready=10 ready=10 ready=10", 1), ("ready=0 ready=0", 0),
        // A tenth more or less is near enough.
        ("ready=55 ready=55", 2), ("ready=45 ready=45", 2), ("ready=56 ready=56", 3), ("ready=44 ready=44 ready=44 ready=44", 4),
        ("ready=36 ready=36 ready=36 ready=36", 3),
        // Pods that are going or have failed do not count.
        ("ready=100 going=100", 2), ("ready=100 failed", 2),
        // Pods that were not measured: idle when there is to be more, all of their request when there is to be less.
        ("ready=200 ready", 4), ("ready=100 ready", 2), ("ready=10 ready=10 ready", 3), ("ready=1 ready=1 ready=1 ready", 2),
        // Pods that start: idle when there is to be more, left out when there is to be less.
        ("ready=200 pending", 4), ("ready=100 pending", 2), ("ready=10 ready=10 pending", 1), ("ready=200 fresh=300", 4),
        ("ready=200 unready=300", 4), ("ready=200 early=200", 8), ("ready=100 lost=100", 4), ("ready=200 never-ready=300", 4),
    ];
    for (of, want) in cases {
        let current = of.split(' ').count() as i32;
        let got = ask("cpu", Target::Utilization(50), current, of).map(|proposal| proposal.replicas);
        assert_eq!(got, Ok(want), "{of}");
    }
}

#[test]
fn what_is_used_is_told_of_those_that_were_measured() {
    let got = ask("cpu", Target::Utilization(50), 3, "ready=100 ready=50 pending").unwrap();
    assert_eq!((got.utilization, got.average), (Some(75), 75));
    let got = ask("memory", Target::Average(60), 2, "ready=100 ready=80").unwrap();
    assert_eq!(got, Proposal { replicas: 3, utilization: None, average: 90 });
}

#[test]
fn memory_of_a_pod_that_starts_counts() {
    assert_eq!(ask("memory", Target::Average(50), 2, "ready=100 fresh=100").unwrap().replicas, 4);
    assert_eq!(ask("cpu", Target::Average(50), 2, "ready=100 fresh=100").unwrap().replicas, 2);
    assert_eq!(ask("memory", Target::Average(50), 3, "ready=10 ready=10 ready").unwrap().replicas, 2);
    assert_eq!(ask("memory", Target::Average(50), 3, "ready=150 ready=150 ready").unwrap().replicas, 6);
    assert_eq!(ask("memory", Target::Average(50), 3, "ready=50 ready").unwrap().replicas, 3);
}

#[test]
fn without_numbers_there_is_no_answer() {
    let no = |of| ask("cpu", Target::Utilization(50), 2, of).unwrap_err();
    assert_eq!(no(""), "no pods returned by selector while calculating replica count");
    assert_eq!(no("ready ready"), "did not receive metrics for targeted pods (pods might be unready)");
    assert_eq!(no("pending fresh=20"), "did not receive metrics for targeted pods (pods might be unready)");
    let (mut pods, samples) = world("ready=10");
    let spec = Arc::make_mut(&mut pods[0]).spec.as_mut().unwrap();
    spec.containers[0].resources = None;
    let target = Target::Utilization(50);
    let question = Question { resource: "cpu", container: "", target, tolerance: (0.1, 0.1), now: NOW };
    let got = propose(&question, 1, &pods, samples.clone()).unwrap_err();
    assert_eq!(got, "missing request for cpu in container c of Pod a");
    let other = Question { container: "sidecar", ..question };
    assert_eq!(propose(&other, 1, &pods, samples).unwrap_err(), "container sidecar not found in Pod a");
}

#[test]
fn a_container_alone_can_be_asked_for() {
    let usage = |cpu_millis| object::metrics::Usage { cpu_millis, memory_bytes: 7 };
    let metrics = Metrics {
        namespace: "n".into(),
        name: "a".into(),
        timestamp: NOW,
        window: Duration::from_secs(15),
        containers: vec![("c".into(), usage(5)), ("d".into(), usage(6))],
    };
    let all = [metrics];
    let value =
        |resource, container| samples_of(&all, resource, container).map(|s| s.values().map(|s| s.value).collect());
    assert_eq!(value("cpu", ""), Ok(vec![11]));
    assert_eq!(value("cpu", "d"), Ok(vec![6]));
    assert_eq!(value("memory", "c"), Ok(vec![7000]));
    assert_eq!(value("gpu", ""), Ok(vec![]));
    assert_eq!(value("cpu", "e"), Err("container e not present in metrics for pod n/a".to_owned()));
}

/// What is requested for the Pod as a whole counts, unless one container is asked about.
#[test]
fn a_pod_may_request_as_a_whole() {
    let whole = |resources: serde_json::Value| {
        let mut pod = serde_json::to_value(&*pod("a", "ready")).unwrap();
        pod["spec"]["resources"] = resources;
        vec![Arc::new(serde_json::from_value(pod).unwrap())]
    };
    let pods = whole(json!({"requests": {"cpu": "1"}}));
    assert_eq!(requests(&pods, "cpu", ""), Ok([("a".to_owned(), 1000)].into()));
    assert_eq!(requests(&pods, "cpu", "c"), Ok([("a".to_owned(), 100)].into()));
    // What is not said of the whole is the sum of the containers'.
    assert_eq!(requests(&pods, "memory", ""), Ok([("a".to_owned(), 100_000)].into()));
    let why = "missing pod-level request for hugepages-2Mi in Pod a";
    assert_eq!(requests(&pods, "hugepages-2Mi", ""), Err(why.to_owned()));
    assert_eq!(requests(&whole(json!({"limits": {"cpu": "1"}})), "cpu", ""), Ok([("a".to_owned(), 100)].into()));
}
