//! Applying a strategic merge patch. Mirrors `mergeMap` and `mergeSlice` of
//! `k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`.
//!
//! Beside values a patch may hold directives: `$patch: delete` or `replace` in a map, `$deleteFromPrimitiveList/F`
//! with values to take out of the set F, `$setElementOrder/F` with the order the list F shall have, and
//! `$retainKeys` with the only fields that stay.

use serde_json::{Map, Value};

use super::schema::{FieldPath, Lists};
use super::{PatchError, go_map};
use crate::Kind;

pub(super) const PATCH: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
pub(super) const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList/";
pub(super) const SET_ELEMENT_ORDER: &str = "$setElementOrder/";

type Fields = Map<String, Value>;

/// What becomes of the directives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// They are carried out: the target is an object.
    Apply,
    /// They are kept: the target is itself a patch, to which another is added.
    Combine,
}

/// `object` with `patch` applied.
pub(super) fn apply(kind: Kind, object: Fields, patch: Fields) -> Result<Fields, PatchError> {
    merge_fields(object, patch, &FieldPath::root(kind), Mode::Apply)
}

/// One patch that does what `first` and then `second` would do; they must not touch the same values.
pub(super) fn combine(kind: Kind, first: Fields, second: Fields) -> Result<Fields, PatchError> {
    merge_fields(first, second, &FieldPath::root(kind), Mode::Combine)
}

fn merge_fields(mut target: Fields, mut patch: Fields, path: &FieldPath, mode: Mode) -> Result<Fields, PatchError> {
    if let Some(directive) = patch.get(PATCH) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                Ok(patch)
            }
            Some("delete") => Ok(Map::new()),
            _ => Err(unknown_directive(&patch)),
        };
    }
    retain_keys(&mut target, &mut patch, mode)?;
    merge_ordered_lists(&mut target, &mut patch, path, mode)?;
    for (key, value) in patch {
        if let Some(field) = key.strip_prefix(DELETE_FROM_LIST) {
            delete_from_list(&mut target, field, &key, value, mode)?;
            continue;
        }
        if value.is_null() && mode == Mode::Apply {
            target.remove(&key);
            continue;
        }
        let merged = match (target.remove(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                Value::Object(merge_fields(old, new, &path.field(&key), mode)?)
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                Value::Array(merge_list(old, new, &path.field(&key), mode)?)
            }
            (_, new) => match mode {
                Mode::Apply => without_directives(new),
                Mode::Combine => new,
            },
        };
        target.insert(key, merged);
    }
    Ok(target)
}

fn unknown_directive(patch: &Fields) -> PatchError {
    let directive = patch.get(PATCH).map(super::go_text).unwrap_or_default();
    PatchError::UnknownDirective { directive, map: go_map(patch) }
}

/// Carries out `$retainKeys`: what it does not name goes.
fn retain_keys(target: &mut Fields, patch: &mut Fields, mode: Mode) -> Result<(), PatchError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    if mode == Mode::Combine {
        return match target.insert(RETAIN_KEYS.to_owned(), retained.clone()) {
            Some(other) if other != retained => Err(PatchError::RetainKeys),
            _ => Ok(()),
        };
    }
    let Value::Array(retained) = retained else { return Err(PatchError::RetainKeys) };
    let is_retained = |key: &String| retained.iter().any(|name| name.as_str() == Some(key));
    let sets = |(key, value): &(&String, &Value)| {
        !value.is_null() && !key.starts_with(DELETE_FROM_LIST) && !key.starts_with(SET_ELEMENT_ORDER)
    };
    if patch.iter().filter(sets).any(|(key, _)| !is_retained(key)) {
        return Err(PatchError::RetainKeys);
    }
    target.retain(|key, _| is_retained(key));
    Ok(())
}

