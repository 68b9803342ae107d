//! What breaks a cluster, or changes it from outside: the same at the prompt, in a scenario's timeline, in a saved session
//! and in the explorer. Each is a line of text, and a step of its own.
//!
//! - [`text`]: how each is written. [`whose`]: components by a part of their names. [`processes`]: processes that stop and
//!   start, containers that die.

mod perform;
mod processes;
pub mod text;
pub mod whose;

use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;

use crate::engine::control::{Hold, Stale};
use crate::engine::failing::Failure;
use crate::engine::fault::Breaking;
use crate::engine::{APISERVER, ActorId, EventId, Message, Note, Step, What};
use crate::kubelet::eviction::usage::EphemeralStorage;
use crate::kubelet::shutdown::GracePeriods;
use crate::network::host::Shortage;
use crate::object::glob::matches;
use crate::object::metrics::Load;
use crate::object::{Key, Kind};

use super::Cluster;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `drop e45`: a message gets lost.
    Drop(EventId),
    /// `hold kube-scheduler`, `hold kube-scheduler pods`, `hold link kubelet/node-1 kube-apiserver`; `cut node-1`.
    Hold(Hold),
    /// `release …`, the same words; without any: everything. `mend node-1`.
    Release(Option<Hold>),
    /// `disconnect kube-scheduler nodes`: its watch breaks; it tries again and lists anew.
    Disconnect(String, Kind),
    /// `stale kubelet/node-1 pods 57`: the next list shows the past.
    Stale(Stale),
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
    /// `node start 4 --cpu 8 --memory-gi 32`.
    StartNode {
        /// Its number.
        number: usize,
        /// Cores, unless the usual.
        cpu: Option<u32>,
        /// Memory in GiB, unless the usual.
        memory_gi: Option<u32>,
    },
    /// `node stop node-2`: it is cut off the power.
    StopNode(usize),
    /// `node shutdown 2 --grace 30 --critical 10`: it is to be switched off, and waits so long for its kubelet to end its Pods.
    ShutDown {
        /// Its number.
        number: usize,
        /// How long.
        periods: GracePeriods,
    },
    /// `node node-1 rm PATH`: an admin types something there.
    OnNode {
        /// The node.
        node: String,
        /// What is typed there. It must be a command that [`Cluster::on_node`] knows.
        command: Vec<String>,
    },
    /// `file on POD PATH`, `file off POD PATH`: what the exec probe `cat PATH` in the Pod sees.
    File {
        /// Whether it is there.
        present: bool,
        /// The Pod.
        pod: Key,
        /// The path.
        path: String,
    },
    /// `answer POD CODE`: the HTTP status that the Pod's servers answer with from now on.
    Answer {
        /// The Pod.
        pod: Key,
        /// The status.
        status: u16,
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
    /// `full node-1 memory`, `full node-1 disk`, `full node-1 pids`; `relieve node-1`.
    Full {
        /// The node.
        node: String,
        /// What it is short of; none: nothing any more.
        of: Option<Shortage>,
    },
    /// `fill web-1 3Gi`, `fill web-1 3Gi nginx`, `fill web-1 600Mi volume=cache`: what a Pod has written to its node's disk.
    Fill {
        /// The Pod.
        pod: Key,
        /// How many bytes.
        bytes: u64,
        /// Where.
        storage: EphemeralStorage,
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
    /// `busy app=web cpu=900m`: what Pods use from now on, as `metrics.k8s.io` tells it.
    Load(Load),
}

impl Message for Fault {
    fn method(&self) -> &'static str {
        self.name()
    }

    fn json(&self) -> Value {
        Value::String(self.to_string())
    }

    fn line(&self) -> String {
        self.to_string()
    }
}

