//! What a recorder remembers of the Events it sent: which are the same again, which are too many.
//!
//! Mirrors `client-go/tools/record/events_cache.go`, in its order: aggregator, logger, spam filter. So what the filter drops
//! is counted all the same, and the next of its kind that it lets through says so. There they are three caches of 4,096
//! entries each, least recently used out first; here one, of objects, and the longest known goes first. Of ten different
//! messages one is forgotten to make room for the next, there any, here the newest.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use object::event::Event;
use object::time::Instant;
use object::{Accessor, Shared};

/// Tokens of the spam filter for one object and type.
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
    objects: BTreeMap<Identity, Known>,
    /// The same objects, the longest known first.
    order: VecDeque<Identity>,
}

/// Which object an Event is about, whichever part of it. One recorder is one source, the first part of `getSpamKey`.
#[derive(Clone, Debug)]
struct Identity(Shared<ObjectReference>);

impl Identity {
    /// What tells it from others, the uid first: nearly always it does so alone.
    fn parts(&self) -> [&str; 4] {
        [&self.0.uid, &self.0.name, &self.0.namespace, &self.0.kind].map(|part| part.as_deref().unwrap_or_default())
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Identity) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Identity {}

impl PartialOrd for Identity {
    fn partial_cmp(&self, other: &Identity) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Identity {
    fn cmp(&self, other: &Identity) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

/// What was told of one object. Of most there is one message for each reason, and there are many: no list has room for more
/// than is in it.
#[derive(Clone, Debug)]
struct Known {
    /// One for each type of Events that there was.
    buckets: Vec<Bucket>,
    /// As which part of the object it was named last: mostly it is so again.
    involved: Shared<ObjectReference>,
    series: Vec<Series>,
}

/// How many more Events of a type the spam filter lets through: a bucket that regains a token every five minutes, slower
/// than a token bucket can say in tokens a second.
#[derive(Clone, Debug)]
struct Bucket {
    type_: Option<Arc<str>>,
    tokens: u32,
    refilled: Instant,
}

/// Events of one type and reason on one object.
#[derive(Clone, Debug)]
struct Series {
    type_: Option<Arc<str>>,
    reason: Option<Arc<str>>,
    last: Instant,
    observed: Vec<Observed>,
}

/// An Event that came up before, whether or not it was sent. One that stands for many has no message, and is told from
/// others by its reason alone.
#[derive(Clone, Debug)]
struct Observed {
    involved: Shared<ObjectReference>,
    message: Option<Arc<str>>,
    name: Box<str>,
    count: i32,
    first: Option<Time>,
    /// Its message is one of those seen lately. Of two with one message only one says so.
    is_recent: bool,
}

impl Correlator {
    /// The Event to send: if its count is more than 1, as a change of the one that has its name. None: the object has had
    /// too many of its type already. Mirrors `EventCorrelate`.
    pub fn correlate(&mut self, mut event: Event, now: Instant) -> Option<Event> {
        let known = self.object(&event.involved_object);
        if event.involved_object == known.involved {
            event.involved_object = known.involved.clone();
        } else {
            known.involved = event.involved_object.clone();
        }
        known.series(&event, now).count(&mut event, now);
        known.bucket(&event, now).take_token(now).then_some(event)
    }

    fn object(&mut self, involved: &Shared<ObjectReference>) -> &mut Known {
        let id = Identity(involved.clone());
        if !self.objects.contains_key(&id) {
            self.order.push_back(id.clone());
            if self.order.len() > OBJECTS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.objects.remove(&oldest);
            }
        }
        self.objects.entry(id).or_insert_with(|| Known {
            buckets: Vec::new(),
            involved: involved.clone(),
            series: Vec::new(),
        })
    }
}

impl Bucket {
    fn take_token(&mut self, now: Instant) -> bool {
        let grown = (now - self.refilled).as_secs() / SPAM_REFILL.as_secs();
        let grown = u32::try_from(grown).unwrap_or(SPAM_BURST).min(SPAM_BURST);
        self.tokens = self.tokens.saturating_add(grown).min(SPAM_BURST);
        // What has grown of the next token is kept, unless the bucket is full.
        self.refilled = if self.tokens == SPAM_BURST { now } else { self.refilled + SPAM_REFILL * grown };
        let allowed = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        allowed
    }
}

impl Known {
    fn bucket(&mut self, event: &Event, now: Instant) -> &mut Bucket {
        let found = self.buckets.iter().position(|bucket| bucket.type_ == event.type_);
        let at = found.unwrap_or_else(|| {
            self.buckets.reserve_exact(1);
            self.buckets.push(Bucket { type_: event.type_.clone(), tokens: SPAM_BURST, refilled: now });
            self.buckets.len() - 1
        });
        &mut self.buckets[at]
    }

