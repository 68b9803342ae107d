//! Numbers in what the stepper prints that move with edits elsewhere: those of source lines, and the store's revisions, which
//! count the writes while a cluster starts too. A page shows today's and does not compare them; a transcript in
//! `tests/transcripts` counts revisions from where its scenario starts. That test reads this file as well, so it stands on
//! nothing but text.

use std::ops::Range;

/// What comes just before a revision.
const BEFORE: &[&str] = &["rv ", "revision ", "resourceVersion: "];
/// What comes after one in the table of what caches have.
const AFTER: &[&str] = &["up to date", "behind"];

/// `src/engine/lib.rs:12` and `▶ 12     let x` with N for the number, which ends in the same column however long it is.
pub fn without_source_line(line: &str) -> String {
    let code = line.trim_start().trim_start_matches('▶').trim_start();
    let number: String = code.chars().take_while(char::is_ascii_digit).collect();
    match line.find(".rs:") {
        Some(at) if line.trim_start().starts_with("src/") => format!("{}.rs:N", &line[..at]),
        _ if !number.is_empty() && code[number.len()..].starts_with(' ') && line.starts_with("  ") => {
            line.replacen(&number, &format!("{:>1$}", "N", number.len()), 1)
        }
        _ => line.to_owned(),
    }
}

/// The line with something else for each of the store's revisions, which may be all of a line that goes on from the one
/// before.
pub fn with_revisions(line: &str, line_before: &str, mut other: impl FnMut(u64) -> String) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for number in numbers(line) {
        let Ok(revision) = line[number.clone()].parse() else { continue };
        if is_revision(line, &number, line_before) {
            out += &line[at..number.start];
            out += &in_column(other(revision), line, &number);
            at = number.end;
        }
    }
    out + &line[at..]
}

/// Runs of digits that are words of their own.
fn numbers(line: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _) in line.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
        match found.last_mut().filter(|last| last.end == at) {
            Some(last) => last.end = at + 1,
            None => found.push(at..at + 1),
        }
    }
    let ends_word = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "'\",;)]─".contains(c));
    let begins_word = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "'\"([".contains(c));
    found.retain(|n| begins_word(line[..n.start].chars().next_back()) && ends_word(line[n.end..].chars().next()));
    found
}

fn is_revision(line: &str, number: &Range<usize>, line_before: &str) -> bool {
    let (before, after) = (&line[..number.start], line[number.end..].trim_start());
    let before = before.trim_end_matches(['\'', '"']);
    let goes_on = || before.trim().is_empty() && BEFORE.iter().any(|word| line_before.ends_with(word.trim_end()));
    // A row of an object's history: its revision, and the step that wrote it.
    let in_history = || number.start == 0 && (after.starts_with('#') || after.starts_with("before "));
    BEFORE.iter().any(|word| before.ends_with(word))
        || (before.contains("BOOKMARK ") && before.ends_with(" at "))
        || AFTER.iter().any(|state| after.starts_with(state))
        || in_history()
        || goes_on()
}

/// As wide as the number was, where a column follows.
fn in_column(text: String, line: &str, number: &Range<usize>) -> String {
    let width = number.len();
    match line[number.end..].starts_with("  ") {
        true => format!("{text:width$}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_told_from_other_numbers() {
        for (line, before, expected) in [
            ("why      step 5: create pods → 201, rv 164", "", "why      step 5: create pods → 201, rv N"),
            ("pods: 2 objects, up to revision 170", "", "pods: 2 objects, up to revision N"),
            ("mod revision 196, version 5", "", "mod revision N, version 5"),
            ("  resourceVersion: '196'", "", "  resourceVersion: 'N'"),
            ("kube-scheduler  pods  165  up to date", "", "kube-scheduler  pods  N    up to date"),
            ("164       #5    0.103s", "", "N         #5    0.103s"),
            ("BOOKMARK configmaps at 176 → kubelet", "", "BOOKMARK configmaps at N → kubelet"),
            ("──BOOKMARK configmaps at 176──▶ kubelet", "", "──BOOKMARK configmaps at N──▶ kubelet"),
            ("           173", "update → 200, rv", "           N"),
            ("           173", "update → 200", "           173"),
            ("deployment.kubernetes.io/revision: 1", "", "deployment.kubernetes.io/revision: 1"),
            ("step 12 · 0.110s", "", "step 12 · 0.110s"),
        ] {
            assert_eq!(with_revisions(line, before, |_| "N".to_owned()), expected);
        }
    }
}
