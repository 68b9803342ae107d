//! An object that a merge patch has spoilt, as an error quotes it.
//!
//! Go merges texts: what the patch touches has become a map, whose fields go by their names; all else stands as the struct was
//! printed. Mirrors `github.com/evanphx/json-patch`.

use object::go_types::Ordered;
use object::json::{self, Json};
use object::{Kind, versions};
use serde_json::Value;

/// The whole object, which the patch has made.
pub fn merged(kind: Kind, object: &Value, patch: &Value) -> String {
    let printed = match versions::go_type(kind) {
        Some(go_type) => serde_json::to_string(&Ordered::object(go_type, object)).unwrap_or_default(),
        None => object.to_string(),
    };
    let mut whole = json::parse(&printed).unwrap_or(Json::Null);
    by_name(&mut whole, patch);
    let mut text = String::new();
    write(&whole, &mut text);
    text
}

fn by_name(touched: &mut Json, patch: &Value) {
    let (Json::Object(fields), Value::Object(changes)) = (touched, patch) else { return };
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (name, value) in fields {
        if let Some(change) = changes.get(name) {
            by_name(value, change);
        }
    }
}

fn write(json: &Json, out: &mut String) {
    let quoted = |text: &str| Value::from(text).to_string();
    match json {
        Json::Null => *out += "null",
        Json::Bool(value) => *out += if *value { "true" } else { "false" },
        Json::Number(number) => *out += number,
        Json::String(text) => *out += &quoted(text),
        Json::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                *out += if i > 0 { "," } else { "" };
                write(item, out);
            }
            out.push(']');
        }
        Json::Object(fields) => {
            out.push('{');
            for (i, (name, value)) in fields.iter().enumerate() {
                *out += if i > 0 { "," } else { "" };
                *out += &quoted(name);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_touched_goes_by_names() {
        let object = json!({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "a", "uid": "u", "labels": {}},
            "spec": {"replicas": 1, "colour": 2, "strategy": {"type": "Recreate", "rollingUpdate": null}}});
        let text = merged(Kind::Deployment, &object, &json!({"spec": {"colour": 2}}));
        let spec = "{\"colour\":2,\"replicas\":1,\"strategy\":{\"type\":\"Recreate\",\"rollingUpdate\":null}}";
        let metadata = "{\"name\":\"a\",\"uid\":\"u\",\"labels\":{}}";
        let want =
            format!("{{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{metadata},\"spec\":{spec}}}");
        assert_eq!(text, want);
    }
}
