//! Processes that stop and start, containers that die, nodes that are short of something.

use std::rc::Rc;

use crate::engine::ActorId;
use crate::kubelet::eviction::usage::EphemeralStorage;
use crate::kubelet::{Kubelet, Machine};
use crate::network::host::Shortage;
use crate::object::Key;
use crate::object::quantity::Amount;

use super::super::{Cluster, NodeConfig, Program};

impl Cluster {
    /// Stops a process as a crash does: caches and queues are lost, its watches break, calls under way are forgotten.
    pub fn stop_process(&mut self, name: &str) -> Result<String, String> {
        if let Some(server) = self.api_server(name) {
            if self.engine.controls().servers_down.contains(&server) {
                return Err(format!("{name} does not run; start {name}"));
            }
            self.engine.stop_server(server);
            self.tend_api_port();
            return Ok(match self.engine.has_several_servers() {
                true => format!("{name} has stopped: every watch there breaks, and its clients turn to another"),
                false => format!("{name} has stopped: every watch breaks, every call finds nobody"),
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
            if !self.engine.controls().servers_down.contains(&server) {
                return Err(format!("{name} runs already"));
            }
            self.engine.start_server(server);
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

    pub(super) fn node_config(&self, name: &str) -> NodeConfig {
        let of_scenario = self.config.nodes.iter().find(|node| node.name == name).cloned();
        let number = name.rsplit('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(1);
        of_scenario.unwrap_or_else(|| NodeConfig { name: name.to_owned(), ..NodeConfig::numbered(number) })
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
        self.engine.find(name).filter(|id| self.engine.is_server(*id))
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
        let servers = self.engine.servers().filter(|(id, _)| self.engine.is_server(*id)).map(|(_, name)| name);
        let can: Vec<&str> = servers.chain(control_plane.iter().map(String::as_str)).collect();
        let can = can.join(", ");
        let instead = self.instead(name);
        Err(format!("{name:?} cannot be stopped or started by itself{why}; what can is {can}, kubelet/NODE{instead}"))
    }

    /// Kills the process of a Pod's container, or lets the kernel do it for its memory. False if none runs.
    pub fn kill_container(&mut self, pod: &Key, container: &str, oom: bool) -> bool {
        let Some(runtime) = self.runtime_of(pod) else { return false };
        let kill = |runtime: &crate::kubelet::runtime::Runtime| match oom {
            true => runtime.oom(pod, container),
            false => runtime.kill(pod, container),
        };
        self.with_runtime(runtime, kill).unwrap_or(false)
    }

    /// A node runs out of memory, disk or process numbers; none: it has enough again.
    pub fn shorten(&mut self, node: &str, shortage: Option<Shortage>) -> Result<String, String> {
        self.with_kubelet(node, |kubelet| kubelet.be_short_of(shortage))?;
        Ok(match shortage {
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

    /// A Pod has written so much to the disk of its node.
    pub(super) fn fill(&mut self, pod: &Key, bytes: u64, storage: &EphemeralStorage) -> Result<String, String> {
        let node = self.node_of(pod).ok_or_else(|| self.runs_nowhere(pod))?;
        self.with_kubelet(&node, |kubelet| kubelet.fill(pod, storage, bytes))??;
        let what = match storage {
            EphemeralStorage::Container(_) => "has written".to_owned(),
            EphemeralStorage::Volume(name) => format!("has in its volume {name}"),
        };
        let size = Amount::bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
        Ok(format!("{pod} {what} {size}; its kubelet will see that at its next look, every ten seconds"))
    }

    /// A node's clock goes wrong.
    pub fn skew_clock(&mut self, node: &str, seconds: f64) -> Result<String, String> {
        self.with_kubelet(node, |kubelet| kubelet.skew_clock((seconds * 1e9) as i64))?;
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

    pub(in crate::cluster) fn with_kubelet<T>(
        &mut self,
        node: &str,
        change: impl FnOnce(&Kubelet) -> T,
    ) -> Result<T, String> {
        let id = self.engine.find(&format!("kubelet/{node}")).ok_or_else(|| format!("no kubelet runs on {node:?}"))?;
        let done = self.engine.with_actor(id, |actor| actor.as_any().downcast_ref::<Kubelet>().map(change)).flatten();
        done.ok_or_else(|| format!("no kubelet runs on {node:?}"))
    }
}
