//! One run with some deviations from the usual course, and the deviations that are worth trying next.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::apiserver::watch::{WatchEvent, WatchId};
use crate::cluster::{Cluster, Saved};
use crate::debugger::choice::Choice;
use crate::engine::control::Hold;
use crate::engine::{EventId, Pending, Step, What};
use crate::object::Kind;
use crate::object::time::Instant;

use super::access::Access;
use super::causality::{Causality, NEAR, digest};
use super::fault::{Fault, Watcher};
use super::{Bound, Subject, Violation};

/// Something that goes otherwise than usual.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Deviation {
    /// When: before this event is delivered for the first time. Events are known by their ancestry, since their numbers
    /// depend on the order of delivery.
    pub on: u64,
    /// What.
    pub what: Deviates,
}

/// What goes otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Deviates {
    /// The event comes so many nanoseconds late.
    Late(u64),
    /// Another event comes first.
    Early(u64),
    /// Something breaks.
    Fault(Fault),
}

/// All deviations of a run.
pub type Schedule = Vec<Deviation>;

/// Who decides what deviates.
pub trait Policy {
    /// What is to deviate before this event is delivered, if anything. Asked again until nothing is.
    fn next(&mut self, moment: &Moment) -> Option<Deviates>;
}

/// A moment at which something may deviate.
pub struct Moment<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The event that is due.
    pub event: &'a Pending,
    /// Who it is.
    pub identity: u64,
    /// Who else is in flight.
    pub others: &'a BTreeMap<EventId, u64>,
    /// What is worth breaking here.
    pub faults: &'a [Fault],
    /// How many faults there were in this run.
    pub broken: usize,
}

/// A schedule repeats itself.
pub struct Repeat<'a> {
    left: Vec<&'a Deviation>,
}

impl<'a> Repeat<'a> {
    /// Of this schedule.
    pub fn new(schedule: &'a Schedule) -> Repeat<'a> {
        Repeat { left: schedule.iter().collect() }
    }
}

impl Policy for Repeat<'_> {
    fn next(&mut self, moment: &Moment) -> Option<Deviates> {
        let at = self.left.iter().position(|deviation| deviation.on == moment.identity)?;
        Some(self.left.remove(at).what.clone())
    }
}

/// One step of a run, as far as the search needs it.
#[derive(Clone, Debug)]
struct Taken {
    identity: u64,
    past: u64,
    cause: Option<usize>,
    needs: Vec<usize>,
    races: Vec<usize>,
    time: Instant,
    background: bool,
    /// Whether the bound allows that it comes late.
    may_be_late: bool,
    watch: Option<WatchId>,
    /// Something that was broken, which is no event.
    is_fault: bool,
    /// What was worth breaking right before it.
    faults: Vec<Fault>,
}

/// One run.
#[derive(Default)]
pub struct Trace {
    steps: Vec<Taken>,
    causality: Causality,
    /// What deviated, and before which step.
    pub deviations: Vec<(usize, Deviation)>,
    /// The same as a person at the prompt would type it: after so many steps of the cluster, this.
    pub choices: Vec<(u64, Choice)>,
    /// What it broke.
    pub violation: Option<Violation>,
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

    /// What deviated.
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
    /// the way to one of these, since whatever delays a message delays all that follows from it. The step that is late
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

impl Deviation {
    /// Whether something broke.
    pub fn is_fault(&self) -> bool {
        matches!(self.what, Deviates::Fault(_))
    }
}

/// Runs schedules on a cluster of its own, from the same beginning each time.
pub struct Runner<'a> {
    subject: &'a Subject<'a>,
    bound: &'a Bound,
    cluster: Cluster,
    start: Saved,
}

