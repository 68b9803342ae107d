//! How fast the cluster is: `cargo bench`, or `cargo bench -- 10000` for the rows with that in their name. With `--profile
//! fastest` it is a third faster, and takes a quarter of an hour to build.
//!
//! It measures and prints; it asserts nothing. Limits of the components' clients are raised to 1,000 requests a
//! second, as in the recording of a real control plane that took 22.4 seconds for the first row's 1,000 Pods, unless
//! the row says `default limits` (the real one took 50.7 seconds).

#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use cluster::scenario::{Nodes, Scenario};
use cluster::{Cluster, Config, NodeConfig};
use debugger::explore::{Bound, Mode, Subject, explore, plan};
use debugger::{Goal, Session, properties};
use engine::{Step, What};
use k8s_openapi::api::apps::v1::Deployment;
use object::{Kind, Object, Pod, Resource};
use serde_json::{Value, json};
use wire::{Body, Patch, Request, StatusPatch, Verb};

/// A row's name, and what it runs with that name.
type Row = (&'static str, fn(&str));

/// Requests a second of every component's client, and how many at once.
const RAISED: Option<(u32, u32)> = Some((1000, 1000));

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let rows: &[Row] = &[
        ("first prompt, 3 nodes", first_prompt),
        ("1000 Pods on 50 nodes", |name| deployment(name, 50, 1_000, RAISED, false)),
        ("1000 Pods on 50 nodes, default limits", |name| deployment(name, 50, 1_000, None, false)),
        ("1000 Pods on 50 nodes, notes kept", |name| deployment(name, 50, 1_000, RAISED, true)),
        ("step back from 1000, 10000 and 100000", step_back),
        ("quiet with 3, 400 and 2000 nodes", quiet),
        ("explore deployment", explore_deployment),
        ("explore bugs", explore_bugs),
        ("10000 Pods on 500 nodes", |name| deployment(name, 500, 10_000, RAISED, false)),
        ("virtual day of 370 workloads", virtual_day),
    ];
    if let [row] = wanted.as_slice()
        && let Some((name, run)) = rows.iter().find(|(name, _)| name == row)
    {
        return run(name);
    }
    let chosen = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.split([' ', ',']).any(|w| w == word));
    for (name, _) in rows.iter().filter(|(name, _)| chosen(name)) {
        // A process a row: memory that one row leaves behind would hide what the next one takes.
        let program = std::env::current_exe().expect("the benchmark is a file");
        let _ = std::process::Command::new(program).arg(name).status();
    }
}

/// What a learner waits for: a cluster that has come up, ready for its first step.
fn first_prompt(name: &str) {
    let begin = Instant::now();
    let cluster = Cluster::start(Config::default());
    println!("{name}: {:.1} ms to virtual {:.1} s", millis(begin.elapsed()), cluster.engine.now().0 as f64 / 1e9);
}

/// How long going back takes in a session that has come far: one step, and half of the way.
fn step_back(name: &str) {
    let mut scenario = Scenario::find("deployment").expect("it is shipped");
    scenario.timeline.push("sleep 100000".to_owned());
    let mut session = Session::of(scenario);
    for far in [1_000, 10_000, 100_000] {
        session.goto(far);
        let mut took = |to| {
            let begin = Instant::now();
            session.goto(to);
            let took = millis(begin.elapsed());
            session.goto(far);
            took
        };
        println!("{name}: at step {far}: one step {:.1} ms, half of the way {:.1} ms", took(far - 1), took(far / 2));
    }
}

/// How long it takes to tell that nothing comes of the background, once a Deployment is up.
fn quiet(name: &str) {
    for nodes in [3, 400, 2_000] {
        let scenario = Scenario { nodes: Nodes::Count(nodes), ..Scenario::find("deployment").expect("it is shipped") };
        let mut session = Session::of(scenario);
        session.go(&mut Goal::Time(session.cluster.engine.now() + Duration::from_secs(20)), 0);
        let begin = Instant::now();
        let quiet = session.is_quiet(Duration::from_secs(60));
        println!("{name}: {nodes} nodes: {:.1} ms, quiet: {quiet}", millis(begin.elapsed()));
    }
}

