//! CoreDNS: the cluster's DNS server, with caches of its own.
//!
//! It runs as an ordinary Pod behind an ordinary Service, `kube-system/kube-dns` at 10.96.0.10. What makes it special is
//! that every Pod's `/etc/resolv.conf` names that address (the kubelet writes it there, see `dnsPolicy`). It sends no request
//! when a question comes: it watches Services, EndpointSlices and Namespaces, and answers from its caches. So a
//! name may be stale for as long as those caches are, and for as long as the client remembers the answer.
//!
//! - [`zone`]: what is answered.
//!
//! Left out: more than one replica (all Pods with the image answer from this one memory, and it survives them), TCP,
//! IPv6, zone transfer, `pods verified`, caching of what the world outside says, metrics and health ports.

use std::any::Any;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::kernel::dns::{Answer, Code, Question, RecordType};
use crate::kernel::{DnsQuery, DnsResponse};
use client::informer::RELIST;
use client::{Informer, Informers, Lister};
use engine::{Actor, ActorId, CallId, Delivery, Hub, Message, Note, RpcResult};
use object::well_known::SERVICE_NAME;
use object::{Accessor, Key, Kind, Object};
use wire::User;

pub mod zone;

use zone::{Endpoint, Known};

/// The ClusterIP of `kube-system/kube-dns`.
pub const CLUSTER_IP: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 10);
/// The index of Services by ClusterIP, and of EndpointSlices by the addresses in them.
const BY_ADDRESS: &str = "ip";
/// The index of EndpointSlices by Service: `namespace/name`.
const BY_SERVICE: &str = "service";

/// The server's process.
pub struct CoreDns {
    hub: Hub,
    actor: ActorId,
    informers: Informers,
    cache: Cache,
}

/// Its caches, as the zone sees them.
struct Cache {
    services: Lister<Service>,
    namespaces: Lister<Namespace>,
    slices: Lister<EndpointSlice>,
}

impl CoreDns {
    /// A server that has heard of nothing yet.
    pub fn new(hub: Hub, actor: ActorId) -> CoreDns {
        let user = Rc::new(User::service_account("kube-system", "coredns", "coredns"));
        let kinds = [Kind::Service, Kind::Namespace, Kind::EndpointSlice];
        let informers = Informers::of_kinds(&hub, actor, &user, kinds);
        informers.add_index::<Service>(BY_ADDRESS, cluster_ips);
        informers.add_index::<EndpointSlice>(BY_SERVICE, service_of);
        informers.add_index::<EndpointSlice>(BY_ADDRESS, endpoint_ips);
        let cache = Cache { services: informers.lister(), namespaces: informers.lister(), slices: informers.lister() };
        CoreDns { hub, actor, informers, cache }
    }

    /// Its informers.
    pub fn informers(&self) -> &[Informer] {
        &self.informers
    }

    fn answer(&self, question: &Question) -> Answer {
        if !self.informers.has_synced() {
            return Answer { code: Code::ServFail, records: Vec::new() };
        }
        let mut answer = zone::answer(question, &self.cache);
        self.shuffle(&mut answer);
        answer
    }

    /// `loadbalance`: addresses come in any order, so that clients which take the first one spread.
    fn shuffle(&self, answer: &mut Answer) {
        let is_address = |kind| kind == RecordType::A;
        let first = answer.records.iter().position(|record| is_address(record.kind)).unwrap_or(answer.records.len());
        let addresses = &mut answer.records[first..];
        for i in (1..addresses.len()).rev() {
            let j = self.hub.random(|random| random.below(i as u64 + 1)) as usize;
            addresses.swap(i, j);
        }
    }

    fn asked(&self, call: CallId, from: ActorId, question: &Question) {
        let answer = self.answer(question);
        self.hub.note(|| Note::Text {
            topic: "coredns",
            text: answer.encode(question).lines().next().unwrap_or_default().to_owned(),
        });
        let reply: RpcResult = Ok(Rc::new(DnsResponse(answer)) as Rc<dyn Message>);
        self.hub.reply(self.actor, from, call, "DNS query", reply);
    }
}

