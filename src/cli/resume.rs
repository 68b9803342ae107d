//! Sessions whose terminal died: they are offered, repeated and gone on with.

use std::io::Write;
use std::path::Path;

use cluster::scenario::Scenario;
use debugger::file::Source;
use debugger::journal as journal_text;
use kubectl::workdir::Disk;
use stepper::{Stepper, Typed, lines, palette};

use super::journal::{self, Left};
use super::{menu, out, terminal};

/// Asks what is to become of sessions that were left. None: nothing of them is wanted now. Where a scenario is `named`, the
/// first choice is the one that leads to it.
pub(super) fn offer(folder: &Path, named: Option<&Scenario>) -> anyhow::Result<Option<Left>> {
    // A folder that cannot be read has nothing to offer.
    let (untouched, mut found): (Vec<Left>, Vec<Left>) =
        journal::left(folder).unwrap_or_default().into_iter().partition(is_untouched);
    untouched.into_iter().for_each(Left::throw_away);
    if found.is_empty() {
        return Ok(None);
    }
    let mut items: Vec<String> = found.iter().map(|left| format!("go on with {}", about(left))).collect();
    let new = named.map_or("a new one", |scenario| &scenario.name);
    items.push(format!("start {new}, and be asked again next time"));
    items.push("throw away what was left".to_owned());
    let first = named.map_or(0, |scenario| found.iter().position(|left| is_of(left, scenario)).unwrap_or(found.len()));
    let chosen = menu::choose("A session was not ended", &items, first)?;
    match chosen {
        Some(place) if place < found.len() => Ok(Some(found.swap_remove(place))),
        Some(place) if place > found.len() => {
            found.into_iter().for_each(Left::throw_away);
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Whether the user has done nothing in it yet.
fn is_untouched(left: &Left) -> bool {
    journal_text::read(&left.text).is_ok_and(|file| {
        let is_case = || file.scenario.scenario().is_ok_and(|scenario| scenario.case.is_some());
        let is_new = file.steps == 0 || (file.choices.is_empty() && is_case());
        is_new && file.commands.is_none_or(|typed| typed.is_empty())
    })
}

/// Whether it walks this.
fn is_of(left: &Left, scenario: &Scenario) -> bool {
    journal_text::read(&left.text).is_ok_and(|file| match &file.scenario {
        Source::Shipped(name) => *name == scenario.name,
        Source::Whole(walked) => walked.title == scenario.title,
    })
}

/// A line that tells one session from another.
fn about(left: &Left) -> String {
    let Ok(file) = journal_text::read(&left.text) else { return "what cannot be read here".to_owned() };
    let name = match &file.scenario {
        Source::Shipped(name) => name.clone(),
        Source::Whole(scenario) => scenario.title.clone(),
    };
    let commands = file.commands.unwrap_or_default();
    let step = commands.iter().rev().find_map(|typed| typed.came.as_ref()).map_or(file.steps, |came| came.step);
    // Enter alone says nothing of the session.
    let last = commands.iter().rev().map(|typed| typed.line.trim()).find(|line| !line.is_empty());
    let last = last.map_or(String::new(), |line| format!(", last: {line}"));
    let count = commands.len();
    format!("{name}: {count} command{}, at step {step}{last}", if count == 1 { "" } else { "s" })
}

/// Repeats what stands in a journal, and says where that led. What cannot be repeated is put aside, with the reason.
pub(super) fn go_on(left: Left) -> Option<(Stepper, String)> {
    let repeated = journal_text::read(&left.text).and_then(|file| {
        let stepper = terminal::of_file(&file, None, Disk::Whole)?;
        Ok((stepper, file))
    });
    let (mut stepper, file) = match repeated {
        Ok(repeated) => repeated,
        Err(reason) => {
            let aside = left.put_aside();
            let error = palette::error().apply_to(reason);
            let _ =
                writeln!(out::errors(), "the session cannot be resumed: {error}\nit is kept in {}", aside.display());
            return None;
        }
    };
    let mut greeting = format!("{}\n", palette::here().apply_to(&stepper.session.scenario().title));
    for typed in file.commands.iter().flatten() {
        stepper.typed.push(Typed::read(&typed.line).at_its_prompt().to_owned());
        if typed.came.is_none() {
            greeting += &format!("{:?} had not ended; type it again to see what it does\n", typed.line);
        }
    }
    greeting += &journal::keep(&mut stepper, left.go_on());
    greeting += &lines::text(&stepper.shown(), &stepper.view());
    Some((stepper, greeting))
}
