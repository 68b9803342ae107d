//! A case of "Broken: find out why" in words: its hints, its cause, and what was typed to repair it.

use cluster::scenario::Case;
use debugger::{Choice, Session};

use super::wrap::wrapped;

/// A hint, by its number from 1. Without a number it is the one after `last`. Gives the number, too.
///
/// # Errors
/// There is no such hint.
pub fn hint(case: &Case, number: Option<usize>, last: usize, width: usize) -> Result<(usize, String), String> {
    let count = case.hints.len();
    let next = number.unwrap_or(last + 1);
    match next.checked_sub(1).and_then(|place| case.hints.get(place)) {
        Some(hint) => Ok((next, prose(&format!("hint {next} of {count}: {hint}"), width) + "\n")),
        None if number.is_none() => Err(format!("those were all {count} hints; hint 1 shows the first again")),
        None => Err(format!("there are hints 1 to {count}")),
    }
}

/// Why a cluster was broken, what else would have repaired it, and what would not.
pub fn explained(case: &Case, width: usize) -> String {
    let line = |line: &String| line.lines().map(|line| format!("  {line}\n")).collect::<String>();
    let ways: Vec<String> = case.fixes.iter().map(|lines| lines.iter().map(line).collect()).collect();
    let vain = case.refused.iter().map(|refused| {
        let why = prose(&refused.why, width.saturating_sub(4));
        let why: String = why.lines().map(|line| format!("    {line}\n")).collect();
        refused.lines.iter().map(line).collect::<String>() + &why
    });
    let vain: Vec<String> = vain.collect();
    format!(
        "{}\n\nWays to repair it:\n{}\nWhat does not repair it:\n{}\n",
        prose(&case.explanation, width),
        ways.join("or\n"),
        vain.concat().trim_end()
    )
}

/// Lines of so many columns, in which what stands between backticks is in one piece: it is there to be copied.
fn prose(text: &str, width: usize) -> String {
    const BOUND: char = '\u{2}';
    let part = |(number, part): (usize, &str)| match number % 2 {
        0 => part.to_owned(),
        _ => part.replace(' ', &BOUND.to_string()),
    };
    let parts: Vec<String> = text.split('`').enumerate().map(part).collect();
    wrapped(&parts.join("`"), width).replace(BOUND, " ")
}

/// What was typed and broken so far, as lines for a prompt. The order in which events were delivered is not in it.
pub fn typed(session: &Session) -> String {
    let line = |choice: &Choice| match choice {
        Choice::Kubectl(words) => Some(format!("kubectl {}", shell_words::join(words))),
        Choice::Line(line) => Some(line.clone()),
        Choice::Typed(text) => Some(format!("type {text}")),
        Choice::Network { words, from } if from.is_empty() => Some(shell_words::join(words)),
        Choice::Network { words, from } => Some(format!("{} --from {from}", shell_words::join(words))),
        Choice::Deliver(_) | Choice::Delay(..) | Choice::Seed(_) => None,
        // What clients outside have sent was not typed here.
        Choice::Arrive(_) | Choice::Data(..) | Choice::HangUp(_) => None,
        Choice::Wait(_) | Choice::Interrupt | Choice::Fault(_) => Some(choice.to_string()),
    };
    session.choices().iter().filter_map(|chosen| line(&chosen.choice)).map(|line| line + "\n").collect()
}
