//! kubectl's surroundings: whose client it is, where it stands, what it prints, and the watches it follows.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;

use crate::args::Args;
use crate::config::{Config, Credentials};
use crate::failure::Failure;
use crate::feeds::{self, Feeds, Stream};
use crate::left_open::{Forwards, Terminal};
use crate::nodes::Nodes;
use crate::workdir::Workdir;
use client::Client;
use engine::Memory;
use object::Discovery;
use wire::{Connection, Request, User};

/// The address of the user's machine.
const PERSON_IP: Ipv4Addr = Ipv4Addr::new(172, 18, 0, 1);
/// What kubectl says that it is.
const USER_AGENT: &str = "kubectl/v1.36.2 (linux/amd64) kubernetes";

/// What commands print, as they go. Cloning shares it.
pub type Output = Memory<String>;

/// kubectl, ready to run commands one after another.
#[derive(Clone)]
pub struct Kubectl {
    /// Sends the requests.
    pub client: Client,
    feeds: Feeds,
    /// What it has learned of the kinds that users define.
    pub known: Memory<Discovery>,
    /// What commands have printed, standard output and standard error as they came.
    pub output: Output,
    /// What they have printed to standard output alone: what a pipe or `$(…)` takes.
    pub stdout: Output,
    /// The same to standard error.
    pub stderr: Output,
    /// The kubeconfig.
    pub config: Memory<Config>,
    /// The namespace that lines work in which name none.
    pub namespace: String,
    /// Where it is called, and what it has read there.
    pub workdir: Workdir,
    /// Files that are not on the disk, such as manifests written into a scenario. They come first.
    pub files: Rc<BTreeMap<String, String>>,
    /// Files that earlier commands have written: they come first of all, and nothing is written to the disk.
    pub written: Memory<BTreeMap<String, String>>,
    /// Whether it is told who manages which fields.
    pub managed_fields: bool,
    /// How its requests come, where it shows no certificate.
    connection: Option<Rc<Connection>>,
    /// How much it logs: what `-v` says.
    pub verbosity: i64,
    /// What `-f -` reads.
    pub stdin: String,
    /// What the running command has warned of: it does so once, however many answers say it.
    warned: Memory<BTreeSet<String>>,
    /// Whether the running command has printed a YAML document: `---` goes before the next.
    pub(crate) documents: Memory<bool>,
    /// The way to the nodes.
    pub nodes: Rc<dyn Nodes>,
    /// What port-forward has left open.
    pub forwards: Forwards,
    /// The shell that has the terminal.
    pub terminal: Memory<Option<Terminal>>,
    /// A user types at the terminal. It is false where a scenario's lines run, and behind a pipe.
    pub is_at_terminal: bool,
}

impl Kubectl {
    /// kubectl of the user behind `client`, in namespace `default`.
    pub fn new(client: Client, feeds: Feeds, nodes: Rc<dyn Nodes>) -> Kubectl {
        let hub = client.hub();
        Kubectl {
            output: hub.memory(String::new()),
            stdout: hub.memory(String::new()),
            stderr: hub.memory(String::new()),
            known: hub.memory(Discovery::default()),
            warned: hub.memory(BTreeSet::new()),
            documents: hub.memory(false),
            forwards: hub.memory(BTreeMap::new()),
            terminal: hub.memory(None),
            is_at_terminal: false,
            workdir: Workdir::kept(Path::new("."), hub),
            written: hub.memory(BTreeMap::new()),
            config: hub.memory(Config::new("default")),
            client,
            feeds,
            namespace: "default".into(),
            files: Rc::default(),
            managed_fields: false,
            connection: None,
            verbosity: 0,
            stdin: String::new(),
            nodes,
        }
    }

    /// The same in the namespace of a context; an empty name means the current one.
    pub fn in_context(&self, context: &str) -> Result<Kubectl, Failure> {
        Ok(Kubectl { namespace: self.config.get().namespace(context)?, ..self.clone() })
    }

    /// The same, printing to a place of its own.
    pub fn apart(&self) -> Kubectl {
        let hub = self.client.hub();
        let new = || hub.memory(String::new());
        Kubectl { output: new(), stdout: new(), stderr: new(), ..self.clone() }
    }

    /// The same with the files that were written so far.
    pub fn with_written(&self) -> Kubectl {
        if self.written.borrow().is_empty() {
            return self.clone();
        }
        let mut files = (*self.files).clone();
        files.extend(self.written.get());
        Kubectl { files: files.into(), ..self.clone() }
    }

    /// The same, sending through another client.
    pub fn with_client(&self, client: Client) -> Kubectl {
        Kubectl { client, ..self.clone() }
    }

