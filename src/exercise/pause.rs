//! Whether a function lets some time pass between a refusal and its next call, which helps none of those that ask at once.
//!
//! Time is measured as it passes. A busy machine may take the processor away from anyone, but not each time; a function that
//! sleeps sleeps each time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// No function needs so long to make its next call.
const PAUSE: Duration = Duration::from_micros(100);
/// So often is it looked whether it was chance.
const LOOKS: usize = 20;
/// Whether the function of this process was found to pause. Then it is not looked any longer.
static FOUND: AtomicBool = AtomicBool::new(false);

/// Measures the time between refusals and calls.
#[derive(Default)]
pub(crate) struct Rest {
    refused: Option<Instant>,
    longest: Duration,
}

impl Rest {
    /// A call was refused, and may be made again.
    #[allow(clippy::disallowed_methods, reason = "a learner's pause knows no virtual time")]
    pub fn refused(&mut self) {
        self.refused = Some(Instant::now());
    }

    /// A call is made.
    pub fn called(&mut self) {
        let rest = self.refused.take().map_or(Duration::ZERO, |refused| refused.elapsed());
        self.longest = self.longest.max(rest);
    }
}

/// Whether the function pauses, by one conversation and, if that may have been chance, by others like it.
pub(crate) fn pauses(one: &Rest, another: impl Fn() -> Rest) -> bool {
    let is_pause = |rest: &Rest| rest.longest >= PAUSE;
    let pauses = is_pause(one) && (FOUND.load(Ordering::Relaxed) || (1..LOOKS).all(|_| is_pause(&another())));
    FOUND.fetch_or(pauses, Ordering::Relaxed);
    pauses
}
