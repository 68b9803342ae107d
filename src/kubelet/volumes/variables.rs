//! The environment of a container, resolved. Mirrors `makeEnvironmentVariables` of `pkg/kubelet/kubelet_pods.go`.
//!
//! In a real container the variables come in any order, as Go's maps do.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, EnvVarSource, FileKeySelector, Service};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{env_file, service_links, sources};
use crate::expansion::expand;
use object::{Accessor, Kind, Object, Pod, downward};

/// Where the pod is. Its status says so only later.
#[derive(Clone, Copy, Debug)]
pub struct Addresses<'a> {
    /// The node's address.
    pub host: &'a str,
    /// That of its sandbox.
    pub pod: &'a str,
}

/// A file in a volume of the pod: where the node has it, and what is in it, if it is there.
pub type File<'a> = &'a dyn Fn(&FileKeySelector) -> (String, Option<String>);

/// Names and values, in the order of their names. What the container's spec says counts for more than what Services do.
/// The error is why the container cannot be made.
pub fn of_container(
    pod: &Pod,
    container: &Container,
    addresses: Addresses,
    services: &[Arc<Service>],
    node: &BTreeMap<String, Quantity>,
    object: sources::Find,
    file: File,
) -> Result<Vec<(String, String)>, String> {
    let mut variables: BTreeMap<String, String> =
        services.iter().flat_map(|service| service_links::variables(service)).collect();
    for from in container.env_from.iter().flatten() {
        let map = from.config_map_ref.as_ref().map(|r| (Kind::ConfigMap, &r.name, r.optional));
        let secret = from.secret_ref.as_ref().map(|r| (Kind::Secret, &r.name, r.optional));
        let Some((kind, name, optional)) = map.or(secret) else { continue };
        let Some(found) = find(object, kind, name, optional)? else { continue };
        let prefix = from.prefix.as_deref().unwrap_or_default();
        variables.extend(sources::data(&found).into_iter().map(|(key, text)| (format!("{prefix}{key}"), text)));
    }
    for variable in container.env.iter().flatten() {
        let value = match &variable.value_from {
            Some(source) => value_from(pod, container, addresses, source, node, object, file)?,
            // Of those before it, and of those that Services and whole sources give.
            None => {
                let text = variable.value.as_deref().unwrap_or_default();
                Some(expand(text, |name| variables.get(name).map(String::as_str)))
            }
        };
        variables.extend(value.map(|value| (variable.name.clone(), value)));
    }
    Ok(variables.into_iter().collect())
}

/// The value of one variable; None if what it names is missing and may be.
fn value_from(
    pod: &Pod,
    container: &Container,
    addresses: Addresses,
    source: &EnvVarSource,
    node: &BTreeMap<String, Quantity>,
    object: sources::Find,
    file: File,
) -> Result<Option<String>, String> {
    if let Some(field) = &source.field_ref {
        return match field.field_path.as_str() {
            "status.hostIP" | "status.hostIPs" => Ok(Some(addresses.host.to_owned())),
            "status.podIP" | "status.podIPs" => Ok(Some(addresses.pod.to_owned())),
            path => downward::field(pod, path).map(Some),
        };
    }
    if let Some(selector) = &source.resource_field_ref {
        return downward::variable(pod, selector, container, node).map(Some);
    }
    if let Some(selector) = &source.file_key_ref {
        return from_file(selector, file);
    }
    let map = source.config_map_key_ref.as_ref().map(|r| (Kind::ConfigMap, &r.name, &r.key, r.optional));
    let secret = source.secret_key_ref.as_ref().map(|r| (Kind::Secret, &r.name, &r.key, r.optional));
    let Some((kind, name, key, optional)) = map.or(secret) else { return Ok(Some(String::new())) };
    let Some(found) = find(object, kind, name, optional)? else { return Ok(None) };
    let value = sources::data(&found).into_iter().find(|(there, _)| there == key).map(|(_, text)| text);
    if value.is_none() && optional != Some(true) {
        let namespace = pod.metadata.namespace();
        return Err(format!("couldn't find key {key} in {kind} {namespace}/{name}"));
    }
    Ok(value)
}

