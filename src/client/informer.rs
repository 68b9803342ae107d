//! The informer: a cache of one kind that a watch keeps, and the changes it tells its handlers.
//!
//! Mirrors `client-go/tools/cache`: reflector (watch with initial events, watch again after an error), delta queue,
//! indexer. Every watch event gives exactly one change; the cache is changed first.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use engine::{ActorId, Hub, Memory, Note};
use object::status::Reason;
use object::{Key, Kind, Object, Resource};
use wire::{Body, Options, Request, User, Verb, WatchEvent, WatchId};

use super::backoff::Backoff;

/// Wake: a reflector tries again. The wake's key is the kind's plural, with the group if users have defined it.
pub const RELIST: &str = "relist";

/// The key of the wake of a kind's reflector.
fn wake_key(kind: Kind) -> Cow<'static, str> {
    match kind {
        Kind::Custom(kind) => Cow::Owned(kind.info().qualified_plural()),
        kind => Cow::Borrowed(kind.info().plural),
    }
}

/// What an informer tells its handlers.
#[derive(Clone, Debug)]
pub enum Change {
    /// New to the cache.
    Added(Object),
    /// Known, and now different (or listed anew).
    Updated {
        /// What the cache held.
        old: Object,
        /// What it holds now.
        new: Object,
    },
    /// Gone from the cache. After a gap the last known state, which may be old.
    Deleted(Object),
}

impl Change {
    /// The object as it is now, or was last.
    pub fn latest(&self) -> &Object {
        match self {
            Change::Added(object) | Change::Deleted(object) | Change::Updated { new: object, .. } => object,
        }
    }

    /// The object's kind.
    pub fn kind(&self) -> Kind {
        self.latest().kind()
    }

    /// The object's key.
    pub fn key(&self) -> Key {
        Key::of(self.latest())
    }
}

/// What an informer watches.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Which kind.
    pub kind: Kind,
    /// Empty: all namespaces.
    pub namespace: String,
    /// `spec.nodeName=node-1`; empty: all.
    pub field_selector: String,
    /// `app=web,!hidden`; empty: all.
    pub label_selector: String,
}

impl Selection {
    /// All objects of a kind.
    pub fn all(kind: Kind) -> Selection {
        Selection { kind, namespace: String::new(), field_selector: String::new(), label_selector: String::new() }
    }

    /// Those that the field selector chooses.
    pub fn fields(kind: Kind, field_selector: impl Into<String>) -> Selection {
        Selection { field_selector: field_selector.into(), ..Selection::all(kind) }
    }

    /// Those that the label selector chooses.
    pub fn labels(kind: Kind, label_selector: impl Into<String>) -> Selection {
        Selection { label_selector: label_selector.into(), ..Selection::all(kind) }
    }
}

/// Where the reflector stands.
#[derive(Clone, Debug)]
enum Reflector {
    /// Not started, or waiting before the next attempt.
    Idle,
    /// The state so far is arriving.
    Initial(WatchId, BTreeMap<Key, Object>),
    /// Live.
    Watching(WatchId),
}

/// What is kept up to date beside a cache, such as counts of its objects. It is told an object's key, and the object as the
/// cache has it from now on; None: gone.
pub type Follower = Rc<dyn Fn(&Key, Option<&Object>)>;

/// One informer of one process. Clones share it.
#[derive(Clone)]
pub struct Informer {
    hub: Hub,
    actor: ActorId,
    user: Rc<User>,
    selection: Selection,
    reflector: Memory<Reflector>,
    backoff: Memory<Backoff>,
    cache: Memory<Indexer>,
    reads: Memory<u64>,
    followers: Memory<Vec<Follower>>,
}

impl Informer {
    /// An informer of `actor`, watching as `user`. It does nothing until started.
    pub fn new(hub: Hub, actor: ActorId, user: Rc<User>, selection: Selection) -> Informer {
        let (reflector, cache) = (hub.memory(Reflector::Idle), hub.memory(Indexer::default()));
        let (backoff, reads) = (hub.memory(Backoff::new(hub.now())), hub.memory(0));
        let followers = hub.memory(Vec::new());
        Informer { hub, actor, user, selection, reflector, backoff, cache, reads, followers }
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.selection.kind
    }

