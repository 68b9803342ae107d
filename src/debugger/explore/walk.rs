//! Runs in which chance decides, for spaces that are too large to search: at random, or by PCT.
//!
//! PCT (probabilistic concurrency testing) gives every component a random rank and always serves the one that ranks
//! highest among those that have something due, except that at a few moments of the run, chosen beforehand, the one that
//! is being served falls behind all others. A bug that needs `depth` events in a certain order is found with a
//! probability that is known from below, n components and k steps: at least 1 / (n · k^(depth − 1)) a run.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::{ActorId, Pending, What};
use object::random::Random;

use super::Bound;
use super::run::{Deviates, Moment, Policy};

/// One such run. The seed decides all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// What chance begins with.
    pub seed: u64,
    /// The depth of PCT; none: each event may come late.
    pub depth: Option<usize>,
    /// How many steps the usual course takes: where the moments of PCT are chosen.
    pub length: u64,
}

impl Walk {
    /// Begins the run.
    pub fn begin(&self, bound: &Bound) -> Chance {
        let mut random = Random::new(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x7761_6c6b);
        let falls = self.depth.unwrap_or(0).saturating_sub(1);
        let falls = (0..falls).map(|_| random.below(self.length.max(1))).collect();
        Chance {
            random,
            window: bound.window,
            faults: bound.faults,
            ranks: self.depth.map(|_| BTreeMap::new()),
            falls,
            steps: 0,
            lowest: 0,
            length: self.length.max(1),
            asked: None,
        }
    }
}

/// Decides by chance.
pub struct Chance {
    random: Random,
    window: Duration,
    faults: usize,
    /// The rank of each component; the highest comes first. None: no PCT.
    ranks: Option<BTreeMap<ActorId, i64>>,
    /// After how many steps the component that is being served falls behind.
    falls: Vec<u64>,
    steps: u64,
    lowest: i64,
    length: u64,
    /// The event that was asked about last.
    asked: Option<u64>,
}

/// One event in so many comes late.
const ONE_IN: u64 = 12;

impl Policy for Chance {
    fn next(&mut self, moment: &Moment) -> Option<Deviates> {
        if self.asked.replace(moment.identity) == Some(moment.identity) {
            return None;
        }
        self.steps += 1;
        if moment.broken < self.faults
            && !moment.faults.is_empty()
            && self.random.below(self.length) < 4 * self.faults as u64
        {
            let chosen = self.random.below(moment.faults.len() as u64) as usize;
            return Some(Deviates::Fault(moment.faults[chosen].clone()));
        }
        if moment.event.background {
            return None;
        }
        if self.ranks.is_some() {
            return self.highest(moment);
        }
        let late = self.random.below(ONE_IN) == 0;
        late.then(|| Deviates::Late(1 + self.random.below(self.window.as_nanos() as u64 + 1)))
    }
}

impl Chance {
    /// The event of the component that ranks highest, if it is not the one that is due.
    fn highest(&mut self, moment: &Moment) -> Option<Deviates> {
        if self.falls.contains(&self.steps) {
            self.lowest -= 1;
            let lowest = self.lowest;
            self.ranks.as_mut()?.insert(moment.event.to, lowest);
        }
        let end = moment.event.due + self.window;
        let mut best: Option<(i64, &Pending)> = None;
        let mut watches = Vec::new();
        for event in moment.cluster.engine.pending().take_while(|event| event.due <= end) {
            if let What::Notification { watch, .. } = event.what {
                // Events of one watch come in their order.
                if watches.contains(&watch) {
                    continue;
                }
                watches.push(watch);
            }
            if event.background {
                continue;
            }
            let rank = self.rank(event.to);
            if best.is_none_or(|(highest, _)| rank > highest) {
                best = Some((rank, event));
            }
        }
        let (_, event) = best?;
        (event.id != moment.event.id).then(|| moment.others.get(&event.id).copied().map(Deviates::Early)).flatten()
    }

    fn rank(&mut self, actor: ActorId) -> i64 {
        let random = &mut self.random;
        let ranks = self.ranks.get_or_insert_default();
        *ranks.entry(actor).or_insert_with(|| 1 + random.below(1 << 40) as i64)
    }
}
