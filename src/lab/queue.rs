//! Exercise 05: a controller's work queue. Mirrors `client-go/util/workqueue`: the base queue and the rate limiter of
//! each key. That a delayed key is added when its time has come is the caller's part.
//!
//! Every short sequence of calls on two keys is asked, many longer ones on up to eight, and one on a thousand, each followed by
//! an end at which all workers let go and the queue is emptied, so that what a call left behind shows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::function::Function;
use super::making::drawn;
use super::mistake::{Mistake, mistakes};
use super::words::{Part, part};
use super::{Exercise, Judging, words};
use exercise::queue::{Call, Said, WorkQueue, say};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "05_queue",
    title: "What does a work queue promise?",
    outcome: "say why two workers never reconcile the same object, why no change is lost, and how long a failure waits",
    needs: &["cache"],
    hints: [
        "A key can wait, be held by a worker, or both at once in a way: it was added while held. What must each of the \
         five calls know?",
        "Keep three things: the order of those that wait, the set of keys added and not got since, and the set of keys \
         that are held. Failures in a row are counted for each key, and only forget clears them.",
        "add: nothing if it is in `dirty`; else into `dirty`, and into the order unless it is held. get: out of the order \
         and of `dirty`, into `held`. done: out of `held`; at the end of the order if it is in `dirty`. retry: 5 ms, \
         doubled for each failure before, at most 1000 s.",
    ],
    minutes: 30,
    judging: Judging::of::<Queueing>(),
};

struct Queueing;

impl Function for Queueing {
    type Question = Vec<Call>;
    type Answer = Vec<Said>;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Vec<Call>> {
        let mut all = vec![Vec::new()];
        for (keys, failing, lengths) in
            [(&["a", "b"][..], true, 1..=3), (&["a", "b"], false, 4..=5), (&["a"], true, 4..=5), (&["a"], false, 6..=7)]
        {
            let mut longest = vec![Vec::new()];
            for length in 1..=*lengths.end() {
                longest = longer(&longest, keys, failing);
                all.extend(longest.iter().filter(|_| lengths.contains(&length)).cloned());
            }
        }
        all.extend((1..=24).chain([70, 300, 1100]).map(failures));
        all.extend((0..KEYS.len() / 2).flat_map(rounds));
        all.extend((0..WALKS).map(walk));
        all.push(crowd());
        all.into_iter().map(with_end).collect()
    }

    fn answer(rule: &Rule, calls: &Vec<Call>) -> Vec<Said> {
        let mut queue = Model::of(rule);
        calls.iter().map(|call| say(&mut queue, call)).collect()
    }

    fn property(calls: &Vec<Call>, given: Option<&Vec<Said>>) -> &'static str {
        let right = Queueing::right(calls);
        let Some(given) = given.filter(|given| given.len() == right.len()) else { return "every call is answered" };
        let Some(n) = (0..right.len()).find(|n| given[*n] != right[*n]) else { return "every call is answered" };
        let Said::Got(key) = &given[n] else {
            return "a failure of a key waits twice as long as the one before, from 5 ms to 1000 s";
        };
        let held = held_after(&calls[..n], &right);
        match (key, &right[n]) {
            (Some(key), _) if held.contains(key) => "no two workers hold the same key at once",
            (None, _) => "what is added is got, also when it was added while a worker held it",
            (_, Said::Got(None)) => "a key that was added several times waits once",
            _ => "the key that waits longest comes first",
        }
    }

    fn show(calls: &Vec<Call>) -> String {
        let text = words::numbered(calls.iter().map(ToString::to_string));
        let lines: Vec<&str> = text.lines().collect();
        match lines.len() {
            0..=LINES => text,
            few if few <= WALK_LINES => lines.join(", "),
            all => format!("{}, and {} more like these", lines[..WALK_LINES / 2].join(", "), all - WALK_LINES / 2),
        }
    }

    fn say(calls: &Vec<Call>, said: &Vec<Said>) -> Vec<Part> {
        let said = said.iter().map(|said| match said {
            Said::Nothing => "nothing".to_owned(),
            Said::Got(key) => key.clone().unwrap_or_else(|| "None".to_owned()),
            Said::Wait { ms } => format!("{ms} ms"),
        });
        (1..).zip(calls).zip(said).map(|((n, call), said)| part(format!("gave at {n}. {call}"), said)).collect()
    }
}

/// The keys that workers hold after these calls.
fn held_after(calls: &[Call], said: &[Said]) -> BTreeSet<String> {
    let mut held = BTreeSet::new();
    calls.iter().zip(said).for_each(|(call, said)| hold(&mut held, call, said));
    held
}

