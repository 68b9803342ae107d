//! One run with some deviations from the usual course.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::choice::Choice;
use crate::properties::Property;
use apiserver::host::control::Stale;
use cluster::fault::Fault as Breaks;
use cluster::fault::delivery::Release;
use cluster::{Cluster, Saved};
use engine::control::Hold;
use engine::{EventId, Pending, Step, What};
use object::Kind;
use object::time::Instant;
use wire::WatchEvent;

use super::access::Access;
use super::causality::digest;
use super::fault::{Fault, Watcher};
use super::marks::Usual;
use super::names::Names;
use super::trace::{Taken, Trace};
use super::{Bound, Breach, Subject, Violation};

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

impl Deviation {
    /// Whether something broke.
    pub fn is_fault(&self) -> bool {
        matches!(self.what, Deviates::Fault(_))
    }
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

/// Runs schedules on a cluster of its own, from the same beginning each time.
pub struct Runner<'a> {
    subject: &'a Subject<'a>,
    bound: &'a Bound,
    cluster: Cluster,
    start: Saved,
    /// The usual course, once it was run.
    usual: Option<Usual>,
}

/// A run under way, with all that is known of it.
pub(super) struct Running {
    pub course: Course,
    pub properties: Vec<Box<dyn Property>>,
}

impl<'a> Runner<'a> {
    /// Makes the cluster.
    pub fn new(subject: &'a Subject<'a>, bound: &'a Bound) -> Runner<'a> {
        let mut cluster = (subject.cluster)();
        // What each check of a request says is for people.
        cluster.engine.server.api.keep_stages(false);
        let start = cluster.save().expect("exploring begins at a moment at which no task is in flight");
        Runner { subject, bound, cluster, start, usual: None }
    }

    /// Runs one schedule to its end. What it has in common with the usual course is not run again.
    pub fn repeat(&mut self, schedule: &Schedule) -> Trace {
        let deviates = self.bound.late > 0 || self.bound.faults > 0;
        if self.usual.is_none() && deviates {
            let mut usual = Usual::default();
            let running = self.begin();
            let trace = self.go(running, &mut Repeat::new(&Schedule::new()), Some(&mut usual));
            usual.ended(&trace);
            self.usual = Some(usual);
            if schedule.is_empty() {
                return trace;
            }
        }
        let running = match self.usual.as_ref().and_then(|usual| usual.mark_before(schedule)) {
            Some(mark) => mark.back(&mut self.cluster),
            None => self.begin(),
        };
        self.go(running, &mut Repeat::new(schedule), None)
    }

    /// Runs to the end from the beginning, as `policy` says.
    pub fn run(&mut self, policy: &mut dyn Policy) -> Trace {
        let running = self.begin();
        self.go(running, policy, None)
    }

    fn begin(&mut self) -> Running {
        self.cluster.restore(&self.start);
        let course = Course {
            names: Names::of(&self.cluster),
            watcher: Watcher::new(&self.cluster.engine),
            trace: Trace::default(),
            frozen: Vec::new(),
            held_since: Instant::default(),
        };
        Running { course, properties: (self.subject.properties)() }
    }

    /// Goes on to the end. Leaves marks in the usual course.
    fn go(&mut self, running: Running, policy: &mut dyn Policy, mut usual: Option<&mut Usual>) -> Trace {
        let Running { mut course, mut properties } = running;
        let broken = loop {
            if let Some(usual) = &mut usual {
                usual.mark(&self.cluster, &course, &properties);
            }
            course.release_old(&mut self.cluster, self.bound.held);
            if self.cluster.is_quiet() && !course.release(&mut self.cluster) {
                let engine = &self.cluster.engine;
                break properties.iter_mut().find_map(|p| stated(p.name().to_owned(), p.finish(engine)));
            }
            if course.trace.steps.len() as u64 >= self.bound.steps {
                let what = format!("it still works after {} steps", course.trace.steps.len());
                break Some((Breach::Unrest, "the cluster comes to rest".to_owned(), what));
            }
            let Some(step) = course.step(&mut self.cluster, self.bound, policy) else { break None };
            if let Some((_, task, message)) = self.cluster.engine.take_crashes().pop() {
                let what = format!("{task}: {message}");
                break Some((Breach::Panic(message), "nothing panics".to_owned(), what));
            }
            let engine = &self.cluster.engine;
            let broken = properties.iter_mut().find_map(|p| stated(p.name().to_owned(), p.check(engine, &step)));
            if broken.is_some() {
                break broken;
            }
        };
        let mut trace = course.trace;
        let (step, choices) = (self.cluster.engine.steps(), trace.choices.clone());
        trace.violation = broken.map(|(breach, property, what)| Violation { breach, property, what, choices, step });
        trace
    }
}

/// What breaks a property that is stated, if it is broken.
fn stated(property: String, checked: Result<(), String>) -> Option<(Breach, String, String)> {
    Some((Breach::Stated, property, checked.err()?))
}

/// What happened in a run under way.
#[derive(Clone)]
pub(super) struct Course {
    names: Names,
    watcher: Watcher,
    pub trace: Trace,
    /// Watches whose list shows the past, and which say nothing more after it.
    frozen: Vec<(String, Kind)>,
    /// When something was held back last.
    held_since: Instant,
}

impl Course {
    /// Lets what is held go, once all else is done. False if nothing is held.
    fn release(&mut self, cluster: &mut Cluster) -> bool {
        let held: Vec<Hold> = cluster.engine.controls().holds.clone();
        for hold in &held {
            self.do_fault(cluster, Breaks::of(Release(Some(hold.clone()))));
            self.names.adopt(cluster, digest(&"release"), self.trace.steps.len());
        }
        !held.is_empty()
    }

