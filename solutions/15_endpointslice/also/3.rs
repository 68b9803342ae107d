//! Exercise 15: where can the connections to a Service go?
//!
//! `reconcile` is called with a Service whenever it, a Pod that it selects, or its EndpointSlice may have changed. Each Service
//! with a selector has one slice, of its own name and in its own namespace (a real controller begins another one after a hundred
//! endpoints, gives each name a random end, says by a label that it manages it, and tells Pod, node and zone of each endpoint):
//!
//! - an endpoint for each Pod that has all labels of the selector and an address, and that has not ended (phase `Succeeded`,
//!   `Failed`), in the order of the Pods' names: `addresses` has the Pod's address (`podIP`);
//! - `conditions.serving`: its condition Ready is `True`; `conditions.terminating`: it is being deleted; `conditions.ready`:
//!   the first, and not the second;
//! - `ports`: those of the Service, `appProtocol` too, with the number at which the Pods listen (`targetPort`, here always a
//!   number). In a slice the API server says `""` for a name that is missing, and nothing for a list that is empty;
//! - the label `kubernetes.io/service-name`, and an owner reference that names the Service as its controller.
//!
//! A slice that is there is changed, and only if it has to be; kube-proxy is notified of each change. If a user takes the label or
//! the reference off it, that comes again: kube-proxy finds slices by the label. If no Pod is left, it stays, and is empty.
//! A Service without a selector is left alone, and so is one that is being deleted.
//!
//! Read Pods and slices from the cache. Return the error of a call that fails: you are called again.

#![allow(unused_imports)]

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubestep_exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use serde_json::json;

// Yours from here.

/// Makes the slice of `service` say where its Pods are.
pub async fn reconcile(service: Arc<Service>, context: Arc<Context>) -> Result<Action, Error> {
    let spec = service.spec.clone().unwrap_or_default();
    let Some(selector) = spec.selector.filter(|selector| !selector.is_empty()) else {
        return Ok(Action::await_change());
    };
    if service.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let mut pods = context.store::<Pod>().state();
    pods.retain(|pod| {
        let labels = pod.metadata.labels.clone().unwrap_or_default();
        pod.metadata.namespace == service.metadata.namespace
            && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
    });
    pods.sort_by_key(|pod| pod.metadata.name.clone());
    let endpoints: Vec<Endpoint> = pods.iter().filter_map(|pod| endpoint(pod)).collect();
    let ports: Vec<EndpointPort> = spec.ports.unwrap_or_default().into_iter().map(port).collect();

    let (namespace, name) = (service.metadata.namespace.as_deref().unwrap_or_default(), &service.metadata.name);
    let slices: Api<EndpointSlice> = Api::namespaced(context.client.clone(), namespace);
    let wanted = new_slice(&service, endpoints, ports);
    let is_its = |slice: &&Arc<EndpointSlice>| {
        slice.metadata.name == service.metadata.name && slice.metadata.namespace == service.metadata.namespace
    };
    let all = context.store::<EndpointSlice>().state();
    let Some(there) = all.iter().find(is_its) else {
        slices.create(&PostParams::default(), &wanted).await?;
        return Ok(Action::await_change());
    };
    let mut owners = there.metadata.owner_references.clone().unwrap_or_default();
    let has_label = there.metadata.labels.iter().flatten().any(|one| wanted.metadata.labels.iter().flatten().eq([one]));
    if !has_label || owners.iter().all(|owner| owner.controller != Some(true)) {
        owners.retain(|owner| Some(&owner.uid) != service.metadata.uid.as_ref());
        owners.extend(wanted.metadata.owner_references.clone().unwrap_or_default());
        let (labels, version) = (&wanted.metadata.labels, &there.metadata.resource_version);
        let patch = json!({"metadata": {"labels": labels, "ownerReferences": owners, "resourceVersion": version}});
        slices.patch(name.as_deref().unwrap_or_default(), &PatchParams::default(), &Patch::Merge(patch)).await?;
    }
    let empty = Vec::new();
    let same = there.endpoints.as_ref().unwrap_or(&empty) == wanted.endpoints.as_ref().unwrap_or(&empty);
    if !same || there.ports.as_deref().unwrap_or_default() != wanted.ports.as_deref().unwrap_or_default() {
        let patch = json!([
            {"op": "add", "path": "/endpoints", "value": wanted.endpoints},
            {"op": "add", "path": "/ports", "value": wanted.ports},
        ]);
        slices.patch(name.as_deref().unwrap_or_default(), &PatchParams::default(), &Patch::Json(patch)).await?;
    }
    Ok(Action::await_change())
}

/// Whether a slice says just this.
fn says(slice: &EndpointSlice, endpoints: &[Endpoint], ports: &[EndpointPort]) -> bool {
    slice.endpoints.as_deref().unwrap_or_default() == endpoints && slice.ports.as_deref().unwrap_or_default() == ports
}

/// Where a Pod is, if it can be reached.
fn endpoint(pod: &Pod) -> Option<Endpoint> {
    let status = pod.status.as_ref()?;
    if matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")) {
        return None;
    }
    let address = status.pod_ip.clone()?;
    let mut conditions = status.conditions.iter().flatten();
    let serving = conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let terminating = pod.metadata.deletion_timestamp.is_some();
    let conditions = EndpointConditions {
        ready: Some(serving && !terminating),
        serving: Some(serving),
        terminating: Some(terminating),
    };
    Some(Endpoint { addresses: vec![address], conditions: Some(conditions), ..Endpoint::default() })
}

fn port(port: k8s_openapi::api::core::v1::ServicePort) -> EndpointPort {
    let number = match port.target_port {
        Some(IntOrString::Int(number)) => number,
        _ => port.port,
    };
    let name = Some(port.name.unwrap_or_default());
    EndpointPort { name, port: Some(number), protocol: port.protocol, app_protocol: port.app_protocol }
}

fn new_slice(service: &Service, endpoints: Vec<Endpoint>, ports: Vec<EndpointPort>) -> EndpointSlice {
    let name = service.metadata.name.clone().unwrap_or_default();
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Service".to_owned(),
        name: name.clone(),
        uid: service.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        labels: Some([("kubernetes.io/service-name".to_owned(), name)].into()),
        owner_references: Some(vec![owner]),
        ..ObjectMeta::default()
    };
    EndpointSlice { address_type: "IPv4".to_owned(), metadata, endpoints: Some(endpoints), ports: Some(ports) }
}
