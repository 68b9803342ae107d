//! Questions about what happens next. The answer is looked up by letting the run go on and bringing it back.

use serde::Serialize;

use engine::{Note, Step, What};
use object::random::Random;

use super::inspect;
use super::{Advance, Session, StopAt, describe};

/// So many choices a question has at most.
const CHOICES: usize = 4;
/// So many stops ahead are looked at for choices that are wrong, but not yet.
const STOPS_AHEAD: usize = 12;
/// So many steps ahead at most.
const STEPS_AHEAD: u64 = 2_000;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// What is asked.
    pub question: String,
    /// What can be answered, from 1.
    pub choices: Vec<String>,
    /// Which of them is right, from 0.
    #[serde(skip)]
    right: usize,
    /// The whole truth.
    #[serde(skip)]
    truth: String,
}

/// A session's questions so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quiz {
    /// The question that was asked and not yet answered, and the stop that follows it.
    pub open: Option<(Question, StopAt)>,
    /// How many were answered.
    pub answered: u32,
    /// How many of them rightly.
    pub right: u32,
    asked: u32,
}

impl Quiz {
    /// Asks what happens before the next stop. None if nothing does, or if it cannot be told now.
    pub fn ask(&mut self, session: &mut Session, stop: StopAt) -> Option<&Question> {
        // What is done on a condition would be done in the future that is looked at, and once more later.
        if session.breakpoints.list().iter().any(|breakpoint| breakpoint.act.is_some()) {
            return None;
        }
        let seed = session.history().len() as u64;
        let ask = if self.asked.is_multiple_of(2) { receiver } else { writer };
        let question = ask(session, stop).map(|(question, truth, others)| shuffled(question, truth, others, seed))?;
        self.asked += 1;
        Some(&self.open.insert((question, stop)).0)
    }

    /// Takes an answer, from 1, and says whether it was right. None if there is no such choice, or no question.
    pub fn take(&mut self, number: usize) -> Option<String> {
        let (question, _) = self.open.as_ref()?;
        let place = number.checked_sub(1).filter(|place| *place < question.choices.len())?;
        let (right, truth) = (place == question.right, question.truth.clone());
        self.answered += 1;
        self.right += u32::from(right);
        self.open = None;
        Some(format!("{}: {truth}", if right { "right" } else { "no" }))
    }

    /// Gives up the open question, and says what would have been right.
    pub fn skip(&mut self) -> Option<String> {
        self.open.take().map(|(question, _)| format!("it is {}", question.truth))
    }

    /// How many answers were right; none if nothing was answered.
    pub fn score(&self) -> Option<String> {
        (self.answered > 0).then(|| format!("{} of {} predicted rightly", self.right, self.answered))
    }
}

/// A question, the whole truth, and choices; the first one is right.
type RawQuestion = (String, String, Vec<String>);

/// Who gets the next notification?
fn receiver(session: &mut Session, stop: StopAt) -> Option<RawQuestion> {
    let (truth, mut names) = session.ahead(|session| {
        let (mut truth, mut names) = (None, Vec::new());
        for _ in 0..STOPS_AHEAD {
            if session.advance(stop, STEPS_AHEAD) != Advance::Stopped {
                break;
            }
            let Some(step) = session.current() else { break };
            let engine = &session.cluster.engine;
            truth.get_or_insert_with(|| describe::headline(engine, &step.event).to_string());
            note(&mut names, engine.name(step.event.to));
        }
        (truth, names)
    });
    let watching: Vec<String> = session.cluster.engine.actors().map(|(_, actor)| actor.name().to_owned()).collect();
    for name in watching.iter().filter(|name| !inspect::informers(session, name).is_empty()) {
        note(&mut names, name);
    }
    let what =
        if stop == StopAt::Notification { "Which component is notified next?" } else { "Who gets the next event?" };
    Some((what.to_owned(), truth?, names))
}

/// Who writes next, and what?
fn writer(session: &mut Session, _: StopAt) -> Option<RawQuestion> {
    let (truth, mut writes) = session.ahead(|session| {
        let (mut truth, mut writes) = (None, Vec::new());
        let start = session.history().len() as u64;
        while writes.len() < CHOICES && (session.history().len() as u64) < start + STEPS_AHEAD {
            if session.advance(StopAt::Event, STEPS_AHEAD) != Advance::Stopped {
                break;
            }
            let Some((write, line)) = session.current().and_then(written) else { continue };
            truth.get_or_insert(line);
            note(&mut writes, &write);
        }
        (truth, writes)
    });
    for step in session.history().iter().rev() {
        if let Some((write, _)) = written(step) {
            note(&mut writes, &write);
        }
    }
    Some(("Who writes to the store next, and what?".to_owned(), truth?, writes))
}

/// The write of a step, in general and in particular. Background traffic is none.
fn written(step: &Step) -> Option<(String, String)> {
    let What::Request { request, .. } = &step.event.what else { return None };
    let stored = step.notes.iter().any(|note| matches!(note, Note::Stored { .. }));
    if step.event.background || !stored {
        return None;
    }
    let subresource = request.subresource.map_or(String::new(), |s| format!("/{}", s.as_str()));
    let (agent, verb, kind) = (&request.user.agent, request.verb.as_str(), request.kind.info().plural);
    let particular = format!("{agent}: {}, in step {}", request.line(), step.id.0);
    Some((format!("{agent}: {verb} {kind}{subresource}"), particular))
}

fn note(names: &mut Vec<String>, name: &str) {
    if names.len() < CHOICES && !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// Puts the right choice, which is the first, anywhere.
fn shuffled(question: String, truth: String, mut choices: Vec<String>, seed: u64) -> Question {
    let mut random = Random::new(seed);
    let mut right = 0;
    for last in (1..choices.len()).rev() {
        let other = random.below(last as u64 + 1) as usize;
        choices.swap(last, other);
        right = match right {
            place if place == last => other,
            place if place == other => last,
            place => place,
        };
    }
    Question { question, choices, right, truth }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_choice_stays_right() {
        let choices: Vec<String> = ["truth", "b", "c", "d"].map(str::to_owned).into();
        let mut places = [0; 4];
        for seed in 0..200 {
            let question = shuffled(String::new(), String::new(), choices.clone(), seed);
            assert_eq!(question.choices[question.right], "truth");
            places[question.right] += 1;
        }
        assert!(places.iter().all(|count| *count > 20), "{places:?}");
    }
}
