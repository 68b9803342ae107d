//! Nodes are switched on and off and run short of something, and what is typed on them.

use std::rc::Rc;

use engine::ActorId;
use kubelet::Kubelet;
use kubelet::eviction::usage::EphemeralStorage;
use kubelet::shutdown::GracePeriods;
use network::host::Shortage;
use object::Key;
use object::quantity::Amount;

use super::super::config::{NODES_MAX, number_in};
use super::super::{Cluster, NodeConfig};
use super::text::{Words, seconds};
use super::{About, Breaks, Fault, Row};

pub(super) const NODE: Row = Row {
    names: &[(
        "node",
        "node start NUMBER [--cpu N] [--memory-gi N], node stop NUMBER, \
         node shutdown NUMBER [--grace SECONDS] [--critical SECONDS], or: node NODE COMMAND",
    )],
    read: node,
};

fn node(words: &Words) -> Result<Fault, String> {
    let usage = || words.usage();
    match words.rest {
        ["start", number, flags @ ..] => {
            let (cpu, memory_gi) = sizes(flags).map_err(|error| format!("{error}; {}", usage()))?;
            let number = node_number(number).ok_or_else(usage)?;
            Ok(Fault::of(Power { number, change: Change::On { cpu, memory_gi } }))
        }
        ["stop", number] => {
            let number = node_number(number).ok_or_else(usage)?;
            Ok(Fault::of(Power { number, change: Change::Off }))
        }
        ["shutdown", number, flags @ ..] => {
            let periods = grace_periods(flags).map_err(|error| format!("{error}; {}", usage()))?;
            let number = node_number(number).ok_or_else(usage)?;
            Ok(Fault::of(Power { number, change: Change::ShutDown(periods) }))
        }
        [node, command @ ..] if !["stop", "shutdown"].contains(node) && !command.is_empty() => {
            let command = command.iter().map(|word| (*word).to_owned()).collect();
            Ok(Fault::of(OnNode { node: (*node).to_owned(), command }))
        }
        _ => words.wrong(),
    }
}

fn node_number(word: &str) -> Option<usize> {
    let digits = word.strip_prefix("node-").unwrap_or(word);
    digits.parse().ok().filter(|number| (1..=NODES_MAX).contains(number))
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

/// `node start 4 --cpu 8 --memory-gi 32`, `node stop node-2`, `node shutdown 2 --grace 30 --critical 10`.
#[derive(Clone, Debug)]
struct Power {
    /// The node's number.
    number: usize,
    change: Change,
}

#[derive(Clone, Debug)]
enum Change {
    /// It is switched on, with so many cores and so much memory in GiB unless they are the usual.
    On { cpu: Option<u32>, memory_gi: Option<u32> },
    /// Its power is cut.
    Off,
    /// It is to be switched off, and waits so long for its kubelet to end its Pods.
    ShutDown(GracePeriods),
}

impl Breaks for Power {
    fn name(&self) -> &'static str {
        "node"
    }

    fn words(&self) -> String {
        let number = self.number;
        match self.change {
            Change::On { cpu, memory_gi } => {
                let cpu = cpu.map_or(String::new(), |cpu| format!(" --cpu {cpu}"));
                let memory = memory_gi.map_or(String::new(), |memory| format!(" --memory-gi {memory}"));
                format!("start {number}{cpu}{memory}")
            }
            Change::Off => format!("stop {number}"),
            Change::ShutDown(GracePeriods { all, critical }) => {
                format!("shutdown {number} --grace {all} --critical {critical}")
            }
        }
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let name = NodeConfig::numbered(self.number).name;
        let is_on = cluster.is_machine(&name);
        match self.change {
            Change::On { .. } if is_on => Err(format!("{name} is on already")),
            Change::Off | Change::ShutDown(_) if !is_on => Err(format!("{name} is off already")),
            Change::On { cpu, memory_gi } => {
                let mut node = cluster.node_config(&name);
                node.cpu = cpu.unwrap_or(node.cpu);
                node.memory_gi = memory_gi.unwrap_or(node.memory_gi);
                cluster.add_node(&node);
                Ok(format!("{name} is switched on"))
            }
            Change::Off => {
                cluster.stop_node(&name);
                Ok(format!("{name} is cut off the power"))
            }
            Change::ShutDown(periods) => {
                // The kubelet switches the node off when its Pods have ended.
                let off = Rc::new(Fault::of(Power { number: self.number, change: Change::Off }));
                cluster.with_kubelet(&name, |kubelet| kubelet.shut_down(periods, off))??;
                let GracePeriods { all, critical } = periods;
                let ordinary = all.saturating_sub(critical);
                Ok(format!(
                    "{name} is to be switched off: its Pods have {ordinary} s to end, then the critical ones {critical} s"
                ))
            }
        }
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.on_machine("kubelet", &format!("node-{}", self.number))
    }
}

