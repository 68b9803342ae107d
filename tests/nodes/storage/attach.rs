//! Which node has a volume, and when it is taken away from one that does not give it back.

use std::any::Any;
use std::collections::BTreeMap;
use std::time::Duration;

use cluster::scenario::Scenario;
use engine::What;
use kubelet::csi::CsiRequest;
use object::Kind;
use object::reader::Reader;
use serde_json::{Value, json};
use wire::{Body, DeleteOptions, Verb};

use super::harness::{World, claim, class, user_of, with_csi};

/// Six minutes after a node was lost its volume is taken away, if no user says sooner that it is down for good.
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
    let is_told_again = world.events("new").iter().any(|line| line.contains("FailedMount"));
    assert!(!is_told_again, "of a wait that takes too long no Event is written: {:?}", world.events("new"));
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

/// A Pod is replaced by one of the same name on another node while the controllers' view is cut off, and what happened
/// meanwhile is compacted. The list that they get then says only that the Pod is another: its volume is to come off the node
/// of the one that was.
#[test]
fn a_volume_follows_a_pod_that_was_replaced_unseen() {
    let mut world = World::new(with_csi());
    world.create(class("disk", "disk.csi.kubestep.dev", "Immediate"));
    world.create(claim("data", "1Gi", json!({"storageClassName": "disk"})));
    world.create(user_of("db", "data", json!({"nodeSelector": {"kubernetes.io/hostname": "node-1"}})));
    world.run(30);
    world.cluster.type_lines(vec!["hold kube-controller-manager pods".to_owned()]);
    world.run(1);
    let now = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    world.send(Verb::Delete, Kind::Pod, "db", Body::Delete(now));
    world.run(20);
    world.create(user_of("db", "data", json!({"nodeSelector": {"kubernetes.io/hostname": "node-2"}})));
    world.run(5);
    let lines = ["compact", "disconnect kube-controller-manager pods", "release"];
    world.cluster.type_lines(lines.map(str::to_owned).to_vec());
    world.run(60);
    let on: Vec<Value> = world.list(Kind::VolumeAttachment).iter().map(|a| a["spec"]["nodeName"].clone()).collect();
    assert_eq!(on, ["node-2"], "{:?}", world.events("db"));
    assert_eq!(world.phase(Kind::Pod, "db"), "Running");
}

/// What goes up comes down: each NodePublishVolume has its NodeUnpublishVolume in the end, in any order.
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
        assert!(Reader::list(&cluster.engine.server.api.store, Kind::VolumeAttachment, "").is_empty(), "seed {seed}");
        assert!(Reader::list(&cluster.engine.server.api.store, Kind::PersistentVolume, "").is_empty(), "seed {seed}");
    }
}

/// The attachment is gone long before the provisioner looks again: no watch notifies it.
#[test]
fn a_volume_that_is_still_attached_is_destroyed_a_little_later() {
    let mut world = World::new(with_csi());
    world.create(class("disk", "disk.csi.kubestep.dev", "Immediate"));
    world.create(claim("data", "1Gi", json!({"storageClassName": "disk"})));
    world.create(user_of("db", "data", json!({})));
    world.run(30);
    world.seen.forget();
    world.delete(Kind::Pod, "db");
    world.delete(Kind::PersistentVolumeClaim, "data");
    world.run(30);
    let volumes = world.list(Kind::PersistentVolume);
    assert!(volumes.is_empty(), "{volumes:?}");
    let destroyed = world.seen.calls_of("DeleteVolume");
    let later = destroyed[0] - world.seen.calls_of("ControllerUnpublishVolume")[0];
    assert!(later > Duration::from_millis(100), "not when the attachment goes, but with its next try: {later:?}");
    let attached = world.seen.patches_of("attachdetach-controller: patch nodes/status");
    assert_eq!(attached, [json!({"status": {"volumesAttached": null}})]);
    let reads: Vec<&String> = world.seen.reads.iter().filter(|read| read.starts_with("get nodes ")).collect();
    assert_eq!(reads.len(), 1, "the node is asked before the volume is taken away: {reads:?}");
    let patches = &world.seen.patches_of("csi-attacher: patch volumeattachments");
    let detached = json!({"status": {"attached": false, "attachmentMetadata": null}});
    assert_eq!(*patches, [json!({"metadata": {"finalizers": null}}), detached]);
}
