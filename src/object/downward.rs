//! The downward API: what a Pod may know about itself, as files or variables.
//!
//! Mirrors `pkg/fieldpath` and `ExtractContainerResourceValue` of `pkg/api/v1/resource`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ResourceFieldSelector};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::quantity::Amount;
use crate::resources::{is_huge_page, is_pod_level, pod_level};
use crate::{Pod, pod};

/// The text behind a `fieldRef`, but for addresses, which only variables may tell. Labels and annotations are `key="value"`, one a line.
pub fn field(pod: &Pod, path: &str) -> Result<String, String> {
    let (meta, spec) = (&pod.metadata, pod.spec.as_ref());
    let text = |field: Option<&String>| field.cloned().unwrap_or_default();
    if let Some((map, key)) = path.strip_suffix("']").and_then(|path| path.split_once("['")) {
        let map = match map {
            "metadata.labels" => meta.labels.as_ref(),
            "metadata.annotations" => meta.annotations.as_ref(),
            _ => return Err(format!("unsupported fieldPath: {path}")),
        };
        return Ok(text(map.and_then(|map| map.get(key))));
    }
    Ok(match path {
        "metadata.name" => text(meta.name.as_ref()),
        "metadata.namespace" => text(meta.namespace.as_ref()),
        "metadata.uid" => text(meta.uid.as_ref()),
        "metadata.labels" => lines(meta.labels.as_ref()),
        "metadata.annotations" => lines(meta.annotations.as_ref()),
        "spec.nodeName" => text(spec.and_then(|spec| spec.node_name.as_ref())),
        "spec.serviceAccountName" => text(spec.and_then(|spec| spec.service_account_name.as_ref())),
        _ => return Err(format!("unsupported fieldPath: {path}")),
    })
}

fn lines(map: Option<&BTreeMap<String, String>>) -> String {
    map.into_iter().flatten().map(|(key, value)| format!("{key}={value:?}")).collect::<Vec<_>>().join("\n")
}

/// What a container of the Pod may use at most if it does not say so itself: what the Pod as a whole may, and else what
/// the node has. Mirrors `defaultPodLimitsForDownwardAPI`; files are made from what the node has alone.
fn limits_of_container(pod: &Pod, node: &BTreeMap<String, Quantity>) -> BTreeMap<String, Quantity> {
    let said = pod_level(pod).and_then(|resources| resources.limits.as_ref());
    let limit = |name: &str| said?.get(name).filter(|limit| is_pod_level(name) && !Amount::of(limit).is_zero());
    node.iter().map(|(name, has)| (name.clone(), limit(name).unwrap_or(has).clone())).collect()
}

/// The same for a variable. A container that it names gets what the node has as its default limits only if it is one of
/// `spec.containers`, and no init container; the variable's own container, if none is named, always does.
pub fn variable(
    pod: &Pod,
    selector: &ResourceFieldSelector,
    own: &Container,
    node: &BTreeMap<String, Quantity>,
) -> Result<String, String> {
    let named = selector.container_name.as_deref().filter(|name| !name.is_empty());
    let of_pod = |name: &str| pod.spec.iter().any(|spec| spec.containers.iter().any(|there| there.name == name));
    let limits = if named.is_none_or(of_pod) { limits_of_container(pod, node) } else { BTreeMap::new() };
    resource(pod, selector, Some(own), &limits)
}

