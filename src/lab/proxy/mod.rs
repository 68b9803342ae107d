//! Exercise 16: from a Service to its backends. Mirrors `pkg/proxy/{endpointslicecache,topology}.go`.
//!
//! Every pair of endpoints, each in one of five conditions and on one of two nodes, is asked under every pair of traffic
//! policies, from inside and from outside; then Services of several ports and endpoints in several slices.
//!
//! Left out: hints, session affinity, load balancers and external addresses.

use k8s_openapi::api::core::v1::{ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use super::function::Function;
use super::mistake::{Mistake, mistakes};
use super::words::{Part, part};
use super::{Exercise, Judging, placing};
use exercise::proxy::{Case, From, Visit};

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

impl Function for Proxy {
    type Question = Case;
    type Answer = Vec<String>;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn answer(rule: &Rule, case: &Case) -> Vec<String> {
        let Some(spec) = &case.service.spec else { return Vec::new() };
        let Some(port) = wanted_port(rule, spec, &case.visit) else { return Vec::new() };
        let mut found = found(rule, case, port);
        let elsewhere = only_ready(found.clone());
        let is_local = (rule.is_local)(spec, case.visit.from);
        found.retain(|one| one.here || !is_local);
        let mut chosen = (rule.chosen)(spec, found);
        if chosen.is_empty() && is_local {
            chosen = (rule.none_here)(elsewhere);
        }
        let mut texts: Vec<String> = chosen.into_iter().map(|one| one.text).collect();
        (rule.given)(spec, &mut texts);
        texts.sort();
        texts
    }

    fn property(case: &Case, given: Option<&Vec<String>>) -> &'static str {
        let right = Proxy::right(case);
        let Some(given) = given else { return "every connection gets an answer" };
        let address = |text: &String| text.rsplit_once(':').map(|(address, _)| address.to_owned());
        let addresses = |texts: &[String]| texts.iter().filter_map(address).collect::<std::collections::BTreeSet<_>>();
        let (given_to, right_to) = (addresses(given), addresses(&right));
        if given_to == right_to && given.len() == right.len() {
            "a connection goes to the Pod's own port, the one of the same name"
        } else if given_to == right_to {
            "each endpoint is chosen once"
        } else if right_to.is_empty() {
            "where no endpoint may answer none is chosen"
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
pub(super) struct Backend {
    text: String,
    ready: bool,
    dying: bool,
    here: bool,
}

impl Backend {
    /// The same endpoint in another slice: ready in one of them is ready.
    fn or(&mut self, other: Backend) {
        if !self.ready {
            *self = other;
        }
    }
}

/// What decides.
pub(super) struct Rule {
    /// Whether clients from there are served.
    is_open: fn(&ServiceSpec, From) -> bool,
    /// By which number a client from there means a port of the Service.
    number: fn(&ServicePort, From) -> Option<i32>,
    /// Whether it has the protocol that is asked for.
    same_protocol: fn(&str, &str) -> bool,
    /// A number that is taken for that of the Pods.
    instead: fn(&ServicePort) -> Option<i32>,
    /// Whether only this node's endpoints are for clients from there.
    is_local: fn(&ServiceSpec, From) -> bool,
    /// So many slices are looked at.
    slices: usize,
    /// Whether one is looked at.
    is_seen: fn(&EndpointSlice) -> bool,
    /// Whether a slice's port has the name of the Service's.
    same_name: fn(Option<&str>, &str) -> bool,
    /// Whether an endpoint is looked at.
    counts: fn(&Endpoint) -> bool,
    /// Whether it is going.
    is_going: fn(&EndpointConditions) -> bool,
    /// Whether it is ready, when it is going or not.
    ready: fn(&EndpointConditions, bool) -> bool,
    /// Whether one that is not ready may be a last resort.
    serves: fn(&EndpointConditions, bool) -> bool,
    /// Adds one to those that were found.
    add: fn(&mut Vec<Backend>, Backend),
    /// Which of those that were found are chosen.
    chosen: fn(&ServiceSpec, Vec<Backend>) -> Vec<Backend>,
    /// Which are chosen where there is none on this node, of those that are ready.
    none_here: fn(Vec<Backend>) -> Vec<Backend>,
    /// Which of those that were chosen are given.
    given: fn(&ServiceSpec, &mut Vec<String>),
}

const RULE: Rule = Rule {
    is_open: |_, _| true,
    number: |port, from| if from == From::Outside { port.node_port } else { Some(port.port) },
    same_protocol: |protocol, asked| protocol == asked,
    instead: |_| None,
    is_local,
    slices: usize::MAX,
    is_seen: is_ipv4,
    same_name: |has, name| has.unwrap_or_default() == name,
    counts: |_| true,
    is_going: |conditions| conditions.terminating.unwrap_or(false),
    ready: |conditions, _| conditions.ready.unwrap_or(true),
    serves: |conditions, is_going| conditions.serving.unwrap_or(true) && is_going,
    add: |all, one| match all.iter_mut().find(|other| other.text == one.text) {
        Some(there) => there.or(one),
        None => all.push(one),
    },
    chosen,
    none_here: |_| Vec::new(),
    given: |_, _| {},
};

fn policy(spec: &ServiceSpec, from: From) -> Option<&str> {
    match from {
        From::Outside => spec.external_traffic_policy.as_deref(),
        From::Inside => spec.internal_traffic_policy.as_deref(),
    }
}

fn is_local(spec: &ServiceSpec, from: From) -> bool {
    policy(spec, from) == Some("Local")
}

fn is_ipv4(slice: &EndpointSlice) -> bool {
    slice.address_type == "IPv4"
}

fn chosen(_: &ServiceSpec, found: Vec<Backend>) -> Vec<Backend> {
    match found.iter().any(|one| one.ready) {
        true => only_ready(found),
        false => found.into_iter().filter(|one| one.dying).collect(),
    }
}

fn only_ready(found: Vec<Backend>) -> Vec<Backend> {
    found.into_iter().filter(|one| one.ready).collect()
}

fn address(one: &Backend) -> Option<&str> {
    one.text.rsplit_once(':').map(|(address, _)| address)
}

/// The Service's port that a visitor means.
fn wanted_port<'a>(rule: &Rule, spec: &'a ServiceSpec, visit: &Visit) -> Option<&'a ServicePort> {
    let is_it = |port: &&ServicePort| {
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        (rule.number)(port, visit.from) == Some(visit.port) && (rule.same_protocol)(protocol, &visit.protocol)
    };
    spec.ports.iter().flatten().find(is_it).filter(|_| (rule.is_open)(spec, visit.from))
}

/// All endpoints of a port, from all slices.
fn found(rule: &Rule, case: &Case, wanted: &ServicePort) -> Vec<Backend> {
    let (name, mut all) = (wanted.name.as_deref().unwrap_or_default(), Vec::new());
    for slice in case.slices.iter().take(rule.slices).filter(|slice| (rule.is_seen)(slice)) {
        let same = |port: &&EndpointPort| (rule.same_name)(port.name.as_deref(), name);
        let ports = slice.ports.iter().flatten().filter(same).filter_map(|port| port.port);
        for (port, endpoint) in ports.flat_map(|port| slice.endpoints.iter().flatten().map(move |one| (port, one))) {
            if !(rule.counts)(endpoint) {
                continue;
            }
            let port = (rule.instead)(wanted).unwrap_or(port);
            let conditions = endpoint.conditions.clone().unwrap_or_default();
            let is_going = (rule.is_going)(&conditions);
            let ready = (rule.ready)(&conditions, is_going);
            let one = Backend {
                text: format!("{}:{port}", endpoint.addresses[0]),
                ready,
                dying: !ready && (rule.serves)(&conditions, is_going),
                here: endpoint.node_name.as_ref() == Some(&case.visit.node),
            };
            (rule.add)(&mut all, one);
        }
    }
    all
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    all_ready: "endpoints that are not ready are chosen" => { chosen: |_, found| found };
    only_said_ready: "an endpoint that does not say whether it is ready is left out; it counts as ready"
        => { ready: |conditions, _| conditions.ready == Some(true) };
    no_last_resort: "when no endpoint is ready none is chosen, although some that are going still could answer"
        => { chosen: |_, found| only_ready(found) };
    always_dying: "endpoints that are going are chosen beside ready ones"
        => { chosen: |_, found| found.into_iter().filter(|one| one.ready || one.dying).collect() };
    dead_too: "when none is ready even those that do not answer are chosen"
        => { chosen: |_, found| if found.iter().any(|one| one.ready) { only_ready(found) } else { found } };
    no_internal: "internalTrafficPolicy is not looked at"
        => { is_local: |spec, from| from == From::Outside && is_local(spec, from) };
    no_external: "externalTrafficPolicy is not looked at"
        => { is_local: |spec, from| from == From::Inside && is_local(spec, from) };
    external_inside: "externalTrafficPolicy is applied to clients inside the cluster"
        => { is_local: |spec, from| is_local(spec, from) || is_local(spec, From::Outside) };
    local_gives_up: "with Local and no endpoint on this node other nodes are asked; the connection fails instead"
        => { none_here: |elsewhere| elsewhere };
    service_port: "the Service's port is taken for the Pod's" => { instead: |port| Some(port.port) };
    any_name: "all ports of a slice are taken, not the one of the same name" => { same_name: |_, _| true };
    any_protocol: "the protocol is not looked at" => { same_protocol: |_, _| true };
    no_sctp: "a protocol besides TCP and UDP is not known; it can be SCTP"
        => { same_protocol: |protocol, asked| protocol == asked && protocol != "SCTP" };
    same_port_outside: "from outside the Service's port is looked for; it is the node port"
        => { number: |port, _| Some(port.port) };
    first_slice: "only the first slice is looked at" => { slices: 1 };
    twice: "an endpoint that is in two slices is chosen twice"
        => { add: |all, one| all.push(one) }
        | {
            add: |all, one| match all.last_mut() {
                Some(last) if last.text == one.text => last.or(one),
                _ => all.push(one),
            }
        };
    first_counts: "of an endpoint in two slices the first counts; ready in one of them is ready"
        => {
            add: |all, one| match all.iter().any(|other| other.text == one.text) {
                true => {}
                false => all.push(one),
            }
        };
    any_family: "IPv6 addresses are chosen for an IPv4 Service" => { is_seen: |_| true };
    unsaid_is_local: "a policy that is not given is taken for Local; it is Cluster"
        => { is_local: |spec, from| policy(spec, from).is_none_or(|policy| policy == "Local") };
    only_serving: "one that serves and is not ready is chosen as a last resort, though it is not terminating"
        => { serves: |conditions, _| conditions.serving.unwrap_or(true) };
    no_conditions: "an endpoint without conditions is left out; it counts as ready"
        => { counts: |endpoint| endpoint.conditions.is_some() };
    going_is_not_ready: "an endpoint that is ready is not chosen because it is terminating too"
        => { ready: |conditions, is_going| conditions.ready.unwrap_or(true) && !is_going };
    unsaid_is_going: "an endpoint that does not say whether it is terminating is taken for terminating"
        => { is_going: |conditions| conditions.terminating.unwrap_or(true) };
    by_address: "of endpoints with one address and two ports only one is chosen"
        => {
            add: |all, one| match all.iter_mut().find(|other| address(other) == address(&one)) {
                Some(there) if one.ready || !there.ready => *there = one,
                Some(_) => {}
                None => all.push(one),
            }
        };
    empty_is_name: "no name and an empty one are taken for two names"
        => { same_name: |has, name| has != Some("") && has.unwrap_or_default() == name };
    only_of_type: "only a Service of type NodePort is asked from outside; one of type LoadBalancer is, too"
        => { is_open: |spec, from| spec.type_.as_deref() == Some("NodePort") || from == From::Inside };
    target_port: "the Service's targetPort is taken for the Pod's; the slice says where it listens"
        => {
            instead: |port| match port.target_port {
                Some(IntOrString::Int(number)) => Some(number),
                _ => None,
            }
        };
    publishes: "publishNotReadyAddresses is looked at; the controller that made the slice has done that"
        => {
            chosen: |spec, found| match spec.publish_not_ready_addresses {
                Some(true) => found,
                _ => chosen(spec, found),
            }
        };
    few_slices: "only the first few slices are looked at" => { slices: 4 };
    going_is_gone: "a slice that is being deleted is left out; it is there until it is gone"
        => { is_seen: |slice| is_ipv4(slice) && slice.metadata.deletion_timestamp.is_none() };
    one_of_client: "sessionAffinity is looked at; which of them a client comes back to is decided later"
        => { given: |spec, texts| texts.truncate(if spec.session_affinity.is_some() { 1 } else { usize::MAX }) };
    by_prefix: "an address is taken for another one that begins like it"
        => {
            add: |all, one| {
                let begins = |other: &&mut Backend| address(&one).is_some_and(|its| other.text.starts_with(its));
                match all.iter_mut().find(begins) {
                    Some(there) => there.or(one),
                    None => all.push(one),
                }
            }
        };
};

mod questions;
mod shown;
#[cfg(test)]
mod tests;
