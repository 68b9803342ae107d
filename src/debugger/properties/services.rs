//! What must hold of Services: whom they send connections to.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::{Property, node_of, stored};
use apiserver::host::Engine;
use engine::{Note, Step};
use kubelet::cri::ContainerState;
use kubelet::runtime::Runtime;
use network::host::Host;
use network::kernel::KernelActor;
use network::netfilter::{Cidr, ConnectionId, Protocol};
use network::proxy::runner::MIN_SYNC_PERIOD;
use object::pod::is_ready;
use object::reader::Reader;
use object::time::Instant;
use object::well_known::SERVICE_NAME;
use object::{Accessor, Key, Kind, Object, Pod};

/// Where an endpoint that a slice calls ready is said to be, a process listens. Looked at when the slice is written,
/// unless the news that it is over is on its way; and of all slices when all is quiet.
#[derive(Clone)]
pub(super) struct ReadyAnswers;

impl Property for ReadyAnswers {
    fn name(&self) -> &'static str {
        "a ready endpoint answers"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for (_, old, new) in stored(step) {
            let Some(Object::EndpointSlice(slice)) = new else { continue };
            if publishes_all(engine, slice) {
                continue;
            }
            let before = match old {
                Some(Object::EndpointSlice(old)) => ready(old).flat_map(|endpoint| &endpoint.addresses).collect(),
                _ => Vec::new(),
            };
            let fresh = ready(slice).filter(|endpoint| !endpoint.addresses.iter().all(|there| before.contains(&there)));
            for endpoint in fresh {
                answers(engine, slice, endpoint, false)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, engine: &Engine) -> Result<(), String> {
        for (_, entry) in engine.server.api.store.prefix("/registry/endpointslices/") {
            let Object::EndpointSlice(slice) = &entry.value else { continue };
            for endpoint in ready(slice).filter(|_| !publishes_all(engine, slice)) {
                answers(engine, slice, endpoint, true)?;
            }
        }
        Ok(())
    }
}

fn ready(slice: &EndpointSlice) -> impl Iterator<Item = &Endpoint> {
    let is_ready = |endpoint: &&Endpoint| endpoint.conditions.as_ref().is_some_and(|c| c.ready == Some(true));
    slice.endpoints.iter().flatten().filter(is_ready)
}

/// Whether the Pod behind an endpoint listens on the slice's ports, as far as it says that it has them. `quiet` is
/// whether all news has arrived.
fn answers(engine: &Engine, slice: &EndpointSlice, endpoint: &Endpoint, quiet: bool) -> Result<(), String> {
    let Some(target) = endpoint.target_ref.as_ref().filter(|target| target.kind.as_deref() == Some("Pod")) else {
        return Ok(());
    };
    let namespace = slice.metadata.namespace();
    let name = target.name.as_deref().unwrap_or_default();
    let broken = |why: &str| {
        let slice = slice.metadata.name();
        Err(format!("{slice} says that {name} is ready, which {why}"))
    };
    let stored = Reader::get(&engine.server.api.store, Kind::Pod, namespace, name);
    let Some(Object::Pod(pod)) = stored.filter(|pod| pod.meta().uid == target.uid) else {
        return if quiet { broken("is gone") } else { Ok(()) };
    };
    let node = node_of(&Object::Pod(pod.clone())).unwrap_or_default().to_owned();
    let (Some(host), Some(runtime)) = (host_of(engine, &node), runtime_of(engine, &node)) else { return Ok(()) };
    let going = pod.metadata.deletion_timestamp.is_some() || !is_ready(&pod);
    if going && !quiet {
        return Ok(());
    }
    let ports = slice.ports.iter().flatten().filter(|port| port.protocol.as_deref() == Some("TCP"));
    for port in ports.filter_map(|port| port.port) {
        let Some(container) = container_with(&pod, port) else { continue };
        let uid = pod.metadata.uid();
        let runs = runtime
            .with(|state| state.containers_of(uid))
            .into_iter()
            .any(|status| status.name == container && status.state == ContainerState::ContainerRunning);
        let listens = listens(&host, &pod, &endpoint.addresses, port);
        if !(listens || (!runs && !quiet)) {
            return broken(&format!("does not listen on {port} at {}", endpoint.addresses.join(", ")));
        }
    }
    Ok(())
}

/// The container that says it has this TCP port.
fn container_with(pod: &Pod, port: i32) -> Option<String> {
    let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let has = |container: &&k8s_openapi::api::core::v1::Container| {
        let mut ports = container.ports.iter().flatten();
        ports.any(|p| p.container_port == port && p.protocol.as_deref().is_none_or(|protocol| protocol == "TCP"))
    };
    containers.find(has).map(|container| container.name.clone())
}

/// The machine of a node that is on.
pub(super) fn host_of(engine: &Engine, node: &str) -> Option<Rc<Host>> {
    let kernel = engine.actor(engine.find(&format!("kernel/{node}"))?)?;
    kernel.as_any().downcast_ref::<KernelActor>().map(|kernel| kernel.host().clone())
}

fn runtime_of<'a>(engine: &'a Engine, node: &str) -> Option<&'a Runtime> {
    engine.actor(engine.find(&format!("containerd/{node}"))?)?.as_any().downcast_ref()
}

