//! The scheduler against a real API server: what it sends, in which order. The scenes are those of the recordings.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use apiserver::ApiServer;
use apiserver::authorization::bootstrap;
use apiserver::host::failing::{Failing, Failure};
use apiserver::host::{Engine, Host};
use client::Client;
use cluster::Cluster;
use cluster::scenario::Scenario;
use engine::{Actor, ActorId, Delivery, Note, Pending, What};
use object::event::Event;
use object::pod::status::PodStatus;
use object::reader::Reader;
use object::{Kind, Pod, Resource};
use scheduler::KubeScheduler;
use scheduler::framework::{Plugin, PreFilter};
use scheduler::pod_info::PodInfo;
use scheduler::profile::{Entry, Profile};
use scheduler::snapshot::Snapshot;
use wire::{Binding, Body, DeleteOptions, Patch, Request, Subresource, User, Verb};

const PLAIN: &str = "{containers: [{name: a, image: x}]}";

struct Nobody;

impl Actor for Nobody {
    fn name(&self) -> &str {
        "user"
    }
    fn deliver(&self, _: Delivery) {}
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Roles, the namespace and its account, and a priority class.
fn write_what_must_be_there(engine: &mut Engine) {
    let mut objects = Vec::new();
    for manifest in [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-public"}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "default", "name": "default"}}),
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "vip"},
            "value": 1000}),
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "low"}, "value": 10}),
    ] {
        let word = |field: &str| manifest[field].as_str().unwrap_or_default().to_owned();
        let kind = Kind::from_manifest(&word("apiVersion"), &word("kind")).expect("a known kind");
        objects.push(kind.decode(manifest).expect("the manifest decodes"));
    }
    for object in objects.into_iter().chain(bootstrap::objects().iter().cloned()) {
        let request = Request::create(Rc::new(User::admin()), object);
        let answer = engine.server.api.handle(&request, None, engine.now()).answer;
        assert!(answer.result.is_ok(), "{}: {:?}", request.line(), answer.result);
    }
}

/// An API server, the scheduler, and a user who may do everything.
struct World {
    engine: Engine,
    user: ActorId,
    client: Client,
    /// What the scheduler sent, and the table of its last decision.
    sent: Vec<String>,
    table: Option<engine::Table>,
}

impl World {
    /// With nodes of 4 CPUs in zones a, b and c.
    fn with_nodes(count: usize) -> World {
        let mut engine = Engine::new(Host::new(ApiServer::new(0)), 0);
        write_what_must_be_there(&mut engine);
        let user = engine.add(Rc::new(Nobody));
        let client = Client::new(engine.hub().clone(), user, Rc::new(User::admin()), 100_000, 100_000);
        let scheduler = KubeScheduler::new(engine.hub().clone(), engine.next_actor(), None, vec![Profile::default()]);
        engine.add(Rc::new(scheduler));
        let mut world = World { engine, user, client, sent: Vec::new(), table: None };
        for n in 1..=count {
            world.create_node(n, 4);
        }
        world.run();
        world.sent.clear();
        world
    }

    /// A Node is born with a taint, which the node lifecycle controller takes away.
    fn create_node(&mut self, n: usize, cpu: u32) {
        let client = self.client.clone();
        self.command(async move {
            let node = client.create(zoned(n, cpu)).await.expect("the node is valid");
            let ready = Patch::Merge(json!({"spec": {"taints": null}}));
            let name = node.metadata.name.as_deref().unwrap_or_default();
            client.patch::<Node>("", name, ready).await.expect("the node is there");
        });
    }

    fn create<T: Resource>(&mut self, object: T) {
        let client = self.client.clone();
        self.command(async move {
            client.create(object).await.expect("the user's object is valid");
        });
    }

    fn command(&mut self, command: impl Future<Output = ()> + 'static) {
        let user = self.user;
        self.engine.outside(user, |engine| engine.hub().spawn(user, "command", command));
    }

