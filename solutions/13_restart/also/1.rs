//! Exercise 13: when is a container started again?
//!
//! A container has ended, perhaps not for the first time. Say whether the kubelet starts it again, and how many seconds after
//! its end. `policy` is `Always`, `OnFailure` or `Never`; `runs` are all its runs, the last one last, each but the first
//! started when the kubelet was allowed to.

#![allow(unused_imports)]

use kubestep_exercise::restart::{Restart, Run};

// Yours from here.

/// By counting the short runs since the last that was forgotten.
pub fn restart(policy: &str, runs: &[Run]) -> Restart {
    let last = runs.last().expect("there is one");
    if policy == "Never" || (policy == "OnFailure" && last.exit_code == 0) {
        return Restart::Never;
    }
    let short = runs[1..].iter().rev().take_while(|run| run.seconds <= 600).count() as u32;
    Restart::After(if short == 0 { 0 } else { (10 * 2u64.pow((short - 1).min(10))).min(300) })
}
