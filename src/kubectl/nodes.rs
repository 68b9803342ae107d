//! The way from the user's machine to what runs on nodes: what `exec`, `attach`, `port-forward`, `logs` and proxies need of the world
//! besides the API server.
//!
//! kubectl knows no kubelet and no network. The cluster hands it something that implements [`Nodes`], which passes on what
//! is asked of a kubelet's port. Mirrors `k8s.io/client-go/tools/remotecommand` and `portforward`.

use std::fmt;
use std::net::Ipv4Addr;
use std::pin::Pin;

use client::Client;
use engine::{ActorId, RpcError};
use object::Key;
use object::text::Text;
use object::time::Instant;

/// What comes back later.
pub type Soon<T> = Pin<Box<dyn Future<Output = T>>>;

/// The nodes, and the machine that the user sits at.
pub trait Nodes {
    /// The kubelet of a node.
    ///
    /// # Errors
    /// Why no connection to it can be made.
    fn kubelet(&self, node: &str) -> Result<ActorId, Unreachable>;

    /// Sends something to a kubelet's port, and brings back what it says to that.
    fn ask(&self, client: &Client, kubelet: ActorId, ask: Ask) -> Soon<Result<Told, RpcError>>;

    /// Tells a kubelet that Ctrl-C was typed into a shell.
    fn interrupt(&self, client: &Client, kubelet: ActorId, stream: u64);

    /// Sends something from the API server's machine to a port, and brings back what is said to that; None: the connection was
    /// closed.
    fn dial(&self, client: &Client, address: Ipv4Addr, port: u16, data: String)
    -> Soon<Result<Option<String>, String>>;

    /// Listens at a port of the user's machine, 0 for any that is free. Brings back which.
    fn listen(&self, client: &Client, address: Ipv4Addr, port: u16) -> Soon<Result<u16, String>>;

    /// Listens there no longer.
    fn close(&self, client: &Client, port: u16);

    /// What a container of a Pod (`namespace/name`) has printed, if anything of it is kept.
    fn log(&self, pod: &str, container: &str) -> Option<Log>;

    /// Whether a command is a shell that does what is typed into it.
    fn reads_commands(&self, command: &[String]) -> bool;
}

/// Why a node's kubelet cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// The machine is there, and no kubelet runs on it.
    Refused,
    /// The machine is off.
    NoRoute,
}

impl fmt::Display for Unreachable {
    /// As Go words it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unreachable::Refused => "connection refused",
            Unreachable::NoRoute => "no route to host",
        })
    }
}

/// What is asked of a kubelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Run a command in a container.
    Exec {
        /// The Pod.
        pod: Key,
        /// The container.
        container: String,
        /// The command in words.
        command: Vec<String>,
        /// What it reads.
        input: String,
    },
    /// Begin a shell in a container, and do there what is typed.
    Shell {
        /// The Pod.
        pod: Key,
        /// The container.
        container: String,
        /// The shell, with its flags.
        command: Vec<String>,
        /// In a terminal.
        tty: bool,
    },
    /// Connect to the process of a container.
    Attach {
        /// The Pod.
        pod: Key,
        /// The container.
        container: String,
        /// What is typed goes to the process, if that reads it.
        stdin: bool,
        /// In a terminal.
        tty: bool,
    },
    /// A line, or a key (`^C`, `^D`), that was typed into a shell.
    Typed {
        /// Which.
        stream: u64,
        /// What was typed.
        text: String,
    },
    /// What is typed into a shell ends here.
    EndOfInput {
        /// Which.
        stream: u64,
    },
    /// Find the sandbox that ports of a Pod are forwarded to.
    PortForward {
        /// The Pod.
        pod: Key,
    },
    /// Bytes of a connection that is forwarded.
    Forwarded {
        /// The sandbox at the other end.
        sandbox: Text,
        /// The port there.
        port: u16,
        /// What is sent.
        data: String,
    },
    /// Read a page of the kubelet's own: `/healthz`.
    Get {
        /// Its path.
        path: String,
    },
}

/// What a kubelet says to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// To [`Ask::Exec`].
    Ran(Ran),
    /// To [`Ask::Shell`], [`Ask::Typed`], [`Ask::EndOfInput`], and to [`Ask::Attach`] where the process reads what is typed.
    Shell(Shell),
    /// To [`Ask::PortForward`]: the sandbox.
    Sandbox(Text),
    /// To [`Ask::Forwarded`]: what came back; None: the connection was closed.
    Forwarded(Option<String>),
    /// To [`Ask::Get`].
    Page {
        /// The HTTP status code.
        code: u16,
        /// The `Content-Type` header.
        content_type: &'static str,
        /// The body.
        body: String,
    },
    /// To [`Ask::Attach`]: the process reads nothing that is typed.
    Attached,
}

/// What a command in a container came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// What it has printed, in order; true: to standard error.
    pub printed: Vec<(bool, String)>,
    /// How it has ended.
    pub code: i32,
}

impl Ran {
    /// All that it has printed to standard output.
    pub fn output(&self) -> String {
        self.printed.iter().filter(|(is_error, _)| !is_error).map(|(_, text)| text.as_str()).collect()
    }
}

/// A shell that is typed into, as it is after what was typed last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shell {
    /// Its number.
    pub stream: u64,
    /// What was printed there, in order; true: to standard error, which a terminal does not tell apart.
    pub printed: Vec<(bool, String)>,
    /// What it says when it waits for a line; empty without a terminal.
    pub prompt: String,
    /// It has ended with this code.
    pub ended: Option<i32>,
}

/// What a container has printed, and the one that it has replaced.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The uid of its Pod: a Pod of the same name is another Pod.
    pub pod_uid: Text,
    /// How many containers of its name came before it in the Pod.
    pub attempt: u32,
    /// Lines, and when they are printed; some may be of later than now.
    pub lines: Vec<(Instant, String)>,
    /// The lines of the attempt before this one.
    pub before: Option<Vec<(Instant, String)>>,
    /// Its process has ended, and prints nothing more.
    pub ended: bool,
}

impl Log {
    /// What that attempt has printed, if it is one of the last two.
    pub fn of(&self, attempt: u32) -> Option<&[(Instant, String)]> {
        match self.attempt.checked_sub(attempt)? {
            0 => Some(&self.lines),
            1 => self.before.as_deref(),
            _ => None,
        }
    }
}
