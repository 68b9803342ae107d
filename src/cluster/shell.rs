//! The shell into which the user types, if there is one: see [`kubectl::terminal`]; and what Ctrl-C ends where
//! there is none.

use super::Cluster;
use super::user::UserActor;
use engine::ActorId;
use kubectl::left_open::{Ending, State};
use kubectl::terminal;
use kubelet::runtime::terminal::CTRL_C;

/// A shell that has the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// Where it is.
    pub place: String,
    /// What it is at.
    pub state: State,
}

impl Shell {
    /// What it says when it waits for a line.
    pub fn prompt(&self) -> Option<&str> {
        if let State::Waits(prompt) = &self.state { Some(prompt) } else { None }
    }
}

impl Cluster {
    /// The shell that has the terminal.
    pub fn shell(&self) -> Option<Shell> {
        let terminal = self.kubectl.terminal.borrow();
        terminal.as_ref().map(|it| Shell { place: it.place.clone(), state: it.state.clone() })
    }

    /// Whether it waits for a line; None: there is none.
    pub fn shell_waits(&self) -> Option<bool> {
        self.kubectl.terminal.borrow().as_ref().map(|it| matches!(it.state, State::Waits(_)))
    }

    /// Types a line into it, or a key: `^C`, `^D`.
    ///
    /// # Errors
    /// There is none, or it does not wait for a line.
    pub fn type_into_shell(&mut self, text: &str) -> Result<(), String> {
        let none = "no shell is open; kubectl exec -it POD -- sh opens one, once it is stepped";
        let Shell { place, state } = self.shell().ok_or(none)?;
        let kubectl = self.kubectl.at_terminal();
        match state {
            State::Waits(_) => {
                let (text, failures) = (text.to_owned(), self.failures.clone());
                self.run_command(&format!("typed in {place}: {text}"), async move {
                    let code = terminal::type_line(text, &kubectl).await;
                    failures.set(failures.get() + u32::from(code.is_some_and(|code| code != 0)));
                });
                Ok(())
            }
            State::Works if text == CTRL_C => {
                self.engine.outside(self.user.actor(), |_| terminal::interrupt(&kubectl));
                Ok(())
            }
            State::Works => Err(format!("the shell in {place} runs a line; step until that has ended, or: type ^C")),
            State::Ends => Err(format!("the shell in {place} has ended; step until kubectl has, too")),
        }
    }

    /// Whether a command runs that was typed at the prompt.
    pub fn runs_typed(&self) -> bool {
        self.running.newest().is_some()
    }

    /// Ends the command that was typed last at the prompt and still runs, as Ctrl-C does. Says which it was.
    ///
    /// # Errors
    /// None runs.
    pub fn interrupt(&mut self) -> Result<String, String> {
        let ended = self.running.newest().and_then(|task| self.engine.end_task(task));
        let label = ended.ok_or("no command runs that was typed at the prompt, so there is none to end")?;
        // As a terminal shows the key.
        self.kubectl.print("^C\n");
        Ok(label.to_string())
    }

    /// A process is gone. If the shell was reached through it, kubectl ends.
    pub(super) fn hang_up(&mut self, id: ActorId) {
        let (user, kubectl) = (self.user.actor(), self.kubectl.clone());
        let is_lost = self.engine.outside(user, |_| terminal::is_lost(id, &kubectl));
        if is_lost {
            let leave = |user: &UserActor| user.leave(Ending::Lost);
            self.engine.with_actor(user, |actor| actor.as_any().downcast_ref().map(leave));
        }
    }
}
