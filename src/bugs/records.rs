//! ConfigMaps as the custom resources of operators.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use client::{Client, Error};
use object::Key;
use wire::Patch;

/// One field of a record.
pub fn field<'a>(record: &'a ConfigMap, name: &str) -> Option<&'a str> {
    record.data.as_ref()?.get(name).map(String::as_str)
}

/// Whether a record has the label `kind` with this value.
pub fn is_a(record: &ConfigMap, kind: &str) -> bool {
    record.metadata.labels.as_ref().and_then(|labels| labels.get("kind")).is_some_and(|value| value == kind)
}

/// A record with one field.
pub fn record(key: &Key, name: &str, value: &str) -> ConfigMap {
    let (of, named) = (key.namespace().to_owned(), key.name().to_owned());
    let metadata = ObjectMeta { name: Some(named), namespace: Some(of), ..ObjectMeta::default() };
    let data = Some(BTreeMap::from([(name.to_owned(), value.to_owned())]));
    ConfigMap { metadata, data, ..ConfigMap::default() }
}

/// What the API server holds under this name now.
pub async fn look(client: &Client, key: &Key) -> Result<Option<Arc<ConfigMap>>, Error> {
    match client.get::<ConfigMap>(key.namespace(), key.name()).await {
        Err(status) if status.is_not_found() => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// Sets a field, even if the record has changed since; creates the record if it is not there.
pub async fn set(client: &Client, key: &Key, name: &str, value: &str) -> Result<(), Error> {
    let patch = Patch::Merge(json!({"data": {name: value}}));
    match client.patch::<ConfigMap>(key.namespace(), key.name(), patch).await {
        Err(status) if status.is_not_found() => client.create(record(key, name, value)).await?,
        patched => patched?,
    };
    Ok(())
}
