//! What a controller says to the cluster, for a person: of two things that differ, what differs.

use serde_json::Value;

use super::alike::is_empty;
use debugger::expression::words::brief;
use exercise::wire::{Request, Say};
use object::patch::schema::{FieldPath, Lists};
use object::{Kind, patch};

/// More fields that differ are only counted.
const MOST: usize = 3;

/// Two calls, each with where they differ.
fn listed((one, other): (String, String), found: Vec<(String, String)>) -> (String, String) {
    let all = |call: String, mut texts: Vec<String>| {
        let more = texts.len().saturating_sub(MOST);
        texts.truncate(MOST);
        if more > 0 {
            texts.push(format!("and {more} more"));
        }
        if texts.is_empty() { call } else { format!("{call}: {}", texts.join("; ")) }
    };
    let (did, right) = found.into_iter().unzip();
    (all(one, did), all(other, right))
}

/// What was said, and what would have been right. Of two calls that differ in nothing but what they send: in which fields.
/// `before`: the object that is put back, as its writer has read it.
pub fn apart(did: &Say, right: &Say, before: Option<&Value>) -> (String, String) {
    let (one, other) = (said(did), said(right));
    match (did, right) {
        (Say::Call { request: did, .. }, Say::Call { request: right, .. }) if one == other => {
            let (did, right) = (whole(did), whole(right));
            let mut found = Vec::new();
            differences("", Some(&did), Some(&right), &mut found);
            listed((one, other), found)
        }
        (Say::Call { request: whole, .. }, Say::Call { request: patch, .. })
            if (&*whole.verb, &*patch.verb) == ("update", "patch") && place(whole) == place(patch) =>
        {
            let mut found = Vec::new();
            let whole = filled(&whole.body);
            not_said("", Some(&whole), &filled(&patch.body), &mut found);
            if found.is_empty() {
                let patched =
                    before.and_then(|before| patched(before, patch)).map(|patched| said_in(&filled(&patched)));
                patched.iter().for_each(|patched| differences("", Some(&said_in(&whole)), Some(patched), &mut found));
            }
            listed((one, other), found)
        }
        _ => (one, other),
    }
}

/// An object after a patch. None: it cannot be patched so.
fn patched(before: &Value, patch: &Request) -> Option<Value> {
    match &*patch.patch {
        "merge" => Some(patch::merge(before.clone(), &patch.body)),
        "strategic" => patch::strategic(Kind::from_word(&patch.kind)?, before.clone(), &patch.body).ok(),
        _ => None,
    }
}

/// An object without the fields that have nothing in them.
fn said_in(object: &Value) -> Value {
    match object {
        Value::Object(fields) => {
            let there = fields.iter().filter(|(_, value)| !is_empty(value));
            Value::Object(there.map(|(name, value)| (name.clone(), said_in(value))).collect())
        }
        other => other.clone(),
    }
}

/// Where a call writes.
pub fn place(request: &Request) -> [&str; 4] {
    let Request { kind, subresource, namespace, name, .. } = request;
    [kind, subresource, namespace, name]
}

/// Where a whole object does not say what a patch of it says, and what is there in each.
fn not_said(place: &str, whole: Option<&Value>, patch: &Value, found: &mut Vec<(String, String)>) {
    let name = |item: &Value| item.get("name").cloned();
    match (whole, patch) {
        (Some(Value::Object(whole)), Value::Object(patch)) => {
            for (field, patch) in patch {
                let place = if place.is_empty() { field.clone() } else { format!("{place}.{field}") };
                not_said(&place, whole.get(field), patch, found);
            }
        }
        (Some(Value::Array(whole)), Value::Array(items)) if items.iter().all(|item| name(item).is_some()) => {
            for item in items {
                let there = whole.iter().find(|there| name(there) == name(item));
                let name = item["name"].as_str().unwrap_or_default();
                not_said(&format!("{place}[{name}]"), there, item, found);
            }
        }
        _ => differences(place, whole, Some(patch), found),
    }
}

/// What was said.
fn said(said: &Say) -> String {
    match said {
        Say::Call { request, .. } => {
            let Request { verb, kind, subresource, namespace, name, .. } = &**request;
            let kind = Kind::from_word(kind).map_or(kind.as_str(), |kind| kind.info().kind);
            let part = if subresource.is_empty() { String::new() } else { format!("the {subresource} of ") };
            let object = match (&**namespace, &**name) {
                ("", name) => name.to_owned(),
                (namespace, "") => format!("in {namespace}"),
                (namespace, name) => format!("{namespace}/{name}"),
            };
            format!("{verb} {part}{kind} {object}").trim_end().to_owned()
        }
        Say::Done { result: Ok(None), .. } => "be done until something changes".to_owned(),
        Say::Done { result: Ok(Some(after)), .. } => format!("look again after {after} s"),
        Say::Done { result: Err(error), .. } => format!("give up with an error, to be tried again: {error}"),
        Say::Broken(how) => how.clone(),
        Say::Read { kind } => format!("read the cache of {kind}"),
    }
}

