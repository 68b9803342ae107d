//! Processes in containers for clients outside: `exec` and `attach`, versions 4 and 5 of the protocol. Mirrors
//! `k8s.io/streaming`'s `remotecommand`.
//!
//! A command runs when the connection is there; one that reads its input waits until that ends, which only version 5 can say. A shell in a terminal gets line by line what is typed, and keys are echoed here, as the terminal's driver does it.
//! A client that is attached to a process which reads nothing follows what it prints.
//!
//! Left out: keys that move in a line; the size of the terminal; a terminal of a command that is no shell.

use client::Client;
use engine::{ActorId, Hub};
use kubectl::nodes::{Ask, Ran, Shell, Told};
use object::Key;
use userland::shell;

use super::stream::{CLOSE, Connected, End, STDERR, STDIN, STDOUT, Target, V5};
use super::{Clients, ExchangeId, Sent, logs};

/// What a client wants to be connected to.
pub(super) enum Program {
    /// A command that is run for it.
    Command(Vec<String>),
    /// The process that the container runs.
    Main,
}

/// A process that reads what a client sends.
#[derive(Clone)]
pub(super) struct Process {
    reads: Reads,
    /// What has come and was not taken yet.
    input: Vec<u8>,
    /// The line that is being typed.
    line: String,
    /// It works on what it got.
    works: bool,
}

/// How it reads.
#[derive(Clone)]
enum Reads {
    /// A command, all at once.
    Command { pod: Key, container: String, command: Vec<String>, tty: bool },
    /// A shell in a terminal, by its number, line by line.
    Shell(u64),
}

impl Process {
    fn new(reads: Reads) -> Process {
        Process { reads, input: Vec::new(), line: String::new(), works: false }
    }

    /// Takes what has come by a channel. Whether it has something to do now.
    pub(super) fn hears(&mut self, channel: u8, bytes: &[u8]) -> bool {
        if channel == STDIN {
            self.input.extend_from_slice(bytes);
        }
        match self.reads {
            Reads::Shell(_) => channel == STDIN,
            Reads::Command { .. } => matches!((channel, bytes), (CLOSE, [STDIN])),
        }
    }

    /// What is to be said to the shell next, if it waits and a line is whole. Keys are echoed on the way.
    fn next_line(&mut self, echo: &mut String) -> Option<Ask> {
        let Reads::Shell(stream) = self.reads else { return None };
        if self.works {
            return None;
        }
        let (mut taken, mut ask) = (0, None);
        for key in self.input.clone() {
            taken += 1;
            match key {
                b'\r' | b'\n' => {
                    *echo += "\r\n";
                    ask = Some(Ask::Typed { stream, text: std::mem::take(&mut self.line) });
                }
                3 => {
                    *echo += "^C\r\n";
                    self.line.clear();
                    ask = Some(Ask::Typed { stream, text: "^C".to_owned() });
                }
                4 if self.line.is_empty() => ask = Some(Ask::EndOfInput { stream }),
                8 | 127 if self.line.pop().is_some() => *echo += "\u{8} \u{8}",
                8 | 127 => {}
                key if key >= b' ' => {
                    self.line.push(char::from(key));
                    echo.push(char::from(key));
                }
                _ => {}
            }
            if ask.is_some() {
                break;
            }
        }
        self.input.drain(..taken);
        self.works = ask.is_some();
        ask
    }
}

