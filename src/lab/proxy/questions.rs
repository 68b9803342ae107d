//! Services, their slices and who visits them.

use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

use crate::making::{TIME, read};
use exercise::proxy::{Case, From, Visit};

/// One port and up to two endpoints, under all policies; then several ports and slices; then what seldom is.
pub(super) fn all() -> Vec<Case> {
    let mut all = Vec::new();
    for endpoints in endpoints() {
        let slices = vec![slice("a", "IPv4", &json!([port("http", 8080)]), &endpoints)];
        for policies in POLICIES {
            let service = service(&json!([service_port("http", "TCP", 80, 30080)]), policies);
            all.extend(visits(&[("TCP", 80, 30080)], "node-1").map(|visit| case(&service, &slices, visit)));
        }
    }
    for (ports, asked) in services() {
        for (policies, slices) in POLICIES.iter().flat_map(|one| several().into_iter().map(move |two| (one, two))) {
            let service = service(&ports, *policies);
            all.extend(visits(&asked, "node-1").map(|visit| case(&service, &slices, visit)));
        }
    }
    all.extend([from_any_node(), unsaid(), slices_of_all_sorts(), many_ports(), ports_alike()].into_iter().flatten());
    all
}

fn case(service: &Service, slices: &[EndpointSlice], visit: Visit) -> Case {
    Case { service: service.clone(), slices: slices.to_vec(), visit }
}

fn visit(from: From, protocol: &str, port: i32, node: &str) -> Visit {
    Visit { from, protocol: protocol.to_owned(), port, node: node.to_owned() }
}

/// From inside and from outside, for each of the ports.
fn visits(ports: &[Ports], node: &str) -> impl Iterator<Item = Visit> {
    ports.iter().flat_map(move |(protocol, port, node_port)| {
        [visit(From::Inside, protocol, *port, node), visit(From::Outside, protocol, *node_port, node)]
    })
}

/// A client of the Service that has one port, inside and outside.
fn both(node: &str) -> impl Iterator<Item = Visit> {
    visits(&[("TCP", 80, 30080)], node)
}

/// Internal and external, each Local or not.
const POLICIES: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

fn service(ports: &Value, (internal, external): (bool, bool)) -> Service {
    let policy = |local: bool| if local { "Local" } else { "Cluster" };
    let spec = json!({"type": "NodePort", "clusterIP": "10.96.0.9", "ports": ports,
        "internalTrafficPolicy": policy(internal), "externalTrafficPolicy": policy(external)});
    let meta = json!({"name": "web", "namespace": "default"});
    read(json!({"metadata": meta, "spec": spec}))
}

fn service_port(name: &str, protocol: &str, port: i32, node_port: i32) -> Value {
    json!({"name": name, "protocol": protocol, "port": port, "nodePort": node_port, "targetPort": "main"})
}

fn port(name: &str, number: i32) -> Value {
    json!({"name": name, "port": number, "protocol": "TCP"})
}

fn slice(name: &str, family: &str, ports: &Value, endpoints: &Value) -> EndpointSlice {
    let labels = json!({"kubernetes.io/service-name": "web"});
    let meta = json!({"name": format!("web-{name}"), "namespace": "default", "labels": labels});
    read(json!({"metadata": meta, "addressType": family, "ports": ports, "endpoints": endpoints}))
}

/// The conditions in which an endpoint can be.
fn conditions() -> [Value; 5] {
    let said = |ready: bool, serving: bool, terminating: bool| json!({"ready": ready, "serving": serving, "terminating": terminating});
    [said(true, true, false), json!({}), said(false, false, false), said(false, true, true), said(false, false, true)]
}

fn endpoint(address: &str, conditions: &Value, node: u8) -> Value {
    json!({"addresses": [address], "conditions": conditions, "nodeName": format!("node-{node}")})
}

/// No endpoint, each one, and each pair.
fn endpoints() -> Vec<Value> {
    let each = |address: &'static str| {
        conditions().into_iter().flat_map(move |one| [1, 2].map(|node| endpoint(address, &one, node)))
    };
    let one = each("10.244.1.2").map(|one| json!([one]));
    let two = each("10.244.1.2").flat_map(|one| each("10.244.2.3").map(move |two| json!([one, two])));
    [json!([])].into_iter().chain(one).chain(two).collect()
}

