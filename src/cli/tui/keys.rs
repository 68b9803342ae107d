//! The keys of the full screen: which are commands, and the user's file that says so.
//!
//! ```text
//! # A comment.
//! menu: F9 Alt-m
//! get pods: Ctrl-g
//! quit:
//! ```
//!
//! A line gives a command its keys, and takes them from the commands that have them otherwise; of all that it does not name the
//! keys stay. The file is `keys` in the user's folder for such things: `kubestep keys` says where, and prints all lines.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use ratatui::crossterm::event::KeyCode;
use stepper::commands;

use super::super::journal::variable;

/// What the bar calls the list of all commands.
pub const MENU: &str = "menu";
/// What the bar calls showing one pane alone.
pub const ZOOM: &str = "zoom";
/// Enter in an empty line is always this: it is a key of the line, not of the file.
const STEP: &str = "step";

/// The keys that there are without a file, as one would have them.
const USUAL: &str = "\
step: Alt-s
menu: F1 Alt-m
stepi: F2 Alt-i
next: F3 Alt-n
back: F4 Alt-b
continue: F5 Alt-c
why: F6 Alt-w
tour: F7 Alt-t
zoom: Ctrl-z Alt-z
help: ? Alt-h
quit: F10 Alt-q
";

/// What is said above them.
const HEAD: &str = "\
# The keys of the full screen. A line gives a command its keys, F1 to F12, Ctrl-LETTER, Alt-LETTER, or a sign such as ? that is
# a key while nothing is typed. A command is any line that can be typed, and menu and zoom. Without keys it has none.
";

/// Letters that the line needs with Ctrl, or that a terminal sends for other keys.
const NOT_WITH_CONTROL: &str = "cdhijm";

/// A key that can be a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// `F1` and its like.
    Function(u8),
    /// A letter with Ctrl.
    Control(char),
    /// A letter with Alt.
    Alt(char),
    /// A sign, while nothing is typed.
    Sign(char),
}

impl Press {
    fn read(word: &str) -> Result<Press, String> {
        let letter = |rest: &str| match rest.chars().collect::<Vec<_>>()[..] {
            [letter] if letter.is_ascii_alphabetic() => Some(letter.to_ascii_lowercase()),
            _ => None,
        };
        let number = word.strip_prefix(['F', 'f']).and_then(|number| number.parse().ok());
        let after = |name: &str| word.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name)).map(str::len);
        let behind = |name: &str| after(name).and_then(|at| letter(&word[at..]));
        let sign = || match word.chars().collect::<Vec<_>>()[..] {
            [sign] if sign.is_ascii_punctuation() && sign != '#' => Some(sign),
            _ => None,
        };
        match (number, behind("Ctrl-"), behind("Alt-")) {
            (Some(number @ 1..=12), ..) => Ok(Press::Function(number)),
            (_, Some(letter), _) if NOT_WITH_CONTROL.contains(letter) => {
                Err(format!("{word} is a key of the line that is typed; take another letter"))
            }
            (_, Some(letter), _) => Ok(Press::Control(letter)),
            (.., Some(letter)) => Ok(Press::Alt(letter)),
            _ => sign().map(Press::Sign).ok_or_else(|| {
                format!("there is no key {word:?}; there are F1 to F12, Ctrl-LETTER, Alt-LETTER, and signs such as ?")
            }),
        }
    }

    /// What a terminal's event is. Signs and letters alone are text, unless nothing is typed.
    pub fn of(code: KeyCode, is_control: bool, is_alt: bool, is_empty: bool) -> Option<Press> {
        match code {
            KeyCode::F(number) => Some(Press::Function(number)),
            KeyCode::Char(letter) if is_alt => Some(Press::Alt(letter.to_ascii_lowercase())),
            KeyCode::Char(letter) if is_control => Some(Press::Control(letter.to_ascii_lowercase())),
            KeyCode::Char(sign) if is_empty => Some(Press::Sign(sign)),
            _ => None,
        }
    }

    /// As the bar shows it.
    fn short(self) -> String {
        match self {
            Press::Control(letter) => format!("^{}", letter.to_ascii_uppercase()),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Press {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Press::Function(number) => write!(f, "F{number}"),
            Press::Control(letter) => write!(f, "Ctrl-{letter}"),
            Press::Alt(letter) => write!(f, "Alt-{letter}"),
            Press::Sign(sign) => write!(f, "{sign}"),
        }
    }
}

