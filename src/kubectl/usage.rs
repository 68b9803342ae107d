//! How a command is written: its words, the flags that it knows, and what `--help` says of them.
//!
//! The real kubectl says far more; here stands what this one does. A flag that is not listed for a command is an error, as
//! it is there: one that is taken and means nothing would be a lie. Left out: what only some words of a command know
//! (`create deployment`, `create job`), which the real one tells apart.

use crate::flags::{FLAGS, Flag, GLOBAL, LEFT_OUT};
use crate::print::tabs;

/// How a command is written.
#[derive(Debug)]
pub struct Usage {
    /// `get`.
    pub name: &'static str,
    /// What may stand behind it.
    pub words: &'static str,
    /// What it is for, in a line or more.
    pub about: &'static str,
    /// The names of its flags, in groups that several commands share.
    pub flags: &'static [&'static [&'static str]],
    /// Flags that have no letter here, though they have one in other commands.
    pub letterless: &'static [&'static str],
    /// Flags of the real command that are left out here.
    pub left_out: &'static [&'static str],
}

impl Usage {
    /// What a row says that does not say otherwise: a command without words and flags.
    pub const EMPTY: Usage = Usage { name: "", words: "", about: "", flags: &[], letterless: &[], left_out: &[] };

    /// Its flags, those of every command among them.
    pub fn flags(&self) -> impl Iterator<Item = &'static Flag> + use<'_> {
        let knows = |name: &str| GLOBAL.contains(&name) || self.flags.iter().any(|group| group.contains(&name));
        // What `set env` puts before names is a text; `logs` only wants to know whether.
        let is_own = |flag: &Flag| flag.name != "prefix" || flag.alone.is_none() == (self.name == "set");
        FLAGS.iter().filter(move |flag| knows(flag.name) && is_own(flag))
    }

    /// The flag with this name, if the command knows it.
    pub fn flag(&self, name: &str) -> Option<&'static Flag> {
        self.flags().find(|flag| flag.name == name)
    }

    /// The flag with this letter, if the command knows it.
    pub fn flag_of(&self, letter: char) -> Option<&'static Flag> {
        self.flags().find(|flag| self.letter_of(flag) == Some(letter))
    }

    /// The letter that a flag has here.
    pub fn letter_of(&self, flag: &Flag) -> Option<char> {
        flag.short.filter(|_| !self.letterless.contains(&flag.name))
    }

    /// Whether the real command has this flag, and this one has not.
    pub fn leaves_out(&self, name: &str) -> bool {
        self.flag(name).is_none() && (self.left_out.contains(&name) || LEFT_OUT.contains(&name))
    }

    /// What `kubectl COMMAND --help` prints.
    pub fn help(&self) -> String {
        let usage = format!("kubectl {} {}", self.name, self.words);
        format!("{}\n\nUsage: {} [flags]\n\nFlags:\n{}", self.about, usage.trim_end(), self.flag_rows())
    }

    /// What it is for, as a list of commands has room for.
    pub fn in_short(&self) -> &'static str {
        self.about.split_once(',').map_or(self.about, |(first, _)| first).trim_end_matches('.')
    }

    /// Its flags, one a line.
    pub fn flag_rows(&self) -> String {
        let rows: Vec<String> = self.flags().map(|flag| self.row(flag)).collect();
        tabs::table(&(rows.join("\n") + "\n"))
    }

    fn row(&self, flag: &Flag) -> String {
        let short = self.letter_of(flag).map_or("    ".to_owned(), |letter| format!("-{letter}, "));
        let value = if flag.alone.is_some() { "" } else { "=…" };
        format!("  {short}--{}{value}\t{}", flag.name, flag.about)
    }
}
