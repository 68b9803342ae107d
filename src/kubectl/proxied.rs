//! A request that goes on through a proxy of the API server, to a Pod, a Service, a node or its kubelet. Mirrors
//! `k8s.io/apimachinery/pkg/util/proxy`.
//!
//! Left out: connections that change their protocol; links in pages, which a real proxy makes its own; TLS: no server in the cluster
//! speaks it, but the API server.

use std::net::Ipv4Addr;

use client::Client;
use object::Status;
use object::status::Reason;
use rest::exchange::{RawAnswer, RawRequest};
use rest::{Encoding, HttpAnswer};
use wire::Response;

use crate::nodes::{Ask, Nodes, Told};

/// The headers of an answer that go back to the client.
const KEPT: &[&str] = &["Content-Type", "Location", "Server"];
/// The headers of a request that go on to the server.
const SENT: &[&str] = &["Accept", "Content-Type", "User-Agent"];

/// The answer of a server behind a proxy to a request for `target`, which the API server has let through.
pub async fn fetch(
    nodes: &dyn Nodes,
    client: &Client,
    through: &Response,
    target: &str,
    raw: &RawRequest<'_>,
) -> RawAnswer {
    if !target.starts_with('/') {
        let (path, query) = raw.target.split_at(raw.target.find('?').unwrap_or(raw.target.len()));
        let body = format!("<a href=\"{path}/{query}\">Moved Permanently</a>.\n\n");
        let headers =
            vec![("Content-Type", "text/html; charset=utf-8".to_owned()), ("Location", format!("{path}/{query}"))];
        return RawAnswer { code: 301, headers, body };
    }
    if let Response::PassedOn { node, kubelet, .. } = through {
        return of_kubelet(nodes, client, node, kubelet, target).await;
    }
    let Response::Proxied { address, port, tls } = through else { return unreachable_at("there is no server") };
    if *tls {
        return match nodes.dial(client, *address, *port, String::new()).await {
            Err(why) => unreachable_at(&why),
            Ok(_) => unreachable_at("tls: first record does not look like a TLS handshake"),
        };
    }
    let sent = text(raw, target, *address, *port);
    match nodes.dial(client, *address, *port, sent).await {
        Err(why) => unreachable_at(&why),
        Ok(None) => unreachable_at("EOF"),
        Ok(Some(said)) => parse(&said).unwrap_or_else(|| unreachable_at("malformed HTTP response")),
    }
}

/// A page of a kubelet's own.
async fn of_kubelet(nodes: &dyn Nodes, client: &Client, node: &str, kubelet: &str, target: &str) -> RawAnswer {
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let asked = match nodes.kubelet(node) {
        Err(why) => return unreachable_at(&format!("dial tcp {kubelet}: connect: {why}")),
        Ok(kubelet) => nodes.ask(client, kubelet, Ask::Get { path }).await,
    };
    match asked {
        Ok(Told::Page { code, content_type, body }) => {
            RawAnswer { code, headers: vec![("Content-Type", content_type.to_owned())], body }
        }
        Ok(_) => unreachable_at("EOF"),
        Err(why) => unreachable_at(&why.message),
    }
}

/// The request as it is sent on.
fn text(raw: &RawRequest, target: &str, address: Ipv4Addr, port: u16) -> String {
    let sent = SENT.iter().map(|name| (name, raw.header(name))).filter(|(_, value)| !value.is_empty());
    let headers: String = sent.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let (method, body) = (raw.method, String::from_utf8_lossy(raw.body));
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    format!("{method} {target} HTTP/1.1\r\nHost: {address}:{port}\r\n{headers}{length}\r\n{body}")
}

/// An answer, read; none, if it is no HTTP.
fn parse(said: &str) -> Option<RawAnswer> {
    let (head, body) = said.split_once("\r\n\r\n").unwrap_or((said, ""));
    let mut lines = head.lines();
    let code = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let fields = lines.filter_map(|line| line.split_once(':'));
    let kept = |(name, value): (&str, &str)| {
        let known = KEPT.iter().find(|known| known.eq_ignore_ascii_case(name))?;
        Some((*known, value.trim().to_owned()))
    };
    Some(RawAnswer { code, headers: fields.filter_map(kept).collect(), body: body.to_owned() })
}

/// The 503 of a proxy.
fn unreachable_at(why: &str) -> RawAnswer {
    let status = Status::new(Reason::ServiceUnavailable, format!("error trying to reach service: {why}"));
    HttpAnswer::status(&status, Encoding::Json).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_goes_on_with_what_a_server_needs() {
        let headers = [("accept", "*/*"), ("Authorization", "Bearer secret"), ("Content-Type", "text/plain")];
        let raw = RawRequest { method: "POST", target: "/x", headers: &headers, body: b"hello" };
        assert_eq!(
            text(&raw, "/a?b", Ipv4Addr::new(10, 244, 1, 3), 80),
            "POST /a?b HTTP/1.1\r\nHost: 10.244.1.3:80\r\nAccept: */*\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
        );
    }

    #[test]
    fn an_answer_is_read() {
        let answer =
            parse("HTTP/1.1 404 Not Found\r\nserver: nginx\r\nContent-Length: 2\r\n\r\nno").expect("it is HTTP");
        assert_eq!((answer.code, answer.header("Server"), answer.body.as_str()), (404, "nginx", "no"));
        assert_eq!(answer.headers.len(), 1);
        assert!(parse("hello").is_none() && parse("").is_none());
    }
}
