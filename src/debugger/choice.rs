//! What a session's user decides: which event comes next, what is held or lost, what breaks. A run is its scenario and
//! these choices.
//!
//! Each is a line of text, the same at the prompt, in a saved session and after a `do`. None is a step by itself, but
//! for `choose`, which delivers one.

use std::fmt;
use std::time::Duration;

use crate::cluster::{Action, NodeConfig, timeline};
use crate::engine::control::{Failing, Failure, Hold, Stale};
use crate::engine::{EventId, Step};
use crate::node::kubelet::node_status::Shortage;
use crate::object::{Key, Kind};

use super::Session;

/// One choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// `choose e45`: this event comes next.
    Deliver(EventId),
    /// `delay e45 2`: it comes so much later.
    Delay(EventId, Duration),
    /// `drop e45`: it gets lost.
    Drop(EventId),
    /// `hold kube-scheduler`, `hold kube-scheduler pods`, `hold link kubelet/node-1 kube-apiserver`.
    Hold(Hold),
    /// `release …`, the same words; without any: everything.
    Release(Option<Hold>),
    /// `disconnect kube-scheduler nodes`: its watch breaks; it tries again and lists anew.
    Disconnect(String, Kind),
    /// `stale kubelet/node-1 pods 57`: the next list shows the past.
    Stale(Stale),
    /// `wait 2.5`: nothing happens for so long. Choices before an event that is due later are made at that time.
    Wait(Duration),
    /// `seed 7`.
    Seed(u64),
    /// `fail replicaset-controller create pods with 500 times 2`.
    Fail(Failure),
    /// `stop kube-scheduler`.
    Stop(String),
    /// `start kube-scheduler`.
    Start(String),
    /// `crash kube-scheduler`: stop and start.
    Crash(String),
    /// `kill web-1 [container]`, `oom web-1 [container]`.
    Kill {
        /// The Pod.
        pod: Key,
        /// The container; empty: the first.
        container: String,
        /// By the kernel, for its memory.
        oom: bool,
    },
    /// `node start 4`, `node stop node-2`.
    Node {
        /// Whether it starts.
        start: bool,
        /// Its number.
        number: usize,
    },
    /// `node node-1 rm PATH`: an admin on a node changes something.
    OnNode {
        /// The node.
        node: String,
        /// What is typed there.
        command: Vec<String>,
    },
    /// `compact`: etcd forgets the past.
    Compact,
    /// `slow nginx 30`: pulling the image takes so long.
    Slow {
        /// The image, without its tag.
        image: String,
        /// How long.
        time: Duration,
    },
    /// `full node-1 disk`, `full node-1 pids`; `relieve node-1`.
    Full {
        /// The node.
        node: String,
        /// What it is short of; none: nothing any more.
        of: Option<Shortage>,
    },
    /// `skew node-1 -40`: a node's clock is so many milliseconds fast; slow if negative.
    Skew {
        /// The node.
        node: String,
        /// By how much.
        milliseconds: i64,
    },
    /// `leader-change`, `leader-change kube-scheduler`: the leader's renewals get lost.
    LeaderChange(String),
    /// `type kubectl delete pod web`: the words after kubectl.
    Kubectl(Vec<String>),
    /// `type curl web --from client`: a command that sends packets.
    Network {
        /// Its words.
        words: Vec<String>,
        /// Where it runs; empty: on the first node.
        from: String,
    },
}

