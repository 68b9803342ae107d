//! Many pods on many nodes: what a kubelet costs. Run with
//! `cargo test --release --test kubelet scale -- --ignored --nocapture`.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::harness::{Harness, spec};
use kubestep::apiserver::request::{Binding, Body, Options, Request, Subresource, User, Verb};
use kubestep::engine::{Engine, What};
use kubestep::node::cni::Plugins;
use kubestep::node::host::Host;
use kubestep::node::kubelet::{Kubelet, Machine, NodeConfig, Rules};
use kubestep::node::runtime::Runtime;
use kubestep::object::{Kind, Object, Pod};

#[test]
#[ignore = "takes seconds; a measurement"]
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn ten_thousand_pods_on_five_hundred_nodes() {
    let (nodes, pods) = (500, 10_000);
    let mut harness = Harness::new();
    for n in 2..nodes + 2 {
        let config = NodeConfig::new(&format!("node-{n}"), &format!("172.18.{}.{}", n / 250, n % 250));
        start_node(&mut harness.engine, config, &format!("10.{}.{}.0/24", 100 + n / 250, n % 250));
    }
    harness.run(5_000);
    let start = std::time::Instant::now();
    let idle_from = harness.engine.steps();
    harness.run(60_000);
    let idle = harness.engine.steps() - idle_from;
    println!("idle minute: {idle} steps, {:?}", start.elapsed());
    let (start, steps, from) = (std::time::Instant::now(), harness.engine.steps(), harness.engine.now());
    let left = create_pods(&mut harness, nodes, pods);
    let mut kinds = std::collections::BTreeMap::<String, u64>::new();
    let mut last = from;
    while harness.engine.now() - from < Duration::from_secs(120) {
        let Some(step) = harness.engine.step() else { break };
        let name = match &step.event.what {
            What::Request { request, .. } => format!("request {} {}", request.verb.as_str(), request.kind),
            What::Response { .. } => "response".into(),
            What::Notification { event, .. } => format!("notification {:?}", event.kind()),
            What::Wake { what, .. } => format!("wake {what}"),
            What::Resume { .. } => "resume".into(),
            What::Rpc { message, .. } => format!("rpc {}", message.method()),
            What::Reply { .. } => "reply".into(),
            What::Packet { message, .. } | What::Fault { message } => message.line(),
        };
        if name == "request patch Pod" {
            last = step.time;
        }
        *kinds.entry(name).or_default() += 1;
    }
    assert_eq!(left.get(), 0);
    println!(
        "{pods} pods: {} steps, {:?}, last patch after {:?}",
        harness.engine.steps() - steps,
        start.elapsed(),
        last - from
    );
    println!("{kinds:#?}");
}

fn start_node(engine: &mut Engine, config: NodeConfig, subnet: &str) {
    let hub = engine.hub().clone();
    let id = engine.next_actor();
    let host = Rc::new(Host::new(&hub, [172, 18, 0, 10].into(), Host::installed(&hub, &config.name, subnet)));
    let plugins = engine.add(Rc::new(Plugins::new(hub.clone(), id, &config.name, host.clone())));
    let runtime = Runtime::new(hub.clone(), engine.next_actor(), &config.name, host.clone(), plugins);
    let machine = Machine { host, runtime: engine.add(Rc::new(runtime)), kernel: None, driver: None };
    let id = engine.next_actor();
    engine.add(Rc::new(Kubelet::new(hub, id, config, machine, Rules::default(), None)));
}

/// Creates and binds all pods, one after another, as fast as the API server answers.
fn create_pods(harness: &mut Harness, nodes: usize, pods: usize) -> Rc<Cell<usize>> {
    let left = Rc::new(Cell::new(pods));
    let (hub, counter) = (harness.engine.hub().clone(), left.clone());
    let actor = harness.runtime_id();
    let user = Rc::new(User::admin());
    harness.engine.outside(actor, |engine| {
        engine.hub().spawn(actor, "user", async move {
            for n in 0..pods {
                let name = format!("web-{n}");
                let metadata =
                    ObjectMeta { name: Some(name.clone()), namespace: Some("default".into()), ..ObjectMeta::default() };
                let pod = Pod { metadata, spec: Some(spec("web", "nginx:1.27").into()), status: None };
                let request = |subresource, name: &str, body| Request {
                    user: user.clone(),
                    verb: Verb::Create,
                    kind: Kind::Pod,
                    subresource,
                    namespace: "default".into(),
                    name: name.into(),
                    body,
                    options: Options::default(),
                };
                hub.request(request(None, "", Body::Object(Object::Pod(Arc::new(pod)))), Duration::ZERO).await;
                let binding = Binding { node: format!("node-{}", n % nodes + 2), ..Binding::default() };
                hub.request(request(Some(Subresource::Binding), &name, Body::Binding(binding)), Duration::ZERO).await;
                counter.set(counter.get() - 1);
            }
        });
    });
    left
}
