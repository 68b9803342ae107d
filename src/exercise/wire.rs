//! What the cluster and the process that a learner's code runs in say to one another, one line of JSON each.
//!
//! Objects go as the text that the API prints, and each version once: after that it has a number ([`Item`]). In one run
//! of the grader the same versions come about again and again, since every order of events begins in the same way.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use object::{Key, Kind, Object, json, read};

/// What the process receives. `O` is an object: itself where both are one process, otherwise what is sent of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask<O> {
    /// Begin to reconcile an object.
    Reconcile {
        /// The number of this reconcile.
        task: u64,
        /// The object, from the controller's cache.
        object: O,
        /// What the controller remembers.
        memory: Value,
    },
    /// Something that the controller watches has changed.
    Observe {
        /// As it was; none: it is new.
        old: Option<O>,
        /// As it is; none: it is gone.
        new: Option<O>,
        /// What the controller remembers.
        memory: Value,
    },
    /// The API server has answered the call of a reconcile.
    Reply {
        /// Which one.
        task: u64,
        /// What the call returns.
        answer: Result<Answer<O>, Status>,
        /// What the controller remembers by now.
        memory: Value,
    },
    /// What a cache that is read shows that it did not show when it was read last.
    Cached {
        /// The objects that are new in it, or have changed.
        changed: Vec<O>,
        /// What is gone: `default/web`.
        gone: Vec<String>,
    },
    /// From now on a line on standard output and one on standard error follow what was printed before an answer.
    Mark,
    /// A reconcile will not go on.
    Forget {
        /// Which one.
        task: u64,
    },
}

/// What a call returns that went well.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer<O> {
    /// Of a deletion: nothing.
    Nothing,
    /// One object.
    One(O),
    /// The objects of a list.
    Many(Vec<O>),
}

impl<O> Ask<O> {
    /// The same with each object put in another way, in their order.
    ///
    /// # Errors
    /// Of the first object that cannot be put so.
    pub fn map<P, E>(self, mut put: impl FnMut(O) -> Result<P, E>) -> Result<Ask<P>, E> {
        let mut all = |objects: Vec<O>| objects.into_iter().map(&mut put).collect::<Result<Vec<P>, E>>();
        Ok(match self {
            Ask::Reconcile { task, object, memory } => Ask::Reconcile { task, object: put(object)?, memory },
            Ask::Observe { old, new, memory } => {
                Ask::Observe { old: old.map(&mut put).transpose()?, new: new.map(&mut put).transpose()?, memory }
            }
            Ask::Reply { task, answer: Err(status), memory } => Ask::Reply { task, answer: Err(status), memory },
            Ask::Reply { task, answer: Ok(answer), memory } => {
                let answer = match answer {
                    Answer::Nothing => Answer::Nothing,
                    Answer::One(object) => Answer::One(put(object)?),
                    Answer::Many(objects) => Answer::Many(all(objects)?),
                };
                Ask::Reply { task, answer: Ok(answer), memory }
            }
            Ask::Cached { changed, gone } => Ask::Cached { changed: all(changed)?, gone },
            Ask::Mark => Ask::Mark,
            Ask::Forget { task } => Ask::Forget { task },
        })
    }
}

/// What is sent of an object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Item {
    /// A version that was sent before.
    Known(u64),
    /// One that was not.
    New {
        /// The number that it has from now on. With number 0 all numbers begin again.
        number: u64,
        /// Of this kind: `replicasets.apps`.
        kind: String,
        /// The object, as the API prints it: a text in the text.
        object: String,
    },
}

/// So many versions are known at most.
const KNOWN: u64 = 4_096;

/// The object that a version belongs to, and its resourceVersion.
type Place = (Kind, Key, Option<String>);

/// Which versions were sent, by what is in them: in another order of events the same resourceVersion is another version.
/// To compare two of them costs less than to print one.
#[derive(Default)]
pub struct Sender {
    sent: BTreeMap<Place, Vec<(Object, u64)>>,
    count: u64,
}

impl Sender {
    /// What is to be sent of an object.
    pub fn item(&mut self, object: &Object) -> Item {
        let place = (object.kind(), Key::of(object), object.meta().resource_version.clone());
        let alike = self.sent.get(&place).and_then(|all| all.iter().find(|(one, _)| one.same(object) || one == object));
        if let Some((_, number)) = alike {
            return Item::Known(*number);
        }
        if self.count >= KNOWN {
            *self = Sender::default();
        }
        let number = self.count;
        self.count += 1;
        self.sent.entry(place).or_default().push((object.clone(), number));
        Item::New { number, kind: object.kind().info().qualified_plural(), object: object.to_json().to_string() }
    }
}

/// The versions that have come, by their numbers.
#[derive(Default)]
pub struct Receiver(Vec<Object>);

impl Receiver {
    /// The object that was sent.
    ///
    /// # Errors
    /// That it cannot be: both sides are of different builds.
    pub fn object(&mut self, item: Item) -> Result<Object, String> {
        match item {
            Item::Known(number) => self.0.get(number as usize).cloned().ok_or_else(|| format!("no object {number}")),
            Item::New { number, kind, object } => {
                let kind = Kind::from_word(&kind).ok_or_else(|| format!("no kind {kind}"))?;
                let (object, _) = read::object(kind, &json::parse(&object)?).map_err(|error| error.to_string())?;
                self.0.truncate(number as usize);
                self.0.push(object.clone());
                Ok(object)
            }
        }
    }
}

/// What the process says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Say {
    /// A reconcile calls the API server and waits.
    Call {
        /// What it asks.
        request: Box<Request>,
        /// The file and line of the call.
        at: (String, u32),
        /// What the controller remembers now.
        memory: Value,
    },
    /// It reads a cache, in the middle of a reconcile.
    Read {
        /// Of this kind: `pods`.
        kind: String,
    },
    /// A reconcile has come to its end, or a change was observed.
    Done {
        /// When it wants to look again, in seconds; or an error, as a sentence.
        result: Result<Option<f64>, String>,
        /// What the controller remembers now.
        memory: Value,
    },
    /// It cannot go on: how, in words.
    Broken(String),
}

/// A call to the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// `create`, `patch` … as in RBAC rules.
    pub verb: String,
    /// `pods`, `replicasets.apps`.
    pub kind: String,
    /// `status`, or empty.
    pub subresource: String,
    /// The namespace, or empty.
    pub namespace: String,
    /// The object's name, or empty.
    pub name: String,
    /// The object, the patch, or how to delete.
    pub body: Value,
    /// The sort of a patch: `merge`, `strategic` or `json`.
    pub patch: String,
    /// Which objects to list.
    pub labels: String,
}

/// What went wrong with a call: `metav1.Status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The HTTP status.
    pub code: u16,
    /// The machine's word for it: `Conflict`.
    pub reason: String,
    /// The sentence for people.
    pub message: String,
}
