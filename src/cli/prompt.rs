//! The prompt: a session in lines, at a terminal or on a pipe.

use std::io::{self, Write};

use super::Stepper;
use super::commands::Answer;
use super::complete::complete;
use super::input::Lines;
use super::palette;
use super::view::View;

/// The prompt, in the terminal and in transcripts.
const PROMPT: &str = "(kubestep)";

/// Takes commands until the end of the input or `quit`.
pub fn run(mut stepper: Stepper, greeting: &str) -> io::Result<()> {
    let mut lines = Lines::from_stdin();
    stepper.typed.drain(..).for_each(|line| lines.remember(&line));
    print(greeting)?;
    while !stepper.done {
        let session = &stepper.session;
        let Some(line) = lines.next(PROMPT, &|input| complete(session, input))? else { break };
        if line.trim_start().starts_with('#') {
            continue;
        }
        match stepper.answer(&line) {
            Ok(answer) => print(&text(&answer, &stepper.view()))?,
            Err(error) => print(&format!("{}\n", palette::error().apply_to(error)))?,
        }
    }
    stepper.end();
    Ok(())
}

/// An answer in lines.
pub fn text(answer: &Answer, view: &View) -> String {
    let stop = answer.stop.as_ref().map_or(String::new(), |stop| view.stop(stop));
    format!("{}{}{stop}", palette::here().apply_to(&answer.printed), answer.text)
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
