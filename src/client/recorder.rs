//! Events: what a component tells people, sent without waiting. Mirrors `client-go/tools/record`.
//!
//! The component queues an Event and goes on; a task of its own POSTs them one after another. The same Event again
//! is a PATCH that raises its count; too many different ones on one object become one; a flood is dropped.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use crate::apiserver::request::Patch;
use crate::object::Resource;
use crate::object::time::Instant;

use super::api::Client;

/// Tokens of the spam filter for one object.
const SPAM_BURST: u32 = 25;
/// One token of the spam filter grows back in this time.
const SPAM_REFILL: Duration = Duration::from_secs(300);
/// So many different messages for one reason on one object are told as one.
const AGGREGATE_AT: usize = 10;
/// Messages older than this do not count for that.
const AGGREGATE_WITHIN: Duration = Duration::from_secs(600);

/// Whether all is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventType {
    /// It is.
    Normal,
    /// Somebody should look.
    Warning,
}

/// A component's event recorder. Clones share it.
#[derive(Clone)]
pub struct Recorder(Rc<Inner>);

struct Inner {
    client: Client,
    component: String,
    host: String,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    outgoing: VecDeque<Event>,
    sending: bool,
    /// Events sent before: who, what and which message, to the name and count they have.
    seen: BTreeMap<(Series, String), Sent>,
    messages: BTreeMap<Series, (Instant, BTreeSet<String>)>,
    spam: BTreeMap<String, SpamFilter>,
    last_nanos: u64,
}

/// Object, type and reason: Events that belong together.
type Series = (String, EventType, String);

struct Sent {
    name: String,
    count: i32,
}

/// A bucket that regains a token every five minutes, slower than `TokenBucket` can say in tokens a second.
struct SpamFilter {
    tokens: u32,
    refilled: Instant,
}

impl Recorder {
    /// A recorder that signs as `component`. `host` is the node's name for a kubelet, else empty.
    pub fn new(client: Client, component: &str, host: &str) -> Recorder {
        let state = RefCell::default();
        Recorder(Rc::new(Inner { client, component: component.into(), host: host.into(), state }))
    }

    /// Tells something of `object`.
    pub fn event<T: Resource>(&self, object: &T, type_: EventType, reason: &str, message: impl Into<String>) {
        self.event_at(object, "", type_, reason, message);
    }

    /// Tells something of a part of `object`: `spec.containers{nginx}`.
    pub fn event_at<T: Resource>(
        &self,
        object: &T,
        field_path: &str,
        type_: EventType,
        reason: &str,
        message: impl Into<String>,
    ) {
        let (info, meta) = (T::kind().info(), object.metadata());
        let involved = ObjectReference {
            api_version: Some(info.api_version.into()),
            kind: Some(info.kind.into()),
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            field_path: (!field_path.is_empty()).then(|| field_path.to_owned()),
        };
        self.event_about(involved, type_, reason, message.into());
    }

    /// Tells something of whatever `involved` names.
    pub fn event_about(&self, involved: ObjectReference, type_: EventType, reason: &str, message: String) {
        let now = self.0.client.now();
        let mut state = self.0.state.borrow_mut();
        if !state.spam_allows(&involved, now) {
            return;
        }
        let message = state.aggregate(&involved, type_, reason, message, now);
        // Names carry nanoseconds; two Events of one instant must still differ.
        state.last_nanos = (state.last_nanos + 1).max(now.timestamp().as_nanosecond() as u64);
        let event = self.make(involved, type_, reason, message, state.last_nanos);
        state.outgoing.push_back(event);
        if !state.sending {
            state.sending = true;
            let me = self.clone();
            let client = &self.0.client;
            let label = format!("{} events", self.0.component);
            client.hub().spawn_background(client.actor(), label, async move { me.send_all().await });
        }
    }

