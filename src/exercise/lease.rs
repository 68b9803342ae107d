//! Exercise 20: processes that stand for election, and a small API server that has their Lease.

use std::collections::BTreeMap;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde::{Deserialize, Serialize};

use crate::process;
use object::time::Instant;

/// So many seconds a Lease belongs to its holder that stays as it is: what a candidate writes as `leaseDurationSeconds`.
pub const LEASE_DURATION: i32 = 15;
/// So many seconds a leader may go on without a renewal. It stops before another can begin.
pub const RENEW_DEADLINE: u64 = 10;

/// One of several processes. Only one of them is to work.
pub trait Candidate {
    /// The Lease was just read, at `now` of the process's own clock, in seconds; None: there is none. Gives the Lease to
    /// write, if one is to be written. It is created where there was none.
    fn decide(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease>;
    /// The API server has taken what `decide` has given, and says so at `now`. Without this call it may have taken it or not.
    fn written(&mut self, now: u64);
    /// Whether the process may work as the leader, at this time.
    fn leads(&self, now: u64) -> bool;
    /// The process comes to an orderly end; from now on it does not lead. Gives the Lease to write, if one is to be written.
    fn release(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease>;
}

/// What a clock shows, in seconds, as a Lease has it.
pub fn time(seconds: u64) -> MicroTime {
    Instant(seconds.saturating_mul(1_000_000_000)).micro_time()
}

/// What a Lease has, in seconds, as a clock shows it.
pub fn seconds(time: &MicroTime) -> u64 {
    u64::try_from(time.0.as_second() - Instant::default().timestamp().as_second()).unwrap_or(0)
}

/// What happens. Candidates are named by their number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Act {
    /// So many seconds pass.
    Wait(u64),
    /// One reads, decides, writes and hears the answer.
    Try(usize),
    /// Two read, both decide, and then the first writes and after it the second.
    Both(usize, usize),
    /// One tries, and its write fails.
    Fails(usize),
    /// One tries; its write is taken, and the answer gets lost.
    Lost(usize),
    /// One tries; its write is taken, and the answer comes later.
    Slow(usize),
    /// That answer comes.
    Answer(usize),
    /// One comes to an orderly end.
    Ends(usize),
    /// One crashes and is started again, under another name.
    Restarts(usize),
    /// A user writes a label into the Lease.
    Labels,
    /// A user writes another name into the Lease.
    Hands,
    /// A user deletes the Lease.
    Deletes,
}

/// A question to the function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// What the clock of each candidate shows at first, in seconds.
    pub clocks: Vec<u64>,
    /// The Lease at first.
    pub lease: Option<Lease>,
    /// What happens: so many times these, one after another.
    pub script: Vec<(u32, Vec<Act>)>,
}

impl Case {
    /// All that happens, one after another.
    pub fn acts(&self) -> Vec<Act> {
        self.script.iter().flat_map(|(times, acts)| (0..*times).flat_map(|_| acts.iter().copied())).collect()
    }
}

/// The name of a candidate that has been started so often before.
pub fn name(number: usize, starts: u32) -> String {
    // One begins like another.
    let name = if number == 0 { "web-1".to_owned() } else { format!("web-1{number}") };
    if starts == 0 { name } else { format!("{name}-{}", starts + 1) }
}

/// The name that a user writes into the Lease.
pub const OTHER: &str = "other";

/// What has come of one act.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// How many seconds have passed since the beginning.
    pub at: u64,
    /// What was written, in this order.
    pub writes: Vec<Wrote>,
    /// Who may work as the leader.
    pub leads: Vec<String>,
}

/// What a candidate has written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wrote {
    /// Who.
    pub who: String,
    /// `holderIdentity`; empty: no process has it.
    pub holder: String,
    /// `leaseDurationSeconds`.
    pub duration: Option<i32>,
    /// `acquireTime`.
    pub acquired: Option<MicroTime>,
    /// `renewTime`.
    pub renewed: Option<MicroTime>,
    /// `leaseTransitions`; none are 0.
    pub transitions: i32,
    /// The labels, where there was a Lease before.
    pub labels: BTreeMap<String, String>,
    /// Whether it overwrites what others have written meanwhile: it has no resourceVersion.
    pub blindly: bool,
    /// Whether the API server takes it.
    pub taken: bool,
}

/// Answers with the candidates that this function makes, by their names.
pub fn answer<C: Candidate>(new: fn(&str) -> C) {
    process::answer(|case: &Case| run(case, new));
}

/// What comes of these candidates.
pub fn run<C: Candidate>(case: &Case, new: impl Fn(&str) -> C) -> Vec<Moment> {
    let mut world = World::new(case, new);
    case.acts().into_iter().map(|act| world.act(act)).collect()
}

/// Candidates and their Lease.
struct World<C, N> {
    new: N,
    processes: Vec<Process<C>>,
    lease: Option<Lease>,
    /// The version that was written last.
    version: u64,
    labels: u64,
    time: u64,
}

struct Process<C> {
    name: String,
    candidate: C,
    clock: u64,
    starts: u32,
    has_ended: bool,
    /// Whether an answer is on its way.
    waits: bool,
}