/// How fast the explorer is, with and without reduction, on all processors.
fn explore_deployment(name: &str) {
    let scenario = Scenario::find("deployment").expect("it is shipped");
    let subject = Subject { cluster: &|| bugs::cluster(&scenario), properties: &properties::all };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for reduce in [true, false] {
        let bound = Bound { schedules: 2_000, reduce, ..Bound::default() };
        let begin = Instant::now();
        let report = explore(&subject, &bound, Mode::Search, threads, |_| true);
        let seconds = begin.elapsed().as_secs_f64();
        let rate = |count: u64| count as f64 / seconds;
        println!(
            "{name}, {}: {} schedules, {:.0} a second, {:.0} transitions a second, {} different orders, {:.0} distinct \
             states a second, exhausted: {}",
            if reduce { "reduced" } else { "not reduced" },
            report.schedules,
            rate(report.schedules),
            rate(report.transitions),
            report.orders,
            rate(report.states),
            report.exhausted
        );
    }
}

/// How long the explorer takes to find each shipped bug, and to go through the bound where it is mended.
fn explore_bugs(name: &str) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for wrong in Scenario::bugs() {
        for scenario in [Some(wrong.clone()), wrong.mended()].into_iter().flatten() {
            let bound = plan::bound(&scenario.explore.clone().unwrap_or_default()).expect("it is well formed");
            let stated = plan::properties(&scenario, &[]).expect("they are well formed");
            let subject = Subject {
                cluster: &|| bugs::cluster(&scenario),
                properties: &|| stated.iter().map(|stated| stated.begin()).collect(),
            };
            let begin = Instant::now();
            let report = explore(&subject, &bound, Mode::Search, threads, |_| true);
            let found = if report.violation.is_some() { "found" } else { "clean" };
            println!(
                "{name}: {} {}: {found} after {} schedules, {} steps, {:.2} s, exhausted: {}",
                scenario.name,
                if scenario.fixed.is_some() { "wrong" } else { "mended" },
                report.schedules,
                report.transitions,
                begin.elapsed().as_secs_f64(),
                report.exhausted
            );
        }
    }
}

/// From `kubectl create` of one Deployment to all of its Pods Running.
fn deployment(name: &str, nodes: usize, pods: usize, client_limits: Option<(u32, u32)>, notes: bool) {
    let begin = Instant::now();
    let nodes = (1..=nodes).map(NodeConfig::numbered).collect();
    let mut cluster = Cluster::start(Config { nodes, client_limits, ..Config::default() });
    cluster.engine.keep_notes(notes);
    let up = begin.elapsed();
    let (memory, steps, time) = (resident(), cluster.engine.steps(), cluster.engine.now());
    let (begin, cpu) = (Instant::now(), cpu_time());
    let created = Rc::new(Cell::new(false));
    let (done, client) = (created.clone(), cluster.user.clone());
    cluster.run_command("create the Deployment", async move {
        done.set(client.create(web(pods)).await.is_ok());
    });
    let mut announced = 0;
    while announced < pods {
        let Some(step) = cluster.step() else { break };
        announced += usize::from(says_running(&step));
    }
    let (wall, cpu, steps) = (begin.elapsed(), cpu_time() - cpu, cluster.engine.steps() - steps);
    let running = count_running(&cluster);
    let grown = resident().saturating_sub(memory);
    println!(
        "{name}: {running} Running after {:.2} s, {:.2} s of CPU ({:.0} us a Pod), virtual {:.1} s, {steps} events, \
         {:.0} events a CPU second, start {:.2} s, peak {:.0} MiB, {:.1} KiB a Pod{}",
        wall.as_secs_f64(),
        cpu.as_secs_f64(),
        cpu.as_secs_f64() * 1e6 / pods as f64,
        (cluster.engine.now().0 - time.0) as f64 / 1e9,
        steps as f64 / cpu.as_secs_f64(),
        up.as_secs_f64(),
        peak() as f64 / 1024.0,
        grown as f64 / pods as f64,
        if created.get() { "" } else { " (the Deployment was refused)" },
    );
}

fn web(replicas: usize) -> Deployment {
    serde_json::from_value(workload("Deployment", "web", json!({"replicas": replicas})))
        .expect("the manifest is a Deployment")
}

/// The manifest of a workload of apps/v1 that runs nginx.
fn workload(kind: &str, name: &str, mut spec: Value) -> Value {
    spec["selector"] = json!({"matchLabels": {"app": name}});
    spec["template"] = json!({
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{
            "name": "nginx",
            "image": "nginx:1.27",
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        }]},
    });
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec})
}

