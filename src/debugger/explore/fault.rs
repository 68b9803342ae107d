//! What the explorer may break, and at which moments it matters.
//!
//! A fault is tried right before an event that it changes. Earlier would be the same, since nothing in between depends
//! on it: to hold a watch matters when it is about to say something, to lose a request when it is about to arrive, to
//! crash a process when it has sent something since it was last crashed here and is about to get something.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use apiserver::host::Engine;
use apiserver::host::control::{Stale, watched_by};
use apiserver::host::failing::{Failing, Failure};
use cluster::Cluster;
use cluster::fault::Fault as Breaks;
use cluster::fault::delivery::{Disconnect, Drop};
use cluster::fault::processes::Process;
use engine::control::Hold;
use engine::{Note, Pending, ReplyTo, Step, What};
use object::Kind;
use object::glob::matches;
use wire::{Request, Verb, WatchEvent};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A watch of one component is held back until all else is done.
    Hold,
    /// A DELETED event of a watch gets lost.
    Drop,
    /// A watch breaks; what was under way in it is lost, and its informer lists anew.
    Disconnect,
    /// A process crashes and starts anew.
    Crash,
    /// An informer's list shows the past, and the rest comes when all else is done. Only without WatchList.
    Stale,
    /// A process crashes, and when it starts anew one of its lists shows the past: another API server answers it, whose
    /// cache lags behind. Only without WatchList.
    Rewind,
    /// A request fails.
    Fail(Failing),
}

impl FaultKind {
    /// All that can be asked for, as they are typed.
    pub fn all() -> Vec<(&'static str, FaultKind)> {
        use FaultKind::{Crash, Disconnect, Drop, Fail, Hold, Rewind, Stale};
        let named = [
            ("hold", Hold),
            ("drop", Drop),
            ("disconnect", Disconnect),
            ("crash", Crash),
            ("stale", Stale),
            ("rewind", Rewind),
        ];
        let failing = Failing::ALL.into_iter().map(|(name, how)| (name, Fail(how)));
        named.into_iter().chain(failing).collect()
    }

    /// The kind of that name, as `--kinds` has it: `crash`.
    ///
    /// # Errors
    /// There is none; which there are.
    pub fn parse(word: &str) -> Result<FaultKind, String> {
        let all = FaultKind::all();
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        let found = all.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind);
        found.ok_or_else(|| format!("{word:?} is no fault to try; there are {}", names.join(", ")))
    }
}

/// Where faults may be tried: a component, and perhaps a kind of its watches and requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Where {
    component: String,
    kind: Option<Kind>,
}

impl Where {
    /// Reads `kube-scheduler`, `kubelet/*` or `kube-scheduler nodes`.
    pub fn parse(text: &str) -> Result<Where, String> {
        let mut words = text.split_whitespace();
        let component = words.next().ok_or("say whose: a component, as kube-scheduler or kubelet/*")?.to_owned();
        let kind = words.next().map(|word| Kind::from_word(word).ok_or_else(|| format!("there is no kind {word:?}")));
        Ok(Where { component, kind: kind.transpose()? })
    }

    /// The component, as it was written.
    pub fn component(&self) -> &str {
        &self.component
    }

    /// Whether it is a place of a component, and of the kind if one is meant.
    pub fn allows(&self, component: &str, kind: Option<Kind>) -> bool {
        matches(&self.component, component) && (self.kind.is_none() || kind.is_none() || self.kind == kind)
    }
}

/// One fault, as it is tried.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fault {
    /// Component and plural of the kind.
    Hold(String, String),
    /// The event that is due.
    Drop,
    /// Component and plural.
    Disconnect(String, String),
    /// The process.
    Crash(String),
    /// Component, plural and revision.
    Stale(String, String, u64),
    /// The process, plural and revision.
    Rewind(String, String, u64),
    /// How the request that is due fails.
    Fail(String),
}

/// What was seen of a run, as far as it matters to where faults are worth trying.
#[derive(Clone, Debug, Default)]
pub struct Watcher {
    /// Whether a process has sent anything since a crash of it was last worth trying.
    has_sent: BTreeMap<String, bool>,
    /// The revisions that changed a kind, the first before all.
    revisions: BTreeMap<Kind, Vec<u64>>,
    first: u64,
}

/// So many old states of a kind are tried at most, the newest of them.
const PASTS: usize = 12;

impl Watcher {
    /// A run that begins here.
    pub fn new(engine: &Engine) -> Watcher {
        Watcher { first: engine.server.api.store.revision(), ..Watcher::default() }
    }

    /// Notes who has sent something by this step.
    pub fn saw(&mut self, engine: &Engine, step: &Step) {
        if !engine.server.is_server(step.event.to) && !step.sent.is_empty() && !step.event.background {
            self.has_sent.insert(engine.name(step.event.to).to_owned(), true);
        }
        for note in &step.notes {
            if let Note::Stored { revision, old, new, .. } = note
                && let Some(object) = new.as_ref().or(old.as_ref())
            {
                let first = self.first;
                self.revisions.entry(object.kind()).or_insert_with(|| vec![first]).push(*revision);
            }
        }
    }

