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

/// As JSON from end to end, and with the API server's word on the slice.
pub async fn reconcile(service: Arc<Service>, context: Arc<Context>) -> Result<Action, Error> {
    let done = Ok(Action::await_change());
    let meta = &service.metadata;
    let value = json!(*service);
    let Some(selector) = value["spec"]["selector"].as_object().filter(|one| !one.is_empty()) else { return done };
    if meta.deletion_timestamp.is_some() {
        return done;
    }
    let mut endpoints = Vec::new();
    for pod in context.store::<Pod>().state() {
        let pod = json!(*pod);
        let is_its = selector.iter().all(|(key, value)| pod["metadata"]["labels"][key] == *value);
        let has_ended = pod["status"]["phase"] == "Succeeded" || pod["status"]["phase"] == "Failed";
        if pod["metadata"]["namespace"] != value["metadata"]["namespace"] || !is_its || has_ended {
            continue;
        }
        let Some(address) = pod["status"]["podIP"].as_str() else { continue };
        let going = !pod["metadata"]["deletionTimestamp"].is_null();
        let none = Vec::new();
        let conditions = pod["status"]["conditions"].as_array().unwrap_or(&none);
        let serving = conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True");
        let conditions = json!({"ready": serving && !going, "serving": serving, "terminating": going});
        let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        endpoints.push((name, json!({"addresses": [address], "conditions": conditions})));
    }
    endpoints.sort_by_key(|(name, _)| name.clone());
    let endpoints: Vec<_> = endpoints.into_iter().map(|(_, endpoint)| endpoint).collect();
    let none = Vec::new();
    let ports = value["spec"]["ports"].as_array().unwrap_or(&none).iter();
    let ports: Vec<_> = ports
        .map(|port| {
            let name = port["name"].as_str().unwrap_or_default();
            let (number, protocol) = (&port["targetPort"], &port["protocol"]);
            json!({"name": name, "port": number, "protocol": protocol, "appProtocol": port["appProtocol"]})
        })
        .collect();
    let ports: Vec<EndpointPort> =
        serde_json::from_value(json!(ports)).map_err(|error| Error::Other(error.to_string()))?;
    let name = meta.name.clone().unwrap_or_default();
    let slices: Api<EndpointSlice> =
        Api::namespaced(context.client.clone(), meta.namespace.as_deref().unwrap_or_default());
    let owner = json!({"apiVersion": "v1", "kind": "Service", "name": name, "uid": meta.uid, "controller": true});
    let Some(there) = slices.get_opt(&name).await? else {
        let slice = json!({
            "addressType": "IPv4",
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/service-name": name},
                "ownerReferences": [owner],
            },
            "endpoints": endpoints,
            "ports": ports,
        });
        let slice = serde_json::from_value(slice).map_err(|error| Error::Other(error.to_string()))?;
        slices.create(&PostParams::default(), &slice).await?;
        return done;
    };
    let label = there.metadata.labels.as_ref().and_then(|labels| labels.get("kubernetes.io/service-name"));
    let is_owned = there.metadata.owner_references.iter().flatten().any(|one| one.controller == Some(true));
    let is = json!([label, is_owned, there.endpoints.unwrap_or_default(), there.ports.unwrap_or_default()]);
    if is != json!([name, true, endpoints, ports]) {
        let mut patch = json!({
            "metadata": {"labels": {"kubernetes.io/service-name": name}},
            "endpoints": endpoints,
            "ports": ports,
        });
        if !is_owned {
            patch["metadata"]["ownerReferences"] = json!([owner]);
        }
        slices.patch(&name, &PatchParams::default(), &Patch::Strategic(patch)).await?;
    }
    done
}
