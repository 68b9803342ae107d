//! Steps that the engine only makes room for: something breaks, or is changed, from outside.
//!
//! What a fault does is up to the crate that builds the cluster. Here it gets what every step has: a number, a place in the
//! order of events, a cause, notes, and what follows from it. It is due like any event if a process or a command of a
//! scenario has sent it ([`super::Hub::fault`]), and happens at once if the user decides so from outside.

use std::rc::Rc;

use super::event::{ActorId, EventId, Message, Pending, StepId, What};
use super::{Engine, Server, Step};

/// The step of a fault that has begun. What is done to the engine now belongs to it.
pub struct Breaking {
    /// The event.
    pub event: Pending,
    /// The first event that was sent since.
    first: u64,
}

impl<S: Server> Engine<S> {
    /// Begins the step of the fault that is due next, or of the one that is chosen. None if that is no fault.
    pub fn begin_fault_due(&mut self, chosen: Option<EventId>) -> Option<Breaking> {
        let event = chosen.map_or_else(|| self.peek(), |id| self.in_flight(id))?;
        if !matches!(event.what, What::Fault { .. }) {
            return None;
        }
        let event = self.take_pending((event.due, event.id));
        Some(self.begin_step(event))
    }

    /// Begins the step of a fault that nothing in the run has caused: `from` has decided so just now.
    pub fn begin_fault(&mut self, from: ActorId, message: Rc<dyn Message>) -> Breaking {
        let id = EventId(self.world.next_event);
        self.world.next_event += 1;
        let (due, cause, what) = (self.world.now, StepId(0), What::Fault { message });
        self.begin_step(Pending { id, due, cause, from, to: from, background: false, idle: false, what })
    }

    fn begin_step(&mut self, event: Pending) -> Breaking {
        self.world.now = self.world.now.max(event.due);
        self.world.steps += 1;
        self.hub.enter(self.world.now, StepId(self.world.steps), event.from, false);
        Breaking { event, first: self.world.next_event }
    }

    /// Ends it. `at` is whom it concerned.
    pub fn end_fault(&mut self, breaking: Breaking, at: ActorId) -> Step {
        self.settle(at);
        let sent = self.sent_since(breaking.first);
        let event = Pending { to: at, ..breaking.event };
        Step { id: StepId(self.world.steps), time: self.world.now, event, notes: self.hub.take_notes(), sent }
    }

    /// Takes the beginning of a fault back that cannot be: there was no step.
    pub fn cancel_fault(&mut self, breaking: &Breaking) {
        self.world.steps -= 1;
        self.hub.take_notes();
        if self.world.next_event == breaking.first {
            self.world.next_event = breaking.event.id.0;
        }
    }
}