/// A file that is not there is a mistake even where its key may be missing.
fn from_file(selector: &FileKeySelector, file: File) -> Result<Option<String>, String> {
    let (path, text) = file(selector);
    let value = text.and_then(|text| env_file::value(&text, &selector.key)).ok_or("couldn't parse env file")?;
    match value.is_empty() {
        false => Ok(Some(value)),
        true if selector.optional == Some(true) => Ok(None),
        true => Err(format!("environment variable key {:?} not found in file {path:?}", selector.key)),
    }
}

fn find(object: sources::Find, kind: Kind, name: &str, optional: Option<bool>) -> Result<Option<Object>, String> {
    match object(kind, name)? {
        None if optional != Some(true) => Err(format!("{} {name:?} not found", kind.info().singular())),
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn environment(container: Value) -> Result<String, String> {
        let pod: Pod =
            serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "shop"}})).expect("a Pod");
        let container: Container = serde_json::from_value(container).expect("a container");
        let object = |kind: Kind, name: &str| {
            let there = kind == Kind::ConfigMap && name == "settings";
            let manifest = json!({"metadata": {"name": name}, "data": {"color": "blue"}});
            Ok(there.then(|| kind.decode(manifest).expect("the manifest decodes")))
        };
        let addresses = Addresses { host: "172.18.0.11", pod: "10.244.1.2" };
        let file = |selector: &FileKeySelector| {
            let there = (selector.volume_name.as_str(), selector.path.as_str()) == ("data", "env");
            (format!("/volumes/{}", selector.path), there.then(|| "COLOR='red'".to_owned()))
        };
        let pairs = of_container(&pod, &container, addresses, &[], &BTreeMap::new(), &object, &file)?;
        Ok(pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn variables_come_from_what_they_name() {
        let key = |name: &str, key: &str| json!({"configMapKeyRef": {"name": name, "key": key}});
        let file = |path: &str, key: &str, optional: bool| {
            let selector = json!({"volumeName": "data", "path": path, "key": key, "optional": optional});
            json!({"env": [{"name": "C", "valueFrom": {"fileKeyRef": selector}}]})
        };
        let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
        for (container, expected) in [
            (json!({"env": [{"name": "A", "value": "1"}, {"name": "B"}]}), Ok("A=1 B=")),
            (json!({"env": [{"name": "C", "valueFrom": key("settings", "color")}]}), Ok("C=blue")),
            (
                json!({"env": [{"name": "B", "value": "$(C)"}, {"name": "C", "value": "1"}, {"name": "D", "value": "$(C)!"}]}),
                Ok("B=$(C) C=1 D=1!"),
            ),
            (json!({"envFrom": [{"prefix": "P_", "configMapRef": {"name": "settings"}}]}), Ok("P_color=blue")),
            (json!({"env": [field("N", "metadata.namespace")]}), Ok("N=shop")),
            (
                json!({"env": [field("H", "status.hostIP"), field("P", "status.podIP"), field("Q", "status.podIPs")]}),
                Ok("H=172.18.0.11 P=10.244.1.2 Q=10.244.1.2"),
            ),
            (
                json!({"env": [{"name": "C", "valueFrom": key("settings", "shape")}]}),
                Err("couldn't find key shape in ConfigMap shop/settings"),
            ),
            (json!({"env": [{"name": "C", "valueFrom": key("gone", "x")}]}), Err("configmap \"gone\" not found")),
            (json!({"envFrom": [{"secretRef": {"name": "gone"}}]}), Err("secret \"gone\" not found")),
            (file("env", "COLOR", false), Ok("C=red")),
            (file("env", "SHAPE", true), Ok("")),
            (file("env", "SHAPE", false), Err("environment variable key \"SHAPE\" not found in file \"/volumes/env\"")),
            (file("none", "COLOR", true), Err("couldn't parse env file")),
            (json!({"envFrom": [{"secretRef": {"name": "gone", "optional": true}}]}), Ok("")),
        ] {
            let mut named = container.clone();
            named["name"] = json!("app");
            assert_eq!(environment(named).as_deref().map_err(String::as_str), expected, "{container}");
        }
    }
}