/// A CronJob that runs for a moment every hour.
fn hourly(name: &str, minute: usize) -> Value {
    let pod = json!({
        "restartPolicy": "Never",
        "containers": [{"name": "work", "image": "busybox:1.36", "command": ["true"]}],
    });
    json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedule": format!("{minute} * * * *"), "jobTemplate": {"spec": {"template": {"spec": pod}}}},
    })
}

/// 200 Deployments and 50 StatefulSets of two Pods each, 20 DaemonSets on ten nodes and 100 CronJobs, from their creation
/// to the same time of the next day.
fn virtual_day(name: &str) {
    let two = || json!({"replicas": 2});
    let deployments = (0..200).map(|i| (Kind::Deployment, workload("Deployment", &format!("web-{i}"), two())));
    let sets = (0..50).map(|i| {
        let spec = json!({"replicas": 2, "serviceName": format!("db-{i}")});
        (Kind::StatefulSet, workload("StatefulSet", &format!("db-{i}"), spec))
    });
    let daemons = (0..20).map(|i| (Kind::DaemonSet, workload("DaemonSet", &format!("agent-{i}"), json!({}))));
    let jobs = (0..100).map(|i| (Kind::CronJob, hourly(&format!("report-{i}"), i % 60)));
    let all = deployments.chain(sets).chain(daemons).chain(jobs);
    let objects: Vec<Object> = all.map(|(kind, manifest)| kind.decode(manifest).expect("it is of that kind")).collect();

    let nodes = (1..=10).map(NodeConfig::numbered).collect();
    let mut cluster = Cluster::start(Config { nodes, ..Config::default() });
    cluster.engine.keep_notes(false);
    let (memory, steps, revision) = (resident(), cluster.engine.steps(), cluster.engine.server.api.store.revision());
    let (begin, cpu) = (Instant::now(), cpu_time());
    let refused = Rc::new(Cell::new(0));
    let (count, client) = (refused.clone(), cluster.user.clone());
    cluster.run_command("create all", async move {
        for object in objects {
            let (user, kind) = (client.user().clone(), object.kind());
            let request = Request::new(user, Verb::Create, kind, "default", "", Body::Object(object));
            count.set(count.get() + usize::from(client.request(request).await.is_err()));
        }
    });
    let end = cluster.engine.now() + Duration::from_secs(86_400);
    while cluster.engine.now() < end && cluster.step().is_some() {}
    let (wall, cpu, steps) = (begin.elapsed(), cpu_time() - cpu, cluster.engine.steps() - steps);
    println!(
        "{name}: {} Running, {steps} events, {} writes, {:.1} s, {:.1} s of CPU, {:.0} events a CPU second, peak {:.0} MiB, \
         {:.0} MiB more in the end, {} refused",
        count_running(&cluster),
        cluster.engine.server.api.store.revision() - revision,
        wall.as_secs_f64(),
        cpu.as_secs_f64(),
        steps as f64 / cpu.as_secs_f64(),
        peak() as f64 / 1024.0,
        resident().saturating_sub(memory) as f64 / 1024.0,
        refused.get(),
    );
}

/// Whether a kubelet tells the API server that a Pod runs now.
fn says_running(step: &Step) -> bool {
    let What::Request { request, .. } = &step.event.what else { return false };
    let Body::Patch(Patch::Status(patch)) = &request.body else { return false };
    matches!(&**patch, StatusPatch::Pod { status, .. } if status.phase.as_deref() == Some("Running"))
}

fn count_running(cluster: &Cluster) -> usize {
    let running = |object: &Object| {
        let status = Pod::from_object(object).and_then(|pod| pod.status.as_ref());
        status.and_then(|status| status.phase.as_deref()) == Some("Running")
    };
    cluster.engine.server.api.store.prefix("/registry/pods/").filter(|(_, entry)| running(&entry.value)).count()
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Time that this process has had a processor: what matters when others use the machine too. Zero where unknown.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

/// KiB of memory in use now.
fn resident() -> u64 {
    from_proc("VmRSS:")
}

/// KiB of memory in use at most, so far.
fn peak() -> u64 {
    from_proc("VmHWM:")
}

/// A line of `/proc/self/status`; 0 on systems that have none.
fn from_proc(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
