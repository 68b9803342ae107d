//! The Endpoints controller: for each Service with a selector one object of the same name, with the addresses of its
//! Pods, the ready and the others apart.
//!
//! It is the old way, deprecated but still written: one object for all Pods means that each change of one Pod sends
//! all addresses to everybody who watches. EndpointSlices ([`super::endpoint_slice`]) were made for that reason; nothing
//! in the cluster itself reads Endpoints any more but the mirroring controller.
//!
//! Mirrors `pkg/controller/endpoint/endpoints_controller.go` and `pkg/api/v1/endpoints/util.go`.
//!
//! Left out: the look for leftovers after a start (`checkLeftoverEndpoints`); subsets and their ports stand in the order
//! of their names, not of their hashes.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use engine::Memory;
use object::pod::{address_of, assigned_node, is_ready};
use object::{Key, Kind, Object, Pod};
use wire::{self, DeleteOptions};

use super::service_pods::{
    HEADLESS, ServicePods, TriggerTimes, annotate, can_be_endpoint, find_port, has_ip, hostname_of,
    publishes_not_ready, selector_of, spec_of, target_ref,
};

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Service, Kind::Pod, Kind::Endpoints],
    workers: 5,
    max_retries: Some(15),
    ..Registration::new("endpoint-controller", &|context| Rc::new(EndpointsController::new(context)))
};

/// Marks what this controller writes.
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
/// One object holds so many addresses at most.
const ADDRESSES_MAX: usize = 1000;

/// Keys are Services.
struct EndpointsController {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    service_pods: ServicePods,
    endpoints: Lister<Endpoints>,
    trigger_times: TriggerTimes,
    /// The versions that were replaced: who still finds one in the cache reads an old cache.
    replaced: Memory<BTreeMap<Key, String>>,
}

impl EndpointsController {
    fn new(context: &ControllerContext) -> EndpointsController {
        let hub = context.client.hub();
        EndpointsController {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            service_pods: ServicePods::new(context),
            endpoints: context.lister(),
            trigger_times: TriggerTimes::new(hub),
            replaced: hub.memory(BTreeMap::new()),
        }
    }
}

impl Controller for EndpointsController {
    fn on_change(&self, change: &Change) {
        match change.latest() {
            Object::Pod(_) => self.service_pods.concerned(change).into_iter().for_each(|key| self.queue.add(key)),
            Object::Service(_) => self.queue.add(change.key()),
            // Of the changes to Endpoints only a deletion, by another client, needs a reconcile.
            Object::Endpoints(_) if matches!(change, Change::Deleted(_)) => self.queue.add(change.key()),
            _ => {}
        }
    }

    /// One reconcile. Mirrors `syncService`.
    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(service) = self.service_pods.services.get(&key) else { return self.service_gone(&key).await };
        if selector_of(&service).is_none() {
            return Ok(());
        }
        let pods = self.service_pods.selected_by(&service);
        let last_change = self.trigger_times.last_change(&key, &service, &pods);
        let subsets = subsets(&service, &pods);

        let there = self.endpoints.get(&key);
        let version = there.as_ref().and_then(|there| there.metadata.resource_version.as_ref());
        if let Some(version) = version.filter(|version| self.replaced.borrow().get(&key) == Some(version)) {
            return Err(Error::Other(format!(
                "endpoints informer cache is out of date, resource version {version} already processed for endpoints {key}"
            )));
        }
        if there.as_ref().is_some_and(|there| is_up_to_date(there, &service, &subsets)) {
            return Ok(());
        }
        let mut wanted = there.as_deref().cloned().unwrap_or_else(|| Endpoints {
            metadata: ObjectMeta {
                name: service.metadata.name.clone(),
                namespace: service.metadata.namespace.clone(),
                ..ObjectMeta::default()
            },
            ..Endpoints::default()
        });
        wanted.subsets = (!subsets.is_empty()).then_some(subsets);
        wanted.metadata.labels = Some(labels(&service));
        let annotations = &mut wanted.metadata.annotations;
        annotations.iter_mut().for_each(|there| drop(there.remove(OVER_CAPACITY)));
        annotate(annotations, last_change);
        if truncate(wanted.subsets.as_deref_mut().unwrap_or_default()) {
            let annotations = wanted.metadata.annotations.get_or_insert_default();
            annotations.insert(OVER_CAPACITY.to_owned(), "truncated".to_owned());
        }
        self.write(&key, wanted, there).await
    }
}