/// Who holds what after one call more.
fn hold(held: &mut BTreeSet<String>, call: &Call, said: &Said) {
    match (call, said) {
        (Call::Get, Said::Got(Some(key))) => drop(held.insert(key.clone())),
        (Call::Done(key), _) => drop(held.remove(key)),
        _ => {}
    }
}

/// Each sequence with one call more. Only who holds a key can be done with it.
fn longer(sequences: &[Vec<Call>], keys: &[&str], failing: bool) -> Vec<Vec<Call>> {
    let mut all = Vec::new();
    for calls in sequences {
        let held = held_after(calls, &Queueing::right(calls));
        let mut next = vec![Call::Get];
        for key in keys.iter().map(|key| (*key).to_owned()) {
            next.push(Call::Add(key.clone()));
            next.extend(held.contains(&key).then(|| Call::Done(key.clone())));
            if failing {
                next.extend([Call::Retry(key.clone()), Call::Forget(key)]);
            }
        }
        all.extend(next.into_iter().map(|call| calls.iter().cloned().chain([call]).collect::<Vec<_>>()));
    }
    all
}

/// As real keys are: some differ in the namespace only, some begin alike, and none is where the alphabet has it.
const KEYS: [&str; 8] = ["dev/web", "app/web", "dev/web-2", "app/db", "node-1", "app/web-2", "dev/a", "app/dns"];
/// So many walks.
const WALKS: usize = 440;
/// So many keys are a crowd: more than a buffer of usual size has room for.
const CROWD: usize = 1100;
/// More calls are written one after another, and not one below the other.
const LINES: usize = 14;
/// No walk has more lines.
const WALK_LINES: usize = 80;

/// All keys are added, beginning with this one, and several workers hold some of them at the same time.
fn rounds(first: usize) -> Vec<Vec<Call>> {
    let keys: Vec<String> = (0..KEYS.len()).map(|n| KEYS[(first + n) % KEYS.len()].to_owned()).collect();
    let adds: Vec<Call> = keys.iter().cloned().map(Call::Add).collect();
    let mut all = Vec::new();
    for held in 0..=KEYS.len() {
        let gets = vec![Call::Get; held];
        all.push([adds.clone(), gets.clone()].concat());
        // What is held is added again, and comes after all that wait.
        all.push([adds.clone(), gets.clone(), adds.clone()].concat());
        let first = |call: fn(String) -> Call| call(keys[0].clone());
        all.extend((held > 0).then(|| [adds.clone(), gets, vec![first(Call::Add), first(Call::Done)]].concat()));
    }
    all
}

/// A sequence of calls on two, four or eight keys: this one of many; later ones are longer.
fn walk(n: usize) -> Vec<Call> {
    let keys = &KEYS[..[4, 8, 2][n % 3]];
    let (mut calls, mut queue, mut held) = (Vec::new(), Model::of(&RULE), BTreeSet::new());
    let mut next = drawn(n);
    for _ in 0..5 + n / 8 {
        let key = keys[next(keys.len())].to_owned();
        let call = match next(10) {
            0..=3 => Call::Add(key),
            4 | 5 => Call::Get,
            6 | 7 => held.iter().nth(next(held.len().max(1))).cloned().map_or(Call::Add(key), Call::Done),
            8 => Call::Retry(key),
            _ => Call::Forget(key),
        };
        hold(&mut held, &call, &say(&mut queue, &call));
        calls.push(call);
    }
    calls
}

/// More than a thousand keys wait, are held and fail, all at the same time.
fn crowd() -> Vec<Call> {
    // 7 and the number of keys have no divisor in common: each comes once, and not where the alphabet has it.
    let each = |call: fn(String) -> Call| (0..CROWD).map(move |n| call(format!("job-{}", 7 * n % CROWD)));
    let gets = || std::iter::repeat_n(Call::Get, CROWD);
    let first = each(Call::Add).chain(gets()).chain(each(Call::Retry)).chain(each(Call::Add));
    first.chain(each(Call::Done)).chain(gets()).chain(each(Call::Retry)).collect()
}

/// So many failures in a row, after which the key is added as ever; then one of another key, and one after the row has ended.
fn failures(count: usize) -> Vec<Call> {
    let (add, key) = (Call::Add("a".to_owned()), |key: &str| Call::Retry(key.to_owned()));
    std::iter::repeat_n(key("a"), count).chain([add, key("b"), Call::Forget("a".to_owned()), key("a")]).collect()
}

