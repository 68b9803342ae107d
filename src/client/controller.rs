//! What a controller is: handlers that turn changes into keys, and a reconcile that works on one key.

use std::fmt;
use std::rc::Rc;

use engine::{LocalBoxFuture, Memory};
use object::{Key, Kind, Object, Resource, Status};

use super::api::Client;
use super::informer::{Change, Follower, Informer, Lister};
use super::informers::Informers;
use super::queue::Queue;
use super::recorder::Recorder;

/// A controller. Between reconciles it is plain data behind caches and a queue.
pub trait Controller: Boxed {
    /// An informer's handler: computes keys and touches expectations, and calls no API.
    fn on_change(&self, change: &Change);
    /// What it remembers between reconciles beside its queue, as lines for a person; nothing unless that is worth a look.
    fn look(&self) -> Vec<String> {
        Vec::new()
    }
    /// Brings the object behind `key` one step closer to what it asks for. An error puts the key back, later.
    fn reconcile(&self, key: Key) -> impl Future<Output = Result<(), Error>>
    where
        Self: Sized;
}

/// A reconcile of a controller of any type. Every `dyn Controller` has it; there is no need to implement it.
pub trait Boxed {
    /// [`Controller::reconcile`] as a future that keeps the controller.
    fn reconcile_boxed(self: Rc<Self>, key: Key) -> LocalBoxFuture<Result<(), Error>>;
}

impl<C: Controller + 'static> Boxed for C {
    fn reconcile_boxed(self: Rc<Self>, key: Key) -> LocalBoxFuture<Result<(), Error>> {
        Box::pin(async move { self.reconcile(key).await })
    }
}

/// Why a reconcile failed. The key is queued again, rate-limited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The API server refused, or did not answer.
    #[error("{0}")]
    Api(wire::Error),
    /// Anything else, as a sentence.
    #[error("{0}")]
    Other(String),
    /// It is as it was the last time, and only another client can change that: the next tries are background traffic.
    #[error("{0}")]
    Unchanged(String),
}

impl From<wire::Error> for Error {
    fn from(error: wire::Error) -> Error {
        Error::Api(error)
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Error {
        Error::Api(status.into())
    }
}

/// Makes a controller.
pub type Make = &'static (dyn Fn(&ControllerContext) -> Rc<dyn Controller> + Sync);

/// One row of the table of controllers.
#[derive(Clone, Copy)]
pub struct Registration {
    /// `deployment-controller`: its queue, and the rest of what follows unless the row says otherwise.
    pub name: &'static str,
    /// The kinds whose changes it is told.
    pub watches: &'static [Kind],
    /// How many keys it works on at once.
    pub workers: usize,
    /// After so many failures in a row a key is dropped; None: never.
    pub max_retries: Option<u32>,
    /// Its service account in kube-system, and user agent; None: it acts as the controller manager itself.
    pub account: Option<&'static str>,
    /// What it calls itself in its Events; history gave some a name of its own.
    pub event_source: &'static str,
    /// How many times as much as that of others its client may send: requests a second, and how many at once.
    pub limits: (u32, u32),
    /// Makes the controller.
    pub new: Make,
}

impl Registration {
    /// What most rows have in common: one name for everything, no more traffic than others, no key dropped; and one worker.
    pub const fn new(name: &'static str, new: Make) -> Registration {
        Registration {
            name,
            watches: &[],
            workers: 1,
            max_retries: None,
            account: Some(name),
            event_source: name,
            limits: (1, 1),
            new,
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What a controller is made from.
pub struct ControllerContext<'a> {
    /// Asks as the controller's own service account.
    pub client: Client,
    /// Sends Events in the controller's name.
    pub recorder: Recorder,
    /// The controller's queue.
    pub queue: Queue,
    /// The process's informers, shared by its controllers.
    pub informers: &'a Informers,
}

impl ControllerContext<'_> {
    /// A view of the cache of one kind, which the controller must have named in its row.
    pub fn lister<T: Resource>(&self) -> Lister<T> {
        self.informer(T::kind()).lister()
    }

    /// Adds an index to the cache of one kind. Controllers of one process share indexes of one name.
    pub fn add_index<T: Resource>(&self, name: &'static str, of: fn(&Object) -> Vec<String>) {
        self.informer(T::kind()).add_index(name, of);
    }

    /// Adds a follower to the cache of one kind.
    pub fn add_follower<T: Resource>(&self, follower: Follower) {
        self.informer(T::kind()).add_follower(follower);
    }

    /// A new piece of the controller's state.
    pub fn memory<T: Clone + 'static>(&self, value: T) -> Memory<T> {
        self.client.hub().memory(value)
    }

    fn informer(&self, kind: Kind) -> &Informer {
        let found = self.informers.of(kind);
        found.unwrap_or_else(|| panic!("{} reads {kind}s, so its row must name that kind", self.queue.name()))
    }
}
