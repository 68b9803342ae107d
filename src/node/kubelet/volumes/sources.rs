//! Which ConfigMaps and Secrets a Pod takes content from.

use k8s_openapi::api::core::v1::{ConfigMap, Container, PodSpec, Secret, Volume};

use crate::object::{Kind, Object, Resource};

/// Finds a ConfigMap or Secret of a pod's namespace; None if there is none, an error if nobody can tell.
pub type Find<'a> = &'a dyn Fn(Kind, &str) -> Result<Option<Object>, String>;

/// One object that a volume or a variable takes its content from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// ConfigMap or Secret.
    pub kind: Kind,
    /// Its name; its namespace is the pod's.
    pub name: &'a str,
    /// Nothing is wrong if it is missing.
    pub optional: bool,
}

/// The objects a volume takes its content from.
pub fn of_volume(volume: &Volume) -> Vec<Source<'_>> {
    let source = |kind, name, optional: Option<bool>| Source { kind, name, optional: optional == Some(true) };
    let mut sources = Vec::new();
    if let Some(map) = &volume.config_map {
        sources.push(source(Kind::ConfigMap, map.name.as_str(), map.optional));
    }
    if let Some(secret) = &volume.secret {
        sources.push(source(Kind::Secret, secret.secret_name.as_deref().unwrap_or_default(), secret.optional));
    }
    for part in volume.projected.iter().flat_map(|p| p.sources.iter().flatten()) {
        if let Some(map) = &part.config_map {
            sources.push(source(Kind::ConfigMap, map.name.as_str(), map.optional));
        }
        if let Some(secret) = &part.secret {
            sources.push(source(Kind::Secret, secret.name.as_str(), secret.optional));
        }
    }
    sources
}

/// The objects a container's variables come from.
pub fn of_variables(container: &Container) -> Vec<Source<'_>> {
    let source = |kind, name, optional: Option<bool>| Source { kind, name, optional: optional == Some(true) };
    let mut sources = Vec::new();
    for from in container.env_from.iter().flatten() {
        sources.extend(from.config_map_ref.as_ref().map(|r| source(Kind::ConfigMap, r.name.as_str(), r.optional)));
        sources.extend(from.secret_ref.as_ref().map(|r| source(Kind::Secret, r.name.as_str(), r.optional)));
    }
    for from in container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
        let map = from.config_map_key_ref.as_ref();
        sources.extend(map.map(|r| source(Kind::ConfigMap, r.name.as_str(), r.optional)));
        let secret = from.secret_key_ref.as_ref();
        sources.extend(secret.map(|r| source(Kind::Secret, r.name.as_str(), r.optional)));
    }
    sources
}

/// The Secrets with credentials for registries.
pub fn of_pulls(spec: &PodSpec) -> impl Iterator<Item = Source<'_>> {
    let names = spec.image_pull_secrets.iter().flatten().map(|secret| secret.name.as_str());
    names.filter(|name| !name.is_empty()).map(|name| Source { kind: Kind::Secret, name, optional: true })
}

/// The texts in a ConfigMap or Secret, by key. Bytes that are no text show as they can.
pub fn data(object: &Object) -> Vec<(&str, String)> {
    let bytes = |value: &k8s_openapi::ByteString| String::from_utf8_lossy(&value.0).into_owned();
    if let Some(map) = ConfigMap::from_object(object) {
        let texts = map.data.iter().flatten().map(|(key, text)| (key.as_str(), text.clone()));
        return texts
            .chain(map.binary_data.iter().flatten().map(|(key, value)| (key.as_str(), bytes(value))))
            .collect();
    }
    let secret = Secret::from_object(object).and_then(|secret| secret.data.as_ref());
    secret.into_iter().flatten().map(|(key, value)| (key.as_str(), bytes(value))).collect()
}
