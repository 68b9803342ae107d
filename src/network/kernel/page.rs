//! What the web servers of the containers answer, and whoever else here speaks HTTP.

use crate::netfilter::Packet;
use wire::status_text;

/// What a gRPC health check begins with, as far as anybody here reads it.
pub(super) const HEALTH_CHECK: &str = "POST /grpc.health.v1.Health/Check";

/// Whether a request wants to know how a server feels, by gRPC. Every server here can say.
pub(super) fn is_health_check(request: &str) -> bool {
    request.starts_with(HEALTH_CHECK)
}

/// Whether a web server as it comes has the page that a request asks for.
pub(super) fn has_page(request: &str) -> bool {
    let path = request.split(' ').nth(1).unwrap_or("/").split('?').next();
    matches!(path, Some("/" | "/index.html" | "/50x.html"))
}

/// The page that every web server here serves, with this status: who answered, and whom.
pub(super) fn page(server: &str, machine: &str, packet: &Packet, request: &str, status: u16) -> String {
    let first = request.lines().next().unwrap_or_default();
    let (method, path) = first.split_once(' ').unwrap_or(("GET", "/"));
    let path = path.split(' ').next().unwrap_or("/");
    let tuple = packet.tuple;
    let body = format!(
        "{server} on {machine} answers {method} {path}\nserver {}:{}, client {}\n",
        tuple.destination, tuple.destination_port, tuple.source
    );
    let length = body.len();
    let body = if method == "HEAD" { String::new() } else { body };
    let reason = status_text(status);
    format!("HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}")
}
