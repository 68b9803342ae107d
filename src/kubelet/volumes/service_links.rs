//! The variables that tell a container where Services are, as links of old Docker did. Mirrors `pkg/kubelet/envvars` and
//! `getServiceEnvVarMap`.
//!
//! They are fixed when the container starts: of a Service that comes later it hears nothing, which is why everybody uses
//! DNS.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;

use client::Lister;
use object::{Accessor, Key, Pod};

/// The Namespace whose Service `kubernetes` every container is told of.
const MASTER_NAMESPACE: &str = "default";
const MASTER_SERVICE: &str = "kubernetes";

/// The Services that a Pod's containers are told of: the API server, and unless `enableServiceLinks` is off, those of
/// their own Namespace. A Service of the same name there stands in the API server's place.
pub fn of_pod(pod: &Pod, services: &Lister<Service>) -> Vec<Arc<Service>> {
    let namespace = pod.metadata.namespace();
    let linked = pod.spec.as_ref().is_none_or(|spec| spec.enable_service_links != Some(false));
    let own = if linked { services.list_namespace(namespace) } else { Vec::new() };
    let is_master = |service: &Arc<Service>| service.metadata.name.as_deref() == Some(MASTER_SERVICE);
    let master = services.get(&Key::new(MASTER_NAMESPACE, MASTER_SERVICE)).filter(|_| !own.iter().any(is_master));
    own.into_iter().chain(master).collect()
}

/// Names and values for one Service. One without an address has none.
pub fn variables(service: &Service) -> Vec<(String, String)> {
    let Some(spec) = &service.spec else { return Vec::new() };
    let Some(ip) = spec.cluster_ip.as_deref().filter(|ip| !matches!(*ip, "" | "None")) else { return Vec::new() };
    let (prefix, ports) = (upper(service.metadata.name()), spec.ports.iter().flatten());
    let mut all = vec![(format!("{prefix}_SERVICE_HOST"), ip.to_owned())];
    for (i, port) in ports.clone().enumerate() {
        if i == 0 {
            all.push((format!("{prefix}_SERVICE_PORT"), port.port.to_string()));
        }
        if let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) {
            all.push((format!("{prefix}_SERVICE_PORT_{}", upper(name)), port.port.to_string()));
        }
    }
    for (i, port) in ports.enumerate() {
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        let (lower, link) = (protocol.to_lowercase(), format!("{prefix}_PORT_{}_{protocol}", port.port));
        let url = format!("{lower}://{ip}:{}", port.port);
        if i == 0 {
            all.push((format!("{prefix}_PORT"), url.clone()));
        }
        all.extend([
            (link.clone(), url),
            (format!("{link}_PROTO"), lower),
            (format!("{link}_PORT"), port.port.to_string()),
            (format!("{link}_ADDR"), ip.to_owned()),
        ]);
    }
    all
}

/// `my-web` as part of a variable's name.
fn upper(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_has_its_variables() {
        let of = |spec: serde_json::Value| {
            let service = json!({"metadata": {"name": "my-web"}, "spec": spec});
            let service: Service = serde_json::from_value(service).expect("a Service");
            variables(&service).iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        let ports = json!([{"port": 80, "name": "http-main"}, {"port": 53, "name": "dns", "protocol": "UDP"}]);
        let expected = [
            "MY_WEB_SERVICE_HOST=10.96.0.7",
            "MY_WEB_SERVICE_PORT=80",
            "MY_WEB_SERVICE_PORT_HTTP_MAIN=80",
            "MY_WEB_SERVICE_PORT_DNS=53",
            "MY_WEB_PORT=tcp://10.96.0.7:80",
            "MY_WEB_PORT_80_TCP=tcp://10.96.0.7:80",
            "MY_WEB_PORT_80_TCP_PROTO=tcp",
            "MY_WEB_PORT_80_TCP_PORT=80",
            "MY_WEB_PORT_80_TCP_ADDR=10.96.0.7",
            "MY_WEB_PORT_53_UDP=udp://10.96.0.7:53",
            "MY_WEB_PORT_53_UDP_PROTO=udp",
            "MY_WEB_PORT_53_UDP_PORT=53",
            "MY_WEB_PORT_53_UDP_ADDR=10.96.0.7",
        ];
        assert_eq!(of(json!({"clusterIP": "10.96.0.7", "ports": ports})), expected);
        assert!(of(json!({"clusterIP": "None", "ports": ports})).is_empty());
        assert!(of(json!({"type": "ExternalName", "externalName": "example.com"})).is_empty());
    }
}
