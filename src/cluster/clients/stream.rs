//! Connections that go on as WebSockets, which clients open to what runs in Pods: [`exec`](super::exec) and `attach`,
//! [`forward`]. Frames of a channel each go to and fro. Mirrors `k8s.io/streaming`'s `wsstream`.
//!
//! Left out: SPDY, which a front end may carry in frames of its own.

use std::rc::Rc;

use serde_json::json;

use client::Client;
use engine::{ActorId, RpcError};
use kubectl::nodes::Ask;
use object::status::Reason;
use object::{Key, Status};
use rest::options::Query;
use rest::{Call, Encoding, HttpAnswer};
use wire::{Body, Response};

use super::exec::{Process, Program};
use super::forward::{self, Forward};
use super::{Arrival, Clients, Engine, ExchangeId, Sent};

/// The channels of a connection to a process.
pub(super) const STDIN: u8 = 0;
pub(super) const STDOUT: u8 = 1;
pub(super) const STDERR: u8 = 2;
const STATUS: u8 = 3;
/// A channel is at its end; its number follows.
pub const CLOSE: u8 = 255;

/// The protocols that are spoken with a process, the best first.
const PROTOCOLS: [&str; 2] = [V5, V4];
pub(super) const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";
/// What a client speaks that names no protocol. Ports are forwarded by it as by version 4.
const UNNAMED: &str = "";
/// SPDY in a WebSocket, as kubectl forwards ports. A front end that speaks it hands over each connection with [`forward::OPEN`].
pub const SPDY: &str = "SPDY/3.1+portforward.k8s.io";

/// A connection that a client sends frames by.
#[derive(Clone)]
pub(super) struct Connected {
    pub actor: ActorId,
    pub label: Rc<str>,
    pub kubelet: ActorId,
    pub to: End,
}

/// What is at the other end of one.
#[derive(Clone)]
pub(super) enum End {
    Process(Process),
    Forward(Forward),
}

/// Where a connection leads, and what its client wants of it.
pub(super) struct Target {
    pub number: ExchangeId,
    pub label: Rc<str>,
    pub pod: Key,
    pub container: String,
    pub kubelet: ActorId,
    pub query: Query,
    pub protocol: &'static str,
}

