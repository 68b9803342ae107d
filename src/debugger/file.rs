//! A session as a file: scenario, choices, what was read of the disk, breakpoints. Small, readable, and enough to repeat
//! the run step by step.
//!
//! The trace itself is not in it, only a digest of two hex digits a step. A program that does other steps says at which
//! one it differs first, instead of showing another run as if it were this one.
//!
//! A session that is written as it goes is such a file too, see [`mod@super::journal`].

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use cluster::scenario::Scenario;
use kubectl::workdir::{Reading, Readings};
use object::nesting;

use super::Session;
use super::choice::Choice;
use super::digest::Digests;
use super::journal::Typed;
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
    /// When the run begins, by the clocks of its machines, if not when its scenario says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Time>,
    /// What was decided.
    #[serde(default)]
    pub choices: Vec<Decision>,
    /// What commands have read of the disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Reading>,
    /// As they are typed: `break 409`.
    #[serde(default)]
    pub breakpoints: Vec<String>,
    /// Where the session stood.
    pub steps: u64,
    /// Two hex digits a step.
    pub digest: String,
    /// What breaks at its end, if it was found by a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaks: Option<String>,
    /// Whether it stops at background traffic too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub all: bool,
    /// Whether it asks what happens next.
    #[serde(default, skip_serializing_if = "is_false")]
    pub quiz: bool,
    /// What was typed since, in a journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<Typed>>,
}

fn is_false(flag: &bool) -> bool {
    !flag
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

impl Source {
    /// The scenario.
    ///
    /// # Errors
    /// No scenario of this name is shipped.
    pub fn scenario(&self) -> Result<Scenario, String> {
        match self {
            Source::Shipped(name) => Scenario::find(name).map_err(|error| error.to_string()),
            Source::Whole(scenario) => Ok((**scenario).clone()),
        }
    }
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
    File::of(session).text()
}

/// The same for a session that stands where something breaks: a property, and what it came to.
pub fn save_found(session: &Session, property: &str, what: &str) -> String {
    File { breaks: Some(format!("{property}: {what}")), ..File::of(session) }.text()
}

/// A session that has made these choices, each after so many steps, and has come to step `end`.
pub fn of_run(scenario: Scenario, choices: Vec<(u64, Choice)>, end: u64) -> Session {
    let mut session = Session::of(scenario);
    let choices = choices.into_iter().map(|(after, choice)| Chosen { after, choice }).collect();
    session.repeat(choices, Readings::default(), end);
    session
}

/// Reads a file and repeats its run: to its end, or to step `at`.
pub fn open(text: &str, at: Option<u64>) -> Result<Session, String> {
    File::read(text)?.open(at)
}

impl File {
    /// A session as it would be saved.
    pub fn of(session: &Session) -> File {
        let scenario = session.scenario();
        let shipped = Scenario::find(&scenario.name)
            .is_ok_and(|known| Scenario { seed: scenario.seed, start: scenario.start.clone(), ..known } == *scenario);
        let source = match shipped {
            true => Source::Shipped(scenario.name.clone()),
            false => Source::Whole(Box::new(scenario.clone())),
        };
        let decision = |chosen: &Chosen| Decision { after: chosen.after, text: chosen.choice.to_string() };
        let digits = digits(session);
        let lines: Vec<&str> =
            (0..digits.len()).step_by(LINE).map(|at| &digits[at..digits.len().min(at + LINE)]).collect();
        File {
            kubestep: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: source,
            seed: scenario.seed,
            start: scenario.start.clone(),
            choices: session.choices().iter().map(decision).collect(),
            files: session.cluster.kubectl.workdir.readings().list(),
            breakpoints: session.breakpoints.commands(),
            steps: session.history().len() as u64,
            digest: lines.join("\n"),
            breaks: None,
            all: false,
            quiz: false,
            commands: None,
        }
    }

    /// What is written.
    pub fn text(&self) -> String {
        serde_yaml::to_string(self).unwrap_or_else(|error| format!("# cannot be written: {error}\n"))
    }

    /// Reads what was written.
    pub fn read(text: &str) -> Result<File, String> {
        let read = nesting::check(text).and_then(|()| serde_yaml::from_str(text).map_err(|error| error.to_string()));
        let mut file: File = read.map_err(|error| {
            // An error may have the whole text in it.
            let first: String = error.chars().take(100).collect();
            let more = if first.len() < error.len() { "…" } else { "" };
            format!("this is not a saved session: {first}{more}")
        })?;
        if let Source::Whole(scenario) = &mut file.scenario {
            scenario.make_harmless();
        }
        Ok(file)
    }

    /// Repeats the run: to its end, or to step `at`. What was typed since is left to the caller.
    pub fn open(&self, at: Option<u64>) -> Result<Session, String> {
        let mut scenario = self.scenario.scenario()?;
        scenario.seed = self.seed;
        scenario.start = self.start.clone().or(scenario.start);
        let expected: String = self.digest.split_whitespace().collect();
        let covered = expected.len() as u64 / 2;
        if covered < self.steps {
            let steps = self.steps;
            return Err(format!("the file was cut off: it speaks of {steps} steps, and has a digest of {covered}"));
        }
        let mut session = Session::of(scenario);
        let end = at.unwrap_or(self.steps);
        if end > self.steps {
            return Err(format!("the session was saved at step {}, so there is no step {end}", self.steps));
        }
        let chosen = |decision: &Decision| {
            let choice = Choice::parse(&decision.text, &session.cluster.kubectl.namespace)?;
            Ok(Chosen { after: decision.after, choice })
        };
        let choices = self.choices.iter().map(chosen).collect::<Result<Vec<Chosen>, String>>()?;
        session.repeat(choices, Readings::of(&self.files), end);
        let found = digits(&session);
        let differs =
            (0..found.len() / 2).find(|step| expected.get(step * 2..step * 2 + 2) != found.get(step * 2..step * 2 + 2));
        if let Some(step) = differs {
            return Err(format!(
                "the run differs from the one that was saved from step {} on; {}",
                step + 1,
                self.versions()
            ));
        }
        for line in &self.breakpoints {
            let names = session.names();
            session.breakpoints.add_command(line, &names).map_err(|error| format!("breakpoint {line:?}: {error}"))?;
        }
        Ok(session)
    }

    /// Why a run may differ from the one that was saved.
    pub fn versions(&self) -> String {
        let (saved, mine) = (&self.kubestep, env!("CARGO_PKG_VERSION"));
        if saved == mine {
            return format!(
                "both are version {mine}, so its scenario, its manifests or the program have changed since"
            );
        }
        format!("it was saved by version {saved}, and this is {mine}")
    }
}

/// Two hex digits for each step: where two runs part, their digits differ from then on.
fn digits(session: &Session) -> String {
    Digests::of(session.history()).all().iter().map(|digest| format!("{:02x}", digest >> 56)).collect()
}
