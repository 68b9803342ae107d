//! What each fault does, and what is said of it.

use std::rc::Rc;
use std::time::Duration;

use crate::client::Informer;
use crate::controllers::{ControllerManager, apiextensions};
use crate::engine::control::Hold;
use crate::engine::failing::Failure;
use crate::kubelet::Kubelet;
use crate::kubelet::shutdown::GracePeriods;
use crate::network::proxy::KubeProxy;
use crate::object::glob::matches;
use crate::object::metrics::Load;
use crate::object::{Key, Kind};
use crate::scheduler::KubeScheduler;

use super::super::{Cluster, NodeConfig};
use super::Fault;
use super::text::Shown;

impl Cluster {
    /// Does it, and says what came of it. An error says why it cannot be; then nothing has changed.
    pub(super) fn perform(&mut self, fault: &Fault) -> Result<String, String> {
        match fault {
            Fault::Drop(event) => self.engine.drop_event(*event),
            Fault::Hold(hold) => self.hold(hold, fault.cut_off()),
            Fault::Release(None) => Ok(self.release_all()),
            Fault::Release(Some(hold)) => self.release(hold, fault.cut_off()),
            Fault::Disconnect(name, kind) => self.disconnect(name, *kind),
            Fault::Stale(stale) => {
                self.check_component(&stale.component)?;
                self.engine.make_stale(stale.clone())?;
                let (whose, plural) = (&stale.component, stale.kind.info().plural);
                Ok(format!("the next list of {plural} that {whose} gets is of revision {}", stale.revision))
            }
            Fault::Fail(failure) => self.fail(failure),
            Fault::Stop(name) => self.stop_process(name),
            Fault::Start(name) => self.start_process(name),
            Fault::Crash(name) => {
                self.stop_process(name)?;
                self.start_process(name)?;
                Ok(format!("{name} has crashed and starts again: what it knew is lost"))
            }
            Fault::Kill { pod, container, oom } => match self.kill_container(pod, container, *oom) {
                true => Ok("the process is gone; the kubelet will notice".to_owned()),
                false => Err(format!("no such container runs in {pod}{}", self.no_pod(pod))),
            },
            Fault::StartNode { number, cpu, memory_gi } => self.switch_on(*number, *cpu, *memory_gi),
            Fault::StopNode(number) => self.switch_off(*number),
            Fault::ShutDown { number, periods } => self.shut_down(*number, *periods),
            Fault::OnNode { node, command } => self.on_node(node, command),
            Fault::File { present, pod, path } => self.set_file(pod, path, *present),
            Fault::Answer { pod, status } => self.set_answer(pod, *status),
            Fault::Compact => Ok(self.compact()),
            Fault::Slow { image, time } => Ok(self.slow_image(image, *time)),
            Fault::Full { node, of } => self.shorten(node, *of),
            Fault::Fill { pod, bytes, storage } => self.fill(pod, *bytes, storage),
            Fault::Skew { node, milliseconds } => self.skew_clock(node, *milliseconds as f64 / 1e3),
            Fault::LeaderChange(component) => self.change_leader(component),
            Fault::Load(load) => self.put_load(load.clone()),
        }
    }

    /// `cut_off` is the node that this cuts off, if it does.
    fn hold(&mut self, hold: &Hold, cut_off: Option<&str>) -> Result<String, String> {
        cut_off.map_or_else(|| self.check_hold(hold), |node| self.check_node(node))?;
        let held = self.engine.hold(hold.clone());
        let waits = format!("{} in flight {}", events(held), if held == 1 { "waits" } else { "wait" });
        Ok(match cut_off {
            Some(node) => format!("{node} is cut off: it and kube-apiserver hear nothing of each other; {waits}"),
            None => format!("held: {}; {waits}", Shown(hold)),
        })
    }

    fn release(&mut self, hold: &Hold, cut_off: Option<&str>) -> Result<String, String> {
        match (self.engine.release(hold), cut_off) {
            (Some(free), Some(node)) => Ok(format!("{node} is no longer cut off; {} on the way", events(free))),
            (Some(free), None) => Ok(format!("released: {}; {} on the way", Shown(hold), events(free))),
            (None, Some(node)) => self.check_node(node).and_then(|()| Err(format!("{node} is not cut off"))),
            (None, None) => Err(format!("{} is not held; {}", Shown(hold), self.what_is_held())),
        }
    }

