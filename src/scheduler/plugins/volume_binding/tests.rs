use serde_json::{Value, json};

use super::*;
use crate::plugins::testing::filter_reasons;
use crate::testing::{info, node, pod, snapshot};
use object::Kind;

const POD: &str = "{volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}";

fn set(snapshot: &mut Snapshot, kind: Kind, name: &str, mut manifest: Value) {
    let namespace = if kind.info().namespaced { json!("default") } else { Value::Null };
    let annotations = manifest["annotations"].take();
    manifest["metadata"] = json!({"name": name, "namespace": namespace, "annotations": annotations});
    snapshot.storage.set(&kind.decode(manifest).expect("the manifest decodes"), false);
}

/// Two nodes, and claim `data` as given; class `lazy` waits and makes volumes in zone a, class `static` waits and makes
/// none. Volume `pv` of 5Gi is on node a.
fn world(claim: Value) -> Snapshot {
    let zone = |zone: &str| format!("{{metadata: {{labels: {{zone: {zone}}}}}}}");
    let mut world = snapshot(vec![node("a", &zone("a")), node("b", &zone("b"))], vec![]);
    let in_a = json!([{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]);
    let waits = "WaitForFirstConsumer";
    let lazy = json!({"provisioner": "x", "volumeBindingMode": waits, "allowedTopologies": in_a});
    set(&mut world, Kind::StorageClass, "lazy", lazy);
    let nowhere = json!({"provisioner": "x", "volumeBindingMode": waits, "allowedTopologies": [{}]});
    set(&mut world, Kind::StorageClass, "nowhere", nowhere);
    let none = json!({"provisioner": NO_PROVISIONER, "volumeBindingMode": waits});
    set(&mut world, Kind::StorageClass, "static", none);
    set(&mut world, Kind::StorageClass, "eager", json!({"provisioner": "x", "volumeBindingMode": "Immediate"}));
    let affinity = json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]);
    let volume = json!({
        "spec": {
            "storageClassName": "static", "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
            "nodeAffinity": {"required": {"nodeSelectorTerms": affinity}},
        },
        "status": {"phase": "Available"},
    });
    set(&mut world, Kind::PersistentVolume, "pv", volume);
    if !claim.is_null() {
        set(&mut world, Kind::PersistentVolumeClaim, "data", claim);
    }
    world
}

fn claim(class: &str, size: &str) -> Value {
    let requests = json!({"requests": {"storage": size}});
    json!({"spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"], "resources": requests}})
}

fn bound(volume: &str) -> Value {
    json!({
        "spec": {"volumeName": volume}, "status": {"phase": "Bound"},
        "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
    })
}

#[test]
fn the_pod_goes_where_its_volume_is_or_can_be() {
    let mut selected = claim("lazy", "1Gi");
    selected["annotations"] = json!({"volume.kubernetes.io/selected-node": "b"});
    let mut shut_out = selected.clone();
    shut_out["annotations"] = json!({"volume.kubernetes.io/selected-node": "a"});
    shut_out["spec"]["storageClassName"] = json!("static");
    let lost = json!({"spec": {"volumeName": "pv"}, "status": {"phase": "Lost"}});
    for (claim, on_a, on_b) in [
        (Value::Null, "persistentvolumeclaim \"data\" not found", "persistentvolumeclaim \"data\" not found"),
        (lost, "persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"pv\"", "same"),
        (claim("eager", "1Gi"), IMMEDIATE, "same"),
        (claim("unknown", "1Gi"), IMMEDIATE, "same"),
        (bound("pv"), "", AFFINITY),
        (bound("gone"), NON_EXISTENT, "same"),
        (claim("lazy", "1Gi"), "", NONE_TO_BIND),
        (claim("nowhere", "1Gi"), NONE_TO_BIND, "same"),
        (claim("static", "1Gi"), "", NONE_TO_BIND),
        (claim("static", "9Gi"), NONE_TO_BIND, "same"),
        (selected, NONE_TO_BIND, NONE_TO_BIND),
        (shut_out, NONE_TO_BIND, "same"),
    ] {
        let world = world(claim.clone());
        for (name, expected) in [("a", on_a), ("b", if on_b == "same" { on_a } else { on_b })] {
            assert_eq!(filter_reasons(&VolumeBinding, pod("p", POD), &world, name), expected, "{claim} on {name}");
        }
    }
}

