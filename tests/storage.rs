//! Volumes and claims in a whole cluster: who writes what, in which order, and what is said about what cannot be.

use std::any::Any;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use kubestep::apiserver::admission::Reader;
use kubestep::apiserver::request::{Body, DeleteOptions, Patch, Request, Verb};
use kubestep::bugs;
use kubestep::cluster::scenario::Scenario;
use kubestep::cluster::{Cluster, Config, NodeConfig};
use kubestep::engine::{Engine, Step, What};
use kubestep::node::csi::CsiRequest;
use kubestep::object::{Kind, Object};
use world::Observer;

mod world;

type World = world::World<Asked>;

/// The writes of components about storage, and what two of them ask for.
#[derive(Default)]
struct Asked {
    writes: Vec<String>,
    reads: Vec<String>,
}

impl Observer for Asked {
    fn observe(&mut self, _: &Engine, step: &Step) {
        let What::Request { request, .. } = &step.event.what else { return };
        let agent = &*request.user.agent;
        let reads_node = request.verb == Verb::Get && request.kind == Kind::Node;
        assert!(!(reads_node && agent == "attachdetach-controller"), "its cache has the node");
        if matches!((request.verb, agent), (Verb::Get, BINDER) | (Verb::List, PROTECTION)) {
            self.reads.push(request.line());
        }
        if request.verb.writes() && is_about_storage(request) && agent != "user/kubectl" {
            self.writes.push(format!("{agent}: {}", request.line()));
        }
    }
}

impl World {
    fn new(config: Config) -> World {
        let mut world = World { cluster: Cluster::start(config), seen: Asked::default() };
        world.run(2);
        world.seen.writes.clear();
        world
    }

    /// Creates what the manifest says.
    fn create(&mut self, manifest: Value) {
        self.send_manifest(manifest);
        self.run(1);
    }

    fn delete(&mut self, kind: Kind, name: &str) {
        self.send(Verb::Delete, kind, name, Body::Delete(DeleteOptions::default()));
    }

    fn patch(&mut self, kind: Kind, name: &str, patch: Value) {
        self.send(Verb::Patch, kind, name, Body::Patch(Patch::Merge(patch)));
    }

    fn get(&self, kind: Kind, name: &str) -> Option<Value> {
        let namespace = if kind.info().namespaced { "default" } else { "" };
        Reader::get(&self.cluster.engine.api.store, kind, namespace, name).map(|object| object.to_json())
    }

