//! The Pod garbage collector: which Pods it deletes, when, and what it writes first.

use std::rc::Rc;

use client::Registration;
use cluster::{Cluster, Config, NodeConfig, Parts};
use controllers::pod_gc::{self, PodGc};
use controllers::service_account;
use object::Kind;
use serde_json::{Value, json};
use wire::{Body, DeleteOptions, Patch, Verb};

use super::harness::World;

const COLLECTOR: &str = "pod-garbage-collector";

/// The collector, which keeps two ended Pods, and what a namespace needs to have Pods.
static SMALL: &[Registration] = &[
    service_account::REGISTRATION,
    Registration { new: &|context| Rc::new(PodGc::new(context, 2)), ..pod_gc::REGISTRATION },
];

fn pod(node: Option<&str>) -> Value {
    json!({"nodeName": node, "containers": [{"name": "a", "image": "nginx:1.27"}]})
}

fn patch(world: &mut World, kind: Kind, name: &str, patch: Value) {
    assert_eq!(world.ask(Verb::Patch, kind, name, Body::Patch(Patch::Merge(patch))).code, 200);
}

fn stop(world: &mut World, node: usize) {
    world.cluster.stop_node(&NodeConfig::numbered(node).name);
}

fn status(world: &World, name: &str) -> Value {
    world.get(Kind::Pod, name).expect("it is still there").to_json()["status"].clone()
}

#[test]
fn pods_of_a_node_that_is_gone_are_taken_after_a_while() {
    let mut world = World::new(2);
    world.create(Kind::Pod, "default/web", &[], pod(Some("node-2")));
    world.run(5);
    stop(&mut world, 2);
    assert_eq!(world.kubectl("delete node node-2"), "node \"node-2\" deleted\n");
    world.run(39);
    assert_eq!(world.take_writes(COLLECTOR), [] as [&str; 0], "in quarantine");
    assert_eq!(status(&world, "default/web")["phase"], "Running");

    let patched = |world: &World| {
        world.seen.writes.iter().any(|write| write == "pod-garbage-collector patch pods/status web 200")
    };
    world.wait_until(25, patched);
    let marked = status(&world, "default/web");
    assert_eq!(marked["phase"], "Failed");
    let told = marked["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "DisruptionTarget").unwrap();
    assert_eq!((&told["status"], &told["reason"]), (&json!("True"), &json!("DeletionByPodGC")));
    assert_eq!((&told["message"], &told["observedGeneration"]), (&json!("PodGC: node no longer exists"), &json!(1)));
    world.run(1);
    assert_eq!(world.take_writes(COLLECTOR), ["patch pods/status web 200", "delete pods web 200"]);
    assert!(world.get(Kind::Pod, "default/web").is_none());
}

#[test]
fn a_node_that_comes_back_keeps_its_pods() {
    let mut world = World::new(2);
    world.create(Kind::Pod, "default/web", &[], pod(Some("node-2")));
    world.run(5);
    stop(&mut world, 2);
    world.kubectl("delete node node-2");
    world.run(25);
    world.cluster.add_node(&NodeConfig::numbered(2));
    world.run(120);
    assert_eq!(world.take_writes(COLLECTOR), [] as [&str; 0]);
    assert_eq!(status(&world, "default/web")["phase"], "Running");
}

/// A client wrote the name of a node that never was.
#[test]
fn nobody_waits_for_a_node_that_never_was() {
    let mut world = World::new(1);
    world.create(Kind::Pod, "default/web", &[], pod(Some("node-9")));
    world.run(39);
    assert!(world.get(Kind::Pod, "default/web").is_some());
    world.wait_until(60, |world| world.get(Kind::Pod, "default/web").is_none());
}

/// From the look at which it could not be taken.
#[test]
fn a_pod_that_cannot_be_taken_is_in_quarantine_again() {
    let mut world = World::new(1);
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]});
    world.apply(json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "keep"}, "spec": {"matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "false"}]}}));
    world.apply(json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "keep"}, "spec": {"policyName": "keep", "validationActions": ["Deny"]}}));
    world.create(Kind::Pod, "default/web", &[], pod(Some("node-9")));
    let refused = |world: &World, times: usize| {
        let is_refused = |write: &&String| write.starts_with("pod-garbage-collector delete pods web 4");
        world.seen.writes.iter().filter(is_refused).count() == times
    };
    world.wait_until(81, |world| refused(world, 1));
    world.run(39);
    assert!(refused(&world, 1));
    world.wait_until(10, |world| refused(world, 2));
}

