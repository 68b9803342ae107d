//! Making patches: what must be sent so that one version of an object becomes another.
//!
//! `kubectl apply` compares three versions: what it applied last, what is there now, and what is wanted. Fields that
//! were applied last and are wanted no more are deleted; everything wanted that differs from what is there is set;
//! what other writers set stays. Mirrors `CreateTwoWayMergePatch` and `CreateThreeWayMergePatch` of
//! `k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::schema::{FieldPath, Lists};
use super::strategic::{self, DELETE_FROM_LIST, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER};
use crate::Kind;

type Fields = Map<String, Value>;

/// The strategic merge patch that turns `old` into `new`; `{}` if they are equal.
pub fn diff_strategic(kind: Kind, old: &Value, new: &Value) -> Value {
    let options = Options { deletions: true, changes: true, order: true };
    Value::Object(diff_fields(&fields_of(old), &fields_of(new), &FieldPath::root(kind), options, false))
}

/// The strategic merge patch that `kubectl apply` sends: from `live` to `new`, deleting what was in `last_applied`
/// and is not in `new`.
pub fn three_way_strategic(kind: Kind, last_applied: &Value, live: &Value, new: &Value) -> Value {
    let (last_applied, live, new) = (fields_of(last_applied), fields_of(live), fields_of(new));
    let root = FieldPath::root(kind);
    let changes = Options { deletions: false, changes: true, order: true };
    let changes = diff_fields(&live, &new, &root, changes, false);
    let deletions = Options { deletions: true, changes: false, order: true };
    let deletions = diff_fields(&last_applied, &new, &root, deletions, false);
    // They can contradict each other only where a user reordered a list by hand; then the changes alone are sent.
    let both = strategic::combine(kind, deletions, changes.clone());
    Value::Object(both.unwrap_or(changes))
}

/// The merge patch (RFC 7386) that turns `old` into `new`, as `kubectl label` sends one.
pub fn diff_merge(old: &Value, new: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return new.clone() };
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let mut patch: Fields = gone.collect();
    for (key, value) in new {
        match old.get(key) {
            Some(there) if there == value => {}
            Some(there @ Value::Object(_)) => {
                patch.insert(key.clone(), diff_merge(there, value));
            }
            _ => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

/// The merge patch that `kubectl apply` sends for a kind without a type. Mirrors `CreateThreeWayJSONMergePatch` of
/// `k8s.io/apimachinery/pkg/util/jsonmergepatch`.
pub fn three_way_merge(last_applied: &Value, live: &Value, new: &Value) -> Value {
    let mut changes = diff_merge(live, new);
    keep(&mut changes, false);
    let mut deletions = diff_merge(last_applied, new);
    keep(&mut deletions, true);
    json_patch_over(deletions, changes)
}

/// Of a merge patch only what it deletes, or only what it does not.
fn keep(patch: &mut Value, deletions: bool) {
    let Value::Object(fields) = patch else { return };
    fields.retain(|_, value| match value {
        Value::Null => deletions,
        Value::Object(below) => {
            let empty = below.is_empty();
            keep(value, deletions);
            // What was empty before is meant so.
            value.as_object().is_some_and(|below| !below.is_empty()) || empty && !deletions
        }
        _ => !deletions,
    });
}

/// One patch laid over another; where both say something, the second counts.
fn json_patch_over(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut first), Value::Object(second)) => {
            for (key, value) in second {
                let value = match first.remove(&key) {
                    Some(there) => json_patch_over(there, value),
                    None => value,
                };
                first.insert(key, value);
            }
            Value::Object(first)
        }
        (_, second) => second,
    }
}

fn fields_of(value: &Value) -> Fields {
    value.as_object().cloned().unwrap_or_default()
}

/// Which differences a patch shall have.
#[derive(Clone, Copy)]
struct Options {
    /// What is in the old version only.
    deletions: bool,
    /// What is in the new version only, or another value there.
    changes: bool,
    /// The order of merged lists.
    order: bool,
}

