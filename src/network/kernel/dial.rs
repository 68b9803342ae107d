//! One connection to `localhost`: what is sent, and what comes back.

use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use crate::engine::RpcError;
use crate::node::netfilter::{Payload, Protocol};

use super::super::kernel::Inner;
use super::super::messages::{Dial, Heard};
use super::probe::connect;

/// Connects, sends, and hears what is said to it. It waits no longer than `patience` for either.
pub async fn run(kernel: &Rc<Inner>, dial: &Dial, patience: Duration) -> Result<Heard, RpcError> {
    let failed = |why: &str| RpcError {
        code: "Unknown",
        message: format!("dial tcp4 {}:{}: {why}", Ipv4Addr::LOCALHOST, dial.port),
    };
    let socket = kernel
        .open(&dial.namespace, Protocol::Tcp, Ipv4Addr::LOCALHOST, dial.port)
        .ok_or_else(|| failed("connect: network is unreachable"))?;
    connect(kernel, &socket, Some(kernel.hub.now() + patience)).await.map_err(failed)?;
    socket.send(Payload::Data(dial.data.clone()));
    let said = match socket.hear(patience).await.map(|packet| packet.payload) {
        Some(Payload::Data(text)) => Some(text),
        _ => None,
    };
    socket.send(Payload::Fin);
    Ok(Heard(said))
}
