//! One step in each call: a change brings the next one.
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kubestep_exercise::finalizer::{FINALIZER, PUBLIC};
use kubestep_exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use serde_json::{from_value, json};

enum Step {
    Hold,
    Write(ConfigMap),
    Clean,
    Rest,
}

pub async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    let copies: Api<ConfigMap> = Api::namespaced(context.client.clone(), PUBLIC);
    let meta = map.metadata.clone();
    let (namespace, name) = (meta.namespace.unwrap_or_default(), meta.name.unwrap_or_default());
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let copy = format!("{namespace}-{name}");
    let mut list = meta.finalizers.unwrap_or_default();
    let held = list.contains(&FINALIZER.to_owned());
    let published = meta.labels.unwrap_or_default().get("publish") == Some(&"yes".to_owned());
    let step = match (meta.deletion_timestamp, held) {
        (Some(_), true) => Step::Clean,
        (Some(_), false) => Step::Rest,
        (None, _) if !published => Step::Rest,
        (None, false) => Step::Hold,
        (None, true) => {
            let value = json!({"metadata": {"name": copy, "namespace": PUBLIC}, "data": map.data});
            Step::Write(from_value(value).map_err(|error| Error::Other(error.to_string()))?)
        }
    };
    match step {
        Step::Rest => return Ok(Action::await_change()),
        Step::Hold => list.push(FINALIZER.to_owned()),
        Step::Write(body) => {
            match copies.get_opt(&copy).await? {
                None => drop(copies.create(&PostParams::default(), &body).await?),
                Some(there) if there.data != body.data => {
                    drop(copies.replace(&copy, &PostParams::default(), &body).await?)
                }
                Some(_) => {}
            }
            return Ok(Action::await_change());
        }
        Step::Clean => {
            if copies.get_opt(&copy).await?.is_some() {
                copies.delete(&copy, &DeleteParams::default()).await?;
            }
            list.retain(|one| one != FINALIZER);
        }
    }
    let patch = Patch::Merge(json!({"metadata": {"resourceVersion": meta.resource_version, "finalizers": list}}));
    maps.patch(&name, &PatchParams::default(), &patch).await.map(|_| Action::await_change())
}