    fn release_all(&mut self) -> String {
        let holds = self.engine.controls().holds.clone();
        let free: usize = holds.iter().filter_map(|hold| self.engine.release(hold)).sum();
        format!("nothing is held any more; {} on the way", events(free))
    }

    fn disconnect(&mut self, name: &str, kind: Kind) -> Result<String, String> {
        self.check_component(name)?;
        let plural = kind.info().plural;
        match self.engine.disconnect(name, kind) {
            0 => Err(format!("{name} watches no {plural}; who OBJECT shows who does")),
            1 => Ok("1 watch has broken; what was under way is lost, and the informer lists anew".to_owned()),
            n => Ok(format!("{n} watches have broken; what was under way is lost, and the informers list anew")),
        }
    }

    fn fail(&mut self, failure: &Failure) -> Result<String, String> {
        self.check_component(&failure.component)?;
        self.engine.fail(failure.clone());
        let calls = if failure.times == 1 { "call".to_owned() } else { format!("{} calls", failure.times) };
        let plural = failure.kind.map_or("", |kind| kind.info().plural);
        let which = format!("{} {plural}", failure.verb);
        let which = if which == " " { String::new() } else { format!(" ({})", which.trim()) };
        Ok(format!("the next {calls} of {}{which} will fail", failure.component))
    }

    fn switch_on(&mut self, number: usize, cpu: Option<u32>, memory_gi: Option<u32>) -> Result<String, String> {
        let mut node = self.node_config(&NodeConfig::numbered(number).name);
        node.cpu = cpu.unwrap_or(node.cpu);
        node.memory_gi = memory_gi.unwrap_or(node.memory_gi);
        let name = node.name.clone();
        if self.is_machine(&name) {
            return Err(format!("{name} is on already"));
        }
        self.add_node(&node);
        Ok(format!("{name} is switched on"))
    }

    fn switch_off(&mut self, number: usize) -> Result<String, String> {
        let name = NodeConfig::numbered(number).name;
        if !self.is_machine(&name) {
            return Err(format!("{name} is off already"));
        }
        self.stop_node(&name);
        Ok(format!("{name} is cut off the power"))
    }

    /// The kubelet switches the node off when its Pods have ended.
    fn shut_down(&mut self, number: usize, periods: GracePeriods) -> Result<String, String> {
        let name = NodeConfig::numbered(number).name;
        if !self.is_machine(&name) {
            return Err(format!("{name} is off already"));
        }
        let off = Rc::new(Fault::StopNode(number));
        self.with_kubelet(&name, |kubelet| kubelet.shut_down(periods, off))??;
        let GracePeriods { all, critical } = periods;
        let ordinary = all.saturating_sub(critical);
        Ok(format!(
            "{name} is to be switched off: its Pods have {ordinary} s to end, then the critical ones {critical} s"
        ))
    }

    fn set_file(&mut self, pod: &Key, path: &str, present: bool) -> Result<String, String> {
        let (runtimes, when) = match self.runtime_of(pod) {
            Some(runtime) => (vec![runtime], ""),
            None if self.no_pod(pod).is_empty() => {
                (self.machines().filter_map(|machine| self.runtime_on(machine)).collect(), ", once it runs")
            }
            None => return Err(self.runs_nowhere(pod)),
        };
        let entry = (pod.to_string(), path.to_owned());
        for runtime in runtimes {
            self.with_runtime(runtime, |runtime| {
                runtime.with(|state| match present {
                    true => state.files.insert(entry.clone()),
                    false => state.files.remove(&entry),
                })
            });
        }
        Ok(format!("{path} in {pod} is {}{when}", if present { "there" } else { "gone" }))
    }

    fn set_answer(&mut self, pod: &Key, status: u16) -> Result<String, String> {
        let host = self.node_of(pod).and_then(|node| self.host(&node)).ok_or_else(|| self.runs_nowhere(pod))?;
        host.sockets.borrow_mut().answers.insert(pod.to_string(), status);
        Ok(format!("the servers in {pod} answer {status} from now on"))
    }