    /// What it watches.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// A typed view of the cache.
    ///
    /// # Panics
    ///
    /// If it is of another kind.
    pub fn lister<T: Resource>(&self) -> Lister<T> {
        assert_eq!(T::kind(), self.selection.kind);
        Lister { cache: self.cache.clone(), reads: self.reads.clone(), marker: PhantomData }
    }

    /// The cache itself.
    pub fn cache(&self) -> &Memory<Indexer> {
        &self.cache
    }

    /// How many objects were listed from the cache so far: long lists take their time.
    pub fn reads(&self) -> &Memory<u64> {
        &self.reads
    }

    /// The cached objects of a namespace, in key order, of any type.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Object> {
        let cache = self.cache.borrow();
        let objects: Vec<Object> = cache.in_namespace(namespace).cloned().collect();
        *self.reads.borrow_mut() += objects.len() as u64;
        objects
    }

    /// Adds an index to the cache: each object is found under the values that `of` gives.
    pub fn add_index(&self, name: &'static str, of: fn(&Object) -> Vec<String>) {
        self.cache.borrow_mut().add_index(name, of);
    }

    /// Adds a follower, which hears of every change of the cache before any handler does.
    pub fn add_follower(&self, follower: Follower) {
        self.followers.borrow_mut().push(follower);
    }

    /// Whether the cache has been filled once.
    pub fn has_synced(&self) -> bool {
        self.cache.borrow().synced
    }

    /// Whether it has been started: what a process watches that waits to lead is still nothing.
    pub fn is_started(&self) -> bool {
        self.has_synced() || !matches!(&*self.reflector.borrow(), Reflector::Idle)
    }

    /// Whether this watch is the informer's own.
    pub fn owns(&self, watch: WatchId) -> bool {
        matches!(&*self.reflector.borrow(), Reflector::Initial(w, _) | Reflector::Watching(w) if *w == watch)
    }

    /// Opens the watch: the state so far first, not older than what was seen before, then every change.
    pub fn start(&self) {
        let seen = self.cache.borrow().revision;
        let options = Options {
            resource_version: if seen > 0 { seen.to_string() } else { String::new() },
            field_selector: self.selection.field_selector.clone(),
            label_selector: self.selection.label_selector.clone(),
            send_initial_events: Some(true),
            resource_version_match: "NotOlderThan".to_owned(),
            allow_watch_bookmarks: true,
            ..Options::default()
        };
        let Selection { kind, namespace, .. } = &self.selection;
        let request = Request::new(self.user.clone(), Verb::Watch, *kind, namespace, "", Body::None);
        let watch = self.hub.watch(self.actor, Request { options, ..request });
        self.reflector.set(Reflector::Initial(watch, BTreeMap::new()));
    }

    /// Closes the watch and empties the cache. Gives the deletions that the watch had not yet told of, if all that was
    /// cached is gone.
    pub fn stop(&self) -> Vec<Change> {
        if let Reflector::Initial(watch, _) | Reflector::Watching(watch) = self.reflector.get() {
            self.hub.close_watch(watch);
        }
        self.reflector.set(Reflector::Idle);
        let revision = self.cache.borrow().revision;
        self.replace(BTreeMap::new(), revision)
    }

    /// A wake to list again: opens the watch once more, if the wake is for this informer.
    pub fn relist(&self, key: &str) {
        let is_idle = matches!(&*self.reflector.borrow(), Reflector::Idle);
        if is_idle && *wake_key(self.selection.kind) == *key {
            self.start();
        }
    }

    /// Takes one watch event: changes the cache, and returns what handlers are to be told.
    pub fn on_event(&self, event: WatchEvent) -> Vec<Change> {
        let filling = matches!(&*self.reflector.borrow(), Reflector::Initial(..));
        match event {
            WatchEvent::Error(error) => {
                self.reflector.set(Reflector::Idle);
                // What is missing since a watch was lost is still to come. Only a server that is gone is asked again and
                // again: this is background traffic.
                let key = wake_key(self.selection.kind);
                let gone = filling && error.reason() != Reason::Expired;
                let wake = if gone { Hub::wake_background } else { Hub::wake };
                let wait = self.backoff.borrow_mut().step(self.hub.now());
                wake(&self.hub, self.actor, RELIST, key.as_ref(), wait);
                Vec::new()
            }
            WatchEvent::Bookmark { revision, initial_events_end: true, .. } if filling => self.filled(revision),
            event if filling => {
                self.collect(event);
                Vec::new()
            }
            WatchEvent::Bookmark { revision, .. } => {
                self.cache.borrow_mut().revision = revision;
                Vec::new()
            }
            WatchEvent::Added(object) | WatchEvent::Modified(object) => vec![self.put(object)],
            WatchEvent::Deleted(object) => vec![self.delete(object)],
        }
    }

    /// One object of the state so far.
    fn collect(&self, event: WatchEvent) {
        if let Reflector::Initial(_, state) = &mut *self.reflector.borrow_mut() {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    state.insert(Key::of(&object), object);
                }
                WatchEvent::Deleted(object) => {
                    state.remove(&Key::of(&object));
                }
                WatchEvent::Bookmark { .. } | WatchEvent::Error(_) => {}
            }
        }
    }

    /// The state so far is complete.
    fn filled(&self, revision: u64) -> Vec<Change> {
        let Reflector::Initial(watch, state) = self.reflector.get() else { return Vec::new() };
        self.reflector.set(Reflector::Watching(watch));
        self.replace(state, revision)
    }

    /// The whole cache is exchanged at once; then deletions are told first, in key order, and the rest after.
    fn replace(&self, state: BTreeMap<Key, Object>, revision: u64) -> Vec<Change> {
        let vanished: Vec<Object> = {
            let cache = self.cache.borrow();
            cache.objects.iter().filter(|(key, _)| !state.contains_key(*key)).map(|(_, o)| o.clone()).collect()
        };
        let mut changes: Vec<Change> = Vec::new();
        for object in vanished {
            self.cache.borrow_mut().remove(&Key::of(&object));
            changes.push(self.noted(Change::Deleted(object)));
        }
        for object in state.into_values() {
            changes.push(self.put(object));
        }
        let mut cache = self.cache.borrow_mut();
        cache.synced = true;
        cache.revision = cache.revision.max(revision);
        changes
    }

    fn put(&self, object: Object) -> Change {
        let old = self.cache.borrow_mut().insert(object.clone());
        self.noted(match old {
            Some(old) => Change::Updated { old, new: object },
            None => Change::Added(object),
        })
    }

    fn delete(&self, object: Object) -> Change {
        let mut cache = self.cache.borrow_mut();
        cache.remove(&Key::of(&object));
        cache.revision = cache.revision.max(object.revision());
        self.noted(Change::Deleted(object))
    }

    /// Tells the followers, and the trace.
    fn noted(&self, change: Change) -> Change {
        let now = (!matches!(change, Change::Deleted(_))).then(|| change.latest());
        for follower in self.followers.borrow().iter() {
            follower(&change.key(), now);
        }
        self.hub.note(|| {
            let (old, new) = match &change {
                Change::Added(new) => (None, Some(new.clone())),
                Change::Updated { old, new } => (Some(old.clone()), Some(new.clone())),
                Change::Deleted(old) => (Some(old.clone()), None),
            };
            Note::Cache { actor: self.actor, kind: self.selection.kind, key: change.key(), old, new }
        });
        change
    }
}

