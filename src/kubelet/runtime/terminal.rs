//! Shells that a user types into: `kubectl exec -it POD -- sh`, and processes of containers that read what is typed.
//!
//! The user is connected by a stream. Between two lines the shell is plain data: where it stands, its variables, how the
//! last command has ended. A line runs as a task of its own, until the shell waits for the next; one in the middle of a
//! statement waits for the rest of that. What is typed to a container's process, and what it prints, goes to the container's
//! log, as what any process prints does.
//!
//! Without a terminal (`exec -i`) the lines are a script's: there is no prompt, what goes to standard error is told apart, and
//! a line that is not understood is the end.
//!
//! A shell that was begun beside the process is killed when the container ends.
//!
//! Left out: programs that take keys, such as `vi` and `top`; shells that are begun in a shell; what a line prints is told
//! when the line has ended; commands that read on where the shell reads, which find the end there. Of interpreters, `python`
//! say, it is not known what they do with what is typed.

use std::rc::Rc;
use std::time::Duration;

use super::containerd::{Containerd, no_container};
use super::exec::{Done, ExecContext, Unknown, WAITS_MAX, Wait};
use super::image;
use super::process::{self, SIGKILLED};
use super::state::State;
use super::timers::Timer;
use super::typing::{Style, To, Typing};
use crate::cri::{self, ContainerState, CriResponse, Stream, StreamEnded};
use engine::{CallId, RpcError, unless};
use userland::Ran;
use userland::shell::run::Shell;
use userland::shell::{self, Program};

/// Ctrl-C, as it is typed and shown.
pub const CTRL_C: &str = "^C";
/// Ctrl-D: the end of what is typed.
pub const CTRL_D: &str = "^D";

/// How a line has come to its end.
enum End {
    /// The shell waits for the next.
    Waits,
    /// It has ended with this code.
    Exits(i32),
    /// It is no longer there.
    Gone,
}

impl Style {
    /// That of a shell of this name.
    fn of(name: &str, image: &str, tty: bool) -> Style {
        match shell::program(name) {
            _ if !tty => Style::Nothing,
            "bash" => Style::Bash,
            _ if image::is_busybox(image) => Style::Busybox,
            _ => Style::Dash,
        }
    }
}

impl Containerd {
    /// Connects a client that types. No command: to the process of the container. One that reads nothing is left alone, and
    /// the answer is what there is to say of the container.
    pub(super) fn open(&self, id: &str, command: &[String], tty: bool) -> Result<CriResponse, RpcError> {
        let context = self.context_of_process(id).ok_or_else(|| no_container(id))?;
        let config = &context.container.config;
        if context.container.status.state != ContainerState::ContainerRunning {
            return Err(cri::error("Unknown", "container is in CONTAINER_EXITED state"));
        }
        let name = match command.first() {
            Some(shell) if !image::has_shell(shell, config) => return Err(self.not_in_image(shell)),
            Some(shell) => shell.clone(),
            None => match process::reads(config) {
                Some(shell) => shell,
                None => return Ok(CriResponse::Container(context.container.status.clone())),
            },
        };
        let style = Style::of(&name, &config.image, tty);
        let shell = context.shell(Program::idle());
        let shell = if tty { shell } else { shell.reading("") };
        let mut state = self.state.borrow_mut();
        let (prompt, to) = match state.containers.get_mut(id).filter(|_| command.is_empty()) {
            // It may have been typed into before.
            Some(process) => (prompt(style, "", process.shell.get_or_insert(shell), &context), To::Process),
            None => (prompt(style, "", &shell, &context), To::Beside(Some(shell.into()))),
        };
        state.last_stream += 1;
        let stream = state.last_stream;
        let container = id.to_owned();
        let open = String::new();
        state.streams.insert(stream, Typing { container, to, name, style, open, line: None, interrupted: false });
        Ok(CriResponse::Stream(Stream { id: stream, prompt, ..Stream::default() }))
    }

