//! What a container's process does while it runs: its shell goes from one wait to the next. What it prints goes to the
//! container's log.
//!
//! A loop that may have no end is background traffic: no run waits for it. What comes after it is not, and neither is the
//! process's end.

use std::rc::Rc;
use std::time::Duration;

use super::containerd::Containerd;
use super::exec::{Done, ExecContext, Unknown, Wait};
use super::process::SIGKILLED;
use super::timers::Timer;
use crate::cri::ContainerState;
use userland::shell::run::{Command, Shell, Sink};
use userland::{Ran, clients, programs, shell};

impl Containerd {
    /// A process starts.
    pub(super) fn begin(self: &Rc<Self>, id: &str) {
        let Some(context) = self.context_of_process(id) else { return };
        let Some(program) = context.container.plan.program.clone() else { return };
        // It has started before anything else happens to it.
        let done = Done { ran: 1, ..Done::default() };
        self.drive(id, context.shell(program), context, done);
    }

    /// What a process waited for is over.
    pub(super) fn wakes(self: &Rc<Self>, id: &str, wait: u64) {
        if let Some((shell, context)) = self.turn(id, wait) {
            self.drive(id, shell, context, Done::default());
        }
    }

    /// The shell and the place whose turn it is; None: it does not run any more, or does not wait for that.
    fn turn(&self, id: &str, wait: u64) -> Option<(Shell, ExecContext)> {
        let shell = {
            let mut state = self.state.borrow_mut();
            let container = state.containers.get_mut(id)?;
            let runs = container.status.state == ContainerState::ContainerRunning;
            if runs && container.waits == wait { container.shell.take()? } else { return None }
        };
        Some((shell, self.context_of_process(id)?))
    }

    /// Lets a process go on until it waits, or ends.
    fn drive(self: &Rc<Self>, id: &str, mut shell: Shell, mut context: ExecContext, mut done: Done) {
        let wait = self.advance(&mut shell, &mut context, Unknown::Runs, &mut done).unwrap_or(Wait::Unsupported);
        let said: String = done.printed.into_iter().map(|(_, text)| text).collect();
        self.log(&context, &said);
        let wait_number = {
            let mut state = self.state.borrow_mut();
            let Some(container) = state.containers.get_mut(id) else { return };
            container.shell = Some(shell);
            container.waits += 1;
            if let Wait::End(code) = wait {
                let since = self.hub.now() - container.status.started_at;
                container.plan.ends = container.plan.ends.or(Some((since, code)));
            }
            container.waits
        };
        match wait {
            Wait::Time { time: None, .. } => {}
            Wait::Time { time: Some(time), is_background } => {
                if !is_background {
                    self.hub.come_forward();
                }
                self.arm(id, Timer::Wake { id, wait: wait_number }, time, is_background);
            }
            Wait::Others(command) => self.ask(id.to_owned(), wait_number, context, command),
            Wait::Server | Wait::Unsupported => self.listen(id),
            // A scenario says when it ends.
            Wait::End(_) if context.container.plan.ends.is_some() => {}
            Wait::End(_) => {
                self.hub.come_forward();
                // What a process does at its end comes before its end.
                match done.ran {
                    0 => self.exits(id),
                    _ => self.arm(id, Timer::Exit { id }, Duration::ZERO, false),
                }
            }
        }
    }

    /// Runs a command that others have to answer, as a task of its own.
    fn ask(self: &Rc<Self>, id: String, wait: u64, context: ExecContext, command: Command) {
        let me = self.clone();
        let label = format!("{} runs {}", context.container.config.name, command.words.join(" "));
        let is_background = command.is_background;
        let task = async move {
            let ran = me.ask_others(&context, &command.words).await;
            let ran = ran.unwrap_or_else(|error| Ran::badly(1, error.message));
            // What is beyond the cluster is taken to be there.
            let is_beyond = ran.unknown_host.as_deref().is_some_and(clients::is_public);
            let ran = if is_beyond { Ran::default() } else { ran };
            if let Some((mut shell, context)) = me.turn(&id, wait) {
                let mut done = Done::default();
                me.finish(&mut shell, &context, ran, &mut done);
                me.drive(&id, shell, context, done);
            }
        };
        if is_background {
            self.hub.spawn_background(self.actor, label, task);
        } else {
            self.hub.come_forward();
            self.hub.spawn(self.actor, label, task);
        }
    }

