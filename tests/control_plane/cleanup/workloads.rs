//! Jobs, StatefulSets and DaemonSets whose Pods fail, are deleted, or lose their owner.

use std::collections::BTreeSet;
use std::time::Duration;

use engine::control::Hold;
use object::{Kind, Object};
use serde_json::{Value, json};

use super::harness::World;

const SETS: &str = "statefulset-controller";
const DAEMONS: &str = "daemon-set-controller";

/// A StatefulSet `db` with this spec, beside what every one has.
fn set(world: &mut World, spec: &Value) {
    let template = json!({"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "example.com/i:1"}]}});
    let mut whole = json!({"serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": template});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    world.apply(json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": whole}));
}

fn is_ready(world: &World, name: &str) -> bool {
    let Some(Object::Pod(pod)) = world.get(Kind::Pod, &format!("default/{name}")) else { return false };
    object::pod::is_ready(&pod)
}

/// A Pod that has failed holds up no other, and nothing is told but that it was deleted and made again.
#[test]
fn a_parallel_set_goes_on_beside_a_failed_pod() {
    let mut world = World::new(1);
    set(&mut world, &json!({"replicas": 3, "podManagementPolicy": "Parallel"}));
    world.wait_until(30, |world| (0..3).all(|i| is_ready(world, &format!("db-{i}"))));
    world.settle();
    world.take_writes(SETS);
    let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    let failed = json!({"status": {"phase": "Failed"}});
    for patch in [format!("patch pod db-0 -p {held}"), format!("patch pod db-0 --subresource=status -p {failed}")] {
        let said = world.kubectl(&patch);
        assert!(said.contains("patched"), "{said}");
    }
    world.kubectl("scale statefulset db --replicas=5");
    world.wait_until(40, |world| is_ready(world, "db-3") && is_ready(world, "db-4"));
    let writes = world.take_writes(SETS);
    assert!(writes.iter().any(|write| write == "delete pods db-0 200"), "{writes:#?}");
    assert!(world.get(Kind::Pod, "default/db-0").is_some(), "it is held");
    let told = writes.iter().filter_map(|write| Some(write.strip_prefix("event ")?.split_once(':')?.0));
    assert_eq!(told.collect::<BTreeSet<_>>(), BTreeSet::from(["SuccessfulCreate", "SuccessfulDelete"]), "{writes:#?}");
}

/// A set that is being deleted does not make anew what its orphans remember.
#[test]
fn a_set_that_is_orphaned_makes_no_revision() {
    let mut world = World::new(1);
    set(&mut world, &json!({"replicas": 1}));
    world.wait_until(30, |world| is_ready(world, "db-0"));
    world.settle();
    world.take_writes(SETS);
    world.kubectl("delete statefulset db --cascade=orphan");
    world.settle();
    let writes = world.take_writes(SETS);
    assert!(!writes.iter().any(|write| write.contains("controllerrevisions")), "{writes:#?}");
    assert_eq!(world.list(Kind::ControllerRevision, "default").len(), 1);
}

/// Revisions that no Pod uses are kept up to a limit, and all of them if it is below zero.
#[test]
fn a_limit_below_zero_keeps_all_revisions() {
    for (limit, kept) in [(0, 1), (-1, 3)] {
        let mut world = World::new(1);
        set(&mut world, &json!({"replicas": 1, "revisionHistoryLimit": limit}));
        for tag in [2, 3] {
            world.wait_until(60, |world| is_ready(world, "db-0"));
            world.kubectl(&format!("set image statefulset/db c=example.com/i:{tag}"));
            world.run(60);
        }
        assert_eq!(world.list(Kind::ControllerRevision, "default").len(), kept, "revisionHistoryLimit: {limit}");
    }
}

/// A Pod that is gone though the cache still has it has been deleted: an Event says so, once for each reconcile that finds
/// it so.
#[test]
fn a_set_that_deletes_a_pod_that_is_gone_is_content() {
    let mut world = World::new(1);
    set(&mut world, &json!({"replicas": 1}));
    world.wait_until(30, |world| is_ready(world, "db-0"));
    world.settle();
    world.take_writes(SETS);
    let hold = Hold::Watch("kube-controller-manager".into(), Kind::Pod);
    world.cluster.engine.hold(hold.clone());
    world.kubectl("delete pod db-0 --grace-period=0 --force");
    world.kubectl("set image statefulset/db c=example.com/i:2");
    world.run(1);
    let told = "event SuccessfulDelete: Delete Pod db-0 in StatefulSet db successful";
    let writes = world.take_writes(SETS);
    assert!(writes.iter().any(|write| write == "delete pods db-0 404"), "{writes:#?}");
    assert!(writes.iter().any(|write| write == told), "{writes:#?}");
    assert!(!writes.iter().any(|write| write.contains("FailedDelete")), "{writes:#?}");
    world.cluster.engine.release(&hold);
    world.wait_until(30, |world| is_ready(world, "db-0"));
}

/// A Pod that the set adopts has no claims, and cannot get them any more: each attempt is refused.
#[test]
fn an_adopted_pod_cannot_be_given_its_claims() {
    let mut world = World::new(1);
    let pod = json!({"containers": [{"name": "c", "image": "example.com/i:1"}]});
    let meta = json!({"name": "db-0", "labels": {"app": "db"}});
    world.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod}));
    world.wait_until(30, |world| is_ready(world, "db-0"));
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    set(&mut world, &json!({"replicas": 1, "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}]}));
    world.run(1);
    let writes = world.take_writes(SETS);
    for wanted in ["create persistentvolumeclaims data-db-0 201", "update pods db-0 422"] {
        assert!(writes.iter().any(|write| write == wanted), "{wanted} in {writes:#?}");
    }
    assert!(writes.iter().any(|write| write.starts_with("event FailedUpdate: Update Pod db-0")), "{writes:#?}");
    assert!(!writes.iter().any(|write| write.contains("SuccessfulUpdate")), "{writes:#?}");
}

/// The label with a Pod's name comes back when a client removes it, the one with its number only along with it.
#[test]
fn a_pod_of_a_set_gets_its_names_label_back() {
    const NAME: &str = "statefulset.kubernetes.io/pod-name";
    const INDEX: &str = "apps.kubernetes.io/pod-index";
    let mut world = World::new(1);
    set(&mut world, &json!({"replicas": 1}));
    world.wait_until(30, |world| is_ready(world, "db-0"));
    world.settle();
    let labels = |world: &World| world.get(Kind::Pod, "default/db-0").unwrap().meta().labels.clone().unwrap();
    for (taken, there) in [
        (format!("{INDEX}-"), (true, false)),
        (format!("{NAME}-"), (true, true)),
        (format!("{NAME}- {INDEX}-"), (true, true)),
    ] {
        world.kubectl(&format!("label pod db-0 {taken}"));
        world.run(3);
        let labels = labels(&world);
        assert_eq!((labels.contains_key(NAME), labels.contains_key(INDEX)), there, "{taken}");
    }
}

/// A Pod of a revision between the current one and the newest is subtracted from the current ones, and there are none.
#[test]
fn a_count_below_zero_is_refused() {
    let mut world = World::new(1);
    set(&mut world, &json!({"replicas": 1, "podManagementPolicy": "Parallel"}));
    world.wait_until(30, |world| is_ready(world, "db-0"));
    world.kubectl("set image statefulset/db c=example.com/i:no-such");
    world.run(40);
    world.take_writes(SETS);
    world.kubectl("set image statefulset/db c=example.com/i:3");
    world.wait_until(60, |world| is_ready(world, "db-0"));
    world.settle();
    let writes = world.take_writes(SETS);
    assert_eq!(writes.iter().filter(|write| *write == "update statefulsets/status db 422").count(), 1, "{writes:#?}");
    let status = world.get(Kind::StatefulSet, "default/db").unwrap().to_json()["status"].clone();
    assert_eq!((&status["currentReplicas"], &status["updatedReplicas"]), (&json!(1), &json!(1)));
}

/// A Pod that is deleted while it runs has failed at that moment, not when its time to end in peace is over.
#[test]
fn a_jobs_pod_that_was_deleted_is_made_again_after_ten_seconds() {
    let mut world = World::new(1);
    let container = json!({"name": "c", "image": "busybox:1.36", "command": ["sh", "-c", "sleep 100"]});
    world.apply(json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }));
    let pods = |world: &World| -> Vec<String> {
        world.list(Kind::Pod, "default").iter().map(|pod: &Object| pod.name().to_owned()).collect()
    };
    world.wait_until(30, |world| pods(world).first().is_some_and(|name| is_ready(world, name)));
    let first = pods(&world).remove(0);
    world.kubectl(&format!("delete pod {first} --wait=false"));
    let deleted = world.cluster.engine.now();
    world.wait_until(12, |world| pods(world).iter().any(|name| *name != first));
    assert!(world.cluster.engine.now() - deleted > Duration::from_secs(8), "it is made too soon");
}

/// A DaemonSet `agent` on one node, with its Pod running.
fn agent(world: &mut World) {
    let pod = json!({"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "c", "image": "example.com/i:1"}]}});
    let spec = json!({"selector": {"matchLabels": {"app": "agent"}}, "template": pod});
    world.apply(json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec}));
    world.wait_until(30, |world| {
        let pods = world.list(Kind::Pod, "default");
        !pods.is_empty() && pods.iter().all(|pod| is_ready(world, pod.name()))
    });
    world.settle();
    world.take_writes(DAEMONS);
}

/// A DaemonSet looks after its revisions: one that a client took from it, it adopts again at once.
#[test]
fn a_revision_that_lost_its_owner_is_adopted_again() {
    let mut world = World::new(1);
    agent(&mut world);
    let revision = world.list(Kind::ControllerRevision, "default")[0].name().to_owned();
    let patch = json!({"metadata": {"ownerReferences": null}});
    let said = world.kubectl(&format!("patch controllerrevision {revision} --type=merge -p {patch}"));
    assert!(said.contains("patched"), "{said}");
    world.run(1);
    let writes = world.take_writes(DAEMONS);
    assert!(writes.contains(&format!("patch controllerrevisions {revision} 200")), "{writes:#?}");
}

/// One that has lost its hash gets another: its own name.
#[test]
fn a_revision_without_a_hash_is_given_its_name() {
    let mut world = World::new(1);
    agent(&mut world);
    let revision = world.list(Kind::ControllerRevision, "default")[0].name().to_owned();
    world.kubectl(&format!("label controllerrevision {revision} controller-revision-hash-"));
    world.run(3);
    let writes = world.take_writes(DAEMONS);
    assert_eq!(writes, [format!("update controllerrevisions {revision} 200")]);
    let labels = world.list(Kind::ControllerRevision, "default")[0].meta().labels.clone().unwrap();
    assert_eq!(labels["controller-revision-hash"], revision);
}

/// While it waits to see its Pod go, a newer generation is not acted on, and the status is written as it is.
#[test]
fn a_daemon_set_that_waits_writes_its_status_for_nothing() {
    let mut world = World::new(1);
    agent(&mut world);
    let hold = Hold::Watch("kube-controller-manager".into(), Kind::Pod);
    world.cluster.engine.hold(hold.clone());
    world.kubectl("set image daemonset/agent c=example.com/i:2");
    world.run(1);
    world.take_writes(DAEMONS);
    let before = world.get(Kind::DaemonSet, "default/agent").unwrap().meta().resource_version.clone();
    world.kubectl("annotate daemonset agent note=1");
    world.run(1);
    assert_eq!(world.take_writes(DAEMONS), [] as [String; 0], "the generation is the same");
    world.kubectl("set image daemonset/agent c=example.com/i:3");
    let changed = world.get(Kind::DaemonSet, "default/agent").unwrap().meta().resource_version.clone();
    world.run(1);
    let writes = world.take_writes(DAEMONS);
    assert!(writes.contains(&"update daemonsets/status agent 200".to_owned()), "{writes:#?}");
    let after = world.get(Kind::DaemonSet, "default/agent").unwrap().meta().resource_version.clone();
    assert_eq!((before == changed, changed == after), (false, true));
    world.cluster.engine.release(&hold);
}

/// A Pod of a Job that another controller manages keeps its finalizer when the Job has ended; one of our own does not.
#[test]
fn the_finalizers_of_anothers_job_are_the_others() {
    for (manager, held) in [("example.com/queue", true), ("kubernetes.io/job-controller", false)] {
        let mut world = World::new(1);
        let template =
            json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "example.com/i:1"}]}});
        world.apply(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"},
            "spec": {"managedBy": manager, "suspend": true, "template": template}}));
        let uid = world.get(Kind::Job, "default/work").unwrap().meta().uid.clone();
        let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": uid, "controller": true}]);
        let tracking = ["batch.kubernetes.io/job-tracking"];
        world.apply(json!({"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
            "metadata": {"name": "one", "ownerReferences": owner, "finalizers": tracking}}));
        let at = "2026-01-01T00:00:00Z";
        let is = |type_: &str| json!({"type": type_, "status": "True", "lastTransitionTime": at});
        let status = json!({"status": {"startTime": at, "conditions": [is("FailureTarget"), is("Failed")]}});
        let said = world.kubectl(&format!("patch job work --subresource=status --type=merge -p {status}"));
        assert!(said.contains("patched"), "{said}");
        world.run(3);
        let finalizers = world.get(Kind::Pod, "default/one").and_then(|pod| pod.meta().finalizers.clone());
        assert_eq!(finalizers.is_some_and(|there| !there.is_empty()), held, "{manager}");
    }
}