/// An endpoint on a node of any name, or of none.
fn at(last: u8, how: &Value, node: Option<&str>) -> Value {
    let mut one = endpoint(&format!("10.244.7.{last}"), how, 1);
    one["nodeName"] = json!(node);
    one
}

/// One port, of a Service under these policies.
fn http(policies: (bool, bool)) -> Service {
    service(&json!([service_port("http", "TCP", 80, 30080)]), policies)
}

/// Services that say less, and nodes of other names: a client may ask from any of them.
fn from_any_node() -> Vec<Case> {
    let policies = [Value::Null, json!("Cluster"), json!("Local")];
    let mut all = Vec::new();
    for endpoints in on_any_node() {
        let (slices, together) = (one_slice_each(&endpoints), one_slice(&endpoints));
        for (internal, external) in policies.iter().flat_map(|one| policies.iter().map(move |two| (one, two))) {
            for (n, node) in ["node-1", "node-12", "worker-a", "node-2"].into_iter().enumerate() {
                let mut service = http((false, false));
                if let Some(spec) = &mut service.spec {
                    says_more(spec, n);
                    spec.internal_traffic_policy = internal.as_str().map(str::to_owned);
                    spec.external_traffic_policy = external.as_str().map(str::to_owned);
                }
                let slices = if n % 2 == 0 { &slices } else { &together };
                all.extend(both(node).map(|visit| case(&service, slices, visit)));
            }
        }
    }
    all
}

fn on_any_node() -> Vec<Vec<Value>> {
    let [ready, unsaid, waiting, dying, gone] = conditions();
    // Of a Service that publishes addresses that are not ready.
    let serving = json!({"ready": false, "serving": true, "terminating": false});
    vec![
        vec![at(2, &ready, Some("node-1")), at(3, &ready, Some("node-12")), at(4, &unsaid, Some("worker-a"))],
        vec![at(2, &dying, Some("node-12")), at(3, &gone, Some("node-12")), at(4, &ready, None)],
        vec![at(2, &waiting, Some("node-1")), at(3, &serving, Some("node-1")), at(4, &dying, Some("worker-a"))],
        vec![at(2, &serving, Some("worker-a")), at(3, &serving, Some("node-12"))],
        vec![
            at(2, &ready, None),
            at(3, &dying, Some("node-12")),
            at(4, &dying, Some("worker-a")),
            at(5, &unsaid, Some("node-1")),
        ],
    ]
}

/// Slices come in any order, and there can be many.
fn one_slice_each(endpoints: &[Value]) -> Vec<EndpointSlice> {
    let ([ready, ..], http) = (conditions(), json!([port("http", 8080)]));
    let mut slices: Vec<EndpointSlice> =
        endpoints.iter().enumerate().map(|(n, one)| slice(&format!("{n}"), "IPv4", &http, &json!([one]))).collect();
    slices.push(slice("6", "IPv6", &http, &json!([endpoint("fd00::13", &ready, 1)])));
    if endpoints.len() < 4 {
        slices.push(slice("fqdn", "FQDN", &http, &json!([endpoint("web.example.com", &ready, 1)])));
    }
    slices
}

fn one_slice(endpoints: &[Value]) -> Vec<EndpointSlice> {
    vec![slice("all", "IPv4", &json!([port("http", 8080)]), &json!(endpoints))]
}

/// What is not said, and what a Service says that publishes addresses that are not ready. Pods in the node's network share
/// its address.
fn unsaid() -> Vec<Case> {
    let ([ready, ..], http_port) = (conditions(), json!([port("http", 8080)]));
    let mut all = Vec::new();
    for endpoints in that_say_less() {
        let other = slice("b", "IPv4", &json!([port("http", 8081)]), &json!([at(2, &ready, Some("node-1"))]));
        let none = [slice("c", "IPv4", &Value::Null, &endpoints), slice("d", "IPv4", &http_port, &Value::Null)];
        let slices = vec![slice("a", "IPv4", &http_port, &endpoints)];
        for slices in [slices.clone(), [slices.clone(), vec![other]].concat(), [slices, none.to_vec()].concat()] {
            for policies in [(false, false), (true, true)] {
                all.extend(both("node-1").map(|visit| case(&http(policies), &slices, visit)));
            }
        }
    }
    all
}

