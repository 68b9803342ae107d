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
    let _ = (service, slices, visit);
    kubestep_exercise::not_started()
}