    fn compact(&mut self) -> String {
        let told = match self.engine.compact() {
            0 => "no watch lags behind".to_owned(),
            1 => "1 watch lags behind and gets 410".to_owned(),
            n => format!("{n} watches lag behind and get 410"),
        };
        format!("etcd has forgotten all before revision {}; {told}", self.engine.api.store.compacted())
    }

    /// From now on pulling an image takes so long, on every node.
    fn slow_image(&mut self, image: &str, time: Duration) -> String {
        self.images.entry(image.to_owned()).or_default().pull_time = Some(time);
        for machine in self.machines().map(str::to_owned).collect::<Vec<_>>() {
            self.script_images(&machine);
        }
        format!("pulling {image} takes {} s from now on", time.as_secs_f64())
    }

    fn put_load(&mut self, load: Load) -> Result<String, String> {
        let whose = if load.shared { "all together" } else { "each" };
        let said = format!("from now on these Pods use, {whose}: {load}");
        let now = self.engine.now();
        self.engine.api.metrics.put_on(load, now).map(|()| said)
    }

    /// What is held, for whoever asks.
    pub fn what_is_held(&self) -> String {
        let shown = |hold: &Hold| match Fault::Hold(hold.clone()).cut_off() {
            Some(node) => format!("all between {node} and kube-apiserver (mend {node})"),
            None => Shown(hold).to_string(),
        };
        let holds: Vec<String> = self.engine.controls().holds.iter().map(shown).collect();
        if holds.is_empty() { "nothing is held".to_owned() } else { format!("held: {}", holds.join("; ")) }
    }

    /// The processes that run, and the controllers in them by name and by account.
    pub fn component_names(&self) -> Vec<String> {
        let processes = self.engine.actors().map(|(_, actor)| actor.name().to_owned());
        let controllers = self.config.parts.controllers.iter().chain(apiextensions::TABLE);
        let controllers = controllers.flat_map(|row| [row.name, row.account.unwrap_or(row.name)]).map(str::to_owned);
        let servers = self.engine.servers().map(|(_, name)| name.to_owned());
        let mut names: Vec<String> = servers.chain(processes).collect();
        for name in controllers {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A process's informers; none if it is none whose informers are known.
    pub fn informers(&self, process: &str) -> Option<Vec<Informer>> {
        let any = self.engine.actor(self.engine.find(process)?)?.as_any();
        if let Some(kubelet) = any.downcast_ref::<Kubelet>() {
            return Some(kubelet.informers().into_iter().cloned().collect());
        }
        let of_proxy = || Some(any.downcast_ref::<KubeProxy>()?.informers().to_vec());
        let of_scheduler = || Some(any.downcast_ref::<KubeScheduler>()?.informers().to_vec());
        let of_manager = || Some(any.downcast_ref::<ControllerManager>()?.informers());
        of_manager().or_else(of_scheduler).or_else(of_proxy)
    }

    /// That a name is somebody's, so that a slip does not hold nobody.
    fn check_component(&self, glob: &str) -> Result<(), String> {
        let names = self.component_names();
        if names.iter().any(|name| matches(glob, name)) {
            return Ok(());
        }
        Err(self.no_component(glob))
    }

    fn check_node(&self, name: &str) -> Result<(), String> {
        let nodes: Vec<&str> = self.machines().collect();
        if nodes.contains(&name) {
            return Ok(());
        }
        Err(format!("there is no node {name:?} that is on; there are {}", nodes.join(", ")))
    }

    fn check_hold(&self, hold: &Hold) -> Result<(), String> {
        match hold {
            Hold::Component(name) => self.check_component(name),
            Hold::Link(a, b) => self.check_component(a).and_then(|()| self.check_component(b)),
            Hold::Watch(glob, kind) => {
                self.check_component(glob)?;
                let watches = |id, name: &str| match self.informers(name) {
                    Some(informers) => informers.iter().any(|informer| informer.kind() == *kind),
                    None => self.engine.watched_by(id).contains(kind),
                };
                let mut processes = self.engine.actors().map(|(id, actor)| (id, actor.name()));
                let follows_etcd = self.engine.has_several_servers() && self.api_server(glob).is_some();
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