impl<C: Candidate, N: Fn(&str) -> C> World<C, N> {
    fn new(case: &Case, new: N) -> Self {
        let process = |(number, clock): (usize, &u64)| {
            let name = name(number, 0);
            let candidate = new(&name);
            Process { name, candidate, clock: *clock, starts: 0, has_ended: false, waits: false }
        };
        let processes = case.clocks.iter().enumerate().map(process).collect();
        let mut world = World { new, processes, lease: case.lease.clone(), version: 0, labels: 0, time: 0 };
        world.changed();
        world
    }

    fn act(&mut self, act: Act) -> Moment {
        let mut writes = Vec::new();
        match act {
            Act::Wait(seconds) => self.time += seconds,
            Act::Labels => {
                self.labels += 1;
                let label = ("example.com/seen".to_owned(), self.labels.to_string());
                self.lease.iter_mut().for_each(|lease| {
                    lease.metadata.labels.get_or_insert_default().extend([label.clone()]);
                });
                self.changed();
            }
            Act::Hands => {
                let spec = self.lease.as_mut().map(|lease| lease.spec.get_or_insert_default());
                spec.into_iter().for_each(|spec| spec.holder_identity = Some(OTHER.to_owned()));
                self.changed();
            }
            Act::Deletes => self.lease = None,
            Act::Restarts(number) => self.restart(number),
            Act::Answer(number) => self.answer(number),
            Act::Both(one, other) => {
                let given = [one, other].map(|number| (number, self.decision(number)));
                for (number, given) in given {
                    let Some((read, lease)) = given else { continue };
                    let wrote = self.write(number, read, lease, true);
                    self.processes[number].waits = wrote.taken;
                    self.answer(number);
                    writes.push(wrote);
                }
            }
            Act::Try(number) | Act::Fails(number) | Act::Lost(number) | Act::Slow(number) => {
                if let Some((read, lease)) = self.decision(number) {
                    let wrote = self.write(number, read, lease, !matches!(act, Act::Fails(_)));
                    self.processes[number].waits = wrote.taken && !matches!(act, Act::Lost(_));
                    if !matches!(act, Act::Slow(_)) {
                        self.answer(number);
                    }
                    writes.push(wrote);
                }
            }
            Act::Ends(number) => writes.extend(self.end(number)),
        }
        let (time, processes) = (self.time, &self.processes);
        let leads = processes.iter().filter(|one| one.candidate.leads(one.clock + time));
        Moment { at: time, writes, leads: leads.map(|one| one.name.clone()).collect() }
    }

    /// What a candidate wants written, and the version that it has read. One that has ended wants nothing.
    fn decision(&mut self, number: usize) -> Option<(Option<u64>, Lease)> {
        let (read, time) = (self.lease.clone(), self.time);
        let process = self.processes.get_mut(number).filter(|process| !process.has_ended)?;
        process.waits = false;
        let given = process.candidate.decide(read.as_ref(), process.clock + time)?;
        Some((read.map(|_| self.version), given))
    }

    fn end(&mut self, number: usize) -> Option<Wrote> {
        let (read, time) = (self.lease.clone(), self.time);
        let process = self.processes.get_mut(number).filter(|process| !process.has_ended)?;
        (process.has_ended, process.waits) = (true, false);
        let given = process.candidate.release(read.as_ref(), process.clock + time)?;
        Some(self.write(number, read.map(|_| self.version), given, true))
    }

    fn restart(&mut self, number: usize) {
        let Some(process) = self.processes.get_mut(number) else { return };
        process.starts += 1;
        process.name = name(number, process.starts);
        process.candidate = (self.new)(&process.name);
        (process.has_ended, process.waits) = (false, false);
    }

    /// The answer comes that is on its way to a candidate.
    fn answer(&mut self, number: usize) {
        let Some(process) = self.processes.get_mut(number) else { return };
        if std::mem::take(&mut process.waits) {
            process.candidate.written(process.clock + self.time);
        }
    }

    /// A candidate writes; `works`: the write comes to the API server. `read`: the version that was read, if there was a Lease.
    fn write(&mut self, number: usize, read: Option<u64>, given: Lease, works: bool) -> Wrote {
        let sent = given.metadata.resource_version.as_ref().map(|version| version.parse::<u64>().ok());
        let blindly = read.is_some() && sent.is_none();
        let fits = match (&self.lease, read) {
            (None, None) => true,
            (Some(_), Some(_)) => sent.is_none_or(|version| version == Some(self.version)),
            _ => false,
        };
        let taken = works && fits;
        let spec = given.spec.clone().unwrap_or_default();
        let labels = given.metadata.labels.clone().filter(|_| read.is_some()).unwrap_or_default();
        if taken {
            self.lease = Some(given);
            self.changed();
        }
        Wrote {
            who: self.processes[number].name.clone(),
            holder: spec.holder_identity.unwrap_or_default(),
            duration: spec.lease_duration_seconds,
            acquired: spec.acquire_time,
            renewed: spec.renew_time,
            transitions: spec.lease_transitions.unwrap_or(0),
            labels,
            blindly,
            taken,
        }
    }

    /// The Lease has another version.
    fn changed(&mut self) {
        self.version += 1;
        let version = self.version.to_string();
        self.lease.iter_mut().for_each(|lease| lease.metadata.resource_version = Some(version.clone()));
    }
}