/// How each is written.
const USAGE: &[(&str, &str)] = &[
    ("choose", "choose EVENT, as in: choose e45 (pending numbers them)"),
    ("delay", "delay EVENT SECONDS, as in: delay e45 2.5"),
    ("drop", "drop EVENT, as in: drop e45"),
    ("hold", "hold COMPONENT, hold COMPONENT KIND for one watch, or hold link A B; hold kube-scheduler pods"),
    ("release", "release with the words of hold, or release alone for everything"),
    ("disconnect", "disconnect COMPONENT KIND, as in: disconnect kube-scheduler nodes"),
    ("stale", "stale COMPONENT KIND REVISION, as in: stale kubelet/node-1 pods 57"),
    ("wait", "wait SECONDS, as in: wait 2.5"),
    ("seed", "seed NUMBER; 0 gives every hop its plain time"),
    ("fail", "fail COMPONENT [VERB] [KIND] with 409|429|500|503|lost|lost-after [times N]"),
    ("stop", "stop COMPONENT, as in: stop kube-scheduler"),
    ("start", "start COMPONENT, as in: start kube-scheduler"),
    ("crash", "crash COMPONENT, as in: crash kube-controller-manager"),
    ("kill", "kill POD [CONTAINER]"),
    ("oom", "oom POD [CONTAINER]"),
    ("node", "node start NUMBER, or: node stop NUMBER"),
    ("cut", "cut NODE, as in: cut node-1"),
    ("mend", "mend NODE, as in: mend node-1"),
    ("compact", "compact, without more"),
    ("slow", "slow IMAGE SECONDS, as in: slow nginx 30"),
    ("full", "full NODE disk|pids, as in: full node-1 disk"),
    ("relieve", "relieve NODE, as in: relieve node-1"),
    ("skew", "skew NODE SECONDS, as in: skew node-1 -40; up to a day either way"),
    ("leader-change", "leader-change [COMPONENT], as in: leader-change kube-scheduler"),
    ("type", "type kubectl …, or: type curl …, ping …, nslookup …; type kubectl delete pod web"),
];

const VERBS: &[&str] = &["get", "list", "create", "update", "patch", "delete", "deletecollection"];

impl Choice {
    /// Reads a choice. `namespace` is where Pods are looked for.
    pub fn parse(text: &str, namespace: &str) -> Result<Choice, String> {
        let words = shell_words::split(text).map_err(|_| "a quote is not closed".to_owned())?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Some((&name, rest)) = words.split_first() else { return Err(unknown("")) };
        let Some((_, usage)) = USAGE.iter().find(|(known, _)| *known == name) else { return Err(unknown(name)) };
        let usage = || format!("write: {usage}");
        match (name, rest) {
            ("choose", [event]) => Ok(Choice::Deliver(event_id(event)?)),
            ("delay", [event, time]) => Ok(Choice::Delay(event_id(event)?, seconds(time)?)),
            ("drop", [event]) => Ok(Choice::Drop(event_id(event)?)),
            ("hold", words) => hold(words)?.map(Choice::Hold).ok_or_else(usage),
            ("release", []) => Ok(Choice::Release(None)),
            ("release", words) => hold(words)?.map(|hold| Choice::Release(Some(hold))).ok_or_else(usage),
            ("disconnect", [component, kind]) => Ok(Choice::Disconnect((*component).to_owned(), kind_of(kind)?)),
            ("stale", [component, kind, revision]) => {
                let revision = revision.parse().map_err(|_| format!("{revision:?} is no revision; {}", usage()))?;
                Ok(Choice::Stale(Stale { component: (*component).to_owned(), kind: kind_of(kind)?, revision }))
            }
            ("wait", [time]) => Ok(Choice::Wait(seconds(time)?)),
            ("seed", [seed]) => seed.parse().map(Choice::Seed).map_err(|_| format!("{seed:?} is no seed; {}", usage())),
            ("fail", words) => fail(words).map(Choice::Fail).map_err(|error| format!("{error}; {}", usage())),
            ("stop", [component]) => Ok(Choice::Stop((*component).to_owned())),
            ("start", [component]) => Ok(Choice::Start((*component).to_owned())),
            ("crash", [component]) => Ok(Choice::Crash((*component).to_owned())),
            ("kill" | "oom", [pod, container @ ..]) if container.len() <= 1 => Ok(Choice::Kill {
                pod: pod_key(pod, namespace),
                container: container.first().copied().unwrap_or_default().to_owned(),
                oom: name == "oom",
            }),
            ("node", ["start" | "stop", number]) => {
                let digits = number.strip_prefix("node-").unwrap_or(number);
                let number = digits.parse().ok().filter(|n| (1..=5000).contains(n)).ok_or_else(usage)?;
                Ok(Choice::Node { start: rest[0] == "start", number })
            }
            ("node", [node, command @ ..]) if !matches!(*node, "start" | "stop") && !command.is_empty() => {
                let command = command.iter().map(|word| (*word).to_owned()).collect();
                Ok(Choice::OnNode { node: (*node).to_owned(), command })
            }
            ("cut", [node]) => Ok(Choice::Hold(link_of(node))),
            ("mend", [node]) => Ok(Choice::Release(Some(link_of(node)))),
            ("compact", []) => Ok(Choice::Compact),
            ("slow", [image, time]) => Ok(Choice::Slow { image: (*image).to_owned(), time: seconds(time)? }),
            ("full", [node, what @ ("disk" | "pids")]) => {
                let of = Some(if *what == "disk" { Shortage::Disk } else { Shortage::Pids });
                Ok(Choice::Full { node: (*node).to_owned(), of })
            }
            ("relieve", [node]) => Ok(Choice::Full { node: (*node).to_owned(), of: None }),
            ("skew", [node, time]) => {
                let size = seconds(time.trim_start_matches('-')).map_err(|_| usage())?.as_millis() as i64;
                let milliseconds = if time.starts_with('-') { -size } else { size };
                Ok(Choice::Skew { node: (*node).to_owned(), milliseconds })
            }
            ("leader-change", []) => Ok(Choice::LeaderChange("kube-controller-manager".to_owned())),
            ("leader-change", [component]) => Ok(Choice::LeaderChange((*component).to_owned())),
            ("type", ["kubectl", words @ ..]) if !words.is_empty() => {
                Ok(Choice::Kubectl(words.iter().map(|word| (*word).to_owned()).collect()))
            }
            ("type", ["curl" | "ping" | "nslookup", ..]) => match timeline::parse(&shell_words::join(rest))? {
                timeline::Line::Network { words, from } => Ok(Choice::Network { words, from }),
                _ => Err(usage()),
            },
            _ => Err(usage()),
        }
    }

