//! Going back, and forward again.
//!
//! A run is its scenario, the choices that a person made and the files that were read, so any moment of it can be had
//! again by running it again. So that this does not take as long as the run did, the session saves the world now and then,
//! at moments at which no task is in flight; going back restores the last save before the wanted step and runs the few
//! steps in between.
//!
//! Going back keeps the choices that were made later, and what was read: going forward makes them again, and reads the
//! same. A new choice in the past parts from them: what was is kept as a branch.

use std::time::Duration;

use cluster::Saved;
use engine::Step;
use kubectl::workdir::Readings;

use super::choice::Choice;
use super::describe;
use super::facts::Facts;
use super::moves::StopAt;
use super::saves::Saves;
use super::session::Session;

/// A command that is rehearsed gets so many steps: its answer may never come.
const REHEARSAL: u32 = 2_000;

/// A choice, and how many steps had run when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Steps before it.
    pub after: u64,
    /// What was chosen.
    pub choice: Choice,
}

/// One course of events: the choices made on it, and how far it was followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// In the order in which they were made.
    pub choices: Vec<Chosen>,
    /// Steps that were run on it.
    pub steps: u64,
    /// What was read of the disk on it.
    pub readings: Readings,
    /// How it is called.
    pub called: Called,
}

/// Where the session has been.
#[derive(Default)]
pub(super) struct Past {
    /// The choices of this branch; those from `next` on were made after the present step, and will be made again.
    choices: Vec<Chosen>,
    next: usize,
    saves: Saves<Saved>,
    /// The furthest step of this branch.
    furthest: u64,
    /// Branches that were left, oldest first.
    left: Vec<Branch>,
    /// Choices that were made again since this was last asked.
    again: Vec<Chosen>,
    /// How many courses have been parted from.
    partings: u32,
    /// How this course is called.
    called: Called,
}

/// How a course is called, for as long as there is the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Called {
    /// Counted from 0.
    number: u32,
    /// The name that it was given; empty: none.
    pub name: String,
}

impl Called {
    /// Its number, counted from 1.
    pub fn number(&self) -> u32 {
        self.number + 1
    }
}

impl Past {
    /// One stands after so many steps: keeps a save if it is time for one.
    pub(super) fn keep(&mut self, steps: u64, save: impl FnOnce() -> Option<Saved>) {
        self.furthest = self.furthest.max(steps);
        self.saves.keep(steps, save);
    }

    /// Whether a choice that was made at this point before is due again.
    fn is_due(&self, steps: u64) -> bool {
        self.choices.get(self.next).is_some_and(|chosen| chosen.after == steps)
    }

    /// That choice.
    fn due(&mut self, steps: u64) -> Option<Choice> {
        let due = self.is_due(steps).then(|| self.choices[self.next].clone())?;
        self.next += 1;
        self.again.push(due.clone());
        Some(due.choice)
    }

    /// Adds a new choice. What followed on the old course, and was read there, becomes a branch of its own.
    fn add(&mut self, steps: u64, choice: Choice, readings: Readings) {
        self.part(steps, readings);
        self.choices.push(Chosen { after: steps, choice });
        self.next = self.choices.len();
    }

    /// Leaves what followed on the old course, and was read there, as a branch of its own. Whether there was anything.
    fn part(&mut self, steps: u64, readings: Readings) -> bool {
        let parts = self.next < self.choices.len() || self.furthest > steps;
        if parts {
            self.partings += 1;
            let called = std::mem::replace(&mut self.called, Called { number: self.partings, name: String::new() });
            self.left.push(Branch { choices: self.choices.clone(), steps: self.furthest, readings, called });
        }
        // What was saved further on belongs to the course that is left.
        self.saves.forget_after(steps);
        self.choices.truncate(self.next);
        self.furthest = steps;
        parts
    }
}

impl Session {
    /// Does what a person chose, remembers it, and says what came of it. An error says why it cannot be done.
    pub fn choose(&mut self, choice: Choice) -> Result<String, String> {
        let steps = self.cluster.engine.steps();
        let said = self.decide(choice)?;
        if self.cluster.engine.steps() > steps {
            // One stands at another step now.
            self.background = 0;
            self.hits.clear();
            self.crashes.clear();
        }
        Ok(said)
    }

    /// Parts from what was chosen and run after the present step, without choosing anything else: it is kept as a branch.
    /// Whether there was anything.
    pub fn part(&mut self) -> bool {
        let (steps, workdir) = (self.cluster.engine.steps(), self.cluster.kubectl.workdir.clone());
        let read = workdir.readings();
        workdir.set_readings(read.up_to(steps));
        self.past.part(steps, read)
    }

    /// The choices that were made again since this was last asked.
    pub fn take_again(&mut self) -> Vec<Chosen> {
        std::mem::take(&mut self.past.again)
    }

    /// How the present course is called.
    pub fn called(&mut self) -> &mut Called {
        &mut self.past.called
    }

