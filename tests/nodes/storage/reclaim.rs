//! What becomes of volumes and claims that are deleted or given back.

use apiserver::host::control::disconnect;
use cluster::Config;
use object::{Kind, Pod};
use serde_json::json;
use wire::DeleteOptions;

use super::harness::{World, claim, class, user_of, volume, with_csi};

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
    let twice = ["get persistentvolumes pv", "get persistentvolumes pv"];
    assert_eq!(world.seen.reads[0], "get persistentvolumeclaims default/data");
    assert_eq!(world.seen.reads[1..3], twice, "before what it stands for is deleted, and after");
    assert!(world.seen.reads[2..].iter().all(|read| read == "get persistentvolumes pv"), "{:?}", world.seen.reads);
}

/// A client that deletes the object first does not keep what it stands for from being deleted.
#[test]
fn a_volume_that_is_on_its_way_out_is_given_back_all_the_same() {
    let mut world = World::new(Config::default());
    let more = json!({"persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": "/data"}});
    world.create(volume("pv", "2Gi", more));
    world.create(claim("data", "1Gi", json!({})));
    world.run(2);
    let held = json!({"metadata": {"finalizers": ["kubernetes.io/pv-protection", "example.com/hold"]}});
    world.patch(Kind::PersistentVolume, "pv", held);
    world.delete(Kind::PersistentVolume, "pv");
    world.delete(Kind::PersistentVolumeClaim, "data");
    world.run(5);
    assert_eq!(world.phase(Kind::PersistentVolume, "pv"), "Failed");
}

/// Nothing is asked: it is known without that no plugin here deletes what such a volume stands for.
#[test]
fn a_volume_that_nobody_can_delete_fails() {
    let mut world = World::new(Config::default());
    let nfs = json!({"persistentVolumeReclaimPolicy": "Delete", "hostPath": null, "nfs": {"server": "s", "path": "/"}});
    world.create(volume("pv", "2Gi", nfs));
    world.create(claim("data", "1Gi", json!({})));
    world.run(2);
    world.seen.reads.clear();
    world.delete(Kind::PersistentVolumeClaim, "data");
    world.run(5);
    assert_eq!(world.phase(Kind::PersistentVolume, "pv"), "Failed");
    let why = "error getting deleter volume plugin for volume \"pv\": no deletable volume plugin matched";
    assert_eq!(world.events("pv"), [format!("Warning VolumeFailedDelete {why}")]);
    let asked: Vec<&String> = world.seen.reads.iter().filter(|read| read.contains("persistentvolumes")).collect();
    assert_eq!(asked, [] as [&str; 0]);
}

/// No plugin empties a volume of most kinds.
#[test]
fn a_volume_that_nobody_can_recycle_fails() {
    let mut world = World::new(Config::default());
    let local = json!({"path": "/mnt/disk"});
    let of_one = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-1"]}]}]}});
    let recycled = json!({"persistentVolumeReclaimPolicy": "Recycle", "hostPath": null, "local": local,
        "nodeAffinity": of_one});
    world.create(volume("pv", "2Gi", recycled));
    world.create(claim("data", "1Gi", json!({})));
    world.run(2);
    world.delete(Kind::PersistentVolumeClaim, "data");
    world.run(5);
    assert_eq!(world.phase(Kind::PersistentVolume, "pv"), "Failed");
    let why = "No recycler plugin found for the volume!";
    assert_eq!(world.events("pv"), [format!("Warning VolumeFailedRecycle {why}")]);
}

/// To know that no Pod uses them all Pods are listed; but not for each claim of those that go together.
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

/// Of a Pod that went while the watch was broken nothing is told, if another has its name by then: but that it had the
/// claim is not forgotten.
#[test]
fn a_pod_behind_another_of_its_name_gives_its_claim_back() {
    let mut world = World::new(Config::default());
    world.create(volume("pv", "2Gi", json!({})));
    world.create(claim("data", "1Gi", json!({})));
    world.create(user_of("db", "data", json!({})));
    world.run(10);
    world.delete(Kind::PersistentVolumeClaim, "data");
    assert_eq!(world.phase(Kind::PersistentVolumeClaim, "data"), "Bound");
    disconnect(&mut world.cluster.engine, "kube-controller-manager", Kind::Pod);
    let other = json!({
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {"containers": [{"name": "app", "image": "nginx:1.27"}]},
    });
    let other: Pod = serde_json::from_value(other).expect("a Pod");
    let exchanged = world.start("exchange", |client| async move {
        let now = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        client.delete::<Pod>("default", "db", now).await?;
        client.create(other).await
    });
    world.finish(&exchanged).expect("it is another Pod");
    world.run(5);
    assert_eq!(world.phase(Kind::PersistentVolumeClaim, "data"), "gone");
}