    /// Runs a line that was typed, up to where the shell waits for the next.
    pub(super) async fn type_line(self: &Rc<Self>, stream: u64, text: &str) -> Result<CriResponse, RpcError> {
        let closed = || cri::error("NotFound", format!("stream {stream} is closed"));
        let (typing, mut shell, mut context) = self.take_shell(stream).ok_or_else(closed)?;
        let before = prompt(typing.style, &typing.open, &shell, &context);
        let mut done = Done::default();
        let mut open = String::new();
        let end = match text {
            CTRL_D if typing.open.is_empty() => End::Exits(shell.code()),
            CTRL_D => {
                match self.run_line(stream, (&typing.open, typing.style), (&mut shell, &mut context, &mut done)).await {
                    End::Waits => End::Exits(shell.code()),
                    end => end,
                }
            }
            CTRL_C => {
                shell.give_up();
                End::Waits
            }
            text if typing.open.is_empty() && is_shell(text) => {
                let why = "sh: a shell that is begun in a shell is not simulated; this one goes on\n";
                done.printed.push((true, why.to_owned()));
                End::Waits
            }
            text => {
                let script = format!("{}{text}\n", typing.open);
                if shell::is_open(&script) {
                    open = script;
                    End::Waits
                } else {
                    self.run_line(stream, (&script, typing.style), (&mut shell, &mut context, &mut done)).await
                }
            }
        };
        let all: String = done.printed.iter().map(|(_, text)| text.as_str()).collect();
        if !typing.is_beside() {
            let echo = if typing.style == Style::Nothing { String::new() } else { format!("{before}{text}\n") };
            self.log(&context, &(echo + &all));
        }
        let printed = if typing.style == Style::Nothing { done.printed } else { vec![(false, all)] };
        let prompt = prompt(typing.style, &open, &shell, &context);
        let ended = match end {
            End::Gone => Some(SIGKILLED),
            End::Waits => {
                self.put_shell(stream, shell, open);
                None
            }
            End::Exits(code) => {
                self.state.borrow_mut().streams.remove(&stream);
                if !typing.is_beside() {
                    self.ended(&typing.container, code, if code == 0 { "Completed" } else { "Error" });
                }
                Some(code)
            }
        };
        Ok(CriResponse::Stream(Stream { id: stream, printed, prompt, ended }))
    }

    /// Lets the shell run what was typed, for as long as that takes.
    async fn run_line(
        &self,
        stream: u64,
        (text, style): (&str, Style),
        (shell, context, done): (&mut Shell, &mut ExecContext, &mut Done),
    ) -> End {
        shell.take_up(Program::of(&["sh".to_owned(), "-c".to_owned(), text.trim().to_owned()]));
        for _ in 0..WAITS_MAX {
            let wait = self.advance(shell, context, Unknown::IsNotFound, done).unwrap_or(Wait::Unsupported);
            let went_on = match wait {
                Wait::Time { time: Some(time), .. } => self.sleep_in(stream, time).await,
                Wait::Time { time: None, .. } => break,
                Wait::Others(command) => {
                    let asked = self.ask_others(context, &command.words);
                    self.unless_interrupted(stream, asked).await.map(|ran| {
                        let ran = ran.unwrap_or_else(|error| Ran::badly(1, error.message));
                        self.finish(shell, context, ran, done);
                    })
                }
                Wait::End(code) if shell.has_exited() => return End::Exits(code),
                Wait::End(_) => return End::Waits,
                Wait::Server | Wait::Unsupported => {
                    done.printed.push((true, not_understood(text)));
                    shell.fail(2);
                    return if style == Style::Nothing { End::Exits(2) } else { End::Waits };
                }
            };
            if went_on.is_none() {
                let is_gone = !self.state.borrow().streams.contains_key(&stream);
                shell.give_up();
                done.printed.push((true, format!("{}\n", if is_gone { "" } else { CTRL_C })));
                return if is_gone { End::Gone } else { End::Waits };
            }
        }
        done.printed.push((true, "this would take for ever\n".to_owned()));
        shell.fail(1);
        End::Waits
    }

    /// Lets time pass. None if Ctrl-C, or the end of the shell, came first.
    async fn sleep_in(&self, stream: u64, time: Duration) -> Option<()> {
        let park = self.hub.park("time, or what is typed");
        self.waits_in(stream, Some(park.call()));
        let timer = Timer::Line { stream };
        let timer = self.hub.arm(self.actor, timer.what(), timer.to_string(), time, false);
        park.await;
        self.hub.disarm(timer);
        self.waits_in(stream, None).then_some(())
    }

    /// A line has slept.
    pub(super) fn slept(&self, stream: u64) {
        let state = self.state.borrow();
        let typing = state.streams.get(&stream);
        if let Some(line) = typing.and_then(|typing| typing.line) {
            self.hub.unpark(self.actor, line);
        }
    }

    /// Notes who is to be woken. False if the line is to end.
    fn waits_in(&self, stream: u64, line: Option<CallId>) -> bool {
        let mut state = self.state.borrow_mut();
        let Some(typing) = state.streams.get_mut(&stream) else { return false };
        typing.line = line;
        !std::mem::take(&mut typing.interrupted)
    }

