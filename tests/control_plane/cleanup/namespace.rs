//! Deleting a Namespace: what goes in which order, what is refused meanwhile, and what may hold it.

use std::time::Duration;

use object::time::Instant;
use object::{Kind, Object};
use serde_json::{Value, json};
use wire::{Body, DeleteOptions, Patch, Propagation, Verb};

use super::harness::World;

const CONTROLLER: &str = "namespace-controller";

/// A Namespace `doomed` with a Deployment of two Pods and a Service in it, all running.
fn doomed() -> World {
    let mut world = World::new(2);
    world.kubectl("create namespace doomed");
    world.kubectl("create deployment web --image=nginx:1.27 --replicas=2 -n doomed");
    world.kubectl("expose deployment web --port=80 -n doomed");
    world.kubectl("rollout status deployment/web -n doomed");
    world.run(2);
    world.seen.writes.clear();
    world
}

fn conditions(world: &World, name: &str) -> Vec<String> {
    let Some(Object::Namespace(namespace)) = world.get(Kind::Namespace, name) else { return Vec::new() };
    let conditions = namespace.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let bad = conditions.filter(|condition| condition.status == "True");
    bad.map(|c| format!("{}: {}", c.reason.as_deref().unwrap_or("-"), c.message.as_deref().unwrap_or("-"))).collect()
}

/// Everything that lives in a namespace.
fn content(world: &World, namespace: &str) -> Vec<String> {
    let kinds = Kind::ALL.iter().filter(|kind| kind.info().namespaced);
    let objects = kinds.flat_map(|kind| world.list(*kind, namespace));
    objects.map(|object| format!("{} {}", object.kind(), object.name())).collect()
}

#[test]
fn a_namespace_is_emptied_pods_first_and_then_goes() {
    let mut world = doomed();
    let begun = world.cluster.engine.now();
    assert_eq!(world.kubectl("delete namespace doomed"), "namespace \"doomed\" deleted\n");
    assert!(world.get(Kind::Namespace, "doomed").is_none(), "kubectl waits until it is gone");
    assert_eq!(content(&world, "doomed"), [] as [&str; 0]);
    let took = world.cluster.engine.now() - begun;
    assert!(
        (5..20).contains(&took.as_secs()),
        "five seconds before the first look, and as many before the second: {took:?}"
    );

    let writes = world.take_writes(CONTROLLER);
    let first = ["deletecollection pods  200", "update namespaces/status doomed 200", "deletecollection pods  200"];
    assert_eq!(writes[..3], first, "nothing else is touched while there are Pods");
    assert_eq!(writes[3..5], ["deletecollection configmaps  200", "deletecollection endpoints  200"]);
    // The note of writes has none to Leases.
    let kinds = Kind::ALL.iter().filter(|kind| kind.info().namespaced && **kind != Kind::Lease).count();
    let collections = writes.iter().filter(|write| write.starts_with("deletecollection")).count();
    assert_eq!(collections, kinds + 2, "every kind once; Pods twice, and Events in both their groups: {writes:#?}");
    assert_eq!(writes.last().map(String::as_str), Some("update namespaces/finalize doomed 200"));
}

#[test]
fn nothing_is_born_in_a_namespace_that_goes() {
    let mut world = doomed();
    world.kubectl("delete namespace doomed --wait=false");
    let said = world.kubectl("create configmap late -n doomed");
    let refused = "configmaps \"late\" is forbidden: unable to create new content in namespace doomed because it is being \
        terminated";
    assert_eq!(said, format!("error: failed to create configmap: {refused}\n"));
    assert!(world.kubectl("get namespace doomed").contains("Terminating"));
    world.run(60);
    assert!(world.get(Kind::Namespace, "doomed").is_none());
    // Controllers try, are refused, and say nothing about it.
    let tries = |agent: &str| world.seen.writes.iter().filter(|w| w.starts_with(agent) && w.ends_with(" 403")).count();
    assert!(tries("replicaset-controller create pods") > 0, "{:#?}", world.seen.writes);
    assert_eq!(tries("root-ca-cert-publisher create configmaps"), 1, "{:#?}", world.seen.writes);
    assert_eq!(tries("service-account-controller"), 0, "it looks at the phase first");
    assert!(!world.seen.writes.iter().any(|write| write.contains("FailedCreate")), "{:#?}", world.seen.writes);
    // A new one of that name is another.
    assert_eq!(world.kubectl("create namespace doomed"), "namespace/doomed created\n");
    world.run(1);
    assert_eq!(content(&world, "doomed"), ["ConfigMap kube-root-ca.crt", "ServiceAccount default"]);
}

