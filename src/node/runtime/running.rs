//! What a container's process does while it runs: the commands of its script, each when its turn comes. What they print
//! goes to the container's log.

use std::time::Duration;

use super::exec::Place;
use super::script::Simple;
use super::{COMMAND, Inner};

impl Inner {
    /// Runs at once what a process runs when it starts, and arms timers for the rest.
    pub(super) fn run_commands(&self, id: &str) {
        let runs = self.state.borrow().containers.get(id).map(|c| c.plan.runs.clone()).unwrap_or_default();
        for (number, (after, simple)) in runs.into_iter().enumerate() {
            if after == Duration::ZERO {
                self.run_command(id, simple);
            } else {
                self.hub.wake(self.actor, COMMAND, format!("{id} {number}"), after);
            }
        }
    }

    /// It is a command's turn, if the process still runs.
    pub(super) fn command_due(&self, key: &str) {
        let Some((id, number)) = key.split_once(' ') else { return };
        let simple = {
            let state = self.state.borrow();
            let running = state.containers.get(id).filter(|c| c.status.exit_code == 0 && c.status.reason.is_empty());
            running.and_then(|c| c.plan.runs.get(number.parse::<usize>().ok()?).map(|(_, simple)| simple.clone()))
        };
        if let Some(simple) = simple {
            self.run_command(id, simple);
        }
    }

    fn run_command(&self, id: &str, simple: Simple) {
        let Some(place) = self.place_of_process(id) else { return };
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        let into = simple.into.as_ref().map(|(path, _)| path.as_str());
        let written = into.or(match words.as_slice() {
            ["touch", path] => Some(path),
            _ => None,
        });
        if let Some(path) = written {
            self.text(|| format!("{} writes to {path}", place.container.config.name));
        }
        if let ["rm", .., path] = words.as_slice() {
            self.text(|| format!("{} removes {path}", place.container.config.name));
        }
        let said = self.run_of_process(&place, simple);
        self.log(&place, &said);
    }

    /// Puts lines into the log, among those that will be printed later and are there already.
    fn log(&self, place: &Place, said: &str) {
        let (now, state) = (self.hub.now(), self.state.borrow());
        let mut journal = state.journal.borrow_mut();
        let pod = format!("{}/{}", place.sandbox.namespace, place.sandbox.name);
        let lines = &mut journal.entry((pod, place.container.config.name.clone())).or_default().lines;
        let at = lines.partition_point(|(at, _)| *at <= now);
        lines.splice(at..at, said.lines().map(|line| (now, line.to_owned())));
    }
}