    fn make(&self, involved: ObjectReference, type_: EventType, reason: &str, message: String, nanos: u64) -> Event {
        let now = self.0.client.now().time();
        let host = (!self.0.host.is_empty()).then(|| self.0.host.clone());
        let name = format!("{}.{nanos:x}", involved.name.as_deref().unwrap_or_default());
        let namespace = involved.namespace.clone().filter(|n| !n.is_empty()).unwrap_or_else(|| "default".into());
        Event {
            metadata: ObjectMeta { name: Some(name), namespace: Some(namespace), ..ObjectMeta::default() },
            involved_object: involved,
            type_: Some(format!("{type_:?}")),
            reason: Some(reason.to_owned()),
            message: Some(message),
            source: Some(EventSource { component: Some(self.0.component.clone()), host: host.clone() }),
            reporting_component: Some(self.0.component.clone()),
            reporting_instance: Some(host.unwrap_or_default()),
            first_timestamp: Some(now.clone()),
            last_timestamp: Some(now),
            count: Some(1),
            ..Event::default()
        }
    }

    async fn send_all(&self) {
        loop {
            let Some(event) = self.0.state.borrow_mut().outgoing.pop_front() else {
                self.0.state.borrow_mut().sending = false;
                return;
            };
            self.send(event).await;
        }
    }

    /// The first of its kind is a POST, the same again a PATCH. Errors are dropped, as the real recorder does.
    async fn send(&self, event: Event) {
        let type_ = if event.type_.as_deref() == Some("Warning") { EventType::Warning } else { EventType::Normal };
        let reason = event.reason.clone().unwrap_or_default();
        let series = (object_id(&event.involved_object), type_, reason);
        let key = (series, event.message.clone().unwrap_or_default());
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let before = self.0.state.borrow().seen.get(&key).map(|sent| (sent.name.clone(), sent.count));
        if let Some((name, count)) = before {
            let patch = json!({
                "count": count + 1, "lastTimestamp": event.last_timestamp, "message": event.message,
            });
            let patched = self.0.client.patch::<Event>(&namespace, &name, Patch::Strategic(patch)).await;
            if patched.is_ok() {
                self.0.state.borrow_mut().seen.insert(key, Sent { name, count: count + 1 });
                return;
            }
        }
        let name = event.metadata.name.clone().unwrap_or_default();
        if self.0.client.create(event).await.is_ok() {
            self.0.state.borrow_mut().seen.insert(key, Sent { name, count: 1 });
        }
    }
}

fn object_id(involved: &ObjectReference) -> String {
    let part = |field: &Option<String>| field.clone().unwrap_or_default();
    [
        part(&involved.kind),
        part(&involved.namespace),
        part(&involved.name),
        part(&involved.uid),
        part(&involved.field_path),
    ]
    .join("/")
}

impl State {
    fn spam_allows(&mut self, involved: &ObjectReference, now: Instant) -> bool {
        let filter = self.spam.entry(object_id(involved)).or_insert(SpamFilter { tokens: SPAM_BURST, refilled: now });
        let grown = (now - filter.refilled).as_secs() / SPAM_REFILL.as_secs();
        if grown > 0 {
            filter.tokens = filter.tokens.saturating_add(grown as u32).min(SPAM_BURST);
            filter.refilled = now;
        }
        let allowed = filter.tokens > 0;
        filter.tokens = filter.tokens.saturating_sub(1);
        allowed
    }

    /// The message to send: from the tenth different one on, all of a series share one Event.
    fn aggregate(
        &mut self,
        involved: &ObjectReference,
        type_: EventType,
        reason: &str,
        message: String,
        now: Instant,
    ) -> String {
        let series = (object_id(involved), type_, reason.to_owned());
        let (last, messages) = self.messages.entry(series).or_insert((now, BTreeSet::new()));
        if now - *last > AGGREGATE_WITHIN {
            messages.clear();
        }
        *last = now;
        if messages.len() < AGGREGATE_AT {
            messages.insert(message.clone());
        }
        if messages.len() >= AGGREGATE_AT { format!("(combined from similar events): {message}") } else { message }
    }
}
