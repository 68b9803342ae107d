//! A Service, its slices and who visits it, in words.

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use crate::words;
use exercise::proxy::{Case, Visit};

/// What is asked.
pub(super) fn case(case: &Case) -> String {
    let Visit { from, protocol, port, node } = &case.visit;
    let all: Vec<String> = case.slices.iter().map(slice).collect();
    let slices = match all.as_slice() {
        [first, between @ .., last] if between.len() > 4 => {
            vec![first.clone(), format!("… {} more slices …", between.len()), last.clone()]
        }
        _ => all,
    };
    let slices: String = slices.into_iter().map(|one| "\n".to_owned() + &one).collect();
    format!("from {from:?} to {protocol} port {port}, on node {node}\n{}{slices}", service(&case.service))
}

fn service(service: &Service) -> String {
    let spec = service.spec.clone().unwrap_or_default();
    let port = |one: &ServicePort| {
        let port = named(&one.name, Some(one.port), &one.protocol);
        let target = match &one.target_port {
            Some(IntOrString::Int(number)) => format!(" targetPort {number}"),
            _ => String::new(),
        };
        let node_port = one.node_port.map_or(String::new(), |node_port| format!(" nodePort {node_port}"));
        port + &node_port + &target
    };
    let fields = [
        ("deletionTimestamp", json!(service.metadata.deletion_timestamp)),
        ("sessionAffinity", json!(spec.session_affinity)),
        ("ports", spec.ports.iter().flatten().map(port).collect()),
        ("internalTrafficPolicy", json!(spec.internal_traffic_policy)),
        ("externalTrafficPolicy", json!(spec.external_traffic_policy)),
    ];
    let of_type = spec.type_.filter(|one| one != "NodePort").map(|one| format!(" of type {one}")).unwrap_or_default();
    let publishes = if spec.publish_not_ready_addresses == Some(true) { " with publishNotReadyAddresses" } else { "" };
    words::object(&format!("Service{of_type}{publishes}"), fields)
}

fn slice(slice: &EndpointSlice) -> String {
    let port = |one: &EndpointPort| named(&one.name, one.port, &one.protocol);
    let ports = slice.ports.iter().flatten().map(port).collect();
    let all: Vec<String> = slice.endpoints.iter().flatten().map(endpoint).collect();
    let endpoints = match all.as_slice() {
        [first, between @ .., last] if between.len() > 8 => {
            vec![first.clone(), format!("… {} more …", between.len()), last.clone()]
        }
        _ => all,
    };
    let going = if slice.metadata.deletion_timestamp.is_some() { "being deleted, " } else { "" };
    let head = words::field(&format!("slice of {}, {going}ports", slice.address_type), &ports);
    endpoints.into_iter().fold(head, |text, endpoint| text + "\n  " + &endpoint)
}

fn endpoint(one: &Endpoint) -> String {
    let conditions = match words::flow(&json!(one.conditions)) {
        none if none == "none" => "no conditions".to_owned(),
        said => said,
    };
    format!("{} on {}: {conditions}", one.addresses.join(", "), one.node_name.as_deref().unwrap_or("no node"))
}

/// `http 80/TCP`, as far as it is said.
fn named(name: &Option<String>, port: Option<i32>, protocol: &Option<String>) -> String {
    let name = name.as_deref().unwrap_or("(no name)");
    let port = port.map_or(String::new(), |port| format!(" {port}"));
    let protocol = protocol.as_ref().map_or(String::new(), |protocol| format!("/{protocol}"));
    format!("{name}{port}{protocol}")
}