    /// Does it, and says what came of it; the step, if it is one.
    pub(super) fn perform(&self, session: &mut Session) -> Result<(String, Option<Step>), String> {
        if let Choice::Deliver(event) = self {
            return Ok((String::new(), Some(session.cluster.choose(*event)?)));
        }
        self.apply(session).map(|said| (said, None))
    }

    fn apply(&self, session: &mut Session) -> Result<String, String> {
        let engine = &mut session.cluster.engine;
        match self {
            Choice::Deliver(_) => Ok(String::new()),
            Choice::Delay(event, by) => {
                engine.delay(*event, *by)?;
                let due = engine.in_flight(*event).map(|event| event.due).unwrap_or_default();
                Ok(format!("{event} is due at {}", session.time(due)))
            }
            Choice::Drop(event) => engine.drop_event(*event),
            Choice::Hold(hold) => {
                check(hold, session)?;
                let held = session.cluster.engine.hold(hold.clone());
                Ok(format!("held: {}; {} in flight wait", Shown(hold), events(held)))
            }
            Choice::Release(None) => {
                let holds = engine.controls().holds.clone();
                let free: usize = holds.iter().filter_map(|hold| engine.release(hold)).sum();
                Ok(format!("nothing is held any more; {} on the way", events(free)))
            }
            Choice::Release(Some(hold)) => match engine.release(hold) {
                Some(free) => Ok(format!("released: {}; {} on the way", Shown(hold), events(free))),
                None => Err(format!("{} is not held; {}", Shown(hold), what_is_held(session))),
            },
            Choice::Disconnect(name, kind) => {
                component(name, session)?;
                let broken = session.cluster.engine.disconnect(name, *kind);
                if broken == 0 {
                    return Err(format!("{name} watches no {}; who OBJECT shows who does", kind.info().plural));
                }
                let watches = if broken == 1 { "1 watch has" } else { &format!("{broken} watches have") };
                Ok(format!("{watches} broken; what was under way is lost, and the informer lists anew"))
            }
            Choice::Stale(stale) => {
                component(&stale.component, session)?;
                session.cluster.engine.make_stale(stale.clone())?;
                let (whose, plural) = (&stale.component, stale.kind.info().plural);
                Ok(format!("the next list of {plural} that {whose} gets is of revision {}", stale.revision))
            }
            Choice::Wait(time) => {
                engine.pass(engine.now() + *time);
                Ok(format!("it is {} now", session.time(session.cluster.engine.now())))
            }
            Choice::Seed(seed) => {
                engine.reseed(*seed);
                Ok(format!("from now on every hop takes its time by seed {seed}"))
            }
            Choice::Fail(failure) => {
                component(&failure.component, session)?;
                session.cluster.engine.fail(failure.clone());
                Ok(format!("the next {} of {} will fail", calls(failure.times), failure.component))
            }
            Choice::Stop(name) => session.cluster.stop_process(name),
            Choice::Start(name) => session.cluster.start_process(name),
            Choice::Crash(name) => {
                session.cluster.stop_process(name)?;
                session.cluster.start_process(name)?;
                Ok(format!("{name} has crashed and starts anew: what it knew is lost"))
            }
            Choice::Kill { pod, container, oom } => match session.cluster.kill_container(pod, container, *oom) {
                true => Ok("the process is gone; the kubelet will notice".to_owned()),
                false => Err(format!("no such container runs in {pod}")),
            },
            Choice::Node { start, number } => switch_node(session, *start, *number),
            Choice::OnNode { node, command } => session.cluster.on_node(node, command),
            Choice::Compact => {
                let told = engine.compact();
                let revision = engine.api.store.compacted();
                let told = match told {
                    0 => "no watch lags behind".to_owned(),
                    1 => "1 watch lags behind and gets 410".to_owned(),
                    n => format!("{n} watches lag behind and get 410"),
                };
                Ok(format!("etcd has forgotten all before revision {revision}; {told}"))
            }
            Choice::Slow { image, time } => {
                session.cluster.slow_image(image, *time);
                Ok(format!("pulling {image} takes {} s from now on", time.as_secs_f64()))
            }
            Choice::Full { node, of } => session.cluster.shorten(node, *of),
            Choice::Skew { node, milliseconds } => session.cluster.skew_clock(node, *milliseconds as f64 / 1e3),
            Choice::LeaderChange(component) => session.cluster.change_leader(component),
            Choice::Kubectl(words) => {
                session.cluster.type_words(words.clone());
                Ok("kubectl is about to send its first request; press Enter to step".to_owned())
            }
            Choice::Network { words, from } => {
                session.cluster.type_from(words.clone(), from.clone());
                Ok("the command is about to start; press Enter to step, hop by hop".to_owned())
            }
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Deliver(event) => write!(f, "choose {event}"),
            Choice::Delay(event, by) => write!(f, "delay {event} {}", by.as_secs_f64()),
            Choice::Drop(event) => write!(f, "drop {event}"),
            Choice::Hold(hold) => write!(f, "hold {}", Shown(hold)),
            Choice::Release(None) => f.write_str("release"),
            Choice::Release(Some(hold)) => write!(f, "release {}", Shown(hold)),
            Choice::Disconnect(component, kind) => write!(f, "disconnect {component} {}", kind.info().plural),
            Choice::Stale(Stale { component, kind, revision }) => {
                write!(f, "stale {component} {} {revision}", kind.info().plural)
            }
            Choice::Wait(time) => write!(f, "wait {}", time.as_secs_f64()),
            Choice::Seed(seed) => write!(f, "seed {seed}"),
            Choice::Fail(failure) => {
                write!(f, "fail {}", failure.component)?;
                if !failure.verb.is_empty() {
                    write!(f, " {}", failure.verb)?;
                }
                if let Some(kind) = failure.kind {
                    write!(f, " {}", kind.info().plural)?;
                }
                write!(f, " with {} times {}", failure.how.name(), failure.times)
            }
            Choice::Stop(name) => write!(f, "stop {name}"),
            Choice::Start(name) => write!(f, "start {name}"),
            Choice::Crash(name) => write!(f, "crash {name}"),
            Choice::Kill { pod, container, oom } => {
                let line = format!("{} {pod} {container}", if *oom { "oom" } else { "kill" });
                f.write_str(line.trim_end())
            }
            Choice::Node { start, number } => write!(f, "node {} {number}", if *start { "start" } else { "stop" }),
            Choice::OnNode { node, command } => write!(f, "node {node} {}", shell_words::join(command)),
            Choice::Compact => f.write_str("compact"),
            Choice::Slow { image, time } => write!(f, "slow {image} {}", time.as_secs_f64()),
            Choice::Full { node, of: None } => write!(f, "relieve {node}"),
            Choice::Full { node, of: Some(Shortage::Disk) } => write!(f, "full {node} disk"),
            Choice::Full { node, of: Some(Shortage::Pids) } => write!(f, "full {node} pids"),
            Choice::Skew { node, milliseconds } => write!(f, "skew {node} {}", *milliseconds as f64 / 1e3),
            Choice::LeaderChange(component) => write!(f, "leader-change {component}"),
            Choice::Kubectl(words) => write!(f, "type kubectl {}", shell_words::join(words)),
            Choice::Network { words, from } if from.is_empty() => write!(f, "type {}", shell_words::join(words)),
            Choice::Network { words, from } => {
                write!(f, "type {} --from {}", shell_words::join(words), shell_words::quote(from))
            }
        }
    }
}

