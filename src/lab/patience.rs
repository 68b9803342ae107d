//! How long a learner's program is waited for.
//!
//! An endless loop has to be given up some time, and a right answer must not be, however busy the machine is. So time in
//! which the program was ready to run, and other programs had all processors, does not count. Only Linux tells it; elsewhere
//! all time counts.

use std::cell::Cell;
use std::process::Child;
use std::time::{Duration, Instant};

use super::pipe::Pipe;

/// However busy the machine is, of so much time one part counts: threads of the program's own may hold each other up.
const AT_MOST: u32 = 5;
/// Asking how busy the machine is takes longer than most answers, so it is not asked more often.
const ASKED_EACH: Duration = Duration::from_millis(1);

/// What is said of one that answers, but slowly.
pub const TOO_LONG: &str = "it takes too long";

/// Waits for a program from some moment on.
pub struct Patience {
    program: u32,
    start: Instant,
    /// How long it had been held up by then.
    held_up: Duration,
    /// When that was asked last, since the start, and how long it had been held up since then.
    asked: Cell<(Duration, Duration)>,
}

impl Patience {
    /// From now on.
    #[allow(clippy::disallowed_methods, reason = "a learner's endless loop knows no virtual time")]
    pub fn with(child: &Child) -> Patience {
        Patience { program: child.id(), start: Instant::now(), held_up: held_up(child.id()), asked: Cell::default() }
    }

    /// How much of the time since then counts.
    pub fn spent(&self) -> Duration {
        let elapsed = self.start.elapsed();
        if elapsed - self.asked.get().0 >= ASKED_EACH {
            self.asked.set((elapsed, held_up(self.program).saturating_sub(self.held_up)));
        }
        elapsed.saturating_sub(self.asked.get().1).max(elapsed / AT_MOST)
    }

    /// What follows `prefix` on the next line that begins with it, if it comes before so much time is spent. How much of the
    /// time counts is asked only when all of it would be over: most answers come at once, and asking takes longer.
    #[allow(clippy::disallowed_methods, reason = "a learner's endless loop knows no virtual time")]
    pub fn line(&self, pipe: &mut Pipe, prefix: &str, time: Duration) -> Option<String> {
        let mut until = self.start + time;
        loop {
            if let Some(line) = pipe.line_with(prefix, until) {
                return Some(line);
            }
            let left = time.saturating_sub(self.spent());
            if Instant::now() < until || left.is_zero() {
                return None;
            }
            until = Instant::now() + left;
        }
    }
}

/// How long the main thread of a process has been ready to run and did not.
fn held_up(process: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap_or_default();
    let waited = text.split_whitespace().nth(1).and_then(|nanoseconds| nanoseconds.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::pipe;

    /// A program that answers after so many seconds.
    fn answering_after(seconds: &str) -> Child {
        let script = format!("sleep {seconds}; echo answer yes");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdout(Stdio::piped()).spawn().expect("there is a shell")
    }

    #[test]
    fn an_answer_in_time_is_heard_and_a_late_one_is_not() {
        for (seconds, time, heard) in [("0.05", 5_000, true), ("5", 100, false)] {
            let mut child = answering_after(seconds);
            let mut pipe = pipe::follow(child.stdout.take().expect("it has one"));
            let patience = Patience::with(&child);
            let line = patience.line(&mut pipe, "answer ", Duration::from_millis(time));
            assert_eq!(line.as_deref(), heard.then_some("yes"));
            assert!(heard || patience.spent() >= Duration::from_millis(time));
            child.kill().expect("it can be ended");
            child.wait().expect("it has ended");
        }
    }

    #[test]
    fn a_program_that_closes_its_pipe_is_not_waited_for() {
        let mut child = Command::new("true").stdout(Stdio::piped()).spawn().expect("there is such a program");
        let mut pipe = pipe::follow(child.stdout.take().expect("it has one"));
        let patience = Patience::with(&child);
        assert_eq!(patience.line(&mut pipe, "answer ", Duration::from_secs(60)), None);
        assert!(patience.spent() < Duration::from_secs(60));
        child.wait().expect("it has ended");
    }
}
