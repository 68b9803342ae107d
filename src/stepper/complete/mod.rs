//! What Tab completes: the last word of a line, by what may stand there.
//!
//! A command's row says what it takes ([`Takes`]), kubectl's rows what words and flags a verb has. Names are asked of the
//! store by prefix, and only when Tab is pressed: a large cluster costs no more than a small one.
//!
//! - [`names`]: what there is: kinds, objects, nodes, fields. [`kubectl`]: lines of kubectl's. [`terms`]: breakpoints and
//!   expressions.

use debugger::Session;

use super::Stepper;
use super::commands::{self, Takes};
use super::shell;
use super::typed::{ESCAPE, escaped};

mod kubectl;
mod names;
mod terms;

use names::Names;

/// So many candidates are told.
const CANDIDATES: usize = 100;

/// What stands between two commands of a line.
const BETWEEN: [char; 3] = ['|', ';', '&'];

impl Stepper {
    /// What Tab makes of a line, whole lines in their order. Of a line for the shell in a container it makes nothing: which
    /// names there are in it is not known here.
    pub fn candidates(&self, input: &str) -> Vec<String> {
        match (self.session.cluster.shell_waits(), escaped(input)) {
            (Some(true), Some(command)) => {
                candidates(self, command).into_iter().map(|line| format!("{ESCAPE}{line}")).collect()
            }
            (Some(true), None) => Vec::new(),
            _ => candidates(self, input),
        }
    }
}

/// The words that may stand at the end of a line, whole; what is said of one that is the only one.
fn candidates(stepper: &Stepper, input: &str) -> Vec<String> {
    let start = start_of_word(input);
    let (head, tail) = input.split_at(start);
    let mut words = last_words(stepper, head, tail);
    words.sort();
    words.dedup();
    words.truncate(CANDIDATES);
    words.into_iter().map(|word| format!("{head}{word}")).collect()
}

/// Where the last word of a line begins.
fn start_of_word(input: &str) -> usize {
    input.rfind(|c: char| c.is_whitespace() || BETWEEN.contains(&c)).map_or(0, |at| at + 1)
}

/// What may stand at `tail`, behind `head`.
fn last_words(stepper: &Stepper, head: &str, tail: &str) -> Vec<String> {
    let around = Around { stepper, names: Names::of(&stepper.session) };
    let of_shell = shell::signs(head);
    let (command, is_first) = match head.rfind(BETWEEN) {
        // In a condition these are its own signs.
        Some(at) if of_shell.iter().any(|sign| sign.starts_with(BETWEEN)) && !is_of_terms(head) => {
            (&head[at + 1..], false)
        }
        _ => (head, true),
    };
    let words: Vec<&str> = command.split_whitespace().collect();
    match words.as_slice() {
        [] if is_first && tail.is_empty() => Vec::new(),
        [] if is_first => fitting(beginnings(), tail),
        [] => fitting(shell::FILTERS.iter().copied().chain(["kubectl"]), tail),
        ["kubectl" | "k", words @ ..] => kubectl::words(&around, words, tail),
        words @ [name, ..] if shell::is_kubectls_line(command) && ::kubectl::does(name) => {
            let mut found = kubectl::words(&around, words, tail);
            // `delete 1` is a breakpoint's.
            if let Some((_, row)) = commands::find(name) {
                found.extend(around.of_row(row.takes, &words[1..], tail));
            }
            found
        }
        ["cat", ..] => around.files(tail),
        [name, words @ ..] => {
            let row = commands::find(name).or_else(|| commands::find(commands::in_full(name)?));
            row.map_or(Vec::new(), |(_, row)| around.of_row(row.takes, words, tail))
        }
    }
}

/// Whether a line has a breakpoint's terms in it.
fn is_of_terms(line: &str) -> bool {
    let row = line.split_whitespace().next().and_then(commands::find);
    row.is_some_and(|(_, row)| {
        row.takes.iter().any(|place| place.contains(&Takes::Term) || place.contains(&Takes::Value))
    })
}

/// All that a line may begin with; short names are typed without help.
fn beginnings() -> impl Iterator<Item = &'static str> {
    let short = |name: &&str| name.len() > 2;
    commands::names().filter(short).chain(::kubectl::verbs()).chain(shell::BEGIN.iter().copied())
}

/// Those that begin with it.
fn fitting<T: AsRef<str>>(words: impl IntoIterator<Item = T>, tail: &str) -> Vec<String> {
    words.into_iter().filter(|word| word.as_ref().starts_with(tail)).map(|word| word.as_ref().to_owned()).collect()
}

