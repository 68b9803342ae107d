//! Exercise 13: when is a container started again?
//!
//! A container has ended, perhaps not for the first time. Say whether the kubelet starts it again, and how many seconds after
//! its end. `policy` is `Always`, `OnFailure` or `Never`; `runs` are all its runs, the last one last, each but the first
//! started when the kubelet was allowed to.

#![allow(unused_imports)]

use kubestep_exercise::restart::{Restart, Run};

// Yours from here.

/// Recursively.
pub fn restart(policy: &str, runs: &[Run]) -> Restart {
    match (policy, runs.last()) {
        ("Never", _) | (_, None) => Restart::Never,
        ("OnFailure", Some(Run { exit_code: 0, .. })) => Restart::Never,
        _ => Restart::After(wait(runs)),
    }
}

fn wait(runs: &[Run]) -> u64 {
    match runs {
        [] | [_] => 0,
        [_, .., last] if last.seconds > 600 => 0,
        [before @ .., _] => match wait(before) {
            0 => 10,
            delay => 300.min(delay * 2),
        },
    }
}