/// The number behind a `resourceFieldRef`, in units of its divisor, rounded up. A limit that is not set is what the
/// node has.
pub fn resource(
    pod: &Pod,
    selector: &ResourceFieldSelector,
    own: Option<&Container>,
    node: &BTreeMap<String, Quantity>,
) -> Result<String, String> {
    let container = match selector.container_name.as_deref() {
        None | Some("") => own,
        Some(name) => pod::container(pod, name),
    };
    let Some(container) = container else {
        return Err(format!("container {} not found", selector.container_name.as_deref().unwrap_or_default()));
    };
    let resources = container.resources.as_ref();
    let (map, name) = match selector.resource.split_once('.') {
        Some(("limits", name)) => (resources.and_then(|r| r.limits.as_ref()), name),
        Some(("requests", name)) => (resources.and_then(|r| r.requests.as_ref()), name),
        _ => return Err(format!("unsupported container resource : {}", selector.resource)),
    };
    let set = map.and_then(|map| map.get(name)).map(Amount::of).filter(|amount| !amount.is_zero());
    let has = node.get(name).filter(|_| selector.resource.starts_with("limits.") && !is_huge_page(name));
    let amount = set.or_else(|| has.map(Amount::of)).unwrap_or_default();
    let divisor = selector.divisor.as_ref().map(Amount::of).filter(|divisor| !divisor.is_zero());
    let divisor = divisor.unwrap_or_else(|| Amount::units(1));
    // Processors are counted in thousandths, all else in units.
    let (amount, divisor) = match name {
        "cpu" => (amount.milli_value(), divisor.milli_value()),
        _ => (amount.value(), divisor.value()),
    };
    let divisor = divisor.max(1);
    Ok((amount.saturating_add(divisor - 1) / divisor).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web", "tier": "front"}},
            "spec": {"nodeName": "node-1", "containers": [
                {"name": "a", "resources": {"limits": {"cpu": "1500m"}, "requests": {"memory": "100Mi"}}},
            ]},
        }))
        .expect("a Pod")
    }

    #[test]
    fn fields_are_what_they_name() {
        for (path, text) in [
            ("metadata.name", "web"),
            ("metadata.labels['app']", "web"),
            ("metadata.labels['none']", ""),
            ("metadata.labels", "app=\"web\"\ntier=\"front\""),
            ("spec.nodeName", "node-1"),
        ] {
            assert_eq!(field(&pod(), path).as_deref(), Ok(text), "{path}");
        }
        assert_eq!(field(&pod(), "spec.dnsPolicy"), Err("unsupported fieldPath: spec.dnsPolicy".to_owned()));
    }

    #[test]
    fn resources_are_counted_in_their_divisor() {
        let (pod, node) = (pod(), [("memory".to_owned(), Quantity("8Gi".into()))].into());
        for (resource_name, divisor, text) in [
            ("limits.cpu", None, "2"),
            ("limits.cpu", Some("1m"), "1500"),
            ("requests.memory", Some("1Mi"), "100"),
            ("limits.memory", Some("1Gi"), "8"),
            ("requests.cpu", None, "0"),
        ] {
            let selector = ResourceFieldSelector {
                container_name: Some("a".into()),
                divisor: divisor.map(|d| Quantity(d.into())),
                resource: resource_name.into(),
            };
            assert_eq!(resource(&pod, &selector, None, &node).as_deref(), Ok(text), "{resource_name} {divisor:?}");
        }
    }

    #[test]
    fn a_variable_about_an_init_container_without_limits_is_zero() {
        let mut pod = pod();
        let spec = pod.spec.as_mut().expect("a spec");
        spec.containers.push(Container { name: "b".into(), ..Container::default() });
        spec.init_containers = Some(vec![Container { name: "i".into(), ..Container::default() }]);
        let node = [("cpu".to_owned(), Quantity("4".into()))].into();
        let own = Container { name: "i".into(), ..Container::default() };
        for (name, text) in [(None, "4"), (Some("b"), "4"), (Some("i"), "0"), (Some("a"), "2")] {
            let selector = ResourceFieldSelector {
                container_name: name.map(str::to_owned),
                divisor: None,
                resource: "limits.cpu".into(),
            };
            assert_eq!(variable(&pod, &selector, &own, &node).as_deref(), Ok(text), "{name:?}");
        }
    }

    #[test]
    fn limits_of_the_pod_go_before_what_the_node_has() {
        let mut pod = pod();
        let limits = json!({"limits": {"memory": "2Gi", "cpu": "0"}});
        pod.spec.as_mut().expect("a spec").resources = serde_json::from_value(limits).expect("resources");
        let node = [("cpu", "4"), ("memory", "8Gi")].map(|(name, has)| (name.to_owned(), Quantity(has.into()))).into();
        let limits = limits_of_container(&pod, &node);
        assert_eq!(
            limits,
            [("cpu", "4"), ("memory", "2Gi")].map(|(name, has)| (name.to_owned(), Quantity(has.into()))).into()
        );
    }
}
