//! Volumes that come and go with a Pod.

use object::Kind;
use serde_json::{Value, json};

use super::harness::{World, claim, class, user_of, with_csi};

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
    let refusals: Vec<&String> = events.iter().filter(|line| line.contains("FailedScheduling")).collect();
    assert_eq!(refusals, [waits]);

    world.delete(Kind::Pod, "db");
    world.run(60);
    assert_eq!(world.phase(Kind::PersistentVolumeClaim, "db-data"), "gone");
    assert_eq!(world.phase(Kind::PersistentVolume, &volume), "gone");
    let deletes: Vec<&String> =
        world.seen.writes.iter().filter(|line| line.contains("delete persistentvolumeclaims")).collect();
    assert_eq!(deletes, ["generic-garbage-collector: delete persistentvolumeclaims default/db-data"]);
}

/// A claim of that name without an owner is not used, and the controller says so until it is out of the way.
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