    /// The same in the midst of a move.
    pub(super) fn decide(&mut self, choice: Choice) -> Result<String, String> {
        let after = self.cluster.engine.steps();
        let workdir = self.cluster.kubectl.workdir.clone();
        let read = workdir.readings();
        // What was read further on belongs to the course that is left.
        workdir.set_readings(read.up_to(after));
        let (said, step) = choice.perform(self).inspect_err(|_| workdir.set_readings(read.clone()))?;
        let waited = std::mem::take(&mut self.passed);
        self.comes = 0;
        if !waited.is_zero() {
            self.past.add(after, Choice::Wait(waited), read.clone());
        }
        self.past.add(after, choice, read);
        if let Some(step) = step {
            self.keep(step);
        }
        Ok(said)
    }

    /// The same, as it is typed.
    pub fn act(&mut self, text: &str) -> Result<String, String> {
        let choice = self.choice(text)?;
        self.choose(choice)
    }

    /// A choice as it is typed here: with the full names of components.
    pub(super) fn choice(&self, text: &str) -> Result<Choice, String> {
        Ok(match Choice::parse(text, &self.cluster.kubectl.namespace)? {
            Choice::Fault(fault) => Choice::Fault(self.cluster.in_full(fault)),
            choice => choice,
        })
    }

    /// Lets the run go on, looks, and comes back to where it stood: nothing has happened, and nothing was chosen.
    pub(super) fn ahead<T>(&mut self, look: impl FnOnce(&mut Session) -> T) -> T {
        let (here, furthest, now) = (self.place(), self.past.furthest, self.cluster.engine.now());
        let (breakpoints, read) = (std::mem::take(&mut self.breakpoints), self.cluster.kubectl.workdir.all());
        let again = self.take_again();
        let clients = self.cluster.clients.detach();
        let seen = look(self);
        self.return_here(here);
        self.cluster.clients.attach(clients);
        self.past.again = again;
        self.cluster.kubectl.workdir.set_all(read);
        self.pass(now);
        self.past.furthest = furthest;
        self.breakpoints = breakpoints;
        seen
    }

    /// What a command of kubectl's would print; an error if it would fail. It is not typed: the session stays where it is.
    pub fn rehearse(&mut self, words: &[String]) -> Result<String, String> {
        self.ahead(|session| {
            let before = session.cluster.kubectl.printed();
            let failures = session.cluster.failures.get();
            session.cluster.type_words(words.to_vec());
            for _ in 0..REHEARSAL {
                if !session.cluster.has_commands() || session.cluster.step().is_none() {
                    break;
                }
            }
            let printed = session.cluster.kubectl.printed_since(before);
            if session.cluster.failures.get() > failures { Err(printed) } else { Ok(printed) }
        })
    }

    /// Where the session stands: how many steps have run, and how many choices were made. What was chosen after the last
    /// step is made already.
    pub(super) fn place(&self) -> (u64, usize) {
        (self.cluster.engine.steps(), self.past.next)
    }

    /// Goes to such a place of this course.
    pub(super) fn return_here(&mut self, (steps, choices): (u64, usize)) {
        self.goto(steps);
        while self.past.next < choices
            && let Some(choice) = self.past.due(steps)
        {
            // It could be done before.
            let _ = choice.perform(self);
        }
    }

    /// Runs to a step with choices that were made before, and what was read; those after it will be made on the way forward.
    pub(super) fn repeat(&mut self, choices: Vec<Chosen>, read: Readings, to: u64) {
        self.cluster.kubectl.workdir.set_readings(read);
        if let Some(first) = choices.first().filter(|first| first.after < self.cluster.engine.steps()) {
            // Of a case: the choice was made while its timeline broke the cluster.
            self.return_to(first.after);
        }
        self.past.choices = choices;
        self.past.next = 0;
        self.goto(to);
    }

    /// The choices made so far on this branch, and those that will be made again on the way forward.
    pub fn choices(&self) -> &[Chosen] {
        &self.past.choices
    }

    /// The courses of events that were left, oldest first.
    pub fn branches(&self) -> &[Branch] {
        &self.past.left
    }

    /// The furthest step that was run on this branch.
    pub fn furthest(&self) -> u64 {
        self.past.furthest
    }

    /// Goes to the moment at which so many steps had run. Forward it stops at no breakpoint. Returns where it came to:
    /// a run may end sooner.
    pub fn goto(&mut self, steps: u64) -> u64 {
        if steps < self.cluster.engine.steps() {
            self.return_to(steps);
        }
        while self.cluster.engine.steps() < steps
            && let Some(step) = self.next_step()
        {
            self.keep(step);
        }
        self.cluster.engine.steps()
    }