/// A command, and the keys that are it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortcut {
    /// The command.
    pub command: String,
    presses: Vec<Press>,
}

impl Shortcut {
    /// The key as the bar shows it.
    pub fn name(&self) -> String {
        let plain = self.presses.iter().find(|press| !matches!(press, Press::Alt(_))).or(self.presses.first());
        match plain {
            _ if self.command == STEP => "↵".to_owned(),
            Some(press) => press.short(),
            None => String::new(),
        }
    }

    /// The letter that is the same with Alt, where a terminal has the other key for itself.
    pub fn letter(&self) -> Option<char> {
        self.presses.iter().find_map(|press| if let Press::Alt(letter) = press { Some(*letter) } else { None })
    }
}

/// All keys that are commands, in the order of the bar. Every other command is typed, or taken from the menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys(Vec<Shortcut>);

impl Default for Keys {
    fn default() -> Keys {
        let mut keys = Keys(Vec::new());
        // A test says that it can be read.
        drop(keys.change(USUAL));
        keys
    }
}

impl Keys {
    /// The usual ones, changed as the text of a file says.
    ///
    /// # Errors
    /// The line that is wrong, from 1, and why.
    pub fn read(text: &str) -> Result<Keys, (usize, String)> {
        let mut keys = Keys::default();
        keys.change(text).map(|()| keys)
    }

    /// The usual ones, changed as the user's file says, if there is one.
    ///
    /// # Errors
    /// It cannot be read, or a line of it is wrong: file, line, and the way out.
    pub fn of_user() -> anyhow::Result<Keys> {
        match file() {
            Some(file) => Keys::of_file(&file),
            None => Ok(Keys::default()),
        }
    }

    fn of_file(file: &Path) -> anyhow::Result<Keys> {
        let text = match fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Keys::default()),
            text => text.with_context(|| format!("{} cannot be read", file.display()))?,
        };
        Keys::read(&text).map_err(|(line, why)| anyhow!("{}:{line}: {why}", file.display()))
    }

    fn change(&mut self, text: &str) -> Result<(), (usize, String)> {
        let mut said: Vec<(Press, usize)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !is_comment(line)) {
            let wrong = |why| (number, why);
            let (command, words) =
                line.split_once(':').ok_or_else(|| wrong("write COMMAND: KEY…, as in menu: F9 Alt-m".to_owned()))?;
            let (command, mut presses) = (command.trim(), Vec::new());
            check(command).map_err(wrong)?;
            for word in words.split_whitespace() {
                let press = Press::read(word).map_err(wrong)?;
                if let Some((_, before)) = said.iter().find(|(known, _)| *known == press) {
                    return Err(wrong(format!("{press} stands in line {before} already")));
                }
                said.push((press, number));
                presses.push(press);
            }
            self.give(command, presses);
        }
        Ok(())
    }

    /// Gives a command its keys, and no other has them.
    fn give(&mut self, command: &str, presses: Vec<Press>) {
        for shortcut in &mut self.0 {
            shortcut.presses.retain(|press| !presses.contains(press));
        }
        match self.0.iter_mut().find(|shortcut| shortcut.command == command) {
            Some(known) => known.presses = presses,
            None => self.0.push(Shortcut { command: command.to_owned(), presses }),
        }
    }

    /// What the bar shows: commands that have a key.
    pub fn bar(&self) -> impl Iterator<Item = &Shortcut> {
        self.0.iter().filter(|shortcut| !shortcut.presses.is_empty() || shortcut.command == STEP)
    }

    /// The command that a key is.
    pub fn command(&self, press: Press) -> Option<&str> {
        self.0.iter().find(|shortcut| shortcut.presses.contains(&press)).map(|shortcut| shortcut.command.as_str())
    }
}

