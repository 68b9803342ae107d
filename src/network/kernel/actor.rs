//! A machine's kernel as an actor: it takes packets as they come and sends them on, and runs `curl`, `ping` and
//! `nslookup` for its callers.

use std::any::Any;
use std::pin::Pin;
use std::rc::Rc;

use super::fabric::Fabric;
use super::frame::Frame;
use super::messages::{Close, Dial, Execute, Executed, Listen};
use super::probe::{self, Probe};
use super::sockets::Resolver;
use super::system::{LATER, System, TIMEOUT};
use crate::host::Host;
use crate::netfilter::Protocol;
use engine::{Actor, ActorId, CallId, Delivery, Hub};

/// How a program of the machine is run, in a network namespace and with such a `/etc/resolv.conf`: a kernel knows no program
/// itself.
pub type RunProgram = fn(Rc<System>, String, Resolver, Execute) -> Pin<Box<dyn Future<Output = Executed>>>;

/// The kernel of one machine.
pub struct KernelActor {
    name: String,
    system: Rc<System>,
    run: RunProgram,
}

impl KernelActor {
    /// The kernel of the machine `name`, whose programs `run` runs. `is_node`: the network add-on keeps routes on it.
    pub fn new(
        hub: Hub,
        actor: ActorId,
        name: &str,
        is_node: bool,
        host: Rc<Host>,
        fabric: Fabric,
        run: RunProgram,
    ) -> KernelActor {
        let system = Rc::new(System::new(hub, actor, name, is_node, host, fabric));
        KernelActor { name: format!("kernel/{name}"), system, run }
    }

    /// The machine.
    pub fn host(&self) -> &Rc<Host> {
        &self.system.host
    }

    /// Runs a command as a task of its own.
    fn execute(&self, call: CallId, from: ActorId, execute: Execute) {
        let (me, run) = (self.system.clone(), self.run);
        let label = format!("{} on {}", execute.shown(), me.name);
        self.system.hub.spawn(me.actor, label, async move {
            let executed = match me.place_of(&execute.pod) {
                Some((namespace, resolver)) => run(me.clone(), namespace, resolver, execute).await,
                None => Executed {
                    errors: format!("{} has no network on {}\n", execute.pod, me.name),
                    code: 1,
                    ..Executed::default()
                },
            };
            me.hub.reply(me.actor, from, call, "exec", Ok(Rc::new(executed)));
        });
    }

    /// Runs a kubelet's probe as a task of its own.
    fn probe(&self, call: CallId, from: ActorId, probe: Probe) {
        let me = self.system.clone();
        self.system.hub.spawn(me.actor, format!("{probe} on {}", me.name), async move {
            let probed = probe::run(&me, &probe).await;
            me.hub.reply(me.actor, from, call, "probe", Ok(Rc::new(probed)));
        });
    }
}

impl Actor for KernelActor {
    fn name(&self) -> &str {
        &self.name
    }

    fn deliver(&self, delivery: Delivery) {
        let system = &self.system;
        match delivery {
            Delivery::Rpc { call, from, message } => {
                let any: &dyn Any = &*message;
                if let Some(frame) = any.downcast_ref::<Frame>() {
                    system.frame(frame.clone());
                } else if let Some(execute) = any.downcast_ref::<Execute>() {
                    self.execute(call, from, execute.clone());
                } else if let Some(probe) = any.downcast_ref::<Probe>() {
                    self.probe(call, from, probe.clone());
                } else if let Some(dial) = any.downcast_ref::<Dial>() {
                    system.dial(call, from, dial.clone());
                } else if let Some(listen) = any.downcast_ref::<Listen>() {
                    system.listen(call, from, listen);
                } else if let Some(Close(port)) = any.downcast_ref::<Close>() {
                    system.host.sockets.borrow_mut().close_port("", Protocol::Tcp, *port);
                }
            }
            Delivery::Wake { what: TIMEOUT, key } => system.timeout(&key),
            Delivery::Wake { what: LATER, key } => system.send_late(&key),
            Delivery::Wake { .. } | Delivery::Notification { .. } => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
