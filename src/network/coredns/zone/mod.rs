//! What CoreDNS answers: a pure function of a question and what the caches hold.
//!
//! Mirrors `plugin/kubernetes/{kubernetes,parse,handler,reverse}.go` of CoreDNS, and the DNS specification of
//! Kubernetes.
//!
//! | question | answer |
//! |---|---|
//! | `web.default.svc.cluster.local` | the ClusterIP; of a headless Service the address of each ready endpoint |
//! | `_http._tcp.web.default.svc.cluster.local`, SRV | port and name; of a headless Service of each ready endpoint |
//! | `db-0.db.default.svc.cluster.local` | of any Service the ready endpoint with that hostname, or dashed address |
//! | a Service of type ExternalName | CNAME, and what the name leads to, if that is anything |
//! | `10-244-1-2.default.pod.cluster.local` | that address (`pods insecure`) |
//! | `10.0.96.10.in-addr.arpa`, PTR | the name of a ClusterIP, or those that an endpoint has in its Services |
//! | `dns-version.cluster.local`, TXT | the version of the specification |
//! | anything else | what the world outside says |

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort};

use crate::kernel::dns::{Answer, Code, Question, Record, RecordType};
use crate::kernel::fabric::EXAMPLE;

/// The zone.
pub const ZONE: &str = "cluster.local";
/// Seconds that an answer may be remembered: `ttl 30` of kubeadm's Corefile.
const TTL: u32 = 30;
/// The same for the version of the specification.
const VERSION_TTL: u32 = 28_800;
/// Names that lead to names end after so many.
const CHAIN: usize = 10;

/// One ready endpoint of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address.
    pub address: Ipv4Addr,
    /// Its hostname, if it has one.
    pub hostname: Option<String>,
    /// Its ports: name, protocol in lower case, number.
    pub ports: Vec<(String, String, u16)>,
}

impl Endpoint {
    /// The label under which it is found: its hostname, else its address with dashes.
    fn label(&self) -> String {
        self.hostname.clone().unwrap_or_else(|| self.address.to_string().replace('.', "-"))
    }
}

/// What the caches hold.
pub trait Known {
    /// A Service.
    fn service(&self, namespace: &str, name: &str) -> Option<Arc<Service>>;
    /// Whether there is such a namespace.
    fn has_namespace(&self, name: &str) -> bool;
    /// The ready endpoints of a Service.
    fn endpoints(&self, namespace: &str, service: &str) -> Vec<Endpoint>;
    /// The Service with this ClusterIP.
    fn service_at(&self, address: Ipv4Addr) -> Option<Arc<Service>>;
    /// The Services (namespace and name) that have an endpoint with this address.
    fn endpoints_at(&self, address: Ipv4Addr) -> Vec<(String, String, Endpoint)>;
}

/// Answers a question.
pub fn answer(question: &Question, known: &dyn Known) -> Answer {
    let (name, kind) = (question.name.to_ascii_lowercase(), question.kind);
    if let Some(address) = reversed(&name) {
        return if kind == RecordType::Ptr { pointer(&name, address, known) } else { no_such_name() };
    }
    if !is_ours(&name) {
        return outside(&name, kind);
    }
    match records(&name, kind, known) {
        Ok(records) => Answer { code: Code::NoError, records },
        Err(NoSuchName) => no_such_name(),
    }
}