/// Then all workers let go, and what waits is got.
fn with_end(mut calls: Vec<Call>) -> Vec<Call> {
    let held = held_after(&calls, &Queueing::right(&calls));
    calls.extend(held.into_iter().map(Call::Done));
    let added: BTreeSet<&Call> = calls.iter().filter(|call| matches!(call, Call::Add(_))).collect();
    let gets = added.len().max(2) + 1;
    calls.extend(vec![Call::Get; gets]);
    calls
}

/// What decides.
struct Rule {
    /// Whether a key is added: one that a worker holds or does not, where so many wait, and that has failed so often.
    is_taken: fn(bool, usize, u32) -> bool,
    /// Whether it waits from now on: one that is new or was added before, and that a worker holds or does not.
    queues: fn(bool, bool) -> bool,
    /// Takes one of those that wait.
    take: fn(&mut VecDeque<String>) -> Option<String>,
    /// Whether it still counts as added then.
    stays_dirty: bool,
    /// Puts back what was added while it was held.
    put_back: fn(&mut VecDeque<String>, String),
    /// Whether retry adds the key.
    retry_adds: bool,
    /// Under which name the failures of a key are counted.
    counter: fn(&str) -> &str,
    /// How often the delay was doubled after so many.
    doubled: fn(u32) -> u32,
    /// No delay is longer.
    longest: Duration,
    /// Which calls clear the failures of their key.
    forgets: fn(&Call) -> bool,
    /// Whether forget drops the key.
    forget_drops: bool,
}

const RULE: Rule = Rule {
    is_taken: |_, _, _| true,
    queues: |is_new, is_held| is_new && !is_held,
    take: VecDeque::pop_front,
    stays_dirty: false,
    put_back: VecDeque::push_back,
    retry_adds: false,
    counter: |key| key,
    doubled: |failures| failures - 1,
    longest: Duration::from_secs(1000),
    forgets: |call| matches!(call, Call::Forget(_)),
    forget_drops: false,
};

/// A queue by such a rule.
struct Model<'a> {
    rule: &'a Rule,
    order: VecDeque<String>,
    dirty: BTreeSet<String>,
    held: BTreeSet<String>,
    failures: BTreeMap<String, u32>,
}

impl Model<'_> {
    fn of(rule: &Rule) -> Model<'_> {
        let (order, dirty, held, failures) = Default::default();
        Model { rule, order, dirty, held, failures }
    }

    /// A call may clear the failures of a key.
    fn forgets(&mut self, call: &Call, key: &str) {
        if (self.rule.forgets)(call) {
            self.failures.remove((self.rule.counter)(key));
        }
    }
}