/// Endpoints with a condition that is missing, or unusual; many; and addresses that begin alike.
fn that_say_less() -> [Value; 13] {
    let [ready, _, waiting, dying, _] = conditions();
    let unready = json!({"ready": false, "serving": true});
    let going = json!({"ready": true, "serving": true, "terminating": true});
    let half = json!({"serving": true, "terminating": true});
    let silent = json!({"serving": false});
    let at = |last: u8, how: &Value| at(last, how, Some("node-1"));
    let many: Vec<Value> = (10..240).map(|last| at(last, &ready)).collect();
    [
        json!([at(2, &Value::Null)]),
        json!([at(2, &Value::Null), at(3, &waiting)]),
        json!([at(2, &unready)]),
        json!([at(2, &unready), at(3, &dying)]),
        json!([at(2, &going), at(3, &ready)]),
        json!([at(2, &going), at(3, &dying)]),
        json!([at(2, &half), at(3, &ready)]),
        json!([at(2, &silent), at(3, &ready), at(4, &waiting)]),
        json!([at(2, &json!({"ready": false, "terminating": true, "serving": false}))]),
        json!([at(2, &json!({"ready": false, "terminating": true}))]),
        json!(many),
        json!([at(20, &ready), at(2, &ready), at(21, &waiting)]),
        Value::Null,
    ]
}

/// On their way out, with sessions, in two slices or many, on nodes whose names end alike.
fn slices_of_all_sorts() -> Vec<Case> {
    let ([ready, ..], http_port) = (conditions(), json!([port("http", 8080)]));
    let since = || -> Time { read(json!(TIME)) };
    let two = json!([at(2, &ready, Some("node-1")), at(3, &ready, Some("my-node-1"))]);
    let pair = slice("p", "IPv4", &http_port, &two);
    let mut going = pair.clone();
    going.metadata.deletion_timestamp = Some(since());
    let lone = |n: u8| slice(&format!("{n}"), "IPv4", &http_port, &json!([at(20 + n, &ready, Some("node-1"))]));
    let mut all = Vec::new();
    for slices in [vec![going], vec![pair.clone(), pair.clone()], (0..9).map(lone).collect(), vec![pair]] {
        for (n, policies) in POLICIES.into_iter().enumerate() {
            let mut service = http(policies);
            service.metadata.deletion_timestamp = (n % 2 == 0).then(since);
            service.spec.iter_mut().for_each(|spec| spec.session_affinity = (n > 1).then(|| "ClientIP".to_owned()));
            all.extend(both("node-1").map(|visit| case(&service, &slices, visit)));
        }
    }
    all
}

fn many_ports() -> Vec<Case> {
    let [ready, ..] = conditions();
    let named = |n: i32| format!("port-{n}");
    let ports: Vec<Value> = (0..5).map(|n| port(&named(n), 8080 + n)).collect();
    let of_service: Vec<Value> = (0..5).map(|n| service_port(&named(n), "TCP", 80 + n, 30080 + n)).collect();
    let slices = [slice("m", "IPv4", &json!(ports), &json!([at(2, &ready, Some("node-1"))]))];
    let service = service(&json!(of_service), (false, false));
    let asked: Vec<Ports> = (0..5).map(|n| ("TCP", 80 + n, 30080 + n)).collect();
    visits(&asked, "node-1").map(|visit| case(&service, &slices, visit)).collect()
}

/// A Service without a node port, and ones whose ports differ in the protocol only or begin alike.
fn ports_alike() -> Vec<Case> {
    let [ready, ..] = conditions();
    let inside = json!([{"name": "http", "port": 80}, {"name": "http-2", "port": 8080, "protocol": "TCP"},
        {"name": "dns", "port": 80, "protocol": "UDP"}, {"name": "calls", "port": 80, "protocol": "SCTP"}]);
    let ports = json!([port("http-2", 8081), port("http", 8080), {"name": "dns", "port": 5353, "protocol": "UDP"},
        {"name": "calls", "port": 3868, "protocol": "SCTP"}]);
    let slices = [slice("a", "IPv4", &ports, &json!([at(2, &ready, Some("node-1"))]))];
    let service = service(&inside, (false, false));
    let asked = [("TCP", 80), ("TCP", 8080), ("UDP", 80), ("UDP", 8080), ("TCP", 8081), ("SCTP", 80)];
    let asked = asked.map(|(protocol, port)| (protocol, port, port));
    visits(&asked, "worker-a").map(|visit| case(&service, &slices, visit)).collect()
}

