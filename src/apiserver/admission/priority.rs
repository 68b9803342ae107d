//! Priority: a Pod names a PriorityClass, and gets its number. Mirrors `plugin/pkg/admission/priority`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::api::scheduling::v1::PriorityClass;

use object::{Accessor, Kind, Object, Pod, Status};

use super::{Attributes, forbidden};

const PREEMPT_LOWER_PRIORITY: &str = "PreemptLowerPriority";

/// What a Pod's class comes to.
struct Computed {
    class: Option<String>,
    priority: i32,
    preemption_policy: String,
}

/// Fills in `spec.priority` and `spec.preemptionPolicy`; numbers that do not fit the class are refused.
pub fn admit(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    if attributes.request.subresource.is_some() {
        return Ok(());
    }
    let Object::Pod(pod) = object else { return Ok(()) };
    match attributes.old {
        Some(Object::Pod(old)) => {
            keep(pod, old);
            Ok(())
        }
        _ => compute(attributes, pod),
    }
}

/// An update that leaves them out keeps them.
fn keep(pod: &mut Arc<Pod>, old: &Pod) {
    let (Some(new), Some(old)) = (&pod.spec, &old.spec) else { return };
    let lost = |new: &PodSpec| {
        (new.priority.is_none() && old.priority.is_some())
            || (new.preemption_policy.is_none() && old.preemption_policy.is_some())
    };
    if lost(new) {
        let new = Arc::make_mut(pod).spec.get_or_insert_default();
        new.priority = new.priority.or(old.priority);
        new.preemption_policy = new.preemption_policy.take().or_else(|| old.preemption_policy.clone());
    }
}

fn compute(attributes: &Attributes, pod: &mut Arc<Pod>) -> Result<(), Status> {
    let class = pod.spec.as_ref().and_then(|spec| spec.priority_class_name.as_deref()).unwrap_or_default();
    let refuse = |why: String| Err(forbidden(attributes.request, Some(&Object::Pod(pod.clone())), &why));
    let computed = match class {
        "" => without_class(attributes),
        name => match attributes.reader.get(Kind::PriorityClass, "", name) {
            Some(Object::PriorityClass(class)) => of_class(&class),
            _ => return refuse(format!("no PriorityClass with name {name} was found")),
        },
    };
    let spec = pod.spec.as_ref();
    if let Some(given) = spec.and_then(|spec| spec.priority).filter(|given| *given != computed.priority) {
        return refuse(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {} from the given PriorityClass name",
            computed.priority
        ));
    }
    let policy = spec.and_then(|spec| spec.preemption_policy.as_deref());
    if let Some(given) = policy.filter(|given| *given != computed.preemption_policy) {
        return refuse(format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission \
             controller computed {} from the given PriorityClass name",
            computed.preemption_policy
        ));
    }
    let spec = Arc::make_mut(pod).spec.get_or_insert_default();
    if computed.class.is_some() {
        spec.priority_class_name = computed.class;
    }
    spec.priority = Some(computed.priority);
    spec.preemption_policy = Some(computed.preemption_policy);
    Ok(())
}

/// A Pod without a class gets the global default; of several the one with the smallest value.
fn without_class(attributes: &Attributes) -> Computed {
    let default = defaults(attributes).min_by_key(|class| class.value);
    match default {
        Some(class) => Computed { class: class.metadata.name.clone(), ..of_class(&class) },
        None => Computed { class: None, priority: 0, preemption_policy: PREEMPT_LOWER_PRIORITY.to_owned() },
    }
}

fn of_class(class: &PriorityClass) -> Computed {
    let policy = class.preemption_policy.clone();
    Computed {
        class: None,
        priority: class.value.unwrap_or_default(),
        preemption_policy: policy.unwrap_or_else(|| PREEMPT_LOWER_PRIORITY.to_owned()),
    }
}

/// The classes that are global defaults.
fn defaults(attributes: &Attributes) -> impl Iterator<Item = Arc<PriorityClass>> {
    attributes.reader.list(Kind::PriorityClass, "").into_iter().filter_map(|object| match object {
        Object::PriorityClass(class) if class.global_default == Some(true) => Some(class),
        _ => None,
    })
}

/// There is one global default at most.
pub fn validate(attributes: &Attributes, object: &Object) -> Result<(), Status> {
    let Object::PriorityClass(class) = object else { return Ok(()) };
    if class.global_default != Some(true) {
        return Ok(());
    }
    match defaults(attributes).find(|other| other.metadata.name != class.metadata.name) {
        Some(other) => {
            let name = other.metadata.name();
            let why = format!("PriorityClass {name} is already marked as default. Only one default can exist");
            Err(forbidden(attributes.request, Some(object), &why))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{Objects, create};
    use super::*;

    fn class(name: &str, value: i32, default: bool) -> Value {
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
            "value": value, "globalDefault": default, "preemptionPolicy": "Never"})
    }

    #[allow(clippy::type_complexity, reason = "priority, policy and class name of one Pod, for a table")]
    fn priority(objects: &Objects, spec: Value) -> Result<(Option<i32>, Option<String>, Option<String>), String> {
        let mut spec = spec;
        spec["containers"] = json!([]);
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec});
        match create(admit, objects, pod) {
            Ok(Object::Pod(pod)) => {
                let spec = pod.spec.clone().unwrap_or_default();
                Ok((spec.priority, spec.preemption_policy.clone(), spec.priority_class_name.clone()))
            }
            Ok(other) => Err(format!("not a Pod: {other:?}")),
            Err(status) => Err(status.message),
        }
    }

    #[test]
    fn the_class_decides() {
        let plain = Objects::parse(&[class("high", 1000, false)]);
        let defaulted = Objects::parse(&[class("high", 1000, false), class("usual", 5, true)]);
        let policy = |text: &str| Some(text.to_owned());
        let cases = [
            (&plain, json!({}), Ok((Some(0), policy(PREEMPT_LOWER_PRIORITY), None))),
            (&plain, json!({"priorityClassName": "high"}), Ok((Some(1000), policy("Never"), Some("high".to_owned())))),
            (&defaulted, json!({}), Ok((Some(5), policy("Never"), Some("usual".to_owned())))),
            (
                &plain,
                json!({"priorityClassName": "low"}),
                Err("pods \"p\" is forbidden: no PriorityClass with name low was found".to_owned()),
            ),
            (
                &plain,
                json!({"priority": 7}),
                Err("pods \"p\" is forbidden: the integer value of priority (7) must not be provided in pod spec; \
                     priority admission controller computed 0 from the given PriorityClass name"
                    .to_owned()),
            ),
        ];
        for (objects, spec, expected) in cases {
            assert_eq!(priority(objects, spec.clone()), expected, "{spec}");
        }
    }
}
