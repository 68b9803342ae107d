//! The EndpointSliceMirroring controller: Endpoints that a user wrote by hand, for a Service without a selector, are
//! copied to slices, so that kube-proxy has to read slices only.
//!
//! Mirrors `pkg/controller/endpointslicemirroring`.
//!
//! Left out: IPv6; the Event about addresses that are no IPs, which the API server rejects anyway.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{self as core, EndpointAddress, EndpointSubset, Endpoints, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use object::meta::{controller_of, controller_ref};
use object::well_known::{LAST_APPLIED, SERVICE_NAME};
use object::{Accessor, Key, Kind, Object};
use wire::DeleteOptions;

use super::endpoint_slice::pack::{Labels, Plan, identity};
use super::endpoint_slice::tracker::Tracker;
use super::endpoint_slice::{
    BY_SERVICE, FIRST_RETRY, MANAGED_BY, index_by_service, index_value, slice, untouched, watch_slices, write,
};
use super::service_pods::LAST_CHANGE;

mod repack;

use repack::repack;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Endpoints, Kind::EndpointSlice, Kind::Service],
    workers: 5,
    max_retries: Some(15),
    event_source: "endpoint-slice-mirroring-controller",
    ..Registration::new("endpointslicemirroring-controller", &|context| Rc::new(Mirroring::new(context)))
};

const ME: &str = "endpointslicemirroring-controller.k8s.io";
/// `true` on Endpoints whose slices another client writes.
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
/// On Endpoints that once served to elect a leader.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// `--mirroring-max-endpoints-per-subset`, which is also what a slice takes.
const ENDPOINTS_MAX: usize = 1000;

/// Keys are Endpoints, and so Services.
struct Mirroring {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    endpoints: Lister<Endpoints>,
    slices: Lister<EndpointSlice>,
    services: Lister<Service>,
    tracker: Tracker,
}

impl Mirroring {
    fn new(context: &ControllerContext) -> Mirroring {
        context.add_index::<EndpointSlice>(BY_SERVICE, index_by_service);
        context.queue.retry_from(FIRST_RETRY);
        Mirroring {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            endpoints: context.lister(),
            slices: context.lister(),
            services: context.lister(),
            tracker: Tracker::new(context.client.hub()),
        }
    }
}

impl Controller for Mirroring {
    fn on_change(&self, change: &Change) {
        match change.latest() {
            Object::Endpoints(endpoints) => {
                let had = matches!(change, Change::Updated { old: Object::Endpoints(old), .. } if is_mirrored(old));
                if is_mirrored(endpoints) || had {
                    self.queue.add(change.key());
                }
            }
            Object::Service(service) => {
                let is_concerned = match change {
                    Change::Updated { old: Object::Service(old), .. } => is_hand_made(old) != is_hand_made(service),
                    _ => is_hand_made(service),
                };
                if is_concerned {
                    self.queue.add(change.key());
                }
            }
            Object::EndpointSlice(_) => {
                watch_slices(change, ME, &self.tracker, |key| self.queue.add(key));
            }
            _ => {}
        }
    }

    /// One reconcile. Mirrors `syncEndpoints`.
    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let slices = self.slices.by_index(BY_SERVICE, &index_value(&key, ME));
        let mirrored = self.endpoints.get(&key).filter(|endpoints| is_mirrored(endpoints));
        let wanted = mirrored.filter(|_| self.services.get(&key).is_some_and(|service| is_hand_made(&service)));
        let Some(endpoints) = wanted else {
            self.tracker.forget(&key);
            return self.delete(slices).await;
        };
        if self.tracker.is_stale(&key, &slices) {
            return Err(Error::Other("EndpointSlice informer cache is out of date".to_owned()));
        }
        let subsets = repack(endpoints.subsets.as_deref().unwrap_or_default());
        self.tell_of_skipped(&endpoints, &subsets);
        let mut plan = plan(&endpoints, &subsets, &slices);
        if endpoints.metadata.deletion_timestamp.is_some() {
            plan.create.clear();
        }
        // Also those that were there before this controller: so it hears when they are deleted.
        untouched(&slices, &plan).iter().for_each(|slice| self.tracker.knows(&key, slice));
        // When the Endpoints last changed is not told of their copies.
        write(&self.client, &self.tracker, &key, plan, None).await
    }
}

