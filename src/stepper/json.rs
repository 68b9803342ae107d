//! Answers as lines of JSON, for programs and pages: one greets, each command is answered by one, and one ends.
//!
//! `docs/json.md` is the schema; `tests/json.rs` holds sessions against it.

use serde::Serialize;
use serde_json::Value;

use debugger::Stop;
use debugger::quiz::Question;

use super::commands::Reply;
use super::told::told;
use super::{Stepper, Typed};

/// The version of what is written. It grows when a field goes or changes its meaning, not when one is added.
const SCHEMA: u32 = 1;
/// Texts that are laid out in columns are so wide.
pub const COLUMNS: usize = 160;

/// One line.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Line<'a> {
    /// The first.
    Hello {
        schema: u32,
        /// The program's version.
        kubestep: &'static str,
        scenario: &'a str,
        title: &'a str,
        story: &'a str,
        nodes: usize,
        seed: u64,
        /// Where a saved session stands that was opened; 0 at the start of a run.
        step: u64,
        /// Anything else that a person would be told now.
        text: &'a str,
    },
    /// A command came to a stop, or shows one.
    Stop {
        command: &'a str,
        printed: &'a str,
        text: &'a str,
        narration: &'a str,
        #[serde(flatten)]
        stop: &'a Stop,
    },
    /// Something is to be predicted before the next stop.
    Question {
        command: &'a str,
        printed: &'a str,
        text: &'a str,
        #[serde(flatten)]
        question: &'a Question,
    },
    /// A command said something.
    Text {
        command: &'a str,
        printed: &'a str,
        text: &'a str,
        narration: &'a str,
        /// The same as a value, where what it says is more than words.
        value: Option<Value>,
    },
    /// A command could not be carried out.
    Error { command: &'a str, message: &'a str },
    /// The last.
    End {
        step: u64,
        /// How many questions were answered, and how many of them rightly; 0 without `--quiz`.
        answered: u32,
        right: u32,
    },
}

/// The first line. `text` is anything else that a person would be told now.
///
/// # Errors
/// None that can be had: see [`serde_json::to_string`].
pub fn hello(stepper: &Stepper, text: &str) -> serde_json::Result<String> {
    let (session, scenario) = (&stepper.session, stepper.session.scenario());
    serde_json::to_string(&Line::Hello {
        schema: SCHEMA,
        kubestep: env!("CARGO_PKG_VERSION"),
        scenario: &scenario.name,
        title: &scenario.title,
        story: scenario.story.trim(),
        nodes: session.cluster.config().nodes.len(),
        seed: scenario.seed,
        step: session.history().len() as u64,
        text,
    })
}

/// Carries out a command, and answers it.
///
/// # Errors
/// As [`hello`].
pub fn answer(stepper: &mut Stepper, command: &str) -> serde_json::Result<(String, bool)> {
    let typed = Typed::read(command);
    let mut reply = stepper.carry_out(&typed);
    if let (Ok(answer), Some(place)) = (&mut reply, stepper.new_shell()) {
        answer.text += &format!("a shell in {place} waits: type ls, or any other line; type exit leaves it\n");
    }
    if let Ok(answer) = &mut reply {
        answer.text += &std::mem::take(&mut answer.below);
    }
    let value = reply.as_ref().ok().and_then(|_| told(stepper, &typed));
    Ok((serde_json::to_string(&line(command, &reply, value))?, reply.is_ok()))
}

/// The last line.
///
/// # Errors
/// As [`hello`].
pub fn end(stepper: &Stepper) -> serde_json::Result<String> {
    let quiz = stepper.quiz.clone().unwrap_or_default();
    let step = stepper.session.history().len() as u64;
    serde_json::to_string(&Line::End { step, answered: quiz.answered, right: quiz.right })
}

fn line<'a>(command: &'a str, reply: &'a Reply, value: Option<Value>) -> Line<'a> {
    match reply {
        Err(message) => Line::Error { command, message },
        Ok(answer) => {
            let (printed, text, narration) = (&answer.printed, &answer.text, &answer.narration);
            match (&answer.stop, &answer.question) {
                (_, Some(question)) => Line::Question { command, printed, text, question },
                (Some(stop), _) => Line::Stop { command, printed, text, narration, stop },
                _ => Line::Text { command, printed, text, narration, value },
            }
        }
    }
}
