//! Which claim gets which volume: who writes what, and what is said about what cannot be.

use cluster::Config;
use object::reader::Reader;
use object::{Kind, Object};
use serde_json::json;

use super::harness::{BINDER, World, claim, class, volume};

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

/// Everything is looked at in one round, every 15 seconds; each claim that waits gets its Event again.
#[test]
fn what_waits_is_looked_at_in_one_round() {
    let mut world = World::new(Config::default());
    world.run(1);
    let told = |world: &World, name: &str| {
        let events = Reader::list(&world.cluster.engine.server.api.store, Kind::Event, "");
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

/// A claim that was bound, and whose volume is promised to its name but not to itself, has a rival.
#[test]
fn a_bound_claim_that_its_volume_does_not_know_is_lost() {
    let mut world = World::new(Config::default());
    world.create(volume("pv", "2Gi", json!({"claimRef": {"namespace": "default", "name": "data"}})));
    let mut bound = claim("data", "1Gi", json!({"volumeName": "pv"}));
    bound["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    world.create(bound);
    world.run(2);
    assert_eq!(world.phase(Kind::PersistentVolumeClaim, "data"), "Lost");
    let why = "Two claims are bound to the same volume, this one is bound incorrectly";
    assert_eq!(world.events("data"), [format!("Warning ClaimMisbound {why}")]);
}

/// A class that is named as of old counts, for claims and for volumes.
#[test]
fn a_class_may_be_an_annotation() {
    let mut world = World::new(Config::default());
    let of_old = |mut object: serde_json::Value| {
        object["metadata"]["annotations"] = json!({"volume.beta.kubernetes.io/storage-class": "old"});
        object["spec"].as_object_mut().expect("a map").remove("storageClassName");
        object
    };
    world.create(volume("plain", "1Gi", json!({})));
    world.create(of_old(volume("old", "2Gi", json!({}))));
    world.create(of_old(claim("data", "1Gi", json!({}))));
    world.run(2);
    assert_eq!(world.get(Kind::PersistentVolumeClaim, "data").expect("there")["spec"]["volumeName"], "old");
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
