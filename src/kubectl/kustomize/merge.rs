//! Strategic merge as kustomize does it. Mirrors `kyaml/yaml/merge2`.
//!
//! It differs from the API server's in the order of lists: what the patch names comes first. Of directives there is only
//! `$patch`; a null takes a field away.

use serde_json::{Map, Value};

use super::id::Gvk;
use object::patch::schema::{FieldPath, Lists};

const PATCH: &str = "$patch";

/// An object with a patch laid over it; none if the patch deletes it.
///
/// # Errors
/// A directive is unknown.
pub fn merge(gvk: &Gvk, object: Value, patch: &Value) -> Result<Option<Value>, String> {
    let path = gvk.built_in().map(FieldPath::root);
    over(Some(object), patch, path.as_ref())
}

enum Directive {
    Merge,
    Replace,
    Delete,
}

fn directive(text: Option<&Value>) -> Result<Directive, String> {
    match text.map(|text| text.as_str().unwrap_or_default()) {
        None | Some("merge") => Ok(Directive::Merge),
        Some("replace") => Ok(Directive::Replace),
        Some("delete") => Ok(Directive::Delete),
        Some(other) => Err(format!("unknown patch strategy '{other}'")),
    }
}

fn over(old: Option<Value>, patch: &Value, path: Option<&FieldPath<'_>>) -> Result<Option<Value>, String> {
    match patch {
        Value::Null => Ok(None),
        Value::Object(fields) => over_fields(old, fields, path),
        Value::Array(items) => over_list(old, items, path),
        other => Ok(Some(other.clone())),
    }
}

fn over_fields(
    old: Option<Value>,
    patch: &Map<String, Value>,
    path: Option<&FieldPath<'_>>,
) -> Result<Option<Value>, String> {
    let mut fields = match (directive(patch.get(PATCH))?, old) {
        (Directive::Delete, _) => return Ok(None),
        (Directive::Merge, Some(Value::Object(fields))) => fields,
        _ => Map::new(),
    };
    for (name, value) in patch.iter().filter(|(name, _)| *name != PATCH) {
        let path = path.map(|path| path.field(name));
        match over(fields.remove(name), value, path.as_ref())? {
            Some(value) => fields.insert(name.clone(), value),
            None => None,
        };
    }
    Ok(Some(Value::Object(fields)))
}

fn over_list(old: Option<Value>, patch: &[Value], path: Option<&FieldPath<'_>>) -> Result<Option<Value>, String> {
    let lists = path.map_or(Lists::Atomic, FieldPath::lists);
    let is_directive = |item: &Value| item.as_object().is_some_and(|item| item.len() == 1 && item.contains_key(PATCH));
    let items: Vec<&Value> = patch.iter().filter(|item| !is_directive(item)).collect();
    let old = match (directive(patch.iter().find(|item| is_directive(item)).and_then(|item| item.get(PATCH)))?, old) {
        (Directive::Delete, _) if lists != Lists::Atomic => return Ok(None),
        (Directive::Merge, Some(Value::Array(old))) if lists != Lists::Atomic => old,
        _ => Vec::new(),
    };
    let merged = match lists {
        Lists::Atomic => items.into_iter().cloned().collect(),
        Lists::Set => {
            let mut all: Vec<Value> = Vec::new();
            for item in items.into_iter().cloned().chain(old) {
                if !all.contains(&item) {
                    all.push(item);
                }
            }
            all
        }
        Lists::MergedBy(key) => over_items(old, &items, key, path)?,
    };
    Ok(Some(Value::Array(merged)))
}

/// Items that the patch names, then the others.
fn over_items(
    mut old: Vec<Value>,
    patch: &[&Value],
    key: &str,
    path: Option<&FieldPath<'_>>,
) -> Result<Vec<Value>, String> {
    let mut merged = Vec::new();
    for item in patch {
        let at = old.iter().position(|other| is_same(item, other, key));
        let before = at.map(|at| old.remove(at));
        merged.extend(over(before, item, path)?);
    }
    merged.extend(old);
    Ok(merged)
}

/// Ports of one number are one port if their protocols are not two.
fn is_same(item: &Value, other: &Value, key: &str) -> bool {
    let own = item.get(key).filter(|own| !own.is_null());
    let protocols = [item, other].map(|port| port.get("protocol").and_then(Value::as_str));
    let clash = matches!(protocols, [Some(one), Some(two)] if one != two);
    own.is_some() && own == other.get(key) && !(clash && matches!(key, "port" | "containerPort"))
}
