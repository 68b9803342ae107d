//! The Deployment and ReplicaSet controllers on a cluster without nodes: what they write, in order, line by line as
//! a real control plane did. The test stands in for scheduler and kubelets, one Pod at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use apiserver::host::Engine;
use cluster::{Cluster, Config};
use engine::{Note, Step, What};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use object::event::Event;
use object::{Object, Pod, Resource};
use serde_json::{Value, json};
use wire::{Binding, Body, DeleteOptions, Patch, Verb};

use crate::world;
use crate::world::{Observer, answered, resource};

const NS: &str = "default";

/// A cluster without nodes.
type World = world::World<Writes>;

/// What was written in it.
#[derive(Default)]
struct Writes {
    lines: Vec<String>,
    /// Generated names, in the order they came, told as `web-HASH-1`.
    names: BTreeMap<String, String>,
    /// The sizes of all ReplicaSets, and the most they have been together.
    sizes: BTreeMap<String, i32>,
    most_asked_for: i32,
}

impl Observer for Writes {
    fn observe(&mut self, _: &Engine, step: &Step) {
        for note in &step.notes {
            if let Note::Stored { new: Some(Object::ReplicaSet(rs)), .. } = note {
                let size = rs.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
                self.sizes.insert(rs.metadata.name.clone().unwrap(), size);
                self.most_asked_for = self.most_asked_for.max(self.sizes.values().sum());
            }
        }
        let What::Request { request, .. } = &step.event.what else { return };
        if !request.verb.writes() {
            return;
        }
        let (code, name) = answered(step).expect("the API server is there");
        if let Body::Object(object) = &request.body
            && let Some(event) = Event::from_object(object)
        {
            let message = self.plain(event.message.as_deref().unwrap_or_default());
            self.lines.push(format!("{} event {}: {message}", request.user.agent, event.reason.clone().unwrap()));
            return;
        }
        let named = matches!(&request.body, Body::Object(object) if !object.name().is_empty());
        if request.verb == Verb::Create
            && request.kind == Pod::kind()
            && request.subresource.is_none()
            && !named
            && code == 201
        {
            let (base, _) = name.rsplit_once('-').unwrap_or((&name, ""));
            let n = 1 + self.names.values().filter(|v| v.starts_with(base)).count();
            self.names.insert(name.clone(), format!("{base}-{n}"));
        }
        let name = if name.is_empty()
            && let Body::Object(object) = &request.body
        {
            object.name().to_owned()
        } else {
            name
        };
        let (agent, verb, resource) = (&request.user.agent, request.verb.as_str(), resource(request));
        self.lines.push(format!("{agent} {verb} {resource} {} {code}", self.plain(&name)));
    }
}

impl Writes {
    fn plain(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, plain) in &self.names {
            text = text.replace(name, plain);
        }
        text
    }
}

impl World {
    fn new() -> World {
        World::seeded(0)
    }

    fn seeded(seed: u64) -> World {
        let cluster = Cluster::start(Config { nodes: Vec::new(), seed, ..Config::default() });
        World { cluster, seen: Writes::default() }
    }

    /// What was written since the last look.
    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.seen.lines)
    }

    fn get<T: Resource>(&mut self, name: &str) -> Arc<T> {
        let name = name.to_owned();
        self.call(move |client| async move { client.get::<T>(NS, &name).await }).unwrap()
    }

    fn list<T: Resource>(&mut self) -> Vec<Arc<T>> {
        self.call(|client| async move { client.list::<T>(NS, "").await }).unwrap().items
    }

    fn patch<T: Resource>(&mut self, name: &str, patch: Value) -> Arc<T> {
        let name = name.to_owned();
        self.call(move |client| async move { client.patch::<T>(NS, &name, Patch::Strategic(patch)).await }).unwrap()
    }

    fn create(&mut self, deployment: Value) {
        let deployment: Deployment = serde_json::from_value(deployment).unwrap();
        self.call(|client| async move { client.create(deployment).await }).unwrap();
    }

    /// Pods that are not ready get a node and become so, one after another; those being deleted go.
    fn kubelets(&mut self) {
        for pod in self.list::<Pod>() {
            let (name, name_2) = (pod.metadata.name.clone().unwrap(), pod.metadata.name.clone().unwrap());
            if pod.metadata.deletion_timestamp.is_some() {
                let now = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
                // One that never had a node went at once.
                let _ = self.call(move |client| async move { client.delete::<Pod>(NS, &name, now).await });
                continue;
            }
            if pod.spec.as_ref().unwrap().node_name.is_none() {
                let binding = Binding { node: "node-1".into(), ..Binding::default() };
                let _ = self.call(move |client| async move { client.bind(NS, &name, binding).await });
            }
            let running = pod.status.as_ref().unwrap().phase.as_deref() == Some("Running");
            if !running && !broken(&pod) {
                let at = self.cluster.engine.now().time();
                let ready = json!({"status": {"phase": "Running", "conditions": [
                    {"type": "Ready", "status": "True", "lastTransitionTime": at}]}});
                let patch = Patch::Strategic(ready);
                let _ = self.call(move |client| async move { client.patch_status::<Pod>(NS, &name_2, patch).await });
            }
        }
    }
}