    /// Until nothing is going on.
    fn run(&mut self) {
        while self.engine.foreground() > 0 {
            self.step();
        }
        // Events are sent in the background.
        let end = self.engine.now() + Duration::from_millis(50);
        while self.engine.peek().is_some_and(|next| next.due < end) {
            self.step();
        }
    }

    fn step(&mut self) {
        let step = self.engine.step().expect("something is pending");
        if let What::Request { request, .. } = &step.event.what
            && &*request.user.agent == "kube-scheduler"
            && request.verb.as_str() != "watch"
        {
            self.sent.push(line(request));
        }
        for note in step.notes {
            if let Note::Table(table) = note {
                self.table = Some((*table).clone());
            }
        }
        assert!(self.engine.take_crashes().is_empty());
    }

    fn take_sent(&mut self) -> Vec<String> {
        self.run();
        std::mem::take(&mut self.sent)
    }

    fn get<T: Resource>(&mut self, name: &str) -> T {
        let (client, name) = (self.client.clone(), name.to_owned());
        let found = Rc::new(RefCell::new(None));
        let place = found.clone();
        self.command(async move {
            let namespace = if T::kind().info().namespaced { "default" } else { "" };
            *place.borrow_mut() = client.get::<T>(namespace, &name).await.ok();
        });
        self.run();
        let object = found.borrow_mut().take().expect("the object is there");
        T::clone(&object)
    }

    fn patch<T: Resource>(&mut self, name: &str, patch: serde_json::Value) {
        let (client, name) = (self.client.clone(), name.to_owned());
        self.command(async move {
            client.patch::<T>("", &name, Patch::Merge(patch)).await.expect("the patch is valid");
        });
    }

    /// What a kubelet writes when the pod's containers are done.
    fn finish(&mut self, name: &str) {
        let (client, name) = (self.client.clone(), name.to_owned());
        self.command(async move {
            let patch = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
            client.patch_status::<Pod>("default", &name, patch).await.expect("the patch is valid");
        });
    }

    fn scheduler<T>(&self, look: impl FnOnce(&KubeScheduler) -> T) -> T {
        let id = self.engine.find("kube-scheduler").expect("it runs");
        let actor = self.engine.actor(id).expect("it runs").as_any();
        look(actor.downcast_ref().expect("it is the scheduler"))
    }

    fn node_of(&mut self, name: &str) -> String {
        self.get::<Pod>(name).spec.and_then(|spec| spec.node_name.clone()).unwrap_or_default()
    }
}

fn pod(name: &str, labels: &str, spec: &str) -> Pod {
    let metadata = format!("metadata: {{name: {name}, namespace: default, labels: {{{labels}}}}}");
    serde_yaml::from_str(&format!("{{{metadata}, spec: {spec}}}")).expect("the YAML is a pod")
}

fn asking(name: &str, cpu: &str, more: &str) -> Pod {
    let container = format!("{{name: a, image: 'nginx:1.27', resources: {{requests: {{cpu: '{cpu}'}}}}}}");
    pod(name, "", &format!("{{containers: [{container}]{more}}}"))
}

/// Node number `n`, in one of three zones.
fn zoned(n: usize, cpu: u32) -> Node {
    let zone = ["zone-a", "zone-b", "zone-c"][(n - 1) % 3];
    let labels = format!(
        "kubernetes.io/hostname: node-{n}, topology.kubernetes.io/zone: {zone}, topology.kubernetes.io/region: region-1"
    );
    let allocatable = format!("{{cpu: '{cpu}', memory: 8Gi, pods: '110'}}");
    let yaml =
        format!("{{metadata: {{name: node-{n}, labels: {{{labels}}}}}, status: {{allocatable: {allocatable}}}}}");
    serde_yaml::from_str(&yaml).expect("the YAML is a node")
}

