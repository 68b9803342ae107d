//! What a recorder remembers of the Events it sent: which are the same again, which are too many.
//!
//! Mirrors `client-go/tools/record/events_cache.go`: spam filter, aggregator, logger. There they are three caches of
//! 4,096 entries each, least recently used out first; here one, of objects, and the longest known goes first.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;

use super::recorder::EventType;
use crate::object::time::Instant;

/// Tokens of the spam filter for one object.
const SPAM_BURST: u32 = 25;
/// One token of the spam filter grows back in this time.
const SPAM_REFILL: Duration = Duration::from_secs(300);
/// So many different messages for one reason on one object are told as one.
const AGGREGATE_AT: usize = 10;
/// Messages older than this do not count for that.
const AGGREGATE_WITHIN: Duration = Duration::from_secs(600);
/// So many objects are remembered.
const OBJECTS_MAX: usize = 4096;

/// What the message of an Event begins with that stands for many: it has the words of the newest.
const COMBINED: &str = "(combined from similar events): ";

/// A recorder's memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Correlator {
    objects: BTreeMap<Rc<str>, Known>,
    /// The same objects, the longest known first.
    order: VecDeque<Rc<str>>,
}

/// What was told of one object.
#[derive(Clone, Debug)]
struct Known {
    /// A bucket that regains a token every five minutes, slower than a token bucket can say in tokens a second.
    tokens: u32,
    refilled: Instant,
    series: Vec<Series>,
}

/// Events of one type and reason on one object.
#[derive(Clone, Debug)]
struct Series {
    type_: EventType,
    reason: String,
    /// Different messages seen lately, up to those that make an aggregate.
    messages: Vec<String>,
    last: Instant,
    sent: Vec<Sent>,
}

/// An Event that was sent: the message, and the name and count it has.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub message: String,
    pub name: String,
    pub count: i32,
}

impl Correlator {
    /// The message to send, or None if the object has had too many Events already.
    pub fn admit(
        &mut self,
        involved: &ObjectReference,
        type_: EventType,
        reason: &str,
        message: String,
        now: Instant,
    ) -> Option<String> {
        let known = self.object(involved, now);
        if !known.take_token(now) {
            return None;
        }
        let series = known.series(type_, reason, now);
        if now - series.last > AGGREGATE_WITHIN {
            series.messages.clear();
        }
        series.last = now;
        if series.messages.len() < AGGREGATE_AT && !series.messages.contains(&message) {
            series.messages.push(message.clone());
        }
        let many = series.messages.len() >= AGGREGATE_AT;
        Some(if many { format!("{COMBINED}{message}") } else { message })
    }

    /// The Event that carries this message already, if one was sent.
    pub fn sent(&self, involved: &ObjectReference, type_: EventType, reason: &str, message: &str) -> Option<Sent> {
        let known = self.objects.get(object_id(involved).as_str())?;
        let series = known.series.iter().find(|s| s.type_ == type_ && s.reason == reason)?;
        series.sent.iter().find(|sent| is_same(&sent.message, message)).cloned()
    }

    /// Remembers an Event that was sent.
    pub fn remember(&mut self, involved: &ObjectReference, type_: EventType, reason: &str, sent: Sent, now: Instant) {
        let series = self.object(involved, now).series(type_, reason, now);
        match series.sent.iter_mut().find(|old| is_same(&old.message, &sent.message)) {
            Some(old) => *old = sent,
            None => series.sent.push(sent),
        }
    }

    fn object(&mut self, involved: &ObjectReference, now: Instant) -> &mut Known {
        let id: Rc<str> = object_id(involved).into();
        if !self.objects.contains_key(&id) {
            self.order.push_back(id.clone());
            if self.order.len() > OBJECTS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.objects.remove(&oldest);
            }
        }
        self.objects.entry(id).or_insert(Known { tokens: SPAM_BURST, refilled: now, series: Vec::new() })
    }
}

impl Known {
    fn take_token(&mut self, now: Instant) -> bool {
        let grown = (now - self.refilled).as_secs() / SPAM_REFILL.as_secs();
        if grown > 0 {
            self.tokens = self.tokens.saturating_add(grown as u32).min(SPAM_BURST);
            self.refilled = now;
        }
        let allowed = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        allowed
    }

    fn series(&mut self, type_: EventType, reason: &str, now: Instant) -> &mut Series {
        let found = self.series.iter().position(|s| s.type_ == type_ && s.reason == reason);
        let at = found.unwrap_or_else(|| {
            let reason = reason.to_owned();
            self.series.push(Series { type_, reason, messages: Vec::new(), last: now, sent: Vec::new() });
            self.series.len() - 1
        });
        &mut self.series[at]
    }
}

/// Whether two messages of one series are told by one Event: the same, or any two that stand for many.
fn is_same(a: &str, b: &str) -> bool {
    a == b || (a.starts_with(COMBINED) && b.starts_with(COMBINED))
}

fn object_id(involved: &ObjectReference) -> String {
    let part = |field: &'_ Option<String>| field.as_deref().unwrap_or_default().to_owned();
    [
        part(&involved.kind),
        part(&involved.namespace),
        part(&involved.name),
        part(&involved.uid),
        part(&involved.field_path),
    ]
    .join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str) -> ObjectReference {
        ObjectReference { kind: Some("Pod".into()), name: Some(name.into()), ..ObjectReference::default() }
    }

    #[test]
    fn many_messages_become_one_and_a_flood_is_dropped() {
        let (mut memory, now) = (Correlator::default(), Instant::default());
        let told: Vec<Option<String>> = (0..26)
            .map(|n| memory.admit(&pod("web"), EventType::Warning, "Failed", format!("attempt {n}"), now))
            .collect();
        assert_eq!(told[8].as_deref(), Some("attempt 8"));
        assert_eq!(told[9].as_deref(), Some("(combined from similar events): attempt 9"));
        assert_eq!(told[25], None);
        let later = now + Duration::from_secs(700);
        let again = memory.admit(&pod("web"), EventType::Warning, "Failed", "attempt 26".into(), later);
        assert_eq!(again.as_deref(), Some("attempt 26"));
    }

    #[test]
    fn what_stands_for_many_is_one_event() {
        let (mut memory, now) = (Correlator::default(), Instant::default());
        let mut tell = |message: &str| {
            let before = memory.sent(&pod("web"), EventType::Warning, "Failed", message);
            let count = before.as_ref().map_or(1, |sent| sent.count + 1);
            let sent = Sent { message: message.to_owned(), name: "n".into(), count };
            memory.remember(&pod("web"), EventType::Warning, "Failed", sent, now);
            count
        };
        let messages = ["attempt 1", "attempt 2", "attempt 1", "(combined from similar events): attempt 3"];
        assert_eq!(messages.map(&mut tell), [1, 1, 2, 1]);
        assert_eq!(tell("(combined from similar events): attempt 4"), 2);
    }

    #[test]
    fn the_longest_known_object_is_forgotten_first() {
        let (mut memory, now) = (Correlator::default(), Instant::default());
        let sent = || Sent { message: "m".into(), name: "n".into(), count: 1 };
        for n in 0..=OBJECTS_MAX {
            memory.remember(&pod(&format!("web-{n}")), EventType::Normal, "Started", sent(), now);
        }
        assert!(memory.sent(&pod("web-0"), EventType::Normal, "Started", "m").is_none());
        assert!(memory.sent(&pod("web-1"), EventType::Normal, "Started", "m").is_some());
        assert!(memory.sent(&pod("web-1"), EventType::Normal, "Pulled", "m").is_none());
    }
}
