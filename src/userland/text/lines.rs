//! What programs that read lines have in common.

use crate::ran::Ran;

/// What a program is given to read, and whether it has read it.
pub(super) struct Input<'a> {
    text: &'a str,
    pub(super) is_read: bool,
}

impl<'a> Input<'a> {
    pub(super) fn of(text: &'a str) -> Input<'a> {
        Input { text, is_read: false }
    }

    pub(super) fn read(&mut self) -> &'a str {
        self.is_read = true;
        self.text
    }
}

/// What becomes of the texts of files together, or of the input.
pub(super) fn of_texts(
    name: &str,
    paths: &[&str],
    input: &mut Input<'_>,
    read: &dyn Fn(&str) -> Option<String>,
    change: impl FnOnce(&str) -> String,
) -> Ran {
    let mut ran = Ran::default();
    let mut all = String::new();
    for path in paths {
        match if *path == "-" { Some(input.read().to_owned()) } else { read(path) } {
            Some(text) => all += &text,
            None => {
                ran.errors += &format!("{name}: can't open '{path}': No such file or directory\n");
                ran.code = 1;
            }
        }
    }
    ran.output = if paths.is_empty() { change(input.read()) } else { change(&all) };
    ran
}

pub(super) fn joined<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    lines.into_iter().flat_map(|line| [line, "\n"]).collect()
}

/// A basic regular expression as an extended one: what has a backslash in the one has none in the other.
pub(super) fn extended(pattern: &str) -> String {
    const TURNED: &str = "+?|(){}";
    let mut all = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c) if TURNED.contains(c) => all.push(c),
                c => all.extend(['\\'].into_iter().chain(c)),
            },
            c if TURNED.contains(c) => all.extend(['\\', c]),
            c => all.push(c),
        }
    }
    all
}
