//! The terminal of a kubectl that is connected to a shell: `exec -it`, `attach -it`, `run -it`, `debug -it`.
//!
//! A kubectl that waits for the user to type is plain data: what it is connected to, and what it does when the shell has ended.
//! So is the shell, at the other end. Each line that is typed is a task of its own: it goes to the kubelet and from there to
//! the runtime, and what comes back is printed. There is one terminal, and so one such kubectl at a time.
//!
//! Where no user types, in a scenario's lines and behind a pipe, the shell does what it reads there, and ends.
//!
//! Left out: the keys with which one leaves a process that runs on (`--detach-keys`). A connection does not go through the
//! API server once it stands, so it outlives it; one to a machine that is cut off the power breaks at once, where a real kubectl
//! notices it later.

use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::left_open::{Ending, State, Then};
use crate::nodes::{Ask, Shell, Told};
use crate::verbs::{attached, exec};
use engine::{ActorId, unless};

/// Types a line, or a key, into the shell, which waits. Returns kubectl's exit code, if the shell has ended with that.
pub async fn type_line(text: String, cx: &Kubectl) -> Option<u8> {
    let park = cx.client.hub().park("the end of a line");
    let (kubelet, stream) = {
        let mut terminal = cx.terminal.borrow_mut();
        let terminal = terminal.as_mut()?;
        (terminal.state, terminal.line) = (State::Works, Some(park.call()));
        (terminal.kubelet, terminal.stream)
    };
    let answer = unless(cx.nodes.ask(&cx.client, kubelet, Ask::Typed { stream, text }), park).await;
    let Some(Ok(Told::Shell(Shell { printed, prompt, ended, .. }))) = answer else {
        let killed = cx.terminal.borrow().as_ref().and_then(|terminal| terminal.killed);
        return Some(end(killed.map_or(Ending::Lost, Ending::Code), cx).await);
    };
    cx.pass_on(&printed);
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
        cx.nodes.interrupt(&cx.client, terminal.kubelet, terminal.stream);
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
    let done = finish(terminal.then, how, cx).await;
    cx.terminal.set(None);
    cx.exit_code(done)
}

/// What kubectl does in the end.
async fn finish(then: Then, how: Ending, cx: &Kubectl) -> Result<(), Failure> {
    match then {
        Then::Exec => exec::left(how, cx),
        Then::Attach(says) => attached::left(how, says.as_deref(), cx),
        Then::Run(run) => attached::after(how, *run, cx).await,
    }
}

/// The kubelet says that a shell is gone, and with which code. Whether kubectl is to end now: else a line is on its way, whose end it is.
pub fn is_over(from: ActorId, stream: u64, code: i32, cx: &Kubectl) -> bool {
    let mut terminal = cx.terminal.borrow_mut();
    let Some(terminal) = terminal.as_mut().filter(|it| it.kubelet == from && it.stream == stream) else {
        return false;
    };
    terminal.killed = Some(code);
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