/// Merges the lists that have a `$setElementOrder`, and takes both out of the patch.
fn merge_ordered_lists(
    target: &mut Fields,
    patch: &mut Fields,
    path: &FieldPath,
    mode: Mode,
) -> Result<(), PatchError> {
    let ordered: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for directive in ordered {
        let order = patch.remove(&directive).unwrap_or_default();
        if mode == Mode::Combine {
            match target.insert(directive.clone(), order.clone()) {
                Some(other) if other != order => return Err(PatchError::SetElementOrder),
                _ => {}
            }
        }
        let Value::Array(order) = order else { return Err(PatchError::SetElementOrder) };
        let field = &directive[SET_ELEMENT_ORDER.len()..];
        let path = path.field(field);
        let old = target.remove(field).filter(|value| !value.is_null());
        let merged = match (old.clone(), patch.remove(field)) {
            (None, None) => continue,
            (Some(old), None) => old,
            (None, Some(new)) if mode == Mode::Apply => without_directives(new),
            (None, Some(new)) => new,
            (Some(Value::Array(old)), Some(Value::Array(new))) => {
                check_order(&new, &order, &path)?;
                Value::Array(merge_list(old, new, &path, mode)?)
            }
            (Some(_), Some(new)) => new,
        };
        let (Value::Array(merged), Value::Array(old)) = (merged, old.unwrap_or(Value::Array(Vec::new()))) else {
            return Err(PatchError::SetElementOrder);
        };
        target.insert(field.to_owned(), Value::Array(put_in_order(merged, &order, &old, &path)?));
    }
    Ok(())
}

/// The items of a patch stand in the order that it sets, and every one is in it.
fn check_order(patch: &[Value], order: &[Value], path: &FieldPath) -> Result<(), PatchError> {
    let mut from = 0;
    for item in patch.iter().filter(|item| item.get(PATCH).is_none()) {
        match order[from..].iter().position(|other| same_item(item, other, path)) {
            Some(at) => from += at + 1,
            None => return Err(PatchError::SetElementOrder),
        }
    }
    Ok(())
}

fn delete_from_list(
    target: &mut Fields,
    field: &str,
    directive: &str,
    values: Value,
    mode: Mode,
) -> Result<(), PatchError> {
    if mode == Mode::Combine {
        target.insert(directive.to_owned(), values);
        return Ok(());
    }
    let Value::Array(values) = values else { return Err(PatchError::PrimitiveList) };
    if let Some(Value::Array(items)) = target.get_mut(field) {
        items.retain(|item| !values.contains(item));
    }
    Ok(())
}

fn merge_list(old: Vec<Value>, new: Vec<Value>, path: &FieldPath, mode: Mode) -> Result<Vec<Value>, PatchError> {
    let before = old.clone();
    let (merged, order) = match path.lists() {
        Lists::Atomic => return Ok(new),
        Lists::Set => {
            let mut merged = old;
            for value in &new {
                if matches!(value, Value::Array(_)) {
                    return Err(PatchError::ListOfLists);
                }
                if !merged.contains(value) {
                    merged.push(value.clone());
                }
            }
            (merged, new)
        }
        Lists::MergedBy(key) => merge_items(old, new, key, path, mode)?,
    };
    put_in_order(merged, &order, &before, path)
}

/// Merges items with the same key. Also gives the items of the patch that were not directives.
fn merge_items(
    mut old: Vec<Value>,
    new: Vec<Value>,
    key: &'static str,
    path: &FieldPath,
    mode: Mode,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let (mut items, mut replace) = (Vec::new(), false);
    for item in new {
        let Value::Object(fields) = item else { return Err(no_merge_key(&item, key)) };
        match fields.get(PATCH).map(|directive| directive.as_str().unwrap_or_default()) {
            None => items.push(Value::Object(fields)),
            Some("delete") => {
                let Some(which) = fields.get(key) else { return Err(no_merge_key(&Value::Object(fields), key)) };
                old.retain(|item| item.get(key) != Some(which));
                if mode == Mode::Combine {
                    old.push(Value::Object(fields));
                }
            }
            Some("replace") => replace = true,
            Some("merge") => return Err(PatchError::MergeDirective),
            Some(_) => return Err(unknown_directive(&fields)),
        }
    }
    if replace {
        return Ok((items.clone(), items));
    }
    for item in &items {
        let Some(which) = item.get(key) else { return Err(no_merge_key(item, key)) };
        match old.iter_mut().find(|there| there.get(key) == Some(which)) {
            Some(Value::Object(there)) => {
                let fields = item.as_object().cloned().unwrap_or_default();
                *there = merge_fields(std::mem::take(there), fields, path, mode)?;
            }
            _ if mode == Mode::Apply => old.push(without_directives(item.clone())),
            _ => old.push(item.clone()),
        }
    }
    Ok((old, items))
}

