//! Processes that stop and start, and leaders that lose their office.

use std::rc::Rc;

use apiserver::host::control::stop_server;
use engine::ActorId;
use kubelet::Machine;

use super::super::{Cluster, Program};
use super::{Breaks, Fault, Row};

pub(super) const STOP: Row = Row {
    names: &[
        ("stop", "stop COMPONENT, as in: stop kube-scheduler"),
        ("start", "start COMPONENT, as in: start kube-scheduler"),
        ("crash", "crash COMPONENT, as in: crash kube-controller-manager"),
    ],
    read: |words| match (words.name, words.rest) {
        ("stop", [name]) => Ok(Fault::of(Process { name: (*name).to_owned(), how: How::Stops })),
        ("start", [name]) => Ok(Fault::of(Process { name: (*name).to_owned(), how: How::Starts })),
        ("crash", [name]) => Ok(Fault::of(Process::crash(name))),
        _ => words.wrong(),
    },
};

/// `stop kube-scheduler`, `start kube-scheduler`; `crash kube-scheduler`: stop and start.
#[derive(Clone, Debug)]
pub struct Process {
    name: String,
    how: How,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Stops,
    Starts,
    Crashes,
    /// The container that it is to be seen in has started, or (false) ended: it does the same, unless it was told before.
    Follows(bool),
}

impl Process {
    /// One that runs as long as its container does.
    pub fn follows(name: &str, runs: bool) -> Process {
        Process { name: name.to_owned(), how: How::Follows(runs) }
    }

    /// One that crashes.
    pub fn crash(name: &str) -> Process {
        Process { name: name.to_owned(), how: How::Crashes }
    }
}

impl Breaks for Process {
    fn name(&self) -> &'static str {
        match self.how {
            How::Stops | How::Follows(false) => "stop",
            How::Starts | How::Follows(true) => "start",
            How::Crashes => "crash",
        }
    }

    fn words(&self) -> String {
        self.name.clone()
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let name = &self.name;
        match self.how {
            How::Stops => cluster.stop_process(name),
            How::Starts => cluster.start_process(name),
            How::Follows(true) => Ok(cluster.start_process(name).unwrap_or_default()),
            How::Follows(false) => Ok(cluster.stop_process(name).unwrap_or_default()),
            How::Crashes => {
                cluster.stop_process(name)?;
                cluster.start_process(name)?;
                Ok(format!("{name} has crashed and starts again: what it knew is lost"))
            }
        }
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.process_of(&self.name)
    }

    fn in_full(&self, cluster: &Cluster) -> Option<Fault> {
        Some(Fault::of(Process { name: cluster.full_name_to_stop(&self.name), how: self.how }))
    }
}

pub(super) const LEADER_CHANGE: Row = Row {
    names: &[("leader-change", "leader-change [COMPONENT], as in: leader-change kube-scheduler")],
    read: |words| match words.rest {
        [] => Ok(Fault::of(LeaderChange("kube-controller-manager".to_owned()))),
        [component] => Ok(Fault::of(LeaderChange((*component).to_owned()))),
        _ => words.wrong(),
    },
};

/// `leader-change`, `leader-change kube-scheduler`: the leader's renewals get lost.
#[derive(Clone, Debug)]
struct LeaderChange(String);

impl Breaks for LeaderChange {
    fn name(&self) -> &'static str {
        "leader-change"
    }

    fn words(&self) -> String {
        self.0.clone()
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        cluster.change_leader(&self.0)
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.process_of(&format!("{}*", self.0))
    }
}