impl<'a> Runner<'a> {
    /// Makes the cluster.
    pub fn new(subject: &'a Subject<'a>, bound: &'a Bound) -> Runner<'a> {
        let cluster = (subject.cluster)();
        let start = cluster.save().expect("exploring begins at a moment at which no task is in flight");
        Runner { subject, bound, cluster, start }
    }

    /// Runs one schedule to its end.
    pub fn run(&mut self, policy: &mut dyn Policy) -> Trace {
        self.cluster.restore(&self.start);
        let mut course = Course {
            names: Names::of(&self.cluster),
            watcher: Watcher::new(&self.cluster.engine),
            trace: Trace::default(),
            frozen: Vec::new(),
            held_since: Instant::default(),
        };
        let mut properties = (self.subject.properties)();
        let broken = loop {
            course.release_old(&mut self.cluster);
            if self.cluster.is_quiet() && !course.release(&mut self.cluster) {
                let engine = &self.cluster.engine;
                break properties.iter_mut().find_map(|p| Some((p.name().to_owned(), p.finish(engine).err()?)));
            }
            if course.trace.steps.len() as u64 >= self.bound.steps {
                let what = format!("it still works after {} steps", course.trace.steps.len());
                break Some(("the cluster comes to rest".to_owned(), what));
            }
            let Some(step) = course.step(&mut self.cluster, self.bound, policy) else { break None };
            if let Some((_, task, message)) = self.cluster.engine.take_crashes().pop() {
                break Some(("nothing panics".to_owned(), format!("{task}: {message}")));
            }
            let engine = &self.cluster.engine;
            let broken = properties.iter_mut().find_map(|p| Some((p.name().to_owned(), p.check(engine, &step).err()?)));
            if broken.is_some() {
                break broken;
            }
        };
        let mut trace = course.trace;
        let (step, choices) = (self.cluster.engine.steps(), trace.choices.clone());
        trace.violation = broken.map(|(property, what)| Violation { property, what, choices, step });
        trace
    }
}

/// A run under way.
struct Course {
    names: Names,
    watcher: Watcher,
    trace: Trace,
    /// Watches whose list shows the past, and which say nothing more after it.
    frozen: Vec<(String, Kind)>,
    /// When something was held back last.
    held_since: Instant,
}

/// Nothing is held back for longer. It is longer than anything in Kubernetes waits for its own watch.
const HELD_AT_MOST: Duration = Duration::from_secs(6 * 60);

impl Course {
    /// Lets what is held go, once all else is done. False if nothing is held.
    fn release(&mut self, cluster: &mut Cluster) -> bool {
        let held: Vec<Hold> = cluster.engine.controls().holds.clone();
        for hold in &held {
            cluster.engine.release(hold);
            self.chosen(cluster, Choice::Release(Some(hold.clone())));
        }
        !held.is_empty()
    }

    /// The same where something has been held for long enough.
    fn release_old(&mut self, cluster: &mut Cluster) {
        let next = cluster.engine.peek().map(|event| event.due);
        if next.is_some_and(|due| due > self.held_since + HELD_AT_MOST) {
            self.release(cluster);
        }
    }

    fn chosen(&mut self, cluster: &Cluster, choice: Choice) {
        self.trace.choices.push((cluster.engine.steps(), choice));
    }

    /// The next step, after what is to deviate before it.
    fn step(&mut self, cluster: &mut Cluster, bound: &Bound, policy: &mut dyn Policy) -> Option<Step> {
        let mut faults = Vec::new();
        let mut early = None;
        let mut last = None;
        while let Some(event) = cluster.engine.peek().cloned() {
            let identity = self.names.of_event(event.id);
            if last != Some(event.id) {
                faults = self.watcher.faults(cluster, &bound.kinds, &bound.places, &event);
                last = Some(event.id);
            }
            let moment = Moment {
                cluster,
                event: &event,
                identity,
                others: &self.names.by_event,
                faults: &faults,
                broken: self.trace.deviations.iter().filter(|(_, deviation)| deviation.is_fault()).count(),
            };
            let Some(what) = policy.next(&moment) else { break };
            let place = self.trace.steps.len();
            match &what {
                Deviates::Late(by) => self.delay(cluster, event.id, *by),
                Deviates::Early(other) => early = self.names.by_identity.get(other).copied(),
                Deviates::Fault(fault) => {
                    self.break_something(cluster, fault, &event);
                    faults.clear();
                }
            }
            self.trace.deviations.push((place, Deviation { on: identity, what }));
            if early.is_some() {
                break;
            }
        }
        let step = match early {
            Some(event) => {
                self.chosen(cluster, Choice::Deliver(event));
                cluster.choose(event).ok()?
            }
            None => cluster.step()?,
        };
        self.took(cluster, bound, &step, faults);
        Some(step)
    }

    fn delay(&mut self, cluster: &mut Cluster, event: EventId, by: u64) {
        let by = Duration::from_nanos(by);
        if cluster.engine.delay(event, by).is_ok() {
            self.chosen(cluster, Choice::Delay(event, by));
        }
    }

