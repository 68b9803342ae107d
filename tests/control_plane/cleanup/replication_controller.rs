//! ReplicationControllers: kept by the ReplicaSets' controller, with the ways they have of their own.

use object::meta::controller_of;
use object::{Kind, Object};
use serde_json::{Value, json};
use wire::{Body, DeleteOptions, Patch, Propagation, Verb};

use super::harness::World;

const CONTROLLER: &str = "replication-controller";

fn controller(replicas: u32) -> Value {
    json!({
        "replicas": replicas,
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "nginx:1.27"}]}},
    })
}

fn patch(world: &mut World, kind: Kind, name: &str, patch: Value) -> u16 {
    world.ask(Verb::Patch, kind, name, Body::Patch(Patch::Merge(patch))).code
}

fn status(world: &World) -> Value {
    world.get(Kind::ReplicationController, "default/web").expect("it is there").to_json()["status"].clone()
}

#[test]
fn pods_are_made_counted_and_taken_away() {
    let mut world = World::new(1);
    world.create(Kind::ReplicationController, "default/web", &[], controller(2));
    world.run(5);
    // The status of before, and of after: no guard holds the second reconcile back.
    let writes = world.take_writes(CONTROLLER);
    assert_eq!(writes.iter().filter(|w| w.starts_with("create pods web-")).count(), 2, "{writes:#?}");
    assert_eq!(writes.iter().filter(|w| w.starts_with("event SuccessfulCreate: Created pod: web-")).count(), 2);
    let whole = json!({"replicas": 2, "fullyLabeledReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
        "observedGeneration": 1});
    assert_eq!(status(&world), whole, "no terminatingReplicas");

    let stored = world.get(Kind::ReplicationController, "default/web").unwrap().to_json();
    assert_eq!(stored["spec"]["selector"], json!({"app": "web"}), "the template's labels");
    assert_eq!(stored["metadata"]["labels"], json!({"app": "web"}));
    for pod in world.list(Kind::Pod, "default") {
        let owner = controller_of(pod.meta()).expect("it has an owner");
        assert_eq!((owner.api_version.as_str(), owner.kind.as_str()), ("v1", "ReplicationController"));
    }

    assert_eq!(world.kubectl("scale rc/web --replicas=1"), "replicationcontroller/web scaled\n");
    world.run(40);
    let writes = world.take_writes(CONTROLLER);
    assert_eq!(writes.iter().filter(|w| w.starts_with("event SuccessfulDelete: Deleted pod: web-")).count(), 1);
    assert_eq!(world.list(Kind::Pod, "default").len(), 1);
    assert_eq!(status(&world)["observedGeneration"], 2);
}

#[test]
fn pods_are_adopted_and_released() {
    let mut world = World::new(1);
    world.create(Kind::ReplicationController, "default/web", &[], controller(1));
    world.run(3);
    let name = world.list(Kind::Pod, "default")[0].name().to_owned();
    let code = patch(&mut world, Kind::Pod, &format!("default/{name}"), json!({"metadata": {"labels": {"app": "x"}}}));
    assert_eq!(code, 200);
    world.run(3);
    let pods = world.list(Kind::Pod, "default");
    let owned = |pod: &&Object| controller_of(pod.meta()).is_some();
    assert_eq!((pods.len(), pods.iter().filter(owned).count()), (2, 1), "one was released, one made in its place");
    patch(&mut world, Kind::Pod, &format!("default/{name}"), json!({"metadata": {"labels": {"app": "web"}}}));
    world.run(40);
    let pods = world.list(Kind::Pod, "default");
    assert_eq!((pods.len(), pods.iter().filter(owned).count()), (1, 1), "it came back, and one was too many");
}

/// When there was no garbage collector, deleting a ReplicationController left its Pods alone. A DELETE that says
/// nothing still does so; kubectl says what it wants.
#[test]
fn pods_stay_unless_the_request_says_otherwise() {
    for (propagation, pods_left) in [(None, 2), (Some(Propagation::Orphan), 2), (Some(Propagation::Background), 0)] {
        let mut world = World::new(1);
        world.create(Kind::ReplicationController, "default/web", &[], controller(2));
        world.run(3);
        let options = DeleteOptions { propagation, ..DeleteOptions::default() };
        assert_eq!(world.delete(Kind::ReplicationController, "default/web", options).code, 200);
        world.run(60);
        assert!(world.get(Kind::ReplicationController, "default/web").is_none());
        assert_eq!(world.list(Kind::Pod, "default").len(), pods_left, "{propagation:?}");
    }
}

#[test]
fn failures_are_told_in_the_status() {
    let mut world = World::new(0);
    let mut spec = controller(2);
    spec["template"]["spec"]["serviceAccountName"] = json!("ghost");
    world.create(Kind::ReplicationController, "default/web", &[], spec);
    world.run(1);
    let condition = &status(&world)["conditions"][0];
    assert_eq!((&condition["type"], &condition["reason"]), (&json!("ReplicaFailure"), &json!("FailedCreate")));
    let writes = world.take_writes(CONTROLLER);
    let event = "event FailedCreate: Error creating: pods \"web-\" is forbidden: error looking up service account \
                 default/ghost: serviceaccount \"ghost\" not found";
    assert!(writes.iter().any(|write| write == event), "{writes:#?}");
}

#[test]
fn kubectl_shows_them() {
    let mut world = World::new(1);
    world.create(Kind::ReplicationController, "default/web", &[], controller(1));
    world.run(5);
    let table = world.kubectl("get rc -o wide");
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let want = ["NAME", "DESIRED", "CURRENT", "READY", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"];
    assert_eq!(rows.next().unwrap(), want);
    let row = rows.next().unwrap();
    assert_eq!((&row[..4], &row[5..]), (&["web", "1", "1", "1"][..], &["a", "nginx:1.27", "app=web"][..]));
    let page = world.kubectl("describe rc web");
    for part in [
        "Selector:     app=web\nLabels:       app=web\n",
        "Replicas:     1 current / 1 desired\nPods Status:  1 Running / 0 Waiting / 0 Succeeded / 0 Failed\n",
        "replication-controller  Created pod: web-",
    ] {
        assert!(page.contains(part), "{part}\n-- is not in\n{page}");
    }
    assert!(
        world
            .kubectl("get all")
            .contains("NAME                        DESIRED   CURRENT   READY   AGE\nreplicationcontroller/web")
    );
    assert_eq!(world.kubectl("expose rc web --port=80"), "service/web exposed\n");
}
