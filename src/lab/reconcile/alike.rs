//! Two ways that come to the same: one patches an object, the other reads it, changes it and puts it back as a whole; or leaves
//! it as it is, if it has read that the patch would change nothing; or patches it in another way with the same effect. And
//! two calls whose order is of no consequence.

use serde_json::Value;

use super::words::{filled, place};
use exercise::wire::{Request, Say};
use object::{Accessor, Kind, Object, patch};

/// Whether an update puts back an object, in a version that was read, with nothing changed in it but what the other's patch
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

/// Whether a reconcile that is done leaves as it is what the other's patch would not change either, by the newest version read.
pub(super) fn is_rest_for_patch<'a>(said: &Say, would: &Say, known: impl Iterator<Item = &'a Object>) -> bool {
    let (Say::Done { result: Ok(_), .. }, Say::Call { request: patch, .. }) = (said, would) else { return false };
    patch.verb == "patch" && newest(patch, known).is_some_and(|newest| is_as_said(&newest.to_json(), &patch.body))
}

/// The newest version that was read of the object that a request is for.
pub(super) fn newest<'a>(request: &Request, known: impl Iterator<Item = &'a Object>) -> Option<&'a Object> {
    known.filter(|one| is_of(one, request)).max_by_key(|one| version_of(one))
}

/// Whether two patches of an object leave it the same, if one goes by the places of items in lists. That one must look
/// whether the items are still there: others may have written meanwhile.
pub(super) fn is_patch_for_patch<'a>(said: &Say, would: &Say, known: impl Iterator<Item = &'a Object>) -> bool {
    let (Say::Call { request: one, .. }, Say::Call { request: other, .. }) = (said, would) else { return false };
    let (patches, is_json) = ([&one.verb, &other.verb] == ["patch", "patch"], one.patch == "json");
    if !patches || !is_json || place(one) != place(other) || !looks_before(&one.body) {
        return false;
    }
    newest(one, known).map(Object::to_json).is_some_and(|before| {
        let after = |request: &Request| patched(before.clone(), request).map(|after| filled(&after));
        after(one).is_some_and(|after_one| after(other).is_some_and(|after_other| after_one == after_other))
    })
}

/// Whether a JSON patch looks at each item that it names by its place, or at the version of the object.
fn looks_before(operations: &Value) -> bool {
    let path = |operation: &Value| operation["path"].as_str().map(str::to_owned).unwrap_or_default();
    let all = || operations.as_array().into_iter().flatten();
    let looked: Vec<String> = all().filter(|operation| operation["op"] == "test").map(path).collect();
    let by_place = |path: &str| path.split('/').any(|part| part.parse::<usize>().is_ok());
    let is_looked_at = |path: &String| looked.iter().any(|looked| path.starts_with(looked.as_str()));
    looked.iter().any(|path| path == "/metadata/resourceVersion")
        || all().map(path).filter(|path| by_place(path)).all(|path| is_looked_at(&path))
}

/// An object after a patch. None: it cannot be patched so.
fn patched(before: Value, patch: &Request) -> Option<Value> {
    match &*patch.patch {
        "merge" => Some(patch::merge(before, &patch.body)),
        "strategic" => patch::strategic(Kind::from_word(&patch.kind)?, before, &patch.body).ok(),
        _ => patch::json(before, &patch.body).ok(),
    }
}

/// Whether the order of two calls that change something is of no consequence: what one says of a status, and Pods that come or
/// go, and objects of two kinds that are changed.
pub(super) fn are_independent(one: &Say, other: &Say) -> bool {
    let (Say::Call { request: one, .. }, Say::Call { request: other, .. }) = (one, other) else { return false };
    let is_status = [one, other].iter().any(|request| request.subresource == "status");
    let come_or_go = one.verb == other.verb && one.kind == other.kind && ["create", "delete"].contains(&&*one.verb);
    let are_changed = [one, other].iter().all(|request| ["patch", "update"].contains(&&*request.verb));
    is_status || come_or_go || are_changed && one.kind != other.kind
}

