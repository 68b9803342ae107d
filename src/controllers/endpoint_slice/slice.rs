//! What the slices of a Service should say. Mirrors `podToEndpoint`, `getEndpointPorts`, `newEndpointSlice` and
//! `setEndpointSliceLabels` of `k8s.io/endpointslice/utils.go`, and `trafficdist/trafficdist.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Service};
use k8s_openapi::api::discovery::v1::{
    Endpoint, EndpointConditions, EndpointHints, EndpointPort, EndpointSlice, ForNode, ForZone,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::pack::{Labels, RESERVED};
use super::{MANAGED_BY, topology};
use crate::service_pods::{HEADLESS, find_port, has_ip, hostname_of, publishes_not_ready, spec_of, target_ref};
use object::pod::{address_of, assigned_node, is_ready};
use object::well_known::{SERVICE_NAME, ZONE};
use object::{Accessor, Pod};

/// A Pod as an endpoint of the Service. Ready and on its way out exclude each other, unless the Service publishes
/// everything; `serving` says whether it still answers.
pub fn endpoint(pod: &Pod, node: Option<&Node>, service: &Service) -> Endpoint {
    let (serving, terminating) = (is_ready(pod), pod.metadata.deletion_timestamp.is_some());
    let ready = publishes_not_ready(service) || (serving && !terminating);
    let zone = node.and_then(|node| node.metadata.labels.as_ref()?.get(ZONE).cloned());
    let node_name = assigned_node(pod).map(str::to_owned);
    Endpoint {
        addresses: address_of(pod).map(str::to_owned).into_iter().collect(),
        conditions: Some(EndpointConditions {
            ready: Some(ready),
            serving: Some(serving),
            terminating: Some(terminating),
        }),
        hints: ready.then(|| hints(service, zone.as_ref(), node_name.as_ref())).flatten(),
        hostname: hostname_of(pod, service),
        node_name,
        target_ref: Some(target_ref(pod)),
        zone: zone.filter(|zone| !zone.is_empty()),
        deprecated_topology: None,
    }
}

/// For whom the endpoint is meant, if the Service asks to keep traffic near, and as far as it is known where that is.
fn hints(service: &Service, zone: Option<&String>, node: Option<&String>) -> Option<EndpointHints> {
    let for_zones = || zone.filter(|zone| !zone.is_empty()).map(|zone| vec![ForZone { name: zone.clone() }]);
    let for_nodes = || node.map(|node| vec![ForNode { name: node.clone() }]);
    // The older annotation goes before.
    if topology::is_asked_for(service) {
        return None;
    }
    let hints = match spec_of(service)?.traffic_distribution.as_deref()? {
        "PreferClose" | "PreferSameZone" => EndpointHints { for_zones: for_zones(), for_nodes: None },
        "PreferSameNode" => EndpointHints { for_zones: for_zones(), for_nodes: for_nodes() },
        _ => return None,
    };
    (hints != EndpointHints::default()).then_some(hints)
}

/// The Service's ports as this Pod has them.
pub fn ports(service: &Service, pod: &Pod) -> Vec<EndpointPort> {
    let declared = spec_of(service).and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let port = |port: &k8s_openapi::api::core::v1::ServicePort| {
        Some(EndpointPort {
            app_protocol: port.app_protocol.clone(),
            name: Some(port.name.clone().unwrap_or_default()),
            port: Some(find_port(pod, port)?),
            protocol: port.protocol.clone(),
        })
    };
    declared.iter().filter_map(port).collect()
}

/// The same for the same ports in any order.
pub fn ports_key(ports: &[EndpointPort]) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let port = |p: &EndpointPort| {
        format!("{} {} {} {}", text(&p.name), text(&p.protocol), p.port.unwrap_or(0), text(&p.app_protocol))
    };
    let mut all: Vec<String> = ports.iter().map(port).collect();
    all.sort_unstable();
    all.join(",")
}

/// The Service's labels and those that say whose slice it is.
pub fn labels(service: &Service, managed_by: &str) -> Labels {
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    for reserved in RESERVED {
        labels.remove(reserved);
    }
    if !has_ip(service) {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    let name = service.metadata.name.clone().unwrap_or_default();
    labels.extend([(SERVICE_NAME.to_owned(), name), (MANAGED_BY.to_owned(), managed_by.to_owned())]);
    labels
}

/// A slice without endpoints, for the Service of this name.
pub fn empty(
    namespace: Option<String>,
    service: &str,
    owner: OwnerReference,
    labels: Labels,
    ports: &[EndpointPort],
) -> EndpointSlice {
    EndpointSlice {
        metadata: ObjectMeta {
            generate_name: Some(format!("{service}-")),
            namespace,
            labels: Some(labels),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        address_type: "IPv4".to_owned(),
        endpoints: None,
        ports: (!ports.is_empty()).then(|| ports.to_vec()),
    }
}

/// Endpoints that share a set of ports, and so can share slices.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The ports.
    pub ports: Vec<EndpointPort>,
    /// Who has them.
    pub endpoints: Vec<Endpoint>,
}

/// The endpoints of a Service, by set of ports; and the Pods left out because their node is not known.
pub fn desired(
    service: &Service,
    pods: &[Arc<Pod>],
    node: impl Fn(&str) -> Option<Arc<Node>>,
) -> (BTreeMap<String, Group>, Vec<String>) {
    let (mut groups, mut skipped) = (BTreeMap::new(), Vec::new());
    for pod in pods.iter().filter(|pod| crate::service_pods::can_be_endpoint(pod, true)) {
        let ports = ports(service, pod);
        let group: &mut Group =
            groups.entry(ports_key(&ports)).or_insert_with(|| Group { ports, endpoints: Vec::new() });
        let name = assigned_node(pod).unwrap_or_default();
        let node = node(name);
        if node.is_none() && !publishes_not_ready(service) {
            skipped.push(format!(
                "skipping Pod {} for Service {}/{}: Node {name} Not Found",
                pod.metadata.name(),
                service.metadata.namespace(),
                service.metadata.name(),
            ));
            continue;
        }
        group.endpoints.push(endpoint(pod, node.as_deref(), service));
    }
    (groups, skipped)
}
