//! The commands that were typed at the prompt and have not ended: what Ctrl-C ends.
//!
//! Left out: a line that sleeps, which no task waits for; a port that `port-forward` has left open.

use engine::{Hub, Memory};

/// The commands that run, by their tasks, the newest last. Cloning shares it.
#[derive(Clone)]
pub(super) struct Running {
    hub: Hub,
    tasks: Memory<Vec<u64>>,
}

impl Running {
    /// None runs yet.
    pub(super) fn new(hub: &Hub) -> Running {
        Running { hub: hub.clone(), tasks: hub.memory(Vec::new()) }
    }

    /// The one that began last.
    pub(super) fn newest(&self) -> Option<u64> {
        self.tasks.borrow().last().copied()
    }

    /// The task that calls this runs a command, until what it gets is dropped.
    pub(super) fn here(&self) -> Here {
        let task = self.hub.task();
        self.tasks.borrow_mut().push(task);
        Here { running: self.clone(), task }
    }
}

/// A command that runs.
pub(super) struct Here {
    running: Running,
    task: u64,
}

impl Drop for Here {
    fn drop(&mut self) {
        // A command that is cut off in the middle may be dropped at any time.
        if let Some(mut tasks) = self.running.tasks.try_borrow_mut() {
            tasks.retain(|task| *task != self.task);
        }
    }
}
