//! Exercise 13: when is a container started again?
//!
//! A container has ended, perhaps not for the first time. Say whether the kubelet starts it again, and how many seconds after
//! its end. `policy` is `Always`, `OnFailure` or `Never`; `runs` are all its runs, the last one last, each but the first
//! started when the kubelet was allowed to.

#![allow(unused_imports)]

use kubestep_exercise::restart::{Restart, Run};

// Yours from here.

/// With a table.
pub fn restart(policy: &str, runs: &[Run]) -> Restart {
    const WAITS: [u64; 6] = [0, 10, 20, 40, 80, 160];
    let again = match policy {
        "Always" => true,
        "OnFailure" => runs[runs.len() - 1].exit_code != 0,
        _ => false,
    };
    let mut at = 0;
    for run in &runs[1..] {
        at = if run.seconds > 600 { 0 } else { at + 1 };
    }
    if again { Restart::After(*WAITS.get(at).unwrap_or(&300)) } else { Restart::Never }
}
