//! What a learner runs in a Pod or on a node to ask others: `curl`, `nc`, `ping`, `nslookup`, `wget`.
//!
//! Every container has them, with any image. They print what curl 7.81, iputils' ping, BIND's nslookup and busybox's
//! nc and wget print; where there is a busybox, its own nslookup and ping.

use std::pin::Pin;
use std::rc::Rc;

use network::kernel::sockets::Resolver;
use network::kernel::{Execute, Executed, System, Userland};

mod curl;
mod nc;
mod nslookup;
mod ping;
mod resolve;
mod terminal;
mod wget;

pub use resolve::is_public;

use terminal::Terminal;

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

/// Runs a command in a network namespace: this is what a machine's kernel is told
/// ([`RunProgram`](network::kernel::RunProgram)).
pub fn run(
    kernel: Rc<System>,
    namespace: String,
    resolver: Resolver,
    execute: Execute,
) -> Pin<Box<dyn Future<Output = Executed>>> {
    Box::pin(async move { executed(&kernel, &namespace, resolver, &execute).await })
}

async fn executed(kernel: &Rc<System>, namespace: &str, resolver: Resolver, execute: &Execute) -> Executed {
    let mut terminal = Terminal::new(resolver);
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
