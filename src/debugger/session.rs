//! A session: a cluster, every step that ran, and where we stand.

use std::rc::Rc;
use std::time::Duration;

use cluster::Cluster;
use cluster::scenario::Scenario;
use engine::{Note, Step, StepId};
use object::time::Instant;

use super::breakpoint::{Breakpoints, Context, Hit};
use super::digest::Digests;
use super::facts::Facts;
use super::moves::{Goal, StopAt};
use super::travel::Past;

/// How a move ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// Where it was to end.
    Stopped,
    /// At a breakpoint; [`Session::hits`] says which.
    Breakpoint,
    /// A shell at the terminal waits for a line, or the one that was there has gone.
    Shell,
    /// Something panicked; [`Session::crashes`] says what.
    Crashed,
    /// Nothing but background traffic is pending.
    Quiet,
    /// The number of steps asked for ran out.
    Limit,
}

/// A running cluster under the debugger.
pub struct Session {
    /// The cluster.
    pub cluster: Cluster,
    /// Where to stop beside a move's own end.
    pub breakpoints: Breakpoints,
    pub(super) history: Vec<Step>,
    pub(super) past: Past,
    origin: Instant,
    pub(super) background: u64,
    /// The step at which something comes of what looks quiet, once that was looked for.
    pub(super) comes: u64,
    /// Time that the user has let pass since the last step.
    pub(super) passed: Duration,
    pub(super) hits: Vec<Hit>,
    pub(super) crashes: Vec<String>,
    /// What logpoints have printed, each behind so much that commands had.
    printed: Vec<(usize, String)>,
    typed: Vec<(StepId, Rc<str>)>,
    /// As far as they were asked for.
    digests: Digests,
    scenario: Scenario,
    /// So many steps have run before the learner's part of a case.
    begun: u64,
}

/// What breaks a case takes fewer steps.
const BREAKING: u64 = 100_000;

impl Session {
    /// A session over a scenario's cluster, before the first step; of a case, when its timeline has broken the cluster.
    pub fn of(scenario: Scenario) -> Session {
        let cluster = bugs::cluster(&scenario);
        let origin = cluster.engine.now();
        let mut past = Past::default();
        past.keep(0, || cluster.save());
        let mut session = Session {
            cluster,
            past,
            breakpoints: Breakpoints::default(),
            history: Vec::new(),
            origin,
            background: 0,
            comes: 0,
            passed: Duration::ZERO,
            hits: Vec::new(),
            crashes: Vec::new(),
            printed: Vec::new(),
            typed: Vec::new(),
            digests: Digests::default(),
            scenario,
            begun: 0,
        };
        if session.scenario.case.is_some() {
            while !session.cluster.has_ended() && session.begun < BREAKING {
                let Some(step) = session.next_step() else { break };
                session.keep(step);
                session.begun += 1;
            }
        }
        session
    }

    /// How many steps had run when the user's part began: those that break a case.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// The scenario that runs.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Every step that ran, oldest first; step N is at N - 1.
    pub fn history(&self) -> &[Step] {
        &self.history
    }

    /// The step where we stand.
    pub fn current(&self) -> Option<&Step> {
        self.history.last()
    }

    /// A digest of every step that ran.
    pub fn digest(&mut self) -> u64 {
        self.digests.extend(&self.history);
        self.digests.last().unwrap_or_default()
    }

    /// The digest of the first `steps` steps, as far as digests were asked for; 0 before the first.
    pub(super) fn digest_at(&self, steps: u64) -> Option<u64> {
        match steps.checked_sub(1) {
            None => Some(0),
            Some(last) => self.digests.all().get(usize::try_from(last).ok()?).copied(),
        }
    }