    /// What comes of some work; None if Ctrl-C, or the end of the shell, came first.
    async fn unless_interrupted<T>(&self, stream: u64, work: impl Future<Output = T>) -> Option<T> {
        let park = self.hub.park("an answer, or what is typed");
        self.waits_in(stream, Some(park.call()));
        let done = unless(work, park).await;
        self.waits_in(stream, None);
        done
    }

    /// Ctrl-C: the line that runs ends.
    pub(super) fn interrupt(&self, stream: u64) {
        let mut state = self.state.borrow_mut();
        let Some(typing) = state.streams.get_mut(&stream) else { return };
        let line = typing.line.take();
        typing.interrupted = line.is_some();
        line.into_iter().for_each(|call| self.hub.unpark(self.actor, call));
    }

    /// The container is gone, and with it all shells in it. A client that waits for a line learns it from the line's result.
    pub(super) fn close_streams(&self, container: &str, code: i32) {
        let mut state = self.state.borrow_mut();
        let of_container = |(_, typing): &(&u64, &Typing)| typing.container == container;
        let closed: Vec<u64> = state.streams.iter().filter(of_container).map(|(stream, _)| *stream).collect();
        for stream in closed {
            let Some(typing) = state.streams.remove(&stream) else { continue };
            if let Some(call) = typing.line {
                self.hub.unpark(self.actor, call);
            } else if let Some(kubelet) = self.kubelet.get() {
                let code = if typing.is_beside() { SIGKILLED } else { code };
                self.hub.tell(self.actor, kubelet, Rc::new(StreamEnded { stream, code }));
            }
        }
    }

    /// The shell that a user types into, while one of the user's lines runs. None: it is gone, or runs a line already.
    fn take_shell(&self, stream: u64) -> Option<(Typing, Shell, ExecContext)> {
        let mut state = self.state.borrow_mut();
        let State { streams, containers, .. } = &mut *state;
        let typing = streams.get_mut(&stream)?;
        let shell = match &mut typing.to {
            To::Beside(shell) => *shell.take()?,
            To::Process => containers.get_mut(&*typing.container)?.shell.take()?,
        };
        let typing = typing.clone();
        drop(state);
        let context = self.context_of_process(&typing.container)?;
        Some((typing, shell, context))
    }

    fn put_shell(&self, stream: u64, shell: Shell, open: String) {
        let mut state = self.state.borrow_mut();
        let State { streams, containers, .. } = &mut *state;
        let Some(typing) = streams.get_mut(&stream) else { return };
        typing.open = open;
        match &mut typing.to {
            To::Beside(context) => *context = Some(shell.into()),
            To::Process => {
                if let Some(container) = containers.get_mut(&*typing.container) {
                    container.shell = Some(shell);
                }
            }
        }
    }
}

/// What a shell says of a line that it cannot read.
fn not_understood(text: &str) -> String {
    match is_quote_open(text) {
        true => "sh: syntax error: unterminated quoted string\n".to_owned(),
        false => "sh: this is more than the shell of these containers knows\n".to_owned(),
    }
}

/// Whether a line begins a shell in the shell.
fn is_shell(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    shell::reads_commands(&words)
}

/// Whether a line ends between quotes.
fn is_quote_open(text: &str) -> bool {
    let (mut open, mut chars) = (None, text.chars());
    while let Some(c) = chars.next() {
        match (open, c) {
            (Some(quote), c) if c == quote => open = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(chars.next()),
            (None, '\'' | '"') => open = Some(c),
            _ => {}
        }
    }
    open.is_some()
}

/// What a shell says when it waits, for the rest of what is `open` if there is such.
fn prompt(style: Style, open: &str, shell: &Shell, context: &ExecContext) -> String {
    let uid = context.container.config.security.run_as_user.unwrap_or(0);
    let sign = if uid == 0 { '#' } else { '$' };
    let at = shell.directory();
    let at = match at.strip_prefix("/root") {
        Some(below) if below.is_empty() || below.starts_with('/') => format!("~{below}"),
        _ => at.to_owned(),
    };
    match style {
        Style::Nothing => String::new(),
        _ if !open.is_empty() => "> ".to_owned(),
        Style::Busybox => format!("{at} {sign} "),
        Style::Dash => format!("{sign} "),
        Style::Bash => {
            let user = if uid == 0 { "root" } else { "I have no name!" };
            format!("{user}@{}:{at}{sign} ", context.sandbox.hostname)
        }
    }
}