    fn break_something(&mut self, cluster: &mut Cluster, fault: &Fault, event: &Pending) {
        let access = Access::of_component(fault.component(&cluster.engine, event));
        let choices = fault.apply(cluster, event.id);
        if choices.is_empty() {
            return;
        }
        for choice in choices {
            match &choice {
                Choice::Stale(stale) => self.frozen.push((stale.component.clone(), stale.kind)),
                Choice::Hold(_) => self.held_since = cluster.engine.now(),
                _ => {}
            }
            self.chosen(cluster, choice);
        }
        let identity = digest(&(self.names.of_event(event.id), fault));
        let linked = self.trace.causality.add(identity, &access, None);
        let place = self.trace.steps.len();
        self.names.adopt(cluster, identity, place);
        self.trace.steps.push(Taken {
            identity,
            past: linked.past,
            cause: None,
            needs: Vec::new(),
            races: Vec::new(),
            time: cluster.engine.now(),
            background: false,
            may_be_late: false,
            watch: None,
            is_fault: true,
            faults: Vec::new(),
        });
    }

    /// Notes a step that ran.
    fn took(&mut self, cluster: &mut Cluster, bound: &Bound, step: &Step, faults: Vec<Fault>) {
        self.watcher.saw(&cluster.engine, step);
        let place = self.trace.steps.len();
        let (identity, cause) = self.names.take(cluster, step, place);
        let access = Access::of(&cluster.engine, &step.event);
        let linked = self.trace.causality.add(identity, &access, cause);
        let watch = match &step.event.what {
            What::Notification { watch, .. } => Some(*watch),
            _ => None,
        };
        self.trace.steps.push(Taken {
            identity,
            past: linked.past,
            cause,
            needs: linked.needs,
            races: linked.races,
            time: step.time,
            background: step.event.background,
            may_be_late: bound.may_be_late(cluster.engine.name(step.event.from), cluster.engine.name(step.event.to)),
            watch,
            is_fault: false,
            faults,
        });
        self.freeze(cluster, step);
    }

    /// After an old list, the watch is held: the cache behind it hears of nothing.
    fn freeze(&mut self, cluster: &mut Cluster, step: &Step) {
        let What::Notification { event: WatchEvent::Bookmark { kind, initial_events_end: true, .. }, .. } =
            &step.event.what
        else {
            return;
        };
        let name = cluster.engine.name(step.event.to).to_owned();
        if let Some(at) = self.frozen.iter().position(|frozen| *frozen == (name.clone(), *kind)) {
            self.frozen.remove(at);
            let hold = Hold::Watch(name, *kind);
            cluster.engine.hold(hold.clone());
            self.held_since = cluster.engine.now();
            self.chosen(cluster, Choice::Hold(hold));
        }
    }
}

/// Events by who they are. Their numbers depend on the order of delivery, their ancestry does not.
struct Names {
    by_event: BTreeMap<EventId, u64>,
    by_identity: BTreeMap<u64, EventId>,
    /// The step that sent an event.
    causes: BTreeMap<EventId, usize>,
    /// The number that the next event gets.
    next: EventId,
}

impl Names {
    fn of(cluster: &Cluster) -> Names {
        let (by_event, by_identity, causes) = Default::default();
        let mut names = Names { by_event, by_identity, causes, next: cluster.engine.next_event() };
        for event in cluster.engine.pending() {
            names.add(event.id, digest(&event.id), None);
        }
        names
    }

    fn add(&mut self, event: EventId, identity: u64, cause: Option<usize>) {
        self.by_event.insert(event, identity);
        self.by_identity.insert(identity, event);
        if let Some(cause) = cause {
            self.causes.insert(event, cause);
        }
    }

    fn of_event(&self, event: EventId) -> u64 {
        self.by_event.get(&event).copied().unwrap_or_default()
    }

    /// An event was delivered in the step at `place`: who it was, and which step sent it. What it sent is named.
    fn take(&mut self, cluster: &Cluster, step: &Step, place: usize) -> (u64, Option<usize>) {
        let identity = self.by_event.remove(&step.event.id).unwrap_or_default();
        self.by_identity.remove(&identity);
        let cause = self.causes.remove(&step.event.id);
        self.adopt(cluster, identity, place);
        (identity, cause)
    }

    /// Names what has been sent since this was last called, by the step at `place`.
    fn adopt(&mut self, cluster: &Cluster, parent: u64, place: usize) {
        let next = cluster.engine.next_event();
        for (n, event) in (self.next.0..next.0).enumerate() {
            self.add(EventId(event), digest(&(parent, n)), Some(place));
        }
        self.next = next;
    }
}