/// `node node-1 rm PATH`: an admin types something there.
#[derive(Clone, Debug)]
struct OnNode {
    node: String,
    /// What is typed there. It must be a command that [`Cluster::on_node`] knows.
    command: Vec<String>,
}

impl Breaks for OnNode {
    fn name(&self) -> &'static str {
        "node"
    }

    fn words(&self) -> String {
        format!("{} {}", self.node, shell_words::join(&self.command))
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        cluster.on_node(&self.node, &self.command)
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.on_machine("containerd", &self.node)
    }

    fn about(&self) -> Option<About<'_>> {
        Some(About::Node(&self.node))
    }

    fn prints(&self) -> bool {
        true
    }
}

pub(super) const FULL: Row = Row {
    names: &[
        ("full", "full NODE memory|disk|pids, as in: full node-1 memory"),
        ("relieve", "relieve NODE, as in: relieve node-1"),
    ],
    read: |words| match (words.name, words.rest) {
        ("full", [node, what]) => match SHORTAGES.iter().find(|(word, _)| word == what) {
            Some((_, of)) => Ok(Fault::of(Full { node: (*node).to_owned(), of: Some(*of) })),
            None => words.wrong(),
        },
        ("relieve", [node]) => Ok(Fault::of(Full { node: (*node).to_owned(), of: None })),
        _ => words.wrong(),
    },
};

/// What a node can be full of.
const SHORTAGES: &[(&str, Shortage)] =
    &[("memory", Shortage::Memory), ("disk", Shortage::Disk), ("pids", Shortage::Pids)];

/// `full node-1 memory`, `full node-1 disk`, `full node-1 pids`; `relieve node-1`.
#[derive(Clone, Debug)]
struct Full {
    node: String,
    /// What it is short of; none: nothing any more.
    of: Option<Shortage>,
}

impl Breaks for Full {
    fn name(&self) -> &'static str {
        if self.of.is_some() { "full" } else { "relieve" }
    }

    fn words(&self) -> String {
        match SHORTAGES.iter().find(|(_, there)| Some(*there) == self.of) {
            Some((word, _)) => format!("{} {word}", self.node),
            None => self.node.clone(),
        }
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let (node, of) = (&self.node, self.of);
        cluster.with_kubelet(node, |kubelet| kubelet.be_short_of(of))?;
        Ok(match of {
            Some(Shortage::Memory) => {
                format!("something on {node} has taken its memory: it will say so, and evict a Pod every ten seconds")
            }
            Some(Shortage::Disk) => {
                format!("something has filled the disk of {node}: it will say so, and evict a Pod every ten seconds")
            }
            Some(Shortage::Pids) => format!("{node} can start no process more: it takes no Pod, and will say so"),
            None => format!("{node} has enough of everything again"),
        })
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.on_machine("kubelet", &self.node)
    }

    fn about(&self) -> Option<About<'_>> {
        Some(About::Node(&self.node))
    }
}

pub(super) const FILL: Row = Row {
    names: &[("fill", "fill POD SIZE [CONTAINER], or: fill POD SIZE volume=NAME; as in: fill web-1 3Gi")],
    read: |words| match words.rest {
        [pod, size, where_ @ ..] if where_.len() <= 1 => {
            let bytes = Amount::parse(size).ok().and_then(|size| u64::try_from(size.value()).ok());
            let bytes = bytes.ok_or_else(|| format!("{size:?} is no size; {}", words.usage()))?;
            let storage = storage(where_.first().copied().unwrap_or_default());
            Ok(Fault::of(Fill { pod: words.pod(pod), bytes, storage }))
        }
        _ => words.wrong(),
    },
};

/// Where a disk is filled.
fn storage(word: &str) -> EphemeralStorage {
    match word.strip_prefix("volume=") {
        Some(volume) => EphemeralStorage::Volume(volume.to_owned()),
        None => EphemeralStorage::Container(word.to_owned()),
    }
}

