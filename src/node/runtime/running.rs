//! What a container's process does while it runs: the commands of its script, each when its turn comes, and those of its
//! loop, round after round. What they print goes to the container's log.

use std::time::Duration;

use super::exec::Place;
use super::process::{Plan, Rounds};
use super::script::{self, Simple, expand};
use super::{COMMAND, Inner, ROUND};
use crate::node::cri::ContainerState;

impl Inner {
    /// Runs at once what a process runs when it starts, and arms timers for the rest.
    pub(super) fn run_commands(&self, id: &str) {
        let plan = self.state.borrow().containers.get(id).map(|c| c.plan.clone()).unwrap_or_default();
        if let Some(rounds) = plan.rounds {
            self.hub.wake_background(self.actor, ROUND, format!("{id} 0"), rounds.after + rounds.moments[0].0);
        }
        for (number, (after, simple)) in plan.runs.into_iter().enumerate() {
            if after == Duration::ZERO {
                self.run_command(id, simple);
            } else {
                self.hub.wake(self.actor, COMMAND, format!("{id} {number}"), after);
            }
        }
    }

    /// It is a command's turn, if the process still runs.
    pub(super) fn command_due(&self, key: &str) {
        let Some((id, number, plan)) = self.turn(key) else { return };
        if let Some((_, simple)) = plan.runs.into_iter().nth(number) {
            self.run_command(&id, simple);
        }
    }

    /// The same of those of one moment of a round. A loop goes on in the background: nobody waits for its end.
    pub(super) fn round_due(&self, key: &str) {
        let Some((id, number, Plan { rounds: Some(rounds), .. })) = self.turn(key) else { return };
        let Rounds { every, mut moments, .. } = rounds;
        let next = if number + 1 < moments.len() { number + 1 } else { 0 };
        let until = if next == 0 { every + moments[0].0 } else { moments[next].0 };
        self.hub.wake_background(self.actor, ROUND, format!("{id} {next}"), until - moments[number].0);
        for simple in moments.swap_remove(number).1 {
            self.run_command(&id, simple);
        }
    }

    /// Whose turn it is, the number of the turn, and what the process does; None if it does not run any more.
    fn turn(&self, key: &str) -> Option<(String, usize, Plan)> {
        let (id, number) = key.split_once(' ')?;
        let state = self.state.borrow();
        let container = state.containers.get(id)?;
        let runs = container.status.state == ContainerState::ContainerRunning;
        runs.then(|| Some((id.to_owned(), number.parse().ok()?, container.plan.clone())))?
    }

    fn run_command(&self, id: &str, mut simple: Simple) {
        let Some(place) = self.place_of_process(id) else { return };
        if script::assignment(&simple.words).is_some() {
            self.expand(&place, &mut simple);
            let Some((name, value)) = script::assignment(&simple.words) else { return };
            let mut state = self.state.borrow_mut();
            let Some(container) = state.containers.get_mut(id) else { return };
            container.variables.insert(name.to_owned(), value.to_owned());
            return;
        }
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

    /// A shell replaces variables in what it runs, and commands by what they print.
    pub(super) fn expand(&self, place: &Place, simple: &mut Simple) {
        if !place.is_shell {
            return;
        }
        let mut environment: Vec<(String, String)> = place.variables.clone().into_iter().collect();
        environment.extend(place.environment());
        let value_of = |name: &str| place.variables.get(name).cloned();
        let expanded = |text: &str| {
            let mut text = text.to_owned();
            expand(&mut text, &environment);
            text
        };
        for word in simple.words.iter_mut().chain(simple.into.as_mut().map(|(path, _)| path)) {
            let (mut done, mut rest) = (String::new(), word.as_str());
            while let Some((before, command, after)) = script::substitution(rest) {
                done += &expanded(before);
                let command = expanded(command);
                rest = after;
                done += &match (command.strip_prefix('('), after.strip_prefix(')')) {
                    (Some(sum), Some(after)) => {
                        rest = after;
                        script::arithmetic(sum, value_of).unwrap_or_default().to_string()
                    }
                    _ => {
                        let words: Vec<&str> = command.split_whitespace().collect();
                        self.at_once_in(place, &words).unwrap_or_default().output.trim_end().to_owned()
                    }
                };
            }
            *word = done + &expanded(rest);
        }
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
