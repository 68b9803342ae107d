//! Exercise 16: from a Service to its backends. Mirrors `pkg/proxy/{endpointslicecache,topology}.go`.
//!
//! Every pair of endpoints, each in one of five conditions and on one of two nodes, is asked under every pair of traffic
//! policies, from inside and from outside; then Services of several ports and endpoints in several slices.
//!
//! Left out: hints, session affinity, load balancers and external addresses.

use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

use super::function::Function;
use super::words::{Part, part};
use super::{Exercise, Judging, placing};
use crate::exercise::proxy::{Case, From, Visit};
use crate::object::read::from_value;

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "16_proxy",
    title: "Who answers for a Service?",
    outcome: "say which Pods a node sends a connection to, from the Service, its EndpointSlices and its traffic policies",
    needs: &[],
    hints: [
        "The Service has ports and slices have ports; which field ties them together? And whose number is it that the Pod \
         listens at?",
        "Take all IPv4 slices. An endpoint is ready unless it says `ready: false`. The policy Local leaves those of this \
         node; which of the two policies counts depends on where the client is.",
        "Find the Service's port by protocol (TCP if not said) and `port`, or `nodePort` from outside. In each slice take the \
         port of the same name. Of one address ready anywhere counts. Then: the ready ones; if there is none, those that are \
         terminating and still serving; with Local, both among this node's only.",
    ],
    minutes: 40,
    judging: Judging::of_part::<Proxy>(placing::with_proxy),
};

pub(super) struct Proxy;

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    AllReady,
    OnlySaidReady,
    NoLastResort,
    AlwaysDying,
    DeadToo,
    NoInternal,
    NoExternal,
    ExternalInside,
    LocalGivesUp,
    ServicePort,
    AnyName,
    AnyProtocol,
    SamePortOutside,
    FirstSlice,
    Twice,
    FirstCounts,
    AnyFamily,
    UnsaidIsLocal,
    OnlyServing,
    NoConditions,
    GoingIsNotReady,
    UnsaidIsGoing,
    ByAddress,
    EmptyIsName,
    OnlyOfType,
    TargetPort,
    Publishes,
    FewSlices,
    GoingIsGone,
    Neighbours,
    OneOfClient,
}

impl Function for Proxy {
    type Question = Case;
    type Answer = Vec<String>;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = &[
        ("endpoints that are not ready are chosen", Slip::AllReady),
        ("an endpoint that does not say whether it is ready is left out; it counts as ready", Slip::OnlySaidReady),
        ("when none is ready nobody answers, although some that are going still could", Slip::NoLastResort),
        ("endpoints that are going are chosen beside ready ones", Slip::AlwaysDying),
        ("when none is ready even those that do not answer are chosen", Slip::DeadToo),
        ("internalTrafficPolicy is not looked at", Slip::NoInternal),
        ("externalTrafficPolicy is not looked at", Slip::NoExternal),
        ("externalTrafficPolicy is applied to clients inside the cluster", Slip::ExternalInside),
        ("with Local and nobody on this node other nodes are asked; the connection fails instead", Slip::LocalGivesUp),
        ("the Service's port is taken for the Pod's", Slip::ServicePort),
        ("all ports of a slice are taken, not the one of the same name", Slip::AnyName),
        ("the protocol is not looked at", Slip::AnyProtocol),
        ("from outside the Service's port is looked for; it is the node port", Slip::SamePortOutside),
        ("only the first slice is looked at", Slip::FirstSlice),
        ("an endpoint that is in two slices is chosen twice", Slip::Twice),
        ("of an endpoint in two slices the first counts; ready in one of them is ready", Slip::FirstCounts),
        ("IPv6 addresses are chosen for an IPv4 Service", Slip::AnyFamily),
        ("a policy that is not given is taken for Local; it is Cluster", Slip::UnsaidIsLocal),
        (
            "one that serves and is not ready is chosen as a last resort, though it is not terminating",
            Slip::OnlyServing,
        ),
        ("an endpoint without conditions is left out; it counts as ready", Slip::NoConditions),
        ("an endpoint that is ready is not chosen because it is terminating too", Slip::GoingIsNotReady),
        ("an endpoint that does not say whether it is terminating is taken for terminating", Slip::UnsaidIsGoing),
        ("of endpoints with one address and two ports only one is chosen", Slip::ByAddress),
        ("no name and an empty one are taken for two names", Slip::EmptyIsName),
        ("only a Service of type NodePort is asked from outside; one of type LoadBalancer is, too", Slip::OnlyOfType),
        ("the Service's targetPort is taken for the Pod's; the slice says where it listens", Slip::TargetPort),
        ("publishNotReadyAddresses is looked at; whoever made the slice has done that", Slip::Publishes),
        ("only the first few slices are looked at", Slip::FewSlices),
        ("a slice that is being deleted is left out; it is there until it is gone", Slip::GoingIsGone),
        ("an endpoint that is in two slices is chosen twice", Slip::Neighbours),
        ("sessionAffinity is looked at; which of them a client comes back to is decided later", Slip::OneOfClient),
    ];

