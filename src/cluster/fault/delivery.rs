//! What is sent gets lost, late or refused: holds, broken watches, calls that fail, an etcd that forgets.

use std::fmt;

use apiserver::host::control::{Stale, compact, disconnect, watched_by};
use apiserver::host::failing::{Failing, Failure};
use engine::control::Hold;
use engine::{APISERVER, ActorId, EventId};
use object::Kind;
use object::glob::matches;

use super::super::Cluster;
use super::text::{event_id, kind_of};
use super::{Breaks, Fault, Row};

pub(super) const DROP: Row = Row {
    names: &[("drop", "drop EVENT, as in: drop e45")],
    read: |words| match words.rest {
        [event] => Ok(Fault::of(Drop(event_id(event)?))),
        _ => words.wrong(),
    },
};

/// `drop e45`: a message gets lost.
#[derive(Clone, Debug)]
pub struct Drop(pub EventId);

impl Breaks for Drop {
    fn name(&self) -> &'static str {
        "drop"
    }

    fn words(&self) -> String {
        self.0.to_string()
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        cluster.engine.drop_event(self.0)
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.engine.in_flight(self.0).map(|event| event.to)
    }
}

pub(super) const HOLD: Row = Row {
    names: &[("hold", "hold COMPONENT, hold COMPONENT KIND for one watch, or hold link A B; hold kube-scheduler pods")],
    read: |words| hold(words.rest)?.map(Fault::of).map_or_else(|| words.wrong(), Ok),
};

pub(super) const RELEASE: Row = Row {
    names: &[("release", "release with the words of hold, or release alone for everything")],
    read: |words| match words.rest {
        [] => Ok(Fault::of(Release(None))),
        rest => hold(rest)?.map(|hold| Fault::of(Release(Some(hold)))).map_or_else(|| words.wrong(), Ok),
    },
};

pub(super) const CUT: Row = Row {
    names: &[("cut", "cut NODE, as in: cut node-1"), ("mend", "mend NODE, as in: mend node-1")],
    read: |words| match (words.name, words.rest) {
        ("cut", [node]) => Ok(Fault::of(link_of(node))),
        ("mend", [node]) => Ok(Fault::of(Release(Some(link_of(node))))),
        _ => words.wrong(),
    },
};

fn hold(words: &[&str]) -> Result<Option<Hold>, String> {
    match words {
        ["link", a, b] => Ok(Some(Hold::Link((*a).to_owned(), (*b).to_owned()))),
        [component] if *component != "link" => Ok(Some(Hold::Component((*component).to_owned()))),
        [component, kind] if *component != "link" => Ok(Some(Hold::Watch((*component).to_owned(), kind_of(kind)?))),
        _ => Ok(None),
    }
}

/// A node that is cut off reaches nothing; what is on it goes on.
fn link_of(node: &str) -> Hold {
    Hold::Link(format!("*/{node}"), "kube-apiserver".to_owned())
}

/// The node that a hold cuts off, if it does.
fn cut_off(hold: &Hold) -> Option<&str> {
    match hold {
        Hold::Link(a, b) if b == "kube-apiserver" => a.strip_prefix("*/").filter(|node| !node.contains('*')),
        _ => None,
    }
}

/// A hold as it is typed.
struct Shown<'a>(&'a Hold);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Hold::Component(component) => f.write_str(component),
            Hold::Link(a, b) => write!(f, "link {a} {b}"),
            Hold::Watch(component, kind) => write!(f, "{component} {}", kind.info().plural),
        }
    }
}

/// `hold kube-scheduler`, `hold kube-scheduler pods`, `hold link kubelet/node-1 kube-apiserver`; `cut node-1`.
impl Breaks for Hold {
    fn name(&self) -> &'static str {
        if cut_off(self).is_some() { "cut" } else { "hold" }
    }

    fn words(&self) -> String {
        cut_off(self).map_or_else(|| Shown(self).to_string(), str::to_owned)
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let cut_off = cut_off(self);
        cut_off.map_or_else(|| cluster.check_hold(self), |node| cluster.check_node(node))?;
        let held = cluster.engine.hold(self.clone());
        let waits = format!("{} in flight {}", events(held), if held == 1 { "waits" } else { "wait" });
        Ok(match cut_off {
            Some(node) => format!("{node} is cut off: it and kube-apiserver hear nothing of each other; {waits}"),
            None => format!("held: {}; {waits}", Shown(self)),
        })
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        let (Hold::Component(name) | Hold::Watch(name, _) | Hold::Link(name, _)) = self;
        cluster.process_of(name)
    }

    fn in_full(&self, cluster: &Cluster) -> Option<Fault> {
        Some(Fault::of(hold_in_full(self, cluster)))
    }
}

