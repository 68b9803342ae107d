//! Exercise 16: who answers for a Service?
//!
//! kube-proxy on a node turns each Service into rules. Say where the node sends a connection: addresses such as
//! `10.244.1.2:8080`, in any order; none if no Pod answers.
//!
//! A client inside asks for the Service's `port`, one outside for its `nodePort`; the protocol must agree too (TCP if the
//! Service does not say). The Pods' port is that of the slice, under the same name (no name is the empty one). All slices of
//! the Service are given; only those of `addressType` IPv4 count. While it moves an endpoint can be in two: it is ready if it
//! is ready in one of them. `ready` and `serving` are true if they are not said.
//!
//! Ready endpoints are chosen. Where there is none, those that are terminating and still serving. If the policy
//! (`internalTrafficPolicy` for clients inside, `externalTrafficPolicy` for those outside) is Local, only endpoints on the
//! node itself are looked at. Hints do not matter here, and no Service is headless.

#![allow(unused_imports)]

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kubestep_exercise::proxy::{From, Visit};

// Yours from here.

/// The backends of a Service that a node chooses from for a new connection.
pub fn backends(service: &Service, slices: &[EndpointSlice], visit: &Visit) -> Vec<String> {
    let Some(spec) = &service.spec else { return Vec::new() };
    let Some(port) = spec.ports.iter().flatten().find(|port| is_asked(port, visit)) else { return Vec::new() };
    let mut found = endpoints(slices, port);
    let policy = match visit.from {
        From::Inside => spec.internal_traffic_policy.as_deref(),
        From::Outside => spec.external_traffic_policy.as_deref(),
    };
    if policy == Some("Local") {
        found.retain(|backend| backend.node.as_ref() == Some(&visit.node));
    }
    let any = found.iter().any(|backend| backend.ready);
    found.retain(|backend| if any { backend.ready } else { backend.dying });
    found.into_iter().map(|backend| backend.address).collect()
}

fn is_asked(port: &ServicePort, visit: &Visit) -> bool {
    let number = match visit.from {
        From::Inside => Some(port.port),
        From::Outside => port.node_port,
    };
    number == Some(visit.port) && port.protocol.as_deref().unwrap_or("TCP") == visit.protocol
}

struct Backend {
    address: String,
    ready: bool,
    dying: bool,
    node: Option<String>,
}

/// All endpoints of a port, each once.
fn endpoints(slices: &[EndpointSlice], port: &ServicePort) -> Vec<Backend> {
    let name = port.name.as_deref().unwrap_or_default();
    let mut found: Vec<Backend> = Vec::new();
    for slice in slices.iter().filter(|slice| slice.address_type == "IPv4") {
        let ports = slice.ports.iter().flatten().filter(|one| one.name.as_deref().unwrap_or_default() == name);
        for number in ports.filter_map(|one| one.port) {
            for endpoint in slice.endpoints.iter().flatten() {
                let backend = backend(endpoint, number);
                match found.iter_mut().find(|one| one.address == backend.address) {
                    Some(one) if backend.ready => *one = backend,
                    Some(_) => {}
                    None => found.push(backend),
                }
            }
        }
    }
    found
}

fn backend(endpoint: &Endpoint, port: i32) -> Backend {
    let conditions = endpoint.conditions.clone().unwrap_or_default();
    let ready = conditions.ready.unwrap_or(true);
    Backend {
        address: format!("{}:{port}", endpoint.addresses[0]),
        ready,
        dying: conditions.terminating == Some(true) && conditions.serving != Some(false),
        node: endpoint.node_name.clone(),
    }
}
