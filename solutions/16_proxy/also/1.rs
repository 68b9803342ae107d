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

/// By address, in a map.
pub fn backends(service: &Service, slices: &[EndpointSlice], visit: &Visit) -> Vec<String> {
    let spec = service.spec.clone().unwrap_or_default();
    let outside = visit.from == From::Outside;
    let mut name = None;
    for port in spec.ports.unwrap_or_default() {
        let protocol = port.protocol.unwrap_or("TCP".to_string());
        let number = if outside { port.node_port.unwrap_or(0) } else { port.port };
        if protocol == visit.protocol && number == visit.port {
            name = Some(port.name.unwrap_or_default());
        }
    }
    let Some(name) = name else { return vec![] };
    let policy = if outside { spec.external_traffic_policy } else { spec.internal_traffic_policy };
    let local = policy == Some("Local".to_string());
    let mut states: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for slice in slices {
        if slice.address_type != "IPv4" {
            continue;
        }
        for port in slice.ports.clone().unwrap_or_default() {
            if port.name.unwrap_or_default() != name {
                continue;
            }
            for endpoint in slice.endpoints.iter().flatten() {
                if local && endpoint.node_name.as_deref() != Some(visit.node.as_str()) {
                    continue;
                }
                let c = endpoint.conditions.clone().unwrap_or_default();
                let ready = c.ready != Some(false);
                let dying = c.serving.unwrap_or(true) && c.terminating.unwrap_or(false);
                let state = states.entry(format!("{}:{}", endpoint.addresses[0], port.port.unwrap())).or_default();
                state.0 |= ready;
                state.1 |= dying;
            }
        }
    }
    let ready: Vec<String> = states.iter().filter(|(_, state)| state.0).map(|(name, _)| name.clone()).collect();
    if ready.is_empty() {
        states.into_iter().filter(|(_, state)| state.1).map(|(name, _)| name).collect()
    } else {
        ready
    }
}
