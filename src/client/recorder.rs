//! Events: what a component tells people, sent without waiting. Mirrors `client-go/tools/record`.
//!
//! The component queues an Event and goes on; a task of its own POSTs them one after another. The same Event again
//! is a PATCH that raises its count; too many different ones on one object become one; a flood is dropped.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use engine::Memory;
use object::event::{Event, Reporter};
use object::template::fnv32a;
use object::{Resource, Shared};
use wire::{Error, Patch};

use super::api::Client;
use super::correlator::Correlator;

/// Whether all is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventType {
    /// It is.
    Normal,
    /// A user should look.
    Warning,
}

impl EventType {
    fn word(self) -> &'static str {
        match self {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        }
    }
}

/// Less than any message takes, so that names follow the order of what happened.
const AHEAD_MAX: u64 = 4096;

/// How often an Event is sent while no server answers. `maxTriesPerEvent`.
const TRIES_MAX: u32 = 12;
/// The pause before each further try; the first is a random part of it, so that not all clients come back at once.
/// `defaultSleepDuration`.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// How many messages are remembered.
const MESSAGES_MAX: usize = 8;

/// A component's event recorder. Clones share it.
#[derive(Clone)]
pub struct Recorder(Rc<Inner>);

struct Inner {
    client: Client,
    component: String,
    /// The same as its Events tell it.
    reporter: Shared<Reporter>,
    /// Nanoseconds by which the names of its Events are ahead of the time.
    ahead: u64,
    state: Memory<State>,
}

#[derive(Clone, Default)]
struct State {
    outgoing: VecDeque<Event>,
    sending: bool,
    memory: Correlator,
    /// Types and reasons of Events, each once: there are few.
    words: BTreeSet<Arc<str>>,
    /// The messages told last: of many objects the same is told.
    messages: VecDeque<Arc<str>>,
    last_nanos: u64,
}

impl State {
    fn word(&mut self, word: &str) -> Arc<str> {
        if let Some(known) = self.words.get(word) {
            return known.clone();
        }
        let word: Arc<str> = word.into();
        self.words.insert(word.clone());
        word
    }

    fn message(&mut self, message: String) -> Arc<str> {
        if let Some(known) = self.messages.iter().find(|known| ***known == *message) {
            return known.clone();
        }
        if self.messages.len() == MESSAGES_MAX {
            self.messages.pop_front();
        }
        let message: Arc<str> = message.into();
        self.messages.push_back(message.clone());
        message
    }
}

impl Recorder {
    /// A recorder that signs as `component`. `host` is the node's name for a kubelet, else empty.
    pub fn new(client: Client, component: &str, host: &str) -> Recorder {
        let state = client.hub().memory(State::default());
        // No two real clocks agree to the nanosecond; here all do. Two components that speak of one object in one instant
        // must not give their Events one name, for the second would be refused.
        let ahead = u64::from(fnv32a(format!("{component} {host}").as_bytes())) % AHEAD_MAX;
        let node = (!host.is_empty()).then(|| host.to_owned());
        let source = EventSource { component: Some(component.into()), host: node };
        let reporter =
            Reporter { source: Some(source), component: Some(component.into()), instance: Some(host.into()) };
        Recorder(Rc::new(Inner { client, component: component.into(), reporter: reporter.into(), ahead, state }))
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
        let field_path = (!field_path.is_empty()).then(|| field_path.to_owned());
        let involved = ObjectReference { field_path, ..reference_to(object) };
        self.event_about(involved, type_, reason, message.into());
    }

    /// Tells something of `object`, with annotations for programs to read (`AnnotatedEventf`).
    pub fn annotated_event<T: Resource>(
        &self,
        object: &T,
        annotations: BTreeMap<String, String>,
        type_: EventType,
        reason: &str,
        message: impl Into<String>,
    ) {
        let annotations = Some(annotations).filter(|annotations| !annotations.is_empty());
        self.send_soon(reference_to(object), annotations, type_, reason, message.into());
    }

    /// Records an Event about the object that `involved` names.
    pub fn event_about(&self, involved: ObjectReference, type_: EventType, reason: &str, message: String) {
        self.send_soon(involved, None, type_, reason, message);
    }