fn diff_fields(old: &Fields, new: &Fields, path: &FieldPath, options: Options, retain_keys: bool) -> Fields {
    let mut patch = Map::new();
    for (key, value) in new {
        let path = path.field(key);
        match (old.get(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let inner = diff_fields(old, new, &path, options, path.retains_keys());
                if !inner.is_empty() {
                    patch.insert(key.clone(), Value::Object(inner));
                }
            }
            (Some(Value::Array(old)), Value::Array(new)) => diff_list(key, old, new, &path, options, &mut patch),
            (Some(old), new) if old == new => {}
            _ if options.changes => {
                patch.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    if options.deletions {
        let gone = old.keys().filter(|key| !new.contains_key(*key));
        patch.extend(gone.map(|key| (key.clone(), Value::Null)));
    }
    let retained: Vec<&String> = new.iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| key).collect();
    let clears = old.keys().any(|key| !new.contains_key(key));
    if retain_keys && !retained.is_empty() && (!patch.is_empty() || clears) {
        patch.insert(RETAIN_KEYS.to_owned(), json!(retained));
    }
    patch
}

fn diff_list(key: &str, old: &[Value], new: &[Value], path: &FieldPath, options: Options, patch: &mut Fields) {
    let diff = match path.lists() {
        _ if old.is_empty() && (new.is_empty() || !options.changes) => return,
        Lists::MergedBy(merge_key) if have_key(old, merge_key) && have_key(new, merge_key) => match old.is_empty() {
            true => ListDiff { add: new.to_vec(), ..ListDiff::default() },
            false => diff_items(old, new, merge_key, path, options),
        },
        Lists::Set => match old.is_empty() {
            true => ListDiff { add: new.to_vec(), ..ListDiff::default() },
            false => diff_set(old, new, options),
        },
        _ => {
            if options.changes && old != new {
                patch.insert(key.to_owned(), Value::Array(new.to_vec()));
            }
            return;
        }
    };
    let parts = [(key.to_owned(), diff.add), (format!("{DELETE_FROM_LIST}{key}"), diff.delete)];
    let parts = parts.into_iter().chain([(format!("{SET_ELEMENT_ORDER}{key}"), diff.order)]);
    patch.extend(parts.filter(|(_, list)| !list.is_empty()).map(|(key, list)| (key, Value::Array(list))));
}

/// The lists that a patch has for one list.
#[derive(Default)]
struct ListDiff {
    add: Vec<Value>,
    delete: Vec<Value>,
    order: Vec<Value>,
}

fn have_key(items: &[Value], key: &str) -> bool {
    items.iter().all(|item| item.get(key).is_some())
}

/// Pairs the items of two lists, both sorted by key, and compares each pair. A key that occurs twice, as port 53 for
/// TCP and UDP, is paired one by one.
fn diff_items(old: &[Value], new: &[Value], key: &str, path: &FieldPath, options: Options) -> ListDiff {
    let (sorted_old, sorted_new) = (sorted_by_key(old, key), sorted_by_key(new, key));
    let (mut sorted_old, mut sorted_new) = (sorted_old.into_iter().peekable(), sorted_new.into_iter().peekable());
    let (mut add, mut delete) = (Vec::new(), Vec::new());
    loop {
        let order = match (sorted_old.peek(), sorted_new.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => key_text(old, key).cmp(&key_text(new, key)),
        };
        let gone = if order.is_le() { sorted_old.next() } else { None };
        let come = if order.is_ge() { sorted_new.next() } else { None };
        match (gone, come) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                let mut inner = diff_fields(old, new, path, options, path.retains_keys());
                if !inner.is_empty() {
                    inner.insert(key.to_owned(), new.get(key).cloned().unwrap_or_default());
                    add.push(Value::Object(inner));
                }
            }
            (Some(old), None) if options.deletions => {
                delete.push(json!({key: old.get(key).cloned(), PATCH: "delete"}));
            }
            (None, Some(new)) if options.changes => add.push(new.clone()),
            _ => {}
        }
    }
    let index = |item: &Value| new.iter().position(|other| strategic::same_item(item, other, path));
    add.sort_by_key(index);
    add.extend(delete);
    let keys =
        |list: &[Value]| -> Vec<Value> { list.iter().map(|item| json!({key: item.get(key).cloned()})).collect() };
    let reordered = keys(old) != keys(new);
    let order = if options.order && (!add.is_empty() || reordered) { keys(new) } else { Vec::new() };
    ListDiff { add, order, ..ListDiff::default() }
}

fn sorted_by_key<'a>(items: &'a [Value], key: &str) -> Vec<&'a Value> {
    let mut sorted: Vec<&Value> = items.iter().collect();
    sorted.sort_by_key(|item| key_text(item, key));
    sorted
}

/// Go compares merge keys as text.
fn key_text(item: &Value, key: &str) -> String {
    super::go_text(item.get(key).unwrap_or(&Value::Null))
}

