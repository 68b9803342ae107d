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

/// Two passes over all slices: first for the ready ones, then for those that are going.
pub fn backends(service: &Service, slices: &[EndpointSlice], visit: &Visit) -> Vec<String> {
    find(service, slices, visit).unwrap_or_default()
}

fn find(service: &Service, slices: &[EndpointSlice], visit: &Visit) -> Option<Vec<String>> {
    let spec = service.spec.as_ref()?;
    let (policy, number): (_, fn(&ServicePort) -> Option<i32>) = match visit.from {
        From::Inside => (&spec.internal_traffic_policy, |port| Some(port.port)),
        From::Outside => (&spec.external_traffic_policy, |port| port.node_port),
    };
    let protocol = |port: &ServicePort| port.protocol.clone().unwrap_or_else(|| "TCP".into());
    let ports = spec.ports.as_ref()?;
    let port = ports.iter().find(|port| number(port) == Some(visit.port) && protocol(port) == visit.protocol)?;
    let near = |endpoint: &&Endpoint| {
        policy.as_deref() != Some("Local") || endpoint.node_name.as_deref() == Some(visit.node.as_str())
    };
    let all = |wanted: fn(&Endpoint) -> bool| {
        let mut texts: Vec<String> = slices
            .iter()
            .filter(|slice| slice.address_type == "IPv4")
            .flat_map(|slice| {
                let ports = slice
                    .ports
                    .iter()
                    .flatten()
                    .filter(|one| one.name.as_deref().unwrap_or("") == port.name.as_deref().unwrap_or(""));
                ports.flat_map(|port| slice.endpoints.iter().flatten().map(move |endpoint| (port, endpoint)))
            })
            .filter(|(_, endpoint)| near(endpoint) && wanted(endpoint))
            .map(|(port, endpoint)| format!("{}:{}", endpoint.addresses[0], port.port.unwrap_or_default()))
            .collect();
        texts.sort();
        texts.dedup();
        texts
    };
    let ready = all(|one| one.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true));
    if !ready.is_empty() {
        return Some(ready);
    }
    Some(all(|one| {
        let conditions = one.conditions.clone().unwrap_or_default();
        conditions.serving.unwrap_or(true) && conditions.terminating.unwrap_or(false)
    }))
}