impl WorkQueue for Model<'_> {
    fn add(&mut self, key: &str) {
        let (is_held, key) = (self.held.contains(key), key.to_owned());
        let failures = self.failures.get(&key).copied().unwrap_or(0);
        if !(self.rule.is_taken)(is_held, self.order.len(), failures) {
            return;
        }
        self.forgets(&Call::Add(key.clone()), &key);
        if (self.rule.queues)(self.dirty.insert(key.clone()), is_held) {
            self.order.push_back(key);
        }
    }

    fn get(&mut self) -> Option<String> {
        let key = (self.rule.take)(&mut self.order)?;
        if !self.rule.stays_dirty {
            self.dirty.remove(&key);
        }
        self.forgets(&Call::Get, &key);
        self.held.insert(key.clone());
        Some(key)
    }

    fn done(&mut self, key: &str) {
        self.held.remove(key);
        self.forgets(&Call::Done(key.to_owned()), key);
        if self.dirty.contains(key) {
            (self.rule.put_back)(&mut self.order, key.to_owned());
        }
    }

    fn retry(&mut self, key: &str) -> Duration {
        if self.rule.retry_adds {
            self.add(key);
        }
        let failures = self.failures.entry((self.rule.counter)(key).to_owned()).or_default();
        *failures += 1;
        let doubled = (self.rule.doubled)(*failures);
        let longer = |delay: Duration, _| delay.saturating_mul(2).min(self.rule.longest);
        (0..doubled).fold(Duration::from_millis(5), longer)
    }

    fn forget(&mut self, key: &str) {
        self.forgets(&Call::Forget(key.to_owned()), key);
        if self.rule.forget_drops {
            self.order.retain(|waits| waits != key);
            self.dirty.remove(key);
        }
    }
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    no_dedup: "a key that waits already is queued once more" => { queues: |_, is_held| !is_held };
    loses_while_held: "a key that is added while a worker holds it is lost" => { is_taken: |is_held, _, _| !is_held };
    queues_while_held: "a key that is added while a worker holds it is given to a second worker"
        => { queues: |is_new, _| is_new };
    stays_dirty: "a key that a worker got still counts as added, so that done queues it again without end"
        => { stays_dirty: true };
    newest_first: "the newest key comes first" => { take: VecDeque::pop_back };
    sorted: "keys come in the order of their names, not of their age"
        => {
            take: |order| {
                order.make_contiguous().sort();
                order.pop_front()
            }
        };
    jumps_ahead: "a key that was added while held comes before those that wait" => { put_back: VecDeque::push_front };
    retry_adds: "retry adds the key at once; it says only how long to wait" => { retry_adds: true };
    same_delay: "each failure waits the same time; the time doubles" => { doubled: |_| 0 };
    counts_first: "the first failure waits twice the first delay" => { doubled: |failures| failures };
    no_cap: "the delay grows without end; it stops at 1000 s" => { longest: Duration::MAX };
    one_counter: "failures are counted for all keys together" => { counter: |_| "" };
    done_forgets: "done clears the failures; only forget does"
        => { forgets: |call| matches!(call, Call::Done(_) | Call::Forget(_)) };
    never_forgets: "forget does not clear the failures" => { forgets: |_| false };
    forget_drops: "forget takes the key out of the queue; it clears its failures only" => { forget_drops: true };
    moves_last: "get moves the key that waits last to the front, as `swap_remove` does"
        => { take: |order| order.swap_remove_back(0) };
    add_forgets: "add clears the failures; only forget does"
        => { forgets: |call| matches!(call, Call::Add(_) | Call::Forget(_)) };
    get_forgets: "get clears the failures; only forget does"
        => { forgets: |call| matches!(call, Call::Get | Call::Forget(_)) };
    bounded: "it has room for so many keys, and what is added then is lost"
        => { is_taken: |_, waiting, _| waiting < 4 }
        | { is_taken: |_, waiting, _| waiting < 5 }
        | { is_taken: |_, waiting, _| waiting < 10 }
        | { is_taken: |_, waiting, _| waiting < 16 }
        | { is_taken: |_, waiting, _| waiting < 32 }
        | { is_taken: |_, waiting, _| waiting < 64 }
        | { is_taken: |_, waiting, _| waiting < 100 }
        | { is_taken: |_, waiting, _| waiting < 256 }
        | { is_taken: |_, waiting, _| waiting < 1000 };
    gives_up: "a key that has failed often is not queued any more; the queue gives none up"
        => { is_taken: |_, _, failures| failures < 5 }
        | { is_taken: |_, _, failures| failures < 10 }
        | { is_taken: |_, _, failures| failures < 15 };
    stops_growing: "the delay stops growing before it has come to 1000 s"
        => { doubled: |failures| (failures - 1).min(5) }
        | { doubled: |failures| (failures - 1).min(10) }
        | { doubled: |failures| (failures - 1).min(16) }
        | { doubled: |failures| (failures - 1).min(17) };
};

#[cfg(test)]
mod tests {
    use super::*;
    use client::queue::Queue;
    use engine::{ActorId, Hub};
    use object::Key;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Queueing>("queue");
    }

    /// The queue that our controllers have.
    struct Ours(Queue);

    impl WorkQueue for Ours {
        fn add(&mut self, key: &str) {
            self.0.add(Key::new("", key));
        }

        fn get(&mut self) -> Option<String> {
            self.0.take().map(|key| key.to_string())
        }

        fn done(&mut self, key: &str) {
            self.0.done(&Key::new("", key));
        }

        fn retry(&mut self, key: &str) -> Duration {
            self.0.delay_of_failure(&Key::new("", key))
        }

        fn forget(&mut self, key: &str) {
            self.0.forget(&Key::new("", key));
        }
    }

    #[test]
    fn the_rule_is_that_of_our_controllers() {
        let hub = Hub::new(1);
        // The bucket that all keys of a controller share is not asked about. It lets a hundred pass at once.
        let few = |calls: &Vec<Call>| calls.iter().filter(|call| matches!(call, Call::Retry(_))).count() < 100;
        for calls in Queueing::questions().into_iter().filter(few) {
            let mut ours = Ours(Queue::new(hub.clone(), ActorId(1), "test"));
            let said: Vec<Said> = calls.iter().map(|call| say(&mut ours, call)).collect();
            assert_eq!(said, Queueing::right(&calls), "{calls:?}");
        }
    }
}
