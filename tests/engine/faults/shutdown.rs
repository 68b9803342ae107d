//! Nodes that are switched off in order.

use std::time::Duration;

use engine::Note;
use kubestep_tests::scenario;
use object::Object;
use object::pod::has_ended;

use super::harness::describes;

/// A machine that is to be switched off waits for its kubelet: ordinary Pods end first, then critical ones, each Failed with
/// the reason. Others are made elsewhere, and the node comes back.
#[test]
fn a_node_that_is_shut_down_ends_its_pods() {
    let text = "\
title: t
nodes: 2
files:
  pods.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: quick}
    spec: {nodeName: node-1, containers: [{name: c, image: 'nginx:1.27'}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: slow}
    spec:
      nodeName: node-1
      terminationGracePeriodSeconds: 60
      containers: [{name: c, image: 'nginx:1.27', lifecycle: {preStop: {sleep: {seconds: 50}}}}]
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: critical}
    spec: {nodeName: node-1, priorityClassName: system-node-critical, containers: [{name: c, image: 'nginx:1.27'}]}
  late.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: late}
    spec: {nodeName: node-1, tolerations: [{operator: Exists}], containers: [{name: c, image: 'nginx:1.27'}]}
timeline:
  - kubectl create deployment web --image=nginx:1.27 --replicas=2
  - kubectl rollout status deployment web --timeout=60s
  - kubectl apply -f pods.yaml
  - kubectl wait --for=condition=Ready pod/quick pod/slow pod/critical --timeout=60s
  - node shutdown 1
  - sleep 5
  - kubectl get nodes
  - kubectl describe node node-1
  - kubectl events -n default --for node/node-1
  - kubectl apply -f late.yaml
  - sleep 60
  - kubectl get pods
  - kubectl get pod critical -o jsonpath='{.status.phase} {.status.reason} {.status.message} {.status.conditions[*].reason}'
  - kubectl get pod late -o jsonpath='{.status.reason} {.status.message}'
  - node start 1
  - sleep 40
  - kubectl get nodes
";
    let mut cluster = scenario::started(text);
    let (mut ended, mut off) = (Vec::new(), None);
    scenario::run_checked(&mut cluster, |_, step| {
        if describes(step, "node stop 1") {
            off = Some(step.time);
        }
        for note in &step.notes {
            let Note::Stored { old: Some(Object::Pod(old)), new: Some(Object::Pod(new)), .. } = note else { continue };
            let reason = new.status.as_ref().and_then(|status| status.reason.as_deref());
            if !has_ended(old) && has_ended(new) && reason == Some("Terminated") {
                ended.push((step.time, new.metadata.name.clone().unwrap_or_default()));
            }
        }
    });
    let said = cluster.kubectl.printed_since(0);
    let at = |wanted: &str| {
        let found = ended.iter().find(|(_, name)| name.starts_with(wanted));
        found.unwrap_or_else(|| panic!("{wanted}: {ended:?}\n{said}")).0
    };
    let (quick, slow, critical) = (at("quick"), at("slow"), at("critical"));
    assert!(at("web") - quick < Duration::from_secs(1), "ordinary Pods end side by side: {ended:?}");
    assert!((19..=21).contains(&(slow - quick).as_secs()), "it is cut short after 20 s: {ended:?}");
    assert!((19..=21).contains(&(critical - quick).as_secs()), "critical ones come then: {ended:?}");
    let off = off.expect("the kubelet has let go");
    assert!((off - critical).as_secs() <= 3, "nothing is waited for any more: {off} {ended:?}");
    scenario::has_said(
        &cluster,
        &[
            "node-1 NotReady",
            "KubeletNotReady node is shutting down",
            "Shutdown manager detected shutdown event",
            "Failed Terminated Pod was terminated in response to imminent node shutdown. ",
            "TerminationByKubelet",
            "NodeShutdown Pod was rejected: Pod was rejected as the node is shutting down.",
            "node-1 Ready",
        ],
    );
}