#[test]
fn hints() {
    let pod = info(pod("p", POD));
    let object = |kind: Kind, manifest: Value| kind.decode(manifest).expect("the manifest decodes");
    let class = |zones: Value| {
        let topologies = json!([{"matchLabelExpressions": [{"key": "zone", "values": zones}]}]);
        let manifest = json!({"metadata": {"name": "c"}, "provisioner": "x", "allowedTopologies": topologies});
        object(Kind::StorageClass, manifest)
    };
    let drivers = |migrated: &str| {
        let annotations = json!({MIGRATED_PLUGINS: migrated});
        let manifest = json!({"metadata": {"name": "n", "annotations": annotations}, "spec": {"drivers": []}});
        object(Kind::CSINode, manifest)
    };
    for (kind, old, new, expected) in [
        (EventKind::ClassAdd, None, class(json!(["a"])), Hint::Queue),
        (EventKind::ClassUpdate, Some(class(json!(["a"]))), class(json!(["b"])), Hint::Queue),
        (EventKind::ClassUpdate, Some(class(json!(["a"]))), class(json!(["a"])), Hint::QueueSkip),
        (EventKind::DriversAdd, None, drivers(""), Hint::Queue),
        (EventKind::DriversUpdate, Some(drivers("a")), drivers("a"), Hint::QueueSkip),
        (EventKind::DriversUpdate, Some(drivers("a")), drivers("a,b"), Hint::Queue),
    ] {
        let event = ClusterEvent { kind, old, new: Some(new) };
        assert_eq!(VolumeBinding.hint(&pod, &event, &Snapshot::default()), expected, "{event:?}");
    }
}

#[test]
fn a_claim_that_goes_is_told_of_before_one_that_waits_for_its_volume() {
    let mut world = world(claim("eager", "1Gi"));
    set(
        &mut world,
        Kind::PersistentVolumeClaim,
        "lost",
        json!({"spec": {"volumeName": "pv"}, "status": {"phase": "Lost"}}),
    );
    let both = POD.replace("}}]", "}}, {name: w, persistentVolumeClaim: {claimName: lost}}]");
    let reason = "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"pv\"";
    assert_eq!(filter_reasons(&VolumeBinding, pod("p", &both), &world, "a"), reason);
}

#[test]
fn small_claims_choose_first() {
    let mut world = world(claim("static", "4Gi"));
    set(&mut world, Kind::PersistentVolumeClaim, "small", claim("static", "1Gi"));
    let spec = json!({"storageClassName": "static", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "9Gi"}});
    let large = json!({"spec": spec, "status": {"phase": "Available"}});
    set(&mut world, Kind::PersistentVolume, "large", large);
    let both = POD.replace("[{", "[{name: w, persistentVolumeClaim: {claimName: data}}, {").replacen(
        "claimName: data}}]",
        "claimName: small}}]",
        1,
    );
    let place = world.node_named("a").expect("there").clone();
    let plan = plan(&info(pod("p", &both)), &place, &world.storage);
    let promise = |claim: &str, volume: &str| (Key::new("default", claim), volume.to_owned());
    assert_eq!(plan.promise, [promise("small", "pv"), promise("data", "large")]);
}

#[test]
fn a_volume_that_names_the_claim_is_the_one() {
    let mut world = world(claim("static", "1Gi"));
    let in_b = json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]);
    let spec = json!({
        "storageClassName": "static", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "9Gi"},
        "claimRef": {"namespace": "default", "name": "data"}, "nodeAffinity": {"required": {"nodeSelectorTerms": in_b}},
    });
    set(&mut world, Kind::PersistentVolume, "own", json!({"spec": spec}));
    let reasons = |name: &str| filter_reasons(&VolumeBinding, pod("p", POD), &world, name);
    assert_eq!((reasons("a").as_str(), reasons("b").as_str()), (NONE_TO_BIND, ""), "pv would do on a");
    let place = world.node_named("b").expect("there");
    let promise = plan(&info(pod("p", POD)), place, &world.storage).promise;
    assert_eq!(promise, [(Key::new("default", "data"), "own".to_owned())]);
}

#[test]
fn what_is_promised_in_memory_is_taken() {
    let mut world = world(claim("static", "1Gi"));
    set(&mut world, Kind::PersistentVolumeClaim, "other", claim("static", "1Gi"));
    let place = world.node_named("a").expect("there").clone();
    let first = plan(&info(pod("p", POD)), &place, &world.storage);
    assert_eq!(first.promise, [(Key::new("default", "data"), "pv".to_owned())]);
    world.storage.assume(&first, "a");
    let second = pod("q", &POD.replace("data", "other"));
    assert_eq!(filter_reasons(&VolumeBinding, second.clone(), &world, "a"), NONE_TO_BIND);
    world.storage.forget(&first);
    assert_eq!(filter_reasons(&VolumeBinding, second, &world, "a"), "");
}
