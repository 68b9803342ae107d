//! What is in the store before anything runs.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use crate::apiserver::request::{Request, User};
use crate::controllers::TABLE;
use crate::engine::Engine;
use crate::object::well_known::SERVICE_NAME;
use crate::object::{Kind, Object};

/// Where the API server listens, on the network of the nodes.
pub const API_SERVER_IP: &str = "172.18.0.2";

/// What the API server writes into an empty store. Mirrors its post-start hooks: system namespaces, priority classes,
/// RBAC bootstrap policy.
pub(super) fn bootstrap(engine: &mut Engine) {
    // One object more or less here must not change the names of all that comes later.
    let apart = engine.api.fork_random();
    let later = engine.api.swap_random(apart);
    write_as_server(engine, bootstrap_objects());
    engine.api.swap_random(later);
}

/// Objects that are there before anything runs.
pub(super) fn write_as_server(engine: &mut Engine, objects: Vec<Object>) {
    let now = engine.now();
    for object in objects {
        let request = Request::create(Rc::new(User::loopback()), object);
        let answer = engine.api.handle(&request, None, now).answer;
        assert!(answer.result.is_ok(), "{}: {:?}", request.line(), answer.result);
    }
}

fn bootstrap_objects() -> Vec<Object> {
    let named = |name: &str| ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespaces = ["kube-system", "kube-public", "kube-node-lease", "default"];
    let namespaces = namespaces.map(|n| Namespace { metadata: named(n), ..Namespace::default() });
    let classes = [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];
    let classes =
        classes.map(|(name, value)| PriorityClass { metadata: named(name), value: Some(value), ..Default::default() });
    let mut objects: Vec<Object> = namespaces.map(|n| Object::Namespace(Arc::new(n))).into();
    objects.extend(classes.map(|c| Object::PriorityClass(Arc::new(c))));
    objects.extend_from_slice(crate::apiserver::authorization::bootstrap::objects());
    objects.extend(own_service());
    objects.extend(accounts());
    objects
}

/// The accounts that controllers act as. kube-controller-manager makes each when its controller begins, the cluster's first
/// time. Mirrors `k8s.io/controller-manager/pkg/clientbuilder`.
fn accounts() -> impl Iterator<Item = Object> {
    let names: BTreeSet<&str> = TABLE.iter().filter_map(|row| row.account).collect();
    names.into_iter().map(|name| {
        let (name, namespace) = (Some(name.to_owned()), Some("kube-system".to_owned()));
        let metadata = ObjectMeta { name, namespace, ..ObjectMeta::default() };
        Object::ServiceAccount(Arc::new(ServiceAccount { metadata, ..ServiceAccount::default() }))
    })
}

/// The API server as a Service, which Pods find as `kubernetes.default.svc`; the range that Services take their addresses
/// from comes first, with the finalizer that its controller in kube-controller-manager gives it. Mirrors
/// `pkg/controlplane/controller/{defaultservicecidr,kubernetesservice}`, `pkg/controller/servicecidrs` and
/// `pkg/controlplane/reconcilers`.
fn own_service() -> Vec<Object> {
    let labels = json!({"component": "apiserver", "provider": "kubernetes"});
    let metadata = |labels: Value| json!({"name": "kubernetes", "namespace": "default", "labels": labels});
    let objects = [
        (
            Kind::ServiceCIDR,
            json!({"metadata": {"name": "kubernetes", "finalizers": ["networking.k8s.io/service-cidr-finalizer"]},
                "spec": {"cidrs": ["10.96.0.0/16"]}}),
        ),
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
            json!({"metadata": metadata(json!({SERVICE_NAME: "kubernetes"})),
                "addressType": "IPv4", "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
                "endpoints": [{"addresses": [API_SERVER_IP], "conditions": {"ready": true}}]}),
        ),
    ];
    objects.into_iter().map(|(kind, value)| kind.decode(value).expect("a literal object is whole")).collect()
}
