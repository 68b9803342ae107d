//! The controllers that work on nodes, against what a real control plane writes. The scenes are those of the
//! recordings: a node joins, a node falls silent, a NoExecute taint.

use std::time::Duration;

use serde_json::json;

use k8s_openapi::api::core::v1::{Node, Pod};
use kubestep::apiserver::request::{Body, Patch};
use kubestep::cluster::{Action, Cluster, Config, NodeConfig};
use kubestep::engine::{Note, Step, What};
use kubestep::object::{Object, Resource};

struct World {
    cluster: Cluster,
    /// `time agent verb resource name code`, of all writes but leases and tokens.
    writes: Vec<(u64, String)>,
    since: u64,
}

impl World {
    fn new(nodes: usize) -> World {
        let nodes = (1..=nodes).map(NodeConfig::numbered).collect();
        let cluster = Cluster::start(Config { nodes, ..Config::default() });
        let since = cluster.engine.now().since_start().as_millis() as u64;
        World { cluster, writes: Vec::new(), since }
    }

    fn run(&mut self, duration: Duration) {
        let end = self.cluster.engine.now() + duration;
        while self.cluster.engine.peek().is_some_and(|next| next.due <= end) {
            let Some(step) = self.cluster.step() else { return };
            self.note(&step);
        }
        let crashes = self.cluster.engine.take_crashes();
        assert!(crashes.is_empty(), "{crashes:?}");
    }

    fn note(&mut self, step: &Step) {
        let What::Request { request, .. } = &step.event.what else { return };
        if !request.verb.writes() || request.is_background() && request.kind.info().plural != "events" {
            return;
        }
        let answered = step.notes.iter().find_map(|note| match note {
            Note::Answered { code, name, .. } => Some((*code, name.clone())),
            _ => None,
        });
        let (code, name) = answered.unwrap_or_default();
        let name = if name.is_empty() { request.name.clone() } else { name };
        let agent = &request.user.agent;
        let at = step.event.due.since_start().as_millis() as u64 - self.since;
        let line = match &request.body {
            Body::Object(Object::Event(event)) => format!(
                "{agent} event {} {}: {}",
                event.involved_object.name.clone().unwrap_or_default(),
                event.reason.clone().unwrap_or_default(),
                event.message.clone().unwrap_or_default()
            ),
            body => {
                let resource = request.kind.info().plural;
                let sub = request.subresource.map_or(String::new(), |sub| format!("/{}", sub.as_str()));
                let patch = match body {
                    Body::Patch(Patch::Strategic(value)) => format!(" {value}"),
                    _ => String::new(),
                };
                format!("{agent} {} {resource}{sub} {name} {code}{patch}", request.verb.as_str())
            }
        };
        self.writes.push((at, line));
    }

    fn create<T: Resource>(&mut self, object: T) {
        let client = self.cluster.user.clone();
        self.cluster.run_command("test", async move {
            client.create(object).await.expect("the test's object is valid");
        });
    }
}

#[test]
fn debug_join() {
    let mut world = World::new(3);
    world.cluster.actions().borrow_mut().push_back(Action::StartNode(NodeConfig::numbered(6)));
    world.cluster.act();
    world.run(Duration::from_secs(3));
    for (at, line) in &world.writes { println!("{at} {line}"); }
    let pod: Pod = serde_json::from_value(json!({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":"web"},"spec":{"containers":[{"name":"a","image":"nginx"}]}})).unwrap();
    world.writes.clear();
    world.create(pod);
    world.run(Duration::from_secs(5));
    for (at, line) in &world.writes { println!("{at} {line}"); }
    world.writes.clear();
    let client = world.cluster.user.clone();
    let node = std::rc::Rc::new(std::cell::RefCell::new(String::new()));
    let out = node.clone();
    world.cluster.run_command("t", async move { *out.borrow_mut() = client.get::<Pod>("default", "web").await.unwrap().spec.clone().unwrap().node_name.unwrap(); });
    world.run(Duration::from_secs(1));
    let name = node.borrow().clone();
    println!("=== stop {name}");
    world.cluster.actions().borrow_mut().push_back(Action::StopNode(name));
    world.cluster.act();
    world.run(Duration::from_secs(420));
    for (at, line) in &world.writes { if !line.contains("patch nodes/status") {println!("{at} {line}");} }
    let _ = Node::default();
}