fn no_merge_key(item: &Value, key: &'static str) -> PatchError {
    PatchError::NoMergeKey { map: super::go_text(item), key }
}

/// Orders a merged list: what the patch names in the patch's order, the rest in the order it had, and where both are
/// known, as it was. Mirrors `normalizeElementOrder`.
fn put_in_order(
    merged: Vec<Value>,
    order: &[Value],
    before: &[Value],
    path: &FieldPath,
) -> Result<Vec<Value>, PatchError> {
    if path.lists() == Lists::Atomic {
        return Ok(merged);
    }
    let index = |item: &Value, list: &[Value]| list.iter().position(|other| same_item(item, other, path));
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| index(item, order).is_some());
    named.sort_by_key(|item| index(item, order));
    others.sort_by_key(|item| index(item, before));
    let mut out = Vec::with_capacity(named.len() + others.len());
    let mut named = named.into_iter().peekable();
    for other in others {
        let stays_behind = |item: &Value| match (index(&other, before), index(item, before)) {
            (Some(other), Some(item)) => other >= item,
            _ => true,
        };
        while let Some(item) = named.next_if(stays_behind) {
            out.push(item);
        }
        out.push(other);
    }
    out.extend(named);
    Ok(out)
}

/// Whether two items of a merged list are the same one.
pub(super) fn same_item(a: &Value, b: &Value, path: &FieldPath) -> bool {
    match path.lists() {
        Lists::MergedBy(key) => a.get(key).is_some() && a.get(key) == b.get(key),
        _ => a == b,
    }
}

/// A new value of an object: directives mean nothing in it, and nulls are not stored.
fn without_directives(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(key, value)| !is_directive(key) && !value.is_null());
            Value::Object(kept.map(|(key, value)| (key, without_directives(value))).collect())
        }
        Value::Array(items) => {
            let kept = items.into_iter().filter(|item| item.get(PATCH).is_none_or(|directive| directive != "delete"));
            Value::Array(kept.map(without_directives).collect())
        }
        other => other,
    }
}