fn hold_in_full(hold: &Hold, cluster: &Cluster) -> Hold {
    match hold {
        Hold::Link(a, b) => Hold::Link(cluster.full_name(a), cluster.full_name(b)),
        Hold::Component(name) => Hold::Component(cluster.full_name(name)),
        Hold::Watch(name, kind) => Hold::Watch(cluster.full_name(name), *kind),
    }
}

/// `release …`, the words of `hold`; without any: everything. `mend node-1`.
#[derive(Clone, Debug)]
pub struct Release(pub Option<Hold>);

impl Breaks for Release {
    fn name(&self) -> &'static str {
        if self.0.as_ref().and_then(cut_off).is_some() { "mend" } else { "release" }
    }

    fn words(&self) -> String {
        self.0.as_ref().map_or(String::new(), Breaks::words)
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let Some(hold) = &self.0 else { return Ok(cluster.release_all()) };
        match (cluster.engine.release(hold), cut_off(hold)) {
            (Some(free), Some(node)) => Ok(format!("{node} is no longer cut off; {} on the way", events(free))),
            (Some(free), None) => Ok(format!("released: {}; {} on the way", Shown(hold), events(free))),
            (None, Some(node)) => cluster.check_node(node).and_then(|()| Err(format!("{node} is not cut off"))),
            (None, None) => Err(format!("{} is not held; {}", Shown(hold), cluster.what_is_held())),
        }
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        self.0.as_ref().or_else(|| cluster.engine.controls().holds.first())?.concerned(cluster)
    }

    fn in_full(&self, cluster: &Cluster) -> Option<Fault> {
        Some(Fault::of(Release(Some(hold_in_full(self.0.as_ref()?, cluster)))))
    }
}

pub(super) const DISCONNECT: Row = Row {
    names: &[("disconnect", "disconnect COMPONENT KIND, as in: disconnect kube-scheduler nodes")],
    read: |words| match words.rest {
        [component, kind] => Ok(Fault::of(Disconnect((*component).to_owned(), kind_of(kind)?))),
        _ => words.wrong(),
    },
};

/// `disconnect kube-scheduler nodes`: its watch breaks; it tries again and lists anew.
#[derive(Clone, Debug)]
pub struct Disconnect(pub String, pub Kind);

impl Breaks for Disconnect {
    fn name(&self) -> &'static str {
        "disconnect"
    }

    fn words(&self) -> String {
        format!("{} {}", self.0, self.1.info().plural)
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let Disconnect(name, kind) = self;
        cluster.check_component(name)?;
        let plural = kind.info().plural;
        match disconnect(&mut cluster.engine, name, *kind) {
            0 => Err(format!("{name} watches no {plural}; who OBJECT shows who does")),
            1 => Ok("1 watch has broken; what was under way is lost, and the informer lists again".to_owned()),
            n => Ok(format!("{n} watches have broken; what was under way is lost, and the informers list again")),
        }
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.process_of(&self.0)
    }

    fn in_full(&self, cluster: &Cluster) -> Option<Fault> {
        Some(Fault::of(Disconnect(cluster.full_name(&self.0), self.1)))
    }
}

pub(super) const STALE: Row = Row {
    names: &[("stale", "stale COMPONENT KIND REVISION, as in: stale kubelet/node-1 pods 57")],
    read: |words| match words.rest {
        [component, kind, revision] => {
            let wrong = || format!("{revision:?} is no revision; {}", words.usage());
            let revision = revision.parse().map_err(|_| wrong())?;
            Ok(Fault::of(Stale { component: (*component).to_owned(), kind: kind_of(kind)?, revision }))
        }
        _ => words.wrong(),
    },
};

/// `stale kubelet/node-1 pods 57`: the next list shows the past.
impl Breaks for Stale {
    fn name(&self) -> &'static str {
        "stale"
    }

    fn words(&self) -> String {
        format!("{} {} {}", self.component, self.kind.info().plural, self.revision)
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        cluster.check_component(&self.component)?;
        cluster.engine.server.make_stale(self.clone())?;
        let (whose, plural) = (&self.component, self.kind.info().plural);
        Ok(format!("the next list of {plural} that {whose} gets is of revision {}", self.revision))
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.process_of(&self.component)
    }

    fn in_full(&self, cluster: &Cluster) -> Option<Fault> {
        Some(Fault::of(Stale { component: cluster.full_name(&self.component), ..self.clone() }))
    }
}

pub(super) const FAIL: Row = Row {
    names: &[(
        "fail",
        "fail COMPONENT [VERB] [KIND] with 409|429|500|503|lost|lost-after [times N], \
         as in: fail kube-scheduler with 500",
    )],
    read: |words| fail(words.rest).map(Fault::of).map_err(|error| format!("{error}; {}", words.usage())),
};

const VERBS: &[&str] = &["get", "list", "create", "update", "patch", "delete", "deletecollection"];