    /// The same where something has been held for long enough.
    fn release_old(&mut self, cluster: &mut Cluster, held: Duration) {
        let next = cluster.engine.peek().map(|event| event.due);
        if next.is_some_and(|due| due > self.held_since + held) {
            self.release(cluster);
        }
    }

    /// Breaks or mends something, as a step of the cluster. False if that cannot be.
    fn do_fault(&mut self, cluster: &mut Cluster, fault: Breaks) -> bool {
        let after = cluster.engine.steps();
        if cluster.fault(fault.clone()).is_err() {
            return false;
        }
        if let Some(stale) = fault.is::<Stale>() {
            self.frozen.push((stale.component.clone(), stale.kind));
        }
        if fault.is::<Hold>().is_some() {
            self.held_since = cluster.engine.now();
        }
        self.trace.choices.push((after, Choice::Fault(fault)));
        true
    }

    fn chosen(&mut self, cluster: &Cluster, choice: Choice) {
        self.trace.choices.push((cluster.engine.steps(), choice));
    }

    /// The next step, after what is to deviate before it.
    fn step(&mut self, cluster: &mut Cluster, bound: &Bound, policy: &mut dyn Policy) -> Option<Step> {
        let mut faults = Vec::new();
        let mut early = None;
        let mut last = None;
        // An event is not copied to be looked at: most are requests, and nothing deviates at most of them.
        while let Some(event) = cluster.engine.peek() {
            let id = event.id;
            let identity = self.names.of_event(id);
            if last != Some(id) {
                faults = self.watcher.faults(cluster, &bound.kinds, &bound.places, event);
                last = Some(id);
            }
            let moment = Moment {
                cluster,
                event,
                identity,
                others: &self.names.by_event,
                faults: &faults,
                broken: self.trace.deviations.iter().filter(|(_, deviation)| deviation.is_fault()).count(),
            };
            let Some(what) = policy.next(&moment) else { break };
            let place = self.trace.steps.len();
            match &what {
                Deviates::Late(by) => self.delay(cluster, id, *by),
                Deviates::Early(other) => early = self.names.by_identity.get(other).copied(),
                Deviates::Fault(fault) => {
                    let event = event.clone();
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
        let mut done = false;
        for fault in fault.breaks(cluster, event) {
            done |= self.do_fault(cluster, fault);
        }
        if !done {
            return;
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
            self.do_fault(cluster, Breaks::of(hold));
            self.names.adopt(cluster, digest(&"freeze"), self.trace.steps.len());
        }
    }
}
