//! What the runtime's timers are for.
//!
//! To the engine a timer is two words, by which those who step see it: what it is, and a key. What they mean is said here
//! and nowhere else.

use std::fmt;

const EXIT: &str = "process exits";
const WAKE: &str = "process wakes up";
const KILL: &str = "process is killed";
const LINE: &str = "line goes on";

/// A timer that goes off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer<'a> {
    /// A container's process ends by itself.
    Exit {
        /// The container.
        id: &'a str,
    },
    /// A container's process has slept.
    Wake {
        /// The container.
        id: &'a str,
        /// Which of its waits that was.
        wait: u64,
    },
    /// A container's process, which was asked to end, had its time.
    Kill {
        /// The container.
        id: &'a str,
    },
    /// A line that a user has typed has slept.
    Line {
        /// The connection.
        stream: u64,
    },
}

impl<'a> Timer<'a> {
    /// What it is, for those who step.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Timer::Exit { .. } => EXIT,
            Timer::Wake { .. } => WAKE,
            Timer::Kill { .. } => KILL,
            Timer::Line { .. } => LINE,
        }
    }

    /// The timer with these words. None: it is no timer of the runtime's.
    pub(super) fn read(what: &str, key: &'a str) -> Option<Timer<'a>> {
        Some(match what {
            EXIT => Timer::Exit { id: key },
            WAKE => {
                let (id, wait) = key.split_once(' ')?;
                Timer::Wake { id, wait: wait.parse().ok()? }
            }
            KILL => Timer::Kill { id: key },
            LINE => Timer::Line { stream: key.parse().ok()? },
            _ => return None,
        })
    }
}

impl fmt::Display for Timer<'_> {
    /// The key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Timer::Exit { id } | Timer::Kill { id } => f.write_str(id),
            Timer::Wake { id, wait } => write!(f, "{id} {wait}"),
            Timer::Line { stream } => write!(f, "{stream}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let id = "ab12";
        for (timer, key) in [
            (Timer::Exit { id }, "ab12"),
            (Timer::Wake { id, wait: 3 }, "ab12 3"),
            (Timer::Kill { id }, "ab12"),
            (Timer::Line { stream: 7 }, "7"),
        ] {
            assert_eq!(timer.to_string(), key);
            assert_eq!(Timer::read(timer.what(), key), Some(timer));
        }
        assert_eq!((Timer::read(WAKE, id), Timer::read(LINE, id), Timer::read("", id)), (None, None, None));
    }
}
