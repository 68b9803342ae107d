//! A cluster, somebody who asks it for things, and what a test notes of its steps.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use apiserver::host::Engine;
use client::Client;
use cluster::Cluster;
use engine::{Note, Step, What};
use object::{Kind, Object};
use serde_json::Value;
use wire::{Body, Request, Verb};

/// A cluster, and what was seen of its steps.
pub struct World<O> {
    /// The cluster.
    pub cluster: Cluster,
    /// What was seen.
    pub seen: O,
}

/// Notes what a test is about.
pub trait Observer {
    /// Looks at a step that was just made.
    fn observe(&mut self, engine: &Engine, step: &Step);
}

/// What a command has come to, once it has.
pub type Outcome<T> = Rc<RefCell<Option<T>>>;

impl<O: Observer> World<O> {
    /// Steps for so many seconds of virtual time.
    pub fn run(&mut self, seconds: u64) {
        let end = self.cluster.engine.now() + Duration::from_secs(seconds);
        while let Some(step) = self.cluster.step_due(end) {
            self.look_at(&step);
        }
    }

    /// One step.
    pub fn step(&mut self) {
        let step = self.cluster.step().expect("a cluster with timers never ends");
        self.look_at(&step);
    }

    fn look_at(&mut self, step: &Step) {
        self.seen.observe(&self.cluster.engine, step);
        let crashes = self.cluster.engine.take_crashes();
        assert!(crashes.is_empty(), "{crashes:?}");
    }

    /// Starts a command of the user's.
    pub fn start<T: 'static, F: Future<Output = T> + 'static>(
        &mut self,
        label: &str,
        command: impl FnOnce(Client) -> F,
    ) -> Outcome<T> {
        let outcome = Outcome::default();
        let (out, future) = (outcome.clone(), command(self.cluster.user.clone()));
        self.cluster.run_command(label, async move {
            let output = future.await;
            *out.borrow_mut() = Some(output);
        });
        outcome
    }

    /// Runs one request of the user's, and for a second what follows from it.
    pub fn call<T: 'static, F: Future<Output = T> + 'static>(&mut self, command: impl FnOnce(Client) -> F) -> T {
        let outcome = self.start("test", command);
        self.run(1);
        outcome.take().expect("the command ended")
    }

    /// Steps until a command has ended, and no further.
    pub fn finish<T>(&mut self, outcome: &Outcome<T>) -> T {
        while outcome.borrow().is_none() {
            self.step();
        }
        outcome.take().expect("it has ended")
    }

    /// Starts a request of the user's that must go well.
    pub fn send(&mut self, verb: Verb, kind: Kind, name: &str, body: Body) {
        let namespace = if kind.info().namespaced { "default" } else { "" };
        let request = Request::new(self.cluster.user.user().clone(), verb, kind, namespace, name, body);
        self.start("kubectl", |client| async move {
            let line = request.line();
            let answer = client.request(request).await.expect("an answer");
            assert!(answer.result.is_ok(), "{line}: {:?}", answer.result);
        });
    }

    /// Starts to create what a manifest says.
    pub fn send_manifest(&mut self, manifest: Value) {
        let word = |field: &str| manifest[field].as_str().unwrap_or_default().to_owned();
        let kind = Kind::from_manifest(&word("apiVersion"), &word("kind")).expect("a known kind");
        let object: Object = kind.decode(manifest).expect("the manifest decodes");
        self.send(Verb::Create, kind, "", Body::Object(object));
    }
}

/// The code of the answer to a step's request, and the name of what it was about.
pub fn answered(step: &Step) -> Option<(u16, String)> {
    let What::Request { request, .. } = &step.event.what else { return None };
    step.notes.iter().find_map(|note| match note {
        Note::Answered { code, name, .. } if name.is_empty() => Some((*code, request.name.clone())),
        Note::Answered { code, name, .. } => Some((*code, name.clone())),
        _ => None,
    })
}

/// `deployments/status`.
pub fn resource(request: &Request) -> String {
    let part = request.subresource.map_or(String::new(), |part| format!("/{}", part.as_str()));
    format!("{}{part}", request.kind.info().plural)
}