impl EndpointsController {
    async fn write(&self, key: &Key, wanted: Endpoints, there: Option<Arc<Endpoints>>) -> Result<(), Error> {
        let written = match &there {
            None => self.client.create(wanted.clone()).await,
            Some(_) => self.client.update(wanted.clone()).await,
        };
        match (written, there) {
            (Ok(written), Some(there)) => {
                let version = there.metadata.resource_version.clone().unwrap_or_default();
                // A write that changed nothing is no reason to wait for a newer version.
                if written.metadata.resource_version.as_ref() != Some(&version) {
                    self.replaced.borrow_mut().insert(key.clone(), version);
                }
                Ok(())
            }
            (Ok(_), None) => Ok(()),
            // The namespace is terminating: no user is left to read an Event about it.
            (Err(status), None) if status.is_namespace_terminating() => Ok(()),
            (Err(status), there) => {
                self.tell(key, &wanted, there.is_none(), &status);
                Err(status.into())
            }
        }
    }

    fn tell(&self, key: &Key, wanted: &Endpoints, creating: bool, status: &wire::Error) {
        let (reason, message) = if creating {
            ("FailedToCreateEndpoint", format!("Failed to create endpoint for service {key}: {status}"))
        } else {
            ("FailedToUpdateEndpoint", format!("Failed to update endpoint {key}: {status}"))
        };
        self.recorder.event(wanted, EventType::Warning, reason, message);
    }

    /// The Service is gone, and so its endpoints must be. The API server deletes them along with it, but a write of this
    /// controller may have been on its way.
    async fn service_gone(&self, key: &Key) -> Result<(), Error> {
        match self.client.delete::<Endpoints>(key.namespace(), key.name(), DeleteOptions::default()).await {
            Err(status) if !status.is_not_found() => return Err(status.into()),
            _ => {}
        }
        self.trigger_times.forget(key);
        self.replaced.borrow_mut().remove(key);
        Ok(())
    }
}

/// The Service's labels, and this controller's own.
fn labels(service: &Service) -> BTreeMap<String, String> {
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    labels.remove(HEADLESS);
    if !has_ip(service) {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels.insert(MANAGED_BY.to_owned(), "endpoint-controller".to_owned());
    labels
}

fn is_up_to_date(there: &Endpoints, service: &Service, subsets: &[EndpointSubset]) -> bool {
    let marked = there.metadata.annotations.as_ref().is_some_and(|a| a.contains_key(OVER_CAPACITY));
    let count = |subset: &EndpointSubset| {
        subset.addresses.as_ref().map_or(0, Vec::len) + subset.not_ready_addresses.as_ref().map_or(0, Vec::len)
    };
    let over = subsets.iter().map(count).sum::<usize>() > ADDRESSES_MAX;
    let mut wanted = subsets.to_vec();
    truncate(&mut wanted);
    there.subsets.as_deref().unwrap_or_default() == wanted
        && there.metadata.labels.as_ref() == Some(&labels(service))
        && marked == over
}

/// The addresses of the Pods, and whether each is ready, by the ports that lead to them: ports with the same addresses
/// share a subset. Mirrors `addEndpointSubset` and `RepackSubsets`.
fn subsets(service: &Service, pods: &[Arc<Pod>]) -> Vec<EndpointSubset> {
    let publishes_all = publishes_not_ready(service);
    // The indices of Pods behind each port; None stands for a Service that has no ports.
    let mut behind: BTreeMap<Option<String>, (Option<EndpointPort>, Vec<usize>)> = BTreeMap::new();
    for (index, pod) in pods.iter().enumerate().filter(|(_, pod)| can_be_endpoint(pod, publishes_all)) {
        for port in ports(service, pod) {
            let (_, those) = behind.entry(port.as_ref().map(port_text)).or_insert_with(|| (port, Vec::new()));
            those.push(index);
        }
    }
    let mut by_pods: BTreeMap<Vec<usize>, Vec<EndpointPort>> = BTreeMap::new();
    for (port, those) in behind.into_values() {
        by_pods.entry(those).or_default().extend(port);
    }
    let subset = |(those, ports): (Vec<usize>, Vec<EndpointPort>)| {
        let (ready, waiting): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) =
            those.iter().map(|index| &pods[*index]).partition(|pod| publishes_all || is_ready(pod));
        EndpointSubset {
            addresses: addresses(service, &ready),
            not_ready_addresses: addresses(service, &waiting),
            ports: (!ports.is_empty()).then_some(ports),
        }
    };
    let mut subsets: Vec<EndpointSubset> = by_pods.into_iter().map(subset).collect();
    subsets.sort_by_key(|subset| subset.ports.iter().flatten().map(port_text).collect::<Vec<_>>());
    subsets
}