/// All that is sent beside what [`said`] names, and of a patch what it takes away.
fn whole(request: &Request) -> Value {
    let mut body = compared(request, request.verb == "patch");
    // A list sends nothing else.
    if !request.labels.is_empty() || request.verb == "list" {
        let fields = body.as_object().cloned().unwrap_or_default();
        let labels = Some(&request.labels).filter(|labels| !labels.is_empty());
        let selector = labels.map(|labels| ("labelSelector".to_owned(), labels.clone().into()));
        body = fields.into_iter().chain(selector).collect();
    }
    body
}

/// The body of a call without what is empty, and without what says nothing new: naming the namespace in the object as
/// well says the same, and of the version that it was made from counts only that there is one. A list that a merge patch puts
/// in the place of another, where a strategic one would change items, is called so.
pub fn plain(request: &Request) -> Value {
    compared(request, false)
}

fn compared(request: &Request, with_nulls: bool) -> Value {
    let merged = Some(&request.body).filter(|_| request.patch == "json").and_then(as_merge);
    let mut body = without(merged.as_ref().unwrap_or(&request.body), with_nulls);
    let is_merge = request.verb == "patch" && (request.patch == "merge" || merged.is_some());
    if let Some(kind) = Kind::from_word(&request.kind).filter(|_| is_merge) {
        mark_lists(&FieldPath::root(kind), &mut body);
    }
    if let Some(meta) = body.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        // Empty labels are as good as none.
        meta.retain(|name, value| name != "namespace" && value.as_object().is_none_or(|fields| !fields.is_empty()));
    }
    body
}

/// A JSON patch as a merge patch with the same effect. None: it names items by their places, or puts something in the place of
/// several fields, and others may have written there.
fn as_merge(operations: &Value) -> Option<Value> {
    let mut merge = Value::Object(serde_json::Map::new());
    for operation in operations.as_array()? {
        let path = operation["path"].as_str()?.strip_prefix('/')?;
        let value = match operation["op"].as_str()? {
            "add" | "replace" if !operation["value"].is_object() && !operation["value"].is_null() => {
                &operation["value"]
            }
            "remove" => &Value::Null,
            "test" if path == "metadata/resourceVersion" => &operation["value"],
            _ => return None,
        };
        let mut place = &mut merge;
        for part in path.split('/') {
            if part == "-" || part.parse::<usize>().is_ok() {
                return None;
            }
            let name = part.replace("~1", "/").replace("~0", "~");
            place = place.as_object_mut()?.entry(name).or_insert_with(|| Value::Object(serde_json::Map::new()));
        }
        place.clone_from(value);
    }
    Some(merge)
}

/// Gives lists whose items a strategic patch would change another name.
fn mark_lists(place: &FieldPath, body: &mut Value) {
    let Value::Object(fields) = body else { return };
    for (name, mut value) in std::mem::take(fields) {
        let place = place.field(&name);
        let is_whole = (value.is_array() || value.is_null()) && place.lists() != Lists::Atomic;
        mark_lists(&place, &mut value);
        fields.insert(if is_whole { format!("{name} (the whole list)") } else { name.clone() }, value);
    }
}

/// A body without what is empty, and without the number of a version.
pub fn filled(body: &Value) -> Value {
    without(body, false)
}

fn without(body: &Value, with_nulls: bool) -> Value {
    let field = |(name, value): (&String, &Value)| {
        let value = if name == "resourceVersion" { "as read".into() } else { without(value, with_nulls) };
        (name.clone(), value)
    };
    match body {
        Value::Object(fields) => {
            Value::Object(fields.iter().filter(|(_, value)| with_nulls || !value.is_null()).map(field).collect())
        }
        Value::Array(items) => items.iter().map(|item| without(item, with_nulls)).collect(),
        other => other.clone(),
    }
}

