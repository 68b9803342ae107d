//! `images` and `replicas`. Mirrors `ImageTagTransformer` and `ReplicaCountTransformer`.

use regex::Regex;
use serde_json::{Value, json};

use super::fields::{Made, Spec};
use super::kustomization::{Image, Replicas};
use super::set::Set;

/// Gives images of one name another name, tag or digest: those of containers, and those in these fields.
///
/// # Errors
/// A field is in the way.
pub fn images(set: &mut Set, image: &Image, fields: &[Spec]) -> Result<(), String> {
    // The name is an expression, and one that is none matches nothing.
    let pattern =
        format!("^{}(:[a-zA-Z0-9_.{{}}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{{}}-]*)?$", image.name);
    let Ok(pattern) = Regex::new(&pattern) else { return Ok(()) };
    let changed = |node: &mut Value| {
        if let Some(old) = node.as_str().filter(|old| pattern.is_match(old)) {
            *node = json!(renamed(old, image));
        }
    };
    for resource in &mut set.0 {
        if resource.id().gvk.kind == "CustomResourceDefinition" {
            continue;
        }
        containers(&mut resource.object, &changed);
        for field in fields {
            field.change(resource, Made::Nothing, &mut |node| {
                changed(node);
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Looks for containers wherever there are any.
fn containers(node: &mut Value, changed: &dyn Fn(&mut Value)) {
    match node {
        Value::Array(items) => items.iter_mut().for_each(|item| containers(item, changed)),
        Value::Object(fields) => {
            for (name, field) in fields {
                containers(field, changed);
                if let ("containers" | "initContainers", Value::Array(items)) = (name.as_str(), field) {
                    items.iter_mut().filter_map(|item| item.get_mut("image")).for_each(changed);
                }
            }
        }
        _ => {}
    }
}

fn renamed(old: &str, image: &Image) -> String {
    let (name, tag, digest) = parts(old);
    let mut new = if image.new_name.is_empty() { name } else { &image.new_name }.to_owned();
    let (tag, digest) = match (image.new_tag.as_str(), image.digest.as_str(), image.tag_suffix.as_str()) {
        ("", "", "") => (tag.to_owned(), digest),
        ("", "", suffix) => (format!("{tag}{suffix}"), ""),
        (tag, digest, _) => (tag.to_owned(), digest),
    };
    if !tag.is_empty() {
        new += &format!(":{tag}");
    }
    if !digest.is_empty() {
        new += &format!("@{digest}");
    }
    new
}

/// Name, tag and digest. A colon in the name of a registry begins a port.
fn parts(image: &str) -> (&str, &str, &str) {
    let (rest, digest) = image.split_once('@').unwrap_or((image, ""));
    let path = rest.find('/').unwrap_or(0);
    match rest[path..].find(':') {
        Some(colon) => (&rest[..path + colon], &rest[path + colon + 1..], digest),
        None => (rest, "", digest),
    }
}

/// Sets the number of replicas of what is or was called that.
///
/// # Errors
/// There is none, or a field is in the way.
pub fn replicas(set: &mut Set, replicas: &Replicas, fields: &[Spec]) -> Result<(), String> {
    let mut found = false;
    for resource in &mut set.0 {
        for field in fields {
            if resource.ids().any(|id| id.name == replicas.name && id.gvk.is_selected(&field.gvk)) {
                found = true;
                field.set(resource, Made::Scalar, &json!(replicas.count))?;
            }
        }
    }
    let kinds: Vec<String> = fields.iter().map(|field| field.gvk.to_string()).collect();
    let why = "does not match a config with the following GVK";
    if found { Ok(()) } else { Err(format!("resource with name {} {why} [{}]", replicas.name, kinds.join(" "))) }
}