/// What a line is completed from.
struct Around<'a> {
    stepper: &'a Stepper,
    names: Names<'a>,
}

impl Around<'_> {
    fn session(&self) -> &Session {
        &self.stepper.session
    }

    /// Words of a command of the stepper's. `-n` and its value may stand anywhere.
    fn of_row(&self, takes: &[&[Takes]], words: &[&str], tail: &str) -> Vec<String> {
        if let Some("-n" | "--namespace") = words.last().copied() {
            return fitting(self.names.namespaces(), tail);
        }
        let namespace = namespace(words);
        let words: Vec<&str> = without_flags(words);
        // A kind alone is followed by a name of it.
        let after_kind = words.last().and_then(|word| self.names.kind(word));
        let here = match takes.get(words.len()) {
            Some(here) => here,
            None => match takes.last() {
                Some(last) if last.contains(&Takes::Again) => last,
                Some(last) if words.len() == takes.len() && last.contains(&Takes::Object) => {
                    return after_kind.map_or(Vec::new(), |kind| self.names.objects(kind, namespace, tail));
                }
                _ => return Vec::new(),
            },
        };
        here.iter().flat_map(|takes| self.of(*takes, &words, namespace, tail)).collect()
    }

    fn of(&self, takes: Takes, words: &[&str], namespace: Option<&str>, tail: &str) -> Vec<String> {
        let session = self.session();
        match takes {
            Takes::Component => fitting(session.cluster.component_names(), tail),
            Takes::Kind => fitting(self.names.kinds(), tail),
            Takes::Object => self.names.kind_or_object(namespace, tail),
            Takes::Field => self.names.fields(tail),
            Takes::Watched => terms::watched(self, namespace, tail),
            Takes::Value if tail.contains('/') => terms::watched(self, namespace, tail),
            Takes::Value => terms::value(self, &[], tail),
            Takes::Term => terms::term(self, words, namespace, tail),
            Takes::Pod => self.names.objects(object::Kind::Pod, namespace, tail),
            Takes::Container => {
                words.last().map_or(Vec::new(), |pod| fitting(self.names.containers(pod, namespace), tail))
            }
            Takes::Node => self.names.objects(object::Kind::Node, None, tail),
            Takes::Service => self.names.objects(object::Kind::Service, namespace, tail),
            Takes::Event => {
                let pending = session.cluster.engine.pending().filter(|event| !event.background);
                fitting(pending.chain(session.cluster.engine.held()).map(|event| event.id.to_string()), tail)
            }
            Takes::Breakpoint => numbers(session.breakpoints.list().iter().map(|breakpoint| breakpoint.number), tail),
            Takes::Display => numbers(self.stepper.displays.iter().map(|(number, _)| *number), tail),
            Takes::Branch => {
                let called = session.branches().iter().map(|branch| &branch.called);
                let names = called.flat_map(|called| [called.number().to_string(), called.name.clone()]);
                fitting(names.filter(|name| !name.is_empty()), tail)
            }
            Takes::Command => fitting(commands::names().filter(|name| name.len() > 2), tail),
            Takes::Group => fitting(commands::GROUPS.iter().map(|group| group.name).chain(["all"]), tail),
            Takes::File => self.files(tail),
            Takes::One(words) => fitting(words.iter().copied(), tail),
            Takes::Again => Vec::new(),
        }
    }

    /// Files of the scenario, and those that the face has.
    fn files(&self, tail: &str) -> Vec<String> {
        let shipped = fitting(self.session().scenario().files.keys(), tail);
        shipped.into_iter().chain(self.stepper.outside.files(tail)).collect()
    }
}

fn numbers(numbers: impl Iterator<Item = u32>, tail: &str) -> Vec<String> {
    fitting(numbers.map(|number| number.to_string()), tail)
}

/// The namespace that a line names.
fn namespace<'a>(words: &[&'a str]) -> Option<&'a str> {
    let apart = words.windows(2).find(|pair| pair[0] == "-n" || pair[0] == "--namespace").map(|pair| pair[1]);
    apart.or_else(|| {
        words.iter().find_map(|word| word.strip_prefix("--namespace=").or_else(|| word.strip_prefix("-n=")))
    })
}

/// Words without flags, and without the value of `-n`.
fn without_flags<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let names = |word: &str| word == "-n" || word == "--namespace";
    let is_word =
        |at: &usize| !words[*at].starts_with('-') && !at.checked_sub(1).is_some_and(|before| names(words[before]));
    (0..words.len()).filter(is_word).map(|at| words[at]).collect()
}

#[cfg(test)]
mod tests;
