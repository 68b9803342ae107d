//! What a learner runs in a Pod or on a node: `curl`, `ping`, `nslookup`, and a few that only look.
//!
//! Every container has them, whatever its image. They print what curl 7.81, iputils' ping and BIND's nslookup print.

use std::rc::Rc;

use crate::node::netfilter::Packet;

use super::kernel::{Executed, Inner};

mod curl;
mod nslookup;
mod ping;
mod resolve;

/// The commands that [`run`] knows.
pub const KNOWN: &[&str] = &["curl", "ping", "nslookup", "cat", "hostname"];

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
        ["cat", "/etc/resolv.conf"] => {
            terminal.print(&kernel.resolver(namespace).file());
            0
        }
        ["hostname"] => {
            let label = kernel.label(namespace);
            terminal.print(&format!("{}\n", label.rsplit('/').next().unwrap_or_default()));
            0
        }
        ["cat", file] => {
            terminal.complain(&format!("cat: can't open '{file}': No such file or directory\n"));
            1
        }
        [] => 0,
        [other, ..] => {
            terminal.complain(&format!(
                "exec: \"{other}\": executable file not found in $PATH: here are {}\n",
                KNOWN.join(", ")
            ));
            127
        }
    };
    Executed { output: terminal.output, errors: terminal.errors, code }
}

/// The page that every web server here serves: who answered, and whom.
pub(super) fn page(server: &str, machine: &str, packet: &Packet, request: &str) -> String {
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
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}")
}
