//! The EndpointSlice controller: where the connections to a Service can go.
//!
//! # How a change flows
//!
//! A Service selects Pods. Every Pod with an address becomes an *endpoint*, in a slice of at most a hundred; kube-proxy
//! on each node watches slices and turns them into rules. An endpoint has three conditions:
//!
//! | the Pod | ready | serving | terminating |
//! |---|---|---|---|
//! | has an address, is not ready | false | false | false |
//! | is ready | true | true | false |
//! | is being deleted, still answers | false | true | true |
//! | is being deleted, answers no more | false | false | true |
//! | has ended, or is gone | no endpoint | | |
//!
//! A reconcile finds out which Pods are selected ([`super::service_pods`]), what the slices should say ([`mod@slice`]), and which
//! writes lead there ([`pack`]). A Service with no endpoints keeps one empty slice, so that a client can tell
//! "none" from "not yet".
//!
//! # Must hold
//!
//! - No endpoint is in two slices of one Service. Kept by the property "no address is in two EndpointSlices of one
//!   Service".
//! - Nothing is planned on a cache older than this controller's last write ([`tracker`]). Kept by
//!   `what_was_written_must_have_arrived`.
//!
//! Mirrors `pkg/controller/endpointslice/endpointslice_controller.go` and `k8s.io/endpointslice/reconciler.go`.
//!
//! # Left out
//!
//! - IPv6.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use object::meta::{controller_of, controller_ref};
use object::well_known::SERVICE_NAME;
use object::{Accessor, Key, Kind, Object, Pod};
use wire::{self, DeleteOptions};

use super::claim::aggregate;
use super::service_pods::{ServicePods, TriggerTimes, annotate, selector_of};

pub mod pack;
pub mod slice;
pub mod topology;
pub mod tracker;

use pack::{Plan, Shape};
use topology::{Telling, Topology};
use tracker::Tracker;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Service, Kind::Pod, Kind::Node, Kind::EndpointSlice],
    workers: 5,
    max_retries: Some(15),
    event_source: "endpoint-slice-controller",
    ..Registration::new("endpointslice-controller", &|context| Rc::new(EndpointSlices::new(context)))
};

/// Which controller keeps it.
pub const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// The index of slices by Service and controller: [`index_value`].
pub const BY_SERVICE: &str = "service";
/// How long a change of a slice by another client waits before its reconcile. Mirrors `endpointSliceChangeMinSyncDelay`.
const FOREIGN_CHANGE_DELAY: Duration = Duration::from_secs(1);
/// The first failure of a key waits this long, each further one twice as long.
pub const FIRST_RETRY: Duration = Duration::from_secs(1);

/// What a reconcile takes before it decides. In recordings about 10 ms lie between two writes of one Service; without
/// any the next reconcile would always begin before the watch has brought the last write, and wait a second for it.
const SYNC_TIME: Duration = Duration::from_millis(1);

const ME: &str = "endpointslice-controller.k8s.io";
/// `--max-endpoints-per-slice`
const ENDPOINTS_MAX: usize = 100;

/// Keys are Services.
struct EndpointSlices {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    service_pods: ServicePods,
    nodes: Lister<Node>,
    slices: Lister<EndpointSlice>,
    trigger_times: TriggerTimes,
    tracker: Tracker,
    topology: Topology,
}

impl EndpointSlices {
    fn new(context: &ControllerContext) -> EndpointSlices {
        context.add_index::<EndpointSlice>(BY_SERVICE, index_by_service);
        context.queue.retry_from(FIRST_RETRY);
        let hub = context.client.hub();
        EndpointSlices {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            service_pods: ServicePods::new(context),
            nodes: context.lister(),
            slices: context.lister(),
            trigger_times: TriggerTimes::new(hub),
            tracker: Tracker::new(hub),
            topology: Topology::new(hub),
        }
    }
}

impl Controller for EndpointSlices {
    fn on_change(&self, change: &Change) {
        match change.latest() {
            Object::Pod(_) => self.service_pods.concerned(change).into_iter().for_each(|key| self.queue.add(key)),
            Object::Service(_) => self.queue.add(change.key()),
            Object::EndpointSlice(_) => {
                watch_slices(change, ME, &self.tracker, |key| self.queue.add_after(key, FOREIGN_CHANGE_DELAY));
            }
            Object::Node(_) => match change {
                Change::Updated { old: Object::Node(old), new: Object::Node(new) } if !topology::concerns(old, new) => {
                }
                _ => self.topology.nodes_changed(|| self.nodes.list()).into_iter().for_each(|key| self.queue.add(key)),
            },
            _ => {}
        }
    }

