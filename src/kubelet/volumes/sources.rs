//! Which ConfigMaps and Secrets a Pod takes content from.

use k8s_openapi::api::core::v1::{ConfigMap, Container, PodSpec, Secret, Volume};

use object::pod::Spec;
use object::pod::spec::PodVolume;
use object::{Kind, Object, Pod, Resource};

/// Finds a ConfigMap or Secret of a pod's namespace; None if there is none, an error if that cannot be found out.
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
    keys(object).map(|key| (key, text(object, key).unwrap_or_default())).collect()
}

/// The keys of a ConfigMap or Secret.
pub fn keys(object: &Object) -> impl Iterator<Item = &str> {
    let map = ConfigMap::from_object(object);
    let texts = map.and_then(|map| map.data.as_ref()).into_iter().flat_map(|data| data.keys());
    let bytes = map.map_or_else(|| Secret::from_object(object)?.data.as_ref(), |map| map.binary_data.as_ref());
    texts.chain(bytes.into_iter().flat_map(|data| data.keys())).map(String::as_str)
}

/// What a ConfigMap or Secret has at a key, as text.
pub fn text(object: &Object, key: &str) -> Option<String> {
    let map = ConfigMap::from_object(object);
    let text = map.and_then(|map| map.data.as_ref()?.get(key).cloned());
    text.or_else(|| {
        let bytes = map.map_or_else(|| Secret::from_object(object)?.data.as_ref(), |map| map.binary_data.as_ref());
        Some(String::from_utf8_lossy(&bytes?.get(key)?.0).into_owned())
    })
}

/// The volumes in a pod's spec.
pub fn volumes_of(pod: &Pod) -> impl Iterator<Item = PodVolume<'_>> {
    pod.spec.iter().flat_map(Spec::volumes)
}
