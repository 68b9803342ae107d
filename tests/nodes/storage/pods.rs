//! Pods that wait for their claims, and claims that wait for a Pod.

use cluster::Config;
use object::Kind;
use serde_json::json;

use super::harness::{World, claim, class, user_of, volume, with_csi};

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

/// No driver makes volumes of this class, so the pod waits for its claim on its way to a node.
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
