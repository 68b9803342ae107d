//! The learner's process. It receives a line over its [`Channel`] and answers with a line, until the grader asks no more.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::channel::Channel;
use crate::host::{Host, Read, remember_panics};
use crate::kube::{Action, Context, Error, Resource};
use crate::wire::{Ask, Item, Receiver, Say};
use object::{Key, Kind, Object};

/// Answers the questions, one a line, with a function.
pub(crate) fn answer<Question: DeserializeOwned, Answer: Serialize>(function: impl Fn(&Question) -> Answer) {
    let mut channel = Channel::open();
    while let Some(line) = channel.hear() {
        let question = serde_json::from_str(&line).expect("the grader asks in JSON");
        let text = serde_json::to_string(&function(&question)).expect("an answer is data");
        channel.say(&text);
    }
}

/// Answers with a function that reconciles objects of one type.
pub(crate) fn reconcile<K: Resource, F>(reconcile: impl Fn(Arc<K>, Arc<Context>) -> F + 'static)
where
    F: Future<Output = Result<Action, Error>> + 'static,
{
    control(|read| Host::new(read, reconcile));
}

/// What a cache has, as the process knows it.
type Caches = BTreeMap<Kind, BTreeMap<Key, Object>>;

/// Answers with the controller that `host` makes.
pub(crate) fn control(host: impl FnOnce(Read) -> Host) {
    remember_panics();
    let link = Rc::new(RefCell::new(Link { channel: Channel::open(), versions: Receiver::default() }));
    let (caches, reads) = (RefCell::new(Caches::new()), link.clone());
    let mut host = host(Rc::new(move |kind| {
        let mut link = reads.borrow_mut();
        link.say(&Say::Read { kind: kind.info().qualified_plural() });
        let mut caches = caches.borrow_mut();
        let cache = caches.entry(kind).or_default();
        if let Some(Ask::Cached { changed, gone }) = link.hear() {
            gone.iter().for_each(|key| drop(cache.remove(&Key::parse(key))));
            cache.extend(changed.into_iter().map(|object| (Key::of(&object), object)));
        }
        cache.values().cloned().collect()
    }));
    let hear = || link.borrow_mut().hear();
    while let Some(ask) = hear() {
        if matches!(ask, Ask::Mark) {
            link.borrow_mut().channel.mark();
        } else if let Some(said) = host.hear(ask) {
            link.borrow_mut().say(&said);
        }
    }
}

/// The way to the grader, and the objects that have come over it.
struct Link {
    channel: Channel,
    versions: Receiver,
}

impl Link {
    fn hear(&mut self) -> Option<Ask<Object>> {
        let line = self.channel.hear()?;
        let ask: Ask<Item> = serde_json::from_str(&line).expect("the grader speaks JSON");
        Some(ask.map(|item| self.versions.object(item)).expect("the grader sends objects"))
    }

    fn say(&mut self, said: &Say) {
        self.channel.say(&serde_json::to_string(said).expect("what is said is data"));
    }
}