    fn questions() -> Vec<Case> {
        let visit = |from, protocol: &str, port, node: &str| Visit {
            from,
            protocol: protocol.to_owned(),
            port,
            node: node.to_owned(),
        };
        let visits = |ports: &[Asked]| -> Vec<Visit> {
            let both = |(protocol, port, node_port): &Asked| {
                [visit(From::Inside, protocol, *port, "node-1"), visit(From::Outside, protocol, *node_port, "node-1")]
            };
            ports.iter().flat_map(both).collect()
        };
        let mut all = Vec::new();
        for endpoints in endpoints() {
            let slices = vec![slice("a", "IPv4", &json!([port("http", 8080)]), &endpoints)];
            for policies in POLICIES {
                let service = service(&json!([service_port("http", "TCP", 80, 30080)]), policies);
                all.extend(visits(&[("TCP", 80, 30080)]).into_iter().map(|visit| Case {
                    service: service.clone(),
                    slices: slices.clone(),
                    visit,
                }));
            }
        }
        for (ports, asked) in services() {
            for (policies, slices) in POLICIES.iter().flat_map(|one| several().into_iter().map(move |two| (one, two))) {
                let service = service(&ports, *policies);
                all.extend(visits(&asked).into_iter().map(|visit| Case {
                    service: service.clone(),
                    slices: slices.clone(),
                    visit,
                }));
            }
        }
        all.extend(elsewhere());
        all
    }

    fn rule(case: &Case, slip: Option<Slip>) -> Vec<String> {
        let is = |one| slip == Some(one);
        let Some((name, instead)) = wanted_port(case, slip) else { return Vec::new() };
        let local = is_local(case, slip);
        let mut found = found(case, &name, instead, slip);
        let everywhere: Vec<Backend> = found.iter().filter(|one| one.ready).cloned().collect();
        if local {
            found.retain(|one| one.here);
        }
        let has_ready = found.iter().any(|one| one.ready);
        let mut chosen: Vec<Backend> = match slip {
            Some(Slip::AllReady) => found,
            Some(Slip::Publishes) if publishes(case) => found,
            Some(Slip::AlwaysDying) => found.into_iter().filter(|one| one.ready || one.dying).collect(),
            _ if has_ready => found.into_iter().filter(|one| one.ready).collect(),
            Some(Slip::NoLastResort) => Vec::new(),
            Some(Slip::DeadToo) => found,
            _ => found.into_iter().filter(|one| one.dying).collect(),
        };
        if chosen.is_empty() && local && is(Slip::LocalGivesUp) {
            chosen = everywhere;
        }
        let mut texts: Vec<String> = chosen.into_iter().map(|one| one.text).collect();
        let has_sessions = case.service.spec.as_ref().is_some_and(|spec| spec.session_affinity.is_some());
        texts.truncate(if is(Slip::OneOfClient) && has_sessions { 1 } else { usize::MAX });
        texts.sort();
        texts
    }

    fn property(case: &Case, given: Option<&Vec<String>>) -> &'static str {
        let right = Proxy::rule(case, None);
        let Some(given) = given else { return "every connection gets an answer" };
        let address = |text: &String| text.rsplit_once(':').map(|(address, _)| address.to_owned());
        let addresses = |texts: &[String]| texts.iter().filter_map(address).collect::<std::collections::BTreeSet<_>>();
        let (given_to, right_to) = (addresses(given), addresses(&right));
        if given_to == right_to && given.len() == right.len() {
            "a connection goes to the Pod's own port, the one of the same name"
        } else if given_to == right_to {
            "each endpoint is chosen once"
        } else if right_to.is_empty() {
            "where nobody may answer nobody is chosen"
        } else if right_to.is_subset(&given_to) {
            "no others are chosen than those that may answer"
        } else {
            "all are chosen that may answer"
        }
    }

    fn show(case: &Case) -> String {
        shown::case(case)
    }

    fn say(_: &Case, backends: &Vec<String>) -> Vec<Part> {
        vec![part("gave", json!(backends))]
    }
}

/// Internal and external, each Local or not.
const POLICIES: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

