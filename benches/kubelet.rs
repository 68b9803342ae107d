//! What kubelets cost, without controllers and a scheduler: `cargo bench --bench kubelet`. It measures and prints; it asserts
//! nothing.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use apiserver::ApiServer;
use apiserver::host::{Engine, Host as Served};
use client::Client;
use engine::{ActorId, Step, What};
use kubelet::runtime::Runtime;
use kubelet::{Kubelet, Machine, NodeConfig, Rules};
use network::cni::Plugins;
use network::host::Host;
use network::install;
use object::{Kind, Pod};
use serde_json::{Value, json};
use wire::{Binding, Request, User};

fn main() {
    let (nodes, pods) = (500, 10_000);
    let mut engine = Engine::new(Served::new(ApiServer::new(0)), 0);
    engine.keep_notes(false);
    write_what_must_be_there(&mut engine);
    let runtimes: Vec<ActorId> = (0..nodes).map(|n| start_node(&mut engine, n)).collect();
    run(&mut engine, 5, |_| {});

    let (begin, steps) = (Instant::now(), engine.steps());
    run(&mut engine, 60, |_| {});
    println!("idle minute of {nodes} nodes: {} events, {:?}", engine.steps() - steps, begin.elapsed());

    let (begin, steps, from) = (Instant::now(), engine.steps(), engine.now());
    let bound = create_pods(&mut engine, runtimes[0], nodes, pods);
    let (mut kinds, mut last) = (BTreeMap::<String, u64>::new(), from);
    run(&mut engine, 120, |step| {
        let kind = kind_of(&step.event.what);
        if kind == "request patch Pod" {
            last = step.time;
        }
        *kinds.entry(kind).or_default() += 1;
    });
    println!(
        "{} of {pods} Pods on {nodes} nodes: {} events, {:?}, last patch after virtual {:?}",
        bound.get(),
        engine.steps() - steps,
        begin.elapsed(),
        last - from
    );
    kinds.iter().for_each(|(kind, count)| println!("  {count:>7} {kind}"));
}

/// Namespaces, and what every Pod of `default` needs.
fn write_what_must_be_there(engine: &mut Engine) {
    for manifest in [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-node-lease"}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "default", "name": "default"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "kube-root-ca.crt"},
            "data": {"ca.crt": "a certificate"}}),
    ] {
        let kind = Kind::from_manifest("v1", manifest["kind"].as_str().unwrap_or_default()).expect("a known kind");
        let object = kind.decode(manifest).expect("a literal object is whole");
        let request = Request::create(Rc::new(User::admin()), object);
        let answer = engine.server.api.handle(&request, None, engine.now()).answer;
        answer.result.expect("a literal object is valid");
    }
}

/// Starts a node's network plugins, its runtime, which it gives, and its kubelet.
fn start_node(engine: &mut Engine, n: usize) -> ActorId {
    let hub = engine.hub().clone();
    let config = NodeConfig::new(&format!("node-{n}"), &format!("172.18.{}.{}", n / 250, n % 250));
    let subnet = format!("10.{}.{}.0/24", 100 + n / 250, n % 250);
    let host = Rc::new(Host::new(&hub, [172, 18, 0, 10].into(), install::disk(&hub, &config.name, &subnet)));
    let plugins = Plugins::new(hub.clone(), engine.next_actor(), &config.name, host.clone());
    let plugins = engine.add(Rc::new(plugins));
    let runtime = Runtime::new(hub.clone(), engine.next_actor(), &config.name, host.clone(), plugins);
    let runtime = engine.add(Rc::new(runtime));
    let machine = Machine { host, runtime, kernel: None, driver: None };
    let kubelet = Kubelet::new(hub, engine.next_actor(), config, machine, Rules::default(), None);
    engine.add(Rc::new(kubelet));
    runtime
}

/// Starts to create and bind all Pods, one after another, as fast as the API server answers. Counts those that are bound.
fn create_pods(engine: &mut Engine, actor: ActorId, nodes: usize, pods: usize) -> Rc<Cell<usize>> {
    let bound = Rc::new(Cell::new(0));
    let (counter, client) = (bound.clone(), unlimited(engine, actor));
    engine.outside(actor, |engine| {
        engine.hub().spawn(actor, "user", async move {
            for n in 0..pods {
                let name = format!("web-{n}");
                client.create(pod(&name)).await.expect("a literal object is valid");
                let binding = Binding { node: format!("node-{}", n % nodes), ..Binding::default() };
                client.bind("default", &name, binding).await.expect("it was just made");
                counter.set(counter.get() + 1);
            }
        });
    });
    bound
}

/// A user's client that never waits for its turn.
fn unlimited(engine: &Engine, actor: ActorId) -> Client {
    Client::new(engine.hub().clone(), actor, Rc::new(User::admin()), 1_000_000, 1_000_000)
}

fn pod(name: &str) -> Pod {
    let spec = json!({"containers": [{"name": "web", "image": "nginx:1.27"}]});
    let manifest: Value = json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec});
    serde_json::from_value(manifest).expect("a literal object is whole")
}

/// Runs for so many seconds of virtual time.
fn run(engine: &mut Engine, seconds: u64, mut seen: impl FnMut(&Step)) {
    let end = engine.now() + Duration::from_secs(seconds);
    while engine.peek().is_some_and(|next| next.due <= end) {
        let Some(step) = engine.step() else { return };
        seen(&step);
    }
}

fn kind_of(what: &What) -> String {
    match what {
        What::Request { request, .. } => format!("request {} {}", request.verb.as_str(), request.kind),
        What::Response { .. } => "response".into(),
        What::Notification { event, .. } => format!("notification {:?}", event.kind()),
        What::Wake { what, .. } => format!("wake {what}"),
        What::Resume { .. } => "resume".into(),
        What::Rpc { message, .. } => format!("rpc {}", message.method()),
        What::Reply { .. } => "reply".into(),
        What::Packet { message, .. } | What::Fault { message } => message.line(),
    }
}