/// What a Service says too, and does not matter here: its type, where Pods listened that are gone by now, and
/// that the controller that makes its slices is to call all of them ready.
fn says_more(spec: &mut ServiceSpec, n: usize) {
    if n % 2 == 1 {
        spec.type_ = Some("LoadBalancer".to_owned());
    }
    spec.publish_not_ready_addresses = (n == 3).then_some(true);
    let ports = spec.ports.iter_mut().flatten().filter(|_| n == 1);
    ports.for_each(|port| port.target_port = Some(IntOrString::Int(9376)));
}

/// What a client may ask for: protocol, port and node port.
type Ports = (&'static str, i32, i32);

/// Ports of Services, and what clients may ask them for.
fn services() -> Vec<(Value, Vec<Ports>)> {
    let (http, https) = (service_port("http", "TCP", 80, 30080), service_port("https", "TCP", 443, 30443));
    let dns = [service_port("http", "TCP", 53, 30053), service_port("dns", "UDP", 53, 30053)];
    vec![
        (json!([http, https]), vec![("TCP", 80, 30080), ("TCP", 443, 30443), ("TCP", 8080, 80), ("UDP", 80, 30080)]),
        (json!(dns), vec![("TCP", 53, 30053), ("UDP", 53, 30053)]),
        (json!([{"port": 80, "nodePort": 30080}]), vec![("TCP", 80, 30080), ("TCP", 30080, 80)]),
    ]
}

/// Endpoints in several slices, of several ports.
fn several() -> Vec<Vec<EndpointSlice>> {
    let [ready, unsaid, waiting, dying, _] = conditions();
    let http = json!([port("http", 8080)]);
    let both = json!([port("http", 8080), port("https", 8443), {"name": "dns", "port": 5353, "protocol": "UDP"}]);
    let at = |last: u8, how: &Value, node: u8| endpoint(&format!("10.244.{node}.{last}"), how, node);
    let four = |name: &str, ports: &Value, endpoints: Value| slice(name, "IPv4", ports, &endpoints);
    vec![
        vec![four("a", &both, json!([at(2, &ready, 1), at(3, &waiting, 1), at(4, &unsaid, 2)]))],
        vec![
            four("a", &http, json!([at(2, &ready, 1)])),
            four("b", &http, json!([at(2, &waiting, 1), at(3, &ready, 2)])),
        ],
        vec![four("a", &http, json!([at(2, &waiting, 1)])), four("b", &http, json!([at(2, &ready, 1)]))],
        vec![
            four("a", &http, json!([at(2, &ready, 1)])),
            four("b", &both, json!([at(2, &ready, 1), at(6, &dying, 1)])),
        ],
        vec![
            four("a", &both, json!([at(2, &dying, 1)])),
            four("b", &both, json!([at(2, &ready, 1), at(5, &dying, 2)])),
        ],
        vec![
            four("a", &http, json!([at(2, &ready, 1)])),
            four("b", &json!([port("http", 8081)]), json!([at(3, &ready, 2)])),
        ],
        vec![
            slice("6", "IPv6", &both, &json!([endpoint("fd00::12", &ready, 1)])),
            four("a", &both, json!([at(2, &dying, 1), at(3, &ready, 2)])),
        ],
        vec![
            four("a", &json!([{"port": 9000}]), json!([at(2, &ready, 1)])),
            four("b", &http, json!([at(9, &ready, 1)])),
        ],
        // As the API server has the port of a Service that gives it no name.
        vec![four("a", &json!([{"name": "", "port": 9000}]), json!([at(2, &ready, 1), at(3, &dying, 2)]))],
    ]
}
