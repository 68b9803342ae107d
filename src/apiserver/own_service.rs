//! The API server as a Service, which Pods find as `kubernetes.default.svc`. Mirrors
//! `pkg/controlplane/controller/kubernetesservice` and `pkg/controlplane/reconcilers`.

use serde_json::{Value, json};

use super::registry;
use object::well_known::{API_SERVER_IP, KUBERNETES, SERVICE_NAME};
use object::{Kind, Object};

/// Its Service, Endpoints and EndpointSlice, as the API server writes them where they are missing.
///
/// # Panics
///
/// Never: what it reads is written here.
pub fn objects() -> Vec<Object> {
    let labels = json!({"component": "apiserver", "provider": "kubernetes"});
    let metadata = |labels: Value| json!({"name": KUBERNETES, "namespace": NAMESPACE, "labels": labels});
    let objects = [
        (
            Kind::Service,
            json!({"metadata": metadata(labels), "spec": {"clusterIP": "10.96.0.1",
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]}}),
        ),
        (
            Kind::Endpoints,
            json!({"metadata": metadata(json!({"endpointslice.kubernetes.io/skip-mirror": "true"})),
                "subsets": [{"addresses": [{"ip": API_SERVER_IP}],
                    "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}]}]}),
        ),
        (
            Kind::EndpointSlice,
            json!({"metadata": metadata(json!({SERVICE_NAME: KUBERNETES})),
                "addressType": "IPv4", "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
                "endpoints": [{"addresses": [API_SERVER_IP], "conditions": {"ready": true}}]}),
        ),
    ];
    objects.into_iter().map(|(kind, value)| kind.decode(value).expect("a literal object is whole")).collect()
}

/// Whether one of them is kept under this key.
pub(super) fn is_key(key: &str) -> bool {
    KINDS.into_iter().any(|kind| registry::key(kind, NAMESPACE, KUBERNETES) == key)
}

const KINDS: [Kind; 3] = [Kind::Service, Kind::Endpoints, Kind::EndpointSlice];
const NAMESPACE: &str = "default";
