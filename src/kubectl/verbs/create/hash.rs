//! `--append-hash`: a name that tells of what is in a ConfigMap or Secret. Mirrors `k8s.io/kubectl/pkg/util/hash`.

use serde_json::{Value, json};

use crate::args::Args;
use crate::kustomize::hash;
use crate::print::fields::text;

/// The object, with a hash at the end of its name if that is asked for.
pub(super) fn appended(mut object: Value, args: &Args) -> Value {
    if args.is_on("append-hash") {
        let name = format!("{}-{}", text(&object, "metadata.name"), hash(&object));
        object["metadata"]["name"] = json!(name);
    }
    object
}

fn hash(object: &Value) -> String {
    let data = object.get("data").cloned().unwrap_or_else(|| json!({}));
    let mut hashed = json!({"data": data, "kind": object["kind"], "name": object["metadata"]["name"]});
    if object["kind"] == "Secret" {
        hashed["type"] = json!(text(object, "type"));
    }
    hash::encoded(&hashed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hashes are those of `hash_test.go`.
    #[test]
    fn hashes_are_those_of_kubectl() {
        let map = |data: Value| json!({"kind": "ConfigMap", "metadata": {"name": ""}, "data": data});
        let secret = |data: Value| json!({"kind": "Secret", "type": "my-type", "metadata": {"name": ""}, "data": data});
        for (object, want) in [
            (map(json!({})), "42745tchd9"),
            (map(json!({"one": ""})), "9g67k2htb6"),
            (map(json!({"two": "2", "one": "", "three": "3"})), "f5h7t85m9b"),
            (secret(json!({})), "t75bgf6ctb"),
            (secret(json!({"one": ""})), "74bd68bm66"),
        ] {
            assert_eq!(hash(&object), want, "{object}");
        }
    }
}
