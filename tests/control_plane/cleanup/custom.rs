//! Objects of kinds that users define: they own and are owned, and go with their namespace and with their definition.

use std::rc::Rc;

use client::{Change, Client, Controller, ControllerContext, Error, Queue, Registration};
use cluster::scenario::Scenario;
use cluster::{Account, Cluster, Parts, Program};
use controllers::ControllerManager;
use engine::control::Hold;
use object::{CustomKind, Key, Kind, Object};
use serde_json::{Value, json};
use wire::{Body, DeleteOptions, Patch, Propagation, Request, Response, Subresource, Verb};

use super::harness::World;

const GROUP: &str = "example.com";

fn gadget() -> Kind {
    Kind::Custom(CustomKind::new(GROUP, "v1", "gadgets", "Gadget", true))
}

/// The definition of a Gadget, with or without an endpoint for its status.
fn definition(with_status: bool) -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let subresources = if with_status { json!({"status": {}}) } else { json!({}) };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": schema}}]}})
}

/// A cluster in which Gadgets are served.
fn world() -> World {
    let mut world = World::new(1);
    world.apply(definition(false));
    world.run(1);
    world.seen.writes.clear();
    world
}

fn owner(kind: Kind, name: &str, uid: &str) -> Value {
    let info = kind.info();
    json!({"apiVersion": info.api_version, "kind": info.kind, "name": name, "uid": uid, "blockOwnerDeletion": true})
}

fn policy(propagation: Propagation) -> DeleteOptions {
    DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() }
}

#[test]
fn what_a_custom_object_owns_goes_with_it() {
    for how in [Propagation::Background, Propagation::Foreground] {
        let mut world = world();
        let uid = world.create(gadget(), "default/a", &[], json!({"size": 1}));
        world.create(Kind::ConfigMap, "default/of-a", &[owner(gadget(), "a", &uid)], Value::Null);
        let second = world.create(gadget(), "default/b", &[owner(gadget(), "a", &uid)], Value::Null);
        world.create(Kind::ConfigMap, "default/of-b", &[owner(gadget(), "b", &second)], Value::Null);
        world.run(1);
        world.delete(gadget(), "default/a", policy(how));
        world.run(30);
        assert!(world.list(gadget(), "").is_empty(), "{how:?}");
        let left: Vec<String> =
            world.list(Kind::ConfigMap, "default").iter().map(|map| map.name().to_owned()).collect();
        assert_eq!(left, ["kube-root-ca.crt"], "{how:?}");
    }
}

#[test]
fn a_custom_object_goes_with_its_owner_unless_it_is_orphaned() {
    let mut world = world();
    let owner_of = |world: &mut World, name: &str| {
        let uid = world.create(Kind::ConfigMap, &format!("default/{name}"), &[], Value::Null);
        owner(Kind::ConfigMap, name, &uid)
    };
    let (first, second) = (owner_of(&mut world, "first"), owner_of(&mut world, "second"));
    world.create(gadget(), "default/a", std::slice::from_ref(&first), Value::Null);
    world.create(gadget(), "default/b", &[second, first], Value::Null);
    world.run(1);
    world.delete(Kind::ConfigMap, "default/second", policy(Propagation::Orphan));
    world.run(10);
    let owners = |world: &World, name: &str| world.get(gadget(), name).unwrap().meta().owner_references.clone();
    assert_eq!(owners(&world, "default/b").map(|all| all.len()), Some(1), "the list that is left is written whole");
    let writes = world.take_writes("generic-garbage-collector");
    let patches: Vec<&String> = writes.iter().filter(|write| write.contains("gadgets b")).collect();
    assert_eq!(patches, ["patch gadgets b 415", "patch gadgets b 200"], "its kind has no type to merge by");
    world.delete(Kind::ConfigMap, "default/first", policy(Propagation::Background));
    world.run(30);
    assert!(world.list(gadget(), "").is_empty());
}

#[test]
fn a_namespace_takes_custom_objects_with_it() {
    let mut world = world();
    world.kubectl("create namespace doomed");
    world.create(gadget(), "doomed/a", &[], json!({"size": 1}));
    world.create(gadget(), "default/b", &[], json!({"size": 1}));
    world.kubectl("delete namespace doomed");
    assert!(world.get(Kind::Namespace, "doomed").is_none());
    let left: Vec<String> = world.list(gadget(), "").iter().map(|object| object.namespace().to_owned()).collect();
    assert_eq!(left, ["default"]);
}

/// The condition Terminating of the definition.
fn terminating(world: &World) -> Option<String> {
    let definition = world.get(Kind::CustomResourceDefinition, "gadgets.example.com")?;
    let conditions = definition.to_json()["status"]["conditions"].clone();
    let there = conditions.as_array()?.iter().find(|condition| condition["type"] == "Terminating")?.clone();
    Some(format!("{} {}: {}", there["status"], there["reason"], there["message"]).replace('"', ""))
}