/// `create pods/x binding node-1`, `patch pods/x status {…}`, `create events FailedScheduling: …`.
fn line(request: &Request) -> String {
    let verb = request.verb.as_str();
    match &request.body {
        Body::Binding(binding) => format!("bind {} to {}", request.name, binding.node),
        Body::Patch(Patch::Strategic(value)) if value.get("count").is_some() => {
            format!("event again, {} times", value["count"])
        }
        Body::Patch(Patch::Strategic(value)) => format!("{verb} {} {}", request.name, without_times(value.clone())),
        Body::Object(object::Object::Event(event)) => {
            let text = |field: &Option<std::sync::Arc<str>>| field.as_deref().unwrap_or_default().to_owned();
            format!("event {}: {}", text(&event.reason), text(&event.message))
        }
        _ => format!("{verb} {}", request.name),
    }
}

fn without_times(mut value: serde_json::Value) -> serde_json::Value {
    for condition in value["status"]["conditions"].as_array_mut().into_iter().flatten() {
        if let Some(fields) = condition.as_object_mut() {
            fields.remove("lastTransitionTime");
            fields.remove("lastProbeTime");
        }
    }
    value
}

fn condition(message: &str, more: &str) -> String {
    format!(
        "{{\"status\":{{\"conditions\":[{{\"message\":\"{message}\",\"observedGeneration\":1,\"reason\":\"Unschedulable\",\"status\":\"False\",\"type\":\"PodScheduled\"}}]{more}}}}}"
    )
}

#[test]
fn a_pod_is_bound_and_the_event_follows() {
    let mut world = World::with_nodes(3);
    world.create(pod("web", "", PLAIN));
    let sent = world.take_sent();
    let node = world.node_of("web");
    assert!(node.starts_with("node-"));
    assert_eq!(
        sent,
        [format!("bind web to {node}"), format!("event Scheduled: Successfully assigned default/web to {node}")]
    );
    let table = world.table.expect("the decision was noted");
    assert_eq!(table.title, format!("default/web: 3 of 3 nodes pass, {node} is chosen"));
    assert_eq!(table.columns, ["node", "verdict", "TaintToleration x3", "NodeResourcesFit x1", "total"]);
    assert_eq!(table.rows.len(), 3);
}

/// The scenario `profiles`: one profile spreads, one packs, and a Pod that names neither is left alone.
#[test]
fn a_pod_picks_its_profile_by_name() {
    for seed in 0..20 {
        let shipped = Scenario::find("profiles").expect("it is shipped");
        let mut cluster = bugs::cluster(&Scenario { seed, ..shipped });
        while !cluster.is_quiet() {
            cluster.step().expect("a cluster at rest has timers");
        }
        let pods: Vec<Pod> = listed(&cluster);
        let nodes = |app: &str| -> BTreeSet<&str> {
            let of_app =
                pods.iter().filter(|pod| pod.metadata.name.as_deref().is_some_and(|name| name.starts_with(app)));
            of_app.filter_map(|pod| pod.spec.as_ref()?.node_name.as_deref()).collect()
        };
        assert_eq!((nodes("spread").len(), nodes("packed").len(), nodes("stray").len()), (3, 1, 0), "seed {seed}");
        let stray = pods.iter().find(|pod| pod.metadata.name.as_deref() == Some("stray")).expect("it was made");
        let status = stray.status.clone().unwrap_or_default();
        assert_eq!((status.phase.as_deref(), status.conditions.as_ref()), (Some("Pending"), None), "seed {seed}");
        let mut told: Vec<(String, String)> = Vec::new();
        for event in listed::<Event>(&cluster).into_iter().filter(|event| event.reason.as_deref() == Some("Scheduled"))
        {
            let name = event.involved_object.name.as_deref().unwrap_or_default();
            told.push((name[..6].to_owned(), event.reporter.component.clone().unwrap_or_default()));
        }
        told.sort();
        let by = |app: &str, profile: &str| vec![(app.to_owned(), profile.to_owned()); 3];
        assert_eq!(told, [by("packed", "packer"), by("spread", "default-scheduler")].concat(), "seed {seed}");
    }
}