/// Where two bodies differ, and what is there in each.
fn differences(place: &str, did: Option<&Value>, right: Option<&Value>, found: &mut Vec<(String, String)>) {
    let there = |value: Option<&Value>| value.filter(|value| !value.is_null()).cloned();
    match (there(did), there(right)) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                differences(&place, one.get(name), other.get(name), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
            let each = one.iter().zip(&other).enumerate();
            each.for_each(|(n, (one, other))| differences(&format!("{place}[{n}]"), Some(one), Some(other), found));
        }
        (one, other) if one != other => {
            let is = |value: Option<&Value>| match value {
                None => format!("{place} is left out"),
                Some(Value::Null) => format!("{place} is null"),
                Some(Value::Array(items)) if items.is_empty() => format!("{place} is empty"),
                Some(value) => format!("{place} is {}", brief(value)),
            };
            found.push((is(did), is(right)));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(body: Value) -> Say {
        let words = ["create", "pods", "default"].map(str::to_owned);
        let [verb, kind, namespace] = words;
        let request = Request { verb, kind, namespace, body, ..Request::default() };
        Say::Call { request: Box::new(request), at: (String::new(), 1), memory: Value::Null }
    }

    #[test]
    fn of_two_bodies_what_differs_is_said() {
        let owners = json!([{"kind": "ReplicaSet", "name": "web", "uid": "1"}]);
        let did = call(json!({"metadata": {"namespace": "default", "labels": {}}, "spec": {"a": 1}}));
        let right = call(json!({"metadata": {"ownerReferences": owners}, "spec": {"a": 1}}));
        let (did, right) = apart(&did, &right, None);
        assert_eq!(did, "create Pod in default: metadata.ownerReferences is left out");
        assert_eq!(right, "create Pod in default: metadata.ownerReferences is [ReplicaSet web]");
    }

    #[test]
    fn a_list_that_takes_the_place_of_another_is_told_from_its_items() {
        let patch = |sort: &str| {
            let Say::Call { mut request, at, memory } =
                call(json!({"metadata": {"finalizers": ["a"]}, "spec": {"tolerations": []}}))
            else {
                unreachable!("it is a call")
            };
            (request.verb, request.patch) = ("patch".to_owned(), sort.to_owned());
            Say::Call { request, at, memory }
        };
        let (did, right) = apart(&patch("merge"), &patch("strategic"), None);
        assert_eq!(
            did,
            "patch Pod in default: metadata.finalizers is left out; metadata.finalizers (the whole list) is [\"a\"]"
        );
        assert_eq!(
            right,
            "patch Pod in default: metadata.finalizers is [\"a\"]; metadata.finalizers (the whole list) is left out"
        );
    }

    #[test]
    fn a_json_patch_says_what_a_merge_patch_says() {
        let operations = json!([
            {"op": "add", "path": "/metadata/annotations/example.com~1pods", "value": "2"},
            {"op": "replace", "path": "/spec/replicas", "value": 3},
            {"op": "remove", "path": "/spec/paused"},
        ]);
        let merge = json!({
            "metadata": {"annotations": {"example.com/pods": "2"}}, "spec": {"replicas": 3, "paused": null},
        });
        assert_eq!(as_merge(&operations), Some(merge));
        let one = |operation: Value| as_merge(&json!([operation]));
        assert_eq!(
            one(json!({"op": "replace", "path": "/spec/containers/0/image", "value": "a"})),
            None,
            "by its place"
        );
        assert_eq!(
            one(json!({"op": "add", "path": "/metadata/labels", "value": {"a": "b"}})),
            None,
            "others may be there"
        );
        assert_eq!(one(json!({"op": "move", "path": "/a", "from": "/b"})), None);
    }

    #[test]
    fn what_a_patch_takes_away_is_said() {
        let patch = |finalizers: Value| {
            let Say::Call { mut request, at, memory } = call(json!({"metadata": finalizers})) else {
                unreachable!("it is a call")
            };
            (request.verb, request.patch) = ("patch".to_owned(), "merge".to_owned());
            Say::Call { request, at, memory }
        };
        let (did, right) =
            apart(&patch(json!({"finalizers": null, "labels": null})), &patch(json!({"finalizers": ["a"]})), None);
        assert_eq!(did, "patch Pod in default: metadata.finalizers (the whole list) is null");
        assert_eq!(right, "patch Pod in default: metadata.finalizers (the whole list) is [\"a\"]");
    }

    #[test]
    fn of_lists_it_is_said_what_they_leave_out() {
        let list = |labels: &str| {
            let Say::Call { mut request, at, memory } = call(Value::Null) else { unreachable!("it is a call") };
            (request.verb, request.labels) = ("list".to_owned(), labels.to_owned());
            Say::Call { request, at, memory }
        };
        let (did, right) = apart(&list("app=web"), &list(""), None);
        assert_eq!(did, "list Pod in default: labelSelector is \"app=web\"");
        assert_eq!(right, "list Pod in default: labelSelector is left out");
    }

    #[test]
    fn many_differences_are_counted() {
        let (did, _) = apart(&call(json!({"a": 1, "b": 1, "c": [1], "d": 1})), &call(json!({"c": []})), None);
        assert_eq!(did, "create Pod in default: a is 1; b is 1; c is [1]; and 1 more");
    }

    #[test]
    fn of_an_object_that_is_put_back_what_a_patch_says_otherwise_is_said() {
        let of = |verb: &str, number: i32| {
            let Say::Call { mut request, at, memory } =
                call(json!({"spec": {"replicas": number, "containers": [{"name": "a"}, {"name": "b", "image": "x"}]}}))
            else {
                unreachable!("it is a call")
            };
            (request.verb, request.name) = (verb.to_owned(), "web".to_owned());
            request.patch = "strategic".to_owned();
            Say::Call { request, at, memory }
        };
        let (did, right) = apart(&of("update", 1), &of("patch", 2), None);
        assert_eq!(did, "update Pod default/web: spec.replicas is 1");
        assert_eq!(right, "patch Pod default/web: spec.replicas is 2");
        assert_eq!(apart(&of("update", 1), &of("patch", 1), None).0, "update Pod default/web");
        let before = json!({"spec": {"replicas": 3, "containers": [{"name": "c"}]}});
        let (did, right) = apart(&of("update", 1), &of("patch", 1), Some(&before));
        assert_eq!(did, "update Pod default/web: spec.containers is [a, b]");
        assert_eq!(right, "patch Pod default/web: spec.containers is [a, b, c]");
    }
}
