//! What CoreDNS answers: a pure function of a question and what the caches hold.
//!
//! Mirrors `plugin/kubernetes/{kubernetes,parse,handler,reverse}.go` of CoreDNS, and the DNS specification of
//! Kubernetes.
//!
//! | question | answer |
//! |---|---|
//! | `web.default.svc.cluster.local` | the ClusterIP; of a headless Service the address of each ready endpoint |
//! | `_http._tcp.web.default.svc.cluster.local`, SRV | port and name; of a headless Service of each ready endpoint |
//! | `db-0.db.default.svc.cluster.local` | of a headless Service the endpoint with that hostname, or dashed address |
//! | a Service of type ExternalName | CNAME, and what the name leads to |
//! | `10-244-1-2.default.pod.cluster.local` | that address (`pods insecure`) |
//! | `10.0.96.10.in-addr.arpa`, PTR | the name of a ClusterIP or of an endpoint |
//! | `dns-version.cluster.local`, TXT | the version of the specification |
//! | anything else | what the world outside says |

use std::net::Ipv4Addr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort};

use crate::node::network::dns::{Answer, Code, Question, Record, RecordType};
use crate::node::network::fabric::EXAMPLE;

/// The zone.
pub const ZONE: &str = "cluster.local";
/// Seconds that an answer may be remembered: `ttl 30` of kubeadm's Corefile.
const TTL: u32 = 30;
/// Names that lead to names end after so many.
const CHAIN: usize = 8;

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
    /// The Service (namespace and name) that has this endpoint.
    fn endpoint_at(&self, address: Ipv4Addr) -> Option<(String, String, Endpoint)>;
}

/// Answers a question.
pub fn answer(question: &Question, known: &dyn Known) -> Answer {
    resolve(&question.name.to_ascii_lowercase(), question.kind, known, 0)
}

fn resolve(name: &str, kind: RecordType, known: &dyn Known, depth: usize) -> Answer {
    if let Some(address) = reversed(name) {
        return pointer(name, kind, address, known);
    }
    if name == ZONE {
        return no_data();
    }
    let Some(labels) = name.strip_suffix(ZONE).and_then(|rest| rest.strip_suffix('.')) else {
        return outside(name, kind);
    };
    let labels: Vec<&str> = labels.split('.').collect();
    match labels.as_slice() {
        ["dns-version"] => found(vec![record(name, RecordType::Txt, "1.1.0".into())], kind),
        ["svc" | "pod"] => no_data(),
        [namespace, "svc" | "pod"] => {
            if known.has_namespace(namespace) {
                no_data()
            } else {
                no_such_name()
            }
        }
        [dashed, namespace, "pod"] => pod(name, kind, dashed, namespace, known),
        [rest @ .., service, namespace, "svc"] => match known.service(namespace, service) {
            Some(there) => of_service(&Asked { name, kind, rest, namespace, service }, &there, known, depth),
            None => no_such_name(),
        },
        _ => no_such_name(),
    }
}

/// A question about a Service.
struct Asked<'a> {
    name: &'a str,
    kind: RecordType,
    /// The labels before the Service's.
    rest: &'a [&'a str],
    namespace: &'a str,
    service: &'a str,
}

impl Asked<'_> {
    /// The Service's own name.
    fn service_name(&self) -> String {
        format!("{}.{}.svc.{ZONE}", self.service, self.namespace)
    }
}

fn of_service(asked: &Asked<'_>, service: &Service, known: &dyn Known, depth: usize) -> Answer {
    let Some(spec) = &service.spec else { return no_such_name() };
    if let Some(target) = spec.external_name.as_deref().filter(|_| spec.type_.as_deref() == Some("ExternalName")) {
        return external(asked, target, known, depth);
    }
    let port = match asked.rest {
        [] => None,
        [port, protocol] if port.starts_with('_') && protocol.starts_with('_') => Some((&port[1..], &protocol[1..])),
        [_] if is_headless(service) => None,
        _ => return no_such_name(),
    };
    if is_headless(service) {
        return headless(asked, port, known);
    }
    let Some(address) = spec.cluster_ip.as_deref().and_then(|ip| ip.parse::<Ipv4Addr>().ok()) else {
        return no_such_name();
    };
    let ports: Vec<&ServicePort> = spec.ports.iter().flatten().filter(|there| fits(there, port)).collect();
    if port.is_some() && ports.is_empty() {
        return no_such_name();
    }
    if asked.kind != RecordType::Srv {
        return found(vec![record(asked.name, RecordType::A, address.to_string())], asked.kind);
    }
    let target = asked.service_name();
    let weight = 100 / ports.len().max(1);
    let srv =
        ports.iter().map(|port| record(asked.name, RecordType::Srv, format!("0 {weight} {} {target}", port.port)));
    let mut records: Vec<Record> = srv.collect();
    records.push(record(&target, RecordType::A, address.to_string()));
    Answer { code: Code::NoError, records }
}

fn is_headless(service: &Service) -> bool {
    service.spec.as_ref().is_some_and(|spec| spec.cluster_ip.as_deref() == Some("None"))
}

