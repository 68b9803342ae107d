//! Probes and hooks in a whole cluster: what is said, when, and what follows.

use cluster::Cluster;
use debugger::describe;
use engine::What;
use kubestep_tests::scenario;
use object::reader::Reader;
use object::{Kind, Object};

/// Runs a scenario with one Pod, `web`. `container` are the lines of its container below its name.
fn run(image: &str, container: &str, grace: u32, timeline: &[&str]) -> Cluster {
    run_with(|pod| pod, image, container, grace, timeline)
}

/// The same with another Pod.
fn run_with(change: impl Fn(String) -> String, image: &str, container: &str, grace: u32, timeline: &[&str]) -> Cluster {
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  terminationGracePeriodSeconds: {grace}\n  \
         containers:\n  - name: web\n    {}\n",
        container.trim().replace('\n', "\n    ")
    );
    let indented = change(pod).replace('\n', "\n    ");
    let mut lines = vec!["kubectl apply -f web.yaml"];
    lines.extend(timeline);
    let lines: String = lines.iter().map(|line| format!("- {line}\n")).collect();
    let text = format!(
        "title: t\nstory: s\nfiles:\n  web.yaml: |\n    {indented}\nimages:\n  app: {{{image}}}\ntimeline:\n{lines}"
    );
    let mut cluster = scenario::started(&text);
    while !cluster.is_quiet() && cluster.step().is_some() {}
    let crashes = cluster.engine.take_crashes();
    assert!(crashes.is_empty(), "{crashes:?}");
    cluster
}

/// Reason, message and count of the Warnings about the Pod, and of what was killed, as they began.
fn told(cluster: &Cluster) -> Vec<String> {
    let mut told = Vec::new();
    for event in Reader::list(&cluster.engine.server.api.store, Kind::Event, "") {
        let Object::Event(event) = event else { continue };
        let part = |field: &Option<std::sync::Arc<str>>| field.as_deref().unwrap_or_default().to_owned();
        let (reason, message) = (part(&event.reason), part(&event.message));
        if event.involved_object.name.as_deref() == Some("web")
            && (reason == "Killing" || part(&event.type_) == "Warning")
        {
            told.push((event.first_timestamp.clone(), format!("{reason}: {message} x{}", event.count.unwrap_or(1))));
        }
    }
    told.sort();
    told.into_iter().map(|(_, line)| line).collect()
}

fn restarts(cluster: &Cluster) -> i64 {
    let pod = Reader::get(&cluster.engine.server.api.store, Kind::Pod, "default", "web").expect("the pod");
    pod.to_json()["status"]["containerStatuses"][0]["restartCount"].as_i64().unwrap_or(0)
}

#[test]
fn a_probe_that_fails_says_what_a_real_one_says() {
    let probe = |how: &str| {
        format!(
            "image: app:1\nports: [{{containerPort: 80}}]\nreadinessProbe: {{periodSeconds: 1, failureThreshold: 1, {how}}}"
        )
    };
    let closed = "dial tcp 10.244.1.2:80: connect: connection refused";
    let cases = [
        (
            "httpGet: {port: 80, path: /ready}",
            "readyAfter: 900",
            format!("Get \"http://10.244.1.2:80/ready\": {closed}"),
        ),
        ("tcpSocket: {port: 80}", "readyAfter: 900", closed.to_owned()),
        (
            "grpc: {port: 80}",
            "readyAfter: 900",
            "timeout: failed to connect service \"10.244.1.2:80\" within 1s: context deadline exceeded".to_owned(),
        ),
        ("httpGet: {port: 80}", "", "HTTP probe failed with statuscode: 503".to_owned()),
        ("grpc: {port: 80}", "", "service unhealthy (responded with \"NOT_SERVING\")".to_owned()),
        (
            "tcpSocket: {port: 80, host: 10.99.99.99}",
            "",
            "dial tcp 10.99.99.99:80: i/o timeout".to_owned(),
        ),
        (
            "httpGet: {port: 80, host: 10.99.99.99}",
            "",
            "Get \"http://10.99.99.99:80/\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
                .to_owned(),
        ),
        ("exec: {command: [sh, -c, 'echo not yet; exit 3']}", "", "not yet\n".to_owned()),
        ("exec: {command: [sleep, '5']}", "", "command timed out: \"sleep 5\" timed out after 1s".to_owned()),
        (
            "exec: {command: [sh, -c, sleep 5]}, timeoutSeconds: 2",
            "",
            "command timed out: \"sh -c sleep 5\" timed out after 2s".to_owned(),
        ),
    ];
    for (how, image, said) in cases {
        let cluster = run(image, &probe(how), 0, &["sleep 3", "answer web 503", "sleep 5"]);
        let told = told(&cluster);
        let want = format!("Unhealthy: Readiness probe failed: {said} x");
        let host = cluster_ip(&cluster);
        let want = want.replace("10.244.1.2", &host);
        assert!(told.len() == 1 && told[0].starts_with(&want), "{how}: {told:?}, not {want}");
        assert_eq!(restarts(&cluster), 0, "{how}");
    }
}