/// Where most Pods of a Deployment stand one goes first, and strangers that its selector means are counted along.
#[test]
fn strangers_of_the_same_labels_crowd_a_node() {
    let survivor = |crowded: Option<&str>| {
        let mut world = World::new(2);
        let pod = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "example.com/i:1"}]}});
        let spec = json!({"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": pod});
        world.apply(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}));
        let running =
            |world: &World| world.list(Kind::Pod, "default").iter().filter(|p| is_ready(world, p.name())).count();
        world.wait_until(30, |world| running(world) == 2);
        world.settle();
        let labels = world.list(Kind::Pod, "default")[0].meta().labels.clone();
        let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt", "controller": true,
            "uid": world.get(Kind::ConfigMap, "default/kube-root-ca.crt").unwrap().meta().uid}]);
        for (node, name) in crowded.iter().flat_map(|node| [(node, "x"), (node, "y")]) {
            let meta = json!({"name": name, "labels": labels, "ownerReferences": owner});
            let spec = json!({"nodeName": node, "containers": [{"name": "c", "image": "example.com/i:1"}]});
            world.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}));
        }
        world.kubectl("scale deployment web --replicas=1");
        world.run(60);
        let left = world
            .list(Kind::Pod, "default")
            .iter()
            .map(Object::to_json)
            .find(|pod| pod["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("web-")));
        left.unwrap()["spec"]["nodeName"].as_str().unwrap().to_owned()
    };
    let node = survivor(None);
    assert_ne!(survivor(Some(&node)), node);
}
