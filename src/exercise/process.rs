//! The learner's process. It is told a line on standard input and answers with a line on standard output, until nobody
//! asks any more. Whatever a learner's code prints stands between the answers, which begin with [`ANSWER`].

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::BufRead;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::host::{Host, Read, remember_panics};
use crate::kube::{Action, Context, Error, Resource};
use crate::wire::{Ask, Item, Receiver, Say};
use object::{Key, Kind, Object};

/// What a line begins with that is an answer.
pub const ANSWER: &str = "answer: ";

/// Answers the questions, one a line, with a function.
pub(crate) fn answer<Question: DeserializeOwned, Answer: Serialize>(function: impl Fn(&Question) -> Answer) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let question = serde_json::from_str(&line).expect("the grader asks in JSON");
        let text = serde_json::to_string(&function(&question)).expect("an answer is data");
        println!("\n{ANSWER}{text}");
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
    let (caches, versions) = (RefCell::new(Caches::new()), Rc::<RefCell<Receiver>>::default());
    let (heard, marks) = (versions.clone(), Rc::<Cell<bool>>::default());
    let marked = marks.clone();
    let mut host = host(Rc::new(move |kind| {
        say(&Say::Read { kind: kind.info().qualified_plural() }, &marked);
        let mut caches = caches.borrow_mut();
        let cache = caches.entry(kind).or_default();
        if let Some(Ask::Cached { changed, gone }) = hear(&heard) {
            gone.iter().for_each(|key| drop(cache.remove(&Key::parse(key))));
            cache.extend(changed.into_iter().map(|object| (Key::of(&object), object)));
        }
        cache.values().cloned().collect()
    }));
    while let Some(ask) = hear(&versions) {
        if matches!(ask, Ask::Mark) {
            marks.set(true);
        } else if let Some(said) = host.hear(ask) {
            say(&said, &marks);
        }
    }
}

fn hear(versions: &RefCell<Receiver>) -> Option<Ask<Object>> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).ok().filter(|count| *count > 0)?;
    let ask: Ask<Item> = serde_json::from_str(&line).expect("the grader speaks JSON");
    Some(ask.map(|item| versions.borrow_mut().object(item)).expect("the grader sends objects"))
}

fn say(said: &Say, marks: &Cell<bool>) {
    let text = serde_json::to_string(said).expect("what is said is data");
    if marks.get() {
        eprintln!("\n{ANSWER}follows");
    }
    println!("\n{ANSWER}{text}");
}