/// A user who wants to keep the data says so on the volume; then its object can go, and the volume is still there.
#[test]
fn a_volume_that_is_to_be_kept_can_be_deleted() {
    let mut world = World::new(with_csi());
    world.create(class("disk", "disk.csi.kubestep.dev", "Immediate"));
    world.create(claim("data", "1Gi", json!({"storageClassName": "disk"})));
    world.run(5);
    let volume = world.list(Kind::PersistentVolume).remove(0);
    let name = volume["metadata"]["name"].as_str().expect("it has a name").to_owned();
    let finalizers = |world: &World| {
        let volume = world.get(Kind::PersistentVolume, &name).expect("it is there");
        let all = volume["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        all.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    const OWN: &str = "external-provisioner.volume.kubernetes.io/finalizer";
    assert!(finalizers(&world).contains(&OWN.to_owned()));
    let policy = |policy: &str| json!({"spec": {"persistentVolumeReclaimPolicy": policy}});
    world.patch(Kind::PersistentVolume, &name, policy("Retain"));
    world.run(2);
    assert_eq!(finalizers(&world), ["kubernetes.io/pv-protection"]);
    world.patch(Kind::PersistentVolume, &name, policy("Delete"));
    world.run(2);
    assert!(finalizers(&world).contains(&OWN.to_owned()), "and back");
    world.patch(Kind::PersistentVolume, &name, policy("Retain"));
    world.delete(Kind::PersistentVolumeClaim, "data");
    world.run(2);
    world.delete(Kind::PersistentVolume, &name);
    world.run(2);
    assert_eq!(world.phase(Kind::PersistentVolume, &name), "gone");
    assert_eq!(world.seen.calls_of("DeleteVolume"), []);
    let identity = volume["spec"]["csi"]["volumeAttributes"]["storage.kubernetes.io/csiProvisionerIdentity"].as_str();
    let parts: Vec<&str> = identity.expect("who made it").splitn(3, '-').collect();
    assert_eq!((parts[0], parts[2]), ("1767225600000", "disk.csi.kubestep.dev"));
    assert!(parts[1].parse::<u32>().is_ok_and(|number| number < 10_000), "{parts:?}");
}

/// A volume that a user made by hand is held too, while it is bound and has to be destroyed in the end.
#[test]
fn a_volume_made_by_hand_is_held_and_destroyed() {
    let mut world = World::new(with_csi());
    let source = json!({"driver": "disk.csi.kubestep.dev", "volumeHandle": "by-hand"});
    let more = json!({"hostPath": null, "csi": source, "persistentVolumeReclaimPolicy": "Delete"});
    world.create(volume("pv", "2Gi", more));
    world.create(claim("data", "1Gi", json!({})));
    world.run(5);
    let held = world.get(Kind::PersistentVolume, "pv").expect("it is there")["metadata"]["finalizers"].clone();
    let own = "external-provisioner.volume.kubernetes.io/finalizer";
    assert_eq!(held, json!(["kubernetes.io/pv-protection", own]));
    let added = json!({"metadata": {"$setElementOrder/finalizers": held, "finalizers": [own]}});
    assert_eq!(world.seen.patches_of("csi-provisioner: patch persistentvolumes pv"), [added]);
    // What was destroyed and another finalizer still holds is not destroyed again, even if its object changes.
    world.patch(Kind::PersistentVolume, "pv", json!({"metadata": {"finalizers": [own, "example.com/hold"]}}));
    world.delete(Kind::PersistentVolumeClaim, "data");
    world.run(5);
    let destroyed = world.seen.calls_of("DeleteVolume").len();
    assert!(destroyed > 0);
    world.patch(Kind::PersistentVolume, "pv", json!({"metadata": {"labels": {"a": "b"}}}));
    world.run(5);
    assert_eq!(world.seen.calls_of("DeleteVolume").len(), destroyed);
    world.patch(Kind::PersistentVolume, "pv", json!({"metadata": {"finalizers": null}}));
    world.run(1);
    assert_eq!(world.phase(Kind::PersistentVolume, "pv"), "gone");
}
