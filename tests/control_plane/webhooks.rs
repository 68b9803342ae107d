//! Admission webhooks in a whole cluster: a request waits for them, and what becomes of it if they hang, are lost or are gone.

use std::collections::BTreeSet;

use apiserver::host::control::stop_server;
use cluster::Cluster;
use cluster::scenario::Scenario;
use engine::{APISERVER, Pending, What};
use object::Kind;
use object::reader::Reader;

/// The shipped walk's cluster up to where gate is asked about every Pod, and then these lines.
fn cluster(seed: u64, lines: &[&str]) -> Cluster {
    with_servers(seed, 0, lines)
}

/// The same with so many API servers.
fn with_servers(seed: u64, api_servers: u16, lines: &[&str]) -> Cluster {
    let shipped = Scenario::find("webhook").expect("it is shipped");
    let set_up = shipped.timeline.iter().position(|line| line.ends_with("hooks.yaml")).expect("it sets them up");
    let lines = lines.iter().map(|line| (*line).to_owned());
    let timeline = shipped.timeline[..=set_up].iter().cloned().chain(lines).collect();
    bugs::cluster(&Scenario { seed, timeline, api_servers, ..shipped })
}

/// Every API server asks by itself, for the requests that reach it, and waits for the answers.
#[test]
fn several_api_servers_ask_the_same_webhook() {
    let mut asked = BTreeSet::new();
    for seed in 0..6 {
        // Clients that were connected to the first server ask the second from then on.
        let lines = [
            "kubectl create deployment web --image=nginx:1 --replicas=2",
            "sleep 6",
            "crash kube-apiserver/1",
            "sleep 2",
            "kubectl scale deployment/web --replicas=4",
            "sleep 6",
            "kubectl run bare --image=nginx",
        ];
        let mut cluster = with_servers(seed, 2, &lines);
        while !cluster.is_quiet() {
            let step = cluster.step().expect("a cluster at rest has timers");
            if asks(&cluster, &step.event, "webhook/") {
                asked.insert(cluster.engine.name(step.event.from).to_owned());
            }
        }
        let printed = cluster.kubectl.printed_since(0);
        assert!(printed.contains("denied the request: an image must name its version"), "seed {seed}: {printed}");
        let pods = Reader::list(&cluster.engine.server.api.store, Kind::Pod, "default");
        let labelled =
            pods.iter().filter(|pod| pod.meta().labels.as_ref().is_some_and(|labels| labels.contains_key("team")));
        assert_eq!((pods.len(), labelled.count()), (4, 4), "seed {seed}: every Pod is asked about once, whoever asks");
    }
    assert_eq!(asked.iter().map(String::as_str).collect::<Vec<_>>(), ["kube-apiserver/1", "kube-apiserver/2"]);
}

/// A question is lost with the server that asked; the client that was to hear of it tries again at the other one.
#[test]
fn a_server_that_stops_forgets_what_it_asked() {
    for server in ["kube-apiserver/1", "kube-apiserver/2"] {
        let lines = ["kubectl create deployment web --image=nginx:1 --replicas=4"];
        let mut cluster = with_servers(0, 2, &lines);
        while !cluster.engine.pending().any(|event| asks(&cluster, event, "webhook/")) {
            cluster.step().expect("somebody is asked");
        }
        cluster.stop_process(server).expect("it runs");
        while !cluster.is_quiet() {
            cluster.step().expect("a cluster at rest has timers");
        }
        let pods = Reader::list(&cluster.engine.server.api.store, Kind::Pod, "default");
        let labelled =
            pods.iter().filter(|pod| pod.meta().labels.as_ref().is_some_and(|labels| labels.contains_key("team")));
        assert_eq!((pods.len(), labelled.count()), (4, 4), "{server}");
    }
}

/// Whether this is a question to a process of such a name.
fn asks(cluster: &Cluster, event: &Pending, whom: &str) -> bool {
    matches!(event.what, What::Rpc { .. }) && cluster.engine.name(event.to).starts_with(whom)
}

/// Lets a cluster run until nothing is left to do; says what was printed.
fn run(cluster: &mut Cluster) -> String {
    while !cluster.is_quiet() {
        cluster.step().expect("a cluster at rest has timers");
    }
    cluster.kubectl.printed_since(0)
}

/// Lets it run until a request waits for a webhook.
fn run_to_question(cluster: &mut Cluster) {
    while !cluster.engine.pending().any(|event| matches!(event.what, What::Rpc { .. }) && event.from == APISERVER) {
        cluster.step().expect("somebody is asked");
    }
}

