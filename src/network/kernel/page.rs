//! What the web servers of the containers answer, and the other HTTP servers here.

use crate::netfilter::Packet;
use wire::status_text;

/// What a gRPC health check begins with, as far as the servers here read it.
pub(super) const HEALTH_CHECK: &str = "POST /grpc.health.v1.Health/Check";

/// Whether a request asks a server for its health, by gRPC. Every server here can answer.
pub(super) fn is_health_check(request: &str) -> bool {
    request.starts_with(HEALTH_CHECK)
}

/// Whether a web server as it comes has the page that a request asks for.
pub(super) fn has_page(request: &str) -> bool {
    let path = request.split(' ').nth(1).unwrap_or("/").split('?').next();
    matches!(path, Some("/" | "/index.html" | "/50x.html"))
}

/// Method and path of a request.
fn asked(request: &str) -> (&str, &str) {
    let first = request.lines().next().unwrap_or_default();
    let (method, rest) = first.split_once(' ').unwrap_or(("GET", "/"));
    (method, rest.split(' ').next().unwrap_or("/"))
}

/// The page that every web server here serves: who answered, and whom.
pub(super) fn page(server: &str, machine: &str, packet: &Packet, request: &str) -> String {
    let ((method, path), tuple) = (asked(request), packet.tuple);
    format!(
        "{server} on {machine} answers {method} {path}\nserver {}:{}, client {}\n",
        tuple.destination, tuple.destination_port, tuple.source
    )
}

/// The answer to a request.
pub(super) fn answer(request: &str, status: u16, server: Option<&str>, body: &str) -> String {
    let (method, path) = asked(request);
    let (reason, length) = (status_text(status), body.len());
    let type_ = if server.is_some() { "text/html" } else { "text/plain" };
    let server = server.map_or(String::new(), |server| format!("Server: {server}\r\n"));
    let location = if status == 301 { format!("Location: {path}/\r\n") } else { String::new() };
    let body = if method == "HEAD" { "" } else { body };
    format!(
        "HTTP/1.1 {status} {reason}\r\n{server}Content-Type: {type_}\r\nContent-Length: {length}\r\n{location}\r\n{body}"
    )
}