impl Clients {
    /// Connects a client to a process.
    pub(super) async fn exec(&self, client: &Client, target: Target, program: Program) {
        let Target { number, pod, container, kubelet, .. } = &target;
        let (number, kubelet, pod, container) = (*number, *kubelet, pod.clone(), container.clone());
        let (stdin, tty) = (target.query.flag("stdin"), target.query.flag("tty"));
        self.send(number, Sent::Upgraded(target.protocol));
        let ask = match program {
            Program::Main => Ask::Attach { pod, container, stdin, tty },
            Program::Command(command) if stdin && tty && self.nodes.reads_commands(&command) => {
                Ask::Shell { pod, container, command, tty }
            }
            Program::Command(command) => {
                let waits = shell::reads_commands(&command) || shell::Program::of(&command).reads();
                let reads = Reads::Command { pod, container, command, tty };
                if stdin && waits && target.protocol == V5 {
                    return self.connected(client, &target, End::Process(Process::new(reads)));
                }
                return self.run(client, number, kubelet, reads, String::new()).await;
            }
        };
        match self.nodes.ask(client, kubelet, ask).await {
            Ok(Told::Shell(shell)) => {
                self.connected(client, &target, End::Process(Process::new(Reads::Shell(shell.stream))));
                self.show(number, &shell);
            }
            Ok(_) => match logs::attach(client, self, &target).await {
                Some(log) => {
                    self.followed.borrow_mut().insert(number, log);
                    logs::go_on(client.hub(), self, number);
                }
                None => self.finish(number, 0),
            },
            Err(error) => self.fail(number, &error),
        }
    }

    /// Runs a command with all its input, and sends what it prints.
    async fn run(&self, client: &Client, number: ExchangeId, kubelet: ActorId, reads: Reads, input: String) {
        let Reads::Command { pod, container, command, tty } = reads else { return };
        match self.nodes.ask(client, kubelet, Ask::Exec { pod, container, command, input }).await {
            Ok(Told::Ran(Ran { output, errors, code })) if tty => {
                self.frame(number, STDOUT, in_terminal(&(output + &errors)).as_bytes());
                self.finish(number, code);
            }
            Ok(Told::Ran(Ran { output, errors, code })) => {
                self.frame(number, STDOUT, output.as_bytes());
                self.frame(number, STDERR, errors.as_bytes());
                self.finish(number, code);
            }
            Ok(_) => self.finish(number, 0),
            Err(error) => self.fail(number, &error),
        }
    }

    /// A process goes on with what it was sent.
    pub(super) async fn heard(&self, hub: &Hub, number: ExchangeId) {
        let found = self.connected.borrow().get(&number).cloned();
        let Some(Connected { actor, kubelet, to: End::Process(process), .. }) = found else { return };
        let client = self.client(hub, actor);
        match process.reads {
            Reads::Shell(_) => self.typed(&client, kubelet, number).await,
            reads @ Reads::Command { .. } => {
                self.connected.borrow_mut().remove(&number);
                let input = String::from_utf8_lossy(&process.input).into_owned();
                self.run(&client, number, kubelet, reads, input).await;
            }
        }
    }

    /// Gives a shell line after line.
    async fn typed(&self, client: &Client, kubelet: ActorId, number: ExchangeId) {
        while let Some(ask) = self.next_line(number) {
            match self.nodes.ask(client, kubelet, ask).await {
                Ok(Told::Shell(shell)) => {
                    let mut all = self.connected.borrow_mut();
                    if let Some(End::Process(process)) = all.get_mut(&number).map(|connected| &mut connected.to) {
                        process.works = false;
                    }
                    drop(all);
                    self.show(number, &shell);
                }
                Ok(_) => return self.finish(number, 0),
                Err(error) => return self.fail(number, &error),
            }
        }
    }

    fn next_line(&self, number: ExchangeId) -> Option<Ask> {
        let mut echo = String::new();
        let mut all = self.connected.borrow_mut();
        let End::Process(process) = &mut all.get_mut(&number)?.to else { return None };
        let ask = process.next_line(&mut echo);
        drop(all);
        self.frame(number, STDOUT, echo.as_bytes());
        ask
    }

    /// Shows what a shell has printed, and its prompt; or how it has ended.
    fn show(&self, number: ExchangeId, shell: &Shell) {
        self.frame(number, STDOUT, in_terminal(&shell.printed).as_bytes());
        match shell.ended {
            Some(code) => self.finish(number, code),
            None => self.frame(number, STDOUT, shell.prompt.as_bytes()),
        }
    }
}

/// Lines as a terminal's driver passes them on.
fn in_terminal(printed: &str) -> String {
    printed.replace('\n', "\r\n")
}
