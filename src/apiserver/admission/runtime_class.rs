//! RuntimeClass: a Pod names a way to run its containers, and gets what that costs and where it can be had. Mirrors
//! `plugin/pkg/admission/runtimeclass`.
//!
//! Left out: kubelets do not watch the classes, they read one when a Pod names it.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PodSpec, Toleration};
use k8s_openapi::api::node::v1::{RuntimeClass, Scheduling};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use object::resources::amounts;
use object::{Kind, Object, Pod, Status};

use super::{Attributes, forbidden};

const OTHER_OVERHEAD: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/// Fills in `spec.overhead`, node selector and tolerations of a new Pod.
pub fn admit(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    let Some(class) = class_of(attributes, object)? else { return Ok(()) };
    let request = attributes.request;
    let Object::Pod(pod) = object else { return Ok(()) };
    let refuse = |pod: &Arc<Pod>, why: &str| Err(forbidden(request, Some(&Object::Pod(pod.clone())), why));
    if let Some(overhead) = &class.overhead {
        let given = pod.spec.as_ref().and_then(|spec| spec.overhead.as_ref());
        if given.is_some_and(|given| !same(Some(given), overhead.pod_fixed.as_ref())) {
            return refuse(pod, OTHER_OVERHEAD);
        }
        Arc::make_mut(pod).spec.get_or_insert_default().overhead.clone_from(&overhead.pod_fixed);
    }
    let Some(scheduling) = &class.scheduling else { return Ok(()) };
    match place(Arc::make_mut(pod).spec.get_or_insert_default(), scheduling) {
        Ok(()) => Ok(()),
        Err(why) => refuse(pod, &why),
    }
}

/// The overhead of a new Pod is that of its class, and none without one.
pub fn validate(attributes: &Attributes, object: &Object) -> Result<(), Status> {
    let class = class_of(attributes, object)?;
    let Object::Pod(pod) = object else { return Ok(()) };
    if !is_new_pod(attributes) {
        return Ok(());
    }
    let refuse = |why: &str| Err(forbidden(attributes.request, Some(object), why));
    let given = pod.spec.as_ref().and_then(|spec| spec.overhead.as_ref());
    match class.as_ref().and_then(|class| class.overhead.as_ref()) {
        Some(overhead) if !same(given, overhead.pod_fixed.as_ref()) => refuse(OTHER_OVERHEAD),
        None if given.is_some_and(|given| !given.is_empty()) => {
            refuse("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
        }
        _ => Ok(()),
    }
}

fn is_new_pod(attributes: &Attributes) -> bool {
    attributes.is_create() && attributes.request.subresource.is_none()
}

/// The class that a new Pod names; one that is not there is refused.
fn class_of(attributes: &Attributes, object: &Object) -> Result<Option<Arc<RuntimeClass>>, Status> {
    let Object::Pod(pod) = object else { return Ok(None) };
    let name = pod.spec.as_ref().and_then(|spec| spec.runtime_class_name.as_deref());
    let Some(name) = name.filter(|_| is_new_pod(attributes)) else { return Ok(None) };
    match attributes.reader.get(Kind::RuntimeClass, "", name) {
        Some(Object::RuntimeClass(class)) => Ok(Some(class)),
        _ => {
            let why = format!("pod rejected: RuntimeClass \"{name}\" not found");
            Err(forbidden(attributes.request, Some(object), &why))
        }
    }
}

fn same(a: Option<&BTreeMap<String, Quantity>>, b: Option<&BTreeMap<String, Quantity>>) -> bool {
    amounts(a) == amounts(b)
}

/// Node selector and tolerations of the class come to those of the Pod. The error says where they contradict.
fn place(spec: &mut PodSpec, scheduling: &Scheduling) -> Result<(), String> {
    for (key, wanted) in scheduling.node_selector.iter().flatten() {
        let selector = spec.node_selector.get_or_insert_default();
        if let Some(own) = selector.get(key).filter(|own| *own != wanted) {
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; pod.spec.nodeSelector[{key}] = {own}"
            ));
        }
        selector.insert(key.clone(), wanted.clone());
    }
    let tolerations = scheduling.tolerations.iter().flatten();
    let all: Vec<Toleration> = spec.tolerations.iter().flatten().chain(tolerations).cloned().collect();
    let merged = merge(&all);
    spec.tolerations = (!merged.is_empty()).then_some(merged);
    Ok(())
}

