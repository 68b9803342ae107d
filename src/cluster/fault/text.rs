//! Faults as they are written, and read.

use std::fmt;
use std::time::Duration;

use crate::engine::EventId;
use crate::engine::control::{Hold, Stale};
use crate::engine::failing::{Failing, Failure};
use crate::kubelet::eviction::usage::EphemeralStorage;
use crate::kubelet::shutdown::GracePeriods;
use crate::network::host::Shortage;
use crate::object::metrics::Load;
use crate::object::quantity::Amount;
use crate::object::{Key, Kind};

use super::Fault;

/// How each is written.
pub const USAGE: &[(&str, &str)] = &[
    ("drop", "drop EVENT, as in: drop e45"),
    ("hold", "hold COMPONENT, hold COMPONENT KIND for one watch, or hold link A B; hold kube-scheduler pods"),
    ("release", "release with the words of hold, or release alone for everything"),
    ("disconnect", "disconnect COMPONENT KIND, as in: disconnect kube-scheduler nodes"),
    ("stale", "stale COMPONENT KIND REVISION, as in: stale kubelet/node-1 pods 57"),
    (
        "fail",
        "fail COMPONENT [VERB] [KIND] with 409|429|500|503|lost|lost-after [times N], \
         as in: fail kube-scheduler with 500",
    ),
    ("stop", "stop COMPONENT, as in: stop kube-scheduler"),
    ("start", "start COMPONENT, as in: start kube-scheduler"),
    ("crash", "crash COMPONENT, as in: crash kube-controller-manager"),
    ("kill", "kill POD [CONTAINER], as in: kill web-1"),
    ("oom", "oom POD [CONTAINER], as in: oom web-1"),
    (
        "node",
        "node start NUMBER [--cpu N] [--memory-gi N], node stop NUMBER, \
         node shutdown NUMBER [--grace SECONDS] [--critical SECONDS], or: node NODE COMMAND",
    ),
    ("file", "file on POD PATH, or: file off POD PATH; as in: file off web-1 /tmp/ready"),
    ("answer", "answer POD CODE, an HTTP status from 100 to 599; as in: answer web-1 503"),
    ("cut", "cut NODE, as in: cut node-1"),
    ("mend", "mend NODE, as in: mend node-1"),
    ("compact", "compact, without more"),
    ("slow", "slow IMAGE SECONDS, as in: slow nginx 30"),
    ("full", "full NODE memory|disk|pids, as in: full node-1 memory"),
    ("relieve", "relieve NODE, as in: relieve node-1"),
    ("fill", "fill POD SIZE [CONTAINER], or: fill POD SIZE volume=NAME; as in: fill web-1 3Gi"),
    ("skew", "skew NODE SECONDS, as in: skew node-1 -40; up to a day either way"),
    ("leader-change", "leader-change [COMPONENT], as in: leader-change kube-scheduler"),
    (
        "busy",
        "busy SELECTOR [cpu=AMOUNT] [memory=AMOUNT] [container=NAME] [namespace=NAME] [shared], as in: busy app=web cpu=900m",
    ),
];

/// What a node can be full of.
const SHORTAGES: &[(&str, Shortage)] =
    &[("memory", Shortage::Memory), ("disk", Shortage::Disk), ("pids", Shortage::Pids)];

const VERBS: &[&str] = &["get", "list", "create", "update", "patch", "delete", "deletecollection"];

impl Fault {
    /// Whether a line that begins with this word is one.
    pub fn is_named(word: &str) -> bool {
        USAGE.iter().any(|(known, _)| *known == word)
    }

