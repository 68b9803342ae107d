//! Volumes and claims in a whole cluster: who writes what, in which order, and what is said about what cannot be.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use kubestep::apiserver::admission::Reader;
use kubestep::apiserver::request::{Body, DeleteOptions, Options, Patch, Request, User, Verb};
use kubestep::cluster::{Cluster, Config};
use kubestep::engine::What;
use kubestep::object::{Kind, Object};

/// A cluster, and the writes of its components about storage.
struct World {
    cluster: Cluster,
    writes: Vec<String>,
}

impl World {
    fn new(config: Config) -> World {
        let mut world = World { cluster: Cluster::start(config), writes: Vec::new() };
        world.run(2);
        world.writes.clear();
        world
    }

    /// Creates what the manifest says.
    fn create(&mut self, manifest: Value) {
        let word = |field: &str| manifest[field].as_str().unwrap_or_default().to_owned();
        let kind = Kind::from_manifest(&word("apiVersion"), &word("kind")).expect("a known kind");
        let object = kind.decode(manifest).expect("the manifest decodes");
        self.send(Verb::Create, kind, "", Body::Object(object));
        self.run(1);
    }

    fn delete(&mut self, kind: Kind, name: &str) {
        self.send(Verb::Delete, kind, name, Body::Delete(DeleteOptions::default()));
    }

    fn patch(&mut self, kind: Kind, name: &str, patch: Value) {
        self.send(Verb::Patch, kind, name, Body::Patch(Patch::Merge(patch)));
    }

    fn send(&mut self, verb: Verb, kind: Kind, name: &str, body: Body) {
        let namespace = if kind.info().namespaced { "default" } else { "" };
        let request = Request {
            user: Rc::new(User::admin()),
            verb,
            kind,
            subresource: None,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            body,
            options: Options::default(),
        };
        let user = self.cluster.user.clone();
        self.cluster.run_command("kubectl", async move {
            let line = request.line();
            let answer = user.request(request).await.expect("an answer");
            assert!(answer.result.is_ok(), "{line}: {:?}", answer.result);
        });
    }

    fn run(&mut self, seconds: u64) {
        let end = self.cluster.engine.now() + Duration::from_secs(seconds);
        while self.cluster.engine.peek().is_some_and(|next| next.due <= end) {
            let step = self.cluster.step().expect("there is a next event");
            let crashes = self.cluster.engine.take_crashes();
            assert!(crashes.is_empty(), "{crashes:?}");
            if let What::Request { request, .. } = &step.event.what
                && request.verb.writes()
                && is_about_storage(request)
                && &*request.user.agent != "user/kubectl"
            {
                self.writes.push(format!("{}: {}", request.user.agent, request.line()));
            }
        }
    }

    fn get(&self, kind: Kind, name: &str) -> Option<Value> {
        let namespace = if kind.info().namespaced { "default" } else { "" };
        Reader::get(&self.cluster.engine.api.store, kind, namespace, name).map(|object| object.to_json())
    }

    fn phase(&self, kind: Kind, name: &str) -> String {
        let object = self.get(kind, name);
        object.map_or("gone".into(), |object| object["status"]["phase"].as_str().unwrap_or_default().to_owned())
    }

    /// Type, reason and message of the Events about an object.
    fn events(&self, name: &str) -> Vec<String> {
        let events = Reader::list(&self.cluster.engine.api.store, Kind::Event, "");
        let mut lines = Vec::new();
        for event in events {
            let Object::Event(event) = event else { continue };
            if event.involved_object.name.as_deref() == Some(name) {
                let part = |field: &Option<String>| field.clone().unwrap_or_default();
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

fn volume(name: &str, size: &str, more: Value) -> Value {
    let mut spec = json!({
        "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/data"},
    });
    spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec})
}

fn claim(name: &str, size: &str, more: Value) -> Value {
    let mut spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}});
    spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

fn class(name: &str, provisioner: &str, mode: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": mode,
    })
}

const BINDER: &str = "persistent-volume-binder";

#[test]
fn a_claim_is_bound_in_four_writes() {
    let mut world = World::new(Config::default());
    world.create(volume("large", "10Gi", json!({})));
    world.create(volume("small", "2Gi", json!({})));
    world.writes.clear();
    world.create(claim("data", "1Gi", json!({})));
    world.run(2);
    let expected = [
        "update persistentvolumes small",
        "update persistentvolumes/status small",
        "update persistentvolumeclaims default/data",
        "update persistentvolumeclaims/status default/data",
    ];
    assert_eq!(world.writes, expected.map(|line| format!("{BINDER}: {line}")));
    let (claim, volume) = (world.get(Kind::PersistentVolumeClaim, "data"), world.get(Kind::PersistentVolume, "small"));
    let (claim, volume) = (claim.expect("it is there"), volume.expect("it is there"));
    assert_eq!(
        claim["status"],
        json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}})
    );
    assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
    assert_eq!(volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"], "yes");
    assert_eq!(claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"], "yes");
    assert_eq!(world.phase(Kind::PersistentVolume, "large"), "Available");
}

#[test]
fn what_becomes_of_a_volume_is_up_to_its_policy() {
    for (more, phase, event) in [
        (json!({"persistentVolumeReclaimPolicy": "Retain"}), "Released", None),
        (json!({"persistentVolumeReclaimPolicy": "Delete"}), "gone", None),
        (
            json!({"persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": "/data"}}),
            "Failed",
            Some("Warning VolumeFailedDelete host_path deleter only supports /tmp/.+ but received provided /data"),
        ),
    ] {
        let mut world = World::new(Config::default());
        world.create(volume("pv", "2Gi", more.clone()));
        world.create(claim("data", "1Gi", json!({})));
        world.run(2);
        assert_eq!(world.phase(Kind::PersistentVolume, "pv"), "Bound");
        world.delete(Kind::PersistentVolumeClaim, "data");
        world.run(5);
        assert_eq!(world.phase(Kind::PersistentVolumeClaim, "data"), "gone");
        assert_eq!(world.phase(Kind::PersistentVolume, "pv"), phase, "{more}");
        assert_eq!(world.events("pv").first().map(String::as_str), event, "{more}");
        // A volume that was released is never given away again.
        world.create(claim("next", "1Gi", json!({})));
        world.run(20);
        assert_eq!(world.phase(Kind::PersistentVolumeClaim, "next"), "Pending");
    }
}

