//! Others who hear what a learner's code hears: the right solution and known mistakes, in this process. As long as they say the
//! same they are kept; one that says something else has parted in that reconcile.
//!
//! Who does the same in another order has not parted, if the order is of no consequence: then what this one would still do is
//! found out by answering each of its calls as the API server does when all is well, and is compared with what comes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::alike::{are_independent, is_patch_for_patch, is_rest_for_patch, is_update_for_patch, lists_others, newest};
use super::compare::{Said, gist, is_read, task_of};
use exercise::host::{Host, Read};
use exercise::wire::{Answer, Ask, Request, Say};
use object::{Kind, Object, json, read};

/// More calls of one reconcile are not looked ahead.
const AHEAD: usize = 300;

/// Someone who hears the same, in this process.
pub(super) struct Other {
    host: Host,
    pub memory: Value,
    /// In which reconciles it said something else.
    parted: BTreeSet<u64>,
    /// What it would do as soon as the learner's code has read what it reads besides, in these reconciles.
    waits: BTreeMap<u64, Say>,
    /// What it would still do, in reconciles in which the learner's code goes another way round.
    ahead: BTreeMap<u64, Vec<Say>>,
}

impl Other {
    pub fn new(make: fn(Read) -> Host, read: &Read) -> Other {
        Other {
            host: make(read.clone()),
            memory: Value::Null,
            parted: BTreeSet::new(),
            waits: BTreeMap::new(),
            ahead: BTreeMap::new(),
        }
    }

    /// Whether it is told this: it is not once it has parted in this reconcile.
    pub fn hears(&self, ask: &Ask<Object>) -> bool {
        match ask {
            Ask::Reconcile { .. } | Ask::Observe { .. } => true,
            Ask::Reply { task, .. } => !self.parted.contains(task),
            Ask::Cached { .. } | Ask::Mark | Ask::Forget { .. } => false,
        }
    }

    /// What it would say, if that is something else than was said.
    pub fn parts(&mut self, ask: &Ask<Object>, said: &Said) -> Option<Say> {
        if !self.hears(ask) {
            return None;
        }
        let task = task_of(ask);
        if let Some(ahead) = self.ahead.remove(&task) {
            return self.parts_ahead(task, ask, said, ahead);
        }
        let would = match self.waits.remove(&task) {
            Some(would) => would,
            None => self.say(ask.clone())?,
        };
        if is_alike(said, &would) {
            return None;
        }
        if is_rest_for_patch(said.say, &would, said.known.iter()) {
            self.parted.insert(task);
            return None;
        }
        if lists_others(said.say, &would) {
            return Some(would);
        }
        if let Some(ahead) = self.look_ahead(task, &would, said) {
            self.ahead.insert(task, ahead);
            return None;
        }
        // To read more does no harm.
        if is_read(said.say) && !matches!(would, Say::Broken(_)) {
            self.waits.insert(task, would.clone());
        } else {
            self.parted.insert(task);
        }
        Some(would)
    }

    /// The same where the learner's code goes another way round, and this is still to be done.
    fn parts_ahead(&mut self, task: u64, ask: &Ask<Object>, said: &Said, mut ahead: Vec<Say>) -> Option<Say> {
        if matches!(ask, Ask::Reply { answer: Err(_), .. }) {
            // What comes then is another story.
            self.parted.insert(task);
            return None;
        }
        if !is_read(said.say) && !take(&mut ahead, said) {
            self.parted.insert(task);
            return ahead.into_iter().next();
        }
        self.ahead.insert(task, ahead);
        None
    }

    /// What it would still do, if what was said is among that, and might as well come first. None: it would not do that, and
    /// then it has said no more than this.
    fn look_ahead(&mut self, task: u64, would: &Say, said: &Said) -> Option<Vec<Say>> {
        let calls = |say: &Say| matches!(say, Say::Call { .. }) && !is_read(say);
        if !calls(said.say) || !calls(would) {
            return None;
        }
        let memory = self.memory.clone();
        let mut ahead = vec![would.clone()];
        while ahead.len() < AHEAD
            && let Some(Say::Call { request, .. }) = ahead.last()
            && let Some(answer) = all_is_well(request, said.known)
            && let Some(next) = self.say(Ask::Reply { task, answer: Ok(answer), memory: Value::Null })
        {
            ahead.push(next);
        }
        let is_whole = matches!(ahead.last(), Some(Say::Done { result: Ok(_), .. }));
        if is_whole && take(&mut ahead, said) {
            return Some(ahead);
        }
        self.memory = memory;
        None
    }

    /// What it says.
    pub fn say(&mut self, mut ask: Ask<Object>) -> Option<Say> {
        if let Ask::Reconcile { memory, .. } | Ask::Reply { memory, .. } | Ask::Observe { memory, .. } = &mut ask {
            memory.clone_from(&self.memory);
        }
        let would = self.host.hear(ask)?;
        if let Say::Call { memory, .. } | Say::Done { memory, .. } = &would {
            self.memory.clone_from(memory);
        }
        Some(would)
    }
}

/// Whether two come to the same.
fn is_alike(said: &Said, would: &Say) -> bool {
    gist(would) == said.gist
        || is_update_for_patch(said.say, would, said.known.iter())
        || is_patch_for_patch(said.say, would, said.known.iter())
}

/// Takes what was said out of what is to be done, if it is there and may come before all that stands before it.
fn take(ahead: &mut Vec<Say>, said: &Said) -> bool {
    let Some(place) = ahead.iter().position(|one| is_alike(said, one)) else { return false };
    let may = ahead[..place].iter().all(|one| are_independent(one, said.say));
    if may {
        ahead.remove(place);
    }
    may
}

/// What the API server answers a call that changes something, when all is well. None: that cannot be told.
fn all_is_well(request: &Request, known: &[Object]) -> Option<Answer<Object>> {
    match &*request.verb {
        "delete" => Some(Answer::Nothing),
        "create" => {
            let (object, _) =
                read::object(Kind::from_word(&request.kind)?, &json::parse(&request.body.to_string()).ok()?).ok()?;
            Some(Answer::One(object))
        }
        "patch" | "update" => newest(request, known.iter()).cloned().map(Answer::One),
        _ => None,
    }
}
