//! Exercise 13: when does the kubelet start a container again? Mirrors `ShouldContainerBeRestarted` and `doBackOff` of
//! the kubelet.

use super::function::Function;
use super::making::longer;
use super::{Exercise, Judging, placing, words};
use crate::exercise::restart::{Case, Restart, Run};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "13_restart",
    title: "When is a container started again?",
    outcome: "explain CrashLoopBackOff: who waits, how long, and when the waiting is forgotten",
    needs: &[],
    hints: [
        "Two questions: is it started again at all, and after how long? The first needs the last run only. What does the \
         second need?",
        "The first restart is immediate. Each one after that waits: 10 s, 20 s, 40 s …, at most 300 s. What the exit code \
         was does not matter for that.",
        "Go through the runs with a delay that is none at first. After each: if there is none, or the run took more than \
         600 s, the restart is immediate and the delay becomes 10; else it waits the delay, which then doubles, up to 300.",
    ],
    minutes: 20,
    judging: Judging::of_part::<Restarting>(placing::with_restart),
};

pub(super) struct Restarting;

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    IgnoresPolicy,
    OnFailureIsAlways,
    NeverIsOnFailure,
    FirstWaits,
    NoCap,
    NoReset,
    ResetsAtOnce,
    WaitsAfterReset,
    AddsUp,
    SuccessResets,
    CountsFromStart,
    OneIsFailure,
    ToldToEnd,
    AddsTimes,
    CapReached,
    Narrow,
    Interrupted,
    GivesUp,
}

impl Function for Restarting {
    type Question = Case;
    type Answer = Restart;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = &[
        ("the restart policy is not looked at", Slip::IgnoresPolicy),
        ("OnFailure starts a container again that has ended well", Slip::OnFailureIsAlways),
        ("Never starts a container again that has failed", Slip::NeverIsOnFailure),
        ("the first restart waits; it is immediate", Slip::FirstWaits),
        ("the wait grows beyond 300 seconds", Slip::NoCap),
        ("a long run does not make the kubelet forget", Slip::NoReset),
        ("a run of more than 300 seconds makes the kubelet forget; it takes 600", Slip::ResetsAtOnce),
        ("after a long run the restart waits 10 seconds; it is immediate", Slip::WaitsAfterReset),
        ("the wait grows by 10 seconds each time; it doubles", Slip::AddsUp),
        ("a run that ended well makes the kubelet forget", Slip::SuccessResets),
        ("the wait is counted from the start of the run; it is counted from its end", Slip::CountsFromStart),
        ("OnFailure starts only what ended with 1 again; every code but 0 is a failure", Slip::OneIsFailure),
        ("a container that was told to end (143) is taken for one that has ended well", Slip::ToldToEnd),
        ("the time of all runs together makes the kubelet forget; one run has to be so long", Slip::AddsTimes),
        ("a run of 600 seconds makes the kubelet forget; it takes more", Slip::CapReached),
        ("the seconds of a run are put into a number that is too small for them", Slip::Narrow),
        ("a container that was interrupted (130) is taken for one that has ended well", Slip::Interrupted),
        ("a container that has failed a thousand times is given up; it never is", Slip::GivesUp),
    ];

    fn questions() -> Vec<Case> {
        let run = |exit_code, seconds| Run { exit_code, seconds };
        let kinds = [run(1, 1), run(0, 1), run(1, 400), run(2, 700)];
        let (mut histories, mut longest) = (Vec::new(), vec![Vec::new()]);
        for _ in 0..4 {
            longest = longer(&longest, &kinds);
            histories.extend(longest.clone());
        }
        // The last second at which it still remembers, and the first at which it has forgotten.
        histories.extend([600, 601].map(|seconds| vec![run(1, 1), run(1, seconds)]));
        histories
            .extend([0, 599, 600, 601, 86_400].map(|seconds| vec![run(1, 1), run(1, 1), run(1, seconds), run(137, 5)]));
        // Days and weeks of it: what grows without end gets too large for a number.
        for length in (5..=9).chain([33, 65, 130, 260, 300, 1100]) {
            let crashes = || vec![run(1, 1); length];
            histories.push(crashes());
            histories.push([crashes(), vec![run(1, 700)]].concat());
            histories.push([crashes(), vec![run(0, 400)]].concat());
            histories.push([crashes(), vec![run(1, 600)]].concat());
            histories.push([crashes(), vec![run(1, 601)]].concat());
            histories.push([crashes(), vec![run(1, 700), run(2, 1), run(3, 1)]].concat());
        }
        // Months of it, too.
        histories.extend(
            [65_540, 65_636, 172_800, 31_536_000, (1 << 31) + 5, (1 << 32) + 5]
                .map(|seconds| vec![run(1, 1), run(1, 1), run(1, seconds), run(1, 5)]),
        );
        // Every code but 0 is a failure.
        histories.extend((2..=255).chain([65_536, 1 << 24, i32::MAX, i32::MIN]).map(|code| vec![run(code, 3)]));
        histories.extend([137, 255, -1, 130, 143, 256].map(|code| vec![run(code, 20)]));
        histories.extend([137, 255, -1, 130, 143, 256].map(|code| vec![run(1, 20), run(code, 20)]));
        let seconds = [1, 30, 599, 3, 601, 250, 2000];
        for n in 0..40 {
            let one = |at: usize| {
                run([1, 137, -1, 0][(n * 7 + at * at) % 4], seconds[(n + at * (n % 6 + 1)) % seconds.len()])
            };
            histories.push((0..5 + n % 6).map(one).collect());
        }
        let mut all = Vec::new();
        for policy in ["Always", "OnFailure", "Never"] {
            let case = |runs: &Vec<Run>| Case { policy: policy.to_owned(), runs: runs.clone() };
            all.extend(histories.iter().map(case).filter(can_be));
        }
        all.sort_by_key(|case| case.runs.len());
        all
    }