#[test]
fn what_is_in_use_is_not_removed() {
    let mut world = World::new(Config::default());
    world.create(volume("pv", "2Gi", json!({})));
    world.create(claim("data", "1Gi", json!({})));
    world.delete(Kind::PersistentVolume, "pv");
    world.run(2);
    let deleting =
        |world: &World| world.get(Kind::PersistentVolume, "pv").map(|v| !v["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(deleting(&world), Some(true), "it is bound");
    world.delete(Kind::PersistentVolumeClaim, "data");
    world.run(2);
    assert_eq!(deleting(&world), None);
}

#[test]
fn promises_made_by_hand_are_kept() {
    let mut world = World::new(Config::default());
    world.create(volume("any", "1Gi", json!({})));
    world.create(volume("mine", "9Gi", json!({"claimRef": {"namespace": "default", "name": "data"}})));
    world.create(claim("data", "1Gi", json!({})));
    world.create(claim("asking", "1Gi", json!({"volumeName": "any"})));
    world.create(claim("late", "1Gi", json!({"volumeName": "any"})));
    world.create(claim("greedy", "5Gi", json!({"volumeName": "spare"})));
    world.create(volume("spare", "1Gi", json!({})));
    world.run(20);
    assert_eq!(world.get(Kind::PersistentVolumeClaim, "data").expect("there")["spec"]["volumeName"], "mine");
    assert_eq!(world.phase(Kind::PersistentVolumeClaim, "asking"), "Bound");
    assert_eq!(world.events("late"), ["Warning FailedBinding volume \"any\" already bound to a different claim."]);
    let mismatch = "Warning VolumeMismatch Cannot bind to requested volume \"spare\": requested PV is too small";
    assert_eq!(world.events("greedy"), [mismatch]);
}

#[test]
fn a_claim_whose_volume_is_gone_is_lost() {
    let mut world = World::new(Config::default());
    world.create(volume("pv", "2Gi", json!({})));
    world.create(claim("data", "1Gi", json!({})));
    world.run(2);
    world.patch(Kind::PersistentVolume, "pv", json!({"metadata": {"finalizers": null}}));
    world.delete(Kind::PersistentVolume, "pv");
    world.run(5);
    assert_eq!(world.phase(Kind::PersistentVolume, "pv"), "gone");
    assert_eq!(world.phase(Kind::PersistentVolumeClaim, "data"), "Lost");
    let lost = "Warning ClaimLost Bound claim has lost its PersistentVolume. Data on the volume is lost!";
    assert_eq!(world.events("data"), [lost]);
}

#[test]
fn claims_that_cannot_be_bound_say_why() {
    let mut world = World::new(Config::default());
    world.create(volume("small", "1Gi", json!({})));
    world.create(class("lazy", "disk.example.com", "WaitForFirstConsumer"));
    world.create(class("eager", "disk.example.com", "Immediate"));
    world.create(class("none", "kubernetes.io/no-provisioner", "Immediate"));
    let none = "Normal FailedBinding no persistent volumes available for this claim and no storage class is set";
    for (name, spec, event) in [
        ("too-large", json!({"resources": {"requests": {"storage": "100Ti"}}}), none),
        ("too-many", json!({"accessModes": ["ReadWriteMany"]}), none),
        (
            "unknown-class",
            json!({"storageClassName": "gold"}),
            "Warning ProvisioningFailed storageclass.storage.k8s.io \"gold\" not found",
        ),
        (
            "waits",
            json!({"storageClassName": "lazy"}),
            "Normal WaitForFirstConsumer waiting for first consumer to be created before binding",
        ),
        (
            "asks",
            json!({"storageClassName": "eager"}),
            "Normal ExternalProvisioning Waiting for a volume to be created either by the external provisioner \
             'disk.example.com' or manually by the system administrator. If volume creation is delayed, please verify \
             that the provisioner is running and correctly registered.",
        ),
        (
            "by-hand",
            json!({"storageClassName": "none"}),
            "Warning ProvisioningFailed no volume plugin matched name: kubernetes.io/no-provisioner",
        ),
    ] {
        world.create(claim(name, "1Gi", spec));
        world.run(20);
        assert_eq!(world.events(name), [event], "{name}");
        assert_eq!(world.phase(Kind::PersistentVolumeClaim, name), "Pending");
    }
    let asked = world.get(Kind::PersistentVolumeClaim, "asks").expect("it is there");
    assert_eq!(asked["metadata"]["annotations"]["volume.kubernetes.io/storage-provisioner"], "disk.example.com");
}