/// A Pod without a node goes at once, unless a finalizer holds it: then it fails, and waits for that.
#[test]
fn unscheduled_pods_fail_and_go() {
    let mut world = World::new(0);
    world.create(Kind::Pod, "default/web", &[], pod(None));
    patch(&mut world, Kind::Pod, "default/web", json!({"metadata": {"finalizers": ["example.com/hold"]}}));
    world.delete(Kind::Pod, "default/web", DeleteOptions::default());
    assert_eq!(status(&world, "default/web")["phase"], "Pending");
    world.run(25);
    assert_eq!(world.take_writes(COLLECTOR), ["patch pods/status web 200", "delete pods web 200"]);
    assert_eq!(status(&world, "default/web")["phase"], "Failed");
    world.run(60);
    assert_eq!(world.take_writes(COLLECTOR), [] as [&str; 0], "there is nothing more to do");
    patch(&mut world, Kind::Pod, "default/web", json!({"metadata": {"finalizers": null}}));
    assert!(world.get(Kind::Pod, "default/web").is_none());
}

/// The first look is not waited for.
#[test]
fn who_has_just_started_looks_at_once() {
    let mut world = World::new(0);
    world.cluster.stop_process("kube-controller-manager").expect("it runs");
    world.create(Kind::Pod, "default/web", &[], pod(None));
    patch(&mut world, Kind::Pod, "default/web", json!({"metadata": {"finalizers": ["example.com/hold"]}}));
    world.delete(Kind::Pod, "default/web", DeleteOptions::default());
    world.run(5);
    world.cluster.start_process("kube-controller-manager").expect("it was stopped");
    let marked =
        |world: &World| world.seen.writes.iter().any(|write| write == "pod-garbage-collector delete pods web 200");
    world.wait_until(1, marked);
}

#[test]
fn pods_of_a_node_out_of_service_need_no_kubelet_to_go() {
    let mut world = World::new(2);
    for name in ["default/web", "default/stays"] {
        world.create(Kind::Pod, name, &[], pod(Some("node-2")));
    }
    world.run(5);
    stop(&mut world, 2);
    world.run(60);
    world.delete(Kind::Pod, "default/web", DeleteOptions::default());
    world.run(60);
    assert!(world.get(Kind::Pod, "default/web").is_some(), "its kubelet does not confirm");
    world.take_writes(COLLECTOR);
    world.kubectl("taint nodes node-2 node.kubernetes.io/out-of-service=nodeshutdown:NoSchedule");
    world.run(21);
    assert_eq!(world.take_writes(COLLECTOR), ["patch pods/status web 200", "delete pods web 200"]);
    assert!(world.get(Kind::Pod, "default/web").is_none());
    assert!(world.get(Kind::Pod, "default/stays").is_some(), "nobody deleted it");
    world.delete(Kind::Pod, "default/stays", DeleteOptions::default());
    world.run(21);
    assert!(world.get(Kind::Pod, "default/stays").is_none());
}

#[test]
fn of_too_many_ended_pods_the_oldest_go() {
    let mut world = World::of(Cluster::start(Config {
        nodes: Vec::new(),
        parts: Parts { controllers: SMALL, ..Parts::default() },
        ..Config::default()
    }));
    patch_phases(
        &mut world,
        &[("a", "Succeeded", ""), ("b", "Failed", ""), ("c", "Succeeded", ""), ("d", "Failed", "Evicted")],
    );
    world.run(21);
    // The evicted one first, then the oldest; neither needs to be told that it has failed.
    assert_eq!(world.take_writes(COLLECTOR), ["delete pods d 200", "delete pods a 200"]);
    let left: Vec<String> = world.list(Kind::Pod, "default").iter().map(|pod| pod.name().to_owned()).collect();
    assert_eq!(left, ["b", "c"]);
}

/// Makes Pods, a second apart, and has them end.
fn patch_phases(world: &mut World, pods: &[(&str, &str, &str)]) {
    for (name, phase, reason) in pods {
        let name = format!("default/{name}");
        world.create(Kind::Pod, &name, &[], pod(Some("node-1")));
        world.run(1);
        let status = Body::Patch(Patch::Merge(json!({"status": {"phase": phase, "reason": reason}})));
        assert_eq!(world.ask_part(Verb::Patch, Kind::Pod, &name, "status", status).code, 200);
    }
}