fn addresses(service: &Service, pods: &[&Arc<Pod>]) -> Option<Vec<EndpointAddress>> {
    let mut addresses: Vec<EndpointAddress> = pods.iter().map(|pod| address(service, pod)).collect();
    addresses.sort_by(|a, b| a.ip.cmp(&b.ip));
    (!addresses.is_empty()).then_some(addresses)
}

/// The Service's ports as this Pod has them. A headless Service without ports has one entry, None.
fn ports(service: &Service, pod: &Pod) -> Vec<Option<EndpointPort>> {
    let declared = spec_of(service).and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    if declared.is_empty() {
        return if has_ip(service) { Vec::new() } else { vec![None] };
    }
    let port = |port: &k8s_openapi::api::core::v1::ServicePort| {
        Some(EndpointPort {
            name: port.name.clone(),
            port: find_port(pod, port)?,
            protocol: port.protocol.clone(),
            app_protocol: port.app_protocol.clone(),
        })
    };
    declared.iter().filter_map(port).map(Some).collect()
}

fn port_text(port: &EndpointPort) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{} {} {} {}", text(&port.name), text(&port.protocol), port.port, text(&port.app_protocol))
}

fn address(service: &Service, pod: &Pod) -> EndpointAddress {
    EndpointAddress {
        ip: address_of(pod).unwrap_or_default().to_owned(),
        hostname: hostname_of(pod, service),
        node_name: assigned_node(pod).map(str::to_owned),
        target_ref: Some(target_ref(pod)),
    }
}

