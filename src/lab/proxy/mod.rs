//! Exercise 16: from a Service to its backends. Mirrors `pkg/proxy/{endpointslicecache,topology}.go`.
//!
//! Every pair of endpoints, each in one of five conditions and on one of two nodes, is asked under every pair of traffic
//! policies, from inside and from outside; then Services of several ports and endpoints in several slices.
//!
//! Left out: hints, session affinity, load balancers and external addresses.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use super::function::Function;
use super::words::{Part, part};
use super::{Exercise, Judging, placing};
use crate::exercise::proxy::{Case, From};

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
    NoSctp,
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
    ByPrefix,
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
        ("a protocol besides TCP and UDP is not known; it can be SCTP", Slip::NoSctp),
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
        ("an address is taken for another one that begins like it", Slip::ByPrefix),
    ];

    fn questions() -> Vec<Case> {
        questions::all()
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
        if is(Slip::NoSctp) && protocol == "SCTP" {
            return false;
        }
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
                Some(Slip::ByPrefix) => address(&one).is_some_and(|address| other.text.starts_with(&address)),
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

mod questions;
mod shown;
#[cfg(test)]
mod tests;
