//! Exercise 22: a controller of your own.
//!
//! Your users want to ask for a *site*, and not for a Deployment. A site is a kind of yours. Here a ConfigMap with the label
//! `kind: Site` stands for an object of it: `data.image` and `data.replicas` are its spec, the annotation `example.com/pods`
//! is its status. Write its operator:
//!
//! - each site has a Deployment of its own name: so many replicas, one container `site` with that image. Its Pods have the label
//!   `app: NAME`. An owner reference names the site as its controller, so the garbage collector cleans up behind it;
//! - if the site changes, the Deployment follows. If a user changes the number or the image of the Deployment, or deletes it,
//!   it becomes again what the site asks for. What else others write into it stays;
//! - a Deployment of that name with another owner is left alone, and so is a ConfigMap that is no site;
//! - `replicas` that are no number from 0 upwards (or one too large for a Deployment), or no image (or an empty one), change
//!   nothing, and are not tried again until the site changes;
//! - the status says how many Pods the Deployment has (its `status.replicas`, as text). It is written only when it differs;
//! - a site that is being deleted gets nothing any more.
//!
//! `reconcile` is called with any ConfigMap that may have changed, or whose Deployment may have. Read from the cache. Any call
//! may fail, and your process may crash after any: return the error, and you are called again.

#![allow(unused_imports)]

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use kubestep_exercise::kube::{Action, Api, Context, Error, Patch, PatchParams, PostParams};
use serde_json::json;

// Yours from here.

/// Brings the cluster one step closer to what the site asks for.
pub async fn reconcile(site: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    let meta = &site.metadata;
    let is_site = meta.labels.iter().flatten().any(|(key, value)| key == "kind" && value == "Site");
    if !is_site || meta.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let data = site.data.clone().unwrap_or_default();
    let replicas = data.get("replicas").and_then(|text| text.parse().ok()).filter(|count: &i32| *count >= 0);
    let (Some(replicas), Some(image)) = (replicas, data.get("image").filter(|image| !image.is_empty())) else {
        return Ok(Action::await_change());
    };
    let (namespace, name) = (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default());
    let deployments: Api<Deployment> = Api::namespaced(context.client.clone(), namespace);
    let Some(there) = deployments.get_opt(name).await? else {
        let deployment = deployment_for(&site, replicas, image);
        deployments.create(&PostParams::default(), &deployment).await?;
        return Ok(Action::await_change());
    };
    if !is_controlled_by(&there, &site) {
        return Ok(Action::await_change());
    }
    if asks(&there) != (Some(replicas), Some(image)) {
        let template = json!({"spec": {"containers": [{"name": "site", "image": image}]}});
        let patch = Patch::Strategic(json!({"spec": {"replicas": replicas, "template": template}}));
        deployments.patch(name, &PatchParams::default(), &patch).await?;
    }
    let pods = there.status.as_ref().and_then(|status| status.replicas).unwrap_or(0).to_string();
    if meta.annotations.as_ref().and_then(|all| all.get("example.com/pods")) != Some(&pods) {
        let sites: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"example.com/pods": pods}}}));
        sites.patch(name, &PatchParams::default(), &patch).await?;
    }
    Ok(Action::await_change())
}

fn is_controlled_by(deployment: &Deployment, site: &ConfigMap) -> bool {
    let mut owners = deployment.metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && Some(&owner.uid) == site.metadata.uid.as_ref())
}

/// The replicas and the image of a Deployment.
fn asks(deployment: &Deployment) -> (Option<i32>, Option<&String>) {
    let Some(spec) = &deployment.spec else { return (None, None) };
    let container = spec.template.spec.as_ref().and_then(|spec| spec.containers.iter().find(|one| one.name == "site"));
    (spec.replicas, container.and_then(|container| container.image.as_ref()))
}

fn deployment_for(site: &ConfigMap, replicas: i32, image: &str) -> Deployment {
    let name = site.metadata.name.clone().unwrap_or_default();
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: name.clone(),
        uid: site.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    let labels = Some([("app".to_owned(), name.clone())].into());
    let container = Container { name: "site".to_owned(), image: Some(image.to_owned()), ..Container::default() };
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: labels.clone(), ..ObjectMeta::default() }),
        spec: Some(PodSpec { containers: vec![container], ..PodSpec::default() }),
    };
    let metadata = ObjectMeta { name: Some(name), owner_references: Some(vec![owner]), ..ObjectMeta::default() };
    let selector = LabelSelector { match_labels: labels, ..LabelSelector::default() };
    let spec = DeploymentSpec { replicas: Some(replicas), selector, template, ..DeploymentSpec::default() };
    Deployment { metadata, spec: Some(spec), status: None }
}
