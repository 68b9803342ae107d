//! `namePrefix`, `nameSuffix` and `namespace`. Mirrors `PrefixTransformer`, `SuffixTransformer` and `NamespaceTransformer`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::fields::{Made, Spec};
use super::resource::Resource;
use super::set::Set;

/// Kinds whose names say more than which object it is.
const KEEP_THEIR_NAMES: &[&str] = &["CustomResourceDefinition", "Namespace"];

fn may_be_renamed(resource: &Resource) -> bool {
    let gvk = resource.original_id().gvk;
    let is_service = gvk.kind == "APIService" && gvk.group == "apiregistration.k8s.io";
    !is_service && !KEEP_THEIR_NAMES.contains(&gvk.kind.as_str())
}

/// Puts something before every name, and before what else is in these fields.
///
/// # Errors
/// A field is in the way.
pub fn prefix(set: &mut Set, prefix: &str, fields: &[Spec]) -> Result<(), String> {
    rename(set, fields, |name| format!("{prefix}{name}"), |resource| resource.prefixes.push(prefix.to_owned()))
}

/// Puts something behind every name, likewise.
///
/// # Errors
/// A field is in the way.
pub fn suffix(set: &mut Set, suffix: &str, fields: &[Spec]) -> Result<(), String> {
    rename(set, fields, |name| format!("{name}{suffix}"), |resource| resource.suffixes.push(suffix.to_owned()))
}

fn rename(
    set: &mut Set,
    fields: &[Spec],
    renamed: impl Fn(&str) -> String,
    remember: impl Fn(&mut Resource),
) -> Result<(), String> {
    for resource in set.0.iter_mut().filter(|resource| may_be_renamed(resource)) {
        for field in fields {
            if field.is_name() && resource.original_id().gvk.is_selected(&field.gvk) {
                remember(resource);
                resource.remember_id();
            }
            field.change(resource, Made::Scalar, &mut |node| {
                if let Some(name) = node.as_str() {
                    *node = json!(renamed(name));
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Puts everything into a namespace, which these fields name too. A Namespace gets its name.
///
/// # Errors
/// Two objects become one.
pub fn namespace(set: &mut Set, namespace: &str, fields: &[Spec]) -> Result<(), String> {
    for resource in &mut set.0 {
        resource.remember_id();
        let id = resource.id();
        if !id.gvk.is_cluster_scoped() {
            resource.set_meta("namespace", json!(namespace));
        }
        match id.gvk.kind.as_str() {
            "Namespace" if id.gvk.group.is_empty() && id.gvk.version == "v1" => {
                resource.set_meta("name", json!(namespace));
            }
            "RoleBinding" | "ClusterRoleBinding" => default_subjects(&mut resource.object, namespace),
            _ => {}
        }
        fields.iter().try_for_each(|field| field.set(resource, Made::Scalar, &json!(namespace)))?;
    }
    let mut known = BTreeSet::new();
    match set.0.iter().find(|resource| !known.insert(resource.id().key())) {
        Some(resource) => Err(format!("namespace transformation produces ID conflict: {}", resource.id())),
        None => Ok(()),
    }
}

/// The account `default` is another one in each namespace. Other accounts are found by their names, later.
fn default_subjects(binding: &mut Value, namespace: &str) {
    let subjects = binding.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten();
    for subject in subjects.filter_map(Value::as_object_mut) {
        if subject.get("name").and_then(Value::as_str) == Some("default") {
            subject.insert("namespace".to_owned(), json!(namespace));
        }
    }
}