fn is_ours(name: &str) -> bool {
    name.strip_suffix(ZONE).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The zone has no such name; one that has nothing of the type asked for is there all the same.
struct NoSuchName;

/// Where a name leads. Mirrors `msg.Service`.
struct Found {
    to: Target,
    /// Where something listens; None if no port is declared.
    port: Option<u16>,
    /// The name of exactly this.
    own_name: String,
}

enum Target {
    Address(Ipv4Addr),
    Name(String),
}

fn records(name: &str, kind: RecordType, known: &dyn Known) -> Result<Vec<Record>, NoSuchName> {
    match kind {
        RecordType::A | RecordType::Aaaa => addresses(name, kind, known, &mut Vec::new()),
        RecordType::Txt => texts(name, known),
        RecordType::Cname => {
            let first = lookup(name, known)?.into_iter().next();
            Ok(first.and_then(|first| cname(name, first.to)).into_iter().collect())
        }
        RecordType::Srv => Ok(services(name, lookup(name, known)?)),
        RecordType::Ptr => lookup(name, known).map(|_| Vec::new()),
    }
}

/// The addresses of a name, and on the way to them other names. One in the zone that leads to nothing is not told of.
/// Mirrors `plugin.A`.
fn addresses(
    name: &str,
    kind: RecordType,
    known: &dyn Known,
    seen: &mut Vec<String>,
) -> Result<Vec<Record>, NoSuchName> {
    let mut records: Vec<Record> = Vec::new();
    for found in lookup(name, known)? {
        match found.to {
            Target::Address(address) => {
                let record = record(name, RecordType::A, address.to_string());
                if kind == RecordType::A && !records.contains(&record) {
                    records.push(record);
                }
            }
            Target::Name(target) if target == name || seen.len() > CHAIN || seen.contains(&target) => {}
            Target::Name(target) if is_ours(&target) => {
                seen.push(target.clone());
                let next = addresses(&target, kind, known, seen).unwrap_or_default();
                seen.pop();
                if !next.is_empty() {
                    records.push(record(name, RecordType::Cname, target));
                    records.extend(next);
                }
            }
            Target::Name(target) => {
                let next = outside(&target, kind).records;
                records.push(record(name, RecordType::Cname, target));
                records.extend(next);
            }
        }
    }
    Ok(records)
}

/// The only text is the version of the specification; names that lead somewhere have none.
fn texts(name: &str, known: &dyn Known) -> Result<Vec<Record>, NoSuchName> {
    if name.strip_suffix(ZONE) == Some("dns-version.") {
        return Ok(vec![Record { ttl: VERSION_TTL, ..record(name, RecordType::Txt, "1.1.0".into()) }]);
    }
    if lookup(name, known)?.is_empty() { Err(NoSuchName) } else { Ok(Vec::new()) }
}

fn cname(name: &str, to: Target) -> Option<Record> {
    match to {
        Target::Name(target) => Some(record(name, RecordType::Cname, target)),
        Target::Address(_) => None,
    }
}

/// Ports and the names of who listens there, and then their addresses. Mirrors `plugin.SRV`.
fn services(name: &str, found: Vec<Found>) -> Vec<Record> {
    let listening = found.iter().filter_map(|found| match &found.to {
        Target::Address(address) => Some((found, *address)),
        Target::Name(_) => None,
    });
    let weight = (100 / listening.clone().count().max(1)).max(1);
    let (mut ports, mut addresses) = (Vec::new(), Vec::new());
    for (found, address) in listening {
        let Some(port) = found.port else { continue };
        let srv = record(name, RecordType::Srv, format!("0 {weight} {port} {}", found.own_name));
        let its_address = record(&found.own_name, RecordType::A, address.to_string());
        for (records, record) in [(&mut ports, srv), (&mut addresses, its_address)] {
            if !records.contains(&record) {
                records.push(record);
            }
        }
    }
    ports.append(&mut addresses);
    ports
}

/// What the zone has at a name. Mirrors `parseRequest` and `Records`.
fn lookup(name: &str, known: &dyn Known) -> Result<Vec<Found>, NoSuchName> {
    let labels = name.strip_suffix(ZONE).unwrap_or_default().trim_end_matches('.');
    let labels: Vec<&str> = labels.split('.').filter(|label| !label.is_empty()).collect();
    let (rest, namespace, what) = match labels.as_slice() {
        [] | ["svc" | "pod"] => return Ok(Vec::new()),
        ["ns", "dns"] => return Ok(of_the_server(name, known)),
        [rest @ .., namespace, what @ ("svc" | "pod")] => (rest, namespace, what),
        _ => return Err(NoSuchName),
    };
    if rest.len() > 3 || !known.has_namespace(namespace) {
        return Err(NoSuchName);
    }
    let [more @ .., first] = rest else { return Ok(Vec::new()) };
    if *what == "pod" {
        return pod(name, first).ok_or(NoSuchName);
    }
    let service = known.service(namespace, first).ok_or(NoSuchName)?;
    let request = RecordRequest { service_name: format!("{first}.{namespace}.svc.{ZONE}"), more };
    let found = match request.of_service(&service) {
        Some(found) => found,
        None => request.of_endpoints(&known.endpoints(namespace, first)),
    };
    if found.is_empty() { Err(NoSuchName) } else { Ok(found) }
}

/// A question about a Service.
struct RecordRequest<'a> {
    service_name: String,
    /// The labels before the Service's: none, an endpoint's, or those of a port and a protocol.
    more: &'a [&'a str],
}