fn service(ports: &Value, (internal, external): (bool, bool)) -> Service {
    let policy = |local: bool| if local { "Local" } else { "Cluster" };
    let spec = json!({"type": "NodePort", "clusterIP": "10.96.0.9", "ports": ports,
        "internalTrafficPolicy": policy(internal), "externalTrafficPolicy": policy(external)});
    let meta = json!({"name": "web", "namespace": "default"});
    from_value(&json!({"metadata": meta, "spec": spec})).expect("it is a Service")
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
    let slice = json!({"metadata": meta, "addressType": family, "ports": ports, "endpoints": endpoints});
    from_value(&slice).expect("it is a slice")
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

/// Services that say less, and nodes of other names, from any of which a client may ask.
fn elsewhere() -> Vec<Case> {
    let [ready, unsaid, waiting, dying, gone] = conditions();
    // Of a Service that publishes addresses that are not ready.
    let serving = json!({"ready": false, "serving": true, "terminating": false});
    let at = |last: u8, how: &Value, node: Option<&str>| {
        let mut one = endpoint(&format!("10.244.7.{last}"), how, 1);
        one["nodeName"] = json!(node);
        one
    };
    let all_endpoints = [
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
    ];
    let policies = [Value::Null, json!("Cluster"), json!("Local")];
    let mut all = Vec::new();
    for endpoints in &all_endpoints {
        let http = json!([port("http", 8080)]);
        // Slices come in any order, and there can be many.
        let mut slices: Vec<EndpointSlice> =
            endpoints.iter().enumerate().map(|(n, one)| slice(&format!("{n}"), "IPv4", &http, &json!([one]))).collect();
        slices.push(slice("6", "IPv6", &http, &json!([endpoint("fd00::13", &ready, 1)])));
        if endpoints.len() < 4 {
            slices.push(slice("fqdn", "FQDN", &http, &json!([endpoint("web.example.com", &ready, 1)])));
        }
        let together = vec![slice("all", "IPv4", &http, &json!(endpoints))];
        for (internal, external) in policies.iter().flat_map(|one| policies.iter().map(move |two| (one, two))) {
            for (n, node) in ["node-1", "node-12", "worker-a", "node-2"].into_iter().enumerate() {
                for (from, port) in [(From::Inside, 80), (From::Outside, 30080)] {
                    let ports = json!([service_port("http", "TCP", 80, 30080)]);
                    let mut service = service(&ports, (false, false));
                    if let Some(spec) = &mut service.spec {
                        says_more(spec, n);
                        spec.internal_traffic_policy = internal.as_str().map(str::to_owned);
                        spec.external_traffic_policy = external.as_str().map(str::to_owned);
                    }
                    let slices = if n % 2 == 0 { slices.clone() } else { together.clone() };
                    let visit = Visit { from, protocol: "TCP".to_owned(), port, node: node.to_owned() };
                    all.push(Case { service, slices, visit });
                }
            }
        }
    }
    // What is not said, and what a Service says that publishes addresses that are not ready. Pods in the node's network share
    // its address.
    let unready = json!({"ready": false, "serving": true});
    let going = json!({"ready": true, "serving": true, "terminating": true});
    let half = json!({"serving": true, "terminating": true});
    let silent = json!({"serving": false});
    let nodes = Some("node-1");
    let many: Vec<Value> = (10..240).map(|last| at(last, &ready, nodes)).collect();
    let http = json!([port("http", 8080)]);
    for endpoints in [
        json!([at(2, &Value::Null, nodes)]),
        json!([at(2, &Value::Null, nodes), at(3, &waiting, nodes)]),
        json!([at(2, &unready, nodes)]),
        json!([at(2, &unready, nodes), at(3, &dying, nodes)]),
        json!([at(2, &going, nodes), at(3, &ready, nodes)]),
        json!([at(2, &going, nodes), at(3, &dying, nodes)]),
        json!([at(2, &half, nodes), at(3, &ready, nodes)]),
        json!([at(2, &silent, nodes), at(3, &ready, nodes), at(4, &waiting, nodes)]),
        json!([at(2, &json!({"ready": false, "terminating": true, "serving": false}), nodes)]),
        json!([at(2, &json!({"ready": false, "terminating": true}), nodes)]),
        json!(many),
        Value::Null,
    ] {
        let other = slice("b", "IPv4", &json!([port("http", 8081)]), &json!([at(2, &ready, nodes)]));
        let none = [slice("c", "IPv4", &Value::Null, &endpoints), slice("d", "IPv4", &http, &Value::Null)];
        let slices = vec![slice("a", "IPv4", &http, &endpoints)];
        for slices in [slices.clone(), [slices.clone(), vec![other]].concat(), [slices, none.to_vec()].concat()] {
            for policy in [(false, false), (true, true)] {
                for (from, port) in [(From::Inside, 80), (From::Outside, 30080)] {
                    let ports = json!([service_port("http", "TCP", 80, 30080)]);
                    let visit = Visit { from, protocol: "TCP".to_owned(), port, node: "node-1".to_owned() };
                    all.push(Case { service: service(&ports, policy), slices: slices.clone(), visit });
                }
            }
        }
    }
    // On their way out, with sessions, in two slices or many, of many ports, on nodes whose names end alike.
    let since = || from_value(&json!("2026-01-01T00:00:00Z")).ok();
    let two = json!([at(2, &ready, nodes), at(3, &ready, Some("my-node-1"))]);
    let pair = slice("p", "IPv4", &http, &two);
    let mut going_slice = pair.clone();
    going_slice.metadata.deletion_timestamp = since();
    let lone = |n: u8| slice(&format!("{n}"), "IPv4", &http, &json!([at(20 + n, &ready, nodes)]));
    for slices in [vec![going_slice], vec![pair.clone(), pair.clone()], (0..9).map(lone).collect(), vec![pair]] {
        for (n, policy) in POLICIES.iter().enumerate() {
            for (from, port) in [(From::Inside, 80), (From::Outside, 30080)] {
                let mut service = service(&json!([service_port("http", "TCP", 80, 30080)]), *policy);
                service.metadata.deletion_timestamp = (n % 2 == 0).then(since).flatten();
                service.spec.iter_mut().for_each(|spec| spec.session_affinity = (n > 1).then(|| "ClientIP".to_owned()));
                let visit = Visit { from, protocol: "TCP".to_owned(), port, node: "node-1".to_owned() };
                all.push(Case { service, slices: slices.clone(), visit });
            }
        }
    }
    let named = |n: i32| format!("port-{n}");
    let ports: Vec<Value> = (0..5).map(|n| port(&named(n), 8080 + n)).collect();
    let of_service: Vec<Value> = (0..5).map(|n| service_port(&named(n), "TCP", 80 + n, 30080 + n)).collect();
    let slices = vec![slice("m", "IPv4", &json!(ports), &json!([at(2, &ready, nodes)]))];
    for (from, port) in (0..5).flat_map(|n| [(From::Inside, 80 + n), (From::Outside, 30080 + n)]) {
        let visit = Visit { from, protocol: "TCP".to_owned(), port, node: "node-1".to_owned() };
        all.push(Case { service: service(&json!(of_service), (false, false)), slices: slices.clone(), visit });
    }
    // A Service without a node port, and ones whose ports differ in the protocol only or begin alike.
    let inside = json!([{"name": "http", "port": 80}, {"name": "http-2", "port": 8080, "protocol": "TCP"},
        {"name": "dns", "port": 80, "protocol": "UDP"}]);
    let ports = json!([port("http-2", 8081), port("http", 8080), {"name": "dns", "port": 5353, "protocol": "UDP"}]);
    let slices = vec![slice("a", "IPv4", &ports, &json!([at(2, &ready, Some("node-1"))]))];
    for (protocol, port) in [("TCP", 80), ("TCP", 8080), ("UDP", 80), ("UDP", 8080), ("TCP", 8081)] {
        for from in [From::Inside, From::Outside] {
            let visit = Visit { from, protocol: protocol.to_owned(), port, node: "worker-a".to_owned() };
            all.push(Case { service: service(&inside, (false, false)), slices: slices.clone(), visit });
        }
    }
    all
}

/// What a Service says too, and does not matter here: of which type it is, where Pods listened that are gone by now, and
/// that whoever makes its slices is to call all of them ready.
fn says_more(spec: &mut ServiceSpec, n: usize) {
    if n % 2 == 1 {
        spec.type_ = Some("LoadBalancer".to_owned());
    }
    spec.publish_not_ready_addresses = (n == 3).then_some(true);
    let ports = spec.ports.iter_mut().flatten().filter(|_| n == 1);
    ports.for_each(|port| port.target_port = Some(IntOrString::Int(9376)));
}

/// What a client may ask for: protocol, port and node port.
type Asked = (&'static str, i32, i32);

/// Ports of Services, and what clients may ask them for.
fn services() -> Vec<(Value, Vec<Asked>)> {
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

/// One endpoint of the port that is asked for.
#[derive(Clone)]
struct Backend {
    text: String,
    ready: bool,
    dying: bool,
    here: bool,
}

/// The name of the Service's port that a visitor means, and a number that is wrongly taken for that of the Pods.
fn wanted_port(case: &Case, slip: Option<Slip>) -> Option<(String, Option<i32>)> {
    let is = |one| slip == Some(one);
    let asked = &case.visit;
    let spec = case.service.spec.as_ref()?;
    let is_of_type = spec.type_.as_deref() == Some("NodePort") || asked.from == From::Inside;
    let mut ports = spec.ports.iter().flatten().filter(|_| is_of_type || !is(Slip::OnlyOfType));
    let port = ports.find(|port| {
        let number = match asked.from {
            From::Outside if !is(Slip::SamePortOutside) => port.node_port,
            _ => Some(port.port),
        };
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        number == Some(asked.port) && (protocol == asked.protocol || is(Slip::AnyProtocol))
    })?;
    let instead = match (&port.target_port, slip) {
        (_, Some(Slip::ServicePort)) => Some(port.port),
        (Some(IntOrString::Int(number)), Some(Slip::TargetPort)) => Some(*number),
        _ => None,
    };
    Some((port.name.clone().unwrap_or_default(), instead))
}

fn publishes(case: &Case) -> bool {
    case.service.spec.as_ref().is_some_and(|spec| spec.publish_not_ready_addresses == Some(true))
}

fn is_local(case: &Case, slip: Option<Slip>) -> bool {
    let is = |one| slip == Some(one);
    let Some(spec) = &case.service.spec else { return false };
    let local = |policy: &Option<String>| match policy {
        None => is(Slip::UnsaidIsLocal),
        Some(policy) => policy == "Local",
    };
    let external = local(&spec.external_traffic_policy) && !is(Slip::NoExternal);
    match case.visit.from {
        From::Outside => external,
        From::Inside => {
            (local(&spec.internal_traffic_policy) && !is(Slip::NoInternal)) || (external && is(Slip::ExternalInside))
        }
    }
}

/// All endpoints of a port, from all slices.
fn found(case: &Case, name: &str, instead: Option<i32>, slip: Option<Slip>) -> Vec<Backend> {
    let is = |one| slip == Some(one);
    let mut all: Vec<Backend> = Vec::new();
    let count = match slip {
        Some(Slip::FirstSlice) => 1,
        Some(Slip::FewSlices) => 4,
        _ => case.slices.len(),
    };
    for slice in case.slices.iter().take(count).filter(|slice| slice.address_type == "IPv4" || is(Slip::AnyFamily)) {
        let same = |has: &Option<String>| match has.as_deref() {
            Some("") if is(Slip::EmptyIsName) => false,
            has => has.unwrap_or_default() == name || is(Slip::AnyName),
        };
        let ports = slice.ports.iter().flatten().filter(|port| same(&port.name)).filter_map(|port| port.port);
        for (port, endpoint) in ports.flat_map(|port| slice.endpoints.iter().flatten().map(move |one| (port, one))) {
            let port = instead.unwrap_or(port);
            let is_going = slice.metadata.deletion_timestamp.is_some() && is(Slip::GoingIsGone);
            if is_going || endpoint.conditions.is_none() && is(Slip::NoConditions) {
                continue;
            }
            let conditions = endpoint.conditions.clone().unwrap_or_default();
            let going = conditions.terminating.unwrap_or(is(Slip::UnsaidIsGoing));
            let ready = conditions.ready.unwrap_or(!is(Slip::OnlySaidReady)) && !(going && is(Slip::GoingIsNotReady));
            let one = Backend {
                text: format!("{}:{port}", endpoint.addresses[0]),
                ready,
                dying: !ready && conditions.serving.unwrap_or(true) && (going || is(Slip::OnlyServing)),
                here: endpoint.node_name.as_ref() == Some(&case.visit.node),
            };
            let address = |one: &Backend| one.text.rsplit_once(':').map(|(address, _)| address.to_owned());
            let same = |other: &Backend| match slip {
                Some(Slip::ByAddress) => address(other) == address(&one),
                _ => other.text == one.text,
            };
            let before = if is(Slip::Neighbours) { all.len().saturating_sub(1) } else { 0 };
            match all[before..].iter_mut().find(|other| same(other)) {
                Some(_) if is(Slip::Twice) => all.push(one),
                Some(there) if one.ready && is(Slip::ByAddress) => *there = one,
                Some(there) if !there.ready && !is(Slip::FirstCounts) => *there = one,
                Some(_) => {}
                None => all.push(one),
            }
        }
    }
    all
}

mod shown;
#[cfg(test)]
mod tests;
