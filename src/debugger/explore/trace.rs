//! One run as the search sees it, and the schedules that it says are worth running next.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::choice::Choice;
use object::time::Instant;
use wire::WatchId;

use super::causality::{Causality, NEAR, digest};
use super::fault::Fault;
use super::run::{Deviates, Deviation, Schedule};
use super::{Bound, Violation};

/// One step of a run, as far as the search needs it.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    /// Who the event is.
    pub identity: u64,
    /// See [`super::causality::Linked`].
    pub past: u64,
    /// The step that sent it.
    pub cause: Option<usize>,
    /// The steps that it needs.
    pub needs: Vec<usize>,
    /// Those of them that it races with.
    pub races: Vec<usize>,
    /// When it ran.
    pub time: Instant,
    /// Whether it is traffic that never stops.
    pub background: bool,
    /// Whether the bound allows that it comes late.
    pub may_be_late: bool,
    /// The watch that it is a notification of.
    pub watch: Option<WatchId>,
    /// Something that was broken, which is no event.
    pub is_fault: bool,
    /// What was worth breaking right before it.
    pub faults: Vec<Fault>,
}

/// One run.
#[derive(Clone, Default)]
pub struct Trace {
    pub(super) steps: Vec<Taken>,
    pub(super) causality: Causality,
    /// What deviated, and before which step.
    pub deviations: Vec<(usize, Deviation)>,
    /// The same as a person at the prompt would type it: after so many steps of the cluster, this.
    pub choices: Vec<(u64, Choice)>,
    /// What it broke.
    pub violation: Option<Violation>,
}

impl Trace {
    /// Whether both runs went the same way: the same events, at the same times.
    pub fn went_as(&self, other: &Trace) -> bool {
        let course = |trace: &Trace| trace.steps.iter().map(|step| (step.identity, step.time)).collect::<Vec<_>>();
        course(self) == course(other)
    }
}

/// A schedule that is worth running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// A digest of how it begins: two schedules with the same one need not both be run.
    pub beginning: u64,
    /// The schedule.
    pub schedule: Schedule,
}

impl Trace {
    /// How many events were delivered.
    pub fn events(&self) -> u64 {
        self.steps.iter().filter(|step| !step.is_fault).count() as u64
    }

    /// The states that it went through, one after each step: the same state has the same digest in all runs, if it came
    /// about by the same steps in an order that does not matter.
    pub fn states(&self) -> Vec<u64> {
        let sums = self.steps.iter().scan(0_u64, |sum, step| {
            *sum = sum.wrapping_add(step.past);
            Some(*sum)
        });
        sums.collect()
    }

    /// The deviations of the run, in their order: what repeats it.
    pub fn schedule(&self) -> Schedule {
        self.deviations.iter().map(|(_, deviation)| deviation.clone()).collect()
    }

    /// What deviated before a step, and right before it.
    fn kept(&self, place: usize) -> Schedule {
        self.deviations.iter().filter(|(at, _)| *at <= place).map(|(_, deviation)| deviation.clone()).collect()
    }

    /// The schedules that this run says are worth running.
    pub fn next(&self, bound: &Bound) -> Vec<Next> {
        let states = self.states();
        let before = |place: usize| place.checked_sub(1).map_or(0, |place| states[place]);
        let mut next = Vec::new();
        for later in 0..self.steps.len() {
            for (earlier, race) in self.raced_by(later, bound) {
                let free = (earlier + 1..later).filter(|step| !self.causality.had_to(earlier, *step));
                let between = free.fold(0_u64, |sum, step| sum.wrapping_add(self.steps[step].past));
                let who = (self.steps[earlier].identity, self.steps[later].identity);
                let beginning = digest(&(before(earlier).wrapping_add(between), who));
                let Some(schedule) = self.with_late(earlier, self.steps[later].time - self.steps[race].time, bound)
                else {
                    continue;
                };
                let beginning = if bound.reduce { beginning } else { digest(&schedule) };
                next.push(Next { beginning, schedule });
            }
        }
        let last = self.deviations.last().map_or(0, |(at, _)| *at);
        for (place, step) in self.steps.iter().enumerate().skip(last) {
            for fault in &step.faults {
                let mut schedule = self.kept(place);
                let broken = schedule.iter().filter(|deviation| deviation.is_fault()).count();
                if broken >= bound.faults {
                    continue;
                }
                let beginning = digest(&(before(place), step.identity, fault));
                schedule.push(Deviation { on: step.identity, what: Deviates::Fault(fault.clone()) });
                let beginning = if bound.reduce { beginning } else { digest(&schedule) };
                next.push(Next { beginning, schedule });
            }
        }
        next
    }

    /// What could have been late so that `later` would have come first: the steps that it races with, and each message on
    /// the way to one of these, since a delay of one message delays all that follows from it. The step that is late
    /// comes first in each pair, the race that it turns second.
    fn raced_by(&self, later: usize, bound: &Bound) -> Vec<(usize, usize)> {
        let step = &self.steps[later];
        if step.is_fault || bound.late == 0 {
            return Vec::new();
        }
        let fits = |(earlier, race): &(usize, usize)| {
            let before = &self.steps[*earlier];
            let one_watch = before.watch.is_some() && before.watch == step.watch;
            !before.background
                && !before.is_fault
                && !one_watch
                && before.may_be_late
                && step.time - self.steps[*race].time <= bound.window
        };
        if bound.reduce {
            let way_to = |race: usize| std::iter::successors(Some(race), |step| self.steps[*step].cause);
            let late = |race: usize| {
                way_to(race)
                    .take_while(move |late| later - late <= NEAR)
                    .filter(move |late| self.causality.spares(*late, race, &step.needs))
                    .map(move |late| (late, race))
            };
            return step.races.iter().flat_map(|race| late(*race)).filter(fits).collect();
        }
        // Without reduction every two events change places that can.
        let caused = |earlier: usize| self.causality.had_to(earlier, later) && !step.races.contains(&earlier);
        let free = (later.saturating_sub(NEAR)..later).filter(|earlier| !caused(*earlier));
        free.map(|earlier| (earlier, earlier)).filter(fits).collect()
    }

    /// The schedule in which a step comes a little more than `wait` later.
    fn with_late(&self, earlier: usize, wait: Duration, bound: &Bound) -> Option<Schedule> {
        let on = self.steps[earlier].identity;
        let wait = u64::try_from(wait.as_nanos()).ok()? + 1;
        let mut schedule = self.kept(earlier);
        let there = schedule.iter_mut().find_map(|deviation| match &mut deviation.what {
            Deviates::Late(by) if deviation.on == on => Some(by),
            _ => None,
        });
        match there {
            Some(by) => {
                *by += wait;
                if Duration::from_nanos(*by) > bound.window + Duration::from_nanos(1) {
                    return None;
                }
            }
            None => schedule.push(Deviation { on, what: Deviates::Late(wait) }),
        }
        (schedule.iter().filter(|deviation| !deviation.is_fault()).count() <= bound.late).then_some(schedule)
    }
}
