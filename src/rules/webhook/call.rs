//! What a webhook is asked, and where it is found.
//!
//! A configuration names a Service, as a rule. The API server looks up its cluster IP itself, without DNS, and whether
//! anything stands behind it shows when it connects: kube-proxy refuses a Service without ready endpoints at once.
//!
//! Mirrors `pkg/util/webhook/{client,serviceresolver}.go` of apiserver and `ResolveCluster` of `pkg/util/proxy`.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ServiceReference;
use k8s_openapi::api::core::v1::ServiceSpec;
use k8s_openapi::api::discovery::v1::Endpoint;
use serde_json::Value;

use object::reader::Reader;
use object::well_known::SERVICE_NAME;
use object::{Kind, Object};

use super::hook::{Hook, PORT, path_of};

/// One question to one webhook.
#[derive(Clone, Debug)]
pub struct Call {
    hook: String,
    /// The webhook's name: `pods.example.com`.
    pub webhook: String,
    /// Whether it may change the object.
    pub mutating: bool,
    /// The address of the webhook: namespace and name of a Service, or the host of a URL.
    pub address: String,
    /// What is asked for there: `/validate`.
    pub path: String,
    /// The machine of the endpoint that the connection goes to; empty outside the cluster.
    pub node: String,
    /// What a client says if the connection is refused.
    pub refused: String,
    /// How long the answer is waited for.
    pub timeout: Duration,
    /// The `request` of the AdmissionReview, but for its uid.
    pub request: Value,
}

impl Call {
    /// A question that can be sent; or what the client says that cannot.
    pub fn new(hook: &Hook, request: Value, reader: &dyn Reader) -> Result<Call, String> {
        let (address, path, node, refused) = match (&hook.client.service, &hook.client.url) {
            (Some(service), _) => {
                let (node, refused) = endpoint(service, reader)?;
                (format!("{}/{}", service.namespace, service.name), path_of(service), node, refused)
            }
            (None, url) => {
                let (host, path) = host_and_path(url.as_deref().unwrap_or_default());
                let name = host.split(':').next().unwrap_or_default();
                let refused = format!("dial tcp: lookup {name}: no such host");
                (host.to_owned(), path.to_owned(), String::new(), refused)
            }
        };
        let (hook_id, webhook, mutating, timeout) = (hook.id.clone(), hook.name.clone(), hook.mutating, hook.timeout);
        Ok(Call { hook: hook_id, webhook, mutating, address, path, node, refused, timeout, request })
    }

    /// Whether this is what the webhook is asked now: an answer holds for exactly that.
    pub fn is(&self, hook: &Hook, request: &Value) -> bool {
        self.hook == hook.id && self.request == *request
    }

    /// `CREATE pods default/web`.
    pub fn about(&self) -> String {
        let text = |path: &str| self.request.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let named = [text("/namespace"), text("/name")].into_iter().filter(|part| !part.is_empty());
        let part = match text("/subResource") {
            "" => String::new(),
            part => format!("/{part}"),
        };
        let named = named.collect::<Vec<_>>().join("/");
        format!("{} {}{part} {named}", text("/operation"), text("/resource/resource")).trim_end().to_owned()
    }
}

fn host_and_path(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("https://").unwrap_or(url);
    rest.find('/').map_or((rest, "/"), |at| rest.split_at(at))
}

/// The machine of the endpoint that a connection to a Service goes to, and what the client says if it is refused there.
/// Of several endpoints it is the first here.
fn endpoint(service: &ServiceReference, reader: &dyn Reader) -> Result<(String, String), String> {
    let ServiceReference { name, namespace, port, .. } = service;
    let Some(Object::Service(there)) = reader.get(Kind::Service, namespace, name) else {
        return Err(format!("service {name:?} not found"));
    };
    let nothing = ServiceSpec::default();
    let spec = there.spec.as_ref().unwrap_or(&nothing);
    let ip = match spec.cluster_ip.as_deref().unwrap_or_default() {
        "None" => return Err("cannot route to service with ClusterIP \"None\"".to_owned()),
        ip => ip,
    };
    let port = port.unwrap_or(PORT);
    if !spec.ports.iter().flatten().any(|there| there.port == port) {
        return Err(format!("no service port {port} found for service {name:?}"));
    }
    let refused = format!("dial tcp {ip}:{port}: connect: connection refused");
    let of_service = |object: &Object| {
        object.meta().labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME)).is_some_and(|of| of == name)
    };
    let slices = reader.list(Kind::EndpointSlice, namespace).into_iter().filter(of_service);
    let first = { slices }.find_map(|slice| match slice {
        Object::EndpointSlice(slice) => slice.endpoints.iter().flatten().find(|endpoint| is_ready(endpoint)).cloned(),
        _ => None,
    });
    first.map(|endpoint| (endpoint.node_name.unwrap_or_default(), refused.clone())).ok_or(refused)
}

fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
}