impl Actor for CoreDns {
    fn name(&self) -> &str {
        "coredns"
    }

    fn start(&self) {
        self.informers.start();
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => _ = self.informers.on_event(watch, event),
            Delivery::Wake { what: RELIST, key } => self.informers.relist(&key),
            Delivery::Rpc { call, from, message } => {
                let any: &dyn Any = &*message;
                if let Some(DnsQuery(question)) = any.downcast_ref::<DnsQuery>() {
                    self.asked(call, from, question);
                }
            }
            Delivery::Wake { .. } => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Known for Cache {
    fn service(&self, namespace: &str, name: &str) -> Option<Arc<Service>> {
        self.services.get(&Key::new(namespace, name))
    }

    fn has_namespace(&self, name: &str) -> bool {
        self.namespaces.get(&Key::new("", name)).is_some()
    }

    fn endpoints(&self, namespace: &str, service: &str) -> Vec<Endpoint> {
        let slices = self.slices.by_index(BY_SERVICE, &format!("{namespace}/{service}"));
        slices.iter().flat_map(|slice| ready(slice)).collect()
    }

    fn service_at(&self, address: Ipv4Addr) -> Option<Arc<Service>> {
        self.services.by_index(BY_ADDRESS, &address.to_string()).into_iter().next()
    }

    fn endpoints_at(&self, address: Ipv4Addr) -> Vec<(String, String, Endpoint)> {
        let of = |slice: &Arc<EndpointSlice>| {
            let endpoint = ready(slice).into_iter().find(|endpoint| endpoint.address == address)?;
            Some((slice.metadata.namespace.clone()?, service_name(slice)?.to_owned(), endpoint))
        };
        self.slices.by_index(BY_ADDRESS, &address.to_string()).iter().filter_map(of).collect()
    }
}

/// The endpoints of a slice that take requests. One that does not say is taken to be ready.
fn ready(slice: &EndpointSlice) -> Vec<Endpoint> {
    let port = |port: &k8s_openapi::api::discovery::v1::EndpointPort| {
        let protocol = port.protocol.as_deref().unwrap_or("TCP").to_ascii_lowercase();
        Some((port.name.clone().unwrap_or_default(), protocol, u16::try_from(port.port?).ok()?))
    };
    let ports: Vec<(String, String, u16)> = slice.ports.iter().flatten().filter_map(port).collect();
    let of = |endpoint: &k8s_openapi::api::discovery::v1::Endpoint| {
        let is_ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true);
        let address = endpoint.addresses.first().filter(|_| is_ready)?.parse().ok()?;
        Some(Endpoint { address, hostname: endpoint.hostname.clone(), ports: ports.clone() })
    };
    slice.endpoints.iter().flatten().filter_map(of).collect()
}

fn service_name(slice: &EndpointSlice) -> Option<&String> {
    slice.metadata.labels.as_ref()?.get(SERVICE_NAME)
}

fn service_of(object: &Object) -> Vec<String> {
    let Object::EndpointSlice(slice) = object else { return Vec::new() };
    let namespace = slice.metadata.namespace();
    service_name(slice).map(|name| format!("{namespace}/{name}")).into_iter().collect()
}

fn endpoint_ips(object: &Object) -> Vec<String> {
    let Object::EndpointSlice(slice) = object else { return Vec::new() };
    slice.endpoints.iter().flatten().flat_map(|endpoint| endpoint.addresses.clone()).collect()
}

fn cluster_ips(object: &Object) -> Vec<String> {
    match object {
        Object::Service(service) => service.spec.iter().filter_map(|spec| spec.cluster_ip.clone()).collect(),
        _ => Vec::new(),
    }
}
