//! What becomes of volumes and claims that are deleted or given back.

use kubestep::cluster::Config;
use kubestep::object::Kind;
use serde_json::json;

use crate::harness::{World, claim, volume};

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
