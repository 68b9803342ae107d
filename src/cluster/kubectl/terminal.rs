//! The terminal of a kubectl that is connected to a shell: `exec -it`, `attach -it`, `run -it`, `debug -it`.
//!
//! A kubectl that waits for somebody to type is plain data: to whom it is connected, and what it does when the shell has ended.
//! So is the shell, at the other end. Each line that is typed is a task of its own: it goes to the kubelet and from there to
//! the runtime, and what comes back is printed. There is one terminal, and so one such kubectl at a time.
//!
//! Where nobody sits, in a scenario's lines and behind a pipe, the shell does what it reads there, and ends.
//!
//! Left out: the keys with which one leaves a process that runs on (`--detach-keys`). A connection does not go through the
//! API server once it stands, so it outlives it; one to a machine that is cut off the power breaks at once, where a real kubectl
//! notices it later.

use serde_json::Value;

use crate::client::Client;
use crate::engine::{ActorId, CallId, unless};
use crate::kubelet::cri::{CriResponse, Interrupt, Stream, StreamEnded};
use crate::kubelet::runtime::terminal::CTRL_D;
use crate::kubelet::server::Typed;

use super::args::Args;
use super::verbs::connect::ask;
use super::verbs::{attached, exec};
use super::{Failure, Kubectl, code_of};

/// What is said of a connection that broke.
const LOST: &str = "websocket: close 1006 (abnormal closure): unexpected EOF";

/// A kubectl that is connected to a shell.
#[derive(Clone)]
pub struct Terminal {
    /// Where the shell is: a Pod, and its container if it has several.
    pub place: String,
    /// Who is at the other end.
    pub kubelet: ActorId,
    stream: u64,
    state: State,
    /// As whom it sends.
    client: Client,
    then: Then,
    /// Wakes who waits for the end of a line, when the connection breaks.
    line: Option<CallId>,
    /// The shell was killed with this code while a line was on its way there.
    killed: Option<i32>,
}

/// What it is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The shell waits for a line, and says so with this.
    Waits(String),
    /// The shell runs a line.
    Works,
    /// The shell has ended, and kubectl has still something to do.
    Ends,
}

/// What kubectl does when the shell has ended.
#[derive(Clone)]
pub enum Then {
    /// It says how.
    Exec,
    /// It says how to come back, if there is a way.
    Attach(Option<String>),
    /// The same, and what `run` does in the end.
    Run(Box<Run>),
}

/// What `run` needs to know in the end.
#[derive(Clone)]
pub struct Run {
    /// How to come back.
    pub says: Option<String>,
    /// The Pod.
    pub pod: Value,
    /// Its Service, if there is one.
    pub services: Vec<Value>,
    /// The command line.
    pub args: Args,
}

/// How a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The shell has ended with this code.
    Code(i32),
    /// Nobody is there any more.
    Lost,
}

impl Ending {
    /// The code.
    ///
    /// # Errors
    /// It broke.
    pub fn code(self) -> Result<i32, Failure> {
        match self {
            Ending::Code(code) => Ok(code),
            Ending::Lost => Err(Failure::text(LOST)),
        }
    }
}

impl Terminal {
    /// Whether its shell waits for a line, runs one, or has ended.
    pub fn state(&self) -> &State {
        &self.state
    }
}

/// Where a shell is, for whoever types.
pub fn place_of(pod: &Value, container: &str) -> String {
    let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let several = pod["spec"]["containers"].as_array().is_some_and(|all| all.len() != 1 || all[0]["name"] != container);
    let pod = name(&pod["metadata"]["name"]);
    if several { format!("{pod}, container {container}") } else { pod }
}

impl Kubectl {
    /// That no other shell has the terminal.
    ///
    /// # Errors
    /// Which one.
    pub fn check_terminal(&self) -> Result<(), Failure> {
        match &*self.terminal.borrow() {
            Some(terminal) if self.is_at_terminal => {
                let place = &terminal.place;
                Err(Failure::text(format!("a shell in {place} has the terminal; leave it first, with exit")))
            }
            _ => Ok(()),
        }
    }