/// All objects of a kind.
fn listed<T: Resource>(cluster: &Cluster) -> Vec<T> {
    let all = Reader::list(&cluster.engine.server.api.store, T::kind(), "");
    all.iter().filter_map(|object| T::from_object(object)).map(|object| (**object).clone()).collect()
}

/// Recording 09: too big for any node, until a bigger one joins.
#[test]
fn a_pod_too_big_for_all_waits_for_a_bigger_node() {
    const NO: &str = "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";
    const STILL_NO: &str = "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient cpu. no new claims to deallocate, preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.";
    let mut world = World::with_nodes(3);
    world.create(asking("big", "6", ""));
    let mut sent = world.take_sent();
    sent.sort();
    let queue = world.scheduler(KubeScheduler::queue_table);
    assert_eq!(queue.rows[0][..3], ["default/big", "unschedulable", "1"]);
    assert_eq!(queue.rows[0][4], "NodeResourcesFit");
    assert_eq!(sent, [format!("event FailedScheduling: {NO}"), format!("patch big {}", condition(NO, ""))]);

    let mut big = zoned(4, 8);
    let taint = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
    big.spec.get_or_insert_default().taints = serde_json::from_value(taint).ok();
    world.create(big);
    let mut sent = world.take_sent();
    sent.sort();
    let change = format!(
        "{{\"status\":{{\"$setElementOrder/conditions\":[{{\"type\":\"PodScheduled\"}}],\"conditions\":[{{\"message\":\"{STILL_NO}\",\"type\":\"PodScheduled\"}}]}}}}"
    );
    assert_eq!(sent, [format!("event FailedScheduling: {STILL_NO}"), format!("patch big {change}")]);

    world.patch::<Node>("node-4", json!({"spec": {"taints": null}}));
    let sent = world.take_sent();
    assert_eq!(sent[0], "bind big to node-4");
}

