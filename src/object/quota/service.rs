//! Services, which cost node ports and load balancers.

use k8s_openapi::api::core::v1::{Service, ServiceSpec};

use crate::quantity::Amount;
use crate::resources::ResourceList;

/// What quotas measure of Services.
pub const RESOURCES: [&str; 3] = ["services", "services.loadbalancers", "services.nodeports"];

/// What the Service costs beside its number. Mirrors `serviceEvaluator.Usage`.
pub fn usage(service: &Service) -> ResourceList {
    let nothing = ServiceSpec::default();
    let spec = service.spec.as_ref().unwrap_or(&nothing);
    let ports = spec.ports.as_deref().unwrap_or_default();
    let (node_ports, balancers) = match spec.type_.as_deref() {
        Some("NodePort") => (ports.len(), 0),
        Some("LoadBalancer") if spec.allocate_load_balancer_node_ports == Some(false) => {
            (ports.iter().filter(|port| port.node_port.is_some_and(|number| number != 0)).count(), 1)
        }
        Some("LoadBalancer") => (ports.len(), 1),
        _ => (0, 0),
    };
    let amounts = [1, balancers, i64::try_from(node_ports).unwrap_or(i64::MAX)].map(Amount::units);
    RESOURCES.map(str::to_owned).into_iter().zip(amounts).collect()
}
