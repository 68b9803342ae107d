//! One run with some events delivered out of turn, and the threads that do many.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::Duration;

use crate::apiserver::watch::WatchId;
use crate::cluster::{Cluster, Saved};
use crate::engine::{EventId, Step, What};
use crate::object::time::Instant;

use super::access::Access;
use super::{Bound, Schedule, Subject, Violation};

/// One step of a run, as far as the search needs it.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Who the event is, whatever its number in this run: a digest of its cause and its place among what that sent.
    pub identity: u64,
    /// How many steps had run when it was sent.
    born: usize,
    due: Instant,
    time: Instant,
    access: Access,
    watch: Option<WatchId>,
    background: bool,
    /// A digest of the event and of all steps before it that it depends on.
    past: u64,
}

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Its steps.
    pub steps: Vec<Taken>,
    /// What it broke.
    pub violation: Option<Violation>,
}

impl Trace {
    /// The same for all orders of independent steps.
    pub fn digest(&self) -> u64 {
        digest_of(&self.steps)
    }

    /// A digest of the first `place` steps, and then of that later one.
    pub fn beginning(&self, place: usize, later: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        (digest_of(&self.steps[..place]), self.steps[later].identity).hash(&mut hasher);
        hasher.finish()
    }

    /// Pairs of places: the event of the second could have been delivered at the first, and the order matters.
    pub fn races(&self, window: Duration) -> Vec<(usize, usize)> {
        (0..self.steps.len()).filter_map(|later| Some((self.race_of(later, window)?, later))).collect()
    }

    /// The last step before `later` that it races with.
    fn race_of(&self, later: usize, window: Duration) -> Option<usize> {
        let event = &self.steps[later];
        if event.background {
            return None;
        }
        for place in (event.born..later).rev() {
            let before = &self.steps[place];
            // Events of one watch come in their order, and nobody waits for ever.
            if (event.watch.is_some() && event.watch == before.watch) || event.due > before.time + window {
                return None;
            }
            if !before.background && event.access.conflicts(&before.access) {
                return Some(place);
            }
        }
        None
    }
}

fn digest_of(steps: &[Taken]) -> u64 {
    steps.iter().fold(steps.len() as u64, |sum, step| sum.wrapping_add(step.past))
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
    pub fn run(&mut self, schedule: &Schedule) -> Trace {
        self.cluster.restore(&self.start);
        let mut properties = (self.subject.properties)();
        let mut names = Identities::of(&self.cluster);
        let (mut trace, mut swapped) = (Trace::default(), Vec::new());
        let mut swaps = schedule.iter().peekable();
        let broken = loop {
            let place = trace.steps.len();
            if self.cluster.is_quiet() {
                let engine = &self.cluster.engine;
                break properties.iter_mut().find_map(|p| Some((p.name().to_owned(), p.finish(engine).err()?)));
            }
            if place as u64 >= self.bound.steps {
                let what = format!("it still works after {place} steps");
                break Some(("the cluster comes to rest".to_owned(), what));
            }
            let out_of_turn = swaps.next_if(|(at, _)| *at == place).and_then(|(_, who)| names.find(*who));
            let step = match out_of_turn {
                Some(event) => {
                    swapped.push((place as u64, event));
                    self.cluster.choose(event).ok()
                }
                None => self.cluster.step(),
            };
            let Some(step) = step else { break None };
            trace.steps.push(names.taken(&step, &trace.steps));
            if let Some((_, task, message)) = self.cluster.engine.take_crashes().pop() {
                break Some(("nothing panics".to_owned(), format!("{task}: {message}")));
            }
            let engine = &self.cluster.engine;
            let broken = properties.iter_mut().find_map(|p| Some((p.name().to_owned(), p.check(engine, &step).err()?)));
            if broken.is_some() {
                break broken;
            }
        };
        let step = trace.steps.len() as u64;
        trace.violation = broken.map(|(property, what)| Violation { property, what, schedule: swapped, step });
        trace
    }
}