fn broken(pod: &Pod) -> bool {
    pod.spec.as_ref().unwrap().containers[0].image.as_deref().unwrap().contains("no-such")
}

fn deployment(replicas: i32, more: Value) -> Value {
    let mut d = json!({
        "metadata": {"name": "web", "namespace": NS, "labels": {"app": "web"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "nginx", "image": "nginx:1.27", "ports": [{"containerPort": 80}]}]},
            },
        },
    });
    json_patch::merge(&mut d, &more);
    d
}

/// A change of the image.
fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "nginx", "image": image}]}}}})
}

fn condition(d: &Deployment, type_: &str) -> (String, String) {
    let conditions = d.status.as_ref().and_then(|status| status.conditions.as_ref());
    let found = conditions.and_then(|conditions| conditions.iter().find(|c| c.type_ == type_));
    found.map(|c| (c.status.clone(), c.reason.clone().unwrap_or_default())).unwrap_or_default()
}

fn is(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

/// The lines of one component, without its name.
fn by<'a>(lines: &'a [String], component: &str) -> Vec<&'a str> {
    lines.iter().filter_map(|line| line.strip_prefix(component)?.strip_prefix(' ')).collect()
}

/// How ReplicaSets were scaled, as Events tell.
fn scalings(lines: &[String]) -> Vec<&str> {
    lines.iter().filter_map(|line| line.split_once("ScalingReplicaSet: ")).map(|(_, message)| message).collect()
}

#[test]
fn a_deployment_gets_a_replica_set_and_pods() {
    let mut world = World::new();
    world.create(deployment(2, json!({})));
    let lines = world.take();
    // The ReplicaSet; its status twice, the second time from an old version; and again.
    let want = [
        "create replicasets web-cc544bdcc 201",
        "update deployments/status web 200",
        "event ScalingReplicaSet: Scaled up replica set web-cc544bdcc from 0 to 2",
        "update deployments/status web 409",
        "update deployments/status web 200",
    ];
    assert_eq!(by(&lines, "deployment-controller")[..5], want);
    // One Pod first, then the other; the counts of before, then those of after.
    let want = [
        "create pods web-cc544bdcc-1 201",
        "create pods web-cc544bdcc-2 201",
        "event SuccessfulCreate: Created pod: web-cc544bdcc-1",
        "update replicasets/status web-cc544bdcc 200",
        "event SuccessfulCreate: Created pod: web-cc544bdcc-2",
        "update replicasets/status web-cc544bdcc 200",
    ];
    assert_eq!(by(&lines, "replicaset-controller"), want);

    let d = world.get::<Deployment>("web");
    assert_eq!(condition(&d, "Available"), is("False", "MinimumReplicasUnavailable"));
    assert_eq!(condition(&d, "Progressing"), is("True", "ReplicaSetUpdated"));
    world.kubelets();
    let d = world.get::<Deployment>("web");
    assert_eq!(condition(&d, "Available"), is("True", "MinimumReplicasAvailable"));
    assert_eq!(condition(&d, "Progressing"), is("True", "NewReplicaSetAvailable"));
    let mut status = serde_json::to_value(&d.status).unwrap();
    status.as_object_mut().unwrap().remove("conditions");
    let want = json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
        "availableReplicas": 2, "terminatingReplicas": 0});
    assert_eq!(status, want);
}