impl RecordRequest<'_> {
    fn endpoint(&self) -> Option<&str> {
        match self.more {
            [endpoint] => Some(endpoint),
            _ => None,
        }
    }

    /// Whether it is a question about this port. The underscores of `_http._tcp` are not insisted on.
    fn fits(&self, name: &str, protocol: &str) -> bool {
        let plain = |label: &&'_ str| label.strip_prefix('_').unwrap_or(label).to_owned();
        match self.more {
            [port, speaks] => {
                let matches = |label: String, there: &str| label.is_empty() || label.eq_ignore_ascii_case(there);
                matches(plain(port), name) && matches(plain(speaks), protocol)
            }
            _ => true,
        }
    }

    /// What the Service itself says; None if it is its endpoints that have to be asked.
    fn of_service(&self, service: &Service) -> Option<Vec<Found>> {
        let spec = service.spec.as_ref()?;
        if spec.type_.as_deref() == Some("ExternalName") {
            let target = spec.external_name.as_deref().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
            let is_name = target.parse::<Ipv4Addr>().is_err();
            let own_name = self.service_name.clone();
            let found = Found { to: Target::Name(target), port: None, own_name };
            return Some((is_name && self.more.is_empty()).then_some(found).into_iter().collect());
        }
        let address = spec.cluster_ip.as_deref().and_then(|ip| ip.parse().ok());
        let address: Ipv4Addr = address.filter(|_| self.endpoint().is_none())?;
        let ports = spec.ports.iter().flatten();
        let fitting = ports.filter(|port| {
            self.fits(port.name.as_deref().unwrap_or_default(), port.protocol.as_deref().unwrap_or("TCP"))
        });
        let found = |port: &ServicePort| Found {
            to: Target::Address(address),
            port: u16::try_from(port.port).ok(),
            own_name: self.service_name.clone(),
        };
        Some(fitting.map(found).collect())
    }

    /// All those that are ready; or the one of that name, be the Service headless or not.
    fn of_endpoints(&self, endpoints: &[Endpoint]) -> Vec<Found> {
        let wanted = |there: &&Endpoint| self.endpoint().is_none_or(|label| there.label().eq_ignore_ascii_case(label));
        let mut all = Vec::new();
        for endpoint in endpoints.iter().filter(wanted) {
            let own_name = format!("{}.{}", endpoint.label(), self.service_name);
            let found = |port| Found { to: Target::Address(endpoint.address), port, own_name: own_name.clone() };
            if endpoint.ports.is_empty() && self.fits("", "") {
                all.push(found(None));
            }
            let ports = endpoint.ports.iter().filter(|(name, protocol, _)| self.fits(name, protocol));
            all.extend(ports.map(|(_, _, port)| found(Some(*port))));
        }
        all
    }
}

/// `ns.dns` is what the zone calls its own server.
fn of_the_server(name: &str, known: &dyn Known) -> Vec<Found> {
    let service = known.service("kube-system", "kube-dns");
    let address = service.and_then(|service| service.spec.as_ref()?.cluster_ip.as_deref()?.parse().ok());
    let found = |address| Found { to: Target::Address(address), port: None, own_name: name.to_owned() };
    address.map(found).into_iter().collect()
}

/// `pods insecure`: the address is in the name, and the server does not check whether there is such a Pod.
fn pod(name: &str, dashed: &str) -> Option<Vec<Found>> {
    let address = dashed.replace('-', ".").parse().ok()?;
    Some(vec![Found { to: Target::Address(address), port: None, own_name: name.to_owned() }])
}

/// The address in `10.0.96.10.in-addr.arpa`.
fn reversed(name: &str) -> Option<Ipv4Addr> {
    let digits: Vec<&str> = name.strip_suffix(".in-addr.arpa")?.split('.').rev().collect();
    digits.join(".").parse().ok()
}

/// The Service with that ClusterIP, or else all endpoints with that address.
fn pointer(name: &str, address: Ipv4Addr, known: &dyn Known) -> Answer {
    let of_service = known.service_at(address).and_then(|service| {
        let (namespace, name) = (service.metadata.namespace.as_ref()?, service.metadata.name.as_ref()?);
        Some(format!("{name}.{namespace}.svc.{ZONE}"))
    });
    // A real server gives them in no order; here those with a hostname of their own come first.
    let of_endpoint = |(namespace, service, endpoint): (String, String, Endpoint)| {
        (endpoint.hostname.is_none(), format!("{}.{service}.{namespace}.svc.{ZONE}", endpoint.label()))
    };
    let targets: BTreeSet<(bool, String)> = match of_service {
        Some(target) => [(false, target)].into(),
        None => known.endpoints_at(address).into_iter().map(of_endpoint).collect(),
    };
    if targets.is_empty() {
        return no_such_name();
    }
    let records = targets.into_iter().map(|(_, target)| record(name, RecordType::Ptr, target)).collect();
    Answer { code: Code::NoError, records }
}

/// `forward . /etc/resolv.conf`: the world outside has one name.
fn outside(name: &str, kind: RecordType) -> Answer {
    let (known, address) = EXAMPLE;
    if name != known {
        return no_such_name();
    }
    let address = (kind == RecordType::A).then(|| record(name, RecordType::A, address.to_string()));
    Answer { code: Code::NoError, records: address.into_iter().collect() }
}

fn record(name: &str, kind: RecordType, value: String) -> Record {
    Record { name: name.to_owned(), ttl: TTL, kind, value }
}

fn no_such_name() -> Answer {
    Answer { code: Code::NxDomain, records: Vec::new() }
}

#[cfg(test)]
mod tests;
