//! `events.k8s.io/v1`: an Event with other names for some of its fields.
//!
//! What components write with the newer library has an `eventTime` and perhaps a series; the fields that say how often and
//! since when in the older way are called deprecated.

use k8s_openapi::api::core::v1 as core;
use serde_json::{Map, Value};

use crate::custom::{CustomKind, CustomObject};
use crate::event::Event;

/// A field's name here, and that in `v1`. All others are called the same.
const NAMES: [(&str, &str); 7] = [
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
    ("note", "message"),
    ("regarding", "involvedObject"),
    ("reportingController", "reportingComponent"),
];

/// The Event as `events.k8s.io/v1` shows it.
pub(super) fn from_core(kind: CustomKind, event: &Event) -> CustomObject {
    let content = match serde_json::to_value(event) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let name = |field: String| NAMES.iter().find(|(_, core)| *core == field).map_or(field, |(here, _)| (*here).into());
    let content = content.into_iter().map(|(field, value)| (name(field), value)).collect();
    CustomObject::new(kind, event.metadata.clone(), content)
}

/// The Event that this one shows.
pub fn to_core(event: &Value) -> Result<Event, serde_json::Error> {
    let (mut core, missing) = (Map::new(), Map::new());
    for (field, value) in event.as_object().unwrap_or(&missing) {
        let name = NAMES.iter().find(|(here, _)| here == field).map_or(field.as_str(), |(_, core)| core);
        // What only the other version has is no field here.
        let is_foreign = NAMES.iter().any(|(_, core)| core == field);
        if !is_foreign && !matches!(name, "apiVersion" | "kind") {
            core.insert(name.to_owned(), value.clone());
        }
    }
    for (field, empty) in [("metadata", Value::Object(Map::new())), ("involvedObject", Value::Object(Map::new()))] {
        core.entry(field).or_insert(empty);
    }
    serde_json::from_value::<core::Event>(with_type(core)).map(Event::from)
}

fn with_type(mut fields: Map<String, Value>) -> Value {
    fields.insert("apiVersion".into(), "v1".into());
    fields.insert("kind".into(), "Event".into());
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Kind, Object, versions};

    #[test]
    fn nothing_is_lost_on_the_way_there_and_back() {
        let newer = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a", "namespace": "b"},
            "action": "Binding", "eventTime": "2026-01-01T00:00:00.000001Z", "note": "it is so", "reason": "Scheduled",
            "regarding": {"kind": "Pod", "name": "a"}, "related": {"kind": "Node", "name": "n"}, "type": "Normal",
            "reportingController": "default-scheduler", "reportingInstance": "one",
            "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000001Z"},
            "deprecatedCount": 1, "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z",
            "deprecatedLastTimestamp": "2026-01-01T00:00:00Z", "deprecatedSource": {"component": "scheduler"}});
        let core = to_core(&newer).unwrap();
        assert_eq!((core.message.as_deref(), core.count), (Some("it is so"), Some(1)));
        let object = Object::Event(core.into()).in_version(versions::other(Kind::Event).unwrap());
        assert_eq!(object.to_json(), newer);
    }
}