/// Whether an object is as a patch says. A status does not say of what there are none.
fn is_as_said(whole: &Value, patch: &Value) -> bool {
    let before = &whole["status"];
    let mut patch = patch.clone();
    if let Some(fields) = patch.get_mut("status").and_then(Value::as_object_mut) {
        fields.retain(|name, value| !before[name].is_null() || *value != 0);
    }
    says_all(whole, &patch)
}

/// Whether both list the objects of a kind, though one leaves some out. Both go on with what one of them hears.
pub(super) fn lists_others(said: &Say, would: &Say) -> bool {
    let (Say::Call { request: one, .. }, Say::Call { request: other, .. }) = (said, would) else { return false };
    [&one.verb, &other.verb] == ["list", "list"] && place(one) == place(other)
}

/// Whether a request is for this object.
fn is_of(one: &Object, request: &Request) -> bool {
    let meta = one.meta();
    Some(one.kind()) == Kind::from_word(&request.kind)
        && meta.name.as_ref() == Some(&request.name)
        && meta.namespace() == request.namespace
}

fn version_of(one: &Object) -> u64 {
    one.meta().resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}

/// The version of the object that is written which its writer has read.
pub(super) fn read_before<'a>(whole: &Request, mut known: impl Iterator<Item = &'a Object>) -> Option<Value> {
    let version = whole.body.pointer("/metadata/resourceVersion")?.as_str()?;
    let is_it = |one: &&Object| is_of(one, whole) && one.meta().resource_version.as_deref() == Some(version);
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
                // One with another name is another item.
                let is_same = !by_item || ["name", "uid"].iter().all(|key| before[key] == whole[key]);
                before == whole || is_same && parts.clone().any(is_said)
            })
        }
        // Items that come are put behind those that are there.
        (Value::Array(_) | Value::Null, Value::Array(items)) if by_item && items.iter().any(Value::is_object) => {
            let (there, parts) = (before.as_array().map_or(&[][..], Vec::as_slice), part.as_array());
            let comes = |item| parts.is_some_and(|parts| parts.contains(item)) && !there.contains(item);
            items.len() > there.len()
                && items[..there.len()] == *there
                && items[there.len()..]
                    .iter()
                    .enumerate()
                    .all(|(n, item)| comes(item) && !items[there.len()..][..n].contains(item))
        }
        _ => whole == part,
    }
}