/// Events by who they are. Their numbers depend on the order of delivery, their ancestry does not.
struct Identities {
    /// Identity and birth of every event in flight.
    by_event: BTreeMap<EventId, (u64, usize)>,
    by_identity: BTreeMap<u64, EventId>,
}

impl Identities {
    fn of(cluster: &Cluster) -> Identities {
        let mut names = Identities { by_event: BTreeMap::new(), by_identity: BTreeMap::new() };
        for event in cluster.engine.pending() {
            names.add(event.id, digest(&event.id), 0);
        }
        names
    }

    fn add(&mut self, event: EventId, identity: u64, born: usize) {
        self.by_event.insert(event, (identity, born));
        self.by_identity.insert(identity, event);
    }

    fn find(&self, identity: u64) -> Option<EventId> {
        self.by_identity.get(&identity).copied()
    }

    /// Notes a step, and names what it sent.
    fn taken(&mut self, step: &Step, before: &[Taken]) -> Taken {
        let (identity, born) = self.by_event.remove(&step.event.id).unwrap_or_default();
        self.by_identity.remove(&identity);
        for (n, sent) in step.sent.iter().enumerate() {
            self.add(*sent, digest(&(identity, n)), before.len() + 1);
        }
        let access = Access::of(&step.event);
        let watch = match &step.event.what {
            What::Notification { watch, .. } => Some(*watch),
            _ => None,
        };
        let past = past_of(identity, &access, before);
        Taken {
            identity,
            born,
            due: step.event.due,
            time: step.time,
            access,
            watch,
            background: step.event.background,
            past,
        }
    }
}

/// Digests the event with the steps it depends on, back to one that stands for all before it. Their own order is in
/// their digests, if it matters.
fn past_of(identity: u64, access: &Access, before: &[Taken]) -> u64 {
    let mut sum = 0_u64;
    for step in before.iter().rev().take(NEAR).filter(|step| step.access.conflicts(access)) {
        sum = sum.wrapping_add(step.past);
        if step.access.conflicts(&step.access) && step.access.conflicts(access) && !matches!(access, Access::All(_)) {
            break;
        }
    }
    digest(&(identity, sum))
}

/// How far back a step looks for what it depends on. What is further back is never reordered with it.
const NEAR: usize = 256;

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Threads that run schedules.
#[derive(Default)]
pub struct Workers {
    to: Vec<Sender<Vec<Schedule>>>,
    from: Vec<Receiver<Vec<Trace>>>,
}

impl Workers {
    /// Starts so many.
    pub fn start<'s, 'e>(
        &mut self,
        scope: &'s Scope<'s, 'e>,
        subject: &'e Subject<'e>,
        bound: &'e Bound,
        threads: usize,
    ) {
        for _ in 0..threads {
            let (to, work) = channel::<Vec<Schedule>>();
            let (done, from) = channel();
            scope.spawn(move || {
                let mut runner = Runner::new(subject, bound);
                for schedules in work {
                    let traces: Vec<Trace> = schedules.iter().map(|schedule| runner.run(schedule)).collect();
                    if done.send(traces).is_err() {
                        return;
                    }
                }
            });
            self.to.push(to);
            self.from.push(from);
        }
    }

    /// Runs a batch. What comes back is in its order.
    pub fn run(&mut self, batch: &[Schedule]) -> Vec<Trace> {
        let share = batch.len().div_ceil(self.to.len()).max(1);
        let shares: Vec<&[Schedule]> = batch.chunks(share).collect();
        for (to, share) in self.to.iter().zip(&shares) {
            // A worker that is gone has panicked; the scope passes that on.
            let _ = to.send(share.to_vec());
        }
        self.from.iter().zip(&shares).flat_map(|(from, _)| from.recv().unwrap_or_default()).collect()
    }

    /// Lets them go.
    pub fn stop(&mut self) {
        self.to.clear();
    }
}