impl Mirroring {
    /// Says so if there are more addresses than are copied.
    fn tell_of_skipped(&self, endpoints: &Endpoints, subsets: &[EndpointSubset]) {
        let skipped: usize = subsets.iter().map(|subset| addresses(subset).count().saturating_sub(ENDPOINTS_MAX)).sum();
        if skipped > 0 {
            let message = format!(
                "A max of {ENDPOINTS_MAX} addresses can be mirrored to EndpointSlices per Endpoints subset. {skipped} \
                 addresses were skipped"
            );
            self.recorder.event(endpoints, EventType::Warning, "TooManyAddressesToMirror", message);
        }
    }

    /// Deletes slices that are not needed any more; an error does not stop the others. Mirrors `deleteEndpoints`.
    async fn delete(&self, slices: Vec<Arc<EndpointSlice>>) -> Result<(), Error> {
        let mut first_error = Ok(());
        for slice in slices {
            let key = Key::of_meta(&slice.metadata);
            let deleted = self.client.delete::<EndpointSlice>(key.namespace(), key.name(), DeleteOptions::default());
            first_error = first_error.and(deleted.await);
        }
        Ok(first_error?)
    }
}

/// Whether the Endpoints of a Service are written by a client other than the Endpoints controller.
fn is_hand_made(service: &Service) -> bool {
    service.spec.as_ref().is_some_and(|spec| spec.selector.is_none())
}

/// Mirrors `shouldMirror`.
fn is_mirrored(endpoints: &Endpoints) -> bool {
    let skips = endpoints.metadata.labels.as_ref().and_then(|labels| labels.get(SKIP)).is_some_and(|v| v == "true");
    let elects = endpoints.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(LEADER));
    !skips && !elects
}

/// One slice for each set of ports. Mirrors `reconcileByPortMapping`.
fn plan(endpoints: &Endpoints, subsets: &[EndpointSubset], slices: &[Arc<EndpointSlice>]) -> Plan {
    let name = endpoints.metadata.name();
    let mut labels: Labels = endpoints.metadata.labels.clone().unwrap_or_default();
    labels.extend([(SERVICE_NAME.to_owned(), name.to_owned()), (MANAGED_BY.to_owned(), ME.to_owned())]);
    let mut existing: BTreeMap<String, Vec<Arc<EndpointSlice>>> = BTreeMap::new();
    for slice in slices {
        let ports = slice::ports_key(slice.ports.as_deref().unwrap_or_default());
        existing.entry(ports).or_default().push(slice.clone());
    }
    let mut groups: BTreeMap<String, slice::Group> = BTreeMap::new();
    for subset in subsets {
        let ports: Vec<EndpointPort> = subset.ports.iter().flatten().map(port).collect();
        let group =
            groups.entry(slice::ports_key(&ports)).or_insert_with(|| slice::Group { ports, ..Default::default() });
        group.endpoints.extend(endpoints_of(subset));
    }
    let mut plan = Plan::default();
    for (ports, group) in groups.into_iter().filter(|(_, group)| !group.endpoints.is_empty()) {
        let namespace = endpoints.metadata.namespace.clone();
        let mut wanted = slice::empty(namespace, name, controller_ref(endpoints), labels.clone(), &group.ports);
        wanted.metadata.annotations = annotations(endpoints);
        let mut distinct = by_identity(&group.endpoints);
        distinct.truncate(ENDPOINTS_MAX);
        wanted.endpoints = Some(distinct);
        let existing = existing.remove(&ports).unwrap_or_default();
        match existing.split_first() {
            None => plan.create.push(wanted),
            Some((first, others)) => {
                plan.delete.extend(others.iter().cloned());
                if !says_the_same(first, &wanted) {
                    wanted.metadata.generate_name = None;
                    wanted.metadata.name.clone_from(&first.metadata.name);
                    plan.update.push(wanted);
                }
            }
        }
    }
    plan.delete.extend(existing.into_values().flatten());
    plan.recycle(|_| true);
    plan
}

/// Each endpoint once, as it is said last.
fn by_identity(endpoints: &[Endpoint]) -> Vec<Endpoint> {
    let distinct: BTreeMap<String, &Endpoint> =
        endpoints.iter().map(|endpoint| (identity(endpoint), endpoint)).collect();
    distinct.into_values().cloned().collect()
}

/// Whether a slice says what it should, in any order.
fn says_the_same(there: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    let endpoints = |slice: &EndpointSlice| by_identity(slice.endpoints.as_deref().unwrap_or_default());
    let annotations = |slice: &EndpointSlice| slice.metadata.annotations.clone().unwrap_or_default();
    there.metadata.labels == wanted.metadata.labels
        && annotations(there) == annotations(wanted)
        && endpoints(there) == endpoints(wanted)
        && !is_of_predecessor(there, wanted)
}