/// A cache with indexes. Mirrors `cache.ThreadSafeStore`.
#[derive(Clone, Debug, Default)]
pub struct Indexer {
    objects: BTreeMap<Key, Object>,
    indexes: Vec<Index>,
    revision: u64,
    synced: bool,
}

#[derive(Clone, Debug)]
struct Index {
    name: &'static str,
    of: fn(&Object) -> Vec<String>,
    /// The objects under each value, held here too: a list by index then looks nothing up.
    objects: BTreeMap<String, BTreeMap<Key, Object>>,
}

impl Indexer {
    /// All cached objects, in key order.
    pub fn objects(&self) -> &BTreeMap<Key, Object> {
        &self.objects
    }

    /// The newest revision that the cache has heard of.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    fn in_namespace<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Object> {
        let from = self.objects.range(Key::new(namespace, "")..);
        from.take_while(move |(key, _)| key.namespace() == namespace).map(|(_, object)| object)
    }

    fn add_index(&mut self, name: &'static str, of: fn(&Object) -> Vec<String>) {
        if self.indexes.iter().any(|index| index.name == name) {
            return;
        }
        let mut index = Index { name, of, objects: BTreeMap::new() };
        for (key, object) in &self.objects {
            for value in of(object) {
                index.objects.entry(value).or_default().insert(key.clone(), object.clone());
            }
        }
        self.indexes.push(index);
    }

    fn insert(&mut self, object: Object) -> Option<Object> {
        let key = Key::of(&object);
        self.revision = self.revision.max(object.revision());
        let old = self.objects.insert(key.clone(), object.clone());
        for index in &mut self.indexes {
            let (before, after) = (old.as_ref().map(index.of).unwrap_or_default(), (index.of)(&object));
            for value in before.iter().filter(|value| !after.contains(value)) {
                index.forget(value, &key);
            }
            for value in after {
                index.objects.entry(value).or_default().insert(key.clone(), object.clone());
            }
        }
        old
    }

    fn remove(&mut self, key: &Key) -> Option<Object> {
        let old = self.objects.remove(key)?;
        for index in &mut self.indexes {
            for value in (index.of)(&old) {
                index.forget(&value, key);
            }
        }
        Some(old)
    }
}

