//! Runs in numbers: after each step a digest of everything up to it. Where two runs part, their digests differ from then
//! on.

use engine::{Note, Step};

use super::facts::Class;

/// The digests of a run, step by step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digests(Vec<u64>);

impl Digests {
    /// Of these steps.
    pub fn of(history: &[Step]) -> Digests {
        let mut digests = Digests::default();
        digests.extend(history);
        digests
    }

    /// Takes in the steps of `history` that came since. Those before must still be the same.
    pub fn extend(&mut self, history: &[Step]) {
        let mut state = Fnv(self.last().unwrap_or(Fnv::OFFSET));
        for step in &history[self.0.len()..] {
            state.step(step);
            self.0.push(state.0);
        }
    }

    /// Forgets all but so many.
    pub fn truncate(&mut self, steps: usize) {
        self.0.truncate(steps);
    }

    /// One for each step.
    pub fn all(&self) -> &[u64] {
        &self.0
    }

    /// The digest of the whole run; none if it has no step.
    pub fn last(&self) -> Option<u64> {
        self.0.last().copied()
    }
}

/// FNV-1a over numbers.
struct Fnv(u64);

impl Fnv {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

    fn step(&mut self, step: &Step) {
        let event = &step.event;
        let class = Class::of(&event.what) as u64;
        for number in [step.time.0, event.id.0, event.cause.0, event.from.0.into(), event.to.0.into(), class] {
            self.add(number);
        }
        for note in &step.notes {
            if let Note::Stored { key, revision, .. } = note {
                self.add(*revision);
                key.bytes().for_each(|byte| self.add(byte.into()));
            }
        }
    }

    fn add(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
