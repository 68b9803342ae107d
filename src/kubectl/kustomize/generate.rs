//! `configMapGenerator` and `secretGenerator`. Mirrors `api/internal/generators` and `api/kv`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::files::{Files, Root};
use super::kustomization::Generator;
use super::resource::{Behavior, Resource};
use object::base64;

/// As many characters of what is coded stand on a line.
const LINE: usize = 70;

/// The ConfigMap of a generator.
///
/// # Errors
/// It has no name, or something that it is made of is wrong.
pub fn config_map(generator: &Generator, files: &Files<'_>, root: &Root) -> Result<Resource, String> {
    let (mut texts, mut others) = (Map::new(), Map::new());
    for (key, bytes) in entries(generator, files, root)? {
        match String::from_utf8(bytes) {
            Ok(text) => drop(texts.insert(key, json!(text))),
            Err(error) => drop(others.insert(key, json!(coded(error.as_bytes())))),
        }
    }
    let mut object = base("ConfigMap", generator)?;
    for (field, entries) in [("data", texts), ("binaryData", others)] {
        if !entries.is_empty() {
            object[field] = Value::Object(entries);
        }
    }
    made(object, generator)
}

/// The Secret of a generator.
///
/// # Errors
/// As [`config_map`].
pub fn secret(generator: &Generator, files: &Files<'_>, root: &Root) -> Result<Resource, String> {
    let entries = entries(generator, files, root)?;
    let mut object = base("Secret", generator)?;
    object["type"] = json!(if generator.kind.is_empty() { "Opaque" } else { &generator.kind });
    object["data"] = entries.into_iter().map(|(key, bytes)| (key, json!(coded(&bytes)))).collect::<Map<_, _>>().into();
    made(object, generator)
}

fn base(kind: &str, generator: &Generator) -> Result<Value, String> {
    if generator.name.is_empty() {
        return Err("a configmap must have a name".to_owned());
    }
    let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": generator.name}});
    if !generator.namespace.is_empty() {
        object["metadata"]["namespace"] = json!(generator.namespace);
    }
    Ok(object)
}

fn made(mut object: Value, generator: &Generator) -> Result<Resource, String> {
    let options = &generator.options;
    for (field, pairs) in [("labels", &options.labels), ("annotations", &options.annotations)] {
        if !pairs.is_empty() {
            object["metadata"][field] = json!(pairs);
        }
    }
    if options.immutable {
        object["immutable"] = json!(true);
    }
    let mut resource = Resource::of(object)?;
    resource.behavior = Behavior::of(&generator.behavior);
    resource.needs_hash = !options.without_hash;
    Ok(resource)
}

/// What is in files of variables, literals and files, each by its key.
fn entries(generator: &Generator, files: &Files<'_>, root: &Root) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let loading = |what: String| move |why: String| format!("loading KV pairs: {what}: {why}");
    let list = |items: &[String]| format!("[{}]", items.join(" "));
    let mut pairs = Vec::new();
    for path in &generator.envs {
        let bytes = files.load(root, path);
        let read = bytes.and_then(|bytes| variables(&bytes));
        pairs.extend(read.map_err(loading(format!("env source files: {}", list(&generator.envs))))?);
    }
    for text in &generator.literals {
        let read = literal(text).ok_or_else(|| format!("invalid literal source {text}, expected key=value"));
        pairs.push(read.map_err(loading(format!("literal sources {}", list(&generator.literals))))?);
    }
    for source in &generator.files {
        let read = key_and_path(source).and_then(|(key, path)| Ok((key.to_owned(), files.load(root, path)?)));
        pairs.push(read.map_err(loading(format!("file sources: {}", list(&generator.files))))?);
    }
    let mut entries = BTreeMap::new();
    for (key, value) in pairs {
        if entries.contains_key(&key) {
            return Err(format!("configmap {} illegally repeats the key `{key}`", generator.name));
        }
        entries.insert(key, value);
    }
    Ok(entries)
}

/// `KEY=VALUE` a line; a name alone has an empty value.
fn variables(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} has invalid utf8 bytes")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pairs = lines.map(|line| line.split_once('=').unwrap_or((line, "")));
    Ok(pairs.filter(|(key, _)| !key.is_empty()).map(|(key, value)| (key.to_owned(), value.into())).collect())
}

/// `KEY=VALUE`; quotes around the value are a shell's.
fn literal(text: &str) -> Option<(String, Vec<u8>)> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty())?;
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let value = inner('"').or_else(|| inner('\'')).unwrap_or(value);
    Some((key.to_owned(), value.into()))
}

/// `PATH`, or `KEY=PATH`.
fn key_and_path(source: &str) -> Result<(&str, &str), String> {
    match source.split_once('=') {
        None => Ok((source.trim_end_matches('/').rsplit('/').next().unwrap_or(source), source)),
        Some((_, path)) if path.contains('=') => Err(format!("source {source:?} key name or file path contains '='")),
        Some(("", path)) => Err(format!("missing key name for file path {path:?} in source {source:?}")),
        Some((key, "")) => Err(format!("missing file path for key name {key:?} in source {source:?}")),
        Some((key, path)) => Ok((key, path)),
    }
}

/// In base64; what is long is broken into lines. Mirrors `encodeBase64` of kyaml.
fn coded(bytes: &[u8]) -> String {
    let text = base64::padded(bytes);
    if text.len() < LINE {
        return text;
    }
    let lines = text.as_bytes().chunks(LINE).map(|line| format!("{}\n", String::from_utf8_lossy(line)));
    lines.collect()
}
