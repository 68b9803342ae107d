//! A session as a file: scenario, choices, breakpoints. Small, readable, and enough to repeat the run step by step.
//!
//! The trace itself is not in it, only a digest of two hex digits a step. A program that does other steps says at which
//! one it differs first, instead of showing another run as if it were this one.

use serde::{Deserialize, Serialize};

use crate::cluster::scenario::Scenario;
use crate::engine::{Note, Step};

use super::Session;
use super::choice::Choice;
use super::facts::Class;
use super::travel::Chosen;

/// The file's content.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The version of the program that saved it.
    pub kubestep: String,
    /// The scenario: the name of one that is shipped, or all of it.
    pub scenario: Source,
    /// The seed.
    #[serde(default)]
    pub seed: u64,
    /// What was decided.
    #[serde(default)]
    pub choices: Vec<Decision>,
    /// As they are typed: `break 409`.
    #[serde(default)]
    pub breakpoints: Vec<String>,
    /// Where the session stood.
    pub steps: u64,
    /// Two hex digits a step.
    pub digest: String,
}

/// Which scenario.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Source {
    /// A shipped one.
    Shipped(String),
    /// Any other.
    Whole(Box<Scenario>),
}

/// A choice in the file.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The step after which it was made.
    pub after: u64,
    /// The choice as it is typed.
    #[serde(rename = "do")]
    pub text: String,
}

/// So many digits stand on a line.
const LINE: usize = 96;

/// A session as the text of a file.
pub fn save(session: &Session) -> String {
    let scenario = session.scenario();
    let shipped =
        Scenario::find(&scenario.name).is_ok_and(|known| Scenario { seed: scenario.seed, ..known } == *scenario);
    let source = match shipped {
        true => Source::Shipped(scenario.name.clone()),
        false => Source::Whole(Box::new(scenario.clone())),
    };
    let decision = |chosen: &Chosen| Decision { after: chosen.after, text: chosen.choice.to_string() };
    let digits = digest(session.history());
    let lines: Vec<&str> = (0..digits.len()).step_by(LINE).map(|at| &digits[at..digits.len().min(at + LINE)]).collect();
    let file = File {
        kubestep: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: source,
        seed: scenario.seed,
        choices: session.choices().iter().map(decision).collect(),
        breakpoints: session.breakpoints.commands(),
        steps: session.history().len() as u64,
        digest: lines.join("\n"),
    };
    serde_yaml::to_string(&file).unwrap_or_else(|error| format!("# cannot be written: {error}\n"))
}

/// Reads a file and repeats its run: to its end, or to step `at`.
pub fn open(text: &str, at: Option<u64>) -> Result<Session, String> {
    let file: File = serde_yaml::from_str(text).map_err(|error| format!("this is no saved session: {error}"))?;
    let mut scenario = match &file.scenario {
        Source::Shipped(name) => Scenario::find(name).map_err(|error| error.to_string())?,
        Source::Whole(scenario) => (**scenario).clone(),
    };
    scenario.seed = file.seed;
    let mut session = Session::of(scenario);
    let end = at.unwrap_or(file.steps);
    if end > file.steps {
        return Err(format!("the session was saved at step {}, so there is no step {end}", file.steps));
    }
    let chosen = |decision: &Decision| {
        let choice = Choice::parse(&decision.text, &session.cluster.kubectl.namespace)?;
        Ok(Chosen { after: decision.after, choice })
    };
    let choices = file.choices.iter().map(chosen).collect::<Result<Vec<Chosen>, String>>()?;
    session.repeat(choices, end);
    let (expected, found): (String, _) = (file.digest.split_whitespace().collect(), digest(session.history()));
    let differs =
        (0..found.len() / 2).find(|step| expected.get(step * 2..step * 2 + 2) != found.get(step * 2..step * 2 + 2));
    if let Some(step) = differs {
        return Err(format!(
            "the run differs from the one that was saved from step {} on; {}",
            step + 1,
            versions(&file)
        ));
    }
    for line in &file.breakpoints {
        let names = session.names();
        session.breakpoints.add_command(line, &names).map_err(|error| format!("breakpoint {line:?}: {error}"))?;
    }
    Ok(session)
}

fn versions(file: &File) -> String {
    let (saved, mine) = (&file.kubestep, env!("CARGO_PKG_VERSION"));
    if saved == mine {
        return format!("both are version {mine}, so its scenario, its manifests or the program have changed since");
    }
    format!("it was saved by version {saved}, and this is {mine}")
}

/// Two hex digits for each step, of everything up to it: where two runs part, their digits differ from then on.
fn digest(history: &[Step]) -> String {
    let mut state = Fnv::default();
    let mut out = String::with_capacity(history.len() * 2);
    for step in history {
        let event = &step.event;
        let class = Class::of(&event.what) as u64;
        for number in [step.time.0, event.id.0, event.cause.0, event.from.0.into(), event.to.0.into(), class] {
            state.add(number);
        }
        for note in &step.notes {
            if let Note::Stored { key, revision, .. } = note {
                state.add(*revision);
                key.bytes().for_each(|byte| state.add(byte.into()));
            }
        }
        out += &format!("{:02x}", state.0 >> 56);
    }
    out
}

/// FNV-1a over numbers.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