#[test]
fn a_finalizer_holds_a_namespace_and_its_status_says_so() {
    let mut world = World::new(1);
    world.kubectl("create namespace doomed");
    world.kubectl("create configmap kept -n doomed");
    world.kubectl("patch configmap kept -p {\"metadata\":{\"finalizers\":[\"example.com/keep\"]}} -n doomed");
    world.run(1);
    world.kubectl("delete namespace doomed --wait=false");
    world.run(30);
    assert_eq!(content(&world, "doomed"), ["ConfigMap kept"]);
    assert_eq!(
        conditions(&world, "doomed"),
        [
            "SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
            "SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/keep in 1 resource \
             instances",
        ]
    );
    assert!(world.cluster.is_quiet(), "looking again and again is background traffic");
    world.kubectl("patch configmap kept --type=merge -p {\"metadata\":{\"finalizers\":null}} -n doomed");
    world.run(10);
    assert!(world.get(Kind::Namespace, "doomed").is_none());
}

/// A process that ignores SIGTERM takes its whole grace period, even if the controller expected less; the cluster is not quiet
/// before it is over.
#[test]
fn a_namespace_waits_for_processes_that_take_their_time() {
    for seconds in [3, 9, 20, 40] {
        let mut world = World::new(1);
        world.kubectl("create namespace doomed");
        world.run(1);
        let container = json!({"name": "c", "image": "busybox:1.36", "command": ["sh", "-c", "sleep 3600"]});
        let spec = json!({"containers": [container], "terminationGracePeriodSeconds": seconds});
        world.create(Kind::Pod, "doomed/stubborn", &[], spec);
        world.run(5);
        let begun = world.cluster.engine.now();
        world.kubectl("delete namespace doomed --wait=false");
        world.settle();
        assert!(world.get(Kind::Namespace, "doomed").is_none(), "{seconds} s of grace");
        let took = (world.cluster.engine.now() - begun).as_secs();
        assert!((seconds + 5..seconds + 30).contains(&took), "{seconds} s of grace took {took} s");
    }
}

#[test]
fn a_pod_on_a_lost_node_holds_its_namespace() {
    let mut world = doomed();
    for node in ["kubelet/node-1", "kubelet/node-2"] {
        world.cluster.stop_process(node).expect("it runs");
    }
    world.kubectl("delete namespace doomed --wait=false");
    world.run(60);
    assert_eq!(
        conditions(&world, "doomed"),
        ["ContentDeletionFailed: Failed to delete all resource types, 1 remaining: unexpected items still remain in \
             namespace: doomed for gvr: /v1, Resource=pods"]
    );
    assert_eq!(world.list(Kind::Service, "doomed").len(), 1, "only the Pods' turn has come");
    world.settle();
    world.kubectl("delete pods --all --force --grace-period=0 -n doomed");
    world.run(70);
    assert!(world.get(Kind::Namespace, "doomed").is_none());
}

#[test]
fn whoever_finalizes_by_hand_leaves_a_mess() {
    let mut world = doomed();
    let Some(Object::Namespace(before)) = world.get(Kind::Namespace, "doomed") else { panic!("it was made") };
    assert_eq!(before.spec.as_ref().and_then(|spec| spec.finalizers.clone()), Some(vec!["kubernetes".to_owned()]));
    let finalize = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"}, "spec": {}});
    let put = |world: &mut World, object: &Value| {
        world.ask_part(Verb::Update, Kind::Namespace, "doomed", "finalize", Body::Json(object.to_string()))
    };
    // Not even one that is not being deleted needs its finalizer; but then the first DELETE only marks it.
    assert_eq!(put(&mut world, &finalize).code, 200);
    assert!(world.get(Kind::Namespace, "doomed").is_some());
    let wrong = json!({"metadata": {"name": "doomed"}, "spec": {"finalizers": ["mine"]}});
    let answer = put(&mut world, &wrong);
    let message = answer.result.expect_err("a finalizer has a domain").to_string();
    let why = "spec.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully qualified";
    assert_eq!(message, format!("Namespace \"doomed\" is invalid: {why}"));
    for there in [true, false] {
        assert_eq!(world.delete(Kind::Namespace, "doomed", DeleteOptions::default()).code, 200);
        assert_eq!(world.get(Kind::Namespace, "doomed").is_some(), there);
    }
    world.run(20);
    assert_eq!(world.list(Kind::Pod, "doomed").len(), 2, "nobody deletes what is in a namespace that is not there");
}