/// The protocol that a client and this server both speak.
fn protocol(arrival: &Arrival, spoken: &[&'static str]) -> Option<&'static str> {
    let offered = arrival.header("Sec-WebSocket-Protocol");
    let is_offered = |known: &&&'static str| offered.split(',').any(|one| one.trim() == **known);
    let asks = arrival.header("Upgrade").eq_ignore_ascii_case("websocket");
    spoken.iter().find(is_offered).copied().filter(|_| asks)
}

/// Connects a client to what it asks for.
pub(super) async fn connect(
    client: &Client,
    clients: &Clients,
    (number, label): (ExchangeId, Rc<str>),
    (call, passed): (&Call, &Response),
    arrival: &Arrival,
) {
    let refuse = |reason, why: String| {
        let status = Status::new(reason, why);
        clients.send(number, Sent::Answer(HttpAnswer::status(&status, Encoding::Json).into()));
    };
    let Response::PassedOn { node, kubelet: address, container } = passed else {
        return refuse(Reason::BadRequest, "there is nothing to connect to".to_owned());
    };
    let forwards = matches!(call.request.body, Body::None);
    let spoken: &[_] = if forwards { &[V4, SPDY, UNNAMED] } else { &PROTOCOLS };
    let Some(protocol) = protocol(arrival, spoken) else {
        let spoken = spoken[..2].join(" and ");
        return refuse(Reason::BadRequest, format!("unable to upgrade: only {spoken} are spoken here"));
    };
    let kubelet = match clients.nodes.kubelet(node) {
        Ok(kubelet) => kubelet,
        Err(why) => {
            let why = format!("error dialing backend: dial tcp {address}: connect: {why}");
            return refuse(Reason::InternalError, why);
        }
    };
    let (_, query) = arrival.target.split_once('?').unwrap_or_default();
    let pod = Key::new(&call.request.namespace, &call.request.name);
    let query = Query::parse(query);
    let target = Target { number, label, pod, container: container.clone(), kubelet, query, protocol };
    match &call.request.body {
        Body::Exec { command, .. } => clients.exec(client, target, Program::Command(command.clone())).await,
        Body::Attach { .. } => clients.exec(client, target, Program::Main).await,
        _ => match forward::ports(&target) {
            Ok(ports) => clients.forward(client, target, &ports).await,
            Err(why) => refuse(Reason::BadRequest, why),
        },
    }
}

impl Clients {
    /// A frame has come by a connection. Whether there is such a connection.
    pub fn data(&self, engine: &mut Engine, number: ExchangeId, frame: &[u8]) -> bool {
        let Some((channel, bytes)) = frame.split_first() else { return true };
        let mut all = self.connected.borrow_mut();
        let Some(connected) = all.get_mut(&number) else { return false };
        let (actor, label) = (connected.actor, connected.label.clone());
        let (clients, hub) = (self.clone(), engine.hub().clone());
        match &mut connected.to {
            End::Process(process) => {
                let is_next = process.hears(*channel, bytes);
                drop(all);
                match is_next {
                    Ok(false) => {}
                    Ok(true) => {
                        let task = async move { clients.heard(&hub, number).await };
                        engine.outside(actor, |engine| engine.hub().spawn(actor, label, task));
                    }
                    Err(error) => {
                        let connected = self.connected.borrow_mut().remove(&number);
                        self.fail(number, &error);
                        connected.into_iter().for_each(|connected| self.left(engine, connected));
                    }
                }
            }
            End::Forward(forward) => {
                let connection = forward.hears(*channel, bytes);
                drop(all);
                if let Some(connection) = connection {
                    let task = async move { clients.carry(&hub, number, connection).await };
                    engine.outside(actor, |engine| engine.hub().spawn(actor, label, task));
                }
            }
        }
        true
    }

    /// The client is gone: a shell that it has begun comes to the end of its input.
    pub(super) fn left(&self, engine: &mut Engine, connected: Connected) {
        let Connected { actor, label, kubelet, to: End::Process(process) } = connected else { return };
        let Some(stream) = process.shell().filter(|_| process.waits()) else { return };
        let ends = Ask::EndOfInput { stream };
        let asked = self.nodes.ask(&self.client(engine.hub(), actor), kubelet, ends);
        engine.outside(actor, |engine| engine.hub().spawn(actor, label, async move { drop(asked.await) }));
    }

    pub(super) fn connected(&self, client: &Client, target: &Target, to: End) {
        let Target { number, label, kubelet, .. } = target;
        let connected = Connected { actor: client.actor(), label: label.clone(), kubelet: *kubelet, to };
        self.connected.borrow_mut().insert(*number, connected);
    }

    pub(super) fn frame(&self, number: ExchangeId, channel: u8, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.send(number, Sent::Frame([&[channel], bytes].concat()));
        }
    }

    /// The process has ended.
    pub(super) fn finish(&self, number: ExchangeId, code: i32) {
        let status = match code {
            0 => json!({"metadata": {}, "status": "Success"}),
            code => json!({"metadata": {}, "status": "Failure",
                "message": format!("command terminated with non-zero exit code: exit status {code}"),
                "reason": "NonZeroExitCode",
                "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]}}),
        };
        self.last(number, &status);
    }

    /// It could not be done.
    pub(super) fn fail(&self, number: ExchangeId, error: &RpcError) {
        let message = format!("Internal error occurred: {}", error.message);
        let status = json!({"metadata": {}, "status": "Failure", "message": message, "reason": "InternalError",
            "details": {"causes": [{"message": error.message}]}, "code": 500});
        self.last(number, &status);
    }

    fn last(&self, number: ExchangeId, status: &serde_json::Value) {
        self.connected.borrow_mut().remove(&number);
        self.frame(number, STATUS, status.to_string().as_bytes());
        self.send(number, Sent::Ends);
    }
}
