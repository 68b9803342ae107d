//! `create configmap` and `create secret generic`. Left out: entries from files.

use serde_json::{Map, Value, json};

use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::Failure;

pub(super) fn config_map(name: &str, args: &Args) -> Result<Value, Failure> {
    let data = literals(args, |value| json!(value))?;
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    if !data.is_empty() {
        object["data"] = Value::Object(data);
    }
    Ok(object)
}

/// Mirrors `create_secret.go`.
pub(super) fn secret(name: &str, args: &Args) -> Result<Value, Failure> {
    let data = literals(args, |value| json!(k8s_openapi::ByteString(value.as_bytes().to_vec())))?;
    let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
    if !data.is_empty() {
        object["data"] = Value::Object(data);
    }
    if !args.value("type").is_empty() {
        object["type"] = json!(args.value("type"));
    }
    Ok(object)
}

/// The entries that `--from-literal` gives, each as `as_value` writes it.
fn literals(args: &Args, as_value: fn(&str) -> Value) -> Result<Map<String, Value>, Failure> {
    let mut data = Map::new();
    for literal in args.values("from-literal") {
        let wrong = || Failure::text(format!("invalid literal source {literal}, expected key=value"));
        let (key, value) = literal.split_once('=').ok_or_else(wrong)?;
        data.insert(key.to_owned(), as_value(value));
    }
    Ok(data)
}
