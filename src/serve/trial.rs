//! One run of a client with something broken at its requests.
//!
//! Time stands while the client works: an event that is not due at once waits until the client has sent nothing and taken no processor
//! time for a moment. Then time jumps. The run is over when the cluster is quiet and the client has done nothing for longer.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant as WallInstant};

use anyhow::{Context, bail, ensure};

use cluster::Cluster;
use debugger::explore::Breach;
use debugger::explore::fault::{Fault, FaultKind, Watcher};
use debugger::properties::Property;
use debugger::{Advance, Choice, Session, StopAt, file};
use engine::{EventId, Pending, What};
use kubestep::cli::outside::{Broken, Outside};
use kubestep::cli::port;
use kubestep::cli::serve::Clients;
use kubestep::cli::signals::Signals;
use stepper::{Clock, Stepper};

use super::program::{Printed, Program, wall};
use super::reception::Reception;
use super::users::KnownUser;
use super::{front, kubeconfig};

/// What is due within so much virtual time comes at once: messages take less, timers more.
const SOON: Duration = Duration::from_millis(200);
/// A client that has done nothing for so long waits for something.
const THINKS: Duration = Duration::from_millis(300);
/// A program sends its first request within so much time.
const COMES: Duration = Duration::from_secs(30);
/// What must come in the end is waited for so long: the program may be slow, or try again by its own clock.
const PATIENCE: Duration = Duration::from_secs(20);
/// A client that never rests is judged after so long.
const LONGEST: Duration = Duration::from_secs(45);
/// After so long, clients are looked after again, if there is still more to do.
const SLICE: Duration = Duration::from_millis(20);
/// A program that ends is started again so often, as a kubelet would.
const RESTARTS: u32 = 5;

/// Where something may be broken: at the n-th event of its sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `create configmaps`, `watch greetings.example.com`.
    pub sort: String,
    /// Which, counted from 0.
    pub number: usize,
}

/// What is broken in a run, in its order.
pub type Schedule = Vec<(Place, Fault)>;

/// What came of a run.
pub struct Outcome {
    /// Where something can be broken after the last that was, and what.
    pub places: Vec<(Place, Vec<Fault>)>,
    /// How much of the schedule was broken.
    pub broken: usize,
    /// What does not hold, if anything.
    pub violation: Option<Broken>,
}

/// How long runs may go on: until a moment, or until the user has had enough.
pub struct Until {
    end: WallInstant,
    signals: Signals,
    is_over: AtomicBool,
}

impl Until {
    /// For so long from now.
    ///
    /// # Errors
    /// Signals cannot be heard.
    pub fn after(time: Duration) -> std::io::Result<Until> {
        Ok(Until { end: wall() + time, signals: Signals::listen()?, is_over: AtomicBool::new(false) })
    }

    /// Whether it is over. A signal is heard once, and ends all runs.
    pub fn is_over(&self) -> bool {
        let now = wall() > self.end || self.signals.ended() || self.signals.interrupted();
        self.is_over.fetch_or(now, Ordering::Relaxed) || now
    }
}

struct Trial<'a> {
    outside: &'a Outside,
    schedule: &'a Schedule,
    kubeconfig: &'a Path,
    stepper: Stepper,
    reception: Reception,
    program: Program,
    restarts: u32,
    properties: Vec<Box<dyn Property>>,
    /// So many steps have been shown to them.
    checked: usize,
    watcher: Watcher,
    /// The event whose place is the last of `places`.
    looked_at: Option<EventId>,
    /// The sorts of events that were met.
    met: Vec<String>,
    places: Vec<(Place, Vec<Fault>)>,
    deviations: Vec<(u64, String)>,
    broken: usize,
    /// When the program was started, and when it has sent something or worked last.
    started: WallInstant,
    heard: Option<WallInstant>,
}

