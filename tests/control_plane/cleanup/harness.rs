//! A cluster, someone with a keyboard and a client, and a note of all that components write.

use std::time::Duration;

use apiserver::host::Engine;
use cluster::{Cluster, Config, NodeConfig};
use debugger::properties::{self, Property};
use engine::{Step, What};
use object::reader::Reader;
use object::{Kind, Object};
use serde_json::{Value, json};
use wire::{Answer, Body, DeleteOptions, Request, Subresource, Verb};

use crate::world::{self, Observer, answered, resource};

/// A cluster whose components are watched.
pub type World = world::World<Watch>;

/// What its components write and ask for. What must hold in every run must hold here too.
pub struct Watch {
    /// `generic-garbage-collector delete pods web-1 200`, in order.
    pub writes: Vec<String>,
    /// `tokens-controller get serviceaccounts robot`, in order.
    pub reads: Vec<String>,
    properties: Vec<Box<dyn Property>>,
}

impl Observer for Watch {
    fn observe(&mut self, engine: &Engine, step: &Step) {
        for property in &mut self.properties {
            property.check(engine, step).unwrap_or_else(|what| panic!("{}: {what}", property.name()));
        }
        self.writes.extend(written(step));
        self.reads.extend(read(step));
    }
}

impl World {
    /// A cluster of so many nodes, at rest.
    pub fn new(nodes: usize) -> World {
        let nodes = (1..=nodes).map(NodeConfig::numbered).collect();
        World::of(Cluster::start(Config { nodes, ..Config::default() }))
    }

    /// This cluster.
    pub fn of(cluster: Cluster) -> World {
        World { cluster, seen: Watch { writes: Vec::new(), reads: Vec::new(), properties: properties::all() } }
    }

    /// Steps until something holds, for so many seconds of virtual time at most.
    pub fn wait_until(&mut self, seconds: u64, holds: impl Fn(&World) -> bool) {
        let end = self.cluster.engine.now() + Duration::from_secs(seconds);
        while !holds(self) {
            assert!(self.cluster.engine.now() <= end, "it did not come to hold within {seconds} s");
            self.step();
        }
    }

    /// Steps until nothing but background traffic is left.
    pub fn settle(&mut self) {
        while !self.cluster.is_quiet() {
            self.step();
        }
    }

    /// Sends one request as the user, and gives its answer.
    pub fn ask(&mut self, verb: Verb, kind: Kind, name: &str, body: Body) -> Answer {
        self.ask_of(verb, kind, name, None, body)
    }

    /// The same for a part of the object: its status, or a Namespace's finalizers.
    pub fn ask_part(&mut self, verb: Verb, kind: Kind, name: &str, part: &str, body: Body) -> Answer {
        let part = if part == "finalize" { Subresource::Finalize } else { Subresource::Status };
        self.ask_of(verb, kind, name, Some(part), body)
    }

    fn ask_of(&mut self, verb: Verb, kind: Kind, name: &str, part: Option<Subresource>, body: Body) -> Answer {
        let (namespace, name) = name.split_once('/').unwrap_or(("", name));
        let user = self.cluster.user.user().clone();
        let request = Request { subresource: part, ..Request::new(user, verb, kind, namespace, name, body) };
        let outcome = self.start("ask", |client| async move { client.request(request).await });
        self.finish(&outcome).expect("requests in one process are answered")
    }

    /// Creates an object, and gives its uid.
    pub fn create(&mut self, kind: Kind, name: &str, owners: &[Value], spec: Value) -> String {
        let (namespace, short) = name.split_once('/').unwrap_or(("", name));
        let info = kind.info();
        let mut object = json!({
            "apiVersion": info.api_version, "kind": info.kind,
            "metadata": {"name": short, "ownerReferences": owners},
        });
        if !spec.is_null() {
            object["spec"] = spec;
        }
        let answer = self.ask(Verb::Create, kind, &format!("{namespace}/"), Body::Json(object.to_string()));
        assert_eq!(answer.code, 201, "{:?}", answer.result);
        self.get(kind, name).expect("it was just made").meta().uid.clone().unwrap()
    }

    /// DELETE with options.
    pub fn delete(&mut self, kind: Kind, name: &str, options: DeleteOptions) -> Answer {
        self.ask(Verb::Delete, kind, name, Body::Delete(options))
    }

    /// What is stored.
    pub fn get(&self, kind: Kind, name: &str) -> Option<Object> {
        let (namespace, name) = name.split_once('/').unwrap_or(("", name));
        Reader::get(&self.cluster.engine.server.api.store, kind, namespace, name)
    }

    /// All of a kind in a namespace.
    pub fn list(&self, kind: Kind, namespace: &str) -> Vec<Object> {
        Reader::list(&self.cluster.engine.server.api.store, kind, namespace)
    }

    /// Makes an object as a user with a manifest does.
    pub fn apply(&mut self, object: Value) {
        let text = object.to_string();
        self.cluster.kubectl.files = std::rc::Rc::new([("object.json".to_owned(), text)].into());
        let said = self.kubectl("apply -f object.json");
        assert!(said.ends_with(" created\n"), "{said}");
    }

    /// Runs one kubectl line to its end, and gives what it printed.
    pub fn kubectl(&mut self, line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let shell = self.cluster.kubectl.clone();
        shell.output.take();
        let shown = shell.output.clone();
        let outcome = self.start(line, |_| async move { kubectl::run(&words, &shell).await });
        self.finish(&outcome);
        shown.take()
    }

    /// What one component has written since the last look.
    pub fn take_writes(&mut self, agent: &str) -> Vec<String> {
        let all = std::mem::take(&mut self.seen.writes);
        all.iter().filter_map(|line| Some(line.strip_prefix(agent)?.trim_start().to_owned())).collect()
    }
}

fn read(step: &Step) -> Option<String> {
    let What::Request { request, .. } = &step.event.what else { return None };
    let (agent, verb, plural) = (&request.user.agent, request.verb.as_str(), request.kind.info().plural);
    matches!(request.verb, Verb::Get | Verb::List).then(|| format!("{agent} {verb} {plural} {}", request.name))
}

fn written(step: &Step) -> Option<String> {
    let What::Request { request, .. } = &step.event.what else { return None };
    if !request.verb.writes() || request.kind == Kind::Lease {
        return None;
    }
    let (code, name) = answered(step)?;
    if let Body::Object(Object::Event(event)) = &request.body {
        let (reason, message) = (event.reason.as_deref()?, event.message.as_deref()?);
        return Some(format!("{} event {reason}: {message}", request.user.agent));
    }
    let (agent, verb, resource) = (&request.user.agent, request.verb.as_str(), resource(request));
    Some(format!("{agent} {verb} {resource} {name} {code}"))
}
