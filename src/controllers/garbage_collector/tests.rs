//! The graph alone: what each change makes necessary.

use serde_json::{Value, json};

use object::{Kind, Object};

use super::graph::{Effect, Graph, Identity};

/// An object `NAMESPACE/NAME` whose uid is its name, with these owners.
fn object(kind: Kind, name: &str, owners: &[Value], more: Value) -> Object {
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    let namespace = (!namespace.is_empty()).then_some(namespace);
    let mut meta = json!({"name": name, "namespace": namespace, "uid": name, "ownerReferences": owners});
    if let (Some(meta), Value::Object(more)) = (meta.as_object_mut(), more) {
        meta.extend(more);
    }
    kind.decode(json!({"metadata": meta, "spec": {"selector": {}, "template": {}, "containers": []}}))
        .expect("the test's object is one")
}

fn replica_set(name: &str, owners: &[Value]) -> Object {
    object(Kind::ReplicaSet, name, owners, json!({}))
}

fn pod(name: &str, owners: &[Value]) -> Object {
    object(Kind::Pod, name, owners, json!({}))
}

/// A reference to a ReplicaSet that blocks its deletion.
fn owner(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "blockOwnerDeletion": true})
}

fn dying(finalizer: &str) -> Value {
    json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [finalizer]})
}

/// Effects as words: `delete a`, `later a`, `orphan a`, `wrong a`.
fn words(effects: &[Effect]) -> Vec<String> {
    let word = |effect: &Effect| match effect {
        Effect::AttemptToDelete(identity) => format!("delete {}", identity.name),
        Effect::AttemptToDeleteLater(identity) => format!("later {}", identity.name),
        Effect::AttemptToOrphan(identity) => format!("orphan {}", identity.name),
        Effect::WrongNamespace { dependent, owner } => format!("wrong {}: {owner}", dependent.name),
    };
    effects.iter().map(word).collect()
}

#[test]
fn the_graph_makes_work() {
    let mut graph = Graph::default();
    let seen = |graph: &mut Graph, object: Object| words(&graph.observed(&object));
    // In order: an object, what it makes necessary.
    assert_eq!(seen(&mut graph, replica_set("a/web", &[])), [] as [&str; 0]);
    assert_eq!(seen(&mut graph, pod("a/web-1", &[owner("web")])), [] as [&str; 0]);
    assert_eq!(seen(&mut graph, pod("a/web-1", &[owner("web")])), [] as [&str; 0], "nothing has changed");
    assert_eq!(seen(&mut graph, pod("a/db-1", &[owner("db")])), ["delete db"], "an unknown owner is looked up");
    assert!(!graph.get("db").unwrap().is_observed());
    assert_eq!(seen(&mut graph, replica_set("a/db", &[])), [] as [&str; 0], "and turns up");
    assert!(graph.get("db").unwrap().is_observed());
    assert_eq!(graph.len(), 4);
    let effects = graph.deleted(&replica_set("a/web", &[]));
    assert_eq!(words(&effects), ["delete web-1"], "it has no owner any more");
    assert!(graph.absent.contains(&Identity::of(&replica_set("a/web", &[]))));
    assert_eq!(words(&graph.deleted(&pod("a/web-1", &[owner("web")]))), [] as [&str; 0]);
    assert_eq!(graph.len(), 2);
}

#[test]
fn deletions_start_once() {
    for (finalizer, want) in [
        ("foregroundDeletion", vec!["delete web-1", "delete web"]),
        ("orphan", vec!["orphan web"]),
        ("example.com/own", vec![]),
    ] {
        let mut graph = Graph::default();
        graph.observed(&replica_set("a/web", &[]));
        graph.observed(&pod("a/web-1", &[owner("web")]));
        let dying = object(Kind::ReplicaSet, "a/web", &[], dying(finalizer));
        assert_eq!(words(&graph.observed(&dying)), want, "{finalizer}");
        assert_eq!(words(&graph.observed(&dying)), [] as [&str; 0], "{finalizer}, again");
    }
}