    /// A command beside the shell: it does its work at once, or serves from now on.
    pub(super) fn job(&self, shell: &mut Shell, context: &ExecContext, command: &Command) -> Ran {
        if !programs::is_known(&command.words) {
            shell.keeps_job();
            self.listen(&context.container.status.id);
            return Ran::default();
        }
        Ran { code: 0, ..self.of_process(context, command) }
    }

    /// SIGTERM for a process that may mind it, or not; it has so long to end. The wait is over as soon as the process ends.
    pub(super) async fn terminate(self: &Rc<Self>, id: &str, timeout: Duration) {
        let park = self.hub.park("the end of a process");
        let shell = {
            let mut state = self.state.borrow_mut();
            let Some(container) = state.containers.get_mut(id) else { return };
            container.stopped_by.push(park.call());
            container.shell.take_if(|shell| shell.minds_signals())
        };
        match shell {
            // Its trap is its own business, and may take it to its end.
            Some(shell) => {
                self.arm(id, Timer::Kill { id }, timeout, true);
                self.signal(id, shell);
            }
            None => self.arm(id, Timer::Kill { id }, timeout, false),
        }
        park.await;
    }

    /// Has something happen to a process at a time that is known. It does not if the process ends before. It comes in place
    /// of what was to happen later; but of several who stop a process, the one whose patience ends first kills it.
    pub(super) fn arm(&self, id: &str, timer: Timer<'_>, after: Duration, is_background: bool) {
        let what = timer.what();
        let is_kill = matches!(timer, Timer::Kill { .. });
        let timer = self.hub.arm(self.actor, what, timer.to_string(), after, is_background);
        let mut state = self.state.borrow_mut();
        let Some(container) = state.containers.get_mut(id) else { return };
        container.timers.retain(|(earlier, timer)| {
            let stays = is_kill || *earlier != what;
            if !stays {
                self.hub.disarm(*timer);
            }
            stays
        });
        container.timers.push((what, timer));
    }

    fn signal(self: &Rc<Self>, id: &str, mut shell: Shell) {
        let at_once = shell.signal();
        if let Some(container) = self.state.borrow_mut().containers.get_mut(id) {
            container.shell = Some(shell);
        }
        if at_once {
            let wait = self.state.borrow().containers.get(id).map_or(0, |container| container.waits);
            self.wakes(id, wait);
        }
    }

    /// It had its time.
    pub(super) fn kill_due(&self, id: &str) {
        self.hub.come_forward();
        self.ended(id, SIGKILLED, "Error");
    }

    /// A command of a process: one that is not simulated does well.
    pub(super) fn of_process(&self, context: &ExecContext, command: &Command) -> Ran {
        let mut words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        words.iter_mut().take(1).for_each(|name| *name = shell::program(name));
        let name = &context.container.config.name;
        match (words.as_slice(), &command.output) {
            (_, Sink::File { path, .. }) => self.text(|| format!("{name} writes to {path}")),
            (["touch", path] | ["tee", .., path], _) => self.text(|| format!("{name} writes to {path}")),
            (["rm", .., path], _) => self.text(|| format!("{name} removes {path}")),
            _ => {}
        }
        match words.as_slice() {
            ["tee", flags @ .., path] => return self.tee(context, flags, path, command.input()),
            // Names of files that stand for others are not replaced, and what they stand for is taken to be there.
            [_, paths @ ..] if paths.iter().any(|path| path.starts_with('/') && path.contains('*')) => {
                return Ran::default();
            }
            // Of files there is nothing to see but their names.
            ["ls", ..] => words.retain(|word| !word.starts_with('-') || matches!(*word, "-1" | "-a" | "-A")),
            _ => {}
        }
        self.at_once_in(context, &words, command.input()).unwrap_or_default()
    }

    /// `tee [-a] PATH`
    fn tee(&self, context: &ExecContext, flags: &[&str], path: &str, input: &str) -> Ran {
        let mut ran = Ran::well(input);
        if let Err(why) = self.write_file(&context.container, path, input, flags.contains(&"-a")) {
            (ran.errors, ran.code) = (format!("tee: {path}: {why}\n"), 1);
        }
        ran
    }

    /// Puts lines into the log, among those that will be printed later and are there already.
    pub(super) fn log(&self, context: &ExecContext, said: &str) {
        let (now, state) = (self.hub.now(), self.state.borrow());
        let mut journal = state.journal.borrow_mut();
        let pod = format!("{}/{}", context.sandbox.namespace, context.sandbox.name);
        journal.entry((pod, context.container.config.name.clone())).or_default().print(now, said);
    }
}
