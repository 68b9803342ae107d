//! The prompt: a session in lines, at a terminal or on a pipe.

use std::io::{self, IsTerminal, Write};

use console::strip_ansi_codes;

use crate::debugger::quiz::{Question, Quiz};

use super::Stepper;
use super::commands::{self, Answer};
use super::edit;
use super::input::Lines;
use super::palette;
use super::signals::Signals;
use super::view::View;
use super::watch::Bar;
use super::wrap::wrapped;

/// The prompt, in the terminal and in transcripts.
pub const PROMPT: &str = "(kubestep)";

/// The prompt for the rest of a line.
const MORE: &str = ">";

/// Takes commands until the end of the input or `quit`. Ctrl-C ends a long move; at the prompt, the second ends the
/// program, as SIGTERM does: the session is offered again then.
pub fn run(mut stepper: Stepper, greeting: &str) -> io::Result<()> {
    let somebody = io::stdin().is_terminal() && io::stdout().is_terminal();
    let signals = if somebody { Signals::listen()? } else { Signals::default() };
    if somebody {
        stepper.watch = Some(Box::new(Bar::new(signals.clone())));
    }
    let mut lines = Lines::from_stdin(somebody);
    stepper.typed.drain(..).for_each(|line| lines.remember(&line));
    print(greeting)?;
    let mut interrupted = false;
    while !stepper.done {
        // It may have been told to while a long move was under way.
        if signals.ended() {
            return print("\n");
        }
        let greeting = stepper.greeting();
        let is_laid = somebody && !greeting.is_empty();
        print(&if is_laid { wrapped(&greeting, stepper.width()) + "\n" } else { greeting })?;
        let prompt = stepper.prompt();
        let line = match lines.next(&prompt, &|input| stepper.candidates(input)) {
            Ok(Some(line)) => line,
            Ok(None) => match stepper.ends_input().filter(|_| somebody) {
                Some(key) => {
                    answer(&mut stepper, &key, somebody)?;
                    continue;
                }
                None => break,
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                if interrupted || signals.ended() {
                    return print("\n");
                }
                let pressed = signals.interrupted();
                if let Some(key) = stepper.interrupts().filter(|_| pressed) {
                    print("\n")?;
                    answer(&mut stepper, &key, somebody)?;
                    continue;
                }
                interrupted = pressed;
                print("\nquit ends the session; Ctrl-C once more leaves it for later\n")?;
                continue;
            }
            Err(error) => return Err(error),
        };
        interrupted = false;
        let Some(line) = continued(line, &mut lines) else {
            signals.interrupted();
            print("\n")?;
            continue;
        };
        if line.trim_start().starts_with('#') {
            continue;
        }
        let Some(line) = stepper.meant(&line) else { continue };
        let line = if somebody { edited(&mut stepper, line)? } else { Some(line) };
        let Some(line) = line else { continue };
        answer(&mut stepper, &line, somebody)?;
    }
    if let Some(score) = stepper.quiz.as_ref().and_then(Quiz::score) {
        print(&format!("{score}\n"))?;
    }
    stepper.end();
    Ok(())
}

/// The line with the lines in which it goes on; None: it was given up with Ctrl-C.
fn continued(mut line: String, lines: &mut Lines) -> Option<String> {
    while commands::shell::goes_on(&line) {
        let more = match lines.next(MORE, &|_| Vec::new()) {
            Ok(Some(more)) => more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return None,
            Ok(None) | Err(_) => break,
        };
        line = match line.strip_suffix('\\') {
            Some(begun) => format!("{begun}{more}"),
            None => format!("{line}\n{more}"),
        };
    }
    Some(line)
}

/// The line; or, if it asks for an editor, what is sent instead, if anything.
fn edited(stepper: &mut Stepper, line: String) -> io::Result<Option<String>> {
    Ok(match edit::asks(&line).map(|words| edit::instead(stepper, &words)) {
        None => Some(line),
        Some(Ok(instead)) => {
            print(&format!("{}{instead}\n", edit::SENT))?;
            Some(instead)
        }
        Some(Err(why)) => {
            print(&format!("{why}\n"))?;
            None
        }
    })
}

/// Does what a command says, and prints what comes of it.
fn answer(stepper: &mut Stepper, command: &str, somebody: bool) -> io::Result<()> {
    match stepper.answer(command) {
        Ok(answer) => print(&text(&answer, &stepper.view())),
        Err(error) => {
            let width = stepper.width();
            let wrap = || error.lines().map(|line| wrapped(line, width)).collect::<Vec<_>>().join("\n");
            print(&format!("{}\n", palette::error().apply_to(if somebody { wrap() } else { error })))
        }
    }
}

/// An answer in lines.
pub fn text(answer: &Answer, view: &View) -> String {
    let told = narrated(&answer.narration, view.width);
    let asked = answer.question.as_ref().map_or(String::new(), question);
    let stop = answer.stop.as_ref().map_or(String::new(), |stop| match answer.whole {
        true => view.whole_stop(stop),
        false => view.stop(stop, told.lines().count() + asked.lines().count()),
    });
    let text = format!("{}{}{stop}{told}{asked}", palette::here().apply_to(&answer.printed), answer.text);
    // What kubectl prints need not end its last line; the prompt comes on one of its own all the same. Colours are no text.
    let plain = strip_ansi_codes(&text);
    let is_whole = plain.is_empty() || plain.ends_with('\n');
    if is_whole { text } else { text + "\n" }
}

fn question(question: &Question) -> String {
    let choices = (1..).zip(&question.choices).map(|(n, choice)| format!("  {n}  {choice}\n"));
    let head = format!("{} Type a number, or look around first.\n", question.question);
    palette::here().apply_to(head).to_string() + &choices.collect::<String>()
}

/// What is told, set apart.
fn narrated(text: &str, width: usize) -> String {
    if text.is_empty() { String::new() } else { format!("\n{}\n", palette::here().apply_to(wrapped(text, width))) }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