impl Index {
    fn forget(&mut self, value: &str, key: &Key) {
        if let Some(objects) = self.objects.get_mut(value) {
            objects.remove(key);
            if objects.is_empty() {
                self.objects.remove(value);
            }
        }
    }
}

/// Reads a cache of typed objects. What it returns may be older than what the API server holds.
pub struct Lister<T> {
    cache: Memory<Indexer>,
    reads: Memory<u64>,
    marker: PhantomData<fn() -> T>,
}

impl<T> Clone for Lister<T> {
    fn clone(&self) -> Self {
        Lister { cache: self.cache.clone(), reads: self.reads.clone(), marker: PhantomData }
    }
}

impl<T: Resource> Lister<T> {
    fn counted(&self, list: Vec<Arc<T>>) -> Vec<Arc<T>> {
        *self.reads.borrow_mut() += list.len() as u64;
        list
    }

    /// The cached object, if there is one.
    pub fn get(&self, key: &Key) -> Option<Arc<T>> {
        self.cache.borrow().objects.get(key).and_then(T::from_object).cloned()
    }

    /// All cached objects, in key order.
    pub fn list(&self) -> Vec<Arc<T>> {
        let cache = self.cache.borrow();
        self.counted(cache.objects.values().filter_map(T::from_object).cloned().collect())
    }

    /// The cached objects of a namespace, in key order.
    pub fn list_namespace(&self, namespace: &str) -> Vec<Arc<T>> {
        let cache = self.cache.borrow();
        self.counted(cache.in_namespace(namespace).filter_map(T::from_object).cloned().collect())
    }

    /// The cached objects with this value in this index, in key order.
    ///
    /// # Panics
    ///
    /// If the index was not added to the cache.
    pub fn by_index(&self, index: &'static str, value: &str) -> Vec<Arc<T>> {
        let cache = self.cache.borrow();
        let Some(index) = cache.indexes.iter().find(|i| i.name == index) else {
            panic!("no index {index} was added to the cache");
        };
        let objects = index.objects.get(value);
        let found = objects.into_iter().flatten().filter_map(|(_, object)| T::from_object(object)).cloned();
        let mut list = Vec::with_capacity(objects.map_or(0, BTreeMap::len));
        list.extend(found);
        self.counted(list)
    }

    /// How many cached objects have this value in this index. Nothing is listed, and nothing counted as read.
    pub fn count_by_index(&self, index: &'static str, value: &str) -> usize {
        let cache = self.cache.borrow();
        let index = cache.indexes.iter().find(|i| i.name == index);
        index.and_then(|index| index.objects.get(value)).map_or(0, BTreeMap::len)
    }

    /// The newest revision that the cache has heard of.
    pub fn revision(&self) -> u64 {
        self.cache.borrow().revision
    }

    /// Whether the cache has been filled once.
    pub fn has_synced(&self) -> bool {
        self.cache.borrow().synced
    }
}
