//! What a learner runs in a Pod or on a node to ask others: `curl`, `ping`, `nslookup`, `wget`.
//!
//! Every container has them, whatever its image. They print what curl 7.81, iputils' ping, BIND's nslookup and busybox's
//! wget print.

use std::rc::Rc;

use crate::node::netfilter::Packet;

use super::kernel::{Executed, Inner};

mod curl;
mod nslookup;
mod ping;
pub mod probe;
mod resolve;
mod wget;

/// What a program prints.
#[derive(Debug, Default)]
struct Terminal {
    output: String,
    errors: String,
}

impl Terminal {
    fn print(&mut self, text: &str) {
        self.output += text;
    }

    fn complain(&mut self, text: &str) {
        self.errors += text;
    }
}

/// Runs a command in a namespace.
pub(super) async fn run(kernel: &Rc<Inner>, namespace: &str, words: &[String]) -> Executed {
    let mut terminal = Terminal::default();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let code = match words.as_slice() {
        ["curl", rest @ ..] => curl::run(kernel, namespace, rest, &mut terminal).await,
        ["ping", rest @ ..] => ping::run(kernel, namespace, rest, &mut terminal).await,
        ["nslookup", rest @ ..] => nslookup::run(kernel, namespace, rest, &mut terminal).await,
        ["wget", rest @ ..] => wget::run(kernel, namespace, rest, &mut terminal).await,
        [] => 0,
        [other, ..] => {
            terminal.complain(&format!("{other}: not found; here are curl, nslookup, ping and wget\n"));
            127
        }
    };
    Executed { output: terminal.output, errors: terminal.errors, code }
}

/// Whether this is one of them.
pub fn is_one(name: &str) -> bool {
    matches!(name, "curl" | "nslookup" | "ping" | "wget")
}

/// Whether a command asks others, as far as that is simulated.
pub fn asks(name: &str, words: &[String]) -> bool {
    matches!(name, "nslookup" | "ping") || host(name, words).is_some()
}

/// Whether what a command has asked for is beyond the cluster: its name is nobody's here, and looks like one of the
/// internet. Of that nothing is simulated.
pub fn is_beyond(name: &str, words: &[String], code: i32, errors: &str) -> bool {
    let is_unknown = match name {
        // Which says nothing with -s.
        "curl" => code == i32::from(curl::UNKNOWN_HOST),
        _ => errors.contains("bad address"),
    };
    is_unknown && host(name, words).is_some_and(|host| is_public(&host))
}

/// The host that is asked for a page.
fn host(name: &str, words: &[String]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let url = match name {
        "curl" => curl::url(&words),
        "wget" => wget::url(&words),
        _ => None,
    };
    url.and_then(|url| curl::host_and_port(url).ok()).map(|(host, _)| host)
}

/// Whether a name has a top-level domain that many names have, or a country's.
fn is_public(host: &str) -> bool {
    const TOP: &[&str] = &["com", "org", "net", "io", "dev", "edu", "gov", "info"];
    host.trim_end_matches('.')
        .rsplit_once('.')
        .is_some_and(|(_, top)| TOP.contains(&top) || (top.len() == 2 && top.bytes().all(|c| c.is_ascii_lowercase())))
}

/// Whether a request wants to know how a server feels, by gRPC. Every server here can say.
pub(super) fn is_health_check(request: &str) -> bool {
    request.starts_with(probe::HEALTH_CHECK)
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
    let reason = reason(status);
    format!("HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// The words behind a status. Mirrors `net/http.StatusText` for what is common.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        302 => "Found",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unknown",
    }
}
