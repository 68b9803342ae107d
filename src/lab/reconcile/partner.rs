//! Who reconciles: a process of its own with a learner's code, or a [`Host`] in this one.
//!
//! The process receives a line and answers with a line. It may read caches in between. What it prints besides is kept
//! apart; anything else it does ends it, and is said in words.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::asked::{CLOSED, Running};
use crate::patience::{Patience, TOO_LONG};
use crate::printed::Printed;
use exercise::host::{Host, Read};
use exercise::wire::{Ask, Say, Sender};
use object::{Key, Kind, Object};

/// A program that reconciles.
pub trait Partner {
    /// Is told something, and says what comes of it. Reads caches with `read`.
    fn tell(&mut self, ask: Ask<Object>, read: &Read) -> Say;
    /// A reconcile will not go on.
    fn forget(&mut self, task: u64);
    /// From now on what it prints is noted here, and whether it is too slow. One in this process does neither.
    fn listen(&mut self, _: &Heard) {}
}

/// What was noted of a program beside its answers, for the report of a run.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    /// What it printed.
    pub printed: Printed,
    /// It was given up, as it answers too slowly.
    pub too_slow: bool,
}

/// Where that is noted.
pub type Heard = Arc<Mutex<Noise>>;

/// Makes a partner, one for each time that the controller starts.
pub type Make = &'static (dyn Fn() -> Box<dyn Partner> + Sync);

/// So long may it think about one thing, and about all things together, but for what it may for each.
const SECONDS: Duration = Duration::from_secs(2);
/// So long may it think about each thing on average: about a hundred Pods, one that is not optimised thinks a while.
const FOR_EACH: Duration = Duration::from_millis(12);
/// So long it may think in any case.
const AT_LEAST: Duration = Duration::from_millis(100);
/// The same once it was given up: what it does then is a story, and no verdict.
const GIVEN_UP: Duration = Duration::from_millis(20);

/// How long all processes of one program have thought, so that one that never ends is waited for once.
#[derive(Default)]
struct Thought {
    asked: u32,
    time: Duration,
    /// How it was given up.
    given_up: Option<GivenUp>,
}

/// Why a program is not waited for any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GivenUp {
    /// Its answers come, but take too long together.
    TooSlow,
    /// One answer does not come.
    Endless,
}

impl GivenUp {
    fn in_words(self) -> String {
        let seconds = SECONDS.as_secs();
        match self {
            GivenUp::TooSlow => format!("{TOO_LONG}: more than {seconds} s for its answers together"),
            GivenUp::Endless => format!("it does not come to an end: no answer within {seconds} s"),
        }
    }
}

impl Thought {
    /// How long the next answer may take.
    fn left(&mut self) -> Duration {
        self.asked = self.asked.saturating_add(1);
        let all = SECONDS + FOR_EACH.saturating_mul(self.asked);
        let at_least = if self.given_up.is_some() { GIVEN_UP } else { AT_LEAST };
        all.saturating_sub(self.time).clamp(at_least, SECONDS)
    }
}

/// What was sent of each cache. It is compared by what it is and not by its version: the world may have gone back.
type Sent = BTreeMap<Kind, BTreeMap<Key, Object>>;

/// A process. One that has ended is started again with the next thing that it is told, as the world goes back after that.
pub struct Process {
    program: PathBuf,
    arguments: Vec<String>,
    running: Option<Running>,
    /// What it knows.
    sent: Sent,
    versions: Sender,
    thought: Arc<Mutex<Thought>>,
    /// Where to note what it prints, if that is wanted.
    heard: Option<Heard>,
}

impl Process {
    fn start(&mut self) -> Result<(), String> {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        self.running = Some(Running::start(&self.program, &arguments)?);
        (self.sent, self.versions) = Default::default();
        if self.heard.is_some() {
            self.send(Ask::Mark);
            self.running.iter_mut().for_each(Running::marks);
        }
        Ok(())
    }

    /// Starts the program each time that a controller starts.
    pub fn maker(program: &Path, arguments: &[&str]) -> Make {
        let program = program.to_owned();
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        let thought = Arc::<Mutex<Thought>>::default();
        Box::leak(Box::new(move || -> Box<dyn Partner> {
            let (running, sent, versions, heard) = Default::default();
            let (program, arguments, thought) = (program.clone(), arguments.clone(), thought.clone());
            Box::new(Process { program, arguments, running, sent, versions, thought, heard })
        }))
    }

    fn send(&mut self, ask: Ask<Object>) -> bool {
        let Ok(ask) = ask.map(|object| Ok::<_, Infallible>(self.versions.item(&object)));
        let line = serde_json::to_string(&ask).unwrap_or_else(|error| unreachable!("ours: {error}"));
        self.running.as_mut().is_some_and(|running| running.tell(&line))
    }

