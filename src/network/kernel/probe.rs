//! A kubelet's probe: one connection from the machine's own network to a Pod, and what comes back.
//!
//! Mirrors `pkg/probe/{http,tcp,grpc}`; the texts are theirs. Its packets go the way of all packets, but they are marked:
//! a user who steps through a cluster does not want to stop at each of them. Requests of a hook go the same way.
//!
//! Left out: TLS (an `https` probe gets on without); headers; every server here answers health checks of gRPC.

use std::fmt;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use super::page::HEALTH_CHECK;
use super::socket::{SYN_TRIES, Socket};
use super::system::System;
use crate::netfilter::{Payload, Protocol, Unreachable};
use engine::Message;
use object::time::Instant;
use object::time::go_duration;

/// How a probe reaches into a Pod, other than by running a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeTarget {
    /// An HTTP GET of a path at a port.
    HttpGet {
        /// `http` or `https`.
        scheme: String,
        /// The port.
        port: u16,
        /// The path, with its slash.
        path: String,
    },
    /// A TCP connection.
    TcpSocket {
        /// The port.
        port: u16,
    },
    /// A gRPC health check.
    Grpc {
        /// The port.
        port: u16,
    },
}

/// What a kubelet asks the kernel of its machine to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Where.
    pub address: Ipv4Addr,
    /// How.
    pub target: ProbeTarget,
    /// After so long it has failed; None: it waits as long as it takes.
    pub timeout: Option<Duration>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// Whether something answered well.
    pub success: bool,
    /// What, or why not.
    pub output: String,
}

impl ProbeTarget {
    fn port(&self) -> u16 {
        match self {
            ProbeTarget::HttpGet { port, .. } | ProbeTarget::TcpSocket { port } | ProbeTarget::Grpc { port } => *port,
        }
    }
}

impl Probe {
    /// The words behind `Get` in an error of an HTTP probe, or nothing for other probes.
    fn get(&self) -> String {
        match &self.target {
            ProbeTarget::HttpGet { scheme, port, path } => {
                format!("Get \"{scheme}://{}:{port}{path}\": ", self.address)
            }
            _ => String::new(),
        }
    }

    /// The time-out, as Go prints it.
    fn limit(&self) -> String {
        self.timeout.map(go_duration).unwrap_or_default()
    }

    /// Why no connection came about.
    fn unconnected(&self, why: &str) -> Probed {
        let (address, port) = (self.address, self.target.port());
        let output = match (&self.target, why) {
            (ProbeTarget::Grpc { .. }, _) => {
                let within = self.limit();
                format!(
                    "timeout: failed to connect service \"{address}:{port}\" within {within}: context deadline exceeded"
                )
            }
            (ProbeTarget::HttpGet { .. }, TIMEOUT) => format!("{}{LATE}", self.get()),
            _ => format!("{}dial tcp {address}:{port}: {why}", self.get()),
        };
        Probed { success: false, output }
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, port) = (self.address, self.target.port());
        match &self.target {
            ProbeTarget::HttpGet { scheme, path, .. } => write!(f, "probe {scheme}://{address}:{port}{path}"),
            ProbeTarget::TcpSocket { .. } => write!(f, "probe tcp {address}:{port}"),
            ProbeTarget::Grpc { .. } => write!(f, "probe grpc {address}:{port}"),
        }
    }
}

impl Message for Probe {
    fn method(&self) -> &'static str {
        "probe"
    }

    fn json(&self) -> Value {
        json!({"probe": self.to_string(), "timeoutSeconds": self.timeout.map(|timeout| timeout.as_secs())})
    }

    fn line(&self) -> String {
        self.to_string()
    }
}

impl Message for Probed {
    fn method(&self) -> &'static str {
        "probe"
    }

    fn json(&self) -> Value {
        json!({"success": self.success, "output": self.output})
    }
}

const TIMEOUT: &str = "i/o timeout";
/// `DefaultConfig` of gRPC's back-off, without its jitter: the pause between two tries to connect, and how it grows.
const REDIAL_PAUSE: Duration = Duration::from_secs(1);
const REDIAL_FACTOR: f64 = 1.6;
const LATE: &str = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";

/// Runs a probe from the machine's own network.
pub async fn run(kernel: &Rc<System>, probe: &Probe) -> Probed {
    let deadline = probe.timeout.map(|timeout| kernel.now() + timeout);
    let socket = match reach(kernel, probe, deadline).await {
        Ok(socket) => socket,
        Err(why) => return probe.unconnected(why),
    };
    let request = match &probe.target {
        ProbeTarget::TcpSocket { .. } => {
            socket.send(Payload::Fin);
            return Probed { success: true, output: String::new() };
        }
        ProbeTarget::HttpGet { port, path, .. } => {
            let host = format!("{}:{port}", probe.address);
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\n\r\n")
        }
        ProbeTarget::Grpc { .. } => format!("{HEALTH_CHECK} HTTP/2\r\n\r\n"),
    };
    socket.send(Payload::Data(request));
    let answer = socket.hear(deadline.map(|deadline| deadline - kernel.now())).await.map(|packet| packet.payload);
    socket.send(Payload::Fin);
    judge(probe, answer)
}

