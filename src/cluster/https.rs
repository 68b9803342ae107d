//! The API server's port: `https://172.18.0.2:6443`, for clients that come by the network, such as a program in a Pod.
//!
//! Components and kubectl are connected to the API server as the engine connects them. Here is the other way in: a TCP
//! connection to the control plane's machine, or to the Service `kubernetes`, which leads there; TLS; and a request in HTTP,
//! which becomes a request like any other ([`exchange`]). A client without a token is anonymous.
//!
//! Mirrors the serving half of `k8s.io/apiserver/pkg/server`.
//!
//! Left out: watches, which would need a connection that stays open; HTTP/2; clients' certificates. Of several API servers
//! there is one machine, whose port is open as long as one of them runs.

use std::any::Any;
use std::net::Ipv4Addr;
use std::rc::Rc;

use client::Client;
use engine::{Actor, ActorId, CallId, Delivery, Hub};
use network::kernel::messages::{Heard, Incoming};
use network::kernel::tls;
use object::Status;
use object::well_known::API_SERVER_IP;
use rest::exchange::{Caller, RawAnswer, RawRequest, Told, exchange};
use rest::{Encoding, HttpAnswer};
use wire::{Request, Transport, User, status_text};

/// The port of the API server on its machine.
pub const PORT: u16 = 6443;
/// The machine's name.
pub const MACHINE: &str = "control-plane";
/// Requests a second; priority and fairness is who limits them on a real server.
const REQUESTS: u32 = 1000;
/// The names in the server's certificate, as kubeadm has them.
const NAMES: &[&str] = &[
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "10.96.0.1",
    API_SERVER_IP,
];

/// The process that listens there: a part of the API server.
pub struct HttpsServer {
    hub: Hub,
    actor: ActorId,
}

impl HttpsServer {
    /// One that is to listen.
    pub fn new(hub: Hub, actor: ActorId) -> HttpsServer {
        HttpsServer { hub, actor }
    }

    /// Answers what has come by a connection, as a task of its own if the API server has to be asked.
    fn accept(&self, call: CallId, from: ActorId, Incoming { peer, data: said, .. }: &Incoming) {
        let reply = move |hub: &Hub, actor, heard| hub.reply(actor, from, call, "accept", Ok(Rc::new(Heard(heard))));
        if let Some(certificate) = tls::answer(said, NAMES) {
            return reply(&self.hub, self.actor, Some(certificate));
        }
        let Some(text) = tls::open(said) else {
            let plain = "Client sent an HTTP request to an HTTPS server.\n";
            let said = format!("HTTP/1.0 400 Bad Request\r\n\r\n{plain}");
            return reply(&self.hub, self.actor, Some(said));
        };
        let (hub, actor, text, peer) = (self.hub.clone(), self.actor, text.to_owned(), *peer);
        self.hub.spawn(actor, text.lines().next().unwrap_or_default().to_owned(), async move {
            let answer = serve(&hub, actor, peer, &text).await;
            reply(&hub, actor, answer.map(|answer| tls::seal(&answer)));
        });
    }
}

impl Actor for HttpsServer {
    fn name(&self) -> &str {
        "kube-apiserver:6443"
    }

    fn deliver(&self, delivery: Delivery) {
        let Delivery::Rpc { call, from, message } = delivery else { return };
        let any: &dyn Any = &*message;
        if let Some(incoming) = any.downcast_ref::<Incoming>() {
            self.accept(call, from, incoming);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The head of a request, read.
struct Head<'a> {
    method: &'a str,
    target: &'a str,
    headers: Vec<(&'a str, &'a str)>,
}

impl<'a> Head<'a> {
    fn parse(head: &'a str) -> Option<Head<'a>> {
        let mut lines = head.lines();
        let (method, rest) = lines.next()?.split_once(' ')?;
        let target = rest.split(' ').next()?;
        let headers = lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim()));
        Some(Head { method, target, headers: headers.collect() })
    }
}

/// The answer to a request; None: the connection is closed, as the API server is down.
async fn serve(hub: &Hub, actor: ActorId, peer: Ipv4Addr, text: &str) -> Option<String> {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let Some(head) = Head::parse(head) else { return Some("HTTP/1.1 400 Bad Request\r\n\r\n".to_owned()) };
    let raw = RawRequest { method: head.method, target: head.target, headers: &head.headers, body: body.as_bytes() };
    // Who asks is told with each request.
    let client = Client::new(hub.clone(), actor, Rc::new(User::anonymous("network")), REQUESTS, REQUESTS);
    let ask = async |request: Request| {
        let answer = client.request(request).await.ok()?;
        let refused = answer.result.as_ref().is_err_and(|error| *error == Transport::Refused.into());
        (!refused).then_some(answer)
    };
    let caller = Caller::At { peer, agent: format!("{}/{peer}", raw.program()).into() };
    let left_out = |why: &str| HttpAnswer::status(&Status::bad_request(why), Encoding::Json).into();
    let answer = match exchange(&raw, &caller, || hub.now(), &ask).await {
        Told::Answer(answer) => answer,
        Told::Watch(..) => left_out("a watch by the network is left out here: the connection would have to stay open"),
        Told::PassedOn(..) => left_out("what a kubelet answers is left out here; use kubectl logs"),
        Told::Closed => return None,
    };
    Some(written(&answer))
}

/// An answer as bytes.
fn written(RawAnswer { code, headers, body }: &RawAnswer) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let (reason, length) = (status_text(*code), body.len());
    format!("HTTP/1.1 {code} {reason}\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_whatever_the_case_of_its_names() {
        fn raw<'a>(head: &'a Head) -> RawRequest<'a> {
            RawRequest { method: head.method, target: head.target, headers: &head.headers, body: b"" }
        }
        let head = Head::parse("GET /api?x=y HTTP/1.1\r\nhost: a\r\nAUTHORIZATION: bearer t1 ").expect("it is a head");
        assert_eq!((head.method, head.target), ("GET", "/api?x=y"));
        assert_eq!((raw(&head).header("Host"), raw(&head).bearer()), ("a", "t1"));
        let basic = Head::parse("GET / HTTP/1.1\r\nAuthorization: Basic abc").expect("it is a head");
        assert_eq!((raw(&basic).bearer(), raw(&basic).header("Accept")), ("", ""));
        assert!(Head::parse("nonsense").is_none());
    }
}