#[test]
fn a_rolling_update_takes_turns() {
    let mut world = World::new();
    world.create(deployment(4, json!({})));
    world.kubelets();
    world.take();
    world.patch::<Deployment>("web", image("nginx:1.28"));
    let first = world.take();
    let want = [
        "create replicasets web-89c7c5f94 201",
        "update deployments/status web 200",
        "event ScalingReplicaSet: Scaled up replica set web-89c7c5f94 from 0 to 1",
        "update replicasets web-cc544bdcc 200",
        "update deployments/status web 409",
    ];
    assert_eq!(by(&first, "deployment-controller")[..5], want);
    let want = [
        "Scaled up replica set web-89c7c5f94 from 0 to 1",
        "Scaled down replica set web-cc544bdcc from 4 to 3",
        "Scaled up replica set web-89c7c5f94 from 1 to 2",
    ];
    assert_eq!(scalings(&first), want);

    (0..4).for_each(|_| world.kubelets());
    let rest = world.take();
    let want = [
        "Scaled down replica set web-cc544bdcc from 3 to 2",
        "Scaled up replica set web-89c7c5f94 from 2 to 3",
        "Scaled down replica set web-cc544bdcc from 2 to 1",
        "Scaled up replica set web-89c7c5f94 from 3 to 4",
        "Scaled down replica set web-cc544bdcc from 1 to 0",
    ];
    assert_eq!(scalings(&rest), want);
    assert_eq!(condition(&world.get::<Deployment>("web"), "Progressing"), is("True", "NewReplicaSetAvailable"));
    assert_eq!(world.list::<Pod>().len(), 4);
}

#[test]
fn a_bad_rollout_times_out_and_is_undone() {
    let mut world = World::new();
    world.create(deployment(4, json!({"spec": {"progressDeadlineSeconds": 30}})));
    world.kubelets();
    world.patch::<Deployment>("web", image("nginx:no-such-tag"));
    (0..2).for_each(|_| world.kubelets());
    world.run(35);
    let d = world.get::<Deployment>("web");
    assert_eq!(condition(&d, "Progressing"), is("False", "ProgressDeadlineExceeded"));
    assert_eq!(condition(&d, "Available"), is("True", "MinimumReplicasAvailable"));

    world.take();
    world.patch::<Deployment>("web", image("nginx:1.27"));
    let lines = world.take();
    // The old ReplicaSet gets a new revision twice in one reconcile, the second time from an old version.
    let want = [
        "update replicasets web-cc544bdcc 200",
        "update replicasets web-cc544bdcc 409",
        "update deployments/status web 200",
        "update replicasets web-6ccf846785 200",
        "update deployments/status web 409",
    ];
    let writes: Vec<_> = by(&lines, "deployment-controller").into_iter().filter(|l| !l.starts_with("event")).collect();
    assert_eq!(writes[..5], want);
    let want =
        ["Scaled down replica set web-6ccf846785 from 2 to 0", "Scaled up replica set web-cc544bdcc from 3 to 4"];
    assert_eq!(scalings(&lines), want);
    let rs = world.get::<ReplicaSet>("web-cc544bdcc");
    let want = json!({"deployment.kubernetes.io/desired-replicas": "4", "deployment.kubernetes.io/max-replicas": "5",
        "deployment.kubernetes.io/revision": "3", "deployment.kubernetes.io/revision-history": "1"});
    assert_eq!(serde_json::to_value(&rs.metadata.annotations).unwrap(), want);
    (0..2).for_each(|_| world.kubelets());
    let d = world.get::<Deployment>("web");
    assert_eq!(d.metadata.annotations.as_ref().unwrap()["deployment.kubernetes.io/revision"], "3");
    assert_eq!(condition(&d, "Progressing"), is("True", "NewReplicaSetAvailable"));
}

/// The example of the Kubernetes documentation, "Proportional scaling".
#[test]
fn scaling_in_the_middle_of_a_rollout_keeps_proportions() {
    let mut world = World::new();
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}});
    world.create(deployment(10, json!({"spec": {"strategy": strategy}})));
    world.kubelets();
    world.patch::<Deployment>("web", image("nginx:no-such-tag"));
    let size = |world: &mut World, name: &str| world.get::<ReplicaSet>(name).spec.as_ref().unwrap().replicas;
    assert_eq!(size(&mut world, "web-cc544bdcc"), Some(8));
    assert_eq!(size(&mut world, "web-6ccf846785"), Some(5));
    world.patch::<Deployment>("web", json!({"spec": {"replicas": 15}}));
    assert_eq!(size(&mut world, "web-cc544bdcc"), Some(11));
    assert_eq!(size(&mut world, "web-6ccf846785"), Some(7));
}

