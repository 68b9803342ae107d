//! Builtins: the commands that a shell runs itself.

use std::rc::Rc;

use super::ops::Simple;
use super::run::{Shell, Turn};
use super::script::Program;
use super::words::{Unsupported, is_name};
use object::time::Instant;

/// Who sleeps for longer than this never wakes up here: a hundred years.
const EVER: std::time::Duration = std::time::Duration::from_secs(100 * 365 * 24 * 3600);

/// Whether a command was a builtin.
pub(super) enum Builtin {
    /// It was; what is left for others to do.
    Done(Option<Turn>),
    /// Others have to run it.
    No,
}

impl Shell {
    /// Runs a command if it is a builtin. `true`, `false` and `sleep` need no shell.
    pub(super) fn builtin(&mut self, words: &[String], simple: &Simple, now: Instant) -> Result<Builtin, Unsupported> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let is_background = self.is_background(simple);
        Ok(Builtin::Done(match words.as_slice() {
            ["true"] => self.did(0),
            ["false"] => self.did(1),
            ["sleep", time] => match seconds(time) {
                None if *time != "infinity" => return Ok(Builtin::No),
                time => {
                    self.did(0);
                    Some(until(now, time.map_or(u64::MAX, |time| now.0.saturating_add(nanos(time))), is_background))
                }
            },
            _ if !self.is_shell() => return Ok(Builtin::No),
            [":", ..] => self.did(0),
            ["cd", to @ ..] => self.change_directory(to.first().unwrap_or(&"/root"))?,
            ["exit"] => {
                let writes = self.did(self.code);
                self.exit(self.code);
                writes
            }
            ["exit", code] => {
                self.exit(code.parse().unwrap_or(2) & 0xff);
                None
            }
            ["break" | "continue", count @ ..] => {
                let count = count.first().and_then(|count| count.parse().ok()).unwrap_or(1);
                self.leave_loops(count, words[0] == "continue");
                None
            }
            ["return", code @ ..] => {
                let code = code.first().map_or(self.code, |code| code.parse().unwrap_or(2) & 0xff);
                self.leave_call(code);
                None
            }
            ["shift", count @ ..] => self.shift(count.first().map_or(1, |count| count.parse().unwrap_or(1)))?,
            ["local", names @ ..] => {
                names.iter().try_for_each(|name| self.make_local(name))?;
                self.did(0)
            }
            ["export" | "readonly", names @ ..] => {
                names.iter().try_for_each(|name| self.export(name))?;
                self.did(0)
            }
            ["unset", names @ ..] => {
                names.iter().for_each(|name| self.unset(name));
                self.did(0)
            }
            ["set", options @ ..] => self.set_options(options)?,
            ["read", names @ ..] => {
                let code = self.read(names)?;
                self.did(code)
            }
            ["trap", action, signals @ ..] => self.trap(action, signals),
            ["wait", ..] => self.wait_for_jobs(now, is_background),
            _ => return Ok(Builtin::No),
        }))
    }

    fn change_directory(&mut self, to: &str) -> Result<Option<Turn>, Unsupported> {
        let to = self.path(to);
        self.set("PWD", if to.is_empty() { "/".to_owned() } else { to })?;
        Rc::make_mut(&mut self.scope.exported).insert("PWD".to_owned());
        Ok(self.did(0))
    }

    fn shift(&mut self, count: usize) -> Result<Option<Turn>, Unsupported> {
        let arguments: Vec<String> = self.arguments().cloned().collect();
        let left = arguments.get(count..);
        self.set_arguments(left.unwrap_or(&arguments))?;
        Ok(self.did(i32::from(left.is_none())))
    }

    /// `set -e -- ARGUMENTS`
    fn set_options(&mut self, options: &[&str]) -> Result<Option<Turn>, Unsupported> {
        let (options, arguments) = match options.iter().position(|option| *option == "--") {
            Some(at) => (&options[..at], Some(&options[at + 1..])),
            None => (options, None),
        };
        if let Some(arguments) = arguments {
            self.set_arguments(arguments)?;
        }
        for option in options {
            match option.chars().next() {
                Some('-') if option.contains('e') => self.scope.stops_on_error = true,
                Some('+') if option.contains('e') => self.scope.stops_on_error = false,
                _ => {}
            }
        }
        Ok(self.did(0))
    }

    fn trap(&mut self, action: &str, signals: &[&str]) -> Option<Turn> {
        if signals.iter().any(|signal| matches!(*signal, "TERM" | "SIGTERM" | "15")) {
            self.on_sigterm = Some(Program::of(&["sh".to_owned(), "-c".to_owned(), action.to_owned()]));
        }
        self.did(0)
    }

    fn wait_for_jobs(&mut self, now: Instant, is_background: bool) -> Option<Turn> {
        self.did(0);
        self.is_interruptible = true;
        if self.jobs > 0 {
            return Some(Turn::Sleep { time: None, is_background });
        }
        (self.jobs_end > now).then(|| until(now, self.jobs_end.0, is_background))
    }

    /// A line of the input, for variables. 1 at its end.
    fn read(&mut self, names: &[&str]) -> Result<i32, Unsupported> {
        let names: Vec<&str> = names.iter().copied().filter(|name| *name != "-r").collect();
        if names.iter().any(|name| !is_name(name)) {
            return Err(Unsupported);
        }
        let input = self.scope.input.clone();
        let rest = input.get(self.scope.read..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        self.scope.read = (self.scope.read + line.len() + 1).min(input.len());
        self.spend(line.len())?;
        let mut left = line.trim();
        for (at, name) in names.iter().enumerate() {
            let (word, rest) = match left.split_once([' ', '\t']) {
                Some((word, rest)) if at + 1 < names.len() => (word, rest.trim_start()),
                _ => (left, ""),
            };
            self.set(name, word.to_owned())?;
            left = rest;
        }
        Ok(i32::from(!rest.contains('\n')))
    }

    fn export(&mut self, word: &str) -> Result<(), Unsupported> {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if !is_name(name) {
            return Err(Unsupported);
        }
        Rc::make_mut(&mut self.scope.exported).insert(name.to_owned());
        value.map_or(Ok(()), |value| self.set(name, value.to_owned()))
    }
}

/// Sleeps up to a time.
fn until(now: Instant, end: u64, is_background: bool) -> Turn {
    let time = (end <= nanos(EVER)).then(|| Instant(end) - now);
    Turn::Sleep { time, is_background }
}

pub(super) fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// `3`, `0.5`, `2m`, `1h`; None for `infinity` and any text that is no time.
pub fn seconds(text: &str) -> Option<std::time::Duration> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, "s"),
    };
    let scale = match unit {
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => 1.0,
    };
    std::time::Duration::try_from_secs_f64(number.parse::<f64>().ok()? * scale).ok()
}
