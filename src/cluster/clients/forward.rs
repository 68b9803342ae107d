//! Ports of Pods that are forwarded to clients outside. Mirrors `k8s.io/kubelet`'s `portforward`, whose WebSockets have two
//! channels for each port: its data, and what went wrong.
//!
//! What comes by a connection goes to the Pod request by request: HTTP in whole, anything else as it comes. Left out: data that is
//! no text.

use std::collections::BTreeMap;

use client::Client;
use engine::Hub;
use kubectl::nodes::{Ask, Told};
use object::text::Text;

use super::stream::{CLOSE, Connected, End, SPDY, Target};
use super::{Clients, ExchangeId, Sent};

/// A client opens a connection: the number of its channel and that of the port follow, this one in two bytes, the lower first.
pub const OPEN: u8 = 254;
/// So many connections are open at a time: each has two channels.
pub const CONNECTIONS_MAX: u8 = 127;

/// So many bytes are waited for until a request is whole, as the API server takes at most. More goes on in parts.
const HEARD_MAX: usize = 3 << 20;

/// A Pod's sandbox, and the connections to it.
#[derive(Clone)]
pub(super) struct Forward {
    sandbox: Text,
    /// By the channel of its data.
    connections: BTreeMap<u8, Connection>,
    /// The client opens connections by [`OPEN`].
    opens: bool,
}

#[derive(Clone, Default)]
struct Connection {
    port: u16,
    /// What has come and was not sent on yet.
    heard: Vec<u8>,
    /// The client sends nothing more, or wants no more than one answer.
    has_ended: bool,
    /// The Pod works on what was sent.
    works: bool,
}

/// The ports that a request names.
///
/// # Errors
/// It has none, or they are no ports.
pub(super) fn ports(target: &Target) -> Result<Vec<u16>, String> {
    if target.protocol == SPDY {
        return Ok(Vec::new());
    }
    let named = target.query.all("ports");
    let ports: Vec<&str> = named.iter().flat_map(|ports| ports.split(',')).filter(|port| !port.is_empty()).collect();
    if ports.is_empty() {
        return Err("query parameter \"port\" is required".to_owned());
    }
    if ports.len() > usize::from(CONNECTIONS_MAX) {
        return Err(format!("at most {CONNECTIONS_MAX} ports are forwarded by a connection"));
    }
    let port = |text: &str| match text.parse() {
        Ok(0) | Err(_) => Err(format!("invalid port {text:?}")),
        Ok(port) => Ok(port),
    };
    ports.into_iter().map(port).collect()
}

impl Forward {
    /// Takes what has come by a channel. The connection that has something to do now.
    pub(super) fn hears(&mut self, channel: u8, bytes: &[u8]) -> Option<u8> {
        let (data, is_end, bytes) = match (channel, bytes) {
            (OPEN, [data, low, high]) if self.opens && data % 2 == 0 && *data < OPEN - 1 => {
                let port = u16::from_le_bytes([*low, *high]);
                self.connections.insert(*data, Connection { port, ..Connection::default() });
                return None;
            }
            (OPEN, _) if self.opens => return None,
            (CLOSE, [data]) => (*data, true, &[][..]),
            (data, bytes) => (data, false, bytes),
        };
        let connection = self.connections.get_mut(&data)?;
        connection.has_ended |= is_end;
        connection.heard.extend_from_slice(bytes);
        Some(data)
    }
}

impl Connection {
    /// What is to be sent to the Pod next, if anything is whole.
    fn next(&mut self) -> Option<String> {
        let is_whole = self.has_ended || self.heard.len() > HEARD_MAX || is_whole(&self.heard);
        if self.works || self.heard.is_empty() || !is_whole {
            return None;
        }
        self.works = true;
        let request = String::from_utf8_lossy(&std::mem::take(&mut self.heard)).into_owned();
        self.has_ended |= is_last(&request);
        Some(request)
    }
}

/// Whether a request is here to its end. What is no HTTP has no end that shows.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let word = text.split(' ').next().unwrap_or_default();
    if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return true;
    }
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    if field(head, "transfer-encoding").is_some() {
        return body.ends_with("0\r\n\r\n");
    }
    let length = field(head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    // What is no text has grown on the way, never shrunk.
    body.len() >= length
}

