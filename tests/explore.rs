//! The explorer finds what a wrong controller does in rare orders only, and finds nothing where nothing is wrong.

use std::collections::BTreeMap;
use std::rc::Rc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubestep::client::informer::Change;
use kubestep::client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use kubestep::cluster::Cluster;
use kubestep::cluster::scenario::Scenario;
use kubestep::controllers;
use kubestep::debugger::explore::{Bound, Report, Subject, explore, explore_here};
use kubestep::debugger::properties::Property;
use kubestep::engine::{Engine, LocalBoxFuture, Note, Step};
use kubestep::object::meta::controller_of;
use kubestep::object::{Key, Kind, Object};

/// A ReplicaSet of two Pods that cannot run anywhere, so that nothing but its controller matters.
const SCENARIO: &str = "
title: two Pods
nodes: 1
files:
  rs.yaml: |
    apiVersion: apps/v1
    kind: ReplicaSet
    metadata: {name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          nodeSelector: {disk: none}
          containers: [{name: web, image: nginx}]
timeline: [kubectl create -f rs.yaml]
";

/// Counts the Pods in its cache and creates what is missing. It expects nothing: what it has just created and not yet
/// heard of, it creates again.
struct Naive {
    client: Client,
    queue: Queue,
    sets: Lister<ReplicaSet>,
    pods: Lister<Pod>,
}

impl Controller for Naive {
    fn on_change(&self, change: &Change) {
        match change.latest() {
            Object::Pod(pod) => {
                let owner = controller_of(&pod.metadata);
                owner.iter().for_each(|owner| self.queue.add(Key::new(change.key().namespace(), &owner.name)));
            }
            _ => self.queue.add(change.key()),
        }
    }

    fn reconcile(self: Rc<Self>, key: Key) -> LocalBoxFuture<Result<(), Error>> {
        Box::pin(async move {
            let Some(set) = self.sets.get(&key) else { return Ok(()) };
            let uid = set.metadata.uid.as_deref();
            let mine = |pod: &&std::sync::Arc<Pod>| controller_of(&pod.metadata).map(|o| o.uid.as_str()) == uid;
            let there = self.pods.list_namespace(key.namespace()).iter().filter(mine).count();
            let spec = set.spec.as_ref().expect("a stored ReplicaSet has a spec");
            let missing = (spec.replicas.unwrap_or(1) as usize).saturating_sub(there);
            for _ in 0..missing {
                let template = spec.template.clone().expect("a stored ReplicaSet has a template");
                let metadata = ObjectMeta {
                    generate_name: Some(format!("{}-", key.name())),
                    namespace: Some(key.namespace().to_owned()),
                    owner_references: Some(vec![kubestep::object::meta::controller_ref(&*set)]),
                    ..template.metadata.unwrap_or_default()
                };
                self.client.create(Pod { metadata, spec: template.spec, status: None }).await?;
            }
            Ok(())
        })
    }
}

const NAIVE: Registration = Registration {
    name: "replicaset-controller",
    watches: &[Kind::ReplicaSet, Kind::Pod],
    workers: 5,
    max_retries: None,
    new: |context: &ControllerContext| {
        Rc::new(Naive {
            client: context.client.clone(),
            queue: context.queue.clone(),
            sets: context.lister(),
            pods: context.lister(),
        })
    },
};

/// All that is shipped, with the naive controller in place of the real one.
fn with_naive() -> &'static [Registration] {
    let place = |row: &Registration| if row.name == NAIVE.name { NAIVE } else { row.clone() };
    controllers::TABLE.iter().map(place).collect::<Vec<_>>().leak()
}

/// No ReplicaSet ever has more Pods than it asks for.
#[derive(Default)]
struct NeverTooMany {
    live: BTreeMap<String, usize>,
}

impl Property for NeverTooMany {
    fn name(&self) -> &'static str {
        "no ReplicaSet ever has more Pods than it asks for"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        for note in &step.notes {
            let Note::Stored { old: None, new: Some(Object::Pod(pod)), .. } = note else { continue };
            let Some(owner) = controller_of(&pod.metadata) else { continue };
            let live = self.live.entry(owner.uid.clone()).or_default();
            *live += 1;
            if *live > 2 {
                return Err(format!("{} asks for 2 Pods and has {live}", owner.name));
            }
        }
        Ok(())
    }
}

fn report(table: &'static [Registration], threads: Option<usize>, bound: &Bound) -> Report {
    let scenario: Scenario = serde_yaml::from_str(SCENARIO).expect("the scenario is well formed");
    let scenario = Scenario { namespace: "default".into(), ..scenario };
    let subject = Subject {
        cluster: &|| Cluster::with_controllers(&scenario, table),
        properties: &|| vec![Box::new(NeverTooMany::default())],
    };
    match threads {
        Some(threads) => explore(&subject, bound, threads, |_, _| true),
        None => explore_here(&subject, bound),
    }
}

#[test]
fn the_shipped_controller_creates_no_pod_too_many_in_any_order() {
    let found = report(controllers::TABLE, Some(2), &Bound { swaps: 1, ..Bound::default() });
    assert_eq!(found.violation, None);
    assert!(found.exhausted && found.schedules > 20, "{found:?}");
}

#[test]
fn a_controller_that_trusts_its_cache_creates_too_many() {
    let found = report(with_naive(), Some(2), &Bound { swaps: 2, ..Bound::default() });
    let violation = found.violation.expect("some order shows the bug");
    assert!(violation.what.contains("has 3"), "{violation:?}");
}

#[test]
fn threads_change_nothing() {
    let bound = Bound { schedules: 100, ..Bound::default() };
    let one = report(controllers::TABLE, Some(1), &bound);
    assert_eq!(one.schedules, report(controllers::TABLE, Some(2), &bound).schedules);
    let (two, here) = (report(controllers::TABLE, Some(2), &bound), report(controllers::TABLE, None, &bound));
    assert_eq!(one, two);
    assert_eq!((one.schedules, one.distinct, one.violation), (here.schedules, here.distinct, here.violation));
}