fn is_directive(key: &str) -> bool {
    key == PATCH || key == RETAIN_KEYS || key.starts_with(DELETE_FROM_LIST) || key.starts_with(SET_ELEMENT_ORDER)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::patch::strategic as patched;

    fn pod(spec: Value) -> Value {
        json!({"spec": spec})
    }

    #[test]
    fn lists_merge_by_key() {
        #[rustfmt::skip]
        let cases = [
            // One container changes, the other stays where it is.
            (json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}),
                json!({"containers": [{"name": "b", "image": "2"}]}),
                json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]})),
            // A new item goes in front, unless the order is set.
            (json!({"containers": [{"name": "a"}]}), json!({"containers": [{"name": "b"}]}),
                json!({"containers": [{"name": "b"}, {"name": "a"}]})),
            (json!({"containers": [{"name": "a"}]}),
                json!({"containers": [{"name": "b"}], "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}]}),
                json!({"containers": [{"name": "a"}, {"name": "b"}]})),
            (json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}),
                json!({"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}),
                json!({"containers": [{"name": "b"}, {"name": "c"}, {"name": "a"}]})),
            (json!({"containers": [{"name": "a"}, {"name": "b"}]}), json!({"containers": [{"name": "a", "$patch": "delete"}]}),
                json!({"containers": [{"name": "b"}]})),
            (json!({"containers": [{"name": "a"}, {"name": "b"}]}), json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
                json!({"containers": [{"name": "c"}]})),
            (json!({"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}], "args": ["x", "y"]}]}),
                json!({"containers": [{"name": "a", "env": [{"name": "Y", "value": "2"}], "args": ["z"]}]}),
                json!({"containers": [{"name": "a", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}], "args": ["z"]}]})),
            // Lists without a key are replaced.
            (json!({"tolerations": [{"key": "a"}]}), json!({"tolerations": [{"key": "b"}]}), json!({"tolerations": [{"key": "b"}]})),
            (json!({"nodeName": "n", "x": 1}), json!({"nodeName": null, "y": null}), json!({"x": 1})),
            (json!({}), json!({"containers": [{"name": "a", "$setElementOrder/env": [], "image": null}]}), json!({"containers": [{"name": "a"}]})),
        ];
        for (old, patch, want) in cases {
            let got = patched(Kind::Pod, pod(old.clone()), &pod(patch.clone())).unwrap();
            assert_eq!(got, pod(want), "{old} with {patch}");
        }
    }

    #[test]
    fn directives_in_maps_and_sets() {
        #[rustfmt::skip]
        let cases = [
            (json!({"metadata": {"finalizers": ["a", "b"]}}), json!({"metadata": {"finalizers": ["c", "b"]}}),
                json!({"metadata": {"finalizers": ["c", "a", "b"]}})),
            (json!({"metadata": {"finalizers": ["a", "b"]}}), json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}),
                json!({"metadata": {"finalizers": ["b"]}})),
            (json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}),
                json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}), json!({"spec": {"strategy": {"type": "Recreate"}}})),
            (json!({"metadata": {"labels": {"a": "1", "b": "2"}}}), json!({"metadata": {"labels": {"$patch": "replace", "c": "3"}}}),
                json!({"metadata": {"labels": {"c": "3"}}})),
            (json!({"metadata": {"labels": {"a": "1"}}}), json!({"metadata": {"labels": {"$patch": "delete"}}}), json!({"metadata": {"labels": {}}})),
        ];
        for (old, patch, want) in cases {
            assert_eq!(patched(Kind::Deployment, old.clone(), &patch).unwrap(), want, "{old} with {patch}");
        }
    }

    #[test]
    fn a_kubelets_heartbeat_keeps_the_other_conditions() {
        let old = json!({"status": {"conditions": [{"type": "NetworkUnavailable", "status": "False"}, {"type": "Ready", "status": "True"}]}});
        let patch = json!({"status": {"$setElementOrder/conditions": [{"type": "Ready"}], "conditions": [{"type": "Ready", "status": "False"}]}});
        let want = json!({"status": {"conditions": [{"type": "NetworkUnavailable", "status": "False"}, {"type": "Ready", "status": "False"}]}});
        assert_eq!(patched(Kind::Node, old, &patch).unwrap(), want);
    }

    #[test]
    fn wrong_patches_are_refused() {
        #[rustfmt::skip]
        let cases = [
            (json!({"containers": [{"image": "x"}]}), 500, "map: map[image:x] does not contain declared merge key: name"),
            (json!({"$patch": "zap"}), 500, "unknown patch type: zap in map: map[$patch:zap]"),
            (json!({"containers": [{"name": "a", "$patch": "zap"}]}), 500, "unknown patch type: zap in map: map[$patch:zap name:a]"),
            (json!({"$setElementOrder/containers": 1}), 400, "invalid patch format of setElementOrder list"),
            (json!({"$setElementOrder/containers": [], "containers": [{"name": "a"}]}), 400, "invalid patch format of setElementOrder list"),
            (json!({"$retainKeys": ["a"], "b": 1}), 400, "invalid patch format of retainKeys"),
            (json!({"$deleteFromPrimitiveList/x": 1}), 400, "invalid patch format of primitive list"),
        ];
        for (patch, code, message) in cases {
            let status = patched(Kind::Pod, pod(json!({"containers": [{"name": "a"}]})), &pod(patch)).unwrap_err();
            assert_eq!((status.code, status.message.as_str()), (code, message));
        }
    }
}
