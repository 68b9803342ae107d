//! The stepper's command language: a table of commands, one file a group. The same words work at the prompt, in a pipe
//! and in test scripts.
//!
//! A command is a row: its names, how it is written, what it does in a few words, and the function that does it. A
//! function takes what was typed and gives an [`Answer`], or the text of an error. It prints nothing, so that any face can
//! use it.
//!
//! - [`movement`], forward.
//! - [`back`], and to other courses of events.
//! - [`stop`], breakpoints and watches.
//! - [`ask`], about what was: causes, effects, changes.
//! - [`look`], at what is; [`held`], in caches and queues; [`mod@print`], a value.
//! - [`decide`], what comes next, what breaks, and clients outside: `clients`.
//! - [`cluster`], kubectl and the world outside. [`terminal`], the shell in a container that a command has opened.
//! - [`keep`], sessions as files.
//! - [`general`], help, the hints of a case, options, and the end.

use object::Kind;
use object::nearest::nearest;

use console::strip_ansi_codes;

use super::lines::text;
use super::{Stepper, Typed, What, shell};

mod answer;
pub mod ask;
pub mod back;
mod clients;
pub mod cluster;
pub mod decide;
pub mod general;
pub mod held;
pub mod keep;
pub mod line;
pub mod look;
pub mod movement;
pub mod print;
pub mod stop;
pub mod terminal;

pub use answer::{Answer, Reply, Text};
pub use line::Line;

/// How a command is done.
#[derive(Debug)]
pub enum Run {
    /// It says something.
    Says(fn(&mut Stepper, &Line) -> Text),
    /// It comes to a stop, or shows one.
    Stops(fn(&mut Stepper, &Line) -> Reply),
}

/// A command of the prompt: a row in the table of its group.
#[derive(Debug)]
pub struct Command {
    /// Its name, then its short names.
    pub names: &'static [&'static str],
    /// How it is written: `step [N]`.
    pub usage: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    /// What `help COMMAND` says beside that: whole lines, examples; empty if nothing.
    pub more: &'static str,
    /// What may stand behind it, place by place, for completion.
    pub takes: &'static [&'static [Takes]],
    /// Does it.
    pub run: Run,
}

/// What a word behind a command may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// A process, or a controller in one.
    Component,
    /// A kind.
    Kind,
    /// An object: `deploy/web`, or a kind and then a name.
    Object,
    /// A kind and fields: `deploy.spec.replicas`.
    Field,
    /// An object and fields: `deploy/web.status.replicas`.
    Watched,
    /// An expression over a step, or the same.
    Value,
    /// A term of a breakpoint.
    Term,
    /// A Pod's name.
    Pod,
    /// A container of the Pod before it.
    Container,
    /// A node's name.
    Node,
    /// A Service's name.
    Service,
    /// An event in flight.
    Event,
    /// A breakpoint's number.
    Breakpoint,
    /// The number of a value that is displayed.
    Display,
    /// A course of events that was left.
    Branch,
    /// A command of the stepper's.
    Command,
    /// A group of those.
    Group,
    /// A file.
    File,
    /// One of these words.
    One(&'static [&'static str]),
    /// The same may come again.
    Again,
}

/// Commands that belong together.
#[derive(Debug)]
pub struct Group {
    /// `move`, `look` …
    pub name: &'static str,
    /// Whether they change where the session is or what it does; the others only look.
    pub acts: bool,
    /// In the order in which help shows them.
    pub commands: &'static [Command],
}

/// Every command there is.
pub const GROUPS: &[Group] = &[
    movement::GROUP,
    back::GROUP,
    stop::GROUP,
    ask::GROUP,
    look::GROUP,
    decide::GROUP,
    decide::FAULTS,
    cluster::GROUP,
    decide::CLIENTS,
    keep::GROUP,
    general::CASE,
    general::OPTIONS,
    general::GROUP,
];

/// All commands, group by group.
pub fn all() -> impl Iterator<Item = &'static Command> {
    GROUPS.iter().flat_map(|group| group.commands)
}

/// Every word that a command can start with.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().flat_map(|command| command.names).copied()
}

/// The command that a word names, and its group.
pub fn find(word: &str) -> Option<(&'static Group, &'static Command)> {
    let of =
        |group: &'static Group| Some((group, group.commands.iter().find(|command| command.names.contains(&word))?));
    GROUPS.iter().find_map(of)
}

/// A word that is the beginning of one name only, of the stepper's or kubectl's, in full. A kind's name is none.
pub fn in_full(word: &str) -> Option<&'static str> {
    if word.is_empty() || Kind::from_word(word).is_some() {
        return None;
    }
    let mut fitting = beginning_with(word);
    if fitting.len() == 1 { fitting.pop() } else { None }
}

/// Commands of the stepper's and of kubectl's that begin so, each once.
fn beginning_with(word: &str) -> Vec<&'static str> {
    let ours: Vec<&str> = names().filter(|name| name.starts_with(word)).collect();
    let kubectls = kubectl::verbs().filter(|verb| verb.starts_with(word) && !ours.contains(verb));
    ours.iter().copied().chain(kubectls).collect()
}

