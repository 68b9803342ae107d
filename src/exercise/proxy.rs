//! Exercise 16: a Service, its EndpointSlices, and a new connection.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde::{Deserialize, Serialize};

use crate::process;

/// A new connection to a Service, as a node sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// Where the client is.
    pub from: From,
    /// `TCP` or `UDP`.
    pub protocol: String,
    /// The port that the client has asked for.
    pub port: i32,
    /// The node that has to choose.
    pub node: String,
}

/// Where a client is, and so what it has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum From {
    /// Inside the cluster: it asks the Service's cluster IP, at the Service's port.
    Inside,
    /// Outside: it asks the node, at the Service's node port.
    Outside,
}

/// A question to the function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// The Service.
    pub service: Service,
    /// All slices of the Service.
    pub slices: Vec<EndpointSlice>,
    /// The connection.
    pub visit: Visit,
}

/// Answers with this function. The order of what is found does not matter.
pub fn answer(backends: fn(&Service, &[EndpointSlice], &Visit) -> Vec<String>) {
    process::answer(|case: &Case| {
        let mut found = backends(&case.service, &case.slices, &case.visit);
        found.sort();
        found
    });
}