    /// A step by its number.
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.history.get(usize::try_from(id.0.checked_sub(1)?).ok()?)
    }

    /// Virtual time since the user's part began.
    pub fn time(&self, at: Instant) -> Instant {
        Instant(at.0.saturating_sub(self.origin.0))
    }

    /// How many background events ran since the last stop.
    pub fn background(&self) -> u64 {
        self.background
    }

    /// The breakpoints at which the last move ended.
    pub fn hits(&self) -> &[Hit] {
        &self.hits
    }

    /// What panicked in the last step, and with what message.
    pub fn crashes(&self) -> &[String] {
        &self.crashes
    }

    /// What logpoints have printed since this was last asked, each with how much commands had printed before.
    pub fn take_printed(&mut self) -> Vec<(usize, String)> {
        std::mem::take(&mut self.printed)
    }

    /// The lines of the scenario that were typed, each with its step.
    pub fn typed(&self) -> &[(StepId, Rc<str>)] {
        &self.typed
    }

    /// Keeps the lines of the scenario that were typed in a step.
    pub(super) fn hear(&mut self, step: &Step) {
        let lines = step.notes.iter().filter_map(|note| match note {
            Note::Typed { line } => Some((step.id, line.clone())),
            _ => None,
        });
        self.typed.extend(lines);
    }

    /// What names mean something to breakpoints: the processes that run, and the controllers in them.
    pub fn names(&self) -> Context {
        Context { components: self.cluster.component_names() }
    }

    /// Steps until a stop of this kind. `limit` bounds the steps taken; 0 means none.
    pub fn advance(&mut self, stop: StopAt, limit: u64) -> Advance {
        self.go(&mut Goal::Stop(stop), limit)
    }

    /// Steps until `goal`, a breakpoint, or the end. `limit` bounds the steps taken; 0 means none.
    pub fn go(&mut self, goal: &mut Goal, limit: u64) -> Advance {
        self.background = 0;
        self.comes = 0;
        self.go_on(goal, limit)
    }

    /// Goes on with a move that its limit has ended.
    pub fn go_on(&mut self, goal: &mut Goal, limit: u64) -> Advance {
        let mut taken = 0;
        let mut shell_waits = self.cluster.shell_waits();
        loop {
            self.hits.clear();
            self.crashes.clear();
            if let Goal::Time(end) = goal
                && self.pass(*end)
            {
                return Advance::Stopped;
            }
            if !goal.outlasts_quiet() && self.is_quiet(goal.horizon()) {
                return Advance::Quiet;
            }
            let Some(step) = self.next_step() else { return Advance::Quiet };
            taken += 1;
            let end = self.took(step, goal);
            if let Some(end) = end {
                return end;
            }
            let before = std::mem::replace(&mut shell_waits, self.cluster.shell_waits());
            if shell_waits != before && shell_waits != Some(false) {
                return Advance::Shell;
            }
            if limit != 0 && taken >= limit {
                return Advance::Limit;
            }
        }
    }

    /// Keeps a step that ran, and says whether the move ends here.
    fn took(&mut self, step: Step, goal: &mut Goal) -> Option<Advance> {
        let seconds = self.time(step.time).0 as f64 / 1e9;
        let mut acts = Vec::new();
        self.background += u64::from(step.event.background);
        if !self.breakpoints.list().is_empty() {
            let request = (step.event.cause.0 as usize).checked_sub(1).and_then(|place| self.history.get(place));
            let engine = &self.cluster.engine;
            let facts = Facts::of(engine, &step).answering(engine, request);
            let found = self.breakpoints.check(&facts, seconds);
            self.hits = found.hits;
            let before = self.cluster.kubectl.printed();
            self.printed.extend(found.printed.into_iter().map(|text| (before, text)));
            acts = found.acts;
        }
        let crash = |(_, task, message): (_, Rc<str>, String)| format!("{task} panicked: {message}");
        self.crashes.extend(self.cluster.engine.take_crashes().into_iter().map(crash));
        let reached = goal.reached(&self.cluster, &step, seconds);
        self.keep(step);
        for text in acts {
            let said = self
                .choice(&text)
                .and_then(|choice| self.decide(choice))
                .unwrap_or_else(|error| format!("it cannot be done: {error}"));
            self.printed.push((self.cluster.kubectl.printed(), format!("{text}: {said}")));
        }
        match (self.crashes.is_empty(), self.hits.is_empty()) {
            (false, _) => Some(Advance::Crashed),
            (_, false) => Some(Advance::Breakpoint),
            _ => reached.then_some(Advance::Stopped),
        }
    }

    /// Forgets what ran after so many steps.
    pub(super) fn forget_after(&mut self, steps: u64) {
        self.history.truncate(steps as usize);
        self.digests.truncate(steps as usize);
        self.typed.retain(|(at, _)| at.0 <= steps);
        (self.background, self.comes, self.passed) = (0, 0, Duration::ZERO);
        self.hits.clear();
        self.crashes.clear();
    }

    /// Runs a kubectl command that only reads, at once: no component is notified, and time stands still.
    pub fn read(&mut self, words: &[String]) -> String {
        self.cluster.read_now(words)
    }

    /// What kubectl says of a line that is wrong in itself; none if it has something to ask the API server.
    pub fn wrong_at_once(&self, words: &[String]) -> Option<String> {
        self.cluster.wrong_at_once(words)
    }

    /// The causes of a step, nearest first, back to the start of the run.
    pub fn why(&self, id: StepId) -> Vec<&Step> {
        let mut chain = Vec::new();
        let mut next = self.step(id).map(|step| step.event.cause);
        while let Some(step) = next.and_then(|id| self.step(id)) {
            chain.push(step);
            next = Some(step.event.cause);
        }
        chain
    }
}
