//! The API server's port: `https://172.18.0.2:6443`, for whoever comes by the network, such as a program in a Pod.
//!
//! Components and kubectl are connected to the API server as the engine connects them. Here is the other way in: a TCP
//! connection to the control plane's machine, or to the Service `kubernetes`, which leads there; TLS; and a request in HTTP,
//! which becomes a request like any other ([`rest::call`]). Whoever shows no token is anonymous.
//!
//! Mirrors the serving half of `k8s.io/apiserver/pkg/server`.
//!
//! Left out: watches, which would need a connection that stays open; HTTP/2; clients' certificates. Of several API servers
//! there is one machine, whose port is open as long as one of them runs.

use std::any::Any;
use std::net::Ipv4Addr;
use std::rc::Rc;

use apiserver::rest::headers::impersonation;
use apiserver::rest::{self, Format, HttpAnswer, HttpRequest};
use client::Client;
use engine::{Actor, ActorId, CallId, Delivery, Hub};
use kinds::printers::View;
use network::kernel::messages::{Heard, Incoming};
use network::kernel::tls;
use object::well_known::API_SERVER_IP;
use object::{Discovery, Kind, Status};
use wire::status_text;
use wire::{Body, Connection, Request, Response, Transport, User, Verb};

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

    /// A header, empty if it is missing.
    fn header(&self, name: &str) -> &'a str {
        let found = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    /// The token that it shows, empty if there is none.
    fn bearer(&self) -> &'a str {
        let (scheme, token) = self.header("Authorization").split_once(' ').unwrap_or_default();
        if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" }
    }
}

/// The answer to a request; None: the connection is closed, as the API server is down.
async fn serve(hub: &Hub, actor: ActorId, peer: Ipv4Addr, text: &str) -> Option<String> {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let Some(head) = Head::parse(head) else { return Some("HTTP/1.1 400 Bad Request\r\n\r\n".to_owned()) };
    let agent = head.header("User-Agent");
    let program = agent.split(['/', ' ']).next().filter(|name| !name.is_empty()).unwrap_or("unknown");
    let acting_as = impersonation(&head.headers).map(Rc::new);
    let user = Rc::new(User { acting_as, ..User::anonymous(&format!("{program}/{peer}")) });
    let connection = Connection { peer, user_agent: agent.to_owned(), bearer: head.bearer().to_owned() };
    let client = Client::new(hub.clone(), actor, user.clone(), REQUESTS, REQUESTS);
    let known = kinds_for(&client, head.target).await;
    let http = HttpRequest {
        method: head.method,
        target: head.target,
        content_type: head.header("Content-Type"),
        accept: head.header("Accept"),
        body,
        user: Some(user),
        connection: Some(Rc::new(connection)),
    };
    let answer = match rest::call(&http, &known) {
        Err(answer) => answer,
        Ok(call) if call.request.verb == Verb::Watch => {
            let why = "a watch by the network is left out here: the connection would have to stay open";
            HttpAnswer::status(&Status::bad_request(why), Format::Json)
        }
        Ok(call) => {
            let answer = client.request(call.request.clone()).await.ok()?;
            if answer.result.as_ref().is_err_and(|error| *error == Transport::Refused.into()) {
                return None;
            }
            match answer.result {
                Ok(Response::PassedOn { .. }) if !call.is_connection() => {
                    let why = "what a kubelet answers is left out here; use kubectl logs";
                    HttpAnswer::status(&Status::bad_request(why), Format::Json)
                }
                _ => rest::respond(&call, &answer, View { now: hub.now().timestamp(), known: &known }),
            }
        }
    };
    Some(written(&answer, &head, agent))
}

/// The kinds that users have defined, for a path that leads to none of the built-in ones.
async fn kinds_for(client: &Client, target: &str) -> Discovery {
    if rest::is_built_in(target) {
        return Discovery::default();
    }
    // The server knows them; nobody is asked whether they may.
    let kind = Kind::CustomResourceDefinition;
    let own = Request::new(Rc::new(User::loopback()), Verb::List, kind, "", "", Body::None);
    match client.request(own).await.map(|answer| answer.result) {
        Ok(Ok(Response::List { items, .. })) => Discovery::of(&items),
        _ => Discovery::default(),
    }
}

/// An answer as bytes. Programs that people type get theirs laid out. Mirrors `handlers/negotiation.isPrettyPrint`.
fn written(answer: &HttpAnswer, head: &Head, agent: &str) -> String {
    let by_hand = ["curl", "Wget", "Mozilla/5.0"].iter().any(|program| agent.starts_with(program));
    let body = match (answer.content_type, by_hand) {
        ("application/json", true) => laid_out(&answer.body),
        _ => answer.body.clone(),
    };
    let headers: String = answer.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let (code, reason, kind) = (answer.code, status_text(answer.code), answer.content_type);
    let length = body.len();
    let body = if head.method == "HEAD" { "" } else { &body };
    format!("HTTP/1.1 {code} {reason}\r\nContent-Type: {kind}\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

/// The same JSON with a line for each thing, in the order that it has. Mirrors `json.Indent`.
fn laid_out(json: &str) -> String {
    let (mut out, mut depth, mut quoted, mut escaped) = (String::new(), 0, false, false);
    let mut rest = json.trim_end().chars().peekable();
    while let Some(c) = rest.next() {
        if quoted {
            out.push(c);
            (quoted, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        let begins = matches!(c, '{' | '[');
        match c {
            '{' | '[' if rest.peek().is_some_and(|next| matches!(next, '}' | ']')) => {
                out.extend([c].into_iter().chain(rest.next()));
                continue;
            }
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        if matches!(c, '}' | ']') {
            out += &format!("\n{}", "  ".repeat(depth));
        }
        out.push(c);
        match c {
            '"' => quoted = true,
            ':' => out.push(' '),
            _ if begins || c == ',' => out += &format!("\n{}", "  ".repeat(depth)),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_in_its_own_order() {
        let compact = "{\"kind\":\"a\",\"b\":[1,{}],\"a\":{\"c\":\"{\\\":,[\"},\"d\":[]}\n";
        let expected = "{\n  \"kind\": \"a\",\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": {\n    \"c\": \"{\\\":,[\"\n  },\n  \"d\": []\n}";
        assert_eq!(laid_out(compact), expected);
    }

    #[test]
    fn a_head_is_read_whatever_the_case_of_its_names() {
        let head = Head::parse("GET /api?x=y HTTP/1.1\r\nhost: a\r\nAUTHORIZATION: bearer t1 ").expect("it is a head");
        assert_eq!((head.method, head.target, head.header("Host"), head.bearer()), ("GET", "/api?x=y", "a", "t1"));
        let basic = Head::parse("GET / HTTP/1.1\r\nAuthorization: Basic abc").expect("it is a head");
        assert_eq!((basic.bearer(), basic.header("Accept")), ("", ""));
        assert!(Head::parse("nonsense").is_none());
    }
}