/// Without those that another one covers. Mirrors `MergeTolerations`.
fn merge(all: &[Toleration]) -> Vec<Toleration> {
    let mut merged: Vec<Toleration> = Vec::new();
    for (i, toleration) in all.iter().enumerate() {
        let before = merged.iter().any(|there| covers(there, toleration));
        let after = all[i + 1..].iter().any(|there| there != toleration && covers(there, toleration));
        if !before && !after {
            merged.push(toleration.clone());
        }
    }
    merged
}

/// Whether the first tolerates everything that the second tolerates. Mirrors `isSuperset`.
fn covers(first: &Toleration, second: &Toleration) -> bool {
    let text = |field: &'_ Option<String>| -> String { field.clone().unwrap_or_default() };
    let operator = |toleration: &Toleration| match text(&toleration.operator).as_str() {
        "" => "Equal".to_owned(),
        other => other.to_owned(),
    };
    if first == second {
        return true;
    }
    let exists = operator(first) == "Exists";
    let (key, effect) = (text(&first.key), text(&first.effect));
    if key != text(&second.key) && !(key.is_empty() && exists) || !effect.is_empty() && effect != text(&second.effect) {
        return false;
    }
    if effect == "NoExecute"
        && let Some(most) = first.toleration_seconds
        && second.toleration_seconds.is_none_or(|seconds| seconds > most)
    {
        return false;
    }
    exists || operator(first) == "Equal" && operator(second) == "Equal" && text(&first.value) == text(&second.value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{Objects, create};
    use super::*;

    fn classes() -> Objects {
        let class = |name: &str, more: Value| {
            let mut class = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name},
                "handler": "kata"});
            for (key, value) in more.as_object().into_iter().flatten() {
                class[key] = value.clone();
            }
            class
        };
        let place = json!({"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm", "operator": "Exists"}]});
        Objects::parse(&[
            class("plain", json!({})),
            class("vm", json!({"overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}}, "scheduling": place})),
        ])
    }

    fn pod(spec: Value) -> Value {
        let mut spec = spec;
        spec["containers"] = json!([]);
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    }

    #[test]
    fn the_class_fills_in() {
        let overhead = json!({"cpu": "250m", "memory": "120Mi"});
        let by_key = json!({"key": "vm", "operator": "Exists"});
        let other = json!({"key": "other", "value": "x", "effect": "NoSchedule"});
        let filled = |tolerations: Value| {
            json!({"containers": [], "overhead": overhead, "nodeSelector": {"vm": "yes"},
            "tolerations": tolerations, "runtimeClassName": "vm"})
        };
        let cases = [
            (json!({}), json!({"containers": []})),
            (json!({"runtimeClassName": "plain"}), json!({"containers": [], "runtimeClassName": "plain"})),
            (json!({"runtimeClassName": "vm"}), filled(json!([by_key]))),
            (
                json!({"runtimeClassName": "vm", "overhead": {"cpu": "0.25", "memory": "120Mi"}}),
                filled(json!([by_key])),
            ),
            (json!({"runtimeClassName": "vm", "tolerations": [other]}), filled(json!([other, by_key]))),
            // The class's toleration covers the Pod's own.
            (
                json!({"runtimeClassName": "vm", "tolerations": [{"key": "vm", "value": "a", "effect": "NoSchedule"}]}),
                filled(json!([by_key])),
            ),
        ];
        for (spec, expected) in cases {
            let got = create(admit, &classes(), pod(spec.clone())).expect("admitted").to_json();
            assert_eq!(got["spec"], expected, "{spec}");
        }
    }

    #[test]
    fn what_contradicts_is_refused() {
        let refused = |spec: Value| create(admit, &classes(), pod(spec)).expect_err("refused").message;
        let cases = [
            (json!({"runtimeClassName": "no"}), "pod rejected: RuntimeClass \"no\" not found"),
            (json!({"runtimeClassName": "vm", "overhead": {"cpu": "1"}}), OTHER_OVERHEAD),
            (
                json!({"runtimeClassName": "vm", "nodeSelector": {"vm": "no"}}),
                "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no",
            ),
        ];
        for (spec, why) in cases {
            assert_eq!(refused(spec.clone()), format!("pods \"p\" is forbidden: {why}"), "{spec}");
        }
        let both = |attributes: &mut Attributes, object: &mut Object| validate(attributes, object);
        let alone = create(both, &classes(), pod(json!({"overhead": {"cpu": "1"}}))).expect_err("refused").message;
        assert!(alone.ends_with("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"));
        assert!(create(both, &classes(), pod(json!({"runtimeClassName": "plain"}))).is_ok());
    }
}
