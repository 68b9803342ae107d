//! Judging: each scenario of a plan is run in every order of delivery within its bound, with the learner's controller in
//! the place of the cluster's own.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::partner::{Here, Make, Partner};
use super::threads::{self, Trial, Wrong};
use super::{Plan, story};
use crate::Failure;
use apiserver::host::Engine;
use cluster::scenario::{Plugged, Scenario};
use debugger::explore::{Bound, Subject, Violation, explore_here, plan as wanted};
use debugger::properties::Property;
use engine::{Step, What};
use object::sha256;

/// No run is longer, unless a trial says so: a controller that still writes then will write for ever.
const STEPS: u64 = 1_200;
/// So long a watch is held at most: a controller that looks again every half second is no endless one.
const HELD: Duration = Duration::from_secs(20);
/// What stands in the text of a trial for a number that is drawn, and what it may be: in one run, and in another. The text is a
/// trial as it stands too, for a learner who steps through it. Texts of exercises speak of a hundred at most, so a solution that
/// is right for the largest of these is right up to there.
const DRAWN: [(&str, [RangeInclusive<u8>; 2]); 2] = [("13", [2..=5, 6..=9]), ("17", [11..=26, 91..=100])];
/// More schedules than any trial needs; a right solution takes fewer than 150.
const SCHEDULES: u64 = 500;

/// Runs all trials of a plan with this partner. Gives how many different orders there are within their bounds. Some numbers
/// of the trials are drawn `from` a text, which is to be another for each learner's file: they cannot be written down in it.
/// Trials with such numbers are run with two of each: one that happens to be written down is not both.
///
/// # Errors
/// The first property that is broken, in the shortest run that was found.
pub fn judge(exercise: &str, plan: &'static Plan, make: Make, from: &str) -> Result<usize, Box<Failure>> {
    let draws = |(name, text): &(&'static str, &'static str)| {
        let name = *name;
        drawn(text, from).into_iter().map(move |text| (name, text))
    };
    let texts: Vec<(&str, String)> = plan.trials.iter().flat_map(draws).collect();
    let begun: Vec<Trial> = texts.iter().map(|(name, text)| begin(exercise, plan, name, text, make)).collect();
    let orders = threads::run(&begun);
    orders.map(|orders| orders.iter().sum()).map_err(|(n, wrong)| {
        let (name, text) = &texts[n];
        Box::new(wrong.failure(exercise, plan, (name, text), make))
    })
}

/// The text of a trial with numbers that are drawn from another text, and with others. A text without any is one trial.
pub(super) fn drawn(text: &str, from: &str) -> Vec<String> {
    let digest = sha256::digest(from.as_bytes());
    let draw = |run: usize| {
        let draws = DRAWN.iter().zip(digest.chunks(2));
        draws.fold(text.to_owned(), |text, ((stands, ranges), bytes)| {
            let all = ranges[run].clone();
            let nth = usize::from(bytes[run]) % all.len();
            let number = all.clone().nth(nth).unwrap_or(*all.end());
            text.replace(stands, &number.to_string())
        })
    };
    let mut both = vec![draw(0), draw(1)];
    both.dedup();
    both
}

/// A trial that is ready to be run.
fn begin(exercise: &str, plan: &'static Plan, name: &str, text: &str, make: Make) -> Trial {
    let scenario = trial(exercise, plan, name, text, make);
    let stated = wanted::properties(&scenario, &[]);
    let stated = stated.unwrap_or_else(|error| panic!("a shipped trial is whole: {name}: {error}"));
    Trial { bound: bound(&scenario), stated, scenario }
}

impl Wrong {
    fn failure(self, exercise: &str, plan: &'static Plan, (name, text): (&str, &str), make: Make) -> Failure {
        let title = || trial(exercise, plan, name, text, make).title;
        match self {
            Wrong::Broken(violation) => story::failure(exercise, plan, (name, text), make, &violation),
            Wrong::NotAgain => Failure::not_again(&title()),
            Wrong::TooMany => {
                let right = Box::leak(Box::new(|| -> Box<dyn Partner> { Box::new(Here::new(plan.reference)) }));
                let run = |make| calls(&trial(exercise, plan, name, text, make), plan.duty.name);
                let (mut its, right) = (run(make), run(right));
                its.what = format!("{}, and the right one {}; their orders are too many", its.what, right.what);
                story::failure(exercise, plan, (name, text), make, &its)
            }
        }
    }
}

/// The usual course, as if it were wrong: how many calls it makes.
fn calls(scenario: &Scenario, from: &'static str) -> Violation {
    let properties = || -> Vec<Box<dyn Property>> { vec![Box::new(Calls { from, count: 0 })] };
    let bound = Bound { late: 0, faults: 0, ..bound(scenario) };
    let report = explore_here(&Subject { cluster: &|| bugs::cluster(scenario), properties: &properties }, &bound);
    report.violation.unwrap_or_else(|| unreachable!("the property never holds"))
}

/// Counts the calls of a controller.
#[derive(Clone)]
struct Calls {
    from: &'static str,
    count: usize,
}

impl Property for Calls {
    fn name(&self) -> &'static str {
        "what is to be done takes few calls"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        if let What::Request { request, .. } = &step.event.what {
            self.count += usize::from(&*request.user.agent == self.from);
        }
        Ok(())
    }

    fn finish(&mut self, _: &Engine) -> Result<(), String> {
        Err(format!("it makes {} calls", self.count))
    }
}

/// A scenario of a plan with this partner in it.
pub fn trial(exercise: &str, plan: &'static Plan, name: &str, text: &str, make: Make) -> Scenario {
    let mut scenario =
        Scenario::parse(name, text).unwrap_or_else(|error| panic!("a shipped trial is whole: {name}: {error}"));
    scenario.exercise = Some(exercise.to_owned());
    scenario.plugged = Plugged(Some(plan.parts(make)));
    scenario
}

/// How far a trial is explored.
pub(super) fn bound(scenario: &Scenario) -> Bound {
    let asked = scenario.explore.clone().unwrap_or_default();
    let bound = wanted::bound(&asked).unwrap_or_else(|error| panic!("a shipped trial is whole: {error}"));
    let steps = asked.steps.unwrap_or(STEPS);
    Bound { steps, schedules: SCHEDULES, held: HELD, ..bound }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_drawn_from_a_text_and_stay_within_their_bounds() {
        let texts: Vec<Vec<String>> = (0..200).map(|n| drawn("13 and 17", &n.to_string())).collect();
        assert_eq!(drawn("13 and 17", "7"), texts[7]);
        assert_eq!(drawn("as it is", "7"), ["as it is"]);
        let numbers = |text: &String| {
            let (few, many) = text.split_once(" and ").expect("the rest stays");
            (few.parse().unwrap_or(0), many.parse().unwrap_or(0))
        };
        for both in &texts {
            let [(few, many), (few_too, many_too)] = [numbers(&both[0]), numbers(&both[1])];
            assert!((2..=5).contains(&few) && (6..=9).contains(&few_too), "{both:?}");
            assert!((11..=26).contains(&many) && (91..=100).contains(&many_too), "{both:?}");
        }
        let different: std::collections::BTreeSet<&String> = texts.iter().flatten().collect();
        assert!(different.len() > 50, "{different:?}");
    }
}