impl fmt::Display for Keys {
    /// As a file has them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|Shortcut { command, presses }| {
            let keys: String = presses.iter().map(|press| format!(" {press}")).collect();
            writeln!(f, "{command}:{keys}")
        })
    }
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

/// Whether a command can be typed, as far as that is known here.
fn check(command: &str) -> Result<(), String> {
    let name = command.split_whitespace().next().unwrap_or_default();
    let is_known = [MENU, ZOOM].contains(&command) || commands::find(name).is_some() || kubectl::does(name);
    match is_known {
        true => Ok(()),
        false => Err(format!("there is no command {command:?}; help lists them, and there are {MENU} and {ZOOM}")),
    }
}

/// The user's file, whether it is there or not.
fn file() -> Option<PathBuf> {
    let home = |below: &str| variable("HOME").map(|home| home.join(below));
    let config = variable("XDG_CONFIG_HOME").or_else(|| match std::env::consts::OS {
        "macos" => home("Library/Application Support"),
        "windows" => variable("APPDATA"),
        _ => home(".config"),
    });
    Some(config?.join("kubestep").join("keys"))
}

/// `kubestep keys`: the keys that there are, as the file has them that changes them.
///
/// # Errors
/// A line of the file is wrong.
pub fn command(out: &mut dyn Write) -> anyhow::Result<()> {
    let keys = Keys::of_user()?;
    let place = file().map_or_else(|| "no file: there is no HOME".to_owned(), |file| file.display().to_string());
    write!(out, "{HEAD}# They are read from {place}\n{keys}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_keys_are_written_as_they_are_read() {
        assert_eq!(Keys::default().to_string(), USUAL);
        assert_eq!(Keys::read(USUAL), Ok(Keys::default()));
        assert_eq!(Keys::read(HEAD), Ok(Keys::default()));
    }

    #[test]
    fn a_line_changes_the_keys_of_its_command() {
        let keys = Keys::read("# mine\n\nmenu: F9 alt-M\nget pods -o wide: Ctrl-g F10\nwhy:\n").expect("it is right");
        for (press, command) in [
            (Press::Function(9), Some(MENU)),
            (Press::Alt('m'), Some(MENU)),
            (Press::Function(1), None),
            (Press::Control('g'), Some("get pods -o wide")),
            (Press::Function(10), Some("get pods -o wide")),
            (Press::Alt('q'), Some("quit")),
            (Press::Function(6), None),
            (Press::Sign('?'), Some("help")),
        ] {
            assert_eq!(keys.command(press), command, "{press}");
        }
        let bar: Vec<String> = keys.bar().map(|key| key.name() + &key.command).collect();
        assert_eq!(
            bar.join(" "),
            "↵step F9menu F2stepi F3next F4back F5continue F7tour ^Zzoom ?help Alt-qquit ^Gget pods -o wide"
        );
        assert_eq!(Keys::read(&keys.to_string()), Ok(keys));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, line, why) in [
            ("menu F9", 1, "write COMMAND: KEY…, as in menu: F9 Alt-m"),
            ("# a\nmenu: F13", 2, "there is no key \"F13\""),
            ("menu: Ctrl-c", 1, "Ctrl-c is a key of the line that is typed"),
            ("menu: x", 1, "there is no key \"x\""),
            ("xyzzy: F9", 1, "there is no command \"xyzzy\""),
            (": F9", 1, "there is no command \"\""),
            ("menu: F9\nquit: F8 F9", 2, "F9 stands in line 1 already"),
            ("menu: é Alt-é", 1, "there is no key"),
        ] {
            let (found, said) = Keys::read(text).expect_err(text);
            assert!(found == line && said.starts_with(why), "{text}: {found}: {said}");
        }
    }
}
