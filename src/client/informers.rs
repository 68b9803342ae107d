//! The informers of one process. Mirrors client-go's `informers.SharedInformerFactory`.

use std::ops::Deref;
use std::rc::Rc;

use engine::{ActorId, Hub};
use object::{Kind, Object, Resource};
use wire::{User, WatchEvent, WatchId};

use super::informer::{Change, Informer, Lister, Selection};

/// A process's informers, each of another kind.
#[derive(Clone)]
pub struct Informers(Vec<Informer>);

impl Informers {
    /// Informers of `actor`, watching as `user`. They do nothing until started.
    pub fn new(
        hub: &Hub,
        actor: ActorId,
        user: &Rc<User>,
        selections: impl IntoIterator<Item = Selection>,
    ) -> Informers {
        let informer = |selection| Informer::new(hub.clone(), actor, user.clone(), selection);
        Informers(selections.into_iter().map(informer).collect())
    }

    /// Informers of all objects of each kind.
    pub fn of_kinds(hub: &Hub, actor: ActorId, user: &Rc<User>, kinds: impl IntoIterator<Item = Kind>) -> Informers {
        Informers::new(hub, actor, user, kinds.into_iter().map(Selection::all))
    }

    /// Opens all watches.
    pub fn start(&self) {
        self.0.iter().for_each(Informer::start);
    }

    /// Whether all caches have been filled once.
    pub fn has_synced(&self) -> bool {
        self.0.iter().all(Informer::has_synced)
    }

    /// The informer of a kind.
    pub fn of(&self, kind: Kind) -> Option<&Informer> {
        self.0.iter().find(|informer| informer.kind() == kind)
    }

    /// The informer whose watch this is.
    pub fn of_watch(&self, watch: WatchId) -> Option<&Informer> {
        self.0.iter().find(|informer| informer.owns(watch))
    }

    /// A typed view of the cache of one kind.
    ///
    /// # Panics
    ///
    /// If there is no informer of it.
    pub fn lister<T: Resource>(&self) -> Lister<T> {
        self.known(T::kind()).lister()
    }

    /// Adds an index to the cache of one kind, as [`Informer::add_index`] does.
    ///
    /// # Panics
    ///
    /// If there is no informer of it.
    pub fn add_index<T: Resource>(&self, name: &'static str, of: fn(&Object) -> Vec<String>) {
        self.known(T::kind()).add_index(name, of);
    }

    /// Hands a watch event to the informer whose watch it is. Gives what handlers are to be told.
    pub fn on_event(&self, watch: WatchId, event: WatchEvent) -> Vec<Change> {
        self.of_watch(watch).map_or_else(Vec::new, |informer| informer.on_event(event))
    }

    /// A wake to list again: whom it is for opens the watch once more.
    pub fn relist(&self, key: &str) {
        self.0.iter().for_each(|informer| informer.relist(key));
    }

    fn known(&self, kind: Kind) -> &Informer {
        self.of(kind).unwrap_or_else(|| panic!("the process watches no {kind}s"))
    }
}

impl Deref for Informers {
    type Target = [Informer];

    fn deref(&self) -> &[Informer] {
        &self.0
    }
}
