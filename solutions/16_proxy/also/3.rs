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

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Useless,
    Dying,
    Ready,
}

/// Each endpoint has a rank; the best rank there is wins.
pub fn backends(service: &Service, slices: &[EndpointSlice], visit: &Visit) -> Vec<String> {
    let spec: &ServiceSpec = match &service.spec {
        Some(spec) => spec,
        None => return vec![],
    };
    let mut ranks: BTreeMap<String, Rank> = BTreeMap::new();
    for port in spec.ports.iter().flatten() {
        if port.protocol.as_deref().unwrap_or("TCP") != visit.protocol {
            continue;
        }
        if (visit.from == From::Inside && port.port != visit.port)
            || (visit.from == From::Outside && port.node_port != Some(visit.port))
        {
            continue;
        }
        for slice in slices.iter().filter(|slice| slice.address_type.as_str() == "IPv4") {
            for (number, endpoint) in pairs(slice, port.name.as_deref().unwrap_or_default()) {
                let local = match visit.from {
                    From::Inside => spec.internal_traffic_policy.as_deref(),
                    From::Outside => spec.external_traffic_policy.as_deref(),
                };
                if local == Some("Local") && endpoint.node_name != Some(visit.node.clone()) {
                    continue;
                }
                let rank = rank(endpoint);
                let there = ranks.entry(format!("{}:{number}", endpoint.addresses[0])).or_insert(rank);
                *there = rank.max(*there);
            }
        }
    }
    let best = ranks.values().copied().max().unwrap_or(Rank::Useless);
    if best == Rank::Useless {
        return vec![];
    }
    ranks.retain(|_, rank| *rank == best);
    ranks.into_keys().rev().collect()
}

fn pairs<'a>(slice: &'a EndpointSlice, name: &str) -> Vec<(i32, &'a Endpoint)> {
    let mut all = vec![];
    for port in slice.ports.iter().flatten() {
        if port.name.as_deref().unwrap_or_default() == name {
            for endpoint in slice.endpoints.iter().flatten() {
                all.push((port.port.unwrap(), endpoint));
            }
        }
    }
    all
}

fn rank(endpoint: &Endpoint) -> Rank {
    let Some(conditions) = &endpoint.conditions else { return Rank::Ready };
    match (conditions.ready, conditions.serving, conditions.terminating) {
        (None | Some(true), _, _) => Rank::Ready,
        (_, None | Some(true), Some(true)) => Rank::Dying,
        _ => Rank::Useless,
    }
}