impl Cluster {
    /// Stops a process as a crash does: caches and queues are lost, its watches break, calls under way are forgotten.
    pub fn stop_process(&mut self, name: &str) -> Result<String, String> {
        if let Some(server) = self.api_server(name) {
            if self.engine.server.down.contains(&server) {
                return Err(format!("{name} does not run; start {name}"));
            }
            stop_server(&mut self.engine, server);
            self.tend_api_port();
            return Ok(match self.engine.server.has_several() {
                true => format!("{name} has stopped: every watch there breaks, and its clients turn to another"),
                false => format!("{name} has stopped: every watch breaks, every call to it fails"),
            });
        }
        self.known(name)?;
        let id = self.engine.find(name).ok_or_else(|| format!("{name} does not run; start {name}"))?;
        self.engine.remove(id);
        self.hang_up(id);
        self.tell_api_server();
        name.strip_prefix("kubelet/").into_iter().for_each(|node| self.fabric.set_kubelet(node, None));
        Ok(format!("{name} has stopped"))
    }

    /// Starts a process that was stopped. It knows nothing, and lists everything anew.
    pub fn start_process(&mut self, name: &str) -> Result<String, String> {
        if let Some(server) = self.api_server(name) {
            if !self.engine.server.down.contains(&server) {
                return Err(format!("{name} runs already"));
            }
            self.engine.server.start_server(server);
            self.tend_api_port();
            return Ok(format!("{name} answers again"));
        }
        self.known(name)?;
        if self.engine.find(name).is_some() {
            return Err(format!("{name} runs already"));
        }
        if self.control_plane().iter().any(|known| known == name) {
            self.start_control(name);
            self.tell_api_server();
        } else if let Some(program) = self.program(name) {
            let (hub, id) = (self.engine.hub().clone(), self.engine.next_actor());
            self.engine.add((program.new)(hub, id));
        } else {
            self.start_kubelet(name.trim_start_matches("kubelet/"))?;
        }
        Ok(format!("{name} starts"))
    }

    fn start_kubelet(&mut self, node: &str) -> Result<(), String> {
        let off = || format!("{node} is off; node start {node} starts all that is on it");
        let runtime = self.runtime_on(node).ok_or_else(off)?;
        let config = self.node_config(node);
        let (host, id) = (self.host(node).ok_or_else(off)?, self.engine.next_actor());
        self.with_runtime(runtime, |runtime| runtime.serve(id));
        let beside = |process: &str| self.engine.find(&format!("{process}/{node}"));
        let machine = Machine { host, runtime, kernel: beside("kernel"), driver: beside("csi-node") };
        self.fabric.set_kubelet(node, Some(id));
        self.engine.add(Rc::new(self.kubelet(id, &config, machine)));
        Ok(())
    }

    /// The process of this name beside those of Kubernetes.
    fn program(&self, name: &str) -> Option<&'static Program> {
        self.config.parts.programs.iter().find(|program| program.name == name)
    }

    /// Whether this process runs and can crash by itself.
    pub fn can_crash(&self, name: &str) -> bool {
        self.api_server(name).is_none() && self.known(name).is_ok() && self.engine.find(name).is_some()
    }

    /// The API server of this name.
    pub(super) fn api_server(&self, name: &str) -> Option<ActorId> {
        self.engine.find(name).filter(|id| self.engine.server.is_server(*id))
    }

    /// That a process of this name can be stopped and started.
    fn known(&self, name: &str) -> Result<(), String> {
        let kubelet = name
            .strip_prefix("kubelet/")
            .is_some_and(|node| self.runtime_on(node).is_some() || self.engine.find(name).is_some());
        let control_plane = self.control_plane();
        let ours = control_plane.iter().any(|known| known == name) || self.program(name).is_some();
        if kubelet || ours {
            return Ok(());
        }
        let runtime = name.starts_with("containerd/") || name.starts_with("cni/");
        let why =
            if runtime { ": what it knows of containers would have to be found again, which is left out" } else { "" };
        let servers = self.engine.servers().filter(|(id, _)| self.engine.server.is_server(*id)).map(|(_, name)| name);
        let can: Vec<&str> = servers.chain(control_plane.iter().map(String::as_str)).collect();
        let can = can.join(", ");
        let instead = self.instead(name);
        Err(format!("{name:?} cannot be stopped or started by itself{why}; what can is {can}, kubelet/NODE{instead}"))
    }
}
