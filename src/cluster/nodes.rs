//! kubectl's way to the nodes: what it asks of a kubelet's port becomes messages to that kubelet, over the machines' network.

use std::any::Any;
use std::net::Ipv4Addr;
use std::rc::Rc;

use client::Client;
use engine::{ActorId, Message, RpcError};
use kubectl::nodes::{Ask, Log, Nodes, Ran, Shell, Soon, Told, Unreachable};
use kubelet::cri::{CriResponse, Interrupt};
use kubelet::pages::{Get, Page};
use kubelet::runtime::state::Journal;
use kubelet::runtime::terminal::CTRL_D;
use kubelet::server;
use network::kernel::Fabric;
use network::kernel::fabric::{CONTROL_PLANE, OUTSIDE};
use network::kernel::messages::{Close, Dial, Heard, Listen, Listening};
use userland::programs::HERE;
use userland::shell as script;

/// The machines' network, and the log files on them.
pub(super) struct Machines {
    pub(super) fabric: Fabric,
    pub(super) journal: Journal,
}

impl Nodes for Machines {
    fn kubelet(&self, node: &str) -> Result<ActorId, Unreachable> {
        match (self.fabric.machine(node), self.fabric.kubelet(node)) {
            (Some(_), Some(kubelet)) => Ok(kubelet),
            (Some(_), None) => Err(Unreachable::Refused),
            (None, _) => Err(Unreachable::NoRoute),
        }
    }

    fn ask(&self, client: &Client, kubelet: ActorId, ask: Ask) -> Soon<Result<Told, RpcError>> {
        let hub = client.hub().clone();
        Box::pin(async move {
            let runs_command = matches!(ask, Ask::Exec { .. } | Ask::Shell { .. });
            let answer = hub.rpc(kubelet, message(ask)).await;
            let reply: Rc<dyn Any> = answer.map_err(|error| if runs_command { with_programs(error) } else { error })?;
            if let Some(Page { code, content_type, body }) = reply.downcast_ref::<Page>().cloned() {
                return Ok(Told::Page { code, content_type, body });
            }
            Ok(reply.downcast_ref().map_or(Told::Attached, told))
        })
    }

    fn interrupt(&self, client: &Client, kubelet: ActorId, stream: u64) {
        client.hub().tell(client.actor(), kubelet, Rc::new(Interrupt { stream }));
    }

    fn dial(
        &self,
        client: &Client,
        address: Ipv4Addr,
        port: u16,
        data: String,
    ) -> Soon<Result<Option<String>, String>> {
        let (hub, machine) = (client.hub().clone(), self.fabric.machine_at(CONTROL_PLANE));
        Box::pin(async move {
            let machine =
                machine.ok_or_else(|| format!("dial tcp {address}:{port}: connect: network is unreachable"))?;
            let dial = Dial { namespace: String::new(), address, port, data };
            let reply: Rc<dyn Any> = hub.rpc(machine, Rc::new(dial)).await.map_err(|error| error.message)?;
            Ok(reply.downcast_ref::<Heard>().and_then(|heard| heard.0.clone()))
        })
    }

    fn listen(&self, client: &Client, address: Ipv4Addr, port: u16) -> Soon<Result<u16, String>> {
        let (hub, machine) = (client.hub().clone(), self.fabric.machine_at(OUTSIDE));
        Box::pin(async move {
            let machine = machine.ok_or("there is no machine outside the cluster")?;
            let wanted = Listen { address, port, name: "kubectl port-forward".to_owned() };
            let reply: Rc<dyn Any> = hub.rpc(machine, Rc::new(wanted)).await.map_err(|error| error.message)?;
            reply.downcast_ref().map(|Listening(port)| *port).ok_or_else(|| "it is off".to_owned())
        })
    }

    fn close(&self, client: &Client, port: u16) {
        if let Some(machine) = self.fabric.machine_at(OUTSIDE) {
            client.hub().tell(client.actor(), machine, Rc::new(Close(port)));
        }
    }

    fn log(&self, pod: &str, container: &str) -> Option<Log> {
        let journal = self.journal.borrow();
        let log = journal.get(&(pod.to_owned(), container.to_owned()))?;
        let (pod_uid, lines, before) = (log.pod_uid.clone(), log.lines.clone(), log.before.clone());
        Some(Log { pod_uid, attempt: log.attempt, lines, before, ended: log.ended })
    }

    fn reads_commands(&self, command: &[String]) -> bool {
        script::reads_commands(command)
    }
}

/// What is sent to the kubelet.
fn message(ask: Ask) -> Rc<dyn Message> {
    match ask {
        Ask::Exec { pod, container, command, input } => Rc::new(server::Exec { pod, container, command, input }),
        Ask::Shell { pod, container, command, tty } => Rc::new(server::Shell { pod, container, command, tty }),
        Ask::Attach { pod, container, stdin, tty } => Rc::new(server::Attach { pod, container, stdin, tty }),
        Ask::Typed { stream, text } => Rc::new(server::Typed { stream, text }),
        Ask::EndOfInput { stream } => Rc::new(server::Typed { stream, text: CTRL_D.to_owned() }),
        Ask::PortForward { pod } => Rc::new(server::PortForward { pod }),
        Ask::Forwarded { sandbox, port, data } => Rc::new(server::Forwarded { sandbox, port, data }),
        Ask::Get { path } => Rc::new(Get { path }),
    }
}

/// What the kubelet says, which is what its runtime says.
fn told(response: &CriResponse) -> Told {
    match response.clone() {
        CriResponse::Ran { printed, exit_code } => Told::Ran(Ran { printed, code: exit_code }),
        CriResponse::Stream(stream) => Told::Shell(Shell {
            stream: stream.id,
            printed: stream.printed,
            prompt: stream.prompt,
            ended: stream.ended,
        }),
        CriResponse::Sandbox(sandbox) => Told::Sandbox(sandbox.id.clone()),
        CriResponse::Forwarded(said) => Told::Forwarded(said),
        _ => Told::Attached,
    }
}

/// Of a program that is not there, which there are.
fn with_programs(error: RpcError) -> RpcError {
    let RpcError { code, message } = error;
    match code != "NotFound" && message.contains("not found in $PATH") {
        true => RpcError { code, message: format!("{message}\nContainers here have {HERE}.") },
        false => RpcError { code, message },
    }
}
