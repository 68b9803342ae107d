//! Which commands there are, which flags each of them knows, and what `--help` says of them.
//!
//! The real kubectl says far more; here stands what this one does. A flag that is not listed for a command is an error, as
//! it is there: one that is taken and means nothing would be a lie. Left out: what only some words of a command know
//! (`create deployment`, `create job`), which the real one tells apart.
//!
//! [`commands`] and [`mod@flags`] are the tables.

use super::print::tabs;

mod commands;
mod flags;

use commands::{COMMANDS, GLOBAL};
use flags::{FLAGS, LEFT_OUT, LETTERLESS};

/// A flag.
#[derive(Debug)]
pub struct Flag {
    /// `output`, given as `--output`.
    pub name: &'static str,
    /// `o`, if it may be given as `-o` too.
    pub short: Option<char>,
    /// What it means when it stands alone; None if it wants a value.
    pub alone: Option<&'static str>,
    about: &'static str,
}

/// A command.
struct Command {
    name: &'static str,
    words: &'static str,
    about: &'static str,
    flags: &'static [&'static [&'static str]],
}

/// Whether there is such a command.
pub fn knows(command: &str) -> bool {
    COMMANDS.iter().any(|there| there.name == command)
}

/// The flag with this name, if the command knows it.
pub fn flag(command: &str, name: &str) -> Option<&'static Flag> {
    flags(command).find(|flag| flag.name == name)
}

/// Whether the real command has this flag, and this one has not.
pub fn is_left_out(command: &str, name: &str) -> bool {
    let of = LEFT_OUT.iter().filter(|(of, _)| *of == command || of.is_empty());
    flag(command, name).is_none() && of.flat_map(|(_, flags)| *flags).any(|there| *there == name)
}

/// The flag with this letter, if the command knows it.
pub fn flag_of(command: &str, letter: char) -> Option<&'static Flag> {
    flags(command).find(|flag| short_of(command, flag) == Some(letter))
}

fn short_of(command: &str, flag: &Flag) -> Option<char> {
    flag.short.filter(|_| !LETTERLESS.contains(&(command, flag.name)))
}

/// Whether a word that stands before the command has its value in the next word.
pub fn wants_value(word: &str) -> bool {
    let is = |name: &&&str| {
        let flag = FLAGS.iter().find(|flag| flag.name == **name);
        let written = flag.map(|flag| (format!("--{name}"), flag.short.map(|letter| format!("-{letter}"))));
        written.is_some_and(|(long, short)| word == long || short.is_some_and(|short| word == short))
    };
    GLOBAL.iter().find(is).is_some()
}

fn flags(command: &str) -> impl Iterator<Item = &'static Flag> + use<'_> {
    let own = COMMANDS.iter().find(|there| there.name == command).map_or(&[][..], |there| there.flags);
    let knows = move |name: &str| GLOBAL.contains(&name) || own.iter().any(|group| group.contains(&name));
    // What `set env` puts before names is a text; `logs` only wants to know whether.
    let is_own = move |flag: &Flag| flag.name != "prefix" || flag.alone.is_none() == (command == "set");
    FLAGS.iter().filter(move |flag| knows(flag.name) && is_own(flag))
}

/// What `kubectl --help` prints, or `kubectl COMMAND --help`.
pub fn help(command: &str) -> String {
    let Some(found) = COMMANDS.iter().find(|there| there.name == command) else {
        let rows: Vec<String> =
            COMMANDS.iter().map(|there| format!("  {}\t{}", there.name, first(there.about))).collect();
        let commands = tabs::table(&(rows.join("\n") + "\n"));
        return format!("Commands:\n{commands}\nMore of one: kubectl COMMAND --help\n");
    };
    let rows: Vec<String> = flags(command).map(|flag| row(command, flag)).collect();
    let flags = tabs::table(&(rows.join("\n") + "\n"));
    let usage = format!("kubectl {} {}", found.name, found.words);
    format!("{}\n\nUsage: {} [flags]\n\nFlags:\n{flags}", found.about, usage.trim_end())
}

/// What `kubectl options` prints.
pub fn options() -> String {
    let rows: Vec<String> = flags("options").map(|flag| row("options", flag)).collect();
    format!("The following options can be passed to any command:\n\n{}", tabs::table(&(rows.join("\n") + "\n")))
}

fn row(command: &str, flag: &Flag) -> String {
    let short = short_of(command, flag).map_or("    ".to_owned(), |letter| format!("-{letter}, "));
    let value = if flag.alone.is_some() { "" } else { "=…" };
    format!("  {short}--{}{value}\t{}", flag.name, flag.about)
}

/// The first part of a sentence, as a list has room for.
fn first(about: &str) -> &str {
    about.split_once(',').map_or(about, |(first, _)| first).trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_that_a_command_names_is_there() {
        for command in COMMANDS {
            for name in command.flags.iter().copied().flatten().chain(GLOBAL) {
                assert!(flag(command.name, name).is_some(), "{}: {name}", command.name);
            }
            let mut letters: Vec<char> = flags(command.name).filter_map(|flag| short_of(command.name, flag)).collect();
            letters.sort_unstable();
            let all = letters.len();
            letters.dedup();
            assert_eq!(letters.len(), all, "{}: one letter means two things", command.name);
        }
        assert!(FLAGS.is_sorted_by_key(|flag| flag.name), "help lists flags by name");
        for known in FLAGS {
            assert!(COMMANDS.iter().any(|command| flag(command.name, known.name).is_some()), "{}", known.name);
        }
    }

    #[test]
    fn help_fits_a_terminal() {
        for command in COMMANDS.iter().map(|command| command.name).chain([""]) {
            let long = help(command).lines().find(|line| line.chars().count() > 110).map(str::to_owned);
            assert!(long.is_none(), "{command}: {long:?}");
        }
    }
}