    /// Reads one. `namespace` is where Pods are looked for.
    pub fn parse(words: &[&str], namespace: &str) -> Result<Fault, String> {
        let Some((&name, rest)) = words.split_first() else { return Err(unknown("")) };
        let Some((_, usage)) = USAGE.iter().find(|(known, _)| *known == name) else { return Err(unknown(name)) };
        let usage = || format!("write: {usage}");
        match (name, rest) {
            ("drop", [event]) => Ok(Fault::Drop(event_id(event)?)),
            ("hold", words) => hold(words)?.map(Fault::Hold).ok_or_else(usage),
            ("release", []) => Ok(Fault::Release(None)),
            ("release", words) => hold(words)?.map(|hold| Fault::Release(Some(hold))).ok_or_else(usage),
            ("disconnect", [component, kind]) => Ok(Fault::Disconnect((*component).to_owned(), kind_of(kind)?)),
            ("stale", [component, kind, revision]) => {
                let revision = revision.parse().map_err(|_| format!("{revision:?} is no revision; {}", usage()))?;
                Ok(Fault::Stale(Stale { component: (*component).to_owned(), kind: kind_of(kind)?, revision }))
            }
            ("fail", words) => fail(words).map(Fault::Fail).map_err(|error| format!("{error}; {}", usage())),
            ("stop", [component]) => Ok(Fault::Stop((*component).to_owned())),
            ("start", [component]) => Ok(Fault::Start((*component).to_owned())),
            ("crash", [component]) => Ok(Fault::Crash((*component).to_owned())),
            ("kill" | "oom", [pod, container @ ..]) if container.len() <= 1 => Ok(Fault::Kill {
                pod: pod_key(pod, namespace),
                container: container.first().copied().unwrap_or_default().to_owned(),
                oom: name == "oom",
            }),
            ("node", words) => node(words, usage),
            ("file", [on @ ("on" | "off"), pod, path]) => {
                Ok(Fault::File { present: *on == "on", pod: pod_key(pod, namespace), path: (*path).to_owned() })
            }
            ("answer", [pod, status]) => match status.parse() {
                Ok(status @ 100..=599) => Ok(Fault::Answer { pod: pod_key(pod, namespace), status }),
                _ => Err(format!("{status:?} is not an HTTP status; {}", usage())),
            },
            ("cut", [node]) => Ok(Fault::Hold(link_of(node))),
            ("mend", [node]) => Ok(Fault::Release(Some(link_of(node)))),
            ("compact", []) => Ok(Fault::Compact),
            ("slow", [image, time]) => Ok(Fault::Slow { image: (*image).to_owned(), time: seconds(time)? }),
            ("full", [node, what]) => {
                let of = SHORTAGES.iter().find(|(word, _)| word == what).map(|(_, of)| *of);
                Ok(Fault::Full { node: (*node).to_owned(), of: Some(of.ok_or_else(usage)?) })
            }
            ("relieve", [node]) => Ok(Fault::Full { node: (*node).to_owned(), of: None }),
            ("fill", [pod, size, words @ ..]) if words.len() <= 1 => {
                let bytes = Amount::parse(size).ok().and_then(|size| u64::try_from(size.value()).ok());
                let bytes = bytes.ok_or_else(|| format!("{size:?} is no size; {}", usage()))?;
                let storage = storage(words.first().copied().unwrap_or_default());
                Ok(Fault::Fill { pod: pod_key(pod, namespace), bytes, storage })
            }
            ("skew", [node, time]) => {
                let size = seconds(time.trim_start_matches('-')).map_err(|_| usage())?.as_millis() as i64;
                let milliseconds = if time.starts_with('-') { -size } else { size };
                Ok(Fault::Skew { node: (*node).to_owned(), milliseconds })
            }
            ("leader-change", []) => Ok(Fault::LeaderChange("kube-controller-manager".to_owned())),
            ("busy", words) => {
                Load::parse(words, namespace).map(Fault::Load).map_err(|error| format!("{error}; {}", usage()))
            }
            ("leader-change", [component]) => Ok(Fault::LeaderChange((*component).to_owned())),
            _ => Err(usage()),
        }
    }

