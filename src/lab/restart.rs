//! Exercise 13: when does the kubelet start a container again? Mirrors `ShouldContainerBeRestarted` and `doBackOff` of
//! the kubelet.

use super::function::Function;
use super::making::longer;
use super::mistake::{Mistake, mistakes};
use super::{Exercise, Judging, placing, words};
use exercise::restart::{Case, Restart, Run};

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

impl Function for Restarting {
    type Question = Case;
    type Answer = Restart;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        let run = |exit_code, seconds| Run { exit_code, seconds };
        let kinds = [run(1, 1), run(0, 1), run(1, 400), run(2, 700)];
        let (mut histories, mut longest) = (Vec::new(), vec![Vec::new()]);
        for _ in 0..4 {
            longest = longer(&longest, &kinds);
            histories.extend(longest.clone());
        }
        // A second less than ten minutes, and one more. What becomes of just ten minutes is not asked: who reads that a container
        // has to run for ten minutes may take it either way.
        histories.extend([599, 601].map(|seconds| vec![run(1, 1), run(1, seconds)]));
        histories.extend([0, 599, 601, 86_400].map(|seconds| vec![run(1, 1), run(1, 1), run(1, seconds), run(137, 5)]));
        // Days and weeks of it: what grows without end gets too large for a number.
        for length in (5..=9).chain([33, 65, 130, 260, 300, 1100]) {
            let crashes = || vec![run(1, 1); length];
            histories.push(crashes());
            histories.push([crashes(), vec![run(1, 700)]].concat());
            histories.push([crashes(), vec![run(0, 400)]].concat());
            histories.push([crashes(), vec![run(1, 599)]].concat());
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

    fn answer(rule: &Rule, case: &Case) -> Restart {
        let Some(last) = case.runs.last() else { return Restart::After(0) };
        let last = Run { exit_code: (rule.code)(last.exit_code), ..*last };
        match restarts((rule.policy)(&case.policy), &last) && case.runs.len() <= rule.most {
            true => Restart::After(wait(rule, &case.runs)),
            false => Restart::Never,
        }
    }

    fn property(case: &Case, given: Option<&Restart>) -> &'static str {
        match (given, Restarting::right(case)) {
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

/// What decides.
pub(super) struct Rule {
    /// What a policy is taken for.
    policy: fn(&str) -> &str,
    /// What an exit code is taken for.
    code: fn(i32) -> i32,
    /// After so many runs a container is given up.
    most: usize,
    /// How long a container ran, by the seconds of this run, and of all since the kubelet has forgotten.
    ran: fn(u64, u64) -> u64,
    /// Whether that is long.
    is_long: fn(u64) -> bool,
    /// Whether the kubelet forgets after a run that was long or not, and ended so.
    forgets: fn(bool, i32) -> bool,
    /// So long the first restart waits.
    first: u64,
    /// So long one waits after the kubelet has forgotten.
    forgotten: u64,
    /// How long the next one waits after one that waited so long.
    next: fn(u64) -> u64,
    /// And at most.
    longest: u64,
    /// What is still to be waited at the end of a run of so many seconds.
    rest: fn(u64, u64) -> u64,
}

const RULE: Rule = Rule {
    policy: |policy| policy,
    code: |code| code,
    most: usize::MAX,
    ran: |seconds, _| seconds,
    is_long: |seconds| seconds > 600,
    forgets: |is_long, _| is_long,
    first: 0,
    forgotten: 0,
    next: |delay| delay.saturating_mul(2),
    longest: 300,
    rest: |wait, _| wait,
};

fn restarts(policy: &str, run: &Run) -> bool {
    policy == "Always" || (policy == "OnFailure" && run.exit_code != 0)
}

/// Whether there can be such a history: all runs but the last were followed by another.
fn can_be(case: &Case) -> bool {
    case.runs.split_last().is_some_and(|(_, before)| before.iter().all(|run| restarts(&case.policy, run)))
}

fn wait(rule: &Rule, runs: &[Run]) -> u64 {
    let (mut delay, mut wait): (Option<u64>, u64) = (None, 0);
    let mut together = 0;
    for run in runs {
        together += run.seconds;
        let is_long = (rule.is_long)((rule.ran)(run.seconds, together));
        together = if is_long { 0 } else { together };
        let next;
        (wait, next) = match delay {
            None => (rule.first, 10),
            Some(_) if (rule.forgets)(is_long, run.exit_code) => (rule.forgotten, 10),
            Some(delay) => (delay, (rule.next)(delay)),
        };
        delay = Some(next.min(rule.longest));
    }
    (rule.rest)(wait, runs.last().map_or(0, |run| run.seconds))
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    ignores_policy: "the restart policy is not looked at" => { policy: |_| "Always" };
    on_failure_is_always: "OnFailure starts a container again that has ended well"
        => { policy: |policy| if policy == "OnFailure" { "Always" } else { policy } };
    never_is_on_failure: "Never starts a container again that has failed"
        => { policy: |policy| if policy == "Never" { "OnFailure" } else { policy } };
    first_waits: "the first restart waits; it is immediate" => { first: 10 };
    no_cap: "the wait grows beyond 300 seconds" => { longest: u64::MAX };
    no_reset: "a long run does not make the kubelet forget" => { forgets: |_, _| false };
    resets_at_once: "a run of more than 300 seconds makes the kubelet forget; it takes 600"
        => { is_long: |seconds| seconds > 300 };
    waits_after_reset: "after a long run the restart waits 10 seconds; it is immediate" => { forgotten: 10 };
    adds_up: "the wait grows by 10 seconds each time; it doubles" => { next: |delay| delay + 10 };
    success_resets: "a run that ended well makes the kubelet forget"
        => { forgets: |is_long, code| is_long || code == 0 };
    counts_from_start: "the wait is counted from the start of the run; it is counted from its end"
        => { rest: |wait, ran| wait.saturating_sub(ran) };
    one_is_failure: "OnFailure starts only what ended with 1 again; every code but 0 is a failure"
        => { code: |code| i32::from(code == 1) };
    told_to_end: "a container that was told to end (143) is taken for one that has ended well"
        => { code: |code| if code == 143 { 0 } else { code } };
    adds_times: "the time of all runs together makes the kubelet forget; one run has to be so long"
        => { ran: |_, together| together };
    narrow: "the seconds of a run are put into a number that is too small for them"
        => { ran: |seconds, _| seconds % 65_536 };
    interrupted: "a container that was interrupted (130) is taken for one that has ended well"
        => { code: |code| if code == 130 { 0 } else { code } };
    gives_up: "a container that has failed a thousand times is given up; it never is" => { most: 1000 };
};

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use kubelet::backoff::Backoff;
    use object::time::Instant;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Restarting>("restart");
    }

    #[test]
    fn the_rule_is_that_of_the_kubelet() {
        for case in Restarting::questions() {
            let Restart::After(given) = Restarting::right(&case) else { continue };
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
