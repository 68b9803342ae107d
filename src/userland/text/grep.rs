//! `grep`: the lines that a pattern fits.
//!
//! Left out: `-o`, `-w`, `-x`, `-l`, `-n`, `-r`, patterns from files.

use regex::{Regex, RegexBuilder};

use super::lines::{Input, extended, joined, of_texts};
use crate::ran::Ran;

/// What is asked for.
#[derive(Default)]
struct Options<'a> {
    pattern: Option<&'a str>,
    paths: Vec<&'a str>,
    /// So many lines after each that fits are shown.
    after: usize,
    /// So many before it.
    before: usize,
    /// It ends with the last of so many that fit.
    most: Option<usize>,
    /// The other options, a letter each.
    letters: String,
}

/// Mirrors GNU's and busybox's `grep`: 0 if a line fits, 1 if none does, 2 if a file is not there.
pub(super) fn grep(
    name: &str,
    rest: &[&str],
    input: &mut Input<'_>,
    read: &dyn Fn(&str) -> Option<String>,
) -> Option<Ran> {
    let options = Options::of(rest)?;
    let (regex, inverted) = (options.regex(name)?, options.letters.contains('v'));
    let mut found = 0;
    let mut ran = of_texts("grep", &options.paths, input, read, |text| {
        let lines: Vec<&str> = text.lines().collect();
        let fitting = (0..lines.len()).filter(|at| regex.is_match(lines[*at]) != inverted);
        let fitting: Vec<usize> = fitting.take(options.most.unwrap_or(usize::MAX)).collect();
        found = fitting.len();
        options.shown(&lines, &fitting)
    });
    ran.code = if ran.code > 0 { 2 } else { i32::from(found == 0) };
    if options.letters.contains('c') {
        ran.output = format!("{found}\n");
    }
    if options.letters.contains('q') {
        ran.output.clear();
    }
    Some(ran)
}

impl<'a> Options<'a> {
    /// None: an option is not known.
    fn of(rest: &[&'a str]) -> Option<Options<'a>> {
        let mut options = Options::default();
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix('-').filter(|flags| !flags.is_empty()) {
                Some("e") => options.pattern = Some(words.next()?),
                Some(flags) => options.flags(flags, &mut words)?,
                None if options.pattern.is_none() => options.pattern = Some(word),
                None => options.paths.push(word),
            }
        }
        Some(options)
    }

    /// `-qi`, `-A30`, `-A 30`.
    fn flags(&mut self, flags: &str, words: &mut std::slice::Iter<'_, &'a str>) -> Option<()> {
        for (at, flag) in flags.char_indices() {
            let place = match flag {
                'A' => &mut self.after,
                'B' => &mut self.before,
                // Both.
                'C' => {
                    let digits = &flags[at + 1..];
                    let around = if digits.is_empty() { words.next()? } else { digits }.parse().ok()?;
                    (self.before, self.after) = (around, around);
                    return Some(());
                }
                'm' => self.most.get_or_insert(0),
                flag if "EFciqv".contains(flag) => {
                    self.letters.push(flag);
                    continue;
                }
                _ => return None,
            };
            let digits = &flags[at + 1..];
            *place = if digits.is_empty() { words.next()? } else { digits }.parse().ok()?;
            return Some(());
        }
        Some(())
    }

    fn regex(&self, name: &str) -> Option<Regex> {
        let (pattern, letters) = (self.pattern?, &self.letters);
        let pattern = match name {
            _ if name == "fgrep" || letters.contains('F') => regex::escape(pattern),
            _ if name == "egrep" || letters.contains('E') => pattern.to_owned(),
            _ => extended(pattern),
        };
        RegexBuilder::new(&pattern).case_insensitive(letters.contains('i')).size_limit(1 << 18).build().ok()
    }

    /// Those lines, with what is around them; a line `--` where some between two of them are left out.
    fn shown(&self, lines: &[&str], fitting: &[usize]) -> String {
        let (mut all, mut next) = (Vec::new(), 0);
        for at in fitting {
            let begin = at.saturating_sub(self.before).max(next);
            if self.after + self.before > 0 && begin > next && next > 0 {
                all.push("--");
            }
            let end = (at + 1 + self.after).min(lines.len());
            all.extend(lines.get(begin..end).unwrap_or_default());
            next = next.max(end);
        }
        joined(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_those_that_fit_are_shown() {
        let text = "one\ntwo\nthree\nfour\nfive\nsix\n";
        for (line, want) in [
            ("-A1 two", "two\nthree\n"),
            ("-B 1 two", "one\ntwo\n"),
            ("-C1 three", "two\nthree\nfour\n"),
            ("-iC 1 FIVE", "four\nfive\nsix\n"),
            ("-A1 -m1 o", "one\ntwo\n"),
            ("-A1 ^o\\|^fi", "one\ntwo\n--\nfive\nsix\n"),
            ("-A1 -B1 ^t", "one\ntwo\nthree\nfour\n"),
            ("-e four -c", "1\n"),
            ("-m 2 o", "one\ntwo\n"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(grep("grep", &words, &mut Input::of(text), &|_| None).unwrap().output, want, "{line}");
        }
        assert!(grep("grep", &["-A", "x", "o"], &mut Input::of(text), &|_| None).is_none());
    }
}
