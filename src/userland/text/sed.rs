//! `sed` with one command: `s/before/after/`, `p` and `d`.
//!
//! Left out: scripts of several commands, files changed in place, all other commands.

use regex::{Captures, Regex, RegexBuilder};

use super::lines::{Input, extended, joined, of_texts};
use crate::ran::Ran;

/// To which lines the command is applied.
enum Address {
    Every,
    /// The first is 1.
    Line(usize),
    Last,
    From(usize, usize),
    Fitting(Regex),
}

/// What is done to them.
enum Action {
    Delete,
    Print,
    Substitute { before: Regex, after: String, everywhere: bool, prints: bool },
}

/// Mirrors GNU's `sed`. None: it is more than is known here.
pub(super) fn sed(rest: &[&str], input: &mut Input<'_>, read: &dyn Fn(&str) -> Option<String>) -> Option<Ran> {
    let (mut quiet, mut is_extended, mut words) = (false, false, Vec::new());
    for word in rest {
        match *word {
            "-n" => quiet = true,
            "-E" | "-r" => is_extended = true,
            "-e" => {}
            word if word.starts_with('-') && word.len() > 1 => return None,
            word => words.push(word),
        }
    }
    let (script, paths) = words.split_first()?;
    let (address, command) = address(script.trim(), is_extended)?;
    let action = action(command, is_extended)?;
    Some(of_texts("sed", paths, input, read, |text| {
        let lines: Vec<&str> = text.lines().collect();
        let mut all = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let chosen = match &address {
                Address::Every => true,
                Address::Line(number) => at + 1 == *number,
                Address::Last => at + 1 == lines.len(),
                Address::From(first, last) => (*first..=*last).contains(&(at + 1)),
                Address::Fitting(regex) => regex.is_match(line),
            };
            if chosen {
                action.apply(line, quiet, &mut all)
            } else if !quiet {
                all.push((*line).to_owned())
            }
        }
        joined(all.iter().map(String::as_str))
    }))
}

impl Action {
    fn apply(&self, line: &str, quiet: bool, all: &mut Vec<String>) {
        let (line, again) = match self {
            Action::Delete => return,
            Action::Print => (line.to_owned(), true),
            Action::Substitute { before, after, everywhere, prints } => {
                let changed =
                    before.replacen(line, usize::from(!everywhere), |found: &Captures<'_>| with(after, found));
                (changed.into_owned(), *prints && before.is_match(line))
            }
        };
        if again {
            all.push(line.clone());
        }
        if !quiet {
            all.push(line);
        }
    }
}

/// What comes in the place of what was found: `&` is all of it, `\1` its first group.
fn with(after: &str, found: &Captures<'_>) -> String {
    let (mut text, mut chars) = (String::new(), after.chars());
    let group = |at: usize| found.get(at).map_or("", |group| group.as_str());
    while let Some(c) = chars.next() {
        match c {
            '&' => text += group(0),
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some(digit @ '0'..='9') => text += group(digit as usize - '0' as usize),
                other => text.extend(other),
            },
            c => text.push(c),
        }
    }
    text
}

fn regex(pattern: &str, is_extended: bool, blind_to_case: bool) -> Option<Regex> {
    let pattern = if is_extended { pattern.to_owned() } else { extended(pattern) };
    RegexBuilder::new(&pattern).case_insensitive(blind_to_case).size_limit(1 << 18).build().ok()
}

/// `3`, `$`, `2,4`, `2,$` or `/regex/` before a command, and the command.
fn address(script: &str, is_extended: bool) -> Option<(Address, &str)> {
    if let Some(rest) = script.strip_prefix('/') {
        let (pattern, command) = until('/', rest)?;
        return Some((Address::Fitting(regex(&pattern, is_extended, false)?), command.trim_start()));
    }
    if let Some(command) = script.strip_prefix('$') {
        return Some((Address::Last, command.trim_start()));
    }
    let (number, rest) = script.split_at(script.find(|c: char| !c.is_ascii_digit()).unwrap_or(script.len()));
    if number.is_empty() {
        return Some((Address::Every, script));
    }
    let first = number.parse().ok()?;
    match rest.strip_prefix(',') {
        None => Some((Address::Line(first), rest.trim_start())),
        Some(rest) if rest.starts_with('$') => Some((Address::From(first, usize::MAX), rest[1..].trim_start())),
        Some(rest) => {
            let (last, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
            // The first is one of them in any case.
            Some((Address::From(first, last.parse::<usize>().ok()?.max(first)), rest.trim_start()))
        }
    }
}

fn action(command: &str, is_extended: bool) -> Option<Action> {
    match command {
        "d" => return Some(Action::Delete),
        "p" => return Some(Action::Print),
        _ => {}
    }
    let rest = command.strip_prefix('s')?;
    let sign = rest.chars().next().filter(|sign| !sign.is_alphanumeric() && *sign != '\\')?;
    let (before, rest) = until(sign, &rest[sign.len_utf8()..])?;
    let (after, flags) = until(sign, rest)?;
    let known = flags.chars().all(|flag| "gpIi".contains(flag));
    known.then_some(())?;
    let before = regex(&before, is_extended, flags.contains(['i', 'I']))?;
    Some(Action::Substitute { before, after, everywhere: flags.contains('g'), prints: flags.contains('p') })
}

/// The text up to a sign, in which that sign may stand behind a backslash, and what comes after it.
fn until(sign: char, text: &str) -> Option<(String, &str)> {
    let (mut before, mut chars) = (String::new(), text.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next()?.1 {
                other if other == sign => before.push(other),
                other => before.extend(['\\', other]),
            },
            c if c == sign => return Some((before, &text[at + c.len_utf8()..])),
            c => before.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_changed() {
        let text = "\"v\": \"42\",\na/b a/c\nlast\n";
        for (words, want) in [
            (vec![r#"s/"v": "[0-9]*"/"v": "1"/"#], "\"v\": \"1\",\na/b a/c\nlast\n"),
            (vec!["s/a/x/g"], "\"v\": \"42\",\nx/b x/c\nlxst\n"),
            (vec!["s|a/|&x|"], "\"v\": \"42\",\na/xb a/c\nlast\n"),
            (vec!["-E", r"s/([a-z])\/([bc])/\2\1/"], "\"v\": \"42\",\nba a/c\nlast\n"),
            (vec!["-n", "2p"], "a/b a/c\n"),
            (vec!["-n", "s/LAST/end/Ip"], "end\n"),
            (vec!["1d"], "a/b a/c\nlast\n"),
            (vec!["2,$d"], "\"v\": \"42\",\n"),
            (vec!["/a/d"], "\"v\": \"42\",\n"),
            (vec!["$d"], "\"v\": \"42\",\na/b a/c\n"),
        ] {
            assert_eq!(
                sed(&words, &mut Input::of(text), &|_| None).map(|ran| ran.output).as_deref(),
                Some(want),
                "{words:?}"
            );
        }
        for beyond in ["s/a/b/w", "y/a/b/", "s/a", "", "1!d", "s/(/b/;p"] {
            assert!(sed(&["-E", beyond], &mut Input::of(text), &|_| None).is_none(), "{beyond}");
        }
    }
}