    /// Connects the terminal to a shell; where nobody sits, the shell reads what there is and ends.
    pub(super) async fn connected(
        &self,
        (kubelet, stream): (ActorId, Stream),
        place: String,
        then: Then,
    ) -> Result<(), Failure> {
        let (state, client) = (State::Waits(stream.prompt), self.client.clone());
        let terminal = Terminal { place, kubelet, stream: stream.id, state, client, then, line: None, killed: None };
        if self.is_at_terminal {
            self.terminal.set(Some(terminal));
            return Ok(());
        }
        let texts = [self.stdin.trim(), CTRL_D];
        for text in texts.iter().filter(|text| !text.is_empty()) {
            let typed = Typed { stream: stream.id, text: (*text).to_owned() };
            match ask(kubelet, typed, self).await {
                Ok(CriResponse::Stream(Stream { printed, ended, .. })) => {
                    self.print(&printed);
                    if let Some(code) = ended {
                        return terminal.finish(Ending::Code(code), self).await;
                    }
                }
                _ => return terminal.finish(Ending::Lost, self).await,
            }
        }
        Ok(())
    }
}

impl Terminal {
    /// What kubectl does in the end.
    async fn finish(self, how: Ending, cx: &Kubectl) -> Result<(), Failure> {
        match self.then {
            Then::Exec => exec::finish(cx, "", "", how.code()?),
            Then::Attach(says) => {
                how.code()?;
                says.iter().for_each(|says| cx.line(says));
                Ok(())
            }
            Then::Run(run) => attached::after(how, *run, cx).await,
        }
    }
}

/// Types a line, or a key, into the shell, which waits. Returns kubectl's exit code, if the shell has ended with that.
pub async fn type_line(text: String, cx: &Kubectl) -> Option<u8> {
    let park = cx.client.hub().park("the end of a line");
    let (kubelet, stream) = {
        let mut terminal = cx.terminal.borrow_mut();
        let terminal = terminal.as_mut()?;
        (terminal.state, terminal.line) = (State::Works, Some(park.call()));
        (terminal.kubelet, terminal.stream)
    };
    let answer = unless(ask(kubelet, Typed { stream, text }, cx), park).await;
    let Some(Ok(CriResponse::Stream(Stream { printed, prompt, ended, .. }))) = answer else {
        let killed = cx.terminal.borrow().as_ref().and_then(|terminal| terminal.killed);
        return Some(end(killed.map_or(Ending::Lost, Ending::Code), cx).await);
    };
    cx.print(&printed);
    match ended {
        Some(code) => Some(end(Ending::Code(code), cx).await),
        None => {
            if let Some(terminal) = &mut *cx.terminal.borrow_mut() {
                (terminal.state, terminal.line) = (State::Waits(prompt), None);
            }
            None
        }
    }
}

/// Ctrl-C while a line runs: the kubelet is told, and what comes of it is the line's end.
pub fn interrupt(cx: &Kubectl) {
    if let Some(terminal) = &*cx.terminal.borrow() {
        let interrupt = Interrupt { stream: terminal.stream };
        cx.client.hub().tell(cx.client.actor(), terminal.kubelet, std::rc::Rc::new(interrupt));
    }
}

/// The shell has ended. Returns kubectl's exit code.
pub async fn end(how: Ending, cx: &Kubectl) -> u8 {
    let terminal = {
        let mut terminal = cx.terminal.borrow_mut();
        let Some(terminal) = terminal.as_mut() else { return 0 };
        terminal.state = State::Ends;
        terminal.clone()
    };
    let cx = &cx.with_client(terminal.client.clone());
    let done = terminal.finish(how, cx).await;
    cx.terminal.set(None);
    code_of(done, cx)
}

/// The kubelet says that the shell is gone. Whether kubectl is to end now: else a line is on its way, whose end it is.
pub fn is_over(from: ActorId, ended: &StreamEnded, cx: &Kubectl) -> bool {
    let mut terminal = cx.terminal.borrow_mut();
    let Some(terminal) = terminal.as_mut().filter(|it| it.kubelet == from && it.stream == ended.stream) else {
        return false;
    };
    terminal.killed = Some(ended.code);
    matches!(terminal.state, State::Waits(_))
}

/// The kubelet is gone. Whether kubectl is to end now: else a line is on its way, which ends with that.
pub fn is_lost(kubelet: ActorId, cx: &Kubectl) -> bool {
    let mut terminal = cx.terminal.borrow_mut();
    let Some(terminal) = terminal.as_mut().filter(|it| it.kubelet == kubelet) else { return false };
    if let (State::Works, Some(call)) = (&terminal.state, terminal.line.take()) {
        cx.client.hub().unpark(cx.client.actor(), call);
    }
    matches!(terminal.state, State::Waits(_))
}