fn fail(words: &[&str]) -> Result<Failure, String> {
    let at = words.iter().position(|word| *word == "with").ok_or("it is not said how")?;
    let (what, how) = (&words[..at], &words[at + 1..]);
    let Some((component, what)) = what.split_first() else { return Err("it is not said whose call".to_owned()) };
    let (how, times) = match how {
        [how] => (how, 1),
        [how, "times", times] => match times.parse() {
            Ok(times) if times > 0 => (how, times),
            _ => return Err(format!("{times:?} is not how often")),
        },
        _ => return Err("after with stands how, once".to_owned()),
    };
    let (_, how) = Failing::ALL.iter().find(|(name, _)| name == how).ok_or_else(|| format!("{how:?} is no failure"))?;
    let mut failure = Failure { component: (*component).to_owned(), verb: String::new(), kind: None, how: *how, times };
    for word in what {
        match Kind::from_word(word) {
            Some(kind) => failure.kind = Some(kind),
            None if VERBS.contains(word) => failure.verb = (*word).to_owned(),
            None => return Err(format!("{word:?} is no verb and no kind")),
        }
    }
    Ok(failure)
}

/// `fail replicaset-controller create pods with 500 times 2`.
impl Breaks for Failure {
    fn name(&self) -> &'static str {
        "fail"
    }

    fn words(&self) -> String {
        let kind = self.kind.map(|kind| kind.info().plural);
        let verb = Some(&*self.verb).filter(|verb| !verb.is_empty());
        let what: Vec<&str> = [Some(&*self.component), verb, kind].into_iter().flatten().collect();
        format!("{} with {} times {}", what.join(" "), self.how.name(), self.times)
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        cluster.check_component(&self.component)?;
        cluster.engine.server.fail(self.clone());
        let calls = if self.times == 1 { "call".to_owned() } else { format!("{} calls", self.times) };
        let plural = self.kind.map_or("", |kind| kind.info().plural);
        let which = format!("{} {plural}", self.verb);
        let which = if which == " " { String::new() } else { format!(" ({})", which.trim()) };
        Ok(format!("the next {calls} of {}{which} will fail", self.component))
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.process_of(&self.component)
    }

    fn in_full(&self, cluster: &Cluster) -> Option<Fault> {
        Some(Fault::of(Failure { component: cluster.full_name(&self.component), ..self.clone() }))
    }
}

pub(super) const COMPACT: Row = Row {
    names: &[("compact", "compact, without more")],
    read: |words| if words.rest.is_empty() { Ok(Fault::of(Compact)) } else { words.wrong() },
};

/// `compact`: etcd forgets the past.
#[derive(Clone, Debug)]
pub struct Compact;

impl Breaks for Compact {
    fn name(&self) -> &'static str {
        "compact"
    }

    fn words(&self) -> String {
        String::new()
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let told = match compact(&mut cluster.engine) {
            0 => "no watch lags behind".to_owned(),
            1 => "1 watch lags behind and gets 410".to_owned(),
            n => format!("{n} watches lag behind and get 410"),
        };
        Ok(format!("etcd has forgotten all before revision {}; {told}", cluster.engine.server.api.store.compacted()))
    }

    fn concerned(&self, _cluster: &Cluster) -> Option<ActorId> {
        Some(APISERVER)
    }
}

impl Cluster {
    fn release_all(&mut self) -> String {
        let holds = self.engine.controls().holds.clone();
        let free: usize = holds.iter().filter_map(|hold| self.engine.release(hold)).sum();
        format!("nothing is held any more; {} on the way", events(free))
    }

    /// What is held, in words.
    pub fn what_is_held(&self) -> String {
        let shown = |hold: &Hold| match cut_off(hold) {
            Some(node) => format!("all between {node} and kube-apiserver (mend {node})"),
            None => Shown(hold).to_string(),
        };
        let holds: Vec<String> = self.engine.controls().holds.iter().map(shown).collect();
        if holds.is_empty() { "nothing is held".to_owned() } else { format!("held: {}", holds.join("; ")) }
    }

    fn check_hold(&self, hold: &Hold) -> Result<(), String> {
        match hold {
            Hold::Component(name) => self.check_component(name),
            Hold::Link(a, b) => self.check_component(a).and_then(|()| self.check_component(b)),
            Hold::Watch(glob, kind) => {
                self.check_component(glob)?;
                let watches = |id, name: &str| match self.informers(name) {
                    Some(informers) => informers.iter().any(|informer| informer.kind() == *kind),
                    None => watched_by(&self.engine, id).contains(kind),
                };
                let mut processes = self.engine.actors().map(|(id, actor)| (id, actor.name()));
                let follows_etcd = self.engine.server.has_several() && self.api_server(glob).is_some();
                match follows_etcd || processes.any(|(id, name)| matches(glob, name) && watches(id, name)) {
                    true => Ok(()),
                    false => Err(format!("{glob} watches no {}; who OBJECT shows who does", kind.info().plural)),
                }
            }
        }
    }
}

fn events(n: usize) -> String {
    if n == 1 { "1 event".to_owned() } else { format!("{n} events") }
}