/// Runs the command once. None: there was no time left. Its kubeconfig is in the folder.
///
/// # Errors
/// The command sends nothing, or ends by itself although nothing is broken.
pub fn run(outside: &Outside, schedule: &Schedule, folder: &Path, until: &Until) -> anyhow::Result<Option<Outcome>> {
    let (listener, user) = (port::bind(Ipv4Addr::LOCALHOST, 0, "another cluster")?, KnownUser::admin());
    let address = listener.local_addr()?.to_string();
    let sockets = front::open(listener, vec![user.clone()], None).context("sockets cannot be served")?;
    let path = folder.join(format!("kubeconfig-{}", address.rsplit(':').next().unwrap_or_default()));
    kubeconfig::write(&path, &kubeconfig::text(&address, &user, None, &outside.scenario.namespace))
        .with_context(|| format!("{} cannot be written", path.display()))?;
    let mut stepper = Stepper::new(Session::of(outside.scenario.clone()), false);
    stepper.clock = Some(Clock::Fast);
    stepper.session.cluster.clients.serve(true);
    let watcher = Watcher::new(&stepper.session.cluster.engine);
    let program =
        Program::start(&outside.command, &path, &Printed::default()).context("there is no shell to start it")?;
    let mut trial = Trial {
        outside,
        schedule,
        kubeconfig: &path,
        stepper,
        reception: Reception::new(sockets, String::new(), 1.0),
        program,
        restarts: 0,
        properties: outside.stated.iter().map(|stated| stated.begin()).collect(),
        checked: 0,
        watcher,
        looked_at: None,
        met: Vec::new(),
        places: Vec::new(),
        deviations: Vec::new(),
        broken: 0,
        started: wall(),
        heard: None,
    };
    let begun = wall();
    let violation = loop {
        if until.is_over() {
            return trial.has_come().map(|()| None);
        }
        trial.exchange();
        if let Some(violation) = trial.let_pass()? {
            break Some(violation);
        }
        trial.reception.send(&mut trial.stepper);
        trial.look_at_program()?;
        if trial.is_over() || begun.elapsed() > LONGEST {
            let violation = trial.finish();
            let waits = trial.silent() < PATIENCE.max(outside.rest) && begun.elapsed() <= LONGEST;
            if (violation.is_some() && waits) || (violation.is_none() && trial.release()) {
                // It may still come.
            } else {
                break violation;
            }
        }
        let rests = trial.next_is_due().is_none_or(|due| due > SOON);
        if rests {
            trial.reception.bell().wait(SLICE);
        }
    };
    let Trial { stepper, program, places, broken, deviations, .. } = trial;
    let violation = violation.map(|(breach, property, what)| {
        let (session, printed) = (file::save(&stepper.session), program.printed().last());
        Broken { session, breach, property, what, deviations, printed }
    });
    Ok(Some(Outcome { places, broken, violation }))
}

/// A sort of breach, the property, and what broke it.
type Broke = (Breach, String, String);

