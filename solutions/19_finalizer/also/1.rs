//! Reads the object anew before it writes it, as a whole.
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kubestep_exercise::finalizer::{FINALIZER, PUBLIC};
use kubestep_exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use serde_json::{from_value, json};

pub async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    let name = map.metadata.name.clone().unwrap_or_default();
    let namespace = map.metadata.namespace.clone().unwrap_or_default();
    let label = map.metadata.labels.as_ref().and_then(|labels| labels.get("publish"));
    if label.map(String::as_str) != Some("yes") {
        return Ok(Action::await_change());
    }
    let api: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let public: Api<ConfigMap> = Api::namespaced(context.client.clone(), PUBLIC);
    let Some(mut now) = api.get_opt(&name).await? else { return Ok(Action::await_change()) };
    let copy = format!("{namespace}-{name}");
    let going = now.metadata.deletion_timestamp.is_some();
    let list = now.metadata.finalizers.get_or_insert_default();
    let at = list.iter().position(|one| one == FINALIZER);
    match (going, at) {
        (true, None) => {}
        (true, Some(at)) => {
            list.remove(at);
            if let Err(error) = public.delete(&copy, &DeleteParams::default()).await
                && !error.is_not_found()
            {
                return Err(error);
            }
            api.replace(&name, &PostParams::default(), &now).await?;
        }
        (false, None) => {
            list.push(FINALIZER.into());
            api.replace(&name, &PostParams::default(), &now).await?;
            // The change that this is brings the next call.
        }
        (false, Some(_)) => {
            let body: ConfigMap = from_value(json!({"metadata": {"name": copy}, "data": now.data}))
                .map_err(|error| Error::Other(error.to_string()))?;
            match public.create(&PostParams::default(), &body).await {
                Err(error) if error.is_already_exists() => {
                    let there = public.get(&copy).await?;
                    if there.data != now.data {
                        public.replace(&copy, &PostParams::default(), &body).await?;
                    }
                }
                other => drop(other?),
            }
        }
    }
    Ok(Action::await_change())
}