fn fits(there: &ServicePort, asked: Option<(&str, &str)>) -> bool {
    asked.is_none_or(|(name, protocol)| {
        there.name.as_deref() == Some(name) && there.protocol.as_deref().unwrap_or("TCP").eq_ignore_ascii_case(protocol)
    })
}

/// Without ready endpoints there is no such name.
fn headless(asked: &Asked<'_>, port: Option<(&str, &str)>, known: &dyn Known) -> Answer {
    let mut endpoints = known.endpoints(asked.namespace, asked.service);
    if let ([label], None) = (asked.rest, port) {
        endpoints.retain(|endpoint| endpoint.label() == *label);
    }
    if let Some((name, protocol)) = port {
        endpoints.iter_mut().for_each(|there| there.ports.retain(|(n, p, _)| n == name && p == protocol));
        endpoints.retain(|endpoint| !endpoint.ports.is_empty());
    }
    if endpoints.is_empty() {
        return no_such_name();
    }
    if asked.kind != RecordType::Srv {
        let of = |endpoint: &Endpoint| record(asked.name, RecordType::A, endpoint.address.to_string());
        return found(endpoints.iter().map(of).collect(), asked.kind);
    }
    let weight = 100 / endpoints.iter().map(|endpoint| endpoint.ports.len()).sum::<usize>().max(1);
    let mut records = Vec::new();
    for endpoint in &endpoints {
        let target = format!("{}.{}", endpoint.label(), asked.service_name());
        for (_, _, port) in &endpoint.ports {
            records.push(record(asked.name, RecordType::Srv, format!("0 {weight} {port} {target}")));
        }
    }
    for endpoint in &endpoints {
        let target = format!("{}.{}", endpoint.label(), asked.service_name());
        records.push(record(&target, RecordType::A, endpoint.address.to_string()));
    }
    Answer { code: Code::NoError, records }
}

/// The name is another's.
fn external(asked: &Asked<'_>, target: &str, known: &dyn Known, depth: usize) -> Answer {
    if !asked.rest.is_empty() {
        return no_such_name();
    }
    let target = target.trim_end_matches('.');
    let mut records = vec![record(asked.name, RecordType::Cname, target.to_owned())];
    if asked.kind != RecordType::Cname && depth < CHAIN {
        records.extend(resolve(&target.to_ascii_lowercase(), asked.kind, known, depth + 1).records);
    }
    Answer { code: Code::NoError, records }
}

/// `pods insecure`: the address is in the name, and nobody looks whether there is such a Pod.
fn pod(name: &str, kind: RecordType, dashed: &str, namespace: &str, known: &dyn Known) -> Answer {
    match dashed.replace('-', ".").parse::<Ipv4Addr>() {
        Ok(address) if known.has_namespace(namespace) => {
            found(vec![record(name, RecordType::A, address.to_string())], kind)
        }
        _ => no_such_name(),
    }
}

/// The address in `10.0.96.10.in-addr.arpa`.
fn reversed(name: &str) -> Option<Ipv4Addr> {
    let digits: Vec<&str> = name.strip_suffix(".in-addr.arpa")?.split('.').rev().collect();
    digits.join(".").parse().ok()
}

fn pointer(name: &str, kind: RecordType, address: Ipv4Addr, known: &dyn Known) -> Answer {
    let of_service = known.service_at(address).and_then(|service| {
        let (namespace, name) = (service.metadata.namespace.as_ref()?, service.metadata.name.as_ref()?);
        Some(format!("{name}.{namespace}.svc.{ZONE}"))
    });
    let target = of_service.or_else(|| {
        let (namespace, service, endpoint) = known.endpoint_at(address)?;
        Some(format!("{}.{service}.{namespace}.svc.{ZONE}", endpoint.label()))
    });
    match target {
        Some(target) => found(vec![record(name, RecordType::Ptr, target)], kind),
        None => no_such_name(),
    }
}

/// `forward . /etc/resolv.conf`: the world outside has one name.
fn outside(name: &str, kind: RecordType) -> Answer {
    let (known, address) = EXAMPLE;
    if name == known { found(vec![record(name, RecordType::A, address.to_string())], kind) } else { no_such_name() }
}

/// The records of the type asked for; the name exists in any case.
fn found(records: Vec<Record>, kind: RecordType) -> Answer {
    Answer { code: Code::NoError, records: records.into_iter().filter(|record| record.kind == kind).collect() }
}

fn record(name: &str, kind: RecordType, value: String) -> Record {
    Record { name: name.to_owned(), ttl: TTL, kind, value }
}

fn no_data() -> Answer {
    Answer::default()
}