/// Whether the server is to close the connection after its answer.
fn is_last(request: &str) -> bool {
    let head = request.split("\r\n\r\n").next().unwrap_or_default();
    field(head, "connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

impl Clients {
    /// Connects a client to a Pod's ports.
    pub(super) async fn forward(&self, client: &Client, target: Target, ports: &[u16]) {
        let number = target.number;
        let sandbox = match self.nodes.ask(client, target.kubelet, Ask::PortForward { pod: target.pod.clone() }).await {
            Ok(Told::Sandbox(sandbox)) => sandbox,
            Ok(_) => return self.send(number, Sent::Closed),
            Err(error) => {
                let status = object::Status::internal(&format!("unable to upgrade connection: {}", error.message));
                let answer = rest::HttpAnswer::status(&status, rest::Encoding::Json);
                return self.send(number, Sent::Answer(answer.into()));
            }
        };
        self.send(number, Sent::Upgraded(target.protocol));
        let mut connections = BTreeMap::new();
        for (channel, port) in (0..).step_by(2).zip(ports) {
            connections.insert(channel, Connection { port: *port, ..Connection::default() });
            // Each channel begins with the port that it is for.
            self.frame(number, channel, &port.to_le_bytes());
            self.frame(number, channel + 1, &port.to_le_bytes());
        }
        let opens = target.protocol == SPDY;
        self.connected(client, &target, End::Forward(Forward { sandbox, connections, opens }));
    }

    /// Sends on what has come by a connection, request by request.
    pub(super) async fn carry(&self, hub: &Hub, number: ExchangeId, channel: u8) {
        while let Some((Connected { actor, kubelet, .. }, ask)) = self.next_request(number, channel) {
            let client = self.client(hub, actor);
            let is_open = match self.nodes.ask(&client, kubelet, ask).await {
                Ok(Told::Forwarded(Some(said))) => {
                    self.frame(number, channel, said.as_bytes());
                    true
                }
                Ok(_) => false,
                Err(error) => {
                    self.frame(number, channel + 1, error.message.as_bytes());
                    false
                }
            };
            self.with_connection(number, channel, |connection| {
                connection.works = false;
                connection.has_ended |= !is_open;
            });
        }
        if self.with_connection(number, channel, |connection| connection.has_ended && !connection.works) == Some(true) {
            self.close(number, channel);
        }
    }

    fn next_request(&self, number: ExchangeId, channel: u8) -> Option<(Connected, Ask)> {
        let mut all = self.connected.borrow_mut();
        let connected = all.get_mut(&number)?;
        let End::Forward(forward) = &mut connected.to else { return None };
        let connection = forward.connections.get_mut(&channel)?;
        let data = connection.next()?;
        let ask = Ask::Forwarded { sandbox: forward.sandbox.clone(), port: connection.port, data };
        Some((connected.clone(), ask))
    }

    fn with_connection<T>(&self, number: ExchangeId, channel: u8, f: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        let mut all = self.connected.borrow_mut();
        let End::Forward(forward) = &mut all.get_mut(&number)?.to else { return None };
        forward.connections.get_mut(&channel).map(f)
    }

    /// A connection to a port is over; and all of it, if its client can open no other.
    fn close(&self, number: ExchangeId, channel: u8) {
        let mut all = self.connected.borrow_mut();
        let Some(End::Forward(forward)) = all.get_mut(&number).map(|connected| &mut connected.to) else { return };
        forward.connections.remove(&channel);
        let is_over = !forward.opens && forward.connections.is_empty();
        let opens = forward.opens;
        if is_over {
            all.remove(&number);
        }
        drop(all);
        if opens {
            self.frame(number, CLOSE, &[channel]);
        }
        if is_over {
            self.send(number, Sent::Ends);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_sent_on_when_it_is_whole() {
        for (bytes, whole) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nHost: a\r\n", false),
            ("G", false),
            ("POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\nab", false),
            ("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd", true),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", false),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", true),
            ("hello\n", true),
        ] {
            assert_eq!(is_whole(bytes.as_bytes()), whole, "{bytes:?}");
        }
    }

    #[test]
    fn a_client_may_want_one_answer() {
        assert!(is_last("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        assert!(!is_last("GET / HTTP/1.1\r\nHost: a\r\n\r\nConnection: close"));
    }

    #[test]
    fn frames_of_a_client_open_and_end_connections() {
        let mut forward = Forward { sandbox: "s".into(), connections: BTreeMap::new(), opens: true };
        for nonsense in [&[][..], &[1, 80, 0], &[254, 80, 0], &[0], &[0, 80, 0, 0]] {
            assert_eq!(forward.hears(OPEN, nonsense), None);
        }
        assert!(forward.connections.is_empty());
        assert_eq!(forward.hears(OPEN, &[2, 80, 0]), None);
        assert_eq!((forward.hears(2, b"hello"), forward.hears(0, b"none")), (Some(2), None));
        let connection = forward.connections.get_mut(&2).expect("it was opened");
        assert_eq!((connection.port, connection.next().as_deref()), (80, Some("hello")));
        assert_eq!((forward.hears(CLOSE, &[2]), forward.hears(CLOSE, &[])), (Some(2), None));
        assert!(forward.connections[&2].has_ended);
    }
}