    fn series(&mut self, event: &Event, now: Instant) -> &mut Series {
        let found = self.series.iter().position(|s| s.type_ == event.type_ && s.reason == event.reason);
        let at = found.unwrap_or_else(|| {
            let (type_, reason) = (event.type_.clone(), event.reason.clone());
            self.series.reserve_exact(1);
            self.series.push(Series { type_, reason, last: now, observed: Vec::new() });
            self.series.len() - 1
        });
        &mut self.series[at]
    }
}

impl Series {
    /// Counts the Event, which becomes the one that it repeats, or one that stands for many. Mirrors `EventAggregate` and
    /// `eventObserve`.
    fn count(&mut self, event: &mut Event, now: Instant) {
        if now - self.last > AGGREGATE_WITHIN {
            self.observed.iter_mut().for_each(|known| known.is_recent = false);
        }
        self.last = now;
        let message = event.message.clone().unwrap_or_default();
        let recent = || self.observed.iter().filter(|known| known.is_recent);
        let is_known = recent().any(|known| known.message.as_ref() == Some(&message));
        let is_one_of_many = !is_known && recent().count() + 1 >= AGGREGATE_AT;
        if is_one_of_many {
            event.message = Some(format!("{COMBINED}{message}").into());
        }
        let known = self.observe(event, (!is_one_of_many).then_some(message));
        known.is_recent |= !is_known && !is_one_of_many;
    }

    /// The Event that came up before and now comes up again, or has come up now; none: its message stands for many.
    fn observe(&mut self, event: &mut Event, message: Option<Arc<str>>) -> &mut Observed {
        let involved = &event.involved_object;
        let is_it = |known: &Observed| {
            known.message == message && (message.is_none() || known.involved.field_path == involved.field_path)
        };
        match self.observed.iter().position(is_it) {
            Some(at) => {
                let known = &mut self.observed[at];
                known.count += 1;
                event.metadata.name = Some(known.name.to_string());
                (event.count, event.first_timestamp) = (Some(known.count), known.first.clone());
                known
            }
            None => {
                let name = event.metadata.name().into();
                let (involved, first) = (involved.clone(), event.first_timestamp.clone());
                let at = self.observed.len();
                self.observed.reserve_exact(1);
                self.observed.push(Observed { involved, message, name, count: 1, first, is_recent: false });
                &mut self.observed[at]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(pod: &str, reason: &str, message: &str) -> Event {
        let mut event = Event { reason: Some(reason.into()), message: Some(message.into()), ..Event::default() };
        event.involved_object.name = Some(pod.into());
        event.metadata.name = Some(format!("{pod}.{reason}.{message}"));
        event.count = Some(1);
        event
    }

    /// The message and the count that are sent.
    fn tell(memory: &mut Correlator, seconds: u64, event: Event) -> Option<(String, i32)> {
        let sent = memory.correlate(event, Instant::default() + Duration::from_secs(seconds))?;
        Some((sent.message?.to_string(), sent.count?))
    }

    #[test]
    fn many_messages_become_one() {
        let mut memory = Correlator::default();
        let mut at = |seconds, message: &str| tell(&mut memory, seconds, event("web", "Failed", message)).unwrap();
        for n in 0..9 {
            assert_eq!(at(0, &format!("attempt {n}")), (format!("attempt {n}"), 1));
        }
        assert_eq!(at(0, "attempt 9"), ("(combined from similar events): attempt 9".into(), 1));
        assert_eq!(at(0, "attempt 10"), ("(combined from similar events): attempt 10".into(), 2));
        assert_eq!(at(0, "attempt 3"), ("attempt 3".into(), 2));
        assert_eq!(at(700, "attempt 11"), ("attempt 11".into(), 1));
    }

    #[test]
    fn what_a_flood_drops_is_counted() {
        let mut memory = Correlator::default();
        let mut at = |seconds, reason: &str| tell(&mut memory, seconds, event("web", reason, "m"));
        for n in 1..=25 {
            assert_eq!(at(0, "BackOff"), Some(("m".into(), n)));
        }
        assert_eq!(at(0, "BackOff"), None);
        assert_eq!(at(299, "Pulling"), None, "all Events of a type about an object share one bucket, for all reasons");
        assert_eq!(at(300, "BackOff"), Some(("m".into(), 27)));
        assert_eq!(at(590, "Pulling"), None);
        assert_eq!(at(610, "Pulling"), Some(("m".into(), 3)), "the first that is sent may be the third");
        assert_eq!(at(900, "Pulling"), Some(("m".into(), 4)), "a token grows back while another is waited for");
    }

    #[test]
    fn a_flood_of_warnings_does_not_drop_what_is_normal() {
        let mut memory = Correlator::default();
        let mut at = |type_: &str, reason: &str| {
            let of_type = Event { type_: Some(type_.into()), ..event("web", reason, "m") };
            tell(&mut memory, 0, of_type).map(|(_, count)| count)
        };
        for n in 1..=25 {
            assert_eq!(at("Warning", "BackOff"), Some(n));
        }
        assert_eq!(at("Warning", "Unhealthy"), None);
        assert_eq!(at("Normal", "Pulled"), Some(1));
    }

    #[test]
    fn containers_of_one_pod_are_told_apart() {
        let mut memory = Correlator::default();
        let mut of = |container: &str| {
            let mut started = event("web", "Started", "Container started");
            started.involved_object.field_path = Some(format!("spec.containers{{{container}}}"));
            tell(&mut memory, 0, started).unwrap().1
        };
        assert_eq!([of("a"), of("b"), of("a")], [1, 1, 2]);
    }

    #[test]
    fn the_longest_known_object_is_forgotten_first() {
        let mut memory = Correlator::default();
        for n in 0..=OBJECTS_MAX {
            tell(&mut memory, 0, event(&format!("web-{n}"), "Started", "m"));
        }
        assert_eq!(tell(&mut memory, 0, event("web-1", "Started", "m")).unwrap().1, 2);
        assert_eq!(tell(&mut memory, 0, event("web-0", "Started", "m")).unwrap().1, 1);
    }
}
