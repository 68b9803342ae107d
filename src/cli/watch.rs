//! Long moves are watched as they go: whoever watches shows how far they have come, and may end them.

use indicatif::ProgressBar;

use crate::object::time::Instant;

use super::signals::Signals;

/// How far a move has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// So many steps have run.
    pub steps: u64,
    /// The virtual time.
    pub now: Instant,
}

/// Somebody who watches long moves.
pub trait Watch {
    /// A move has come so far. Whether it goes on.
    fn goes_on(&mut self, progress: Progress) -> bool;
    /// It is over.
    fn over(&mut self) {}
}

/// Ends a move where it was ended before: after so many steps, at this time. Moves are looked at after the same steps whenever
/// they are repeated.
pub struct UpTo(pub u64, pub Instant);

impl Watch for UpTo {
    fn goes_on(&mut self, progress: Progress) -> bool {
        // A wait that went on beyond its last step is not ended there.
        progress.steps < self.0 || (progress.steps == self.0 && progress.now < self.1)
    }
}

/// A bar below the prompt. Ctrl-C ends the move.
pub struct Bar {
    bar: ProgressBar,
    signals: Signals,
}

impl Bar {
    /// One that listens to these.
    pub fn new(signals: Signals) -> Bar {
        Bar { bar: ProgressBar::hidden(), signals }
    }
}

impl Watch for Bar {
    fn goes_on(&mut self, progress: Progress) -> bool {
        if self.bar.is_hidden() {
            self.bar = ProgressBar::new_spinner();
        }
        self.bar.set_message(format!("step {}, {}; Ctrl-C stops here", progress.steps, progress.now));
        self.bar.tick();
        !self.signals.ended() && !self.signals.interrupted()
    }

    fn over(&mut self) {
        std::mem::replace(&mut self.bar, ProgressBar::hidden()).finish_and_clear();
    }
}

/// Nothing is shown: a program waits for the answer. SIGINT ends the move, as Ctrl-C does at a terminal.
pub struct Silent(pub Signals);

impl Watch for Silent {
    fn goes_on(&mut self, _: Progress) -> bool {
        !self.0.ended() && !self.0.interrupted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_ends_where_it_ended_before() {
        let goes_on = |steps, now| UpTo(256, Instant(5)).goes_on(Progress { steps, now: Instant(now) });
        assert!(goes_on(255, 4) && goes_on(256, 4), "a wait of which nothing more came");
        assert!(!goes_on(256, 5) && !goes_on(257, 6), "it was ended by somebody");
    }
}