/// Does what a line says.
pub(super) fn run(stepper: &mut Stepper, typed: &Typed) -> Reply {
    if stepper.session.cluster.line_is_new() && shell::looks_at_files(&typed.text) {
        // Typed right behind a line, it comes after that, which may write the file.
        return cluster::start_shell(stepper, &typed.text).map(Answer::says);
    }
    let before = stepper.session.choices().len();
    let answer = run_what(stepper, &typed.what)?;
    let started = stepper.session.choices().len() > before && typed.what.is_kubectls();
    if stepper.options.to_end && started { movement::to_its_end(stepper, answer) } else { Ok(answer) }
}

fn run_what(stepper: &mut Stepper, what: &What) -> Reply {
    match what {
        What::Nothing => Ok(Answer::default()),
        What::Command { command: Command { run: Run::Says(run), .. }, line, .. } => {
            run(stepper, line).map(Answer::says)
        }
        What::Command { command: Command { run: Run::Stops(run), .. }, line, .. } => run(stepper, line),
        What::Kubectl(line) => cluster::kubectl(stepper, line.words()).map(Answer::says),
        What::Edit(_) => Err(cluster::NO_EDITOR.to_owned()),
        What::Piped(what, programs) => {
            let text = text(&run_what(stepper, what)?, &stepper.view());
            Ok(Answer::says(cluster::through(stepper, &strip_ansi_codes(&text), programs)))
        }
        What::Paged(what) => Ok(Answer { paged: true, ..run_what(stepper, what)? }),
        What::ToItsEnd(what) => {
            let answer = run_what(stepper, what)?;
            movement::to_its_end(stepper, answer)
        }
        What::Complete(line) => {
            let lines = stepper.candidates(line);
            Ok(Answer::says(lines.iter().map(|line| format!("{line}\n")).collect::<String>()))
        }
        What::Shell(line) => cluster::start_shell(stepper, line).map(Answer::says),
        What::IntoShell(text) => terminal::into_shell(stepper, text),
        What::Number(number, line) => {
            movement::predicted(stepper, *number).unwrap_or_else(|| Err(nothing_like(stepper, line)))
        }
        What::Unknown(line) => Err(nothing_like(stepper, line)),
        What::Wrong(why) => Err(why.clone()),
    }
}

/// What is said of a line that is nothing here; to programs, which have no other prompt, also how a shell gets it.
fn nothing_like(stepper: &Stepper, line: &Line) -> String {
    unknown(line.name()) + &terminal::instead(stepper, line.text())
}

/// Commands of other programs, and what does the like here.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (&["list"], "get pods, breakpoints or pending"),
    (&["ssh", "docker", "crictl", "cat", "ip", "iptables", "iptables-save"], "node node-1 ip addr; help node"),
    (&["join", "kubeadm", "add"], "node start 4 switches a node on"),
    (&["etcdctl"], "etcd get --prefix /registry/pods/"),
    (&["man", "usage", "--help", "-h"], "help"),
    (&["what", "status"], "show, where, or get pods -o yaml"),
    (&["undo", "prev", "previous", "rstep"], "back"),
    (&["restart", "reset"], "goto 0, or crash COMPONENT"),
    (&["sleep"], "wait 30"),
    (&["dig", "host"], "nslookup web"),
    (&["wget", "http"], "curl web"),
    (&["vi", "vim", "nano"], "edit deploy web"),
];

/// Says what was probably meant.
fn unknown(word: &str) -> String {
    if let Some((_, here)) = ELSEWHERE.iter().find(|(words, _)| words.contains(&word)) {
        return format!("there is no command {word:?}; here it is: {here}");
    }
    if word.bytes().all(|c| c.is_ascii_digit()) {
        return format!("no question is open that {word} could answer; to go to a step, type goto {word}");
    }
    if Kind::from_word(word.split('/').next().unwrap_or_default()).is_some() {
        return format!("{word:?} is not a command; write what to do with it, as in: get {word}");
    }
    let begun = if word.is_empty() { Vec::new() } else { beginning_with(word) };
    match begun.first().copied().or_else(|| nearest(word, names().filter(|known| known.len() > 2))) {
        Some(_) if begun.len() > 1 => format!("{word:?} may be {}; write more of it", begun.join(", ")),
        Some(known) => format!("there is no command {word:?}; did you mean {known:?}? help lists them all"),
        None => format!("there is no command {word:?}; help lists them all"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use ::cluster::fault;

    #[test]
    fn a_word_names_one_command() {
        let mut seen = BTreeSet::new();
        for name in names() {
            assert!(seen.insert(name), "{name} names two commands");
        }
    }

    #[test]
    fn every_fault_is_a_command() {
        for name in fault::names() {
            assert!(find(name).is_some_and(|(group, _)| group.acts), "{name} has no row here");
        }
    }

    #[test]
    fn every_command_fits_its_line_of_help() {
        for command in all() {
            assert!(command.usage.chars().count() + command.about.chars().count() <= 74, "{}", command.usage);
            assert!(command.more.is_empty() || command.more.ends_with('\n'), "{}", command.usage);
            assert!(!command.names.is_empty() && !command.about.ends_with('.'), "{}", command.usage);
        }
    }

    #[test]
    fn a_wrong_word_says_what_was_meant() {
        for (word, says) in [
            ("stpe", "did you mean \"step\""),
            ("hist", "did you mean \"history\""),
            ("br", "\"br\" may be branches, branch, break, "),
            ("xyzzy", "help lists them all"),
            ("ssh", "node node-1"),
            ("pods", "get pods"),
            ("12", "goto 12"),
        ] {
            assert!(unknown(word).contains(says), "{word}: {}", unknown(word));
        }
    }
}
