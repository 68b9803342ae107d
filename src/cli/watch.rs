//! Long moves, as the prompt and programs watch them.

use indicatif::ProgressBar;

use stepper::outside::{Progress, Watch};

use super::signals::Signals;

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