    /// The node that is cut off, or whose link is mended.
    pub(super) fn cut_off(&self) -> Option<&str> {
        match self {
            Fault::Hold(Hold::Link(a, b)) | Fault::Release(Some(Hold::Link(a, b))) if b == "kube-apiserver" => {
                a.strip_prefix("*/").filter(|node| !node.contains('*'))
            }
            _ => None,
        }
    }

    /// The word with which it begins.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::Drop(_) => "drop",
            Fault::Hold(_) if self.cut_off().is_some() => "cut",
            Fault::Hold(_) => "hold",
            Fault::Release(_) if self.cut_off().is_some() => "mend",
            Fault::Release(_) => "release",
            Fault::Disconnect(..) => "disconnect",
            Fault::Stale(_) => "stale",
            Fault::Fail(_) => "fail",
            Fault::Stop(_) => "stop",
            Fault::Start(_) => "start",
            Fault::Crash(_) => "crash",
            Fault::Kill { oom: false, .. } => "kill",
            Fault::Kill { oom: true, .. } => "oom",
            Fault::StartNode { .. } | Fault::StopNode(_) | Fault::ShutDown { .. } | Fault::OnNode { .. } => "node",
            Fault::File { .. } => "file",
            Fault::Answer { .. } => "answer",
            Fault::Compact => "compact",
            Fault::Slow { .. } => "slow",
            Fault::Full { of: Some(_), .. } => "full",
            Fault::Full { of: None, .. } => "relieve",
            Fault::Fill { .. } => "fill",
            Fault::Skew { .. } => "skew",
            Fault::LeaderChange(_) => "leader-change",
            Fault::Load(_) => "busy",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = self.cut_off() {
            return write!(f, "{} {node}", self.name());
        }
        f.write_str(self.name())?;
        match self {
            Fault::Drop(event) => write!(f, " {event}"),
            Fault::Hold(hold) | Fault::Release(Some(hold)) => write!(f, " {}", Shown(hold)),
            Fault::Release(None) | Fault::Compact => Ok(()),
            Fault::Disconnect(component, kind) => write!(f, " {component} {}", kind.info().plural),
            Fault::Stale(Stale { component, kind, revision }) => {
                write!(f, " {component} {} {revision}", kind.info().plural)
            }
            Fault::Fail(failure) => {
                write!(f, " {}", failure.component)?;
                if !failure.verb.is_empty() {
                    write!(f, " {}", failure.verb)?;
                }
                if let Some(kind) = failure.kind {
                    write!(f, " {}", kind.info().plural)?;
                }
                write!(f, " with {} times {}", failure.how.name(), failure.times)
            }
            Fault::Stop(name) | Fault::Start(name) | Fault::Crash(name) | Fault::LeaderChange(name) => {
                write!(f, " {name}")
            }
            Fault::Kill { pod, container, .. } if container.is_empty() => write!(f, " {pod}"),
            Fault::Kill { pod, container, .. } => write!(f, " {pod} {container}"),
            Fault::StartNode { number, cpu, memory_gi } => {
                write!(f, " start {number}")?;
                cpu.map_or(Ok(()), |cpu| write!(f, " --cpu {cpu}"))?;
                memory_gi.map_or(Ok(()), |memory| write!(f, " --memory-gi {memory}"))
            }
            Fault::StopNode(number) => write!(f, " stop {number}"),
            Fault::ShutDown { number, periods } => {
                let GracePeriods { all, critical } = periods;
                write!(f, " shutdown {number} --grace {all} --critical {critical}")
            }
            Fault::OnNode { node, command } => write!(f, " {node} {}", shell_words::join(command)),
            Fault::File { present, pod, path } => {
                write!(f, " {} {pod} {}", if *present { "on" } else { "off" }, shell_words::quote(path))
            }
            Fault::Answer { pod, status } => write!(f, " {pod} {status}"),
            Fault::Slow { image, time } => write!(f, " {image} {}", time.as_secs_f64()),
            Fault::Full { node, of: None } => write!(f, " {node}"),
            Fault::Full { node, of: Some(of) } => {
                let word = SHORTAGES.iter().find(|(_, there)| there == of).map_or("", |(word, _)| word);
                write!(f, " {node} {word}")
            }
            Fault::Fill { pod, bytes, storage } => {
                write!(f, " {pod} {}", Amount::bytes(i64::try_from(*bytes).unwrap_or(i64::MAX)))?;
                match storage {
                    EphemeralStorage::Container(name) if name.is_empty() => Ok(()),
                    EphemeralStorage::Container(name) => write!(f, " {name}"),
                    EphemeralStorage::Volume(name) => write!(f, " volume={name}"),
                }
            }
            Fault::Load(load) => write!(f, " {load}"),
            Fault::Skew { node, milliseconds } => write!(f, " {node} {}", *milliseconds as f64 / 1e3),
        }
    }
}