    fn rule(case: &Case, slip: Option<Slip>) -> Restart {
        let Some(last) = case.runs.last() else { return Restart::After(0) };
        let is = |one| slip == Some(one);
        let policy = match &*case.policy {
            "Never" if is(Slip::NeverIsOnFailure) => "OnFailure",
            "OnFailure" if is(Slip::OnFailureIsAlways) => "Always",
            _ if is(Slip::IgnoresPolicy) => "Always",
            other => other,
        };
        let is_forgiven = match slip {
            Some(Slip::OneIsFailure) => last.exit_code != 1,
            Some(Slip::ToldToEnd) => last.exit_code == 143,
            Some(Slip::Interrupted) => last.exit_code == 130,
            _ => false,
        };
        let last = Run { exit_code: if is_forgiven { 0 } else { last.exit_code }, ..*last };
        match restarts(policy, &last) {
            true if is(Slip::GivesUp) && case.runs.len() > 1000 => Restart::Never,
            true => Restart::After(wait(&case.runs, slip)),
            false => Restart::Never,
        }
    }

    fn property(case: &Case, given: Option<&Restart>) -> &'static str {
        match (given, Restarting::rule(case, None)) {
            (None, _) => "every container gets an answer",
            (Some(Restart::Never), _) | (_, Restart::Never) => "the restart policy decides whether it is started again",
            (_, Restart::After(0)) => "the first restart is immediate, and the first after a long run",
            _ => "each restart waits twice as long as the one before, from 10 to 300 seconds",
        }
    }

    fn show(case: &Case) -> String {
        let run = |run: &Run| format!("ran {} s and ended with {}", run.seconds, run.exit_code);
        format!("restartPolicy: {}\n{}", case.policy, words::numbered(case.runs.iter().map(run)))
    }
}

fn restarts(policy: &str, run: &Run) -> bool {
    policy == "Always" || (policy == "OnFailure" && run.exit_code != 0)
}

/// Whether there can be such a history: all runs but the last were followed by another.
fn can_be(case: &Case) -> bool {
    case.runs.split_last().is_some_and(|(_, before)| before.iter().all(|run| restarts(&case.policy, run)))
}

fn wait(runs: &[Run], slip: Option<Slip>) -> u64 {
    let is = |one| slip == Some(one);
    let long = if is(Slip::ResetsAtOnce) { 300 } else { 600 };
    let (mut delay, mut wait): (Option<u64>, u64) = (None, 0);
    let mut together = 0;
    for (n, run) in runs.iter().enumerate() {
        together += run.seconds;
        let ran = match slip {
            Some(Slip::AddsTimes) => together,
            Some(Slip::Narrow) => run.seconds % 65_536,
            _ => run.seconds,
        };
        let is_long = ran > long || ran == long && is(Slip::CapReached);
        together = if is_long { 0 } else { together };
        let forgets = (is_long && !is(Slip::NoReset)) || (run.exit_code == 0 && is(Slip::SuccessResets));
        let next;
        (wait, next) = match delay {
            None => (if is(Slip::FirstWaits) { 10 } else { 0 }, 10),
            Some(_) if forgets => (if is(Slip::WaitsAfterReset) { 10 } else { 0 }, 10),
            Some(delay) if is(Slip::AddsUp) => (delay, delay + 10),
            Some(delay) => (delay, delay.saturating_mul(2)),
        };
        if is(Slip::CountsFromStart) && n + 1 == runs.len() {
            wait = wait.saturating_sub(run.seconds);
        }
        delay = Some(if is(Slip::NoCap) { next } else { next.min(300) });
    }
    wait
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::kubelet::backoff::Backoff;
    use crate::object::time::Instant;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::lab::function::check::<Restarting>("restart");
    }

    #[test]
    fn the_rule_is_that_of_the_kubelet() {
        for case in Restarting::questions() {
            let Restart::After(given) = Restarting::rule(&case, None) else { continue };
            let (mut crashes, mut now, mut waited) = (Backoff::default(), Instant::default(), Duration::ZERO);
            for run in &case.runs {
                let end = now + Duration::from_secs(run.seconds);
                now = crashes.wait_since("web", end, end).unwrap_or(end);
                waited = now - end;
                crashes.next("web", end, now);
            }
            assert_eq!(waited, Duration::from_secs(given), "{case:?}");
        }
    }
}
