//! A delta queue that forgets a deletion (#115658, found by the Cilium project; mended by pull request #115620).
//!
//! client-go's informer has two stages. What the watch says goes into a queue, and is taken from there to the cache and
//! to the handlers, one by one; slow handlers make the queue long. When the watch has broken, the informer lists anew,
//! and each object that the cache has and the list has not gets a deletion into the queue. But an object that was created and
//! deleted shortly before may be neither in the cache nor in the list: its creation is still in the queue. No deletion is
//! queued for it, its creation is taken at last, and it stays in the cache for ever.
//!
//! Right: to look for what has vanished in the queue as well as in the cache.
//!
//! The informer here belongs to a process that publishes the names in its cache, so that they can be seen.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use client::Client;
use cluster::{Account, Parts, Program};
use engine::{Actor, ActorId, Delivery, Hub, Memory};
use object::Kind;
use wire::{Body, Options, Patch, Request, User, Verb, WatchEvent, WatchId};

use super::{FEW, RECORDS};

const NAME: &str = "roster";
/// Wake: the watch is opened again.
const RELIST: &str = "relist";
/// Wake: the next change is taken from the queue.
const POP: &str = "pop";
/// How long a handler takes for one change.
const SLOW: Duration = Duration::from_secs(3);
const BACKOFF: Duration = Duration::from_millis(800);

/// The process, wrong or right.
pub fn parts(right: bool) -> Parts {
    const PROGRAMS: [&[Program]; 2] = [
        &[Program { name: NAME, new: &|hub, id| Rc::new(Roster::new(hub, id, false)) }],
        &[Program { name: NAME, new: &|hub, id| Rc::new(Roster::new(hub, id, true)) }],
    ];
    let accounts = &[Account { name: NAME, rules: RECORDS }];
    Parts { controllers: &FEW, programs: PROGRAMS[usize::from(right)], accounts, ..Parts::default() }
}

/// What the informer holds.
#[derive(Clone, Default)]
struct State {
    watch: Option<WatchId>,
    /// The list that is arriving.
    arriving: Option<BTreeSet<String>>,
    /// What is still to be done: a name, and whether it is there.
    queue: VecDeque<(String, bool)>,
    cache: BTreeSet<String>,
    popping: bool,
}

/// Publishes the names of all ConfigMaps with the label `kind=member` in the ConfigMap `roster`.
struct Roster {
    hub: Hub,
    actor: ActorId,
    client: Client,
    looks_into_queue: bool,
    state: Memory<State>,
}

impl Roster {
    fn new(hub: Hub, actor: ActorId, looks_into_queue: bool) -> Roster {
        let client = Client::new(hub.clone(), actor, Rc::new(User::operator(NAME, NAME)), 50, 100);
        let state = hub.memory(State::default());
        Roster { hub, actor, client, looks_into_queue, state }
    }

    fn list(&self) {
        let options = Options {
            label_selector: "kind=member".to_owned(),
            send_initial_events: Some(true),
            resource_version_match: "NotOlderThan".to_owned(),
            allow_watch_bookmarks: true,
            ..Options::default()
        };
        let user = self.client.user().clone();
        let request = Request::new(user, Verb::Watch, Kind::ConfigMap, "default", "", Body::None);
        let watch = self.hub.watch(self.actor, Request { options, ..request });
        let mut state = self.state.borrow_mut();
        state.watch = Some(watch);
        state.arriving = Some(BTreeSet::new());
    }

    fn heard(&self, event: WatchEvent) {
        let state = &mut *self.state.borrow_mut();
        let name = event.object().map(|object| object.name().to_owned()).unwrap_or_default();
        match (event, &mut state.arriving) {
            (WatchEvent::Error(_), _) => {
                state.watch = None;
                self.hub.wake(self.actor, RELIST, "", BACKOFF);
            }
            (WatchEvent::Bookmark { initial_events_end: true, .. }, Some(list)) => {
                let list = std::mem::take(list);
                state.arriving = None;
                self.replace(state, list);
            }
            (WatchEvent::Bookmark { .. }, _) => {}
            (WatchEvent::Deleted(_), Some(list)) => {
                list.remove(&name);
            }
            (_, Some(list)) => {
                list.insert(name);
            }
            (event, None) => state.queue.push_back((name, !matches!(event, WatchEvent::Deleted(_)))),
        }
        self.arm(state);
    }

    /// The list is complete: what is not in it is gone.
    fn replace(&self, state: &mut State, list: BTreeSet<String>) {
        let mut known: BTreeMap<String, bool> = state.cache.iter().map(|name| (name.clone(), true)).collect();
        if self.looks_into_queue {
            known.extend(state.queue.iter().cloned());
        }
        let gone = known.into_iter().filter(|(name, there)| *there && !list.contains(name));
        state.queue.extend(gone.map(|(name, _)| (name, false)));
        state.queue.extend(list.into_iter().map(|name| (name, true)));
    }

    fn arm(&self, state: &mut State) {
        if !state.popping && !state.queue.is_empty() {
            state.popping = true;
            self.hub.wake(self.actor, POP, "", SLOW);
        }
    }

    /// Takes one change from the queue into the cache, and publishes.
    fn pop(&self) {
        let state = &mut *self.state.borrow_mut();
        state.popping = false;
        let Some((name, there)) = state.queue.pop_front() else { return };
        let changed = if there { state.cache.insert(name) } else { state.cache.remove(&name) };
        if changed {
            let names: Vec<&str> = state.cache.iter().map(String::as_str).collect();
            let patch = Patch::Merge(json!({"data": {"members": names.join(",")}}));
            let client = self.client.clone();
            self.hub.spawn(self.actor, "publish", async move {
                // Left out: to try again. The next change publishes everything anew.
                let _published = client.patch::<ConfigMap>("default", NAME, patch).await;
            });
        }
        self.arm(state);
    }
}

impl Actor for Roster {
    fn name(&self) -> &str {
        NAME
    }

    fn start(&self) {
        self.list();
    }

    fn deliver(&self, delivery: Delivery) {
        let current = self.state.borrow().watch;
        match delivery {
            Delivery::Notification { watch, event } if current == Some(watch) => self.heard(event),
            Delivery::Wake { what: RELIST, .. } => self.list(),
            Delivery::Wake { what: POP, .. } => self.pop(),
            _ => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