/// A hold as it is typed.
pub(super) struct Shown<'a>(pub &'a Hold);

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
    format!("{name:?} breaks nothing; there are {}", names.join(", "))
}

/// The number of an event, with or without its e.
pub fn event_id(word: &str) -> Result<EventId, String> {
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

/// The same where more than a day is a slip.
pub fn seconds(word: &str) -> Result<Duration, String> {
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

/// What `node` is told.
fn node(words: &[&str], usage: impl Fn() -> String) -> Result<Fault, String> {
    match words {
        ["start", number, flags @ ..] => {
            let (cpu, memory_gi) = sizes(flags).map_err(|error| format!("{error}; {}", usage()))?;
            Ok(Fault::StartNode { number: node_number(number).ok_or_else(usage)?, cpu, memory_gi })
        }
        ["stop", number] => node_number(number).map(Fault::StopNode).ok_or_else(usage),
        ["shutdown", number, flags @ ..] => {
            let periods = grace_periods(flags).map_err(|error| format!("{error}; {}", usage()))?;
            Ok(Fault::ShutDown { number: node_number(number).ok_or_else(usage)?, periods })
        }
        [node, command @ ..] if !["stop", "shutdown"].contains(node) && !command.is_empty() => {
            let command = command.iter().map(|word| (*word).to_owned()).collect();
            Ok(Fault::OnNode { node: (*node).to_owned(), command })
        }
        _ => Err(usage()),
    }
}

/// Where a disk is filled.
fn storage(word: &str) -> EphemeralStorage {
    match word.strip_prefix("volume=") {
        Some(volume) => EphemeralStorage::Volume(volume.to_owned()),
        None => EphemeralStorage::Container(word.to_owned()),
    }
}

fn node_number(word: &str) -> Option<usize> {
    let digits = word.strip_prefix("node-").unwrap_or(word);
    digits.parse().ok().filter(|number| (1..=5000).contains(number))
}

fn sizes(flags: &[&str]) -> Result<(Option<u32>, Option<u32>), String> {
    let (mut cpu, mut memory_gi) = (None, None);
    for pair in flags.chunks(2) {
        let value = pair.get(1).and_then(|value| value.parse().ok());
        match (pair[0], value) {
            ("--cpu", Some(value)) => cpu = Some(value),
            ("--memory-gi", Some(value)) => memory_gi = Some(value),
            (flag, _) => return Err(format!("{flag:?} is not understood")),
        }
    }
    Ok((cpu, memory_gi))
}

fn grace_periods(flags: &[&str]) -> Result<GracePeriods, String> {
    let mut periods = GracePeriods::default();
    for pair in flags.chunks(2) {
        let value = pair.get(1).and_then(|value| value.parse::<u32>().ok()).filter(|seconds| *seconds <= 86_400);
        match (pair[0], value) {
            ("--grace", Some(value)) => periods.all = value,
            ("--critical", Some(value)) => periods.critical = value,
            (flag, _) => return Err(format!("{flag:?} is not understood")),
        }
    }
    if periods.critical > periods.all {
        return Err("critical Pods have a part of the grace period".to_owned());
    }
    Ok(periods)
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