/// Whether there is nothing in it. Some types write that, and others leave it out.
pub(super) fn is_empty(value: &Value) -> bool {
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
    use crate::making::{read, with};

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
        assert!(!alike(pod("6", &containers("c"), &json!({}))), "that version was never read");
        assert!(!alike(pod("7", &containers("c"), &json!({"labels": {"a": "b"}}))), "it says more");
        assert!(!alike(pod("7", &json!([{"name": "site", "image": "c"}]), &json!({}))), "a container is lost");
        assert!(!is_update_for_patch(&patch, &patch, before.iter()));
        let owner = |name: &str| json!({"apiVersion": "v1", "kind": "Site", "name": name, "uid": name});
        let patch = call("patch", json!({"metadata": {"ownerReferences": [owner("new")]}}));
        let owned = |owners: &[&str], by: &[&str]| {
            let pod = |owners: &[&str]| {
                let owners: Vec<Value> = owners.iter().map(|name| owner(name)).collect();
                let owners = if owners.is_empty() { Value::Null } else { json!(owners) };
                pod("7", &containers("b"), &json!({"ownerReferences": owners}))
            };
            let before = [Object::Pod(std::sync::Arc::new(read(pod(owners))))];
            is_update_for_patch(&call("update", pod(by)), &patch, before.iter())
        };
        assert!(owned(&["old"], &["old", "new"]) && owned(&[], &["new"]));
        assert!(!owned(&["old"], &["new"]), "an owner is lost");
        assert!(!owned(&["old"], &["old", "new", "more"]) && !owned(&["new"], &["new", "new"]), "it says more");
    }

    /// A call with another verb, kind or name, or on another part.
    fn other(mut call: Say, change: impl FnOnce(&mut Request)) -> Say {
        if let Say::Call { request, .. } = &mut call {
            change(request);
        }
        call
    }

    fn json_patch(operations: Value) -> Say {
        other(call("patch", operations), |request| request.patch = "json".to_owned())
    }

    #[test]
    fn a_patch_by_places_is_as_good_as_another_if_it_looks_at_what_is_there() {
        let names = json!({"finalizers": ["example.com/a", "example.com/b"]});
        let before = [Object::Pod(std::sync::Arc::new(read(pod("7", &json!([]), &names))))];
        let merge = other(call("patch", json!({"metadata": {"finalizers": ["example.com/b"]}})), |request| {
            request.patch = "merge".to_owned();
        });
        let alike = |operations: Value| is_patch_for_patch(&json_patch(operations), &merge, before.iter());
        let remove = |place: &str| json!({"op": "remove", "path": place});
        let test = |place: &str, value: &str| json!({"op": "test", "path": place, "value": value});
        let (first, second) = ("/metadata/finalizers/0", "/metadata/finalizers/1");
        assert!(alike(json!([test(first, "example.com/a"), remove(first)])));
        assert!(alike(json!([test("/metadata/resourceVersion", "7"), remove(first)])));
        assert!(!alike(json!([remove(first)])), "it does not look");
        assert!(!alike(json!([test(second, "example.com/b"), remove(second)])), "it takes away another");
        assert!(!alike(json!([test(first, "example.com/b"), remove(first)])), "it is refused");
    }

    #[test]
    fn the_order_of_a_status_and_of_pods_that_come_is_of_no_consequence() {
        let status = other(call("patch", json!({})), |request| request.subresource = "status".to_owned());
        let site = other(call("patch", json!({})), |request| request.kind = "configmaps".to_owned());
        let (create, delete, patch) = (call("create", json!({})), call("delete", json!({})), call("patch", json!({})));
        let free = |one: &Say, other: &Say| are_independent(one, other) && are_independent(other, one);
        assert!(free(&status, &create) && free(&status, &delete) && free(&create, &create) && free(&patch, &site));
        assert!(!free(&create, &delete) && !free(&delete, &site) && !free(&patch, &patch));
        assert!(!free(&create, &Say::Done { result: Ok(None), memory: Value::Null }));
    }

    #[test]
    fn two_lists_of_a_kind_may_leave_out_something_else() {
        let list = |labels: &str| {
            let Say::Call { mut request, at, memory } = call("list", Value::Null) else { unreachable!("it is a call") };
            request.labels = labels.to_owned();
            Say::Call { request, at, memory }
        };
        assert!(lists_others(&list("app=web"), &list("")));
        assert!(!lists_others(&call("get", Value::Null), &list("")));
    }

    #[test]
    fn to_leave_alone_what_is_as_it_should_be_is_as_good_as_to_patch_it() {
        let version = |version: &str, labels: Value| {
            Object::Pod(std::sync::Arc::new(read(pod(version, &json!([]), &json!({"labels": labels})))))
        };
        let known = [version("10", json!({"a": "new"})), version("9", json!({"a": "old", "b": "old"}))];
        let rest = |result| Say::Done { result, memory: Value::Null };
        let alike = |labels: Value| {
            let patch = call("patch", json!({"metadata": {"labels": labels}}));
            is_rest_for_patch(&rest(Ok(None)), &patch, known.iter())
        };
        assert!(alike(json!({"a": "new"})));
        assert!(alike(json!({"a": "new", "b": null})), "there is no such label any more");
        assert!(!alike(json!({"a": "old"})), "only an older version has it so");
        assert!(!alike(json!({"a": null})), "it takes something away");
        let patch = call("patch", json!({"metadata": {"labels": {"a": "new"}}}));
        assert!(!is_rest_for_patch(&rest(Err("no".to_owned())), &patch, known.iter()), "it will be called again");
        assert!(!is_rest_for_patch(&rest(Ok(None)), &patch, [].iter()), "it was never read");
        let counts = |ready: u32| json!({"status": {"replicas": 2, "readyReplicas": ready}});
        let whole = json!({"metadata": {"name": "web"}, "status": {"replicas": 2}});
        assert!(is_as_said(&whole, &counts(0)), "none is ready, and none is said to be");
        assert!(!is_as_said(&whole, &counts(1)));
    }
}