    /// The same for a look that is no part of the run: it prints to a place of its own, and nothing keeps what it reads.
    pub fn aside(&self, client: Client) -> Kubectl {
        Kubectl { client, workdir: self.workdir.aside(), ..self.apart() }
    }

    /// The same for a user who types at a terminal.
    pub fn at_terminal(&self) -> Kubectl {
        Kubectl { is_at_terminal: true, ..self.clone() }
    }

    /// The same, told who manages which fields, or not.
    pub fn with_managed_fields(&self, on: bool) -> Kubectl {
        Kubectl { managed_fields: on, ..self.clone() }
    }

    /// The same, showing these credentials. Without a certificate it is anonymous, until the server has looked at its token.
    pub fn showing(&self, credentials: &Credentials) -> Kubectl {
        let bearer = match credentials {
            Credentials::Certificate => return self.clone(),
            Credentials::Token(token) => token.clone(),
            Credentials::None => String::new(),
        };
        let user = User::anonymous(&self.client.user().agent);
        let connection = Connection { peer: PERSON_IP, user_agent: USER_AGENT.to_owned(), bearer };
        Kubectl { client: self.client.clone().acting_as(user), connection: Some(Rc::new(connection)), ..self.clone() }
    }

    /// How its requests come, if not with the administrator's certificate.
    pub(crate) fn connection(&self) -> Option<Rc<Connection>> {
        self.connection.clone()
    }

    /// The same, logging so much.
    pub fn logging(&self, verbosity: i64) -> Kubectl {
        Kubectl { verbosity, ..self.clone() }
    }

    /// The same as a new process: it has warned of nothing yet, and printed nothing.
    pub(crate) fn afresh(&self) -> Kubectl {
        let hub = self.client.hub();
        Kubectl { warned: hub.memory(BTreeSet::new()), documents: hub.memory(false), ..self.with_written() }
    }

    /// How much has been printed so far.
    pub fn printed(&self) -> usize {
        self.output.borrow().len()
    }

    /// What was printed after that.
    pub fn printed_since(&self, mark: usize) -> String {
        self.output.borrow().get(mark..).unwrap_or_default().to_owned()
    }

    /// Prints to standard output.
    pub fn print(&self, text: &str) {
        self.output.borrow_mut().push_str(text);
        self.stdout.borrow_mut().push_str(text);
    }

    /// Prints a line to standard output.
    pub fn line(&self, line: impl AsRef<str>) {
        self.print(&format!("{}\n", line.as_ref()));
    }

    /// Prints a line to standard error.
    pub fn complain(&self, line: impl AsRef<str>) {
        self.print_error(&format!("{}\n", line.as_ref()));
    }

    /// Prints to standard error what is no line yet.
    pub fn print_error(&self, text: &str) {
        self.output.borrow_mut().push_str(text);
        self.stderr.borrow_mut().push_str(text);
    }

    /// Prints what a process has printed, in order; true: to standard error.
    pub fn pass_on(&self, printed: &[(bool, String)]) {
        for (is_error, text) in printed {
            if *is_error { self.print_error(text) } else { self.print(text) }
        }
    }

    /// Prints the warnings that came with an answer. Mirrors `rest.NewWarningWriter` with `Deduplicate`.
    pub fn warn(&self, warnings: &[String]) {
        for warning in warnings {
            if self.warned.borrow_mut().insert(warning.clone()) {
                self.complain(format!("Warning: {warning}"));
            }
        }
    }

    /// The time as objects carry it.
    pub fn now(&self) -> Timestamp {
        self.client.now().timestamp()
    }

    /// Waits.
    pub async fn sleep(&self, duration: Duration) {
        self.client.sleep(duration).await;
    }

    /// The namespace that a command works in.
    pub fn namespace<'a>(&'a self, args: &'a Args) -> &'a str {
        match args.value("namespace") {
            "" => &self.namespace,
            namespace => namespace,
        }
    }

    /// Opens a watch. After `timeout`, if there is one, it brings nothing more.
    pub fn open(&self, request: Request, timeout: Option<Duration>) -> Stream {
        feeds::open(&self.client, &self.feeds, request, timeout)
    }

    /// What a command waits on that watches nothing: time passes in the background.
    pub fn clock(&self) -> Stream {
        feeds::clock(&self.client, &self.feeds)
    }

    /// Says what went wrong as it is, without the word `error`.
    pub fn told(&self, fault: &Failure) -> Failure {
        self.complain(fault.message());
        Failure::Told
    }

    /// The exit code of a command, after what went wrong was said.
    pub fn exit_code(&self, done: Result<(), Failure>) -> u8 {
        let Err(fault) = done else { return 0 };
        let text = fault.to_string();
        if !text.is_empty() {
            self.complain(text);
        }
        1
    }
}
