//! What a session needs of the world around it: its face has it, a terminal or a page.

use cluster::scenario::Scenario;
use kubectl::workdir::Disk;
use object::time::Instant;

/// The world around a session. Where it has nothing of the kind, what is here says so.
pub trait Outside {
    /// How many columns and rows there are to show text on, if that is known.
    fn screen(&self) -> Option<(usize, usize)> {
        None
    }

    /// The files that the session's lines can name.
    fn disk(&self) -> Disk {
        Disk::default()
    }

    /// Names of files that begin so; a folder's ends with a slash.
    fn files(&self, _start: &str) -> Vec<String> {
        Vec::new()
    }

    /// The text of a saved session.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn load(&self, name: &str) -> Result<String, String> {
        Err(format!("{name} cannot be read: there are no files here"))
    }

    /// Keeps a saved session under a name. What is there and is none ([`is_session`](crate::commands::keep::is_session))
    /// stays as it is.
    ///
    /// # Errors
    /// Why it cannot be kept.
    fn save(&self, name: &str, _text: &str) -> Result<(), String> {
        Err(format!("{name} cannot be written: there are no files here"))
    }

    /// Keeps the lines that have solved a case. What is to be said of that: whole lines.
    ///
    /// # Errors
    /// Why they cannot be kept.
    fn solved(&self, _case: &str, _lines: &str) -> Result<String, String> {
        Ok(String::new())
    }

    /// Puts a learner's part into a scenario that names one.
    ///
    /// # Errors
    /// There is none, or it does not run here.
    fn plug(&self, scenario: &mut Scenario) -> Result<(), String> {
        match &scenario.exercise {
            None => Ok(()),
            Some(name) => Err(format!("the solution of {name} cannot run here")),
        }
    }
}

/// Nothing around: no screen, no files.
pub struct Nothing;

impl Outside for Nothing {}

/// Where a session is written as it goes, to outlive the program.
pub trait Journal {
    /// Adds a text at its end.
    ///
    /// # Errors
    /// Why it cannot be.
    fn add(&mut self, text: &str) -> Result<(), String>;

    /// A new one that begins with `head` takes its place.
    ///
    /// # Errors
    /// Why it cannot.
    fn anew(&mut self, head: &str) -> Result<(), String>;

    /// The session came to its end: nothing is to be kept.
    fn end(self: Box<Self>);
}

/// How far a move has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// So many steps have run.
    pub steps: u64,
    /// The virtual time.
    pub now: Instant,
}

/// Watches long moves as they go: it shows how far they have come, and may end them.
pub trait Watch {
    /// A move has come so far. Whether it goes on.
    fn goes_on(&mut self, progress: Progress) -> bool;
    /// It is over.
    fn over(&mut self) {}
}

/// Ends a move where it was ended before: after so many steps, at this time. Moves are looked at after the same steps
/// whenever they are repeated.
pub struct UpTo(pub u64, pub Instant);

impl Watch for UpTo {
    fn goes_on(&mut self, progress: Progress) -> bool {
        // A wait that went on beyond its last step is not ended there.
        progress.steps < self.0 || (progress.steps == self.0 && progress.now < self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_ends_where_it_ended_before() {
        let goes_on = |steps, now| UpTo(256, Instant(5)).goes_on(Progress { steps, now: Instant(now) });
        assert!(goes_on(255, 4) && goes_on(256, 4), "a wait of which nothing more came");
        assert!(!goes_on(256, 5) && !goes_on(257, 6), "its user ended it");
    }
}
