//! Two calls that come to the same: one patches an object, the other reads it, changes it and puts it back as a whole.

use serde_json::Value;

use super::words::{filled, place};
use crate::exercise::wire::{Request, Say};
use crate::object::{Accessor, Kind, Object};

/// Whether somebody puts back an object, of a version that they have read, with nothing changed in it but what another's patch
/// says too. What others write meanwhile is as safe then: the API server refuses the update.
pub(super) fn is_update_for_patch<'a>(said: &Say, would: &Say, known: impl Iterator<Item = &'a Object>) -> bool {
    let (Say::Call { request: whole, .. }, Say::Call { request: patch, .. }) = (said, would) else { return false };
    (&*whole.verb, &*patch.verb) == ("update", "patch")
        && place(whole) == place(patch)
        && read_before(whole, known).is_some_and(|before| {
            let part = filled(&patch.body);
            says_all(&filled(&whole.body), &part)
                && says_no_more(&before, &filled(&whole.body), &part, patch.patch == "strategic")
        })
}

/// The version of the object that is written which its writer has read.
fn read_before<'a>(whole: &Request, mut known: impl Iterator<Item = &'a Object>) -> Option<Value> {
    let version = whole.body.pointer("/metadata/resourceVersion")?.as_str()?;
    let is_it = |one: &&Object| {
        let meta = one.meta();
        Some(one.kind()) == Kind::from_word(&whole.kind)
            && meta.name.as_ref() == Some(&whole.name)
            && meta.namespace() == whole.namespace
            && meta.resource_version.as_deref() == Some(version)
    };
    known.find(is_it).map(|one| filled(&one.to_json()))
}

/// Whether an object says all that a part of it says.
fn says_all(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, part)| says_all(whole.get(name).unwrap_or(&Value::Null), part))
        }
        (Value::Array(whole), Value::Array(part)) if part.iter().all(Value::is_object) => {
            part.iter().all(|part| whole.iter().any(|whole| says_all(whole, part)))
        }
        (whole, part) => whole == part,
    }
}

/// Whether what differs from the object before is what the part says. In some patches (`by_item`) a list names the items that
/// change, and no others go.
fn says_no_more(before: &Value, whole: &Value, part: &Value, by_item: bool) -> bool {
    match (before, whole) {
        _ if before == whole || is_empty(before) && is_empty(whole) => true,
        (Value::Object(_) | Value::Null, Value::Object(_)) if part.is_object() => {
            let fields = [before, whole].into_iter().filter_map(Value::as_object);
            let mut names = fields.flat_map(serde_json::Map::keys);
            names.all(|name| says_no_more(&before[name], &whole[name], &part[name], by_item))
        }
        (Value::Array(before), Value::Array(whole)) if before.len() == whole.len() && part.is_array() => {
            let parts = part.as_array().into_iter().flatten();
            before.iter().zip(whole).all(|(before, whole)| {
                let is_said = |part| says_all(whole, part) && says_no_more(before, whole, part, by_item);
                before == whole || parts.clone().any(is_said)
            })
        }
        (_, Value::Array(items)) if by_item && items.iter().any(Value::is_object) => false,
        _ => whole == part,
    }
}

/// Whether there is nothing in it. Some types write that, and others leave it out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::lab::making::{read, with};

    fn call(verb: &str, body: Value) -> Say {
        let [verb, kind, namespace, name] = [verb, "pods", "default", "web"].map(str::to_owned);
        let request =
            Request { verb, kind, namespace, name, body, patch: "strategic".to_owned(), ..Request::default() };
        Say::Call { request: Box::new(request), at: (String::new(), 1), memory: Value::Null }
    }

    fn pod(version: &str, containers: &Value, more: &Value) -> Value {
        let meta = json!({"name": "web", "namespace": "default", "resourceVersion": version});
        json!({"metadata": with(meta, more), "spec": {"containers": containers}})
    }

    #[test]
    fn what_is_put_back_with_a_patch_in_it_is_as_good_as_the_patch() {
        let containers = |image: &str| json!([{"name": "log", "image": "a"}, {"name": "site", "image": image}]);
        let before = [Object::Pod(std::sync::Arc::new(read(pod("7", &containers("b"), &json!({})))))];
        let patch = call("patch", json!({"spec": {"containers": [{"name": "site", "image": "c"}]}}));
        let alike = |body: Value| is_update_for_patch(&call("update", body), &patch, before.iter());
        assert!(alike(pod("7", &containers("c"), &json!({}))));
        assert!(!alike(pod("7", &containers("d"), &json!({}))), "it says something else");
        assert!(!alike(pod("6", &containers("c"), &json!({}))), "nobody has read that version");
        assert!(!alike(pod("7", &containers("c"), &json!({"labels": {"a": "b"}}))), "it says more");
        assert!(!alike(pod("7", &json!([{"name": "site", "image": "c"}]), &json!({}))), "a container is lost");
        assert!(!is_update_for_patch(&patch, &patch, before.iter()));
    }
}