    /// Restores the last save before `steps`, and runs to it, saving on the way: the next step back is a short one. History
    /// stays what it was up to there.
    pub(super) fn return_to(&mut self, steps: u64) {
        let read = self.cluster.kubectl.workdir.all();
        let from = match self.past.saves.before(steps) {
            Some((from, saved)) => {
                self.cluster.restore(saved);
                *from
            }
            // In a large cluster some task may have been in flight at every moment so far.
            None => {
                self.cluster = bugs::cluster(self.scenario());
                0
            }
        };
        self.cluster.kubectl.workdir.set_all(read);
        // No client outside goes back: its connection is of a course that is left.
        self.cluster.clients.serve(false);
        self.past.next = self.past.choices.iter().filter(|chosen| chosen.after < from).count();
        self.forget_after(steps);
        while self.cluster.engine.steps() < steps
            && let Some(step) = self.next_step()
        {
            self.past.saves.keep(step.id.0, || self.cluster.save());
        }
    }

    /// One step. Choices that were made here before are made again first.
    pub(super) fn next_step(&mut self) -> Option<Step> {
        while let Some(choice) = self.past.due(self.cluster.engine.steps()) {
            // What could be done once can be done again: the same steps led here.
            if let Ok((_, Some(step))) = choice.perform(self) {
                return Some(step);
            }
        }
        self.cluster.step()
    }

    /// Keeps a step that ran.
    pub(super) fn keep(&mut self, step: Step) {
        self.passed = Duration::ZERO;
        self.past.keep(step.id.0, || self.cluster.save());
        self.hear(&step);
        self.history.push(step);
    }

    /// Whether more was run or chosen than up to here.
    pub fn is_in_past(&self) -> bool {
        self.past.next < self.past.choices.len() || self.past.furthest > self.cluster.engine.steps()
    }

    /// Whether a choice will be made again here.
    pub(super) fn has_a_choice(&self) -> bool {
        self.past.is_due(self.cluster.engine.steps())
    }

    /// The earlier step at which so many moves of this kind, made backwards, stop; 0 is the start of the run.
    pub fn stop_before(&self, stop: StopAt, times: u64) -> u64 {
        let further = usize::try_from(times.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut stops = self.stops_before(|step| match stop {
            StopAt::Notification => describe::is_notification(step),
            StopAt::Event => !step.event.background,
            StopAt::Anything => true,
        });
        stops.nth(further).unwrap_or(0)
    }

    /// The nearest earlier step in which the component of this step got something.
    pub fn delivery_before(&self) -> u64 {
        let to = self.current().map(|step| step.event.to);
        self.before(|step| Some(step.event.to) == to && !step.event.background)
    }

    /// The nearest earlier step at which a breakpoint stops. None: no breakpoint was met.
    pub fn hit_before(&self) -> Option<u64> {
        let engine = &self.cluster.engine;
        let seconds = |step: &Step| self.time(step.time).0 as f64 / 1e9;
        let found = self.before(|step| {
            let facts = Facts::of(engine, step).answering(engine, self.step(step.event.cause));
            self.breakpoints.would_stop(&facts, seconds(step))
        });
        (found > 0).then_some(found)
    }

    fn before(&self, stops: impl Fn(&Step) -> bool) -> u64 {
        self.stops_before(stops).next().unwrap_or(0)
    }

    /// The earlier steps of this kind, newest first.
    fn stops_before(&self, stops: impl Fn(&Step) -> bool) -> impl Iterator<Item = u64> {
        let earlier = self.history.len().saturating_sub(1);
        self.history[..earlier].iter().rev().filter(move |step| stops(step)).map(|step| step.id.0)
    }

    /// Leaves this branch for one that was left before, and goes as far as that one was followed. False if there is none
    /// with this number.
    pub fn switch(&mut self, number: usize) -> bool {
        if number >= self.past.left.len() {
            return false;
        }
        let workdir = self.cluster.kubectl.workdir.clone();
        let (choices, readings) = (self.past.choices.clone(), workdir.readings());
        let called = self.past.called.clone();
        let here = Branch { choices, steps: self.past.furthest, readings, called };
        let read_otherwise =
            here.readings.part_from(&self.past.left[number].readings).map(|step| step.saturating_sub(1));
        let there = std::mem::replace(&mut self.past.left[number], here);
        let common = self.past.choices.iter().zip(&there.choices).take_while(|(a, b)| a == b).count();
        let parts = [self.past.choices.get(common), there.choices.get(common)];
        let parts_at = parts.into_iter().flatten().map(|chosen| chosen.after).chain(read_otherwise).min();
        let back_to = parts_at.unwrap_or(there.steps).min(there.steps).min(self.cluster.engine.steps());
        self.return_to(back_to);
        // Saves after the parting belong to the other course.
        self.past.saves.forget_after(back_to);
        self.past.next = there.choices.iter().filter(|chosen| chosen.after < back_to).count();
        self.past.called = there.called;
        self.past.choices = there.choices;
        self.past.furthest = there.steps;
        workdir.set_readings(there.readings);
        self.goto(there.steps);
        true
    }
}