/// `fill web-1 3Gi`, `fill web-1 3Gi nginx`, `fill web-1 600Mi volume=cache`: what a Pod has written to its node's disk.
#[derive(Clone, Debug)]
struct Fill {
    pod: Key,
    bytes: u64,
    storage: EphemeralStorage,
}

impl Fill {
    fn size(&self) -> Amount {
        Amount::bytes(i64::try_from(self.bytes).unwrap_or(i64::MAX))
    }
}

impl Breaks for Fill {
    fn name(&self) -> &'static str {
        "fill"
    }

    fn words(&self) -> String {
        let storage = match &self.storage {
            EphemeralStorage::Container(name) if name.is_empty() => String::new(),
            EphemeralStorage::Container(name) => format!(" {name}"),
            EphemeralStorage::Volume(name) => format!(" volume={name}"),
        };
        format!("{} {}{storage}", self.pod, self.size())
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let Fill { pod, bytes, storage } = self;
        let node = cluster.node_of(pod).ok_or_else(|| cluster.runs_nowhere(pod))?;
        cluster.with_kubelet(&node, |kubelet| kubelet.fill(pod, storage, *bytes))??;
        let what = match storage {
            EphemeralStorage::Container(_) => "has written".to_owned(),
            EphemeralStorage::Volume(name) => format!("has in its volume {name}"),
        };
        Ok(format!("{pod} {what} {}; its kubelet will see that at its next look, every ten seconds", self.size()))
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.on_machine("kubelet", &cluster.node_of(&self.pod)?)
    }
}

pub(super) const SKEW: Row = Row {
    names: &[("skew", "skew NODE SECONDS, as in: skew node-1 -40; up to a day either way")],
    read: |words| match words.rest {
        [node, time] => {
            let size = seconds(time.trim_start_matches('-')).map_err(|_| words.usage())?.as_millis() as i64;
            let milliseconds = if time.starts_with('-') { -size } else { size };
            Ok(Fault::of(Skew { node: (*node).to_owned(), milliseconds }))
        }
        _ => words.wrong(),
    },
};

/// `skew node-1 -40`: a node's clock is so many milliseconds fast; slow if negative.
#[derive(Clone, Debug)]
struct Skew {
    node: String,
    milliseconds: i64,
}

impl Skew {
    fn seconds(&self) -> f64 {
        self.milliseconds as f64 / 1e3
    }
}

impl Breaks for Skew {
    fn name(&self) -> &'static str {
        "skew"
    }

    fn words(&self) -> String {
        format!("{} {}", self.node, self.seconds())
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let (node, seconds) = (&self.node, self.seconds());
        cluster.with_kubelet(node, |kubelet| kubelet.skew_clock((seconds * 1e9) as i64))?;
        let follows = match seconds < 0.0 {
            true => {
                "a Lease counts as renewed only if its time has grown, so a node that goes back by more than 50 s is doubted"
            }
            false => {
                "nothing follows: the node-lifecycle controller measures by its own clock how long a Lease stays as it is"
            }
        };
        Ok(format!("the clock of {node} is {seconds} s off, which its Lease will say; {follows}"))
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.on_machine("kubelet", &self.node)
    }

    fn about(&self) -> Option<About<'_>> {
        Some(About::Node(&self.node))
    }
}

impl Cluster {
    pub(super) fn node_config(&self, name: &str) -> NodeConfig {
        let nodes = &self.config.nodes;
        if let Some(node) = nodes.iter().find(|node| node.name == name) {
            return node.clone();
        }
        let number = number_in(name).unwrap_or(1);
        let mut node = NodeConfig { name: name.to_owned(), ..NodeConfig::numbered(number) };
        // One of the scenario has its number, as that has none in its name.
        if nodes.iter().any(|other| other.number == number) {
            node.number += NODES_MAX;
        }
        node
    }

    pub(crate) fn with_kubelet<T>(&mut self, node: &str, change: impl FnOnce(&Kubelet) -> T) -> Result<T, String> {
        let id = self.engine.find(&format!("kubelet/{node}")).ok_or_else(|| format!("no kubelet runs on {node:?}"))?;
        let done = self.engine.with_actor(id, |actor| actor.as_any().downcast_ref::<Kubelet>().map(change)).flatten();
        done.ok_or_else(|| format!("no kubelet runs on {node:?}"))
    }
}
