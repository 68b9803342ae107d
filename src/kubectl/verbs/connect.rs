//! A connection to what runs in a Pod: `exec`, `attach`, `port-forward`, `cp`.
//!
//! The API server says whether it may be and which kubelet is at the other end. A real one stays in the middle, for as
//! long as the connection is open; here the two talk to each other from then on. Mirrors `createExecutor` and `createDialer`.

use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::left_open::{Ending, State, Terminal, Then};
use crate::nodes::{Ask, Shell, Told};
use engine::ActorId;
use object::status::Reason;
use object::{Kind, Status};
use wire::{Body, Request, Response, Subresource, Transport, Verb};

/// Who is at the other end of a connection.
pub struct Backend {
    /// The node.
    pub node: String,
    /// Where its kubelet listens: `172.18.0.10:10250`.
    pub address: String,
    /// The kubelet.
    pub kubelet: ActorId,
    /// The container that was meant; empty if it is about the whole Pod.
    pub container: String,
}

/// Asks for a connection: as a WebSocket, which is a GET, and where the server wants none of that by SPDY, which is a POST.
pub async fn connect(
    part: Subresource,
    namespace: &str,
    pod: &str,
    body: Body,
    cx: &Kubectl,
) -> Result<Backend, Failure> {
    let mut request = cx.request(Verb::Get, Kind::Pod, namespace, pod, body);
    request.subresource = Some(part);
    let answer = match cx.send(request.clone()).await {
        Err(Failure::Server { .. } | Failure::Unanswered { why: Transport::Lost, .. }) => {
            cx.send(Request { verb: Verb::Create, ..request }).await
        }
        answer => answer,
    };
    let Response::PassedOn { node, kubelet: address, container } = answer? else {
        return Err(Failure::text("unable to upgrade connection"));
    };
    let unreachable = |why| Status::new(Reason::Unknown, format!("error dialing backend: {why}"));
    let kubelet = dial(&node, &address, cx).map_err(unreachable)?;
    Ok(Backend { node, address, kubelet, container })
}

/// The kubelet of a node.
///
/// # Errors
/// Why the API server cannot reach it.
pub fn dial(node: &str, address: &str, cx: &Kubectl) -> Result<ActorId, String> {
    cx.nodes.kubelet(node).map_err(|why| format!("dial tcp {address}: connect: {why}"))
}

impl Kubectl {
    /// That no other shell has the terminal.
    ///
    /// # Errors
    /// Which one.
    pub fn check_terminal(&self) -> Result<(), Failure> {
        match &*self.terminal.borrow() {
            Some(terminal) if self.is_at_terminal => {
                let place = &terminal.place;
                Err(Failure::text(format!("a shell in {place} has the terminal; leave it first, with exit")))
            }
            _ => Ok(()),
        }
    }

    /// Connects the terminal to a shell. Without a user to type, the shell does what it reads there and ends, and how it ended is
    /// returned.
    pub(super) async fn connected(&self, kubelet: ActorId, shell: Shell, place: String, then: Then) -> Option<Ending> {
        let Shell { stream, prompt, .. } = shell;
        if self.is_at_terminal {
            let (state, client) = (State::Waits(prompt), self.client.clone());
            self.terminal.set(Some(Terminal { place, kubelet, stream, state, client, then, line: None, killed: None }));
            return None;
        }
        let text = self.stdin.trim().to_owned();
        let typed = (!text.is_empty()).then_some(Ask::Typed { stream, text });
        for ask in typed.into_iter().chain([Ask::EndOfInput { stream }]) {
            match self.nodes.ask(&self.client, kubelet, ask).await {
                Ok(Told::Shell(Shell { printed, ended, .. })) => {
                    self.pass_on(&printed);
                    if let Some(code) = ended {
                        return Some(Ending::Code(code));
                    }
                }
                _ => return Some(Ending::Lost),
            }
        }
        None
    }
}
