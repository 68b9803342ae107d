//! The Container Network Interface: how a runtime asks for a Pod's network.
//!
//! A network plugin is a program: it is run with a command in its environment and its configuration on standard input,
//! and prints a result or an error. A network is a list of plugins; each adds something and hands the result on. Here
//! each run of a plugin is one event, which shows what went in, each thing that was done, and what came out.
//!
//! The runtime's half:
//! - [`config`]: the files in `/etc/cni/net.d` that say which plugins a network consists of.
//! - [`libcni`]: runs them, forward for ADD and backward for DEL, and keeps the result in a file meanwhile.
//!
//! The plugins' half:
//! - [`plugins`]: the frame around every plugin, and the plugins.
//! - [`netns`]: namespaces, links, addresses and routes of one node, as data.
//! - [`iproute`]: all that as `ip` and `bridge` print it.
//!
//! Between them: [`exec`], a run's environment, input and output; [`result`], what ADD prints; [`ipnet`], addresses;
//! [`hash`], names of chains.
//!
//! Must hold:
//! - One address has one owner. Kept by `addresses_go_round` and `a_freed_address_rests`.
//! - Every ADD, failed ones too, is undone by a DEL, which may come twice. Kept by `a_failed_add_is_undone_and_told`
//!   and `what_add_does_del_undoes`.
//! - What must outlive a crash is on the node's disk and nowhere else. Kept by
//!   `addresses_leak_with_the_power_and_are_collected`.
//!
//! Left out: networks of versions before 0.3.0; single plugins in files of their own; a plugin's standard error.

use std::any::Any;
use std::rc::Rc;

use crate::host::Host;
use engine::{Actor, ActorId, Delivery, Hub, Message, Note};

pub mod config;
pub mod exec;
pub mod hash;
pub mod ipnet;
pub mod iproute;
pub mod libcni;
pub mod netns;
pub mod plugins;
pub mod result;

use exec::{PluginExit, PluginRun};
use plugins::Ipam;

/// The network plugins of one node: each message to them is a program to run.
pub struct Plugins {
    name: String,
    hub: Hub,
    actor: ActorId,
    host: Rc<Host>,
    ipam: Option<Rc<Ipam>>,
}

impl Plugins {
    /// The plugins of `node`, which is the machine `host`.
    pub fn new(hub: Hub, actor: ActorId, node: &str, host: Rc<Host>) -> Plugins {
        Plugins { name: format!("cni/{node}"), hub, actor, host, ipam: None }
    }

    /// The same, with another way to give addresses.
    pub fn with_ipam(self, ipam: Option<Rc<Ipam>>) -> Plugins {
        Plugins { ipam, ..self }
    }

    /// The machine they work on.
    pub fn host(&self) -> &Rc<Host> {
        &self.host
    }

    fn run(&self, run: &PluginRun) -> PluginExit {
        let mut steps = Vec::new();
        let recording = self.hub.recording();
        if recording {
            steps.push(format!("{} reads: {}", run.program, run.stdin));
        }
        let stdout = {
            let mut network = self.host.network.borrow_mut();
            let mut random = || self.hub.random(|random| random.next_u64());
            let mut machine = plugins::Machine {
                disk: &self.host.disk,
                network: &mut network,
                random: &mut random,
                steps: recording.then_some(&mut steps),
                ipam: self.ipam.as_deref(),
            };
            plugins::main(&mut machine, &run.program, &run.environment, &run.stdin)
        };
        if recording {
            match &stdout {
                Ok(serde_json::Value::Null) => {}
                Ok(printed) => steps.push(format!("prints: {printed}")),
                Err(error) => steps.push(format!("fails: {}", error.json())),
            }
        }
        for text in steps {
            self.hub.note(|| Note::Text { topic: "cni", text });
        }
        PluginExit { stdout: stdout.map(Rc::new) }
    }
}

impl Actor for Plugins {
    fn name(&self) -> &str {
        &self.name
    }

    fn deliver(&self, delivery: Delivery) {
        let Delivery::Rpc { call, from, message } = delivery else { return };
        let any: &dyn Any = &*message;
        if let Some(run) = any.downcast_ref::<PluginRun>() {
            let exit: Rc<dyn Message> = Rc::new(self.run(run));
            self.hub.reply(self.actor, from, call, message.method(), Ok(exit));
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