    /// One reconcile. Mirrors `syncService`.
    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        self.client.sleep(SYNC_TIME).await;
        let Some(service) = self.service_pods.services.get(&key) else {
            // Its slices are the garbage collector's.
            self.trigger_times.forget(&key);
            self.tracker.forget(&key);
            return Ok(());
        };
        if selector_of(&service).is_none() {
            return Ok(());
        }
        let pods = self.service_pods.selected_by(&service);
        let mut slices = self.slices.by_index(BY_SERVICE, &index_value(&key, ME));
        slices.retain(|slice| slice.metadata.deletion_timestamp.is_none());
        if self.tracker.is_stale(&key, &slices) {
            return Err(Error::Other("EndpointSlice informer cache is out of date".to_owned()));
        }
        let last_change = self.trigger_times.last_change(&key, &service, &pods);
        let (plan, skipped, telling) = self.plan(&key, &service, &pods, &slices);
        let written = write(&self.client, &self.tracker, &key, plan, last_change).await;
        if let Some((type_, reason, message)) = telling {
            self.recorder.event(&*service, type_, reason, message);
        }
        let errors = skipped.into_iter().map(Error::Other).chain(written.err()).collect();
        let Some(failed) = aggregate(errors) else { return Ok(()) };
        let message = format!("Error updating Endpoint Slices for Service {key}: {failed}");
        self.recorder.event(&*service, EventType::Warning, "FailedToUpdateEndpointSlices", message);
        Err(failed)
    }
}

impl EndpointSlices {
    /// What is to be written, for which Pods nothing can be, and what is to be told of zones. Mirrors
    /// `reconcileByAddressType`.
    fn plan(
        &self,
        key: &Key,
        service: &Service,
        pods: &[Arc<Pod>],
        slices: &[Arc<EndpointSlice>],
    ) -> (Plan, Vec<String>, Option<Telling>) {
        let (groups, skipped) = slice::desired(service, pods, |node| self.nodes.get(&Key::new("", node)));
        let (mine, foreign) = slices.iter().cloned().partition(|slice| is_owned_by(slice, service));
        let mut plan = Plan { delete: foreign, ..Plan::default() };
        let mut existing: BTreeMap<String, Vec<Arc<EndpointSlice>>> = BTreeMap::new();
        for slice in Vec::<Arc<EndpointSlice>>::into_iter(mine) {
            existing.entry(slice::ports_key(slice.ports.as_deref().unwrap_or_default())).or_default().push(slice);
        }
        let labels = slice::labels(service, ME);
        let name = service.metadata.name();
        let empty = |ports: &[_]| {
            let namespace = service.metadata.namespace.clone();
            slice::empty(namespace, name, controller_ref(service), labels.clone(), ports)
        };
        let by_zones = topology::is_asked_for(service);
        // For which zone an endpoint is meant is said later.
        let same = |old: &Endpoint, new: &Endpoint| match by_zones {
            true => Endpoint { hints: new.hints.clone(), ..old.clone() } == *new,
            false => old == new,
        };
        for (ports_key, group) in groups {
            let existing = existing.remove(&ports_key).unwrap_or_default();
            let (labels, new) = (|_: &EndpointSlice| labels.clone(), || empty(&group.ports));
            let shape = Shape { max: ENDPOINTS_MAX, labels: &labels, new: &new, same: &same };
            plan.pack(&existing, group.endpoints, &shape);
        }
        plan.delete.extend(existing.into_values().flatten());
        if plan.delete.len() == slices.len() && plan.create.is_empty() {
            keep_placeholder(&mut plan, empty(&[]));
        }
        let unchanged = untouched(slices, &plan);
        let telling = match by_zones {
            true => self.topology.add_hints(key, &mut plan, &unchanged, || self.nodes.list()),
            false => self.topology.give_up(key),
        };
        plan.recycle(|old| is_owned_by(old, service));
        if service.metadata.deletion_timestamp.is_some() {
            // The garbage collector is deleting slices; this controller must not replace them.
            plan.create.clear();
        }
        (plan, skipped, telling)
    }
}

/// The slices that a plan leaves as they are. Mirrors `unchangedSlices`.
pub fn untouched(slices: &[Arc<EndpointSlice>], plan: &Plan) -> Vec<Arc<EndpointSlice>> {
    let updated = plan.update.iter().map(|slice| &slice.metadata.name);
    let touched: BTreeSet<_> = updated.chain(plan.delete.iter().map(|slice| &slice.metadata.name)).collect();
    slices.iter().filter(|slice| !touched.contains(&slice.metadata.name)).cloned().collect()
}