#[test]
fn a_paused_deployment_scales_but_does_not_roll() {
    let mut world = World::new();
    world.create(deployment(2, json!({})));
    world.kubelets();
    world.patch::<Deployment>("web", json!({"spec": {"paused": true}}));
    assert_eq!(condition(&world.get::<Deployment>("web"), "Progressing"), is("Unknown", "DeploymentPaused"));
    world.patch::<Deployment>("web", image("nginx:1.28"));
    assert_eq!(world.list::<ReplicaSet>().len(), 1);
    world.take();
    world.patch::<Deployment>("web", json!({"spec": {"replicas": 3}}));
    assert_eq!(scalings(&world.take()), ["Scaled up replica set web-cc544bdcc from 2 to 3"]);
    world.patch::<Deployment>("web", json!({"spec": {"paused": false}}));
    assert_eq!(world.list::<ReplicaSet>().len(), 2);
    (0..4).for_each(|_| world.kubelets());
    assert_eq!(condition(&world.get::<Deployment>("web"), "Progressing"), is("True", "NewReplicaSetAvailable"));
}

#[test]
fn recreate_waits_until_the_old_pods_are_gone() {
    let mut world = World::new();
    world.create(deployment(2, json!({"spec": {"strategy": {"type": "Recreate"}}})));
    world.kubelets();
    world.take();
    world.patch::<Deployment>("web", image("nginx:1.28"));
    assert_eq!(scalings(&world.take()), ["Scaled down replica set web-cc544bdcc from 2 to 0"]);
    assert_eq!(world.list::<ReplicaSet>().len(), 1, "two Pods are still on their way out");
    world.kubelets();
    assert_eq!(scalings(&world.take()), ["Scaled up replica set web-89c7c5f94 from 0 to 2"]);
    world.kubelets();
    assert_eq!(condition(&world.get::<Deployment>("web"), "Progressing"), is("True", "NewReplicaSetAvailable"));
}

#[test]
fn old_revisions_are_cleaned_up() {
    let mut world = World::new();
    world.create(deployment(1, json!({"spec": {"revisionHistoryLimit": 1}})));
    for tag in ["2", "3", "4"] {
        (0..3).for_each(|_| world.kubelets());
        world.patch::<Deployment>("web", image(&format!("nginx:{tag}")));
    }
    (0..3).for_each(|_| world.kubelets());
    let mut revisions: Vec<_> = world
        .list::<ReplicaSet>()
        .iter()
        .map(|rs| rs.metadata.annotations.as_ref().unwrap()["deployment.kubernetes.io/revision"].clone())
        .collect();
    revisions.sort();
    assert_eq!(revisions, ["3", "4"]);
}

#[test]
fn a_taken_name_counts_as_a_collision() {
    let mut world = World::new();
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let other = json!({"metadata": {"name": "web-cc544bdcc", "namespace": NS}, "spec": spec});
    let other: ReplicaSet = serde_json::from_value(other).unwrap();
    world.call(|client| async move { client.create(other).await }).unwrap();
    world.create(deployment(1, json!({})));
    let d = world.get::<Deployment>("web");
    assert_eq!(d.status.as_ref().unwrap().collision_count, Some(1));
    assert_eq!(world.list::<ReplicaSet>().len(), 2);
    assert_eq!(world.list::<Pod>().len(), 1);
}

#[test]
fn pods_that_go_are_replaced_and_pods_that_differ_are_released() {
    let mut world = World::new();
    world.create(deployment(2, json!({})));
    world.kubelets();
    let victim = world.list::<Pod>()[0].metadata.name.clone().unwrap();
    world.take();
    let name = victim.clone();
    world.call(|client| async move { client.delete::<Pod>(NS, &name, DeleteOptions::default()).await }).unwrap();
    let lines = world.take();
    assert_eq!(by(&lines, "replicaset-controller")[0], "create pods web-cc544bdcc-3 201", "it does not wait");
    world.kubelets();

    let victim = world.list::<Pod>()[0].metadata.name.clone().unwrap();
    world.take();
    let pod = world.patch::<Pod>(&victim, json!({"metadata": {"labels": {"app": "quarantined"}}}));
    assert_eq!(pod.metadata.name.as_deref(), Some(&*victim));
    let lines = world.take();
    let writes = by(&lines, "replicaset-controller");
    assert!(writes[0].starts_with("patch pods web-cc544bdcc-") && writes[1].starts_with("create pods"), "{writes:?}");
    assert_eq!(world.get::<Pod>(&victim).metadata.owner_references, None);
    assert_eq!(world.list::<Pod>().len(), 3);
}

