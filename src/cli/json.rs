//! `--json`: a session for programs. Commands are lines of standard input; each is answered by one line of JSON.
//!
//! `docs/json.md` is the schema; `tests/debugger/json.rs` holds sessions against it.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::debugger::Stop;
use crate::debugger::quiz::Question;

use super::Stepper;
use super::commands::Reply;
use super::input::read_line;
use super::signals::Signals;
use super::told::told;
use super::watch::Silent;

/// The version of what is written. It grows when a field goes or changes its meaning, not when one is added.
const SCHEMA: u32 = 1;
/// Texts that are laid out in columns are so wide.
const COLUMNS: usize = 160;

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

/// Takes commands until the end of the input or `quit`. `text` is said at first. SIGINT ends a long move, whose stop is told
/// then; where none is under way it ends the program.
pub fn run(mut stepper: Stepper, text: &str) -> io::Result<()> {
    console::set_colors_enabled(false);
    stepper.columns = Some(COLUMNS);
    let (session, scenario) = (&stepper.session, stepper.session.scenario());
    print(&Line::Hello {
        schema: SCHEMA,
        kubestep: env!("CARGO_PKG_VERSION"),
        scenario: &scenario.name,
        title: &scenario.title,
        story: scenario.story.trim(),
        nodes: session.cluster.config().nodes.len(),
        seed: scenario.seed,
        step: session.history().len() as u64,
        text,
    })?;
    while !stepper.done {
        let Some(command) = read_line()? else { break };
        let signals = Signals::listen()?;
        stepper.watch = Some(Box::new(Silent(signals.clone())));
        let mut reply = stepper.answer(&command);
        signals.leave();
        if let (Ok(answer), Some(place)) = (&mut reply, stepper.new_shell()) {
            answer.text += &format!("a shell in {place} waits: type ls, or any other line; type exit leaves it\n");
        }
        let value = reply.as_ref().ok().and_then(|_| told(&mut stepper, &command));
        print(&line(&command, &reply, value))?;
        // It may have been told to while a long move was under way.
        if signals.ended() {
            return Ok(());
        }
    }
    let quiz = stepper.quiz.clone().unwrap_or_default();
    let step = stepper.session.history().len() as u64;
    print(&Line::End { step, answered: quiz.answered, right: quiz.right })?;
    stepper.end();
    Ok(())
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

fn print(line: &Line) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, line)?;
    out.write_all(b"\n")?;
    out.flush()
}
