//! A cluster whose components are watched for what they do about storage, and the objects that tests put into it.

use std::any::Any;

use apiserver::host::Engine;
use cluster::{Cluster, Config};
use engine::{Step, What};
use kubelet::csi::CsiRequest;
use object::reader::Reader;
use object::time::Instant;
use object::{Kind, Object};
use serde_json::{Value, json};
use wire::{Body, DeleteOptions, Patch, Request, Verb};

use crate::world::{self, Observer};

pub const BINDER: &str = "persistent-volume-binder";
const PROTECTION: &str = "pvc-protection-controller";

pub type World = world::World<Asked>;

const ATTACHER: &str = "attachdetach-controller";

/// The writes of components about storage, what some of them ask for, and what the driver is called for.
#[derive(Default)]
pub struct Asked {
    pub writes: Vec<String>,
    pub reads: Vec<String>,
    calls: Vec<(Instant, &'static str)>,
    patches: Vec<(String, Value)>,
}

impl Observer for Asked {
    fn observe(&mut self, engine: &Engine, step: &Step) {
        if let What::Rpc { message, .. } = &step.event.what {
            let any: &dyn Any = &**message;
            if any.is::<CsiRequest>() {
                self.calls.push((engine.now(), message.method()));
            }
        }
        let What::Request { request, .. } = &step.event.what else { return };
        let agent = &*request.user.agent;
        if matches!((request.verb, agent), (Verb::Get, BINDER | ATTACHER) | (Verb::List, PROTECTION)) {
            self.reads.push(request.line());
        }
        if let Body::Patch(Patch::Merge(patch) | Patch::Strategic(patch)) = &request.body
            && agent != "user/kubectl"
        {
            self.patches.push((format!("{agent}: {}", request.line()), patch.clone()));
        }
        if request.verb.writes() && is_about_storage(request) && agent != "user/kubectl" {
            self.writes.push(format!("{agent}: {}", request.line()));
        }
    }
}

impl Asked {
    /// When the driver was called for this.
    pub fn calls_of(&self, method: &str) -> Vec<Instant> {
        self.calls.iter().filter(|(_, called)| *called == method).map(|(when, _)| *when).collect()
    }

    /// The patches of requests whose lines begin so: a client, and the object that it patches.
    pub fn patches_of(&self, line: &str) -> Vec<Value> {
        self.patches.iter().filter(|(there, _)| there.starts_with(line)).map(|(_, patch)| patch.clone()).collect()
    }

    /// From now on.
    pub fn forget(&mut self) {
        *self = Asked { calls: std::mem::take(&mut self.calls), ..Asked::default() };
    }
}

impl World {
    pub fn new(config: Config) -> World {
        let mut world = World { cluster: Cluster::start(config), seen: Asked::default() };
        world.run(2);
        world.seen.writes.clear();
        world
    }

    /// Creates what the manifest says.
    pub fn create(&mut self, manifest: Value) {
        self.send_manifest(manifest);
        self.run(1);
    }

    pub fn delete(&mut self, kind: Kind, name: &str) {
        self.send(Verb::Delete, kind, name, Body::Delete(DeleteOptions::default()));
    }

    pub fn patch(&mut self, kind: Kind, name: &str, patch: Value) {
        self.send(Verb::Patch, kind, name, Body::Patch(Patch::Merge(patch)));
    }

    pub fn get(&self, kind: Kind, name: &str) -> Option<Value> {
        let namespace = if kind.info().namespaced { "default" } else { "" };
        Reader::get(&self.cluster.engine.server.api.store, kind, namespace, name).map(|object| object.to_json())
    }

    pub fn list(&self, kind: Kind) -> Vec<Value> {
        Reader::list(&self.cluster.engine.server.api.store, kind, "").iter().map(Object::to_json).collect()
    }

    pub fn phase(&self, kind: Kind, name: &str) -> String {
        let object = self.get(kind, name);
        object.map_or("gone".into(), |object| object["status"]["phase"].as_str().unwrap_or_default().to_owned())
    }

    /// Type, reason and message of the Events about an object.
    pub fn events(&self, name: &str) -> Vec<String> {
        let events = Reader::list(&self.cluster.engine.server.api.store, Kind::Event, "");
        let mut lines = Vec::new();
        for event in events {
            let Object::Event(event) = event else { continue };
            if event.involved_object.name.as_deref() == Some(name) {
                let part = |field: &Option<std::sync::Arc<str>>| field.as_deref().unwrap_or_default().to_owned();
                lines.push(format!("{} {} {}", part(&event.type_), part(&event.reason), part(&event.message)));
            }
        }
        lines
    }
}

fn is_about_storage(request: &Request) -> bool {
    let info = request.kind.info();
    info.group == "storage.k8s.io" || matches!(request.kind, Kind::PersistentVolume | Kind::PersistentVolumeClaim)
}

pub fn volume(name: &str, size: &str, more: Value) -> Value {
    let mut spec = json!({
        "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/data"},
    });
    spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec})
}

pub fn claim(name: &str, size: &str, more: Value) -> Value {
    let mut spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}});
    spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

pub fn class(name: &str, provisioner: &str, mode: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": mode,
    })
}

/// A pod that uses a claim, and nothing else.
pub fn user_of(name: &str, claim: &str, more: Value) -> Value {
    let mount = json!([{"name": "data", "mountPath": "/data"}]);
    let mut spec = json!({
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "app", "image": "nginx:1.27", "volumeMounts": mount}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
    });
    spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
    let metadata = json!({"name": name, "namespace": "default"});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

pub fn with_csi() -> Config {
    Config { csi: true, ..Config::default() }
}
