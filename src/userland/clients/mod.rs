//! What a learner runs in a Pod or on a node to ask others: `curl`, `nc`, `ping`, `nslookup`, `wget`.
//!
//! Every container has them, whatever its image. They print what curl 7.81, iputils' ping, BIND's nslookup and busybox's
//! nc and wget print; where there is a busybox, its own nslookup and ping.

use std::net::Ipv4Addr;
use std::rc::Rc;

use crate::node::netfilter::Packet;

use super::kernel::Inner;
use super::messages::{Execute, Executed, Userland};

mod curl;
pub mod dial;
mod nc;
mod nslookup;
mod ping;
pub mod probe;
mod resolve;
mod wget;

/// One of them.
#[derive(Clone, Copy)]
enum Program {
    Curl,
    Nc,
    Nslookup,
    Ping,
    Wget,
}

impl Program {
    fn named(name: &str) -> Option<Program> {
        Some(match name {
            "curl" => Program::Curl,
            "nc" => Program::Nc,
            "nslookup" => Program::Nslookup,
            "ping" => Program::Ping,
            "wget" => Program::Wget,
            _ => return None,
        })
    }
}

/// What a program prints.
#[derive(Debug, Default)]
struct Terminal {
    output: String,
    errors: String,
    /// The host that a page was asked of, if nobody has that name.
    unknown_host: Option<String>,
    /// The address that it has tried last.
    tried: Option<Ipv4Addr>,
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
pub(super) async fn run(kernel: &Rc<Inner>, namespace: &str, execute: &Execute) -> Executed {
    let mut terminal = Terminal::default();
    let words: Vec<&str> = execute.words.iter().map(String::as_str).collect();
    let Some((name, rest)) = words.split_first() else { return Executed::default() };
    let code = match Program::named(name) {
        Some(Program::Curl) => curl::run(kernel, namespace, rest, &mut terminal).await,
        Some(Program::Nc) => nc::run(kernel, namespace, rest, &mut terminal).await,
        Some(Program::Nslookup) => match execute.userland {
            Userland::Usual => nslookup::run(kernel, namespace, rest, &mut terminal).await,
            Userland::Busybox => nslookup::busybox::run(kernel, namespace, rest, &mut terminal).await,
            Userland::OldBusybox => nslookup::busybox::run_old(kernel, namespace, rest, &mut terminal).await,
        },
        Some(Program::Ping) => ping::run(kernel, namespace, rest, execute.userland, &mut terminal).await,
        Some(Program::Wget) => wget::run(kernel, namespace, rest, &mut terminal).await,
        None => {
            terminal.complain(&format!("{name}: not found; here are curl, nc, nslookup, ping and wget\n"));
            127
        }
    };
    let Terminal { output, errors, unknown_host, .. } = terminal;
    Executed { output, errors, code, unknown_host }
}

/// Whether this is one of them.
pub fn is_one(name: &str) -> bool {
    Program::named(name).is_some()
}

/// Whether a command asks others, as far as that is simulated: of a page of the internet over TLS it is not.
pub fn asks(name: &str, words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let url = match Program::named(name) {
        Some(Program::Curl) => curl::url(&words),
        Some(Program::Wget) => wget::url(&words),
        Some(Program::Nc | Program::Nslookup | Program::Ping) => return true,
        None => None,
    };
    url.is_some_and(curl::is_url)
}

/// Whether a name looks like one of the internet: it has a top-level domain that many names have, or a country's.
pub fn is_public(host: &str) -> bool {
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
pub fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        302 => "Found",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        409 => "Conflict",
        410 => "Gone",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unknown",
    }
}