fn switch_node(session: &mut Session, start: bool, number: usize) -> Result<String, String> {
    let node = NodeConfig::numbered(number);
    let name = node.name.clone();
    let on = session.cluster.engine.find(&format!("containerd/{name}")).is_some();
    if on == start {
        return Err(format!("{name} is {} already", if on { "on" } else { "off" }));
    }
    let action = if start { Action::StartNode(node) } else { Action::StopNode(name.clone()) };
    session.cluster.actions().borrow_mut().push_back(action);
    session.cluster.act();
    Ok(format!("{name} is {}", if start { "switched on" } else { "cut off the power" }))
}

/// What is held, for whoever asks.
pub fn what_is_held(session: &Session) -> String {
    let holds: Vec<String> =
        session.cluster.engine.controls().holds.iter().map(|hold| Shown(hold).to_string()).collect();
    if holds.is_empty() { "nothing is held".to_owned() } else { format!("held: {}", holds.join("; ")) }
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

fn unknown(name: &str) -> String {
    let names: Vec<&str> = USAGE.iter().map(|(name, _)| *name).collect();
    format!("{name:?} is no choice; there are {}", names.join(", "))
}

fn event_id(word: &str) -> Result<EventId, String> {
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

fn seconds(word: &str) -> Result<Duration, String> {
    let wrong = || format!("{word:?} is not a number of seconds up to a day");
    duration(word).ok().filter(|time| *time <= Duration::from_secs(86_400)).ok_or_else(wrong)
}

fn hold(words: &[&str]) -> Result<Option<Hold>, String> {
    match words {
        ["link", a, b] => Ok(Some(Hold::Link((*a).to_owned(), (*b).to_owned()))),
        [component] if *component != "link" => Ok(Some(Hold::Component((*component).to_owned()))),
        [component, kind] if *component != "link" => Ok(Some(Hold::Watch((*component).to_owned(), kind_of(kind)?))),
        _ => Ok(None),
    }
}

fn kind_of(word: &str) -> Result<Kind, String> {
    Kind::from_word(word).ok_or_else(|| format!("there is no kind {word:?}"))
}

/// A node that is cut off reaches nobody; what is on it goes on.
fn link_of(node: &str) -> Hold {
    Hold::Link(format!("*/{node}"), "kube-apiserver".to_owned())
}

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

fn pod_key(word: &str, namespace: &str) -> Key {
    let word = word.strip_prefix("pod/").unwrap_or(word);
    match word.split_once('/') {
        Some((namespace, name)) => Key::new(namespace, name),
        None => Key::new(namespace, word),
    }
}

/// That a name is somebody's, so that a slip does not hold nobody.
fn component(glob: &str, session: &Session) -> Result<(), String> {
    let names = session.names().components;
    if names.iter().any(|name| crate::object::glob::matches(glob, name)) {
        return Ok(());
    }
    Err(format!("there is no component {glob:?}; there are {}", names.join(", ")))
}

fn check(hold: &Hold, session: &Session) -> Result<(), String> {
    match hold {
        Hold::Component(name) => component(name, session),
        Hold::Link(a, b) => component(a, session).and_then(|()| component(b, session)),
        Hold::Watch(name, kind) => {
            component(name, session)?;
            let watches = |name: &String| {
                crate::object::glob::matches(match_name(hold), name)
                    && super::inspect::informers(session, name).iter().any(|informer| informer.kind() == *kind)
            };
            if session.names().components.iter().any(watches) {
                return Ok(());
            }
            Err(format!("{name} watches no {}; who OBJECT shows who does", kind.info().plural))
        }
    }
}

fn match_name(hold: &Hold) -> &str {
    match hold {
        Hold::Component(name) | Hold::Watch(name, _) | Hold::Link(name, _) => name,
    }
}

fn events(n: usize) -> String {
    if n == 1 { "1 event".to_owned() } else { format!("{n} events") }
}

fn calls(n: u32) -> String {
    if n == 1 { "call".to_owned() } else { format!("{n} calls") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_printed_as_they_are_read() {
        for text in [
            "choose e45",
            "delay e45 2.5",
            "drop e45",
            "hold kube-scheduler",
            "hold kube-scheduler pods",
            "hold link kubelet/node-1 kube-apiserver",
            "release",
            "release kube-scheduler pods",
            "disconnect kube-scheduler nodes",
            "stale kubelet/node-1 pods 57",
            "wait 2.5",
            "wait 0.000000001",
            "seed 7",
            "fail replicaset-controller create pods with lost-after times 1",
            "fail kubelet/* with 500 times 3",
            "stop kube-scheduler",
            "start kube-scheduler",
            "crash kube-apiserver",
            "kill default/web-1",
            "oom shop/web-1 app",
            "node start 4",
            "node stop 2",
            "node node-1 rm /etc/cni/net.d/x",
            "compact",
            "slow nginx 30",
            "type kubectl delete pod 'a b'",
            "type curl web:80/x --from client",
            "type ping 10.1.0.2",
            "full node-1 disk",
            "full node-1 pids",
            "relieve node-1",
            "skew node-1 -40.5",
        ] {
            let choice = Choice::parse(text, "default").unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(choice.to_string(), text);
        }
        assert_eq!(Choice::parse("cut node-1", "default").unwrap().to_string(), "hold link */node-1 kube-apiserver");
    }

    #[test]
    fn wrong_choices_say_how_to_write_them() {
        for (text, says) in [
            ("", "is no choice; there are choose"),
            ("chose e1", "is no choice"),
            ("choose", "write: choose EVENT"),
            ("choose x", "is not the number of an event"),
            ("delay e1", "write: delay EVENT SECONDS"),
            ("delay e1 -1", "is not a number of seconds"),
            ("delay e1 1e300", "is not a number of seconds"),
            ("hold", "write: hold COMPONENT"),
            ("hold link a", "write: hold COMPONENT"),
            ("hold kube-scheduler podd", "there is no kind"),
            ("seed -1", "is no seed"),
            ("fail x", "it is not said how"),
            ("fail with 500", "whose call"),
            ("fail x with 418", "is no failure"),
            ("fail x make with 500", "is no verb and no kind"),
            ("fail x with 500 times 0", "is not how often"),
            ("node start zero", "write: node start NUMBER"),
            ("node node-1", "write: node start NUMBER"),
            ("node start 99999", "write: node start NUMBER"),
            ("type ls", "write: type kubectl"),
            ("type curl", "wants to know whom"),
            ("compact now", "write: compact"),
            ("full node-1 memory", "write: full NODE"),
            ("skew node-1 x", "write: skew NODE"),
            ("slow nginx soon", "is not a number of seconds"),
            ("drop 'e1", "a quote is not closed"),
        ] {
            let error = Choice::parse(text, "default").expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