#[test]
fn orphans_are_adopted() {
    let mut world = World::new();
    let spec = json!({"containers": [{"name": "c", "image": "nginx"}]});
    let pod = json!({"metadata": {"name": "lone", "namespace": NS, "labels": {"app": "web"}}, "spec": spec});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    world.call(|client| async move { client.create(pod).await }).unwrap();
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": spec});
    let spec = json!({"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template});
    let rs = json!({"metadata": {"name": "web", "namespace": NS}, "spec": spec});
    let rs: ReplicaSet = serde_json::from_value(rs).unwrap();
    world.take();
    world.call(|client| async move { client.create(rs).await }).unwrap();
    let lines = world.take();
    let writes = by(&lines, "replicaset-controller");
    assert_eq!(writes[..2], ["patch pods lone 200", "create pods web-1 201"]);
    assert_eq!(world.list::<Pod>().len(), 2);
    assert_eq!(world.get::<ReplicaSet>("web").status.as_ref().unwrap().replicas, 2);
}

#[test]
fn available_comes_later_than_ready() {
    let mut world = World::new();
    world.create(deployment(1, json!({"spec": {"minReadySeconds": 10}})));
    world.kubelets();
    let counts = |world: &mut World| {
        let status = world.get::<ReplicaSet>("web-cc544bdcc").status.clone().unwrap();
        (status.ready_replicas, status.available_replicas)
    };
    assert_eq!(counts(&mut world), (Some(1), None));
    world.run(11);
    assert_eq!(counts(&mut world), (Some(1), Some(1)));
    assert_eq!(condition(&world.get::<Deployment>("web"), "Available"), is("True", "MinimumReplicasAvailable"));
}

#[test]
fn pods_that_cannot_be_made_are_told_in_the_status() {
    let mut world = World::new();
    let account = json!({"spec": {"template": {"spec": {"serviceAccountName": "nobody"}}}});
    world.create(deployment(10, account));
    let lines = world.take();
    let refused = lines.iter().filter(|line| line.contains("create pods")).count();
    let rounds = lines.iter().filter(|line| line.contains("FailedCreate")).count();
    assert!(refused > 1 && rounds > 0, "one request a round, each later than the last: {lines:#?}");
    let d = world.get::<Deployment>("web");
    assert_eq!(condition(&d, "ReplicaFailure"), is("True", "FailedCreate"));
    let account = json!({"spec": {"template": {"spec": {"serviceAccountName": "default"}}}});
    world.patch::<Deployment>("web", account);
    (0..3).for_each(|_| world.kubelets());
    let d = world.get::<Deployment>("web");
    assert_eq!(condition(&d, "ReplicaFailure"), is("", ""));
    assert_eq!(condition(&d, "Progressing"), is("True", "NewReplicaSetAvailable"));
}

#[test]
fn scaling_down_takes_the_pods_that_are_missed_least() {
    let mut world = World::new();
    world.create(deployment(2, json!({})));
    world.kubelets();
    let ready: Vec<_> = world.list::<Pod>().iter().map(|pod| pod.metadata.name.clone()).collect();
    world.patch::<Deployment>("web", json!({"spec": {"replicas": 4}}));
    world.patch::<Deployment>("web", json!({"spec": {"replicas": 2}}));
    let left: Vec<_> = world.list::<Pod>().iter().map(|pod| pod.metadata.name.clone()).collect();
    assert_eq!(left, ready);
}

/// In every order of events, a rollout asks for no more Pods than it may, and makes none too many.
#[test]
fn no_order_of_events_makes_a_pod_too_many() {
    for seed in 1..=40 {
        let mut world = World::seeded(seed);
        world.create(deployment(4, json!({})));
        world.kubelets();
        world.patch::<Deployment>("web", image("nginx:1.28"));
        (0..5).for_each(|_| world.kubelets());
        let lines = world.take();
        let created = by(&lines, "replicaset-controller").iter().filter(|l| l.starts_with("create pods")).count();
        let removed = by(&lines, "replicaset-controller").iter().filter(|l| l.starts_with("delete pods")).count();
        assert_eq!((created, removed), (8, 4), "seed {seed}: {lines:#?}");
        assert!(
            world.seen.most_asked_for <= 5,
            "seed {seed}: {} Pods were asked for at once",
            world.seen.most_asked_for
        );
        let d = world.get::<Deployment>("web");
        assert_eq!(condition(&d, "Progressing"), is("True", "NewReplicaSetAvailable"), "seed {seed}");
    }
}