    /// The faults that are worth trying before `event` is delivered.
    pub fn faults(&mut self, cluster: &Cluster, kinds: &[FaultKind], places: &[Where], event: &Pending) -> Vec<Fault> {
        if kinds.is_empty() || event.background {
            return Vec::new();
        }
        let mut faults = Vec::new();
        let engine = &cluster.engine;
        let allows = |name: &str, kind| places.is_empty() || places.iter().any(|place| place.allows(name, kind));
        let to = engine.name(event.to);
        match &event.what {
            What::Notification { event: said, .. } if !engine.server.is_server(event.to) => {
                if let Some(kind) = said.kind().filter(|kind| allows(to, Some(*kind))) {
                    faults.extend(kinds.iter().filter_map(|fault| of_watch(*fault, to, kind, said)));
                }
            }
            What::Request { request, reply } if engine.server.is_server(event.to) => {
                let from = engine.name(event.from);
                let ours = allows(&request.user.agent, Some(request.kind)) || allows(from, Some(request.kind));
                if ours && from != "user/kubectl" {
                    match reply {
                        ReplyTo::Call(_) => faults.extend(kinds.iter().filter_map(|fault| of_call(*fault, request))),
                        ReplyTo::Watch(_) if kinds.contains(&FaultKind::Stale) && !engine.server.api.watch_list => {
                            let pasts = self.pasts(request.kind).into_iter();
                            let plural = request.kind.info().plural;
                            faults.extend(pasts.map(|past| Fault::Stale(from.to_owned(), plural.to_owned(), past)));
                        }
                        ReplyTo::Watch(_) => {}
                    }
                }
            }
            _ => {}
        }
        let crashes = [FaultKind::Crash, FaultKind::Rewind].iter().any(|kind| kinds.contains(kind));
        if crashes
            && !engine.server.is_server(event.to)
            && allows(to, None)
            && cluster.can_crash(to)
            && self.has_sent.insert(to.to_owned(), false).unwrap_or(true)
        {
            if kinds.contains(&FaultKind::Crash) {
                faults.push(Fault::Crash(to.to_owned()));
            }
            if kinds.contains(&FaultKind::Rewind) && !engine.server.api.watch_list {
                let watched = watched_by(engine, event.to).into_iter().filter(|kind| allows(to, Some(*kind)));
                for kind in watched {
                    let rewind = |past| Fault::Rewind(to.to_owned(), kind.info().plural.to_owned(), past);
                    faults.extend(self.pasts(kind).into_iter().map(rewind));
                }
            }
        }
        faults
    }

    /// The revisions at which the objects of a kind were other than they are now, newest first.
    fn pasts(&self, kind: Kind) -> Vec<u64> {
        let pasts = self.revisions.get(&kind).and_then(|all| Some(all.split_last()?.1));
        pasts.unwrap_or_default().iter().rev().take(PASTS).copied().collect()
    }
}

fn of_watch(fault: FaultKind, component: &str, kind: Kind, said: &WatchEvent) -> Option<Fault> {
    let (component, plural) = (component.to_owned(), kind.info().plural.to_owned());
    match fault {
        FaultKind::Hold => Some(Fault::Hold(component, plural)),
        FaultKind::Disconnect => Some(Fault::Disconnect(component, plural)),
        FaultKind::Drop => matches!(said, WatchEvent::Deleted(_)).then_some(Fault::Drop),
        _ => None,
    }
}

fn of_call(fault: FaultKind, request: &Request) -> Option<Fault> {
    let FaultKind::Fail(how) = fault else { return None };
    let fits = match how {
        Failing::Conflict => matches!(request.verb, Verb::Update | Verb::Patch),
        Failing::LostAfter => request.verb.writes(),
        _ => true,
    };
    fits.then(|| Fault::Fail(how.name().to_owned()))
}

impl Fault {
    /// What is to be done before `event` is delivered, one after another; nothing if it makes no difference.
    pub fn breaks(&self, cluster: &Cluster, event: &Pending) -> Vec<Breaks> {
        let stale = |name: &String, plural, revision| {
            let (component, kind) = (name.clone(), Kind::from_word(plural)?);
            Some(Breaks::of(Stale { component, kind, revision }))
        };
        let first = match self {
            Fault::Hold(component, plural) => {
                let hold = Kind::from_word(plural).map(|kind| Hold::Watch(component.clone(), kind));
                hold.filter(|hold| !cluster.engine.controls().holds.contains(hold)).map(Breaks::of)
            }
            Fault::Drop => Some(Breaks::of(Drop(event.id))),
            Fault::Disconnect(component, plural) => {
                Kind::from_word(plural).map(|kind| Breaks::of(Disconnect(component.clone(), kind)))
            }
            Fault::Crash(name) | Fault::Rewind(name, ..) => Some(Breaks::of(Process::crash(name))),
            Fault::Stale(name, plural, revision) => stale(name, plural, *revision),
            Fault::Fail(how) => failure(how, event).map(Breaks::of),
        };
        let second = match self {
            Fault::Rewind(name, plural, revision) => stale(name, plural, *revision),
            _ => None,
        };
        first.into_iter().chain(second).collect()
    }

    /// The component that it concerns.
    pub fn component<'a>(&'a self, engine: &'a Engine, event: &'a Pending) -> &'a str {
        match self {
            Fault::Hold(name, _) | Fault::Disconnect(name, _) | Fault::Crash(name) => name,
            Fault::Stale(name, ..) | Fault::Rewind(name, ..) => name,
            Fault::Drop => engine.name(event.to),
            Fault::Fail(_) => engine.name(event.from),
        }
    }
}

/// The failure of the request that is due.
fn failure(how: &str, event: &Pending) -> Option<Failure> {
    let (Ok(FaultKind::Fail(how)), What::Request { request, .. }) = (FaultKind::parse(how), &event.what) else {
        return None;
    };
    let (component, verb) = (request.user.agent.to_string(), request.verb.as_str().to_owned());
    Some(Failure { component, verb, kind: Some(request.kind), how, times: 1 })
}
