//! `create quota`. Mirrors `create_quota.go`.

use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::failure::Failure;
use object::quantity::canonical;

/// The ResourceQuota that `--hard=cpu=1,pods=2 --scopes=BestEffort` describes.
pub fn quota(name: &str, args: &Args) -> Result<Value, Failure> {
    let mut spec = json!({});
    let hard = resources(args.value("hard"))?;
    if !hard.is_empty() {
        spec["hard"] = Value::Object(hard);
    }
    let scopes: Vec<&str> = args.value("scopes").split(',').filter(|scope| !scope.is_empty()).collect();
    if !scopes.is_empty() {
        spec["scopes"] = json!(scopes);
    }
    Ok(json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec}))
}

/// Mirrors `populateResourceListV1`.
fn resources(text: &str) -> Result<Map<String, Value>, Failure> {
    let mut resources = Map::new();
    for pair in text.split(',').filter(|_| !text.is_empty()) {
        let wrong = || Failure::text(format!("Invalid argument syntax {pair}, expected <resource>=<value>"));
        let (name, value) = pair.split_once('=').filter(|(_, value)| !value.contains('=')).ok_or_else(wrong)?;
        resources.insert(name.to_owned(), json!(canonical(value).map_err(|why| Failure::text(why.to_string()))?));
    }
    Ok(resources)
}
