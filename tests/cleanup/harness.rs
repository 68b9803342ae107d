//! A cluster, someone with a keyboard and a client, and a note of all that components write.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use kubestep::apiserver::admission::Reader;
use kubestep::apiserver::request::{Answer, Body, DeleteOptions, Options, Request, Subresource, Verb};
use kubestep::cluster::{Cluster, Config, NodeConfig, kubectl};
use kubestep::debugger::properties::{self, Property};
use kubestep::engine::{Note, Step, What};
use kubestep::object::{Kind, Object};
use serde_json::{Value, json};

/// The cluster and what was written in it.
pub struct World {
    /// The cluster.
    pub cluster: Cluster,
    /// `generic-garbage-collector delete pods web-1 200`, in order.
    pub writes: Vec<String>,
    /// `tokens-controller get serviceaccounts robot`, in order.
    pub reads: Vec<String>,
    properties: Vec<Box<dyn Property>>,
}

impl World {
    /// A cluster of so many nodes, at rest.
    pub fn new(nodes: usize) -> World {
        let nodes = (1..=nodes).map(NodeConfig::numbered).collect();
        World::of(Cluster::start(Config { nodes, ..Config::default() }))
    }

    /// This cluster.
    pub fn of(cluster: Cluster) -> World {
        World { cluster, writes: Vec::new(), reads: Vec::new(), properties: properties::all() }
    }

    /// Steps for so many seconds of virtual time.
    pub fn wait(&mut self, seconds: u64) {
        let end = self.cluster.engine.now() + Duration::from_secs(seconds);
        while self.cluster.engine.peek().is_some_and(|next| next.due <= end) {
            self.step();
        }
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

    fn step(&mut self) {
        let step = self.cluster.step().expect("a cluster with timers never ends");
        for property in &mut self.properties {
            property.check(&self.cluster.engine, &step).unwrap_or_else(|what| panic!("{}: {what}", property.name()));
        }
        self.writes.extend(written(&step));
        self.reads.extend(read(&step));
        assert!(self.cluster.engine.take_crashes().is_empty());
    }

    /// Sends one request as the user, and gives its answer.
    pub fn ask(&mut self, verb: Verb, kind: Kind, name: &str, body: Body) -> Answer {
        self.send(verb, kind, name, None, body)
    }

    /// The same for a part of the object: its status, or a Namespace's finalizers.
    pub fn ask_part(&mut self, verb: Verb, kind: Kind, name: &str, part: &str, body: Body) -> Answer {
        let part = if part == "finalize" { Subresource::Finalize } else { Subresource::Status };
        self.send(verb, kind, name, Some(part), body)
    }

    fn send(&mut self, verb: Verb, kind: Kind, name: &str, part: Option<Subresource>, body: Body) -> Answer {
        let (namespace, name) = name.split_once('/').unwrap_or(("", name));
        let client = self.cluster.user.clone();
        let request = Request {
            user: client.user().clone(),
            verb,
            kind,
            subresource: part,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            body,
            options: Options::default(),
        };
        let result = Rc::new(RefCell::new(None));
        let out = result.clone();
        self.cluster.run_command("ask", async move {
            let answer = client.request(request).await;
            *out.borrow_mut() = Some(answer);
        });
        while result.borrow().is_none() {
            self.step();
        }
        result.take().unwrap().expect("requests in one process are answered")
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
        Reader::get(&self.cluster.engine.api.store, kind, namespace, name)
    }

    /// All of a kind in a namespace.
    pub fn list(&self, kind: Kind, namespace: &str) -> Vec<Object> {
        Reader::list(&self.cluster.engine.api.store, kind, namespace)
    }

    /// Makes an object as somebody with a manifest does.
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
        let done = Rc::new(RefCell::new(false));
        let flag = done.clone();
        self.cluster.run_command(line, async move {
            kubectl::run(&words, &shell).await;
            *flag.borrow_mut() = true;
        });
        while !*done.borrow() {
            self.step();
        }
        shown.take()
    }

    /// What one component has written since the last look.
    pub fn take_writes(&mut self, agent: &str) -> Vec<String> {
        let all = std::mem::take(&mut self.writes);
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
    let (code, name) = step.notes.iter().find_map(|note| match note {
        Note::Answered { code, name, .. } => Some((*code, name.clone())),
        _ => None,
    })?;
    let name = if name.is_empty() { request.name.clone() } else { name };
    if let Body::Object(Object::Event(event)) = &request.body {
        let (reason, message) = (event.reason.as_deref()?, event.message.as_deref()?);
        return Some(format!("{} event {reason}: {message}", request.user.agent));
    }
    let subresource = request.subresource.map_or(String::new(), |s| format!("/{}", s.as_str()));
    let (agent, verb, plural) = (&request.user.agent, request.verb.as_str(), request.kind.info().plural);
    Some(format!("{agent} {verb} {plural}{subresource} {name} {code}"))
}
