//! The garbage collector against a real API server: what goes, what stays, and in which order.

use object::Kind;
use serde_json::{Value, json};
use wire::{Body, DeleteOptions, Patch, Propagation, Verb};

use super::harness::World;

const COLLECTOR: &str = "generic-garbage-collector";

fn owner(kind: Kind, name: &str, uid: &str, blocks: bool) -> Value {
    let info = kind.info();
    let name = name.rsplit('/').next().unwrap();
    json!({"apiVersion": info.api_version, "kind": info.kind, "name": name, "uid": uid, "blockOwnerDeletion": blocks})
}

fn policy(propagation: Propagation) -> DeleteOptions {
    DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() }
}

/// ConfigMaps: `top` owns `middle`, which owns `bottom`.
fn chain(world: &mut World) {
    let uid = world.create(Kind::ConfigMap, "default/top", &[], Value::Null);
    let owners = [owner(Kind::ConfigMap, "top", &uid, true)];
    let uid = world.create(Kind::ConfigMap, "default/middle", &owners, Value::Null);
    let owners = [owner(Kind::ConfigMap, "middle", &uid, true)];
    world.create(Kind::ConfigMap, "default/bottom", &owners, Value::Null);
    world.run(1);
    assert_eq!(world.take_writes(COLLECTOR), [] as [&str; 0]);
}