/// Whether a slice is owned by Endpoints of the same name that are gone: it would go with them. Mirrors
/// `needRebuildExistingSlices`.
fn is_of_predecessor(there: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    let Some(owner) = controller_of(&wanted.metadata) else { return false };
    let others = there.metadata.owner_references.iter().flatten().filter(|other| other.kind == owner.kind);
    { others }.any(|other| other.name == owner.name && other.uid != owner.uid)
}

/// All but those that say something of the Endpoints object only.
fn annotations(endpoints: &Endpoints) -> Option<Labels> {
    const OWN: [&str; 2] = [LAST_APPLIED, LAST_CHANGE];
    let mut annotations = endpoints.metadata.annotations.clone().unwrap_or_default();
    annotations.retain(|key, _| !OWN.contains(&key.as_str()));
    (!annotations.is_empty()).then_some(annotations)
}

/// The addresses of a subset, and whether each is ready.
fn addresses(subset: &EndpointSubset) -> impl Iterator<Item = (&EndpointAddress, bool)> {
    let ready = subset.addresses.iter().flatten().map(|address| (address, true));
    ready.chain(subset.not_ready_addresses.iter().flatten().map(|address| (address, false)))
}

fn endpoints_of(subset: &EndpointSubset) -> Vec<Endpoint> {
    let all = addresses(subset).take(ENDPOINTS_MAX).map(|(address, ready)| endpoint(address, ready));
    all.filter(|endpoint| endpoint.addresses[0].parse::<std::net::Ipv4Addr>().is_ok()).collect()
}

fn endpoint(address: &EndpointAddress, ready: bool) -> Endpoint {
    Endpoint {
        addresses: vec![address.ip.clone()],
        conditions: Some(EndpointConditions { ready: Some(ready), ..EndpointConditions::default() }),
        hostname: address.hostname.clone(),
        node_name: address.node_name.clone(),
        target_ref: address.target_ref.clone(),
        ..Endpoint::default()
    }
}

fn port(port: &core::EndpointPort) -> EndpointPort {
    EndpointPort {
        name: Some(port.name.clone().unwrap_or_default()),
        port: Some(port.port),
        protocol: port.protocol.clone(),
        app_protocol: port.app_protocol.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn endpoints(annotations: Value, subsets: Value) -> Endpoints {
        let metadata =
            json!({"name": "s", "namespace": "n", "uid": "u", "labels": {"a": "b"}, "annotations": annotations});
        serde_json::from_value(json!({"metadata": metadata, "subsets": subsets})).unwrap()
    }

    fn planned(endpoints: &Endpoints, slices: &[Arc<EndpointSlice>]) -> Plan {
        plan(endpoints, &repack(endpoints.subsets.as_deref().unwrap_or_default()), slices)
    }

    #[test]
    fn a_copy_is_written_when_it_says_something_else() {
        let subset = |ips: &[&str]| {
            let addresses: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
            json!([{"addresses": addresses, "ports": [{"port": 80, "protocol": "TCP"}]}])
        };
        let two = subset(&["10.0.0.1", "10.0.0.2"]);
        let first = planned(&endpoints(json!({"x": "y", LAST_CHANGE: "2026-01-01T00:00:00Z"}), two.clone()), &[]);
        let mut made = first.create[0].clone();
        assert_eq!(made.metadata.annotations, Some(BTreeMap::from([("x".to_owned(), "y".to_owned())])));
        made.metadata.name = Some("s-1".into());
        made.endpoints.as_mut().unwrap().reverse();
        let made = [Arc::new(made)];
        for (annotations, subsets, writes) in [
            (json!({"x": "y"}), two.clone(), (0, 0, 0)),
            (json!({"x": "z"}), two.clone(), (0, 1, 0)),
            (json!({"x": "y"}), subset(&["10.0.0.1"]), (0, 1, 0)),
            (json!({"x": "y"}), subset(&[]), (0, 0, 1)),
        ] {
            let plan = planned(&endpoints(annotations.clone(), subsets.clone()), &made);
            let found = (plan.create.len(), plan.update.len(), plan.delete.len());
            assert_eq!(found, writes, "{annotations} {subsets}");
            assert!(plan.update.iter().all(|slice| slice.metadata.name.as_deref() == Some("s-1")));
        }
        let mut again = endpoints(json!({"x": "y"}), two);
        again.metadata.uid = Some("v".into());
        assert_eq!(planned(&again, &made).update.len(), 1, "its owner is gone");
    }
}
