//! Whose turn it is: lines that are typed at the prompt run one after another, as in a shell. What goes on until it is ended,
//! such as `get --watch`, lets the next one begin beside it.

use std::collections::VecDeque;

use engine::{ActorId, CallId, Hub, Memory};

/// The lines that have been typed, as far as they wait for each other. Cloning shares it.
#[derive(Clone)]
pub(super) struct Turns {
    hub: Hub,
    user: ActorId,
    lines: Memory<Lines>,
}

#[derive(Clone, Default)]
struct Lines {
    /// A line runs.
    taken: bool,
    /// The lines that wait for it, in the order in which they were typed.
    waiting: VecDeque<CallId>,
}

impl Turns {
    /// Of this user, who has typed nothing yet.
    pub(super) fn new(hub: &Hub, user: ActorId) -> Turns {
        Turns { hub: hub.clone(), user, lines: hub.memory(Lines::default()) }
    }

    /// Whether a line runs that the next one will wait for.
    pub(super) fn is_taken(&self) -> bool {
        self.lines.borrow().taken
    }

    /// Waits for all lines that were typed before.
    pub(super) async fn take(&self) -> Turn {
        if self.is_taken() {
            let over = self.hub.park("the end of the line before it");
            self.lines.borrow_mut().waiting.push_back(over.call());
            over.await;
        }
        self.lines.borrow_mut().taken = true;
        Turn(Some(self.clone()))
    }

    /// The line that runs is over: the next one begins.
    pub(super) fn over(&self) {
        // A command that is cut off in the middle may be dropped at any time.
        let Some(mut lines) = self.lines.try_borrow_mut() else { return };
        match lines.waiting.pop_front() {
            Some(next) => self.hub.unpark(self.user, next),
            None => lines.taken = false,
        }
    }
}

/// A line's turn, until it is dropped.
pub(super) struct Turn(Option<Turns>);

impl Turn {
    /// The line goes on without this value, and says itself when it is [`over`](Turns::over).
    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.over();
        }
    }
}
