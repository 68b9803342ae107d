//! The Event: what a component tells people of an object.
//!
//! Mirrors `core/v1` `Event`, in whose form it is read and printed.

use std::sync::Arc;

use k8s_openapi::Resource as _;
use k8s_openapi::api::core::v1::{self as core, EventSeries, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::shared::Shared;

/// An Event: what `k8s-openapi`'s says, in a third of the memory. Each Pod that starts leaves five, and nearly everything
/// that one says is said by others too: who tells it, of what object, with which reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// Which Event it is.
    pub metadata: ObjectMeta,
    /// What it is about.
    pub involved_object: Shared<ObjectReference>,
    /// Who tells it.
    pub reporter: Shared<Reporter>,
    /// `Normal` or `Warning`.
    pub type_: Option<Arc<str>>,
    /// In a word, for programs.
    pub reason: Option<Arc<str>>,
    /// In words, for people.
    pub message: Option<Arc<str>>,
    /// How often it came up.
    pub count: Option<i32>,
    /// When it came up first.
    pub first_timestamp: Option<Time>,
    /// When it came up last.
    pub last_timestamp: Option<Time>,
    /// What only Events say that were made through `events.k8s.io`.
    pub newer: Option<Box<Newer>>,
}

/// Who tells an Event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reporter {
    /// The component, and its node.
    pub source: Option<EventSource>,
    /// The component, in the newer field.
    pub component: Option<String>,
    /// Which of its processes.
    pub instance: Option<String>,
}

/// The fields that came with `events.k8s.io`, but for the reporter's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Newer {
    /// What was done.
    pub action: Option<String>,
    /// When it came up first.
    pub event_time: Option<MicroTime>,
    /// Another object that has to do with it.
    pub related: Option<ObjectReference>,
    /// How often it came up.
    pub series: Option<EventSeries>,
}

impl Event {
    /// What only Events of the newer kind say.
    pub fn newer(&self) -> &Newer {
        static NOTHING: Newer = Newer { action: None, event_time: None, related: None, series: None };
        self.newer.as_deref().unwrap_or(&NOTHING)
    }
}

impl From<core::Event> for Event {
    fn from(event: core::Event) -> Event {
        let core::Event { action, event_time, related, series, .. } = event;
        let newer = Newer { action, event_time, related, series };
        let reporter =
            Reporter { source: event.source, component: event.reporting_component, instance: event.reporting_instance };
        Event {
            metadata: event.metadata,
            involved_object: event.involved_object.into(),
            reporter: reporter.into(),
            type_: event.type_.map(Arc::from),
            reason: event.reason.map(Arc::from),
            message: event.message.map(Arc::from),
            count: event.count,
            first_timestamp: event.first_timestamp,
            last_timestamp: event.last_timestamp,
            newer: (newer != Newer::default()).then(|| Box::new(newer)),
        }
    }
}

impl k8s_openapi::Resource for Event {
    const API_VERSION: &'static str = core::Event::API_VERSION;
    const GROUP: &'static str = core::Event::GROUP;
    const KIND: &'static str = core::Event::KIND;
    const VERSION: &'static str = core::Event::VERSION;
    const URL_PATH_SEGMENT: &'static str = core::Event::URL_PATH_SEGMENT;
    type Scope = <core::Event as k8s_openapi::Resource>::Scope;
}

impl k8s_openapi::Metadata for Event {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (Newer { action, event_time, related, series }, reporter) = (self.newer(), &*self.reporter);
        let mut event = Fields(serializer.serialize_struct(core::Event::KIND, 17)?);
        event.some("apiVersion", Some(core::Event::API_VERSION))?;
        event.some("kind", Some(core::Event::KIND))?;
        event.some("action", action.as_ref())?;
        event.some("count", self.count.as_ref())?;
        event.some("eventTime", event_time.as_ref())?;
        event.some("firstTimestamp", self.first_timestamp.as_ref())?;
        event.some("involvedObject", Some(&*self.involved_object))?;
        event.some("lastTimestamp", self.last_timestamp.as_ref())?;
        event.some("message", self.message.as_deref())?;
        event.some("metadata", Some(&self.metadata))?;
        event.some("reason", self.reason.as_deref())?;
        event.some("related", related.as_ref())?;
        event.some("reportingComponent", reporter.component.as_ref())?;
        event.some("reportingInstance", reporter.instance.as_ref())?;
        event.some("series", series.as_ref())?;
        event.some("source", reporter.source.as_ref())?;
        event.some("type", self.type_.as_deref())?;
        event.0.end()
    }
}

/// Fields, printed only if they are set.
struct Fields<S>(S);

impl<S: serde::ser::SerializeStruct> Fields<S> {
    fn some<T: Serialize + ?Sized>(&mut self, name: &'static str, value: Option<&T>) -> Result<(), S::Error> {
        value.map_or(Ok(()), |value| self.0.serialize_field(name, value))
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
        core::Event::deserialize(deserializer).map(Event::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_printed_as_it_was_read() {
        let text = json!({
            "apiVersion": "v1", "kind": "Event", "action": "Binding", "count": 3,
            "eventTime": "2026-01-01T00:00:00.000001Z", "firstTimestamp": "2026-01-01T00:00:00Z",
            "involvedObject": {"kind": "Pod", "name": "web", "fieldPath": "spec.containers{web}"},
            "lastTimestamp": "2026-01-01T00:00:10Z", "message": "Container started", "metadata": {"name": "web.1"},
            "reason": "Started", "related": {"kind": "Node"}, "reportingComponent": "kubelet",
            "reportingInstance": "node-1", "series": {"count": 2}, "source": {"component": "kubelet", "host": "node-1"},
            "type": "Normal",
        });
        let event: Event = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), text);
        let bare = json!({"apiVersion": "v1", "kind": "Event", "involvedObject": {}, "metadata": {}});
        let event: Event = serde_json::from_value(bare.clone()).unwrap();
        assert_eq!(event.newer, None);
        assert_eq!(serde_json::to_value(&event).unwrap(), bare);
    }
}