/// Keeps to [`ADDRESSES_MAX`], ready addresses first, each subset in proportion. Mirrors `truncateEndpoints`.
fn truncate(subsets: &mut [EndpointSubset]) -> bool {
    let len = |list: &Option<Vec<EndpointAddress>>| list.as_ref().map_or(0, Vec::len);
    let ready: usize = subsets.iter().map(|subset| len(&subset.addresses)).sum();
    let waiting: usize = subsets.iter().map(|subset| len(&subset.not_ready_addresses)).sum();
    if ready + waiting <= ADDRESSES_MAX {
        return false;
    }
    let cut_ready = ready > ADDRESSES_MAX;
    let (room, total) = if cut_ready { (ADDRESSES_MAX, ready) } else { (ADDRESSES_MAX - ready, waiting) };
    let mut left = room;
    for subset in subsets {
        let list = if cut_ready { &mut subset.addresses } else { &mut subset.not_ready_addresses };
        let share = (len(list) * room).div_ceil(total).min(left);
        if let Some(list) = list {
            list.truncate(share);
            left -= list.len();
        }
        if cut_ready {
            subset.not_ready_addresses = None;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// `ports addresses -addresses that are not ready`, a subset a line.
    fn lines(subsets: &[EndpointSubset]) -> Vec<String> {
        let ips = |list: &Option<Vec<EndpointAddress>>, mark: &str| -> Vec<String> {
            let last = |ip: &str| ip.rsplit('.').next().unwrap_or_default().to_owned();
            list.iter().flatten().map(|address| format!("{mark}{}", last(&address.ip))).collect()
        };
        let line = |subset: &EndpointSubset| {
            let ports = subset.ports.iter().flatten().map(|port| port.port.to_string()).collect::<Vec<_>>().join(",");
            let all = [ips(&subset.addresses, ""), ips(&subset.not_ready_addresses, "-")].concat().join(" ");
            format!("{ports}: {all}")
        };
        subsets.iter().map(line).collect()
    }

    #[test]
    fn ports_with_the_same_addresses_share_a_subset() {
        let service = |spec: serde_json::Value| -> Service {
            serde_json::from_value(json!({"metadata": {"name": "s"}, "spec": spec})).unwrap()
        };
        let pod = |n: &str, ready: bool, ports: serde_json::Value| -> Arc<Pod> {
            let ip = format!("10.0.0.{n}");
            let ready = if ready { "True" } else { "False" };
            let spec = json!({"containers": [{"name": "c", "ports": ports}]});
            let status =
                json!({"podIP": ip, "podIPs": [{"ip": ip}], "conditions": [{"type": "Ready", "status": ready}]});
            Arc::new(serde_json::from_value(json!({"metadata": {"name": n}, "spec": spec, "status": status})).unwrap())
        };
        let port = |name: &str, number: i32| json!({"name": name, "containerPort": number, "protocol": "TCP"});
        let (web, admin) = (port("web", 80), port("admin", 90));
        let both = json!({"clusterIP": "10.96.0.9", "ports": [
            {"name": "web", "port": 1, "targetPort": "web"}, {"name": "admin", "port": 2, "targetPort": "admin"}]});
        let pods = [pod("1", true, json!([web, admin])), pod("3", false, json!([web, admin]))];
        assert_eq!(lines(&subsets(&service(both.clone()), &pods)), ["90,80: 1 -3"]);
        let more = [pods.to_vec(), vec![pod("2", true, json!([web])), pod("4", true, json!([]))]].concat();
        assert_eq!(lines(&subsets(&service(both), &more)), ["90: 1 -3", "80: 1 2 -3"]);
        let headless = service(json!({"clusterIP": "None"}));
        assert_eq!(lines(&subsets(&headless, &more)), [": 1 2 4 -3"]);
    }

    #[test]
    fn a_thousand_addresses_are_the_most() {
        let list = |count: usize| {
            let address = |n: usize| EndpointAddress { ip: format!("ip{n}"), ..EndpointAddress::default() };
            Some((0..count).map(address).collect::<Vec<_>>())
        };
        let subset = |ready, waiting| EndpointSubset {
            addresses: list(ready),
            not_ready_addresses: list(waiting),
            ..EndpointSubset::default()
        };
        for (sizes, want) in [
            (vec![(600, 400)], vec![(600, 400)]),
            (vec![(600, 500)], vec![(600, 400)]),
            (vec![(900, 10), (300, 10)], vec![(750, 0), (250, 0)]),
            (vec![(10, 999), (10, 1)], vec![(10, 980), (10, 0)]),
        ] {
            let mut subsets: Vec<EndpointSubset> = sizes.iter().map(|(r, w)| subset(*r, *w)).collect();
            let cut = truncate(&mut subsets);
            let len = |list: &Option<Vec<EndpointAddress>>| list.as_ref().map_or(0, Vec::len);
            let got: Vec<_> = subsets.iter().map(|s| (len(&s.addresses), len(&s.not_ready_addresses))).collect();
            assert_eq!((got, cut), (want.clone(), sizes != want), "{sizes:?}");
        }
    }
}