fn is_there(cluster: &Cluster, pod: &str) -> bool {
    Reader::get(&cluster.engine.server.api.store, Kind::Pod, "default", pod).is_some()
}

const OVER: &str = "failed calling webhook \"check.gate.example.com\": failed to call webhook: Post \
    \"https://gate.gate.svc:443/check?timeout=10s\": context deadline exceeded";

#[test]
fn the_walk_ends_as_it_says() {
    let mut cluster = bugs::cluster(&Scenario::find("webhook").expect("it is shipped"));
    let printed = run(&mut cluster);
    for said in [
        "denied the request: an image must name its version",
        OVER,
        ":443: connect: connection refused",
        "pod/again created",
    ] {
        assert!(printed.contains(said), "{said}: {printed}");
    }
    let pods = Reader::list(&cluster.engine.server.api.store, Kind::Pod, "");
    let unlabelled: Vec<&str> = pods
        .iter()
        .filter(|pod| !pod.meta().labels.as_ref().is_some_and(|labels| labels.contains_key("team")))
        .map(|pod| pod.namespace())
        .collect();
    assert_eq!(unlabelled, ["gate"], "who came while gate was away has no label");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 1..6 {
        let said = || {
            let mut cluster = cluster(seed, &["kubectl create deployment web --image=nginx:1 --replicas=3", "sleep 5"]);
            let printed = run(&mut cluster);
            (printed, cluster.engine.steps(), cluster.engine.server.api.store.revision())
        };
        let first = said();
        assert!(first.0.contains("deployment.apps/web created"), "{}", first.0);
        assert_eq!(said(), first, "seed {seed}");
    }
}

#[test]
fn a_question_that_is_lost_is_waited_for_in_vain() {
    let mut cluster = cluster(0, &["kubectl run web --image=nginx:1"]);
    for (asked, passes) in [("label", true), ("check", false)] {
        run_to_question(&mut cluster);
        let question =
            cluster.engine.pending().find(|event| matches!(event.what, What::Rpc { .. })).expect("it is asked");
        let id = question.id;
        let said = cluster.engine.drop_event(id).expect("it crosses a network");
        assert!(said.contains("the call is lost"), "{asked} {passes}: {said}");
    }
    let printed = run(&mut cluster);
    assert!(printed.contains(OVER), "{printed}");
    assert!(!is_there(&cluster, "web"));
}

#[test]
fn a_server_that_stops_forgets_who_waits_in_it() {
    let mut cluster = cluster(0, &["kubectl run web --image=nginx:1"]);
    run_to_question(&mut cluster);
    stop_server(&mut cluster.engine, APISERVER);
    while cluster.engine.tasks().any(|task| task.actor == cluster.user.actor()) {
        cluster.step().expect("the client is told");
    }
    let printed = cluster.kubectl.printed_since(0);
    assert!(printed.contains("client connection lost"), "{printed}");
    cluster.engine.server.start_server(APISERVER);
    for _ in 0..2_000 {
        cluster.step().expect("a cluster at rest has timers");
    }
    assert!(!is_there(&cluster, "web"), "nobody carries it out afterwards");
}

#[test]
fn a_webhook_on_a_machine_that_is_off_does_not_answer() {
    let mut cluster = cluster(0, &["node stop 1", "node stop 2", "kubectl run web --image=nginx:1"]);
    let mut steps = 0;
    while !cluster.kubectl.printed_since(0).contains(OVER) {
        cluster.step().expect("a cluster at rest has timers");
        steps += 1;
        assert!(steps < 20_000, "{}", cluster.kubectl.printed_since(0));
    }
    assert!(!is_there(&cluster, "web"));
}

#[test]
fn what_is_wrong_with_a_script_is_said() {
    for (rules, wrong) in [
        ("[{when: 'object.x =='}]", "webhook a/b, rule 1: when: compilation failed: "),
        ("[{}, {after: -1}]", "webhook a/b, rule 2: after: -1 is not a number of seconds"),
        (
            "[{deny: no, patch: [{op: remove, path: /x}]}]",
            "webhook a/b, rule 1: who denies a request does not patch its object",
        ),
        ("[{says: no}]", "unknown field `says`"),
    ] {
        let text = format!("title: t\nwebhooks: [{{at: a/b, rules: {rules}}}]\n");
        let error = Scenario::parse("t", &text).expect_err("it is wrong").to_string();
        assert!(error.contains(wrong), "{rules}: {error}");
    }
}