    /// What it says to this. Caches that it reads in between take from the same time.
    fn say(&mut self, mut ask: Ask<Object>, read: &Read, patience: &Patience, time: Duration) -> Option<Say> {
        loop {
            if !self.send(ask) {
                return None;
            }
            let line = self.answer(patience, time)?;
            match serde_json::from_str(&line) {
                Ok(Say::Read { kind }) => {
                    let kind = Kind::from_word(&kind)?;
                    ask = news(self.sent.entry(kind).or_default(), read(kind));
                }
                Ok(said) => return Some(said),
                Err(_) => return Some(Say::Broken(format!("it answers with something that is no answer: {line}"))),
            }
        }
    }

    /// Its next answer. What it has printed before is noted.
    fn answer(&mut self, patience: &Patience, time: Duration) -> Option<String> {
        let running = self.running.as_mut()?;
        let line = running.answer(patience, time)?;
        if let Some(heard) = &self.heard {
            heard.lock().unwrap_or_else(PoisonError::into_inner).printed.append(running.take_printed());
        }
        running.skim();
        Some(line)
    }

    /// Ends it and says how it came to this.
    fn end(&mut self, waited: Duration) -> Say {
        let Some(mut running) = self.running.take() else {
            return Say::Broken("it has ended".to_owned());
        };
        let given_up = self.thought.lock().unwrap_or_else(PoisonError::into_inner).given_up;
        if let Some(how) = given_up.filter(|_| waited >= GIVEN_UP) {
            // What it has to say is known; its last words are not waited for again and again.
            running.kill();
            return self.give_up(how);
        }
        let is_closed = running.is_closed();
        if let Some(how) = running.obituary("").or_else(|| is_closed.then(|| CLOSED.to_owned())) {
            return Say::Broken(how);
        }
        let how = if waited < SECONDS { GivenUp::TooSlow } else { GivenUp::Endless };
        let mut thought = self.thought.lock().unwrap_or_else(PoisonError::into_inner);
        let how = *thought.given_up.get_or_insert(how);
        drop(thought);
        self.give_up(how)
    }

    /// Says that it is given up, and notes it if that is slowness.
    fn give_up(&self, how: GivenUp) -> Say {
        if let Some(heard) = &self.heard {
            heard.lock().unwrap_or_else(PoisonError::into_inner).too_slow |= how == GivenUp::TooSlow;
        }
        Say::Broken(how.in_words())
    }
}

/// What a cache shows now that it did not show before.
fn news(sent: &mut BTreeMap<Key, Object>, now: Vec<Object>) -> Ask<Object> {
    let now: BTreeMap<Key, Object> = now.into_iter().map(|object| (Key::of(&object), object)).collect();
    let is_new = |(key, object): &(&Key, &Object)| sent.get(*key).is_none_or(|before| !before.same(object));
    let changed = now.iter().filter(is_new).map(|(_, object)| object.clone()).collect();
    let gone = sent.keys().filter(|key| !now.contains_key(*key)).map(Key::to_string).collect();
    *sent = now;
    Ask::Cached { changed, gone }
}

impl Partner for Process {
    fn tell(&mut self, ask: Ask<Object>, read: &Read) -> Say {
        if self.running.is_none()
            && let Err(how) = self.start()
        {
            return Say::Broken(how);
        }
        let Some(patience) = self.running.as_ref().map(Running::patience) else {
            return Say::Broken("it has ended".to_owned());
        };
        let left = self.thought.lock().unwrap_or_else(PoisonError::into_inner).left();
        let said = self.say(ask, read, &patience, left);
        let waited = patience.spent();
        self.thought.lock().unwrap_or_else(PoisonError::into_inner).time += waited;
        said.unwrap_or_else(|| self.end(waited))
    }

    fn forget(&mut self, task: u64) {
        self.send(Ask::Forget { task });
    }

    fn listen(&mut self, heard: &Heard) {
        self.heard = Some(heard.clone());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.running.iter_mut().for_each(Running::kill);
    }
}

/// A controller's code in this process.
pub struct Here {
    host: Option<Host>,
    make: fn(Read) -> Host,
}

impl Here {
    /// One that `make` makes.
    pub fn new(make: fn(Read) -> Host) -> Here {
        Here { host: None, make }
    }
}

impl Partner for Here {
    fn tell(&mut self, ask: Ask<Object>, read: &Read) -> Say {
        let host = self.host.get_or_insert_with(|| (self.make)(read.clone()));
        host.hear(ask).unwrap_or_else(|| Say::Broken("there is nothing to say".to_owned()))
    }

    fn forget(&mut self, task: u64) {
        if let Some(host) = &mut self.host {
            host.hear(Ask::Forget { task });
        }
    }
}
