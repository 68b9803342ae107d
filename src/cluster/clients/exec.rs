//! Processes in containers for clients outside: `exec` and `attach`, versions 4 and 5 of the protocol. Mirrors
//! `k8s.io/streaming`'s `remotecommand`.
//!
//! A command runs when the connection is there; one that reads its input waits until that ends, which only version 5 can say.
//! A shell gets line by line what comes. In a terminal keys are echoed here, as the terminal's driver does it; without one the
//! lines are a script's, which ends with the input or, in version 4, with the connection.
//! A client that is attached to a process which reads nothing follows what it prints.
//!
//! Left out: keys that move in a line; the size of the terminal; a terminal of a command that is no shell.

use std::collections::VecDeque;

use client::Client;
use engine::{ActorId, Hub, RpcError};
use kubectl::nodes::{Ask, Ran, Shell, Told};
use kubelet::cri::StreamEnded;
use object::Key;
use userland::shell;

use super::stream::{CLOSE, Connected, End, STDERR, STDIN, STDOUT, Target, V5};
use super::{Clients, ExchangeId, Sent, logs};

/// So many bytes that a client has sent wait for a process. A real server would let the client wait.
const INPUT_MAX: usize = 16 << 20;

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
    input: VecDeque<u8>,
    /// No more will come.
    is_whole: bool,
    /// The line that is being typed in a terminal.
    line: Vec<u8>,
    /// It works on what it got.
    works: bool,
}

/// How it reads.
#[derive(Clone)]
enum Reads {
    /// A command, all at once.
    Command { pod: Key, container: String, command: Vec<String>, tty: bool },
    /// A shell, line by line.
    Shell {
        /// Its number.
        stream: u64,
        /// In a terminal.
        tty: bool,
    },
}

impl Process {
    fn new(reads: Reads) -> Process {
        Process { reads, input: VecDeque::new(), is_whole: false, line: Vec::new(), works: false }
    }

    /// Takes what has come by a channel. Whether it has something to do now.
    ///
    /// # Errors
    /// More than [`INPUT_MAX`] would wait.
    pub(super) fn hears(&mut self, channel: u8, bytes: &[u8]) -> Result<bool, RpcError> {
        if channel == STDIN {
            if self.input.len() + bytes.len() > INPUT_MAX {
                let message = format!("at most {INPUT_MAX} bytes of input wait for a process here");
                return Err(RpcError { code: "ResourceExhausted", message });
            }
            self.input.extend(bytes);
        }
        let ends = matches!((channel, bytes), (CLOSE, [STDIN]));
        self.is_whole |= ends;
        Ok(match self.reads {
            Reads::Shell { .. } if self.works => false,
            Reads::Shell { tty: true, .. } => channel == STDIN,
            Reads::Shell { tty: false, .. } => channel == STDIN || ends,
            Reads::Command { .. } => ends,
        })
    }

    /// The shell that it is.
    pub(super) fn shell(&self) -> Option<u64> {
        match self.reads {
            Reads::Shell { stream, .. } => Some(stream),
            Reads::Command { .. } => None,
        }
    }

    /// Whether it is a shell that waits for a line.
    pub(super) fn waits(&self) -> bool {
        self.shell().is_some() && !self.works
    }

    /// It is a shell of this number, and waits for a line. Whether it is in a terminal; None: it is none.
    fn waits_as(&mut self, number: u64) -> Option<bool> {
        let Reads::Shell { stream, tty } = &mut self.reads else { return None };
        (*stream, self.works) = (number, false);
        Some(*tty)
    }

    /// What is to be said to the shell next, if it waits and a line is whole. Keys are echoed on the way.
    fn next_line(&mut self, echo: &mut Vec<u8>) -> Option<Ask> {
        let ask = match self.reads {
            _ if self.works => None,
            Reads::Shell { stream, tty: true } => self.typed(stream, echo),
            Reads::Shell { stream, tty: false } => self.next_of_script(stream),
            Reads::Command { .. } => None,
        };
        self.works |= ask.is_some();
        ask
    }