#[test]
fn a_definition_waits_for_its_objects() {
    let mut world = world();
    world.create(gadget(), "default/free", &[], Value::Null);
    world.create(gadget(), "default/held", &[], Value::Null);
    let held = json!({"metadata": {"finalizers": ["example.com/keep"]}});
    world.ask(Verb::Patch, gadget(), "default/held", Body::Patch(Patch::Merge(held)));
    world.seen.writes.clear();
    world.kubectl("delete crd gadgets.example.com --wait=false");
    let pending = "True InstanceDeletionPending: CustomResourceDefinition marked for deletion; CustomResource deletion \
        will begin soon";
    assert!(terminating(&world).is_some_and(|text| text == pending || text.contains("InProgress")));
    world.run(2);
    let begun = "True InstanceDeletionInProgress: CustomResource deletion is in progress";
    assert_eq!(terminating(&world).as_deref(), Some(begun));
    assert_eq!(world.list(gadget(), "").len(), 1, "the other one is gone");
    let late = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "late"}});
    let refused = world.ask(Verb::Create, gadget(), "default/", Body::Json(late.to_string())).result.unwrap_err();
    let why = "create not allowed while custom resource definition is terminating";
    assert_eq!(refused.message(), format!("gadgets.example.com \"late\" is forbidden: {why}"));
    let late =
        "True InstanceDeletionCheck: could not confirm zero CustomResources remaining: context deadline exceeded";
    world.wait_until(61, |world| terminating(world).as_deref() == Some(late));
    let free = json!({"metadata": {"finalizers": null}});
    world.ask(Verb::Patch, gadget(), "default/held", Body::Patch(Patch::Merge(free)));
    world.run(10);
    assert!(world.list(gadget(), "").is_empty());
    assert!(world.get(Kind::CustomResourceDefinition, "gadgets.example.com").is_none());
    let answer = world.ask(Verb::List, gadget(), "default/", Body::None);
    assert_eq!(answer.result.unwrap_err().message(), "the server could not find the requested resource");
}

#[test]
fn a_definition_is_stored_where_a_real_one_is() {
    let mut world = world();
    world.create(gadget(), "default/a", &[], json!({"size": 1}));
    let store = &world.cluster.engine.server.api.store;
    let stored = |key: &str| store.get(key).map(|entry| entry.value.kind());
    let definition = "/registry/apiextensions.k8s.io/customresourcedefinitions/gadgets.example.com";
    assert_eq!(stored(definition), Some(Kind::CustomResourceDefinition));
    assert_eq!(stored("/registry/example.com/gadgets/default/a"), Some(gadget()));
    let Some(Object::Custom(object)) = world.get(gadget(), "default/a") else { panic!("it was just made") };
    assert_eq!(object.get("spec"), Some(&json!({"size": 1})));
    assert_eq!(object.metadata.generation, Some(1));
}

/// An operator: the status of a Gadget says how large it is.
struct Sizes {
    client: Client,
    queue: Queue,
}

impl Controller for Sizes {
    fn on_change(&self, change: &Change) {
        self.queue.add(change.key());
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let ask =
            |verb, body| Request::new(self.client.user().clone(), verb, gadget(), key.namespace(), key.name(), body);
        let Ok(Response::Object(Object::Custom(seen))) = self.client.request(ask(Verb::Get, Body::None)).await?.result
        else {
            return Ok(());
        };
        let size = seen.get("spec").and_then(|spec| spec.get("size")).cloned();
        let status = json!({"status": {"seen": size, "observedGeneration": seen.metadata.generation}});
        let patch = ask(Verb::Patch, Body::Patch(Patch::Merge(status)));
        self.client.request(Request { subresource: Some(Subresource::Status), ..patch }).await?.result?;
        Ok(())
    }
}

const SIZES: Registration = Registration {
    watches: &[],
    ..Registration::new("sizes", &|context: &ControllerContext| {
        Rc::new(Sizes { client: context.client.clone(), queue: context.queue.clone() })
    })
};

#[test]
fn an_operator_that_came_before_its_kind_works_on_it() {
    const PROGRAMS: &[Program] = &[Program {
        name: "sizes",
        new: &|hub, id| {
            let watches: &'static [Kind] = Box::leak(Box::new([gadget()]));
            let table: &'static [Registration] = Box::leak(Box::new([Registration { watches, ..SIZES }]));
            Rc::new(ControllerManager::operator(hub, id, "sizes", table))
        },
    }];
    let scenario = Scenario { seed: 1, ..Scenario::default() };
    const ACCOUNTS: &[Account] = &[Account::of_admin("sizes")];
    let parts = Parts { programs: PROGRAMS, accounts: ACCOUNTS, ..Parts::default() };
    let mut world = World::of(Cluster::with_parts(&scenario, parts));
    world.run(5);
    world.apply(definition(true));
    world.run(2);
    world.create(gadget(), "default/a", &[], json!({"size": 7}));
    world.run(5);
    let seen = |world: &World| world.get(gadget(), "default/a").unwrap().to_json()["status"].clone();
    assert_eq!(seen(&world), json!({"seen": 7, "observedGeneration": 1}));
    let larger = json!({"spec": {"size": 8}, "status": {"seen": 9}});
    world.ask(Verb::Patch, gadget(), "default/a", Body::Patch(Patch::Merge(larger)));
    world.run(5);
    assert_eq!(seen(&world), json!({"seen": 8, "observedGeneration": 2}));
}

