//! How words of faults are read.

use std::time::Duration;

use engine::EventId;
use object::{Key, Kind};

use super::Fault;

/// A fault as it is typed.
pub struct Words<'a> {
    /// The word with which it begins.
    pub name: &'a str,
    /// Those behind it.
    pub rest: &'a [&'a str],
    /// Where Pods are looked for.
    pub namespace: &'a str,
    pub(super) usage: &'static str,
}

impl Words<'_> {
    /// How it is written.
    pub fn usage(&self) -> String {
        format!("write: {}", self.usage)
    }

    /// That it is not written so.
    pub fn wrong(&self) -> Result<Fault, String> {
        Err(self.usage())
    }

    /// A Pod, as `web`, `pod/web` or `shop/web`.
    pub fn pod(&self, word: &str) -> Key {
        let word = word.strip_prefix("pod/").unwrap_or(word);
        match word.split_once('/') {
            Some((namespace, name)) => Key::new(namespace, name),
            None => Key::new(self.namespace, word),
        }
    }
}

/// The number of an event, with or without its e.
pub fn event_id(word: &str) -> Result<EventId, String> {
    let digits = word.strip_prefix('e').unwrap_or(word);
    digits
        .parse()
        .map(EventId)
        .map_err(|_| format!("{word:?} is not the number of an event; pending shows them, as e45"))
}

/// A time in seconds, with or without an s behind it.
pub fn duration(word: &str) -> Result<Duration, String> {
    let time = word.trim_end_matches('s').parse::<f64>().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    time.ok_or_else(|| format!("{word:?} is not a number of seconds"))
}

/// The same where more than a day is a slip.
pub fn seconds(word: &str) -> Result<Duration, String> {
    let wrong = || format!("{word:?} is not a number of seconds up to a day");
    duration(word).ok().filter(|time| *time <= Duration::from_secs(86_400)).ok_or_else(wrong)
}

pub(super) fn kind_of(word: &str) -> Result<Kind, String> {
    Kind::from_word(word).ok_or_else(|| format!("there is no kind {word:?}"))
}