fn left(world: &World) -> Vec<String> {
    let all = world.list(Kind::ConfigMap, "default");
    let names = all.iter().map(|object| object.name().to_owned());
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

#[test]
fn each_policy_has_its_order() {
    for (propagation, at_once, writes, stay) in [
        (
            Some(Propagation::Background),
            vec!["bottom", "middle"],
            vec!["delete configmaps middle 200", "delete configmaps bottom 200"],
            vec![],
        ),
        // What a DELETE that says nothing does to nearly all kinds.
        (None, vec!["bottom", "middle"], vec!["delete configmaps middle 200", "delete configmaps bottom 200"], vec![]),
        (
            Some(Propagation::Foreground),
            vec!["bottom", "middle", "top"],
            vec![
                "delete configmaps middle 200",
                "delete configmaps bottom 200",
                "patch configmaps middle 200",
                "patch configmaps top 200",
            ],
            vec![],
        ),
        (
            Some(Propagation::Orphan),
            vec!["bottom", "middle", "top"],
            vec!["patch configmaps middle 200", "patch configmaps top 200"],
            vec!["bottom", "middle"],
        ),
    ] {
        let mut world = World::new(0);
        chain(&mut world);
        let answer = world.delete(Kind::ConfigMap, "default/top", DeleteOptions { propagation, ..Default::default() });
        assert_eq!(answer.code, 200);
        assert_eq!(left(&world), at_once, "{propagation:?}");
        world.run(2);
        assert_eq!(world.take_writes(COLLECTOR), writes, "{propagation:?}");
        assert_eq!(left(&world), stay, "{propagation:?}");
    }
}

#[test]
fn foreground_deletion_waits_only_for_those_who_block() {
    let mut world = World::new(0);
    let uid = world.create(Kind::ConfigMap, "default/top", &[], Value::Null);
    world.create(Kind::ConfigMap, "default/a-free", &[owner(Kind::ConfigMap, "top", &uid, false)], Value::Null);
    let blocking = [owner(Kind::ConfigMap, "top", &uid, true)];
    world.create(Kind::ConfigMap, "default/blocking", &blocking, Value::Null);
    let patch = json!({"metadata": {"finalizers": ["example.com/wait"]}});
    for name in ["default/a-free", "default/blocking"] {
        world.ask(Verb::Patch, Kind::ConfigMap, name, Body::Patch(Patch::Merge(patch.clone())));
    }
    world.delete(Kind::ConfigMap, "default/top", policy(Propagation::Foreground));
    world.run(5);
    assert_eq!(left(&world), ["a-free", "blocking", "top"]);
    let free = json!({"metadata": {"finalizers": null}});
    world.ask(Verb::Patch, Kind::ConfigMap, "default/blocking", Body::Patch(Patch::Merge(free)));
    world.run(5);
    assert_eq!(left(&world), ["a-free"], "nobody waits for it");
}

#[test]
fn one_owner_is_enough_to_stay() {
    let mut world = World::new(0);
    let one = world.create(Kind::ConfigMap, "default/one", &[], Value::Null);
    let two = world.create(Kind::ConfigMap, "default/two", &[], Value::Null);
    let owners = [owner(Kind::ConfigMap, "one", &one, true), owner(Kind::ConfigMap, "two", &two, true)];
    world.create(Kind::ConfigMap, "default/child", &owners, Value::Null);
    world.run(1);
    for (name, propagation) in [("default/one", Propagation::Background), ("default/two", Propagation::Foreground)] {
        world.delete(Kind::ConfigMap, name, policy(propagation));
        world.run(2);
        let Some(child) = world.get(Kind::ConfigMap, "default/child") else { break };
        let owners: Vec<String> =
            child.meta().owner_references.iter().flatten().map(|owner| owner.name.clone()).collect();
        assert_eq!(owners, ["two"], "the reference to the owner that is gone was taken off");
    }
    assert_eq!(left(&world), [] as [&str; 0], "then the last one went, too");
}

#[test]
fn owners_that_never_were() {
    let mut world = World::new(0);
    let there = world.create(Kind::ConfigMap, "default/there", &[], Value::Null);
    let nothing = "11111111-1111-1111-1111-111111111111";
    // A name that is there with another uid, a name that is not, a cluster-scoped owner that is not.
    world.create(Kind::ConfigMap, "default/a", &[owner(Kind::ConfigMap, "there", nothing, true)], Value::Null);
    world.create(Kind::ConfigMap, "default/b", &[owner(Kind::Secret, "gone", "2", true)], Value::Null);
    world.create(Kind::ConfigMap, "default/c", &[owner(Kind::Node, "gone", "3", true)], Value::Null);
    // An unknown kind: perhaps it is known later.
    let unknown = json!({"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "4"});
    world.create(Kind::ConfigMap, "default/d", &[unknown], Value::Null);
    world.create(Kind::ConfigMap, "default/e", &[owner(Kind::ConfigMap, "there", &there, true)], Value::Null);
    world.run(5);
    assert_eq!(left(&world), ["d", "e", "there"]);
    assert!(world.cluster.is_quiet(), "what cannot be resolved keeps nobody up");
}

#[test]
fn an_owner_lives_in_its_dependents_namespace() {
    let mut world = World::new(0);
    let uid = world.create(Kind::ConfigMap, "default/there", &[], Value::Null);
    world.run(1);
    world.create(Kind::ConfigMap, "kube-public/stray", &[owner(Kind::ConfigMap, "there", &uid, true)], Value::Null);
    world.run(1);
    let message = format!("ownerRef [v1/ConfigMap, namespace: kube-public, name: there, uid: {uid}] does not exist");
    let writes = world.take_writes(COLLECTOR);
    assert!(writes.contains(&"delete configmaps stray 200".to_owned()), "{writes:?}");
    let event = format!("event OwnerRefInvalidNamespace: {message} in namespace \"kube-public\"");
    assert!(writes.contains(&event), "{writes:?}");
    assert_eq!(left(&world), ["there"]);

    // A cluster-scoped object cannot be owned by one in a namespace. It is left alone.
    let owner = [owner(Kind::ConfigMap, "there", &uid, true)];
    world.create(Kind::Namespace, "owned", &owner, Value::Null);
    world.delete(Kind::ConfigMap, "default/there", DeleteOptions::default());
    world.run(5);
    assert!(world.get(Kind::Namespace, "owned").is_some_and(|ns| ns.meta().deletion_timestamp.is_none()));
}

#[test]
fn a_circle_of_owners_is_broken() {
    let mut world = World::new(0);
    let a = world.create(Kind::ConfigMap, "default/a", &[], Value::Null);
    let b = world.create(Kind::ConfigMap, "default/b", &[owner(Kind::ConfigMap, "a", &a, true)], Value::Null);
    let back = json!({"metadata": {"ownerReferences": [owner(Kind::ConfigMap, "b", &b, true)]}});
    world.ask(Verb::Patch, Kind::ConfigMap, "default/a", Body::Patch(Patch::Merge(back)));
    world.run(1);
    world.delete(Kind::ConfigMap, "default/a", policy(Propagation::Foreground));
    world.run(5);
    assert_eq!(left(&world), [] as [&str; 0]);
}

/// The references that do not block their owner are left as they are.
#[test]
fn to_break_a_circle_blocking_references_are_unblocked() {
    let mut world = World::new(0);
    let a = world.create(Kind::ConfigMap, "default/a", &[], Value::Null);
    let other = world.create(Kind::ConfigMap, "default/other", &[], Value::Null);
    let free = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": other});
    let owners = [owner(Kind::ConfigMap, "a", &a, true), free];
    let b = world.create(Kind::ConfigMap, "default/b", &owners, Value::Null);
    let hold = |owners: &[Value]| json!({"metadata": {"finalizers": ["example.com/keep"], "ownerReferences": owners}});
    let back = hold(&[owner(Kind::ConfigMap, "b", &b, true)]);
    for (name, patch) in [("a", back), ("b", hold(&owners)), ("other", hold(&[]))] {
        world.ask(Verb::Patch, Kind::ConfigMap, &format!("default/{name}"), Body::Patch(Patch::Merge(patch)));
    }
    world.run(1);
    for name in ["default/other", "default/a"] {
        world.delete(Kind::ConfigMap, name, policy(Propagation::Foreground));
    }
    world.run(5);
    let left = world.get(Kind::ConfigMap, "default/b").expect("a finalizer holds it");
    let blocks = left.meta().owner_references.iter().flatten().map(|owner| owner.block_owner_deletion);
    assert_eq!(blocks.collect::<Vec<_>>(), [Some(false), None]);
}

#[test]
fn a_later_delete_may_choose_another_policy() {
    let mut world = World::new(0);
    chain(&mut world);
    let hold = json!({"metadata": {"finalizers": ["example.com/wait"]}});
    world.ask(Verb::Patch, Kind::ConfigMap, "default/bottom", Body::Patch(Patch::Merge(hold)));
    world.delete(Kind::ConfigMap, "default/middle", policy(Propagation::Foreground));
    world.run(2);
    let finalizers = |world: &World| world.get(Kind::ConfigMap, "default/middle").unwrap().meta().finalizers.clone();
    assert_eq!(finalizers(&world).unwrap(), ["foregroundDeletion"]);
    // Without a policy the one chosen before stays.
    world.delete(Kind::ConfigMap, "default/middle", DeleteOptions::default());
    assert_eq!(finalizers(&world).unwrap(), ["foregroundDeletion"]);
    world.delete(Kind::ConfigMap, "default/middle", policy(Propagation::Background));
    assert!(world.get(Kind::ConfigMap, "default/middle").is_none());
}

#[test]
fn preconditions_are_kept() {
    let mut world = World::new(0);
    let uid = world.create(Kind::ConfigMap, "default/a", &[], Value::Null);
    let version = world.get(Kind::ConfigMap, "default/a").unwrap().revision();
    let refused = |world: &mut World, options: DeleteOptions| {
        let answer = world.delete(Kind::ConfigMap, "default/a", options);
        (answer.code, answer.result.unwrap_err().to_string())
    };
    let wrong = DeleteOptions { uid: Some("other".into()), ..DeleteOptions::default() };
    let text = format!(
        "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (other) does not match the UID in \
         record ({uid}). The object might have been deleted and then recreated"
    );
    assert_eq!(refused(&mut world, wrong), (409, text));
    let wrong = DeleteOptions { resource_version: Some("1".into()), ..DeleteOptions::default() };
    let text = format!(
        "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the precondition (1) does not match \
         the ResourceVersion in record ({version}). The object might have been modified"
    );
    assert_eq!(refused(&mut world, wrong), (409, text));
    let right =
        DeleteOptions { uid: Some(uid), resource_version: Some(version.to_string()), ..DeleteOptions::default() };
    assert_eq!(world.delete(Kind::ConfigMap, "default/a", right).code, 200);
}

#[test]
fn kubectl_says_how() {
    let mut world = World::new(2);
    for (command, printed) in [
        ("create deployment web --image=nginx:1.27 --replicas=2", "deployment.apps/web created\n"),
        ("rollout status deployment/web -w=false", ""),
        (
            "delete deployment web --cascade=never",
            "error: invalid cascade value (never). Must be \"background\", \"foreground\", or \"orphan\"\n",
        ),
        ("delete deployment web --cascade=orphan", "deployment.apps \"web\" deleted from default namespace\n"),
        ("get deployments", "No resources found in default namespace.\n"),
        ("create deployment web --image=nginx:1.27 --replicas=2", "deployment.apps/web created\n"),
        (
            "delete deployment web --cascade=false",
            "warning: --cascade=false is deprecated (boolean value) and can be replaced with --cascade=orphan.\n\
             deployment.apps \"web\" deleted from default namespace\n",
        ),
    ] {
        let shown = world.kubectl(command);
        if !printed.is_empty() {
            assert_eq!(shown, printed, "{command}");
        }
        world.run(3);
    }
    assert_eq!(world.list(Kind::Pod, "default").len(), 2, "the orphans were adopted and orphaned again");
    let set = world.list(Kind::ReplicaSet, "default")[0].name().to_owned();
    // It returns when the last Pod is gone, not before.
    assert_eq!(
        world.kubectl(&format!("delete rs {set} --cascade=foreground")),
        format!("replicaset.apps \"{set}\" deleted from default namespace\n")
    );
    assert!(world.list(Kind::Pod, "default").is_empty());
    assert!(world.list(Kind::ReplicaSet, "default").is_empty());
}