    fn list(&self, kind: Kind) -> Vec<Value> {
        Reader::list(&self.cluster.engine.api.store, kind, "").iter().map(Object::to_json).collect()
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
const PROTECTION: &str = "pvc-protection-controller";

#[test]
fn a_claim_is_bound_in_four_writes() {
    let mut world = World::new(Config::default());
    world.create(volume("large", "10Gi", json!({})));
    world.create(volume("small", "2Gi", json!({})));
    world.seen.writes.clear();
    world.create(claim("data", "1Gi", json!({})));
    world.run(2);
    let expected = [
        "update persistentvolumes small",
        "update persistentvolumes/status small",
        "update persistentvolumeclaims default/data",
        "update persistentvolumeclaims/status default/data",
    ];
    assert_eq!(world.seen.writes, expected.map(|line| format!("{BINDER}: {line}")));
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

/// Whether its claim is gone the binder asks once; and how the volume is, whenever it is about to delete it.
#[test]
fn the_claim_of_a_volume_that_is_given_back_is_asked_about_once() {
    let mut world = World::new(Config::default());
    world.create(volume("pv", "2Gi", json!({"persistentVolumeReclaimPolicy": "Delete"})));
    world.create(claim("data", "1Gi", json!({})));
    world.run(2);
    world.seen.reads.clear();
    world.delete(Kind::PersistentVolumeClaim, "data");
    world.run(5);
    world.seen.reads.retain(|read| read.starts_with("get"));
    assert_eq!(world.seen.reads[..2], ["get persistentvolumeclaims default/data", "get persistentvolumes pv"]);
    assert!(world.seen.reads[2..].iter().all(|read| read == "get persistentvolumes pv"), "{:?}", world.seen.reads);
}

/// A claim for a file system that was promised a block device never gets it, and both are told.
#[test]
fn a_promise_of_another_mode_is_not_kept() {
    let mut world = World::new(Config::default());
    world.create(claim("data", "1Gi", json!({})));
    world.run(1);
    let uid = world.get(Kind::PersistentVolumeClaim, "data").expect("there")["metadata"]["uid"].clone();
    let promised = json!({"namespace": "default", "name": "data", "uid": uid});
    world.create(volume("raw", "1Gi", json!({"volumeMode": "Block", "claimRef": promised})));
    world.run(1);
    let why = "due to incompatible volumeMode.";
    let of_volume = format!("Cannot bind PersistentVolume to requested PersistentVolumeClaim \"data\" {why}");
    let of_claim = format!("Cannot bind PersistentVolume \"raw\" to requested PersistentVolumeClaim {why}");
    assert_eq!(world.events("raw"), [format!("Warning VolumeMismatch {of_volume}")]);
    assert!(world.events("data").contains(&format!("Warning VolumeMismatch {of_claim}")));
}

/// Everything is looked at in one round, every 15 seconds; whatever waits is told of again.
#[test]
fn what_waits_is_looked_at_in_one_round() {
    let mut world = World::new(Config::default());
    world.run(1);
    let told = |world: &World, name: &str| {
        let events = Reader::list(&world.cluster.engine.api.store, Kind::Event, "");
        let mut about = events.iter().filter_map(|event| match event {
            Object::Event(event) if event.involved_object.name.as_deref() == Some(name) => Some(event),
            _ => None,
        });
        let event = about.next().expect("it is told");
        (event.count, event.last_timestamp.clone())
    };
    world.create(claim("one", "100Ti", json!({})));
    world.run(10);
    world.create(claim("two", "100Ti", json!({})));
    assert_eq!((told(&world, "one").0, told(&world, "two").0), (Some(1), Some(1)));
    world.run(10);
    assert_eq!((told(&world, "one").0, told(&world, "two").0), (Some(2), Some(2)));
    assert_eq!(told(&world, "one").1, told(&world, "two").1);
}

/// To know that nobody uses them all Pods are listed; but not for each claim of those that go together.
#[test]
fn claims_that_go_together_are_told_from_one_list() {
    let mut world = World::new(Config::default());
    let names: Vec<String> = (0..6).map(|i| format!("data-{i}")).collect();
    names.iter().for_each(|name| world.create(claim(name, "1Gi", json!({}))));
    world.seen.reads.clear();
    names.iter().for_each(|name| world.delete(Kind::PersistentVolumeClaim, name));
    world.run(2);
    assert!(names.iter().all(|name| world.phase(Kind::PersistentVolumeClaim, name) == "gone"));
    let lists = world.seen.reads.iter().filter(|read| read.starts_with("list pods")).count();
    assert!((1..=3).contains(&lists), "{:?}", world.seen.reads);
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
    world.create(class("of-old", "kubernetes.io/aws-ebs", "Immediate"));
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
            "of-old",
            json!({"storageClassName": "of-old"}),
            "Normal ExternalProvisioning Waiting for a volume to be created either by the external provisioner \
             'ebs.csi.aws.com' or manually by the system administrator. If volume creation is delayed, please verify that \
             the provisioner is running and correctly registered.",
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

/// A pod that uses a claim, and nothing else.
fn user_of(name: &str, claim: &str, more: Value) -> Value {
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

fn with_csi() -> Config {
    Config { csi: true, ..Config::default() }
}

/// The way of a dynamic volume, up and down: who writes what.
#[test]
fn a_volume_that_waits_for_its_pod_comes_and_goes_in_order() {
    let mut world = World::new(with_csi());
    world.create(class("zonal", "disk.csi.kubestep.dev", "WaitForFirstConsumer"));
    world.create(claim("data", "1Gi", json!({"storageClassName": "zonal"})));
    world.run(2);
    world.seen.writes.clear();
    world.create(user_of("db", "data", json!({})));
    world.run(30);
    assert_eq!(world.phase(Kind::Pod, "db"), "Running");
    let claim = world.get(Kind::PersistentVolumeClaim, "data").expect("it is there");
    let volume = claim["spec"]["volumeName"].as_str().expect("it is bound").to_owned();
    let attachment = |line: &str| {
        let name = line.rsplit(' ').next().unwrap_or_default();
        if name.starts_with("csi-") { line.replace(name, "csi-…") } else { line.replace(&volume, "PV") }
    };
    let writes: Vec<String> = world.seen.writes.iter().map(|line| attachment(line)).collect();
    let expected = [
        "kube-scheduler: update persistentvolumeclaims default/data",
        "persistent-volume-binder: update persistentvolumeclaims default/data",
        "csi-provisioner: create persistentvolumes PV",
        "persistent-volume-binder: update persistentvolumes/status PV",
        "pv-protection-controller: update persistentvolumes PV",
        "persistent-volume-binder: update persistentvolumeclaims default/data",
        "persistent-volume-binder: update persistentvolumeclaims/status default/data",
        "attachdetach-controller: create volumeattachments csi-…",
        "csi-attacher: patch volumeattachments csi-…",
        "csi-attacher: patch volumeattachments/status csi-…",
    ];
    let without: Vec<&str> =
        writes.iter().map(String::as_str).filter(|line| !line.starts_with("pv-protection")).collect();
    let wanted: Vec<&str> = expected.into_iter().filter(|line| !line.starts_with("pv-protection")).collect();
    assert_eq!(without, wanted);
    world.delete(Kind::Pod, "db");
    world.delete(Kind::PersistentVolumeClaim, "data");
    world.run(30);
    assert_eq!(world.phase(Kind::PersistentVolumeClaim, "data"), "gone");
    assert_eq!(world.phase(Kind::PersistentVolume, &volume), "gone");
    assert!(world.list(Kind::VolumeAttachment).is_empty());
    let asked =
        world.seen.writes.iter().filter(|line| line.starts_with("attachdetach-controller: delete volumeattachments"));
    assert_eq!(asked.count(), 1, "{:#?}", world.seen.writes);
    for node in world.list(Kind::Node) {
        assert!(node["status"]["volumesAttached"].as_array().is_none_or(Vec::is_empty), "{node}");
        assert!(node["status"]["volumesInUse"].is_null(), "{node}");
    }
}

#[test]
fn a_static_volume_is_chosen_with_the_node_that_reaches_it() {
    let mut world = World::new(Config::default());
    world.create(class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"));
    let terms =
        json!([{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-2"]}]}]);
    let on_node_2 = json!({
        "storageClassName": "local", "hostPath": {"path": "/tmp/x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    });
    world.create(volume("disk-on-2", "1Gi", on_node_2));
    world.create(claim("data", "1Gi", json!({"storageClassName": "local"})));
    world.seen.writes.clear();
    world.create(user_of("db", "data", json!({})));
    world.run(10);
    let expected = [
        "kube-scheduler: update persistentvolumes disk-on-2",
        "persistent-volume-binder: update persistentvolumes/status disk-on-2",
        "persistent-volume-binder: update persistentvolumeclaims default/data",
        "persistent-volume-binder: update persistentvolumeclaims/status default/data",
    ];
    assert_eq!(world.seen.writes, expected);
    let pod = world.get(Kind::Pod, "db").expect("it is there");
    assert_eq!((&pod["spec"]["nodeName"], &pod["status"]["phase"]), (&json!("node-2"), &json!("Running")));
}

/// What the scheduler has decided the binder does not decide otherwise: a volume that the chosen node cannot reach stays
/// free, and a new one is made.
#[test]
fn a_free_volume_elsewhere_is_not_taken_for_a_claim_with_a_node() {
    let mut world = World::new(with_csi());
    world.create(class("zonal", "disk.csi.kubestep.dev", "WaitForFirstConsumer"));
    let terms =
        json!([{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-2"]}]}]);
    let affinity = json!({"required": {"nodeSelectorTerms": terms}});
    world.create(volume("on-2", "1Gi", json!({"storageClassName": "zonal", "nodeAffinity": affinity})));
    world.create(claim("data", "1Gi", json!({"storageClassName": "zonal"})));
    world.create(user_of("db", "data", json!({"nodeSelector": {"kubernetes.io/hostname": "node-1"}})));
    world.run(30);
    assert_eq!(world.phase(Kind::PersistentVolume, "on-2"), "Available");
    assert_eq!(world.phase(Kind::Pod, "db"), "Running");
}

/// Nobody makes volumes of this class, so the pod waits for its claim on its way to a node.
#[test]
fn a_pod_that_waits_for_its_claim_notices_that_it_is_given_back_or_that_it_is_gone_itself() {
    let mut world = World::new(with_csi());
    world.create(class("nobody", "nobody.example.com", "WaitForFirstConsumer"));
    world.create(claim("data", "1Gi", json!({"storageClassName": "nobody"})));
    world.create(user_of("db", "data", json!({})));
    let failed = |what: &str| {
        format!("Warning FailedScheduling running PreBind plugin \"VolumeBinding\": binding volumes: {what}")
    };
    let selected = "volume.kubernetes.io/selected-node";
    let given_back = json!({"metadata": {"annotations": {selected: null, "kept": "yes"}}});
    world.patch(Kind::PersistentVolumeClaim, "data", given_back);
    world.run(2);
    let events = world.events("db");
    assert!(events.contains(&failed("provisioning failed for PVC \"data\"")), "{events:?}");
    world.run(20);
    let again = world.get(Kind::PersistentVolumeClaim, "data").expect("the claim is there");
    assert!(again["metadata"]["annotations"][selected].is_string(), "it was tried again: {again}");
    world.delete(Kind::Pod, "db");
    world.run(2);
    let events = world.events("db");
    assert!(events.contains(&failed("pod does not exist any more: pod \"db\" not found")), "{events:?}");
}

#[test]
fn pods_that_cannot_have_their_volume_say_why() {
    const NOT_HELPFUL: &str =
        "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";
    let mut world = World::new(with_csi());
    world.create(class("disk", "disk.csi.kubestep.dev", "Immediate"));
    world.create(class("zonal", "disk.csi.kubestep.dev", "WaitForFirstConsumer"));
    world.create(claim("huge", "9Ti", json!({"storageClassName": "disk"})));
    world.create(claim("single", "1Gi", json!({"storageClassName": "disk", "accessModes": ["ReadWriteOncePod"]})));
    world.create(claim("zoned", "1Gi", json!({"storageClassName": "zonal"})));
    world.run(5);
    let event = &world.events("huge");
    let failed = "Warning ProvisioningFailed failed to provision volume with StorageClass \"disk\": rpc error: code = \
                  ResourceExhausted desc = 9895604649984 bytes are asked for and";
    assert!(event.iter().any(|line| line.starts_with(failed)), "{event:?}");
    let zone = |zone: &str| json!({"nodeSelector": {"topology.kubernetes.io/zone": zone}});
    world.create(user_of("first", "single", json!({})));
    world.create(user_of("there", "zoned", zone("zone-a")));
    world.run(15);
    for (pod, claim, more, why) in [
        ("lonely", "none", json!({}), format!("persistentvolumeclaim \"none\" not found. {NOT_HELPFUL}")),
        ("patient", "huge", json!({}), format!("pod has unbound immediate PersistentVolumeClaims. {NOT_HELPFUL}")),
        (
            "elsewhere",
            "zoned",
            zone("zone-b"),
            format!(
                "1 node(s) didn't match PersistentVolume's node affinity, 2 node(s) didn't match Pod's node \
                 affinity/selector. {NOT_HELPFUL}"
            ),
        ),
        (
            "second",
            "single",
            json!({}),
            "3 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by \
             another pod. no new claims to deallocate, preemption: 0/3 nodes are available: 3 No preemption victims \
             found for incoming pod."
                .to_owned(),
        ),
    ] {
        world.create(user_of(pod, claim, more));
        world.run(3);
        assert_eq!(world.events(pod), [format!("Warning FailedScheduling 0/3 nodes are available: {why}")], "{pod}");
    }
    // When the first pod goes, the second has its turn.
    world.delete(Kind::Pod, "first");
    world.run(40);
    assert_eq!(world.phase(Kind::Pod, "second"), "Running");
}

/// A pod with a volume of its own, that comes and goes with it.
fn owner_of_scratch(name: &str) -> Value {
    let template = json!({
        "metadata": {"labels": {"type": "scratch"}, "annotations": {"made": "for the pod"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "zonal",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    let mut pod = user_of(name, "", json!({}));
    pod["spec"]["volumes"] = json!([{"name": "data", "ephemeral": {"volumeClaimTemplate": template}}]);
    pod
}

/// The claim is made for the Pod and belongs to it; the scheduler waits for it, and the garbage collector takes it away.
#[test]
fn an_ephemeral_volume_comes_and_goes_with_its_pod() {
    let mut world = World::new(with_csi());
    world.create(class("zonal", "disk.csi.kubestep.dev", "WaitForFirstConsumer"));
    world.seen.writes.clear();
    world.create(owner_of_scratch("db"));
    world.run(30);
    assert_eq!(world.phase(Kind::Pod, "db"), "Running");
    assert_eq!(world.seen.writes[0], "ephemeral-volume-controller: create persistentvolumeclaims default/db-data");
    let claim = world.get(Kind::PersistentVolumeClaim, "db-data").expect("it is there");
    assert_eq!(claim["metadata"]["labels"], json!({"type": "scratch"}));
    assert_eq!(claim["metadata"]["annotations"]["made"], "for the pod");
    let owner = &claim["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["name"], &owner["controller"]), (&json!("Pod"), &json!("db"), &json!(true)));
    let volume = claim["spec"]["volumeName"].as_str().expect("it is bound").to_owned();
    let waits = "Warning FailedScheduling 0/3 nodes are available: waiting for ephemeral volume controller to create the \
                 persistentvolumeclaim \"db-data\". no new claims to deallocate, preemption: 0/3 nodes are available: 3 \
                 Preemption is not helpful for scheduling.";
    let events = world.events("db");
    assert!(events.iter().filter(|line| line.contains("FailedScheduling")).all(|line| line == waits), "{events:?}");

    world.delete(Kind::Pod, "db");
    world.run(60);
    assert_eq!(world.phase(Kind::PersistentVolumeClaim, "db-data"), "gone");
    assert_eq!(world.phase(Kind::PersistentVolume, &volume), "gone");
    let deletes: Vec<&String> =
        world.seen.writes.iter().filter(|line| line.contains("delete persistentvolumeclaims")).collect();
    assert_eq!(deletes, ["generic-garbage-collector: delete persistentvolumeclaims default/db-data"]);
}

/// A claim of that name that belongs to nobody is not used, and the controller says so until it is out of the way.
#[test]
fn an_ephemeral_volume_is_never_the_claim_of_another() {
    let mut world = World::new(with_csi());
    world.create(class("zonal", "disk.csi.kubestep.dev", "WaitForFirstConsumer"));
    world.create(claim("db-data", "1Gi", json!({"storageClassName": "zonal"})));
    world.create(owner_of_scratch("db"));
    world.run(10);
    assert_eq!(world.phase(Kind::Pod, "db"), "Pending");
    const FOREIGN: &str = "PVC default/db-data was not created for pod default/db (pod is not owner)";
    let events = world.events("db");
    let has = |start: &str| events.iter().any(|line| line.starts_with(&format!("{start}{FOREIGN}")));
    assert!(has("Warning FailedBinding ephemeral volume data: "), "{events:?}");
    assert!(has("Warning FailedScheduling 0/3 nodes are available: "), "{events:?}");
    world.delete(Kind::PersistentVolumeClaim, "db-data");
    world.run(60);
    assert_eq!(world.phase(Kind::Pod, "db"), "Running");
}

/// A claim that is deleted under its Pod stays while the Pod runs, and one that a Pod still waits for is made anew.
#[test]
fn an_ephemeral_volume_that_is_deleted_is_made_anew() {
    let mut world = World::new(with_csi());
    let mut pod = owner_of_scratch("db");
    pod["spec"]["volumes"][0]["ephemeral"]["volumeClaimTemplate"]["spec"]["storageClassName"] = json!("none");
    world.create(pod);
    world.run(5);
    let uid =
        |world: &World| world.get(Kind::PersistentVolumeClaim, "db-data").map(|claim| claim["metadata"]["uid"].clone());
    let first = uid(&world).expect("it was made");
    world.delete(Kind::PersistentVolumeClaim, "db-data");
    world.run(5);
    let second = uid(&world).expect("it was made again");
    assert_ne!(first, second);
}

/// A hostPath volume asks that something be there on the node's own disk, or has it made; it outlives its Pod.
#[test]
fn a_host_path_is_what_its_type_says_or_the_pod_waits() {
    let mut world = World::new(Config::default());
    let user = |name: &str, path: &str, type_: &str| {
        let volumes = json!([{"name": "data", "hostPath": {"path": path, "type": type_}}]);
        user_of(name, "none", json!({"nodeName": "node-1", "volumes": volumes}))
    };
    for (name, path, type_, why) in [
        ("none", "/data/none", "Directory", "/data/none is not a directory"),
        ("file", "/etc", "File", "/etc is not a file"),
        ("either", "/etc", "FileOrCreate", "/etc is not a file"),
        ("made", "/etc/hostname", "DirectoryOrCreate", "/etc/hostname is not a directory"),
        ("socket", "/etc/hostname", "Socket", "/etc/hostname is not a socket file"),
        ("character", "/etc/hostname", "CharDevice", "/etc/hostname is not a character device"),
        ("block", "/dev/null", "BlockDevice", "/dev/null is not a block device"),
    ] {
        world.create(user(name, path, type_));
        world.run(1);
        let event = format!(
            "Warning FailedMount MountVolume.SetUp failed for volume \"data\" : hostPath type check failed: {why}"
        );
        assert!(world.events(name).contains(&event), "{name}: {:?}", world.events(name));
        assert_eq!(world.phase(Kind::Pod, name), "Pending", "{name}");
    }
    world.create(user("lost", "/nowhere/log", "FileOrCreate"));
    world.run(1);
    let event = "Warning FailedMount MountVolume.SetUp failed for volume \"data\" : open /nowhere/log: no such file or directory";
    assert!(world.events("lost").contains(&event.to_owned()), "{:?}", world.events("lost"));
    for (name, path, type_) in [
        ("any", "/data/any", ""),
        ("directory", "/data/made", "DirectoryOrCreate"),
        ("log", "/var/log/app", "FileOrCreate"),
        ("runtime", "/run/containerd.sock", "Socket"),
        ("null", "/dev/null", "CharDevice"),
    ] {
        world.create(user(name, path, type_));
        world.run(5);
        assert_eq!(world.phase(Kind::Pod, name), "Running", "{name}: {:?}", world.events(name));
    }
    // The one that waited for a directory has it now.
    world.create(user("maker", "/data/none", "DirectoryOrCreate"));
    world.run(130);
    assert_eq!(world.phase(Kind::Pod, "none"), "Running");
    world.delete(Kind::Pod, "maker");
    world.run(30);
    let disk = &world.cluster.host("node-1").expect("it is on").disk;
    assert!(disk.names("/data").is_ok_and(|names| names == ["any", "made", "none"]));
}

/// A pod that was put on a node by hand did not ask the scheduler whether its claim is bound.
#[test]
fn a_kubelet_waits_for_a_claim_too() {
    let mut world = World::new(with_csi());
    world.create(class("zonal", "disk.csi.kubestep.dev", "WaitForFirstConsumer"));
    world.create(claim("data", "1Gi", json!({"storageClassName": "zonal"})));
    world.create(user_of("db", "data", json!({"nodeName": "node-1"})));
    world.run(2);
    let event = "Warning FailedMount Unable to attach or mount volumes: unmounted volumes=[data], unattached \
                 volumes=[], failed to process volumes=[data]: error processing PVC default/data: PVC is not bound";
    assert_eq!(world.events("db"), [event]);
}

/// Six minutes after a node was lost its volume is taken away, if nobody says sooner that it is down for good.
#[test]
fn a_dead_node_loses_its_volume_after_six_minutes() {
    let mut world = World::new(with_csi());
    world.create(class("disk", "disk.csi.kubestep.dev", "Immediate"));
    world.create(claim("data", "1Gi", json!({"storageClassName": "disk"})));
    world.create(user_of("old", "data", json!({"nodeSelector": {"kubernetes.io/hostname": "node-1"}})));
    world.run(30);
    assert_eq!(world.phase(Kind::Pod, "old"), "Running");
    world.cluster.stop_node("node-1");
    world.run(60);
    let now = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    world.send(Verb::Delete, Kind::Pod, "old", Body::Delete(now));
    world.create(user_of("new", "data", json!({"nodeSelector": {"kubernetes.io/hostname": "node-2"}})));
    world.run(5);
    let events = world.events("new");
    let multi = |line: &String| line.contains("Volume is already exclusively attached to one node and can't be");
    assert!(events.iter().any(multi), "{events:?}");
    world.run(130);
    let waits = "Warning FailedMount Unable to attach or mount volumes: unmounted volumes=[data], unattached \
                 volumes=[data], failed to process volumes=[]: context deadline exceeded";
    assert!(world.events("new").contains(&waits.to_owned()), "{:?}", world.events("new"));
    let on = |world: &World| -> Vec<Value> {
        world.list(Kind::VolumeAttachment).iter().map(|a| a["spec"]["nodeName"].clone()).collect()
    };
    world.run(200);
    assert_eq!(on(&world), ["node-1"]);
    world.run(60);
    assert_eq!(on(&world), ["node-2"]);
    assert_eq!(world.phase(Kind::Pod, "new"), "Running");
}

/// Nor does a node that is no more say that it has unmounted a volume.
#[test]
fn a_node_that_is_removed_loses_its_volume_after_six_minutes() {
    let mut world = World::new(with_csi());
    world.create(class("disk", "disk.csi.kubestep.dev", "Immediate"));
    world.create(claim("data", "1Gi", json!({"storageClassName": "disk"})));
    world.create(user_of("db", "data", json!({"nodeSelector": {"kubernetes.io/hostname": "node-1"}})));
    world.run(30);
    world.cluster.stop_node("node-1");
    world.delete(Kind::Node, "node-1");
    let now = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    world.send(Verb::Delete, Kind::Pod, "db", Body::Delete(now));
    world.run(350);
    assert_eq!(world.list(Kind::VolumeAttachment).len(), 1);
    world.run(20);
    assert!(world.list(Kind::VolumeAttachment).is_empty());
}

/// Of the Pods that want a volume those are named that have it, not those that wait for it too.
#[test]
fn who_waits_for_a_volume_is_told_who_has_it() {
    let mut world = World::new(with_csi());
    world.create(class("disk", "disk.csi.kubestep.dev", "Immediate"));
    world.create(claim("data", "1Gi", json!({"storageClassName": "disk"})));
    for (name, node) in [("first", "node-1"), ("second", "node-2"), ("third", "node-3")] {
        world.create(user_of(name, "data", json!({"nodeSelector": {"kubernetes.io/hostname": node}})));
        world.run(20);
    }
    assert_eq!(world.phase(Kind::Pod, "first"), "Running");
    for name in ["second", "third"] {
        let events = world.events(name);
        let refusals: Vec<&String> = events.iter().filter(|line| line.contains("Multi-Attach")).collect();
        assert_eq!(refusals.len(), 1, "{events:?}");
        assert!(refusals[0].ends_with("Volume is already used by pod(s) first"), "{events:?}");
    }
}

/// What goes up comes down: each NodePublishVolume has its NodeUnpublishVolume in the end, whatever the order.
#[test]
fn every_publish_has_its_unpublish() {
    for seed in 0..8 {
        let mut scenario = Scenario::find("volume").expect("it is shipped");
        scenario.seed = seed;
        let mut cluster = bugs::cluster(&scenario);
        let mut open: BTreeMap<String, i32> = BTreeMap::new();
        while !cluster.is_quiet() {
            let Some(step) = cluster.step() else { break };
            let What::Rpc { message, .. } = &step.event.what else { continue };
            let any: &dyn Any = &**message;
            match any.downcast_ref::<CsiRequest>() {
                Some(CsiRequest::NodePublishVolume { target_path, .. }) => {
                    *open.entry(target_path.clone()).or_default() += 1
                }
                Some(CsiRequest::NodeUnpublishVolume { target_path, .. }) => {
                    *open.entry(target_path.clone()).or_default() -= 1
                }
                Some(CsiRequest::NodeStageVolume { staging_target_path, .. }) => {
                    *open.entry(staging_target_path.clone()).or_default() += 1;
                }
                Some(CsiRequest::NodeUnstageVolume { staging_target_path, .. }) => {
                    *open.entry(staging_target_path.clone()).or_default() -= 1;
                }
                _ => {}
            }
        }
        assert_eq!(open.len(), 3, "two pods, and one staging path: seed {seed}: {open:?}");
        assert!(open.values().all(|count| *count == 0), "seed {seed}: {open:?}");
        assert!(Reader::list(&cluster.engine.api.store, Kind::VolumeAttachment, "").is_empty(), "seed {seed}");
        assert!(Reader::list(&cluster.engine.api.store, Kind::PersistentVolume, "").is_empty(), "seed {seed}");
    }
}

/// A bound claim of 1Gi whose class can grow, in a cluster of one node.
fn growing() -> World {
    let mut world = World::new(Config { csi: true, nodes: vec![NodeConfig::numbered(1)], ..Config::default() });
    let mut class = class("rubber", "disk.csi.kubestep.dev", "Immediate");
    class["allowVolumeExpansion"] = json!(true);
    world.create(class);
    world.create(claim("data", "1Gi", json!({"storageClassName": "rubber"})));
    world.run(5);
    assert_eq!(world.phase(Kind::PersistentVolumeClaim, "data"), "Bound");
    world
}

fn user_of_data() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user", "namespace": "default"}, "spec": {
        "containers": [{"name": "c", "image": "nginx:1.27", "volumeMounts": [{"name": "d", "mountPath": "/data"}]}],
        "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}],
    }})
}

fn ask_for(world: &mut World, size: &str) {
    world.seen.writes.clear();
    let patch = json!({"spec": {"resources": {"requests": {"storage": size}}}});
    world.patch(Kind::PersistentVolumeClaim, "data", patch);
}

#[test]
fn a_volume_grows_under_a_running_pod() {
    let mut world = growing();
    world.create(user_of_data());
    world.run(10);
    ask_for(&mut world, "2Gi");
    world.run(5);
    let volume = world.list(Kind::PersistentVolume).remove(0);
    let name = volume["metadata"]["name"].as_str().unwrap_or_default();
    assert_eq!(
        world.seen.writes,
        [
            "csi-resizer: patch persistentvolumeclaims/status default/data".to_owned(),
            format!("csi-resizer: patch persistentvolumes {name}"),
            "csi-resizer: patch persistentvolumeclaims/status default/data".to_owned(),
        ]
    );
    assert_eq!(volume["spec"]["capacity"]["storage"], "2Gi");
    assert_eq!(volume["metadata"]["annotations"]["volume.alpha.kubernetes.io/pre-resize-capacity"], "1Gi");
    let status = |world: &World| world.get(Kind::PersistentVolumeClaim, "data").expect("it is there")["status"].clone();
    let waiting = status(&world);
    assert_eq!(waiting["capacity"]["storage"], "1Gi", "the file system is as small as it was");
    assert_eq!(waiting["allocatedResourceStatuses"]["storage"], "NodeResizePending");
    assert_eq!(waiting["conditions"][0]["type"], "FileSystemResizePending");

    world.seen.writes.clear();
    world.run(95);
    assert_eq!(
        world.seen.writes,
        [
            "kubelet/node-1: patch persistentvolumeclaims/status default/data".to_owned(),
            "kubelet/node-1: patch persistentvolumeclaims/status default/data".to_owned(),
            format!("csi-resizer: patch persistentvolumes {name}"),
        ]
    );
    let done = status(&world);
    assert_eq!((&done["capacity"]["storage"], &done["conditions"]), (&json!("2Gi"), &Value::Null));
    let volume = world.list(Kind::PersistentVolume).remove(0);
    assert_eq!(volume["metadata"]["annotations"]["volume.alpha.kubernetes.io/pre-resize-capacity"], Value::Null);
    let grown =
        format!("Normal FileSystemResizeSuccessful MountVolume.NodeExpandVolume succeeded for volume {name:?} node-1");
    assert!(
        world.events("user").contains(&grown) && world.events("data").contains(&grown),
        "{:?}",
        world.events("data")
    );
}

#[test]
fn a_volume_that_nobody_uses_grows_when_it_is_mounted() {
    let mut world = growing();
    ask_for(&mut world, "2Gi");
    world.run(200);
    let status = |world: &World| world.get(Kind::PersistentVolumeClaim, "data").expect("it is there")["status"].clone();
    assert_eq!(status(&world)["conditions"][0]["type"], "FileSystemResizePending");
    world.create(user_of_data());
    world.run(10);
    assert_eq!(status(&world)["capacity"]["storage"], "2Gi");
}

#[test]
fn a_volume_cannot_be_larger_than_the_storage_behind_it() {
    let mut world = growing();
    let hard = json!({"requests.storage": "200Ti"});
    world.create(
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}),
    );
    let used = |world: &World| {
        world.get(Kind::ResourceQuota, "q").expect("it is there")["status"]["used"]["requests.storage"].clone()
    };
    world.create(user_of_data());
    ask_for(&mut world, "100Ti");
    world.run(60);
    assert_eq!(used(&world), "100Ti");
    let status = |world: &World| world.get(Kind::PersistentVolumeClaim, "data").expect("it is there")["status"].clone();
    assert_eq!(status(&world)["allocatedResourceStatuses"]["storage"], "ControllerResizeInfeasible");
    assert_eq!(status(&world)["conditions"][0]["type"], "ControllerResizeError");
    let failed = "Warning VolumeResizeFailed resize volume \"pvc-";
    assert!(world.events("data").iter().any(|event| event.starts_with(failed)), "{:?}", world.events("data"));
    assert!(world.cluster.is_quiet(), "what cannot be is tried again in the background");
    ask_for(&mut world, "3Gi");
    world.run(100);
    assert_eq!(status(&world)["capacity"]["storage"], "3Gi");
    assert_eq!(used(&world), "3Gi", "what is not tried any more is not charged any more");
}