/// Whether one of the Pod's namespaces has one of these addresses, and a process there listens on the port.
fn listens(host: &Host, pod: &Pod, addresses: &[String], port: i32) -> bool {
    let (sockets, network) = (host.sockets.borrow(), host.network.borrow());
    let Ok(port) = u16::try_from(port) else { return false };
    if pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true)) {
        return sockets.listener("", Protocol::Tcp, port).is_some();
    }
    let pod = Key::of_meta(&pod.metadata).to_string();
    let own = sockets.owners.iter().filter(|(_, owner)| owner.pod == pod).map(|(path, _)| path);
    own.into_iter().any(|path| {
        let links = network.named.get(path).into_iter().flat_map(|namespace| namespace.links.values());
        let mut here = links.flat_map(|link| &link.addresses).map(|there| there.address.to_string());
        here.any(|there| addresses.contains(&there)) && sockets.listener(path, Protocol::Tcp, port).is_some()
    })
}

/// The rules follow a change that has reached the proxy, but not within this time of those before.
const RULES_FOLLOW: Duration = MIN_SYNC_PERIOD.saturating_add(Duration::from_millis(100));

/// Once a node's proxy has heard that an address is no endpoint any more, and has had the time to write that down, no
/// Service there leads to it.
#[derive(Clone, Default)]
pub(super) struct NoneToTheGone {
    /// The slices of each Service, as the proxy of a node knows them, and the addresses to which it may lead.
    known: BTreeMap<(String, Key), Known>,
    /// How many Services lead to an address, by node; none: it is not there.
    led_to: BTreeMap<(String, Ipv4Addr), usize>,
    /// Addresses to which some Service led, by node, and since when none does.
    gone: BTreeMap<(String, Ipv4Addr), Instant>,
    /// The newest connection of each node's kernel that was looked at.
    seen: BTreeMap<String, ConnectionId>,
}

#[derive(Clone, Default)]
struct Known {
    slices: BTreeMap<Key, Arc<EndpointSlice>>,
    usable: BTreeSet<Ipv4Addr>,
}

impl Property for NoneToTheGone {
    fn name(&self) -> &'static str {
        "a deleted Pod gets no new connection once the proxy knows"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for note in &step.notes {
            let Note::Cache { actor, kind: Kind::EndpointSlice, key, old, new } = note else { continue };
            let Some(node) = engine.name(*actor).strip_prefix("kube-proxy/") else { continue };
            if let Some(Object::EndpointSlice(slice)) = new.as_ref().or(old.as_ref()) {
                self.heard(engine, node, key, slice, new.is_some(), step.time);
            }
        }
        match engine.actor(step.event.to).map(|actor| actor.name()).and_then(|name| name.strip_prefix("kernel/")) {
            Some(node) if !self.known.is_empty() => self.look(engine, node, step.time),
            _ => Ok(()),
        }
    }
}

impl NoneToTheGone {
    fn heard(&mut self, engine: &Engine, node: &str, key: &Key, slice: &Arc<EndpointSlice>, there: bool, now: Instant) {
        let Some(service) = service_name(slice) else { return };
        let service = Key::new(key.namespace(), service);
        let known = self.known.entry((node.to_owned(), service.clone())).or_default();
        match there {
            true => known.slices.insert(key.clone(), slice.clone()),
            false => known.slices.remove(key),
        };
        let usable = usable(known.slices.values(), is_local(engine, &service));
        let before = std::mem::replace(&mut known.usable, usable.clone());
        for address in usable.difference(&before) {
            let there = (node.to_owned(), *address);
            self.gone.remove(&there);
            *self.led_to.entry(there).or_default() += 1;
        }
        for address in before.difference(&usable) {
            let there = (node.to_owned(), *address);
            match self.led_to.get_mut(&there) {
                Some(services) if *services > 1 => *services -= 1,
                _ => {
                    self.led_to.remove(&there);
                    self.gone.entry(there).or_insert(now);
                }
            }
        }
    }