fn no_such_name() -> Answer {
    Answer { code: Code::NxDomain, records: Vec::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Services web (10.96.0.20), db (headless), none (headless, nothing ready), docs (example.com), alias (web).
    struct Cluster;

    fn service(name: &str, spec: serde_json::Value) -> Arc<Service> {
        let object = json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    impl Known for Cluster {
        fn service(&self, namespace: &str, name: &str) -> Option<Arc<Service>> {
            let http = json!([{"name": "http", "port": 80, "protocol": "TCP"}]);
            let external = |target: &str| json!({"type": "ExternalName", "externalName": target});
            let spec = match (namespace, name) {
                ("default", "web") => json!({"clusterIP": "10.96.0.20", "ports": http}),
                ("default", "db" | "none") => json!({"clusterIP": "None", "ports": http}),
                ("default", "docs") => external("example.com"),
                ("default", "alias") => external("web.default.svc.cluster.local"),
                ("default", "circle") => external("circle.default.svc.cluster.local"),
                _ => return None,
            };
            Some(service(name, spec))
        }

        fn has_namespace(&self, name: &str) -> bool {
            name == "default"
        }

        fn endpoints(&self, _: &str, service: &str) -> Vec<Endpoint> {
            let ports = vec![("http".to_owned(), "tcp".to_owned(), 8080)];
            let endpoint = |address: [u8; 4], hostname: Option<&str>| Endpoint {
                address: address.into(),
                hostname: hostname.map(str::to_owned),
                ports: ports.clone(),
            };
            match service {
                "db" => vec![endpoint([10, 244, 0, 5], Some("db-0")), endpoint([10, 244, 1, 6], None)],
                _ => Vec::new(),
            }
        }

        fn service_at(&self, address: Ipv4Addr) -> Option<Arc<Service>> {
            self.service("default", "web").filter(|_| address == Ipv4Addr::new(10, 96, 0, 20))
        }

        fn endpoint_at(&self, address: Ipv4Addr) -> Option<(String, String, Endpoint)> {
            let endpoint = self.endpoints("default", "db").into_iter().find(|there| there.address == address)?;
            Some(("default".into(), "db".into(), endpoint))
        }
    }

    #[test]
    fn the_specification_is_kept() {
        use RecordType::{A, Aaaa, Cname, Ptr, Srv, Txt};
        let at = |name: &str| format!("{name}.default.svc.cluster.local");
        for (name, kind, expected) in [
            (at("web"), A, "NOERROR 10.96.0.20"),
            (at("WEB"), A, "NOERROR 10.96.0.20"),
            (at("web"), Aaaa, "NOERROR"),
            (at("nope"), A, "NXDOMAIN"),
            ("web.nowhere.svc.cluster.local".into(), A, "NXDOMAIN"),
            (at("_http._tcp.web"), Srv, "NOERROR 0 100 80 web.default.svc.cluster.local|10.96.0.20"),
            (at("_https._tcp.web"), Srv, "NXDOMAIN"),
            (at("_http._udp.web"), Srv, "NXDOMAIN"),
            (at("pod-1.web"), A, "NXDOMAIN"),
            (at("db"), A, "NOERROR 10.244.0.5|10.244.1.6"),
            (at("db-0.db"), A, "NOERROR 10.244.0.5"),
            (at("10-244-1-6.db"), A, "NOERROR 10.244.1.6"),
            (at("10-244-0-5.db"), A, "NXDOMAIN"),
            (
                at("_http._tcp.db"),
                Srv,
                "NOERROR 0 50 8080 db-0.db.default.svc.cluster.local|\
                 0 50 8080 10-244-1-6.db.default.svc.cluster.local|10.244.0.5|10.244.1.6",
            ),
            (at("none"), A, "NXDOMAIN"),
            (at("docs"), A, "NOERROR example.com|203.0.113.80"),
            (at("docs"), Cname, "NOERROR example.com"),
            (at("alias"), A, "NOERROR web.default.svc.cluster.local|10.96.0.20"),
            ("default.svc.cluster.local".into(), A, "NOERROR"),
            ("nowhere.svc.cluster.local".into(), A, "NXDOMAIN"),
            ("10-244-3-4.default.pod.cluster.local".into(), A, "NOERROR 10.244.3.4"),
            ("web.default.pod.cluster.local".into(), A, "NXDOMAIN"),
            ("20.0.96.10.in-addr.arpa".into(), Ptr, "NOERROR web.default.svc.cluster.local"),
            ("5.0.244.10.in-addr.arpa".into(), Ptr, "NOERROR db-0.db.default.svc.cluster.local"),
            ("9.9.9.10.in-addr.arpa".into(), Ptr, "NXDOMAIN"),
            ("dns-version.cluster.local".into(), Txt, "NOERROR 1.1.0"),
            ("example.com".into(), A, "NOERROR 203.0.113.80"),
            ("example.com.default.svc.cluster.local".into(), A, "NXDOMAIN"),
            ("web".into(), A, "NXDOMAIN"),
        ] {
            let answer = answer(&Question { name: name.clone(), kind }, &Cluster);
            let values: Vec<&str> = answer.records.iter().map(|record| record.value.as_str()).collect();
            let text = format!("{} {}", answer.code.as_str(), values.join("|"));
            assert_eq!(text.trim_end(), expected, "{} {name}", kind.as_str());
        }
    }

    #[test]
    fn names_in_a_circle_end() {
        let name = "circle.default.svc.cluster.local".to_owned();
        let answer = answer(&Question { name, kind: RecordType::A }, &Cluster);
        assert_eq!(answer.records.len(), CHAIN + 1);
        assert!(answer.addresses().is_empty());
    }
}