/// Recording 19: one pod a node, and one node tainted.
#[test]
fn anti_affinity_leaves_one_out_until_the_taint_goes() {
    const NO: &str = "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't match pod anti-affinity rules. no new claims to deallocate, preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.";
    let mut world = World::with_nodes(3);
    world.patch::<Node>(
        "node-1",
        json!({"spec": {"taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]}}),
    );
    world.run();
    let alone = "{containers: [{name: a, image: x}], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: spread}}, topologyKey: kubernetes.io/hostname}]}}}";
    for name in ["one", "two", "three"] {
        world.create(pod(name, "app: spread", alone));
    }
    let sent = world.take_sent();
    assert!(sent.contains(&format!("event FailedScheduling: {NO}")), "{sent:#?}");
    assert!(sent.contains(&format!("patch three {}", condition(NO, ""))), "{sent:#?}");
    world.patch::<Node>("node-1", json!({"spec": {"taints": null}}));
    assert_eq!(world.take_sent()[0], "bind three to node-1");
}

/// Recording 20: room is made on one node, and the victim is told why.
#[test]
fn a_higher_priority_pod_makes_room() {
    const NO: &str = "0/3 nodes are available: 3 Insufficient cpu.";
    let mut world = World::with_nodes(3);
    for n in 1..=6 {
        world.create(asking(&format!("filler-{n}"), "1800m", ", priority: 0"));
    }
    world.run();
    world.sent.clear();
    world.create(asking("vip", "1", ", priorityClassName: vip"));
    let sent = world.take_sent();
    let victim = sent[0].split(' ').nth(1).expect("a name").to_owned();
    let node = world.node_of(&victim);
    assert!(sent[0].contains("default-scheduler: preempting to accommodate a higher priority pod"), "{sent:#?}");
    let order = "\"$setElementOrder/conditions\":[{\"type\":\"PodScheduled\"},{\"type\":\"DisruptionTarget\"}]";
    assert!(sent[0].contains(order), "after the conditions that it has: {sent:#?}");
    assert!(sent.contains(&format!("event FailedScheduling: {NO}")), "{sent:#?}");
    let nominated = format!(",\"nominatedNodeName\":\"{node}\"");
    assert!(sent.contains(&format!("patch vip {}", condition(NO, &nominated))), "{sent:#?}");
    assert!(sent.contains(&format!("delete {victim}")), "{sent:#?}");
    let uid = world.get::<Pod>("vip").metadata.uid.unwrap_or_default();
    assert!(sent.contains(&format!("event Preempted: Preempted by pod {uid} on node {node}")), "{sent:#?}");
    assert_eq!(world.node_of("vip"), "", "the victim is still there");
    assert_eq!(world.scheduler(KubeScheduler::node_table).rows[0][1..3], ["2 of 110", "3600m of 4"]);

    world.finish(&victim);
    let sent = world.take_sent();
    assert_eq!(sent[0], format!("bind vip to {node}"));
}

/// No deletion may ever come that brings the preemptor back, so it is tried again at once.
#[test]
fn if_a_victim_cannot_be_deleted_the_preemptor_is_tried_again() {
    let mut world = World::with_nodes(1);
    world.create(asking("filler", "4", ", priority: 0"));
    world.run();
    world.sent.clear();
    for verb in ["delete", "patch"] {
        let (component, verb) = ("kube-scheduler".to_owned(), verb.to_owned());
        world.engine.server.fail(Failure {
            component,
            verb,
            kind: Some(Kind::Pod),
            how: Failing::InternalError,
            times: 1,
        });
    }
    world.create(asking("vip", "1", ", priorityClassName: vip"));
    let sent = world.take_sent();
    assert_eq!(sent.iter().filter(|line| *line == "delete filler").count(), 2, "{sent:#?}");
    assert_eq!(sent[0], sent[3], "a status that could not be written is sent again");
    assert!(world.get::<Pod>("filler").metadata.deletion_timestamp.is_some());
}

/// A Pod nominated to a node that a Pod of higher priority now makes room on loses the nomination, and looks elsewhere.
#[test]
fn a_lower_pod_loses_its_nomination() {
    let mut world = World::with_nodes(1);
    world.create(asking("filler", "3", ", priority: 0"));
    world.create(asking("small", "1", ", priority: 0"));
    world.create(asking("low", "3", ", priorityClassName: low"));
    world.run();
    let sent = world.take_sent();
    assert!(sent.contains(&"delete filler".to_owned()) && !sent.contains(&"delete small".to_owned()), "{sent:#?}");
    world.create(asking("vip", "4", ", priorityClassName: vip"));
    let sent = world.take_sent();
    let taken = sent.iter().filter(|line| line.contains("nominatedNodeName\":null")).count();
    let deleted: Vec<&String> = sent.iter().filter(|line| line.starts_with("delete")).collect();
    assert_eq!(
        (taken, deleted),
        (1, vec![&"delete small".to_owned()]),
        "the filler is being deleted already: {sent:#?}"
    );
}

/// Another client binds the Pod, and the scheduler has not heard of it when its own binding is refused.
#[test]
fn a_refused_binding_is_told() {
    let mut world = World::with_nodes(1);
    world.create(asking("web", "3", ""));
    world.engine.step();
    let binding = Binding { node: "other".into(), ..Binding::default() };
    let request = world.client.parts::<Pod>(Verb::Create, "default", "web", Body::Binding(binding));
    let request = Request { subresource: Some(Subresource::Binding), ..request };
    // Asked directly, so that no notification goes out.
    assert!(world.engine.server.api.handle(&request, None, world.engine.now()).answer.result.is_ok());
    let sent = world.take_sent();
    let error = "running Bind plugin \"DefaultBinder\": Operation cannot be fulfilled on pods/binding \"web\": pod web is already assigned to node \"other\"";
    assert_eq!(sent[..2], ["bind web to node-1".to_owned(), format!("event FailedScheduling: {error}")]);
    assert!(sent[2].contains("\"reason\":\"SchedulerError\""), "{}", sent[2]);
    assert_eq!(sent.len(), 3, "that patch's notification says where the pod is");
}

/// The pod is deleted before its binding arrives, and the scheduler has heard of it when that is refused.
#[test]
fn a_pod_that_went_before_its_binding_came_is_told_of_all_the_same() {
    let mut world = World::with_nodes(1);
    world.create(asking("web", "3", ""));
    let is_binding = |pending: &&Pending| match &pending.what {
        What::Request { request, .. } => matches!(request.body, Body::Binding(_)),
        _ => false,
    };
    while world.engine.pending().find(is_binding).is_none() {
        world.step();
    }
    let binding = world.engine.pending().find(is_binding).expect("it is on its way").id;
    world.engine.delay(binding, Duration::from_secs(1)).expect("it can be late");
    let client = world.client.clone();
    world.command(async move {
        client.delete::<Pod>("default", "web", DeleteOptions::default()).await.expect("the pod is there");
    });
    let sent = world.take_sent();
    let error = "running Bind plugin \"DefaultBinder\": pods \"web\" not found";
    assert_eq!(sent[..2], ["bind web to node-1".to_owned(), format!("event FailedScheduling: {error}")]);
    assert!(sent[2].contains("\"reason\":\"SchedulerError\""), "{}", sent[2]);
    assert_eq!(sent.len(), 3, "it is not tried again: {sent:#?}");
}

#[test]
fn a_deleted_pod_gives_its_room_to_the_next() {
    let mut world = World::with_nodes(1);
    world.create(asking("first", "3", ""));
    world.run();
    world.create(asking("second", "3", ""));
    world.run();
    world.sent.clear();
    let client = world.client.clone();
    world.command(async move {
        let now = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        client.delete::<Pod>("default", "first", now).await.expect("the pod is there");
    });
    assert_eq!(world.take_sent()[0], "bind second to node-1");
    let status: PodStatus = world.get::<Pod>("second").status.unwrap_or_default().into_inner();
    let scheduled = status.conditions.into_iter().flatten().find(|c| c.type_ == "PodScheduled").expect("it is there");
    assert_eq!(scheduled.status, "True");
}

/// A plugin of a learner's, that is not finished.
struct Unfinished;

impl Plugin for Unfinished {
    fn name(&self) -> &'static str {
        "Unfinished"
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _: &'a Snapshot) -> PreFilter<'a> {
        assert!(pod.key.name() != "first", "not written yet");
        PreFilter::Skip
    }
}

#[test]
fn a_plugin_that_panics_costs_its_pod_the_attempt_and_no_more() {
    let mut engine = Engine::new(Host::new(ApiServer::new(0)), 0);
    write_what_must_be_there(&mut engine);
    let user = engine.add(Rc::new(Nobody));
    let client = Client::new(engine.hub().clone(), user, Rc::new(User::admin()), 100_000, 100_000);
    let mut profile = Profile::default();
    profile.plugins.push(Entry::new(Unfinished, 0));
    let scheduler = KubeScheduler::new(engine.hub().clone(), engine.next_actor(), None, vec![profile]);
    engine.add(Rc::new(scheduler));
    let objects = async move {
        client.create(zoned(1, 4)).await.expect("it is valid");
        let ready = Patch::Merge(json!({"spec": {"taints": null}}));
        client.patch::<Node>("", "node-1", ready).await.expect("the node is there");
        client.create(pod("first", "", PLAIN)).await.expect("it is valid");
        client.create(pod("second", "", PLAIN)).await.expect("it is valid");
    };
    engine.outside(user, |engine| engine.hub().spawn(user, "command", objects));
    let mut bound = Vec::new();
    while engine.foreground() > 0 {
        let step = engine.step().expect("something is pending");
        if let What::Request { request, .. } = &step.event.what
            && matches!(request.body, Body::Binding(_))
        {
            bound.push(request.name.clone());
        }
    }
    let crashes = engine.take_crashes();
    assert_eq!((crashes.len(), crashes[0].2.as_str()), (1, "not written yet"));
    assert_eq!(bound, ["second"]);
}