fn diff_set(old: &[Value], new: &[Value], options: Options) -> ListDiff {
    let only_in = |a: &[Value], b: &[Value]| a.iter().filter(|item| !b.contains(item)).cloned().collect::<Vec<_>>();
    let add = if options.changes { only_in(new, old) } else { Vec::new() };
    let mut delete = if options.deletions { only_in(old, new) } else { Vec::new() };
    delete.sort_by_key(super::go_text);
    let order = if options.order && old != new { new.to_vec() } else { Vec::new() };
    ListDiff { add, delete, order }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_ways_make_one_merge_patch() {
        #[rustfmt::skip]
        let cases = [
            (json!({"a": 1}), json!({"a": 1, "b": 2}), json!({"a": 1}), json!({})),
            (json!({"a": 1, "c": 1}), json!({"a": 1, "b": 2, "c": 1}), json!({"a": 3}), json!({"a": 3, "c": null})),
            (json!({"s": {"x": 1, "y": 1}}), json!({"s": {"x": 1, "y": 1, "z": 1}}), json!({"s": {"x": 2}}), json!({"s": {"x": 2, "y": null}})),
            (json!({"l": [1]}), json!({"l": [1, 2]}), json!({"l": [1]}), json!({"l": [1]})),
            (json!({"s": {"x": 1}}), json!({"s": {"x": 1}}), json!({}), json!({"s": null})),
            (json!({}), json!({}), json!({"s": {}}), json!({"s": {}})),
        ];
        for (last, live, new, want) in cases {
            assert_eq!(three_way_merge(&last, &live, &new), want, "{last} {live} {new}");
        }
    }
    use crate::patch::strategic as patched;

    fn deployment(image: &str) -> Value {
        json!({"metadata": {"name": "web"}, "spec": {"replicas": 4, "template": {"spec": {"containers": [
            {"name": "nginx", "image": image, "ports": [{"containerPort": 80}]}, {"name": "log", "image": "log:1"}]}}}})
    }

    #[test]
    fn apply_sends_what_kubectl_sends() {
        // Live has defaults and a label that others set.
        let mut live = deployment("nginx:1.27");
        live["metadata"]["labels"] = json!({"theirs": "1"});
        live["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = json!("IfNotPresent");
        let patch = three_way_strategic(Kind::Deployment, &deployment("nginx:1.27"), &live, &deployment("nginx:1.28"));
        let order = json!([{"name": "nginx"}, {"name": "log"}]);
        let want = json!({"spec": {"template": {"spec": {
            "$setElementOrder/containers": order, "containers": [{"image": "nginx:1.28", "name": "nginx"}]}}}});
        assert_eq!(patch, want);
        let unchanged = three_way_strategic(Kind::Deployment, &deployment("a"), &live, &deployment("nginx:1.27"));
        assert_eq!(unchanged, json!({}));
    }

    #[test]
    fn apply_deletes_what_it_applied_and_nothing_else() {
        let last = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"containers": [{"name": "x"}, {"name": "y"}]}});
        let live = json!({"metadata": {"labels": {"a": "1", "b": "2", "c": "3"}},
            "spec": {"containers": [{"name": "x"}, {"name": "y"}, {"name": "sidecar"}]}});
        let new = json!({"metadata": {"labels": {"a": "9"}}, "spec": {"containers": [{"name": "x", "image": "i"}]}});
        let patch = three_way_strategic(Kind::Pod, &last, &live, &new);
        let want = json!({"metadata": {"labels": {"a": "9", "b": null}}, "spec": {
            "$setElementOrder/containers": [{"name": "x"}],
            "containers": [{"name": "x", "image": "i"}, {"name": "y", "$patch": "delete"}]}});
        assert_eq!(patch, want);
        let result = patched(Kind::Pod, live, &patch).unwrap();
        assert_eq!(result["metadata"]["labels"], json!({"a": "9", "c": "3"}));
        assert_eq!(result["spec"]["containers"], json!([{"name": "x", "image": "i"}, {"name": "sidecar"}]));
    }

    #[test]
    fn a_diff_applied_gives_the_new_version() {
        #[rustfmt::skip]
        let cases = [
            (json!({}), json!({})), (json!({"a": 1}), json!({"b": 2})), (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"c": 3}})),
            (json!({"metadata": {"finalizers": ["a", "b"]}}), json!({"metadata": {"finalizers": ["c", "b"]}})),
            (json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}), json!({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}})),
            (json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}), json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}, {"name": "c"}]}})),
            (json!({"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}}),
                json!({"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 81}, {"containerPort": 80, "name": "x"}]}]}})),
            (json!({"spec": {"tolerations": [{"key": "a"}]}}), json!({"spec": {"tolerations": []}})),
            (json!({"spec": {"containers": [{"name": "a"}]}}), json!({"spec": {"containers": []}})),
        ];
        for (old, new) in cases {
            let patch = diff_strategic(Kind::Pod, &old, &new);
            assert_eq!(patched(Kind::Pod, old.clone(), &patch).unwrap(), new, "{old} with {patch}");
            assert_eq!(super::super::merge(old.clone(), &diff_merge(&old, &new)), new);
        }
    }

    #[test]
    fn a_union_retains_its_new_keys_only() {
        let old = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
        let new = json!({"spec": {"strategy": {"type": "Recreate"}}});
        let patch = diff_strategic(Kind::Deployment, &old, &new);
        assert_eq!(
            patch,
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": null}}})
        );
    }
}