    /// The connections that are new since the last look.
    fn look(&mut self, engine: &Engine, node: &str, now: Instant) -> Result<(), String> {
        let Some(host) = host_of(engine, node) else { return Ok(()) };
        let last = self.seen.get(node).copied();
        let network = host.network.borrow();
        for (id, connection) in network.root.netfilter.conntrack.connections_after(last) {
            self.seen.insert(node.to_owned(), id);
            let target = connection.reply.source;
            let since = self.gone.get(&(node.to_owned(), target));
            if connection.has_dnat()
                && since.is_some_and(|since| *since + RULES_FOLLOW < now)
                && is_of_a_service(engine, connection.original.destination, connection.original.destination_port)
            {
                let asked = connection.original.destination;
                return Err(format!("{node} sent a connection for {asked} to {target}, which is no endpoint any more"));
            }
        }
        Ok(())
    }
}

/// A ClusterIP, or a node port.
fn is_of_a_service(engine: &Engine, address: Ipv4Addr, port: u16) -> bool {
    let range = Reader::get(&engine.server.api.store, Kind::ServiceCIDR, "", "kubernetes");
    let Some(Object::ServiceCIDR(range)) = range else { return false };
    let mut ranges = range.spec.iter().flat_map(|spec| spec.cidrs.iter().flatten());
    let is_cluster_ip = ranges.any(|range| range.parse().is_ok_and(|range: Cidr| range.contains(address)));
    is_cluster_ip || (30_000..=32_767).contains(&port)
}

/// The addresses to which a Service may lead: those that are ready; and one that still serves as it goes, if there is no
/// ready one, or none on the same node where connections stay on the node.
fn usable<'a>(slices: impl Iterator<Item = &'a Arc<EndpointSlice>>, local: bool) -> BTreeSet<Ipv4Addr> {
    let endpoints: Vec<&Endpoint> = slices.flat_map(|slice| slice.endpoints.iter().flatten()).collect();
    let is_ready = |endpoint: &Endpoint| endpoint.conditions.as_ref().is_none_or(|c| c.ready != Some(false));
    let serves = |endpoint: &Endpoint| {
        let conditions = endpoint.conditions.as_ref();
        conditions.is_some_and(|c| c.serving != Some(false) && c.terminating == Some(true))
    };
    let replaced = |going: &Endpoint| {
        endpoints.iter().any(|other| is_ready(other) && (!local || other.node_name == going.node_name))
    };
    let may = endpoints.iter().filter(|endpoint| is_ready(endpoint) || (serves(endpoint) && !replaced(endpoint)));
    may.flat_map(|endpoint| &endpoint.addresses).filter_map(|address| address.parse().ok()).collect()
}

/// Whether some connections to the Service stay on the node they come from, or come to.
fn is_local(engine: &Engine, service: &Key) -> bool {
    let stored = Reader::get(&engine.server.api.store, Kind::Service, service.namespace(), service.name());
    let Some(Object::Service(service)) = stored else { return false };
    let local = |policy: &Option<String>| policy.as_deref() == Some("Local");
    service.spec.as_ref().is_some_and(|s| local(&s.internal_traffic_policy) || local(&s.external_traffic_policy))
}

fn service_name(slice: &EndpointSlice) -> Option<&str> {
    let labels = slice.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(SERVICE_NAME)).map(String::as_str)
}

/// No connection is sent to a Pod before it has been ready once.
#[derive(Clone, Default)]
pub(super) struct ReadyBeforeListed {
    /// Uids of Pods that have been ready.
    ready: BTreeSet<String>,
}

impl Property for ReadyBeforeListed {
    fn name(&self) -> &'static str {
        "a slice's endpoint is ready only after its Pod"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for object in stored(step).filter_map(|(_, _, new)| new) {
            match object {
                Object::Pod(pod) if is_ready(pod) => self.ready.extend(pod.metadata.uid.clone()),
                Object::EndpointSlice(slice) if !publishes_all(engine, slice) => {
                    let targets = ready(slice).filter_map(|endpoint| endpoint.target_ref.as_ref());
                    for target in targets.filter(|target| target.kind.as_deref() == Some("Pod")) {
                        if !target.uid.as_ref().is_some_and(|uid| self.ready.contains(uid)) {
                            let pod = target.name.as_deref().unwrap_or_default();
                            return Err(format!("{} says that {pod} is ready, which it never was", object.name()));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether the slice's Service publishes Pods that are not ready.
fn publishes_all(engine: &Engine, slice: &EndpointSlice) -> bool {
    let namespace = slice.metadata.namespace();
    match Reader::get(&engine.server.api.store, Kind::Service, namespace, service_name(slice).unwrap_or_default()) {
        Some(Object::Service(service)) => {
            service.spec.as_ref().is_some_and(|spec| spec.publish_not_ready_addresses == Some(true))
        }
        _ => false,
    }
}