#[test]
fn an_object_first_seen_while_dying_is_dealt_with() {
    let mut graph = Graph::default();
    graph.observed(&pod("a/web-1", &[owner("web")]));
    let dying = object(Kind::ReplicaSet, "a/web", &[], dying("foregroundDeletion"));
    assert_eq!(words(&graph.observed(&dying)), ["delete web-1", "delete web"]);
}

#[test]
fn foreground_deletion_waits_for_those_who_block() {
    let mut graph = Graph::default();
    let free = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web"});
    graph.observed(&object(Kind::ReplicaSet, "a/web", &[], dying("foregroundDeletion")));
    graph.observed(&pod("a/free", &[free]));
    assert!(graph.get("web").unwrap().is_unblocked());
    graph.observed(&pod("a/one", &[owner("web")]));
    graph.observed(&pod("a/two", &[owner("web")]));
    graph.observed(&pod("a/two", &[owner("web")]));
    let undeleted =
        |graph: &Graph| graph.get("web").unwrap().undeleted().map(|uid| uid.to_string()).collect::<Vec<_>>();
    assert_eq!(undeleted(&graph), ["one", "two"]);
    graph.observed(&object(Kind::Pod, "a/one", &[owner("web")], dying("example.com/own")));
    assert_eq!(undeleted(&graph), ["two"], "one is being deleted, and still blocks");
    assert_eq!(words(&graph.deleted(&pod("a/one", &[owner("web")]))), ["delete web"], "the owner looks again");
    assert!(!graph.get("web").unwrap().is_unblocked());
    let mut unblocked = owner("web");
    unblocked["blockOwnerDeletion"] = json!(false);
    assert_eq!(words(&graph.observed(&pod("a/two", &[unblocked]))), ["delete web"]);
    assert!(graph.get("web").unwrap().is_unblocked());
}

#[test]
fn a_reference_taken_off_frees_the_owner() {
    let mut graph = Graph::default();
    graph.observed(&replica_set("a/web", &[]));
    graph.observed(&pod("a/web-1", &[owner("web")]));
    assert_eq!(words(&graph.observed(&pod("a/web-1", &[]))), ["delete web"]);
    assert!(graph.get("web").unwrap().dependents.is_empty());
    assert_eq!(words(&graph.deleted(&replica_set("a/web", &[]))), [] as [&str; 0], "nobody depends on it");
}

#[test]
fn an_owner_in_another_namespace_is_no_owner() {
    let wrong = "wrong stray: [apps/v1/ReplicaSet, namespace: b, name: web, uid: web]";
    // The owner is known first.
    let mut graph = Graph::default();
    graph.observed(&replica_set("a/web", &[]));
    assert_eq!(words(&graph.observed(&pod("b/stray", &[owner("web")]))), [wrong, "delete stray"]);
    // The dependent is known first.
    let mut graph = Graph::default();
    assert_eq!(words(&graph.observed(&pod("b/stray", &[owner("web")]))), ["delete web"]);
    assert_eq!(words(&graph.observed(&pod("a/good", &[owner("web")]))), ["delete good"], "one of them is wrong");
    assert_eq!(words(&graph.observed(&replica_set("a/web", &[]))), [wrong, "delete stray"]);
}

#[test]
fn an_owner_that_only_a_cluster_scoped_object_has_named_is_doubted() {
    let mut graph = Graph::default();
    let node = object(Kind::Node, "n", &[owner("web")], json!({}));
    assert_eq!(words(&graph.observed(&node)), ["delete web"]);
    assert_eq!(words(&graph.observed(&pod("a/one", &[owner("web")]))), ["delete one"], "perhaps it lives in `a`");
}