impl Trial<'_> {
    /// Takes in what the client has sent, and whether it works.
    fn exchange(&mut self) {
        let works = self.program.works() && self.heard.is_some();
        if self.reception.receive(&mut self.stepper) > 0 || works {
            self.heard = Some(wall());
        }
    }

    /// For how long the client has done nothing. One that has not come yet is not.
    fn silent(&self) -> Duration {
        self.heard.map_or(Duration::ZERO, |heard| heard.elapsed())
    }

    /// In how much virtual time the next event is due.
    fn next_is_due(&self) -> Option<Duration> {
        let engine = &self.stepper.session.cluster.engine;
        engine.peek().map(|event| event.due - engine.now())
    }

    fn is_quiet(&self) -> bool {
        let cluster = &self.stepper.session.cluster;
        cluster.is_quiet() || cluster.has_ended()
    }

    /// Whether all is done: here, and as far as can be told in the program.
    fn is_over(&self) -> bool {
        self.is_quiet() && self.silent() >= self.outside.rest
    }

    /// Lets happen what is due, and breaks what is to be broken.
    fn let_pass(&mut self) -> anyhow::Result<Option<Broke>> {
        let begun = wall();
        while let Some(due) = self.next_is_due() {
            let waits = self.silent() < THINKS || self.is_quiet();
            if (due > SOON && waits) || begun.elapsed() > SLICE {
                break;
            }
            if self.breaks()? {
                continue;
            }
            let end = self.stepper.session.advance(StopAt::Anything, 1);
            if let Some(broke) = self.check() {
                return Ok(Some(broke));
            }
            if let (Advance::Crashed, [message, ..]) = (end, self.stepper.session.crashes()) {
                return Ok(Some((Breach::Panic(message.clone()), "nothing panics".to_owned(), message.clone())));
            }
        }
        Ok(self.check())
    }

    /// Shows the properties what has happened since.
    fn check(&mut self) -> Option<Broke> {
        let session = &self.stepper.session;
        for step in &session.history()[self.checked..] {
            self.checked += 1;
            self.watcher.saw(&session.cluster.engine, step);
            for property in &mut self.properties {
                if let Err(what) = property.check(&session.cluster.engine, step) {
                    return Some((Breach::Stated, property.name().to_owned(), what));
                }
            }
        }
        None
    }

    /// What must hold in the end and does not. They are asked again if the end was none.
    fn finish(&mut self) -> Option<Broke> {
        let engine = &self.stepper.session.cluster.engine;
        self.properties.iter().find_map(|property| {
            let what = property.copied().finish(engine).err()?;
            Some((Breach::Stated, property.name().to_owned(), what))
        })
    }

    /// Lets go what is held, once all else is done. False if nothing is held.
    fn release(&mut self) -> bool {
        let held = self.stepper.session.cluster.engine.controls().holds.clone();
        if !held.is_empty() {
            self.act("release");
            self.heard = Some(wall());
        }
        !held.is_empty()
    }

    /// Breaks what the schedule has for the event that is next, if anything. Whether there was.
    fn breaks(&mut self) -> anyhow::Result<bool> {
        let cluster = &self.stepper.session.cluster;
        let Some(event) = cluster.engine.peek().filter(|event| self.looked_at != Some(event.id)).cloned() else {
            return Ok(false);
        };
        self.looked_at = Some(event.id);
        let Some(sort) = sort(cluster, &event) else { return Ok(false) };
        let bound = &self.outside.bound;
        let mut faults = self.watcher.faults(cluster, &bound.kinds, &bound.places, &event);
        let wrote = matches!(&event.what, What::Response { answer, .. } if answer.wrote);
        if wrote && bound.kinds.contains(&FaultKind::Crash) {
            faults.push(Fault::Crash(cluster.engine.name(event.to).to_owned()));
        }
        if faults.is_empty() {
            return Ok(false);
        }
        let number = self.met.iter().filter(|met| **met == sort).count();
        self.met.push(sort.clone());
        let place = Place { sort, number };
        match self.schedule.get(self.broken) {
            Some((at, fault)) if *at == place => {
                self.broken += 1;
                self.places.clear();
                self.break_it(fault, &event, &place.sort)?;
                Ok(true)
            }
            _ => {
                self.places.push((place, faults));
                Ok(false)
            }
        }
    }

    fn break_it(&mut self, fault: &Fault, event: &Pending, sort: &str) -> anyhow::Result<()> {
        if let Fault::Crash(_) = fault {
            let after = self.stepper.session.history().len() as u64;
            self.deviations
                .push((after, format!("the command is killed before the {sort} reaches it, and started again")));
            return self.start_again();
        }
        for breaks in fault.breaks(&self.stepper.session.cluster, event) {
            self.act(&Choice::Fault(breaks).to_string());
        }
        Ok(())
    }

    /// Does something that could be typed, and remembers it as out of the usual.
    fn act(&mut self, line: &str) {
        let after = self.stepper.session.history().len() as u64;
        if self.stepper.session.act(line).is_ok() {
            self.deviations.push((after, line.to_owned()));
        }
    }

    /// Kills the program if it runs, and starts it again.
    fn start_again(&mut self) -> anyhow::Result<()> {
        let printed = self.program.printed().clone();
        self.program.kill();
        // What it has sent by then is on its way through the sockets.
        std::thread::sleep(SLICE);
        self.reception.hang_up(&mut self.stepper);
        self.program = Program::start(&self.outside.command, self.kubeconfig, &printed)?;
        (self.started, self.heard) = (wall(), None);
        Ok(())
    }

    /// Sees to it that the program runs.
    fn look_at_program(&mut self) -> anyhow::Result<()> {
        match self.program.ended() {
            Some(status) if self.broken == 0 && (!status.success() || self.heard.is_none()) => {
                bail!("the command has ended although nothing was broken: {status}; {}", self.last_words())
            }
            // Its last words may be on their way.
            Some(status) if !status.success() && self.silent() >= THINKS && self.restarts < RESTARTS => {
                self.restarts += 1;
                self.start_again()
            }
            _ if self.heard.is_some() || self.started.elapsed() < COMES => Ok(()),
            _ => {
                self.has_come()?;
                // It was started again, and does not come back.
                self.heard = Some(self.started);
                Ok(())
            }
        }
    }

    /// Whether the program has sent anything before something was broken.
    fn has_come(&self) -> anyhow::Result<()> {
        let waited = self.started.elapsed().as_secs_f64();
        ensure!(
            self.heard.is_some() || self.broken > 0,
            "the command has sent nothing in {waited:.1} seconds; does it take the cluster that KUBECONFIG names? {}",
            self.last_words()
        );
        Ok(())
    }

    fn last_words(&self) -> String {
        match self.program.printed().last() {
            none if none.is_empty() => "it has printed nothing".to_owned(),
            last => format!("its last lines:\n{last}"),
        }
    }
}

/// The sort of an event that concerns a client outside; none: it concerns none.
fn sort(cluster: &Cluster, event: &Pending) -> Option<String> {
    let clients = &cluster.clients;
    match &event.what {
        What::Request { request, .. } if clients.is_client(event.from) => {
            Some(format!("{} {}", request.verb.as_str(), request.kind.info().plural))
        }
        What::Response { about, .. } if clients.is_client(event.to) => {
            let words: Vec<&str> = about.split(' ').take(2).collect();
            Some(format!("answer to {}", words.join(" ")))
        }
        What::Notification { event: said, .. } if clients.is_client(event.to) => {
            Some(format!("watch {}", said.kind()?.info().plural))
        }
        _ => None,
    }
}