    fn send_soon(
        &self,
        involved: ObjectReference,
        annotations: Option<BTreeMap<String, String>>,
        type_: EventType,
        reason: &str,
        message: String,
    ) {
        let now = self.0.client.now();
        let mut state = self.0.state.borrow_mut();
        // Names carry nanoseconds; two Events of one instant must still differ.
        let nanos = now.timestamp().as_nanosecond() as u64 + self.0.ahead;
        state.last_nanos = (state.last_nanos + 1).max(nanos);
        let name = format!("{}.{:x}", involved.name.as_deref().unwrap_or_default(), state.last_nanos);
        let namespace = involved.namespace.clone().filter(|n| !n.is_empty()).unwrap_or_else(|| "default".into());
        let about = ObjectMeta { name: Some(name), namespace: Some(namespace), annotations, ..ObjectMeta::default() };
        let event = Event {
            metadata: about,
            involved_object: involved.into(),
            reporter: self.0.reporter.clone(),
            type_: Some(state.word(type_.word())),
            reason: Some(state.word(reason)),
            message: Some(state.message(message)),
            first_timestamp: Some(now.time()),
            last_timestamp: Some(now.time()),
            count: Some(1),
            newer: None,
        };
        state.outgoing.push_back(event);
        if !state.sending {
            state.sending = true;
            let me = self.clone();
            let client = &self.0.client;
            let label = format!("{} events", self.0.component);
            client.hub().spawn_background(client.actor(), label, async move { me.send_all().await });
        }
    }

    async fn send_all(&self) {
        while let Some(event) = self.next() {
            if let Some(event) = self.correlate(event) {
                self.send(event).await;
            }
        }
    }

    /// The Event that waits longest.
    fn next(&self) -> Option<Event> {
        let mut state = self.0.state.borrow_mut();
        let event = state.outgoing.pop_front();
        state.sending = event.is_some();
        // Pods that all start at once need room that is not needed again.
        if state.outgoing.len() < state.outgoing.capacity() / 4 {
            let room = state.outgoing.len() * 2;
            state.outgoing.shrink_to(room);
        }
        event
    }

    /// What to send of it, which may be nothing.
    fn correlate(&self, event: Event) -> Option<Event> {
        let now = self.0.client.now();
        self.0.state.borrow_mut().memory.correlate(event, now)
    }

    /// Sends it until there is an answer; what the API server refuses is dropped. Meanwhile all others wait. Mirrors
    /// `recordToSink`.
    async fn send(&self, event: Event) {
        for tries in 1..=TRIES_MAX {
            match self.record(&event).await {
                Err(Error::Transport(_)) if tries < TRIES_MAX => {}
                _ => return,
            }
            self.0.client.sleep(self.pause_after(tries)).await;
        }
    }

    fn pause_after(&self, tries: u32) -> Duration {
        if tries > 1 {
            return RETRY_PAUSE;
        }
        let most = u64::try_from(RETRY_PAUSE.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.0.client.hub().random(|random| random.below(most)))
    }

    /// The first of its kind is a POST, the same again a PATCH. Mirrors `recordEvent`.
    async fn record(&self, event: &Event) -> Result<(), Error> {
        if event.count > Some(1) {
            match self.change(event).await {
                Err(error) if error.is_not_found() => {}
                answer => return answer,
            }
        }
        // It is the first, or the one before is gone: having expired, or never sent.
        self.0.client.create(event.clone()).await.map(drop)
    }

    async fn change(&self, event: &Event) -> Result<(), Error> {
        let (namespace, name) = (event.metadata.namespace.as_deref(), event.metadata.name.as_deref());
        let patch =
            json!({"count": event.count, "lastTimestamp": event.last_timestamp, "message": event.message.as_deref()});
        let patched = self
            .0
            .client
            .patch::<Event>(namespace.unwrap_or_default(), name.unwrap_or_default(), Patch::Strategic(patch))
            .await;
        patched.map(drop)
    }
}

fn reference_to<T: Resource>(object: &T) -> ObjectReference {
    let (info, meta) = (T::kind().info(), object.metadata());
    ObjectReference {
        api_version: Some(info.api_version.into()),
        kind: Some(info.kind.into()),
        name: meta.name.clone(),
        namespace: meta.namespace.clone(),
        uid: meta.uid.clone(),
        resource_version: meta.resource_version.clone(),
        field_path: None,
    }
}
