//! Commands in containers for clients outside: `exec` over a WebSocket that a client has opened, in frames of a channel each.
//! Mirrors `k8s.io/streaming`'s `wsstream` and `remotecommand`, versions 4 and 5 of the protocol.
//!
//! A command without input runs when the connection is there; one that reads waits until its input ends, which only version 5
//! can say. A shell in a terminal gets line by line what is typed, and keys are echoed here, as the terminal's driver does it.
//!
//! Left out: SPDY; `attach`, `port-forward`; keys that move in a line; the size of the terminal.

use std::rc::Rc;

use serde_json::json;

use client::Client;
use engine::{ActorId, Hub, RpcError};
use kubectl::nodes::{Ask, Ran, Shell, Told};
use object::status::Reason;
use object::{Key, Status};
use rest::options::Query;
use rest::{Call, Encoding, HttpAnswer};
use wire::{Body, Response};

use super::{Arrival, Clients, ExchangeId, Sent};

/// The channels of a connection.
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
/// A client says so that a channel is at its end; its number follows.
const CLOSE: u8 = 255;

/// The protocols that are spoken, the best first.
const PROTOCOLS: [&str; 2] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

/// A connection to a command that reads what its client sends.
#[derive(Clone)]
pub(super) struct Connected {
    pub actor: ActorId,
    pub label: Rc<str>,
    kubelet: ActorId,
    reads: Reads,
    /// What has come and was not taken yet.
    input: Vec<u8>,
    /// The line that is being typed.
    line: String,
    /// The command works on what it got.
    works: bool,
}

/// What reads.
#[derive(Clone)]
enum Reads {
    /// A command, all at once.
    Command { pod: Key, container: String, command: Vec<String> },
    /// A shell in a terminal, by its number.
    Shell(u64),
}

/// The protocol that a client and this server both speak.
pub(super) fn protocol(arrival: &Arrival) -> Option<&'static str> {
    let offered = arrival.header("Sec-WebSocket-Protocol");
    let is_offered = |known: &&&str| offered.split(',').any(|one| one.trim() == **known);
    let asks = arrival.header("Upgrade").eq_ignore_ascii_case("websocket");
    PROTOCOLS.iter().find(is_offered).copied().filter(|_| asks)
}

/// Connects a client to a command in a container.
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
    let (Response::PassedOn { node, kubelet: address, container }, Body::Exec { command, .. }) =
        (passed, &call.request.body)
    else {
        return refuse(Reason::BadRequest, "this is left out here; the stepper's own kubectl has it".to_owned());
    };
    let Some(protocol) = protocol(arrival) else {
        return refuse(
            Reason::BadRequest,
            "unable to upgrade: only v5.channel.k8s.io and v4 are spoken here".to_owned(),
        );
    };
    let kubelet = match clients.nodes.kubelet(node) {
        Ok(kubelet) => kubelet,
        Err(why) => {
            let why = format!("error dialing backend: dial tcp {address}: connect: {why}");
            return refuse(Reason::InternalError, why);
        }
    };
    let (_, query) = arrival.target.split_once('?').unwrap_or_default();
    let query = Query::parse(query);
    let (stdin, tty) = (query.flag("stdin"), query.flag("tty"));
    let (pod, container, command) =
        (Key::new(&call.request.namespace, &call.request.name), container.clone(), command.clone());
    clients.send(number, Sent::Upgraded(protocol));
    let connected = |reads| Connected {
        actor: client.actor(),
        label: label.clone(),
        kubelet,
        reads,
        input: Vec::new(),
        line: String::new(),
        works: false,
    };
    if stdin && tty && clients.nodes.reads_commands(&command) {
        let shell = Ask::Shell { pod, container, command, tty };
        match clients.nodes.ask(client, kubelet, shell).await {
            Ok(Told::Shell(shell)) => {
                let reads = Reads::Shell(shell.stream);
                clients.connected.borrow_mut().insert(number, connected(reads));
                clients.show(number, &shell);
            }
            Ok(_) => clients.finish(number, 0),
            Err(error) => clients.fail(number, &error),
        }
        return;
    }
    let reads = Reads::Command { pod, container, command };
    if stdin && protocol == PROTOCOLS[0] {
        clients.connected.borrow_mut().insert(number, connected(reads));
        return;
    }
    let Connected { reads, .. } = connected(reads);
    run(client, clients, number, kubelet, reads, String::new()).await;
}

/// Runs a command with all its input, and sends what it prints.
async fn run(client: &Client, clients: &Clients, number: ExchangeId, kubelet: ActorId, reads: Reads, input: String) {
    let Reads::Command { pod, container, command } = reads else { return };
    match clients.nodes.ask(client, kubelet, Ask::Exec { pod, container, command, input }).await {
        Ok(Told::Ran(Ran { output, errors, code })) => {
            clients.frame(number, STDOUT, output.as_bytes());
            clients.frame(number, STDERR, errors.as_bytes());
            clients.finish(number, code);
        }
        Ok(_) => clients.finish(number, 0),
        Err(error) => clients.fail(number, &error),
    }
}

