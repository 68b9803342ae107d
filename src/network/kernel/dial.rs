//! One connection of a process: what is sent, and what comes back.

use std::rc::Rc;
use std::time::Duration;

use super::messages::{Dial, Heard};
use super::probe::connect;
use super::system::System;
use crate::netfilter::{Payload, Protocol};
use engine::{ActorId, CallId, Message, RpcError};

/// So long a process waits for a connection, and then for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

impl System {
    /// A process sends something to a port, from a namespace that it has entered.
    pub(super) fn dial(self: &Rc<Self>, call: CallId, from: ActorId, dial: Dial) {
        let me = self.clone();
        self.hub.spawn(self.actor, format!("{} on {}", dial.line(), self.name), async move {
            let heard = run(&me, &dial, PATIENCE).await;
            me.hub.reply(me.actor, from, call, "dial", heard.map(|heard| Rc::new(heard) as Rc<dyn Message>));
        });
    }
}

/// Connects, sends, and hears what is said to it. It waits no longer than `patience` for either.
async fn run(kernel: &Rc<System>, dial: &Dial, patience: Duration) -> Result<Heard, RpcError> {
    // What resolves `localhost` asks for addresses of one family alone.
    let tcp = if dial.address.is_loopback() { "tcp4" } else { "tcp" };
    let failed =
        |why: &str| RpcError { code: "Unknown", message: format!("dial {tcp} {}:{}: {why}", dial.address, dial.port) };
    let socket = kernel
        .open(&dial.namespace, Protocol::Tcp, dial.address, dial.port)
        .ok_or_else(|| failed("connect: network is unreachable"))?;
    connect(kernel, &socket, Some(kernel.now() + patience)).await.map_err(failed)?;
    socket.send(Payload::Data(dial.data.clone()));
    let said = match socket.hear(patience).await.map(|packet| packet.payload) {
        Some(Payload::Data(text)) => Some(text),
        _ => None,
    };
    socket.send(Payload::Fin);
    Ok(Heard(said))
}
