//! Volumes that grow.

use cluster::{Config, NodeConfig};
use object::Kind;
use serde_json::{Value, json};

use super::harness::{World, claim, class};

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

/// The types of a claim's conditions, in their order.
fn conditions(status: &Value) -> Vec<&str> {
    let all = status["conditions"].as_array().expect("there are conditions");
    all.iter().filter_map(|condition| condition["type"].as_str()).collect()
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
    assert_eq!(conditions(&waiting), ["Resizing", "FileSystemResizePending"], "what was said of it before stays");

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
    assert_eq!(conditions(&status(&world)), ["Resizing", "FileSystemResizePending"]);
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
    assert_eq!(conditions(&status(&world)), ["Resizing", "ControllerResizeError"]);
    let failed = "Warning VolumeResizeFailed resize volume \"pvc-";
    assert!(world.events("data").iter().any(|event| event.starts_with(failed)), "{:?}", world.events("data"));
    assert!(world.cluster.is_quiet(), "what cannot be is tried again in the background");
    let tries = |world: &World| world.seen.calls_of("ControllerExpandVolume").len();
    assert_eq!(tries(&world), 2, "its own word about the failure makes it try once more");
    world.run(230);
    assert_eq!(tries(&world), 2);
    world.run(30);
    assert_eq!(tries(&world), 3, "and then every five minutes");
    ask_for(&mut world, "3Gi");
    world.run(100);
    assert_eq!(status(&world)["capacity"]["storage"], "3Gi");
    assert_eq!(used(&world), "3Gi", "what is not tried any more is not charged any more");
}

/// A claim that asks for less while its volume grows: what was begun is seen through, and paid for.
#[test]
fn a_claim_shrinks_only_after_what_was_begun() {
    let mut world = growing();
    let hard = json!({"requests.storage": "20Gi"});
    world.create(
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}),
    );
    world.create(user_of_data());
    world.run(10);
    ask_for(&mut world, "5Gi");
    let status = |world: &World| world.get(Kind::PersistentVolumeClaim, "data").expect("it is there")["status"].clone();
    while world.seen.calls_of("ControllerExpandVolume").is_empty() {
        world.step();
    }
    ask_for(&mut world, "3Gi");
    world.run(10);
    let conflict = "Warning VolumeResizeFailed mark PVC \"default/data\" as node expansion required failed: can't patch \
                    status of  PVC default/data with Operation cannot be fulfilled on persistentvolumeclaims \"data\": the \
                    object has been modified; please apply your changes to the latest version and try again";
    assert!(world.events("data").contains(&conflict.to_owned()), "{:?}", world.events("data"));
    let waiting = status(&world);
    assert_eq!(conditions(&waiting), ["Resizing", "FileSystemResizePending"]);
    assert_eq!(waiting["allocatedResources"]["storage"], "5Gi");
    world.run(180);
    assert_eq!(status(&world)["capacity"]["storage"], "5Gi");
    let quota = world.get(Kind::ResourceQuota, "q").expect("it is there");
    assert_eq!(quota["status"]["used"]["requests.storage"], "5Gi");
}
