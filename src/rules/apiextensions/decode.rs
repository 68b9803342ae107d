//! From bytes to a custom object: what its schema does not know is pruned, and told or refused as `fieldValidation` asks.
//!
//! Mirrors `schemaCoercingDecoder` of `pkg/apiserver/customresource_handler.go`, and `unstructured.UnstructuredJSONScheme`
//! below it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::{Map, Value};

use object::json::{Json, go_number};
use object::read::{self, Problem};
use object::validation::field::below;
use object::{CustomObject, Object};

use super::{Version, coerce};

/// The object in `json`, and its unknown and duplicate fields.
pub fn object(version: &Version, json: &Json) -> Result<(Object, Vec<Problem>), read::Error> {
    let mut problems = Vec::new();
    let mut content = match plain(json, "", &mut problems) {
        Value::Object(content) => content,
        _ => Map::new(),
    };
    content.remove("metadata");
    let (metadata, of_metadata) = read::value::<Envelope>(&only_metadata(json))?;
    problems.extend(of_metadata.into_iter().filter(|problem| matches!(problem, Problem::Unknown(_))));
    let unknown = coerce::prune(&mut content, &version.schema);
    problems.extend(unknown.into_iter().map(Problem::Unknown));
    let object = CustomObject::new(version.kind, metadata.metadata.unwrap_or_default(), content);
    Ok((Object::Custom(object.into()), problems))
}

/// The same for an object that comes from a component, which says nothing of fields that it loses.
pub fn coerced(version: &Version, object: Object) -> Object {
    let Object::Custom(object) = object else { return object };
    let mut content = Map::clone(&object.content);
    coerce::prune(&mut content, &version.schema);
    let metadata = object.metadata.clone();
    if content == *object.content && version.kind == object.kind() {
        return Object::Custom(object);
    }
    Object::Custom(CustomObject::new(version.kind, metadata, content).into())
}

#[derive(Deserialize)]
struct Envelope {
    metadata: Option<ObjectMeta>,
}

fn only_metadata(json: &Json) -> Json {
    let Json::Object(fields) = json else { return Json::Object(Vec::new()) };
    Json::Object(fields.iter().filter(|(name, _)| name == "metadata").cloned().collect())
}

/// The value that Go's decoder makes of a text; of a key that is given twice the last counts.
fn plain(json: &Json, path: &str, problems: &mut Vec<Problem>) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::String(text) => Value::String(text.clone()),
        Json::Number(text) => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(number), _) => Value::Number(number.into()),
            (_, Ok(number)) => go_number(number),
            _ => Value::Null,
        },
        Json::Array(items) => {
            let item = |(i, item): (usize, &Json)| plain(item, &format!("{path}[{i}]"), problems);
            Value::Array(items.iter().enumerate().map(item).collect())
        }
        Json::Object(fields) => {
            let mut map = Map::new();
            for (name, value) in fields {
                let path = below(path, name);
                let value = plain(value, &path, problems);
                if map.insert(name.clone(), value).is_some() {
                    problems.push(Problem::Duplicate(path));
                }
            }
            Value::Object(map)
        }
    }
}