    /// The next line of a script, or its end.
    fn next_of_script(&mut self, stream: u64) -> Option<Ask> {
        let end = self.input.iter().position(|byte| *byte == b'\n');
        let line = match end {
            None if self.is_whole && self.input.is_empty() => return Some(Ask::EndOfInput { stream }),
            None if self.is_whole => self.input.drain(..).collect::<Vec<u8>>(),
            end => self.input.drain(..=end?).collect(),
        };
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line)).into_owned();
        Some(Ask::Typed { stream, text })
    }

    /// The next line that is typed in a terminal.
    fn typed(&mut self, stream: u64, echo: &mut Vec<u8>) -> Option<Ask> {
        while let Some(key) = self.input.pop_front() {
            match key {
                b'\r' | b'\n' => {
                    echo.extend(b"\r\n");
                    let text = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
                    return Some(Ask::Typed { stream, text });
                }
                3 => {
                    echo.extend(b"^C\r\n");
                    self.line.clear();
                    return Some(Ask::Typed { stream, text: "^C".to_owned() });
                }
                4 if self.line.is_empty() => return Some(Ask::EndOfInput { stream }),
                8 | 127 if self.line.is_empty() => {}
                8 | 127 => {
                    // A sign of several bytes goes as a whole.
                    while self.line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
                    echo.extend(b"\x08 \x08");
                }
                key if key >= b' ' => {
                    self.line.push(key);
                    echo.push(key);
                }
                _ => {}
            }
        }
        None
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
            Program::Command(command) if stdin && shell::reads_commands(&command) => {
                Ask::Shell { pod, container, command, tty }
            }
            Program::Command(command) => {
                let waits = shell::Program::of(&command).reads();
                let reads = Reads::Command { pod, container, command, tty };
                if stdin && waits && target.protocol == V5 {
                    return self.connected(client, &target, End::Process(Process::new(reads)));
                }
                return self.run(client, number, kubelet, reads, String::new()).await;
            }
        };
        if stdin {
            // What comes before the shell is there waits for it.
            let process = Process { works: true, ..Process::new(Reads::Shell { stream: 0, tty }) };
            self.connected(client, &target, End::Process(process));
        }
        match self.nodes.ask(client, kubelet, ask).await {
            Ok(Told::Shell(shell)) => {
                self.did(client, kubelet, number, shell).await;
                let (clients, same) = (self.clone(), client.clone());
                let task = async move { clients.go_on(&same, kubelet, number).await };
                client.hub().spawn(client.actor(), target.label, task);
            }
            Ok(_) => {
                self.connected.borrow_mut().remove(&number);
                match logs::attach(client, self, &target).await {
                    Some(log) => {
                        self.followed.borrow_mut().insert(number, log);
                        logs::go_on(client.hub(), self, number);
                    }
                    None => self.finish(number, 0),
                }
            }
            Err(error) => self.fail(number, &error),
        }
    }

    /// Runs a command with all its input, and sends what it prints.
    async fn run(&self, client: &Client, number: ExchangeId, kubelet: ActorId, reads: Reads, input: String) {
        let Reads::Command { pod, container, command, tty } = reads else { return };
        match self.nodes.ask(client, kubelet, Ask::Exec { pod, container, command, input }).await {
            Ok(Told::Ran(Ran { printed, code })) => {
                self.print(number, &printed, tty);
                self.finish(number, code);
            }
            Ok(_) => self.finish(number, 0),
            Err(error) => self.fail(number, &error),
        }
    }

    /// A process goes on with what it was sent.
    pub(super) async fn heard(&self, hub: &Hub, number: ExchangeId) {
        let found = self.connected.borrow().get(&number).map(|connected| (connected.actor, connected.kubelet));
        let Some((actor, kubelet)) = found else { return };
        let client = self.client(hub, actor);
        match self.take_command(number) {
            Some((command, input)) => self.run(&client, number, kubelet, command, input).await,
            None => self.go_on(&client, kubelet, number).await,
        }
    }

    /// A command with all of its input, if it is one; more is not heard.
    fn take_command(&self, number: ExchangeId) -> Option<(Reads, String)> {
        let mut all = self.connected.borrow_mut();
        let End::Process(process) = &mut all.get_mut(&number)?.to else { return None };
        let Reads::Command { .. } = process.reads else { return None };
        let input = String::from_utf8_lossy(process.input.make_contiguous()).into_owned();
        let command = process.reads.clone();
        all.remove(&number);
        Some((command, input))
    }

    /// Gives a shell line after line.
    async fn go_on(&self, client: &Client, kubelet: ActorId, number: ExchangeId) {
        while let Some(ask) = self.next_line(number) {
            match self.nodes.ask(client, kubelet, ask).await {
                Ok(Told::Shell(shell)) => self.did(client, kubelet, number, shell).await,
                Ok(_) => return self.finish(number, 0),
                Err(error) => return self.fail(number, &error),
            }
        }
    }

    /// A shell has begun, or has done what it was told. One whose client has left in the meantime comes to the end of its input.
    async fn did(&self, client: &Client, kubelet: ActorId, number: ExchangeId, shell: Shell) {
        let tty = match self.connected.borrow_mut().get_mut(&number).map(|connected| &mut connected.to) {
            Some(End::Process(process)) => process.waits_as(shell.stream),
            _ => None,
        };
        match tty {
            Some(tty) => self.show(number, &shell, tty),
            None if shell.ended.is_some() => {}
            None => drop(self.nodes.ask(client, kubelet, Ask::EndOfInput { stream: shell.stream }).await),
        }
    }

    fn next_line(&self, number: ExchangeId) -> Option<Ask> {
        let mut echo = Vec::new();
        let mut all = self.connected.borrow_mut();
        let End::Process(process) = &mut all.get_mut(&number)?.to else { return None };
        let ask = process.next_line(&mut echo);
        drop(all);
        self.frame(number, STDOUT, &echo);
        ask
    }

    /// Sends what was printed; true: to standard error. A terminal has one output for both.
    fn print(&self, number: ExchangeId, printed: &[(bool, String)], tty: bool) {
        if tty {
            let lines: String = printed.iter().map(|(_, text)| text.replace('\n', "\r\n")).collect();
            return self.frame(number, STDOUT, lines.as_bytes());
        }
        for (is_error, text) in printed {
            self.frame(number, if *is_error { STDERR } else { STDOUT }, text.as_bytes());
        }
    }

    /// The kubelet says that a shell is gone. A line that is on its way tells its client itself.
    pub(super) fn is_over(&self, kubelet: ActorId, ended: StreamEnded) {
        let is_it = |(number, one): (&ExchangeId, &Connected)| match &one.to {
            End::Process(process) if one.kubelet == kubelet && process.shell() == Some(ended.stream) => {
                process.waits().then_some(*number)
            }
            _ => None,
        };
        let found = self.connected.borrow().iter().find_map(is_it);
        found.into_iter().for_each(|number| self.finish(number, ended.code));
    }

    /// Shows what a shell has printed, and its prompt; or how it has ended.
    fn show(&self, number: ExchangeId, shell: &Shell, tty: bool) {
        self.print(number, &shell.printed, tty);
        match shell.ended {
            Some(code) => self.finish(number, code),
            None => self.frame(number, STDOUT, shell.prompt.as_bytes()),
        }
    }
}
