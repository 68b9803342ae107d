//! An answer as text.

use console::strip_ansi_codes;

use debugger::quiz::Question;

use super::commands::Answer;
use super::palette;
use super::view::View;
use super::wrap::wrapped;

/// An answer in lines.
pub fn text(answer: &Answer, view: &View) -> String {
    let told = narrated(&answer.narration, view.width);
    let asked = answer.question.as_ref().map_or(String::new(), question);
    let stop = answer.stop.as_ref().map_or(String::new(), |stop| match answer.whole {
        true => view.whole_stop(stop),
        false => view.stop(stop, told.lines().count() + asked.lines().count()),
    });
    let (printed, below) = (palette::here().apply_to(&answer.printed), &answer.below);
    let text = format!("{printed}{}{stop}{below}{told}{asked}", answer.text);
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