impl Clients {
    /// A frame has come by a connection. Whether there is such a connection.
    pub fn data(&self, engine: &mut super::Engine, number: ExchangeId, frame: &[u8]) -> bool {
        let Some((channel, bytes)) = frame.split_first() else { return true };
        let mut all = self.connected.borrow_mut();
        let Some(connected) = all.get_mut(&number) else { return false };
        let is_end = matches!((*channel, bytes), (CLOSE, [STDIN]));
        if *channel == STDIN {
            connected.input.extend_from_slice(bytes);
        }
        let (actor, label) = (connected.actor, connected.label.clone());
        let shell = matches!(connected.reads, Reads::Shell(_));
        drop(all);
        let (clients, hub) = (self.clone(), engine.hub().clone());
        engine.outside(actor, |engine| {
            let task = clients.clone();
            if shell && *channel == STDIN {
                engine.hub().spawn(actor, label, async move { task.typed(&hub, number).await });
            } else if is_end && !shell {
                engine.hub().spawn(actor, label, async move { task.input_ended(&hub, number).await });
            }
        });
        true
    }

    async fn input_ended(&self, hub: &Hub, number: ExchangeId) {
        let Some(connected) = self.connected.borrow_mut().remove(&number) else { return };
        let client = self.client(hub, connected.actor);
        let input = String::from_utf8_lossy(&connected.input).into_owned();
        run(&client, self, number, connected.kubelet, connected.reads, input).await;
    }

    /// Takes keys until a line is whole, gives it to the shell, and so on.
    async fn typed(&self, hub: &Hub, number: ExchangeId) {
        while let Some((actor, kubelet, ask)) = self.next_line(number) {
            let client = self.client(hub, actor);
            match self.nodes.ask(&client, kubelet, ask).await {
                Ok(Told::Shell(shell)) => {
                    if let Some(connected) = self.connected.borrow_mut().get_mut(&number) {
                        connected.works = false;
                    }
                    self.show(number, &shell);
                }
                Ok(_) => return self.finish(number, 0),
                Err(error) => return self.fail(number, &error),
            }
        }
    }

    /// What is to be said to the shell next, if it waits and a line is whole. Keys are echoed on the way.
    fn next_line(&self, number: ExchangeId) -> Option<(ActorId, ActorId, Ask)> {
        let (mut echo, mut ask) = (String::new(), None);
        let mut all = self.connected.borrow_mut();
        let connected = all.get_mut(&number)?;
        let Reads::Shell(stream) = connected.reads else { return None };
        if connected.works {
            return None;
        }
        let mut taken = 0;
        for key in connected.input.clone() {
            taken += 1;
            match key {
                b'\r' | b'\n' => {
                    echo += "\r\n";
                    ask = Some(Ask::Typed { stream, text: std::mem::take(&mut connected.line) });
                }
                3 => {
                    echo += "^C\r\n";
                    connected.line.clear();
                    ask = Some(Ask::Typed { stream, text: "^C".to_owned() });
                }
                4 if connected.line.is_empty() => ask = Some(Ask::EndOfInput { stream }),
                8 | 127 if connected.line.pop().is_some() => echo += "\u{8} \u{8}",
                8 | 127 => {}
                key if key >= b' ' => {
                    connected.line.push(char::from(key));
                    echo.push(char::from(key));
                }
                _ => {}
            }
            if ask.is_some() {
                break;
            }
        }
        connected.input.drain(..taken);
        connected.works = ask.is_some();
        let (actor, kubelet) = (connected.actor, connected.kubelet);
        drop(all);
        self.frame(number, STDOUT, echo.as_bytes());
        ask.map(|ask| (actor, kubelet, ask))
    }

    /// Shows what a shell has printed, and its prompt; or how it has ended.
    fn show(&self, number: ExchangeId, shell: &Shell) {
        let printed = shell.printed.replace('\n', "\r\n");
        self.frame(number, STDOUT, printed.as_bytes());
        match shell.ended {
            Some(code) => self.finish(number, code),
            None => self.frame(number, STDOUT, shell.prompt.as_bytes()),
        }
    }

    fn frame(&self, number: ExchangeId, channel: u8, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.send(number, Sent::Frame([&[channel], bytes].concat()));
        }
    }

    /// The command has ended.
    fn finish(&self, number: ExchangeId, code: i32) {
        let status = match code {
            0 => json!({"metadata": {}, "status": "Success"}),
            code => json!({"metadata": {}, "status": "Failure",
                "message": format!("command terminated with non-zero exit code: exit status {code}"),
                "reason": "NonZeroExitCode",
                "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]}}),
        };
        self.last(number, &status);
    }

    /// The command could not be run.
    fn fail(&self, number: ExchangeId, error: &RpcError) {
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
