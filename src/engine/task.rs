//! The executor: tasks, and what each of them waits for.
//!
//! A task is polled when it begins, and then exactly when the answer to one of its calls is delivered. One that panics is
//! gone, and says so: nothing else comes to harm.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::call::Outcome;
use super::event::{ActorId, CallId};
use super::place::Place;
use super::trace::Note;
use super::{Engine, LocalBoxFuture, Server};
use object::time::Instant;

/// A task of the executor: one reconcile, pod sync or command in flight.
pub struct Task {
    /// Whose it is.
    pub actor: ActorId,
    /// `replicaset-controller default/web-cc544bdcc`.
    pub label: Rc<str>,
    /// What it waits for, and where.
    pub waits: Vec<Wait>,
    pub(super) background: bool,
    pub(super) future: LocalBoxFuture<()>,
}

impl Task {
    /// Whether it is traffic that never stops, as the sending of Events.
    pub fn is_background(&self) -> bool {
        self.background
    }
}

/// One call that a task waits for.
#[derive(Clone, Debug)]
pub struct Wait {
    /// The call.
    pub call: CallId,
    /// The line of source that made it.
    pub at: Place,
    /// What is awaited: `create pods`.
    pub about: Rc<str>,
    /// Since when.
    pub since: Instant,
}

impl<S: Server> Engine<S> {
    /// Tasks in flight, in the order in which they began.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values()
    }

    /// Tasks that panicked since this was last asked: whose, which, and with what message.
    pub fn take_crashes(&mut self) -> Vec<(ActorId, Rc<str>, String)> {
        std::mem::take(&mut self.crashes)
    }

    /// Ends a task where it stands, from outside, as a signal ends a program: what it waits for comes to none. Its label; None:
    /// it has ended by itself.
    pub fn end_task(&mut self, id: u64) -> Option<Rc<str>> {
        let actor = self.tasks.get(&id)?.actor;
        // What it does when it is dropped is done in its process.
        self.outside(actor, |engine| {
            engine.calls.retain(|_, task| *task != id);
            engine.tasks.remove(&id).map(|task| task.label.clone())
        })
    }

    /// Gives a task the answer it waits for and runs it until it waits again.
    pub(super) fn resume(&mut self, call: CallId, outcome: Outcome) {
        let Some(id) = self.calls.remove(&call) else { return };
        let Some(mut task) = self.tasks.remove(&id) else { return };
        task.waits.retain(|wait| wait.call != call);
        self.hub.put_result(call, outcome);
        self.poll(id, task);
        self.hub.forget_result(call);
    }

    /// A task of the background whose request was to be seen has left the background with it: so has what follows.
    pub(super) fn changed_something(&mut self, call: CallId, background: bool) {
        if let Some(task) = self.calls.get(&call).and_then(|id| self.tasks.get_mut(id)) {
            task.background &= background;
        }
    }

    pub(super) fn poll(&mut self, id: u64, mut task: Task) {
        self.hub.set_actor(task.actor, task.background);
        self.hub.set_task(id);
        let mut context = Context::from_waker(Waker::noop());
        let polled = catch_unwind(AssertUnwindSafe(|| task.future.as_mut().poll(&mut context)));
        for waiting in self.hub.take_waiting() {
            self.calls.insert(waiting.call, id);
            let (actor, label) = (task.actor, task.label.clone());
            let (at, awaits) = (waiting.at.clone(), waiting.about.clone());
            self.hub.note(|| Note::Waits { actor, task: label, at, awaits });
            task.waits.push(Wait { call: waiting.call, at: waiting.at, about: waiting.about, since: self.world.now });
        }
        match polled {
            Ok(Poll::Pending) => {
                self.tasks.insert(id, task);
            }
            Ok(Poll::Ready(())) => self.hub.note(|| Note::Finished { actor: task.actor, task: task.label }),
            Err(panic) => self.crashes.push((task.actor, task.label, panic_text(&*panic))),
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