impl Cluster {
    /// Does a fault at once, as a step that nothing in the run has caused, and says what came of it. An error says why it
    /// cannot be; then there was no step.
    pub fn fault(&mut self, fault: Fault) -> Result<(String, Step), String> {
        let fault = Rc::new(fault);
        let breaking = self.engine.begin_fault(self.user.actor(), fault.clone());
        let before = self.concerned(&fault);
        match self.perform(&fault) {
            Ok(said) => Ok((said.clone(), self.end_fault(breaking, &fault, before, said))),
            Err(error) => {
                self.engine.cancel_fault(&breaking);
                Err(error)
            }
        }
    }

    /// The same with the fault that is due next, or is chosen; none if that is no fault. What was asked for and cannot be
    /// is told to the person, and is a step all the same.
    pub(super) fn fault_due(&mut self, chosen: Option<EventId>) -> Option<Step> {
        let breaking = self.engine.begin_fault_due(chosen)?;
        let What::Fault { message } = breaking.event.what.clone() else { return None };
        let any: &dyn std::any::Any = &*message;
        let fault = any.downcast_ref::<Fault>().expect("nobody else sends faults");
        let before = self.concerned(fault);
        let said = match self.perform(fault) {
            Ok(said) => {
                if matches!(fault, Fault::OnNode { .. }) {
                    self.kubectl.print(&said);
                }
                said
            }
            Err(error) => {
                self.refused(&error);
                format!("it cannot be: {error}")
            }
        };
        Some(self.end_fault(breaking, fault, before, said))
    }

    fn end_fault(&mut self, breaking: Breaking, fault: &Fault, before: Option<ActorId>, said: String) -> Step {
        self.disturb();
        // Who starts was not there before.
        let at = self.concerned(fault).or(before).unwrap_or(breaking.event.from);
        if !said.trim().is_empty() {
            self.engine.hub().note(|| Note::Text { topic: "fault", text: said.trim_end().to_owned() });
        }
        self.engine.end_fault(breaking, at)
    }

    /// The process that a fault happens to.
    fn concerned(&self, fault: &Fault) -> Option<ActorId> {
        let on = |program: &str, node: &str| self.engine.find(&format!("{program}/{node}"));
        match fault {
            Fault::Drop(event) => self.engine.in_flight(*event).map(|event| event.to),
            Fault::Hold(hold) | Fault::Release(Some(hold)) => match hold {
                Hold::Component(name) | Hold::Watch(name, _) | Hold::Link(name, _) => self.process_of(name),
            },
            Fault::Fail(Failure { component: name, .. })
            | Fault::Stale(Stale { component: name, .. })
            | Fault::Disconnect(name, _)
            | Fault::Stop(name)
            | Fault::Start(name)
            | Fault::Crash(name) => self.process_of(name),
            Fault::LeaderChange(component) => self.process_of(&format!("{component}*")),
            Fault::Kill { pod, .. } | Fault::File { pod, .. } | Fault::Answer { pod, .. } => self.runtime_of(pod),
            Fault::StartNode { number, .. } | Fault::ShutDown { number, .. } | Fault::StopNode(number) => {
                on("kubelet", &format!("node-{number}"))
            }
            Fault::OnNode { node, .. } => on("containerd", node),
            Fault::Fill { pod, .. } => on("kubelet", &self.node_of(pod)?),
            Fault::Full { node, .. } | Fault::Skew { node, .. } => on("kubelet", node),
            Fault::Compact | Fault::Load(_) => Some(APISERVER),
            Fault::Release(None) => {
                let held = self.engine.controls().holds.first().cloned();
                held.and_then(|hold| self.concerned(&Fault::Hold(hold)))
            }
            Fault::Slow { .. } => None,
        }
    }

    /// The process of this name, or the first that the glob fits; of a controller, the process in which it runs.
    fn process_of(&self, glob: &str) -> Option<ActorId> {
        let first = |glob: &str| self.engine.actors().find(|(_, actor)| matches(glob, actor.name())).map(|(id, _)| id);
        let in_manager = || self.component_names().iter().any(|name| matches(glob, name));
        let server = || self.api_server(glob).or_else(|| (glob == "kube-apiserver").then_some(APISERVER));
        server().or_else(|| first(glob)).or_else(|| in_manager().then(|| first("kube-controller-manager*"))?)
    }
}