/// A Service that would have no slice keeps an empty one.
fn keep_placeholder(plan: &mut Plan, placeholder: EndpointSlice) {
    let is_placeholder = |there: &EndpointSlice| {
        there.endpoints.as_ref().is_none_or(Vec::is_empty)
            && there.ports.as_ref().is_none_or(Vec::is_empty)
            && there.metadata.labels == placeholder.metadata.labels
    };
    match plan.delete.as_slice() {
        [only] if is_placeholder(only) => plan.delete.clear(),
        _ => plan.create.push(placeholder),
    }
}

/// Carries out a plan: creations, updates, deletions. Mirrors `finalize`.
pub async fn write(
    client: &Client,
    tracker: &Tracker,
    key: &Key,
    plan: Plan,
    last_change: Option<Timestamp>,
) -> Result<(), Error> {
    let of_service = |doing: &str, status: wire::Error| {
        Error::Other(format!("failed to {doing} EndpointSlice for Service {key}: {status}"))
    };
    for mut slice in plan.create {
        annotate(&mut slice.metadata.annotations, last_change);
        match client.create(slice).await {
            Ok(created) => tracker.wrote(key, &created),
            // In a namespace that is going away nothing can be made any more.
            Err(status) if status.is_namespace_terminating() => return Ok(()),
            Err(status) => return Err(of_service("create", status)),
        }
    }
    for mut slice in plan.update {
        annotate(&mut slice.metadata.annotations, last_change);
        let name = slice.metadata.name.clone().unwrap_or_default();
        match client.update(slice).await {
            Ok(updated) => tracker.wrote(key, &updated),
            Err(status) => return Err(of_service(&format!("update {name}"), status)),
        }
    }
    for slice in plan.delete {
        let name = slice.metadata.name();
        match client.delete::<EndpointSlice>(key.namespace(), name, DeleteOptions::default()).await {
            Ok(()) => tracker.deleted(key, &slice),
            Err(status) => return Err(of_service(&format!("delete {name}"), status)),
        }
    }
    Ok(())
}

/// Where the index has the slices that a controller keeps for a Service.
pub fn index_value(service: &Key, managed_by: &str) -> String {
    format!("{service} {managed_by}")
}

/// The value of the index [`BY_SERVICE`] for one slice.
pub fn index_by_service(object: &Object) -> Vec<String> {
    let Object::EndpointSlice(slice) = object else { return Vec::new() };
    service_of(slice).map(|key| index_value(&key, manager_of(slice))).into_iter().collect()
}

/// The Service that a slice says it belongs to.
pub fn service_of(slice: &EndpointSlice) -> Option<Key> {
    let name = slice.metadata.labels.as_ref()?.get(SERVICE_NAME)?;
    Some(Key::new(slice.metadata.namespace(), name))
}

/// The controller that a slice says keeps it.
fn manager_of(slice: &EndpointSlice) -> &str {
    slice.metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY)).map_or("", String::as_str)
}

fn is_owned_by(slice: &EndpointSlice, service: &Service) -> bool {
    controller_of(&slice.metadata).is_some_and(|owner| Some(&owner.uid) == service.metadata.uid.as_ref())
}

/// Queues the Services of slices that a client other than their controller has changed.
pub fn watch_slices(change: &Change, managed_by: &str, tracker: &Tracker, enqueue: impl Fn(Key)) {
    let slice = |object: &Object| match object {
        Object::EndpointSlice(slice) => Some(slice.clone()),
        _ => None,
    };
    let mine = |slice: &EndpointSlice| manager_of(slice) == managed_by;
    let queue = |slice: &EndpointSlice| service_of(slice).into_iter().for_each(&enqueue);
    let foreign = |slice: &EndpointSlice| service_of(slice).is_some_and(|key| tracker.is_foreign(&key, slice));
    let gone = |slice: &EndpointSlice| service_of(slice).is_some_and(|key| tracker.is_foreign_deletion(&key, slice));
    let (Some(new), old) = (slice(change.latest()), change) else { return };
    match old {
        Change::Deleted(_) if mine(&new) && gone(&new) => queue(&new),
        Change::Added(_) if mine(&new) && foreign(&new) => queue(&new),
        Change::Updated { old, .. } => {
            let Some(old) = slice(old) else { return };
            if service_of(&old) != service_of(&new) {
                queue(&old);
                queue(&new);
            } else if mine(&old) != mine(&new) || (mine(&new) && foreign(&new)) {
                queue(&new);
            }
        }
        _ => {}
    }
}