/// A port that has no such name is no failure: nothing is known then, and nothing follows.
#[test]
fn a_probe_that_cannot_be_made_counts_for_nothing() {
    let probe = |port: &str| {
        format!(
            "image: app:1\nports: [{{containerPort: 80, name: web}}]\n\
             livenessProbe: {{periodSeconds: 1, failureThreshold: 1, httpGet: {{port: {port}}}}}"
        )
    };
    let lines = ["sleep 6", "kubectl delete pod web"];
    let errored = "Unhealthy: Liveness probe errored and resulted in unknown state: strconv.Atoi: parsing \"http\": invalid syntax x";
    let of_a_typo = told(&run("", &probe("http"), 5, &lines));
    assert!(of_a_typo.len() == 2 && of_a_typo.iter().any(|line| line.starts_with(errored)), "{of_a_typo:?}");
    assert!(of_a_typo.contains(&"Killing: Stopping container web x1".to_owned()), "{of_a_typo:?}");
    assert_eq!(told(&run("", &probe("web"), 5, &lines)), ["Killing: Stopping container web x1"]);
}

fn cluster_ip(cluster: &Cluster) -> String {
    let pod = Reader::get(&cluster.engine.server.api.store, Kind::Pod, "default", "web").expect("the pod");
    pod.to_json()["status"]["podIP"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_startup_probe_is_waited_for_and_may_give_up() {
    let container = "image: app:1\nports: [{containerPort: 80}]\n\
        startupProbe: {tcpSocket: {port: 80}, periodSeconds: 1, failureThreshold: 30}\n\
        livenessProbe: {exec: {command: ['false']}, periodSeconds: 1, failureThreshold: 2}";
    let cluster = run("readyAfter: 10", container, 0, &["sleep 9"]);
    assert!(!told(&cluster).iter().any(|line| line.contains("Liveness")), "{:?}", told(&cluster));
    let cluster = run("readyAfter: 10", container, 0, &["sleep 16"]);
    assert!(told(&cluster).contains(&"Killing: Container web failed liveness probe, will be restarted x1".to_owned()));
    let container = "image: app:1\nports: [{containerPort: 80}]\n\
        startupProbe: {tcpSocket: {port: 80}, periodSeconds: 1, failureThreshold: 2}";
    let cluster = run("readyAfter: 900", container, 0, &["sleep 5"]);
    let killed = "Killing: Container web failed startup probe, will be restarted";
    assert!(told(&cluster).iter().any(|line| line.starts_with(killed)), "{:?}", told(&cluster));
    assert!(restarts(&cluster) >= 1);
}

/// The example of the Kubernetes documentation: a process that takes its own sign of life away.
#[test]
fn a_process_that_sickens_is_started_again() {
    let container = "image: busybox:1.36\n\
        args: [/bin/sh, -c, touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600]\n\
        livenessProbe: {exec: {command: [cat, /tmp/healthy]}, initialDelaySeconds: 5, periodSeconds: 5, \
        terminationGracePeriodSeconds: 3}";
    let cluster = run("", container, 60, &["sleep 29"]);
    assert_eq!((told(&cluster), restarts(&cluster)), (Vec::new(), 0));
    // Unwell at 30 s, given up by 46 s; a shell ignores SIGTERM, and has the 3 s of the probe, not the 60 s of the Pod.
    let cluster = run("", container, 60, &["sleep 55"]);
    let said = "Unhealthy: Liveness probe failed: cat: can't open '/tmp/healthy': No such file or directory\n x3";
    let killed = "Killing: Container web failed liveness probe, will be restarted x1";
    assert_eq!((told(&cluster), restarts(&cluster)), (vec![said.to_owned(), killed.to_owned()], 1));
}

#[test]
fn a_hook_that_fails_is_told() {
    let container =
        "image: app:1\nports: [{containerPort: 80}]\nlifecycle: {postStart: {exec: {command: [sh, -c, exit 1]}}}";
    let cluster = run("", container, 0, &["sleep 3"]);
    let told_of = told(&cluster);
    assert!(told_of.iter().any(|line| line.starts_with("FailedPostStartHook: PostStartHook failed")), "{told_of:?}");
    assert!(told_of.iter().any(|line| line.starts_with("Killing: FailedPostStartHook")), "{told_of:?}");
    let pod = Reader::get(&cluster.engine.server.api.store, Kind::Pod, "default", "web").expect("the pod").to_json();
    let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
    let want = format!(
        "Exec lifecycle hook ([sh -c exit 1]) for Container \"web\" in Pod \"web_default({uid})\" failed - error: \
         command 'sh -c exit 1' exited with 1: , message: \"\""
    );
    let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
    assert_eq!((waiting["reason"].as_str(), waiting["message"].as_str()), (Some("PostStartHookError"), Some(&*want)));
    let container = "image: app:1\nports: [{containerPort: 80}]\nlifecycle: {preStop: {httpGet: {port: 80}}}";
    let cluster = run("readyAfter: 900", container, 5, &["sleep 3", "kubectl delete pod web"]);
    let want = ["Killing: Stopping container web x1", "FailedPreStopHook: PreStopHook failed x1"];
    let mut told_of = told(&cluster);
    told_of.sort_by_key(|line| !line.starts_with("Killing"));
    assert_eq!(told_of, want);
    // One that outlasts the grace period ends with its container.
    let container =
        "image: app:1\nports: [{containerPort: 80}]\nlifecycle: {preStop: {exec: {command: [sleep, '90']}}}";
    let mut told_of = told(&run("", container, 3, &["sleep 3", "kubectl delete pod web"]));
    told_of.sort_by_key(|line| !line.starts_with("Killing"));
    assert_eq!(told_of, want);
}

/// The sidecar's hook runs while the others are being stopped; it is stopped itself when they have ended.
#[test]
fn a_sidecar_is_stopped_last_but_hears_of_it_with_the_others() {
    let container = "image: app:1\n\
        ports: [{containerPort: 80}]\n\
        lifecycle: {preStop: {sleep: {seconds: 5}}}";
    let sidecar = "\n  initContainers:\n  - name: proxy\n    image: app:1\n    restartPolicy: Always\n    \
        lifecycle: {preStop: {sleep: {seconds: 4}}}\n  containers:";
    let lines = ["sleep 5", "kubectl delete pod web"];
    let cluster = run_with(|pod| pod.replace("\n  containers:", sidecar), "", container, 30, &lines);
    let killed: Vec<String> = told(&cluster).into_iter().filter(|line| line.starts_with("Killing")).collect();
    assert_eq!(killed, ["Killing: Stopping container proxy x1", "Killing: Stopping container web x1"]);
    let gone = Reader::get(&cluster.engine.server.api.store, Kind::Pod, "default", "web").is_none();
    assert!(gone && cluster.engine.now().0 < 20_000_000_000, "five seconds and not nine: {:?}", cluster.engine.now());
}

/// A sync under way is made to its end: what is not running yet is started, and then stopped.
#[test]
fn a_pod_that_is_deleted_while_it_starts_is_stopped_when_it_has_started() {
    let second = |pod: String| pod + "  - {name: other, image: 'app:1'}\n";
    let lines = ["sleep 2", "kubectl delete pod web"];
    let killed = told(&run_with(second, "pullSeconds: 5", "image: app:1", 30, &lines));
    assert_eq!(killed, ["Killing: Stopping container other x1", "Killing: Stopping container web x1"]);
}

#[test]
fn missing_credentials_are_told_and_another_image_restarts_the_container() {
    let secrets = "\n  imagePullSecrets: [{name: one}, {name: two}]\n  restartPolicy: Never\n  containers:";
    let lines = ["sleep 5", "kubectl set image pod/web web=app:2", "sleep 5"];
    let cluster = run_with(|pod| pod.replace("\n  containers:", secrets), "", "image: app:1", 5, &lines);
    let told_of = told(&cluster);
    let missing = "FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (one, two); \
                   attempting to pull the image may not succeed. x";
    assert!(told_of.iter().any(|line| line.starts_with(missing)), "{told_of:?}");
    let killed = "Killing: Container web definition changed, will be restarted x1";
    assert!(told_of.iter().any(|line| line == killed), "{told_of:?}");
    assert_eq!(restarts(&cluster), 1);
}

/// What a Pod promises is checked before its container is made.
#[test]
fn a_container_that_would_run_as_root_is_not_made() {
    let of = |image: &str| {
        let container = format!("image: {image}\nsecurityContext: {{runAsNonRoot: true}}");
        told(&run("", &container, 5, &["sleep 5", "kubectl delete pod web"]))
    };
    let told = of("nginx:1.27");
    let why = "Failed: Error: container has runAsNonRoot and image will run as root (pod: \"web_default(";
    assert!(told.len() == 1 && told[0].starts_with(why) && told[0].contains(")\", container: web) x"), "{told:?}");
    // The user of an unknown image is unknown, and is taken to keep the promise.
    assert_eq!(of("app:1"), ["Killing: Stopping container web x1"]);
}

/// What a preStop hook takes is taken from the grace period; a hook that outlasts it is cut short.
#[test]
fn a_pre_stop_hook_counts_in_the_grace_period() {
    let took = |hook: &str, command: &str, grace: u32| {
        let container =
            format!("image: app:1\nports: [{{containerPort: 80}}]\n{command}lifecycle: {{preStop: {hook}}}");
        let cluster = run("", &container, grace, &["sleep 5"]);
        let before = cluster.engine.now();
        let after = run("", &container, grace, &["sleep 5", "kubectl delete pod web"]).engine.now();
        (after - before).as_secs()
    };
    let stubborn = "command: [sh, -c, sleep infinity]\n";
    for (hook, command, grace, seconds) in [
        ("{sleep: {seconds: 4}}", "", 30, 4..=6),
        ("{exec: {command: [sleep, '4']}}", "", 30, 4..=6),
        ("{exec: {command: [sleep, '90']}}", "", 6, 6..=8),
        // The process has what the hook has left: 10 s together.
        ("{sleep: {seconds: 4}}", stubborn, 10, 10..=12),
        // However little that is, it has two seconds.
        ("{exec: {command: [sleep, '90']}}", stubborn, 6, 8..=10),
        ("{exec: {command: [sleep, '90']}}", stubborn, 1, 3..=5),
        // No server answers at that address, and the grace is all the time that the hook has.
        ("{httpGet: {port: 80, host: 10.99.99.99}}", "", 6, 6..=8),
    ] {
        let took = took(hook, command, grace);
        assert!(seconds.contains(&took), "{hook} {command:?} of {grace} s took {took} s, not {seconds:?}");
    }
}

/// A second delete with a shorter grace period does not hurry a stop that is under way.
#[test]
fn a_grace_that_shrinks_is_nothing_to_a_stop_under_way() {
    let container = "image: app:1\nports: [{containerPort: 80}]\ncommand: [sh, -c, sleep infinity]";
    let before = run("", container, 10, &["sleep 5"]).engine.now();
    let lines =
        ["sleep 5", "kubectl delete pod web --wait=false", "sleep 1", "kubectl delete pod web --grace-period=1"];
    let took = (run("", container, 10, &lines).engine.now() - before).as_secs();
    assert!((10..=12).contains(&took), "{took} s");
}

/// A Pod that asks for no grace has no time for a hook when one of its containers is restarted.
#[test]
fn a_container_without_grace_is_killed_without_its_hook() {
    let told_of = |grace: u32| {
        let container = "image: app:1\nports: [{containerPort: 80}]\n\
            livenessProbe: {exec: {command: ['false']}, periodSeconds: 1, failureThreshold: 1}\n\
            lifecycle: {preStop: {exec: {command: ['false']}}}";
        told(&run("", container, grace, &["sleep 5"]))
    };
    let of_hook = |line: &String| line.starts_with("FailedPreStopHook");
    assert!(!told_of(0).iter().any(of_hook), "{:?}", told_of(0));
    assert!(told_of(1).iter().any(of_hook), "{:?}", told_of(1));
}

/// A probe of gRPC waits for its port to open as long as its time-out lets it.
#[test]
fn a_health_check_waits_for_its_port() {
    let container = "image: app:1\nports: [{containerPort: 80}]\n\
        readinessProbe: {grpc: {port: 80}, timeoutSeconds: 5, periodSeconds: 1, failureThreshold: 1}";
    let late = told(&run("readyAfter: 900", container, 0, &["sleep 9"]));
    let why = "Unhealthy: Readiness probe failed: timeout: failed to connect service";
    assert!(late.len() == 1 && late[0].starts_with(why) && late[0].ends_with(['1', '2']), "{late:?}");
    let opens = run("readyAfter: 2", container, 0, &["kubectl wait --for=condition=Ready pod/web --timeout=8s"]);
    assert_eq!(told(&opens), [""; 0]);
    let pod = Reader::get(&opens.engine.server.api.store, Kind::Pod, "default", "web").expect("the pod").to_json();
    let conditions = pod["status"]["conditions"].as_array().expect("it has some");
    assert!(conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True"));
}

/// No server answers at that address, and nothing but the kernel gives up waiting.
#[test]
fn a_hook_that_asks_waits_as_long_as_it_takes() {
    let container = "image: app:1\nlifecycle: {postStart: {httpGet: {port: 80, host: 10.99.99.99}}}";
    let of_hook = |line: &String| line.starts_with("FailedPostStartHook");
    let told_of = told(&run("", container, 0, &["sleep 120"]));
    assert!(!told_of.iter().any(of_hook), "{told_of:?}");
    let cluster = run("", container, 0, &["sleep 140"]);
    assert!(told(&cluster).iter().any(of_hook), "{:?}", told(&cluster));
    let pod = Reader::get(&cluster.engine.server.api.store, Kind::Pod, "default", "web").expect("the pod").to_json();
    let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"];
    let why = "Get \"http://10.99.99.99:80/\": dial tcp 10.99.99.99:80: connect: connection timed out";
    assert!(waiting.as_str().is_some_and(|message| message.ends_with(why)), "{waiting}");
}

/// The packets of a probe go through the bridge and the veth into the Pod, and a user who steps does not stop at them.
#[test]
fn a_probe_walks() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: node-1, containers: [{name: web, \
        image: \"nginx:1.27\", readinessProbe: {httpGet: {port: 80}, periodSeconds: 5}}]}}";
    let text = format!(
        "title: t\nstory: s\nfiles:\n  web.yaml: '{pod}'\ntimeline:\n- kubectl apply -f web.yaml\n\
         - kubectl wait --for=condition=Ready pod/web --timeout=30s\n- sleep 7\n"
    );
    let mut cluster = scenario::started(&text);
    let (mut hops, mut background) = (Vec::new(), 0);
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        let What::Packet { message, .. } = &step.event.what else { continue };
        assert!(!describe::is_notification(&step), "{}", message.line());
        background += usize::from(step.event.background);
        hops.push(message.line());
    }
    let way = |payload: &str| {
        let of_first = hops.iter().take(hops.len() - background);
        let along = of_first.filter(|line| line.contains(payload));
        along.filter_map(|line| line.split(" at ").nth(1).map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(way(" SYN at"), ["eth0 of default/web"], "{hops:#?}");
    let back = way(" SYN,ACK at");
    assert!(back.len() == 2 && back[0].starts_with("node-1 veth") && back[1] == "node-1 cni0", "{back:?}");
    assert!(hops.iter().any(|line| line.contains("GET / HTTP/1.1")), "{hops:#?}");
    assert!(background > 0, "the first probe is waited for, the others are background traffic: {hops:#?}");
}