#[test]
fn one_doubt_is_enough_to_look_at_an_object() {
    let mut graph = Graph::default();
    for name in ["a/web", "a/db"] {
        graph.observed(&replica_set(name, &[]));
    }
    let wrong = "wrong stray: [apps/v1/ReplicaSet, namespace: b, name: web, uid: web]";
    assert_eq!(words(&graph.observed(&pod("b/stray", &[owner("web"), owner("db")]))), [wrong, "delete stray"]);
}

#[test]
fn only_an_added_reference_makes_a_virtual_owner() {
    let mut graph = Graph::default();
    graph.observed(&replica_set("a/web", &[]));
    assert_eq!(words(&graph.observed(&pod("a/one", &[owner("web"), owner("ghost")]))), ["delete ghost"]);
    let ghost = graph.get("ghost").unwrap().identity.clone();
    assert_eq!(words(&graph.proved_absent(&ghost)), ["delete one"]);
    let mut free = owner("web");
    free["blockOwnerDeletion"] = json!(false);
    assert_eq!(words(&graph.observed(&pod("a/one", &[free, owner("ghost")]))), ["delete web"]);
    assert!(graph.get("ghost").is_none());
}

#[test]
fn an_absent_owner_is_guessed_by_what_its_dependents_say() {
    let mut graph = Graph::default();
    let mut misnamed = owner("web");
    misnamed["name"] = json!("wob");
    graph.observed(&pod("a/one", &[misnamed]));
    assert_eq!(words(&graph.observed(&pod("a/two", &[owner("web")]))), ["delete two"]);
    let claimed = graph.get("web").unwrap().identity.clone();
    assert_eq!(claimed.name, "wob");
    // There is no `wob`: the dependent that named it is deleted, and `web` is looked up next.
    assert_eq!(words(&graph.proved_absent(&claimed)), ["delete one", "later web"]);
    let guess = graph.get("web").unwrap().identity.clone();
    assert_eq!(guess.name, "web");
    assert_eq!(words(&graph.deleted(&pod("a/one", &[]))), [] as [&str; 0]);
    assert_eq!(words(&graph.proved_absent(&guess)), ["delete two"]);
    assert!(graph.get("web").is_none());
    assert!(graph.absent.contains(&guess));
}

#[test]
fn what_is_there_is_not_removed_on_hearsay() {
    let mut graph = Graph::default();
    graph.observed(&replica_set("a/web", &[]));
    let mut misnamed = owner("web");
    misnamed["name"] = json!("wob");
    assert_eq!(words(&graph.observed(&pod("a/one", std::slice::from_ref(&misnamed)))), ["delete one"]);
    let reference = serde_json::from_value(misnamed).unwrap();
    assert_eq!(words(&graph.proved_absent(&Identity::claimed(&reference, "a"))), ["delete one"]);
    assert!(graph.get("web").is_some());
}

#[test]
fn the_outline_shows_every_tree() {
    let mut graph = Graph::default();
    for object in [
        replica_set("a/web", &[]),
        object(Kind::ReplicaSet, "a/old", &[], dying("foregroundDeletion")),
        pod("a/shared", &[owner("web"), owner("old")]),
        pod("a/lost", &[owner("ghost")]),
        replica_set("a/hen", &[owner("egg")]),
        replica_set("a/egg", &[owner("hen")]),
        pod("a/alone", &[]),
        replica_set("a/gone", &[]),
        pod("a/heir", &[owner("gone")]),
    ] {
        graph.observed(&object);
    }
    graph.deleted(&replica_set("a/gone", &[]));
    assert_eq!(
        graph.outline(),
        [
            "ReplicaSet a/ghost  (virtual: named as an owner, seen by no informer)",
            "  Pod a/lost",
            "ReplicaSet a/old  (being deleted; waits for its dependents)",
            "  Pod a/shared  (holds up its owner)",
            "ReplicaSet a/web",
            "  Pod a/shared",
            "ReplicaSet a/egg",
            "  ReplicaSet a/hen",
            "    ReplicaSet a/egg",
            "ReplicaSet a/gone  (proved absent: uid gone…)",
        ]
    );
}