/// The connection. A port that is closed is an answer, but not to gRPC, which tries again until the time is over (`WithBlock`).
async fn reach(kernel: &Rc<System>, probe: &Probe, deadline: Option<Instant>) -> Result<Socket, &'static str> {
    let mut pause = REDIAL_PAUSE;
    loop {
        let socket = kernel.open("", Protocol::Tcp, probe.address, probe.target.port());
        let mut socket = socket.ok_or("connect: network is unreachable")?;
        socket.probes = true;
        let Err(why) = connect(kernel, &socket, deadline).await else { return Ok(socket) };
        if !matches!(probe.target, ProbeTarget::Grpc { .. }) || is_over(kernel, deadline) {
            return Err(why);
        }
        // Nothing more comes to a socket that was refused: this is the pause, and no step of its own.
        socket.hear(left(kernel, deadline).min(pause)).await;
        pause = pause.mul_f64(REDIAL_FACTOR);
    }
}

/// The handshake. A SYN is sent again after 1, 3, 7 … seconds, until the kernel gives up.
pub(super) async fn connect(
    kernel: &Rc<System>,
    socket: &Socket,
    deadline: Option<Instant>,
) -> Result<(), &'static str> {
    for attempt in 0..SYN_TRIES {
        if is_over(kernel, deadline) {
            return Err(TIMEOUT);
        }
        socket.send(Payload::Syn);
        let patience = Duration::from_secs(1 << attempt);
        match socket.hear(left(kernel, deadline).min(patience)).await.map(|packet| packet.payload) {
            Some(Payload::SynAck) => return Ok(()),
            Some(Payload::Rst | Payload::Unreachable { code: Unreachable::Port, .. }) => {
                return Err("connect: connection refused");
            }
            Some(Payload::Unreachable { code: Unreachable::Net, .. }) => return Err("connect: network is unreachable"),
            Some(_) => return Err("connect: no route to host"),
            None => {}
        }
    }
    Err(if is_over(kernel, deadline) { TIMEOUT } else { "connect: connection timed out" })
}

fn left(kernel: &System, deadline: Option<Instant>) -> Duration {
    deadline.map_or(Duration::MAX, |deadline| deadline - kernel.now())
}

fn is_over(kernel: &System, deadline: Option<Instant>) -> bool {
    left(kernel, deadline).is_zero()
}

/// What an answer means.
fn judge(probe: &Probe, answer: Option<Payload>) -> Probed {
    let text = match answer {
        Some(Payload::Data(text)) => text,
        None if matches!(probe.target, ProbeTarget::Grpc { .. }) => {
            return failed(format!("timeout: health rpc did not complete within {}", probe.limit()));
        }
        Some(Payload::Rst) => return failed(format!("{}read: connection reset by peer", probe.get())),
        Some(_) => return failed(format!("{}EOF", probe.get())),
        None => return failed(format!("{}{LATE}", probe.get())),
    };
    let status: u16 = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let well = (200..400).contains(&status);
    match (&probe.target, well) {
        (ProbeTarget::Grpc { .. }, true) => Probed { success: true, output: "service healthy".to_owned() },
        (ProbeTarget::Grpc { .. }, false) => failed("service unhealthy (responded with \"NOT_SERVING\")".to_owned()),
        (_, true) => Probed { success: true, output: text.rsplit("\r\n\r\n").next().unwrap_or_default().to_owned() },
        (_, false) => failed(format!("HTTP probe failed with statuscode: {status}")),
    }
}

fn failed(output: String) -> Probed {
    Probed { success: false, output }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_health_check_that_is_late_says_at_which_end() {
        let probe = |target: ProbeTarget, seconds: u64| Probe {
            address: Ipv4Addr::new(10, 244, 1, 2),
            target,
            timeout: Some(Duration::from_secs(seconds)),
        };
        let grpc = probe(ProbeTarget::Grpc { port: 80 }, 90);
        let unconnected = grpc.unconnected(TIMEOUT).output;
        let within = "timeout: failed to connect service \"10.244.1.2:80\" within 1m30s: context deadline exceeded";
        assert_eq!(unconnected, within);
        assert_eq!(judge(&grpc, None).output, "timeout: health rpc did not complete within 1m30s");
        let http = probe(ProbeTarget::HttpGet { scheme: "http".into(), port: 80, path: "/".into() }, 1);
        assert_eq!(judge(&http, None).output, format!("Get \"http://10.244.1.2:80/\": {LATE}"));
    }
}