#[test]
fn others_may_hold_a_namespace_too() {
    let mut world = World::new(0);
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "held"},
        "spec": {"finalizers": ["example.com/audit"]}});
    assert_eq!(world.ask(Verb::Create, Kind::Namespace, "", Body::Json(object.to_string())).code, 201);
    let foreground = DeleteOptions { propagation: Some(Propagation::Foreground), ..DeleteOptions::default() };
    assert_eq!(world.delete(Kind::Namespace, "held", foreground).code, 200);
    world.run(20);
    let held = world.get(Kind::Namespace, "held").expect("an auditor has to let it go first");
    let Object::Namespace(namespace) = &held else { panic!("{held:?}") };
    assert_eq!(namespace.spec.as_ref().and_then(|s| s.finalizers.clone()), Some(vec!["example.com/audit".to_owned()]));
    assert_eq!(namespace.metadata.finalizers, None, "the collector took foregroundDeletion off");
    let status = json!({"status": {"phase": "Active"}});
    let answer = world.ask_part(Verb::Patch, Kind::Namespace, "held", "status", Body::Patch(Patch::Merge(status)));
    assert_eq!(
        answer.result.expect_err("there is no way back").message(),
        "Namespace \"held\" is invalid: status.Phase: Invalid value: \"Active\": may only be 'Terminating' if \
         `deletionTimestamp` is not empty"
    );
    let finalize = json!({"metadata": {"name": "held"}});
    let body = Body::Json(finalize.to_string());
    assert_eq!(world.ask_part(Verb::Update, Kind::Namespace, "held", "finalize", body).code, 200);
    assert!(world.get(Kind::Namespace, "held").is_none());
}

/// A namespace that something holds for ever goes when its finalizers are written away behind the controller's back; what
/// was in it stays in etcd, where no user sees it.
#[test]
fn a_stuck_namespace_is_finalized_by_hand() {
    let mut world = World::new(1);
    world.kubectl("create namespace audit");
    world.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "ledger", "namespace": "audit", "finalizers": ["example.com/keep-the-books"]}}));
    world.kubectl("delete namespace audit --wait=false");
    world.run(12);
    let stuck = world.kubectl("get --raw /api/v1/namespaces/audit");
    assert!(stuck.contains("Terminating") && stuck.contains("\"finalizers\":[\"kubernetes\"]"), "{stuck}");
    let body =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "audit"}, "spec": {"finalizers": []}});
    world.cluster.kubectl.files = std::rc::Rc::new([("audit.json".to_owned(), body.to_string())].into());
    let said = world.kubectl("replace --raw /api/v1/namespaces/audit/finalize -f audit.json");
    assert!(said.contains("\"kind\":\"Namespace\"") && !said.contains("\"kubernetes\""), "{said}");
    world.run(3);
    assert_eq!(world.kubectl("get namespace audit"), "Error from server (NotFound): namespaces \"audit\" not found\n");
    for (line, error) in [
        ("replace --raw /api/v1/namespaces/audit/finalize", "error: --raw can only use a single local file or stdin\n"),
        ("replace --raw /api/v1/namespaces/audit/finalize -f x", "error: open x: no such file or directory\n"),
        (
            "replace --raw /api/v1/namespaces/audit/finalize -f audit.json",
            "Error from server (NotFound): namespaces \"audit\" not found\n",
        ),
        ("get --raw /nowhere", "Error from server (NotFound): the server could not find the requested resource\n"),
        (
            "create --raw /api/v1/namespaces/default -f audit.json",
            "Error from server (MethodNotAllowed): the server does not allow this method on the requested resource\n",
        ),
    ] {
        assert_eq!(world.kubectl(line), error, "{line}");
    }
}

/// Of a collection each object is a commit of its own, some time after the one before.
#[test]
fn a_collection_goes_one_by_one() {
    let mut world = World::new(1);
    for name in ["a", "b", "c"] {
        world.create(Kind::ConfigMap, &format!("default/{name}"), &[], json!({}));
    }
    world.send(Verb::DeleteCollection, Kind::ConfigMap, "", Body::Delete(DeleteOptions::default()));
    let mut times = Vec::new();
    for name in ["a", "b", "c"] {
        world.wait_until(1, |world| world.get(Kind::ConfigMap, &format!("default/{name}")).is_none());
        times.push(world.cluster.engine.now());
    }
    let apart = |pair: &[Instant]| (Duration::from_millis(1)..Duration::from_millis(10)).contains(&(pair[1] - pair[0]));
    assert!(times.windows(2).all(apart), "{times:?}");
}