/// The news that a definition is gone may be ahead of the news that its last object is.
#[test]
fn what_the_last_object_owned_goes_though_the_definition_is_gone_first() {
    let scenario = Scenario::find("custom-resource").unwrap();
    for seed in [0, 147] {
        let mut cluster = bugs::cluster(&Scenario { seed, ..scenario.clone() });
        while !cluster.is_quiet() && cluster.step().is_some() {}
        let said = cluster.kubectl.printed_since(0);
        let (_, last) = said.rsplit_once("$ kubectl get configmaps").unwrap();
        assert!(last.contains("kube-root-ca.crt") && !last.contains("orders-settings"), "seed {seed}: {last}");
    }
}

#[test]
fn a_quota_counts_custom_objects_too() {
    let mut world = world();
    world.create(Kind::ResourceQuota, "default/few", &[], json!({"hard": {"count/gadgets.example.com": "1"}}));
    world.run(2);
    let add = |world: &mut World, name: &str| {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}});
        let answer = world.ask(Verb::Create, gadget(), "default/", Body::Json(object.to_string()));
        answer.result.err().map_or_else(String::new, |status| status.to_string())
    };
    assert_eq!(add(&mut world, "a"), "");
    world.run(2);
    let exceeded = "gadgets.example.com \"b\" is forbidden: exceeded quota: few, requested: count/gadgets.example.com=1, \
                    used: count/gadgets.example.com=1, limited: count/gadgets.example.com=1";
    assert_eq!(add(&mut world, "b"), exceeded);
    world.delete(gadget(), "default/a", DeleteOptions::default());
    world.run(2);
    assert_eq!(add(&mut world, "b"), "");
}

/// A budget that says how many may be missing has to know how many there should be.
#[test]
fn a_budget_asks_the_scale_of_a_custom_object() {
    for scales in [true, false] {
        let mut world = World::new(1);
        let mut defined = definition(false);
        if scales {
            defined["spec"]["versions"][0]["subresources"] =
                json!({"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}});
        }
        world.apply(defined);
        world.run(1);
        let uid = world.create(gadget(), "default/g", &[], json!({"size": 3}));
        let mut owner = owner(gadget(), "g", &uid);
        owner["controller"] = json!(true);
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default", "labels": {"app": "g"}, "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]}});
        world.ask(Verb::Create, Kind::Pod, "default/", Body::Json(pod.to_string()));
        let selector = json!({"matchLabels": {"app": "g"}});
        let spec = json!({"maxUnavailable": 1, "selector": selector});
        world.create(Kind::PodDisruptionBudget, "default/b", &[], spec);
        world.run(5);
        let status = world.get(Kind::PodDisruptionBudget, "default/b").unwrap().to_json()["status"].clone();
        if scales {
            assert_eq!((&status["expectedPods"], &status["desiredHealthy"]), (&json!(3), &json!(2)));
        } else {
            let why = "gadgets.example.com does not implement the scale subresource";
            assert_eq!(status["conditions"][0]["message"], why);
        }
    }
}

/// Whom the controller has not heard of it asks too, or whom it has heard of no more.
#[test]
fn a_budget_asks_the_scale_of_a_deployment_that_is_not_known_yet() {
    let mut world = World::new(1);
    let hold = Hold::Watch("kube-controller-manager".into(), Kind::Deployment);
    world.cluster.engine.hold(hold);
    let template = |app: &str| json!({"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": "example.com/i:1"}]}});
    let spec = |app: &str| json!({"replicas": 2, "selector": {"matchLabels": {"app": app}}, "template": template(app)});
    let deployment = world.create(Kind::Deployment, "default/d", &[], spec("x"));
    let mut owner = owner(Kind::Deployment, "d", &deployment);
    owner["controller"] = json!(true);
    world.create(Kind::ReplicaSet, "default/d-1", &[owner], spec("x"));
    world.wait_until(10, |world| !world.list(Kind::Pod, "default").is_empty());
    let selector = json!({"matchLabels": {"app": "x"}});
    world.create(Kind::PodDisruptionBudget, "default/b", &[], json!({"minAvailable": "50%", "selector": selector}));
    world.run(5);
    let status = world.get(Kind::PodDisruptionBudget, "default/b").unwrap().to_json()["status"].clone();
    assert_eq!((&status["expectedPods"], &status["desiredHealthy"]), (&json!(2), &json!(1)), "{status}");
}
